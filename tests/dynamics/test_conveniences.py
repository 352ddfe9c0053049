"""What a mathematician types: step sizes and seeds as lists, rules by name, fractions as texts, tables, long runs."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import torch

import hardmax as hx

SQUARE = hx.preset("square-ties")
VARIANTS = [{}, {"rule": "softmax"}, {"heads": [np.eye(2), 2 * np.eye(2)]}, {"exact": True}, {"causal": True}]


def test_a_trajectory_is_a_sequence_of_clouds():
    traj = hx.simulate(SQUARE, layers=5)
    assert len(traj) == 6
    assert np.array_equal(traj[3], traj.tokens[3])
    assert np.array_equal(np.stack(list(traj)), traj.tokens)
    assert np.array_equal(np.asarray(traj), traj.tokens)
    assert np.asarray(traj, dtype=np.float32).dtype == np.float32


def test_an_equilibrium_is_an_array_of_its_points():
    eq = hx.limit([[1, 0], [-1, 0], [0.5, 0]])
    assert np.asarray(eq).tolist() == [[1, 0], [-1, 0], [1, 0]]
    assert np.asarray(eq, dtype=np.float32).dtype == np.float32
    assert hx.limit(eq).leaders.tolist() == [0, 1, 2]


def test_a_trajectory_as_a_table_has_one_row_per_layer_and_token():
    traj = hx.simulate(hx.preset("emerging"), layers=4)
    table = traj.to_frame()
    assert len(table) == 5 * traj.n
    row = table[(table.layer == 2) & (table.token == 1)].iloc[0]
    assert (row.x0, row.x1) == tuple(traj.tokens[2, 1])
    assert row.follows == traj.follows(2)[1]
    late = max(traj.leader_since.values())
    assert late > 0
    assert [table[table.layer == k].leads.sum() for k in (0, 4)] == [
        sum(since <= k for since in traj.leader_since.values()) for k in (0, 4)
    ]


def test_a_limit_as_a_table_has_one_row_per_token():
    eq = hx.limit(SQUARE)
    table = eq.to_frame()
    assert np.array_equal(table[["limit0", "limit1"]].to_numpy(), eq.points)
    assert table.leads.to_numpy().nonzero()[0].tolist() == eq.leaders.tolist()
    assert table.kind.tolist() == [eq.kind[c] for c in eq.cluster]


def test_several_step_sizes_and_seeds_give_one_batch():
    clouds = hx.random_cloud("random", n=20, seed=range(3))
    batch = hx.simulate(clouds, alpha=[0.1, "1/2"], layers=7)
    assert [traj.alpha for traj in batch] == [0.1] * 3 + [0.5] * 3
    assert batch[4] == hx.simulate(clouds[1], alpha=0.5, layers=7)
    table = hx.limit(clouds, alpha=np.array([0.1, 0.5])).to_frame()
    assert table.alpha.tolist() == [0.1] * 3 + [0.5] * 3
    assert table.leaders.tolist() == [len(hx.limit(Z, a).leaders) for a in (0.1, 0.5) for Z in clouds]


def test_an_empty_list_of_step_sizes_is_refused():
    with pytest.raises(hx.BadInput, match="alpha is an empty list"):
        hx.limit(SQUARE, alpha=[])


@pytest.mark.parametrize(
    ("name", "rule"), [("hardmax", hx.Hardmax()), ("softmax", hx.Softmax()), ("random", hx.RandomFollow())]
)
def test_a_rule_can_be_given_by_name(name, rule):
    assert hx.simulate(SQUARE, rule=name, layers=3) == hx.simulate(SQUARE, rule=rule, layers=3)


def test_an_unknown_rule_is_refused_with_the_names_that_exist():
    with pytest.raises(hx.BadInput, match=r"rule is 'sofmax'; expected one of hardmax, softmax, .* Softmax\(\.\.\.\)"):
        hx.simulate(SQUARE, rule="sofmax")


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_keeping_the_last_layer_gives_the_last_layer_of_the_whole_run(options):
    Z = hx.random_cloud("random", n=12, seed=4)
    whole = hx.simulate(Z, alpha=0.3, layers=200, **options)
    last = hx.simulate(Z, alpha=0.3, layers=200, keep="last", **options)
    assert last.layers == whole.layers == 200
    assert len(last) == 1
    assert np.array_equal(last[0], whole[200])
    assert last.follows(200) == last.follows(-1) == whole.follows(200)
    assert last.leader_since == whole.leader_since
    assert last.outcome.kind == whole.outcome.kind
    with pytest.raises(hx.BadInput, match="layer 3 was not kept"):
        last.follows(3)


def test_a_long_run_that_keeps_its_end_recognizes_a_cycle():
    swap = {"A": [[-1]], "definite": False, "normalization": "none", "alpha": 2.0}
    whole, last = (hx.simulate([[1.0], [-1.0]], layers=400, keep=keep, **swap) for keep in ("all", "last"))
    assert last.outcome.kind == whole.outcome.kind == "periodic"
    assert last.outcome.period == whole.outcome.period == 2


@pytest.mark.parametrize("suffix", [".npz", ".json"])
def test_a_trajectory_without_its_first_layers_survives_its_file(tmp_path, suffix):
    traj = hx.simulate(SQUARE, layers=50, keep="last")
    assert hx.Trajectory.load(traj.save(tmp_path / f"last{suffix}")) == traj
    assert pickle.loads(pickle.dumps(traj)) == copy.deepcopy(traj) == traj


def test_a_trajectory_without_its_first_layers_can_be_drawn(tmp_path):
    traj = hx.simulate(SQUARE, layers=50, keep="last")
    assert traj.plot().get_title() == "layer 50"
    for name in ("last.png", "last.gif", "last.html"):
        assert traj.save(tmp_path / name).stat().st_size > 1000
    assert "layer 50" in traj._repr_html_()
    assert "<iframe" not in (tmp_path / "last.html").read_text()


def test_keep_takes_two_words():
    with pytest.raises(hx.BadInput, match='keep is 3; expected "all" or "last"'):
        hx.simulate(SQUARE, keep=3)


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_progress_is_reported_up_to_the_last_layer(options):
    seen = []
    hx.simulate(hx.preset("late-leader"), layers=9, progress=lambda done, total: seen.append((done, total)), **options)
    assert seen[-1] == (9, 9)
    assert seen == sorted(seen)


def test_progress_of_a_batch_counts_clouds():
    seen = []
    hx.simulate([SQUARE] * 3, rule="softmax", progress=lambda *step: seen.append(step))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_progress_is_written_to_standard_error(capsys, monkeypatch):
    monkeypatch.setattr("hardmax.io.progress.EVERY", 0.0)
    hx.simulate(SQUARE, rule="softmax", layers=3, progress=True)
    shown = capsys.readouterr()
    assert "simulating: 3 of 3" in shown.err
    assert shown.out == ""


def test_progress_that_cannot_be_called_is_refused():
    with pytest.raises(hx.BadInput, match="progress is 3"):
        hx.simulate(SQUARE, progress=3)


def test_fractions_are_read_from_texts_everywhere():
    third = hx.limit([["1/3", "0"], ["-1", "2/7"]], alpha="1/3", A=[["2", "1/2"], ["1/2", 1]])
    number = hx.limit([[1 / 3, 0], [-1, 2 / 7]], alpha=1 / 3, A=[[2, 0.5], [0.5, 1]])
    assert third == number


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, torch.float32, torch.float16])
def test_narrow_numbers_are_taken_at_their_value(dtype):
    values = [[1.5, 0], [-1, 0.25]] if dtype is not np.int8 else [[1, 0], [-2, 3]]
    Z = torch.tensor(values, dtype=dtype) if isinstance(dtype, torch.dtype) else np.array(values, dtype=dtype)
    assert hx.limit(Z) == hx.limit(values)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_a_table_with_a_text_column_is_refused_by_the_name_of_the_column(make):
    with pytest.raises(hx.BadInput, match="the column 'city' does not hold numbers; its first value is 'Bonn'"):
        hx.simulate(make({"x": [1.0, 2.0], "city": ["Bonn", "Ulm"]}))


def test_a_tensor_with_a_gradient_is_refused_with_the_way_out():
    Z = torch.tensor([[1.0, 0.0]], requires_grad=True)
    with pytest.raises(hx.BadInput, match=r"torch tensor .* requires grad") as caught:
        hx.limit(Z)
    assert caught.value.fix == "use Z.detach().double(): no gradient flows through these layers"


def test_a_sparse_matrix_is_refused_with_the_way_out():
    with pytest.raises(hx.BadInput, match="sparse matrix") as caught:
        hx.limit(scipy.sparse.csr_matrix(np.eye(2)))
    assert caught.value.fix == "use Z.toarray()"


def test_a_missing_attribute_is_missing_from_a_trajectory():
    for n in (3, 300):  # done in NumPy, and by compiled code once it is in memory
        with pytest.raises(AttributeError, match=r"^'Trajectory' object has no attribute 'token'$"):
            _ = hx.simulate(hx.random_cloud("random", n=n)).token
