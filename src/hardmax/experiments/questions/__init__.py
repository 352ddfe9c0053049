"""Open questions of the theory, explored: `hardmax explore` runs them and replays exact cases."""
