"""The certified limit in rational arithmetic: systems solved by hand, and the layers themselves as judge."""

from fractions import Fraction

import numpy as np
import pytest

from hardmax.dynamics.certificate import FOLLOWER, LEADER, PATTERN, TIE
from hardmax.dynamics.exact.layers import simulate_exact
from hardmax.dynamics.exact.limit import limit_exact
from hardmax.errors import BadInput, NotCertified
from systems import FAMILIES, SQUARE, SYSTEMS, tie_rich

F = Fraction
HALF = F(1, 2)


def rows(array):
    return tuple(map(tuple, array))


def late_leader(e):
    return [*SQUARE, (1 + e, HALF), (1 + e, -HALF), (HALF, 0)]


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda s: s.name)
def test_hand_solved_systems_come_out_right(system):
    eq = limit_exact(system.tokens, system.alpha, system.A)
    assert rows(eq.points) == system.limits
    assert eq.leader_since == system.leaders
    assert tuple(eq.kind[c] for c in eq.cluster) == system.kinds
    assert eq.layers == system.layer
    assert rows(eq.centers[eq.cluster]) == system.limits
    assert len(set(rows(eq.centers))) == len(eq.centers) == len(eq.kind)
    assert eq.exact
    assert eq.margin > 0


def test_each_counterexample_is_certified_by_its_own_reason():
    roles = {}
    for system in SYSTEMS:
        roles[system.name] = limit_exact(system.tokens, system.alpha, system.A).certificate.role.tolist()
    assert roles["CE1, alpha = 1"][4] == FOLLOWER
    assert roles["CE2: a hull vertex that never leads"][2] == TIE
    assert roles["CE3: two followers are followed forever"] == [LEADER, LEADER, FOLLOWER, FOLLOWER, PATTERN]
    assert roles["CE4: square with a token at zero"][4] == TIE
    assert roles["CE5: a tie broken by a copy"][5] == FOLLOWER


def check_against_layers(tokens, alpha, A):
    """Replay: follow sets stay as certified, leaders appear when said, closed forms hold for further layers."""
    eq = limit_exact(tokens, alpha, A)
    c, further = eq.certificate, 5 + int((eq.certificate.role == PATTERN).sum())
    traj = simulate_exact(tokens, alpha, A, eq.layers + further)
    assert traj.leader_since == eq.leader_since
    rho = 1 / (1 + alpha)
    copies = {i: tuple(j for j, y in enumerate(tokens) if y == z) for i, z in enumerate(tokens)}
    for i in range(len(tokens)):
        k, target = int(c.decided_at[i]), int(c.target[i])
        followed = c.groups[-1 - target] if target < 0 else copies[target]
        assert all(traj.follows(m)[i] == followed for m in range(k, traj.layers + 1))
        # f(m) = (z^m - limit) / rho^m is constant for leaders, followers and ties, a polynomial for patterns
        f = [(traj.tokens[k + m, i] - eq.points[i]) / rho**m for m in range(further + 1)]
        if c.role[i] == PATTERN:
            f = list(np.diff(np.array(f), n=further - 4, axis=0))
            assert not np.any(f)
        assert all((x == f[0]).all() for x in f)
    return eq


@pytest.mark.parametrize("family", FAMILIES)
def test_tie_rich_clouds_go_where_the_limit_says(family):
    for seed in range(30):
        _, tokens, alpha, A = tie_rich(seed, largest=16, family=family)
        eq = check_against_layers(tokens, alpha, A)
        assert eq.certificate.undecided == 0


@pytest.mark.parametrize("family", ["grid", "signs", "mirror", "moving ties", "cube with axis tokens", "hexagon"])
def test_limits_that_are_no_vertices_are_projections_of_zero_on_faces(family):
    # x in K and <A x, v> <= <A x, x> for all vertices v: x is the point of its face {<A x, .> = <A x, x>} nearest to 0
    faces = 0
    for seed in range(30, 50):
        _, tokens, alpha, A = tie_rich(seed, largest=16, family=family)
        eq = limit_exact(tokens, alpha, A)
        vertices = [v for v, kind in zip(eq.centers, eq.kind, strict=True) if kind == "vertex"]
        for x in (x for x, kind in zip(eq.centers, eq.kind, strict=True) if kind == "face"):
            query = x if A is None else np.array(A, dtype=object) @ x
            assert max(query @ v for v in vertices) == query @ x
            faces += 1
    assert faces


def test_moving_ties_need_patterns_and_late_layers():
    found = [limit_exact(*tie_rich(seed, alphas=(F(1, 10),), family="moving ties")[1:]) for seed in range(40)]
    assert sum((eq.certificate.role == PATTERN).any() for eq in found) >= 5
    assert max(eq.layers for eq in found) >= 20


