"""`hardmax construct` and `hardmax check` as a person uses them."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import hardmax as hx
from construction_cases import distinct_sets, interpolated, labeled
from hardmax.construction.files import read_lines


def _write(path, sequences, targets, key):
    lines = [{"tokens": np.array(s).tolist(), key: t} for s, t in zip(sequences, targets, strict=True)]
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n")
    return path


@pytest.fixture
def labels(tmp_path):
    return _write(tmp_path / "labels.jsonl", *labeled(20, 3), "label")


def test_construct_then_check(cli, labels, tmp_path):
    code, out, err = cli("construct", labels, "-o", tmp_path / "net", "--json")
    document = json.loads(out)
    assert (code, err) == (0, "")
    assert document["schema"] == "hardmax.construct/1"
    assert document["exact"] is True
    assert (document["sequences"], document["blocks"], document["bound"]) == (20, 5, 81)
    assert document["max_error"] == 0.0
    assert {"width", "parameters", "min_gap"} <= set(document)
    code, out, err = cli("check", tmp_path / "net", labels, "--json", "--level", "rational", "--level", "certificate")
    document = json.loads(out)
    assert (code, document["schema"], document["exact"]) == (0, "hardmax.check/1", True)
    assert [level["name"] for level in document["levels"]] == ["rational", "certificate"]


def test_pool_max_prints_the_temperature_that_suffices(cli, tmp_path):
    data = _write(tmp_path / "sets.jsonl", *distinct_sets(*labeled(20, 3)), "label")
    words = ("construct", data, "--style", "narrow", "--pool", "max")
    code, out, _ = cli(*words, "-o", tmp_path / "net", "--json")
    document = json.loads(out)
    assert (code, document["exact"], document["width"]) == (0, True, 4)
    assert document["temperature"] == hx.Network.load(tmp_path / "net").temperature > 0
    assert "softmax up to temperature" in cli(*words, "-o", tmp_path / "again")[1]
    assert cli("check", tmp_path / "net", data)[0] == 0


def test_numbers_are_those_of_python(cli, labels, tmp_path):
    cli("construct", labels, "-o", tmp_path / "net", "--style", "two", "--seed", 3)
    sequences, targets = labeled(20, 3)
    net = hx.construct(sequences, targets, style="two", seed=3)
    assert hx.Network.load(tmp_path / "net").certified == net.certified


def test_interpolation_and_text_output(cli, tmp_path):
    sequences, targets = interpolated(8, 2)
    data = _write(tmp_path / "data.jsonl", sequences, [t.tolist() for t in targets], "targets")
    code, out, err = cli("construct", data, "-o", tmp_path / "net")
    assert code == 0
    assert out.startswith("interpolation, style bitwise, pool mean: 5 blocks (the paper's bound: ")
    assert "wrote" in err
    code, out, _ = cli("check", tmp_path / "net", data)
    assert (code, "torch" in out) == (0, True)


def test_a_nudged_network_fails_the_check_with_code_6(cli, labels, tmp_path):
    cli("construct", labels, "-o", tmp_path / "net")
    path = tmp_path / "net" / "network.safetensors"
    tensors = load_file(path)
    name = "block.4.ff.W" if "block.4.ff.W" in tensors else "block.4.ff.W.data"
    tensors[name].flat[np.argmax(tensors[name])] += 1e-12
    save_file(tensors, path)
    code, out, _ = cli("check", tmp_path / "net", labels, "--json")
    assert (code, json.loads(out)["exact"]) == (6, False)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("check", "NET", "DATA", "--sample", "0"), "sample is 0"),
        (("check", "NET", "DATA", "--sample", "-5"), "sample is -5"),
        (("construct", "DATA", "-o", "OTHER", "--seed", "-1"), "seed is -1"),
    ],
)
def test_numbers_that_cannot_be_used_are_one_error(cli, labels, tmp_path, arguments, says):
    places = {"NET": tmp_path / "net", "DATA": labels, "OTHER": tmp_path / "other"}
    assert cli("construct", labels, "-o", tmp_path / "net", "-q")[0] == 0
    code, _, err = cli(*(places.get(word, word) for word in arguments))
    assert (code, f"error: {says}; expected a whole number of at least" in err) == (3, True)


def test_existing_output_needs_force(cli, labels, tmp_path):
    assert cli("construct", labels, "-o", tmp_path / "net", "-q")[0] == 0
    code, _, err = cli("construct", labels, "-o", tmp_path / "net")
    assert (code, "--force" in err) == (3, True)
    assert cli("construct", labels, "-o", tmp_path / "net", "--force")[0] == 0


def test_contradictory_labels_name_both_sequences_and_write_nothing(cli, tmp_path):
    data = _write(tmp_path / "bad.jsonl", [[[1, 2]], [[0, 1]], [[1, 2]]], ["x", "y", "z"], "label")
    code, _, err = cli("construct", data, "-o", tmp_path / "net")
    assert (code, "sequences 0 and 2" in err) == (3, True)
    assert not (tmp_path / "net").exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "line 2 is not JSON"),
        ("[]", "line 2 is not an object"),
        ('{"tokens": [[1, 2]]}', "line 2 needs the keys"),
        ('{"tokens": [[1, 2]], "label": 1, "targets": [[1, 2]]}', "line 2 needs the keys"),
        ('{"tokens": [[1, 2]], "targets": [[1, 2]]}', "line 2 has targets, but the lines before have label"),
        ('{"tokens": [[1, 2], [3]], "label": 1}', "line 2: tokens must be a list of tokens"),
        ('{"tokens": [], "label": 1}', "line 2: tokens has shape"),
        ('{"tokens": [[1, 2]], "label": [1]}', "line 2: label is"),
    ],
)
def test_bad_lines_are_named(line, words):
    with pytest.raises(hx.BadInput, match=words):
        read_lines(['{"tokens": [[0, 1]], "label": "a"}', line], "data")


def test_missing_and_empty_files_are_named(cli, tmp_path):
    code, _, err = cli("construct", tmp_path / "none.jsonl", "-o", tmp_path / "net")
    assert (code, "cannot be read" in err) == (3, True)
    (tmp_path / "empty.jsonl").write_text("\n\n")
    code, _, err = cli("construct", tmp_path / "empty.jsonl", "-o", tmp_path / "net")
    assert (code, "holds no sequences" in err) == (3, True)
