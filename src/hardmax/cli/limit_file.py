"""`hardmax limit` of a cloud on disk that may be larger than memory."""

from pathlib import Path

from hardmax.cli import inputs
from hardmax.cli.output import point, print_json
from hardmax.errors import BadInput
from hardmax.io.progress import telling

LARGE_FILE = 1 << 30  # bytes of an .npy file from which on it is streamed


def is_streamed(tokens: str | None, force: bool) -> bool:
    """Whether the limit of this file is streamed: a folder, a large .npy file, or if it is asked for."""
    if tokens is None or force:
        return force
    path = Path(tokens)
    return path.is_dir() or (path.suffix.lower() == ".npy" and path.is_file() and path.stat().st_size > LARGE_FILE)


def limit_of_file(
    tokens: str, output: Path | None, alpha: str, matrix: str | None, tie_tolerance: float, memory: float, resume: bool,
    force: bool, json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Run `limit_file` and print its summary."""
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
        print_json({
            "schema": "hardmax.limit-file/1", "folder": str(found.folder), "n": found.n, "dim": found.dim,
            "layers": found.layers, "leader_since": found.leader_since, "centers": found.centers, "kind": found.kind,
            "sizes": found.sizes, "margin": found.margin, "undecided": found.undecided, "streamed": found.streamed,
        })  # fmt: skip
        return
    proof = "proved" if found.undecided == 0 else f"conditional on {found.undecided} ties"
    print(f"{found.n} tokens in dimension {found.dim}, alpha = {alpha}: {proof}")
    print(f"everything is decided at layer {found.layers} (float64, margin {found.margin:.3g})")
    print("center  kind        tokens  place")
    for c, kind in enumerate(found.kind[:30]):
        print(f"{c:6d}  {kind:6s}  {found.sizes[c]:10d}  {point(found.centers[c])}")
    if len(found.kind) > 30:
        print(f"  ... {len(found.kind) - 30} more; --json gives all")
    print(f"wrote {output}: cluster-*.npy says for each token which row of centers.npy it ends at")
