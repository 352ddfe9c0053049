"""The questions: each runs small, its numbers are what a plain computation gives, and it can be interrupted."""

from fractions import Fraction

import numpy as np
import pytest
import torch

import hardmax as hx
from hardmax.experiments.context import Context, Journal
from hardmax.experiments.item import items
from hardmax.experiments.questions import cycles, equal_size, feed_forward, languages, matrices, softmax
from hardmax.experiments.questions.matrices import advance, fates, still_cycle


def explore(name, seed=0, **settings):
    """Run a question with its quick settings, some of them changed; its tables and cases, and its answer."""
    item = next(item for item in items("questions") if item.name == name)
    context = Context(name=name, seed=seed, quick=True)
    outcome = item.run(context, **{**item.settings(quick=True), **settings})
    return {table.name: table for table in context.tables}, context.cases, outcome.answer


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
    assert fates(square[None], turn[None, None], 100) == ["zero"]
    assert fates(square[None], np.eye(2)[None, None], 100) == ["several points"]
    assert fates(np.array([[[3.0], [1.0]]]), np.array([[[[1.0]]]]), 100) == ["one point"]
    case = cycles.at_alpha(Fraction(1))
    Z, heads = np.array(case["tokens"], dtype=float)[None], np.array(case["heads"], dtype=float)[:, None]
    assert fates(Z, heads, 100) == ["cycle"]
    assert still_cycle(Z, heads, 100, 2) == [True]
    assert still_cycle(Z, heads, 100, 4) == [False]


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


def test_matrices_counts_every_cloud():
    small = {"trials": 8, "dims": (2,), "layers": 60}
    tables, cases, answer = explore("matrices", **small)
    for row in tables["fates"].rows:
        assert sum(share.count for share in row[3:]) == 8
    definite = tables["fates"].rows[0]
    assert definite[0] == "definite"
    assert definite[6].count == 0  # cycles: there is a theorem
    assert [case["name"] for case in cases] == ["square-collapses-to-zero"]
    assert (tables, answer) == (explore("matrices", **small)[0], answer)
    assert tables != explore("matrices", seed=1, **small)[0]


def test_one_head_finds_the_cycle_and_only_with_four_leaders():
    tables, cases, answer = explore("one-head", trials=1)
    rows = {(row[0], row[1], row[2]): row for row in tables["patterns"].rows}
    assert rows[3, 2, "any matrix"][4:7] == (2, 2, 0)  # programs, refuted exactly, cycles
    assert rows[4, 2, "any matrix"][6] > 0
    assert rows[4, 2, "any matrix"][9] == "yes"
    assert rows[4, 2, "positive definite symmetric part"][4:7] == (7, 7, 0)
    assert set(tables["stored"].column("holds exactly")) == {"yes"}
    assert cases
    assert answer.startswith("Yes")


def test_definite_heads_do_not_always_converge():
    tables, _, answer = explore("definite-heads", trials=20, layers=80)
    assert answer.startswith("No.")
    assert set(tables["steps"].column("holds exactly")) == {"yes"}
    patterns = {tuple(row[:3]): row[6] for row in tables["patterns"].rows}
    assert patterns[2, 2, 2] == 0
    assert patterns[2, 3, 2] == 1
    (kept,) = tables["noise"].column("still a cycle")
    assert kept.count > 15


@pytest.mark.parametrize("family", cycles.FAMILIES)
def test_drawn_heads_are_positive_definite_and_clouds_have_their_shape(family):
    rng = np.random.default_rng(0)
    heads = cycles.draw_heads(family, 2, 5, 3, rng)
    assert heads.shape == (2, 5, 3, 3)
    np.testing.assert_allclose(heads, np.swapaxes(heads, -1, -2), rtol=1e-9)
    assert np.linalg.eigvalsh(heads).min() > 0
    assert cycles.draw_clouds(family, 5, 4, 3, rng).shape == (5, 4, 3)


# ---------------------------------------------------------------- merging


def test_a_softmax_layer_is_the_packages_layer():
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((2, 5, 3))
    for sphere in (False, True):
        start = Z / np.linalg.norm(Z, axis=2, keepdims=True) if sphere else Z
        moved = softmax.softmax_layer(start, np.array([0.5, 3.0]), 0.7, sphere)
        for b, beta in enumerate((0.5, 3.0)):
            way = "sphere" if sphere else "rescale"
            traj = hx.simulate(start[b], 0.7, layers=1, rule=hx.Softmax(beta), normalization=way)
            np.testing.assert_allclose(moved[b], traj.tokens[1], atol=1e-13)


def test_times_to_merge_follow_the_integral():
    betas = {"pair_betas": (3.0, 4.0), "circle_betas": (6.0, 7.0), "cloud_betas": (1.0,)}
    tables, _, _ = explore("merging", trials=2, eps=(0.2,), **betas)
    for name in ("pair", "circle"):
        for _, layers, predicted in tables[name].rows:
            assert layers == pytest.approx(predicted, rel=0.03)


def test_a_line_is_fitted_as_numpy_does():
    x, y = [1.0, 2.0, 4.0, 5.0], [2.0, 5.0, 30.0, 110.0]
    line = softmax.fit(x, y)
    slope, covariance = np.polyfit(x, np.log(y), 1, cov=True)
    assert line.slope == pytest.approx(slope[0])
    assert line.stderr == pytest.approx(np.sqrt(covariance[0, 0]))


def test_clouds_that_do_not_merge_are_counted():
    pair = np.array([[[0.0, 1.0], [0.0, -1.0]]])
    assert softmax.layers_to_merge(pair, np.array([50.0]), 1.0, False, 0.1, 20).tolist() == [np.inf]


