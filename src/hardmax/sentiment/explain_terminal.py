"""An explanation in a terminal, laid out by rich: with color, or with signs in place of color."""

import re
from io import StringIO
from math import fsum
from typing import TYPE_CHECKING

from rich.color import Color
from rich.console import Console, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from hardmax.errors import counted
from hardmax.palette import palette
from hardmax.sentiment.highlight import marks, visible

if TYPE_CHECKING:
    from hardmax.sentiment.explain import Explanation

MOST_WORDS = 15
MOST_CHARACTERS = 4000
STRONG = 0.2  # a word is marked from this part of the largest weight on
FOR, AGAINST = (Style(color=Color.from_ansi(palette("terminal")[name] - 30)) for name in ("positive", "negative"))


def terminal_text(ex: "Explanation", color: bool, width: int = 80) -> str:
    """Label and sum, a bar for every word with an opinion, the marked text, and what was ignored."""
    width = max(width, 40)
    count = counted(len(ex.words), "word")
    parts: list[RenderableType] = [
        Text.assemble((_line(ex.label, width - 22), "bold"), f"  probability {ex.probability:.4f}"),
        Text(f"logit {ex.logit:+.4f} = bias {ex.bias:+.4f} + parts of {count}; + favors {_line(ex.toward, 30)}"),
        *([Text(ex.caution)] if ex.caution else []),
        "",
    ]
    if ex.words:
        said = f"effect: how much the log-odds of {_line(ex.label, 30)} drop when the word is deleted"
        parts += [_words(ex, width), Text(said), "", _marked(ex, color)]
        if len(ex.text) > MOST_CHARACTERS:
            every = "to_json() and save(), or --json and -o, give everything"
            parts.append(Text(f"... ({len(ex.text):,} characters in all; {every})"))
    if ex.ignored:
        shown = ", ".join(_line(word, 40) for word in ex.ignored[:40])
        more = f", ... ({len(ex.ignored)} in all)" if len(ex.ignored) > 40 else ""
        parts += ["", Text(f"not known, ignored: {shown}{more}")]
    out = StringIO()
    console = Console(
        file=out, width=width, color_system="standard" if color else None, force_terminal=color, highlight=False,
        markup=False, emoji=False, legacy_windows=False,
        _environ={},  # the caller decides about color and width, not the environment
    )  # fmt: skip
    for part in parts:
        console.print(part, overflow="fold")
    return "".join(line.rstrip() + "\n" for line in out.getvalue().splitlines())


def _line(value: object, most: int) -> str:
    """A short text on one line."""
    text = Text(visible(str(value), ""))
    text.truncate(most, overflow="ellipsis")
    return text.plain


def _words(ex: "Explanation", width: int) -> Table:
    """A table of the words with the largest effects; the parts of all rows add up to logit - bias."""
    shown = ex.largest(MOST_WORDS)
    longest, full = (20, 16) if width >= 60 else (12, 6)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="", expand=True)
    table.add_column("word", no_wrap=True, overflow="ellipsis", min_width=6, max_width=longest)
    table.add_column("effect", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True, width=full)
    table.add_column("part", justify="right", no_wrap=True)
    table.add_column("in the terms", no_wrap=True, overflow="ellipsis", ratio=1)  # takes the rest of the line
    most = max((abs(word.effect or 0.0) for word in shown), default=0.0) or 1.0
    for word in shown:
        effect = word.effect or 0.0
        bar = ("+" if effect > 0 else "-") * round(full * abs(effect) / most)
        style = FOR if (effect > 0) == (ex.label == ex.toward) else AGAINST
        numbers = Text(f"{effect:+.3f}"), Text(bar, style), Text(f"{word.contribution:+.3f}")
        terms = ", ".join(visible(term, "") for term in word.terms[:30])
        table.add_row(Text(visible(word.word, "")), *numbers, Text(terms))
    for what, some in ex.rest(MOST_WORDS):
        part, names = fsum(w.contribution for w in some), ", ".join(visible(w.word, "") for w in some[:30])
        table.add_row(Text(what), Text(""), Text(""), Text(f"{part:+.3f}"), Text(f"{len(some)}: {names}"))
    return table


def _marked(ex: "Explanation", color: bool) -> Text:
    """The text word by word: strong words colored, or in brackets with their sign where there is no color."""
    every = marks(ex, MOST_CHARACTERS)
    most = max((abs(m.weight) for m in every), default=0.0) or 1.0
    shown, done = Text(), 0
    for m in every:
        shown.append(_spaced(ex.text[done : m.start]))
        done, word = m.end, _spaced(ex.text[m.start : m.end])
        if abs(m.weight) < STRONG * most:
            shown.append(word, "" if m.known else "dim")
        elif color:
            shown.append(word, FOR if m.weight > 0 else AGAINST)
        else:
            shown.append(f"[{'+' if m.weight > 0 else '-'}{word}]")
    return shown.append(_spaced(ex.text[done:MOST_CHARACTERS]))


def _spaced(text: str) -> str:
    return re.sub(r"\s+", " ", visible(text))
