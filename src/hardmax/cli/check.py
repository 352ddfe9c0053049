"""`hardmax check`: does a network do what it was built for?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hardmax.cli import inputs
from hardmax.cli.construct import Data, describe, summary
from hardmax.cli.output import print_json

if TYPE_CHECKING:
    from hardmax.construction.network import Network
    from hardmax.construction.verification import Verification


def command(
    network: Annotated[Path, typer.Argument(metavar="NET", help="A folder that `hardmax construct` has written.")],
    data: Data,
    level: Annotated[
        list[str] | None,
        typer.Option("--level", help="certificate, float64, dense, rational or torch; may be repeated. Default: all."),
    ] = None,
    sample: Annotated[
        int | None, typer.Option("--sample", help="Sequences for dense and torch. Default: a few seconds' worth.")
    ] = None,
    json: inputs.Json = False,
) -> None:
    """Verify a network against data on four levels: certificate, float64, rational arithmetic, torch.

    Exit code 6 if it is not exact. Example: hardmax check net data.jsonl
    """
    net, report = run(network, data, level, sample)
    if json:
        print_json({"schema": "hardmax.check/1", **summary(net, report)})
    else:
        print(describe(net, report))
    if not report.exact:
        raise typer.Exit(6)


def run(
    network: Path, data: str, levels: list[str] | None = None, sample: int | None = None
) -> "tuple[Network, Verification]":
    """Load, read, verify."""
    from hardmax.construction.files import read_data
    from hardmax.construction.network import Network

    net = Network.load(network)
    sequences, targets = read_data(data)
    return net, net.verify(sequences, targets, levels=levels or None, sample=sample)
