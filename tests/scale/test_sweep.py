"""Sweeps: rows that single runs confirm, folders that survive kills, commands and pictures."""

import json
import math
from itertools import pairwise

import numpy as np
import pyarrow.parquet as pq
import pytest

import hardmax as hx
from hardmax.errors import BadInput
from hardmax.scale.config import read_sweep
from hardmax.scale.dynamics import clouds, groups, matrices, run_dynamics
from hardmax.scale.run import one_run, read_rows, run_sweep
from hardmax.scale.tasks import Task, compute, tasks
from in_process import hardmax

SMALL = {"sweep": {"seeds": 40}, "grid": {"n": [2, 30], "d": [1, 3], "alpha": [0.3, 4.0]}}


def _settings(**given):
    return read_sweep({"fixed": given}).points[0]


@pytest.mark.parametrize("family", ["normal", "ball", "sphere", "cube"])
def test_a_cloud_does_not_depend_on_its_neighbors(family):
    many = clouds(family, 4, 3, 250, 300)
    assert many.shape == (300, 4, 3)
    for k in (0, 5, 6, 299):
        assert (clouds(family, 4, 3, 250 + k, 1)[0] == many[k]).all()
    lengths = np.sqrt((many**2).sum(axis=2))
    if family == "sphere":
        assert np.allclose(lengths, 1)
    if family == "ball":
        assert lengths.max() <= 1
        assert abs((lengths**3).mean() - 0.5) < 0.03  # |z|^d is uniform


@pytest.mark.parametrize("layers", [math.inf, 3, 0])
def test_rows_of_a_batch_are_those_of_limit_and_simulate(layers):
    settings = _settings(n=25, d=2, alpha=0.7, layers=layers)
    rows = run_dynamics(settings, range(30), ())
    decided = 0
    for k in range(30):
        Z = clouds("normal", 25, 2, k, 1)[0]
        eq = hx.limit(Z, 0.7)
        since = eq.leader_since.values()
        assert rows["leaders"][k] == sum(s <= layers for s in since)
        assert rows["late_leaders"][k] == sum(0 < s <= layers for s in since)
        last = int(eq.certificate.decided_at.max())
        tokens = eq.points if math.isinf(layers) else hx.simulate(Z, 0.7, layers=int(layers)).tokens[-1]
        if last <= layers:
            decided += 1
            assert (rows["decided_layer"][k], rows["clusters"][k]) == (last, len(eq.centers))
            size = np.sqrt((Z**2).sum(axis=1)).max()
            assert abs(rows["distance"][k] - np.sqrt(((tokens - eq.points) ** 2).sum(axis=1)).max() / size) < 1e-12
            assert rows["outcome"][k] == "decided"
        else:
            assert rows["outcome"][k] == "moving"
            assert rows["decided_layer"][k] is None
        spread = np.sqrt(((tokens - tokens.mean(0)) ** 2).sum(1).mean() / ((Z - Z.mean(0)) ** 2).sum(1).mean())
        assert abs(rows["spread"][k] - spread) < 1e-12
    assert decided or layers == 0


def test_other_rules_are_measured_at_every_depth():
    settings = _settings(n=12, d=2, rule="softmax", beta=4.0, normalization="sphere", cloud="sphere", alpha=0.5)
    rows = run_dynamics(settings, range(2), (0, 10, 200))
    for k in range(2):
        Z = clouds("sphere", 12, 2, k, 1)[0]
        traj = hx.simulate(Z, 0.5, layers=200, rule=hx.Softmax(beta=4.0), normalization="sphere")
        assert rows["clusters"][3 * k : 3 * k + 3] == [groups(traj.tokens[i], 0.02) for i in (0, 10, 200)]
        assert rows["leaders"][3 * k] is None


