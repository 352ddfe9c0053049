"""Every case through every level: certificate, float64, every unit, rational, torch, and the literal definition."""

import numpy as np
import pytest

import hardmax as hx
from construction_cases import CASES, LINE_CASES, full_blocks, interpolated, labeled, literal_outputs, target_sets
from hardmax.construction import styles

ALL = ("certificate", "float64", "dense", "rational", "torch")
TABLE = [(name, style, *case) for name, case in CASES.items() for style in ("bitwise", "two")]
TABLE += [(name, "two", *case) for name, case in LINE_CASES.items()]
IDS = [f"{name}-{style}" for name, style, *_ in TABLE]


@pytest.mark.parametrize(("name", "style", "sequences", "targets"), TABLE, ids=IDS)
def test_every_level_finds_every_target(name, style, sequences, targets):
    net = hx.construct(sequences, targets, style=style)
    report = net.verify(sequences, targets, levels=ALL, sample=10**6)
    assert report.exact, str(report)
    assert [level.name for level in report.levels] == list(ALL)
    assert all(level.sequences == len(sequences) for level in report.levels)
    exact = {level.name: level.exact for level in report.levels}
    assert exact["certificate"] == exact["rational"] == len(sequences)
    if style == "bitwise":
        assert exact["float64"] == exact["dense"] == exact["torch"] == len(sequences)
        assert report.max_error == 0.0
    else:  # two blocks are exact over the reals; float64 adds up terms of the size of 1 / gap
        assert report.max_error < 1e-6


@pytest.mark.parametrize(("name", "style", "sequences", "targets"), TABLE, ids=IDS)
def test_the_definition_taken_literally_gives_the_targets(name, style, sequences, targets):
    net = hx.construct(sequences, targets, style=style)
    blocks = full_blocks(net)
    expected = target_sets(sequences, targets)
    for j in range(0, len(sequences), 4):
        assert literal_outputs(blocks, sequences[j]) == expected[j]


@pytest.mark.parametrize(("name", "style", "sequences", "targets"), TABLE, ids=IDS)
def test_calling_the_network_gives_labels_or_target_tokens(name, style, sequences, targets):
    net = hx.construct(sequences, targets, style=style)
    for answer, target in zip(net(sequences), targets, strict=True):
        if net.classes is None:
            assert sorted(answer.tolist()) == sorted(np.atleast_2d(target).tolist())
        else:
            assert answer == target
            assert type(answer) is type(target)


def test_block_counts_are_those_of_the_styles():
    sequences, labels = labeled(30, 2)
    assert hx.construct(sequences, labels).blocks == 5
    assert hx.construct(sequences, labels, style="two").blocks == 2
    net = hx.construct(sequences, labels)
    assert net.bound == 2 * 30 + 2 * 30 + 1
    inputs, targets = interpolated(20, 2)
    net = hx.construct(inputs, targets)
    assert net.blocks == 5
    assert net.bound == 2 * sum(map(len, targets)) + 2 * 20 + 1


def test_parameter_counts_stay_within_the_bounds():
    dim, n = 16, 200
    sequences, labels = labeled(n, dim)
    net = hx.construct(sequences, labels)
    runs = (net.stack[1].ff.width + 1) // 2 + 1
    assert net.width <= 2 * (n - 1) + 1
    assert net.parameters <= dim * (3 + 1) + 6 * runs + 6 * 3 + 40
    inputs, targets = interpolated(100, dim)
    m = sum(map(len, targets))
    net = hx.construct(inputs, targets)
    assert net.width <= 2 * (m - 1) + 1
    assert net.parameters <= dim * m + 12 * m + 2 * dim + 40


def test_ranked_keys_are_exact_too(monkeypatch):
    monkeypatch.setattr(styles, "MOST_NOISE", -1.0)
    sequences, targets = interpolated(30, 3, seed=8)
    net = hx.construct(sequences, targets)
    assert net.blocks == 8
    report = net.verify(sequences, targets, levels=ALL, sample=10**6)
    assert report.exact, str(report)
    assert report.max_error == 0.0
    expected = target_sets(sequences, targets)
    assert literal_outputs(full_blocks(net), sequences[3]) == expected[3]


@pytest.mark.parametrize("temperature", [1e-3, 1.0, 100.0])
def test_softmax_at_any_temperature_is_the_same_map(temperature):
    sequences, labels = labeled(30, 3)
    net = hx.construct(sequences, labels)
    assert net(sequences, temperature=temperature) == labels
    for soft, hard in zip(net.forward(sequences, temperature=temperature), net.forward(sequences), strict=True):
        assert (soft == hard).all()


