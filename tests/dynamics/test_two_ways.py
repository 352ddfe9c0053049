"""Small clouds: plain NumPy and compiled code give the same bits, and the plain way loads no compiler."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import fields, is_dataclass

import numpy as np
import pytest

import hardmax as hx
from cases import cases
from hardmax.dynamics.follow_sets import LayerSets, SetTable
from hardmax.jit import ways
from hardmax.jit.ways import COMPILED, PLAIN, Job, forced
from stored_code import store

KINDS = ("gauss", "cube", "grid", "rounded", "polygon", "copies", "mirrored", "scaled", "line", "zeros")
JOBS = ("limit", "simulate", "batch", "heads", "any matrix")
SHARES = (0.45, 0.35, 0.1, 0.05, 0.05)


def random_case(rng):
    """A cloud of one of the kinds, a step size and a matrix."""
    kind, n, d = str(rng.choice(KINDS)), int(rng.choice([1, 2, 3, 5, 8, 13, 30, 80])), int(rng.integers(1, 17))
    Z = rng.standard_normal((n, d))
    if kind == "cube":
        Z = rng.uniform(-1, 1, (n, d))
    elif kind == "grid":
        Z = rng.integers(-2, 3, (n, d)) / 2
    elif kind == "rounded":
        Z = np.round(Z, 1)
    elif kind == "polygon":
        angle = 2 * np.pi * np.arange(n) / n
        Z = np.column_stack([np.cos(angle), np.sin(angle), np.zeros((n, d))])
        Z = np.concatenate([Z, Z[:3] / 2])
    elif kind == "copies":
        Z = Z[rng.integers(0, n, n)]
    elif kind == "mirrored":
        Z = np.concatenate([Z, -Z, Z * np.where(np.arange(d) == 0, -1, 1)])
    elif kind == "scaled":
        Z = Z * 10.0 ** rng.uniform(-150, 145)
    elif kind == "line":
        Z = np.outer(Z[:, 0], rng.standard_normal(d))
    elif kind == "zeros":
        Z = rng.integers(-3, 4, (n, d)) * rng.integers(0, 2, (n, 1)) * 1.0
    A, R, dice = None, rng.standard_normal((Z.shape[1], Z.shape[1])), rng.random()
    if dice < 0.4:
        A = R @ R.T + 0.3 * np.eye(len(R))
        A = (A + A.T) / 2 * (10.0 ** rng.uniform(-100, 100) if dice < 0.1 else 1.0)
    return Z, float(rng.choice([0.1, 0.5, 1.0, 10.0])), A


def run_case(rng):
    """Any public call on a random cloud: the result, or the message of the error."""
    Z, alpha, A = random_case(rng)
    job, layers, tolerance = (
        str(rng.choice(JOBS, p=SHARES)),
        int(rng.choice([0, 1, 3, 12, 40])),
        float(rng.choice([0, 0, 1e-3])),
    )
    other = random_case(rng)[0]
    try:
        if job == "limit":
            eq = hx.limit(Z, alpha, A, tie_tolerance=tolerance, max_layers=300)
            return facts(eq), eq.certificate.check(Z)
        if job == "simulate":
            return facts(hx.simulate(Z, alpha, A, layers, rule=hx.Hardmax(tolerance)))
        if job == "batch":
            clouds = [Z, Z[: 1 + len(Z) // 2], rng.standard_normal((4, Z.shape[1]))]
            batch = hx.simulate(clouds, alpha, A, layers)
            return facts(batch.last), facts(batch.leaders), batch.undecided, [facts(one) for one in batch]
        if job == "heads":
            heads = [np.eye(Z.shape[1]), np.ones((Z.shape[1], Z.shape[1])) + 2 * np.eye(Z.shape[1])]
            return facts(hx.simulate(Z, alpha, layers=min(layers, 12), heads=heads, causal=len(other) % 2 == 0))
        return facts(hx.simulate(Z, alpha, rng.standard_normal((Z.shape[1],) * 2), min(layers, 12), definite=False))
    except hx.HardmaxError as error:
        return type(error).__name__, str(error)


def facts(x):
    """Everything that a result holds, floats as their bits."""
    if isinstance(x, LayerSets) and not isinstance(x, SetTable):  # made when asked for
        return list(x)
    if is_dataclass(x):  # a trajectory may be of a subclass with other fields
        kind = hx.Trajectory if isinstance(x, hx.Trajectory) else x
        return [(field.name, facts(getattr(x, field.name))) for field in fields(kind)]
    if isinstance(x, np.ndarray) and x.dtype != object:
        return x.dtype.str, x.shape, x.tobytes()
    if isinstance(x, (Sequence, np.ndarray)) and not isinstance(x, str):
        return [facts(y) for y in x]
    return list(x.items()) if isinstance(x, dict) else repr(x)


def differing(seeds):
    """The seeds whose cases differ between the two ways."""
    found = []
    for seed in seeds:
        with forced(PLAIN):
            plain = run_case(np.random.default_rng(seed))
        with forced(COMPILED):
            compiled = run_case(np.random.default_rng(seed))
        found += [seed] if plain != compiled else []
    return found


@pytest.mark.slow
def test_both_ways_give_the_same_bits_on_any_cloud():
    assert differing(range(cases(300, 3000))) == []


@pytest.mark.parametrize("d", [2, 3, 16])
def test_both_ways_give_the_same_bits_on_a_thousand_tokens_and_more(d):
    rng = np.random.default_rng(d)
    for Z in (rng.standard_normal((900, d)), np.round(rng.standard_normal((1500, d)), 1)):
        found = []
        for way in (PLAIN, COMPILED):
            with forced(way):
                found.append((facts(hx.limit(Z)), facts(hx.simulate(Z, layers=3))))
        assert found[0] == found[1]


PROGRAM = """
import sys, numpy as np, hardmax as hx
Z = np.random.default_rng(0).standard_normal((1000, {d}))
for tokens in (Z, np.round(Z, 1)[:200], hx.preset("square-ties"), [Z[:10], Z[10:30]]):
    eq = hx.limit(tokens)
    for one in eq if isinstance(eq, hx.Batch) else [eq]:
        assert one.certificate.verify(one.tokens)
    repr(hx.simulate(tokens, layers=5))