def test_several_heads_and_a_random_matrix_run():
    settings = _settings(n=8, d=3, heads=2, matrix="random", condition=5.0, layers=6)
    rows = run_dynamics(settings, range(2), ())
    Z = clouds("normal", 8, 3, 1, 1)[0]
    traj = hx.simulate(Z, 0.5, layers=6, heads=matrices(settings, 1))
    assert rows["leaders"][1] == len(traj.leader_since)
    assert rows["outcome"][1] == traj.outcome.kind
    one = _settings(n=8, d=3, matrix="random", condition=5.0)
    eq = hx.limit(clouds("normal", 8, 3, 0, 1)[0], 0.5, matrices(one, 0)[0])
    assert run_dynamics(one, range(1), ())["leaders"] == [len(eq.leaders)]


def test_groups_are_chains_of_close_tokens():
    assert groups(np.array([[0.0], [0.5], [1.0], [5.0]]), 0.1) == 2
    assert groups(np.array([[0.0], [0.5], [1.0], [5.0]]), 0.09) == 4


def test_one_run_gives_its_row_of_the_whole():
    rows = hx.sweep(SMALL)
    sweep = read_sweep(SMALL)
    assert len(rows) == len(sweep) == 320
    assert rows.run.tolist() == list(range(320))
    for number in (0, 77, 319):
        alone = one_run(sweep, number)
        row = rows.iloc[number].to_dict()
        for name in set(row) - {"seconds", "command"}:
            mine = None if isinstance(row[name], float) and math.isnan(row[name]) else row[name]
            assert mine == alone[name], name
    with pytest.raises(BadInput, match="no run 320"):
        one_run(sweep, 320)


def test_tasks_cover_every_run_once():
    sweep = read_sweep({"sweep": {"seeds": 50_000}, "grid": {"n": [3, 1000]}})
    covered = [(t.first, t.first + t.count) for t in tasks(sweep)]
    assert covered[0][0] == 0
    assert covered[-1][1] == len(sweep)
    assert all(a[1] == b[0] for a, b in pairwise(covered))
    assert len(covered) > 20


def test_what_is_there_is_not_done_again(tmp_path):
    sweep = read_sweep(SMALL)
    run_sweep(sweep, tmp_path / "s")
    whole = read_rows(tmp_path / "s")
    parts = sorted((tmp_path / "s").glob("part-*"))
    stamps = {part: part.stat().st_mtime_ns for part in parts}
    parts[2].unlink()
    with pytest.raises(BadInput, match="already holds this sweep"):
        run_sweep(sweep, tmp_path / "s")
    seen = []
    run_sweep(sweep, tmp_path / "s", resume=True, progress=lambda done, rows: seen.append((done, rows)))
    assert seen == [(320, 320)]
    assert [p for p in parts if p.stat().st_mtime_ns != stamps[p]] == [parts[2]]
    kept = [name for name in whole.column_names if name != "seconds"]
    assert read_rows(tmp_path / "s").select(kept) == whole.select(kept)
    with pytest.raises(BadInput, match="holds another sweep"):
        run_sweep(read_sweep({"grid": {"n": [5]}}), tmp_path / "s", resume=True)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("x")
    with pytest.raises(BadInput, match="is not a sweep"):
        run_sweep(sweep, tmp_path / "full", resume=True)
    with pytest.raises(BadInput, match="does not hold a sweep"):
        read_rows(tmp_path)


def test_a_failed_run_is_recorded_with_the_command_that_repeats_it(tmp_path):
    config = tmp_path / "c.toml"
    config.write_text('[fixed]\nnormalization = "none"\nlayers = 220\n[grid]\nalpha = [30, 1e6]\n')
    done = hardmax("sweep", config, "-o", tmp_path / "o", "--json", "--workers", "1")
    assert done.returncode == 7
    assert json.loads(done.stdout) == {
        "schema": "hardmax.sweep/1", "rows": 2, "failed": 2, "folder": str(tmp_path / "o"),
    }  # fmt: skip
    rows = read_rows(tmp_path / "o").to_pylist()
    assert "overflow" in rows[1]["error"]
    assert rows[1]["command"] == f"hardmax sweep {config} --run 1"
    again = hardmax(*rows[1]["command"].split()[1:], "--json")
    assert json.loads(again.stdout)["row"]["error"] == rows[1]["error"]


