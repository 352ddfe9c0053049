"""`hardmax construct` compiles a data set into a transformer; `hardmax check` verifies one against data."""

from enum import StrEnum
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Exit, Option

from hardmax.cli import inputs
from hardmax.cli.output import note, show

if TYPE_CHECKING:
    from hardmax.construction.network import Network
    from hardmax.construction.verification import Verification

Data = Annotated[
    str,
    Argument(
        metavar="DATA",
        help="JSON Lines file with tokens and either label or targets in each line; - for standard input.",
    ),
]


Level = StrEnum("Level", ["certificate", "float64", "dense", "rational", "torch"])


def construct_command(
    data: Data,
    output: Annotated[Path, inputs.output("Folder for the network.")],
    style: Annotated[
        Literal["bitwise", "two", "narrow"],
        Option(help="bitwise is exact to the bit, two has two blocks, narrow has width 4."),
    ] = "bitwise",
    pool: Annotated[
        Literal["mean", "max"], Option(help="How to tell sequences apart: by their mean, or by extreme tokens (max).")
    ] = "mean",
    direction: Annotated[
        Literal["ridge"] | None, Option(help="With ridge, project tokens onto a direction learned from the targets.")
    ] = None,
    thin: Annotated[float, Option(help="Position of steps next to exceptions, as a fraction of the gap.")] = 0.5,
    seed: Annotated[int, Option(help="Seed for the random directions.")] = 0,
    force: inputs.Force = False,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Build a transformer that maps every sequence of a data set exactly to its target.

    Example: hardmax construct data.jsonl -o net
    """
    from hardmax.construction.build import construct
    from hardmax.construction.files import read_data

    inputs.check_output(output, force)
    sequences, targets = read_data(data)
    net = construct(sequences, targets, style=style, pool=pool, direction=direction, thin=thin, seed=seed)
    report = net.verify(sequences, targets, levels=("certificate", "float64"))
    net.save(output, force=force)
    note(f"wrote {output}", quiet or json)
    document = {"schema": "hardmax.construct/1", **_summary(net, report), "output": str(output)}
    show(json, document, _describe(net, report))


def check_command(
    network: Annotated[Path, Argument(metavar="NET", help="A folder written by hardmax construct.")],
    data: Data,
    level: Annotated[
        list[Level] | None,
        Option(help="Level to check at. May be repeated. Default: all whose packages are installed."),
    ] = None,
    sample: Annotated[
        int | None,
        Option(help="Number of sequences for the levels dense and torch. Default: as many as take a few seconds."),
    ] = None,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Verify a network against data, at several levels that share as little code as possible.

    The exit code is 6 if the network is not exact.

    Example: hardmax check net data.jsonl
    """
    from hardmax.construction.files import read_data
    from hardmax.construction.network import Network

    net = Network.load(network)
    report = net.verify(*read_data(data), levels=level or None, sample=sample)
    show(json, {"schema": "hardmax.check/1", **_summary(net, report)}, _describe(net, report))
    if not report.exact:
        raise Exit(6)


def _summary(net: "Network", report: "Verification") -> dict[str, Any]:
    found = report.to_json()
    return {
        "exact": report.exact,
        **{name: getattr(net, name) for name in ("task", "style", "pool")},
        "sequences": report.sequences,
        **{name: getattr(net, name) for name in ("dim", "blocks", "bound", "width", "parameters")},
        **{name: found[name] for name in ("min_gap", "slack", "max_error")},
        "temperature": net.temperature if isfinite(net.temperature) else None,
        "levels": found["levels"],
    }


def _describe(net: "Network", report: "Verification") -> str:
    limit = f"up to temperature {net.temperature:.3g}" if isfinite(net.temperature) else "at any temperature"
    return (
        f"{net.task}, style {net.style}, pool {net.pool}: {net.blocks} blocks (the paper's bound: {net.bound}), "
        f"width {net.width}, {net.parameters} parameters\nthe same outputs with softmax {limit}\n{report}"
    )
