"""`hardmax limit`: where every token ends at infinite depth."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hardmax.cli import inputs
from hardmax.cli.output import point, print_json, print_leaders, write
from hardmax.errors import NotCertified

if TYPE_CHECKING:
    from hardmax.dynamics.equilibrium import Equilibrium


def command(
    tokens: inputs.Tokens = None,
    preset: inputs.Preset = None,
    n: inputs.Count = None,
    dim: inputs.Dim = None,
    seed: inputs.Seed = None,
    alpha: inputs.Alpha = "0.5",
    matrix: inputs.Matrix = None,
    exact: inputs.Exact = False,
    tie_tolerance: inputs.TieTolerance = 0.0,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Write the result; the extension selects the format: .npz .json .png .svg .pdf .html.",
        ),
    ] = None,
    force: inputs.Force = False,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Compute where every token ends at infinite depth, with a certificate that is checked before it is shown.

    The exit code is 6 if no certificate can be computed. Example: hardmax limit --preset square-ties
    """
    inputs.check_output(output, force)
    Z = inputs.read(tokens, preset, exact, n, dim, seed)

    from hardmax.dynamics.batch import Batch
    from hardmax.dynamics.limit import limit
    from hardmax.dynamics.records import batch_summary, equilibrium_document

    try:
        found = limit(
            Z, inputs.number(alpha, "--alpha", exact), inputs.matrix(matrix, exact), exact=exact,
            tie_tolerance=tie_tolerance,
        )  # fmt: skip
    except NotCertified as error:
        if json:
            print_json({"schema": "hardmax.limit/1", "certified": False, "reason": error.what, **error.known})
        raise
    every = found if isinstance(found, Batch) else [found]
    for eq in every:
        wrong = eq.certificate.check(eq.tokens)
        if wrong:
            raise NotCertified(f"the certificate does not hold: {wrong[0]}", fix="please report this: it is a bug")
    write(found, output, force, quiet or json)
    if json:
        print_json(batch_summary(found) if isinstance(found, Batch) else equilibrium_document(found))
        return
    for b, eq in enumerate(every):
        print(f"cloud {b}: " if isinstance(found, Batch) else "", end="")
        _print(eq)


def _print(eq: "Equilibrium") -> None:
    proof = "proved" if eq.undecided == 0 else f"conditional on {eq.undecided} ties"
    n, dim = eq.points.shape
    print(f"{n} tokens in dimension {dim}, alpha = {eq.alpha}: {proof}, certificate checked")
    print(f"everything is decided at layer {eq.layers} ({eq.certificate.method}, margin {eq.margin:.3g})")
    print_leaders(eq)
    print("center  kind    tokens  place")
    for c, kind in enumerate(eq.kind[:30]):
        print(f"{c:6d}  {kind:6s}  {(eq.cluster == c).sum():6d}  {point(eq.centers[c])}")
    if len(eq.kind) > 30:
        print(f"  ... {len(eq.kind) - 30} more; --json or -o FILE gives all")
