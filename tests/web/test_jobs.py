"""What workers compute, in this process: other data, other models, no model, and errors."""

import json

import pytest

import hardmax as hx
from hardmax.construction.network import Network
from hardmax.errors import BadInput
from hardmax.sentiment import files
from hardmax.sentiment.explain import explain
from hardmax.sentiment.files import load_model
from hardmax.web import jobs, text_jobs
from tiny_models import two_classes


@pytest.fixture(autouse=True)
def _own_setup(monkeypatch):
    monkeypatch.setattr(text_jobs, "_SETUP", {"model": "imdb-words", "data": None})


def _reviews(path, rows):
    path.write_text("\n".join(json.dumps({"text": t, "label": c}) for t, c in rows))
    return str(path)


def test_data_that_the_server_was_started_with_is_predicted_whole(tmp_path):
    rows = [("a great film", "pos"), ("boring and awful", "neg"), ("zxqwv", "neg"), ("awful", "pos")]
    jobs.setup({"data": _reviews(tmp_path / "mine.jsonl", rows)})
    found = jobs.corpus({"model": None})
    assert (found["available"], found["data"], found["n"], found["note"]) == (True, "mine.jsonl", 4, "")
    model = load_model("imdb-words")
    assert [r["predicted"] for r in found["reviews"]] == [hx.load("imdb-words").explain(t).label for t, _ in rows]
    assert found["accuracy"] == sum(r["label"] == r["predicted"] for r in found["reviews"]) / 4
    assert [r["id"] for r in found["reviews"]] == [0, 1, 2, 3]
    assert found["reviews"][2]["leaders"] == []
    assert {c["class"] for c in found["histogram"]} == set(model.classes)


def test_without_attention_the_words_that_speak_for_the_label_take_the_place_of_leaders(tmp_path):
    own = two_classes(layers=0)
    rows = [("a great film, not dull", "positive"), ("dull plot", "negative"), ("zxqwv", "negative")]
    jobs.setup({"model": str(own.save(tmp_path / "own")), "data": _reviews(tmp_path / "mine.jsonl", rows)})
    found = jobs.corpus({"model": None})
    for review, (text, _) in zip(found["reviews"], rows, strict=True):
        assert review["leaders"] == [word.word for word in explain(own, text).reasons]
    for group in found["histogram"]:
        mine = [r for r in found["reviews"] if r["predicted"] == group["class"]]
        assert {row["word"] for row in group["leaders"]} == {word for r in mine for word in r["leaders"]}
        for row in group["leaders"]:
            texts = [r["text"] for r in mine if row["word"] in r["leaders"]]
            parts = [w.contribution for t in texts for w in explain(own, t).words if w.word == row["word"]]
            assert (row["texts"], row["part"]) == (len(texts), len(texts) / len(mine))
            assert row["contribution"] == pytest.approx(sum(parts) / len(parts))


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
    decoder = found["decoder"]
    score = (last @ decoder["v"]).sum() / (len(last) + decoder["neutral_words"]) + decoder["b"]
    assert score == pytest.approx(found["logit"])


@pytest.mark.parametrize("job", sorted(jobs.EXAMPLES))
def test_every_job_can_be_warmed(job):
    assert jobs.warm({"job": job}) == {"ready": job}


def test_whatever_goes_wrong_is_an_answer(monkeypatch, capsys):
    def broken(body):
        raise RuntimeError("the details")

    def hungry(body):
        raise MemoryError

    monkeypatch.setitem(jobs.JOBS, "broken", broken)
    monkeypatch.setitem(jobs.JOBS, "hungry", hungry)
    asked = [("models", {}), ("explain", {"text": "x", "model": "nix"}), ("broken", {}), ("hungry", {}), ("models", {})]
    answers = [jobs.answer(job, body) for job, body in asked]
    assert [a.status for a in answers] == [200, 400, 500, 400, 200]
    assert answers[1].json()["error"]["what"] == "there is no model 'nix'"
    assert b"the details" not in answers[2].text
    assert "this is a bug in hardmax" in answers[2].json()["error"]["what"]
    assert "the details" in capsys.readouterr().err
    assert answers[0] == answers[4]


def test_a_constructed_network_answers_its_sequences_once(monkeypatch):
    asked = []
    call = Network.__call__
    monkeypatch.setattr(
        Network, "__call__", lambda net, *given, **options: asked.append(1) or call(net, *given, **options)
    )
    found = jobs.construct({
        "sequences": [{"tokens": [[0.0, 0.0], [1.0, 1.0]], "label": "a"}, {"tokens": [[0.0, 1.0]], "label": "b"}],
        "style": "bitwise", "pool": "mean",
    })  # fmt: skip
    assert (found["answers"], found["correct"]) == (["a", "b"], [True, True])
    assert len(asked) == 1
