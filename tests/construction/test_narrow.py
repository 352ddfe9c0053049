"""Style `narrow`, and pool `max` in every style, through every level."""

from dataclasses import replace

import numpy as np
import pytest

import hardmax as hx
from construction_cases import CASES, distinct_sets, full_blocks, interpolated, labeled, literal_outputs, target_sets
from hardmax.construction import styles
from hardmax.construction.place import move_leaders
from hardmax.errors import BadInput, ContradictoryTargets, IllConditioned, ImpossibleTarget
from hardmax.transformer.blocks import FeedForwardLayer

ALL = ("certificate", "float64", "dense", "rational", "torch")
a, b, c = [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]


TABLE = [(name, "narrow", "mean", *case) for name, case in CASES.items()]
TABLE += [
    (name, style, "max", *distinct_sets(*case))
    for name, case in CASES.items()
    for style in ("narrow", "bitwise", "two")
]
IDS = ["-".join(row[:3]) for row in TABLE]


@pytest.mark.parametrize(("name", "style", "pool", "sequences", "targets"), TABLE, ids=IDS)
def test_every_level_finds_every_target(name, style, pool, sequences, targets):
    net = hx.construct(sequences, targets, style=style, pool=pool)
    report = net.verify(sequences, targets, levels=ALL, sample=10**6)
    assert report.exact, str(report)
    assert all(level.sequences == len(sequences) for level in report.levels)
    exact = {level.name: level.exact for level in report.levels}
    assert exact["certificate"] == exact["rational"] == len(sequences)
    if style == "bitwise":
        assert exact["float64"] == exact["dense"] == exact["torch"] == len(sequences)
    elif style == "narrow":  # two roundings of numbers up to 5 S, S the power of two above the targets
        assert report.max_error <= 8e-15 * max(1.0, np.abs(net.targets).max())
    blocks, expected = full_blocks(net), target_sets(sequences, targets)
    for j in range(0, len(sequences), 9):
        assert literal_outputs(blocks, sequences[j]) == expected[j]


@pytest.mark.parametrize("pool", ["mean", "max"])
@pytest.mark.parametrize("dim", [2, 5])
@pytest.mark.parametrize("data", [labeled, interpolated])
def test_narrow_keeps_its_word_on_width_rank_blocks_and_parameters(pool, dim, data):
    sequences, targets = distinct_sets(*data(40, dim, seed=11))
    n = len(sequences)
    net = hx.construct(sequences, targets, style="narrow", pool=pool)
    m = net.target_tokens
    rounds = sum(not block.sa.is_identity for block in net.stack) if pool == "max" else 0
    assert rounds <= n - 1
    assert net.width <= 4
    assert net.blocks <= rounds + 1.25 * m + 5 <= net.bound
    assert net.parameters <= dim * m + 19 * m + 18 * rounds + 4 * dim + 60
    for block in net.stack:
        assert max(np.linalg.matrix_rank(part) for part in (block.sa.Q, block.sa.K, block.sa.V)) <= 1


def test_wider_blocks_are_fewer():
    sequences, targets = interpolated(25, 3)
    nets = [hx.construct(sequences, targets, style="narrow", width=width) for width in (4, 8, 32)]
    assert [net.width for net in nets] == [4, 8, 32]
    assert nets[0].blocks > nets[1].blocks > nets[2].blocks
    assert all(net.verify(sequences, targets, levels=("certificate", "rational")) for net in nets)


@pytest.mark.parametrize("width", [2, 5, 4.0, True])
def test_odd_widths_are_refused(width):
    with pytest.raises(BadInput, match="width"):
        hx.construct([[a]], ["x"], style="narrow", width=width)


@pytest.mark.parametrize("pool", ["mean", "max"])
def test_sequences_too_close_for_one_key_are_spread_in_place(pool, monkeypatch):
    sequences, targets = distinct_sets(*interpolated(20, 2, seed=4))
    usual = hx.construct(sequences, targets, style="narrow", pool=pool)
    monkeypatch.setattr(styles, "LEAST_SLACK_NARROW", np.inf)
    net = hx.construct(sequences, targets, style="narrow", pool=pool)
    extra = (len(sequences) - 1 + 1) // 2 + 1
    assert usual.blocks < net.blocks <= usual.blocks + extra
    assert net.width == 4
    report = net.verify(sequences, targets, levels=ALL)
    assert report.exact, str(report)
    assert report.max_error < 8e-15
    assert literal_outputs(full_blocks(net), sequences[3]) == target_sets(sequences, targets)[3]


def test_keys_finer_than_float64_need_the_spread():
    """Means 1e-9 apart and tokens 1e-8 apart: g + A z would need more than 53 bits."""
    tokens = [[0.0, 0.0], [1e-8, 0.0], [1.0, 0.0], [0.3, 0.0]]
    sequences = [tokens, [*tokens[:3], [0.3 + 4e-9, 0.0]], [*tokens[:3], [0.3 + 8e-9, 0.0]]]
    targets = [[[1.0, 2.0], [3.0, 4.0], [5.0, j], [6.0, j]] for j in range(3)]
    net = hx.construct(sequences, targets, style="narrow")
    steps_on_e1 = [k for k in net.stack if k.stage == "separate" and k.ff.eta == 1.0]
    assert steps_on_e1
    assert net.verify(sequences, targets, levels=ALL)


