"""An explanation in a terminal: 80 columns, with color or without."""

import re
from collections.abc import Callable, Iterator
from math import fsum
from textwrap import wrap
from typing import TYPE_CHECKING
from unicodedata import combining, east_asian_width

from hardmax.palette import terminal
from hardmax.sentiment.highlight import marks, visible

if TYPE_CHECKING:
    from hardmax.sentiment.explain import Explanation

MOST_LEADERS = 15
MOST_CHARACTERS = 4000
LONGEST = 40  # columns that are never broken
STRONG = 0.2  # part of the largest weight from which on a word is marked
FOR, AGAINST, DIM, BOLD, PLAIN = terminal("positive"), terminal("negative"), "\x1b[2m", "\x1b[1m", "\x1b[0m"
Paint = Callable[[str, str], str]


def terminal_text(ex: "Explanation", color: bool, width: int = 80) -> str:
    """Label and sum, a bar for every leader, the marked text, and what was ignored."""
    width = max(width, 40)
    paint: Paint = _paint if color else (lambda text, style: text)
    leaders = f" and {len(ex.leaders)} leader{'s' * (len(ex.leaders) != 1)}" if ex.leaders else ""
    toward = _cut(visible(str(ex.toward), ""), 30)
    total = f"logit {ex.logit:+.4f} = bias {ex.bias:+.4f}{leaders}; + speaks for {toward}"
    label = _cut(visible(str(ex.label), ""), width - 22)
    lines = [paint(label, BOLD) + f"  probability {ex.probability:.4f}", *wrap(total, width)]
    if not ex.words:
        lines += ["", *wrap("No word of the text is known: this is the probability of the bias alone.", width)]
    else:
        lines += ["", *_table(ex, paint, width), "", *_marked(ex, paint, width)]
    if ex.ignored:
        shown = ", ".join(visible(w, "")[:40] for w in ex.ignored[:40])
        more = f", ... ({len(ex.ignored)} in all)" if len(ex.ignored) > 40 else ""
        lines += ["", *wrap(f"not known, ignored: {shown}{more}", width, subsequent_indent="  ")]
    return "\n".join(lines) + "\n"


def _paint(text: str, style: str) -> str:
    return f"{style}{text}{PLAIN}" if text and style else text


def _table(ex: "Explanation", paint: Paint, width: int) -> list[str]:
    shown = ex.largest(MOST_LEADERS)
    name = min(20, max(6, *(_columns(visible(leader["word"], "")) for leader in shown)))
    bar = 16
    most = max(abs(leader["contribution"]) for leader in shown) or 1.0
    room = width - name - bar - 20
    lines = [f"{'leader':<{name}}  {'part':>7}  {'':<{bar}}  share  followers"]
    for leader in shown:
        part = leader["contribution"]
        full = round(bar * abs(part) / most)
        block = ("+" if part >= 0 else "-") * full
        followers = ", ".join(visible(f, "") for f in leader["followers"][:30]) or "none"
        lines.append(
            f"{_fill(visible(leader['word'], ''), name)}  {part:>+7.3f}  "
            + paint(f"{block:<{bar}}", FOR if part >= 0 else AGAINST)
            + f"  {leader['share']:>4.0%}  {_cut(followers, room)}"
        )
    if rest := len(ex.leaders) - len(shown):
        total = fsum(leader["contribution"] for leader in ex.leaders) - fsum(s["contribution"] for s in shown)
        lines.append(f"and {rest} smaller leaders: {total:+.3f} together")
    return lines


def _columns(text: str) -> int:
    """Columns a text takes in a terminal: two for wide characters, none for those that combine."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) or c == "\u200d" else 1 + (east_asian_width(c) in "WF") for c in text)


def _cut(text: str, room: int) -> str:
    """The text in exactly `room` columns, or less if it is shorter."""
    if _columns(text) <= room:
        return text
    while text and _columns(text) > room - 3:
        text = text[:-1]
    return text + "..."


def _fill(text: str, room: int) -> str:
    cut = _cut(text, room)
    return cut + " " * (room - _columns(cut))


def _marked(ex: "Explanation", paint: Paint, width: int) -> list[str]:
    """The text word by word: strong words colored, or in brackets with their sign where there is no color."""
    every = marks(ex, MOST_CHARACTERS)
    if not every:
        return []
    most = max(abs(m.weight) for m in every) or 1.0
    colored = paint("x", FOR) != "x"
    pieces: list[tuple[str, str]] = []
    done = 0
    for m in every:
        pieces.append((ex.text[done : m.start], ""))
        done = m.end
        strong = abs(m.weight) >= STRONG * most
        style = (FOR if m.weight > 0 else AGAINST) if strong else ("" if m.known else DIM)
        word = ex.text[m.start : m.end]
        if strong and not colored:
            word = f"[{'+' if m.weight > 0 else '-'}{word}]"
        pieces.append((word, style))
    pieces.append((ex.text[done:MOST_CHARACTERS], ""))
    lines, line, used = [], "", 0
    for chunk, length, space in _chunks(pieces, paint):
        if used and used + space + length > width:
            lines.append(line)
            line, used = "", 0
        gap = " " if used and space else ""
        line, used = line + gap + chunk, used + len(gap) + length
    lines.append(line)
    if len(ex.text) > MOST_CHARACTERS:
        note = f"... ({len(ex.text):,} characters in all; to_json() and save(), or --json and -o, give everything)"
        lines += wrap(note, width)
    return lines


def _chunks(pieces: list[tuple[str, str]], paint: Paint) -> Iterator[tuple[str, int, bool]]:
    """What must stay on one line: (painted, columns, whether a blank stands before it), at most LONGEST columns."""
    painted, length, space = "", 0, False
    for text, style in pieces:
        for part in re.split(r"(\s+)", visible(text)):
            blank = part.isspace()
            for begin in range(0, len(part), LONGEST // 2):  # a wide character has two columns
                piece = part[begin : begin + LONGEST // 2]
                if length and (blank or length + _columns(piece) > LONGEST):
                    yield painted, length, space
                    painted, length, space = "", 0, False
                if blank:
                    space = True
                else:
                    painted, length = painted + paint(piece, style), length + _columns(piece)
    if length:
        yield painted, length, space
