"""The compiled table of terms: many texts, texts of two widths, tables of every size."""

import numpy as np
import pytest

from hardmax.text.hashes import bits_for, empty_table, fill, find, term_hashes
from hardmax.text.ngrams import table_of
from hardmax.text.vocabulary import Bags, Vocabulary
from hardmax.text.words_compiled import by_width


def test_texts_of_different_widths_keep_their_places():
    texts = ["a caf\u00e9", "\u4e2d \u6587 a", "a b", "", "b \u4e2d", "\U0001f600 a"] * 60
    vocabulary = Vocabulary(["a", "b", "caf\u00e9", "\u4e2d", "\u6587", "a b"], 2)
    bags = Bags.of(*vocabulary.lookup.bags(texts))
    for t, text in enumerate(texts):
        assert bags.ids[bags.offsets[t] : bags.offsets[t + 1]].tolist() == vocabulary.bag(text)


def test_texts_are_told_apart_by_their_widest_character():
    groups = [group.tolist() for group in by_width(["a", "\xff", "\u0100", "", "\ud800"])]
    assert groups == [[0, 1, 3], [2, 4]]
    assert by_width([]) == []


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 8, 9, 100, 5461, 5462])
def test_every_term_is_found_whatever_the_size_of_the_table(count):
    known = [f"w{i}" for i in range(count)]
    lookup = Vocabulary(known, 1).lookup
    assert 2 * lookup.slots.size >= 3 * count
    bags = Bags.of(*lookup.bags([" ".join(reversed(known)), "none of these"]))
    assert bags.ids.tolist() == list(range(count))[::-1]
    assert bags.offsets.tolist() == [0, count, count]


def test_a_term_is_new_again_in_every_text():
    bags = Bags.of(*Vocabulary(["a", "b"], 1).lookup.bags(["a b a", "b"] * 700))  # more texts than the marks of a byte
    assert np.diff(bags.offsets).tolist() == [2, 1] * 700
    assert bags.ids.tolist() == [0, 1, 1] * 700


@pytest.mark.parametrize("count", [0, 1, 20, 3000])
def test_the_compiled_table_is_the_plain_one(count):
    known = [f"w{i}" if i % 3 else f"w{i} \u4e2d {i}" for i in range(count)]
    table = empty_table(count)
    assert fill(table, term_hashes(known)) == -1
    assert np.array_equal(table, table_of(known))
    keys = term_hashes([*known, *(f"v{i}" for i in range(count))])
    assert find(table, bits_for(count), keys).tolist() == [*range(count), *[-1] * count]


def test_two_terms_with_the_same_hash_are_noticed():
    assert fill(empty_table(3), np.array([7, 8, 7], np.uint64)) == 2
