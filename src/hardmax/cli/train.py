"""`hardmax train`: a sentiment model from labeled texts."""

import shlex
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from hardmax.cli import inputs, texts
from hardmax.cli.output import note, print_json
from hardmax.errors import BadInput


def command(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="imdb, an aclImdb folder or .tar.gz, .csv, .jsonl, .parquet.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the model.")],
    dim: Annotated[int, typer.Option("--dim", help="Dimensions of the word vectors.")] = 2,
    layers: Annotated[int, typer.Option("--layers", help="Hardmax layers; 0: none.")] = 8,
    ngrams: Annotated[int, typer.Option("--ngrams", help="Longest terms: 1 to 3 words.")] = 2,
    method: Annotated[
        str, typer.Option("--method", help="hardmax, or softmax (the paper's; torch extra).")
    ] = "hardmax",
    alpha: Annotated[float | None, typer.Option("--alpha", help="Step size of the layers.")] = None,
    train_alpha: Annotated[bool, typer.Option("--train-alpha", help="Learn the step size too.")] = False,
    epochs: Annotated[int | None, typer.Option("--epochs", help="Passes over the data.")] = None,
    batch_size: Annotated[int | None, typer.Option("--batch-size", help="Texts a step.")] = None,
    learning_rate: Annotated[float | None, typer.Option("--learning-rate", help="Of the word vectors.")] = None,
    min_texts: Annotated[int | None, typer.Option("--min-texts", help="A term must occur in so many texts.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of all random choices.")] = 0,
    validation: Annotated[
        float, typer.Option("--validation", help="Part of the texts kept aside to measure accuracy; 0: learn from all.")
    ] = 0.1,
    holdout: Annotated[str, typer.Option("--holdout", help="blocks (neighbors stay together) or random.")] = "blocks",
    split: texts.Split = "",
    text_column: texts.TextColumn = None,
    label: texts.Label = None,
    errors: texts.Errors = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where an interrupted run stopped.")] = False,
    force: inputs.Force = False,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Train a sentiment model; an interrupted run goes on with --resume, to the same bits.

    Example: hardmax train imdb -o my-model
    """
    silent = quiet or json
    inputs.check_output(output, force)
    if not 0 <= validation < 1:
        raise BadInput(f"--validation is {validation}", fix="a part from 0 up to, not including, 1")
    if holdout not in ("blocks", "random"):
        raise BadInput(f"--holdout is {holdout!r}", fix="blocks or random")
    given = {"alpha": alpha, "epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate}
    settings: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    settings |= {"dim": dim, "layers": layers, "ngrams": ngrams, "method": method, "train_alpha": train_alpha}
    settings |= {"min_texts": min_texts, "random_state": seed}

    from hardmax.sentiment.checkpoint import remove_checkpoint
    from hardmax.text.datasets import read

    begun = time.monotonic()
    found = read(data, texts.part(split, "train"), text=text_column, label=label)
    labels = found.named_labels()
    bad = texts.BadRows(data, errors, silent)
    bad.add(found.bad)
    # Beside the model, hidden: it is of use only until the model is there.
    checkpoint = output.with_name(f".{output.name}.checkpoint.npz")
    if resume and not checkpoint.exists():
        note(f"note: there is no {checkpoint}; starting from the beginning", silent)
    try:
        clf, aside = _fit(found.texts, labels, settings, validation, holdout, seed, checkpoint, resume, silent)
    except KeyboardInterrupt:
        saved = f"its state is in {checkpoint}" if checkpoint.exists() else "nothing was saved yet"
        print(f"\ninterrupted; {saved}\n  resume: {_again()}", file=sys.stderr)
        sys.exit(130)
    seconds = time.monotonic() - begun
    accuracy = clf.score(*aside) if aside else None
    clf.model_.card.update(
        name=output.name,
        data=f"{data}: {len(found):,} texts" + (f", {len(aside[0]):,} of them kept aside" if aside else ""),
        figures={"accuracy on the texts kept aside": f"{accuracy:.4f}"} if accuracy is not None else {},
    )
    clf.save_pretrained(output, force=force)
    remove_checkpoint(checkpoint)
    document: dict[str, Any] = {
        "schema": "hardmax.train/1",
        "model": str(output),
        "accuracy": accuracy,
        "n": len(found) - (len(aside[0]) if aside else 0),
        "n_validation": len(aside[0]) if aside else 0,
        "bad_rows": bad.count,
        "seconds": seconds,
        "parameters": clf.model_.parameters,
        "terms": len(clf.model_.vocabulary),
        "epochs": len(clf.history_["loss"]),
        "loss": clf.history_["loss"],
        "classes": list(clf.model_.classes),
    }
    if json:
        print_json(document)
    else:
        shown = (
            "not measured" if accuracy is None else f"{accuracy:.4f} on {document['n_validation']:,} texts kept aside"
        )
        print(f"accuracy: {shown}")
        print(
            f"{document['n']:,} texts, {document['terms']:,} terms, {document['parameters']:,} parameters, "
            f"{seconds:.1f} s"
        )
        print(f"model: {output}")
    bad.finish()


def _fit(
    found: list[str], labels: Any, settings: dict[str, Any], validation: float, holdout: str, seed: int,
    checkpoint: Path, resume: bool, silent: bool,
) -> tuple[Any, tuple[list[str], Any] | None]:  # fmt: skip
    """The trained classifier, and the texts and labels kept aside."""
    from hardmax.sentiment.estimator import HardmaxClassifier
    from hardmax.text.splits import at_random, by_blocks

    learn, aside = list(range(len(found))), None
    if validation:
        both = at_random(len(found), validation, seed) if holdout == "random" else by_blocks(labels, validation)
        learn, aside = both[0].tolist(), ([found[i] for i in both[1]], labels[both[1]])
        aside = aside if len(aside[0]) else None
    clf = HardmaxClassifier(**settings)
    keep: dict[str, Any] = {"checkpoint": checkpoint, "resume": resume}
    with texts.telling(silent, f"training on {len(learn):,} texts") as tell:

        def progress(p: Any) -> None:
            accuracy = "" if p.validation is None else f", accuracy {p.validation:.4f}"
            tell(p.step, p.steps, f"epoch {min(p.epoch + 1, p.epochs)} of {p.epochs}, loss {p.loss:.4f}{accuracy}")

        clf.fit([found[i] for i in learn], labels[learn], validation=aside, progress=progress, **keep)
    return clf, aside


def _again() -> str:
    """The command that goes on from here."""
    words = [a for a in sys.argv[1:] if a != "--resume"]
    return shlex.join(["hardmax", *words, "--resume"])
