"""Options that commands share, and how they become numbers, tokens and matrices."""

from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, BadParameter, Option

from hardmax.errors import BadInput


def model_names(incomplete: str) -> list[str]:
    """The shipped models whose names begin like this, for shell completion."""
    from hardmax.sentiment.files import shipped

    return [name for name in shipped() if name.startswith(incomplete)]


Model = Annotated[
    str, Argument(metavar="MODEL", autocompletion=model_names, help="The name of a shipped model, or a model folder.")
]
Tokens = Annotated[
    str | None,
    Argument(metavar="TOKENS", help="File with the tokens (.csv, .npy, .npz, .json), or - for standard input."),
]
PresetName = Literal[
    "triangle", "emerging", "square", "square-ties", "grid", "polygon", "late-leader", "cube", "gaussian", "random",
    "ring", "ball",
]  # fmt: skip
Preset = Annotated[
    PresetName | None, Option(help="Use a built-in cloud; random, ring and ball accept --n, --dim and --seed.")
]
Engine = Annotated[
    Literal["local", "ray"], Option(help="Where to run: local uses the threads of this computer, ray a cluster.")
]
Count = Annotated[int | None, Option(help="Number of tokens of a random preset (random, ring, ball).")]
Dim = Annotated[int | None, Option(help="Dimension of a random preset.")]
AnySeed = Annotated[int, Option(help="Seed for all random choices.")]
Seed = Annotated[int | None, Option(help="Seed of a random preset.")]
Alpha = Annotated[str, Option(help="Step size > 0; a decimal or a fraction such as 1/3.")]
Matrix = Annotated[
    str | None, Option(help='The matrix A: a file, or rows such as "2,-1; -1,2". Default: the identity.')
]
Exact = Annotated[bool, Option("--exact", help="Use rational arithmetic, without rounding.")]
TieTolerance = Annotated[float, Option(help="Relative tolerance within which scores count as tied with the largest.")]
Address = Annotated[str | None, Option(help="Address of a running Ray cluster. Default: start one on this machine.")]
Host = Annotated[str, Option(help="Address to listen on. If other machines can reach it, a token is required.")]
Force = Annotated[bool, Option("--force", help="Replace the output if it exists.")]
JsonLines = Annotated[bool, Option("--json", help="Print JSON Lines: one JSON object per text.")]
Json = Annotated[bool, Option("--json", help="Print one JSON document instead of a summary.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Do not print notes or progress to stderr.")]


def output(about: str) -> Any:
    """The option -o, and what it means for a command."""
    return Option("-o", "--output", help=about)


def read(
    tokens: str | None, preset_name: str | None, exact: bool, n: int | None, dim: int | None, seed: int | None
) -> Any:
    """The cloud (or batch) that the arguments name; n, dim and seed are those of a random preset."""
    if (tokens is None) == (preset_name is None):
        raise BadParameter("give either TOKENS or --preset NAME", param_hint="TOKENS")
    if preset_name is not None:
        from hardmax.cloud.presets import preset

        return preset(preset_name, exact=exact, n=n, dim=dim, seed=seed)
    if (n, dim, seed) != (None, None, None):
        raise BadParameter("--n, --dim and --seed are for --preset random, ring or ball", param_hint="TOKENS")
    from hardmax.io.tokens import read_tokens

    return read_tokens(str(tokens), exact=exact)


def number(text: str, name: str, exact: bool) -> Any:
    """A number as typed: exactly, or as the nearest float64."""
    from hardmax.cloud.parameters import exact_number

    try:
        value = exact_number(text, name)
    except BadInput as error:
        raise BadInput(f"{name} is {text!r}; expected a number such as 0.5 or 1/3") from error
    try:
        return value if exact else float(value)
    except OverflowError as error:
        raise BadInput(f"{name} is {text}, which is too large for float64", fix="use --exact") from error


def matrix(text: str | None, exact: bool) -> Any:
    """The matrix A: rows as typed, or a file of them."""
    if text is None:
        return None
    if any(text.lower().endswith(s) for s in (".csv", ".tsv", ".txt", ".npy", ".npz", ".json")):
        from hardmax.io.tokens import read_tokens

        return read_tokens(text, exact=exact)
    rows = [row.replace(",", " ").split() for row in text.split(";") if row.strip()]
    return [
        [number(x, f"--matrix, row {i}, column {k}", exact) for k, x in enumerate(row)] for i, row in enumerate(rows)
    ]


def check_output(path: Path | None, force: bool, kind: str | None = None) -> None:
    """Check before the work that the output does not exist, its folder does, and its extension is one of its kind."""
    if path is None:
        return
    if kind is not None:
        from hardmax.views import check_extension

        check_extension(kind, path)
    if path.exists() and not force:
        raise BadInput(f"{path} exists", fix="use --force to replace it")
    check_parent(path)


def check_folder(path: Path) -> None:
    """Check that a folder for several files is not a file, and can be created."""
    if path.exists() and not path.is_dir():
        raise BadInput(f"{path} is a file; expected a folder", fix="use another name after -o")
    check_parent(path)


def existing_parent(path: Path) -> Path:
    """The nearest folder above a path that exists: on the disk where it will be written."""
    return next(folder for folder in path.absolute().parents if folder.is_dir())


def check_parent(path: Path) -> None:
    """Check that the folder in which a file will be written exists."""
    if not path.parent.is_dir():
        raise BadInput(f"{path}: the folder {path.parent} does not exist", fix="create the folder first")
