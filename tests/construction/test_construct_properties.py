"""For any data there is either an exact network or a true reason against it."""

from collections import Counter
from math import gcd

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hardmax as hx
from construction_cases import full_blocks, literal_outputs, target_sets

TAME = settings(derandomize=True, deadline=None, max_examples=120)
TOKEN = st.tuples(st.integers(-2, 2), st.integers(-2, 2))
SEQUENCES = st.lists(st.lists(TOKEN, min_size=1, max_size=5), min_size=1, max_size=8)


WAYS = st.sampled_from([(style, pool) for style in ("bitwise", "two", "narrow") for pool in ("mean", "max")])


def _seen(sequence, pool):
    """What a pool can see of a sequence: the proportions of its tokens, or only which there are."""
    return _measure(sequence) if pool == "mean" else frozenset(sequence)


def _measure(sequence):
    counts = Counter(sequence)
    common = gcd(*counts.values())
    return frozenset((token, n // common) for token, n in counts.items())


@TAME
@given(SEQUENCES, st.data(), WAYS)
def test_labels_are_exact_or_contradictory(sequences, data, way):
    style, pool = way
    labels = [data.draw(st.sampled_from("abc")) for _ in sequences]
    wanted = {}
    clash = any(wanted.setdefault(_seen(s, pool), label) != label for s, label in zip(sequences, labels, strict=True))
    if clash:
        with pytest.raises(hx.ContradictoryTargets) as error:
            hx.construct([list(map(list, s)) for s in sequences], labels, style=style, pool=pool)
        i, j = error.value.sequences
        assert _seen(sequences[i], pool) == _seen(sequences[j], pool)
        assert labels[i] != labels[j]
        return
    arrays = [np.array(s, dtype=float) for s in sequences]
    net = hx.construct(arrays, labels, style=style, pool=pool)
    assert net(arrays) == labels
    assert net.verify(arrays, labels, levels=("certificate", "rational")).exact
    assert literal_outputs(full_blocks(net), arrays[0]) == target_sets(arrays, labels)[0]


@TAME
@given(SEQUENCES, st.data(), WAYS)
def test_targets_are_exact_contradictory_or_impossible(sequences, data, way):
    style, pool = way
    numbers = st.integers(-40, 40).map(lambda n: n / 10)  # most of them rounded: 0.1 is no dyadic number
    tokens = st.lists(st.tuples(numbers, numbers), min_size=1, max_size=3, unique=True)
    targets = [data.draw(tokens) for _ in sequences]
    arrays, wanted = [np.array(s, dtype=float) for s in sequences], [np.array(t) for t in targets]
    impossible = any(len(t) > len(set(s)) for s, t in zip(sequences, targets, strict=True))
    seen = {}
    clash = any(seen.setdefault(_seen(s, pool), set(t)) != set(t) for s, t in zip(sequences, targets, strict=True))
    if impossible or clash:
        with pytest.raises((hx.ImpossibleTarget, hx.ContradictoryTargets)) as error:
            hx.construct(arrays, wanted, style=style, pool=pool)
        assert impossible if isinstance(error.value, hx.ImpossibleTarget) else clash
        return
    net = hx.construct(arrays, wanted, style=style, pool=pool)
    assert net.verify(arrays, wanted, levels=("certificate", "float64", "rational")).exact
    for answer, target in zip(net(arrays), targets, strict=True):
        assert {tuple(row) for row in answer} == set(target)
