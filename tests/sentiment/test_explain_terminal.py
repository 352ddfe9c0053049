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
def test_every_named_word_has_its_effect_and_part_on_one_line(width, color):
    ex = explain(random_model(terms=200, layers=0), " ".join(f"w{i}" for i in range(200)))
    lines = [line.split() for line in PAINT.sub("", ex.to_text(color, width)).split("\n")]
    named = ex.largest(15)
    assert len(named) == 15
    for word in named:
        line = next(line for line in lines if line[:2] == [word.word, f"{word.effect:+.3f}"])
        assert f"{word.contribution:+.3f}" in line


@pytest.mark.parametrize("name", ["NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS"])
def test_the_environment_does_not_decide(name, monkeypatch):
    ex = explain(two_classes(), LONG)
    before = [ex.to_text(color, 70) for color in (False, True)]
    monkeypatch.setenv(name, {"TERM": "dumb", "COLUMNS": "50"}.get(name, "1"))
    assert [ex.to_text(color, 70) for color in (False, True)] == before


def test_the_parts_that_are_shown_add_up_to_the_logit():
    ex = explain(random_model(layers=0), " ".join(f"w{i}" for i in range(30)))
    shown = ex.to_text()
    assert f"logit {ex.logit:+.4f} = bias {ex.bias:+.4f} + parts of 30 words" in shown
    table = shown.split("\n\n")[1].split("\n")[1:-1]
    parts = [re.findall(r"[+-]\d+\.\d{3}(?=\s)", line + " ")[-1] for line in table]
    assert len(table) == 17
    assert ex.bias + sum(map(float, parts)) == pytest.approx(ex.logit, abs=0.01)
    assert [line.split()[:2] for line in table[-2:]] == [["more", "words"], ["neutral", "words"]]
    assert str(ex) == shown


def test_neutral_words_are_one_line_and_never_first():
    shown = explain(two_classes(layers=0), "the film plot great").to_text()
    lines = shown.split("\n")
    first = next(i for i, line in enumerate(lines) if line.startswith("word ")) + 1
    assert lines[first].startswith("great")
    assert sum(line.startswith("neutral words") for line in lines) <= 1


def test_a_word_of_the_text_is_never_lost():
    shown = PAINT.sub("", explain(two_classes(), LONG).to_text(color=True))
    assert " ".join(shown.split()).count("at all;") == 8
