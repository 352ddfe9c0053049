"""Explanations of models made elsewhere agree with the models' own scores."""

import json
import re
import struct

import numpy as np
import pytest

from hardmax.errors import BadInput
from hardmax.sentiment.embeddings import explain_embeddings, load_fasttext, load_model2vec

TEXTS = ["a great film with great acting", "dull , dull plot", "so très bon — unseen words", "", "a"]
LINES = ["a great film", "great acting !", "dull plot", "a dull , dull film", "so so", "so tired of it"]


def written(path, labels, longest=1, minn=0, maxn=0, loss=3, bucket=500, dim=8):
    """A fastText classifier with random numbers, in fastText's own format."""
    rng = np.random.default_rng(0)
    words = ["</s>", *dict.fromkeys(" ".join(LINES).split())]
    parts = [struct.pack("<ii", 793712314, 12)]
    parts.append(struct.pack("<12id", dim, 5, 5, 1, 5, longest, loss, 3, bucket, minn, maxn, 100, 1e-4))
    parts.append(struct.pack("<iiiqq", len(words) + len(labels), len(words), len(labels), 100, -1))
    for kind, names in enumerate((words, [f"__label__{label}" for label in labels])):
        parts += [name.encode() + b"\0" + struct.pack("<qb", 3, kind) for name in names]
    for rows in (len(words) + bucket, len(labels)):
        parts.append(struct.pack("<?qq", False, rows, dim) + rng.normal(size=(rows, dim)).astype("<f4").tobytes())
    path.write_bytes(b"".join(parts))
    return path


@pytest.mark.parametrize("labels", [("neg", "pos"), ("a", "b", "c")])
@pytest.mark.parametrize("options", [{}, {"longest": 3}, {"longest": 2, "minn": 1, "maxn": 4}], ids=["1", "3", "c"])
def test_fasttext_classifiers_are_explained_exactly(tmp_path, labels, options):
    import fasttext

    path = written(tmp_path / "model.bin", labels, **options)
    theirs, model = fasttext.load_model(str(path)).f, load_fasttext(path)
    for text in TEXTS:
        ex = explain_embeddings(model, None, text)
        own = {label.removeprefix("__label__"): p for p, label in theirs.predict(text + "\n", -1, -1.0, "strict")}
        assert ex.label == max(own, key=own.get)
        assert ex.probability == pytest.approx(own[ex.label], abs=2e-5)  # fastText adds 1e-5 to its probabilities
        assert ex.bias + sum(word.contribution for word in ex.words) == pytest.approx(ex.logit, abs=1e-9)
        for word in ex.words:
            if word.word != "</s>":
                cut = " ".join(w for w in text.split() if w != word.word)
                theirs_then = theirs.predict(cut + "\n", -1, -1.0, "strict")
                p = {a.removeprefix("__label__"): b for b, a in theirs_then}[ex.label]
                odds = np.log(ex.probability / (1 - ex.probability)) - word.effect
                assert 1 / (1 + np.exp(-odds)) == pytest.approx(p, abs=2e-5)


def test_vectors_of_a_text_file(tmp_path):
    path = tmp_path / "x.vec"
    path.write_text("2 2\ngood 1 0\ndull -1 0.5\n")
    ex = explain_embeddings(path, [[2.0, 0.0]], "good good dull film", classes=["n", "p"])
    assert ex.logit == pytest.approx(2 * (1 + 1 - 1) / 3)
    assert [word.word for word in ex.reasons] == ["good"]
    assert ex.ignored == ("film", "")


