"""The limit of a cloud that is larger than memory, from disk to disk; an interrupted run can be resumed.

Two passes over the tokens: one finds those that can be followed at layer 0, among which is the system that the engine
runs on; one tells what becomes of all others (`hardmax.dynamics.passive`), and writes it. Tokens that turn out to
matter join the system, and the second pass begins again.

Every file appears complete or not at all, and says by its presence that its part of the work is done:

    problem.json      what was asked; written first
    front.npz         the state of the first pass, replaced after every part
    joined.npz        tokens that joined the system, replaced when there are more
    cluster-00017.npy the result: the position in centers.npy of the point where each token of the part ends
    layers-00017.npy  the last layer at which one of these tokens is decided, and the narrowest of their decisions
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
from hardmax.dynamics.large import CHUNK, COUNTED, SAMPLE, Rest, few_distinct, reach, system_and_cells
from hardmax.dynamics.limit import limit
from hardmax.dynamics.passive import Cells, History
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
        self._remove("front.npz", "joined.npz", "layers-*.npy")
        found = json.loads((self.folder / "config.json").read_text())
        return FileLimit(
            self.folder, self.tokens.n, self.tokens.dim, np.load(self.folder / "centers.npy"), tuple(found["kind"]),
            np.array(found["sizes"], np.int64), {int(i): k for i, k in found["leader_since"].items()}, found["layers"],
            float(found["margin"]), found["undecided"], found["streamed"],
        )  # fmt: skip

    def _remove(self, *patterns: str) -> None:
        for pattern in patterns:
            for path in self.folder.glob(pattern):
                path.unlink()

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
            self._write_array(f"cluster-{p:05d}", found.cluster[p * self.part : (p + 1) * self.part].astype(np.int32))
        self._finish(
            found.centers, found.kind, np.bincount(found.cluster, minlength=len(found.centers)), found.leader_since,
            found.layers, found.margin, found.undecided, 0,
        )  # fmt: skip

    def _write_array(self, name: str, array: NDArray[Any]) -> None:
        write_file(self.folder / f"{name}.npy", lambda to: np.save(to, array))

    def _finish(
        self, centers: Floats, kind: tuple[str, ...], sizes: Ints, since: dict[int, int], layers: int, margin: float,
        undecided: int, streamed: int,
    ) -> None:  # fmt: skip
        self._write_array("centers", centers)
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
        plane, sample = self._first_pass()
        if plane.failed:
            raise self._too_large(plane.failed)
        system = plane.system
        joined = self.folder / "joined.npz"
        if joined.is_file():
            with np.load(joined) as saved:
                system = Pool(saved["tokens"], saved["index"])
        while True:
            if len(system) > self.memory / (2 * BYTES):
                raise self._too_large(f"{len(system):,} tokens are near the boundary or nearly tied")
            self.tell(0, None, f"layers of {len(system):,} tokens")
            found = system_and_cells(plane, system.tokens, system.index, sample, self.problem, self.max_layers)
            if found is None:
                raise self._too_large("tokens look from so near the origin, or for so long, that all tokens matter")
            more = self._second_pass(system, *found)
            if not len(more):
                break
            self._remove("cluster-*.npy", "layers-*.npy")
            tokens, index = np.concatenate((system.tokens, more.tokens)), np.concatenate((system.index, more.index))
            order = np.argsort(index)
            system = Pool(tokens[order], index[order])
            write_file(joined, lambda to, now=system: np.savez(to, tokens=now.tokens, index=now.index))  # type: ignore[misc]
        rest = found[0]
        last, margins = np.array([np.load(path) for path in self.folder.glob("layers-*.npy")]).T
        sizes = np.zeros(len(rest.centers), np.int64)
        for p in range(self.parts):
            sizes += np.bincount(np.load(self.folder / f"cluster-{p:05d}.npy"), minlength=len(sizes))
        leading = rest.leads()
        since = dict(zip(rest.index[leading].tolist(), rest.decided_at[leading].tolist(), strict=True))
        self._finish(
            rest.centers, rest.kind, sizes, since, max(int(last.max()), int(rest.decided_at.max())),
            min(rest.margin, float(margins.min())), rest.undecided, self.tokens.n - len(system),
        )  # fmt: skip

    def _first_pass(self) -> tuple[Plane, Floats]:
        n, path = self.tokens.n, self.folder / "front.npz"
        state: dict[str, Any] = {}
        if path.is_file():
            with np.load(path) as saved:
                state = dict(saved)
            sample = state["sample"]
        else:
            count = min(n, COUNTED)
            sample = np.concatenate([self.tokens.read(i, i + 32) for i in range(0, n - 32, n // (count // 32))])
        plane = Plane(
            self.problem.matrix, self.problem.alpha, reach(self.problem), sample[:: 1 + len(sample) // SAMPLE]
        )
        start = int(state.get("next", 0))
        if state:
            plane.restore(state["vertices"], Pool(state["tokens"], state["index"]), float(state["shallowest"]))
        for begin in range(start, n, self.part):
            block = self.tokens.read(begin, min(n, begin + self.part))
            for at in range(0, len(block), CHUNK):
                plane.add(block[at : at + CHUNK], begin + at)
            if plane.failed:
                return plane, sample
            vertices, pool, shallowest = plane.state()
            kept = {
                "sample": sample, "vertices": vertices, "tokens": pool.tokens, "index": pool.index,
                "shallowest": shallowest, "next": begin + len(block),
            }  # fmt: skip
            write_file(path, lambda to, kept=kept: np.savez(to, **kept))  # type: ignore[misc]
            self.tell(begin + len(block), n, "finding the tokens that can lead")
        plane.seal()
        return plane, sample

    def _second_pass(self, system: Pool, rest: Rest, history: History, cells: Cells) -> Pool:
        """Write where each token ends; the tokens that have to join the system are returned."""
        n, of_point = self.tokens.n, rest.cluster[history.run.cloud.first]
        ends = of_point[cells.leader].astype(np.int32)
        joins = [Pool(np.empty((0, 2)), np.empty(0, np.int64))]
        for p in range(self.parts):
            begin = p * self.part
            if (self.folder / f"layers-{p:05d}.npy").is_file():
                continue
            here = slice(*np.searchsorted(system.index, (begin, begin + self.part)))
            inside = system.index[here] - begin
            block = self.tokens.read(begin, min(n, begin + self.part))
            cluster, seen = np.empty(len(block), np.int32), np.zeros(len(ends), bool)
            alone, history.margin, last = [inside], np.inf, 0
            for at in range(0, len(block), CHUNK):
                code = cells.of(block[at : at + CHUNK])
                cluster[at : at + CHUNK] = ends.take(code)
                seen[code] = True
                alone.append(at + np.flatnonzero(code < 0))
            left = np.setdiff1d(np.concatenate(alone), inside)
            for at in range(0, len(left), CHUNK):
                some = left[at : at + CHUNK]
                leader, since, _ = history.take(block.take(some, axis=0))
                cluster[some], last = of_point[leader], max(last, int(since.max()))
                wrong = some[leader < 0]
                joins.append(Pool(block[wrong], begin + wrong))
            cluster[inside] = rest.cluster[here]
            if not any(map(len, joins)):
                self._write_array(f"cluster-{p:05d}", cluster)
                self._write_array(f"layers-{p:05d}", np.array([max(last, cells.since[seen].max()), history.margin]))
            self.tell(min(n, begin + self.part), n, "assigning tokens to leaders")
        return Pool(np.concatenate([j.tokens for j in joins]), np.concatenate([j.index for j in joins]))
