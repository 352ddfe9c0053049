"""Blocks as defined: dense, fast, softmax, against the definition taken literally."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hardmax as hx
from construction_cases import interpolated, labeled, literal_outputs
from hardmax.cloud.ragged import ragged
from hardmax.transformer.blocks import AttentionLayer, Block, FeedForwardLayer
from hardmax.transformer.evaluate import forward


def _integer_block(rng, dim, width):
    """Small dyadic numbers: float64 is exact, so every evaluation must agree to the last bit."""
    ff = FeedForwardLayer.of(
        rng.integers(-2, 3, (width, dim)) / 2,
        rng.integers(-3, 4, width) / 2,
        rng.integers(-2, 3, (dim, width)) / 2,
        float(rng.choice([0.0, 1.0, -0.5])),
    )
    parts = [rng.integers(-1, 2, shape).astype(float) for shape in ((1, dim), (1, dim), (dim, 1), (1, dim))]
    return Block(ff, AttentionLayer(float(rng.choice([0.0, 1.0])), *parts))


def _full(block, dim):
    return {
        "eta": block.ff.eta, "U": block.ff.full_U(dim), "b": block.ff.b, "W": block.ff.full_W(dim),
        "rho": block.sa.rho, "Q": block.sa.Q, "K": block.sa.K, "V": block.sa.V,
    }  # fmt: skip


@settings(derandomize=True, deadline=None, max_examples=50)
@given(st.integers(0, 10**6))
def test_a_block_does_what_the_definition_says(seed):
    rng = np.random.default_rng(seed)
    sequences = [rng.integers(-2, 3, (n, 3)).astype(float) for n in (1, 2, 4)]
    block = _integer_block(rng, 3, 4)
    state = forward([block], ragged(sequences))
    rows = np.split(state.tokens(), state.batch.starts[1:])
    for sequence, row in zip(sequences, rows, strict=True):
        literal = literal_outputs([_full(block, 3)], sequence)
        ours = {tuple(token) for token in row}
        # means over C_i of three tokens are not dyadic; everything else is exact
        assert all(
            min(max(abs(float(x) - y) for x, y in zip(t, o, strict=True)) for o in ours) < 1e-13 for t in literal
        )
        assert len(ours) >= len(literal)


@settings(derandomize=True, deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(65, 200))
def test_bisection_gives_the_same_function_as_every_unit(seed, width):
    rng = np.random.default_rng(seed)
    direction = rng.choice([0.0, 1.0, 3.0, -1.0], 3)
    U = np.outer(rng.choice([0.0, 0.5, -1.0, 2.0], width), direction)
    U[::50] = rng.integers(-2, 3, (len(U[::50]), 3))  # some units of their own
    layer = FeedForwardLayer.of(U, rng.integers(-8, 9, width) / 4, rng.integers(-3, 4, (3, width)).astype(float), 1.0)
    x = rng.integers(-16, 17, (50, 3)) / 8
    assert (layer.apply(x, fast=True) == layer.apply(x)).all()


def test_parabola_units_select_off_the_parabola_too():
    k = np.arange(80.0)
    rng = np.random.default_rng(0)
    layer = FeedForwardLayer.of(
        np.stack([2 * k, -np.ones(80)], axis=1), 1 - k * k, rng.integers(-3, 4, (2, 80)).astype(float)
    )
    assert layer.tables.parabola is not None
    x = np.array([[3.0, 9.0], [3.0, 8.0], [3.5, 2.0], [-1.0, 1.0], [200.0, 40000.0], [40.0, -100.0], [10.25, 105.0]])
    assert (layer.apply(x, fast=True) == layer.apply(x)).all()
    assert (layer.apply(x[:1])[0] == layer.W[:, 3]).all()


def test_softmax_tends_to_hardmax():
    rng = np.random.default_rng(1)
    sa = AttentionLayer(0.5, np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]), np.eye(2)[:, :1], np.array([[1.0, 2.0]]))
    batch = ragged([rng.standard_normal((6, 2)) for _ in range(5)])
    hard = sa.apply(batch.values, batch)
    errors = [np.abs(sa.apply(batch.values, batch, t) - hard).max() for t in (1.0, 1e-1, 1e-7)]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-12


def test_softmax_is_the_mean_for_equal_scores():
    rng = np.random.default_rng(2)
    sa = AttentionLayer(1.0, np.zeros((1, 2)), np.zeros((1, 2)), np.eye(2)[:, :1], np.array([[0.0, 1.0]]))
    batch = ragged([rng.standard_normal((n, 2)) for n in (1, 5, 9)])
    moved = sa.apply(batch.values, batch, 0.7)
    for j, tokens in enumerate(batch):
        rows = moved[batch.starts[j] : batch.starts[j] + batch.lengths[j]]
        assert np.allclose(rows, tokens + np.array([tokens[:, 1].mean(), 0.0]), atol=1e-15)


def test_ties_share_the_mean():
    sa = AttentionLayer(0.0, np.array([[1.0, 0.0]]), np.array([[1.0, 0.0]]), np.eye(2), np.eye(2))
    batch = ragged([[[1.0, 0.0], [1.0, 4.0], [-1.0, 1.0]]])
    assert sa.apply(batch.values, batch).tolist() == [[1.0, 2.0], [1.0, 2.0], [-1.0, 1.0]]


def test_wrong_shapes_are_refused():
    with pytest.raises(hx.BadInput, match=r"expected \(w, d\)"):
        FeedForwardLayer.of(np.zeros((3, 2)), np.zeros(2), np.zeros((2, 3)))


@pytest.mark.parametrize("style", ["bitwise", "two"])
@pytest.mark.parametrize("data", [labeled(30, 3), interpolated(15, 3)], ids=["labels", "targets"])
@pytest.mark.parametrize("temperature", [None, 0.7])
def test_torch_gives_the_same_bits_also_on_new_inputs(style, data, temperature):
    import torch

    net = hx.construct(*data, style=style)
    module = net.to_torch()
    assert isinstance(module, torch.nn.Module)
    assert all(p.dtype == torch.float64 for p in module.parameters())
    fresh = labeled(20, 3, seed=50)[0]
    for sequence in [*data[0], *fresh]:
        ours = net.forward([sequence], dense=True, temperature=temperature)[0]
        theirs = module(torch.from_numpy(np.array(sequence)), temperature=temperature).numpy()
        assert ours.tobytes() == (theirs + 0.0).tobytes()


def test_torch_takes_batches_of_equal_lengths():
    import torch

    sequences, labels = labeled(10, 3)
    module = hx.construct(sequences, labels).to_torch()
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((4, 6, 3)))
    together = module(x)
    assert all((together[i] == module(x[i])).all() for i in range(4))


def test_general_blocks_agree_with_torch():
    import torch

    from hardmax.transformer.export import torch_module

    rng = np.random.default_rng(4)
    for _ in range(20):
        blocks = [_integer_block(rng, 3, 4) for _ in range(3)]
        module = torch_module(blocks, 3)
        x = rng.integers(-2, 3, (5, 3)).astype(float)
        for temperature in (None, 0.5):
            ours = forward(blocks, ragged([x]), dense=True, temperature=temperature).tokens()
            theirs = module(torch.from_numpy(x), temperature=temperature).numpy()
            assert np.allclose(ours, theirs, rtol=1e-14, atol=1e-13)


@pytest.mark.parametrize("data", [labeled(20, 3), interpolated(8, 3)], ids=["labels", "targets"])
def test_onnx_gives_the_targets_bit_for_bit(data, tmp_path):
    import onnxruntime

    net = hx.construct(*data)
    session = onnxruntime.InferenceSession(net.to_onnx(tmp_path / "net.onnx"))
    for sequence, ours in zip(data[0], net.forward(data[0]), strict=True):
        theirs = session.run(None, {"tokens": np.array(sequence)})[0]
        assert (theirs == ours).all()


def test_onnx_attention_with_scores_agrees(tmp_path):
    import onnxruntime

    from hardmax.transformer.export import write_onnx

    rng = np.random.default_rng(5)
    blocks = [_integer_block(rng, 3, 4) for _ in range(3)]
    session = onnxruntime.InferenceSession(write_onnx(blocks, 3, tmp_path / "net.onnx"))
    x = rng.integers(-2, 3, (5, 3)).astype(float)
    assert np.allclose(session.run(None, {"tokens": x})[0], forward(blocks, ragged([x])).tokens(), atol=1e-13)


def test_a_missing_extra_names_its_pip_line(monkeypatch):
    import sys

    net = hx.construct(*labeled(5, 2))
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(hx.MissingExtra, match=r"hardmax\[onnx\]"):
        net.to_onnx("net.onnx")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(hx.MissingExtra, match=r"hardmax\[torch\]"):
        net.to_torch()
