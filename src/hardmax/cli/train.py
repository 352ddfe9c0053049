"""`hardmax train`: a text classifier from labeled texts."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Option

from hardmax.cli import inputs, texts
from hardmax.cli.output import interrupted, note, show
from hardmax.errors import BadInput
from hardmax.io.progress import telling

if TYPE_CHECKING:
    from hardmax.sentiment.estimator import HardmaxClassifier
    from hardmax.sentiment.training_loop import Progress
    from hardmax.text.datasets import Dataset

IDS = 10  # labels, from which on they are probably no classes if most texts have one of their own


def command(
    data: texts.Data,
    output: Annotated[Path, inputs.output("Folder to write the model to.")],
    dim: Annotated[
        int | None,
        Option(
            help="Number of dimensions of the word vectors (default: 2 for two classes, else the number of classes)."
        ),
    ] = None,
    layers: Annotated[
        int | None,
        Option(
            help="Number of hardmax layers, 0 for none (default: 8 for long texts with two classes if the "
            "accuracy on held-out texts does not drop, else 0)."
        ),
    ] = None,
    ngrams: Annotated[int, Option(help="Largest number of words in a term, 1 to 3.")] = 2,
    method: Annotated[
        Literal["hardmax", "softmax"], Option(help="softmax is the paper's relaxation, which needs the extra torch.")
    ] = "hardmax",
    alpha: Annotated[float | None, Option(help="Step size of the layers.")] = None,
    train_alpha: Annotated[bool, Option("--train-alpha", help="Learn the step size too.")] = False,
    epochs: Annotated[
        int | None, Option(help="Number of additional passes over the data, with attention (default: none).")
    ] = None,
    batch_size: Annotated[int | None, Option(help="Batch size: number of texts per training step.")] = None,
    learning_rate: Annotated[float | None, Option(help="Learning rate of the word vectors.")] = None,
    min_df: Annotated[int | None, Option(help="Ignore terms that occur in fewer than this many texts.")] = None,
    balanced: Annotated[
        bool, Option("--balanced", help="Give all classes the same weight, however many texts they have.")
    ] = False,
    seed: inputs.AnySeed = 0,
    validation: Annotated[
        float, Option(help="Fraction of the texts to hold out for measuring accuracy; 0 trains on all.")
    ] = 0.1,
    holdout: Annotated[
        Literal["blocks", "random"],
        Option(help="How to hold out texts: in blocks, so that neighbors stay together, or at random."),
    ] = "blocks",
    split: texts.Split = "train",
    text_column: texts.TextColumn = None,
    label: texts.Label = None,
    errors: texts.Errors = None,
    resume: Annotated[bool, Option("--resume", help="Continue an interrupted run.")] = False,
    force: inputs.Force = False,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Train a text classifier on labeled texts.

    An interrupted run can be resumed with --resume; the result is bit-for-bit the same. With several --label, texts can
    have any number of labels.

    Example: hardmax train imdb -o my-model
    """
    silent = quiet or json
    inputs.check_output(output, force)
    if not 0 <= validation < 1:
        raise BadInput(f"--validation is {validation}", fix="use a number of at least 0 and less than 1")
    given = {"dim": dim, "layers": layers, "alpha": alpha, "epochs": epochs, "batch_size": batch_size}
    given |= {"learning_rate": learning_rate, "min_df": min_df}
    settings: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    settings |= {"ngram_range": (1, ngrams), "method": method}
    settings |= {"train_alpha": train_alpha, "random_state": seed, "class_weight": "balanced" if balanced else None}

    from hardmax.io.scratch import spilling
    from hardmax.sentiment.estimator import HardmaxClassifier
    from hardmax.sentiment.training_loop import remove_checkpoint

    begun, folder = time.monotonic(), inputs.existing_parent(output)
    names = texts.label_names(label)
    found, bad = texts.read_data(data, split, text_column, names, errors, silent, store=folder)
    _doubt(found, silent)
    learn, held_out = _hold_out(found, validation, holdout, seed)
    clf = HardmaxClassifier(**settings)
    # Beside the model, hidden: it is of use only until the model is there.
    checkpoint = output.with_name(f".{output.name}.checkpoint.npz")
    if resume and not checkpoint.exists():
        note(f"note: there is no {checkpoint}; starting from the beginning", silent)
    try:
        with spilling(folder):
            _fit(clf, learn, held_out, checkpoint, resume, silent)
            accuracy = clf.score(*held_out) if held_out else None
    except KeyboardInterrupt:
        saved = f"its state is in {checkpoint}" if checkpoint.exists() else "nothing was saved yet"
        interrupted(saved, *(word for word in sys.argv[1:] if word != "--resume"), "--resume")
    seconds = time.monotonic() - begun
    n_held_out = len(held_out[0]) if held_out else 0
    clf.model_.card.update(
        name=output.name,
        data=f"{data}: {len(found):,} texts" + (f", {n_held_out:,} of them held out" if held_out else ""),
        figures={"accuracy on the held-out texts": f"{accuracy:.4f}"} if held_out else {},
    )
    clf.save_pretrained(output, force=force)
    remove_checkpoint(checkpoint)
    document: dict[str, Any] = {
        "schema": "hardmax.train/1",
        "model": str(output),
        "accuracy": accuracy,
        "n": len(learn[0]),
        "n_validation": n_held_out,
        "bad_rows": bad.count,
        "seconds": seconds,
        "parameters": clf.model_.parameters,
        "terms": len(clf.model_.vocabulary),
        "epochs": len(clf.history_["loss"]),
        "loss": clf.history_["loss"],
        "classes": list(clf.model_.classes),
        "choices": clf.choices_,
    }
    few = f"the classes have too few texts to hold out {validation:.2g} of each" if validation else "--validation is 0"
    measured = f"{accuracy:.4f} on {n_held_out:,} held-out texts" if held_out else f"not measured: {few}"
    sizes = f"{document['n']:,} texts, {document['terms']:,} terms, {document['parameters']:,} parameters"
    chosen = [f"{name}: {why}" for name, why in clf.choices_.items()]
    show(json, document, f"accuracy: {measured}", f"{sizes}, {seconds:.1f} s", *chosen, f"model: {output}")
    bad.finish()


