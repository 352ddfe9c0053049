"""Three studies with random clouds and real reviews: finite depth, robustness, ablation. `hardmax study` runs them."""

from hardmax.experiments.item import Group

GROUP = Group(
    package="studies",
    noun="study",
    plural="studies",
    command="study",
    title="Studies",
    modules=("finite_depth", "variants"),
)
