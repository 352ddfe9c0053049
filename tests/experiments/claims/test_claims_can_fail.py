"""Every check can fail: corrupt what it looks at, and the command line counts, saves and replays the violation.

A claim that holds on random cases says little unless its check would have seen the contrary. Here the result of the
package, as the check receives it, is spoilt in the one way that contradicts the claim.
"""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from hardmax.cli.main import run as command_line
from hardmax.experiments.claims import constructions, counterexamples, definition, facts, lemmas, observations, theorems
from hardmax.experiments.claims.claim import Violated, claims
from hardmax.experiments.claims.runs import limit_of, run

HALF = Fraction(1, 2)


def last_state(change):
    """The same run with another last state; `change` gets the state and the run."""
    return lambda done: replace(done, states=[*done.states[:-1], change(done.states[-1], done)])


def shifted(i):
    return lambda Z, done: tuple(tuple(x + 1 for x in z) if j == i % len(Z) else z for j, z in enumerate(Z))


def scaled(factor):
    return lambda Z, done: tuple(tuple(factor * x for x in z) for z in Z)


def a_leader_moves(done):
    return last_state(shifted(min(done.leader_since)))(done)


def without_a(done):
    return last_state(shifted(0))(done) if done.A is None else done


def zero_follows_itself(done):
    Z = done.states[0]
    own = tuple((i,) if not any(z) else C for i, (z, C) in enumerate(zip(Z, done.sets[0], strict=True)))
    return replace(done, sets=[own, *done.sets[1:]])


def everyone_shifted_at_layer_1(done):
    first = tuple(tuple(x + 1 for x in z) for z in done.states[1])
    return replace(done, states=[done.states[0], first, *done.states[2:]])


def ends_elsewhere(lim):
    """Tokens that do not lead are said to end half-way between 0 and their limit."""
    halves = tuple(tuple(HALF * x for x in p) for p in lim.points)
    return replace(lim, points=tuple(p if i in lim.leaders else halves[i] for i, p in enumerate(lim.points)))


def fewer_leaders(lim):
    return replace(lim, leaders=dict(list(lim.leaders.items())[1:]))


def wrapped(module, name, spoil):
    """(module, name, the function there with its result spoilt)."""
    true = getattr(module, name)
    return module, name, lambda *given, **options: spoil(true(*given, **options))


def longer(net):
    return replace(net, stack=net.stack + net.stack[-1:] * 40)


def spoilt_targets(net):
    return replace(net, stack=net.stack[:-1])


# claim -> how to spoil it
MUTATIONS = {
    "theorem-1.1-i": [
        wrapped(theorems, "limit_of", ends_elsewhere),
        wrapped(theorems, "limit_of", lambda lim: replace(lim, sets=((0,),) * len(lim.points))),
        wrapped(theorems, "limit_of", lambda lim: replace(lim, points=tuple((0 * x for x in p) for p in lim.points))),
        wrapped(theorems, "limit_of", fewer_leaders),
    ],
    "theorem-1.1-ii": [
        wrapped(theorems, "limit_of", fewer_leaders),
        wrapped(theorems, "limit_of", lambda lim: replace(lim, leaders={})),
        wrapped(theorems, "limit_of", lambda lim: replace(lim, states=[scaled(2)(Z, None) for Z in lim.states])),
        wrapped(theorems, "limit_of", lambda lim: replace(lim, points=lim.points[:1] * len(lim.points))),
    ],
    "theorem-1.1-iii": [wrapped(theorems, "limit_of", ends_elsewhere)],
    "fact-1": [
        wrapped(facts, "run", a_leader_moves),
        wrapped(facts, "run", lambda done: replace(done, leader_since={})),
        wrapped(facts, "run", lambda done: replace(done, sets=[*done.sets[:-1], ((),) * len(done.states[0])])),
    ],
    "fact-2": [
        wrapped(facts, "run", last_state(scaled(0.5))),
        wrapped(facts, "run", last_state(scaled(0))),
        wrapped(facts, "run", lambda done: replace(done, sets=[tuple(reversed(C)) for C in done.sets])),
    ],
    "fact-3": [wrapped(facts, "run", last_state(scaled(10)))],
    "fact-4": [
        wrapped(facts, "run", last_state(lambda Z, done: Z[:1] * len(Z))),
        wrapped(facts, "run", lambda done: replace(done, sets=[tuple(reversed(C)) for C in done.sets])),
    ],
    "fact-5": [wrapped(facts, "run", without_a)],
    "fact-6": [
        wrapped(facts, "run", last_state(lambda Z, done: tuple(reversed(Z)))),
        wrapped(facts, "run", lambda done: replace(done, sets=[*done.sets[:-1], ((),) * len(done.states[0])])),
    ],
    "fact-7": [
        wrapped(facts, "limit_of", ends_elsewhere),
        wrapped(facts, "limit_of", lambda lim: replace(lim, points=tuple(reversed(lim.points)))),
    ],
    "fact-8": [wrapped(facts, "run", zero_follows_itself), wrapped(facts, "run", everyone_shifted_at_layer_1)],
    "fact-9": [
        wrapped(facts, "run", last_state(shifted(0))),
        wrapped(facts, "run", lambda done: replace(done, leader_since={})),
    ],
    "experiment-convergence": [wrapped(observations, "_limits", lambda found: (scaled(-1)(found[0], None), found[1]))],
    "experiment-leaders": [
        wrapped(observations, "limit_of", fewer_leaders),
        wrapped(observations, "run", a_leader_moves),
    ],
    "experiment-growth": [wrapped(observations, "run", last_state(scaled(2)))],
    "one-leader": [wrapped(observations, "run", lambda done: replace(done, leader_since=dict.fromkeys((0, 1), 0)))],
    "lemma-4.1-extremes": [
        (lemmas, "package_attention", lambda tokens, score: tokens),
        (definition, "attention", lambda x, *given: x),
    ],
    "lemma-4.2-corner": [
        (lemmas, "package_attention", lambda tokens, score: tokens),
        (definition, "attention", lambda x, *given: x),
        wrapped(lemmas, "limit_of", ends_elsewhere),
    ],
    "lemma-4.3-sphere": [
        wrapped(lemmas, "run", lambda done: replace(done, leader_since={})),
        wrapped(lemmas, "run", last_state(scaled(2))),
        (definition, "attention", lambda x, *given: x[:1] * len(x)),
    ],
    "construction-exact": [wrapped(constructions, "build", spoilt_targets)],
    "construction-counts": [wrapped(constructions, "build", longer)],
    "counterexample-hull": [(counterexamples, "_layer", lambda Z, V: Z)],
    "counterexample-frank-wolfe": [(counterexamples, "B", ((Fraction(1),),))],
}
TABLE = [(claim, k) for claim, ways in MUTATIONS.items() for k in range(len(ways))]


