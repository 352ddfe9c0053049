"""Results are values: equal after pickle, copy and file, whichever way they were made; unequal if anything differs."""

import copy
import json
import pickle
from dataclasses import fields, replace
from functools import cache

import numpy as np
import pytest

import hardmax as hx
from hardmax.attention.rules import NamedFunction
from hardmax.dynamics.trajectory import Problem
from reference import follow_sets

A = [[2, 1], [1, 3]]
SPIN = [[1, -3], [3, 1]]
SQUARE = [[1, 1], [-1, 1], [1, -1], [-1, -1], [0.5, 0]]
MOVING_TARGETS = [[1, 1, 0], [1, -1, 0], [1, 0.5, 0.4], [1, -0.5, 0.4], [0.5, 0, 0.1]]
SUBLAYER = hx.FeedForward(W=[[0.1], [0]], U=[[1, 0]], b=["1/4"], eta="1/2")
HEADS = [hx.Head(A, [[1, 0], [0, 2]]), A]


def gaussian(n, dim=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, dim))


def halved(tokens):
    return tokens / 2


TRAJECTORIES = {
    "small": lambda: hx.simulate(hx.preset("emerging"), layers=4),
    "no layers": lambda: hx.simulate(hx.preset("emerging"), layers=0),
    "copies": lambda: hx.simulate([*SQUARE[:3], *SQUARE[:3], [0.3, 0.2]], layers=3),
    "tied": lambda: hx.simulate(hx.preset("grid"), layers=6),
    "tied copies": lambda: hx.simulate([*SQUARE, *SQUARE], layers=6),
    "large": lambda: hx.simulate(gaussian(1500), layers=3),
    "matrix": lambda: hx.simulate(gaussian(20), 0.3, A, 3),
    "tolerance": lambda: hx.simulate(gaussian(40), layers=3, rule=hx.Hardmax(0.2)),
    "any matrix": lambda: hx.simulate(gaussian(9), A=SPIN, definite=False, layers=5),
    "softmax": lambda: hx.simulate(gaussian(9), layers=3, rule=hx.Softmax(4.0)),
    "localmax": lambda: hx.simulate(gaussian(9), layers=3, rule=hx.Localmax(0.3)),
    "uniform": lambda: hx.simulate(gaussian(9), layers=3, rule=hx.Uniform()),
    "random": lambda: hx.simulate(gaussian(9), layers=3, rule=hx.RandomFollow(np.int64(3))),
    "chain": lambda: hx.simulate(gaussian(9), layers=3, rule=hx.Chain(2.0, 5)),
    "sphere": lambda: hx.simulate(gaussian(9), layers=3, normalization="sphere"),
    "growing": lambda: hx.simulate(gaussian(9), layers=9, normalization="none"),
    "values": lambda: hx.simulate(gaussian(9), layers=3, V=[[1.5, 0], [0, 7 / 3]]),
    "heads": lambda: hx.simulate(hx.preset("grid"), layers=3, heads=HEADS),
    "causal": lambda: hx.simulate(hx.preset("grid"), layers=3, causal=True),
    "sublayer": lambda: hx.simulate(gaussian(9), layers=3, feed_forward=replace(SUBLAYER, b=[0.25], eta=0.5)),
    "function": lambda: hx.simulate(gaussian(9), layers=3, feed_forward=halved),
    "lambda": lambda: hx.simulate(gaussian(9), layers=3, feed_forward=lambda x: x + 1),
    "exact": lambda: hx.simulate(hx.preset("square-ties", exact=True), "1/3", A, 3, exact=True),
    "exact heads": lambda: hx.simulate(SQUARE, layers=2, heads=HEADS, causal=True, exact=True),
    "exact sublayer": lambda: hx.simulate(SQUARE, layers=2, feed_forward=SUBLAYER, exact=True),
}
BATCHES = {
    "batch": lambda: hx.simulate([gaussian(n, seed=n) for n in (1, 5, 30)] + [SQUARE], layers=3),
    "batch with a large cloud": lambda: hx.simulate([gaussian(3), gaussian(1100), SQUARE], layers=2),
    "batch of a variant": lambda: hx.simulate([gaussian(3), gaussian(4)], layers=2, heads=HEADS, causal=True),
    "batch of functions": lambda: hx.simulate([gaussian(3), gaussian(4)], layers=2, feed_forward=lambda x: x),
    "exact batch": lambda: hx.simulate([SQUARE, SQUARE[:2]], "1/3", layers=2, exact=True),
    "part of a batch": lambda: hx.simulate([gaussian(n) for n in range(1, 9)], layers=2)[6:0:-2],
    "batch of limits": lambda: hx.limit([gaussian(5), gaussian(1100), SQUARE]),
    "batch of limits settled in rationals": lambda: hx.limit([gaussian(5, 3), MOVING_TARGETS], 1.0),
    "exact batch of limits": lambda: hx.limit([SQUARE, SQUARE[:2]], "1/3", exact=True),
}
OTHERS = {
    "limit": lambda: hx.limit(gaussian(30)),
    "limit of ties": lambda: hx.limit(hx.preset("grid"), A=A),
    "limit with a tolerance": lambda: hx.limit(SQUARE, tie_tolerance=1e-9),
    "limit of one token": lambda: hx.limit([[1.0, 2.0]]),
    "large limit": lambda: hx.limit(gaussian(1500)),
    "exact limit": lambda: hx.limit(hx.preset("square-ties", exact=True), "1/3", A, exact=True),
    "limit settled in rationals": lambda: hx.limit(MOVING_TARGETS, 1.0),
    "polytope": lambda: hx.Polytope.of(hx.preset("cube"), np.diag([1.0, 2.0, 3.0])),
    "exact polytope": lambda: hx.limit(SQUARE, exact=True).polytope,
    "hull of a layer": lambda: hx.simulate(hx.preset("triangle"), layers=2).polytope_at(0),
}
MAKERS = TRAJECTORIES | BATCHES | OTHERS
PARTS = {
    "certificate": lambda: made("limit of ties").certificate,
    "exact certificate": lambda: made("exact limit").certificate,
    "outcome": lambda: made("growing").outcome,
    "problem": lambda: made("heads").problem,
    "head": lambda: hx.Head(np.array(A), None),
    "feed-forward": lambda: SUBLAYER,
    **{f"rule {k}": lambda r=r: r for k, r in enumerate([hx.Hardmax(0.1), hx.Softmax(), hx.Localmax(), hx.Uniform()])},
}


