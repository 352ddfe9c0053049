"""`hardmax simulate` runs the dynamics for a number of layers; `hardmax limit` computes where they end."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Option

from hardmax.cli import inputs
from hardmax.cli.output import indices, note, print_json
from hardmax.errors import BadInput, NotCertified, counted
from hardmax.io.progress import telling

if TYPE_CHECKING:
    from hardmax.dynamics.batch import Batch
    from hardmax.dynamics.equilibrium import Equilibrium
    from hardmax.dynamics.stream import FileLimit
    from hardmax.dynamics.trajectory import Trajectory

LARGE_FILE = 1 << 30  # bytes of an .npy file from which on its limit is streamed


def simulate_command(
    tokens: inputs.Tokens = None,
    preset: inputs.Preset = None,
    n: inputs.Count = None,
    dim: inputs.Dim = None,
    alpha: inputs.Alpha = "0.5",
    matrix: inputs.Matrix = None,
    layers: Annotated[int, Option(help="Number of layers.")] = 30,
    rule: Annotated[
        Literal["hardmax", "softmax", "localmax", "uniform", "random", "chain"],
        Option(help="Attention rule: how a token chooses the tokens it follows."),
    ] = "hardmax",
    beta: Annotated[float, Option(help="Inverse temperature of softmax and chain.")] = 1.0,
    eps: Annotated[
        float, Option(help="Width of localmax: follow all scores within this distance of the largest.")
    ] = 0.1,
    tie_tolerance: inputs.TieTolerance = 0.0,
    normalization: Annotated[
        Literal["rescale", "none", "sphere"], Option(help="Normalization of the tokens after each layer.")
    ] = "rescale",
    causal: Annotated[bool, Option("--causal", help="Let token i see only the tokens 0..i.")] = False,
    any_matrix: Annotated[
        bool, Option("--any-matrix", help="Allow a matrix that is not symmetric positive definite.")
    ] = False,
    exact: inputs.Exact = False,
    seed: Annotated[int, Option(help="Seed for the random rules and for a random preset.")] = 0,
    output: Annotated[
        Path | None,
        inputs.output("Write the result; the extension selects the format: .npz .json .png .svg .pdf .gif .mp4 .html."),
    ] = None,
    force: inputs.Force = False,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Run the dynamics for a number of layers, and report the leaders and who follows whom.

    Example: hardmax simulate --preset emerging --layers 30 -o emerging.png
    """
    inputs.check_output(output, force, "Trajectory")
    from hardmax.cloud.presets import GENERATED

    Z = inputs.read(tokens, preset, exact, n, dim, seed if preset in GENERATED else None)

    from hardmax.attention.rules import as_rule
    from hardmax.dynamics.batch import Batch
    from hardmax.dynamics.records import batch_summary, trajectory_summary
    from hardmax.dynamics.simulate import simulate

    result = simulate(
        Z, inputs.number(alpha, "--alpha", exact), inputs.matrix(matrix, exact), layers,
        rule=as_rule(rule, beta=beta, eps=eps, tie_tolerance=tie_tolerance, seed=seed), normalization=normalization,
        causal=causal, definite=not any_matrix, exact=exact, progress=not (quiet or json),
    )  # fmt: skip
    _write(result, output, force, quiet or json)
    if json:
        print_json(batch_summary(result) if isinstance(result, Batch) else trajectory_summary(result))
    elif isinstance(result, Batch):
        print(f"{len(result)} clouds")
        for b, (last, leaders) in enumerate(zip(result.last, result.leaders, strict=True)):
            print(f"cloud {b}: {len(last)} tokens, leaders {indices(leaders)}")
    else:
        _print_trajectory(result)


def _print_trajectory(traj: "Trajectory") -> None:
    from hardmax.io.documents import point

    print(f"{counted(traj.n, 'token')} in dimension {traj.dim}, {counted(traj.layers, 'layer')}, alpha = {traj.alpha}")
    print(f"outcome: {traj.outcome.kind}" + (f" ({traj.outcome.detail})" if traj.outcome.detail else ""))
    _print_leaders(traj)
    follows = traj.follows(traj.layers)
    print("token  follows          place after the last layer")
    for i in range(min(traj.n, 20)):
        print(f"{i:5d}  {indices(follows[i], 4):15s}  {point(traj.tokens[-1][i], 6)}")
    if traj.n > 20:
        print(f"  ... {traj.n - 20} more; --json or -o FILE gives all")


