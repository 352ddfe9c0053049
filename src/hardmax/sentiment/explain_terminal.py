"""An explanation in a terminal, laid out by rich: with color, or with signs that say the same."""

import re
from io import StringIO
from math import fsum
from typing import TYPE_CHECKING

from rich.color import Color
from rich.console import Console, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from hardmax.palette import palette
from hardmax.sentiment.highlight import marks, visible

if TYPE_CHECKING:
    from hardmax.sentiment.explain import Explanation

MOST_LEADERS = 15
MOST_CHARACTERS = 4000
STRONG = 0.2  # a word is marked from this part of the largest weight on
FOR, AGAINST = (Style(color=Color.from_ansi(palette("terminal")[name] - 30)) for name in ("positive", "negative"))


def terminal_text(ex: "Explanation", color: bool, width: int = 80) -> str:
    """Label and sum, a bar for every leader, the marked text, and what was ignored."""
    width = max(width, 40)
    count = f" and {len(ex.leaders)} leader{'s' * (len(ex.leaders) != 1)}" if ex.leaders else ""
    toward = f"; + speaks for {_line(ex.toward, 30)}"
    parts: list[RenderableType] = [
        Text.assemble((_line(ex.label, width - 22), "bold"), f"  probability {ex.probability:.4f}"),
        Text(f"logit {ex.logit:+.4f} = bias {ex.bias:+.4f}{count}{toward}"),
        "",
    ]
    if ex.words:
        parts += [*_leaders(ex, width), "", _marked(ex, color)]
        if len(ex.text) > MOST_CHARACTERS:
            every = "to_json() and save(), or --json and -o, give everything"
            parts.append(Text(f"... ({len(ex.text):,} characters in all; {every})"))
    else:
        parts.append(Text("No word of the text is known: this is the probability of the bias alone."))
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


def _leaders(ex: "Explanation", width: int) -> list[RenderableType]:
    """A table of the largest leaders, and what the others add."""
    shown = ex.largest(MOST_LEADERS)
    longest, full = (20, 16) if width >= 60 else (12, 6)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="", expand=True)
    table.add_column("leader", no_wrap=True, overflow="ellipsis", min_width=6, max_width=longest)
    table.add_column("part", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True, width=full)
    table.add_column("share", justify="right", no_wrap=True)
    table.add_column("followers", no_wrap=True, overflow="ellipsis", ratio=1)  # takes the rest of the line
    most = max(abs(leader.contribution) for leader in shown) or 1.0
    for leader in shown:
        part = leader.contribution
        bar = ("+" if part >= 0 else "-") * round(full * abs(part) / most)
        followers = ", ".join(visible(f, "") for f in leader.followers[:30]) or "none"
        numbers = Text(f"{part:+.3f}"), Text(bar, FOR if part >= 0 else AGAINST), Text(f"{leader.share:.0%}")
        table.add_row(Text(visible(leader.word, "")), *numbers, Text(followers))
    if len(shown) == len(ex.leaders):
        return [table]
    total = fsum(x.contribution for x in ex.leaders) - fsum(x.contribution for x in shown)
    return [table, Text(f"and {len(ex.leaders) - len(shown)} smaller leaders: {total:+.3f} together")]


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
