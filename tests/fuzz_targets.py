"""Everything that reads what others wrote, as functions of one input: `make fuzz` and the bounded tests run these.

A target gets an input that was made from a good one by a few random changes. It must return, or raise an error of
hardmax; anything else is a crash. Each target makes its good inputs once, in a folder of its own.
"""

import atexit
import json
import random
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path

import numpy as np

from hardmax.errors import HardmaxError

NASTY = [
    b"", b"0", b"-0", b"-1", b"1e308", b"1e999", b"-1e-400", b"NaN", b"Infinity", b"null", b"true", b"[]", b"{}", b'""',
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r\n", b"\n\n", b"\t", b",", b";", b'"', b"'", b"\\", b"%", b"&#", b"<b>",
    b"\\ud800", b"1/0", b"1/3", b"9" * 30, b"[" * 50, b"{" * 50, b'{"a":' * 30, "\u202e\U0001f600\u0301".encode(),
    "ﬃ\u0130\u1e9e\u0e01\u4e00".encode(), b"18446744073709551616", b"2147483648", b"__class__", b"../..",
]  # fmt: skip


def mutated(data: bytes, rng: random.Random, other: bytes = b"") -> bytes:
    """The data with one to four changes: bits, bytes, pieces cut, doubled, swapped or taken from another input."""
    found = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        a = rng.randrange(len(found) + 1)
        b = min(len(found), a + rng.choice((1, 1, 2, 4, 16, 64)))
        how = rng.randrange(8)
        if how == 0 and a < len(found):
            found[a] ^= 1 << rng.randrange(8)
        elif how == 1 and a < len(found):
            found[a] = rng.randrange(256)
        elif how == 2:
            del found[a:b]
        elif how == 3:
            found[a:a] = found[a:b] * rng.randint(1, 3)
        elif how == 4:
            found[a:b] = rng.choice(NASTY)
        elif how == 5 and other:
            start = rng.randrange(len(other))
            found[a:a] = other[start : start + rng.choice((1, 4, 16, 64))]
        elif how == 6:
            del found[a:]
        else:
            found[a:a] = rng.choice(NASTY)
    return bytes(found)


def changed(value: object, rng: random.Random) -> object:
    """JSON-like data with one value replaced, left out or moved."""
    odd = (None, True, -1, 0, 1e308, float("nan"), 10**30, "", "x" * 300, [], {}, [[]], "1/3", "NaN", [None], {"a": 1})
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(sorted(value))
        left = dict(value)
        if rng.random() < 0.15:
            del left[key]
        elif rng.random() < 0.1:
            left[rng.choice(("schema", "extra", key + "_"))] = left.pop(key)
        else:
            left[key] = changed(value[key], rng)
        return left
    if isinstance(value, list) and value and rng.random() < 0.85:
        k = rng.randrange(len(value))
        if rng.random() < 0.2:
            return value[:k] + value[k + 1 :]
        return [*value[:k], changed(value[k], rng), *value[k + 1 :]]
    return rng.choice(odd)


@dataclass(frozen=True)
class Target:
    """What is fuzzed: good inputs, and a function of one input."""

    seeds: list[bytes]
    run: Callable[[bytes], object]
    refuses: type[Exception] | tuple[type[Exception], ...] = HardmaxError
    is_json: bool = False

    def input(self, rng: random.Random) -> bytes:
        """The next input."""
        data = rng.choice(self.seeds)
        if self.is_json and rng.random() < 0.7:
            value = json.loads(data)
            for _ in range(rng.randint(1, 2)):
                value = changed(value, rng)
            return json.dumps(value).encode()
        return mutated(data, rng, rng.choice(self.seeds))

    def try_one(self, data: bytes) -> bool:
        """Whether an input was accepted; refused inputs raise an error of ours, all others escape from here."""
        with suppress(self.refuses):
            self.run(data)
            return True
        return False


def text_of(data: bytes) -> str:
    """Bytes as text, with lone surrogates where they are not UTF-8."""
    return data.decode("utf-8", "surrogateescape")