def _doubt(found: "Dataset", silent: bool) -> None:
    """Warn of labels that are probably no classes, such as ids or ratings with many decimals."""
    import numpy as np

    labels = np.unique(found.labels) if found.labels.ndim == 1 else ()
    if len(labels) > IDS and 2 * len(labels) > len(found):
        some = ", ".join(map(str, labels[:3]))
        fix = "if they are not classes, choose another column with --label"
        note(f"warning: {len(found):,} texts have {len(labels):,} labels: {some}, ...; {fix}", silent)


Labeled = tuple[Sequence[str], Any]


def _hold_out(found: "Dataset", part: float, how: str, seed: int) -> tuple[Labeled, Labeled | None]:
    """Texts and labels to learn from, and those that are held out."""
    from hardmax.text.held_out import at_random, by_blocks
    from hardmax.text.stored import some_of

    labels = found.named_labels()
    one = found.labels.ndim == 1 and (found.labels == found.labels[0]).all()  # refused below, with the number of all
    if not part or one:
        return (found.texts, labels), None
    alike = labels if found.labels.ndim == 1 else [0] * len(found)  # several labels have no blocks of their own
    both = at_random(len(found), part, seed) if how == "random" else by_blocks(alike, part)
    learn, held_out = ((some_of(found.texts, which), labels[which]) for which in both)
    return learn, held_out if len(held_out[0]) else None


def _fit(
    clf: "HardmaxClassifier", learn: Labeled, held_out: Labeled | None, checkpoint: Path, resume: bool, silent: bool
) -> None:
    with telling(silent, f"training on {len(learn[0]):,} texts") as tell:

        def progress(p: "Progress") -> None:
            accuracy = "" if p.validation is None else f", accuracy {p.validation:.4f}"
            tell(p.step, p.steps, f"{p.text}, loss {p.loss:.4f}{accuracy}")

        clf.fit(*learn, validation=held_out, progress=progress, checkpoint=checkpoint, resume=resume)
