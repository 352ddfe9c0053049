"""The playground as a folder of files: it opens from disk and from any web host, in any folder, without a server.

    index.html            the page, with its palette
    config.json           what the folder is, so that it can be replaced
    static/playground.js  the modules of the page as one classic script
    static/screens/...    modules that are read when they are first needed
    static/model.js       the model of the Sentiment screen, exported to JavaScript

Two screens compute on the server and only say here how to get one: `SERVER_ONLY`.
"""

import json
import re
from base64 import b64encode
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from hardmax import __version__
from hardmax.errors import BadInput
from hardmax.io.files import new_folder
from hardmax.web.bundle import UnusableModule, file_names, file_text, index_page

if TYPE_CHECKING:
    from hardmax.sentiment.model import SentimentModel

MODEL = "imdb-words"
SCHEMA = "hardmax.site/1"
SERVER_ONLY = ("screens/exact.js", "screens/corpus.js")
# A page from disk has no origin of its own, so 'self' alone would allow nothing there.
POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src 'self' file: data: blob:; "
    "worker-src blob:; base-uri 'none'; form-action 'none'"
)
PUBLIC_URL = re.compile(r"https?://[^\s#\"'<>]+")
CSS_SPACE = re.compile(r"(\"[^\"]*\")|/\*.*?\*/|(?<=[{};:,])\s+|\s+(?=[{}])", re.DOTALL)
PIECES = re.compile(
    r"(?P<space>(?://[^\n]*|/\*.*?\*/|\s+)+)|(?P<kept>\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|[\w$]+|.)", re.DOTALL
)
REGEX = re.compile(r"(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\[\n])+/")  # what follows its first slash
AFTER_VALUE = re.compile(r"(?!(?:return|of|in|case|typeof)$)[\w$]+|.*[)\]}\"'`]", re.DOTALL)  # there a slash divides
WORD = re.compile(r"[\w$]+")
TEMPLATE = re.compile(r"(?:\\.|\$(?!\{)|[^`\\$])*(?:`|\$\{)", re.DOTALL)


def write_site(folder: str | Path, model: str = MODEL, *, public_url: str | None = None, force: bool = True) -> Path:
    """Write the playground as a static site; an interruption leaves the old folder, or none.

    Args:
        model: the model of the Sentiment screen: a shipped one, or a model folder.
        public_url: where the site will be, for the links of Share; None: wherever it is opened.
        force: replace the folder if it exists and was written by hardmax.

    Raises:
        BadInput: the folder cannot be replaced, there is no such model, or the address is not valid.
    """
    from hardmax.sentiment.files import load_classifier

    check_public_url(public_url)
    loaded = load_classifier(model)
    name = Path(model).resolve().name
    start = {"server": False, "model": name, "public_url": public_url}
    with new_folder(folder, force=force) as beside:
        _write(beside / "index.html", site_page(start))
        _write(beside / "config.json", json.dumps({"schema": SCHEMA, "version": __version__, "model": name}))
        for file in file_names():
            if file not in SERVER_ONLY:
                _write(beside / "static" / file, _short_file(file))
        _write(beside / "static" / "model.js", model_script(loaded, name))
    return Path(folder)


def check_public_url(address: str | None) -> None:
    """Raise BadInput unless this is the address of a page, without a fragment.

    Example:
        >>> check_public_url("https://course.example/playground/")
    """
    if address is not None and not PUBLIC_URL.fullmatch(address):
        fix = "give an address without #, such as https://course.example/playground/"
        raise BadInput("the public address is not valid", found=address[:200], fix=fix)


def site_page(start: dict[str, object]) -> str:
    """index.html with the policy that a server would send."""
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    return index_page(start).replace('<meta charset="utf-8">', f'<meta charset="utf-8">\n  {policy}')


def model_script(model: "SentimentModel", name: str) -> str:
    """An exported model as a module of the page: { config, weights, terms }, the numbers in base64."""
    from hardmax.sentiment.export.javascript import model_document, weights

    config = json.dumps(model_document(model) | {"name": name}, separators=(",", ":"))
    numbers = b64encode(weights(model)).decode()
    terms = json.dumps(bytes(model.vocabulary.joined).decode(), ensure_ascii=False)
    parts = f'config: {config}, weights: Uint8Array.from(atob("{numbers}"), (c) => c.charCodeAt(0)), terms: {terms}'
    return f'hardmaxModules.define("model.js", [], () => ({{ {parts} }}));\n'


def shortened(text: str) -> str:
    """A script without comments and unnecessary space; ends of lines stay, because they may end a statement.

    Example:
        >>> shortened("if (x) {  // why\\n  go(`a  b ${ x + 1 }`);\\n}")
        'if(x){\\ngo(`a  b ${x+1}`);\\n}'
    """
    parts: list[str] = []
    braces = [0]  # open braces, anew for each ${ of a template
    space, place, last = "", 0, ""
    while match := PIECES.match(text, place):
        place = match.end()
        if match["space"]:
            space = "\n" if "\n" in match["space"] else " "
            continue
        piece = match["kept"]
        braces[-1] += (piece == "{") - (piece == "}")
        if piece == "/" and not AFTER_VALUE.fullmatch(last):
            piece, place = _with(REGEX, piece, text, place)
        elif piece == "`" or braces[-1] < 0:  # a template begins, or goes on after ${ }
            braces = braces if piece == "`" else braces[:-1]
            piece, place = _with(TEMPLATE, piece, text, place)
            braces += [0] if piece.endswith("${") else []
        meet = last[-1:] + piece[0]
        apart = last and (WORD.fullmatch(meet) or meet in ("++", "--", "//"))
        parts += [space if space == "\n" or apart else "", piece]
        space, last = "", piece
    return "".join(parts).lstrip("\n") + space.strip(" ")


def shortened_css(text: str) -> str:
    """A style sheet without comments and without space between its parts.

    Example:
        >>> shortened_css("/* why */ .a, .b { color: red; }")
        '.a,.b{color:red;}'
    """
    return CSS_SPACE.sub(lambda match: match[1] or "", text).strip()


@cache
def _short_file(name: str) -> str:
    """A file of the page, shortened according to its type."""
    shorten = {".js": shortened, ".css": shortened_css}.get(Path(name).suffix, str)
    return shorten(file_text(name))


def _with(rest: "re.Pattern[str]", begun: str, text: str, place: int) -> tuple[str, int]:
    """A piece, completed by what `rest` matches, and where it ends."""
    found = rest.match(text, place)
    if found is None:
        raise UnusableModule("a script has a text or an expression without an end", found=text[place : place + 60])
    return begun + found[0], found.end()


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
