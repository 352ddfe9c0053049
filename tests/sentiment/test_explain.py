"""An explanation is exact, complete and the same every time."""

import gc
import json
import pickle
import weakref
from copy import deepcopy
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from hardmax.errors import BadInput
from hardmax.sentiment.explain import Explanation, Inconsistent, _some, explain
from hardmax.sentiment.files import load_model
from hardmax.sentiment.model import SentimentModel
from hardmax.sentiment.word_effects import log_odds
from hardmax.text.vocabulary import Vocabulary
from tiny_models import HOSTILE, random_model, three_classes, two_classes

MODEL = two_classes()
TEXT = "The plot is Dull, dull, DULL; the film is great! Zxqwy."


def _sum(ex: Explanation, parts):
    return ex.bias + sum(part.contribution for part in parts)


def test_bias_and_contributions_add_up_to_the_logit():
    ex = explain(MODEL, TEXT)
    for parts in (ex.words, ex.terms, ex.leaders):
        assert _sum(ex, parts) == pytest.approx(ex.logit, abs=1e-9)
    assert ex.probability == pytest.approx(1 / (1 + np.exp(-abs(ex.logit))), abs=1e-12)
    assert ex.label == ("positive" if ex.logit > 0 else "negative")


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 59), max_size=40), st.sampled_from([1, 2, 3, 5]), st.sampled_from([2, 3, 4]))
def test_contributions_are_those_of_the_definition_token_by_token(ids, dim, classes):
    model = random_model(dim=dim, classes=classes, neutral_words=3.5)
    ex = explain(model, " ".join(f"w{i}" for i in ids))
    distinct = list(dict.fromkeys(ids))
    states, _ = reference.run(np.array(model.embedding[distinct], float).reshape(-1, dim), model.alpha, model.layers)
    row = 0 if classes == 2 else model.classes.index(ex.label)
    expected = {
        f"w{i}": model.scores[row] @ z / (len(distinct) + 3.5) for i, z in zip(distinct, states[-1], strict=True)
    }
    assert {t.term: t.contribution for t in ex.terms} == pytest.approx(expected, abs=1e-12)
    assert {w.word: w.contribution for w in ex.words} == pytest.approx(expected, abs=1e-12)  # without n-grams
    assert ex.logit == pytest.approx(model.bias[row] + sum(expected.values()), abs=1e-12)
    assert ex.logit == model.logits([ex.text])[0, row]


@pytest.mark.parametrize("text", [TEXT, "A film not dull, the plot not dull"])
def test_every_word_and_term_is_where_it_says(text):
    ex = explain(MODEL, text)
    for form, places in [(w.word, w.places) for w in ex.words] + [(t.term, t.places) for t in ex.terms]:
        for start, end in places:
            assert ex.text[start:end].lower() == form
    assert [t.places[0] for t in ex.terms] == sorted(t.places[0] for t in ex.terms)


def test_all_spellings_of_a_word_are_found():
    ex = explain(MODEL, TEXT)
    dull = next(w for w in ex.words if w.word == "dull")
    assert [ex.text[a:b] for a, b in dull.places] == ["Dull", "dull", "DULL"]


def test_leaders_own_every_term_once():
    ex = explain(MODEL, TEXT)
    members = [m for leader in ex.leaders for m in (leader.word, *leader.followers)]
    assert sorted(members) == sorted(t.term for t in ex.terms)
    assert {t.leader for t in ex.terms} == {leader.word for leader in ex.leaders}
    assert sum(leader.share for leader in ex.leaders) == pytest.approx(1)
    parts = [abs(leader.contribution) for leader in ex.leaders]
    assert parts == sorted(parts, reverse=True)


def test_words_merge_the_n_grams_that_hold_them():
    ex = explain(MODEL, "A film not dull, the plot")
    dull = next(w for w in ex.words if w.word == "dull")
    assert set(dull.terms) == {"dull", "not dull"}
    assert dull.leader == next(t.leader for t in ex.terms if t.term == dull.terms[0])
    half = next(t.contribution for t in ex.terms if t.term == "not dull") / 2
    assert next(w.contribution for w in ex.words if w.word == "not") == pytest.approx(half)
    assert [w.word for w in ex.words] == [w.word for w in sorted(ex.words, key=lambda w: -w.effect)]


