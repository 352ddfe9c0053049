"""Model folders: what is written can be read, and nothing else is."""

import json
import os
import pickle
import subprocess
import sys
from copy import deepcopy
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest

from corpus import reviews
from hardmax.errors import BadInput
from hardmax.jit.ways import COMPILED, PLAIN, forced
from hardmax.sentiment.estimator import HardmaxClassifier, load
from hardmax.sentiment.files import MOST_LOADED, load_model, save_model
from hardmax.sentiment.model import probabilities
from tiny_models import random_model, three_classes, two_classes

TEXTS, LABELS = reviews(120, seed=5)


@pytest.fixture(scope="module")
def clf():
    return HardmaxClassifier(warm_epochs=1, epochs=1, batch_size=32).fit(TEXTS, LABELS)


@pytest.fixture
def folder(clf, tmp_path):
    return clf.save_pretrained(tmp_path / "model")


def test_a_folder_that_holds_no_model_is_not_searched_for_unsafe_files(tmp_path):
    (tmp_path / "weights.bin").write_bytes(b"")
    with pytest.raises(BadInput, match=r"holds no model: it has no config\.json") as caught:
        load_model(tmp_path)
    assert caught.value.fix == "give a text classifier, as hardmax train writes it"


@pytest.mark.parametrize("name", [None, 3, ["imdb"]])
def test_what_is_no_name_is_one_clear_error(name):
    with pytest.raises(BadInput, match="a model is loaded by its name or from its folder") as error:
        load(name)
    assert repr(name) in str(error.value)
    assert "shipped models: imdb" in str(error.value)


def test_a_model_comes_back_to_the_bit(clf, folder):
    for again in (HardmaxClassifier.from_pretrained(folder), load(folder)):
        assert (again.decision_function(TEXTS) == clf.decision_function(TEXTS)).all()
        assert again.classes_.tolist() == ["neg", "pos"]
        assert again.get_params()["ngram_range"] == (1, 2)
    assert {p.name for p in folder.iterdir()} == {"config.json", "model.safetensors", "vocabulary.txt", "README.md"}


def test_the_same_model_is_the_same_bytes(clf, folder, tmp_path):
    twin = clf.save_pretrained(tmp_path / "twin")
    assert all((twin / p.name).read_bytes() == p.read_bytes() for p in folder.iterdir())


def test_an_old_model_is_replaced_as_a_whole_and_other_folders_are_not_touched(clf, folder, tmp_path):
    clf.save_pretrained(folder)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model"]
    with pytest.raises(BadInput, match="exists"):
        clf.save_pretrained(folder, force=False)
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("x")
    with pytest.raises(BadInput, match="not written by hardmax"):
        clf.save_pretrained(tmp_path / "precious")


def _edit(folder, **changes):
    config = json.loads((folder / "config.json").read_text())
    config.update(changes)
    (folder / "config.json").write_text(json.dumps(config))


def test_a_newer_schema_is_refused_with_a_sentence(folder):
    _edit(folder, schema="hardmax.model/4")
    with pytest.raises(BadInput, match="newer version of hardmax"):
        load_model(folder)


@pytest.mark.parametrize("name", ["model.safetensors", "vocabulary.txt"])
def test_a_damaged_file_is_named(folder, name):
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(BadInput, match=name):
        load_model(folder)
    (folder / name).unlink()
    with pytest.raises(BadInput, match=f"{name} is missing"):
        load_model(folder)


@pytest.mark.parametrize("name", ["weights.pkl", "a/b.pickle", "model.pt"])
def test_a_folder_with_a_pickle_is_refused(folder, name):
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(b"")
    with pytest.raises(BadInput, match="may contain code"):
        load_model(folder)


def test_a_path_that_leaves_the_folder_is_refused(folder, tmp_path):
    outside = tmp_path / "vocabulary.txt"
    outside.write_bytes((folder / "vocabulary.txt").read_bytes())
    config = json.loads((folder / "config.json").read_text())
    digests = {**config["sha256"], "../vocabulary.txt": sha256(outside.read_bytes()).hexdigest()}
    _edit(folder, files={**config["files"], "terms": "../vocabulary.txt"}, sha256=digests)
    with pytest.raises(BadInput, match="outside the folder"):
        load_model(folder)


