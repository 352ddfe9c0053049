"""What commands print and write: results on stdout, notes on stderr, files."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hardmax.dynamics.batch import Batch
    from hardmax.dynamics.equilibrium import Equilibrium
    from hardmax.dynamics.trajectory import Trajectory


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document; floats read back to the same bits, Fractions are strings, infinities are null."""
    from hardmax.io.documents import json_text

    sys.stdout.write(json_text(document))


def show(json: bool, document: dict[str, Any], *lines: str) -> None:
    """Print the result: the document with --json, otherwise the lines."""
    if json:
        print_json(document)
    else:
        print(*lines, sep="\n")


def note(text: str, quiet: bool) -> None:
    """Print a remark for the person at the terminal."""
    if not quiet:
        print(text, file=sys.stderr)


def write(result: "Trajectory | Equilibrium | Batch[Any]", output: Path | None, force: bool, quiet: bool) -> None:
    """Save a result if asked to, and say what float64 could not decide."""
    if output is not None:
        result.save(output, force=force)
        note(f"wrote {output}", quiet)
    if result.undecided:
        note(
            f"note: {result.undecided} comparisons were closer than float64 rounding can decide and count as ties; "
            "--exact decides them for the numbers as written",
            quiet,
        )


def print_leaders(result: "Trajectory | Equilibrium") -> None:
    """Print the leaders, and at which layer the later ones emerged."""
    print(f"leaders: {indices(result.leaders)}")
    late = [f"{i} at layer {k}" for i, k in result.leader_since.items() if k > 0]
    if late:
        print("  emerged: " + ", ".join(late[:20]))


def point(z: Any, most: int = 6) -> str:
    """A token for people: (1, 0.333333); long ones are cut."""
    from hardmax.io.documents import readable

    return "(" + ", ".join(readable(x) for x in list(z)[:most]) + (", ..." if len(z) > most else "") + ")"


def indices(values: Any, most: int = 20) -> str:
    """Token indices for people; long lists are cut."""
    listed = [str(v) for v in list(values)[:most]]
    return " ".join(listed) + (f" ... ({len(values)} in all)" if len(values) > most else "") if listed else "none"
