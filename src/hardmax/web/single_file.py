"""The playground as one file: the page's own modules, its style and a cloud inside one HTML document.

Modules cannot be imported from a file on disk, so they travel as text: a small loader gives each a blob address, in an
order in which everything a module imports has one already. The Content-Security-Policy names the loader by its digest
and allows nothing from outside.
"""

import json
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import escape
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any

from hardmax.errors import HardmaxError
from hardmax.palette import FILE as PALETTE

STATIC = Path(__file__).parent / "static"
ENTRY = "js/app.js"
STYLES = ("style.css", "css/screens.css")
IMPORT = re.compile(r"""(\bfrom\s*|\bimport\s*)(["'])(\.{1,2}/[^"']+)\2""")
LOADER = """
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const address = {};
for (const [name, source] of read("hardmax-modules")) {
  const linked = source.replace(/"hardmax:([^"]+)"/g, (_, other) => JSON.stringify(address[other]));
  address[name] = URL.createObjectURL(new Blob([linked], { type: "text/javascript" }));
}
const { startApp } = await import(address["js/app.js"]);
const { encodeState } = await import(address["js/state.js"]);
const root = document.getElementById("hardmax-root");
root.id = "app";
const app = await startApp(root);
const { cloud, ...state } = read("hardmax-state");
if (cloud) state.pts = { d: cloud.d, coords: Float64Array.from(cloud.coords) };
app.set(state);
window.hardmaxLink = () => encodeState(app.state);
"""


class CircularImport(HardmaxError):
    """Modules of the page import each other in a circle: a bug in hardmax."""


@cache
def modules(entry: str = ENTRY) -> tuple[tuple[str, str], ...]:
    """(name, source) of a module and of all that it imports, each after what it imports itself.

    Relative imports become "hardmax:name"; imports on demand, of screens that need the server, stay as they are.
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
    """A Content-Security-Policy for a page with these inline scripts that asks nothing of the network."""
    return (
        f"default-src 'none'; script-src {' '.join(map(digest, scripts))} blob:; style-src 'unsafe-inline'; "
        "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
    )


def data_block(name: str, value: Any) -> str:
    """JSON inside a page, for scripts to read; no text in it can end the element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return f'<script type="application/json" id="{escape(name, quote=True)}">{text}</script>'


def playground_document(state: dict[str, Any], title: str = "hardmax playground") -> str:
    """The playground without a server, as one HTML document.

    Args:
        state: keys of the table of links (`hardmax.web.share`); `cloud` {"d", "coords"} is a cloud that is not rounded
            as one in a link would be.

    Example:
        >>> playground_document({"preset": "square"}).startswith("<!doctype html>")
        True
    """
    style = "\n".join((STATIC / name).read_text(encoding="utf-8") for name in STYLES if (STATIC / name).is_file())
    palette = json.loads(PALETTE.read_text(encoding="utf-8"))
    # With `hash` given the page leaves the address alone: a file on disk keeps its name.
    start = {"server": False, "hash": f"#v=1&view={state.get('view', 'dyn')}"}
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en" data-theme="auto">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy(LOADER), quote=True)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escape(title)}</title>",
            f"<style>{style}</style>",
            "</head>",
            "<body>",
            '<div id="hardmax-root"></div>',
            data_block("hardmax-palette", palette),
            data_block("hardmax-start", start),
            data_block("hardmax-state", state),
            data_block("hardmax-modules", [list(pair) for pair in modules()]),
            f'<script type="module">{LOADER}</script>',
            "</body>",
            "</html>",
            "",
        ]
    )
