import re

import pytest

from hardmax.html.page import page
from hardmax.palette import palette, terminal
from hardmax.plot import explanation, style


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


def test_style_sheets_and_terminals_use_the_same_classes():
    assert terminal("positive") == "\x1b[33m"
    shown = page("x", [])
    assert f"--positive: {palette()['positive']}" in shown
    assert f"--positive: {palette('dark')['positive']}" in shown
    assert palette()["positive"] == explanation.FOR
