"""Open questions of the theory, probed: one module a question, each with `explore(...)` -> `Evidence`."""
