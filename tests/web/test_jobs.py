"""What workers compute, in this process: other data, other models, no model, and the worker's own loop."""

import io
import json

import pytest

import hardmax as hx
from hardmax.errors import BadInput
from hardmax.sentiment import files
from hardmax.sentiment.files import load_model
from hardmax.web import jobs, model_jobs, worker


@pytest.fixture(autouse=True)
def _own_setup(monkeypatch):
    monkeypatch.setattr(model_jobs, "_SETUP", {"model": "imdb-words", "data": None})


def _reviews(path, rows):
    path.write_text("\n".join(json.dumps({"text": t, "label": c}) for t, c in rows))
    return str(path)


def test_data_that_the_server_was_started_with_is_predicted_whole(tmp_path):
    rows = [("a great film", "pos"), ("boring and awful", "neg"), ("zxqwv", "neg"), ("awful", "pos")]
    jobs.JOBS["setup"]({"data": _reviews(tmp_path / "mine.jsonl", rows)})
    found = jobs.corpus({"model": None})
    assert (found["available"], found["data"], found["n"], found["note"]) == (True, "mine.jsonl", 4, "")
    model = load_model("imdb-words")
    assert [r["predicted"] for r in found["reviews"]] == [hx.load("imdb-words").explain(t).label for t, _ in rows]
    assert found["accuracy"] == sum(r["label"] == r["predicted"] for r in found["reviews"]) / 4
    assert [r["id"] for r in found["reviews"]] == [0, 1, 2, 3]
    assert found["reviews"][2]["leaders"] == []
    assert {c["class"] for c in found["histogram"]} == set(model.classes)


def test_data_that_does_not_fit_the_model_is_not_available_and_says_why(tmp_path):
    jobs.setup({"data": _reviews(tmp_path / "odd.jsonl", [("x", "maybe"), ("y", "no"), ("z", "yes")])})
    found = jobs.corpus({"model": None})
    assert found["available"] is False
    assert "maybe" in found["reason"]
    jobs.setup({"data": str(tmp_path / "gone.csv")})
    assert "gone.csv" in jobs.corpus({"model": None})["reason"]


def test_a_model_folder_comes_first_under_its_own_name(tmp_path):
    folder = load_model("imdb-words").save(tmp_path / "mine")
    jobs.setup({"model": str(folder)})
    listed = jobs.models({})["models"]
    assert [m["name"] for m in listed] == ["mine", *files.shipped()]
    assert jobs.explain({"text": "good"})["model"] == "mine"
    with pytest.raises(BadInput, match="there is no model"):
        jobs.explain({"text": "good", "model": str(folder)})  # names only, no paths


def test_without_any_model_the_reason_is_given(monkeypatch):
    monkeypatch.setattr(files, "shipped", list)
    jobs.setup({"model": None})
    assert jobs.models({}) == {"schema": "hardmax.models/1", "models": [], "reason": "no model is installed"}
    assert "there is no model" in jobs.corpus({"model": None})["reason"]
    with pytest.raises(BadInput, match="hardmax train"):
        jobs.explain({"text": "good"})
    assert jobs.warm({"job": "explain"}) == {"ready": "explain"}  # a worker starts all the same


def test_a_long_text_in_many_dimensions_is_shown_as_its_shadow(monkeypatch):
    whole = jobs.explain({"text": "good film, bad end"})
    monkeypatch.setattr("hardmax.web.limits.TRACE", 3)
    found = jobs.explain({"text": "good film, bad end"})
    assert (whole["trace"]["shadow"], found["trace"]["shadow"]) == (False, True)
    last = found["trace"]["positions"][-1]
    assert last.shape == (len(found["trace"]["terms"]), 2)
    assert (last @ found["decoder"]["v"]).mean() + found["decoder"]["b"] == pytest.approx(found["logit"])


@pytest.mark.parametrize("job", sorted(jobs.EXAMPLES))
def test_every_job_can_be_warmed(job):
    assert jobs.warm({"job": job}) == {"ready": job}


def test_a_worker_answers_line_by_line_and_survives_what_goes_wrong(monkeypatch, capsys):
    def broken(body):
        raise RuntimeError("the details")

    def hungry(body):
        raise MemoryError

    monkeypatch.setitem(jobs.JOBS, "broken", broken)
    monkeypatch.setitem(jobs.JOBS, "hungry", hungry)
    asked = [("models", {}), ("explain", {"text": "x", "model": "nix"}), ("broken", {}), ("hungry", {}), ("models", {})]
    lines = b"".join(json.dumps({"job": j, "body": b}).encode() + b"\n" for j, b in asked)
    out = io.BytesIO()
    worker.serve(io.BytesIO(lines), out)
    answers = out.getvalue().split(b"\n")[:-1]
    assert [a[:3] for a in answers] == [b"200", b"400", b"500", b"400", b"200"]
    assert b"the details" not in answers[2]
    assert "the details" in capsys.readouterr().err
    assert answers[0] == answers[4]