def test_the_order_of_tokens_does_not_matter():
    sequences, labels = labeled(30, 3)
    net = hx.construct(sequences, labels)
    assert net([s[::-1] for s in sequences]) == labels


def test_the_same_input_gives_the_same_bits_whatever_the_batch():
    sequences, labels = labeled(30, 3)
    net = hx.construct(sequences, labels)
    fresh = labeled(50, 3, seed=99)[0]
    together = net.forward(fresh, dense=True)
    for alone, one in zip(fresh, together, strict=True):
        assert (net.forward([alone], dense=True)[0] == one).all()


def test_kinks_are_added_only_where_means_agree():
    pairs = []
    for place in range(5):  # {p-e, p+e} and {p-2e, p+2e}: equal means, each pair needs a kink of its own
        pairs += [[[8.0 * place - e, 0.0], [8.0 * place + e, 0.0]] for e in (1.0, 2.0)]
    net = hx.construct(pairs, list(range(10)))
    assert 5 <= net.stack[0].ff.width - 1 <= 9
    sequences, labels = labeled(40, 3)
    assert hx.construct(sequences, labels).stack[0].ff.width == 1


@pytest.mark.parametrize("thin", [0.5, 1 / 32, 1 / 1024])
@pytest.mark.parametrize("style", ["bitwise", "two"])
def test_thin_steps_keep_exactness(thin, style):
    sequences, labels = labeled(60, 4, classes=2)
    net = hx.construct(sequences, labels, direction="ridge", thin=thin, style=style)
    assert net.verify(sequences, labels, levels=("certificate", "float64", "rational")).exact


def test_a_learned_direction_follows_a_linear_rule():
    rng = np.random.default_rng(17)
    normal = rng.standard_normal(6)
    sequences = [rng.standard_normal((8, 6)) + 0.3 * rng.standard_normal(6) for _ in range(600)]
    labels = [int(s.mean(axis=0) @ normal > 0) for s in sequences]
    blind = hx.construct(sequences[:300], labels[:300])
    learned = hx.construct(sequences[:300], labels[:300], direction="ridge", thin=1 / 32)
    assert learned.parameters < blind.parameters / 2
    right = [np.mean(np.array(net(sequences[300:])) == labels[300:]) for net in (blind, learned)]
    assert right[1] > 0.9 > right[0]


def test_a_given_direction_is_used():
    sequences, labels = labeled(20, 3)
    u = np.array([1.0, 2.0, -1.0])
    row = hx.construct(sequences, labels, direction=u).stack[0].ff.U[0]
    assert np.allclose(row / row[0], u)


def test_a_direction_that_hides_a_difference_is_turned_a_little():
    sequences = [[[0.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 5.0]]]
    net = hx.construct(sequences, ["flat", "steep"], direction=[1.0, 0.0])
    assert net(sequences) == ["flat", "steep"]


def test_new_inputs_get_one_of_the_targets_and_a_distance():
    sequences, labels = labeled(40, 3)
    net = hx.construct(sequences, labels)
    answers = net.answer(labeled(300, 3, seed=5)[0])
    assert set(answers.values) <= {0, 1, 2}
    assert (answers.distance >= 0).all()
    assert (answers.margin >= 0).all()
    assert ((answers.distance == 0) == (answers.margin > 0)).all()
    assert 0 < (answers.distance > 0).mean() < 0.5
    known = net.answer(sequences)
    assert (known.distance == 0).all()
    inputs, targets = interpolated(20, 2)
    rows = {tuple(row) for target in targets for row in target}
    for style in ("bitwise", "two"):
        for answer in hx.construct(inputs, targets, style=style)(interpolated(40, 2, seed=11)[0]):
            assert {tuple(row) for row in answer} <= rows


def test_one_array_gets_one_answer():
    net = hx.construct([[[0, 0], [1, 1]], [[0, 1], [1, 0], [2, 2]]], ["even", "odd"])
    assert net(np.array([[1.0, 1.0], [0.0, 0.0]])) == "even"


def test_the_same_data_gives_the_same_network():
    sequences, labels = labeled(40, 3)
    assert hx.construct(sequences, labels).certified == hx.construct(sequences, labels).certified
    assert hx.construct(sequences, labels).certified != hx.construct(sequences, labels, seed=1).certified
