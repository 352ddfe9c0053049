"""The five panels of [AFZ25, Fig. 5]: three sequences with outputs of 1, 1 and 2 tokens, stage by stage.

Departs: the stages are those of this package's construction (style "narrow", pool "max"), which needs 9 blocks where
the theorem allows 2 M + 2 N + 1 = 15.
"""

import json
from pathlib import Path

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.construction.build import construct
from hardmax.construction.network import Network

# Among the first forty, the seed whose keys are closest together: the panels show all sequences on one scale.
SEED = 31


def example() -> tuple[list[Floats], list[Floats]]:
    """Three overlapping sequences of eight tokens in the plane, and their 1 + 1 + 2 targets."""
    base = np.random.default_rng(0).uniform(-1, 1, (24, 2))
    shifts = np.array([[-0.25, 0.1], [0.25, 0.2], [0.0, -0.3]])
    sequences = [base[8 * j : 8 * j + 8] + shifts[j] for j in range(3)]
    targets = [[[-1.6, 1.2]], [[1.6, 1.3]], [[-0.9, -1.6], [1.5, -1.4]]]
    return sequences, [np.array(target) for target in targets]


def build() -> tuple[Network, list[Floats], list[Floats]]:
    """The network for the example, with its data."""
    sequences, targets = example()
    return construct(sequences, targets, style="narrow", pool="max", seed=SEED), sequences, targets


def run(folder: str | Path, quick: bool = False) -> list[Path]:
    """Write stages.png, stages.json and (unless quick) stages.gif, which steps through every block."""
    from hardmax.plot.stages import plot_stages, stages_movie
    from hardmax.plot.style import save_figure

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    net, sequences, targets = build()
    report = net.verify(sequences, targets, levels=("certificate", "float64", "dense", "rational"))
    stages = net.stages(sequences)
    document = {
        "schema": "hardmax.stages/1",
        "blocks": net.blocks,
        "bound": net.bound,
        "parameters": net.parameters,
        "temperature": net.temperature,
        "exact": report.exact,
        "max_error": report.max_error,
        "stages": [
            {"name": s.name, "blocks": s.blocks, "clouds": [cloud.tolist() for cloud in s.clouds]} for s in stages
        ],
    }
    (folder / "stages.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    files = [save_figure(plot_stages(stages), folder / "stages.png"), folder / "stages.json"]
    if not quick:
        files.append(stages_movie(net.stages(sequences, every="block"), folder / "stages.gif"))
    return files
