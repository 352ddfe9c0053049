"""Pictures of a trajectory and of its limit, and an animation."""

import hardmax as hx

tokens = hx.preset("square-ties")
hx.simulate(tokens, layers=5).save("trajectory.gif")
hx.limit(tokens).save("limit.png")
