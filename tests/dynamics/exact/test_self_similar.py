"""Self-similar runs: recognized in rational arithmetic, with the fate of the tokens; nothing else is."""

from hardmax.dynamics.exact.layers import simulate_exact
from hardmax.experiments.questions.cases import load

SQUARE = [(1, 1), (-1, 1), (-1, -1), (1, -1)]
TURN = [[0, -1], [1, 0]]


def outcome(name, layers):
    case, _ = load(name)
    tokens, heads = [list(z) for z in case["tokens"]], [[list(row) for row in A] for A in case["heads"]]
    return simulate_exact(tokens, case["alpha"], None, layers, heads=heads, definite=False).outcome


def test_a_square_that_shrinks_is_seen_to_shrink():
    found = simulate_exact(SQUARE, 1, TURN, 6, definite=False).outcome
    assert (found.kind, found.period) == ("self-similar", 1)
    assert found.detail.endswith("it shrinks to 0")


def test_a_token_that_never_converges_is_named():
    found = outcome("one-head-no-ties-never-converges", 16)
    assert (found.kind, found.period) == ("self-similar", 8)
    assert found.detail.endswith("token 8 never converges")


def test_tokens_that_span_a_plane_only_are_enough():
    flat = [(*z, 0) for z in SQUARE]
    A = [[0, -1, 0], [1, 0, 0], [0, 0, 5]]
    assert simulate_exact(flat, 1, A, 6, definite=False).outcome.kind == "self-similar"


def test_an_image_with_other_scores_is_not_self_similar():
    # the corners follow each other and shrink, but the scores of the second coordinate do not shrink alike
    cloud = [*SQUARE, ("3/2", "1/3")]
    assert simulate_exact(cloud, 1, TURN, 6, definite=False).outcome.kind == "moving"


def test_without_a_layer_to_compare_tokens_are_still_moving():
    assert simulate_exact(SQUARE, 1, TURN, 0, definite=False).outcome.kind == "moving"
    assert outcome("one-head-no-ties-never-converges", 14).kind == "moving"  # the image comes after 8 layers


def test_a_shift_off_the_origin_is_undecided_in_words():
    # heights 1 and 2 of two squares that do not see each other's heights: the corners converge to (0, 0, h)
    low = [(*z, 1) for z in SQUARE]
    A = [[0, -1, 0], [1, 0, 0], [0, 0, 0]]
    found = simulate_exact(low, 1, A, 8, definite=False).outcome
    assert found.kind == "self-similar"
    assert "not decided" in found.detail
