"""`hardmax sweep`: parameter studies, and pictures of them."""

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, BadParameter, Exit, Option

from hardmax.cli import inputs
from hardmax.cli.output import note, show
from hardmax.errors import BadInput, counted, need
from hardmax.io.progress import telling


def command(
    arguments: Annotated[
        list[str],
        Argument(
            metavar="CONFIG | plot DIR",
            help="A TOML file or a built-in study: leaders, decision, sphere, accuracy. With plot: the folder of one.",
        ),
    ],
    output: Annotated[
        Path | None, inputs.output("Folder for the rows (parquet). With plot: a .png, .svg or .pdf file.")
    ] = None,
    engine: inputs.Engine = "local",
    address: inputs.Address = None,
    workers: Annotated[
        int | None, Option(min=1, help="Number of processes on this machine. Default: one per processor.")
    ] = None,
    run: Annotated[int | None, Option(help="Compute only the run with this number and print its row.")] = None,
    x: Annotated[str | None, Option(help="With plot: the column along the x axis.")] = None,
    y: Annotated[str | None, Option(help="With plot: the column along the y axis.")] = None,
    by: Annotated[str | None, Option(help="With plot: one curve for each value of this column.")] = None,
    color: Annotated[str | None, Option(help="With plot: draw a phase diagram with this column as color.")] = None,
    resume: Annotated[bool, Option("--resume", help="Continue an interrupted study in its folder.")] = False,
    force: inputs.Force = False,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Run a parameter study, with one table row per run, or plot a finished study.

    An interrupted study can be resumed with --resume. The row of a failed run holds the command that repeats it.

    Examples: hardmax sweep leaders -o rows
              hardmax sweep plot rows -o leaders.png
    """
    if arguments[0] == "plot":
        if len(arguments) != 2 or output is None:
            raise BadParameter("expected: hardmax sweep plot DIR -o FILE", param_hint="plot")
        plan = {name: value for name, value in (("x", x), ("y", y), ("by", by), ("color", color)) if value}
        return _plot(Path(arguments[1]), output, plan, force, json)
    if len(arguments) != 1:
        raise BadParameter("expected one CONFIG", param_hint="CONFIG")
    from hardmax.scale.config import read_sweep
    from hardmax.scale.run import one_run, run_sweep

    sweep = read_sweep(arguments[0])
    if run is not None:
        row = one_run(sweep, run)
        show(json, {"schema": "hardmax.sweep/1", "row": row}, *(f"{name}\t{row[name]}" for name in row))
        raise Exit(7 if row["error"] else 0)
    if output is None:
        raise BadInput("no folder for the rows was given", fix=f"hardmax sweep {arguments[0]} -o DIR")
    silent = quiet or json
    note(f"{sweep.name}: {len(sweep):,} runs, {sweep.rows:,} rows", silent)
    with telling(silent, "running") as tell:
        done, failed = run_sweep(
            sweep, output, engine=engine, address=address, workers=workers, resume=resume, force=force,
            progress=lambda rows, of: tell(rows, of, "rows"), command=arguments[0],
        )  # fmt: skip
    document = {"schema": "hardmax.sweep/1", "rows": done, "failed": failed, "folder": str(output)}
    show(json, document, f"wrote {output}: {counted(done, 'row')}, {failed:,} failed")
    if failed:
        note(f"warning: {failed:,} runs failed; their rows have the error and the command that repeats them", silent)
        raise Exit(7)


def _plot(folder: Path, output: Path, plan: dict[str, Any], force: bool, json: bool) -> None:
    need("matplotlib", "plot", "a plot")
    from hardmax.io.files import write_file
    from hardmax.plot.style import save_figure
    from hardmax.plot.sweep import plot_rows
    from hardmax.scale.run import read_plan, read_rows

    inputs.check_output(output, force)
    stored = read_plan(folder)  # what the command line says replaces what the study says
    given = {**plan, "kind": "phase" if "color" in plan else "curves"}
    figure = plot_rows(read_rows(folder).to_pydict(), given if plan else stored)
    write_file(output, lambda to: save_figure(figure, to), force=force)
    show(json, {"schema": "hardmax.sweep/1", "file": str(output)}, f"wrote {output}")
