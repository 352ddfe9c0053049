"""The limit of a cloud that is larger than memory, from disk to disk; an interrupted run can be resumed.

Two passes over the tokens: one finds those that can be followed at layer 0, among which is the system that the engine
runs on; one tells what becomes of all others, and writes it. Tokens that turn out to matter join the system, and the
second pass begins again. What depends on the dimension is a way (`hardmax.dynamics.stream_ways`).

Every file appears complete or not at all, and says by its presence that its part of the work is done:

    problem.json      what was asked; written first
    front.npz         the state of the first pass, replaced after every part
    first-00017.npz   which tokens of the part are decided at layer 0, and by whom
    joined.npz        the system with the tokens that joined it, replaced when there are more
    cluster-00017.npy the result: the position in centers.npy of the point where each token of the part ends
    layers-00017.npy  the last layer at which one of these tokens is decided, and the narrowest of their decisions
    centers.npy       the limit points
    config.json       the summary; written last, then the files that are not part of the result are removed
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.cloud.metric import metric
from hardmax.cloud.parameters import layer_count, step_size
from hardmax.cloud.tokens import CloudLike, Floats, Ints, Number
from hardmax.dynamics.assembly import Problem
from hardmax.dynamics.engine import SMALL
from hardmax.dynamics.large import CHUNK, COUNTED, Rest, few_distinct
from hardmax.dynamics.limit import limit
from hardmax.dynamics.plane import Pool
from hardmax.dynamics.stream_ways import InPlane, InSpace
from hardmax.errors import BadInput, HardmaxError, counted
from hardmax.io.chunks import Chunks
from hardmax.io.files import write_file
from hardmax.io.resumable import begin_or_resume
from hardmax.views import Shown

SCHEMA = "hardmax.limit-file/1"
PART = 1 << 22  # tokens in a file of the result
BYTES = 100  # of memory that the engine needs for each coordinate of its tokens
BLOCK = 1 << 21  # coordinates that are read at once
Tell = Callable[[float, float | None, str], Any]
Way = InPlane | InSpace


@dataclass(frozen=True, eq=False, repr=False)
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

    def __repr__(self) -> str:
        return (
            f"FileLimit of {counted(self.n, 'token')} in dimension {self.dim}: {counted(len(self.centers), 'center')}, "
            f"{counted(len(self.leader_since), 'leader')}, decided at layer {self.layers}, "
            f"{'proved' if self.undecided == 0 else f'{self.undecided} undecided'}, in {self.folder}"
        )

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
    force: bool = False,
    part: int = PART,
    progress: "Tell | None" = None,
) -> FileLimit:
    """The infinite-depth limit of a cloud on disk, which may be larger than memory; the result is written to a folder.

    Where token i ends, z_i^infinity, is `centers[cluster[i]]`, bit for bit as `limit` computes it in memory.
    Implements [AFZ24, Theorem 1.1].

    Args:
        source: an .npy file of shape (n, d), or a folder of .parquet files with one column for each coordinate.
        output: the name of a folder. cluster-00000.npy, cluster-00001.npy, ... and centers.npy are the result.
        alpha, A, tie_tolerance, max_layers: as for `limit`.
        memory: gigabytes that may be used. Clouds that fit are loaded, larger ones are streamed: of these, the tokens
            that others look at have to fit.
        resume: continue an interrupted run of the same problem; the result is bit-for-bit the same.
        force: replace a folder that holds the limit of a cloud on disk, finished or not.
        part: number of tokens in each file of the result.
        progress: called with the number of tokens done, the number of all, and what is being done.

    Raises:
        BadInput: the source or the output cannot be used, or the limit needs more memory; the message tells how many
            tokens would have to be kept. A folder that was not there before is not left behind.
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
    work = _Work(tokens, Path(output), problem, layer_count(max_layers, "max_layers"), memory * 1e9, part, progress)
    return work.begin(resume, force)


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

    def begin(self, resume: bool, force: bool) -> FileLimit:
        """Make the folder, or continue the one that holds the same problem."""
        A = self.problem.matrix.A
        asked = {
            "schema": SCHEMA, "source": self.tokens.stamp, "n": self.tokens.n, "dim": self.tokens.dim,
            "alpha": self.problem.alpha, "A": None if A is None else A.tolist(), "part": self.part,
            "tie_tolerance": self.problem.tie_tolerance, "max_layers": self.max_layers,
        }  # fmt: skip
        asked["digest"] = sha256(json.dumps(asked).encode()).hexdigest()
        with begin_or_resume(self.folder, "problem.json", asked, "limit", resume, force):
            new = len(list(self.folder.iterdir())) == 1
            try:
                return self.run()
            except HardmaxError as error:
                if new and not isinstance(error.__cause__, OSError):  # unlike a full disk, nothing to wait for
                    self._remove("[!p]*")
                raise

    def run(self) -> FileLimit:
        if not (self.folder / "config.json").is_file():
            if BYTES * self.tokens.n * self.tokens.dim <= self.memory or self._few():
                self._in_memory()
            else:
                self._streamed()
        self._remove("front.npz", "joined.npz", "first-*.npz", "layers-*.npy")
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
            found.centers, kind=found.kind, sizes=np.bincount(found.cluster, minlength=len(found.centers)).tolist(),
            leader_since=found.leader_since, layers=found.layers, margin=found.margin, undecided=found.undecided,
            streamed=0,
        )  # fmt: skip

    def _write_array(self, name: str, array: NDArray[Any]) -> None:
        write_file(self.folder / f"{name}.npy", lambda to: np.save(to, array))

    def _write_arrays(self, name: str, arrays: dict[str, Any]) -> None:
        write_file(self.folder / f"{name}.npz", lambda to: np.savez(to, **arrays))

    def _arrays(self, name: str) -> dict[str, Any]:
        """The arrays of a file, none if it is not there."""
        path = self.folder / f"{name}.npz"
        if not path.is_file():
            return {}
        with np.load(path) as saved:
            return dict(saved)

    def _finish(self, centers: Floats, **found: Any) -> None:
        self._write_array("centers", centers)
        asked = {"schema": SCHEMA, "n": self.tokens.n, "dim": self.tokens.dim, "part": self.part}
        write_file(self.folder / "config.json", json.dumps(asked | found))

    # -- streaming -------------------------------------------------------------------------------------------------

    def _streamed(self) -> None:
        most = int(self.memory / (2 * BYTES * self.tokens.dim))  # the system, and where it is at every layer
        sample = self._front()["sample"]
        way: Way = InPlane(self.problem, sample) if self.tokens.dim == 2 else InSpace(self.problem, sample, most)
        system = self._first_pass(way)
        if joined := self._arrays("joined"):
            system = Pool(**joined)
        while True:
            if len(system) > most:
                raise self._too_large(f"{len(system):,} tokens are near the boundary or nearly tied")
            self.tell(0, None, f"layers of {len(system):,} tokens")
            rest = way.layers(system, self.max_layers)
            more = None if rest is None else self._second_pass(way, system, rest)
            if way.again:
                self._remove("cluster-*.npy", "layers-*.npy", "first-*.npz", "joined.npz")
                way.begin()
                self._save_front(way, sample, 0)
                system = self._first_pass(way)
                continue
            if rest is None or more is None:
                raise self._too_large("tokens look from so near the origin, or for so long, that all tokens matter")
            if not len(more):
                break
            self._remove("cluster-*.npy", "layers-*.npy")
            tokens, index = np.concatenate((system.tokens, more.tokens)), np.concatenate((system.index, more.index))
            order = np.argsort(index)
            system = Pool(tokens[order], index[order])
            self._write_arrays("joined", {"tokens": system.tokens, "index": system.index})
        last, margins = np.array([np.load(path) for path in self.folder.glob("layers-*.npy")]).T
        sizes = np.zeros(len(rest.centers), np.int64)
        for p in range(self.parts):
            sizes += np.bincount(np.load(self.folder / f"cluster-{p:05d}.npy"), minlength=len(sizes))
        leading = rest.leads()
        since = dict(zip(rest.index[leading].tolist(), rest.decided_at[leading].tolist(), strict=True))
        self._finish(
            rest.centers, kind=rest.kind, sizes=sizes.tolist(), leader_since=since,
            layers=max(int(last.max()), int(rest.decided_at.max())), margin=min(rest.margin, float(margins.min())),
            undecided=rest.undecided, streamed=self.tokens.n - len(system),
        )  # fmt: skip

    def _front(self) -> dict[str, Any]:
        """The state of the first pass; at its beginning, a sample of the tokens."""
        n = self.tokens.n
        rows = range(0, n - 32, max(1, n // (min(n, COUNTED) // 32)))
        return self._arrays("front") or {"sample": np.concatenate([self.tokens.read(i, i + 32) for i in rows])}

    def _save_front(self, way: Way, sample: Floats, done: int) -> None:
        self._write_arrays("front", way.state() | {"sample": sample, "next": done})

    def _first_pass(self, way: Way) -> Pool:
        """The tokens that are to be looked at one by one."""
        n, state = self.tokens.n, self._front()
        if "next" in state:
            way.restore(state)
        for begin in range(int(state.get("next", 0)), n, self.part):
            end = min(n, begin + self.part)
            for block in self._blocks(begin, end):
                tokens = self.tokens.read(block.start, block.stop)
                for at in range(0, len(tokens), CHUNK):
                    way.add(tokens[at : at + CHUNK], block.start + at)
            if way.failed:
                break
            self._save_front(way, state["sample"], end)
            self.tell(end, n, "finding the tokens that can lead")
        system = way.seal()
        if system is None:
            raise self._too_large(way.failed)
        return system

    def _blocks(self, begin: int, end: int) -> Iterator[range]:
        """Tokens begin..end-1 in blocks that are read at once."""
        size = max(CHUNK, BLOCK // self.tokens.dim)
        return (range(at, min(end, at + size)) for at in range(begin, end, size))

    def _second_pass(self, way: Way, system: Pool, rest: Rest) -> Pool:
        """Write where each token ends; the tokens that have to join the system are returned."""
        n, of_point = self.tokens.n, rest.cluster[way.first].astype(np.int32)
        joins = [Pool(system.tokens[:0], system.index[:0])]
        for p in range(self.parts):
            if (self.folder / f"layers-{p:05d}.npy").is_file():
                continue
            begin, end = p * self.part, min(n, (p + 1) * self.part)
            settled = self._settled(p)
            cluster, first, notes = np.empty(end - begin, np.int32), np.full(end - begin, -1, np.int32), []
            for block in self._blocks(begin, end):
                at = slice(block.start - begin, block.stop - begin)
                here = slice(*np.searchsorted(system.index, (block.start, block.stop)))
                inside, tokens = system.index[here] - block.start, self.tokens.read(block.start, block.stop)
                rows = np.flatnonzero(settled["leader"][at] >= 0)
                fates = way.take(tokens, np.concatenate((inside, rows)))
                wrong = np.flatnonzero(fates.leader < 0)
                joins.append(Pool(tokens[wrong], block.start + wrong))
                cluster[at] = of_point.take(fates.leader)
                cluster[at][inside] = rest.cluster[here]
                if fates.settled is not None:
                    first[at][fates.settled] = fates.leader[fates.settled]
                notes.append((fates.last, fates.margin, fates.first_margin))
            self.tell(end, n, "assigning tokens to leaders")
            if way.again:  # the others may say more about where to begin
                continue
            last, margins, first_margins = np.array(notes).T
            rows = np.flatnonzero(settled["leader"] >= 0)
            if (first >= 0).any() and not len(rows):
                found = {"leader": first, "margin": first_margins.min(), "index": system.index[way.first]}
                self._write_arrays(f"first-{p:05d}", found)
            if not any(map(len, joins)):
                places = np.searchsorted(system.index, settled["index"])
                cluster[rows] = rest.cluster[places].take(settled["leader"][rows])
                self._write_array(f"cluster-{p:05d}", cluster)
                margin = min(margins.min(), float(settled["margin"]))
                self._write_array(f"layers-{p:05d}", np.array([last.max(), margin]))
        return Pool(np.concatenate([j.tokens for j in joins]), np.concatenate([j.index for j in joins]))

    def _settled(self, part: int) -> dict[str, Any]:
        """The tokens of a part that an earlier second pass found to be decided at layer 0; nobody who joins is followed
        at that layer. Their leaders are numbers in a list of tokens."""
        nobody = {"leader": np.empty(0, np.int32), "margin": np.inf, "index": np.empty(0, np.int64)}
        return self._arrays(f"first-{part:05d}") or nobody
