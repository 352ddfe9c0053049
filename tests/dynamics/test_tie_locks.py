"""Ties that last forever: each of the four conditions is needed, in float64 and exactly."""

import numpy as np
import pytest

import hardmax as hx
from hardmax.attention.search import Scores
from hardmax.attention.ties import IntegerRows
from hardmax.cloud.metric import metric
from hardmax.cloud.tokens import cloud
from hardmax.dynamics.certificate import TIE
from hardmax.dynamics.engine import Run
from hardmax.dynamics.tie_locks import Case, ExactTies, FloatTies, _sum

SQUARE = [[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]]


def judges(Z, A=None):
    """The run after its first look, and both judges of its ties."""
    c = cloud(Z)
    run = Run(c, 1.0, metric(A, c.dim))
    run.look()
    scores = scores_of(run, run.metric.norms(run.points))
    return run, FloatTies(run, scores, float(scores.point_norms.max())), ExactTies(run)


def scores_of(run, norms):
    return Scores(run.metric.normalized.queries(run.points), norms, run.points, norms, run.metric.condition)


def verdicts(Z, token, others, own=False, A=None):
    _, rounded, exact = judges(Z, A)
    case = Case(np.array(others), token if own else None, np.array([token]))
    one = rounded.faces([case])[0][1] and rounded.seen_from(case.rows, case.others)[0]
    two = exact.face(case)[1] and exact.seen_from(case.rows, case.others)[0]
    return bool(one), bool(two)


def holds_for(judge, others, own=None):
    """What a judge says of a tie set."""
    case = Case(np.array(others), own, np.array([0]))
    return (judge.face(case) if isinstance(judge, ExactTies) else judge.faces([case])[0])[1]


def test_two_corners_of_a_square_hold_a_tie():
    assert verdicts([*SQUARE, [0.5, 0.0]], 4, [0, 2]) == (True, True)


def test_the_mean_of_moving_points_must_not_move():
    Z = [[1, 1, 0], [1, -1, 0], [1, 0.5, 0.25], [1, -0.5, 0.25], [0.5, 0, 0.125]]
    assert verdicts(Z, 4, [2, 3]) == (False, False)  # CE3: both slide, their mean sinks


def test_points_that_slide_along_a_face_symmetrically_hold_a_tie():
    Z = [*SQUARE, [1, 0.5], [1, -0.5], [0.5, 0.0]]
    assert verdicts(Z, 6, [0, 2, 4, 5]) == (True, True)


def test_the_face_must_support_the_whole_cloud():
    Z = [[-1, 1, 0], [1, 1, 0], [0, 1.5, -1], [0, -3, 4], [0, 0.5, 0.375]]  # CE1
    assert verdicts(Z, 4, [0, 1]) == (False, False)


def test_the_followed_points_must_lie_in_one_face():
    Z = [[2.0, 1.0], [2.0, -2.0], [-3.0, 0.0], [0.5, 0.0]]
    assert verdicts(Z, 3, [0, 1]) == (False, False)  # their mean (2, -1/2) is not the projection of 0


def test_a_point_in_its_own_tie_must_be_the_mean_of_the_others():
    assert verdicts([*SQUARE, [1.0, 0.0]], 4, [0, 2], own=True) == (True, True)
    assert verdicts([*SQUARE, [1.0, 0.5], [1.0, 0.0]], 5, [0, 2, 4], own=True) == (False, False)


def test_zero_stays_only_in_a_balanced_cloud():
    assert verdicts([*SQUARE, [0.0, 0.0]], 4, [0, 1, 2, 3], own=True) == (True, True)
    assert verdicts([[1.0, 0.0], [-2.0, 0.0], [0.0, 0.0]], 2, [0, 1], own=True) == (False, False)


def test_a_matrix_changes_which_point_of_a_face_is_nearest():
    A = [[2.0, -1.0], [-1.0, 2.0]]
    hexagon = [[1, 0], [1, 1], [0, 1], [-1, 0], [-1, -1], [0, -1]]
    assert verdicts([*hexagon, [0.5, 0.25]], 6, [0, 1], A=A) == (True, True)
    assert hx.limit([*hexagon, [0.5, 0.25]], A=A).points[6].tolist() == [1.0, 0.5]


def test_what_holds_only_within_rounding_is_accepted_and_counted():
    angle = 2 * np.pi * np.arange(5) / 5
    Z = np.r_[np.c_[np.cos(angle), np.sin(angle)], [[-0.4, 0.0]]]
    assert verdicts(Z, 5, [2, 3]) == (True, False)
    assert hx.limit(Z).undecided > 0


