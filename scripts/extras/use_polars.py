"""Explanations as a polars table."""

import hardmax as hx

model = hx.HardmaxClassifier().fit(["good film", "bad film"] * 20, [1, 0] * 20)
assert model.explain_many(["good"], as_="polars")["word"].to_list() == ["good"]
