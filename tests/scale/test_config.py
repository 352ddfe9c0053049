"""A sweep's file becomes numbered runs, or one clear error."""

import math

import pytest

from hardmax.errors import BadInput
from hardmax.scale.config import CONFIGS, read_sweep


def test_a_grid_makes_every_combination_for_every_seed():
    sweep = read_sweep({"sweep": {"seeds": 3, "first_seed": 7}, "grid": {"n": [5, 6], "alpha": [1, 2.5]}})
    runs = [sweep.run(k) for k in range(len(sweep))]
    assert [(r["n"], r["alpha"], r["seed"]) for r in runs] == [
        (n, a, s) for n in (5, 6) for a in (1.0, 2.5) for s in (7, 8, 9)
    ]
    assert all(r["d"] == 2 and r["layers"] == math.inf for r in runs)


def test_random_draws_lie_in_their_range_and_are_the_same_every_time():
    config = {
        "sweep": {"points": 200},
        "grid": {"n": [3, 4]},
        "random": {
            "alpha": {"low": 0.01, "high": 100.0, "scale": "log"},
            "d": {"low": 2, "high": 5},
            "cloud": ["ball", "cube"],
        },
    }
    sweep = read_sweep(config)
    assert len(sweep) == 400
    alphas = [p["alpha"] for p in sweep.points]
    assert min(alphas) >= 0.01
    assert max(alphas) <= 100
    assert 0.3 < sum(a < 1 for a in alphas) / 400 < 0.7  # the median of a logarithmic range is its middle
    assert {p["d"] for p in sweep.points} == {2, 3, 4, 5}
    assert {p["cloud"] for p in sweep.points} == {"ball", "cube"}
    assert read_sweep(config).points == sweep.points


def test_several_depths_are_rows_of_one_run():
    sweep = read_sweep({"grid": {"layers": [0, 5, 9], "n": [4, 5]}})
    assert (len(sweep), sweep.rows, sweep.layers) == (2, 6, (0, 5, 9))


@pytest.mark.parametrize("name", sorted(p.stem for p in CONFIGS.glob("*.toml")))
def test_every_shipped_study_can_be_read_and_says_how_it_is_drawn(name):
    sweep = read_sweep(name)
    assert sweep.name == name
    assert {"x", "y"} <= set(sweep.plot)
    assert len(sweep) > 1


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({}, "nothing to run"),
        ({"sweeps": {}}, "unknown section 'sweeps'"),
        ({"sweep": {"seed": 1}}, "did you mean 'seeds'"),
        ({"sweep": {"kind": "weather"}}, "kind is 'weather'"),
        ({"sweep": {"kind": [0]}}, "kind is [0]"),  # found by fuzzing
        ({"sweep": {"seeds": 0}}, "seeds must be at least 1"),
        ({"sweep": {"seeds": True}}, "seeds must be a whole number"),
        ({"grid": {"alhpa": [1]}}, "did you mean 'alpha'"),
        ({"grid": {"n": []}}, "no value"),
        ({"grid": {"n": [0]}}, "n must be at least 1"),
        ({"grid": {"n": [2.5]}}, "n must be a whole number"),
        ({"grid": {"rule": ["hardest"]}}, "use hardmax, softmax"),
        ({"fixed": {"alpha": "0.5"}}, "alpha must be a number"),
        ({"fixed": {"alpha": math.nan}}, "alpha must be at least"),
        ({"random": {"alpha": {"low": 0, "high": 1, "scale": "log"}}}, "no valid range"),
        ({"random": {"alpha": 3}}, "neither a list nor a range"),
        ({"sweep": {"seeds": 10**9}, "grid": {"n": [1, 2]}}, "2,000,000,000 runs"),
        ({"grid": 3}, "expected a table"),
    ],
)
def test_what_cannot_be_run_is_refused(config, said):
    with pytest.raises(BadInput) as error:
        read_sweep(config)
    assert said in str(error.value)


def test_a_file_that_is_missing_or_not_toml_is_named(tmp_path):
    with pytest.raises(BadInput, match="shipped: accuracy, decision, leaders, sphere"):
        read_sweep(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("[sweep\n")
    with pytest.raises(BadInput, match="is not TOML"):
        read_sweep(tmp_path / "bad.toml")
