"""Variants against the literal definition: rational arithmetic, or a plain loop over the formula."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hardmax import FeedForward, Hardmax, Head, Softmax
from hardmax.dynamics.exact.layers import simulate_exact
from hardmax.dynamics.variants import simulate_variant
from reference import follow_sets, fractions, leader_since, run


@st.composite
def dyadic_clouds(draw):
    """Few different quarters: many ties and duplicates, and exact in float64 for some layers of alpha = 1."""
    dim = draw(st.integers(1, 3))
    row = st.lists(st.integers(-4, 4), min_size=dim, max_size=dim)
    return np.array(draw(st.lists(row, min_size=1, max_size=9)), float) / 4


@settings(derandomize=True, deadline=None, max_examples=80)
@given(dyadic_clouds())
def test_hardmax_is_the_definition_in_rational_arithmetic(Z):
    traj = simulate_variant(Z, 1, 4, rule=Hardmax())
    states, sets = run(fractions(Z), 1, 4)
    for k in range(5):
        assert traj.follows(k) == sets[k]
        assert traj.tokens[k] == pytest.approx(states[k].astype(float), abs=1e-14)
    assert traj.leader_since == leader_since(states, sets)


@settings(derandomize=True, deadline=None, max_examples=80)
@given(dyadic_clouds(), st.data())
def test_any_real_matrix_is_the_definition_in_rational_arithmetic(Z, data):
    d = Z.shape[1]
    entries = data.draw(st.lists(st.integers(-2, 2), min_size=d * d, max_size=d * d))
    A = np.array(entries, float).reshape(d, d)
    traj = simulate_variant(Z, 1, 3, A=A, rule=Hardmax(), definite=False)
    states, sets = run(fractions(Z), 1, 3, A=fractions(A))
    for k in range(4):
        assert traj.follows(k) == sets[k]
        assert traj.tokens[k] == pytest.approx(states[k].astype(float), abs=1e-14)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(dyadic_clouds())
def test_causal_hardmax_is_the_definition_on_every_prefix(Z):
    traj = simulate_variant(Z, 1, 3, rule=Hardmax(), causal=True)
    exact = fractions(Z)
    for k in range(4):
        sets = tuple(follow_sets(exact[: i + 1])[i] for i in range(len(Z)))
        assert traj.follows(k) == sets
        assert traj.tokens[k] == pytest.approx(exact.astype(float), abs=1e-14)
        exact = np.array([(z + exact[list(c)].sum(axis=0) / len(c)) / 2 for z, c in zip(exact, sets, strict=True)])


@pytest.mark.parametrize("n", [1, 2, 40])
@pytest.mark.parametrize("normalization", ["rescale", "none", "sphere"])
def test_softmax_with_two_heads_and_values_is_the_literal_formula(n, normalization):
    rng = np.random.default_rng(n)
    Z, heads = rng.normal(size=(n, 3)), [Head(rng.normal(size=(3, 3)), rng.normal(size=(3, 3))) for _ in range(2)]
    traj = simulate_variant(
        Z, 0.3, 3, rule=Softmax(0.8), heads=heads, normalization=normalization, causal=True, definite=False
    )
    z = Z / np.linalg.norm(Z, axis=1, keepdims=True) if normalization == "sphere" else Z
    W = (heads[0].V + heads[1].V) / 2
    for k in range(4):
        assert traj.tokens[k] == pytest.approx(z, abs=1e-10)
        new = []
        for i in range(n):
            pull = np.zeros(3)
            for head in heads:
                e = np.array([np.exp(0.8 * (head.A @ z[i]) @ z[j]) for j in range(i + 1)])
                pull += head.V @ (e @ z[: i + 1] / e.sum()) / 2
            x = z[i] + 0.3 * pull
            if normalization == "rescale":
                x = np.linalg.inv(np.eye(3) + 0.3 * W) @ x
            new.append(x / np.linalg.norm(x) if normalization == "sphere" else x)
        z = np.array(new)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(dyadic_clouds(), st.data())
def test_heads_values_masks_and_sublayers_agree_with_rational_arithmetic(Z, data):
    d = Z.shape[1]

    def matrix(rows, columns):
        entries = data.draw(st.lists(st.integers(-2, 2), min_size=rows * columns, max_size=rows * columns))
        return np.array(entries, float).reshape(rows, columns)

    options = {
        "heads": [Head(matrix(d, d), matrix(d, d) if h else None) for h in range(data.draw(st.integers(1, 3)))],
        "normalization": data.draw(st.sampled_from(["rescale", "none"])),
        "causal": data.draw(st.booleans()),
        "definite": False,
    }
    if data.draw(st.booleans()):
        options["feed_forward"] = FeedForward(matrix(d, 2) / 2, matrix(2, d), matrix(1, 2)[0], eta=0.5)
    alpha, layers = data.draw(st.sampled_from([0.1, 0.5, 1.0])), 5
    mixed = sum(np.eye(d) if head.V is None else head.V for head in options["heads"]) / len(options["heads"])
    assume(abs(np.linalg.det(np.eye(d) + alpha * mixed)) > 1e-6)
    found = simulate_variant(Z, alpha, layers, rule=Hardmax(), **options)
    exact = simulate_exact(Z, alpha, None, layers, **options)
    assume(found.undecided == 0)
    expected = exact.tokens.astype(float)
    assert found.tokens == pytest.approx(expected, abs=1e-10 * max(1.0, np.abs(expected).max()))
    assert [found.follows(k) for k in range(layers + 1)] == [exact.follows(k) for k in range(layers + 1)]
    assert found.leader_since == exact.leader_since
