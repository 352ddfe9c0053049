"""The numbers of the API are those of Python."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hardmax as hx
from hardmax.cloud.presets import random_cloud
from hardmax.dynamics.records import equilibrium_document, trajectory_document
from hardmax.io.documents import json_text
from hardmax.sentiment.explain import explain
from hardmax.sentiment.files import load_model
from hardmax.web import limits
from hardmax.web.api import corpus_page

TEXT = "A great film, never dull; the ending is awful, and I would not watch it again! Great."
MATRIX = [[2.0, 0.5], [0.5, 1.0]]


def _plain(document):
    return json.loads(json_text(document))


@given(
    st.lists(st.lists(st.integers(-4, 4).map(lambda q: q / 4), min_size=2, max_size=2), min_size=1, max_size=12),
    st.sampled_from([0.1, 0.5, 1.0, 3.0]),
    st.sampled_from([None, MATRIX]),
    st.integers(0, 6),
)
@settings(derandomize=True, deadline=None, max_examples=15)
def test_simulate_and_limit_give_the_documents_of_python(client, tokens, alpha, matrix, layers):
    body = {"tokens": tokens, "alpha": alpha, "matrix": matrix}
    ours = client.post("/api/simulate", json={**body, "layers": layers})
    assert ours.status_code == 200
    assert ours.json() == _plain(trajectory_document(hx.simulate(np.array(tokens), alpha, matrix, layers)))
    eq = hx.limit(np.array(tokens), alpha, matrix)
    answer = client.post("/api/limit", json=body).json()
    assert answer["verified"] is True
    assert {k: v for k, v in answer.items() if k not in ("verified", "reason", "certificate")} == _plain(
        equilibrium_document(eq)
    )
    assert sum(answer["certificate"]["roles"].values()) == len(tokens)


@pytest.mark.parametrize(
    ("name", "option", "rule"),
    [
        ("softmax", {"beta": 9.0}, hx.Softmax(9.0)),
        ("localmax", {"eps": 0.2}, hx.Localmax(0.2)),
        ("uniform", {}, hx.Uniform()),
    ],
)
def test_other_rules_give_the_numbers_of_python(client, name, option, rule):
    Z = random_cloud("ball", 20, 3, 4)
    answer = client.post("/api/simulate", json={"tokens": Z.tolist(), "layers": 5, "rule": name, **option}).json()
    assert answer["trajectory"] == hx.simulate(Z, layers=5, rule=rule).tokens.tolist()
    assert answer["rule"]["name"].lower() == name


def test_a_limit_without_a_certificate_says_what_is_known(client):
    # The leader of layer 502 is beyond float64, and with so many tokens rational arithmetic is not tried.
    Z = np.concatenate([hx.preset("late-leader"), 0.2 * random_cloud("ball", 320, 2, 1) + 0.5])
    with pytest.raises(hx.NotCertified) as caught:
        hx.limit(Z, 1.0)
    answer = client.post("/api/limit", json={"tokens": Z.tolist(), "alpha": 1.0})
    assert answer.status_code == 200
    found = answer.json()
    assert (found["certified"], found["verified"], found["certificate"]) == (False, False, None)
    assert found["reason"] == str(caught.value)
    assert found["limit"] == caught.value.known["points"].tolist()
    assert found["open"] == [6]
    assert sorted(found["certain"] + found["open"]) == list(range(len(Z)))


def test_explain_gives_the_explanation_of_python_and_the_way_of_every_term(client):
    model = load_model("imdb")
    ex = explain(model, TEXT)
    answer = client.post("/api/explain", json={"text": TEXT}).json()
    here, there = _plain(ex.as_dict()), dict(answer)
    # The server may run the text again where compiled code here knows what changes: effects have other last digits.
    effects = [[word.pop("effect") for word in one["words"]] for one in (here, there)]
    assert effects[0] == pytest.approx(effects[1], abs=1e-11)
    assert {key: there[key] for key in here} == here
    assert answer["model"] == "imdb"
    trace, decoder = answer["trace"], answer["decoder"]
    assert trace["positions"] == ex.flow.states.tolist()
    assert trace["terms"] == list(ex.term_names)
    assert trace["shadow"] is False
    last = np.array(trace["positions"][-1])
    mean = (last @ decoder["v"]).sum() / (len(last) + decoder["neutral_words"])
    assert np.isclose(answer["logit"], decoder["b"] + mean)
    assert np.isclose(sum(trace["contributions"]) + answer["bias"], answer["logit"])


def test_a_text_without_a_known_word_is_answered_with_the_bias(client):
    answer = client.post("/api/explain", json={"text": "zxqwv", "model": "imdb-words"}).json()
    assert answer["words"] == []
    assert answer["ignored"] == ["zxqwv"]
    assert answer["logit"] == answer["bias"]
    assert answer["trace"]["terms"] == []


def test_models_are_the_shipped_ones_with_their_own_first(client):
    answer = client.get("/api/models").json()
    assert [m["name"] for m in answer["models"]] == ["imdb", "imdb-words"]
    assert answer["reason"] is None
    for one in answer["models"]:
        model = load_model(one["name"])
        assert (one["dim"], one["layers"], one["alpha"]) == (model.dim, model.layers, model.alpha)
        assert one["terms"] == len(model.vocabulary)
        assert one["classes"] == list(model.classes)
        assert one["labels"] == model.card.get("labels", {})


@pytest.mark.parametrize("style", ["bitwise", "two", "narrow"])
@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_construct_gives_the_network_of_python_stage_by_stage(client, style, pooling):
    rng = np.random.default_rng(5)
    sequences = [rng.integers(-8, 9, (n, 3)) / 4 for n in (3, 5, 2, 4)]
    labels = ["cat", 7, "cat", "dog"]
    body = {"sequences": [{"tokens": s.tolist(), "label": c} for s, c in zip(sequences, labels, strict=True)]}
    answer = client.post("/api/construct", json={**body, "style": style, "pool": pooling}).json()
    net = hx.construct(sequences, labels, style=style, pool=pooling)
    for key in ("blocks", "width", "parameters", "bound", "style", "pool"):
        assert answer[key] == getattr(net, key)
    assert answer["exact"] is True
    assert answer["correct"] == [True] * 4
    assert answer["answers"] == labels
    assert "coordinates 0 and 1" in answer["projection"]
    stages = net.stages(sequences)
    assert [s["name"] for s in answer["stages"]] == list(stages.names)
    for ours, theirs in zip(answer["stages"], stages, strict=True):
        assert ours["explanation"] != ours["name"]
        assert ours["tokens"] == [c[:, :2].tolist() for c in theirs.clouds]


def test_sequences_that_no_network_can_tell_apart_are_refused_with_their_indices(client):
    twice = [{"tokens": [[0, 1], [1, 0]], "label": "a"}, {"tokens": [[1, 0], [0, 1]], "label": "b"}]
    answer = client.post("/api/construct", json={"sequences": twice})
    assert answer.status_code == 400
    assert "sequences 0 and 1" in answer.json()["error"]["what"]


def _whole(client, **query):
    answer = client.get("/api/corpus", params=query).json()
    while not answer["ready"]:
        answer = client.get("/api/corpus", params=query).json()
    return answer


def test_the_corpus_is_a_fixed_sample_predicted_by_the_model(client):
    answer = _whole(client, limit=100)
    assert (answer["available"], answer["n"], answer["total"], answer["pages"]) == (True, limits.SAMPLE, 1000, 10)
    model = load_model("imdb")
    for one in answer["reviews"][:10]:
        full = client.get(f"/api/corpus/{one['id']}").json()
        ex = explain(model, full["text"])
        assert one["predicted"] == ex.label
        assert np.isclose(one["probability"], ex.probability)
        assert set(one["leaders"]) == {leader.word for leader in ex.leaders if leader.since is not None}
        assert full["text"].split()[:5] == one["excerpt"].split()[:5]
        assert len(one["excerpt"]) <= limits.EXCERPT + 4
    assert sum(sum(c["counts"]) for c in answer["leader_counts"]) == limits.SAMPLE


def test_filters_and_pages_of_the_corpus_partition_it(client):
    right, wrong = (_whole(client, wrong=flag)["total"] for flag in ("false", "true"))
    assert right + wrong == limits.SAMPLE
    assert _whole(client)["accuracy"] is None  # the model was trained on these reviews
    by_label = [_whole(client, label=str(label))["total"] for label in _whole(client)["classes"]]
    assert sum(by_label) == limits.SAMPLE
    assert min(by_label) > 300
    assert _whole(client, label="neither")["total"] == 0
    word = _whole(client)["histogram"][0]["leaders"][0]["word"]
    led = _whole(client, leader=word, limit=100)
    assert led["total"] >= _whole(client)["histogram"][0]["leaders"][0]["texts"]
    assert all(word in r["leaders"] for r in led["reviews"])
    pages = [_whole(client, wrong="true", limit=7, page=p)["reviews"] for p in range(1, wrong // 7 + 2)]
    ids = [r["id"] for page in pages for r in page]
    assert len(ids) == len(set(ids)) == wrong
    beyond = _whole(client, wrong="true", limit=7, page=99_999)  # as far as a link goes
    assert (beyond["page"], beyond["reviews"]) == (beyond["pages"], pages[-1])


def test_a_model_or_data_that_is_not_there_is_named(client):
    for query, found in (({"model": "nix"}, "imdb, imdb-words"), ({"data": "nix"}, "imdb")):
        answer = client.get("/api/corpus", params=query)
        assert answer.status_code == 400
        assert answer.json()["error"]["found"] == found
    assert client.get("/api/corpus/999999").status_code == 404


def test_a_sample_that_is_not_available_says_why():
    missing = {"available": False, "reason": "no data here", "data": "x.csv"}
    assert corpus_page(missing, bool) == {
        "schema": "hardmax.corpus/1", "available": False, "ready": True, "reason": "no data here", "data": "x.csv"
    }  # fmt: skip
