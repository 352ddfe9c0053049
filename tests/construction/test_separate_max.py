"""Rounds of hardmax: how many, where they put their tents, and what softmax does to them."""

import numpy as np
import pytest

import hardmax as hx
from construction_cases import distinct_sets, interpolated, labeled
from hardmax.cloud.ragged import ragged
from hardmax.construction import separate_max
from hardmax.construction.problem import read_problem
from hardmax.construction.separate_max import LEAST_MARGIN, TokenSets, choose_round, separate_by_max
from hardmax.errors import IllConditioned


def line(*values):
    return [[float(v), 0.0] for v in values]


def rounds(net):
    return sum(not block.sa.is_identity for block in net.stack)


@pytest.mark.parametrize("n", [2, 5, 12])
def test_one_token_more_in_each_sequence_needs_a_round_for_each(n):
    """L3 is tight: S^0 = base, S^j = base + {t_j}; only a tent near t_j tells j from 0."""
    extra = np.linspace(-0.8, 0.7, n - 1)
    base = [-1.0, 1.0, *(extra - 0.02), *(extra + 0.03)]
    sequences = [line(*base), *(line(*base, t) for t in extra)]
    labels = ["base", *["more"] * (n - 1)]
    net = hx.construct(sequences, labels, style="narrow", pool="max", direction=[1.0, 0.0])
    assert rounds(net) == n - 1
    assert net.verify(sequences, labels, levels=("certificate", "rational"))
    assert len(hx.construct(sequences, labels, pool="mean", direction=[1.0, 0.0]).stack[0].ff.b) <= 2


def test_equal_means_at_many_places_need_a_kink_each():
    """L2 is tight up to a factor of 2: pairs {p - e, p + e} / {p - 2e, p + 2e} at far places p."""
    places = np.arange(6) * 10.0
    anchors = [-100.0, 200.0]
    sequences = [line(*anchors, p - e, p + e) for p in places for e in (1.0, 2.0)]
    net = hx.construct(sequences, list(range(12)), style="two", direction=[1.0, 0.0])
    assert net.stack[0].ff.width - 1 >= 6
    assert net.stack[0].ff.width - 1 <= 11
    assert net.verify(sequences, list(range(12)))


def test_no_tent_ends_on_a_tie():
    """The trap: for b midway between -1 and 1 hardmax returns their average 0, the very token that is missing."""
    sequences = [line(-1.0, 0.0, 1.0), line(-1.0, 1.0)]
    s = np.array([1.0, 1.5, 2.0, 1.0, 2.0])
    sets = TokenSets.of(ragged(sequences), s, 1e-12)
    choice = choose_round(sets, np.array([0]), np.array([1]), 2.0**-40)
    assert choice.b != 1.5
    assert choice.margin > 0.01
    assert choice.nearest[0] == 1.5
    assert choice.nearest[1] in (1.0, 2.0)
    net = hx.construct(sequences, ["with", "without"], style="narrow", pool="max", direction=[1.0, 0.0])
    assert net(sequences) == ["with", "without"]


def test_a_margin_that_is_not_good_is_good_enough(monkeypatch):
    """Regression: a pair that differs in fewer tokens than are tried was given up although its margin sufficed."""
    monkeypatch.setattr(separate_max, "GOOD_MARGIN", 1e6)
    sequences = [line(0.0, 0.3, 1.0), line(0.0, 1.0), line(0.0, 0.3001, 1.0)]
    net = hx.construct(sequences, [0, 1, 2], style="narrow", pool="max")
    assert net(sequences) == [0, 1, 2]


def test_the_nearest_token_is_nearest_by_the_margin():
    sequences, labels = distinct_sets(*labeled(40, 3, seed=2))
    problem = read_problem(sequences, labels)
    found = separate_by_max(problem, np.array([0.3, -0.2, 0.1]), np.random.default_rng(0))
    assert found.margin > LEAST_MARGIN
    s, A = found.g, np.zeros(len(sequences))
    for block in found.rounds:
        unit = 1 if block is found.rounds[0] else 0
        b = found.rounds[0].ff.b[0] - block.ff.b[1] if unit else -block.ff.b[0]
        weight = float(block.sa.right.sum())
        for j in range(len(sequences)):
            mine = np.unique(s[problem.batch.starts[j] :][: problem.batch.lengths[j]])
            distance = np.sort(np.abs(mine - b))
            assert len(mine) == 1 or distance[1] - distance[0] >= found.margin * (1 - 1e-6)
            A[j] += weight * mine[np.argmin(np.abs(mine - b))]
    np.testing.assert_allclose(found.z, A + 2.0, atol=1e-12)
    assert ((s >= 1) & (s <= 2 + 1e-9)).all()


def test_tokens_nearer_than_the_margin_are_refused_with_both_indices():
    sequences = [line(0.0, 1.0), line(0.0, 1.0, 1.0 + 2e-12)]
    with pytest.raises(IllConditioned, match="0 and 1") as caught:
        hx.construct(sequences, ["x", "y"], pool="max", direction=[1.0, 0.0])
    assert "pool='mean'" in str(caught.value) or "round" in str(caught.value)


@pytest.mark.parametrize("style", ["narrow", "bitwise", "two"])
@pytest.mark.parametrize("data", [labeled, interpolated])
def test_softmax_at_the_given_temperature_gives_the_same_answers(style, data):
    sequences, targets = distinct_sets(*data(30, 2, seed=6))
    net = hx.construct(sequences, targets, style=style, pool="max")
    assert 0 < net.temperature < 1
    hard = net.forward(sequences)
    for part in (1.0, 0.1):
        for mine, exact in zip(net.forward(sequences, temperature=part * net.temperature), hard, strict=True):
            tolerance = 0.0 if style == "bitwise" else 1e-6 if style == "two" else 1e-14
            np.testing.assert_allclose(mine, exact, rtol=0, atol=tolerance)
    hot = net.forward(sequences, temperature=1e3)
    assert any(not np.allclose(x, y) for x, y in zip(hot, hard, strict=True))


def test_pool_mean_has_no_highest_temperature():
    sequences, labels = labeled(10, 2)
    assert hx.construct(sequences, labels, style="narrow").temperature == np.inf


def test_the_fast_attention_gives_the_bits_of_the_score_matrix():
    sequences, labels = distinct_sets(*labeled(40, 3, seed=8, lattice=True))
    net = hx.construct(sequences, labels, style="bitwise", pool="max")
    batch = ragged(sequences)
    rng = np.random.default_rng(0)
    sa = net.stack[0].sa
    for x in (
        rng.uniform(1, 2, (len(batch.values), 3)),
        np.round(rng.uniform(-1, 1, (len(batch.values), 3)), 1),  # ties, and queries of both signs
        1.0 + rng.integers(0, 3, (len(batch.values), 3)) * 2.0**-52,  # keys whose products round to one score
    ):
        assert np.array_equal(sa.apply(x, batch, fast=True), sa.apply(x, batch))
