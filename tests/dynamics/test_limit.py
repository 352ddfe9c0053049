"""`limit` in float64: hand-solved systems, tie-rich clouds against rational arithmetic, long runs as judge."""

from dataclasses import replace
from fractions import Fraction
from inspect import signature

import numpy as np
import pytest

import hardmax as hx
from hardmax.dynamics.records import load_equilibrium
from hardmax.jit.ways import COMPILED, PLAIN, forced
from systems import SYSTEMS, tie_rich

SQUARE = [[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]]


def polygon_with_midpoints(m):
    angle = 2 * np.pi * np.arange(m) / m
    corners = np.c_[np.cos(angle), np.sin(angle)]
    middle = (corners + np.roll(corners, -1, axis=0)) / 2
    return corners, middle


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda s: s.name)
def test_hand_solved_systems_come_out_right(system):
    Z, A = np.array(system.tokens, dtype=float), None if system.A is None else np.array(system.A, dtype=float)
    eq = hx.limit(Z, float(system.alpha), A)
    assert np.abs(eq.points - np.array(system.limits, dtype=float)).max() < 1e-12
    assert set(eq.leader_since) == set(system.leaders)
    assert tuple(eq.kind[c] for c in eq.cluster) == system.kinds
    assert eq.certificate.check(Z) == []
    if all(float(x) == x for row in system.tokens for x in row):
        assert eq.leader_since == system.leaders
        assert eq.layers == system.layer
    else:  # tenths: the rounded tokens may need another layer, which rational arithmetic on them confirms
        assert eq.leader_since == hx.limit(Z, float(system.alpha), A, exact=True).leader_since


def test_tie_rich_clouds_agree_with_rational_arithmetic():
    proved = 0
    for seed in range(400):
        _, tokens, alpha, A = tie_rich(seed)
        Z, matrix = np.array(tokens, dtype=float), None if A is None else np.array(A, dtype=float)
        if float(alpha) != alpha or not all(Fraction(x) == y for x, y in zip(Z.ravel(), sum(tokens, ()), strict=True)):
            continue  # tenths: another problem in float64
        exact, eq = hx.limit(tokens, alpha, A, exact=True), hx.limit(Z, float(alpha), matrix)
        assert np.abs(eq.points - exact.points.astype(float)).max() < 1e-9, seed
        assert eq.leader_since == exact.leader_since, seed
        assert eq.kind == exact.kind, seed
        assert eq.certificate.check(Z) == [], seed
        proved += eq.undecided == 0
    assert proved > 250


def test_random_clouds_are_proved_and_agree_with_a_long_run():
    rng = np.random.default_rng(0)
    for n, d, alpha in [(5, 1, 0.5), (40, 2, 0.1), (60, 3, 1.0), (200, 4, 0.5), (1500, 2, 0.5), (1500, 5, 3.0)]:
        Z = rng.normal(size=(n, d))
        eq = hx.limit(Z, alpha)
        traj = hx.simulate(Z, alpha, layers=eq.layers + int(40 / np.log1p(alpha)))
        assert eq.undecided == 0
        assert np.abs(traj.tokens[-1] - eq.points).max() < 1e-12 * np.abs(Z).max()
        assert traj.leader_since == eq.leader_since
        assert (eq.centers[eq.cluster] == eq.points).all()
        assert set(eq.kind) == {"vertex"}
        assert eq.certificate.check(Z) == []
        assert eq.margin > 0


@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.5, 1.0, 10.0])
def test_any_spd_matrix_works(alpha):
    rng = np.random.default_rng(1)
    R = rng.normal(size=(3, 3))
    A = R @ R.T + 0.1 * np.eye(3)
    A = (A + A.T) / 2
    Z = rng.normal(size=(50, 3))
    eq, moved = hx.limit(Z, alpha, A), hx.limit(Z @ np.linalg.cholesky(A), alpha)
    assert eq.leader_since == moved.leader_since
    assert (eq.cluster == moved.cluster).all()
    assert eq.certificate.verify(Z)