@pytest.fixture
def cli(capsys):
    def call(*words):
        with pytest.raises(SystemExit) as stop:
            command_line([str(w) for w in words])
        return stop.value.code, capsys.readouterr().out

    return call


@pytest.mark.parametrize(("claim", "way"), TABLE, ids=[f"{claim}-{k}" for claim, k in TABLE])
def test_a_spoilt_result_is_a_violation_that_can_be_replayed(claim, way, cli, monkeypatch, tmp_path):
    module, name, spoilt = MUTATIONS[claim][way]
    with monkeypatch.context() as patch:
        patch.setattr(module, name, spoilt)
        code, out = cli("verify", claim, "--trials", 6, "-o", tmp_path / "found", "--json", "--seed", 3)
        assert code == 6
        result = json.loads(out)["claims"][0]
        assert 0 < result["violations"] <= result["trials"] == 6
        # a sentence of the claim's own, not an error on the way
        assert "stopped with" not in result["first"]
        assert "refused" not in result["first"]
        first = json.loads(out)["files"][0]
        assert json.loads(Path(first).read_text())["sentence"] == result["first"]
        code, out = cli("verify", "--replay", first, "--json")
        assert code == 6
        assert json.loads(out)["claims"][0]["first"] == result["first"]
    assert cli("verify", "--replay", first)[0] == 0


def test_every_claim_has_its_mutation():
    assert set(MUTATIONS) | {"fact-10"} == {claim.name for claim in claims()}


def test_the_float_trap_is_missed_when_the_package_falls_into_it(cli, monkeypatch, tmp_path):
    lost = SimpleNamespace(leaders=np.array([], dtype=int), undecided=0)
    monkeypatch.setattr("hardmax.dynamics.simulate.simulate", lambda *given, **options: lost)
    assert cli("verify", "fact-10", "--trials", 3, "-o", tmp_path)[0] == 6


# -- the comparison with the definition, which every claim on layers goes through --------------------------------------


@pytest.mark.parametrize("kind", ["random-float", "tie-rich-float", "random-exact", "tie-rich-exact"])
def test_a_package_that_departs_from_the_definition_is_found_out(kind, monkeypatch):
    from hardmax.dynamics.simulate import simulate

    (claim,) = claims(["fact-2"])
    cases = [claim.case(5, trial) for trial in range(40)]
    case = next(c for c in cases if c.kind == kind and len(c["tokens"]) > 2)

    def moved(*given, **options):
        done = simulate(*given, **options)
        tokens = done.tokens.copy()
        tokens[-1] = tokens[-1] * 2
        return SimpleNamespace(tokens=tokens, follows=done.follows, leader_since=done.leader_since, undecided=0)

    def misled(*given, **options):
        done = simulate(*given, **options)
        sets = [tuple(reversed(done.follows(k))) for k in range(done.layers + 1)]
        return SimpleNamespace(
            tokens=done.tokens, follows=sets.__getitem__, leader_since=done.leader_since, undecided=0
        )

    def elsewhere(*given, **options):
        done = simulate(*given, **options)
        tokens = done.tokens.copy()
        tokens[0] = tokens[0] * 2
        return SimpleNamespace(tokens=tokens, follows=done.follows, leader_since=done.leader_since, undecided=0)

    run(case)
    for spoilt, sentence in ((moved, "tokens of layer"), (misled, "follows"), (elsewhere, "first state")):
        monkeypatch.setattr("hardmax.dynamics.simulate.simulate", spoilt)
        with pytest.raises(Violated, match=sentence):
            run(case)


