"""`python -m hardmax` is the command `hardmax`."""

from hardmax.cli.start import run

run()
