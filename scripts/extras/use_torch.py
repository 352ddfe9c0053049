"""A constructed network in torch has the same outputs."""

import hardmax as hx

sequences, labels = [[[0, 1]], [[2, 2]]], ["a", "b"]
network = hx.construct(sequences, labels)
assert network.verify(sequences, labels, levels=("torch",))
