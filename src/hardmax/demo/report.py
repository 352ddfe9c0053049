"""The demonstration: the whole product once, as one HTML report.

Three parts: the four configurations of Fig. 2 of [AFZ24], simulated, certified and drawn; a transformer compiled from
random sequences [AFZ25]; a classifier trained on real film reviews. The text of the report is in the templates
demo*.html of `hardmax.html`.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from markupsafe import Markup

from hardmax.cloud.presets import PRESETS, preset
from hardmax.dynamics.limit import limit
from hardmax.dynamics.simulate import simulate
from hardmax.errors import MissingExtra, failing
from hardmax.html.page import page, render
from hardmax.io.documents import point
from hardmax.io.files import write_file
from hardmax.plot.layer import PAPER_LAYERS, plot_panels
from hardmax.plot.limit import limit_figure
from hardmax.plot.movie import movie
from hardmax.plot.style import save_figure

Progress = Callable[[int, int, str], object]
TITLE = "Clustering in hardmax attention"
ALPHA = 0.5
SEQUENCES, CLASSES = 1000, ("red", "green", "blue")
READABLE = (350, 900)  # characters of the reviews that are explained
HELD_OUT = 0.1
BETWEEN = 3  # frames of the movie from one layer to the next

# The four panels of Fig. 2: preset, heading, what to look at.
FIGURE_2 = (
    ("triangle", "A triangle",
     "The three corners lead from the start; every other token follows one of them forever."),
    ("emerging", "An emerging leader",
     "There are two leaders at first. One token follows a neighbor that moves away, and becomes the third leader."),
    ("square", "A square",
     "There are four leaders; six random tokens cluster at the corner whose direction is nearest to theirs."),
    ("square-ties", "Clusters without a leader",
     "The tokens (±0.5, 0) tie between two corners in every layer. They end at (±1, 0), the points of two sides of the "
     "square nearest to the origin."),
)  # fmt: skip
COLUMNS = (
    "configuration", "tokens", "leaders", "leaders since layer", "layers to decide", "margin", "undecided",
    "certificate verified", "seconds",
)  # fmt: skip


def write_demo(folder: str | Path, progress: Progress | None = None, quick: bool = False) -> Path:
    """Simulate the four configurations of [AFZ24, Fig. 2], certify their limits, compile an exact classifier, train a
    classifier of film reviews, and write pictures and a report.

    Args:
        folder: where to write; created if it does not exist. Files of an earlier report are replaced.
        progress: called with (steps done, steps in all, what is next).
        quick: leave out the classifier of film reviews, whose training takes most of the time.

    Returns:
        The path of report.html, which needs no other file.
    """
    folder = Path(folder)
    with failing(f"{folder} cannot be created"):
        folder.mkdir(parents=True, exist_ok=True)
    total = len(FIGURE_2) + (4 if quick else 5)
    done = -1

    def step(what: str) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total, what)

    step("getting ready")
    limit(preset("square"), alpha=ALPHA)  # so that the seconds below measure the work, not the first use
    cases = []
    for name, heading, text in FIGURE_2:
        step(heading)
        cases.append({"heading": heading, "text": text, **_case(name, folder)})
    step("a movie")
    short = simulate(preset("emerging"), alpha=ALPHA, layers=8)  # later layers look alike
    film = write_file(folder / "emerging.gif", lambda to: movie(short, to, between=BETWEEN, seconds_per_layer=0.8))
    step("an exact classifier")
    construction, sentiment = construct_section(folder), Markup("")
    if not quick:
        step("a classifier of film reviews")
        tell = progress or (lambda done, total, what: None)
        sentiment = sentiment_section(folder, lambda k, of, what: tell(done, total, f"{what} ({k}/{of})"))
    step("the report")
    described = "; ".join(f"{name}: {PRESETS[name][0]}" for name, *_ in FIGURE_2)
    body = render(
        "demo.html", title=TITLE, alpha=ALPHA, columns=COLUMNS, layers=PAPER_LAYERS, cases=cases, film=film,
        described=described, construction=construction, sentiment=sentiment,
    )  # fmt: skip
    report = write_file(folder / "report.html", page(TITLE, [body]))
    step("done")
    return report


def _case(name: str, folder: Path) -> dict[str, Any]:
    """One configuration, run and drawn: its row of the summary, its pictures, and where its tokens end."""
    Z = preset(name)
    traj = simulate(Z, alpha=ALPHA, layers=max(PAPER_LAYERS))
    start = perf_counter()
    eq = limit(Z, alpha=ALPHA)
    seconds = perf_counter() - start
    since = " and ".join(str(k) for k in sorted(set(eq.leader_since.values())))
    verified = "yes" if eq.certificate.verify(Z) else "NO"
    panels = write_file(folder / f"{name}.png", lambda to: save_figure(plot_panels(traj, PAPER_LAYERS), to, dpi=160))
    end = write_file(folder / f"{name}-limit.png", lambda to: save_figure(limit_figure(eq), to, dpi=130))
    ends = [(point(z), eq.kind[k], int((eq.cluster == k).sum())) for k, z in enumerate(eq.centers)]
    row = [name, len(Z), len(eq.leaders), since, eq.layers, f"{eq.margin:.2g}", eq.undecided, verified]
    return {"eq": eq, "row": [*row, f"{seconds:.4f}"], "panels": panels, "end": end, "ends": ends}


def construct_section(folder: Path) -> Markup:
    """Compile random sequences into a transformer, verify it on every one, and draw the stages of the proof for a small
    example [AFZ25, Fig. 5]; a part of an HTML page. Writes network/ and stages.png into `folder`."""
    from hardmax.construction.build import construct
    from hardmax.experiments.reproduce.construction import build
    from hardmax.plot.stages import plot_stages

    rng = np.random.default_rng(0)
    sequences = [rng.normal(size=(int(n), 2)) for n in rng.integers(1, 30, size=SEQUENCES)]
    labels = [CLASSES[int(c)] for c in rng.integers(0, len(CLASSES), size=SEQUENCES)]
    start = perf_counter()
    net = construct(sequences, labels)
    seconds = perf_counter() - start
    report = net.verify(sequences, labels, levels=("certificate", "float64", "rational"))
    net.save(folder / "network", force=True)
    small, tokens, _ = build()
    drawn = save_figure(plot_stages(small.stages(tokens)), folder / "stages.png")
    return render("demo_construction.html", net=net, report=report, seconds=seconds, stages=drawn)


def sentiment_section(folder: Path, progress: Progress) -> Markup:
    """Train on most of the 25,000 reviews, evaluate on the others, explain two of these; a part of an HTML page.

    Writes into `folder`: model/ (the trained model) and for both reviews explanation-*.html, .png and .gif. Where the
    data set is not installed, the section is a note that says how to install it.

    Args:
        progress: called with (steps done, steps in all, what is happening).
    """
    from hardmax.sentiment.estimator import HardmaxClassifier
    from hardmax.text import datasets
    from hardmax.text.held_out import by_blocks

    try:
        found = datasets.read("imdb")
    except MissingExtra as missing:
        return render("demo_sentiment.html", missing=missing)
    found = replace(found, labels=np.where(found.labels == 1, "positive", "negative"))
    learn, aside = by_blocks(found.labels, HELD_OUT)
    progress(0, 1, f"reading {len(learn):,} reviews")
    begun = perf_counter()
    given = [found.texts[i] for i in learn], found.labels[learn]
    clf = HardmaxClassifier().fit(*given, progress=lambda p: progress(p.step, p.steps, p.text))
    seconds = perf_counter() - begun
    progress(1, 1, "evaluating")
    figures = _figures(clf.model_, found, aside)
    about = f"imdb: {len(found):,} reviews, {len(aside):,} of them held out"
    clf.model_.card.update(name="demo", data=about, figures={"accuracy on the reviews held out": figures[0][1]})
    clf.save_pretrained(folder / "model")
    reviews = []
    for k, i in enumerate(_two(clf.model_, found, aside)):
        progress(k + 1, 3, f"explaining a review ({k + 1} of 2)")
        reviews.append(_explained(clf.model_, found.texts[i], found.labels[i], folder))
    return render(
        "demo_sentiment.html", missing=None, learned=len(learn), held_out=len(aside), seconds=seconds,
        layers=clf.model_.layers, figures=figures, reviews=reviews,
    )  # fmt: skip


def _figures(model: Any, found: Any, aside: Any) -> list[tuple[str, str]]:
    """Accuracy first; leaders, terms and speed."""
    from hardmax.sentiment.model import winners

    texts = [found.texts[i] for i in aside]
    begun = perf_counter()
    logits, leaders = model.run(model.vocabulary.bags(texts))
    seconds = perf_counter() - begun
    right = np.array(model.classes)[winners(logits)] == found.labels[aside]
    return [
        ("accuracy", f"{right.mean():.4f}"),
        ("leaders per review", f"{leaders.mean():.1f} (from {leaders.min()} to {leaders.max()})"),
        ("words and pairs of words", f"{len(model.vocabulary):,}"),
        ("texts per second, from raw text", f"{len(texts) / seconds:,.0f}"),
    ]


def _two(model: Any, found: Any, aside: Any) -> list[int]:
    """The first readable review of each class that is labeled right (or else the first of its class)."""
    chosen = []
    for label in model.classes:
        mine = [int(i) for i in aside if found.labels[i] == label]
        short = [i for i in mine if READABLE[0] <= len(found.texts[i]) <= READABLE[1]] or mine
        chosen.append(next((i for i in short if model.predict([found.texts[i]])[0] == label), short[0]))
    return chosen


def _explained(model: Any, text: str, label: Any, folder: Path) -> dict[str, Any]:
    """One review, explained, and its logit without the single word that counts most."""
    from hardmax.html.explanation import explanation_section
    from hardmax.sentiment.explain import explain

    ex = explain(model, text)
    for suffix in (".html", ".png", ".gif"):
        ex.save(folder / f"explanation-{label}{suffix}")
    word, section = ex.words[0].word if ex.words else None, explanation_section(ex, 3)
    about = {"label": label, "ex": ex, "section": section, "film": folder / f"explanation-{label}.gif"}
    return {**about, "word": word, "without": ex.without(word) if word else None}
