"""A download that cannot work here ends with one clear error, not with a missing package or a traceback."""

import subprocess
import sys

fetch = [sys.executable, "-m", "hardmax", "data", "fetch", "imdb", "-o", "data"]
run = subprocess.run(fetch, capture_output=True, text=True, timeout=600)
assert run.returncode in (0, 5), (run.returncode, run.stderr)
assert "Traceback" not in run.stderr
assert "hardmax[download]" not in run.stderr
