"""The files of the page: its style sheets, and its modules as a few classic scripts.

A page that was opened from disk cannot import modules from other files, and a page from a server would ask for dozens
of them one by one. So every module becomes a function that is given `need`, which returns what another module exports,
and returns what it exports itself:

    import { el } from "./dom.js";                       hardmaxModules.define("js/app.js", ["js/dom.js"], (need) => {
    export function start() { ... }                      const { el } = need("js/dom.js");
                                                         function start() { ... }
                                                         return { start };
                                                         });

`loader.js` keeps these functions and runs each when it is first needed.
"""

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any

from hardmax.errors import HardmaxError
from hardmax.palette import FILE as PALETTE

STATIC = Path(__file__).parent / "static"
LOADER = Path(__file__).parent / "loader.js"
ENTRY = "js/app.js"
PAGE = "playground.js"  # the script that a page runs when it opens
# Modules of the page that are not in `static`: the one that reads exported models.
ELSEWHERE = {"js/hardmax.js": Path(__file__).parents[1] / "sentiment" / "export" / "hardmax.js"}

STYLE_LINK = re.compile(r'<link rel="stylesheet" href="static/([^"]+)">')
IMPORT = re.compile(r"""^import\s+(?:(\{[^}]*\})\s*from\s+)?["'](\.{1,2}/[^"']+)["'];?""", re.MULTILINE)
EXPORT = re.compile(
    r"^export\s+((?:async\s+)?function\*?\s+(\w+)|class\s+(\w+)|const\s+(\w+|[\[{][^=]*[\]}])\s*=)", re.MULTILINE
)
LATER = re.compile(r'\bloadModule\("([\w/]+\.js)"\)')
WORKER = re.compile(r'\bstartWorker\("([\w/]+\.js)"\)')
REMAINS = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


class UnusableModule(HardmaxError):
    """A module of the page cannot become a classic script: a bug in hardmax."""


@cache
def styles() -> tuple[str, ...]:
    """The style sheets of the page, in the order of index.html, which holds the only list.

    Example:
        >>> styles()[0]
        'style.css'
    """
    return tuple(STYLE_LINK.findall((STATIC / "index.html").read_text(encoding="utf-8")))


def data_blocks(start: dict[str, Any], **more: Any) -> str:
    """The data elements of a page: the palette, how it starts (`start`), and more by name.

    Example:
        >>> 'id="hardmax-start"' in data_blocks({"server": False})
        True
    """
    carried = {"palette": json.loads(PALETTE.read_text(encoding="utf-8")), "start": start, **more}
    texts = {name: json.dumps(value, separators=(",", ":"), allow_nan=False) for name, value in carried.items()}
    block = '<script type="application/json" id="hardmax-{}">{}</script>\n'
    return "".join(block.format(name, text.replace("<", "\\u003c")) for name, text in texts.items())


def index_page(start: dict[str, Any]) -> str:
    """index.html with its data elements."""
    text = (STATIC / "index.html").read_text(encoding="utf-8")
    return text.replace("</body>", f"{data_blocks(start)}</body>")


@cache
def file_names() -> tuple[str, ...]:
    """The files below static/ that a page may ask for.

    Example:
        >>> "playground.js" in file_names() and "js/app.js" not in file_names()
        True
    """
    return (PAGE, "icon.svg", *styles(), *later_modules())


@cache
def file_text(name: str) -> str:
    """The text of one of `file_names`."""
    if name == PAGE:
        return page_script()
    return later_script(name) if name in later_modules() else (STATIC / name).read_text(encoding="utf-8")


@cache
def source(name: str) -> str:
    """The text of a module of the page."""
    return ELSEWHERE.get(name, STATIC / name).read_text(encoding="utf-8")


def modules(*entries: str) -> tuple[str, ...]:
    """Names of modules and of all that they import, each after what it imports itself.

    Raises:
        UnusableModule: modules import each other in a circle.

    Example:
        >>> modules("js/chart.js")[-1]
        'js/chart.js'
    """
    found: list[str] = []
    open_now: list[str] = []

    def visit(name: str) -> None:
        if name in found:
            return
        if name in open_now:
            raise UnusableModule(f"modules import each other: {' -> '.join([*open_now, name])}")
        open_now.append(name)
        for needed in imports(name):
            visit(needed)
        found.append(open_now.pop())

    for entry in entries:
        visit(entry)
    return tuple(found)


@cache
def imports(name: str) -> list[str]:
    """The modules that a module imports."""
    return [_resolved(name, match[2]) for match in IMPORT.finditer(source(name))]


@cache
def page_modules() -> tuple[str, ...]:
    """The modules that a page needs when it opens, and those of its workers."""
    first = modules(ENTRY)
    workers = [name for one in first for name in WORKER.findall(source(one))]
    return modules(ENTRY, *workers)


@cache
def later_modules() -> tuple[str, ...]:
    """The modules with scripts of their own: those named in loadModule("..."), and what two of them have in common."""
    found = list(dict.fromkeys(name for one in page_modules() for name in LATER.findall(source(one))))
    for name in found:  # grows while it is walked
        found += [later for one in modules(name) for later in LATER.findall(source(one)) if later not in found]
    needed = Counter(one for name in found for one in modules(name))
    common = [one for one, times in needed.items() if times > 1 and one not in {*found, *page_modules()}]
    return (*found, *common)


@cache
def defined(name: str) -> str:
    """A module as a call of `hardmaxModules.define`.

    Raises:
        UnusableModule: it has an import or export that cannot be translated.
    """
    text = source(name)
    exported: list[str] = []

    def imported(match: re.Match[str]) -> str:
        call = f'need("{_resolved(name, match[2])}");'
        return f"const {match[1].replace(' as ', ': ')} = {call}" if match[1] else call

    def declared(match: re.Match[str]) -> str:
        exported.extend(_names(match[4]) if match[4] else [match[2] or match[3]])
        return match[1]

    text = EXPORT.sub(declared, IMPORT.sub(imported, text))
    text = text.replace("import.meta.url", "location.href")  # classic scripts have none, and read no file beside them
    left = REMAINS.search(text)
    if left:
        raise UnusableModule(f"{name} cannot become a classic script", found=left[0])
    needs = ", ".join(f'"{one}"' for one in imports(name))
    body = f"{text.rstrip()}\nreturn {{ {', '.join(exported)} }};"
    return f'hardmaxModules.define("{name}", [{needs}], (need) => {{\n"use strict";\n{body}\n}});\n'


def _names(braces: str) -> list[str]:
    return [part.strip() for part in braces.strip("{}[]").split(",") if part.strip()]


def _resolved(importer: str, specifier: str) -> str:
    return normpath(join(dirname(importer), specifier))


@cache
def page_script() -> str:
    """Everything that a page runs when it opens, as one classic script."""
    loader = LOADER.read_text(encoding="utf-8")
    text = "".join([loader, *map(defined, page_modules()), f'hardmaxModules.need("{ENTRY}");\n'])
    return text.replace("</script", "<\\/script")


def later_script(name: str) -> str:
    """A module that is loaded when it is first needed, with all that it needs and no other script has."""
    elsewhere = {*page_modules(), *later_modules()}
    return "".join(defined(one) for one in modules(name) if one == name or one not in elsewhere)