@cache
def made(name):
    return (MAKERS | PARTS)[name]()


def everything_about(result):
    """Ask for all that is computed when it is first asked for."""
    for name in dir(type(result)):
        if not name.startswith("_"):
            getattr(result, name)


@pytest.mark.parametrize("name", [*MAKERS, *PARTS])
@pytest.mark.parametrize("asked", [False, True], ids=["new", "asked"])
def test_a_result_is_equal_after_pickle_and_copy(name, asked):
    result = (MAKERS | PARTS)[name]()
    if asked:
        everything_about(result)
    for again in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result), copy.copy(result)):
        assert again is not result or name.startswith("rule")
        assert again == result
        assert result == again
        assert repr(again) == repr(result) or name in ("head", "feed-forward", "problem")


@pytest.mark.parametrize("suffix", [".npz", ".json"])
@pytest.mark.parametrize("name", MAKERS)
def test_a_result_is_equal_after_its_file(name, suffix, tmp_path):
    result = made(name)
    path = result.save(tmp_path / f"x{suffix}")
    kind = hx.Trajectory if isinstance(result, hx.Trajectory) else type(result)
    again = kind.load(path)
    assert again == result
    assert pickle.loads(pickle.dumps(again)) == again
    assert kind.load(again.save(tmp_path / f"y{suffix}")) == again
    assert (tmp_path / f"y{suffix}").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", [*MAKERS, *PARTS])
def test_results_that_hold_arrays_have_no_hash(name):
    if name.startswith("rule") or name == "outcome":
        assert hash(made(name)) == hash(copy.copy(made(name)))
    else:
        with pytest.raises(TypeError, match="unhashable"):
            hash(made(name))


