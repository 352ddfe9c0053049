"""The playground as one file: the page's own modules, its style and a cloud inside one HTML document.

A page that was opened from disk cannot import modules from other files, so they are stored in the page as text: a small
loader gives each a blob address, in an order in which everything a module imports already has one. The
Content-Security-Policy allows the loader by its digest and nothing from outside.
"""

import json
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any

from markupsafe import Markup

from hardmax.errors import HardmaxError
from hardmax.html.page import render, script
from hardmax.palette import FILE as PALETTE

STATIC = Path(__file__).parent / "static"
ENTRY = "js/app.js"
STYLES = ("style.css", "css/screens.css")
IMPORT = re.compile(r"""(\bfrom\s*|\bimport\s*)(["'])(\.{1,2}/[^"']+)\2""")


class CircularImport(HardmaxError):
    """Modules of the page import each other in a circle: a bug in hardmax."""


@cache
def modules(entry: str = ENTRY) -> tuple[tuple[str, str], ...]:
    """(name, source) of a module and of all that it imports, each after what it imports itself.

    Relative imports become "hardmax:name"; dynamic imports, of screens that need the server, are left as they are.
    """
    found: dict[str, str] = {}
    open_now: list[str] = []

    def visit(name: str) -> None:
        if name in found:
            return
        if name in open_now:
            raise CircularImport(f"modules import each other: {' -> '.join([*open_now, name])}")
        open_now.append(name)
        source = (STATIC / name).read_text(encoding="utf-8")
        for match in IMPORT.finditer(source):
            visit(_resolved(name, match[3]))
        open_now.pop()
        found[name] = IMPORT.sub(lambda m: f'{m[1]}"hardmax:{_resolved(name, m[3])}"', source)

    visit(entry)
    return tuple(found.items())


def _resolved(importer: str, specifier: str) -> str:
    return normpath(join(dirname(importer), specifier))


def digest(script: str) -> str:
    """The source expression that allows an inline script with exactly this text."""
    return f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"


def policy(*scripts: str) -> str:
    """A Content-Security-Policy for a page with these inline scripts and without network requests."""
    return (
        f"default-src 'none'; script-src {' '.join(map(digest, scripts))} blob:; style-src 'unsafe-inline'; "
        "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
    )


def playground_document(state: dict[str, Any], title: str = "hardmax playground") -> str:
    """The playground without a server, as one HTML document.

    Args:
        state: the state as in a link (`hardmax.web.share`); `cloud` {"d", "coords"} is a cloud that, unlike one in a
            link, is not rounded.

    Example:
        >>> playground_document({"preset": "square"}).startswith("<!doctype html>")
        True
    """
    loader = script("loader.js")
    document = render(
        "playground.html",
        title=title,
        policy=policy(loader),
        styles=[Markup((STATIC / name).read_text(encoding="utf-8")) for name in STYLES],
        data={
            "hardmax-palette": json.loads(PALETTE.read_text(encoding="utf-8")),
            # With `hash` given the page leaves the address alone: a file on disk keeps its name.
            "hardmax-start": {"server": False, "hash": f"#v=1&view={state.get('view', 'dyn')}"},
            "hardmax-state": state,
            "hardmax-modules": modules(),
        },
        loader=loader,
    )
    return str(document)