def test_a_link_that_leaves_the_folder_is_refused(folder, tmp_path):
    (folder / "vocabulary.txt").rename(tmp_path / "elsewhere.txt")
    (folder / "vocabulary.txt").symlink_to(tmp_path / "elsewhere.txt")
    with pytest.raises(BadInput, match="outside the folder"):
        load_model(folder)


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"schema": 3}', '{"schema": "hardmax.net/1"}', '{"schema": "hardmax.model/x"}']
)
def test_a_config_that_is_none_is_refused(folder, content):
    (folder / "config.json").write_text(content)
    with pytest.raises(BadInput):
        load_model(folder)


def test_an_infinite_number_of_layers_is_damage(folder):
    text = (folder / "config.json").read_text()
    layers = json.loads(text)["layers"]
    (folder / "config.json").write_text(text.replace(f'"layers": {layers}', '"layers": 1e999', 1))
    with pytest.raises(BadInput, match=r"damaged.*infinity"):
        load_model(folder)


def test_an_unknown_name_lists_what_there_is(tmp_path):
    with pytest.raises(BadInput, match="no model 'nosuch'"):
        load_model("nosuch")


def test_half_precision_models_are_exact_to_their_file(clf, tmp_path):
    half = replace(clf.model_, embedding=clf.model_.embedding.astype(np.float16))
    again = load_model(save_model(half, tmp_path / "half"))
    assert again.embedding.dtype == np.float16
    assert (again.logits(TEXTS) == half.logits(TEXTS)).all()
    with forced(PLAIN):
        plain = again.logits(TEXTS)
    with forced(COMPILED):
        assert (again.logits(TEXTS) == plain).all()


@pytest.mark.parametrize("model", [two_classes(), three_classes(), random_model(dim=5, classes=4)], ids=["2", "3", "4"])
def test_a_model_is_equal_after_its_file_a_pickle_and_a_copy(model, tmp_path):
    model.logits(["great"]), model.arrays  # what is computed from the numbers does not count
    for again in (load_model(model.save(tmp_path / "m")), pickle.loads(pickle.dumps(model)), deepcopy(model)):
        assert again == model
        assert hash(again) == hash(model)
    assert model != replace(model, alpha=0.5)
    assert model != replace(model, embedding=model.embedding + 1)
    assert model != replace(model, card={"name": "other"})
    assert model != "a model"


def test_a_model_is_read_once_until_a_file_of_it_changes(folder, tmp_path, monkeypatch):
    first = load_model(folder)
    assert load_model(folder) is first
    monkeypatch.chdir(folder.parent)
    assert load_model(folder.name) is first
    two_classes().save(folder)
    assert load_model(folder) == two_classes()
    with pytest.raises(ValueError, match="read-only"):
        first.embedding[0] = 0  # others hold the same object


def test_only_a_few_models_stay_in_memory(tmp_path):
    for i in range(MOST_LOADED + 1):
        two_classes(alpha=1.0 + i).save(tmp_path / str(i))
    first = load_model(tmp_path / "0")
    for i in range(1, MOST_LOADED + 1):
        load_model(tmp_path / str(i))
    assert load_model(tmp_path / "0") is not first
    assert load_model(tmp_path / "0") == first