def other(value):
    """Something of the same kind that differs."""
    if isinstance(value, np.ndarray) and value.size:
        changed = value.copy()
        changed.flat[-1] = changed.flat[-1] + 1
        return changed
    if isinstance(value, dict):
        return value | {0: 99}
    if isinstance(value, tuple):
        return value[:-1] if value else ((0,),)
    if isinstance(value, hx.Outcome):
        return hx.Outcome("moving", detail="another")
    if isinstance(value, Problem):
        return replace(value, causal=not value.causal)
    if isinstance(value, hx.Certificate):
        return replace(value, undecided=value.undecided + 1)
    if value is None:
        return np.eye(2)
    return value + 1 if isinstance(value, (int, float)) else value[:-1]


@pytest.mark.parametrize("name", ["tied", "exact", "heads", "limit of ties", "exact limit", "polytope", "certificate"])
def test_results_that_differ_anywhere_are_unequal(name):
    result = made(name)
    for field in fields(result):
        if field.name == "sets":
            changed = [*result.sets[:-1], tuple(reversed(result.sets[-1]))]
        else:
            changed = other(getattr(result, field.name))
        assert replace(result, **{field.name: changed}) != result, field.name


def test_equality_sees_the_type_of_the_numbers_and_of_the_result():
    traj = made("small")
    single = hx.Trajectory(traj.tokens.astype(np.float32), traj.problem, traj.leader_since, traj.outcome, traj.sets)
    assert single != traj
    assert traj != made("limit")
    assert traj != "a trajectory"
    assert made("batch") != made("batch")[:2]
    assert made("batch")[:0] != made("batch of limits")[:0]
    assert hx.Head(A) != hx.Head(np.array(A))
    assert hx.Softmax(1.0) != hx.Chain(1.0)


# -- the problem -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".npz", ".json"])
def test_a_trajectory_knows_what_it_was_made_from(tmp_path, suffix):
    sublayer = hx.FeedForward(W=[[0.1], [0]], U=[[1, 0]], b=[0.0])
    traj = hx.simulate(
        SQUARE, 0.25, layers=2, heads=HEADS, causal=True, feed_forward=sublayer, normalization="none",
        rule=hx.Localmax(0.2),
    )  # fmt: skip
    for problem in (traj.problem, hx.Trajectory.load(traj.save(tmp_path / f"x{suffix}")).problem):
        assert (problem.alpha, problem.normalization, problem.causal, problem.exact) == (0.25, "none", True, False)
        assert [head.A.tolist() for head in problem.heads] == [A, A]
        assert problem.heads[0].V.tolist() == [[1, 0], [0, 2]]
        assert problem.heads[1].V is None
        assert problem.feed_forward.W.tolist() == [[0.1], [0.0]]
        assert problem.rule == hx.Localmax(0.2)
        assert not problem.is_plain
    assert traj.A is None
    assert made("matrix").problem.is_plain
    assert made("matrix").A.tolist() == A


@pytest.mark.parametrize("name", TRAJECTORIES)
def test_the_stored_problem_gives_the_same_trajectory_again(name):
    traj = made(name)
    p = traj.problem
    matrices = {"A": p.heads[0].A, "V": p.heads[0].V} if len(p.heads) == 1 else {"heads": p.heads}
    again = hx.simulate(
        traj.tokens[0], p.alpha, layers=traj.layers, rule=p.rule, normalization=p.normalization, causal=p.causal,
        feed_forward=p.feed_forward, definite=False, exact=p.exact, **matrices,
    )  # fmt: skip
    assert np.array_equal(again.tokens, traj.tokens) or name == "sphere"
    assert again.problem == traj.problem
    assert [again.follows(k) for k in range(traj.layers + 1)] == [traj.follows(k) for k in range(traj.layers + 1)]


def test_a_function_is_stored_by_its_name_only(tmp_path):
    traj = made("function")
    assert traj.problem.feed_forward.name == f"{halved.__module__}.halved"
    assert traj.problem.feed_forward(np.ones(2)).tolist() == [0.5, 0.5]
    assert copy.deepcopy(traj).problem.feed_forward(np.ones(2)).tolist() == [0.5, 0.5]
    path = traj.save(tmp_path / "x.json")
    assert json.loads(path.read_text())["feed_forward"]["note"] == "callable, not stored"
    for again in (hx.Trajectory.load(path), pickle.loads(pickle.dumps(traj))):
        assert "callable, not stored" in repr(again.problem)
        with pytest.raises(hx.BadInput, match="halved, which is not stored"):
            again.problem.feed_forward(np.ones(2))
    assert NamedFunction.of(np.tanh).name == "numpy.tanh"


