"""Files of a construction: data sets as JSON lines, networks as folders.

A data set has one object per line: {"tokens": [[...], ...], "label": 3} or {"tokens": ..., "targets": [[...], ...]}.
A network is a folder: config.json says what it is, network.safetensors holds every parameter in float64. Anyone can
evaluate it from the definition of a block alone: `block.{i}.ff.eta`, `.ff.U` (w, d), `.ff.b` (w,), `.ff.W` (d, w),
`.sa.rho`, `.sa.Q` (h, d), `.sa.K` (h, d), `.sa.V` (d, d) or its factors `.sa.V.left` (d, r) and `.sa.V.right` (r, d).
U and W are stored as CSR (`.data`, `.indices`, `.indptr`) when that is smaller.
"""

import json
import sys
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardmax.cloud.tokens import Floats, Ints
from hardmax.construction.network import Network
from hardmax.construction.problem import prototypes
from hardmax.errors import BadInput
from hardmax.io.documents import read_document
from hardmax.io.files import new_folder, recover_folder
from hardmax.transformer.blocks import AttentionLayer, Block, FeedForwardLayer, row_factors

SCHEMA = "hardmax.network/1"
CONFIG, TENSORS = "config.json", "network.safetensors"
Tensors = dict[str, NDArray[Any]]  # float64 parameters and int64 places


def read_data(source: str) -> tuple[list[Floats], list[Any]]:
    """Sequences and targets from a file, or from standard input for "-".

    Raises:
        BadInput: the line that cannot be used, and why.
    """
    if source == "-":
        return read_lines(sys.stdin, "standard input")
    path = Path(source)
    try:
        with path.open(encoding="utf-8") as lines:
            return read_lines(lines, source)
    except OSError as error:
        raise BadInput(f"{source} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{source} is not UTF-8 text: {error.reason} at byte {error.start}") from error


def read_lines(lines: Iterable[str], name: str) -> tuple[list[Floats], list[Any]]:
    """Sequences and targets from lines of text; empty lines are skipped.

    Example:
        >>> read_lines(['{"tokens": [[0, 1]], "label": "a"}'], "example")[1]
        ['a']
    """
    sequences, targets = [], []
    kind = ""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{name}, line {number}"
        row = _object(line, where)
        found = [key for key in ("label", "targets") if key in row]
        if "tokens" not in row or len(found) != 1:
            raise BadInput(
                f"{where} needs the keys tokens and one of label, targets", found=", ".join(map(str, row)) or "no keys"
            )
        kind = kind or found[0]
        if found[0] != kind:
            raise BadInput(
                f"{where} has {found[0]}, but the lines before have {kind}", fix="use the same key in every line"
            )
        sequences.append(_tokens(row["tokens"], f"{where}: tokens"))
        read = _checked_label if kind == "label" else _tokens
        targets.append(read(row[kind], f"{where}: {kind}"))
    if not sequences:
        raise BadInput(
            f"{name} holds no sequences",
            fix='write one object per line, such as {"tokens": [[0, 1], [1, 0]], "label": 3}',
        )
    return sequences, targets


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise BadInput(f"{where} is not JSON: {error}") from error
    if not isinstance(row, dict):
        raise BadInput(f"{where} is not an object", found=line.strip()[:80])
    return row


def _tokens(value: Any, where: str) -> Floats:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadInput(
            f"{where} must be a list of tokens, each with the same number of coordinates: {error}"
        ) from error
    if array.ndim != 2 or array.size == 0:
        raise BadInput(f"{where} has shape {array.shape}; expected a list of at least one list of numbers")
    return array


def _checked_label(value: Any, where: str) -> Hashable:
    if isinstance(value, (list, dict)):
        raise BadInput(f"{where} is {value!r}", fix="use a string, a number, true, false or null as a label")
    return value


def save_network(net: Network, folder: str | Path, *, force: bool = True) -> Path:
    """Write a network folder; it appears complete or not at all."""
    from safetensors.numpy import save

    numbers = {"min_gap": net.gap, "slack": net.slack, "temperature": net.temperature}
    config = {
        "schema": SCHEMA,
        **{name: getattr(net, name) for name in ("dim", "blocks", "style", "pool", "task")},
        **({"targets": net.targets.tolist()} if net.classes is None else {"classes": list(map(_encoded, net.classes))}),
        "stages": [block.stage for block in net.stack],
        **{name: getattr(net, name) for name in ("sequences", "target_tokens", "bound", "width", "parameters")},
        **{key: None if np.isinf(number) else number for key, number in numbers.items()},
        "certified": net.certified,
    }
    tensors: Tensors = {}
    for i, block in enumerate(net.stack):
        tensors.update(_block_tensors(f"block.{i}", block, net.dim))
    with new_folder(folder, force=force) as beside:
        (beside / TENSORS).write_bytes(save(tensors))  # its save_file has errors of its own for a full disk
        (beside / CONFIG).write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    return Path(folder)


