"""A small parameter study."""

import hardmax as hx

if __name__ == "__main__":  # the runs are in processes of their own, which read this file again
    rows = hx.sweep({"sweep": {"seeds": 20}, "grid": {"n": [10, 20], "d": [2]}}, "study")
    assert len(rows) == 40
