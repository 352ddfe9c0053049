"""Parts laid end to end: sums in order, groups, selections, reductions."""

import copy
import pickle

import numpy as np
import pytest

import hardmax as hx
from hardmax.cloud import ragged as module
from hardmax.cloud.ragged import Ragged, ragged


def _batch(lengths, seed=0):
    rng = np.random.default_rng(seed)
    return ragged([rng.standard_normal((n, 2)) * 10.0 ** rng.integers(-8, 8, (n, 1)) for n in lengths])


@pytest.mark.parametrize("long", [4096, 3, 1])
def test_sums_are_taken_from_the_first_token_to_the_last(long, monkeypatch):
    monkeypatch.setattr(module, "LONG", long)
    batch = _batch([3, 1, 7, 7, 2, 30])
    sums = batch.sum_in_order(np.ascontiguousarray(batch.values[:, 0]))
    for tokens, total in zip(batch, sums, strict=True):
        by_hand = 0.0
        for x in tokens[:, 0]:
            by_hand += x
        assert by_hand == total
    assert (batch.mean_in_order(batch.values)[:, 0] == sums / batch.lengths).all()
    assert (batch.mean_in_order(batch.values[:, 0]) == sums / batch.lengths).all()


def test_parts_and_selections_are_the_sequences():
    batch = _batch([3, 1, 7, 7, 2, 30])
    again = [tokens for part in batch.groups(8) for tokens in part]
    assert len(list(batch.groups(8))) > 2
    assert all((one == other).all() for one, other in zip(again, batch, strict=True))
    chosen = batch.take([4, 0, 0])
    assert all((one == batch[j]).all() for one, j in zip(chosen, [4, 0, 0], strict=True))


def test_arrays_of_equal_lengths_are_batches_too():
    batch = ragged(np.arange(12.0).reshape(2, 3, 2))
    assert batch.lengths.tolist() == [3, 3]
    with pytest.raises(hx.BadInput, match="no coordinates"):
        ragged(np.zeros((2, 3, 0)))


def test_empty_parts_reduce_to_the_identity():
    words = Ragged.of_lengths(np.array([5, 7, 1]), [0, 2, 0, 1, 0])
    assert [part.tolist() for part in words] == [[], [5, 7], [], [1], []]
    assert words.reduce(np.add).tolist() == [0, 12, 0, 1, 0]
    assert words.owner.tolist() == [1, 1, 3]
    assert [part.tolist() for part in words.take([1, 0, 3])] == [[5, 7], [], [1]]
    assert Ragged.of_lengths(np.zeros(0), [0, 0]).reduce(np.add).tolist() == [0, 0]
    with pytest.raises((TypeError, ValueError)):
        words.reduce(np.maximum)  # the largest of nothing does not exist


def test_other_values_are_split_and_reduced_alike():
    batch = _batch([3, 1, 4])
    other = np.arange(8)
    assert [part.tolist() for part in batch.split(other)] == [[0, 1, 2], [3], [4, 5, 6, 7]]
    assert batch.reduce(np.add, other).tolist() == [3, 3, 22]
    assert batch.reduce(np.maximum, other[:, None]).tolist() == [[2], [3], [7]]


def test_equal_values_and_offsets_are_equal():
    batch = _batch([3, 1, 4])
    assert batch.starts.tolist() == [0, 3, 4]
    for again in (pickle.loads(pickle.dumps(batch)), copy.deepcopy(batch), _batch([3, 1, 4])):
        assert again == batch
    assert batch != _batch([3, 1, 4], seed=1)
    assert batch != Ragged.of_lengths(batch.values, [1, 3, 4])
