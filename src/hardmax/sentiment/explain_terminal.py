"""An explanation in a terminal: 80 columns, with colour or without."""

from textwrap import wrap
from typing import TYPE_CHECKING

from hardmax.sentiment.marks import marks, visible

if TYPE_CHECKING:
    from hardmax.sentiment.explain import Explanation

MOST_LEADERS = 15
MOST_CHARACTERS = 4000
STRONG = 0.1  # part of the largest weight from which on a word is marked
FOR, AGAINST, DIM, BOLD, PLAIN = "\x1b[32m", "\x1b[31m", "\x1b[2m", "\x1b[1m", "\x1b[0m"


def terminal_text(ex: "Explanation", colour: bool, width: int = 80) -> str:
    """Label and sum, a bar for every leader, the marked text, and what was ignored."""
    width = max(width, 40)
    paint = _paint if colour else (lambda text, style: text)
    lines = [
        paint(f"{visible(str(ex.label), '')}", BOLD) + f"  probability {ex.probability:.4f}",
        f"logit {ex.logit:+.4f} = bias {ex.bias:+.4f}"
        + (f" and {len(ex.leaders)} leader{'s' * (len(ex.leaders) != 1)}" if ex.leaders else "")
        + f"; + speaks for {visible(str(ex.toward), '')}",
    ]
    if not ex.words:
        lines += ["", "No word of the text is known: this is the probability of the bias alone."]
    else:
        lines += ["", *_table(ex, paint, width), "", *_marked(ex, paint, width)]
    if ex.ignored:
        shown = ", ".join(visible(w, "")[:40] for w in ex.ignored[:40])
        more = f", ... ({len(ex.ignored)} in all)" if len(ex.ignored) > 40 else ""
        lines += ["", *wrap(f"not known, ignored: {shown}{more}", width, subsequent_indent="  ")]
    return "\n".join(lines) + "\n"


def _paint(text: str, style: str) -> str:
    return f"{style}{text}{PLAIN}" if text else text


def _table(ex: "Explanation", paint, width: int) -> list[str]:  # type: ignore[no-untyped-def]
    shown = ex.leaders[:MOST_LEADERS]
    name = min(20, max(6, *(len(visible(leader["word"], "")) for leader in shown)))
    bar = 16
    most = max(abs(leader["contribution"]) for leader in shown) or 1.0
    room = width - name - bar - 20
    lines = [f"{'leader':<{name}}  {'part':>7}  {'':<{bar}}  share  followers"]
    for leader in shown:
        part = leader["contribution"]
        full = round(bar * abs(part) / most)
        block = ("+" if part >= 0 else "-") * full
        if len(leader["followers"]):
            followers = ", ".join(visible(f, "") for f in leader["followers"][:30])
        else:
            followers = "none"
        lines.append(
            f"{_cut(visible(leader['word'], ''), name):<{name}}  {part:>+7.3f}  "
            + paint(f"{block:<{bar}}", FOR if part >= 0 else AGAINST)
            + f"  {leader['share']:>4.0%}  {_cut(followers, room)}"
        )
    rest = ex.leaders[MOST_LEADERS:]
    if rest:
        lines.append(f"and {len(rest)} smaller leaders: {sum(leader['contribution'] for leader in rest):+.3f} together")
    return lines


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: max(room - 3, 0)] + "..."


def _marked(ex: "Explanation", paint, width: int) -> list[str]:  # type: ignore[no-untyped-def]
    """The text word by word: strong words coloured, or in brackets with their sign where there is no colour."""
    every = [m for m in marks(ex) if m.end <= MOST_CHARACTERS]
    if not every:
        return []
    most = max(abs(m.weight) for m in every) or 1.0
    coloured = paint("x", FOR) != "x"
    pieces: list[tuple[str, str]] = []  # what is shown, its style; blanks are where a line may end
    done = 0
    for m in every:
        pieces.append((ex.text[done : m.start], ""))
        done = m.end
        strong = abs(m.weight) >= STRONG * most
        style = (FOR if m.weight > 0 else AGAINST) if strong else ("" if m.known else DIM)
        word = ex.text[m.start : m.end]
        if strong and not coloured:
            word = f"[{'+' if m.weight > 0 else '-'}{word}]"
        pieces.append((word, style))
    rest = ex.text[done:MOST_CHARACTERS]
    pieces.append((rest, ""))
    lines, line, used, blank = [], "", 0, False
    for chunk, length, space in _chunks(pieces, paint):
        if used and used + (blank or space) + length > width:
            lines.append(line)
            line, used = "", 0
        elif used and space:
            line, used = line + " ", used + 1
        line, used = line + chunk, used + length
        blank = False
    lines.append(line)
    if len(ex.text) > MOST_CHARACTERS:
        lines.append(f"... ({len(ex.text):,} characters in all; --json or -o FILE gives everything)")
    return lines


def _chunks(pieces, paint):  # type: ignore[no-untyped-def]
    """(painted chunk, its length, whether a blank stands before it), no chunk longer than 60 characters."""
    painted, length, space = "", 0, False
    for text, style in pieces:
        parts = visible(text).split()
        if text[:1].isspace() and length:
            yield painted, length, space
            painted, length, space = "", 0, True
        elif text[:1].isspace():
            space = True
        for k, part in enumerate(parts):
            if k and length:
                yield painted, length, space
                painted, length, space = "", 0, True
            for begin in range(0, len(part), 60):
                piece = part[begin : begin + 60]
                if length + len(piece) > 60:
                    yield painted, length, space
                    painted, length, space = "", 0, False
                painted, length = painted + (paint(piece, style) if style else piece), length + len(piece)
        if parts and text[-1:].isspace():
            yield painted, length, space
            painted, length, space = "", 0, True
    if length:
        yield painted, length, space
