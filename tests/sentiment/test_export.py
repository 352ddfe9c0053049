"""Exported models: JavaScript under node and ONNX give the numbers of Python."""

import json
import subprocess

import numpy as np
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hardmax as hx
from cases import cases
from hardmax.errors import BadInput
from hardmax.sentiment.explain import explain
from hardmax.sentiment.export.javascript import export_javascript
from hardmax.sentiment.export.onnx import export_onnx, term_matrix
from hardmax.sentiment.files import load_model
from hardmax.text.words import split
from programs import node

ODD = [
    "", "!", "...", "A great film. Not bad at all!", "<b>GOOD</b>&amp;bad <br/>dull", "a<b and c>d",
    "&#8217;t don&rsquo;t",
    "http://a.b/c?d=1 www.x.org WwW.x.org see https://ü.de", "e\u0301te\u0301 Ünïcode STRASSE ﬁn",
    "很好的电影。不好\uff01", "👍🏽 👩\u200d👩\u200d👧 🇩🇪🇫🇷 ❤️", "मुझे यह फ़िल्म पसंद है।", "ฉันชอบหนังเรื่องนี้",
    "كان الفيلم رائعًا؟", "İstanbul DON\u2019T \u2019tis rock'n'roll",
    "&notit; &#x1F600; &#0; &#128; &#xD800; &bogus; &AMP;", "one.two 3.5 a..b\u2026c\nnew line",
    "\u200d\u200b\ufeff x\u00ady", "<a href='x y'>link</a> <!-- no --> <p class=\"a\">para</p> <unknown>",
    "good<script>bad()</script> <STYLE media='a'>b</Style >film <script> <style>x</style>", "I\u0307yi İYİ",
    "한국어 영화 \u1112\u1161\u11ab", "\U0001d518\U0001d52b 𐐀𐐨 🀄",
]  # fmt: skip
RUN = """
import { load } from %s;
import { readFileSync } from "node:fs";
const model = await load(), texts = JSON.parse(readFileSync(0, "utf8"));
const places = (text, at) => Array.from(text.slice(0, at)).length;
console.log(JSON.stringify(texts.map((text) => ({
  words: model.splitter.split(text).map((w) => [w.form, places(text, w.start), places(text, w.end), w.sentence]),
  predicted: model.predict(text), explained: model.explain(text),
}))));
"""


def _under_node(folder, texts):
    script = RUN % json.dumps((folder / "hardmax.js").as_uri())
    done = subprocess.run([node(), "--input-type=module", "-e", script], input=json.dumps(texts), capture_output=True,
                          text=True, timeout=120)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _texts(model, count):
    rng = np.random.default_rng(0)
    terms = model.vocabulary.terms
    return [" ".join(terms[k] for k in rng.integers(len(terms), size=n)) for n in rng.integers(1, 60, size=count)]


@pytest.fixture(scope="module", params=["imdb", "imdb-words"])
def exported(request, tmp_path_factory):
    model = load_model(request.param)
    return model, export_javascript(model, tmp_path_factory.mktemp("js") / "model")


def test_javascript_gives_the_numbers_of_python(exported):
    model, folder = exported
    texts = [*ODD, *_texts(model, 15)]
    clf = hx.HardmaxClassifier.from_model(model)
    sure = clf.predict_proba(texts)
    for text, row, found in zip(texts, sure, _under_node(folder, texts), strict=True):
        ex = clf.explain(text)
        predicted, explained = found["predicted"], found["explained"]
        assert predicted["label"] == ex.label, text
        assert np.allclose(predicted["probabilities"], row, rtol=0, atol=1e-9)
        assert abs(explained["logit"] - ex.logit) < 1e-9
        assert abs(explained["bias"] + sum(w["contribution"] for w in explained["words"]) - ex.logit) < 1e-9
        leaders = {leader.word: leader for leader in ex.leaders}
        assert {leader["word"] for leader in explained["leaders"]} == set(leaders), text
        for leader in explained["leaders"]:
            mine = leaders[leader["word"]]
            assert abs(leader["contribution"] - mine.contribution) < 1e-9
            assert (leader["since"], set(leader["followers"])) == (mine.since, set(mine.followers))


def test_javascript_finds_the_words_of_python(exported):
    _, folder = exported
    for text, found in zip(ODD, _under_node(folder, ODD), strict=True):
        assert found["words"] == [[w.form, w.start, w.end, w.sentence] for w in split(text)], text


TEXTS = st.lists(
    st.one_of(
        st.text(max_size=8),
        st.sampled_from(
            [
                *" .!?'\u2019&;<>/#\u00ad\u200d\u0301\ufe0f",
                "&amp;",
                "<br>",
                "http://",
                "www.",
                "e\u0301",
                "👩",
                "จ",
                "<script>",
                "</script>",
                "<style a>",
                "</style>",
                "İ",
            ]
        ),
    ),
    max_size=30,
).map("".join)


