"""Marks spread contributions over the places of a text."""

import pytest

from hardmax.sentiment.explain import explain
from hardmax.sentiment.highlight import marks, visible
from tiny_models import HOSTILE, three_classes, two_classes


@pytest.mark.parametrize("model", [two_classes(), three_classes()], ids=["2", "3"])
@pytest.mark.parametrize("text", ["dull, dull film: not dull!", *HOSTILE.values()], ids=["plain", *HOSTILE])
def test_marks_add_up_to_the_logit_without_the_bias(model, text):
    ex = explain(model, text)
    assert sum(m.weight for m in marks(ex)) == pytest.approx(ex.logit - ex.bias, abs=1e-9)


def test_occurrences_share_equally():
    # "not dull" adds to its own two words, so take a text without it.
    ex = explain(two_classes(), "dull zxq dull")
    first, unknown, second = marks(ex)
    assert first.weight == second.weight == pytest.approx((ex.logit - ex.bias) / 2)
    assert (unknown.weight, unknown.known, unknown.word) == (0.0, False, "zxq")
    assert first.word == "dull"


def test_visible_keeps_text_and_replaces_commands():
    assert visible("naïve 電影 👩\u200d👧") == "naïve 電影 👩\u200d👧"
    assert visible("a\x00\x1b\x7f\ud800\u202e") == "a␀␛␡\ufffd\ufffd"
    assert visible("a\nb", keep="") == "a␊b"
