"""A network that is not quite the one that was certified must not pass."""

from dataclasses import replace

import numpy as np
import pytest

import hardmax as hx
from construction_cases import interpolated, labeled
from hardmax.construction.certificate import fingerprint

PARTS = [
    ("ff", "U"),
    ("ff", "b"),
    ("ff", "W"),
    ("ff", "eta"),
    ("sa", "rho"),
    ("sa", "Q"),
    ("sa", "left"),
    ("sa", "right"),
]


def _nudged(net, block, layer, name, certify=False):
    """The network with one parameter moved by one unit in the last place (zeros become 2^-20)."""
    part = getattr(net.stack[block], layer)
    value = np.array(getattr(part, name), dtype=float)
    at = np.unravel_index(np.argmax(np.abs(value)), value.shape) if value.ndim else ()
    value[at] = np.nextafter(value[at], np.inf) if value[at] else 2.0**-20
    changed = replace(part, **{name: value if value.ndim else float(value)})
    stack = list(net.stack)
    stack[block] = replace(stack[block], **{layer: changed})
    nudged = replace(net, stack=tuple(stack))
    return replace(nudged, certified=fingerprint(nudged.stack)) if certify else nudged


@pytest.mark.parametrize("style", ["bitwise", "two"])
@pytest.mark.parametrize("data", [labeled(40, 3), interpolated(15, 3)], ids=["labels", "targets"])
def test_any_nudged_parameter_fails(style, data):
    net = hx.construct(*data, style=style)
    for block in range(net.blocks):
        for layer, name in PARTS:
            if np.size(getattr(getattr(net.stack[block], layer), name)):
                report = _nudged(net, block, layer, name).verify(*data, levels=("certificate",))
                assert not report.exact, (block, layer, name)
                assert "not those that were certified" in report.levels[0].note


@pytest.mark.parametrize("level", ["certificate", "rational"])
@pytest.mark.parametrize("name", ["U", "b", "W"])
@pytest.mark.parametrize("style", ["bitwise", "two"])
def test_a_nudged_plateau_is_seen_without_the_fingerprint(style, name, level):
    data = interpolated(15, 3)
    net = hx.construct(*data, style=style)
    nudged = _nudged(net, 1, "ff", name, certify=True)
    assert not nudged.verify(*data, levels=(level,)).exact
    assert net.verify(*data, levels=(level,)).exact


@pytest.mark.parametrize("level", ["certificate", "float64", "dense", "rational", "torch"])
def test_every_level_sees_a_wrong_target(level):
    sequences, labels = labeled(30, 3)
    net = hx.construct(sequences, labels)
    wrong = [*labels]
    wrong[7] = (wrong[7] + 1) % 3
    report = net.verify(sequences, wrong, levels=(level,), sample=100)
    assert not report
    assert (report.levels[0].exact, report.levels[0].sequences) == (29, 30)
    assert report.levels[0].note == "first wrong sequence: 7"
    assert report.max_error >= 1.0


def test_a_label_that_the_network_does_not_know_is_wrong():
    sequences, labels = labeled(10, 2, classes=2)
    net = hx.construct(sequences, labels)
    assert not net.verify(sequences, ["other", *labels[1:]], levels=("float64",)).exact


def test_missing_and_extra_target_tokens_are_wrong():
    sequences, targets = interpolated(10, 2)
    net = hx.construct(sequences, targets)
    j = next(j for j, t in enumerate(targets) if len(t) > 1)
    fewer = [t[:-1] if k == j else t for k, t in enumerate(targets)]
    for level in ("certificate", "float64", "rational"):
        assert net.verify(sequences, fewer, levels=(level,)).levels[0].exact == 9
    more = [
        np.vstack([t, targets[0][:1] + 1]) if k == j and len(sequences[k]) > len(t) else t
        for k, t in enumerate(targets)
    ]
    if any(len(x) != len(y) for x, y in zip(more, targets, strict=True)):
        assert net.verify(sequences, more, levels=("float64",)).levels[0].exact == 9


def test_a_part_of_the_data_can_be_verified():
    sequences, labels = labeled(30, 3)
    net = hx.construct(sequences, labels)
    report = net.verify(sequences[5:9], labels[5:9])
    assert report.exact
    assert report.sequences == 4


def test_the_report_reads_well_and_goes_to_json():
    sequences, labels = labeled(12, 2)
    report = hx.construct(sequences, labels).verify(sequences, labels, levels=("certificate", "rational"))
    text = str(report)
    assert text.startswith("exact: 12 sequences, smallest gap ")
    assert "ok   rational     12/12 exact, largest error 0" in text
    document = report.to_json()
    assert document["exact"] is True
    assert document["levels"][1]["name"] == "rational"
    alone = hx.construct([[[1.0, 2.0]]], ["x"])
    assert alone.verify([[[1.0, 2.0]]], ["x"], levels=("certificate",)).to_json()["min_gap"] is None


def test_wrong_calls_are_refused():
    sequences, labels = labeled(5, 2)
    net = hx.construct(sequences, labels)
    with pytest.raises(hx.BadInput, match="certificate, float64, dense, rational, torch"):
        net.verify(sequences, labels, levels=("guess",))
    with pytest.raises(hx.BadInput, match="built for classification"):
        net.verify(sequences, [[[1.0, 2.0]]] * 5)
    with pytest.raises(hx.BadInput, match="dimension 3, but the network was built for 2"):
        net.verify([[[1.0, 2.0, 3.0]]], [0])
    with pytest.raises(hx.BadInput, match="dimension 3, but the network was built for 2"):
        net([[[1.0, 2.0, 3.0]]])
    with pytest.raises(hx.BadInput, match="temperature"):
        net(sequences, temperature=0.0)
