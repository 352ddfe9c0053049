"""The stages of the exact construction for three sequences with outputs of 1, 1 and 2 tokens [AFZ25, Fig. 5]."""

from typing import Any

from hardmax.experiments import stages
from hardmax.experiments.reproduce.item_files import write_data, write_figure, write_table
from hardmax.experiments.reproduce.items import Context, Outcome, Picture, Table
from hardmax.io.files import write_file

LEVELS = ("certificate", "float64", "dense", "rational")


def settings(context: Context) -> dict[str, Any]:
    """The example and how it is checked."""
    return {"example_seed": stages.SEED, "style": "narrow", "pool": "max", "levels": list(LEVELS)}


def run(context: Context) -> Outcome:
    """Build the network, verify it, draw its stages and a movie of all blocks."""
    from hardmax.plot.stages import plot_stages, stages_movie

    context.tell(0, None, "constructing and verifying")
    net, sequences, targets = stages.build()
    report = net.verify(sequences, targets, levels=LEVELS)
    found = net.stages(sequences)
    figures = write_figure(context, "construction-stages", plot_stages(found))
    movie = "construction-stages.gif"
    context.tell(0, None, "a movie of the blocks")
    write_file(context.folder / movie, lambda to: stages_movie(net.stages(sequences, every="block"), to))
    rows = [
        [stage.name, j, i, *token.tolist()]
        for stage in found
        for j, cloud in enumerate(stage.clouds)
        for i, token in enumerate(cloud[:, :2])
    ]
    counts = {"blocks": net.blocks, "bound": net.bound, "parameters": net.parameters}
    outcome = {**counts, "exact": bool(report.exact), "max_error": float(report.max_error)}
    files = [
        write_table(context, "construction-stages", ["stage", "sequence", "token", "x_0", "x_1"], rows),
        write_data(context, "construction-stages", settings(context), outcome),
    ]
    by_stage = [[stage.name, stage.blocks] for stage in found]
    return Outcome(
        paper=f"Tokens are separated, leaders are chosen, the others collapse onto them, the leaders move to the "
        f"targets: 2 M + 2 N + 1 = {net.bound} blocks for N = 3 sequences with M = 4 output tokens in all.",
        ours=f"{net.blocks} blocks, {net.parameters} parameters; "
        + ("exact on all sequences" if report.exact else "NOT exact")
        + f" at the levels {', '.join(LEVELS)} (largest float64 error {report.max_error:g}).",
        differs="The stages are those of this package's own construction (style narrow), which needs fewer blocks; the "
        "sequences and targets are our own.",
        numbers=outcome,
        files=(*figures, movie, *files),
        pictures=(
            Picture(figures[0], "Five panels: input, separate, choose leaders, collapse, place."),
            Picture(movie, "The tokens of three sequences, block by block.", width=440),
        ),
        tables=(Table("Blocks by stage", ["stage", "blocks"], by_stage),),
    )
