"""Run the studies and write tables and figures: `python -m hardmax.experiments.studies [NAME...] -o FOLDER`."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from hardmax.errors import HardmaxError
from hardmax.experiments.studies import ablation, finite_depth, robustness, trained
from hardmax.experiments.studies.study import Study

NAMES = ("finite-depth", "robustness", "ablation")
Progress = Callable[[int, int, str], object]


def study(name: str, quick: bool, journal: Path | None, progress: Progress | None) -> Study:
    """One study by its name."""
    if name == "finite-depth":
        return finite_depth.run(finite_depth.Setting.quick() if quick else None, progress)
    training = trained.Setting.quick() if quick else None
    if name == "robustness":
        clouds = robustness.Setting.quick() if quick else None
        return robustness.run(clouds, progress, journal, training)
    return ablation.run(training, progress, journal)


def main(arguments: list[str] | None = None) -> int:
    """Run the studies that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m hardmax.experiments.studies", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES) + "; default: all")
    parser.add_argument("-o", "--output", type=Path, default=Path("studies"), help="folder for tables and figures")
    parser.add_argument("--quick", action="store_true", help="small sizes: minutes instead of half an hour")
    given = parser.parse_args(arguments)
    if unknown := set(given.names) - set(NAMES):
        parser.error(f"unknown study {', '.join(sorted(unknown))}; choose from {', '.join(NAMES)}")

    def tell(done: int, total: int, what: str) -> None:
        print(f"  {done}/{total}  {what}", file=sys.stderr, flush=True)

    try:
        for name in given.names or NAMES:
            print(name, file=sys.stderr)
            # Finished runs are kept beside the results, so that a run that was interrupted goes on.
            journal = given.output / "finished-runs.jsonl"
            for path in study(name, given.quick, journal, tell).save(given.output):
                print(path)
    except HardmaxError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("\ninterrupted; the same command goes on from the finished runs", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