@pytest.mark.parametrize("seed", range(10))
def test_long_iteration_approaches_the_limit(seed):
    _, tokens, alpha, A = tie_rich(seed, largest=10, alphas=(F(1), F(2), F(10)))
    eq = limit_exact(tokens, alpha, A)
    last = simulate_exact(tokens, alpha, A, eq.layers + 60).tokens[-1]
    assert max(abs(x) for x in (last - eq.points).flat) <= F(1, 2**40)


@pytest.mark.parametrize("alpha", ["1/100", "1/10", "1"])
def test_gaussian_clouds_end_at_leaders(alpha):
    Z = np.random.default_rng(3).standard_normal((60, 3))
    eq = limit_exact(Z, alpha)
    assert set(eq.kind) == {"vertex"}
    assert set(eq.certificate.role.tolist()) == {LEADER, FOLLOWER}
    # generic input: a plain float run of the same depth ends near the same leaders
    z, step = Z.copy(), float(F(alpha))
    for _ in range(eq.layers + int(20 / np.log1p(step))):
        z = (z + step * z[(z @ z.T).argmax(1)]) / (1 + step)
    assert np.abs(z - eq.points.astype(float)).max() < 1e-6


def test_a_grid_is_decided_at_once():
    eq = limit_exact([(x, y) for x in range(-4, 5) for y in range(-4, 5)], "1/10")
    assert eq.layers == 0
    assert len(eq.centers) == 9
    assert eq.kind == ("vertex",) * 4 + ("face",) * 5
    assert rows(eq.centers[4:]) == ((-4, 0), (0, -4), (0, 0), (0, 4), (4, 0))


def test_very_late_leaders_are_found_by_jumping():
    eq = limit_exact(late_leader(F(1, 10_000)), 1)
    assert eq.leader_since[6] == 5002
    assert eq.points[6, 0] == 1 + F(1, 2**5002) * (F(5002, 10_000) - HALF)
    assert eq.margin == 5e-324  # 2^-5000 and below: the smallest float stands for it


def test_what_is_known_is_told_when_layers_run_out():
    with pytest.raises(NotCertified, match="1 of 7 tokens are not decided after 100 layers") as caught:
        limit_exact(late_leader(F(1, 1000)), 1, max_layers=100)
    known = caught.value.known
    assert known["certain"] == [0, 1, 2, 3, 4, 5]
    assert known["open"] == [6]
    assert known["leaders"] == [0, 1, 2, 3]
    assert rows(known["points"][:6]) == (*SQUARE, SQUARE[0], SQUARE[1])
    assert abs(known["points"][6, 0] - 1) < 1


def test_one_layer_less_than_needed_is_not_enough():
    assert limit_exact(late_leader(F(1, 100)), 1, max_layers=52).layers == 52
    with pytest.raises(NotCertified):
        limit_exact(late_leader(F(1, 100)), 1, max_layers=51)


def test_centers_are_ordered_vertices_first():
    # token 0 ends on a face, token 1 follows the leader 4
    eq = limit_exact([(HALF, 0), (F(3, 4), HALF), *SQUARE[1:], SQUARE[0]], 1)
    assert eq.kind == ("vertex",) * 4 + ("face",)
    assert rows(eq.centers) == (*SQUARE[1:], SQUARE[0], (1, 0))
    assert eq.cluster.tolist() == [4, 3, 0, 1, 2, 3]


def test_scaling_the_cloud_scales_the_limit():
    _, tokens, alpha, A = tie_rich(11, largest=12)
    huge = [[x * 10**400 for x in row] for row in tokens]
    assert (limit_exact(huge, alpha, A).points == limit_exact(tokens, alpha, A).points * 10**400).all()


def test_the_margin_is_the_narrowest_gap():
    # over |z| max|z|: token 0 wins 1 - 1/2 over 1, token 1 wins 1 + 1/2 over 1, token 2 wins 1/2 - 1/4 over 1/2
    assert limit_exact([(1, 0), (-1, 0), (HALF, 0)], 1).margin == 0.5


def test_bad_input_is_named():
    with pytest.raises(BadInput, match="leading minor of size 1 is -1"):
        limit_exact([(1, 0)], 1, [[-1, 0], [0, 1]])
    with pytest.raises(BadInput, match="symmetric"):
        limit_exact([(1, 0)], 1, [[1, 1], [0, 1]])
    with pytest.raises(BadInput, match="alpha is '-1'"):
        limit_exact([(1, 0)], "-1")
    with pytest.raises(BadInput, match="no exact rational value"):
        limit_exact([(1, 0)], "half")
    with pytest.raises(BadInput, match="Z is empty"):
        limit_exact([], 1)
