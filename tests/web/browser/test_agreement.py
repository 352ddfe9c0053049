"""What the page computes, and what the server certifies for it, is what Python says: 100 configurations."""

import numpy as np
import pytest

import hardmax as hx

NAMED = ["triangle", "emerging", "square", "square-ties", "grid", "polygon", "cube", "gaussian"]
# The state of the page, its own limit, and the certificate of the server for its tokens.
ASK = """async (given) => {
    const app = window.hardmaxApp, found = [];
    for (const patch of given) {
        app.set({ ...patch, pts: null, k: 0, sel: -1, figure: null });
        app.flush();
        const { cloud, metric, result: { limit, d } } = app.controller.model;
        const rows = (flat) => Array.from({ length: flat.length / d }, (_, i) => [...flat.slice(i * d, (i + 1) * d)]);
        const body = { tokens: rows(cloud.coords), alpha: patch.alpha, matrix: metric.A };
        const own = {
            tokens: body.tokens, matrix: metric.A, limit: rows(limit.points), cluster: [...limit.cluster],
            layers: limit.layers, certified: limit.certified, leaders: [...limit.leaderSince],
        };
        found.push([own, await app.api.post("/api/limit", body)]);
    }
    return found;
}"""


def configurations():
    """Named clouds and random ones, in the plane and in space, with and without a matrix."""
    rng = np.random.default_rng(3)
    found = []
    for k in range(100):
        kind = NAMED[k] if k < len(NAMED) else ["random", "ring", "ball"][k % 3]
        matrix = {"kind": "I"} if k % 4 else {"kind": "rot", "angle": int(rng.integers(-90, 90)), "l1": 2, "l2": 0.5}
        alpha = float(rng.choice([0.1, 0.5, 1.0, 3.0]))
        size = {"n": int(rng.integers(2, 90)), "d": int(rng.integers(2, 4)), "seed": int(rng.integers(10_000))}
        found.append({"preset": kind, **size, "alpha": alpha, "A": matrix, "K": 20})
    return found


@pytest.mark.slow
def test_limits_and_certificates_are_those_of_python(open_page):
    page = open_page("v=1&preset=square")
    given = configurations()
    for patch, (own, server) in zip(given, page.evaluate(ASK, given), strict=True):
        kind = patch["preset"]
        size = {} if kind in NAMED else {"n": patch["n"], "dim": patch["d"], "seed": patch["seed"]}
        Z = hx.preset(kind, **size)
        assert np.array_equal(Z, own["tokens"]), patch
        eq = hx.limit(Z, alpha=patch["alpha"], A=own["matrix"])
        assert eq.certificate.verify(Z)
        assert server["verified"], patch
        assert np.array_equal(server["limit"], eq.points), patch
        assert server["layers"] == eq.layers
        assert server["certificate"]["margin"] == pytest.approx(eq.certificate.margin, rel=1e-12)
        assert np.allclose(own["limit"], eq.points, rtol=0, atol=1e-12), patch
        if own["certified"]:
            assert own["cluster"] == eq.cluster.tolist(), patch
            assert dict(own["leaders"]) == {int(i): int(k) for i, k in eq.leader_since.items()}, patch
