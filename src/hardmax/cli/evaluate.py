"""`hardmax evaluate`: measure a model on labeled texts."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Exit, Option

from hardmax.cli import inputs, texts
from hardmax.cli.output import note, show
from hardmax.errors import BadInput
from hardmax.io.progress import Tell, telling

if TYPE_CHECKING:
    from hardmax.sentiment.model import SentimentModel
    from hardmax.text.datasets import Dataset

PART = 2048  # texts measured together


def command(
    arguments: Annotated[list[str], texts.model_argument("DATA", "labeled texts.")],
    min_accuracy: Annotated[float | None, Option(help="Exit with code 6 if the accuracy is lower.")] = None,
    faithful: Annotated[bool, Option("--faithfulness", help="Also measure how faithful the explanations are.")] = False,
    sample: Annotated[int, Option(help="Number of evenly spaced texts for --faithfulness.")] = 200,
    report: Annotated[
        Path | None, Option(help="Write a report (confusion matrix, calibration, errors) to this .html or .json file.")
    ] = None,
    train: Annotated[str | None, Option(help="Texts on which the baselines in the report are trained.")] = None,
    against: Annotated[str | None, Option(help="Other texts to compare DATA with; they need no labels.")] = None,
    force: inputs.Force = False,
    split: texts.Split = "test",
    text_column: texts.TextColumn = None,
    label: texts.Label = None,
    errors: texts.Errors = None,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Measure the accuracy, the loss, the number of leaders and the speed of a model.

    Example: hardmax evaluate my-model test.csv --train train.csv --report report.html
    """
    silent = quiet or json
    name, data = texts.model_and(arguments, "DATA")
    if min_accuracy is not None and not 0 <= min_accuracy <= 1:
        raise BadInput(f"--min-accuracy is {min_accuracy}", fix="use a number from 0 to 1")
    if sample < 1:
        raise BadInput(f"--sample is {sample}", fix="use at least 1")
    if report is not None and report.suffix.lower() not in (".html", ".json"):
        raise BadInput(f"--report is {report}", fix="use a name that ends in .html or .json")
    if train is not None and report is None:
        raise BadInput("--train needs --report", fix="add --report report.html")
    inputs.check_output(report, force)

    from hardmax.sentiment.files import load_model
    from hardmax.text.datasets import read
    from hardmax.text.tables import expected_rows

    model, names = load_model(name), texts.label_names(label)
    if model.multi_label:
        if faithful or report is not None or against is not None:
            model.refuse_several_labels("--faithfulness, --report or --against")
        if names is not None:
            raise BadInput("--label is not needed: the labels of the model name its columns",
                           found=", ".join(map(str, model.classes)))  # fmt: skip
        names = [str(c) for c in model.classes]
    found: Dataset | None = None
    expected: int | None
    if faithful or report is not None or against is not None:  # these need all texts at once
        found, bad = texts.read_data(str(data), split, text_column, names, errors, silent)
        parts, expected = found.batches(PART), len(found)
    else:
        parts, bad = texts.read_parts(str(data), split, text_column, names, errors, silent)
        expected = expected_rows(str(data))
    with telling(silent, f"evaluating on {data}") as tell:
        document = (measure_several if model.multi_label else measure)(model, parts, expected, tell)
        if found is not None and faithful:
            document["faithfulness"] = _faithfulness(model, found.texts, sample, tell)
        others = None if against is None else read(against, None, text=text_column, labeled=False).texts
        if found is not None and report is not None:
            learn = texts.read_data(train, "train", text_column, names, None, True)[0] if train else None
            document["report"] = _report(model, found, learn, others, report, force, tell)
        if found is not None and others is not None:
            from hardmax.sentiment.drift import Drift

            document["drift"] = Drift.between(model, found.texts, others).as_dict()
    document = {"schema": "hardmax.evaluate/1", "model": name, "data": str(data), **document, "bad_rows": bad.count}
    show(json, document, *(_lines_several(document) if model.multi_label else _lines(document, model.layers)))
    if min_accuracy is not None and document["accuracy"] < min_accuracy:
        note(f"the accuracy {document['accuracy']:.4f} is below --min-accuracy {min_accuracy}", silent)
        raise Exit(6)
    bad.finish()