@pytest.mark.parametrize("model", [two_classes(), two_classes(layers=0), three_classes()], ids=["2", "0", "3"])
def test_an_effect_is_what_the_label_loses_in_the_edited_text(model):
    ex = explain(model, TEXT)
    for word in ex.words:
        cut = model.probabilities([ex.without(word.word).text])[0][model.classes.index(ex.label)]
        lost = np.log(ex.probability / (1 - ex.probability)) - np.log(cut / (1 - cut))
        assert word.effect == pytest.approx(lost, abs=1e-9)


def test_words_without_an_opinion_are_neutral_and_never_named():
    model = two_classes(layers=0)  # "the" adds 0.16, but makes the mean of the text smaller
    ex = explain(model, "great the")
    the = next(w for w in ex.words if w.word == "the")
    assert the.effect < -1
    assert ([w.word for w in ex.reasons], ex.against, [w.word for w in ex.neutral]) == (["great"], [], ["the"])
    assert [w.word for w in ex.largest(5)] == ["great"]
    assert ex.rest(5) == [("neutral words", [the])]


def test_a_word_that_others_follow_does_not_count_against_the_label_by_that_alone():
    ex = explain(load_model("imdb"), "the film was delightful")
    the = next(w for w in ex.words if w.word == "the")
    assert the.effect < -1  # without it "film" and "was" follow "delightful"
    assert abs(the.contribution) < 0.01
    assert the.neutral
    assert [w.word for w in ex.largest(1)] == ["delightful"]


@pytest.mark.parametrize("layers", [0, 4])
@pytest.mark.parametrize("classes", [2, 4])
def test_a_word_against_the_label_has_a_part_against_it_in_the_log_odds(layers, classes):
    ex = explain(random_model(classes=classes, layers=layers), " ".join(f"w{i}" for i in range(30)))
    label, study, nudge = np.array([ex._number(ex.label)]), ex.study, 1e-6
    now = log_odds(study.logits, label)[0]
    parts = [(log_odds(study.logits + nudge * own, label)[0] - now) / nudge for own in study.contributions]
    part = dict(zip(ex.term_names, parts, strict=True))
    least = 0.1 * max(abs(value) for value in parts)
    assert ex.against
    assert all(part[word.word] <= -least for word in ex.against)
    assert all(part[word.word] > -least for word in ex.neutral if word.effect < -0.5)


def test_what_is_replaced_and_what_by_are_strings():
    ex = explain(MODEL, TEXT)
    for word, by in ((3, "x"), ("dull", None), (None, "")):
        with pytest.raises(BadInput, match="a word is a string"):
            ex.replace(word, by)


def test_named_words_are_those_for_the_label_then_those_against_it():
    ex = explain(two_classes(layers=0), "great fine dull plot the")
    assert [w.word for w in ex.reasons] == ["great", "fine"]
    assert [w.word for w in ex.against] == ["dull", "plot"]
    assert [w.word for w in ex.largest(3)] == ["great", "fine", "dull"]
    assert [(what, [w.word for w in some]) for what, some in ex.rest(3)] == [
        ("more words", ["plot"]),
        ("neutral words", ["the"]),
    ]


def test_words_are_deleted_one_by_one_for_the_first_label():
    ex = explain(MODEL, "great dull film ! the fine plot")
    words, left = ex.deleting(3)
    assert words[0] == ex.words[0].word
    text = ex.text
    for word in words:
        best = max(ex.words, key=lambda w: explain_loss(ex, text, w.word))
        assert word == best.word
        text = explain(MODEL, text).without(word).text
    assert left.text == text
    assert not set(words) & {w.word for w in left.words}


def test_deleting_stops_at_the_number_asked_for_or_when_no_word_helps_the_label():
    ex = explain(MODEL, "great dull film ! the fine plot")
    assert len(ex.deleting(1)[0]) == 1
    words, left = ex.deleting(100)
    assert len(words) < len(ex.words)
    label = MODEL.classes.index(ex.label)
    sign = 1 if ex.label == ex.toward else -1
    assert all(sign * (left.logit - left.without(w.word).logit) <= 0 for w in left.words)
    assert MODEL.probabilities([left.text])[0, label] < ex.probability


