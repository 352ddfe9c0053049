"""`simulate` and `limit` in rational arithmetic: Fractions in, Fractions out, every comparison decided.

Numbers are taken at their exact value: integers, Fractions, decimal strings ("0.1", "1/3"), floats at their binary one.
"""