# ---------------------------------------------------------------- feed-forward


@pytest.mark.parametrize("task", feed_forward.TASKS)
def test_tasks_have_both_answers_and_can_be_solved_by_who_knows_them(task):
    X, y = feed_forward.draw_task(task, 400, 0.0, np.random.default_rng(0))
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


def test_networks_of_equal_size_are_compared():
    small = {"trials": 1, "learn": 60, "aside": 60, "steps": 5}
    tables, _, _ = explore("feed-forward", **small)
    assert len(tables["accuracy"].rows) == 9
    assert len(set(tables["accuracy"].column("trained numbers"))) == 1
    assert tables["accuracy"].csv() == explore("feed-forward", **small)[0]["accuracy"].csv()


# ---------------------------------------------------------------- equal size


def test_partners_are_picked_by_the_largest_score():
    words = {"not": 0, "a": 1, "good": 2, "film": 3}
    corpus = equal_size.read_corpus(["not a good film", "a film"], words)
    keys = np.array([0 * 4 + 2, 1 * 4 + 3])  # (not, good) and (a, film)
    scores = equal_size.PairScores(keys, np.array([2.0, 1.0]))
    first, second = equal_size.picked(corpus, scores)
    assert first.tolist() == [2, 7]  # not and good pick each other; a and film pick each other
    assert second.tolist() == [7]
    assert [p.tolist() for p in equal_size.neighbors(corpus, scores)] == [[], [7]]
    assert equal_size.most_frequent([first, second], 1).tolist() == [7]


def test_pairs_are_scored_by_their_smoothed_log_odds():
    texts = ["good film"] * 3 + ["bad film"] * 5
    corpus = equal_size.read_corpus(texts, {"good": 0, "bad": 1, "film": 2})
    scores = equal_size.score_pairs(corpus, np.array([1] * 3 + [0] * 5), 2)
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
    monkeypatch.setattr(equal_size, "imdb", lambda: (texts, labels))
    tables, _, _ = explore("equal-size", trials=1, learn=100, aside=12, min_texts=2, epochs=6)
    rows = {(row[0], row[1]): row for row in tables["accuracy"].rows}
    assert rows["words", 0][2] == rows["words", 8][2]
    assert rows["words + bigrams", 0][2] == rows["words + picked partners", 0][2]
    assert rows["words", 0][4].mean > 0.8


# ---------------------------------------------------------------- interrupted


def test_a_journal_saves_finished_parts(tmp_path, monkeypatch):
    small = {"trials": 4, "dims": (2,), "tokens": (5,), "layers": 20}
    path = tmp_path / "journal"

    def stop(done, total, what):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        matrices.matrices(Context(tell=stop, journal=Journal(path)), **small)
    assert len(path.read_text().splitlines()) == 3
    calls = []
    real = matrices.fates
    monkeypatch.setattr(matrices, "fates", lambda *a: calls.append(1) or real(*a))
    resumed = Context(journal=Journal(path))
    matrices.matrices(resumed, **small)
    assert len(calls) == len(matrices.FAMILIES) + 1 - 3
    assert resumed.tables == list(explore("matrices", **small)[0].values())


def test_softmax_keeps_a_cycle_alive_for_exponentially_many_layers():
    case = softmax.at_alpha(Fraction(4))
    assert softmax.least_gap(case) == Fraction(7, 12)  # (3 + alpha) / (4 + 2 alpha)
    assert softmax.least_gap(softmax.at_alpha(Fraction(1))) == Fraction(2, 3)
    short, long = softmax._lifetimes(case, (16, 18), 20_000)
    growth = (np.log(18 * long) - np.log(16 * short)) / 2
    assert 7 / 12 < growth < 0.8  # gamma is approached from above


def test_a_softmax_lifetime_is_that_of_plain_layers():
    case, beta = softmax.at_alpha(Fraction(4)), 14.0
    Z, heads = np.array(case["tokens"], float), np.array(case["heads"], float)
    ways = []
    for _ in range(600):
        new = 0
        for A in heads:
            weights = np.exp(beta * Z @ A.T @ Z.T)
            new = new + weights / weights.sum(1, keepdims=True) @ Z / len(heads)
        ways.append(np.linalg.norm(new[3] - Z[3]))
        Z = (Z + 4 * new) / 5
    pairs = np.array(ways[:-1]) + ways[1:]
    (expected,) = softmax._lifetimes(case, (beta,), 600)
    assert expected == np.flatnonzero(pairs < 0.5 * pairs[0])[0] + 1


def test_every_string_is_recognized():
    for name, answer in languages.LANGUAGES.items():
        for bits in languages.strings(7):
            value, sizes = languages.recognize(bits, name)
            assert value == answer(bits)
            assert sizes[0] == len(bits) + 1  # the first block ties everybody
            assert sizes[1:] in ([], [1])  # the second never ties


def test_what_no_stack_separates():
    assert languages.inseparable("MAJORITY", 6, ties=True) is None
    first, second = languages.inseparable("PARITY", 6, ties=True)
    parity = languages.LANGUAGES["PARITY"]
    assert parity(first) != parity(second)
    assert Fraction(sum(first), len(first)) == Fraction(sum(second), len(second))
    # The package refuses the same data, and the tie-free pool cannot see what separates 01 from 011.
    sequences = [[[float(b), 1.0] for b in bits] for bits in (first, second)]
    with pytest.raises(hx.errors.HardmaxError):
        hx.construct(sequences, [0, 1])


def test_languages_are_memorized_exactly():
    tables, _, _ = explore("languages", longest=4, averaged=3, unique=2)
    for row in tables["networks"].records():
        right, total = row["right"].split("/")
        assert right == total