def test_a_word_with_a_small_effect_is_deleted_too_and_an_unknown_one_never():
    faint = two_classes(layers=0)
    ex = explain(faint, "zxqwy plot the film is dull")
    words, _ = ex.deleting(100)
    losses = []
    left = ex
    for word in words:
        losses.append((left.without(word).logit - left.logit) * (1 if ex.label == "negative" else -1))
        left = left.without(word)
    assert 0 < min(losses) < 1
    assert not {"zxqwy", "is"} & set(words)


def test_nothing_is_deleted_where_no_word_has_an_effect():
    for model, text in ((MODEL, ""), (MODEL, "zxqwy"), (replace(MODEL, scores=np.zeros((1, 2))), "great dull film")):
        words, left = explain(model, text).deleting()
        assert (words, left.text) == ([], text)


def test_five_words_are_deleted_and_eighty_columns_filled_unless_said_otherwise():
    model = random_model(neutral_words=50.0)
    ex = explain(model, " ".join(f"w{i}" for i in range(60)))
    assert len(ex.deleting()[0]) == 5
    assert len(ex.deleting(6)[0]) == 6
    assert ex.to_text() == ex.to_text(width=80) != ex.to_text(width=81)


@pytest.mark.parametrize("sign", [1, -1], ids=["toward", "against"])
def test_of_words_with_the_same_effect_the_one_with_the_largest_part_comes_first(sign):
    """Without a word of it an n-gram is gone, so all its words have the same effect; but they share its part."""
    model = SentimentModel(
        Vocabulary(["a b", "c d e"], 3), np.ones((2, 1)), np.array([[2.0 * sign]]), np.zeros(1), 1.0, 0, ("no", "yes")
    )
    ex = explain(model, "c d e. a b")
    assert ex.label == ("yes" if sign > 0 else "no")
    assert len({w.effect for w in ex.words}) == 1
    assert [w.word for w in ex.words] == ["a", "b", "c", "d", "e"]
    assert [w.contribution for w in ex.words] == pytest.approx([sign / 2] * 2 + [sign / 3] * 3)


def explain_loss(ex, text, word):
    now = explain(MODEL, text)
    if word not in {w.word for w in now.words}:
        return -np.inf
    sign = 1 if ex.label == ex.toward else -1
    return sign * (now.logit - now.without(word).logit)


@pytest.mark.parametrize(
    ("text", "coverage", "said"),
    [
        ("great film", 1.0, ""),
        ("ein great Abend", 1 / 3, "Only 1 of 3 words is known."),
        ("aa great film bb cc", 2 / 5, "Only 2 of 5 words are known."),
        ("great aa", 1 / 2, ""),
        ("", 0.0, "No word of the text is known; the probability comes from the bias alone."),
    ],
)
def test_a_text_of_which_little_is_known_says_so(text, coverage, said):
    ex = explain(MODEL, text)
    assert ex.coverage == pytest.approx(coverage)
    assert ex.caution == said
    assert said in ex.to_text()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("plot", "No word clearly supports this label."),
        ("plot aa", "No word clearly supports this label."),
        ("plot aa bb", "Only 1 of 3 words is known. No word clearly supports this label."),
    ],
)
def test_a_label_that_only_the_bias_speaks_for_says_so(text, said):
    generous = replace(MODEL, bias=np.array([3.0]))  # "plot" takes 2.4 away
    ex = explain(generous, text)
    assert (ex.label, ex.reasons, ex.caution) == ("positive", [], said)


def test_an_explanation_does_not_keep_its_model():
    model = two_classes()
    ex, gone = explain(model, TEXT), weakref.ref(model)
    assert ex.without("great").label == "negative"
    del model
    gc.collect()
    assert gone() is None
    assert ex.words[0].effect > 0
    assert "<table" in ex.to_html()
    with pytest.raises(BadInput, match="no longer in memory"):
        ex.without("great")


