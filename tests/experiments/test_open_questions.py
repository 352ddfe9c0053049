"""The explorers: each runs small, its numbers are what a plain computation gives, its evidence is complete."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch

import hardmax as hx
from hardmax.errors import BadInput
from hardmax.experiments.journal import Journal
from hardmax.experiments.questions import (
    definite_heads,
    equal_size,
    feed_forward,
    matrices,
    merging,
    one_head,
    partners,
)
from hardmax.experiments.questions.batches import Run, advance, fates, still_cycle
from hardmax.experiments.questions.evidence import Evidence, chosen
from hardmax.experiments.tables import Share, Table, interval, plain


def small(module, monkeypatch, **changes):
    """Make the quick settings of a module smaller still."""
    quick = replace(module.Setting.quick(), **changes)
    monkeypatch.setattr(module.Setting, "quick", staticmethod(lambda: quick))


# ---------------------------------------------------------------- shares and evidence


def test_a_share_has_wilsons_interval():
    from scipy.stats import norm

    z = norm.ppf(0.975)
    for count, trials in ((0, 7), (3, 10), (40, 41), (5, 5)):
        low, high = Share(count, trials).interval
        for p in (low, high):
            if 0 < p < 1:  # the ends are where a normal test of p just rejects
                assert abs(count / trials - p) == pytest.approx(z * np.sqrt(p * (1 - p) / trials))
        assert 0 <= low <= count / trials <= high <= 1


def test_a_share_of_nothing_is_refused():
    with pytest.raises(BadInput, match="3 of 2 is not a share"):
        Share(3, 2)


def test_settings_are_checked():
    with pytest.raises(BadInput, match="trials is 0"):
        chosen(matrices.Setting, 0, 0, True)
    with pytest.raises(BadInput, match="seed is -1"):
        chosen(matrices.Setting, -1, None, True)


def test_evidence_is_written_whole(tmp_path):
    table = Table("t", "caption", ("name", "part", "mean"), (("a", Share(1, 4), interval([1.0, 2.0])),))
    evidence = Evidence("matrices", "Why?", "Because.", {"seed": 1}, {"seed": 1}, (table,))
    names = {path.name for path in evidence.save(tmp_path, pictures=False)}
    assert names == {"matrices.json", "matrices.md", "matrices-t.csv"}
    rows = (tmp_path / "matrices-t.csv").read_text().splitlines()
    assert rows[0] == "name,part,part: trials,part: low,part: high,mean,mean (95 %)"
    assert rows[1].startswith("a,1,4,")
    document = json.loads((tmp_path / "matrices.json").read_text())
    assert document["tables"]["t"][0]["part"] == plain(Share(1, 4))
    assert "Because." in (tmp_path / "matrices.md").read_text()


# ---------------------------------------------------------------- batches of clouds


def test_a_batch_layer_is_the_packages_layer():
    rng = np.random.default_rng(0)
    Z, heads = rng.standard_normal((3, 6, 2)), rng.standard_normal((2, 3, 2, 2))
    moved = advance(Z, heads, 0.7)
    for b in range(3):
        traj = hx.simulate(Z[b], 0.7, heads=list(heads[:, b]), layers=1, definite=False)
        np.testing.assert_allclose(moved[b], traj.tokens[1], atol=1e-14)


def test_fates_of_systems_that_are_known():
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    square = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    assert fates(square[None], turn[None, None], Run(layers=100)) == ["zero"]
    assert fates(square[None], np.eye(2)[None, None], Run(layers=100)) == ["several points"]
    assert fates(np.array([[[3.0], [1.0]]]), np.array([[[[1.0]]]]), Run(layers=100)) == ["one point"]
    case = definite_heads.at_alpha(Fraction(1))
    Z, heads = np.array(case.tokens, dtype=float)[None], np.array(case.heads, dtype=float)[:, None]
    assert fates(Z, heads, Run(layers=100)) == ["cycle"]
    assert still_cycle(Z, heads, Run(layers=100), 2) == [True]
    assert still_cycle(Z, heads, Run(layers=100), 4) == [False]


@pytest.mark.parametrize("family", matrices.FAMILIES)
def test_families_are_what_they_are_called(family):
    A = matrices.draw_matrix(family, 3, np.random.default_rng(5))
    values = np.linalg.eigvalsh((A + A.T) / 2)
    symmetric = np.allclose(A, A.T)
    expected = {
        "definite": symmetric and values.min() > 0,
        "negative definite": symmetric and values.max() < 0,
        "indefinite": symmetric,
        "antisymmetric": np.allclose(A, -A.T),
        "rotation": np.allclose(A @ A.T, np.eye(3)) and np.linalg.det(A) > 0,
    }
    assert expected.get(family, not symmetric)
    if family.startswith("definite + "):
        assert values.min() > 0


# ---------------------------------------------------------------- the questions, small


def test_matrices_counts_every_cloud(monkeypatch):
    small(matrices, monkeypatch, trials=8, dims=(2,), run=Run(layers=60))
    evidence = matrices.explore(quick=True)
    for row in evidence.table("fates").rows:
        assert sum(share.count for share in row[3:]) == 8
    definite = evidence.table("fates").rows[0]
    assert definite[0] == "definite"
    assert definite[6].count == 0  # cycles: there is a theorem
    assert evidence.document() == matrices.explore(quick=True).document()
    assert evidence.document() != matrices.explore(seed=1, quick=True).document()


def test_one_head_finds_the_cycle_and_only_with_four_leaders():
    evidence = one_head.explore(quick=True, trials=1)
    rows = {(row[0], row[1], row[2]): row for row in evidence.table("patterns").rows}
    assert rows[3, 2, "any matrix"][5] == 0
    assert rows[4, 2, "any matrix"][5] > 0
    assert rows[4, 2, "any matrix"][8] == "yes"
    assert rows[4, 2, "positive definite symmetric part"][5] == 0
    assert set(evidence.table("stored").column("holds exactly")) == {"yes"}
    assert evidence.cases


def test_definite_heads_do_not_always_converge(monkeypatch):
    small(definite_heads, monkeypatch, trials=20, run=Run(layers=80))
    evidence = definite_heads.explore(quick=True)
    assert evidence.answer.startswith("No.")
    assert set(evidence.table("steps").column("holds exactly")) == {"yes"}
    patterns = {tuple(row[:3]): row[5] for row in evidence.table("patterns").rows}
    assert patterns[2, 2, 2] == 0
    assert patterns[2, 3, 2] == 1
    (kept,) = evidence.table("noise").column("still a cycle")
    assert kept.count > 15


@pytest.mark.parametrize("family", definite_heads.FAMILIES)
def test_drawn_heads_are_positive_definite_and_clouds_have_their_shape(family):
    rng = np.random.default_rng(0)
    heads = definite_heads.draw_heads(family, 2, 5, 3, rng)
    assert heads.shape == (2, 5, 3, 3)
    np.testing.assert_allclose(heads, np.swapaxes(heads, -1, -2), rtol=1e-9)
    assert np.linalg.eigvalsh(heads).min() > 0
    assert definite_heads.draw_clouds(family, 5, 4, 3, rng).shape == (5, 4, 3)


# ---------------------------------------------------------------- merging


def test_a_softmax_layer_is_the_packages_layer():
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((2, 5, 3))
    for sphere in (False, True):
        start = Z / np.linalg.norm(Z, axis=2, keepdims=True) if sphere else Z
        moved = merging.softmax_layer(start, np.array([0.5, 3.0]), 0.7, sphere)
        for b, beta in enumerate((0.5, 3.0)):
            way = "sphere" if sphere else "rescale"
            traj = hx.simulate(start[b], 0.7, layers=1, rule=hx.Softmax(beta), normalization=way)
            np.testing.assert_allclose(moved[b], traj.tokens[1], atol=1e-13)


def test_times_to_merge_follow_the_integral(monkeypatch):
    small(
        merging, monkeypatch, pair_betas=(3.0, 4.0), circle_betas=(6.0, 7.0), cloud_betas=(1.0,), trials=2, eps=(0.2,)
    )
    evidence = merging.explore(quick=True)
    for name in ("pair", "circle"):
        for _, layers, predicted in evidence.table(name).rows:
            assert layers == pytest.approx(predicted, rel=0.03)


def test_a_line_is_fitted_as_numpy_does():
    x, y = [1.0, 2.0, 4.0, 5.0], [2.0, 5.0, 30.0, 110.0]
    line = merging.fit(x, y)
    slope, covariance = np.polyfit(x, np.log(y), 1, cov=True)
    assert line.slope == pytest.approx(slope[0])
    assert line.error == pytest.approx(np.sqrt(covariance[0, 0]))


def test_clouds_that_do_not_merge_are_counted():
    pair = np.array([[[0.0, 1.0], [0.0, -1.0]]])
    assert merging.layers_to_merge(pair, np.array([50.0]), 1.0, False, 0.1, 20).tolist() == [np.inf]


# ---------------------------------------------------------------- feed-forward


@pytest.mark.parametrize("task", feed_forward.TASKS)
def test_tasks_have_both_answers_and_can_be_solved_by_who_knows_them(task):
    X, y = feed_forward.draw_task(task, 400, 12, 0.0, np.random.default_rng(0))
    assert 0.35 < y.mean() < 0.65
    longest = np.linalg.norm(X, axis=2).argsort(axis=1)
    one, other = (X[np.arange(400), longest[:, -k], 0] for k in (1, 2))
    known = {"majority": X[:, :, 0].sum(axis=1) > 0, "loudest": one > 0, "agreement": (one > 0) == (other > 0)}
    assert (known[task] == (y == 1)).all()


def test_the_networks_attention_is_the_definition():
    X = torch.tensor(np.random.default_rng(2).standard_normal((1, 6, 4)))
    moved = feed_forward.attend(torch, X, "hardmax", 0.5)[0].numpy()
    np.testing.assert_allclose(moved, hx.simulate(X[0].numpy(), 0.5, layers=1).tokens[1], atol=1e-14)
    mean = feed_forward.attend(torch, X, "uniform", 1.0)[0].numpy()
    np.testing.assert_allclose(mean, (X[0].numpy() + X[0].numpy().mean(axis=0)) / 2)
    assert feed_forward.attend(torch, X, "none", 1.0) is X


def test_networks_of_equal_size_are_compared(monkeypatch):
    small(feed_forward, monkeypatch, trials=1, learn=60, aside=60, steps=5)
    evidence = feed_forward.explore(quick=True)
    table = evidence.table("accuracy")
    assert len(table.rows) == 9
    assert len(set(table.column("trained numbers"))) == 1
    assert evidence.document() == feed_forward.explore(quick=True).document()


# ---------------------------------------------------------------- equal size


def test_partners_are_picked_by_the_largest_score():
    words = {"not": 0, "a": 1, "good": 2, "film": 3}
    corpus = partners.read_corpus(["not a good film", "a film"], words)
    keys = np.array([0 * 4 + 2, 1 * 4 + 3])  # (not, good) and (a, film)
    scores = partners.PairScores(keys, np.array([2.0, 1.0]))
    first, second = partners.picked(corpus, scores)
    assert first.tolist() == [2, 7]  # not and good pick each other; a and film pick each other
    assert second.tolist() == [7]
    assert [p.tolist() for p in partners.neighbors(corpus, scores)] == [[], [7]]
    assert partners.most_frequent([first, second], 1).tolist() == [7]


def test_pairs_are_scored_by_their_smoothed_log_odds():
    texts = ["good film"] * 3 + ["bad film"] * 5
    corpus = partners.read_corpus(texts, {"good": 0, "bad": 1, "film": 2})
    scores = partners.score_pairs(corpus, np.array([1] * 3 + [0] * 5), 2)
    assert scores.keys.tolist() == [2, 5]
    expected = abs(np.log((3 + 10) / (3 + 20)) - np.log(10 / (5 + 20)))
    assert scores.of(np.array([2]))[0] == pytest.approx(expected)
    assert scores.of(np.array([99])).tolist() == [0.0]


def test_models_of_equal_size_are_compared(monkeypatch):
    rng = np.random.default_rng(0)
    good, bad, other = ["good", "fine", "nice"], ["bad", "poor", "dull"], ["a", "film", "the", "plot", "of", "it"]
    labels = np.array([0, 1] * 60)
    texts = [
        " ".join(rng.permutation([*rng.choice(good if y else bad, 2), *rng.choice(other, 4)]).tolist()) for y in labels
    ]
    small(equal_size, monkeypatch, trials=1, learn=100, aside=12, min_texts=2, epochs=30)
    evidence = equal_size.explore(quick=True, data=(texts, labels))
    rows = {(row[0], row[1]): row for row in evidence.table("accuracy").rows}
    assert rows["words", 0][2] == rows["words", 8][2]
    assert rows["words + bigrams", 0][2] == rows["words + picked partners", 0][2]
    assert rows["words", 0][4].mean > 0.8


# ---------------------------------------------------------------- interrupted


def test_a_journal_saves_finished_parts(tmp_path, monkeypatch):
    small(matrices, monkeypatch, trials=4, dims=(2,), run=Run(layers=20))
    path = tmp_path / "journal"
    seen = []

    def stop(done, total, what):
        seen.append(what)
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        matrices.explore(quick=True, progress=stop, journal=Journal(path))
    assert len(path.read_text().splitlines()) == 3
    calls = []
    real = matrices.fates
    monkeypatch.setattr(matrices, "fates", lambda *a: calls.append(1) or real(*a))
    resumed = matrices.explore(quick=True, journal=Journal(path))
    assert len(calls) == len(matrices.FAMILIES) + 1 - 3
    assert resumed.document() == matrices.explore(quick=True).document()
