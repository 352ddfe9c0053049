"""A network that is not quite the one that was certified must not pass."""

from dataclasses import replace

import numpy as np
import pytest

import hardmax as hx
from construction_cases import distinct_sets, interpolated, labeled
from hardmax.construction.certificate import fingerprint
from hardmax.transformer.blocks import row_factors

LEVELS = ("float64", "dense", "rational")
PARTS = ["U", "b", "W", "eta", "rho", "Q", "K", "V"]


def _changed(net, block, name, change, certify=False):
    """The network with the largest entry of one parameter of one block replaced by change(entry)."""
    layer = "ff" if name in ("U", "b", "W", "eta") else "sa"
    part = getattr(net.stack[block], layer)
    value = np.array(getattr(part, name), dtype=float)
    at = np.unravel_index(np.argmax(np.abs(value)), value.shape) if value.ndim else ()
    value[at] = change(float(value[at]))
    if name == "V" and not part.V.any():
        value = np.diag(np.full(net.dim, change(0.0)))  # some coordinates are not used any more; one of these is
    values = dict(zip(("left", "right"), row_factors(value), strict=True)) if name == "V" else {name: value}
    changed = replace(part, **{key: v if v.ndim else float(v) for key, v in values.items()})
    stack = list(net.stack)
    stack[block] = replace(stack[block], **{layer: changed})
    other = replace(net, stack=tuple(stack))
    return replace(other, certified=fingerprint(other.stack)) if certify else other


def _one_ulp(x):
    return float(np.nextafter(x, np.inf)) if x else 2.0**-20


def _negated(x):
    return -x if x else 1.0


def _one_block_per_stage(net):
    return sorted({block.stage: i for i, block in enumerate(net.stack)}.values())


@pytest.mark.parametrize("style", ["bitwise", "two"])
@pytest.mark.parametrize("data", [labeled(40, 3), interpolated(15, 3)], ids=["labels", "targets"])
def test_the_certificate_holds_for_its_own_parameters_only(style, data):
    """One unit in the last place of any parameter, even where no output changes: the checksum is another one."""
    net = hx.construct(*data, style=style)
    for block in range(net.blocks):
        for name in PARTS:
            if name not in ("U", "W") or np.size(getattr(net.stack[block].ff, name)):
                report = _changed(net, block, name, _one_ulp).verify(*data, levels=("certificate",))
                assert not report.exact, (block, name)
                assert "not those that were certified" in report.levels[0].note


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("style", ["bitwise", "two", "narrow"])
@pytest.mark.parametrize("data", [labeled(40, 3), interpolated(15, 3)], ids=["labels", "targets"])
def test_any_nudged_parameter_is_seen_by_evaluation_alone(level, style, data):
    """No checksum: every class of parameters, in every stage, with the opposite sign (zeros become 1)."""
    net = hx.construct(*data, style=style)
    assert net.verify(*data, levels=(level,), sample=10**6).exact
    for block in _one_block_per_stage(net):
        for name in ("U", "b", "W", "eta", "rho", "V"):
            if name == "W" and (style, level) in (("narrow", "float64"), ("narrow", "dense")) and net.classes:
                continue  # class numbers are small, so float64 still rounds to the right label
            if name not in ("U", "W") or np.size(getattr(net.stack[block].ff, name)):
                report = _changed(net, block, name, _negated).verify(*data, levels=(level,), sample=10**6)
                assert not report.exact, (net.stack[block].stage, name)
                assert "certified" not in report.levels[0].note


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("style", ["bitwise", "two", "narrow"])
def test_nudged_attention_is_seen_by_evaluation_alone(level, style):
    """Pool `max` has scores: with -Q or -K the farthest token is picked instead of the nearest."""
    data = distinct_sets(*labeled(40, 3))
    net = hx.construct(*data, style=style, pool="max")
    rounds = [i for i, block in enumerate(net.stack) if not block.sa.is_uniform]
    assert len(rounds) > 2
    for block in rounds:
        for name in ("Q", "K", "V"):
            report = _changed(net, block, name, _negated).verify(*data, levels=(level,), sample=10**6)
            assert not report.exact, (block, name)


@pytest.mark.parametrize("level", LEVELS)
def test_scores_where_there_were_none_are_seen_by_evaluation_alone(level):
    """Pool `mean` has Q = K = 0. One of them alone changes no score; both together make tokens choose."""
    data = labeled(40, 3)
    net = hx.construct(*data)
    one = _changed(net, 0, "Q", _negated)
    assert one.verify(*data, levels=(level,), sample=10**6).exact
    assert not _changed(one, 0, "K", _negated).verify(*data, levels=(level,), sample=10**6).exact


@pytest.mark.parametrize("level", ["certificate", "rational"])
@pytest.mark.parametrize("name", ["U", "b", "W"])
@pytest.mark.parametrize("style", ["bitwise", "two"])
def test_a_nudged_plateau_is_seen_without_the_fingerprint(style, name, level):
    data = interpolated(15, 3)
    net = hx.construct(*data, style=style)
    nudged = _changed(net, 1, name, _one_ulp, certify=True)
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
    for temperature in (0.0, "warm", [1.0]):
        with pytest.raises(hx.BadInput, match="temperature"):
            net(sequences, temperature=temperature)
    for sample in (0, -5, "few"):
        with pytest.raises(hx.BadInput, match=f"sample is {sample!r}; expected a whole number of at least 1"):
            net.verify(sequences, labels, sample=sample)
    with pytest.raises(hx.BadInput, match="seed is -1"):
        net.verify(sequences, labels, seed=-1)


def test_one_level_may_be_given_by_its_name_and_one_sequence_is_not_several():
    net = hx.construct([[[1.0, 2.0]]], ["only"])
    report = net.verify([[[1.0, 2.0]]], ["only"], levels="float64")
    assert [level.name for level in report.levels] == ["float64"]
    assert str(report).startswith("exact: 1 sequence, smallest gap")