def load_network(folder: str | Path) -> Network:
    """Read a network folder.

    Raises:
        BadInput: missing, damaged, or written by a newer version; the file is named.
    """
    folder = Path(folder)
    recover_folder(folder)
    config = read_document(folder / CONFIG, SCHEMA, "give a network, as hardmax construct writes it")
    tensors = _tensors(folder / TENSORS)
    try:
        dim, count = int(config["dim"]), int(config["blocks"])
        if count > len(tensors):
            raise ValueError(f"{count} blocks")
        stages = [*config.get("stages", []), *[""] * count]
        stack = tuple(_block(tensors, f"block.{i}", dim, stages[i]) for i in range(count))
        classes = None if config["task"] == "interpolation" else tuple(_label(x) for x in config["classes"])
        if classes is None:
            targets = np.array(config["targets"], dtype=np.float64).reshape(-1, dim)
        else:
            targets = prototypes(len(classes), dim)
        numbers = config["min_gap"], config["slack"], config.get("temperature")
        gap, slack, temperature = (np.inf if number is None else float(number) for number in numbers)
        return Network(
            stack,
            dim,
            str(config["style"]),
            str(config["pool"]),
            classes,
            targets,
            int(config["sequences"]),
            int(config["target_tokens"]),
            gap,
            slack,
            str(config["certified"]),
            temperature,
        )
    except (KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
        raise BadInput(f"{folder} is damaged: {error!r} while reading its parameters", fix="build it again") from error


def _tensors(path: Path) -> Tensors:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    if not path.is_file():
        raise BadInput(f"{path} does not exist", fix="build the network again")
    try:
        return dict(load_file(path))
    except (SafetensorError, ValueError, OSError) as error:
        raise BadInput(f"{path} is damaged: {error}", fix="build the network again") from error


def _block_tensors(name: str, block: Block, dim: int) -> Tensors:
    ff, sa = block.ff, block.sa
    tensors: Tensors = {
        f"{name}.ff.eta": np.array(ff.eta),
        f"{name}.ff.b": ff.b,
        f"{name}.sa.rho": np.array(sa.rho),
        f"{name}.sa.Q": sa.Q,
        f"{name}.sa.K": sa.K,
    }
    tensors.update(_matrix_tensors(f"{name}.ff.U", ff.U, None, ff.reads, (ff.width, dim)))
    tensors.update(_matrix_tensors(f"{name}.ff.W", ff.W, ff.writes, None, (dim, ff.width)))
    if sa.left.size + sa.right.size < dim * dim:
        tensors[f"{name}.sa.V.left"], tensors[f"{name}.sa.V.right"] = sa.left, sa.right
    else:
        tensors[f"{name}.sa.V"] = sa.V
    return {key: np.array(value, order="C") for key, value in tensors.items()}


def _matrix_tensors(
    name: str, part: Floats, rows: Ints | None, columns: Ints | None, shape: tuple[int, int]
) -> Tensors:
    """A matrix of which only some rows or columns are kept: dense, or CSR when that is smaller."""
    i, j = np.nonzero(part)
    if 2 * len(i) + shape[0] + 1 >= shape[0] * shape[1]:
        full = np.zeros(shape)
        full[slice(None) if rows is None else rows, slice(None) if columns is None else columns] = part
        return {name: full}
    data = part[i, j]
    i, j = i if rows is None else rows[i], j if columns is None else columns[j]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=shape[0]))])
    return {f"{name}.data": data, f"{name}.indices": j.astype(np.int64), f"{name}.indptr": indptr.astype(np.int64)}


def _block(tensors: Tensors, name: str, dim: int, stage: str) -> Block:
    b = _floats(tensors[f"{name}.ff.b"])
    i, j, data = _entries(tensors, f"{name}.ff.U", (len(b), dim))
    reads = np.unique(j)
    U = np.zeros((len(b), len(reads)))
    U[i, np.searchsorted(reads, j)] = data
    i, j, data = _entries(tensors, f"{name}.ff.W", (dim, len(b)))
    writes = np.unique(i)
    W = np.zeros((len(writes), len(b)))
    W[np.searchsorted(writes, i), j] = data
    ff = FeedForwardLayer(U, b, W, reads, writes, _floats(tensors[f"{name}.ff.eta"]).item())
    Q, K = _floats(tensors[f"{name}.sa.Q"]), _floats(tensors[f"{name}.sa.K"])
    if f"{name}.sa.V" in tensors:
        left, right = row_factors(_floats(tensors[f"{name}.sa.V"]))
    else:
        left, right = _floats(tensors[f"{name}.sa.V.left"]), _floats(tensors[f"{name}.sa.V.right"])
    if Q.shape != K.shape or Q.shape[1] != dim or left.shape != right.shape[::-1] or len(left) != dim:
        raise ValueError(f"{name}.sa has matrices of wrong shape")
    return Block(ff, AttentionLayer(_floats(tensors[f"{name}.sa.rho"]).item(), Q, K, left, right), str(stage))


def _entries(tensors: Tensors, name: str, shape: tuple[int, int]) -> tuple[Ints, Ints, Floats]:
    """Row, column and value of the entries that are not 0."""
    if name in tensors:
        full = _floats(tensors[name])
        if full.shape != shape:
            raise ValueError(f"{name} has shape {full.shape}, expected {shape}")
        i, j = np.nonzero(full)
        return i, j, full[i, j]
    data = _floats(tensors[f"{name}.data"])
    j, indptr = tensors[f"{name}.indices"].astype(np.int64), tensors[f"{name}.indptr"].astype(np.int64)
    if len(indptr) != shape[0] + 1 or len(j) != len(data) or (len(j) and not 0 <= j.min() <= j.max() < shape[1]):
        raise ValueError(f"{name} is not a CSR matrix of shape {shape}")
    return np.repeat(np.arange(shape[0]), np.diff(indptr)), j, data


def _floats(tensor: ArrayLike) -> Floats:
    array = np.asarray(tensor, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError("a parameter is not finite")
    return array


def _encoded(label: Any) -> Any:
    """A label in JSON; tuples are marked, so that they come back as tuples."""
    if label is None or isinstance(label, (str, bool, int, float)):
        return label
    if isinstance(label, tuple):
        return {"tuple": [_encoded(part) for part in label]}
    raise BadInput(
        f"the label {label!r} of type {type(label).__name__} cannot be written to JSON",
        fix="use labels that are strings, numbers, None or tuples of these",
    )


def _label(encoded: Any) -> Any:
    return tuple(_label(part) for part in encoded["tuple"]) if isinstance(encoded, dict) else encoded