def test_processes_give_the_rows_of_one(tmp_path):
    config = {"sweep": {"seeds": 2}, "fixed": {"rule": "softmax", "layers": 5}, "grid": {"n": [3, 6]}}
    alone, two = (hx.sweep(config, workers=w).drop(columns="seconds") for w in (1, 2))
    assert alone.equals(two.sort_values("run", ignore_index=True))


@pytest.mark.slow
def test_ray_gives_the_rows_of_this_machine():
    config = {"sweep": {"seeds": 3}, "grid": {"n": [3, 6], "rule": ["hardmax", "softmax"]}, "fixed": {"layers": 5}}
    here, there = (hx.sweep(config, engine=e, workers=1).drop(columns="seconds") for e in ("local", "ray"))
    assert here.equals(there.sort_values("run", ignore_index=True))


def test_training_settings_are_swept(tmp_path):
    data = tmp_path / "d.csv"
    data.write_text("text,label\n" + "".join(f"good {k},1\nbad {k},0\n" for k in range(40)))
    rows = hx.sweep(
        {
            "sweep": {"kind": "training", "seeds": 2},
            "fixed": {"data": str(data), "epochs": 3},
            "grid": {"layers": [0, 2]},
        },
        workers=1,
    )
    assert rows.error.isna().all(), rows.error.tolist()
    assert (rows.accuracy == 1.0).all()
    assert rows.layers.tolist() == [0, 0, 2, 2]
    assert (rows.parameters > 0).all()
    failed = hx.sweep({"sweep": {"kind": "training"}, "fixed": {"data": str(tmp_path / "none.csv")}}, workers=1)
    assert "none.csv" in failed.error[0]


def test_a_part_is_plain_parquet(tmp_path):
    run_sweep(read_sweep({"grid": {"n": [3]}}), tmp_path / "s")
    (part,) = (tmp_path / "s").glob("*.parquet")
    row = pq.read_table(part).to_pylist()[0]
    assert (row["n"], row["error"], row["outcome"]) == (3, None, "decided")
    assert compute(Task(read_sweep({"grid": {"n": [3]}}), 0, 1))["leaders"] == [row["leaders"]]


def test_the_command_runs_plots_and_refuses(tmp_path, capsys):
    from hardmax.cli.main import run

    def call(*words):
        with pytest.raises(SystemExit) as done:
            run(list(words))
        return done.value.code, capsys.readouterr()

    config = tmp_path / "c.toml"
    config.write_text('[sweep]\nseeds = 5\n[grid]\nn = [5, 9]\nd = [1, 2]\n[plot]\nx = "n"\ny = "leaders"\nby = "d"\n')
    rows = str(tmp_path / "rows")
    assert call("sweep", str(config))[0] == 3
    code, told = call("sweep", str(config), "-o", rows)
    assert code == 0
    assert "20 rows, 0 failed" in told.out
    assert call("sweep", str(config), "-o", rows)[0] == 3
    assert call("sweep", str(config), "-o", rows, "--resume")[0] == 0
    assert call("sweep", str(config), "-o", rows, "--force")[0] == 0
    assert call("sweep", "plot", rows, "-o", str(tmp_path / "a.png"))[0] == 0
    assert (
        call("sweep", "plot", rows, "-o", str(tmp_path / "b.svg"), "--x", "n", "--y", "d", "--color", "leaders")[0] == 0
    )
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    code, told = call("sweep", "plot", rows, "-o", str(tmp_path / "c.png"), "--x", "n", "--y", "nothing")
    assert code == 3
    assert "no column 'nothing'" in told.err
    assert call("sweep", "plot", rows)[0] == 2
    assert call("sweep", "one", "two")[0] == 2
    assert call("sweep", str(config), "-o", str(tmp_path / "e"), "--engine", "cloud")[0] == 2
    code, told = call("sweep", str(config), "--run", "3")
    assert "seed\t3" in told.out