def targets(folder: Path) -> dict[str, Callable[[], Target]]:
    """Functions that make the targets, by name; `folder` is theirs."""

    def file_target(suffix: str, seeds: list[bytes], read: Callable[[Path], object], is_json: bool = False) -> Target:
        path = folder / f"input{suffix}"

        def run(data: bytes) -> object:
            path.write_bytes(data)
            return read(path)

        return Target(seeds, run, is_json=is_json)

    def tokens(suffix: str, seeds: list[bytes], exact: bool = False) -> Callable[[], Target]:
        from hardmax.io.tokens import read_tokens

        return lambda: file_target(suffix, seeds, lambda path: read_tokens(path, exact=exact), suffix == ".json")

    def tokens_stream() -> Target:
        from hardmax.io.tokens import read_tokens

        return Target([*CSV, *JSON_TOKENS, _npy()], lambda data: read_tokens("-", BytesIO(data)))

    def text_stream() -> Target:
        from hardmax.io.tokens import read_tokens

        return Target(CSV, lambda data: read_tokens("-", StringIO(text_of(data)), exact=True))

    def table(suffix: str, seeds: list[bytes]) -> Callable[[], Target]:
        from hardmax.text.tables import expected_rows, rows

        def read(path: Path) -> object:
            expected_rows(path)
            return list(rows(path)) + list(rows(path, labeled=False))

        return lambda: file_target(suffix, seeds, read)

    def lines() -> Target:
        from hardmax.text.tables import lines as read

        return Target(ROWS, lambda data: list(read(BytesIO(data))))

    def words() -> Target:
        from hardmax.sentiment.explain import explain
        from hardmax.text.words import split
        from tiny_models import two_classes

        model = two_classes()

        def run(data: bytes) -> None:
            text = text_of(data)
            for word in split(text):
                assert 0 <= word.start < word.end <= len(text)
            ex = explain(model, text)
            assert abs(ex.bias + sum(leader.contribution for leader in ex.leaders) - ex.logit) < 1e-9
            json.loads(ex.to_json())

        return Target(PROSE, run)

    def links() -> Target:
        from hardmax.web.share import tokens_of

        return Target(LINKS, lambda data: tokens_of(text_of(data)), refuses=())

    def study() -> Target:
        from hardmax.scale.config import read_sweep

        return file_target(".toml", STUDIES, read_sweep)

    def study_dict() -> Target:
        from hardmax.scale.config import read_sweep

        return Target(STUDY_DICTS, _of_json(read_sweep), is_json=True)

    def construction() -> Target:
        from hardmax.construction.files import read_lines

        return Target(SEQUENCES, lambda data: read_lines(text_of(data).splitlines(), "input"))

    def model_folder() -> Target:
        from hardmax.sentiment.files import load_model, save_model
        from tiny_models import two_classes

        return _folder_target(save_model(two_classes(), folder / "model"), load_model)

    def network_folder() -> Target:
        import hardmax as hx

        made = hx.construct([[[0, 1], [1, 0]], [[2, 2]]], ["a", "b"]).save(folder / "network")
        return _folder_target(made, hx.Network.load)

    def result(kind: str, suffix: str) -> Callable[[], Target]:
        def made() -> Target:
            import hardmax as hx

            Z = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.2], [0.3, 0.3]]
            found = {
                "trajectory": lambda: hx.simulate(Z, layers=3), "equilibrium": lambda: hx.limit(Z),
                "batch": lambda: hx.simulate([Z, Z[:3]], layers=2), "polytope": lambda: hx.limit(Z).polytope,
            }[kind]()  # fmt: skip
            found.save(folder / f"good{suffix}")
            seeds = [(folder / f"good{suffix}").read_bytes()]
            return file_target(suffix, seeds, type(found).load, suffix == ".json")

        return made

    def case() -> Target:
        from hardmax.experiments.case import read_case

        return Target(CASES, _of_json(read_case), is_json=True)

    def checkpoint() -> Target:
        from hardmax.sentiment.training_loop import read_checkpoint, write_checkpoint

        write_checkpoint(folder / "c.npz", {"x": np.arange(6.0), "step": 3}, "mark")
        return file_target(".npz", [(folder / "c.npz").read_bytes()], lambda path: read_checkpoint(path, "mark"))

    def chunks() -> Target:
        from hardmax.io.chunks import Chunks

        def read(path: Path) -> object:
            found = Chunks(path)
            return found.read(0, min(found.n, 10))

        return file_target(".npy", [_npy()], read)

    def vectors() -> Target:
        from hardmax.sentiment.embeddings import explain_embeddings

        seeds = [b"3 2\ngood 1.0 0.5\nbad -1.0 0.25\nfilm 0.1 0.2\n", b"good 1 2\nbad 3 4\n"]
        return file_target(".vec", seeds, lambda path: explain_embeddings(path, [1.0, -1.0], "a good film"))

    def fasttext() -> Target:
        from hardmax.sentiment.embeddings import explain_embeddings

        return file_target(".bin", [_fasttext()], lambda path: explain_embeddings(path, None, "a good film"))

    def options() -> Target:
        from hardmax.cli import inputs

        def run(data: bytes) -> None:
            text = text_of(data)
            with suppress(HardmaxError):
                inputs.number(text, "--alpha", False)
            inputs.matrix(text, True)

        return Target([b"2,-1; -1,2", b"1/3", b"0.5", b"1e-3, 0; 0, 2"], run)

    def http(app_of: str) -> Callable[[], Target]:
        return lambda: _http_target(app_of)

    return {
        "tokens-csv": tokens(".csv", CSV), "tokens-exact": tokens(".csv", CSV, exact=True),
        "tokens-json": tokens(".json", JSON_TOKENS), "tokens-npy": tokens(".npy", [_npy(), _npy(True)]),
        "tokens-npz": tokens(".npz", [_npz()]), "tokens-stream": tokens_stream, "tokens-text": text_stream,
        "texts-csv": table(".csv", TABLES), "texts-tsv": table(".tsv", TABLES), "texts-jsonl": table(".jsonl", ROWS),
        "texts-parquet": table(".parquet", _parquet()), "texts-lines": lines, "words": words, "links": links,
        "study": study, "study-dict": study_dict, "sequences": construction, "model": model_folder,
        "network": network_folder, "case": case, "checkpoint": checkpoint, "chunks": chunks, "vectors": vectors,
        "fasttext": fasttext, "options": options, "serve": http("serve"), "playground": http("playground"),
        **{f"{kind}{s}": result(kind, s) for kind in ("trajectory", "equilibrium", "batch", "polytope")
           for s in (".json", ".npz")},
    }  # fmt: skip


