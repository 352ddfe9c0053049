"""Write the cases that the page's JavaScript must reproduce: tests/js/golden/*.json, computed by the Python package.

python scripts/write_golden.py          writes the files
python scripts/write_golden.py --check  says which files are not current, and fails if there are any
"""

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import hardmax as hx
from hardmax.cloud.presets import GENERATED, PRESETS, preset, random_cloud, uniform_words
from hardmax.dynamics.polytope import Polytope
from hardmax.dynamics.records import equilibrium_document, trajectory_document
from hardmax.io.documents import json_text

FOLDER = Path(__file__).parent.parent / "tests" / "js" / "golden"
SKEW = [[2.0, -1.0], [-1.0, 2.0]]
STRETCHED = [[1.0, 0.3], [0.3, 4.0]]
MATRIX_3D = [[2.0, 0.5, 0.0], [0.5, 1.0, -0.25], [0.0, -0.25, 1.5]]
SQUARE = [[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]]
HEXAGON = [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [-1.0, 0.0], [-1.0, -1.0], [0.0, -1.0]]  # regular in the metric SKEW


def clouds() -> Iterator[tuple[str, Any, Any, float]]:
    """Name, tokens, matrix and alpha of every case: ties, duplicates, zeros, general A, space, flat hulls."""
    for name in PRESETS:
        if name not in ("late-leader", "gaussian"):
            yield name, preset(name), None, 0.5
    for alpha in (0.1, 1.0, 10.0):
        yield f"square-ties alpha {alpha:g}", preset("square-ties"), None, alpha
        yield f"emerging alpha {alpha:g}", preset("emerging"), None, alpha
    yield "grid alpha 0.1", preset("grid"), None, 0.1
    yield "one token", [[0.3, -2.0]], None, 0.5
    yield "all equal", [[0.5, 0.25]] * 5, None, 0.5
    yield "zero token", [*SQUARE, [0.0, 0.0]], None, 0.5
    yield "only zeros", [[0.0, 0.0]] * 3, None, 0.5
    yield "duplicate breaks a tie", [*SQUARE, [1.0, 1.0], [0.5, 0.0]], None, 0.5
    yield "duplicates", [*random_cloud("random", 12, 2, 3), *random_cloud("random", 6, 2, 3)], None, 0.5
    yield "on a line", [[x, 2 * x] for x in (-3.0, -1.0, 0.5, 1.0, 2.0, -0.25)], None, 0.5
    yield "hexagon, ties in a skew metric", [*HEXAGON, [0.5, 0.25], [0.25, 0.5], [-0.5, -0.25]], SKEW, 0.5
    yield "random, skew metric", random_cloud("random", 40, 2, 11), SKEW, 0.5
    yield "random, stretched metric", random_cloud("random", 40, 2, 12), STRETCHED, 1.0
    yield "random", random_cloud("random", 60, 2, 7), None, 0.5
    yield "random, small alpha", random_cloud("random", 30, 2, 8), None, 0.01
    yield "ring", random_cloud("ring", 50, 2, 5), None, 0.5
    yield "ball in space", random_cloud("ball", 50, 3, 6), None, 0.5
    yield "random in space", random_cloud("random", 40, 3, 9), None, 0.5
    yield "random in space, metric", random_cloud("random", 30, 3, 10), MATRIX_3D, 0.75
    yield "flat in space", [[x, y, 0.0] for x, y in preset("square-ties")], None, 0.5


def dynamics() -> Iterator[dict[str, Any]]:
    """Layers, follow sets, leaders and the certified limit of every cloud."""
    for name, tokens, A, alpha in clouds():
        Z = np.array(tokens)
        layers = 40 if "small" in name else 12
        traj = trajectory_document(hx.simulate(Z, alpha, A, layers))  # type: ignore[arg-type]
        eq = equilibrium_document(hx.limit(Z, alpha, A))  # type: ignore[arg-type]
        yield {
            "name": name, "alpha": alpha, "A": A, "layers": layers, "tokens": Z,
            **{k: traj[k] for k in ("trajectory", "follow_sets", "leaders", "leader_since", "undecided")},
            "limit": {
                k: eq[k] for k in (
                    "limit", "centers", "cluster", "kind", "leaders", "leader_since", "layers", "certified", "method",
                    "decided_at", "role",
                )
            },
        }  # fmt: skip


