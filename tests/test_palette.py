"""One palette: every module that draws takes its colors from it, and a class has the same color everywhere."""

import ast
import importlib
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.patches import Polygon
from rich.color import Color
from rich.style import Style

import hardmax
from hardmax.html.page import page
from hardmax.palette import palette
from hardmax.plot import style
from hardmax.sentiment import explain_terminal
from tiny_models import two_classes

SOURCE = Path(hardmax.__file__).parent


def _luminance(color):
    parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def _contrast(a, b):
    low, high = sorted([_luminance(a), _luminance(b)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_both_themes_have_the_same_names_and_colors_that_can_be_read(theme):
    colors = palette(theme)
    assert set(colors) == set(palette("light"))
    listed = [c for v in colors.values() for c in (v if isinstance(v, list) else [v])]
    assert all(re.fullmatch(r"#[0-9a-fA-F]{6}", c) for c in listed)
    assert _contrast(colors["ink"], colors["page"]) >= 7
    for name in ("soft", "accent", "error", "warn", "good"):
        assert _contrast(colors[name], colors["page"]) >= 4.5
    for name in ("negative", "positive", "third", "neutral", "focus"):
        assert _contrast(colors[name], colors["page"]) >= 3


def test_classes_have_the_colors_of_the_design():
    light, dark = palette("light"), palette("dark")
    assert [light[c] for c in ("negative", "positive", "third", "fourth")] == [
        "#0072B2",
        "#D55E00",
        "#009E73",
        "#CC79A7",
    ]
    assert [dark[c] for c in ("negative", "positive")] == ["#56B4E9", "#E69F00"]
    assert len(set(light["clusters"])) == len(light["clusters"]) == len(dark["clusters"])


def test_pictures_take_their_colors_from_the_palette():
    assert list(style.PALETTE) == palette()["clusters"]
    assert (palette()["hull"], palette()["hull-edge"]) == (style.HULL, style.HULL_EDGE)


@cache
def modules_that_draw():
    """Every module of hardmax.plot, and every other one that imports matplotlib, the palette or hardmax.plot."""
    imports = re.compile(r"^ *(import|from) +(matplotlib|hardmax\.(palette|plot)\b)", re.MULTILINE)
    return [p for p in sorted(SOURCE.rglob("*.py")) if p.parent.name == "plot" or imports.search(p.read_text())]


def test_no_module_that_draws_spells_out_the_color_of_a_class():
    drawing = modules_that_draw()
    assert len(drawing) > 15
    classes = {palette(theme)[name].lower() for theme in ("light", "dark") for name in ("negative", "positive")}
    for path in drawing:
        texts = [n.value for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Constant)]
        spelled = {text.lower() for text in texts if isinstance(text, str)} & classes
        assert not spelled, f"{path}: use palette()"


def test_what_speaks_for_a_class_has_the_color_of_the_positive_class_in_every_module():
    seen = 0
    for path in modules_that_draw():
        name = ".".join(["hardmax", *path.relative_to(SOURCE).with_suffix("").parts]).removesuffix(".__init__")
        module = importlib.import_module(name)
        for role, color in (("FOR", "positive"), ("AGAINST", "negative")):
            if hasattr(module, role):
                shade = getattr(module, role)
                in_terminal = name == "hardmax.sentiment.explain_terminal"
                assert shade == (_terminal(color) if in_terminal else palette()[color]), f"{name}.{role}"
                seen += 1
    assert seen >= 4


def _terminal(name):
    return Style(color=Color.from_ansi(palette("terminal")[name] - 30))


def _nearest_class(color):
    """Whether a color or a tint of it is that of the negative or of the positive class: by the direction from white."""
    away = 1 - np.array(to_rgb(color))
    return max(("negative", "positive"), key=lambda name: away @ _unit(1 - np.array(to_rgb(palette()[name]))))


def _unit(x):
    return x / np.linalg.norm(x)


def test_bars_of_leaders_have_the_color_of_the_class_they_speak_for():
    from hardmax.plot.reviews import plot_leader_words

    rows = [{"word": "great", "count": 9, "score": 3.0}, {"word": "dull", "count": 4, "score": -3.0}]
    ax = plot_leader_words({"ours": rows}, (), {"ours": 5}).axes[0]
    assert [to_hex(bar.get_facecolor()).upper() for bar in ax.patches] == [palette()["positive"], palette()["negative"]]


def test_each_side_of_the_decoder_has_a_tint_of_its_class():
    from hardmax.plot.reviews import plot_clouds
    from review_cloud import cloud

    ax = plot_clouds([cloud()]).axes[0]
    sides = [patch for patch in ax.patches if isinstance(patch, Polygon)]
    assert len(sides) == 2
    for patch in sides:
        middle = patch.get_xy()[:4].mean(axis=0)
        side = "positive" if middle @ cloud().v + cloud().b > 0 else "negative"
        assert _nearest_class(patch.get_facecolor()) == side


def test_bars_of_an_explanation_have_the_color_of_the_class_they_speak_for():
    from hardmax.plot.explanation import plot_explanation
    from hardmax.sentiment.explain import explain

    bars = plot_explanation(explain(two_classes(), "great film, dull plot")).axes[0].patches
    assert {np.sign(bar.get_width()) for bar in bars} == {-1.0, 1.0}
    for bar in bars:
        assert to_hex(bar.get_facecolor()).upper() == palette()["positive" if bar.get_width() > 0 else "negative"]


def test_style_sheets_and_terminals_use_the_same_classes():
    assert explain_terminal.FOR.render("x") == "\x1b[33mx\x1b[0m"
    shown = page("x", [])
    assert f"--positive: {palette()['positive']}" in shown
    assert f"--positive: {palette('dark')['positive']}" in shown
