"""`hardmax limit`: infinite depth."""

from pathlib import Path
from typing import Annotated, Any

import typer

from hardmax.cli import inputs
from hardmax.cli.output import indices, note, point, print_json, undecided_advice
from hardmax.errors import BadInput, NotCertified


def command(
    tokens: inputs.Tokens = None,
    preset: inputs.Preset = None,
    n: inputs.Count = None,
    dim: inputs.Dim = None,
    seed: inputs.Seed = None,
    alpha: inputs.Alpha = "0.5",
    matrix: inputs.Matrix = None,
    exact: inputs.Exact = False,
    tie_tolerance: Annotated[float, typer.Option("--tie-tolerance", help="Scores this close tie (relative).")] = 0.0,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write the result: .npz .json .png .svg .pdf .html, by suffix."),
    ] = None,
    force: inputs.Force = False,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Compute where every token ends at infinite depth, with a certificate that is checked before it is shown.

    Exit code 6 if no certificate can be had. Example: hardmax limit --preset square-ties
    """
    inputs.check_output(output, force)
    Z = inputs.read(tokens, preset, exact, n, dim, seed)

    from hardmax.cloud.tokens import is_batch
    from hardmax.dynamics.limit import limit

    if output is not None and is_batch(Z):
        raise BadInput(f"{output}: a batch of {len(Z)} clouds cannot be written to one file", fix="use --json")

    try:
        found = limit(
            Z, inputs.number(alpha, "--alpha", exact), inputs.matrix(matrix, exact), exact=exact,
            tie_tolerance=tie_tolerance,
        )  # fmt: skip
    except NotCertified as error:
        if json:
            print_json({"schema": "hardmax.limit/1", "certified": False, "reason": error.what, **error.known})
        raise
    if isinstance(found, list):
        results = [_checked(eq) for eq in found]
        undecided = sum(eq.undecided for eq in results)
        if undecided:
            note(undecided_advice(undecided), quiet or json)
        if json:
            print_json({"schema": "hardmax.limit/1", "clouds": [_summary(eq) for eq in results]})
        else:
            for b, eq in enumerate(results):
                print(f"cloud {b}: ", end="")
                _print(eq)
        return
    eq = _checked(found)
    if output is not None:
        eq.save(output, force=force)
        note(f"wrote {output}", quiet or json)
    if eq.undecided:
        note(undecided_advice(eq.undecided), quiet or json)
    if json:
        print_json(_summary(eq))
    else:
        _print(eq)


def _checked(eq: Any) -> Any:
    wrong = eq.certificate.check(eq.tokens)
    if wrong:
        raise NotCertified(f"the certificate does not hold: {wrong[0]}", fix="please report this: it is a bug")
    return eq


def _summary(eq: Any) -> dict[str, Any]:
    from hardmax.dynamics.records import equilibrium_document

    return equilibrium_document(eq)


def _print(eq: Any) -> None:
    proof = "proved" if eq.undecided == 0 else f"conditional on {eq.undecided} ties"
    print(
        f"{len(eq.points)} tokens in dimension {eq.points.shape[1]}, alpha = {eq.alpha}: {proof}, certificate checked"
    )
    print(f"everything is decided at layer {eq.layers} ({eq.certificate.method}, margin {eq.margin:.3g})")
    print(f"leaders: {indices(eq.leaders)}")
    late = {i: k for i, k in eq.leader_since.items() if k > 0}
    if late:
        print("  emerged: " + ", ".join(f"{i} at layer {k}" for i, k in list(late.items())[:20]))
    print("center  kind    tokens  place")
    for c, kind in enumerate(eq.kind[:30]):
        size = int((eq.cluster == c).sum())
        print(f"{c:6d}  {kind:6s}  {size:6d}  {point(eq.centers[c])}")
    if len(eq.kind) > 30:
        print(f"  ... {len(eq.kind) - 30} more; --json or -o FILE gives all")