def late_ties() -> Iterator[dict[str, Any]]:
    """Depths at which followers have merged with their leaders in float64: leaders and follow sets must not be lost."""
    for name, alpha in (("square-ties", 1.0), ("emerging", 0.5), ("square", 3.0), ("polygon", 10.0)):
        traj = hx.simulate(preset(name), alpha, layers=200)
        assert isinstance(traj, hx.Trajectory)
        yield {
            "name": f"{name} alpha {alpha:g}", "alpha": alpha, "A": None, "layers": 200, "tokens": preset(name),
            "last": traj.tokens[-1], "follows": traj.follows(200), "leader_since": traj.leader_since,
        }  # fmt: skip


def softmax() -> Iterator[dict[str, Any]]:
    """The softmax relaxation at several temperatures."""
    cases = [("emerging", 1.0, None), ("emerging", 9.0, None), ("square-ties", 100.0, None), ("cube", 5.0, MATRIX_3D)]
    for name, beta, A in cases:
        traj = hx.simulate(preset(name), 0.5, A, 10, rule=hx.Softmax(beta))
        assert isinstance(traj, hx.Trajectory)
        tokens = preset(name)
        yield {"name": name, "alpha": 0.5, "A": A, "beta": beta, "tokens": tokens, "trajectory": traj.tokens}


def hulls() -> Iterator[dict[str, Any]]:
    """Vertices (indices) of convex hulls in two and three dimensions; points on edges and copies are no vertices."""
    for name, tokens, _, _ in clouds():
        Z = np.array(tokens)
        if len(np.unique(Z, axis=0)) >= 3:
            yield {"name": name, "tokens": Z, "vertices": sorted(Polytope.of(Z).vertex_index.tolist())}


def generator() -> dict[str, Any]:
    """Words of the stream, and clouds of every kind."""
    words = [{"seed": s, "first": f, "words": uniform_words(s, f, 5)} for s, f in ((0, 0), (7, 0), (2**32 - 1, 1000))]
    cases = [
        {"kind": kind, "n": n, "dim": dim, "seed": seed, "tokens": random_cloud(kind, n, dim, seed)}
        for kind in GENERATED
        for n, dim, seed in ((1, 2, 0), (40, 2, 7), (40, 3, 4294967295), (15, 3, 123456))
    ]
    crowded = [
        {"kind": kind, "n": 5000, "dim": 2, "seed": 1, "sums": (tokens * 1000).round().sum(axis=0)}
        for kind, tokens in ((kind, random_cloud(kind, 5000, 2, 1)) for kind in GENERATED)
    ]
    return {"words": words, "clouds": cases, "sums": crowded}


def files() -> dict[str, str]:
    """Name and text of every golden file."""
    texts = {
        "dynamics.json": {"cases": list(dynamics())},
        "late.json": {"cases": list(late_ties())},
        "softmax.json": {"cases": list(softmax())},
        "hulls.json": {"cases": list(hulls())},
        "generator.json": generator(),
    }
    return {name: json_text({"schema": "hardmax.golden/1", **content}) for name, content in texts.items()}


def agrees(ours: Any, theirs: Any) -> bool:
    """Equal, but for the last digits of floats: exp and sums of products differ from processor to processor."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return list(ours) == list(theirs) and all(agrees(ours[k], theirs[k]) for k in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(agrees, ours, theirs))
    if isinstance(ours, float) and isinstance(theirs, float):
        return math.isclose(ours, theirs, rel_tol=1e-12, abs_tol=1e-12)
    return type(ours) is type(theirs) and bool(ours == theirs)


def main() -> int:
    """Write the files, or with --check compare them."""
    check = "--check" in sys.argv[1:]
    FOLDER.mkdir(parents=True, exist_ok=True)
    stale = []
    for name, text in files().items():
        path = FOLDER / name
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or not agrees(json.loads(text), json.loads(path.read_text(encoding="utf-8"))):
            stale.append(name)
    if stale:
        print(f"not current: {', '.join(stale)}; run python scripts/write_golden.py", file=sys.stderr)
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main())
