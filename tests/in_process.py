"""`hardmax WORDS...` in the process of the tests: where a new one is not the point, it costs a second to start."""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from subprocess import CompletedProcess
from unittest import mock

from hardmax.cli.start import run


def hardmax(*words):
    """What `subprocess.run` gives with text=True and capture_output=True."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    command, code = ["hardmax", *map(str, words)], 0
    with mock.patch.object(sys, "argv", command), redirect_stdout(out), redirect_stderr(err):
        try:
            run()
        except SystemExit as stop:
            code = stop.code or 0
    return CompletedProcess(command, code, *(stream.buffer.getvalue().decode() for stream in (out, err)))
