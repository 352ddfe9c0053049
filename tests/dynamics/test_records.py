import json

import numpy as np
import pytest

import hardmax as hx
from hardmax.dynamics.records import load_equilibrium, load_trajectory
from hardmax.errors import BadInput
from hardmax.io.tokens import read_tokens
from literal import literal_trajectory, written


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("suffix", [".npz", ".json"])
def test_a_trajectory_comes_back_as_it_was(tmp_path, suffix, exact):
    traj = literal_trajectory(exact, rule=hx.Localmax(eps=0.25))
    back = load_trajectory(traj.save(tmp_path / f"t{suffix}"))
    assert back.tokens.dtype == traj.tokens.dtype
    assert np.array_equal(back.tokens, traj.tokens)
    assert [back.follows(k) for k in range(5)] == [traj.follows(k) for k in range(5)]
    for name in ("alpha", "A", "leader_since", "outcome", "rule", "problem", "undecided", "exact"):
        assert getattr(back, name) == getattr(traj, name), name
    start = read_tokens(tmp_path / f"t{suffix}", exact=exact)
    assert np.array_equal(start, traj.tokens[0])


def test_the_json_of_a_trajectory_has_the_documented_fields(tmp_path):
    traj = literal_trajectory(exact=False)
    document = json.loads(traj.save(tmp_path / "t.json").read_text())
    assert document["schema"] == "hardmax.simulate/1"
    assert (document["n"], document["dim"], document["alpha"], document["layers"]) == (8, 2, 0.5, 4)
    assert document["tokens"] == traj.tokens[-1].tolist()
    assert document["leaders"] == traj.leaders.tolist()
    assert document["leader_since"] == {str(i): k for i, k in traj.leader_since.items()}
    assert document["follows"] == [list(s) for s in traj.follows(4)]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("suffix", [".npz", ".json"])
@pytest.mark.parametrize("A", [None, [[2, 1], [1, 3]]])
def test_a_limit_comes_back_with_a_certificate_that_verifies(tmp_path, suffix, exact, A):
    Z = hx.preset("square-ties", exact=exact)
    eq = hx.limit(Z, A=A, exact=exact)
    back = load_equilibrium(eq.save(tmp_path / f"e{suffix}"))
    assert back.certificate.verify(Z)
    for name in ("tokens", "points", "cluster", "centers", "leaders"):
        assert np.array_equal(getattr(back, name), getattr(eq, name)), name
    for name in ("kind", "leader_since", "alpha", "margin", "undecided", "layers", "exact"):
        assert getattr(back, name) == getattr(eq, name), name
    assert np.array_equal(read_tokens(tmp_path / f"e{suffix}", exact=exact), Z)


def test_damaged_foreign_and_newer_files_are_refused(tmp_path):
    traj = literal_trajectory(exact=False)
    good = json.loads(traj.save(tmp_path / "t.json").read_text())
    changes = {
        "newer": {"schema": "hardmax.simulate/2"},
        "expected hardmax.simulate/1": {"schema": "hardmax.limit/1"},
        "do not match": {"follow_sets": good["follow_sets"][:-1]},
        "no token 99": {"leader_since": {"99": 0}},
        "3": {"trajectory": good["trajectory"][0]},
        "rule": {"rule": {"name": "Path"}},
        "'1/0' is not a fraction": {"alpha": "1/0"},
        "'1e999999999' is not a fraction": {"alpha": "1e999999999"},
    }
    for message, change in changes.items():
        path = written(tmp_path, "changed.json", json.dumps(good | change))
        with pytest.raises(BadInput, match=r"changed\.json") as error:
            load_trajectory(path)
        assert message in str(error.value)
    for key in ("alpha", "follow_sets", "rule", "outcome", "schema"):
        path = written(tmp_path, "lacking.json", json.dumps({k: v for k, v in good.items() if k != key}))
        with pytest.raises(BadInput, match=r"lacking\.json"):
            load_trajectory(path)
    whole = traj.save(tmp_path / "t.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadInput, match=r"cut\.npz is damaged"):
        load_trajectory(tmp_path / "cut.npz")
    with pytest.raises(BadInput, match=r"absent\.npz does not exist"):
        load_trajectory(tmp_path / "absent.npz")


@pytest.mark.parametrize("suffix", [".npz", ".json"])
def test_a_float_limit_that_rational_arithmetic_settled_comes_back(tmp_path, suffix):
    # token 4 follows two tokens that move forever: no float64 certificate holds it
    Z = [[1, 1, 0], [1, -1, 0], [1, 0.5, 0.4], [1, -0.5, 0.4], [0.5, 0, 0.1]]
    eq = hx.limit(Z, alpha=1.0)
    assert eq.certificate.method == "rational"
    back = load_equilibrium(eq.save(tmp_path / f"e{suffix}"))
    assert back.certificate.verify(Z)
    assert back.points.dtype == np.float64
    assert back.points.tolist() == eq.points.tolist()


def test_a_saved_limit_whose_parts_disagree_is_refused(tmp_path):
    path = hx.limit(hx.preset("square-ties")).save(tmp_path / "limit.json")
    good = json.loads(path.read_text())
    assert hx.Equilibrium.load(path).certificate.verify(hx.preset("square-ties"))
    for change in (
        {"centers": [[9.0, 9.0]] * len(good["centers"])},
        {"leader_since": {"5": 0}},
        {"kind": ["face"] * len(good["kind"])},
        {"A": [[1.0]]},
        {"target": [k + 2**32 for k in good["target"]]},
    ):
        path.write_text(json.dumps(good | change))
        with pytest.raises(hx.BadInput, match="damaged"):
            hx.Equilibrium.load(path)