@pytest.mark.parametrize("m", [3, 4, 5, 6, 7, 8, 12])
def test_midpoints_of_a_regular_polygon_are_kept(m):
    """The rounded corners do not tie; the intended ones do. The result says that it relied on the tolerance."""
    corners, middle = polygon_with_midpoints(m)
    Z = np.r_[corners, middle / 2]
    eq = hx.limit(Z)
    assert np.abs(eq.points[m:] - middle).max() < 1e-14
    assert eq.kind == ("vertex",) * m + ("face",) * m
    assert eq.certificate.verify(Z)
    if m != 4:
        assert eq.undecided > 0


@pytest.mark.parametrize("alpha", [0.1, 0.5, 1.0, 3.0])
def test_an_odd_grid_has_nine_limits(alpha):
    side = np.arange(-5, 6) / 4
    Z = np.array(np.meshgrid(side, side)).reshape(2, -1).T
    eq = hx.limit(Z, alpha)
    assert len(eq.kind) == 9
    assert sorted(map(tuple, np.sign(eq.centers))) == sorted((x, y) for x in (-1, 0, 1) for y in (-1, 0, 1))
    assert eq.undecided == 0
    assert eq.layers == 0
    assert eq.certificate.verify(Z)


def test_a_grid_of_a_hundred_thousand_tokens():
    side = (2 * np.arange(317) - 316) / 512
    Z = np.array(np.meshgrid(side, side)).reshape(2, -1).T
    eq = hx.limit(Z)
    assert len(Z) == 100_489
    assert len(eq.kind) == 9
    assert eq.kind.count("vertex") == 4
    assert eq.undecided == 0


def test_a_grid_with_rounded_steps_comes_out_as_intended():
    side = np.linspace(-1, 1, 11)
    Z = np.array(np.meshgrid(side, side)).reshape(2, -1).T
    eq = hx.limit(Z, 0.1)
    assert len(eq.kind) == 9
    assert eq.undecided > 0  # the steps of linspace are not symmetric in their last bits
    assert eq.certificate.verify(Z)


def test_late_leaders_are_found_by_rational_arithmetic_on_the_same_floats():
    Z = np.array([*SQUARE, [1.001, 0.5], [1.001, -0.5], [0.5, 0.0]])
    eq = hx.limit(Z, 1.0)
    assert eq.leader_since[6] == 502
    assert eq.certificate.method == "rational"
    assert eq.points.dtype == np.float64
    assert eq.certificate.verify(Z)


def test_what_cannot_be_certified_is_said_with_what_is_known(monkeypatch):
    monkeypatch.setattr("hardmax.dynamics.limit.RATIONAL_POINTS", 0)
    Z = np.array([*SQUARE, [1.001, 0.5], [1.001, -0.5], [0.5, 0.0]])
    with pytest.raises(hx.NotCertified, match=r"1 of 7 tokens .*token 6") as caught:
        hx.limit(Z, 1.0)
    known = caught.value.known
    assert known["open"].tolist() == [6]
    assert known["certain"].tolist() == [0, 1, 2, 3, 4, 5]
    assert known["points"][6] == pytest.approx([1, 0], abs=1e-12)
    assert known["leaders"].tolist() == [0, 1, 2, 3]
    assert "exact=True" in str(caught.value)
    with pytest.raises(hx.NotCertified, match="cloud 1 of the batch") as caught:
        hx.limit([np.eye(2), Z], 1.0)
    assert caught.value.known["cloud"] == 1


def test_giving_up_early_is_not_an_answer():
    Z = hx.preset("emerging")
    for most in (0, 1, 2):
        with pytest.raises(hx.NotCertified) as caught:
            hx.limit(Z, 1e-6, max_layers=most)
        assert caught.value.known["layers"] == most


def test_points_that_the_tie_band_cannot_tell_apart_are_given_up_at_once():
    with pytest.raises(hx.NotCertified) as caught:
        hx.limit([[1.0, 0.0], [1.0, 2.0**-46], [-1.0, 0.0]])
    assert caught.value.known["layers"] == 1