@pytest.mark.parametrize("scale", [2.0**-400, 1.0, 3.0, 2.0**400])
def test_scale_does_not_matter(scale):
    assert verdicts(np.array([*SQUARE, [0.5, 0.0]]) * scale, 4, [0, 2]) == (True, True)


@pytest.mark.parametrize("scale", [2.0**-1000, 1.0, 2.0**600])
def test_offsets_are_compared_at_the_same_layer(scale):
    run, rounded, _ = judges([*SQUARE, [1, 0.5], [1, -0.5]])
    run.decided_at[[4, 5]] = [0, 1]
    # With alpha = 1 the older one has halved by now.
    run._keep(np.array([4, 5]), scale * np.array([[0, -2], [0, 1]]))
    _, offset, _ = rounded._moving(np.array([4, 5]))
    assert offset.tolist() == [[0, -1], [0, 1]]


def test_a_token_that_is_tied_by_rounding_alone_is_not_tied_exactly():
    Z = [[1.0, 0.25], [1.0, -0.25], [-1.0, 0.0], [0.5, 1e-18]]
    assert verdicts(Z, 3, [0, 1]) == (True, False)


def test_the_face_must_support_a_cloud_of_thousands_too():
    small = np.column_stack([np.arange(-600, 600), np.zeros(1200), np.zeros(1200)]) / 2**13
    for beyond, holds in (([0, 1.5, -1], False), ([0, 1, -1], True), ([0, 1 + 2.0**-50, -1], None)):
        Z = [[-1, 1, 0], [1, 1, 0], beyond, [0, -3, 4], [0, 0.5, 0.375], *small]
        _, rounded, exact = judges(np.array(Z, float))
        assert holds_for(rounded, [0, 1]) is (holds is not False)
        assert holds_for(exact, [0, 1]) is bool(holds)  # None: only exactly it is not so


def test_points_and_the_places_they_tend_to_must_both_be_level():
    """Tokens 4 and 5 are said to tend to corners; the mean of the two places is token 6."""
    Z = [[1.0, 1.0], [1.0, -1.0], [2.0, 1.0], [-2.0, 0.0], [1.0, 0.5], [1.0, -0.5], [1.0, 0.0], [1.5, 0.0]]
    pair = np.array([4, 5])
    for ends, points, own, holds in (
        ([0, 1], [[1.0, 0.5], [1.0, -0.5]], 6, True),
        ([0, 1], [[0.75, 0.5], [1.25, -0.5]], 6, False),
        ([1, 2], [[1.5, 0.5], [1.5, -0.5]], 7, False),
    ):
        run, _, exact = judges(Z)
        run.target[pair], exact.base_of[pair] = ends, -1
        places = np.array(Z)
        places[pair] = points
        exact.whole = IntegerRows(places)
        assert holds_for(exact, pair, own) is holds


@pytest.mark.parametrize("layer", [0, 7])
def test_the_bands_are_four_times_that_of_the_tie_rule(layer):
    Z, A = np.array([[3.0, 4.0], [-3.0, 4.0], [1.0, 0.0]]), np.diag([4.0, 1.0])
    run, *_ = judges(Z, A)
    run.layer = layer
    norms = np.sqrt(np.einsum("ij,jk,ik->i", Z, run.metric.normalized.A, Z))
    rounded, eps = FloatTies(run, scores_of(run, norms), float(norms.max())), np.finfo(float).eps
    units = 4 * (64 + 2 * layer + 2 * layer) * eps
    assert rounded.band == pytest.approx(units * norms.max() ** 2)
    assert rounded.offset_band == pytest.approx(units * np.linalg.norm(run.metric.normalized.A, 2) * 5.0)


def test_a_point_may_be_beyond_the_face_by_the_band_and_no_more():
    _, rounded, _ = judges([[1.0, 1.0], [1.0, -1.0], [1.125, 0.0], [-1.0, 0.0], [0.5, 0.0]])
    for band, holds in ((0.125, True), (0.125 - 2.0**-50, False)):
        rounded.band = band
        assert holds_for(rounded, [0, 1]) is holds


def test_the_face_of_a_thousand_whole_numbers_supports_them_or_not():
    grid = [[float(x), float(y)] for x in range(-40, 2) for y in range(-15, 16)]
    for beyond, holds in (([1.0, -16.0], True), ([2.0, -9.0], False), ([2.0, 9.0], False)):
        _, _, exact = judges([*grid, beyond])
        assert exact._supports(np.array([1, 0], dtype=object), 1) is holds


