"""Terminal text: 80 columns, with and without color, harmless."""

import re

import pytest
from rich.cells import cell_len

from hardmax.palette import palette
from hardmax.sentiment.explain import explain
from tiny_models import HOSTILE, random_model, two_classes

POSITIVE, NEGATIVE = (f"\x1b[{palette('terminal')[name]}m" for name in ("positive", "negative"))
PAINT = re.compile(r"\x1b\[[0-9;]*m")
LONG = "The plot is dull, but the film is not dull at all; great! " * 8


@pytest.mark.parametrize("text", [LONG, *HOSTILE.values()], ids=["long", *HOSTILE])
@pytest.mark.parametrize("width", [80, 60])
def test_no_line_is_wider_than_asked(text, width):
    for color in (False, True):
        shown = explain(two_classes(), text).to_text(color, width)
        for line in PAINT.sub("", shown).split("\n"):
            assert cell_len(line) <= width, line


@pytest.mark.parametrize("name", HOSTILE)
def test_a_text_cannot_command_the_terminal(name):
    shown = explain(two_classes(), HOSTILE[name]).to_text(color=True)
    assert not re.search(r"[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f]", shown)
    assert set(re.findall(r"\x1b[^m]*m", shown)) <= {
        POSITIVE,
        NEGATIVE,
        "\x1b[2m",
        "\x1b[1m",
        "\x1b[0m",
    }
    shown.encode("utf-8")


def test_without_color_signs_say_the_same():
    ex = explain(two_classes(), "A great film, a dull plot")
    plain = ex.to_text(color=False)
    assert "\x1b" not in plain
    assert "[+great]" in plain
    assert "[-dull]" in plain
    assert POSITIVE + "great" in ex.to_text(color=True)


@pytest.mark.parametrize("width", [100, 80, 60, 40])
@pytest.mark.parametrize("color", [False, True])
def test_every_leader_has_its_part_and_share_on_one_line(width, color):
    ex = explain(random_model(terms=200), " ".join(f"w{i}" for i in range(200)))
    lines = PAINT.sub("", ex.to_text(color, width)).split("\n")
    assert max(len(leader.followers) for leader in ex.leaders) > 20
    for leader in ex.largest(15):
        line = next(line for line in lines if line.split()[:2] == [leader.word, f"{leader.contribution:+.3f}"])
        assert f" {leader.share:.0%}  " in line
        assert ("none" if not leader.followers else leader.followers[0][:1]) in line[20:]


@pytest.mark.parametrize("name", ["NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS"])
def test_the_environment_does_not_decide(name, monkeypatch):
    ex = explain(two_classes(), LONG)
    before = [ex.to_text(color, 70) for color in (False, True)]
    monkeypatch.setenv(name, {"TERM": "dumb", "COLUMNS": "50"}.get(name, "1"))
    assert [ex.to_text(color, 70) for color in (False, True)] == before


def test_the_sum_and_all_leaders_are_shown_or_counted():
    ex = explain(random_model(layers=0), " ".join(f"w{i}" for i in range(30)))
    shown = ex.to_text()
    assert f"logit {ex.logit:+.4f} = bias {ex.bias:+.4f} and 30 leaders" in shown
    assert "and 15 smaller leaders" in shown
    assert str(ex) == shown


def test_a_word_of_the_text_is_never_lost():
    shown = PAINT.sub("", explain(two_classes(), LONG).to_text(color=True))
    assert " ".join(shown.split()).count("at all;") == 8