@pytest.mark.parametrize("way", [PLAIN, COMPILED])
def test_no_zero_of_a_limit_has_a_sign(way):
    with forced(way):
        followed, tied = hx.limit([[1.0, -0.0], [-1.0, -0.0], [0.5, -0.0]]), hx.limit([*SQUARE, [-0.5, -0.0]])
    for eq in (followed, tied):
        assert (eq.points == 0).any()
        assert not np.signbit(eq.points[eq.points == 0]).any()


def test_the_defaults_are_those_of_the_manual():
    options = {name: p.default for name, p in signature(hx.limit).parameters.items() if name != "Z"}
    assert options == {"alpha": 0.5, "A": None, "exact": False, "tie_tolerance": 0.0, "max_layers": 10_000}


def test_a_batch_gives_a_list():
    rng = np.random.default_rng(2)
    batch = [rng.normal(size=(n, 2)) for n in (1, 30, 7, 1200)] + [np.array([*SQUARE, [0.5, 0]])]
    results = hx.limit(batch)
    for Z, eq in zip(batch, results, strict=True):
        alone = hx.limit(Z)
        assert (eq.points == alone.points).all()
        assert eq.leader_since == alone.leader_since
        assert eq.certificate.verify(Z)
    exact = hx.limit([[["1/2", 0], [1, 1]], [[3, 4]]], exact=True)
    assert [e.exact for e in exact] == [True, True]


def test_copies_end_together_and_lead_together():
    Z = [[2.0, 0], [-2, 0], [0.5, 0.2], [2, 0], [0.5, 0.2]]
    eq = hx.limit(Z)
    assert eq.leaders.tolist() == [0, 1, 3]
    assert eq.cluster.tolist() == [0, 1, 0, 0, 0]
    assert len(eq.centers) == 2
    assert eq.certificate.target.tolist() == [0, 1, 0, 0, 0]


def test_the_limit_polytope_has_the_leaders_as_vertices():
    eq = hx.limit([*SQUARE, [0.5, 0.0], [0.1, 0.2]])
    assert len(eq.polytope.vertices) == 4
    assert eq.polytope.contains(eq.points).all()


@pytest.mark.parametrize("exact", [False, True])
def test_the_vertices_of_the_limit_polytope_are_numbered_as_tokens(exact):
    Z = [[0, 0], [0.5, 0], [-1, -1], [1, 1], [1, 1], [-1, 1], [0.1, 0.2], [1, -1]]
    eq = hx.limit(Z, exact=exact)
    assert eq.leaders.tolist() == [2, 3, 4, 5, 7]
    K = eq.polytope
    assert sorted(K.vertex_index) == [2, 3, 5, 7]  # of equal leaders the first
    assert [Z[i] for i in K.vertex_index] == K.vertices.tolist()


def test_a_polytope_and_a_limit_on_disk_are_shown_in_one_line(tmp_path):
    eq = hx.limit([*SQUARE, [0.5, 0.0]])
    assert repr(eq.polytope) == "Polytope of dimension 2 in dimension 2: 4 vertices"
    np.save(tmp_path / "cloud.npy", [*SQUARE, [0.5, 0.0]])
    found = hx.limit_file(tmp_path / "cloud.npy", tmp_path / "limit")
    shown = repr(eq).replace("Equilibrium", "FileLimit").replace("proved", f"proved, in {tmp_path / 'limit'}")
    assert repr(found) == shown


def test_the_tolerance_is_checked_and_used():
    Z = [*SQUARE, [0.5, 1e-6]]
    assert hx.limit(Z).kind == ("vertex",) * 4
    assert hx.limit(Z, tie_tolerance=1e-4).kind == ("vertex",) * 4 + ("face",)
    with pytest.raises(hx.BadInput, match="tie_tolerance"):
        hx.limit(Z, tie_tolerance=-1)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"alpha": 0}, "alpha is 0"), ({"A": [[1, 2], [0, 1]]}, "not symmetric"), ({"A": np.eye(3)}, "shape")],
)
def test_bad_input_is_refused(options, words):
    with pytest.raises(hx.BadInput, match=words):
        hx.limit(SQUARE, **options)
    with pytest.raises(hx.BadInput):
        hx.limit(SQUARE, **options, exact=True)