def test_conditions_hold_up_to_the_end_of_their_bands_and_no_further():
    """The base of token 0 is moved to 1/8 behind the face, or the offset of token 4 sticks out."""
    run, rounded, _ = judges([*SQUARE, [1, 0.5], [1, -0.5], [0.5, 0.0]])
    everyone, pair = np.array([0, 2, 4, 5]), np.array([4, 5])
    rounded.longest = 1.0
    _, offset, _ = rounded._moving(pair)
    assert offset.tolist() == [[0, -1], [0, 1]]
    run._keep(np.array([4, 5]), np.array([[0.25, -0.5], [-0.25, 0.5]]))
    _, offset, _ = rounded._moving(pair)
    out = np.abs(offset @ run.points[6]).max()
    for band, holds in ((out, True), (np.nextafter(out, 0), False)):
        rounded.offset_band = band
        assert rounded.seen_from(np.array([6]), pair).tolist() == [holds]
    out = np.abs(offset @ [1.0, 0.0]).max()
    for band, holds in ((out, True), (np.nextafter(out, 0), False)):
        rounded.offset_band = band
        assert holds_for(rounded, pair) is holds
    run._keep(np.array([5]), np.array([[-0.25, 0.25]]))
    _, offset, _ = rounded._moving(pair)
    drift = np.abs(offset.mean(axis=0)).max()
    assert drift < np.abs(offset[:, 0]).max()
    rounded.offset_band, rounded.longest = 10.0, 10.0 / drift
    assert holds_for(rounded, pair)
    rounded.longest = 10.001 / drift
    assert not holds_for(rounded, pair)
    rounded.longest = 1.0
    run._keep(np.array([0]), run.offset([0]))
    run.points = run.points.copy()
    run.points[0] = [0.875, 1.0]
    t = rounded._moving(everyone)[0].mean(axis=0)
    out = np.abs(rounded._moving(everyone)[0] @ t - t @ t).max()
    for band, holds in ((out, True), (np.nextafter(out, 0), False)):
        rounded.band = band
        assert holds_for(rounded, everyone) is holds
    run.points[[0, 6]], rounded.largest = [[1.0, 1.0], [1.0, 0.0625]], 2.0
    for band, holds in ((0.125, True), (0.125 - 2.0**-50, False)):
        rounded.band = band
        assert holds_for(rounded, everyone, 6) is holds


@pytest.mark.parametrize("seed", range(40))
def test_groups_are_numbered_as_if_points_were_asked_one_by_one(seed):
    """Turn after turn all tied points are asked in ascending order whether the others they follow are decided."""
    rng = np.random.default_rng(seed)
    steps = np.arange(-2.0, 3.0)
    grid = np.stack(np.meshgrid(*[steps] * int(rng.integers(2, 4))), -1)
    Z = rng.permutation(grid.reshape(-1, grid.shape[-1]))
    c = cloud(Z)
    run = Run(c, 0.5, metric(None, c.dim))
    look = run.look()
    decided = (run.role >= 0) & (run.role != TIE)
    waiting, numbers = [i for i in look.ties if run.role[i] == TIE], []
    while waiting:
        for i in list(waiting):
            group = look.ties[i]
            if decided[group[group != i]].all():
                decided[i] = True
                waiting.remove(i)
                numbers += [group.tolist()] if group.tolist() not in numbers else []
    assert len(numbers) > 4
    assert [group.tolist() for group in run.groups] == numbers
    for i, group in look.ties.items():
        assert run.role[i] != TIE or run.groups[-1 - run.target[i]].tolist() == group.tolist()


def test_all_who_follow_a_face_are_seen_as_if_one_by_one():
    Z = np.stack(np.meshgrid(*[np.linspace(-1, 1, 7)] * 3), -1).reshape(-1, 3)
    _, rounded, exact = judges(Z)
    face = np.flatnonzero(Z[:, 0] == 1.0)
    rows = np.arange(len(Z))
    for judge in (rounded, exact):
        together = judge.seen_from(rows, face)
        alone = [bool(judge.seen_from(rows[i : i + 1], face)[0]) for i in rows]
        assert together.tolist() == alone
        assert 0 < together.sum() < len(rows)


@pytest.mark.parametrize("scale", [1.0, 2.0**40, 0.1])
def test_sums_of_points_are_exact_at_any_size(scale):
    Z = np.array([*SQUARE, [0.5, 0.0]]) * scale + 3.0
    _, _, exact = judges(Z)
    weight = np.array([3, 2**30, 1, 7])
    sums = _sum(exact.whole[np.arange(4)], weight)
    whole = [[int(x) for x in row] for row in exact.whole[:4].tolist()]
    assert sums.tolist() == [sum(w * row[k] for w, row in zip(weight.tolist(), whole, strict=True)) for k in range(2)]
