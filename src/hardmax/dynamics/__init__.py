"""Layers one after another (`simulate`), and all of them at once (`limit`)."""