def test_a_leader_known_by_hand():
    # great (0.9, 0.5) is the longest vector; film (0.1, 0.4) has <film, great> = 0.29 > |film|^2 = 0.17: it follows.
    ex = explain(two_classes(layers=1, alpha=1.0), "great film")
    assert [(a.word, a.followers, a.since) for a in ex.leaders] == [("great", ("film",), 0)]
    # film moves half way: first coordinates 0.9 and 0.5, times 8, mean of two.
    assert ex.logit == pytest.approx(0.25 + 8 * (0.9 + 0.5) / 2, abs=1e-6)


def test_without_layers_every_word_leads_itself():
    ex = explain(two_classes(layers=0), "great film dull")
    assert all(t.leader == t.term for t in ex.terms)


def test_unknown_words_are_listed():
    ex = explain(MODEL, TEXT)
    assert ex.ignored == ("is", "Zxqwy")


@pytest.mark.parametrize("text", ["", "zxqw yyyy", " \n "])
def test_without_a_known_word_the_bias_decides(text):
    ex = explain(MODEL, text)
    assert (ex.logit, ex.words, ex.terms, ex.leaders) == (0.25, (), (), ())
    assert ex.probability == pytest.approx(1 / (1 + np.exp(-0.25)))
    assert "bias alone" in ex.to_text()


def test_without_cuts_all_occurrences():
    cut = explain(MODEL, "Dull film, not dull plot!dull!great").without("dull")
    assert cut.text == " film, not plot! !great"
    assert cut.logit == explain(MODEL, cut.text).logit
    assert "dull" not in {w.word for w in cut.words}


def test_an_n_gram_can_be_cut_or_replaced():
    ex = explain(MODEL, "A film, not dull at all, not  Dull")
    assert ex.without("not dull").text == "A film, at all, "
    assert ex.replace("not dull", "great").text == "A film, great at all, great"


def test_what_is_not_there_cannot_be_cut():
    ex = explain(MODEL, "great film")
    for word in ("dull", "", "great dull"):
        with pytest.raises(BadInput, match="does not occur"):
            ex.without(word)


def test_the_same_text_gives_the_same_bytes():
    first, second = explain(MODEL, TEXT), explain(MODEL, TEXT)
    assert first.to_json() == second.to_json()
    assert first.to_html() == second.to_html()
    assert first.to_text(True) == second.to_text(True)


@pytest.mark.parametrize("name", HOSTILE)
def test_json_survives_hostile_text(name, tmp_path):
    ex = explain(MODEL, HOSTILE[name])
    document = json.loads(ex.to_json())
    assert document["text"] == HOSTILE[name]
    assert document["schema"] == "hardmax.explain/2"
    assert document["words"] == [word.as_dict() for word in ex.words]
    assert document["terms"] == [term.as_dict() for term in ex.terms]
    assert json.loads(ex.save(tmp_path / "x.json").read_text()) == document


def test_three_classes_explain_the_winner():
    ex = explain(three_classes(), "great film !")
    assert ex.label == ex.toward == max(ex.scores, key=ex.scores.get)
    assert ex.logit == ex.scores[ex.label]
    assert _sum(ex, ex.words) == pytest.approx(ex.logit, abs=1e-9)
    exponents = np.exp(list(ex.scores.values()))
    assert ex.probability == pytest.approx(exponents.max() / exponents.sum())
    assert "<table" in ex.to_html()


def test_parts_that_do_not_add_up_are_refused():
    ex = explain(MODEL, TEXT)
    with pytest.raises(Inconsistent, match="bug in hardmax"):
        replace(ex, bias=ex.bias + 1e-6)


def test_parts_of_a_small_logit_must_add_up_to_a_billionth():
    ex = explain(random_model(), "")
    with pytest.raises(Inconsistent, match="bug in hardmax"):
        replace(ex, bias=ex.bias + 1.5e-9 * max(1, abs(ex.logit)))
    assert replace(ex, bias=ex.bias + 0.5e-9).label == ex.label


def test_parts_may_be_off_by_exactly_a_billionth_of_the_largest_of_logit_parts_and_one():
    empty = explain(replace(MODEL, bias=np.zeros(1)), "")
    empty._check("parts", np.array([1e-9]))
    with pytest.raises(Inconsistent):
        empty._check("parts", np.array([np.nextafter(1e-9, 1)]))
    with pytest.raises(Inconsistent):
        replace(empty, bias=1.5e-9)  # no parts at all
    large = np.array([-4.0, 4.0, 4e-9])
    empty._check("parts", large)
    with pytest.raises(Inconsistent):
        empty._check("parts", large * [1, 1, 1.001])