def _runs(
    model: "SentimentModel", parts: Iterable["Dataset"], expected: int | None, tell: Tell
) -> Iterator[tuple["Dataset", Any, Any, float]]:
    """Every part that has texts, with their logits, their numbers of leaders, and the seconds that this took."""
    n = 0
    for part in parts:
        if not len(part):
            continue
        if not n:  # the first use compiles, which is not to be measured
            model.run(model.vocabulary.bags(part.texts[:2]))
            tell(0, expected, "predicting")
        begun = time.perf_counter()
        logits, leaders = model.run(model.vocabulary.bags(part.texts))
        yield part, logits, leaders, time.perf_counter() - begun
        n += len(part)
        tell(n, max(n, expected or n), "predicting")


def measure(model: "SentimentModel", parts: Iterable["Dataset"], expected: int | None, tell: Tell) -> dict[str, Any]:
    """The figures, as plain data; every part is used once and forgotten."""
    import numpy as np

    from hardmax.sentiment.batches import trace
    from hardmax.sentiment.model import winners
    from hardmax.text.datasets import match_labels

    number = {c: i for i, c in enumerate(model.classes)}
    n, loss, seconds, initial = 0, 0.0, 0.0, 0
    leaders: Counter[int] = Counter()  # number of leaders -> texts with as many
    seen, right = np.zeros(len(model.classes), np.int64), np.zeros(len(model.classes), np.int64)
    for part, logits, heads, spent in _runs(model, parts, expected, tell):
        wanted = np.array([number[c] for c in match_labels(part.labels, model.classes).tolist()], np.int64)
        own = model.from_logits(logits)[np.arange(len(part)), wanted]
        loss -= float(np.log(np.maximum(own, 1e-300)).sum())
        leaders.update(heads.tolist())
        initial += int((trace(model, part.texts).since == 0).sum())
        seen += np.bincount(wanted, minlength=len(seen))
        right += np.bincount(wanted[winners(logits) == wanted], minlength=len(seen))
        n, seconds = n + len(part), seconds + spent
    total, squares = (sum(k**power * texts for k, texts in leaders.items()) for power in (1, 2))
    return {
        "n": n,
        "accuracy": float(right.sum() / n),
        "loss": loss / n,
        "leaders": {
            "mean": total / n,
            "std": sqrt(n * squares - total**2) / n,
            "min": min(leaders),
            "max": max(leaders),
            "initial_fraction": initial / total if total else None,
        },
        "texts_per_second": n / seconds,
        "classes": {
            str(c): {"n": int(all_of), "recall": float(good / all_of) if all_of else None}
            for c, all_of, good in zip(model.classes, seen, right, strict=True)
        },
    }


def measure_several(
    model: "SentimentModel", parts: Iterable["Dataset"], expected: int | None, tell: Tell
) -> dict[str, Any]:
    """The figures of a model that gives texts any number of labels; a text is right if all of its labels are."""
    import numpy as np

    n, right, loss, seconds = 0, 0, 0.0, 0.0
    counts = np.zeros((3, len(model.classes)), np.int64)  # of each label: the texts that have it, that get it, and both
    for part, logits, _, spent in _runs(model, parts, expected, tell):
        wanted, chosen = part.labels == 1, logits > 0
        loss += float(np.logaddexp(0.0, np.where(wanted, -logits, logits)).mean(axis=1).sum())
        right += int((wanted == chosen).all(axis=1).sum())
        counts += np.stack([one.sum(axis=0) for one in (wanted, chosen, wanted & chosen)])
        n, seconds = n + len(part), seconds + spent
    return {
        "n": n,
        "accuracy": right / n,
        "loss": loss / n,
        "texts_per_second": n / seconds,
        "labels": {
            str(c): {"n": has, "recall": both / has if has else None, "precision": both / gets if gets else None}
            for c, has, gets, both in zip(model.classes, *counts.tolist(), strict=True)
        },
    }


