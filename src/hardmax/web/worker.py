"""The process that computes for the server: a line of JSON in, a line out, until the server closes the pipe.

Run as `python -m hardmax.web.worker`. A line in is {"job": name, "body": {...}}; a line out is an HTTP status, a space
and a JSON document.
"""

import json
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO

from hardmax.errors import HardmaxError
from hardmax.web.wording import error_document


def answer(job: Callable[[dict[str, Any]], dict[str, Any]], body: dict[str, Any]) -> bytes:
    """Run a job: 200 and its document, or the status and the text of what went wrong."""
    from hardmax.io.documents import json_text

    try:
        return b"200 " + json_text(job(body)).encode()
    except HardmaxError as error:
        return b"400 " + json_text(error_document(error.what, error.found, error.fix)).encode()
    except MemoryError:
        return b"400 " + json_text(error_document("not enough memory", fix="fewer tokens or layers")).encode()
    except Exception as error:
        traceback.print_exc()
        document = error_document(f"{type(error).__name__}: this is a bug in hardmax", fix="please report it")
        return b"500 " + json_text(document).encode()


def serve(lines: BinaryIO, out: BinaryIO) -> None:
    """Answer line by line."""
    from hardmax.web import jobs

    for line in lines:
        request = json.loads(line)
        out.write(answer(jobs.JOBS[request["job"]], request["body"]))
        out.flush()


def main() -> None:
    """Keep the pipe for answers; whatever a library prints goes to stderr."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with suppress(BrokenPipeError):  # the server has gone
        serve(sys.stdin.buffer, out)


if __name__ == "__main__":
    main()
