"""Open questions of the theory, explored: `hardmax explore` runs them and replays exact cases."""

from hardmax.experiments.item import Group

GROUP = Group(
    package="questions",
    noun="question",
    plural="open questions",
    command="explore",
    title="Open questions",
    modules=("matrices", "cycles", "feed_forward", "merging", "equal_size"),
)
