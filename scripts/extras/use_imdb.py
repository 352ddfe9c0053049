"""The film reviews of the extra are found and whole."""

import subprocess
import sys

shown = subprocess.run(
    [sys.executable, "-m", "hardmax", "data", "show", "imdb"], check=True, capture_output=True, text=True
)
assert "25,000" in shown.stdout, shown.stdout
