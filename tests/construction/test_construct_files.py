"""Network folders: complete or absent, read by anyone from the definition, refused when damaged."""

import json
import os

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import hardmax as hx
from construction_cases import CASES, interpolated, labeled, literal_outputs, target_sets


def _from_the_paragraph(folder):
    """Read a folder with the format description alone."""
    config = json.loads((folder / "config.json").read_text())
    tensors = load_file(folder / "network.safetensors")

    def matrix(name, shape):
        if name in tensors:
            return tensors[name]
        full = np.zeros(shape)
        indptr = tensors[f"{name}.indptr"]
        for i in range(shape[0]):
            for at in range(indptr[i], indptr[i + 1]):
                full[i, tensors[f"{name}.indices"][at]] = tensors[f"{name}.data"][at]
        return full

    blocks = []
    for i in range(config["blocks"]):
        name, width = f"block.{i}", len(tensors[f"block.{i}.ff.b"])
        V = tensors.get(f"{name}.sa.V")
        if V is None:
            V = tensors[f"{name}.sa.V.left"] @ tensors[f"{name}.sa.V.right"]
        blocks.append(
            {
                "eta": tensors[f"{name}.ff.eta"], "b": tensors[f"{name}.ff.b"], "V": V,
                "U": matrix(f"{name}.ff.U", (width, config["dim"])),
                "W": matrix(f"{name}.ff.W", (config["dim"], width)),
                "rho": tensors[f"{name}.sa.rho"], "Q": tensors[f"{name}.sa.Q"], "K": tensors[f"{name}.sa.K"],
            }
        )  # fmt: skip
    return blocks


@pytest.mark.parametrize("style", ["bitwise", "two"])
@pytest.mark.parametrize("name", ["two words", "one class", "labels of many kinds", "random", "split", "interpolation"])
def test_what_is_saved_can_be_evaluated_by_anyone_and_read_back(name, style, tmp_path):
    sequences, targets = CASES[name]
    net = hx.construct(sequences, targets, style=style)
    folder = net.save(tmp_path / "net")
    blocks = _from_the_paragraph(folder)
    assert all(np.asarray(value).dtype == np.float64 for block in blocks for value in block.values())
    expected = target_sets(sequences, targets)
    assert literal_outputs(blocks, sequences[0]) == expected[0]
    again = hx.Network.load(folder)
    assert again.verify(sequences, targets, levels=("certificate", "float64", "rational")).exact
    assert (again.blocks, again.parameters, again.bound, again.classes) == (
        net.blocks,
        net.parameters,
        net.bound,
        net.classes,
    )
    for one, other in zip(net.forward(sequences, dense=True), again.forward(sequences, dense=True), strict=True):
        assert (one == other).all()
    assert sorted(os.listdir(tmp_path)) == ["net"]


def test_an_existing_folder_is_kept_unless_forced(tmp_path):
    sequences, labels = labeled(5, 2)
    net = hx.construct(sequences, labels)
    net.save(tmp_path / "net")
    with pytest.raises(hx.BadInput, match="exists"):
        net.save(tmp_path / "net", force=False)
    other = hx.construct(sequences, labels, seed=1)
    other.save(tmp_path / "net", force=True)
    assert hx.Network.load(tmp_path / "net").certified == other.certified
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(hx.BadInput, match="not written by hardmax"):
        net.save(tmp_path / "mine", force=True)
    assert (tmp_path / "mine" / "thesis.txt").exists()


def test_an_interruption_leaves_no_half_written_folder(tmp_path, monkeypatch):
    net = hx.construct(*labeled(5, 2))

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("safetensors.numpy.save", interrupt)
    with pytest.raises(KeyboardInterrupt):
        net.save(tmp_path / "net")
    assert os.listdir(tmp_path) == []


def _edit_config(folder, **changes):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **changes}))


def _edit_tensors(folder, change):
    tensors = load_file(folder / "network.safetensors")
    change(tensors)
    save_file(tensors, folder / "network.safetensors")


def _replace_in_config(folder, old, new):
    text = (folder / "config.json").read_text()
    assert old in text
    (folder / "config.json").write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda f: (f / "config.json").unlink(), "config.json does not exist"),
        (lambda f: (f / "config.json").write_text("{"), "config.json is damaged"),
        (lambda f: (f / "config.json").write_text("[]"), "config.json was not written by hardmax"),
        (lambda f: _edit_config(f, schema="hardmax.network/2"), "newer version"),
        (lambda f: _edit_config(f, schema="hardmax.model/1"), "schema hardmax.model/1; expected hardmax.network/1"),
        (lambda f: _edit_config(f, blocks=9), "damaged.*block.5"),
        (lambda f: _edit_config(f, blocks=10**12), "damaged.*1000000000000 blocks"),
        (lambda f: _replace_in_config(f, '"blocks": 5', '"blocks": 1e999'), "damaged.*infinity"),
        (lambda f: (f / "network.safetensors").unlink(), "network.safetensors does not exist"),
        (lambda f: (f / "network.safetensors").write_bytes(b"no"), "network.safetensors is damaged"),
        (lambda f: os.truncate(f / "network.safetensors", 900), "network.safetensors is damaged"),
        (lambda f: _edit_tensors(f, lambda t: t.pop("block.0.ff.b")), "damaged.*block.0.ff.b"),
        (lambda f: _edit_tensors(f, lambda t: t["block.1.ff.b"].fill(np.nan)), "not finite"),
        (lambda f: _edit_tensors(f, lambda t: t.update({"block.0.sa.Q": np.zeros((1, 9))})), "wrong shape"),
    ],
)  # fmt: skip
def test_damage_is_named(damage, words, tmp_path):
    folder = hx.construct(*labeled(12, 2)).save(tmp_path / "net")
    damage(folder)
    with pytest.raises(hx.BadInput, match=words):
        hx.Network.load(folder)


def test_a_changed_number_in_the_file_is_found_by_verify(tmp_path):
    data = interpolated(8, 2)
    folder = hx.construct(*data).save(tmp_path / "net")

    def change(tensors):
        name = next(key for key in tensors if key.startswith("block.0.ff.U"))
        tensors[name].flat[0] = np.nextafter(tensors[name].flat[0], np.inf)

    _edit_tensors(folder, change)
    assert not hx.Network.load(folder).verify(*data).exact


def test_labels_that_json_cannot_hold_are_refused(tmp_path):
    net = hx.construct([[[0.0, 1.0]], [[1.0, 0.0]]], [frozenset({1}), "x"])
    with pytest.raises(hx.BadInput, match="frozenset"):
        net.save(tmp_path / "net")
    assert os.listdir(tmp_path) == []
