"""`hardmax construct`: compile a data set into a transformer."""

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hardmax.cli import inputs
from hardmax.cli.output import note, print_json

if TYPE_CHECKING:
    from hardmax.construction.network import Network
    from hardmax.construction.verification import Verification

Data = Annotated[str, typer.Argument(metavar="DATA", help="JSON lines with tokens and label or targets, or -.")]


def command(
    data: Data,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the network.")],
    style: Annotated[str, typer.Option("--style", help="bitwise, two or narrow.")] = "bitwise",
    pool: Annotated[str, typer.Option("--pool", help="mean or max.")] = "mean",
    direction: Annotated[
        str | None, typer.Option("--direction", help="ridge: read tokens along a direction learned from the targets.")
    ] = None,
    thin: Annotated[
        float, typer.Option("--thin", help="Where steps beside exceptions are: 0.5 is the middle of the gap.")
    ] = 0.5,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the random directions.")] = 0,
    force: inputs.Force = False,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Build a transformer that maps every sequence of a data set onto its target, exactly.

    Example: hardmax construct data.jsonl -o net
    """
    inputs.check_output(output, force)
    net, report = run(data, output, style, pool, direction, thin, seed, force)
    note(f"wrote {output}", quiet or json)
    if json:
        print_json({"schema": "hardmax.construct/1", **summary(net, report), "output": str(output)})
    else:
        print(describe(net, report))


def run(
    data: str,
    output: Path,
    style: str = "bitwise",
    pool: str = "mean",
    direction: str | None = None,
    thin: float = 0.5,
    seed: int = 0,
    force: bool = False,
) -> "tuple[Network, Verification]":
    """Read, build, check in float64, write."""
    from hardmax.construction.build import construct
    from hardmax.construction.files import read_data

    sequences, targets = read_data(data)
    net = construct(sequences, targets, style=style, pool=pool, direction=direction, thin=thin, seed=seed)
    report = net.verify(sequences, targets, levels=("certificate", "float64"))
    net.save(output, force=force)
    return net, report


def summary(net: "Network", report: "Verification") -> dict[str, Any]:
    """What --json gives, for this command and for `check`."""
    found = report.to_json()
    return {
        "exact": report.exact,
        "task": net.task,
        "style": net.style,
        "pool": net.pool,
        "sequences": report.sequences,
        "dim": net.dim,
        "blocks": net.blocks,
        "bound": net.bound,
        "width": net.width,
        "parameters": net.parameters,
        "min_gap": found["min_gap"],
        "slack": found["slack"],
        "max_error": found["max_error"],
        "temperature": net.temperature if isfinite(net.temperature) else None,
        "levels": found["levels"],
    }


def describe(net: "Network", report: "Verification") -> str:
    """The same for a person."""
    soft = (
        f"softmax up to temperature {net.temperature:.3g}"
        if isfinite(net.temperature)
        else "softmax at any temperature"
    )
    return (
        f"{net.task}, style {net.style}, pool {net.pool}: {net.blocks} blocks (the paper's bound: {net.bound}), "
        f"width {net.width}, {net.parameters} parameters\nthe same outputs with {soft}\n{report}"
    )
