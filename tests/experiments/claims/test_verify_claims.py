"""Running claims: they hold, the same seed gives the same cases, violations are saved, an interruption is kept."""

import json
from dataclasses import replace
from itertools import pairwise

import pytest

from hardmax.errors import BadInput
from hardmax.experiments.case import Case
from hardmax.experiments.claims import claim as module
from hardmax.experiments.claims import verify as runner
from hardmax.experiments.claims.claim import Claim, Undecided, claims

EVERY = pytest.mark.parametrize("what", claims(), ids=lambda one: one.name)


@EVERY
def test_the_claim_holds_on_every_kind_of_case(what):
    report = runner.verify([what.name], trials=2 * len(what.kinds) if len(what.kinds) < 9 else len(what.kinds), seed=11)
    (row,) = report.claims
    assert row["violations"] == 0, row["first"]
    assert row["undecided"] <= row["trials"] // 4  # ties that float64 cannot decide
    assert what.trials >= len(what.kinds)


@EVERY
def test_every_claim_says_what_it_is(what):
    assert what.title.endswith(".")
    assert "AFZ2" in what.source or "arXiv" in what.source
    assert what.kinds == tuple(dict.fromkeys(what.kinds))


def test_a_case_depends_on_seed_claim_and_trial_alone():
    (what,) = claims(["fact-2"])
    assert what.case(4, 9) == what.case(4, 9)
    assert what.case(4, 9) != what.case(5, 9)
    assert what.case(4, 9) != what.case(4, 13)
    assert what.case(4, 9).kind == what.kinds[1]


def test_names_are_found_by_their_beginning():
    assert [c.name for c in claims(["theorem-1.1"])] == ["theorem-1.1-i", "theorem-1.1-ii", "theorem-1.1-iii"]
    assert [c.name for c in claims(["fact-1"])] == ["fact-1"]
    assert len(claims(["fact"])) == 10
    assert len(claims()) == 24
    with pytest.raises(BadInput, match="fact-11") as error:
        claims(["fact-11"])
    assert "counterexample-hull" in error.value.found


@pytest.mark.parametrize("trials", [0, -1, 2.5, True, "3"])
def test_a_number_of_trials_below_one_is_refused(trials):
    with pytest.raises(BadInput, match="trials"):
        runner.verify(["fact-3"], trials=trials)


def _claim(check, generate=None):
    """A claim that is not about anything."""
    generate = generate or (lambda rng, kind: Case(kind, {"tokens": tuple((rng.randint(1, 9),) for _ in range(5))}))
    return Claim(
        "claims", "toy", "It holds.", check, source="[AFZ24]", record=False, kinds=("a-exact", "b-exact"), trials=6,
        fields=("tokens",), generate=generate,
    )  # fmt: skip


@pytest.fixture
def toy(monkeypatch):
    def use(check):
        monkeypatch.setattr(runner, "claims", lambda names: [_claim(check)])

    return use


