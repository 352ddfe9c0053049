"""Ordinary tokens are set aside without a trace: the limit is bit for bit that of the engine on the whole cloud."""

import numpy as np
import pytest

import hardmax as hx
from hardmax.attention.search import RESOLUTION
from hardmax.dynamics import large, plane
from hardmax.dynamics import limit as limit_module
from large_clouds import N, clouds, clouds_in_space

SET_ASIDE = {"gaussian", "disc", "cube", "grid", "copies", "one side", "square with ties"}


@pytest.mark.parametrize("name", clouds())
@pytest.mark.parametrize(("alpha", "A"), [(0.5, None), (0.1, [[2.0, -1.0], [-1.0, 3.0]]), (10.0, None)])
def test_the_limit_is_that_of_the_engine_on_the_whole_cloud(name, alpha, A, monkeypatch):
    Z = clouds()[name]
    used = []
    original = large.limit_in_plane
    monkeypatch.setattr(large, "limit_in_plane", lambda *a: used.append(original(*a)) or used[-1])
    found = hx.limit(Z, alpha, A)
    assert len(used) == 1
    if name in SET_ASIDE and alpha == 0.5:
        assert used[0] is not None, "the engine had to do it all"
    monkeypatch.setattr(limit_module, "LARGE", 10**9)
    whole = hx.limit(Z, alpha, A)
    assert found == whole
    assert found.certificate == whole.certificate


@pytest.mark.parametrize("kind", ["gaussian", "copies", "sheared", "flat", "cube"])
@pytest.mark.parametrize("alpha", [0.5, 10.0])
def test_short_tokens_are_set_aside_in_space(kind, alpha, monkeypatch):
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(9000, 3)) if kind != "cube" else rng.uniform(-1, 1, (9000, 3))
    if kind == "copies":
        Z[4000:] = Z[rng.integers(0, 4000, 5000)]
    if kind == "flat":
        Z[:, 2] *= 1e-7
    A = np.array([[2.0, -1.0, 0.5], [-1.0, 3.0, 0.0], [0.5, 0.0, 1.0]]) if kind == "sheared" else None
    used = []
    original = large.limit_in_space
    monkeypatch.setattr(large, "limit_in_space", lambda *a: used.append(original(*a)) or used[-1])
    found = hx.limit(Z, alpha, A)
    assert len(used) == 1
    if alpha == 0.5:
        assert isinstance(used[0], hx.Equilibrium)
    monkeypatch.setattr(limit_module, "LARGE", 10**9)
    whole = hx.limit(Z, alpha, A)
    assert found == whole
    assert found.certificate == whole.certificate


def test_a_token_at_the_origin_moves_toward_the_mean_of_everyone_first():
    Z = np.concatenate((np.random.default_rng(0).normal(size=(N, 2)), [[0.0, 0.0]]))
    eq = hx.limit(Z)
    assert eq.certificate.verify(Z)
    assert N in np.flatnonzero(eq.certificate.decided_at > 0)


def test_few_distinct_tokens_keep_their_exact_margin():
    few = np.random.default_rng(0).normal(size=(50, 2))
    many = few[np.random.default_rng(1).integers(0, 50, N)]
    margin = hx.limit(many).margin
    assert margin == pytest.approx(hx.limit(few).margin, rel=1e-9)
    assert margin > 2.0**-20


def test_the_turn_rises_with_the_angle():
    angle = np.sort(np.random.default_rng(0).uniform(-np.pi, np.pi, 1000))
    assert (np.diff(plane.turn(np.cos(angle), np.sin(angle))) > 0).all()


def test_the_hull_is_that_of_scipy():
    from scipy.spatial import ConvexHull

    points = np.random.default_rng(0).normal(size=(500, 2))
    ours = plane.hull(points).tolist()
    theirs = ConvexHull(points).vertices.tolist()
    at = theirs.index(ours[0])
    assert ours == theirs[at:] + theirs[:at]


def test_points_inside_a_polygon_are_as_deep_as_said():
    rng = np.random.default_rng(0)
    corners = rng.normal(size=(40, 2))
    corners = corners[plane.hull(corners)]
    polygon = plane.Polygon(corners)
    points = rng.normal(size=(2000, 2))
    edge = np.roll(corners, -1, axis=0) - corners
    normal = np.column_stack((-edge[:, 1], edge[:, 0])) / np.hypot(*edge.T)[:, None]
    depth = ((points[:, None] - corners) * normal).sum(-1).min(axis=1)
    for share in (0.0, 0.1, 0.5):
        outside = np.zeros(len(points), bool)
        outside[polygon.outside(points, share)] = True
        assert (depth[~outside] >= share * polygon.radius * (1 - 1e-9)).all()
        assert outside[depth < 0].all()
        assert 0 < outside.sum() < len(points)


