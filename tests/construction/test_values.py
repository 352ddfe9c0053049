"""Networks, reports and stages are values: copies, pickles and folders give back equal ones."""

import copy
import inspect
import pickle
from dataclasses import replace

import numpy as np
import pytest

import hardmax as hx
from construction_cases import distinct_sets, interpolated, labeled

COPIES = {"pickle": lambda value: pickle.loads(pickle.dumps(value)), "deepcopy": copy.deepcopy, "copy": copy.copy}
DATA = {"labels": labeled(12, 2), "targets": interpolated(8, 2), "one class": ([[[1.0, 2.0]], [[0.0, 1.0]]], [7, 7])}


@pytest.fixture(
    scope="module", params=[(s, p, d) for s in ("bitwise", "two", "narrow") for p in ("mean", "max") for d in DATA]
)
def built(request):
    style, pool, name = request.param
    data = distinct_sets(*DATA[name])
    net = hx.construct(*data, style=style, pool=pool)
    return net, data


@pytest.mark.parametrize("way", COPIES)
def test_copies_are_equal_and_compute_the_same_bits(built, way):
    net, data = built
    report, stages = net.verify(*data, levels=("certificate", "float64")), net.stages(data[0])
    answers = net.answer(data[0])
    for value in (net, report, stages, stages[-1], answers, net.stack[0], net.stack[0].ff, net.stack[0].sa):
        again = COPIES[way](value)
        assert again == value
    again = COPIES[way](net)
    assert all((x == y).all() for x, y in zip(again.forward(data[0]), net.forward(data[0]), strict=True))


def test_a_folder_gives_back_an_equal_network(built, tmp_path):
    net, data = built
    again = hx.Network.load(net.save(tmp_path / "net"))
    assert again == net
    assert [(b.ff, b.sa, b.stage) for b in again] == [(b.ff, b.sa, b.stage) for b in net]
    assert again.stages(data[0]) == net.stages(data[0])


def test_any_other_value_is_unequal():
    data = labeled(12, 2)
    net = hx.construct(*data)
    assert net == hx.construct(*data)
    assert net != hx.construct(*data, seed=1)
    assert net != "a network"
    for name, value in [("gap", 0.5), ("classes", None), ("targets", net.targets + 1), ("stack", net.stack[:-1])]:
        assert net != replace(net, **{name: value}), name
    ff = net.stack[1].ff
    for name in ("U", "b", "W"):
        assert ff != replace(ff, **{name: np.nextafter(getattr(ff, name), np.inf)})
    assert ff != replace(ff, reads=ff.reads + 1)
    assert net.stages(data[0]) != net.stages(data[0][:-1])
    narrow = hx.construct(*data, style="narrow")
    assert narrow.stages(data[0]) != narrow.stages(data[0], every="block")


def test_a_pickle_holds_parameters_and_no_tables():
    net = hx.construct(*labeled(40, 3))
    before = len(pickle.dumps(net))
    net.forward(labeled(40, 3)[0])  # fills the tables
    assert len(pickle.dumps(net)) == before


def test_construct_is_a_plain_function_with_a_signature():
    assert inspect.isfunction(hx.construct)
    assert list(inspect.signature(hx.construct).parameters) == [
        "sequences", "targets", "style", "pool", "direction", "thin", "width", "seed",
    ]  # fmt: skip
    assert "bit for bit" in inspect.getdoc(hx.construct)
    assert not [
        n for n, p in inspect.signature(hx.construct).parameters.items() if p.annotation is inspect.Parameter.empty
    ]
