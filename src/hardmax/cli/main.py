"""The command `hardmax`: its subcommands, and how errors reach a person."""

import os
import sys
import traceback
from typing import Annotated

import typer

from hardmax import __version__
from hardmax.cli import (
    check,
    construct,
    data,
    demo,
    doctor,
    evaluate,
    explain,
    explore,
    limit,
    playground,
    predict,
    reproduce,
    simulate,
    study,
    train,
    verify,
)
from hardmax.errors import HardmaxError

app = typer.Typer(
    name="hardmax",
    help="Transformers with hardmax attention: exact dynamics, certified limits, exact construction.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("simulate")(simulate.command)
app.command("limit")(limit.command)
app.command("train")(train.command)
app.command("evaluate")(evaluate.command)
app.command("predict")(predict.command)
app.command("explain")(explain.command)
app.add_typer(data.app, name="data")
app.command("construct")(construct.command)
app.command("check")(check.command)
app.command("playground")(playground.command)
app.command("verify")(verify.command)
app.command("reproduce")(reproduce.command)
app.command("explore")(explore.command)
app.command("study")(study.command)
app.command("demo")(demo.command)
app.command("doctor")(doctor.command)


def _version(show: bool) -> None:
    if show:
        print(f"hardmax {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Transformers with hardmax attention: exact dynamics, certified limits, exact construction."""


def run(arguments: list[str] | None = None) -> None:
    """Run the command line and leave with its exit code; every error becomes one readable text on stderr."""
    arguments = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in arguments
    # --debug may stand anywhere: it is about the run, not about one command.
    arguments = (["--debug"] if debug else []) + [a for a in arguments if a != "--debug"]
    try:
        code = app(arguments, prog_name="hardmax", standalone_mode=False)
        sys.stdout.flush()
        if code == 130:  # typer's answer to Ctrl-C
            code = _interrupted()
    except Exception as error:
        if debug:
            traceback.print_exc()
        code = _explain(error)
    except KeyboardInterrupt:
        code = _interrupted()
    sys.exit(code if isinstance(code, int) else 0)


def _interrupted() -> int:
    print("\ninterrupted; files that were already complete are kept", file=sys.stderr)
    return 130


def _explain(error: Exception) -> int:
    if isinstance(error, HardmaxError):
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    if isinstance(error, typer.Abort):
        return _interrupted()
    show = getattr(error, "show", None)  # click's usage errors know how to print themselves
    if callable(show):
        show()
        return int(getattr(error, "exit_code", 2))
    if isinstance(error, BrokenPipeError):  # the reader has seen enough: nothing may be written at exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if isinstance(error, MemoryError):
        print("error: not enough memory\n  fix:   fewer tokens or fewer layers", file=sys.stderr)
        return 3
    print(
        f"error: {type(error).__name__}: {error}\n  this is a bug in hardmax; --debug shows where it happened",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    run()