@pytest.mark.parametrize("scale", [2.0**-800, 1e-3, 1.0, 12345.678, 2.0**800])
def test_leaders_reach_targets_of_any_size(scale):
    rng = np.random.default_rng(0)
    sequences = [rng.standard_normal((4, 2)) for _ in range(6)]
    targets = [scale * rng.standard_normal((2, 2)) for _ in range(6)]
    net = hx.construct(sequences, targets, style="narrow")
    report = net.verify(sequences, targets, levels=("certificate", "rational", "float64"))
    assert report.exact, str(report)
    assert report.max_error <= 3e-14 * scale


def test_a_placed_target_is_never_moved_again():
    """L8 at its corners: every target on the border of the square, whatever the leader."""
    D = 7
    corners = np.array([[x, y] for x in (-1.0, 1.0) for y in (-1.0, 1.0)])
    for block in move_leaders(2, np.tile(corners, (2, 1))[:D], 1.0, 4):
        assert np.array_equal(block.ff.apply(corners), corners)


def test_fused_blocks_are_the_same_function():
    sequences, targets = distinct_sets(*interpolated(30, 2, seed=3))
    net = hx.construct(sequences, targets, style="narrow", pool="max")
    assert len(net.fused) < 0.6 * net.blocks
    rng = np.random.default_rng(0)
    new = [rng.standard_normal((5, 2)) for _ in range(20)]
    for mine, every in zip(net.forward(new), net.forward(new, dense=True), strict=True):
        np.testing.assert_allclose(mine, every, atol=1e-9)


def test_new_inputs_get_a_target_and_a_distance():
    sequences, labels = distinct_sets(*labeled(30, 2, seed=5))
    net = hx.construct(sequences, labels, style="narrow", pool="max")
    old = net.answer(sequences)
    assert old.values == labels
    assert (old.distance == 0).all()
    assert (old.margin > 0).all()
    new = net.answer([np.random.default_rng(1).standard_normal((6, 2)) for _ in range(10)])
    assert set(new.values) <= set(labels)


def test_narrow_networks_survive_the_disk(tmp_path):
    sequences, targets = distinct_sets(*interpolated(12, 3, seed=2))
    net = hx.construct(sequences, targets, style="narrow", pool="max")
    again = type(net).load(net.save(tmp_path / "net"))
    assert again.temperature == net.temperature
    assert again.stages(sequences).names == net.stages(sequences).names
    assert again.verify(sequences, targets, levels=("certificate", "rational"))


@pytest.mark.parametrize("stage", ["separate", "leaders", "collapse", "place"])
@pytest.mark.parametrize("part", ["U", "b", "W"])
def test_a_nudged_parameter_of_any_stage_fails(stage, part):
    sequences, targets = distinct_sets(*interpolated(10, 2, seed=9))
    net = hx.construct(sequences, targets, style="narrow", pool="max")
    i = next(k for k, block in enumerate(net.stack) if block.stage == stage and getattr(block.ff, part).size)
    values = getattr(net.stack[i].ff, part).copy()
    values.flat[np.flatnonzero(values)[-1]] *= 1.5
    ff: FeedForwardLayer = replace(net.stack[i].ff, **{part: values})
    wrong = replace(net, stack=(*net.stack[:i], replace(net.stack[i], ff=ff), *net.stack[i + 1 :]))
    assert not wrong.verify(sequences, targets, levels=("certificate",))


@pytest.mark.parametrize("style", ["narrow", "bitwise", "two"])
class TestFailures:
    def test_equal_sets_in_other_proportions_need_the_mean(self, style):
        with pytest.raises(ContradictoryTargets, match="sequences 0 and 1") as caught:
            hx.construct([[a, b], [a, a, b]], ["x", "y"], style=style, pool="max")
        assert caught.value.sequences == (0, 1)
        assert "pool='mean'" in str(caught.value)
        assert hx.construct([[a, b], [a, a, b]], ["x", "x"], style=style, pool="max").blocks

    def test_equal_measures_are_contradictory_for_max_too(self, style):
        with pytest.raises(ContradictoryTargets, match="same proportions"):
            hx.construct([[c], [a, b], [b, b, a, a]], ["z", "x", "y"], style=style, pool="max")

    def test_tokens_one_ulp_apart_are_ill_conditioned(self, style):
        near = [np.nextafter(1.0, 2.0), 0.0]
        with pytest.raises(IllConditioned, match="0 and 1"):
            hx.construct([[a, b], [near, b]], ["x", "y"], style=style, pool="max")

    def test_more_targets_than_distinct_tokens_is_impossible(self, style):
        with pytest.raises(ImpossibleTarget, match=r"targets\[0\]"):
            hx.construct([[a, a], [b]], [[a, b], [c]], style=style, pool="max")

    def test_dimension_one_is_refused(self, style):
        with pytest.raises(BadInput, match="zero coordinate"):
            hx.construct([[[0.0]], [[1.0]]], ["x", "y"], style=style, pool="max")