def test_large_parts_that_cancel_may_be_off_by_their_own_rounding():
    ex = explain(MODEL, TEXT)
    parts = np.array([1e6, -1e6, *ex.contributions])
    ex._check("parts", parts + 5e-4 * (np.arange(len(parts)) == 2))
    with pytest.raises(Inconsistent, match="bug in hardmax"):
        ex._check("parts", parts + 2e-3 * (np.arange(len(parts)) == 2))


def test_nothing_of_an_explanation_can_be_changed():
    ex = explain(MODEL, TEXT)
    for part, name in ((ex, "label"), (ex.words[0], "effect"), (ex.terms[0], "term"), (ex.leaders[0], "word")):
        with pytest.raises(FrozenInstanceError):
            setattr(part, name, "other")


def test_a_long_text_is_cut_in_the_representation():
    assert repr(explain(MODEL, "x" * 60)).startswith(f"Explanation of {'x' * 60!r}:")
    assert repr(explain(MODEL, "x" * 61)).startswith(f"Explanation of {'x' * 57 + '...'!r}:")


def test_text_is_without_colors_unless_asked_for():
    ex = explain(MODEL, TEXT)
    assert "\x1b" not in ex.to_text()
    assert "\x1b" in ex.to_text(color=True)


def test_bytes_are_read_and_other_things_refused():
    assert explain(MODEL, "great café".encode()).label == "positive"
    with pytest.raises(BadInput, match="the text is not UTF-8"):
        explain(MODEL, b"great \xff film")
    with pytest.raises(BadInput, match="must be a string"):
        explain(MODEL, 7)


def test_an_unknown_suffix_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"\.html"):
        explain(MODEL, TEXT).save(tmp_path / "x.docx")
    path = explain(MODEL, TEXT).save(tmp_path / "x.html")
    with pytest.raises(BadInput, match="exists"):
        explain(MODEL, TEXT).save(path, force=False)


@pytest.mark.slow
def test_a_very_long_text_is_explained():
    ex = explain(MODEL, "great film, dull plot! " * 40_000)
    assert len(ex.words) == 5
    assert len(ex.terms[0].places) == 40_000
    assert len(ex.to_html()) < 5_000_000
    assert len(ex.to_text()) < 20_000


@pytest.mark.parametrize("model", [two_classes(), three_classes()], ids=["2", "3"])
def test_an_explanation_is_equal_after_a_pickle_or_a_copy(model):
    ex = explain(model, TEXT)
    for again in (pickle.loads(pickle.dumps(ex)), deepcopy(ex)):
        assert again == ex
        assert hash(again) == hash(ex)
        assert again.to_json() == ex.to_json()
    assert ex != explain(model, TEXT + " great")


def test_parts_have_attributes_and_give_plain_data():
    ex = explain(two_classes(layers=1, alpha=1.0), "great film")
    assert (ex.terms[1].term, ex.terms[1].leader, ex.terms[1].places) == ("film", "great", ((6, 10),))
    assert list(ex.terms[1].as_dict()) == ["term", "leader", "contribution", "places"]
    assert list(ex.words[1].as_dict()) == ["word", "effect", "contribution", "neutral", "terms", "leader", "places"]
    assert list(ex.leaders[0].as_dict()) == ["word", "contribution", "followers", "since", "share"]
    assert ex.as_dict()["leaders"][0]["followers"] == ["film"]
    assert ex.as_dict()["terms"][1]["places"] == [[6, 10]]
    with pytest.raises(FrozenInstanceError):
        ex.leaders[0].word = "other"


def test_a_list_of_more_than_twelve_words_is_cut_and_counted():
    words = [f"w{k}" for k in range(13)]
    assert _some(words[:12]) == ", ".join(words[:12])
    assert _some(words) == ", ".join(words[:12]) + ", ... (13 in all)"
    assert _some([]) == "no known word"
