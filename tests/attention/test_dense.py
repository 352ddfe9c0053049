"""Dense attention: blocks, groups, undecided comparisons."""

import numpy as np
import pytest

import hardmax.attention.dense as dense
from hardmax.attention.dense import Scene, attend, supports
from hardmax.attention.rules import Chain, Hardmax, Localmax, Softmax
from hardmax.attention.ties import Widths, widths
from hardmax.cloud.metric import metric
from hardmax.cloud.tokens import cloud
from hardmax.errors import BadInput


def scene_of(Z, rule=Hardmax(), causal=False, layer=0, error=0.0):  # noqa: B008 - rules are immutable
    start = cloud(Z)
    return Scene.of(start.tokens, start.point_of, rule, causal, layer, error)


@pytest.mark.parametrize("rule", [Hardmax(), Softmax(1.0), Localmax(0.3), Chain(1.0)], ids=lambda r: type(r).__name__)
@pytest.mark.parametrize("causal", [False, True])
def test_the_size_of_the_blocks_changes_nothing(rule, causal, monkeypatch):
    Z = np.random.default_rng(1).normal(size=(60, 3))
    Z[40:50] = Z[10:20]
    uniforms = np.random.default_rng(2).random(60)
    scene = scene_of(Z, rule, causal)

    def nobody(query, among, power):
        return np.zeros(len(among), bool)

    whole = attend(scene, metric(None, 3), rule, scene.lookers, uniforms, nobody)
    monkeypatch.setattr(dense, "BLOCK", 1)
    parts = attend(scene, metric(None, 3), rule, scene.lookers, uniforms, nobody)
    assert parts.means == pytest.approx(whole.means, abs=1e-14)
    assert parts.target.tolist() == whole.target.tolist()
    assert parts.alone.tolist() == whole.alone.tolist()
    assert [parts.followed(r).tolist() for r in range(len(parts.target))] == [
        whole.followed(r).tolist() for r in range(len(parts.target))
    ]


def test_copies_are_one_group_and_their_weight_counts():
    scene = scene_of([[1, 1], [1, -1], [1, 1], [0.5, 0]])
    assert scene.group_of.tolist() == [0, 1, 0, 2]
    gaze = attend(scene, metric(None, 2), Hardmax(), scene.lookers)
    assert gaze.means[2].tolist() == pytest.approx([1, 1 / 3])
    assert gaze.alone.tolist() == [True, True, False]
    assert gaze.target.tolist() == [0, 1, -1]


def test_a_causal_token_sees_only_the_copies_before_it():
    scene = scene_of([[0.5, 0], [1, 1], [1, -1], [0.5, 0], [1, 1], [0.5, 0]], causal=True)
    gaze = attend(scene, metric(None, 2), Hardmax(), scene.lookers)
    assert gaze.means[0].tolist() == [0.5, 0]
    assert gaze.means[3].tolist() == [1, 0]
    assert gaze.means[5].tolist() == pytest.approx([1, 1 / 3])
    groups = list(supports(scene, metric(None, 2), Hardmax(), scene.lookers))
    assert scene.visible(3, groups[3]) == (1, 2)
    assert scene.visible(5, groups[5]) == (1, 2, 4)


def test_ties_of_dyadic_tokens_are_decided_at_the_first_layer_and_blurred_later():
    square = [[1, 1], [1, -1], [-1, 1], [-1, -1], [0.5, 0]]
    exact = attend(scene_of(square), metric(None, 2), Hardmax(), np.arange(5))
    later = attend(scene_of(square, layer=1, error=1e-15), metric(None, 2), Hardmax(), np.arange(5))
    assert (exact.undecided, later.undecided) == (0, 1)
    assert exact.clear.tolist() == [True, True, True, True, False]


def test_only_the_tokens_of_layer_zero_without_an_error_are_given():
    assert [scene_of([[1.0]], layer=k, error=e).given for k in (0, 1) for e in (0.0, 1e-9)] == [True] + [False] * 3
    one, start = np.arange(1), cloud([[1.0]])
    assert Scene(start.tokens, one, one, one, causal=False, layer=0).given
    assert Scene.of(start.tokens, start.point_of, Hardmax(), causal=False, layer=0).given


