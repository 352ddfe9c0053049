"""The report on a classifier in a browser: nothing for axe to find, and no page that is wider than the screen."""

import pytest

from hardmax.sentiment.estimator import HardmaxClassifier

TEXTS = [f"{word} {noun} number {i}" for i in range(6) for word in ("red", "green", "blue") for noun in ("sky", "sea")]
LABELS = [text.split()[0] for text in TEXTS]


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    clf = HardmaxClassifier(dim=3, layers=1, ngram_range=(1, 1)).fit(TEXTS, LABELS)
    wrong = [label if i % 5 else "blue" for i, label in enumerate(LABELS)]
    report = clf.report(TEXTS, wrong, against=[f"{text} Zorglub" for text in TEXTS[:9]])
    assert report.errors
    return report.save(tmp_path_factory.mktemp("report") / "report.html")


@pytest.mark.slow
def test_axe_finds_nothing_and_it_fits(open_page, violations, page_file):
    page = open_page(url=page_file.as_uri(), ready=False)
    for width in (390, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("svg .bin").count() >= 1