def _of_json(read: Callable[[object], object]) -> Callable[[bytes], object]:
    def run(data: bytes) -> object:
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            return None  # not for this reader
        return read(value) if isinstance(value, dict) else None

    return run


def _folder_target(made: Path, load: Callable[[Path], object]) -> Target:
    """One of the files of a folder is changed; the input is its number and its contents."""
    names = sorted(p.name for p in made.iterdir())
    good = {name: (made / name).read_bytes() for name in names}

    def run(data: bytes) -> None:
        name = names[data[0] % len(names)] if data else names[0]
        (made / name).write_bytes(data[1:])
        try:
            load(made)
        finally:
            (made / name).write_bytes(good[name])

    return Target([bytes([k]) + good[name] for k, name in enumerate(names)], run)


class Answered(Exception):
    """A server that answered with an internal error."""


def _http_target(kind: str) -> Target:
    """A path (the first line) and a body, sent to the application in this process; 5xx is a crash."""
    import asyncio

    import httpx

    if kind == "serve":
        from hardmax.web.model_app import create_model_app

        app = create_model_app("imdb-words")
        paths = [b"/predict", b"/explain", b"/health"]
        bodies = [b'{"texts": ["a great film", "so dull"]}', b'{"texts": []}', b'{"texts": ["\\u0000 \\ud83d\\ude00"]}']
    else:
        from hardmax.web.app import create_app
        from hardmax.web.pool import Pool

        app = create_app(pool=Pool({"model": "imdb-words", "data": None, "data_name": "imdb"}))
        paths = [b"/api/simulate", b"/api/limit", b"/api/presets", b"/api/corpus?page=1"]
        bodies = [
            b'{"tokens": [[1, 0], [0, 1], [0.5, 0.5]], "alpha": 0.5, "layers": 3}',
            b'{"tokens": [[1]], "A": [[2]]}',
        ]
    loop = asyncio.new_event_loop()
    atexit.register(loop.close)
    client = httpx.AsyncClient(
        transport=httpx.ASGITransport(app, raise_app_exceptions=False), base_url="http://127.0.0.1", timeout=60
    )

    def run(data: bytes) -> None:
        path, _, body = data.partition(b"\n")
        where = "/" + path.decode("latin-1").lstrip("/")
        try:
            url = httpx.URL("http://127.0.0.1" + where)
        except (httpx.InvalidURL, ValueError):
            return
        headers = {"content-type": "application/json"}
        sent = client.request("POST" if body else "GET", url, content=body, headers=headers)
        answer = loop.run_until_complete(sent)
        if answer.status_code >= 500 and answer.status_code != 503:  # 503: the machine is overloaded
            raise Answered(f"{answer.status_code} {answer.text[:200]}")

    return Target([path + b"\n" + body for path in paths for body in [*bodies, b""]], run)


