"""The modules of the playground's page, run by node."""

import json
import subprocess
from pathlib import Path

from programs import node

LESSONS = [
    "What a leader is",
    "Why the hull shrinks",
    "Emerging leaders",
    "Ties and faces",
    "What alpha does",
    "From words to a verdict",
    "What softmax changes",
]
STATIC = Path(__file__).parents[1] / "src" / "hardmax" / "web" / "static"


def run_node(script, *arguments, given=""):
    """What a script writes as JSON; it finds the addresses of these files of static/ in process.argv from 1 on."""
    command = [node(), "--input-type=module", "-e", script, *((STATIC / name).as_uri() for name in arguments)]
    done = subprocess.run(command, input=given.encode(), capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)