def test_a_float_limit_that_is_called_proved_and_is_wrong_is_found_out(monkeypatch):
    from hardmax.dynamics.limit import limit

    (claim,) = claims(["theorem-1.1-i"])
    case = claim.case(0, 0)
    assert case.kind == "random-float"

    def spoilt(change):
        def wrong(tokens, alpha, A, exact=False):
            eq = limit(tokens, alpha, A, exact=exact)
            return eq if exact else change(eq)

        return wrong

    changes = {
        "float64 proves that token": lambda eq: replace(eq, points=eq.points + 1e-6),
        "float64 proves the leaders": lambda eq: replace(eq, leader_since={}),
        "certificate": lambda eq: replace(eq, certificate=replace(eq.certificate, problem="another")),
    }
    limit_of(case)
    for sentence, change in changes.items():
        monkeypatch.setattr("hardmax.dynamics.limit.limit", spoilt(change))
        with pytest.raises(Violated, match=sentence):
            limit_of(case)


# -- cases that break a hypothesis: the claim is false there, and the check says so ------------------------------------


BROKEN = {
    "theorem-1.1-i": [  # a token at 0, which the theorem excludes, ends inside K
        {"kind": "tie-rich-exact", "tokens": [[1, 1], [1, -1], [-1, 1], [-1, -1], [0, 0]], "alpha": 1, "A": None}
    ],
    "theorem-1.1-ii": [  # copies never lead alone
        {"kind": "tie-rich-exact", "tokens": [[1, 1], [1, 1], [-1, 1]], "alpha": 1, "A": None}
    ],
    "lemma-4.2-corner": [  # no token at the corner, or a negative coordinate
        {"kind": "random-exact", "tokens": [[1, 2], [2, 1]], "alpha": 1, "A": None},
        {"kind": "random-exact", "tokens": [[-1, 2], [3, 2]], "alpha": 1, "A": None},
    ],
    "lemma-4.3-sphere": [
        {"kind": "random-exact", "tokens": [[3, 4], [1, 0]], "alpha": 1, "A": None, "layers": 2},
        {"kind": "random-float", "tokens": [[3.0, 4.0], [1.0, 0.0]], "alpha": 1, "A": None, "layers": 2},
    ],
    "fact-10": [  # two layers are not enough for the trap to close
        {"kind": "integers", "tokens": [[8], [1]], "alpha": 1, "A": None, "layers": 2}
    ],
    "counterexample-hull": [{"kind": "pair-exact", "tokens": [[0, 1], [2, 3]], "V": [["2", "0"], ["0", "2"]]}],
    "counterexample-frank-wolfe": [  # symmetric particles do contract to 0, and the textbook rate holds for a while
        {"kind": "constant-exact", "tokens": [[1], [-1]], "steps": ["1/4"] * 30},
        {"kind": "constant-exact", "tokens": [[1], [2]], "steps": ["1/4"] * 30},
        {"kind": "open-loop-exact", "tokens": [[3], [-1]], "steps": ["2/3", "1/2"]},
    ],
}
BROKEN_CASES = [(claim, k) for claim, cases in BROKEN.items() for k in range(len(cases))]


@pytest.mark.parametrize(("claim", "k"), BROKEN_CASES, ids=[f"{claim}-{k}" for claim, k in BROKEN_CASES])
def test_a_claim_is_violated_where_its_hypothesis_is_broken(claim, k, cli, tmp_path):
    path = tmp_path / "case.json"
    path.write_text(json.dumps({"schema": "hardmax.violation/1", "claim": claim, "case": BROKEN[claim][k]}))
    code, out = cli("verify", "--replay", path, "--json")
    assert code == 6
    assert "stopped with" not in json.loads(out)["claims"][0]["first"]


def test_an_attention_layer_of_the_package_is_really_asked():
    assert definition.package_attention(((1, 0), (3, 0)), None) == ((3.0, 0.0), (3.0, 0.0))
    assert definition.far_apart(((1.0,), (2.0,)), ((1.0,), (2.1,))) == 1