def _npy(batch: bool = False) -> bytes:
    to = BytesIO()
    np.save(to, np.arange(12.0).reshape((2, 3, 2) if batch else (6, 2)))
    return to.getvalue()


def _npz() -> bytes:
    to = BytesIO()
    np.savez(to, tokens=np.arange(8.0).reshape(4, 2))
    return to.getvalue()


def _fasttext() -> bytes:
    """A classifier with two words, two labels and three buckets, as fastText writes it."""
    entries = [("good", 0), ("film", 0), ("__label__a", 1), ("__label__b", 1)]
    data = struct.pack("<ii12id", 793712314, 12, 2, 5, 5, 1, 5, 2, 3, 3, 3, 2, 3, 100, 1e-4)
    data += struct.pack("<iiiqq", 4, 2, 2, 9, -1)
    data += b"".join(word.encode() + b"\0" + struct.pack("<qb", 3, kind) for word, kind in entries)
    for rows in (5, 2):
        data += struct.pack("<?qq", False, rows, 2) + np.arange(2.0 * rows).astype("<f4").tobytes()
    return data


def _parquet() -> list[bytes]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    to = BytesIO()
    pq.write_table(pa.table({"text": ["a", "b c"], "label": [0, 1], "id": ["x", "y"]}), to)
    return [to.getvalue()]


CSV = [b"x, y\n1, 0\n0.5, 1/4\n", b"# comment\n1;2\n3;4\n", b"1 2 3\n-1e-3 .5 7/3\n", b"0.1\n0.2\n"]
JSON_TOKENS = [
    b"[[1, 0], [0, 1]]", b'{"tokens": [[0.5, "1/3"], [1, 2]]}', b"[[[1, 0], [0, 1]], [[1, 1]]]",
    b'{"schema": "hardmax.trajectory/1", "tokens": [[[1, 0]], [[0, 1]]]}',
]  # fmt: skip
TABLES = [
    b"text,label\ngood film,1\n\"a, b\",0\n", b"review;sentiment;id\nfein;pos;1\nschlecht;neg;2\n",
    b"text\tlabel\na\t0\nb\t1\n", "text,label\ncaf\u00e9,1\n\u4e2d\u6587,0\n".encode("utf-16"),
    "\ufefftext|label\nx|1\n".encode(),
]  # fmt: skip
ROWS = [
    b'{"text": "good", "label": 1}\n{"text": "bad", "label": 0, "id": "k"}\n', b'{"review": "x", "sentiment": "pos"}\n',
    b"plain line\nanother one\n", b'{"text": null}\n[1]\n"x"\n{"text": "ok"}\n',
]  # fmt: skip
PROSE = [
    b"A great film, not dull at all! The plot...",
    "tr\u00e8s bon. \u4e2d\u6587\u5f88\u597d\u3002 \u0e2b\u0e19\u0e31\u0e07".encode(),
    b"<br />great &amp; fine &#39;plot&#39; a<b and c>d http://x.y/z",
    "it's \U0001f600\U0001f468\u200d\U0001f469 e\u0301 \u00df \u0130".encode(),
]
LINKS = [
    b"#v=1&preset=ring&n=12&d=2",
    b"http://localhost/#v=1&pts=AQIAAHpE9AEY_A&alpha=0.5",
    b"#preset=random&n=60&seed=7&d=3",
    b"#v=1&preset=%72ing&n=1e1",
]
STUDIES = [
    b'[sweep]\nseeds = 2\n[fixed]\ncloud = "normal"\n[grid]\nn = [5, 10]\nd = [2, 3]\n',
    b'[sweep]\nseeds = 1\npoints = 3\n[random]\nalpha = {low = 0.1, high = 10.0, scale = "log"}\n',
    b'[sweep]\nkind = "training"\n[fixed]\ndata = "imdb"\n[grid]\nlayers = [0]\n[plot]\nx = "n"\ny = "leaders"\n',
]
STUDY_DICTS = [
    b'{"sweep": {"seeds": 2}, "grid": {"n": [5, 10]}, "fixed": {"d": 2}}',
    b'{"sweep": {"seeds": 1, "points": 4}, "random": {"alpha": {"low": 0.1, "high": 2.0}}, "grid": {"layers": [1, 2]}}',
]
SEQUENCES = [b'{"tokens": [[0, 1], [1, 0]], "label": "a"}\n{"tokens": [[2, 2]], "label": "b"}\n']
CASES = [b'{"kind": "random-exact", "alpha": "1/2", "tokens": [["1", "0"], ["0", "1/3"]], "layers": 3}']
