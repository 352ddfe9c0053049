"""The vector loops and their plain fallbacks against NumPy and against each other."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import njit

import hardmax as hx
from hardmax.jit import plain, simd, vectors
from hardmax.jit.plain import BLOCK, QUERIES, TILE
from hardmax.jit.ways import COMPILED, forced

LANES = simd.LANES


def calls(function):
    """A compiled function that can be called from Python although `function` may be an intrinsic."""
    return njit(lambda *args: function(*args))


REACHED = {"simd": calls(simd.reached), "plain": calls(plain.reached)}
SEEK = {"simd": calls(simd.seek), "plain": calls(plain.seek)}
TOP2 = {("simd", d): calls(getattr(simd, f"top2_{d}")) for d in (1, 2, 3, 4, "any")} | dict.fromkeys(
    [("plain", d) for d in (1, 2, 3, 4, "any")], calls(plain.top2_any)
)


@pytest.mark.parametrize("code", ["simd", "plain"])
@pytest.mark.parametrize("d", [1, 2, 3, 8, 17])
def test_the_bits_say_which_queries_reach_their_threshold(d, code):
    rng = np.random.default_rng(d)
    tiles = rng.standard_normal((3, d, QUERIES)).astype(np.float32)
    keys = rng.standard_normal((4, d, BLOCK)).astype(np.float32)
    maxima = np.zeros((QUERIES, LANES), np.float32)
    for tile in range(3):
        for block in range(4):
            highest = (tiles[tile].T.astype(float) @ keys[block].astype(float)).max(axis=1)
            thresholds = (highest + rng.choice([-1e-3, 1e-3], QUERIES)).astype(np.float32)
            bits = REACHED[code](tiles, tile, keys, block, thresholds, maxima)
            assert [bool(bits >> i & 1) for i in range(QUERIES)] == (thresholds < highest).tolist()
            np.testing.assert_allclose(maxima.max(axis=1), highest, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("code", ["simd", "plain"])
def test_a_score_equal_to_the_threshold_reaches_it(code):
    tiles = np.ones((1, 2, QUERIES), np.float32)
    keys = np.zeros((1, 2, BLOCK), np.float32)
    keys[0, :, BLOCK - 1] = 2.0
    maxima = np.zeros((QUERIES, LANES), np.float32)
    thresholds = np.array([4.0, np.nextafter(np.float32(4), np.float32(5)), -1.0, np.inf], np.float32)
    assert REACHED[code](tiles, 0, keys, 0, thresholds, maxima) == 0b0101


@pytest.mark.parametrize("code", ["simd", "plain"])
@pytest.mark.parametrize("d", [1, 2, 3, 8, 17])
def test_seek_stops_at_every_group_of_keys_that_some_query_reaches(d, code):
    chosen = {"simd": simd, "plain": plain}[code]
    seekers, group = chosen.SEEKERS, chosen.GROUP
    rng = np.random.default_rng(d)
    tile = rng.standard_normal((d, seekers)).astype(np.float32)
    keys = rng.standard_normal((203, d)).astype(np.float32)
    stop = 199  # the last group ends at key 200
    scores = keys.astype(float) @ tile.astype(float)
    for count in (0, 1, 5, 60):  # groups that are reached, as far as keys before `stop` decide
        bars = np.sort(scores, axis=0)[-1 - count] + np.where(np.arange(seekers) % 3 == 0, 1e-3, 1e3)
        bars = bars.astype(np.float32)
        excess, found, at = np.zeros((group, seekers), np.float32), [], 0
        while (at := SEEK[code](tile, keys, at, stop, bars, excess)) < stop:
            found.append(at)
            np.testing.assert_allclose(excess, scores[at : at + group] - bars, rtol=1e-4, atol=1e-4)
            at += group
        reached = (scores[:200] >= bars).any(axis=1).reshape(-1, group).any(axis=1)
        assert at == stop
        assert found == (group * np.flatnonzero(reached)).tolist()


@pytest.mark.parametrize("code", ["simd", "plain"])
def test_seek_counts_a_score_equal_to_the_bar_and_never_one_of_infinity(code):
    chosen = {"simd": simd, "plain": plain}[code]
    tile, keys = np.ones((1, chosen.SEEKERS), np.float32), np.zeros((12, 1), np.float32)
    bars, excess = np.full(chosen.SEEKERS, np.inf, np.float32), np.zeros((chosen.GROUP, chosen.SEEKERS), np.float32)
    keys[9] = 2.0
    assert SEEK[code](tile, keys, 0, 12, bars, excess) == 12
    bars[-1] = 2.0
    assert SEEK[code](tile, keys, 0, 12, bars, excess) == 8
    assert excess[1, -1] == 0
    bars[-1] = np.nextafter(np.float32(2), np.float32(3))
    assert SEEK[code](tile, keys, 0, 12, bars, excess) == 12
    assert SEEK[code](tile, keys, 12, 12, bars, excess) == 12


@pytest.mark.parametrize("dim", [1, 2, 3, 4, "any"])
def test_both_codes_find_the_two_best_scores(dim):
    rng = np.random.default_rng(0)
    d = 7 if dim == "any" else dim
    for count in (1, 2, 5, 64, 129):
        tied = [rng.integers(-8, 9, shape) / 4.0 for shape in ((d, TILE), (count, d))]
        real = [rng.standard_normal(shape) for shape in ((d, TILE), (count, d))]
        for tile, keys in (tied, real):
            found = {code: np.full((3, TILE), np.nan) for code in ("simd", "plain")}
            for code, out in found.items():
                TOP2[code, dim](tile, keys, count, out)
            scores = np.sort(tile.T @ keys.T, axis=1)[:, ::-1]
            assert (found["simd"] == found["plain"]).all()  # to the bit
            np.testing.assert_allclose(found["plain"][0], scores[:, 0], rtol=1e-14, atol=1e-14)
            if count > 1:
                np.testing.assert_allclose(found["plain"][1], scores[:, 1], rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize(("version", "name"), [("0.60.0", "simd"), ("0.69.2rc1", "simd"), ("0.70.0", "plain")])
def test_a_numba_that_is_not_known_gets_the_plain_loops(version, name):
    code = (
        f"import numba; numba.__version__ = {version!r}\nfrom hardmax.jit.vectors import chosen; print(chosen.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"hardmax.jit.{name}\n"


def test_the_known_versions_are_those_that_are_allowed_and_run_in_ci():
    root = Path(__file__).parents[2]
    lowest, above = (".".join(map(str, version)) for version in vectors.TESTED)
    assert f"numba>={lowest},<{above}" in (root / "pyproject.toml").read_text()
    assert f'"numba=={lowest}.0 ' in (root / ".github" / "workflows" / "ci.yml").read_text()


SHAPES = [(12, 2), (9, 3), (70, 3)]
CLOUDS = f"""
import json, numpy as np, hardmax as hx
from hardmax.jit import vectors
from hardmax.jit.ways import COMPILED, Job
Job.forced = COMPILED
rng = np.random.default_rng(0)
out = [vectors.chosen.__name__]
for n, d in {SHAPES}:
    for Z in (rng.standard_normal((n, d)), rng.integers(-3, 4, (n, d)) / 2):
        run = hx.simulate(Z, 0.5, layers=2)
        out += [[x.hex() for x in run.tokens.ravel().tolist()], run.follows(1), run.undecided]
print(json.dumps(out))
"""


def test_whole_runs_have_the_same_bits_without_vector_code():
    """In a process of its own, because the choice is made at import, and interpreted, because compiling takes long."""
    environment = {**os.environ, "HARDMAX_VECTOR_CODE": "0", "NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, "-c", CLOUDS], env=environment, capture_output=True, text=True, check=True)
    name, *found = json.loads(done.stdout)
    assert name == "hardmax.jit.plain"
    assert vectors.chosen is simd
    rng = np.random.default_rng(0)
    for n, d in SHAPES:
        for Z in (rng.standard_normal((n, d)), rng.integers(-3, 4, (n, d)) / 2):
            with forced(COMPILED):
                run = hx.simulate(Z, 0.5, layers=2)
            tokens, follows, undecided, *found = found
            assert tokens == [x.hex() for x in run.tokens.ravel().tolist()]
            assert follows == [list(followed) for followed in run.follows(1)]
            assert undecided == run.undecided