traj = hx.simulate(Z[:50], layers=3)
traj.follows(2), traj.leaders, traj.outcome
hx.simulate(Z[:50], layers=3, heads=[np.eye({d}), 2 * np.eye({d})], causal=True)
assert hx.limit(Z[:9].round(1), exact=True).undecided == 0
print(*sorted({{name.split(".")[0] for name in sys.modules}} & {{"numba", "llvmlite", "scipy", "sklearn", "pandas"}}))
"""


@pytest.mark.parametrize("d", [2, 16])
def test_small_clouds_import_neither_numba_nor_scipy(d):
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(d=d)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_job_is_plain_until_it_is_ready_too_large_or_has_cost_too_much(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    job = Job("kernels.run")
    assert job.plain(1000)
    assert not job.plain(ways.SMALL + 1)
    job.spent = 2 * ways.PATIENCE
    monkeypatch.setattr(Job, "of_all", job.spent)
    assert job.plain(1000)  # nothing is stored, and compiling costs more
    job.spent = ways.PATIENCE_TO_COMPILE
    assert not job.plain(1000)
    store(tmp_path, "kernels.run")
    job = Job("kernels.run")
    job.spent = 2 * ways.PATIENCE
    monkeypatch.setattr(Job, "of_all", job.spent)
    assert not job.plain(1000)  # stored: loading it costs a second
    job = Job("kernels.run")
    job.ready = True
    assert not job.plain(1000)


def test_stored_code_is_loaded_sooner_once_numba_is_in_memory(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    store(tmp_path, "kernels.run")
    job = Job("kernels.run")
    job.spent = (ways.PATIENCE_WITH_NUMBA + ways.PATIENCE) / 2
    monkeypatch.setattr(Job, "of_all", job.spent)
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    assert job.plain(1000)
    monkeypatch.setitem(sys.modules, "numba", ways)
    assert not job.plain(1000)


def test_the_disk_is_not_looked_at_for_every_job(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    job = Job("kernels.run")
    job.spent = 2 * ways.PATIENCE
    monkeypatch.setattr(Job, "of_all", job.spent)
    assert job.plain(1000)
    store(tmp_path, "kernels.run")
    assert job.plain(1000)  # what was not there a moment ago
    job.spent *= 2
    assert not job.plain(1000)


def test_numba_is_loaded_when_all_jobs_together_have_cost_as_much(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    store(tmp_path, "kernels.run")
    job, idle = Job("kernels.run"), Job("kernels.run")
    job.spent = 2 * ways.PATIENCE_WITH_NUMBA
    monkeypatch.setattr(Job, "of_all", ways.PATIENCE / 2)
    assert job.plain(1000)
    monkeypatch.setattr(Job, "of_all", ways.PATIENCE)
    assert not job.plain(1000)
    assert idle.plain(1000)


def test_plain_work_is_counted(monkeypatch):
    monkeypatch.setattr(Job, "of_all", 0.0)
    job, other = Job("kernels.run"), Job("kernels.run")
    for one in (job, other):
        with one.counted():
            sum(range(100_000))
    assert 0 < job.spent < 1
    assert Job.of_all == job.spent + other.spent


def test_the_names_of_stored_kernels_are_those_of_the_compiled_functions():
    from importlib import import_module

    from hardmax.attention import search, small
    from hardmax.cloud import distinct

    jobs = [*search._FIND.values(), *search._COLLECT.values(), small._JOB, distinct._JOB]
    for job in jobs:
        module, name = job.kernel.split(".")
        room = "cloud" if module == "distinct_table" else "attention"
        assert hasattr(getattr(import_module(f"hardmax.{room}.{module}"), name), "py_func")