def test_a_model2vec_folder_is_explained(tmp_path):
    import tokenizers
    from safetensors.numpy import save_file

    words = ["[UNK]", "great", "dull", "film", "##s"]
    encoder = tokenizers.Tokenizer(tokenizers.models.WordPiece({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
    encoder.normalizer = tokenizers.normalizers.Lowercase()
    encoder.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    encoder.save(str(tmp_path / "tokenizer.json"))
    matrix = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    save_file({"embeddings": matrix}, tmp_path / "model.safetensors")
    weights, bias = np.random.default_rng(1).normal(size=(3, 4)), np.array([0.1, 0.2, 0.3])
    for unit in (False, True):
        (tmp_path / "config.json").write_text(json.dumps({"normalize": unit}))
        ex = explain_embeddings(load_model2vec(tmp_path), weights, "Great films, zzz dull!", bias=bias)
        mean = matrix[[1, 3, 4, 2]].astype(float).mean(axis=0)
        mean = mean / np.linalg.norm(mean) if unit else mean
        assert list(ex.scores.values()) == pytest.approx((weights @ mean + bias).tolist())
        assert ex.bias + sum(term.contribution for term in ex.terms) == pytest.approx(ex.logit)
        rest = matrix[[3, 4, 2]].astype(float).mean(axis=0)
        rest = weights @ (rest / np.linalg.norm(rest) if unit else rest) + bias
        odds = [s[ex.row] - np.log(np.exp(np.delete(s, ex.row)).sum()) for s in (np.array([*ex.scores.values()]), rest)]
        assert next(w.effect for w in ex.words if w.word == "great") == pytest.approx(odds[0] - odds[1])


def test_views_work_for_foreign_models(tmp_path):
    ex = explain_embeddings({"good": [1.0, 0.0], "dull": [-1.0, 0.5]}, [[3.0, 0.0]], "good, good and dull")
    assert "good" in ex.to_text()
    assert "<table" in ex.to_html()
    assert json.loads(ex.to_json())["words"][0]["word"] == "good"
    assert ex.save(tmp_path / "x.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("vectors", "weights", "more", "says"),
    [
        ({"a": [1.0]}, None, {}, "need weights"),
        ({"a": [1.0], "b": [1.0, 2.0]}, [[1.0]], {}, "same length"),
        ({"a": [1.0]}, [[1.0]], {"classes": ["x"]}, "2 classes"),
        ({"a": [1.0]}, [[np.nan]], {}, "the weights must be finite numbers"),
        ({"a": [1.0]}, "x", {}, "the weights must be finite numbers"),
        ({"a": [1.0]}, [[[1.0]]], {}, r"weights of shape \(1, 1, 1\)"),
        ({"a": [1.0]}, [[1.0]], {"bias": [np.inf]}, "the bias must be finite numbers"),
        ({"a": [np.nan]}, [[1.0]], {}, "the vector of 'a' must be finite numbers"),
        (None, [[1.0]], {}, "cannot be read from a NoneType"),
        ({"a": [1.0, 2.0]}, [[1.0]], {}, "weights have 1 column, but the word vectors have 2 numbers"),
        ("nowhere.bin", None, {}, "nowhere.bin cannot be read: there is no such file"),
    ],
)
def test_bad_input_gets_one_clear_error(vectors, weights, more, says):
    with pytest.raises(BadInput, match=says):
        explain_embeddings(vectors, weights, "a", **more)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("good 1 0\ndull -1 0\n", "line 1 is 'good 1 0'; expected the number of vectors and their length"),
        ("2 2\ngood 1 0\ndull -1 x\n", "line 3: could not convert string to float: 'x'"),
        ("2 2\ngood 1 0\ndull -1\n", "line 3 holds 1 number; expected 2"),
        ("3 2\ngood 1 0\ndull -1 0\n", "it holds 2 vectors; expected 3"),
        ("1 2\ngood 1 nan\n", "line 2: a number is not finite"),
        ("", "line 1 is ''"),
    ],
)
def test_a_damaged_text_file_is_refused_with_its_line(tmp_path, lines, says):
    path = tmp_path / "x.vec"
    path.write_text(lines)
    with pytest.raises(BadInput, match=re.escape(says)) as caught:
        load_fasttext(path)
    assert caught.value.fix


def test_only_line_feeds_end_a_line_of_vectors(tmp_path):
    path = tmp_path / "x.vec"
    path.write_text("3 1\na\u2028b 1\n\x85 2\ndull -1 \n", encoding="utf-8")
    assert explain_embeddings(path, [[2.0]], "dull").logit == -2


def test_damaged_files_are_refused(tmp_path):
    path = written(tmp_path / "model.bin", ("a", "b"))
    data = path.read_bytes()
    hierarchical = written(tmp_path / "other.bin", ("a", "b"), loss=1).read_bytes()
    endless = data[:-4] + struct.pack("<f", np.nan)
    for bad in (b"", b"1234" + data[4:], data[: len(data) // 2], hierarchical, endless):
        path.write_bytes(bad)
        with pytest.raises(BadInput, match="cannot be read as a fastText model"):
            load_fasttext(path)
