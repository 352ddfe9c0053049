"""The command `hardmax`: registers the subcommands, and turns exceptions into messages and exit codes."""

import sys
import traceback
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any

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
    sweep,
    topics,
    train,
    verify,
)
from hardmax.cli.output import output_failed
from hardmax.errors import HardmaxError
from hardmax.jit import ways

ABOUT = "Simulate hardmax attention, certify limits, classify and explain texts, and construct exact transformers."
app = typer.Typer(
    name="hardmax",
    help=ABOUT,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
# name -> the function, and one line about it that fits beside its name
COMMANDS: dict[str, tuple[Callable[..., None], str]] = {
    "simulate": (dynamics.simulate_command, "Run the dynamics for a number of layers."),
    "limit": (dynamics.limit_command, "Compute the infinite-depth limit with a certificate."),
    "train": (train.command, "Train a text classifier."),
    "evaluate": (evaluate.command, "Measure a classifier on labeled texts."),
    "predict": (predict.command, "Label many texts."),
    "explain": (explain.command, "Show how each word affects the label of a text."),
    "export": (export.command, "Write a classifier for JavaScript or ONNX."),
    "construct": (construct.construct_command, "Compile a data set into an exact transformer."),
    "check": (construct.check_command, "Verify a constructed transformer against data."),
    "serve": (playground.serve_command, "Serve a classifier over HTTP."),
    "playground": (playground.command, "Open the interactive playground."),
    "verify": (verify.command, "Test claims of the papers on random cases."),
    "reproduce": (experiments.reproduce, "Reproduce figures and tables of the papers."),
    "explore": (experiments.explore, "Gather evidence on open questions."),
    "study": (experiments.study, "Run studies of what attention gains and costs."),
    "sweep": (sweep.command, "Run a parameter study, or plot one."),
    "demo": (demo.command, "Try all features once and write a report."),
    "doctor": (doctor.command, "Show versions and extras, and run a self-test."),
    "help": (topics.command, "Explain a command, exit codes, file formats or settings."),
}
for name, (command, summary) in COMMANDS.items():
    app.command(name, cls=topics.Command, short_help=summary)(command)
app.add_typer(data.app, name="data", short_help="List, inspect and download data sets.")


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
    """Simulate hardmax attention, certify limits, classify and explain texts, and construct exact transformers."""


@cache
def program() -> Any:
    """All commands as typer runs them. Making them takes some 30 ms, which a process spends once."""
    return typer.main.get_command(app)


def run(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code; every error becomes one readable message on stderr."""
    arguments = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in arguments
    # --debug may appear anywhere: it concerns the whole run, not one command.
    arguments = (["--debug"] if debug else []) + [a for a in arguments if a != "--debug"]
    if not {"--quiet", "-q", "--json"} & set(arguments):
        ways.announce = lambda: print("compiling, once per installation ...", file=sys.stderr, flush=True)
    try:
        code = program()(arguments, prog_name="hardmax", standalone_mode=False)
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
    finally:
        ways.announce = None  # the next command of this process may be a silent one
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
        if isinstance(message := getattr(error, "message", None), str):
            error.message = message.removeprefix("Value error, ")  # type: ignore[attr-defined]  # of a choice
        show()
        return int(getattr(error, "exit_code", 2))
    if isinstance(error, OSError):
        return output_failed(error)
    if isinstance(error, MemoryError):
        print("error: not enough memory\n  fix:   use fewer tokens or fewer layers", file=sys.stderr)
        return 3
    print(f"error: {type(error).__name__}: {error}", file=sys.stderr)
    print("  This is a bug in hardmax. Run the command again with --debug to see where it happened.", file=sys.stderr)
    return 1


if __name__ == "__main__":
    run()
