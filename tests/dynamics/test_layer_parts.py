"""Bad input to the variants: each one clear error that names the place and repeats the value."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardmax import BadInput, Chain, FeedForward, Hardmax, Head, RandomFollow, Softmax
from hardmax.attention.ties import EPS
from hardmax.dynamics.exact.layers import simulate_exact
from hardmax.dynamics.layer_parts import check_parts
from hardmax.dynamics.variants import simulate_variant

Z = [[1.0, 0.0], [0.0, 1.0]]
FF = {"W": np.eye(2), "U": np.eye(2), "b": np.zeros(2)}

BAD = {
    "normalization": (
        {"normalization": "layer"},
        "normalization is 'layer'; expected one of 'rescale', 'none', 'sphere'",
    ),
    "rule": ({"rule": "hardmaxx"}, "rule is 'hardmaxx'; expected one of hardmax"),
    "shape of V": ({"V": np.eye(3)}, r"V has shape \(3, 3\); expected \(2, 2\)"),
    "V with NaN": ({"V": [[1.0, np.nan], [0.0, 1.0]]}, "V holds nan"),
    "V of text": ({"V": [["a", "b"], ["c", "d"]]}, "V is .* not an array of numbers"),
    "singular I + alpha V": ({"V": -np.eye(2) / 0.5}, "I \\+ alpha V is singular for alpha = 0.5"),
    "A and heads": ({"A": np.eye(2), "heads": [np.eye(2)]}, "heads and A were both given"),
    "V and heads": ({"V": np.eye(2), "heads": [np.eye(2)]}, "heads and V were both given"),
    "no heads": ({"heads": []}, r"heads is \[\]"),
    "heads of text": ({"heads": "two"}, "heads is 'two'"),
    "shape of a head": ({"heads": [np.eye(2), Head(np.eye(3))]}, r"heads\[1\].A has shape \(3, 3\)"),
    "value of a head": ({"heads": [Head(V=np.eye(3))]}, r"heads\[0\].V has shape \(3, 3\)"),
    "indefinite head": ({"heads": [np.diag([1.0, -2.0])]}, r"heads\[0\].A must be .* eigenvalue is -2"),
    "asymmetric A": ({"A": [[1.0, 3.0], [0.0, 1.0]]}, r"A\[0, 1\] = 3 but A\[1, 0\] = 0"),
    "negative seed": ({"rule": RandomFollow(-1)}, "the seed of RandomFollow is -1"),
    "seed of text": ({"rule": Chain(1.0, "x")}, "the seed of Chain is 'x'"),
    "feed_forward": ({"feed_forward": 3}, "feed_forward is 3; expected"),
    "U": (
        {"feed_forward": FeedForward(**{**FF, "U": np.eye(3)})},
        r"feed_forward.U has shape \(3, 3\); .*\(width, 2\)",
    ),
    "W": ({"feed_forward": FeedForward(**{**FF, "W": np.eye(3)})}, r"feed_forward.W has shape \(3, 3\); .*\(2, 2\)"),
    "b": ({"feed_forward": FeedForward(**{**FF, "b": [1.0]})}, r"feed_forward.b has shape \(1,\); expected \(2,\)"),
    "eta": ({"feed_forward": FeedForward(**FF, eta=np.inf)}, "feed_forward.eta holds inf"),
    "returned shape": ({"feed_forward": lambda x: x[:1]}, r"returned shape \(1, 2\) at layer 0; expected \(2, 2\)"),
    "returned NaN": ({"feed_forward": lambda x: x * np.nan}, "returned nan for token 0, coordinate 0, at layer 0"),
    "returned nothing": ({"feed_forward": lambda x: None}, r"returned (None|shape \(\)) at layer 0"),
    "returned huge": ({"feed_forward": lambda x: x * 1e200}, "token 0 left the range of float64 at layer 1"),
    "alpha": ({"alpha": 0.0}, "alpha is 0.0"),
    "layers": ({"layers": -1}, "layers is -1"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(case):
    options, message = BAD[case]
    with pytest.raises(BadInput, match=message):
        simulate_variant(**{"Z": Z, "alpha": 0.5, "layers": 3, "rule": Hardmax(), **options})


def test_a_zero_token_cannot_be_put_on_the_sphere():
    with pytest.raises(BadInput, match="token 1 is zero in Z"):
        simulate_variant([[1.0, 0.0], [0.0, 0.0]], 0.5, 1, rule=Hardmax(), normalization="sphere")


def test_a_token_that_cancels_on_the_sphere_is_named_with_its_layer():
    with pytest.raises(BadInput, match="token 0 is zero after layer 0"):
        simulate_variant([[1.0, 0.0]], 1, 1, rule=Hardmax(), normalization="sphere", V=-np.eye(2))


@pytest.mark.parametrize("rule", [Hardmax(), Softmax(1.0), RandomFollow()], ids=lambda rule: type(rule).__name__)
def test_overflow_names_layer_and_token_and_the_way_out(rule):
    # (1 + 999)^k passes 1e150 at layer 50.
    with pytest.raises(BadInput, match="token 0 left the range of float64 at layer 50") as caught:
        simulate_variant([[1.0, 0.0]], 999, 60, rule=rule, normalization="none")
    assert "fewer layers" in caught.value.fix
    assert "rescale" in caught.value.fix


def test_a_feed_forward_may_overflow_too():
    sublayer = FeedForward(**FF, eta=1e100)
    with pytest.raises(BadInput, match="left the range of float64 at layer 2"):
        simulate_variant(Z, 0.5, 5, rule=Hardmax(), feed_forward=sublayer)


def test_the_sphere_takes_tiny_and_huge_tokens():
    tiny = simulate_variant([[3e-140, 4e-140], [-1e140, 0.0]], 0.5, 1, rule=Hardmax(), normalization="sphere")
    assert tiny.tokens[0] == pytest.approx(np.array([[0.6, 0.8], [-1.0, 0.0]]))


def test_any_matrix_is_taken_when_the_caller_says_so():
    traj = simulate_variant(Z, 0.5, 2, rule=Hardmax(), A=[[0.0, 1.0], [0.0, 0.0]], definite=False)
    assert traj.follows(0) == ((0, 1), (0,))  # A z_0 = 0: token 0 follows everyone; A z_1 = e_0


def parts_of(**options):
    defaults = {"A": None, "V": None, "heads": None, "normalization": "rescale", "feed_forward": None, "definite": True}
    return check_parts(2, 1.0, **{**defaults, **options})


def test_errors_are_kept_by_averaging_and_doubled_by_plain_addition():
    z = np.array([[1.0, 0.0]])
    assert parts_of().error_after(1e-6, z, z, z) == pytest.approx(1e-6 + 2 * EPS)
    assert parts_of(normalization="none").error_after(1e-6, z, z, 2 * z) == pytest.approx(2e-6, rel=1e-6)
    assert parts_of(normalization="sphere").error_after(1e-6, z, z, z) == pytest.approx(1e-6, rel=1e-6)
    assert parts_of(V=3 * np.eye(2)).error_after(1e-6, z, z, z) == pytest.approx(1e-6, rel=1e-6)
    sublayer = FeedForward(W=3 * np.eye(2), U=2 * np.eye(2), b=[0.0, 0.0], eta=-1.0)
    assert parts_of(feed_forward=sublayer).error_after(1e-6, z, z, z) == pytest.approx(7e-6, rel=1e-6)


@settings(derandomize=True, deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["rescale", "none"]))
def test_the_error_carried_along_bounds_the_true_error(seed, normalization):
    rng = np.random.default_rng(seed)
    Z, V = rng.normal(size=(6, 2)), rng.normal(size=(2, 2))
    parts = check_parts(2, 0.3, A=None, V=V, heads=None, normalization=normalization, feed_forward=None, definite=True)
    found = simulate_variant(Z, 0.3, 8, rule=Hardmax(), V=V, normalization=normalization)
    exact = simulate_exact(Z, 0.3, None, 8, V=V, normalization=normalization)
    error = 0.0
    for k in range(8):
        if found.follows(k) != exact.follows(k):
            break
        means = np.array([found.tokens[k][list(C)].mean(axis=0) for C in found.follows(k)])
        error = parts.error_after(error, found.tokens[k], means @ V.T, found.tokens[k + 1])
        off = found.tokens[k + 1] - exact.tokens[k + 1].astype(float)
        size = np.abs(found.tokens[k + 1]).max()
        assert np.linalg.norm(off, axis=1).max() <= error + EPS * size  # rounding of the exact value itself
