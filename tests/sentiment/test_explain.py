"""An explanation is exact, complete and the same every time."""

import json
import pickle
from copy import deepcopy
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from hardmax.errors import BadInput
from hardmax.sentiment.explain import Explanation, Inconsistent, explain
from tiny_models import HOSTILE, random_model, three_classes, two_classes

TEXT = "The plot is Dull, dull, DULL; the film is great! Zxqwy."


def _sum(ex: Explanation, parts):
    return ex.bias + sum(part.contribution for part in parts)


def test_bias_and_contributions_add_up_to_the_logit():
    ex = explain(two_classes(), TEXT)
    assert _sum(ex, ex.words) == pytest.approx(ex.logit, abs=1e-9)
    assert _sum(ex, ex.leaders) == pytest.approx(ex.logit, abs=1e-9)
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
    assert {w.term: w.contribution for w in ex.words} == pytest.approx(expected, abs=1e-12)
    assert ex.logit == pytest.approx(model.bias[row] + sum(expected.values()), abs=1e-12)
    assert ex.logit == model.logits([ex.text])[0, row]


def test_every_word_is_where_it_says():
    ex = explain(two_classes(), TEXT)
    for word in ex.words:
        assert ex.text[word.start : word.end] == word.text
        for start, end in word.places:
            assert ex.text[start:end].lower().split()[0].startswith(word.term.split()[0])
    assert [w.start for w in ex.words] == sorted(w.start for w in ex.words)
    dull = next(w for w in ex.words if w.term == "dull")
    assert [ex.text[a:b] for a, b in dull.places] == ["Dull", "dull", "DULL"]


def test_leaders_own_every_word_once():
    ex = explain(two_classes(), TEXT)
    members = [m for leader in ex.leaders for m in (leader.word, *leader.followers)]
    assert sorted(members) == sorted(w.term for w in ex.words)
    assert {w.leader for w in ex.words} == {leader.word for leader in ex.leaders}
    assert sum(leader.share for leader in ex.leaders) == pytest.approx(1)
    effects = [leader.effect for leader in ex.leaders]
    assert effects == sorted(effects, reverse=True)


def test_a_leader_known_by_hand():
    # great (0.9, 0.5) is the longest vector; film (0.1, 0.4) has <film, great> = 0.29 > |film|^2 = 0.17: it follows.
    ex = explain(two_classes(layers=1, alpha=1.0), "great film")
    assert [(a.word, a.followers, a.since) for a in ex.leaders] == [("great", ("film",), 0)]
    # film moves half way: first coordinates 0.9 and 0.5, times 8, mean of two.
    assert ex.logit == pytest.approx(0.25 + 8 * (0.9 + 0.5) / 2, abs=1e-6)


def test_without_layers_every_word_leads_itself():
    ex = explain(two_classes(layers=0), "great film dull")
    assert all(w.leader == w.term for w in ex.words)


def test_unknown_words_are_listed():
    ex = explain(two_classes(), TEXT)
    assert ex.ignored == ("is", "Zxqwy")


@pytest.mark.parametrize("text", ["", "zxqw yyyy", " \n "])
def test_without_a_known_word_the_bias_decides(text):
    ex = explain(two_classes(), text)
    assert (ex.logit, ex.words, ex.leaders) == (0.25, (), ())
    assert ex.probability == pytest.approx(1 / (1 + np.exp(-0.25)))
    assert "bias alone" in ex.to_text()


def test_without_cuts_all_occurrences():
    ex = explain(two_classes(), "Dull film, not dull plot!dull!great")
    cut = ex.without("dull")
    assert cut.text == " film, not plot! !great"
    assert cut.logit == explain(two_classes(), cut.text).logit
    assert "dull" not in {w.term for w in cut.words}


def test_an_n_gram_can_be_cut_or_replaced():
    ex = explain(two_classes(), "A film, not dull at all, not  Dull")
    assert ex.without("not dull").text == "A film, at all, "
    assert ex.replace("not dull", "great").text == "A film, great at all, great"


def test_what_is_not_there_cannot_be_cut():
    ex = explain(two_classes(), "great film")
    for word in ("dull", "", "great dull"):
        with pytest.raises(BadInput, match="does not occur"):
            ex.without(word)


def test_the_same_text_gives_the_same_bytes():
    first, second = explain(two_classes(), TEXT), explain(two_classes(), TEXT)
    assert first.to_json() == second.to_json()
    assert first.to_html() == second.to_html()
    assert first.to_text(True) == second.to_text(True)


@pytest.mark.parametrize("name", HOSTILE)
def test_json_survives_hostile_text(name, tmp_path):
    ex = explain(two_classes(), HOSTILE[name])
    document = json.loads(ex.to_json())
    assert document["text"] == HOSTILE[name]
    assert document["schema"] == "hardmax.explain/1"
    assert document["words"] == [word.as_dict() for word in ex.words]
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
    ex = explain(two_classes(), TEXT)
    with pytest.raises(Inconsistent, match="bug in hardmax"):
        replace(ex, bias=ex.bias + 1e-6)


def test_an_explanation_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        explain(two_classes(), TEXT).label = "other"


def test_bytes_are_read_and_other_things_refused():
    assert explain(two_classes(), "great café".encode()).label == "positive"
    with pytest.raises(BadInput, match="the text is not UTF-8"):
        explain(two_classes(), b"great \xff film")
    with pytest.raises(BadInput, match="must be a string"):
        explain(two_classes(), 7)


def test_an_unknown_suffix_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"\.html"):
        explain(two_classes(), TEXT).save(tmp_path / "x.docx")
    path = explain(two_classes(), TEXT).save(tmp_path / "x.html")
    with pytest.raises(BadInput, match="exists"):
        explain(two_classes(), TEXT).save(path, force=False)


@pytest.mark.slow
def test_a_very_long_text_is_explained():
    ex = explain(two_classes(), "great film, dull plot! " * 40_000)
    assert len(ex.words) == 5
    assert len(ex.words[0].places) == 40_000
    assert len(ex.to_html()) < 5_000_000
    assert len(ex.to_text()) < 20_000


@pytest.mark.parametrize("model", [two_classes(), three_classes()], ids=["2", "3"])
def test_an_explanation_is_equal_after_a_pickle_or_a_copy(model):
    ex = explain(model, TEXT)
    for again in (pickle.loads(pickle.dumps(ex)), deepcopy(ex)):
        assert again == ex
        assert hash(again) == hash(ex)
        assert again.model == model
        assert again.to_json() == ex.to_json()
        assert again.without("dull") == ex.without("dull")
    assert ex != explain(model, TEXT + " great")


def test_parts_have_attributes_and_give_plain_data():
    ex = explain(two_classes(layers=1, alpha=1.0), "great film")
    assert (ex.words[1].text, ex.words[1].leader, ex.words[1].places) == ("film", "great", ((6, 10),))
    assert list(ex.words[1].as_dict()) == ["text", "start", "end", "term", "leader", "contribution", "places"]
    assert list(ex.leaders[0].as_dict()) == ["word", "contribution", "effect", "followers", "since", "share"]
    assert ex.as_dict()["leaders"][0]["followers"] == ["film"]
    assert ex.as_dict()["words"][1]["places"] == [[6, 10]]
    with pytest.raises(FrozenInstanceError):
        ex.leaders[0].word = "other"
