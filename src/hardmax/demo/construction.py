"""The part of the demonstration report about exact construction."""

from pathlib import Path
from time import perf_counter

import numpy as np

from hardmax.construction.build import construct
from hardmax.experiments.reproduce.construction import build
from hardmax.html.result import facts, picture
from hardmax.plot.stages import plot_stages
from hardmax.plot.style import save_figure

SEQUENCES, CLASSES = 1000, ("red", "green", "blue")


def construct_section(folder: Path) -> str:
    """Compile random sequences into a transformer, verify it on every one, and draw the stages of the proof for a small
    example [AFZ25, Fig. 5]."""
    rng = np.random.default_rng(0)
    sequences = [rng.normal(size=(int(n), 2)) for n in rng.integers(1, 30, size=SEQUENCES)]
    labels = [CLASSES[int(c)] for c in rng.integers(0, len(CLASSES), size=SEQUENCES)]
    start = perf_counter()
    net = construct(sequences, labels)
    built = perf_counter() - start
    report = net.verify(sequences, labels, levels=("certificate", "float64", "rational"))
    net.save(folder / "network", force=True)
    small, tokens, _ = build()
    drawn = save_figure(plot_stages(small.stages(tokens)), folder / "stages.png")
    return "\n".join(
        [
            "<h2>An exact classifier, compiled instead of trained</h2>",
            f"<p>{SEQUENCES} random sequences of up to 29 tokens in the plane with random labels: nothing to learn, "
            "everything to be exact about. The weights are written down, not trained, and are right on every one.</p>",
            facts(
                [
                    ("blocks", f"{net.blocks} (the theorem of the paper allows {net.bound})"),
                    ("parameters", net.parameters),
                    ("built in", f"{built:.2f} s"),
                    ("exact on every sequence", "yes" if report.exact else "NO"),
                    ("largest float64 error", f"{report.max_error:g}"),
                    ("levels of verification", "certificate, float64, rational arithmetic"),
                ]
            ),
            "<p>The stages of the proof for three sequences with outputs of 1, 1 and 2 tokens: separate the sequences, "
            "choose leaders, collapse the others onto them, place the leaders on the targets.</p>",
            picture(drawn, "Five panels: three sequences of eight tokens each are separated, collapsed and placed."),
        ]
    )