def _faithfulness(model: "SentimentModel", found: Sequence[str], sample: int, tell: Tell) -> dict[str, Any]:
    from hardmax.sentiment.faithfulness import faithfulness

    step = max(1, len(found) // sample)
    measured = faithfulness(model, found[::step][:sample], progress=tell)
    return {"n": measured.texts, "top": measured.top, "rows": list(measured.rows)}


def _report(
    model: "SentimentModel", found: "Dataset", learn: "Dataset | None", others: Sequence[str] | None, to: Path,
    force: bool, tell: Tell,
) -> dict[str, Any]:  # fmt: skip
    from hardmax.sentiment.estimator import HardmaxClassifier

    train = (learn.texts, learn.labels) if learn is not None else None
    clf = HardmaxClassifier.from_model(model)
    made = clf.report(found.texts, found.labels, train=train, against=others, progress=tell)
    made.save(to, force=force)
    keep = ("interval", "macro_f1", "calibration_error", "comparison")
    return {"file": str(to)} | {name: value for name, value in made.as_dict().items() if name in keep}


def _lines_several(document: dict[str, Any]) -> Iterator[str]:
    right = f"{document['accuracy']:.4f} of {document['n']:,} texts have exactly the right labels"
    yield f"accuracy: {right} (loss per label {document['loss']:.4f})"
    for name, row in document["labels"].items():
        recall, precision = ("-" if row[k] is None else f"{row[k]:.4f}" for k in ("recall", "precision"))
        yield f"  {name}: {row['n']:,} texts, recall {recall}, precision {precision}"
    yield f"speed: {document['texts_per_second']:,.0f} texts per second, from raw text"


def _lines(document: dict[str, Any], layers: int) -> Iterator[str]:
    leaders = document["leaders"]
    yield f"accuracy: {document['accuracy']:.4f} on {document['n']:,} texts (loss {document['loss']:.4f})"
    for name, row in document["classes"].items():
        recall = "-" if row["recall"] is None else f"{row['recall']:.4f}"
        yield f"  {name}: {recall} of {row['n']:,} correct"
    first = "" if leaders["initial_fraction"] is None else f"; {leaders['initial_fraction']:.1%} lead from layer 0"
    spread = f"std {leaders['std']:.1f}, {leaders['min']} to {leaders['max']}"
    if layers:  # without attention no word leads another
        yield f"leaders: {leaders['mean']:.1f} per text ({spread}){first}"
    yield f"speed: {document['texts_per_second']:,.0f} texts per second, from raw text"
    made, drift = document.get("report"), document.get("drift")
    if made:
        low, high = made["interval"]
        yield f"report: {made['file']} (accuracy {low:.4f} to {high:.4f}, macro-F1 {made['macro_f1']:.4f})"
        for row in made["comparison"][1:]:
            yield f"  {row['model']}: {row['accuracy']:.4f} ({row['how']})"
    if drift:
        beyond, p = ", ".join(drift["beyond_chance"]), drift["chance"]
        yield f"the other texts differ {f'by more than chance in {beyond}' if beyond else 'no more than by chance'}"
        yield "  (p: how often random parts differ at least as much; up to 0.0025 counts as more than chance)"
        yield f"  labels differ by {drift['distance']:.3f} ({drift['noise']:.3f} by chance, p = {p['labels']:.3f})"
        for name, key, form in (("known words", "coverage", ".1%"), ("confidence", "confidence", ".1%"),
                                ("words per text", "length", ".0f")):  # fmt: skip
            before, after = (format(value, form) for value in drift[key])
            yield f"  {name} {before} here, {after} there (p = {p[key]:.3f})"
        for name, rows in (("more", drift["more"]), ("less", drift["fewer"])):
            yield f"  {name} frequent there: {', '.join(row['word'] for row in rows[:10]) or 'no word'}"
    faithful = document.get("faithfulness")
    if faithful:
        yield f"faithfulness on {faithful['n']} texts (change of the probability of the predicted class):"
        yield f"  {'words named by':16s} {'words':>6s} {'deleted':>9s} {'only they':>9s} {'flips':>6s}"
        for row in faithful["rows"]:
            change = f"{row['comprehensiveness']:9.3f} {row['sufficiency']:9.3f} {row['flips']:6.1%}"
            yield f"  {row['ranking']:16s} {row['words']:6.1f} {change}"
        yield "  deleted (comprehensiveness): higher is better; only they (sufficiency): lower is better"
