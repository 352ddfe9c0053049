"""`hardmax export`: a model for other languages and runtimes."""

from pathlib import Path
from typing import Annotated, Literal

from typer import Option

from hardmax.cli import inputs
from hardmax.cli.output import show


def command(
    output: Annotated[Path, inputs.output("For js: a folder; for onnx: a .onnx file.")],
    to: Annotated[
        Literal["js", "onnx"],
        Option(help="Format: js is an ES module for browsers and Node, onnx a graph for ONNX runtimes."),
    ],
    model: inputs.Model = "imdb",
    force: inputs.Force = False,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Write a model for JavaScript or ONNX; both compute the same numbers as Python.

    js predicts and explains from text, without a server. onnx takes term numbers (see the documentation).

    Example: hardmax export imdb --to js -o web-model
    """
    inputs.check_output(output, force)
    from hardmax.sentiment.files import load_classifier

    loaded = load_classifier(model)
    if to == "js":
        from hardmax.sentiment.export.javascript import export_javascript

        export_javascript(loaded, output, force=force)
    else:
        from hardmax.sentiment.export.onnx import export_onnx

        export_onnx(loaded, output, force=force)
    files = sorted(output.iterdir()) if output.is_dir() else [output]
    size = sum(file.stat().st_size for file in files)
    document = {"schema": "hardmax.export/1", "files": [str(file) for file in files], "bytes": size}
    show(json, document, f"wrote {output}: {size:,} bytes")