@pytest.mark.parametrize("kind", ["cube", "disc", "gaussian", "heavy tails"])
def test_tokens_end_with_their_cell_where_they_end_alone(kind, monkeypatch):
    found = []
    original = large.system_and_cells
    monkeypatch.setattr(large, "system_and_cells", lambda *a: found.append(original(*a)) or found[-1])
    Z = clouds()[kind]
    hx.limit(Z)
    _, history, cells = found[-1]
    code = cells.of(Z)
    assert (code >= 0).mean() > 0.3
    leader, since, _ = history.take(Z[code >= 0])
    assert np.array_equal(cells.leader[code[code >= 0]], leader)
    assert np.array_equal(cells.since[code[code >= 0]], since)


@pytest.fixture
def rests(monkeypatch):
    """The runs on the tokens of clouds in space that are not ordinary: places, run, and the layers that were seen."""
    found, original = [], large.limit_of_rest

    def limit_of_rest(run, index, unseen, origin=None):
        layers = []

        def seen_through(rest):
            good = unseen(rest)
            layers.append((rest.layer, good, rest.points.copy(), rest.lowest, rest.blur))
            return good

        found.append((index, run, layers))
        return original(run, index, seen_through, origin)

    monkeypatch.setattr(large, "limit_of_rest", limit_of_rest)
    return found


@pytest.mark.parametrize("origin", [False, True])
@pytest.mark.parametrize("kind", ["cube", "ball", "grid", "corners with ties", "shifted cube", "two digits"])
@pytest.mark.parametrize(("alpha", "A"), [(0.5, None), (10.0, None), (0.05, np.diag([4.0, 1.0, 2.0]))])
def test_followers_deep_inside_are_set_aside_without_a_trace(kind, alpha, A, origin, rests, monkeypatch):
    Z = clouds_in_space(3)[kind]
    if origin:  # a token there follows everyone at layer 0
        Z = np.concatenate((Z, np.zeros((1, 3))))
    found = hx.limit(Z, alpha, A)
    if kind in ("cube", "ball") and alpha == 0.5:
        assert len(rests[0][0]) < len(Z) / 2
    monkeypatch.setattr(limit_module, "LARGE", 10**9)
    whole = hx.limit(Z, alpha, A)
    assert len(rests) <= 1
    assert found == whole
    assert found.certificate == whole.certificate


@pytest.mark.parametrize("kind", ["cube", "ball"])
@pytest.mark.parametrize("alpha", [1.0, 1000.0])
def test_nobody_could_look_at_those_who_are_set_aside(kind, alpha, rests, monkeypatch):
    """They are out of reach of every query, by more than the gaps that are looked at; else the engine runs on all."""
    monkeypatch.setattr(large, "LASTING", 0)  # try it, although it cannot last
    Z = clouds_in_space(3)[kind]
    eq = hx.limit(Z, alpha)
    index, _, layers = rests[0]
    aside = np.delete(np.arange(len(Z)), index)
    assert len(aside) > len(Z) / 2
    assert (eq.certificate.decided_at[aside] == 0).all()
    followed = Z[eq.certificate.target[aside]]
    for layer, good, points, lowest, blur in layers[1:]:
        here = followed + (1.0 + alpha) ** -layer * (Z[aside] - followed)
        norms = np.linalg.norm(points, axis=1)
        gap = (points @ points.T).max(axis=1) - (points @ here.T).max(axis=1)
        narrowest = max(blur, RESOLUTION) * norms.max()
        asking = (points @ points.T).max(axis=1) >= lowest * norms
        assert not good or (gap[asking] > narrowest * norms[asking]).all()
    assert kind == "ball" or all(good for _, good, *_ in layers) == (alpha == 1.0)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_wide_tie_at_layer_0_reaches_nobody_who_is_set_aside(seed, monkeypatch):
    """Regression: with this tolerance, ties of layer 0 lost tokens that had been set aside."""
    monkeypatch.setattr(limit_module, "LARGE", 1000)
    corners = clouds_in_space(3)["corners with ties"][:8] * [3, 1, 1]
    Z = np.concatenate((corners, 0.97 * np.random.default_rng(seed).uniform(-1, 1, (1500, 3))))
    found = hx.limit(Z, tie_tolerance=0.04)
    monkeypatch.setattr(limit_module, "LARGE", 10**9)
    whole = hx.limit(Z, tie_tolerance=0.04)
    assert found == whole
    assert found.certificate == whole.certificate


def test_a_large_cloud_without_a_clear_leader_is_left_to_the_engine():
    Z = np.random.default_rng(0).normal(size=(N, 3))
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)  # within the tolerance, everyone is tied with someone
    with pytest.raises(hx.NotCertified, match="no certificate for 9000 of 9000 tokens after 0 layers"):
        hx.limit(Z, 0.5, np.diag([1.0, 1.0, 1.0 + 2.0**-20]), tie_tolerance=0.02, max_layers=0)
