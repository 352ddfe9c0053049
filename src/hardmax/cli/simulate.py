"""`hardmax simulate`: run the dynamics for a number of layers."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from hardmax.cli import inputs
from hardmax.cli.output import indices, point, print_json, print_leaders, write
from hardmax.errors import BadInput

if TYPE_CHECKING:
    from hardmax.attention.rules import Rule
    from hardmax.dynamics.trajectory import Trajectory

RULES = ("hardmax", "softmax", "localmax", "uniform", "random", "chain")


def command(
    tokens: inputs.Tokens = None,
    preset: inputs.Preset = None,
    n: inputs.Count = None,
    dim: inputs.Dim = None,
    alpha: inputs.Alpha = "0.5",
    matrix: inputs.Matrix = None,
    layers: Annotated[int, typer.Option(help="Number of layers.")] = 30,
    rule: Annotated[str, typer.Option(help=f"Whom a token follows: {', '.join(RULES)}.")] = "hardmax",
    beta: Annotated[float, typer.Option(help="Inverse temperature of softmax and chain.")] = 1.0,
    eps: Annotated[
        float, typer.Option(help="Width of localmax: follow all scores within this distance of the largest.")
    ] = 0.1,
    tie_tolerance: inputs.TieTolerance = 0.0,
    normalization: Annotated[
        str, typer.Option(help="Normalization of the tokens after each layer: rescale, none or sphere.")
    ] = "rescale",
    causal: Annotated[bool, typer.Option("--causal", help="Let token i see only the tokens 0..i.")] = False,
    any_matrix: Annotated[
        bool, typer.Option("--any-matrix", help="Allow a matrix that is not symmetric positive definite.")
    ] = False,
    exact: inputs.Exact = False,
    seed: Annotated[int, typer.Option(help="Seed for the random rules and for a random preset.")] = 0,
    output: inputs.Output = None,
    force: inputs.Force = False,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Run the dynamics for a number of layers, and report the leaders and who follows whom.

    Example: hardmax simulate --preset emerging --layers 30 -o emerging.png
    """
    inputs.check_output(output, force)
    from hardmax.cloud.presets import GENERATED

    Z = inputs.read(tokens, preset, exact, n, dim, seed if preset in GENERATED else None)

    from hardmax.dynamics.batch import Batch
    from hardmax.dynamics.records import batch_summary, trajectory_summary
    from hardmax.dynamics.simulate import simulate

    result = simulate(
        Z, inputs.number(alpha, "--alpha", exact), inputs.matrix(matrix, exact), layers,
        rule=_rule(rule, beta, eps, tie_tolerance, seed), normalization=normalization, causal=causal,
        definite=not any_matrix, exact=exact,
    )  # fmt: skip
    write(result, output, force, quiet or json)
    if json:
        print_json(batch_summary(result) if isinstance(result, Batch) else trajectory_summary(result))
    elif isinstance(result, Batch):
        print(f"{len(result)} clouds")
        for b, (last, leaders) in enumerate(zip(result.last, result.leaders, strict=True)):
            print(f"cloud {b}: {len(last)} tokens, leaders {indices(leaders)}")
    else:
        _print(result)


def _rule(name: str, beta: float, eps: float, tie_tolerance: float, seed: int) -> "Rule":
    from hardmax.attention import rules

    made: dict[str, Callable[[], Rule]] = {
        "hardmax": lambda: rules.Hardmax(tie_tolerance),
        "softmax": lambda: rules.Softmax(beta),
        "localmax": lambda: rules.Localmax(eps),
        "uniform": rules.Uniform,
        "random": lambda: rules.RandomFollow(seed),
        "chain": lambda: rules.Chain(beta, seed),
    }
    if name not in made:
        raise BadInput(f"there is no rule {name!r}", found=", ".join(RULES), fix="give --rule one of these names")
    return made[name]()


def _print(traj: "Trajectory") -> None:
    print(f"{traj.n} tokens in dimension {traj.dim}, {traj.layers} layers, alpha = {traj.alpha}")
    print(f"outcome: {traj.outcome.kind} ({traj.outcome.detail})" if traj.outcome.detail else f"{traj.outcome.kind}")
    print_leaders(traj)
    follows = traj.follows(traj.layers)
    print("token  follows          place after the last layer")
    for i in range(min(traj.n, 20)):
        print(f"{i:5d}  {indices(follows[i], 4):15s}  {point(traj.tokens[-1][i])}")
    if traj.n > 20:
        print(f"  ... {traj.n - 20} more; --json or -o FILE gives all")