def limit_command(
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
        inputs.output(
            "Write the result; the extension selects the format: .npz .json .png .svg .pdf .html. With --stream, the "
            "name of a folder."
        ),
    ] = None,
    stream: Annotated[
        bool,
        Option(
            "--stream",
            help="Read the tokens in parts, in any dimension (the default for a folder of .parquet files and for .npy "
            "files over 1 GB).",
        ),
    ] = False,
    memory: Annotated[float, Option(help="Memory limit for --stream, in GB.")] = 1.0,
    resume: Annotated[bool, Option("--resume", help="Continue an interrupted streamed run.")] = False,
    force: inputs.Force = False,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Compute where every token ends at infinite depth, with a certificate that is checked before it is shown.

    The exit code is 6 if no certificate can be computed.

    Example: hardmax limit --preset square-ties
    """
    if stream or _is_large(tokens):
        if exact or tokens is None:
            what = "--stream needs a file, and cannot be combined with --exact"
            raise BadInput(what, fix="leave out --stream or --exact")
        return _limit_of_file(tokens, output, alpha, matrix, tie_tolerance, memory, resume, force, json, quiet)
    inputs.check_output(output, force, "Equilibrium")
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
    _write(found, output, force, quiet or json)
    if json:
        return print_json(batch_summary(found) if isinstance(found, Batch) else equilibrium_document(found))
    for b, eq in enumerate(every):
        print(f"cloud {b}: " if isinstance(found, Batch) else "", end="")
        _print_limit(eq)


def _print_limit(eq: "Equilibrium") -> None:
    proof = "proved" if eq.undecided == 0 else f"conditional on {counted(eq.undecided, 'tie')}"
    n, dim = eq.points.shape
    print(f"{counted(n, 'token')} in dimension {dim}, alpha = {eq.alpha}: {proof}, certificate checked")
    print(f"everything is decided at layer {eq.layers} ({eq.certificate.method}, margin {eq.margin:.3g})")
    _print_leaders(eq)
    sizes = [(eq.cluster == c).sum() for c in range(min(len(eq.kind), 30))]
    _print_centers(eq, sizes, 6, "--json or -o FILE gives all")


def _print_centers(found: "Equilibrium | FileLimit", sizes: Any, wide: int, rest: str) -> None:
    """Print the places where tokens end; `wide` is the width of the column of their numbers of tokens."""
    from hardmax.io.documents import point

    print(f"center  kind    {'tokens':>{wide}s}  place")
    for c, kind in enumerate(found.kind[:30]):
        print(f"{c:6d}  {kind:6s}  {sizes[c]:{wide}d}  {point(found.centers[c], 6)}")
    if len(found.kind) > 30:
        print(f"  ... {len(found.kind) - 30} more; {rest}")


def _is_large(tokens: str | None) -> bool:
    """Whether the limit of these tokens is streamed without being asked for: a folder, or a large .npy file."""
    path = Path(tokens or "")
    large = path.suffix.lower() == ".npy" and path.is_file() and path.stat().st_size > LARGE_FILE
    return tokens is not None and (path.is_dir() or large)


def _limit_of_file(
    tokens: str, output: Path | None, alpha: str, matrix: str | None, tie_tolerance: float, memory: float, resume: bool,
    force: bool, json: bool, quiet: bool,
) -> None:  # fmt: skip
    """The limit of a cloud on disk that may be larger than memory."""
    if output is None:
        if Path(tokens).is_dir() and not any(Path(tokens).glob("*.parquet")):
            raise BadInput(f"{tokens} is a folder without .parquet files", fix="give a file with tokens")
        raise BadInput(f"the limit of {tokens} is streamed, which needs an output folder", fix="add -o FOLDER")
    from hardmax.dynamics.stream import limit_file

    with telling(quiet or json, f"limit of {tokens}") as tell:
        found = limit_file(
            tokens, output, inputs.number(alpha, "--alpha", False), inputs.matrix(matrix, False),
            tie_tolerance=tie_tolerance, memory=memory, resume=resume, force=force, progress=tell,
        )  # fmt: skip
    if json:
        names = ("n", "dim", "layers", "leader_since", "centers", "kind", "sizes", "margin", "undecided", "streamed")
        known = {name: getattr(found, name) for name in names}
        return print_json({"schema": "hardmax.limit-file/1", "folder": str(found.folder), **known})
    proof = "proved" if found.undecided == 0 else f"conditional on {found.undecided} ties"
    print(f"{found.n} tokens in dimension {found.dim}, alpha = {alpha}: {proof}")
    print(f"everything is decided at layer {found.layers} (float64, margin {found.margin:.3g})")
    _print_centers(found, found.sizes, 10, "--json gives all")
    print(f"wrote {output}: cluster-*.npy says for each token which row of centers.npy it ends at")


def _write(result: "Trajectory | Equilibrium | Batch[Any]", output: Path | None, force: bool, quiet: bool) -> None:
    """Save a result if there is an output, and say what float64 could not decide."""
    if output is not None:
        result.save(output, force=force)
        note(f"wrote {output}", quiet)
    if result.undecided:
        note(
            f"note: {result.undecided} comparisons were closer than float64 rounding can decide and count as ties; "
            "--exact decides them for the numbers as written",
            quiet,
        )


def _print_leaders(result: "Trajectory | Equilibrium") -> None:
    """Print the leaders, and at which layer the later ones emerged."""
    print(f"leaders: {indices(result.leaders)}")
    late = [f"{i} at layer {k}" for i, k in result.leader_since.items() if k > 0]
    if late:
        print("  emerged: " + ", ".join(late[:20]))
