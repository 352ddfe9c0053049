"""Clean a text before it is split into words: replace tags, links and entities, and compose characters.

`clean` keeps the length of the text, so positions do not change. `compose` tells where everything was before.
"""

import re
from functools import lru_cache
from itertools import pairwise
from unicodedata import category, is_normalized, normalize

# Patterns are compiled when a text needs them, and kept by `re`: compiling takes longer than reading a short text.
_ENTITY = r"&(?:[A-Za-z][A-Za-z0-9]{1,30}|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});"
_NAMES = (
    "a abbr address article aside audio b big blockquote body br button canvas caption center cite code col dd del "
    "details dfn dir div dl dt em embed fieldset figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 "
    "head header hr html i iframe img input ins kbd label legend li link main map mark meta nav noscript object ol "
    "option p param picture pre q s samp script section select small source span strike strong style sub summary sup "
    "svg table tbody td textarea tfoot th thead time title tr tt u ul var video wbr"
)
# A real tag: a name of HTML and attributes with values, so that `a<b and c>d` remains what it is. Or a comment.
TAG = (
    rf"</?(?:{'|'.join(_NAMES.split())})(?:\s+[\w:-]+(?:\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'|[^\s\"'<>=]+)))*[\s\xad]*/?\xad*>"
    r"|<!--[^<>]*-->|<!doctype[^<>]*>"
)
# Where an element begins or ends whose contents are not text: a script or a style sheet.
UNREAD = r"<(/?)(?:(script)|style)(?:[\s\xad/][^<>]*)?>"
_IN_LINKS = r"\u00c0-\u052f"  # letters of Latin, Greek and Cyrillic and their marks; no script without spaces
LINK = rf"(?:[Hh][Tt][Tt][Pp][Ss]?://|(?<![A-Za-z0-9])[Ww]ww\.)[!-~{_IN_LINKS}]*[A-Za-z0-9/{_IN_LINKS}]"
LINES = ("<br", "<p>", "<p ", "</p", "<li", "<div", "</div", "<hr", "<tr", "<h")  # these begin a new line


def clean(text: str) -> str:
    """The text without tags, scripts, links and entities, at its old length: what is left stands where it stood.

    An entity becomes its character, behind soft hyphens that no word shows; a link becomes `http` and spaces.

    Example:
        >>> clean("<b>good</b>, at http://a.b/c")
        '   good    , at http        '
    """
    if "&" in text:
        text = re.sub(_ENTITY, _character, text)
    if "<" in text:
        text = text.replace("<br />", "\n     ")  # by far the most frequent one
        text = text if "<" not in text else re.sub(TAG, _blank, _without_scripts(text), flags=re.IGNORECASE)
    if (":" in text and "://" in text) or "ww." in text:
        text = re.sub(LINK, lambda link: "http".ljust(len(link[0])), text)
    return text


def _character(entity: "re.Match[str]") -> str:
    from html import unescape

    char = unescape(entity[0])
    return char.rjust(len(entity[0]), "\u00ad") if len(char) == 1 else entity[0]


def _without_scripts(text: str) -> str:
    """Blanks for scripts and style sheets; an element that is never closed remains, as somebody may write of it."""
    tags = list(re.finditer(UNREAD, text, flags=re.IGNORECASE))
    closed = {tag[2] is None: tag.start() for tag in tags if tag[1]}  # the last end of each kind
    parts, done, opened = [], 0, None
    for tag in tags:
        kind = tag[2] is None
        if opened is None and not tag[1] and tag.start() < closed.get(kind, 0):
            opened = tag.start(), kind
        elif opened is not None and tag[1] and kind == opened[1]:
            parts += [text[done : opened[0]], " " * (tag.end() - opened[0])]
            done, opened = tag.end(), None
    return "".join([*parts, text[done:]]) if parts else text


def _blank(tag: "re.Match[str]") -> str:
    return ("\n" if tag[0].lower().startswith(LINES) else " ").ljust(len(tag[0]))


def compose(text: str) -> tuple[str, list[tuple[int, int]] | None]:
    """The text in normal form C, and for each of its characters where it was before; None if nothing moved.

    Example:
        >>> compose("e\u0301te")
        ('éte', [(0, 2), (2, 3), (3, 4)])
    """
    if text.isascii() or is_normalized("NFC", text):
        return text, None
    edges = [i for i, char in enumerate(text) if not _attaches(char)]
    edges = [*([] if edges[:1] == [0] else [0]), *edges, len(text)]
    parts, places = [], []
    for start, end in pairwise(edges):
        part = normalize("NFC", text[start:end])
        parts.append(part)
        # One to one where nothing was composed, otherwise all of it for each character.
        same = len(part) == end - start
        places += [(start + k, start + k + 1) if same else (start, end) for k in range(len(part))]
    return "".join(parts), places


@lru_cache(maxsize=4096)
def _attaches(char: str) -> bool:
    """Whether a character may merge with the one before it: combining marks, and vowels and finals of Hangul."""
    return category(char)[0] == "M" or 0x1161 <= ord(char) <= 0x11C2


def prepared(text: str) -> str:
    """The text in which words are looked for: cleaned and composed.

    Example:
        >>> prepared("<i>ete\u0301</i>")
        '   eté    '
    """
    text = clean(text)
    return text if text.isascii() or is_normalized("NFC", text) else normalize("NFC", text)
