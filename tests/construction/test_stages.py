"""The clouds between the stages of a construction."""

from itertools import pairwise

import numpy as np
import pytest

import hardmax as hx
from construction_cases import distinct_sets, interpolated
from hardmax.errors import BadInput


@pytest.fixture(scope="module")
def built():
    rng = np.random.default_rng(0)
    sequences = [rng.standard_normal((n, 2)) for n in (6, 5, 7)]
    targets = [[[0.0, 1.0]], [[2.0, 0.5]], [[-1.0, -1.0], [1.0, -1.0]]]
    return hx.construct(sequences, targets, style="narrow", pool="max"), sequences, targets


def test_the_stages_are_those_of_the_paper(built):
    net, sequences, _ = built
    stages = net.stages(sequences)
    assert stages.names == ("input", "separate", "leaders", "collapse", "place")
    assert sum(stage.blocks for stage in stages) == net.blocks
    assert [stage.first for stage in stages][1] == 0
    assert all(x.last + 1 == y.first for x, y in zip(stages.stages[1:-1], stages.stages[2:], strict=True))


def test_each_stage_does_what_its_name_says(built):
    net, sequences, targets = built
    stages = net.stages(sequences)
    for before, after in zip(sequences, stages["input"].clouds, strict=True):
        assert np.array_equal(before, after)
    keys = [(cloud[:, 0].min(), cloud[:, 0].max()) for cloud in stages["separate"].clouds]
    keys.sort()
    assert all(left[1] < right[0] for left, right in pairwise(keys))
    numbers = [set(cloud[:, 1].tolist()) for cloud in stages["leaders"].clouds]
    assert [len(number) for number in numbers] == [1, 1, 2]
    assert set.union(*numbers) == {0.0, 1.0, 2.0, 3.0}
    assert [len(np.unique(cloud, axis=0)) for cloud in stages["collapse"].clouds] == [1, 1, 2]
    for cloud, target in zip(stages["place"].clouds, targets, strict=True):
        found = np.unique(cloud, axis=0)
        np.testing.assert_allclose(found, sorted(target), atol=1e-14)


def test_every_block_can_be_stepped_through(built):
    net, sequences, _ = built
    steps = net.stages(sequences, every="block")
    assert len(steps) == net.blocks + 1
    assert [step.last for step in steps] == list(range(-1, net.blocks))
    for stage in net.stages(sequences):
        same = steps[stage.last + 1]
        assert all(np.array_equal(x, y) for x, y in zip(stage.clouds, same.clouds, strict=True))


@pytest.mark.parametrize(("style", "pool"), [("bitwise", "mean"), ("two", "mean"), ("narrow", "mean")])
def test_other_styles_have_stages_too(style, pool):
    sequences, targets = distinct_sets(*interpolated(6, 2, seed=1))
    net = hx.construct(sequences, targets, style=style, pool=pool)
    stages = net.stages(sequences)
    assert stages.names[0] == "input"
    assert stages[-1].name == "place"
    assert stages[-1].last == net.blocks - 1


def test_stages_say_in_one_line_what_they_are(built):
    net, sequences, _ = built
    assert repr(net.stages(sequences)) == "Stages of 3 sequences: input, separate, leaders, collapse, place"


def test_stages_are_indexed_like_a_tuple(built):
    stages = built[0].stages(built[1])
    assert stages[np.int64(1)] is stages[1]
    assert stages[1:3] == stages.stages[1:3]
    with pytest.raises(IndexError):
        stages[99]


def test_wrong_names_are_refused(built):
    net, sequences, _ = built
    with pytest.raises(BadInput, match="every"):
        net.stages(sequences, every="token")
    with pytest.raises(BadInput, match="no stage 'nowhere'"):
        net.stages(sequences)["nowhere"]