@pytest.mark.slow
def test_javascript_finds_the_words_of_python_in_any_text(tmp_path):
    folder = export_javascript(load_model("imdb-words"), tmp_path / "model")
    seen = []

    @settings(max_examples=cases(600, 6000), database=None, derandomize=True, deadline=None)
    @given(TEXTS.filter(lambda text: not any(0xD800 <= ord(c) < 0xE000 for c in text)))
    def collect(text):
        seen.append(text)

    collect()
    for text, found in zip(seen, _under_node(folder, seen), strict=True):
        assert found["words"] == [[w.form, w.start, w.end, w.sentence] for w in split(text)], repr(text)


@pytest.mark.parametrize(("classes", "damping"), [(2, 0.0), (4, 0.0), (4, 0.6)])
@pytest.mark.parametrize("layers", [0, 3])
def test_small_models_of_any_shape_agree_in_all_three(tmp_path, classes, layers, damping):
    from hardmax.sentiment.model import SentimentModel
    from hardmax.text.vocabulary import Vocabulary

    rng = np.random.default_rng(classes + layers)
    rows = 1 if classes == 2 else classes
    terms = [f"w{k}" for k in range(12)] + ["w1 w2"]
    vectors = rng.standard_normal((13, 3))
    vectors[3] = vectors[4]  # two terms at one place
    vectors[5] = -vectors[6]
    model = SentimentModel(Vocabulary(terms, 2), vectors, rng.standard_normal((rows, 3)), rng.standard_normal(rows),
                           0.7, layers, tuple(f"c{k}" for k in range(classes)), {}, 2.5, damping=damping)  # fmt: skip
    texts = ["", "w3 w4", "w5 w6", *(" ".join(f"w{k}" for k in rng.integers(14, size=9)) for _ in range(40))]
    session = onnxruntime.InferenceSession(str(export_onnx(model, tmp_path / "m.onnx")))
    logits, sure = session.run(None, {"terms": term_matrix(model, texts)})
    assert np.abs(logits - model.logits(texts)).max() < 1e-9
    assert np.abs(sure - model.probabilities(texts)).max() < 1e-9
    folder = export_javascript(model, tmp_path / "js")
    for k, found in enumerate(_under_node(folder, texts)):
        assert np.allclose(found["predicted"]["logits"], logits[k], rtol=0, atol=1e-9), texts[k]
        assert np.allclose(found["predicted"]["probabilities"], sure[k], rtol=0, atol=1e-9), texts[k]
        ex = explain(model, texts[k])
        effects = {word["word"]: word["effect"] for word in found["explained"]["words"]}
        assert effects == pytest.approx({word.word: word.effect for word in ex.words}, abs=1e-9), texts[k]


def test_onnx_gives_the_numbers_of_python(tmp_path):
    for name in ("imdb", "imdb-words"):
        model = load_model(name)
        session = onnxruntime.InferenceSession(str(export_onnx(model, tmp_path / f"{name}.onnx")))
        texts = [*ODD, *_texts(model, 60)]
        logits, sure = session.run(None, {"terms": term_matrix(model, texts)})
        assert np.abs(logits - model.logits(texts)).max() < 1e-9
        assert np.abs(sure - model.probabilities(texts)).max() < 1e-9


def test_the_command_writes_both_and_refuses_the_rest(tmp_path, capsys):
    from hardmax.cli.main import run

    def call(*words):
        with pytest.raises(SystemExit) as done:
            run(["export", "imdb-words", *words])
        return done.value.code, capsys.readouterr()

    code, told = call("--to", "js", "-o", str(tmp_path / "js"), "--json")
    assert code == 0
    assert {p.rsplit("/", 1)[1] for p in json.loads(told.out)["files"]} == {
        "README.md", "config.json", "hardmax.js", "terms.txt", "weights.bin",
    }  # fmt: skip
    assert call("--to", "js", "-o", str(tmp_path / "js"))[0] == 3
    assert call("--to", "js", "-o", str(tmp_path / "js"), "--force")[0] == 0
    assert call("--to", "onnx", "-o", str(tmp_path / "m.onnx"))[0] == 0
    assert call("--to", "onnx", "-o", str(tmp_path / "m.bin"))[0] == 3
    assert call("--to", "tflite", "-o", str(tmp_path / "m"))[0] == 2
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "x").write_text("x")
    with pytest.raises(BadInput, match="not replaced"):
        export_javascript(load_model("imdb-words"), tmp_path / "mine")