def test_what_a_row_follows_is_its_target_or_its_tie():
    """Ties are kept only for those who ask which of them lose, and a group that loses is not followed."""
    Z = [[1.0, 1.0], [1.0, -1.0], [-1.0, 0.0], [0.5, 0.0], [0.25, 0.25], [0.5, 0.5]]
    scene = scene_of(Z, layer=1)
    plain = attend(scene, metric(None, 2), Hardmax(), np.arange(6))
    assert [plain.followed(r).tolist() for r in range(6)] == [[0], [1], [2], [], [0], [0]]
    for loser, followed in ((None, [0, 1]), (0, [1]), (1, [0])):
        gaze = attend(scene, metric(None, 2), Hardmax(), np.arange(6), behind=lambda q, among, c, w=loser: among == w)
        assert [gaze.followed(r).tolist() for r in range(6)] == [[0], [1], [2], followed, [0], [0]]
        assert gaze.undecided == (loser is None)
        assert gaze.means[3].tolist() == np.mean([Z[j] for j in followed], axis=0).tolist()


def test_whom_a_row_follows_is_not_known_if_one_wins_by_less_than_rounding():
    scene = scene_of([[1.0, 1.0], [1.0, -1.0], [0.5, 1e-11]], layer=1, error=1e-9)
    gaze = attend(scene, metric(None, 2), Hardmax(), np.arange(3), behind=lambda q, among, c: among < 0)
    assert (gaze.target.tolist(), gaze.clear.tolist()) == ([0, 1, 0], [True, True, False])
    assert [gaze.followed(r).tolist() for r in range(3)] == [[0], [1], []]


@pytest.mark.parametrize("rule", [Hardmax(), Localmax(0.5)], ids=lambda r: type(r).__name__)
def test_scores_that_differ_by_exactly_the_bound_cannot_be_told_apart(rule, monkeypatch):
    """Token 0 at 1 scores 1, 1/4 and 0; Localmax compares with the threshold 1/2."""
    gap = 0.75 if isinstance(rule, Hardmax) else 0.25
    for flag, undecided in ((gap, 1), (np.nextafter(gap, 0), 0)):
        band = np.full(3, flag)
        monkeypatch.setattr(dense, "widths", lambda *_, band=band: Widths(0 * band, band))
        gaze = attend(scene_of([[1.0], [0.25], [0.0]], rule, layer=1), metric(None, 1), rule, np.arange(1))
        assert gaze.undecided == undecided


def test_a_rounded_tie_is_counted_as_undecided():
    third = 1 / 3
    gaze = attend(scene_of([[1, third], [1, -third], [third, 0]]), metric(None, 2), Hardmax(), np.arange(3))
    assert gaze.undecided == 1
    assert gaze.means[2].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("A", "undecided"), [(np.diag([2.0, 1.0]), 1), (np.diag([0.0, 1.0]), 2), (np.zeros((2, 2)), 0)]
)
def test_a_matrix_leaves_comparisons_undecided_unless_all_scores_are_zero(A, undecided):
    third = 1 / 3
    scene = scene_of([[1, third], [1, -third], [third, 0]])
    assert attend(scene, metric(A, 2, definite=False), Hardmax(), np.arange(3)).undecided == undecided


def test_comparisons_near_the_threshold_of_localmax_are_undecided():
    Z = [[1.0], [0.7], [0.1]]
    gaze = attend(scene_of(Z, Localmax(0.3)), metric(None, 1), Localmax(0.3), np.arange(3))
    assert gaze.undecided == 1  # <z_0, z_0> - <z_0, z_1> = 0.3
    assert attend(scene_of(Z), metric(None, 1), Localmax(0.2), np.arange(3)).undecided == 0


