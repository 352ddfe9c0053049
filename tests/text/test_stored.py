"""Texts in a file: the same sequence as a list."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardmax.errors import BadInput
from hardmax.text.stored import StoredTexts, some_of

TEXTS = ["one", "", "zwei \U0001f600", "\ud800 alone", "a\nb\0c", "one"]


@given(st.lists(st.text(max_size=8), max_size=8), st.slices(8))
def test_stored_texts_are_those_of_a_list(texts, part):
    stored = StoredTexts(texts, ".")
    assert len(stored) == len(texts)
    assert list(stored) == texts
    assert list(stored[part]) == texts[part]


def test_texts_are_taken_in_the_order_given(tmp_path):
    stored, which = StoredTexts(TEXTS, tmp_path), np.array([3, 0, 0, 5])
    assert list(some_of(stored, which)) == some_of(TEXTS, which) == [TEXTS[i] for i in which]
    assert stored[2] == TEXTS[2]
    assert stored[-1] == TEXTS[-1]
    with pytest.raises(IndexError):
        stored[6]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(BadInput, match="gone"):
        StoredTexts(TEXTS, tmp_path / "gone")
