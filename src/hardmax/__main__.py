"""`python -m hardmax` is the command `hardmax`."""

from hardmax.cli.main import run

run()
