"""The figures and tables of the papers beside ours: `hardmax reproduce` makes them and writes a report."""

from hardmax.experiments.item import Group

GROUP = Group(
    package="reproduce",
    noun="figure or table",
    plural="figures and tables of two papers",
    command="reproduce",
    title="The papers, run again",
    modules=("dynamics", "recipes", "words", "construction", "tikhonov"),
    about=(
        (
            "[AFZ24]",
            "Alcalde, Fantuzzi, Zuazua, Clustering in pure-attention hardmax transformers and its role in sentiment "
            "analysis, SIAM J. Math. Data Sci. 7(3):1367-1393 (2025), arXiv 2407.01602",
        ),
        ("[AFZ25]", "the same authors, Exact sequence interpolation with transformers, arXiv 2502.02270"),
    ),
)