def test_violations_are_counted_and_saved_up_to_a_number(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST_SAVED", 2)
    toy(lambda case: "no." if case.kind == "a-exact" else None)
    report = runner.verify(trials=8, folder=tmp_path / "deep" / "folder", seed=2)
    assert (report.claims[0]["trials"], report.claims[0]["violations"], report.violations) == (8, 4, 4)
    assert [path.name for path in report.files] == ["toy-seed-2-trial-0.json", "toy-seed-2-trial-2.json"]
    first, second = (json.loads(path.read_text()) for path in report.files)
    assert first["sentence"] == "no."
    assert first["case"]["kind"] == "a-exact"
    assert first["seed"] == 2
    assert len(first["smallest"]["tokens"]) == 1
    assert "smallest" not in second  # only the first one is reduced
    assert report.claims[0]["first"] == "no."


def test_nothing_is_written_without_a_violation(toy, tmp_path):
    toy(lambda case: None)
    assert runner.verify(folder=tmp_path / "none").files == ()
    assert not (tmp_path / "none").exists()


def test_what_cannot_be_decided_is_counted_apart(toy):
    def check(case):
        raise Undecided("too late")

    toy(check)
    report = runner.verify(trials=3)
    assert (report.claims[0]["trials"], report.claims[0]["violations"], report.claims[0]["undecided"]) == (3, 0, 3)


def test_an_error_on_the_way_is_a_violation_and_not_the_end(toy):
    def check(case):
        if case.kind == "a-exact":
            raise BadInput("that is nothing")
        raise ZeroDivisionError("by zero")

    toy(check)
    report = runner.verify(trials=4)
    assert report.violations == 4
    assert report.claims[0]["first"] == "the package refused the case: that is nothing"


def test_an_interruption_keeps_the_counts(monkeypatch):
    calls = []

    def check(case):
        calls.append(case)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return None

    monkeypatch.setattr(runner, "claims", lambda names: [_claim(check), _claim(check)])
    report = runner.verify(trials=10)
    assert report.interrupted
    assert [row["trials"] for row in report.claims] == [3]
    assert report.waiting == ("toy", "toy")
    assert report.document()["interrupted"] is True


def test_progress_counts_over_all_claims():
    told = []
    runner.verify(["lemma"], trials=2, progress=lambda done, total, name: told.append((done, total, name)))
    assert [(done, total) for done, total, _ in told] == [(k, 6) for k in range(6)]
    assert told[-1][2] == "[3/3] lemma-4.3-sphere"


def test_the_report_carries_where_it_comes_from_and_can_be_saved(tmp_path):
    report = runner.verify(["lemma-4.1"], trials=1, seed=5)
    saved = json.loads(report.save(tmp_path / "report.json").read_text())
    assert saved["schema"] == "hardmax.verify/1"
    assert saved["seed"] == saved["claims"][0]["seed"] == 5
    assert {"version", "python", "packages", "machine"} <= set(saved)
    with pytest.raises(BadInput, match=r"\.json"):
        report.save(tmp_path / "report.csv")


def test_the_smallest_case_keeps_the_tokens_that_matter():
    what = _claim(lambda case: "seven is there." if (7,) in case["tokens"] else None)
    case = Case("a-exact", {"tokens": ((1,), (7,), (2,), (3,))})
    assert what.smallest(case, "seven is there.")["tokens"] == ((7,),)


def test_the_smallest_case_is_not_one_that_fails_for_another_reason():
    def check(case):
        if len(case["tokens"]) < 3:
            raise BadInput("too few")
        return "token 0 is wrong."

    case = Case("a-exact", {"tokens": ((1,), (2,), (3,), (4,), (5,))})
    assert len(_claim(check).smallest(case, "token 0 is wrong.")["tokens"]) == 3


def test_reducing_gives_up_after_a_while(monkeypatch):
    monkeypatch.setattr(module, "MOST_TRIES", 2)
    case = Case("a-exact", {"tokens": tuple((k,) for k in range(9))})
    assert len(_claim(lambda case: "no.").smallest(case, "no.")["tokens"]) == 7


def test_a_folder_that_cannot_be_created_is_an_error(toy, tmp_path):
    toy(lambda case: "no.")
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot be created"):
        runner.verify(folder=tmp_path / "file" / "inside")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"schema": "hardmax.limit/1"}, "has schema hardmax.limit/1"),
        ({"schema": "hardmax.violation/2"}, "newer"),
        ({"claim": "fact-99"}, "fact-99"),
        ({"claim": ["fact-1"]}, "fact-1"),
        ({"case": None}, "expected an object"),
    ],
)
def test_files_that_are_something_else_are_refused(change, sentence, tmp_path):
    (what,) = claims(["fact-2"])
    document = {"schema": "hardmax.violation/1", "claim": "fact-2", "case": what.case(0, 0).document()}
    path = tmp_path / "case.json"
    path.write_text(json.dumps(document))
    assert runner.replay(path).violations == 0
    path.write_text(json.dumps(document | change))
    with pytest.raises(BadInput, match=sentence):
        runner.replay(path)


@pytest.mark.slow
def test_two_processes_and_a_second_start_give_the_counts_of_one(tmp_path, monkeypatch):
    alone = runner.verify(["lemma-4.3", "one-leader"], trials=120, seed=3)
    together = runner.verify(["lemma-4.3", "one-leader"], trials=120, seed=3, workers=2, folder=tmp_path, resume=True)
    rows = [[{**row, "seconds": 0, "processor_seconds": 0} for row in report.claims] for report in (alone, together)]
    assert rows[0] == rows[1]
    assert together.total["exact"] == sum(row["exact"] for row in together.claims) > 0
    # what is finished is not run again: a check that would fail now is not asked for the first trials
    (one,) = claims(["one-leader"])
    asked = []
    monkeypatch.setattr(type(one), "judge", lambda self, case: asked.append(case) or "wrong")
    again = runner.verify(["one-leader"], trials=120, seed=3, folder=tmp_path, resume=True)
    assert (again.violations, asked) == (0, [])
    more = runner.verify(["one-leader"], trials=150, seed=3, folder=tmp_path, resume=True)
    assert more.violations == 50  # trials 100 to 149: the unfinished last range is run again


def test_resuming_needs_a_folder():
    with pytest.raises(BadInput, match="needs a folder"):
        runner.verify(["lemma-4.3"], trials=1, resume=True)


def test_a_limited_time_runs_all_claims_equally_often_and_resumes(tmp_path, monkeypatch):
    seen = []
    pair = [replace(_claim(lambda case: seen.append(case.kind)), name=name) for name in ("first", "second")]
    monkeypatch.setattr(runner, "claims", lambda names: pair)
    clock = iter(range(0, 10**6, 60))  # every look at the clock takes a minute
    monkeypatch.setattr(runner, "monotonic", lambda: float(next(clock)))
    done = runner.verify(folder=tmp_path, minutes=20)
    first, second = (row["trials"] for row in done.claims)
    assert first >= 100
    assert (first % 50, first - second in (0, 50), done.interrupted) == (0, True, False)
    assert len(seen) == first + second
    assert done.missed == ()
    assert runner.verify(folder=tmp_path / "short", minutes=0).missed == ("second",)
    del seen[first + second :]
    capped = runner.verify(trials=60, folder=tmp_path, minutes=1e6)
    assert capped.total["trials"] == 120
    assert len(seen) == first + second + 20  # trials 50 to 59 of both belong to no finished part


def test_the_rounds_of_a_limited_time_stay_few_and_nearly_equal():
    rounds = list(runner._rounds(42_000, 100))
    assert rounds[:4] == [100, 200, 300, 400]
    assert rounds[-1] == 42_000
    assert len(rounds) < 50
    assert all(after - before <= max(100, before / 4) for before, after in pairwise(rounds))
