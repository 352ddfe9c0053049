"""The command line as a person uses it: results, JSON, files, exit codes, one clear error."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hardmax as hx
from hardmax.demo.report import FIGURE_2

SQUARE = "x,y\n1,1\n-1,1\n1,-1\n-1,-1\n0.5,0\n"


@pytest.fixture
def square(tmp_path):
    path = tmp_path / "square.csv"
    path.write_text(SQUARE)
    return path


def test_simulate_json_holds_what_python_gives(cli, square):
    code, out, err = cli("simulate", square, "--alpha", "0.3", "--layers", 7, "--json")
    document = json.loads(out)
    traj = hx.simulate([[1, 1], [-1, 1], [1, -1], [-1, -1], [0.5, 0]], alpha=0.3, layers=7)
    assert (code, err) == (0, "")
    assert document["schema"] == "hardmax.simulate/1"
    assert (document["n"], document["dim"], document["alpha"], document["layers"]) == (5, 2, 0.3, 7)
    assert np.array_equal(document["tokens"], traj.tokens[-1])
    assert document["leaders"] == [0, 1, 2, 3]
    assert document["leader_since"] == {"0": 0, "1": 0, "2": 0, "3": 0}
    assert document["follows"] == [[0], [1], [2], [3], [0, 2]]


def test_limit_json_holds_what_python_gives(cli, square):
    code, out, _ = cli("limit", square, "--json")
    document = json.loads(out)
    assert code == 0
    assert document["schema"] == "hardmax.limit/1"
    assert document["certified"] is True
    assert document["layers"] == 0
    assert document["limit"][4] == [1.0, 0.0]
    assert document["kind"] == ["vertex"] * 4 + ["face"]
    assert document["cluster"] == [0, 1, 2, 3, 4]
    assert document["centers"][4] == [1.0, 0.0]
    assert document["leaders"] == [0, 1, 2, 3]
    assert 0 < document["margin"] < 1


def test_exact_numbers_are_taken_as_written(cli, tmp_path):
    path = tmp_path / "tenths.csv"
    path.write_text("0.1,0\n-0.1,0\n1/30,0\n")
    code, out, _ = cli("simulate", path, "--exact", "--alpha", "1/3", "--layers", 1, "--json")
    assert code == 0
    assert json.loads(out)["tokens"] == [["1/10", "0"], ["-1/10", "0"], ["1/20", "0"]]
    code, out, _ = cli("limit", path, "--exact", "--json")
    assert json.loads(out)["limit"][2] == ["1/10", "0"]


def test_the_same_input_gives_the_same_bytes(cli, square):
    assert cli("limit", square, "--json")[1] == cli("limit", square, "--json")[1]


@pytest.mark.parametrize("command", ["simulate", "limit"])
def test_every_preset_runs(cli, command):
    from hardmax.cloud.presets import PRESETS

    for name in PRESETS:
        code, out, _ = cli(command, "--preset", name)
        assert code == 0, name
        assert "leaders:" in out


@pytest.mark.parametrize("rule", ["softmax", "localmax", "uniform", "random", "chain"])
def test_every_rule_runs(cli, square, rule):
    code, out, _ = cli("simulate", square, "--rule", rule, "--layers", 3, "--seed", 5, "--json")
    assert code == 0
    assert np.isfinite(json.loads(out)["tokens"]).all()


def test_a_matrix_is_typed_or_read(cli, square, tmp_path):
    (tmp_path / "A.csv").write_text("2,-1\n-1,2\n")
    typed = cli("simulate", square, "--matrix", "2,-1; -1,2", "--json")
    read = cli("simulate", square, "--matrix", tmp_path / "A.csv", "--json")
    assert typed[0] == 0
    assert typed == read


def test_tokens_come_from_standard_input():
    done = subprocess.run(
        [sys.executable, "-m", "hardmax", "limit", "-", "--json"], input=SQUARE, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["limit"][4] == [1.0, 0.0]
    assert done.stderr == ""


@pytest.mark.parametrize("save", [np.save, np.savez], ids=["npy", "npz"])
def test_numpy_files_come_from_standard_input(tmp_path, save):
    with (tmp_path / "z").open("wb") as file:
        save(file, np.array([[1, 1], [-1, 1], [1, -1], [-1, -1], [0.5, 0]]))
    words = [sys.executable, "-m", "hardmax", "limit", "-", "--json"]
    done = subprocess.run(words, input=(tmp_path / "z").read_bytes(), capture_output=True)
    assert json.loads(done.stdout)["limit"][4] == [1.0, 0.0]


def test_a_batch_gives_a_list_of_clouds(cli, tmp_path):
    path = tmp_path / "batch.json"
    path.write_text(json.dumps([[[1, 0], [0, 1]], [[1, 1], [2, 2], [-1, 0]]]))
    for command in ("simulate", "limit"):
        code, out, _ = cli(command, path, "--json")
        assert code == 0
        assert [len(c["limit" if command == "limit" else "tokens"]) for c in json.loads(out)["clouds"]] == [2, 3]
        assert cli(command, path)[0] == 0
        assert cli(command, path, "-o", tmp_path / "x.png")[0] == 3


@pytest.mark.parametrize("command", ["simulate", "limit"])
def test_a_batch_goes_to_one_file(cli, tmp_path, command):
    path = tmp_path / "batch.json"
    clouds = [[[1, 0], [0, 1]], [[1, 1], [2, 2], [-1, 0]]]
    path.write_text(json.dumps(clouds))
    wanted = (hx.simulate if command == "simulate" else hx.limit)(clouds)
    for suffix in (".npz", ".json"):
        code, _, err = cli(command, path, "-o", tmp_path / f"x{suffix}")
        assert (code, err) == (0, f"wrote {tmp_path / f'x{suffix}'}\n")
        assert hx.Batch.load(tmp_path / f"x{suffix}") == wanted
        again = cli(command, tmp_path / f"x{suffix}", "--json")  # a saved batch is input again: its layer 0
        assert again == cli(command, path, "--json")
    assert cli(command, path, "-o", tmp_path / "x.html")[0] == 0
    page = (tmp_path / "x.html").read_text()
    assert all(f"cloud {b}: {len(cloud)} tokens" in page for b, cloud in enumerate(clouds))


def test_output_is_written_and_not_overwritten(cli, square, tmp_path):
    path = tmp_path / "run.npz"
    assert cli("simulate", square, "-o", path)[0] == 0
    before = path.read_bytes()
    code, _, err = cli("simulate", square, "-o", path)
    assert code == 3
    assert "run.npz exists" in err
    assert "--force" in err
    assert path.read_bytes() == before
    assert cli("simulate", square, "--layers", 2, "-o", path, "--force")[0] == 0
    assert hx.Trajectory.load(path).layers == 2


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["simulate", "nowhere.csv"], 3, "nowhere.csv does not exist"),
        (["simulate", "--preset", "nope"], 2, "'nope' is not one of 'triangle', 'emerging'"),
        (["simulate", "--preset", "square", "--alpha", "0"], 3, "alpha is 0"),
        (["simulate", "--preset", "square", "--alpha", "fast"], 3, "--alpha is 'fast'"),
        (["simulate", "--preset", "square", "--layers", "-1"], 3, "layers is -1"),
        (["simulate", "--preset", "square", "--rule", "softmin"], 2, "'softmin' is not one of 'hardmax', 'softmax'"),
        (["simulate", "--preset", "square", "--matrix", "1,2; 3,4"], 3, "not symmetric"),
        (["simulate", "--preset", "square", "--matrix", "1,0; 0,-1"], 3, "smallest eigenvalue is -1"),
        (
            ["simulate", "--preset", "square", "--normalization", "maybe"],
            2,
            "'maybe' is not one of 'rescale', 'none', 'sphere'",
        ),
        (["simulate", "--preset", "square", "-o", "nowhere/x.png"], 3, "does not exist"),
        (["simulate", "--preset", "square", "-o", "x.doc"], 3, ".doc"),
        (["simulate", "not-read-yet.csv", "-o", "x.doc"], 3, "cannot be saved as .doc"),
        (["limit", "not-read-yet.csv", "-o", "x"], 3, "cannot be saved as a file without extension"),
        (["simulate", "--preset", "triangle", "--normalization", "none", "--layers", "1800"], 3, "layer"),
        (["simulate"], 2, "TOKENS or --preset"),
        (["simulate", "--preset", "square", "--frobnicate"], 2, "No such option"),
        (["nothing"], 2, "No such command"),
        (["limit", "--preset", "square", "--exact", "--matrix", "1,2; 2,1"], 3, "positive definite"),
    ],
)
def test_bad_input_is_one_clear_error(cli, tmp_path, monkeypatch, words, code, says):
    monkeypatch.chdir(tmp_path)
    found, out, err = cli(*words)
    assert found == code
    assert says in err
    assert "Traceback" not in err
    assert "Value error" not in err
    assert out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.csv", "1,2\n3,nan\n", "nan"),
        ("a.csv", "1,2\n3\n", "line 2"),
        ("a.csv", "1,2\n3,x\n", "line 2"),
        ("a.csv", "", "empty"),
        ("a.json", "{not json", "a.json"),
        ("a.json", "[[1, 2], [3, Infinity]]", "a.json"),
        ("a.npy", "not numpy", "a.npy"),
        ("a.npz", "not numpy", "a.npz"),
        ("a.csv", "\x00\x01\x02", "a.csv"),
    ],
)
def test_a_file_that_is_not_what_its_suffix_says_is_named(cli, tmp_path, name, text, says):
    path = tmp_path / name
    path.write_text(text)
    for command in ("simulate", "limit"):
        code, out, err = cli(command, path)
        assert code == 3
        assert says in err
        assert out == ""


def test_what_is_not_certified_is_exit_6_with_what_is_known(cli, tmp_path, monkeypatch):
    monkeypatch.setattr("hardmax.dynamics.limit.RATIONAL_POINTS", 0)
    code, out, err = cli("limit", "--preset", "late-leader", "--alpha", "1", "--json")
    document = json.loads(out)
    assert code == 6
    assert document["certified"] is False
    assert document["open"] == [6]
    assert document["certain"] == [0, 1, 2, 3, 4, 5]
    assert "exact=True" in err


def test_undecided_comparisons_are_noted(cli, tmp_path):
    path = tmp_path / "pentagon.npy"
    angle = 2 * np.pi * np.arange(5) / 5
    np.save(path, np.r_[np.c_[np.cos(angle), np.sin(angle)], [[-0.4, 0.0]]])
    for command in ("limit", "simulate"):
        code, _, err = cli(command, path)
        assert code == 0
        assert "closer than float64 rounding can decide" in err
        assert cli(command, path, "--quiet")[2] == ""
    assert json.loads(cli("limit", path, "--json")[1])["certified"] is False


def test_a_bug_is_said_to_be_one_and_debug_shows_it(cli, monkeypatch):
    def broken(*_):
        raise RuntimeError("boom")

    monkeypatch.setattr("hardmax.cli.inputs.read", broken)
    code, _, err = cli("simulate", "--preset", "square")
    assert code == 1
    assert "RuntimeError: boom" in err
    assert "--debug" in err
    code, _, err = cli("simulate", "--preset", "square", "--debug")
    assert code == 1
    assert "Traceback" in err
    assert cli("simulate", "nowhere.csv", "--debug")[0] == 1  # `read` is still broken
    monkeypatch.undo()
    assert cli("simulate", "nowhere.csv", "--debug")[0] == 3


def test_an_interruption_is_exit_130(cli, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("hardmax.cli.inputs.read", interrupted)
    code, _, err = cli("simulate", "--preset", "square")
    assert code == 130
    assert "interrupted" in err


@pytest.mark.parametrize("words", ["simulate --preset gaussian --json", "limit --preset polygon"])
def test_a_closed_pipe_is_no_error(words):
    """Whether the reader leaves while one long line is written, or between two lines."""
    command = f"{sys.executable} -u -m hardmax {words} | (read -n 5; exec 0<&-; sleep 1)"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr == ""


def test_doctor_passes_its_self_test(cli):
    code, out, _ = cli("doctor", "--json")
    report = json.loads(out)
    assert code == 0
    assert report["schema"] == "hardmax.doctor/1"
    assert report["hardmax"] == hx.__version__
    assert all(test["passed"] for test in report["self_test"])
    assert len(report["self_test"]) == 3
    assert "self-test" in cli("doctor")[1]


def test_doctor_shows_where_compiled_code_is_and_how_much(tmp_path):
    """In processes of their own: where code is stored is decided when it is imported."""
    command = [sys.executable, "-m", "hardmax", "doctor"]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([*command, "--json"], env=environment, capture_output=True, text=True, check=True)
    compiled = json.loads(done.stdout)["compiled"]
    assert compiled["folders"]
    assert all(folder.startswith(str(tmp_path)) for folder in compiled["folders"])
    assert (compiled["files"], compiled["bytes"]) == (0, 0)
    (Path(compiled["folders"][0]) / "kernel-1.py311.nbi").write_bytes(b"x" * 3_000_000)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert f"compiled code: 1 files, 3.0 MB in {tmp_path} and below" in done.stdout


@pytest.mark.slow
def test_the_first_compilation_is_announced_once_per_installation(tmp_path):
    tokens = tmp_path / "tokens.npy"
    np.save(tokens, np.random.default_rng(0).standard_normal((30_000, 1)))
    command = [sys.executable, "-m", "hardmax", "simulate", str(tokens), "--layers", "0"]

    def said(*more):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run([*command, *more], env=environment, capture_output=True, text=True, check=True)
        return [line for line in done.stderr.splitlines() if not line.startswith("simulating: ")]  # a slow machine

    assert said() == ["compiling, once per installation ..."]
    assert said() == []
    lost = list(tmp_path.rglob("search_tree._boxes-*.nb?"))
    for path in lost:
        path.unlink()
    assert said("--quiet") == []
    assert set(lost) <= set(tmp_path.rglob("*.nb?"))  # it was compiled again
    assert lost


@pytest.mark.parametrize("silent", ["--json", "--quiet", "-q"])
def test_a_silent_command_announces_no_compilation_whatever_ran_before_it(cli, capsys, monkeypatch, silent):
    import numba

    from hardmax.cli import doctor

    examine = doctor.examine

    def examine_and_compile():
        report = examine()
        numba.njit(lambda x: x + 1)(1)
        return report

    monkeypatch.setattr(doctor, "examine", examine_and_compile)
    assert "compiling, once per installation" in cli("doctor")[2]
    assert cli("--version")[2] == ""  # says nothing, but might
    assert cli("doctor", silent)[2] == ""
    assert cli("--version")[2] == ""
    numba.njit(lambda x: x + 2)(1)  # by a program that has run a command
    assert capsys.readouterr().err == ""


def test_version_and_help(cli):
    assert cli("--version")[1].strip() == f"hardmax {hx.__version__}"
    assert cli()[0] in (0, 2)
    for command in ("simulate", "limit", "demo", "doctor"):
        code, out, _ = cli(command, "--help")
        assert code == 0
        assert "Usage" in out


def test_a_missing_extra_is_exit_4_with_its_pip_line(cli, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for name in [m for m in sys.modules if m.startswith(("matplotlib.", "hardmax.plot"))]:
        monkeypatch.delitem(sys.modules, name)
    code, _, err = cli("simulate", "--preset", "square", "-o", tmp_path / "x.png")
    assert code == 4
    assert 'pip install "hardmax[plot]"' in err


def test_a_file_is_no_folder_for_the_demo(cli, tmp_path):
    (tmp_path / "notes.txt").write_text("kept")
    for force in ([], ["--force"]):
        code, _, err = cli("demo", "-o", tmp_path / "notes.txt", *force)
        assert (code, "is a file; expected a folder" in err) == (3, True)
    assert (tmp_path / "notes.txt").read_text() == "kept"


@pytest.mark.slow
def test_demo_writes_a_report_and_prints_its_path(cli, tmp_path, monkeypatch):
    monkeypatch.setattr("hardmax.demo.report.FIGURE_2", FIGURE_2[:1])  # tests/demo has all of it
    monkeypatch.setattr("hardmax.demo.report.SEQUENCES", 40)
    monkeypatch.setattr("hardmax.demo.report.BETWEEN", 0)
    code, out, err = cli("demo", "-o", tmp_path / "report", "--quick")
    assert code == 0
    assert out.strip().endswith("report.html")
    assert (tmp_path / "report" / "report.html").stat().st_size > 10_000
    assert "running the demo" in err  # progress
    assert cli("demo", "-o", tmp_path / "report")[0] == 3
    code, out, err = cli("demo", "-o", tmp_path / "report", "--quick", "--force", "--json")
    document = json.loads(out)
    assert (code, err) == (0, "")
    assert document["schema"] == "hardmax.demo/1"
    assert any(f.endswith(".png") for f in document["figures"])


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("lim", {"limit"}),
        ("explain imdb-", {"imdb-words"}),
        ("export imd", {"imdb", "imdb-words"}),
        ("limit --preset cu", {"cube"}),
    ],
)
def test_the_shell_completes_commands_models_and_choices(words, offered):
    typed = f"hardmax {words}"
    setting = {"COMP_WORDS": typed, "COMP_CWORD": f"{len(typed.split()) - 1}", "_HARDMAX_COMPLETE": "complete_bash"}
    done = subprocess.run(
        [Path(sys.executable).parent / "hardmax"], env=os.environ | setting, capture_output=True, text=True, timeout=300
    )
    assert set(done.stdout.split()) == offered
