"""Counting terms, numbering them, and texts as bags of numbers."""

import pickle
from collections import Counter
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardmax.errors import BadInput
from hardmax.text.hashes import bits_for, empty_table, fill, find, term_hashes, word_hash, word_hashes
from hardmax.text.ngrams import TermCounts
from hardmax.text.vocabulary import Bags, Vocabulary
from hardmax.text.words import split, terms

corpora = st.lists(
    st.lists(st.sampled_from(["a", "b", "Not", "good", "don\u2019t", "É", "!", "?", "好", "<br>"]), max_size=9).map(
        " ".join
    ),
    max_size=8,
)


@given(corpora, st.integers(1, 3), st.integers(1, 3))
@settings(derandomize=True, deadline=None, max_examples=150)
def test_counting_keeps_exactly_the_terms_of_enough_texts(texts, ngrams, least):
    counts = Counter(form for text in texts for form in {t.form for t in terms(split(text), ngrams)})
    vocabulary = Vocabulary.count(texts, (1, ngrams), least)
    assert set(vocabulary.terms) == {form for form, n in counts.items() if n >= least}
    assert len(set(vocabulary.terms)) == len(vocabulary)


@given(corpora, st.integers(1, 3))
@settings(derandomize=True, deadline=None, max_examples=150)
def test_compiled_bags_equal_plain_bags(texts, ngrams):
    vocabulary = Vocabulary.count(texts[: len(texts) // 2 + 1], (1, ngrams))
    bags = Bags.of(*vocabulary.lookup.bags(texts))
    assert len(bags) == len(texts)
    for t, text in enumerate(texts):
        assert bags.ids[bags.offsets[t] : bags.offsets[t + 1]].tolist() == vocabulary.bag(text)


def test_the_table_of_counts_grows_without_losing_any():
    words = [f"w{i}" for i in range(60_000)]
    counts = TermCounts(ngrams=2, min_df=2)
    counts.add([" ".join(words)])
    counts.add([" ".join(words[::2])])
    assert set(counts.terms()) == set(words[::2])


def test_counting_in_parts_equals_counting_at_once():
    texts = [f"a{i % 7} b{i % 3} c" for i in range(2500)]
    whole, parts = TermCounts(2, 3), TermCounts(2, 3)
    whole.add(texts)
    for i in range(0, 2500, 11):
        parts.add(texts[i : i + 11])
    assert whole.terms() == parts.terms()


def test_many_texts_and_few_give_the_same_bags():
    texts = [f"word{i % 50} is {'good' if i % 2 else 'bad'} !" * (i % 5) for i in range(5000)]
    vocabulary = Vocabulary.count(texts, (1, 2))
    many = vocabulary.bags(texts)
    for t in (0, 1, 2047, 2048, 4999):
        assert many.take(np.array([t])).ids.tolist() == vocabulary.bags([texts[t]]).ids.tolist()


@pytest.mark.parametrize("count", [1, 10, 3000, 12_000])
def test_terms_are_found_in_any_table_and_nothing_else_is(count):
    known, others = [f"w{i}" for i in range(count)], [f"v{i}" for i in range(500)]
    table = empty_table(count)
    assert fill(table, term_hashes(known)) == -1
    found = find(table, bits_for(count), term_hashes([*known, *others])).tolist()
    assert found == [*range(count), *[-1] * len(others)]


def test_many_words_have_the_hashes_that_each_has_alone():
    rng = np.random.default_rng(0)
    words = ["".join(map(chr, rng.integers(33, 0x1FAFF, size).tolist())) for size in rng.integers(0, 70, 3000)]
    assert word_hashes(words).tolist() == [word_hash(word) for word in words]


def test_take_picks_texts_in_the_order_given():
    bags = Bags(np.array([5, 6, 7, 8], np.int32), np.array([0, 1, 1, 4]))
    picked = bags.take(np.array([2, 0, 1]))
    assert picked.ids.tolist() == [6, 7, 8, 5]
    assert picked.offsets.tolist() == [0, 3, 4, 4]


def test_a_ten_megabyte_text_and_no_text_are_fine():
    vocabulary = Vocabulary.count(["good film"], (1, 2))
    assert vocabulary.bags(["good film " * 1_000_000, ""]).offsets.tolist() == [0, 3, 3]
    assert len(vocabulary.bags([])) == 0
    assert len(Vocabulary.count([], (1, 2))) == 0


def test_a_term_given_twice_is_refused():
    with pytest.raises(BadInput, match="'a' twice"):
        Vocabulary(["a", "b", "a"], 1)


@pytest.mark.parametrize("ngrams", [0, 4])
def test_ngrams_outside_one_to_three_are_refused(ngrams):
    with pytest.raises(BadInput, match="n-grams"):
        Vocabulary(["a"], ngrams)


def _document_frequencies(texts, shortest, longest):
    forms = ({t.form for t in terms(split(text), longest)} for text in texts)
    return Counter(form for found in forms for form in found if form.count(" ") >= shortest - 1)


@given(corpora, st.sampled_from([(1, 1), (1, 3), (2, 2), (2, 3)]), st.integers(1, 12))
@settings(derandomize=True, deadline=None, max_examples=100)
def test_the_terms_of_the_most_texts_are_kept(texts, ngram_range, most):
    counts = _document_frequencies(texts, *ngram_range)
    kept = Vocabulary.count(texts, ngram_range, max_features=most).terms
    assert len(kept) == min(most, len(counts))
    assert sorted((counts[t] for t in kept), reverse=True) == sorted(counts.values(), reverse=True)[:most]
    whole = Vocabulary.count(texts, ngram_range).terms
    assert set(whole) == set(counts)
    assert [t for t in whole if t in kept] == list(kept)


@pytest.mark.parametrize("ngram_range", [(0, 1), (2, 1), (1, 4), 2, (1, 2, 3)])
def test_an_impossible_ngram_range_is_refused(ngram_range):
    with pytest.raises(BadInput, match="ngram_range"):
        Vocabulary.count(["a"], ngram_range)


def test_vocabularies_are_equal_if_their_terms_are_and_survive_a_pickle():
    vocabulary = Vocabulary(["a", "a b"], 2)
    assert vocabulary.bags(["a b"]).ids.tolist() == [0, 1]
    for again in (pickle.loads(pickle.dumps(vocabulary)), deepcopy(vocabulary), Vocabulary(("a", "a b"), 2)):
        assert again == vocabulary
        assert hash(again) == hash(vocabulary)
    assert vocabulary not in (Vocabulary(["a", "a b"], 3), Vocabulary(["a b", "a"], 2))
