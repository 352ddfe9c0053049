"""`hardmax verify` as a person uses it: table, JSON, exit codes, saved cases, interruption."""

import json
from dataclasses import replace

from hardmax.experiments import item
from hardmax.experiments.claims import lemmas
from hardmax.experiments.claims.claim import Undecided, claims


def use(monkeypatch, check):
    """Another check for fact 3."""
    (fact,) = claims(["fact-3"])
    monkeypatch.setitem(item._ITEMS, ("claims", "fact-3"), replace(fact, run=check))


def test_the_table_has_claim_trials_violations_and_seconds(cli):
    code, out, err = cli("verify", "lemma-4.1-extremes", "counterexample-hull", "--trials", 3)
    assert code == 0
    assert err.startswith("checking claims")
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["claim", "trials", "exact", "violations", "seconds", "processor"]
    assert [line[:4] for line in lines[1:4]] == [
        ["lemma-4.1-extremes", "3", "3", "0"],
        ["counterexample-hull", "3", "3", "0"],
        ["all", "6", "6", "0"],
    ]
    assert "seed 0" in out.splitlines()[-1]
    assert cli("verify", "lemma-4.1", "--trials", 1, "--quiet")[2] == ""


def test_json_is_one_document_with_what_was_promised(cli):
    code, out, err = cli("verify", "fact-3", "--trials", 4, "--seed", 9, "--json")
    document = json.loads(out)
    assert (code, err) == (0, "")
    assert document["schema"] == "hardmax.verify/1"
    assert document["seed"] == 9
    (claim,) = document["claims"]
    assert {"name", "statement", "trials", "violations", "seconds", "kinds", "citation", "seed"} <= set(claim)
    assert (claim["name"], claim["trials"], claim["violations"]) == ("fact-3", 4, 0)
    assert {"version", "python", "packages", "machine"} <= set(document)


def test_the_list_names_every_claim_without_running_one(cli):
    code, out, _ = cli("verify", "--list")
    assert code == 0
    assert all(name in out for name in (claim.name for claim in claims()))
    code, out, _ = cli("verify", "--list", "--json", "theorem-1.1")
    assert [c["name"] for c in json.loads(out)["claims"]] == ["theorem-1.1-i", "theorem-1.1-ii", "theorem-1.1-iii"]


def test_a_violation_is_said_saved_and_replayed(cli, monkeypatch, tmp_path):
    folder = tmp_path / "found"
    with monkeypatch.context() as patch:
        patch.setattr(lemmas, "package_attention", lambda tokens, score: tokens)
        code, out, err = cli("verify", "lemma-4.1", "--trials", 4, "-o", folder)
        assert code == 6
        assert "violated: the attention layer of the package" in out
        (path, *_) = sorted(folder.iterdir())
        assert f"saved {path}; check it again: hardmax verify --replay {path}" in err
        assert cli("verify", "--replay", path)[0] == 6
    code, out, _ = cli("verify", "--replay", path)
    assert code == 0
    assert "lemma-4.1-extremes" in out
    assert "seed" not in out


def test_violations_go_to_a_folder_of_their_own_by_default(cli, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lemmas, "package_attention", lambda tokens, score: tokens)
    assert cli("verify", "lemma-4.1", "--trials", 2)[0] == 6
    assert [p.suffix for p in (tmp_path / "hardmax-violations").iterdir()] == [".json"] * 2


def test_ctrl_c_prints_the_counts_so_far_and_how_to_go_on(cli, monkeypatch):
    seen = []

    def check(case):
        seen.append(case)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return None

    use(monkeypatch, check)
    code, out, err = cli("verify", "fact-2", "fact-3", "fact-4", "--trials", 4, "--seed", 6)
    assert code == 130
    assert out.splitlines()[2].split()[:3] == ["fact-3", "2", "0"]
    assert err.splitlines()[-1] == "  resume: hardmax verify fact-3 fact-4 --seed 6 --trials 4"
    seen.clear()
    code, out, _ = cli("verify", "fact-3", "--trials", 4, "--json")
    assert code == 130
    assert json.loads(out)["interrupted"] is True


def test_undecided_trials_are_shown(cli, monkeypatch):
    def check(case):
        raise Undecided("too late")

    use(monkeypatch, check)
    code, out, _ = cli("verify", "fact-3", "--trials", 2)
    assert code == 0
    assert "undecided: 2 of the trials" in out


def test_wrong_words_are_refused(cli, tmp_path):
    code, out, err = cli("verify", "fact-0")
    assert (code, out) == (3, "")
    assert err.startswith("error: there is no claim 'fact-0'\n  found: theorem-1.1-i")
    assert cli("verify", "--trials", 0)[0] == 2
    assert cli("verify", "fact-1", "--replay", "x.json")[0] == 2
    assert cli("verify", "--replay", tmp_path / "none.json")[0] == 3
    (tmp_path / "file").write_text("")
    assert cli("verify", "-o", tmp_path / "file")[0] == 3
    damaged = tmp_path / "damaged.json"
    damaged.write_text('{"schema": "hardmax.violation/1", "claim": "fact-1", "case": {"kind": "random-exact"}}')
    code, _, err = cli("verify", "--replay", damaged)
    assert code == 3
    assert "no field 'tokens'" in err
