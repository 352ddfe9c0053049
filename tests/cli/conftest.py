"""The command line as a person uses it."""

import io
import sys

import pytest

from hardmax.cli.main import run


@pytest.fixture
def cli(capsys, monkeypatch):
    """Run `hardmax WORDS...`; returns the exit code, stdout and stderr."""

    def call(*words, stdin=None):
        arguments = [str(word) for word in words]
        monkeypatch.setattr(sys, "argv", ["hardmax", *arguments])
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as stop:
            run(arguments)
        out, err = capsys.readouterr()
        return stop.value.code, out, err

    return call
