"""The command `hardmax`: registers the subcommands, and turns exceptions into messages and exit codes."""

import os
import sys
import traceback
from collections.abc import Callable
from typing import Annotated

import typer

from hardmax import __version__
from hardmax.cli import (
    construct,
    data,
    demo,
    doctor,
    dynamics,
    evaluate,
    experiments,
    explain,
    export,
    playground,
    predict,
    serve,
    sweep,
    train,
    verify,
)
from hardmax.errors import HardmaxError
from hardmax.jit import ways

app = typer.Typer(
    name="hardmax",
    help="Transformers with hardmax attention: exact dynamics, certified limits, exact construction.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS: dict[str, Callable[..., None]] = {
    "simulate": dynamics.simulate_command,
    "limit": dynamics.limit_command,
    "train": train.command,
    "evaluate": evaluate.command,
    "predict": predict.command,
    "explain": explain.command,
    "export": export.command,
    "construct": construct.construct_command,
    "check": construct.check_command,
    "serve": serve.command,
    "playground": playground.command,
    "verify": verify.command,
    "reproduce": experiments.reproduce,
    "explore": experiments.explore,
    "study": experiments.study,
    "sweep": sweep.command,
    "demo": demo.command,
    "doctor": doctor.command,
}
EXIT_CODES = {
    0: "The command succeeded.",
    1: "There is a bug in hardmax; `--debug` shows the traceback.",
    2: "The command line is not valid.",
    3: "The input cannot be used, or the output exists and `--force` was not given.",
    4: "A required extra is not installed; the message gives the pip command.",
    5: "A download failed, or the downloaded file does not match its checksum.",
    6: "The command ran, but the check failed: no certificate could be computed, `check` found an error, `verify` "
    "found a violation, an accuracy is below `--min-accuracy`, or a self-test failed.",
    7: "The command did part of the work: bad rows were left out (`--errors FILE` saves them), or some items failed.",
    130: "The command was interrupted; complete files are kept.",
}
for name, command in COMMANDS.items():
    app.command(name)(command)
app.add_typer(data.app, name="data")


def _version(show: bool) -> None:
    if show:
        print(f"hardmax {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of errors.")] = False,
) -> None:
    """Transformers with hardmax attention: exact dynamics, certified limits, exact construction."""


def run(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code; every error becomes one readable message on stderr."""
    arguments = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in arguments
    # --debug may appear anywhere: it concerns the whole run, not one command.
    arguments = (["--debug"] if debug else []) + [a for a in arguments if a != "--debug"]
    if not {"--quiet", "-q", "--json"} & set(arguments):
        ways.announce = lambda: print("compiling, once per installation ...", file=sys.stderr, flush=True)
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
    except SystemExit as stop:  # click leaves with 1 when the reader of a pipe has seen enough, which is no failure
        code = 0 if isinstance(stop.__context__, BrokenPipeError) else stop.code
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
    if isinstance(error, BrokenPipeError):  # the reader closed the pipe: write nothing at exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if isinstance(error, MemoryError):
        print("error: not enough memory\n  fix:   use fewer tokens or fewer layers", file=sys.stderr)
        return 3
    print(f"error: {type(error).__name__}: {error}", file=sys.stderr)
    print("  This is a bug in hardmax. Run the command again with --debug to see where it happened.", file=sys.stderr)
    return 1


if __name__ == "__main__":
    run()
