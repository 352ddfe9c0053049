"""The sentiment part of the demonstration: train on real reviews, evaluate, explain two of them."""

from base64 import b64encode
from collections.abc import Callable
from html import escape
from pathlib import Path
from time import perf_counter
from typing import Any

from hardmax.errors import MissingExtra
from hardmax.html.result import table
from hardmax.io.files import write_file

Progress = Callable[[int, int, str], object]
READABLE = (350, 900)  # characters of the reviews that are explained
KEPT_ASIDE = 0.1


def sentiment_section(folder: str | Path, progress: Progress | None = None) -> list[str]:
    """Train on the 25,000 reviews, evaluate on blocks kept aside, explain two reviews; parts of an HTML page.

    Writes into `folder`: model/ (the trained model) and for both reviews explanation-*.html, .png and .gif. Where the
    data are not installed, the only part is a note that says how to install them.

    Args:
        folder: an existing folder.
        progress: called with (steps done, steps in all, what is happening).
    """
    from hardmax.text.datasets import read

    tell = progress or (lambda done, total, what: None)
    heading = "<h2>A sentiment classifier that explains itself</h2>"
    try:
        found = _named(read("imdb"))
    except MissingExtra as missing:
        return [heading, f'<p class="soft">Left out: {escape(missing.what)}. {escape(missing.fix or "")}</p>']
    begun = perf_counter()
    clf, aside = _train(found, tell)
    seconds = perf_counter() - begun
    tell(1, 1, "evaluating")
    rows, accuracy = _figures(clf.model_, found, aside)
    clf.model_.card.update(
        name="demo",
        data=f"imdb: {len(found):,} reviews, {len(aside):,} of them kept aside",
        figures={"accuracy on the reviews kept aside": f"{accuracy:.4f}"},
    )
    clf.save_pretrained(Path(folder) / "model")
    parts = [
        heading,
        f"<p>Trained on {len(found) - len(aside):,} film reviews (Maas et al., 2011) in {seconds:.1f} s, tested on "
        f"{len(aside):,} others from contiguous blocks, so that no film is on both sides. Words and pairs of words are "
        f"points in the plane; {clf.model_.layers} hardmax layers gather them around leaders; the mean decides. The "
        "parts of the leaders add up to the decision exactly.</p>",
        table("The trained model on reviews kept aside", ["figure", "value"], rows),
    ]
    for k, i in enumerate(_two(clf.model_, found, aside)):
        tell(k + 1, 3, f"explaining a review ({k + 1} of 2)")
        parts += _explained(clf.model_, found.texts[i], found.labels[i], Path(folder))
    return parts


def _named(found: Any) -> Any:
    """The same data with labels that can be read."""
    from dataclasses import replace

    import numpy as np

    return replace(found, labels=np.where(found.labels == 1, "positive", "negative"))


def _train(found: Any, tell: Progress) -> tuple[Any, Any]:
    from hardmax.sentiment.estimator import HardmaxClassifier
    from hardmax.text.datasets import by_blocks

    learn, aside = by_blocks(found.labels, KEPT_ASIDE)
    tell(0, 1, f"reading {len(learn):,} reviews")
    clf = HardmaxClassifier().fit(
        [found.texts[i] for i in learn],
        found.labels[learn],
        progress=lambda p: tell(p.step, p.steps, f"training, epoch {min(p.epoch + 1, p.epochs)} of {p.epochs}"),
    )
    return clf, aside


def _figures(model: Any, found: Any, aside: Any) -> tuple[list[tuple[str, str]], float]:
    import numpy as np

    from hardmax.sentiment.model import winners

    texts = [found.texts[i] for i in aside]
    begun = perf_counter()
    logits, heads = model.run(model.vocabulary.bags(texts))
    seconds = perf_counter() - begun
    accuracy = float((np.array(model.classes)[winners(logits)] == found.labels[aside]).mean())
    rows = [
        ("accuracy", f"{accuracy:.4f}"),
        ("leaders a review", f"{heads.mean():.1f} (from {heads.min()} to {heads.max()})"),
        ("words and pairs of words", f"{len(model.vocabulary):,}"),
        ("texts a second, from raw text", f"{len(texts) / seconds:,.0f}"),
    ]
    return rows, accuracy


def _two(model: Any, found: Any, aside: Any) -> list[int]:
    """The first readable review of each class that is labeled right (or else the first of its class)."""
    chosen = []
    for label in model.classes:
        mine = [int(i) for i in aside if found.labels[i] == label]
        short = [i for i in mine if READABLE[0] <= len(found.texts[i]) <= READABLE[1]] or mine
        chosen.append(next((i for i in short if model.predict([found.texts[i]])[0] == label), short[0]))
    return chosen


def _explained(model: Any, text: str, label: Any, folder: Path) -> list[str]:
    from hardmax.sentiment.explain import explain

    ex = explain(model, text)
    name = f"explanation-{label}"
    for suffix in (".html", ".png", ".gif"):
        ex.save(folder / f"{name}{suffix}")
    strongest = next((w for w in sorted(ex.words, key=_strength) if " " not in w.term), None)
    what_if = ""
    if strongest is not None:
        other = ex.without(strongest.term)
        what_if = (
            f"<p>What if &ldquo;{escape(strongest.term)}&rdquo; were not there? The logit would be "
            f"{other.logit:+.3f} in place of {ex.logit:+.3f}.</p>"
        )
    film = b64encode((folder / f"{name}.gif").read_bytes()).decode()
    shown = (
        f'<figure><img width="560" alt="Words of the review gathering around leaders, layer by layer." '
        f'src="data:image/gif;base64,{film}"></figure>'
    )
    return [f"<h2>A review labeled {escape(str(label))}</h2>", ex._repr_html_(), what_if, shown]


def _strength(word: Any) -> float:
    return -abs(float(word.contribution))


def write_section(folder: str | Path, progress: Progress | None = None) -> Path:
    """The section as a page of its own, sentiment.html."""
    from hardmax.html.result import page

    Path(folder).mkdir(parents=True, exist_ok=True)
    text = page("Sentiment", sentiment_section(folder, progress))
    return write_file(Path(folder) / "sentiment.html", text)