@pytest.mark.parametrize("error", [1e-12, 1e-9])
def test_the_threshold_of_localmax_is_blurred_by_the_error_of_the_tokens(error):
    """Its queries are not scaled: at 1 the bound is that of `widths` for the tokens as they are."""
    flag = float(widths(metric(None, 1), np.ones((1, 1)), np.ones((1, 1)), 1, error).flag[0])
    for share, undecided in ((0.9, 1), (1.1, 0), (1.9, 0)):
        for side in (-1, 1):
            scene = scene_of([[1.0], [0.7 + side * share * flag]], Localmax(0.3), layer=1, error=error)
            assert attend(scene, metric(None, 1), Localmax(0.3), np.arange(1)).undecided == undecided


def test_a_token_in_the_kernel_of_a_follows_everyone():
    direction = np.array([0.1, 0.3])  # rank one; A z_2 is 5.6e-18, not 0
    Z = np.array([[1.0, 2.0], [-1.0, 0.5], [0.3, -0.1]])
    A = np.outer(direction, direction)
    gaze = attend(scene_of(Z), metric(A, 2, definite=False), Hardmax(), np.arange(3))
    assert gaze.means[2] == pytest.approx(Z.mean(axis=0))


def test_scores_beyond_float64_are_refused():
    with pytest.raises(BadInput, match="token 0 left the range of float64 at layer 0"):
        attend(scene_of([[1e140], [2e140]]), metric([[1e200]], 1), Localmax(0.1), np.arange(2))
    gaze = attend(scene_of([[1e140], [2e140]]), metric([[1e200]], 1), Hardmax(), np.arange(2))
    assert gaze.target.tolist() == [1, 1]  # a factor of A does not change whom Hardmax follows


def test_localmax_averages_those_it_follows_and_no_others():
    Z = [[1.0, 0.0], [0.95, 0.0], [-3.0, 1.0], [0.9, 0.0], [0.9, 0.0]]
    gaze = attend(scene_of(Z, Localmax(0.2)), metric(None, 2), Localmax(0.2), np.arange(1))
    assert gaze.means[0] == pytest.approx([(1.0 + 0.95 + 2 * 0.9) / 4, 0.0])


def test_only_rules_that_compare_scores_have_undecided_comparisons():
    third = 1 / 3
    Z = [[1, third], [1, -third], [third, 0]]
    for rule, undecided in ((Hardmax(), 1), (Softmax(2.0), 0), (Chain(1.0), 0)):
        scene = scene_of(Z, rule)
        assert attend(scene, metric(None, 2), rule, np.arange(3), np.full(3, 0.5)).undecided == undecided


@pytest.mark.parametrize("scale", [2.0**-24, 1.0, 2.0**20])
@pytest.mark.parametrize("others", [[], [[0.1, 0.3]]], ids=["alone", "beside rounded tokens"])
def test_an_exact_tie_is_decided_at_every_scale(scale, others):
    Z = scale * np.array([[1, 1], [1, -1], [-1, 1], [-1, -1], [0.5, 0], *others])
    assert attend(scene_of(Z), metric(None, 2), Hardmax(), np.arange(len(Z))).undecided == 0


def test_who_is_alone_with_localmax_sees_no_copy_of_itself():
    scene = scene_of([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [0.0, 2.0]], Localmax(0.1), causal=True)
    gaze = attend(scene, metric(None, 2), Localmax(0.1), scene.lookers)
    assert gaze.alone.tolist() == [True, True, False, True]


def test_a_token_at_the_origin_is_not_compared_with_itself():
    Z = [[0.0, 0.0], [0.1, 0.3], [0.7, -0.2], [-0.3, 0.9]]
    gaze = attend(scene_of(Z), metric(None, 2), Hardmax(), np.arange(1))
    assert gaze.undecided == 3
    assert gaze.means[0] == pytest.approx(np.mean(Z, axis=0))


def test_copies_draw_by_themselves_where_the_rule_is_random():
    Z = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    assert scene_of(Z, Chain(1.0)).first.tolist() == [0, 1, 2]
    assert scene_of(Z, Softmax(1.0)).first.tolist() == [0, 2]
