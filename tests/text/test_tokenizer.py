"""Tokenizers of one's own: functions, and the files of Hugging Face."""

import pickle
import re

import pytest

from corpus import reviews
from hardmax.errors import BadInput
from hardmax.sentiment.estimator import HardmaxClassifier, load
from hardmax.text.tokenizer import Tokenizer
from hardmax.text.vocabulary import Vocabulary
from hardmax.text.words import terms

TEXTS, LABELS = reviews(120, seed=5)


def pieces(text):
    return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]


@pytest.fixture(scope="module")
def tokenizer_file(tmp_path_factory):
    import tokenizers

    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    made.normalizer = tokenizers.normalizers.Lowercase()
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    trainer = tokenizers.trainers.WordPieceTrainer(vocab_size=90, special_tokens=["[UNK]"], show_progress=False)
    made.train_from_iterator(TEXTS, trainer)
    made.enable_truncation(3)  # of no consequence here: every word of a text counts
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    made.save(str(path))
    return path


def test_words_may_be_strings_places_or_stems():
    assert [(w.form, w.start, w.end) for w in Tokenizer(str.split).words("So  good")] == [("So", 0, 2), ("good", 4, 8)]
    assert [w.form for w in Tokenizer(pieces).words("So good!")] == ["So", "good", "!"]
    stems = Tokenizer(lambda text: [word.replace("ies", "y") for word in text.lower().split()]).words(
        "Two Movies, films"
    )
    assert [(w.form, w.start, w.end) for w in stems] == [("two", 0, 3), ("movy,", 3, 3), ("films", 12, 17)]


def test_words_in_lower_case_are_found_and_others_cannot_be_cut_out():
    def lower(text):
        return [word.replace("better", "good") for word in text.lower().split()]

    assert [w.start for w in Tokenizer(lower).words("The other film")] == [0, 4, 10]
    clf = HardmaxClassifier(tokenizer=lower).fit(["good film", "dull film"] * 20, ["pos", "neg"] * 20)
    ex = clf.explain("Dull other")
    assert ex.without("dull").text == " other"
    assert ex.deleting(3)[0] == ["dull"]
    ex = clf.explain("A better film")
    assert ex.deleting(3)[0] == []
    with pytest.raises(BadInput, match="'good' is not in the text as the tokenizer gives it"):
        ex.without("good")


@pytest.mark.parametrize("wrong", [lambda text: text, lambda text: 3, lambda text: [3], lambda text: [(0, 99)]])
def test_an_answer_that_is_not_words_is_refused(wrong):
    with pytest.raises(BadInput, match="tokenizer"):
        Tokenizer(wrong).words("a text")


@pytest.mark.parametrize("given", ["nowhere/tokenizer.json", 3])
def test_what_is_not_a_tokenizer_is_refused(given):
    with pytest.raises(BadInput, match="tokenizer"):
        Tokenizer(given)


def test_a_vocabulary_counts_and_finds_the_terms_of_a_tokenizer():
    tokenizer = Tokenizer(pieces)
    vocabulary = Vocabulary.count(["So good!", "so Good"], (1, 2), tokenizer=tokenizer)
    assert vocabulary.terms == ("So", "good", "So good", "!", "good !", "so", "Good", "so Good")
    for text in ("So good! so Good", "bad"):
        forms = dict.fromkeys(t.form for t in terms(tokenizer.words(text), 2))
        assert [vocabulary.terms[i] for i in vocabulary.bags([text]).ids] == [f for f in forms if f in vocabulary.terms]
    assert Vocabulary.count(["a b", "a"], (1, 2), max_features=1, tokenizer=tokenizer).terms == ("a",)


def test_a_classifier_with_a_function_learns_explains_and_says_that_it_cannot_be_saved(tmp_path):
    clf = HardmaxClassifier(warm_epochs=1, epochs=1, batch_size=32, tokenizer=pieces).fit(TEXTS, LABELS)
    ex = clf.explain(TEXTS[0])
    assert {TEXTS[0][start:end] for w in ex.words for start, end in w.places} == {w.word for w in ex.words}
    with pytest.raises(BadInput, match=r"cannot be saved\n  found: pieces"):
        clf.save(tmp_path / "model")
    again = pickle.loads(pickle.dumps(clf))
    assert again == clf
    assert (again.predict_proba(TEXTS) == clf.predict_proba(TEXTS)).all()


def test_a_hugging_face_tokenizer_is_stored_with_the_model(tokenizer_file, tmp_path):
    clf = HardmaxClassifier(warm_epochs=1, epochs=1, batch_size=32, tokenizer=tokenizer_file).fit(TEXTS, LABELS)
    assert any(term.startswith("##") for term in clf.model_.vocabulary.terms)
    words = clf.model_.vocabulary.words(TEXTS[0])
    assert words[-1].end == len(TEXTS[0].rstrip())
    folder = clf.save(tmp_path / "model")
    assert (folder / "tokenizer.json").is_file()
    again = load(folder)
    assert (again.predict_proba(TEXTS) == clf.predict_proba(TEXTS)).all()
    assert again.model_.vocabulary == clf.model_.vocabulary
    assert again.fit(TEXTS, LABELS).model_.vocabulary == clf.model_.vocabulary
    assert pickle.loads(pickle.dumps(again)) == again
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(BadInput, match="checksum"):
        load(folder)


def test_a_damaged_tokenizer_file_is_refused(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(BadInput, match=r"tokenizer\.json cannot be read"):
        Tokenizer(tmp_path / "tokenizer.json")