@pytest.mark.parametrize(
    "Z", [gaussian(40), [*SQUARE, *SQUARE], hx.preset("grid"), [[0.0, 0.0], [1.0, 0.0]]], ids=range(4)
)
def test_follow_sets_are_those_of_the_definition_after_pickle(Z):
    traj = pickle.loads(pickle.dumps(hx.simulate(Z, layers=2)))
    assert traj.follows(0) == follow_sets(np.array(Z))
    assert traj.sets[-1] == traj.follows(2)
    assert traj.sets[:2] == [traj.follows(0), traj.follows(1)]


# -- batches ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BATCHES)
def test_a_batch_is_a_sequence_of_its_results(name):
    batch = made(name)
    each = list(batch)
    assert all(type(r) is batch.kind or isinstance(r, batch.kind) for r in each)
    assert batch[-1] == each[-1]
    assert list(batch[1:]) == each[1:]
    assert isinstance(batch[1:], hx.Batch)
    assert batch.undecided == sum(r.undecided for r in each)
    for r, last, leaders in zip(each, batch.last, batch.leaders, strict=True):
        assert np.array_equal(last, r.tokens[-1] if batch.kind is hx.Trajectory else r.points)
        assert np.array_equal(leaders, r.leaders)
    with pytest.raises(IndexError, match="is outside"):
        batch[len(batch)]


def test_a_damaged_batch_is_refused(tmp_path):
    good = json.loads(made("batch of limits").save(tmp_path / "x.json").read_text())
    for change in ({"kind": "Path"}, {"clouds": [3]}, {"clouds": [*good["clouds"][:1], {"schema": "other/1"}]}):
        (tmp_path / "y.json").write_text(json.dumps(good | change))
        with pytest.raises(hx.BadInput, match=r"y\.json"):
            hx.Batch.load(tmp_path / "y.json")
    with np.load(made("batch").save(tmp_path / "x.npz")) as file:
        arrays = dict(file)
    assert arrays["tokens"].shape == (4, 41, 2)
    assert arrays["tokens_offsets"].tolist() == [0, 1, 6, 36, 41]
    for name, change in {"tokens_offsets": [0, 1, 6, 36, 40], "set_size": arrays["set_size"] + 1}.items():
        np.savez(tmp_path / "y.npz", **arrays | {name: np.asarray(change)})
        with pytest.raises(hx.BadInput, match=r"y\.npz is damaged"):
            hx.Batch.load(tmp_path / "y.npz")
    with pytest.raises(hx.BadInput, match=r"expected hardmax\.batch/1"):
        hx.Batch.load(made("small").save(tmp_path / "z.npz"))


# -- polytopes -------------------------------------------------------------------------------------------------------


def test_polytope_is_a_property_of_trajectories_and_limits():
    traj, eq = made("small"), made("limit of ties")
    assert traj.polytope == traj.polytope_at(-1) == hx.Polytope.of(traj.tokens[-1])
    assert traj.polytope_at(0) == hx.Polytope.of(traj.tokens[0])
    assert len(eq.polytope.vertices) == eq.kind.count("vertex")


# -- pages -----------------------------------------------------------------------------------------------------------

PLAYED = {"small", "no layers", "copies", "tied", "tied copies", "large", "matrix", "softmax", "exact"}


@pytest.mark.parametrize("name", TRAJECTORIES)
def test_pages_look_at_the_stored_problem_and_never_simulate_again(name, tmp_path, monkeypatch):
    from hardmax.web.single_file import trajectory_state

    traj = made(name)
    loaded = hx.Trajectory.load(traj.save(tmp_path / "x.npz"))
    monkeypatch.setattr("hardmax.dynamics.simulate.simulate", None)
    state = trajectory_state(traj)
    assert (state is not None) == (name in PLAYED)
    assert trajectory_state(loaded) == state
