"""Results and explanations as DataFrames."""

import hardmax as hx

tokens = hx.preset("square-ties")
assert len(hx.limit(tokens).to_frame()) == len(tokens)
assert len(hx.simulate(tokens, layers=2).to_frame()) == 3 * len(tokens)
model = hx.HardmaxClassifier().fit(["good film", "bad film"] * 20, [1, 0] * 20)
assert list(model.explain_many(["good"])["word"]) == ["good"]
