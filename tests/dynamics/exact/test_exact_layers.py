"""Layers in rational arithmetic: the facts of the theory, the literal definition, variants, periodic orbits."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hardmax as hx
import reference
from hardmax.dynamics.exact.layers import simulate_exact
from hardmax.errors import BadInput, NotExact
from systems import tie_rich

F = Fraction
PROPERTY = settings(derandomize=True, deadline=None, max_examples=60)
ALPHAS = st.sampled_from([F(1, 10), F(1, 2), F(1), F(2), F(10)])


@st.composite
def clouds(draw, smallest=1):
    dim = draw(st.integers(1, 3))
    coordinate = st.builds(F, st.integers(-4, 4), st.sampled_from([1, 2, 3, 4]))
    row = st.lists(coordinate, min_size=dim, max_size=dim)
    return np.array(draw(st.lists(row, min_size=smallest, max_size=7)), dtype=object)


@st.composite
def matrices(draw, dim):
    """R^T R + I for a random integer R, or None."""
    if draw(st.booleans()):
        return None
    R = np.array(draw(st.lists(st.lists(st.integers(-2, 2), min_size=dim, max_size=dim), min_size=dim, max_size=dim)))
    return (R.T @ R + np.eye(dim, dtype=int)).astype(object)


def dot(A, x, y):
    return x @ y if A is None else (A @ x) @ y


@PROPERTY
@given(st.data(), ALPHAS)
def test_leaders_persist_and_stand_still(data, alpha):
    Z = data.draw(clouds())
    traj = simulate_exact(Z, alpha, data.draw(matrices(Z.shape[1])), 6)
    for i, since in traj.leader_since.items():
        copies = tuple(j for j in range(len(Z)) if (Z[j] == Z[i]).all())
        for k in range(since, 7):
            assert (traj.tokens[k, i] == traj.tokens[since, i]).all()
            assert traj.follows(k)[i] == copies
        assert all(traj.follows(k)[i] != copies for k in range(since))


@PROPERTY
@given(st.data(), ALPHAS)
def test_norms_never_fall_and_nonzero_tokens_stay_so(data, alpha):
    Z = data.draw(clouds())
    A = data.draw(matrices(Z.shape[1]))
    traj = simulate_exact(Z, alpha, A, 4)
    for k in range(4):
        for i, followed in enumerate(traj.follows(k)):
            z, after = traj.tokens[k, i], traj.tokens[k + 1, i]
            pull = traj.tokens[k, list(followed)].sum(axis=0) / len(followed) - z
            gain = (alpha / (1 + alpha)) ** 2 * dot(A, pull, pull)
            assert dot(A, after, after) >= dot(A, z, z) + gain
            assert after.any() or not z.any()


@PROPERTY
@given(st.data(), ALPHAS)
def test_the_hull_never_grows(data, alpha):
    Z = data.draw(clouds())
    direction = np.array(data.draw(st.lists(st.integers(-5, 5), min_size=Z.shape[1], max_size=Z.shape[1])), object)
    reach = [max(state @ direction) for state in simulate_exact(Z, alpha, None, 5).tokens]
    assert reach == sorted(reach, reverse=True)


@PROPERTY
@given(st.data(), ALPHAS)
def test_tokens_never_collide(data, alpha):
    Z = data.draw(clouds(smallest=2))
    A = data.draw(matrices(Z.shape[1]))
    tokens = simulate_exact(Z, alpha, A, 4).tokens
    for k in range(4):
        before, after = tokens[k, 0] - tokens[k, 1], tokens[k + 1, 0] - tokens[k + 1, 1]
        assert dot(A, after, after) * (1 + alpha) ** 2 >= dot(A, before, before)
        assert after.any() == before.any()


@PROPERTY
@given(st.data(), ALPHAS)
def test_the_matrix_can_be_removed(data, alpha):
    Z = data.draw(clouds())
    dim = Z.shape[1]
    R = np.array([[F(data.draw(st.integers(-2, 2))) if j < i else F(i == j) for j in range(dim)] for i in range(dim)])
    with_A = simulate_exact(Z, alpha, R @ R.T, 4)
    without = simulate_exact(Z @ R, alpha, None, 4)
    assert (with_A.tokens @ R == without.tokens).all()
    assert all(with_A.follows(k) == without.follows(k) for k in range(5))


@PROPERTY
@given(st.data(), ALPHAS)
def test_who_follows_one_leader_does_so_for_ever_in_closed_form(data, alpha):
    Z = data.draw(clouds(smallest=2))
    traj = simulate_exact(Z, alpha, data.draw(matrices(Z.shape[1])), 6)
    for i, followed in enumerate(traj.follows(1)):
        leader = followed[0]
        if traj.leader_since.get(leader, 7) <= 1 and (traj.tokens[1, list(followed)] == traj.tokens[1, leader]).all():
            v, offset = traj.tokens[1, leader], traj.tokens[1, i] - traj.tokens[1, leader]
            for s in range(6):
                assert traj.follows(1 + s)[i] == followed
                assert (traj.tokens[1 + s, i] == v + offset / (1 + alpha) ** s).all()


@pytest.mark.parametrize("seed", range(60))
def test_layers_agree_with_the_literal_definition(seed):
    _, tokens, alpha, A = tie_rich(seed, largest=12)
    states, sets = reference.run(np.array(tokens, dtype=object), alpha, 6, A)
    traj = simulate_exact(tokens, alpha, A, 6)
    assert (traj.tokens == np.array(states)).all()
    assert [traj.follows(k) for k in range(7)] == sets
    assert traj.leader_since == reference.leader_since(states, sets)


def test_near_ties_below_float_rounding_are_decided():
    tiny = F(1, 10**30)
    traj = simulate_exact([(1, 1), (1 + tiny, -1), (-1, 0), (F(1, 2), 0)], F(1, 2), None, 1)
    assert traj.follows(0)[3] == (1,)
    assert traj.undecided == 0
    assert traj.exact


def test_floats_are_taken_at_their_binary_value():
    traj = simulate_exact([[0.1], ["0.1"], [-1]], "1/2", None, 0)
    assert traj.tokens[0, 0, 0] == F(0.1) != F(1, 10) == traj.tokens[0, 1, 0]
    assert traj.follows(0)[1] == (0,)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.5, 0.1, "0.1"])
def test_a_hundred_gaussian_tokens_run_fifty_layers(alpha):
    Z = np.random.default_rng(7).standard_normal((100, 3))
    traj = simulate_exact(Z, alpha, None, 50)
    exact, rough = traj.tokens[-1], Z.copy()
    for _ in range(50):
        rough = (rough + float(alpha) * rough[(rough @ rough.T).argmax(1)]) / (1 + float(alpha))
    assert np.abs(exact.astype(float) - rough).max() < 1e-9


def literal_layer(Z, alpha, heads, causal=False, rescale=True):
    """The layer of the variants, one token at a time in Fractions; heads = [(A, V)]."""
    n, dim = Z.shape
    one = np.array([[F(i == j) for j in range(dim)] for i in range(dim)], dtype=object)
    moved = []
    for i in range(n):
        pull = one[0] * 0
        for A, V in heads:
            seen = range(i + 1) if causal else range(n)
            score = {j: dot(A, Z[i], Z[j]) for j in seen}
            followed = [j for j in seen if score[j] == max(score.values())]
            mean = sum(Z[j] for j in followed) / F(len(followed))
            pull = pull + (one if V is None else V) @ mean / len(heads)
        moved.append(Z[i] + alpha * pull)
    if not rescale:
        return np.array(moved)
    W = sum(one if V is None else V for _, V in heads) / F(len(heads))
    system = one + alpha * W
    # Cramer's rule in the plane
    det = system[0, 0] * system[1, 1] - system[0, 1] * system[1, 0]
    inverse = np.array([[system[1, 1], -system[0, 1]], [-system[1, 0], system[0, 0]]]) / det
    return np.array([inverse @ z for z in moved])


@PROPERTY
@given(st.data(), ALPHAS, st.booleans(), st.booleans())
def test_variants_agree_with_the_literal_layer(data, alpha, causal, rescale):
    small = st.integers(-2, 2).map(F)
    matrix = st.lists(st.lists(small, min_size=2, max_size=2), min_size=2, max_size=2).map(
        lambda rows: np.array(rows, dtype=object)
    )
    heads = [(data.draw(matrix), data.draw(matrix)) for _ in range(data.draw(st.integers(1, 3)))]
    Z = np.array(data.draw(st.lists(st.lists(small, min_size=2, max_size=2), min_size=1, max_size=5)), dtype=object)
    options = {"causal": causal, "normalization": "rescale" if rescale else "none", "definite": False}
    W = sum(V for _, V in heads) * (alpha / len(heads)) + np.eye(2, dtype=int)
    if rescale and W[0, 0] * W[1, 1] == W[0, 1] * W[1, 0]:
        with pytest.raises(BadInput, match="singular"):
            simulate_exact(Z, alpha, None, 2, heads=[hx.Head(A, V) for A, V in heads], **options)
        return
    traj = simulate_exact(Z, alpha, None, 2, heads=[hx.Head(A, V) for A, V in heads], **options)
    for k in range(2):
        assert (traj.tokens[k + 1] == literal_layer(traj.tokens[k], alpha, heads, causal, rescale)).all()


def test_a_feed_forward_sublayer_by_hand():
    # attention leaves both leaders where they are; x -> 2 x + (1, 0) relu(x_1 + x_2 - 1/2)
    sublayer = hx.FeedForward(W=[[1], [0]], U=[[1, 1]], b=["-1/2"], eta=2)
    traj = simulate_exact([(1, 0), (-1, 0)], 1, None, 1, feed_forward=sublayer)
    assert traj.tokens[1].tolist() == [[F(5, 2), 0], [-2, 0]]


def test_merged_tokens_do_not_lead_together():
    # x -> relu(x): both tokens come to 0, where they tie, though they started apart
    sublayer = hx.FeedForward(W=[[1]], U=[[1]], b=[0], eta=0)
    traj = simulate_exact([(-1,), (-2,)], 1, None, 1, feed_forward=sublayer)
    assert traj.tokens[1].tolist() == [[0], [0]]
    assert traj.leader_since == {1: 0}
    assert simulate_exact([(-2,), (-2,)], 1, None, 1).leader_since == {0: 0, 1: 0}


# Three pairs of leaders over the corners p_1, p_2, p_3 of a triangle in a plane U that A turns by more than 60 degrees:
# a token in U ties with both of a pair and is drawn to its corner, then to the next one, forever.
TURN = np.array([[1, -3, 0, 0], [3, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], dtype=object)
PAIRS = [(4, 0, 8, 0), (4, 0, -8, 0), (-2, 3, -4, 7), (-2, 3, 4, -7), (-2, -3, -4, -7), (-2, -3, 4, 7)]
CORNERS = np.array([(4, 0), (-2, 3), (-2, -3)])


def start_of_orbit(alpha, period):
    """A point of the periodic orbit: the corners visited come from a float run, the point from the linear equation."""
    z, visited, rho = np.array([1.0, 0.3]), [], 1 / (1 + alpha)
    for _ in range(40 * period):
        visited.append(int((CORNERS @ (np.array([[1, -3], [3, 1]]) @ z)).argmax()))
        z = (z + float(alpha) * CORNERS[visited[-1]]) / (1 + float(alpha))
    corners = [CORNERS[v] for v in visited[-period:]]
    # z = rho^P z + (1 - rho) sum_k rho^(P-1-k) p_k
    total = sum((1 - rho) * rho ** (period - 1 - k) * np.array([F(int(x)) for x in p]) for k, p in enumerate(corners))
    return (*(total / (1 - rho**period)), 0, 0)


@pytest.mark.parametrize(
    ("alpha", "period"), [("4", 3), ("10", 3), ("2", 6), ("1", 9), ("1/2", 12), ("1/10", 45)], ids=str
)
def test_one_head_with_ties_can_cycle(alpha, period):
    token = start_of_orbit(F(alpha), period)
    traj = simulate_exact([*PAIRS, token], alpha, TURN, period + 2, definite=False)
    assert (traj.outcome.kind, traj.outcome.period, traj.outcome.layer) == ("periodic", period, 0)
    assert all(len(traj.follows(k)[6]) == 2 for k in range(period))
    assert traj.leader_since == dict.fromkeys(range(6), 0)


def test_the_orbits_pass_through_the_known_points():
    known = {"4": (F(-32, 31), F(72, 31)), "10": (F(-200, 133), F(360, 133)), "2": (F(184, 91), F(-72, 91))}
    for alpha, point in known.items():
        traj = simulate_exact([*PAIRS, (*point, 0, 0)], alpha, TURN, 6, definite=False)
        assert traj.outcome.kind == "periodic"
        assert traj.outcome.period == (6 if alpha == "2" else 3)


def test_two_heads_without_ties_can_cycle():
    coupling = np.zeros((4, 4), dtype=object)
    coupling[2, 0] = coupling[3, 1] = F(1, 20)
    heads = [hx.Head(TURN + coupling), TURN - coupling]
    traj = simulate_exact([*PAIRS, (F(-200, 133), F(360, 133), 0, 0)], 10, None, 6, heads=heads, definite=False)
    assert (traj.outcome.kind, traj.outcome.period) == ("periodic", 3)
    for head in heads:
        A = head.A if isinstance(head, hx.Head) else head
        alone = simulate_exact(traj.tokens[0], 10, A, 0, definite=False)
        assert len(alone.follows(0)[6]) == 1


def test_bad_input_is_named():
    with pytest.raises(BadInput, match=r"A\[0, 1\] = 2 but A\[1, 0\] = 0"):
        simulate_exact([(1, 0)], 1, [[1, 2], [0, 1]], 1)
    with pytest.raises(BadInput, match="leading minor of size 2 is -3"):
        simulate_exact([(1, 0)], 1, [[1, 2], [2, 1]], 1)
    with pytest.raises(BadInput, match="alpha is 0"):
        simulate_exact([(1, 0)], 0, None, 1)
    with pytest.raises(BadInput, match="layers is -1"):
        simulate_exact([(1, 0)], 1, None, -1)
    with pytest.raises(BadInput, match="token 0, coordinate 1 is nan"):
        simulate_exact([(1, float("nan"))], 1, None, 1)
    with pytest.raises(BadInput, match="singular for alpha = 1"):
        simulate_exact([(1, 0)], 1, None, 1, V=[[-1, 0], [0, 1]])
    with pytest.raises(BadInput, match="normalization is 'max'"):
        simulate_exact([(1, 0)], 1, None, 1, normalization="max")
    with pytest.raises(BadInput, match=r"feed_forward\.U has shape"):
        simulate_exact([(1, 0)], 1, None, 1, feed_forward=hx.FeedForward(W=[[1], [0]], U=[[1]], b=[0]))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"heads": [None], "A": [[1, 0], [0, 1]]}, "heads and A were both given"),
        ({"heads": [None], "V": [[1, 0], [0, 1]]}, "heads and V were both given"),
        ({"heads": []}, r"heads is \[\]; expected a list"),
        ({"heads": 2}, "heads is 2; expected a list"),
        ({"heads": "ab"}, "heads is 'ab'; expected a list"),
        ({"A": 2}, r"A is 2; expected a list of rows of numbers"),
        ({"feed_forward": hx.FeedForward(W=[[1], [0]], U=[[1, 0]], b=3)}, "feed_forward.b is 3; expected"),
        ({"feed_forward": hx.FeedForward(W=1, U=2, b=[3])}, "feed_forward.W is 1; expected"),
    ],
    ids=str,
)
def test_parts_of_a_layer_are_refused_in_both_arithmetics(options, says):
    with pytest.raises(BadInput, match=says):
        hx.simulate([(1, 0), (0, 1)], layers=1, exact=True, **options)
    with pytest.raises(BadInput):
        hx.simulate([(1, 0), (0, 1)], layers=1, **options)


def test_an_array_of_matrices_is_a_list_of_heads_in_both_arithmetics():
    Z, heads = [[1, 0], [0, 1], [-1, -1]], np.array([[[1, 0], [0, 2]], [[2, 1], [1, 1]]])
    for exact in (False, True):
        assert hx.simulate(Z, heads=heads, layers=3, exact=exact) == hx.simulate(
            Z, heads=list(heads), layers=3, exact=exact
        )


def test_what_is_irrational_is_refused():
    with pytest.raises(NotExact, match="square roots"):
        simulate_exact([(1, 0)], 1, None, 1, normalization="sphere")
    with pytest.raises(NotExact, match="a function"):
        simulate_exact([(1, 0)], 1, None, 1, feed_forward=np.tanh)
