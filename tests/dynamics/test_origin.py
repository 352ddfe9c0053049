"""A token at the origin of a large planar cloud: the limit is bit for bit that of the engine on the whole cloud."""

from fractions import Fraction
from math import fsum

import numpy as np
import pytest

import hardmax as hx
from hardmax.attention import ties
from hardmax.attention.ties import weighted_mean
from hardmax.dynamics import large
from hardmax.dynamics import limit as limit_module
from hardmax.dynamics.certificate import TIE
from hardmax.dynamics.tie_locks import _mean
from origin_clouds import CLOUDS, LARGE, MOVES, STAYS, A, mirrored


@pytest.fixture
def in_plane(monkeypatch):
    """What `limit_in_plane` gave, None where the engine had to run on the whole cloud."""
    monkeypatch.setattr(limit_module, "LARGE", LARGE)
    found, way = [], large.limit_in_plane
    monkeypatch.setattr(large, "limit_in_plane", lambda *a: found.append(way(*a)) or found[-1])
    return found


@pytest.mark.parametrize("tolerance", [0.0, 1e-9])
@pytest.mark.parametrize("alpha", [0.1, 0.5, 3.0])
@pytest.mark.parametrize(("name", "matrix"), [*((name, None) for name in CLOUDS), *((name, A) for name in MOVES)])
def test_most_tokens_are_set_aside_although_one_follows_them_all(
    name, matrix, alpha, tolerance, in_plane, monkeypatch
):  # fmt: skip
    Z = CLOUDS[name]
    eq = hx.limit(Z, alpha, matrix, tie_tolerance=tolerance)
    assert in_plane[0] is eq
    monkeypatch.setattr(limit_module, "LARGE", 10**9)
    whole = hx.limit(Z, alpha, matrix, tie_tolerance=tolerance)
    assert len(in_plane) == 1
    assert eq == whole
    assert eq.certificate == whole.certificate
    assert eq.centers.tobytes() == whole.centers.tobytes()
    at_origin = ~Z.any(axis=1)
    assert ((eq.certificate.role[at_origin] == TIE) == (name in STAYS)).all()


def test_an_origin_that_stays_for_some_layers_is_left_to_the_engine(in_plane):
    Z = mirrored()
    eq = hx.limit(Z)
    assert in_plane == [None]
    assert eq.certificate.decided_at[-1] == eq.certificate.decided_at.max() > 0
    assert eq.points[-1] == pytest.approx(0, abs=1e-12)


def test_the_mean_of_a_million_offsets_is_not_lost_in_rounding(in_plane):
    """A plain sum of the offsets can err by more than the tie band, and then the origin seems to move."""
    row = np.linspace(-1, 1, 1001)
    eq = hx.limit(np.stack(np.meshgrid(row, row, indexing="ij"), -1).reshape(-1, 2))
    assert in_plane[0] is eq
    assert eq.certificate.decided_at.max() == 0
    assert np.abs(_mean(eq.tokens - eq.points, np.ones(len(eq.tokens)))).max() < 1e-15


@pytest.mark.parametrize("n", [100, 4096, 50_000])
@pytest.mark.parametrize("kind", ["normal", "scales", "cancel", "integers", "largest", "smallest", "zero"])
def test_a_mean_is_the_exact_sum_rounded_and_divided(kind, n):
    rng = np.random.default_rng(n)
    normal = rng.normal(size=n)
    x = {
        "normal": normal,
        "scales": normal * 10.0 ** rng.uniform(-290, 290, n),
        "cancel": np.concatenate((1e10 * normal[: n // 2], -1e10 * normal[: n // 2], [1e-20])),
        "integers": rng.integers(-500, 501, n).astype(float),
        "largest": np.concatenate(([1e308, -1e308], normal)),
        "smallest": np.full(n, 5e-324),
        "zero": np.zeros(n),
    }[kind]
    total = sum(map(Fraction, x.tolist()))
    mean = weighted_mean(x[:, None], np.ones(len(x)))
    assert mean[0] == float(total) / len(x)
    assert mean[0] == fsum(x.tolist()) / len(x)
    x = x[:, None]
    assert ties.exact_sums([x]) == ties.exact_sums([x[50:], x[:50][::-1]])


def test_a_sum_of_infinite_numbers_is_infinite_and_not_undefined():
    assert ties.exact_sums([np.full((5000, 1), np.inf)]) == [np.inf]
