"""Sets of many rows, each distinct set once."""

import numpy as np
import pytest

from hardmax.attention import row_sets
from hardmax.attention.row_sets import RowSets, distinct


def random_rows(rng, rows=300, size=9):
    """Rows that share sets, with their compressed form."""
    sets = [np.sort(rng.choice(size, int(rng.integers(0, size + 1)), replace=False)) for _ in range(12)]
    chosen = [sets[k] for k in rng.integers(0, len(sets), rows)]
    indptr = np.concatenate(([0], np.cumsum([len(s) for s in chosen])))
    return chosen, indptr, np.concatenate([np.empty(0, np.int64), *chosen]).astype(np.int64)


@pytest.mark.parametrize("seed", range(20))
def test_every_row_has_its_set_and_every_set_one_number(seed):
    chosen, indptr, index = random_rows(np.random.default_rng(seed))
    sets = RowSets.of(indptr, index)
    every = sets.sets()
    assert [every[s].tolist() for s in sets.which] == [s.tolist() for s in chosen]
    assert len(every) == len({s.tobytes() for s in chosen}) == len(sets.sizes)
    some = np.random.default_rng(seed).permutation(len(chosen))[:40]
    pointers, members = sets.rows(some)
    assert members.tolist() == [i for r in some for i in chosen[r].tolist()]
    assert np.diff(pointers).tolist() == [len(chosen[r]) for r in some]


def test_sets_with_the_same_key_are_told_apart_by_their_members(monkeypatch):
    monkeypatch.setattr(row_sets, "ODD", np.uint64(0))  # every key is 0
    chosen, indptr, index = random_rows(np.random.default_rng(1))
    which, groups = distinct(np.diff(indptr), index)
    assert [groups[s].tolist() for s in which] == [s.tolist() for s in chosen]
    every = RowSets.of(indptr, index).sets()
    assert len(every) == len({s.tobytes() for s in chosen})


def test_no_rows_have_no_sets():
    sets = RowSets.of(np.zeros(1, np.int64), np.empty(0, np.int64))
    assert sets.sets() == []
    assert len(sets.which) == 0
    assert sets.rows(np.empty(0, np.int64))[1].tolist() == []


def test_a_flag_counts_for_the_sets_that_hold_its_member():
    sets = RowSets.of(np.array([0, 2, 2, 3]), np.array([1, 4, 6]))
    assert sets.any(sets.members == 4).tolist() == [True, False, False]
    assert sets.renamed(np.arange(10) * 2).members.tolist() == [2, 8, 12]
