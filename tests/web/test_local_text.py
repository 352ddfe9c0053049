"""The Sentiment screen without a server: js/local_text.js gives the answers of web/text_jobs.py, to 1e-9."""

import json
import subprocess

import numpy as np
import pytest

from cases import cases
from hardmax.io.documents import json_text
from hardmax.sentiment.export.javascript import export_javascript
from hardmax.sentiment.files import load_model
from hardmax.web import text_jobs
from hardmax.web.bundle import STATIC
from programs import node

WRITTEN = [
    "A great film.", "This was not a good movie. The plot is boring, but the music was great.", "Not bad at all!",
    "Ein großartiger Film? <b>Great</b> music, 😀 терпимо, 電影, سيء: but the plot is dull & predictable.",
    "zxqwv bnmpl qqrrtt", "", "great great great", "good! ! really ? good", "Bad! so? ! bad !",
    "e\u0301 good 👍🏽 don\u2019t",
]  # fmt: skip
RUN = """
import {{ load }} from {module};
import {{ textAnswers }} from {answers};
import {{ readFileSync }} from "node:fs";
const ask = textAnswers(await load()), found = [];
for (const text of JSON.parse(readFileSync(0, "utf8"))) found.push(await ask["/api/explain"]({{ text }}));
const wrong = await ask["/api/explain"]({{ text: "good", model: "none" }}).catch(({{ what }}) => what);
console.log(JSON.stringify({{ models: await ask["/api/models"](), found, wrong }}));
"""


def _texts(model, count):
    """Texts of known and unknown words with points between them; repeated words; long ones."""
    rng = np.random.default_rng(5)
    words = [term for term in model.vocabulary.terms if " " not in term]
    pool = ["the", "a", "good", "not", "bad", "film", "!", "?", ".", "zzqx", "great", "plot", *words[:400]]
    texts = []
    for size in rng.integers(1, 90, size=count).tolist():
        some = [pool[k] if k < len(pool) else words[k] for k in rng.integers(2 * len(pool), size=size).tolist()]
        texts.append(" ".join(some))
    return texts


@pytest.mark.parametrize("name", ["imdb-words", "imdb"])
def test_the_page_answers_like_the_server(name, tmp_path):
    model = load_model(name)
    texts = [*WRITTEN, *_texts(model, cases(25, 250))]
    folder = export_javascript(model, tmp_path / "model")
    script = RUN.format(
        module=json.dumps((folder / "hardmax.js").as_uri()),
        answers=json.dumps((STATIC / "js" / "local_text.js").as_uri()),
    )
    done = subprocess.run([node(), "--input-type=module", "-e", script], input=json.dumps(texts), capture_output=True,
                          text=True, check=True)  # fmt: skip
    told = json.loads(done.stdout)
    here = next(one for one in text_jobs.models({})["models"] if one["name"] == name)
    assert told["models"] == {"schema": "hardmax.models/1", "models": [json.loads(json_text(here))], "reason": None}
    assert told["wrong"] == "there is no model 'none'"
    for text, ours in zip(texts, told["found"], strict=True):
        theirs = json.loads(json_text(text_jobs.explain({"model": name, "text": text})))
        _ordered(ours, theirs)
        _same(ours, theirs, text)


def _ordered(ours, theirs):
    """Both rankings by name, after a check that they rank alike wherever more than rounding decides."""
    for kind, key, size in (("words", "word", "effect"), ("leaders", "word", "contribution")):
        for one, other in zip(ours[kind], theirs[kind], strict=True):
            assert abs(abs(one[size]) - abs(other[size])) < 1e-9, kind
        for answer in (ours, theirs):
            answer[kind] = sorted(answer[kind], key=lambda entry, key=key: entry[key])


def _same(ours, theirs, where):
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys(), where
        for key in theirs:
            _same(ours[key], theirs[key], f"{where}: {key}")
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs), where
        for k, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            _same(one, other, f"{where}[{k}]")
    elif isinstance(theirs, float):
        assert abs(ours - theirs) < 1e-9, (where, ours, theirs)
    else:
        assert ours == theirs, where