def test_explaining_in_a_fresh_process_compiles_nothing(tmp_path):
    script = (
        "import sys, hardmax as hx\n"
        "assert hx.load('imdb').predict_proba(['A dull plot, but the acting is excellent!'] * 10).shape == (10, 2)\n"
        "ex = hx.load('imdb-words').explain('A dull plot, but the acting is excellent! ' * 3)\n"
        "assert ex.words[0].effect is not None\n"
        "print(sum(m.__name__ == 'numba' for m in sys.modules.values() if m is not None and hasattr(m, '__name__')))"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
    assert not (tmp_path / "cache").exists()


def test_small_inputs_take_the_plain_way_unless_the_compiled_one_is_ready(monkeypatch):
    from hardmax.sentiment import batches

    model, taken = two_classes(), []
    monkeypatch.setattr(batches, "run_bags", lambda *args: taken.append(1) or (None, None))
    monkeypatch.setattr("hardmax.sentiment.layers_numpy.Compiled.ready", False)
    monkeypatch.setattr("hardmax.sentiment.layers_numpy.Compiled.spent", 0.0)  # on other tests of this process
    model.logits(["great film"])
    assert not taken
    monkeypatch.setattr("hardmax.sentiment.layers_numpy.Compiled.ready", True)
    model.logits(["great film"])
    assert taken


def test_neutral_words_are_stored_and_shorten_every_score(tmp_path):
    plain, longer = random_model(), random_model(neutral_words=3.0)
    again = load_model(longer.save(tmp_path / "model"))
    assert again == longer
    assert again != plain
    text = "w1 w2 w3 w4"
    np.testing.assert_allclose(
        again.logits([text]) - plain.bias, (plain.logits([text]) - plain.bias) * 4 / 7, rtol=1e-12
    )
    with pytest.raises(BadInput, match="neutral_words"):
        replace(plain, neutral_words=-1.0)


def test_damping_is_stored_and_a_model_of_the_second_schema_has_none(tmp_path):
    calm = random_model(classes=4, damping=0.5)
    folder, texts = calm.save(tmp_path / "model"), ["w1 w2 w3", "", "w7"]
    again = load_model(folder)
    assert again == calm
    assert again != replace(calm, damping=0.0)
    config = json.loads((folder / "config.json").read_text())
    assert config.pop("damping") == 0.5
    (folder / "config.json").write_text(json.dumps(config | {"schema": "hardmax.model/2"}))
    older = load_model(folder)
    assert older == replace(calm, damping=0.0)
    np.testing.assert_array_equal(older.probabilities(texts), probabilities(calm.logits(texts)))


def test_damping_needs_one_of_several_classes():
    for model, damping in ((random_model(), 0.5), (random_model(classes=3), 1.0), (random_model(classes=3), -0.1)):
        with pytest.raises(BadInput, match="damping must be"):
            replace(model, damping=damping)
    with pytest.raises(BadInput, match="damping must be"):
        replace(random_model(classes=3), damping=0.5, multi_label=True)


def test_damping_makes_sure_texts_less_sure_and_keeps_the_order_and_the_class_frequencies():
    plain, calm = random_model(classes=4, layers=0), random_model(classes=4, layers=0, damping=0.5)
    rng = np.random.default_rng(0)
    texts = ["", *(" ".join(f"w{i}" for i in rng.integers(60, size=n)) for n in rng.integers(1, 20, 50))]
    p, q = plain.probabilities(texts), calm.probabilities(texts)
    np.testing.assert_array_equal(plain.logits(texts), calm.logits(texts))
    assert plain.predict(texts) == calm.predict(texts)
    np.testing.assert_array_equal(p.argsort(axis=1), q.argsort(axis=1))
    np.testing.assert_array_equal(p[0], q[0])
    logits, usual = plain.logits(texts), plain.bias.max() - plain.bias.mean()
    here = logits.max(axis=1) - logits.mean(axis=1)
    expected = np.exp(logits * np.sqrt((1 + usual) / (1 + here))[:, None])
    np.testing.assert_allclose(q, expected / expected.sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_array_equal((p.max(axis=1) > q.max(axis=1))[here != usual], (here > usual)[here != usual])
    for text, row in zip(texts, q, strict=True):
        np.testing.assert_array_equal(calm.probabilities([text])[0], row)


def test_a_label_with_half_of_a_character_is_refused_and_nothing_is_written(tmp_path):
    model = replace(random_model(), classes=("a\ud800", "b"))
    with pytest.raises(BadInput, match="half of a character"):
        save_model(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
