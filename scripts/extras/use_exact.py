"""Exact limits by python-flint."""

import sys

import hardmax as hx

tokens = [["1/3", "0"], ["0", "1/7"], ["-1/2", "-2/3"], ["1/5", "1/9"], ["1/3", "1/7"]]
limit = hx.limit(tokens, exact=True)
assert limit.certificate.verify(tokens)
assert limit.polytope.exact
assert "flint" in sys.modules