def test_scale_does_not_matter():
    Z = np.random.default_rng(3).normal(size=(60, 3))
    eq = hx.limit(Z)
    for power in (-300, -40, 40, 300):
        scaled = hx.limit(Z * 2.0**power)
        assert (scaled.points == eq.points * 2.0**power).all()
        assert scaled.leader_since == eq.leader_since


def test_other_limits_are_projections_of_zero_onto_faces():
    """[AFZ24, Theorem 1.1 (iii)]: a limit that is no vertex is the A-projection of 0 onto a face of K."""
    seen = 0
    for seed in range(300):
        _, tokens, alpha, A = tie_rich(seed)
        if (0,) * len(tokens[0]) in tokens:
            continue  # the theorem excludes zero tokens
        eq = hx.limit(tokens, alpha, A, exact=True)
        K = eq.polytope
        for t in eq.centers[[k == "face" for k in eq.kind]]:
            query = t if A is None else np.array(A, dtype=object) @ t
            levels = K.vertices @ query
            assert max(levels) == query @ t, seed  # t lies in the face where <A t, .> is largest ...
            face = [v for v, level in enumerate(levels) if level == max(levels)]
            nearest = K.project(face).astype(float)  # ... and is its point of least A-norm
            assert np.abs(nearest - t.astype(float)).max() < 1e-9, seed
            seen += 1
    assert seen > 50


def test_the_rational_fallback_does_not_drop_the_tolerance():
    Z = np.array([*SQUARE, [1.001, 0.5], [1.001, -0.5], [0.5, 0.0]])
    with pytest.raises(hx.NotCertified):
        hx.limit(Z, 1.0, tie_tolerance=1e-9)
    with pytest.raises(hx.NotExact, match="tie_tolerance"):
        hx.limit(Z, 1.0, tie_tolerance=1e-9, exact=True)


@pytest.mark.parametrize("call", [hx.limit, hx.simulate])
def test_a_factor_of_the_matrix_changes_nothing_however_large_the_scores_are(call):
    Z, A = np.array([[1, 0], [0, 1], [0.5, 0.1]]), np.array([[2.0, 1], [1, 2]])
    for z, a in ((2.0**330, 2.0**360), (2.0**330, 2.0**660), (2.0**-330, 2.0**-660)):
        plain, scaled = call(z * Z, A=A), call(z * Z, A=a * A)
        assert plain.leader_since == scaled.leader_since
        ends = [eq.points if call is hx.limit else eq.tokens for eq in (plain, scaled)]
        assert (ends[0] == ends[1]).all()
        assert scaled.A is None or (a * A == scaled.A).all() if call is hx.simulate else True


@pytest.mark.parametrize("alpha", [1e308, 1e-308, 1e101])
def test_extreme_steps_are_refused(alpha):
    for call in (hx.limit, hx.simulate):
        with pytest.raises(hx.BadInput, match="1e-100 <= alpha <= 1e100"):
            call(SQUARE, alpha)
    for fine in (1e-100, 1e100):
        assert hx.simulate(SQUARE, fine, layers=5).leaders.tolist() == [0, 1, 2, 3]
        assert np.isfinite(hx.simulate(np.random.default_rng(0).normal(size=(1500, 2)), fine, layers=3).tokens).all()


def test_max_layers_is_a_count():
    for bad in (1.5, -1, "many"):
        with pytest.raises(hx.BadInput, match=r"^max_layers is"):
            hx.limit(SQUARE, max_layers=bad)


def test_errors_in_exact_batches_name_the_cloud():
    with pytest.raises(hx.BadInput, match="cloud 1 of the batch"):
        hx.limit([[[1, 2]], [["x", 1]]], exact=True)


