"""The limit of a cloud that is larger than memory, from disk to disk; an interrupted run can be resumed.

Two passes over the tokens: one finds those that can be followed at layer 0, one tells the ordinary tokens (see
`hardmax.dynamics.plane`) from the others. The others are few, or passive (`hardmax.dynamics.passive`): the few are kept
in memory and the engine runs on them, the passive ones are stored and taken through the layers chunk by chunk.

Every file appears complete or not at all, and says by its presence that its part of the work is done:

    problem.json      what was asked; written first
    front.npz         the state of the first pass, replaced after every part
    codes-00017.npz   the second pass of one part: leaders of ordinary tokens, the system's and the passive tokens
    cluster-00017.npy the result: the position in centers.npy of the point where each token of the part ends
    centers.npy       the limit points
    config.json       the summary; written last, then the files that are not part of the result are removed
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.cloud.metric import metric
from hardmax.cloud.parameters import layer_count, step_size
from hardmax.cloud.tokens import CloudLike, Floats, Ints, Number
from hardmax.dynamics.assembly import Problem
from hardmax.dynamics.engine import SMALL
from hardmax.dynamics.large import CHUNK, SAMPLE, Rest, few_distinct, limit_of_rest, reach
from hardmax.dynamics.limit import limit
from hardmax.dynamics.passive import PROBE, History
from hardmax.dynamics.plane import Plane, Pool
from hardmax.errors import BadInput
from hardmax.io.chunks import Chunks
from hardmax.io.files import remove_partial_files, write_file
from hardmax.views import Shown

SCHEMA = "hardmax.limit-file/1"
PART = 1 << 22  # tokens in a file of the result
BYTES = 100  # of memory that the engine needs for each coordinate of its tokens
Tell = Callable[[float, float | None, str], Any]


@dataclass(frozen=True, eq=False)
class FileLimit(Shown):
    """The limit of a cloud on disk: where token i ends is `centers[cluster[i]]`.

    Attributes:
        folder: the folder with the result.
        n, dim: number and dimension of the tokens.
        centers: (c, d) the distinct limit points, as `Equilibrium.centers`; `kind` says what each of them is.
        sizes: (c,) how many tokens end there.
        leader_since: {token: first layer at which it led}.
        layers, margin, undecided: as those of the certificate.
        streamed: how many tokens were only seen in passing; 0 if the cloud was small enough to load.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     np.save(f"{folder}/cloud.npy", np.array([[1.0, 0.0], [-1.0, 0.0], [0.5, 0.1]]))
        ...     found = limit_file(f"{folder}/cloud.npy", f"{folder}/limit")
        >>> found.sizes, found.leader_since
        (array([2, 1]), {0: 0, 1: 0})
    """

    folder: Path
    n: int
    dim: int
    centers: Floats
    kind: tuple[str, ...]
    sizes: Ints
    leader_since: dict[int, int]
    layers: int
    margin: float
    undecided: int
    streamed: int

    def cluster(self, start: int = 0, stop: int | None = None) -> Ints:
        """The position in `centers` of the point where each of the tokens start..stop-1 ends."""
        stop = self.n if stop is None else min(stop, self.n)
        size = json.loads((self.folder / "config.json").read_text())["part"]
        parts = [
            np.load(self.folder / f"cluster-{p:05d}.npy", mmap_mode="r")[max(0, start - p * size) : stop - p * size]
            for p in range(start // size, -(-stop // size))
        ]
        return np.concatenate(parts).astype(np.int64) if parts else np.empty(0, np.int64)

    def points(self, start: int = 0, stop: int | None = None) -> Floats:
        """(m, d) where the tokens start..stop-1 end."""
        return self.centers[self.cluster(start, stop)]


def limit_file(
    source: "str | Path",
    output: "str | Path",
    alpha: "Number" = 0.5,
    A: "CloudLike | None" = None,
    *,
    tie_tolerance: float = 0.0,
    max_layers: int = 10_000,
    memory: float = 1.0,
    resume: bool = False,
    part: int = PART,
    progress: "Tell | None" = None,
) -> FileLimit:
    """The infinite-depth limit of a cloud on disk, which may be larger than memory; the result is written to a folder.

    Where token i ends, z_i^infinity, is `centers[cluster[i]]`, bit for bit as `limit` computes it in memory.
    Implements [AFZ24, Theorem 1.1].

    Args:
        source: an .npy file of shape (n, d), or a folder of .parquet files with one column for each coordinate.
        output: a new folder. cluster-00000.npy, cluster-00001.npy, ... and centers.npy are the result.
        alpha, A, tie_tolerance, max_layers: as for `limit`.
        memory: gigabytes that may be used. Clouds that fit are loaded; larger ones are streamed if d = 2.
        resume: continue an interrupted run of the same problem; the result is bit-for-bit the same.
        part: number of tokens in each file of the result.
        progress: called with the number of tokens done, the number of all, and what is being done.

    Raises:
        BadInput: the source or the output cannot be used, or the limit needs more memory.
        NotCertified: no certificate could be computed within `max_layers`.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     np.save(f"{folder}/cloud.npy", np.array([[1.0, 0.0], [-1.0, 0.0], [0.5, 0.1]]))
        ...     limit_file(f"{folder}/cloud.npy", f"{folder}/limit").points()
        array([[ 1.,  0.],
               [-1.,  0.],
               [ 1.,  0.]])
    """
    tokens = Chunks(source)
    problem = Problem(step_size(alpha), metric(A, tokens.dim), float(tie_tolerance))
    work = _Work(tokens, Path(output), problem, layer_count(max_layers), memory * 1e9, part, progress)
    work.open(resume)
    return work.run()


class _Work:
    def __init__(
        self, tokens: Chunks, folder: Path, problem: Problem, max_layers: int, memory: float, part: int,
        progress: Tell | None,
    ) -> None:  # fmt: skip
        self.tokens, self.folder, self.problem, self.max_layers = tokens, folder, problem, max_layers
        self.memory, self.part, self.tell = memory, part, progress or (lambda *_: None)
        self.parts = -(-tokens.n // part)
        if part < 1:
            raise BadInput(f"part is {part}; expected a number of tokens of at least 1")

    def open(self, resume: bool) -> None:
        """Make the folder, or see that the one that is there holds the same problem."""
        A = self.problem.matrix.A
        asked = {
            "schema": SCHEMA, "source": self.tokens.stamp, "n": self.tokens.n, "dim": self.tokens.dim,
            "alpha": self.problem.alpha, "A": None if A is None else A.tolist(), "part": self.part,
            "tie_tolerance": self.problem.tie_tolerance, "max_layers": self.max_layers,
        }  # fmt: skip
        note = self.folder / "problem.json"
        if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.glob("[!.]*"))):
            if not resume:
                raise BadInput(f"{self.folder} exists", fix="choose another name, or resume=True (--resume)")
            if not note.is_file() or json.loads(note.read_text()) != json.loads(json.dumps(asked)):
                raise BadInput(
                    f"{self.folder} holds the limit of another cloud, or with other options", fix="choose another name"
                )
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as error:
            raise BadInput(f"{self.folder} cannot be created: {error.strerror or error}") from error
        remove_partial_files(self.folder)  # of a run that was killed
        write_file(note, json.dumps(asked))

    def run(self) -> FileLimit:
        if not (self.folder / "config.json").is_file():
            if BYTES * self.tokens.n * self.tokens.dim <= self.memory or self._few():
                self._in_memory()
            else:
                self._streamed()
        for pattern in ("front.npz", "codes-*.npz"):
            for path in self.folder.glob(pattern):
                path.unlink()
        found = json.loads((self.folder / "config.json").read_text())
        return FileLimit(
            self.folder, self.tokens.n, self.tokens.dim, np.load(self.folder / "centers.npy"), tuple(found["kind"]),
            np.array(found["sizes"], np.int64), {int(i): k for i, k in found["leader_since"].items()}, found["layers"],
            float(found["margin"]), found["undecided"], found["streamed"],
        )  # fmt: skip

    def _few(self) -> bool:
        """Whether the first tokens are so few distinct ones that only the engine can tell the margin."""
        return few_distinct(self.tokens.read(0, min(self.tokens.n, 4 * SMALL)))

    def _too_large(self, why: str) -> BadInput:
        size = BYTES * self.tokens.n * self.tokens.dim / 1e9
        return BadInput(
            f"{self.tokens.path}: the limit does not fit into {self.memory / 1e9:g} GB of memory: {why}",
            fix=f"allow more memory (--memory); {size:.3g} GB are enough for everything",
        )

    def _in_memory(self) -> None:
        if BYTES * self.tokens.n * self.tokens.dim > self.memory:
            raise self._too_large(f"fewer than {SMALL} of the first {4 * SMALL} tokens are distinct")
        matrix = self.problem.matrix.A
        Z = self.tokens.read(0, self.tokens.n)
        found = limit(
            Z, self.problem.alpha, matrix, tie_tolerance=self.problem.tie_tolerance, max_layers=self.max_layers
        )
        for p in range(self.parts):
            self._write_part(p, found.cluster[p * self.part : (p + 1) * self.part])
        self._finish(
            found.centers, found.kind, np.bincount(found.cluster, minlength=len(found.centers)), found.leader_since,
            found.layers, found.margin, found.undecided, 0,
        )  # fmt: skip

    def _write_part(self, p: int, cluster: Ints) -> None:
        path = self.folder / f"cluster-{p:05d}.npy"
        if not path.is_file():
            write_file(path, lambda to: np.save(to, cluster.astype(np.int32)))

    def _finish(
        self, centers: Floats, kind: tuple[str, ...], sizes: Ints, since: dict[int, int], layers: int, margin: float,
        undecided: int, streamed: int,
    ) -> None:  # fmt: skip
        write_file(self.folder / "centers.npy", lambda to: np.save(to, centers))
        summary = {
            "schema": SCHEMA, "n": self.tokens.n, "dim": self.tokens.dim, "part": self.part, "kind": list(kind),
            "sizes": sizes.tolist(), "leader_since": {str(i): k for i, k in since.items()}, "layers": layers,
            "margin": margin, "undecided": undecided, "streamed": streamed,
        }  # fmt: skip
        write_file(self.folder / "config.json", json.dumps(summary))

    # -- streaming -------------------------------------------------------------------------------------------------

    def _streamed(self) -> None:
        if self.tokens.dim != 2:
            raise self._too_large(
                f"clouds of dimension {self.tokens.dim} cannot be streamed, only those of dimension 2"
            )
        plane = self._first_pass()
        if plane.failed:
            raise self._too_large(plane.failed)
        most = int(self.memory / (2 * BYTES))
        index, tokens = self._second_pass(plane, most)
        while True:
            self.tell(0, None, f"layers of {len(index):,} tokens")
            history = History(plane)
            rest = limit_of_rest(tokens, index, self.problem, self.max_layers, history.note)
            if rest is None:
                raise self._too_large("tokens look from so near the origin, or for so long, that all tokens matter")
            with np.load(self.folder / "codes-00000.npz") as part:
                some = part["passive_tokens"]
                history.probe(some[:: 1 + len(some) // PROBE], self.max_layers)
            more, layers = self._passive(history, index)
            if not len(more[0]):
                break
            index, first = np.unique(np.concatenate((index, more[0])), return_index=True)
            tokens = np.concatenate((tokens, more[1]))[first]
            if len(index) > most:
                raise self._too_large(f"{len(index):,} tokens are still undecided and look at one another")
        self._third_pass(plane, rest, history, layers)

    def _first_pass(self) -> Plane:
        n, path = self.tokens.n, self.folder / "front.npz"
        state: dict[str, Any] = {}
        if path.is_file():
            with np.load(path) as saved:
                state = dict(saved)
            sample = state["sample"]
        else:
            count = min(n, SAMPLE)
            sample = np.concatenate([self.tokens.read(i, i + 32) for i in range(0, n - 32, n // (count // 32))])
        plane = Plane(self.problem.matrix, self.problem.alpha, reach(self.problem), sample)
        start = int(state.get("next", 0))
        if state:
            plane.restore(state["vertices"], Pool(state["tokens"], state["index"]), float(state["shallowest"]))
        for begin in range(start, n, self.part):
            block = self.tokens.read(begin, min(n, begin + self.part))
            for at in range(0, len(block), CHUNK):
                plane.add(block[at : at + CHUNK], begin + at)
            if plane.failed:
                return plane
            vertices, pool, shallowest = plane.state()
            kept = {
                "sample": sample, "vertices": vertices, "tokens": pool.tokens, "index": pool.index,
                "shallowest": shallowest, "next": begin + len(block),
            }  # fmt: skip
            write_file(path, lambda to, kept=kept: np.savez(to, **kept))  # type: ignore[misc]
            self.tell(begin + len(block), n, "finding the tokens that can lead")
        plane.seal()
        return plane

    def _second_pass(self, plane: Plane, most: int) -> tuple[Ints, Floats]:
        """Store what each token is; the system's tokens are returned."""
        n = self.tokens.n
        index, tokens, count = [], [], 0
        for p in range(self.parts):
            path, begin = self.folder / f"codes-{p:05d}.npz", p * self.part
            if not path.is_file():
                block = self.tokens.read(begin, min(n, begin + self.part))
                code = np.empty(len(block), np.int32)
                for at in range(0, len(block), CHUNK):
                    code[at : at + CHUNK] = plane.settled(block[at : at + CHUNK])
                system, passive = np.flatnonzero(code == -1), np.flatnonzero(code == -2)
                stored = {
                    "code": code, "system": begin + system, "tokens": block[system], "passive": begin + passive,
                    "passive_tokens": block[passive],
                }  # fmt: skip
                write_file(path, lambda to, stored=stored: np.savez(to, **stored))  # type: ignore[misc]
            with np.load(path) as stored_part:
                index.append(stored_part["system"])
                tokens.append(stored_part["tokens"])
            count += len(index[-1])
            if count > most:
                raise self._too_large(
                    f"{count:,} tokens of the first {p + 1} parts are near the boundary or nearly tied"
                )
            self.tell(min(n, begin + self.part), n, "assigning tokens to leaders")
        return np.concatenate(index), np.concatenate(tokens)

    def _passive(self, history: History, system: Ints) -> tuple[tuple[Ints, Floats], int]:
        """Passive tokens that have to join the system, and the last layer at which one of the others is decided."""
        index, tokens, last = [np.empty(0, np.int64)], [np.empty((0, 2))], 0
        for p in range(self.parts):
            with np.load(self.folder / f"codes-{p:05d}.npz") as part:
                number, z = part["passive"], part["passive_tokens"]
            for at in range(0, len(z), CHUNK):
                leader, decided_at = history.take(z[at : at + CHUNK], self.max_layers)
                joins = at + np.flatnonzero(leader < 0)
                joins = joins[~_among(number[joins], system)]
                index.append(number[joins])
                tokens.append(z[joins])
                last = max(last, int(decided_at.max(initial=0)))
            self.tell(min(self.tokens.n, (p + 1) * self.part), self.tokens.n, "taking tokens through the layers")
        return (np.concatenate(index), np.concatenate(tokens)), last

    def _third_pass(self, plane: Plane, rest: Rest, history: History, layers: int) -> None:
        """Turn what each token is into the number of its center."""
        to = rest.cluster[np.searchsorted(rest.index, plane.leaders)]
        of_point = rest.cluster[history.run.cloud.first]
        sizes = np.zeros(len(rest.centers), np.int64)
        for p in range(self.parts):
            begin = p * self.part
            with np.load(self.folder / f"codes-{p:05d}.npz") as part:
                code, passive, z = part["code"], part["passive"], part["passive_tokens"]
            cluster = to[np.maximum(code, 0)]
            for at in range(0, len(z), CHUNK):
                leader, _ = history.take(z[at : at + CHUNK], self.max_layers)
                cluster[passive[at : at + CHUNK] - begin] = np.where(leader >= 0, of_point[leader], -1)
            here = slice(*np.searchsorted(rest.index, (begin, begin + self.part)))
            cluster[rest.index[here] - begin] = rest.cluster[here]
            sizes += np.bincount(cluster, minlength=len(sizes))
            self._write_part(p, cluster)
            self.tell(min(self.tokens.n, begin + self.part), self.tokens.n, "writing the result")
        leading = rest.leads()
        since = dict(zip(rest.index[leading].tolist(), rest.decided_at[leading].tolist(), strict=True))
        layers, margin = max(layers, int(rest.decided_at.max())), min(rest.margin, history.margin)
        streamed = self.tokens.n - len(rest.index)
        self._finish(rest.centers, rest.kind, sizes, since, layers, margin, rest.undecided, streamed)


def _among(numbers: Ints, members: Ints) -> NDArray[np.bool_]:
    """Which of the numbers are in the ascending `members`; np.isin would sort all of them for every chunk."""
    at = np.minimum(np.searchsorted(members, numbers), len(members) - 1)
    return members[at] == numbers