@pytest.mark.parametrize(("alpha", "layers"), [(1e-12, 100), (4e-7, 100), (6e-7, 2000)])
def test_a_limit_gives_up_early_if_the_tokens_hardly_move_until_the_last_layer(alpha, layers):
    Z = np.random.default_rng(0).normal(size=(40, 3))
    with pytest.raises(hx.NotCertified, match=f"after {layers} layers") as caught:
        hx.limit(Z, alpha, max_layers=2000)
    sure = caught.value.known["certain"]
    assert 0 < len(sure) < 40
    np.testing.assert_allclose(caught.value.known["points"][sure], hx.limit(Z, 0.01).points[sure])


def test_a_small_step_needs_layers_not_rational_arithmetic():
    eq = hx.limit(np.random.default_rng(0).normal(size=(60, 2)), alpha=1e-4)
    assert eq.certificate.method == "float64"
    assert eq.undecided == 0
    with pytest.raises(hx.NotCertified, match="raise max_layers, now 100"):
        hx.limit(np.random.default_rng(0).normal(size=(60, 2)), alpha=1e-4, max_layers=100)


def test_ties_after_layer_0_are_proved_in_rational_arithmetic():
    eq = hx.limit([[1.0, 0], [0, 1], [0, 0]])
    assert eq.undecided == 0
    assert eq.certificate.method == "rational"
    assert eq.certificate.verify([[1.0, 0], [0, 1], [0, 0]])


def test_rational_arithmetic_takes_over_only_while_its_numbers_are_small(monkeypatch):
    Z = np.array([*SQUARE, [1.001, 0.5], [1.001, -0.5], [0.5, 0.0]])
    monkeypatch.setattr("hardmax.dynamics.limit.RATIONAL_BITS", 2 * 502)  # 1 + alpha = 2 has two
    assert hx.limit(Z, 1.0).leader_since[6] == 502
    monkeypatch.setattr("hardmax.dynamics.limit.RATIONAL_BITS", 2 * 502 - 1)
    with pytest.raises(hx.NotCertified, match="1 of 7 tokens"):
        hx.limit(Z, 1.0)


@pytest.mark.parametrize("suffix", ["json", "npz"])
def test_a_group_of_everyone_in_a_large_cloud_is_a_range(tmp_path, suffix):
    """A token at the origin of a symmetric cloud follows all: their numbers would take more memory than the cloud."""
    half = np.random.default_rng(0).normal(size=(5000, 2))
    Z = np.concatenate((half, -half, np.zeros((1, 2))))
    eq = hx.limit(Z)
    n, c = len(Z), eq.certificate
    assert c.groups[-1 - c.target[-1]] == range(n)
    assert c.verify(Z)
    assert not replace(c, groups=tuple(range(1, n) if g == range(n) else g for g in c.groups)).verify(Z)
    assert replace(c, groups=tuple(map(tuple, c.groups))).verify(Z)
    eq.save(path := tmp_path / f"limit.{suffix}")
    assert load_equilibrium(path) == eq
    small = np.concatenate((half[:20], -half[:20], np.zeros((1, 2))))
    assert tuple(range(len(small))) in hx.limit(small).certificate.groups


def test_numbers_of_tokens_and_layers_have_32_bits_whatever_the_way(tmp_path):
    rng = np.random.default_rng(0)
    large = [rng.normal(size=(9000, d)) for d in (1, 2, 3)]
    found = [hx.limit(Z) for Z in (SQUARE, [*SQUARE, [0.0, 0.0]], rng.normal(size=(3000, 4)), *large)]
    found += [hx.limit(SQUARE, exact=True), *hx.limit([SQUARE, SQUARE[:2]])]
    for eq in found:
        assert {a.dtype for a in (eq.cluster, eq.certificate.target, eq.certificate.decided_at)} == {np.dtype(np.int32)}
    for suffix in ("json", "npz"):
        found[0].save(path := tmp_path / f"limit.{suffix}")
        assert load_equilibrium(path) == found[0]
