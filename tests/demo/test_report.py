import re
from html.parser import HTMLParser

import pytest
from PIL import Image

import hardmax as hx
from hardmax.demo.report import write_demo
from hardmax.errors import BadInput
from hardmax.html.result import table, trajectory_page
from hardmax.io.documents import readable

VOID = {"meta", "img", "br", "link", "input", "hr"}


class Outline(HTMLParser):
    """Checks that tags close in order, and collects images, addresses and the cells of tables."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open, self.images, self.addresses, self.rows = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        if tag == "img":
            self.images.append(dict(attrs))
        if tag == "tr":
            self.rows.append([])
        self.addresses += [value for name, value in attrs if name in ("src", "href", "xlink:href")]

    def handle_startendtag(self, tag, attrs):
        self.addresses += [value for name, value in attrs if name in ("src", "href", "xlink:href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1].append(data)


def assert_offline(outline: Outline, text: str) -> None:
    assert all(address.startswith(("data:", "#")) for address in outline.addresses)
    assert "<script" not in text
    assert not re.search(r"url\((?!#)", text)
    assert "@import" not in text


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    steps = []
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    report = write_demo(folder, lambda done, total, what: steps.append((done, total, what)), quick=True)
    return report, steps


def test_the_demo_writes_a_report_that_stands_alone(demo):
    report, _ = demo
    text = report.read_text(encoding="utf-8")
    outline = Outline(text)
    assert_offline(outline, text)
    assert "prefers-color-scheme: dark" in text
    assert len(outline.images) == 10
    assert all(len(image["alt"]) > 20 for image in outline.images)


def test_the_table_of_the_demo_tells_the_truth(demo):
    rows = {row[0]: row for row in Outline(demo[0].read_text(encoding="utf-8")).rows}
    for name in ("triangle", "emerging", "square", "square-ties"):
        eq = hx.limit(hx.preset(name), alpha=0.5)
        row = rows[name]
        assert row[1:3] == [str(len(eq.tokens)), str(len(eq.leaders))]
        assert row[4] == str(eq.layers)
        assert row[6:8] == ["0", "yes"]
    assert rows["emerging"][3] == "0 and 1"


def test_the_demo_writes_its_pictures_beside_the_report(demo):
    folder = demo[0].parent
    names = {path.name for path in folder.iterdir()}
    pictures = {
        f"{name}{end}.png" for name in ("triangle", "emerging", "square", "square-ties") for end in ("", "-limit")
    }
    pictures.add("stages.png")
    assert names == pictures | {"report.html", "emerging.gif", "network"}
    for name in pictures:
        with Image.open(folder / name) as image:
            image.load()
    with Image.open(folder / "emerging.gif") as image:
        assert image.n_frames == 33


def test_the_demo_compiles_an_exact_classifier(demo):
    text = demo[0].read_text(encoding="utf-8")
    assert "<dt>exact on every sequence</dt><dd>yes</dd>" in text
    assert "<dt>largest float64 error</dt><dd>0</dd>" in text
    assert hx.Network.load(demo[0].parent / "network").blocks == 5


def test_progress_counts_up_to_the_end(demo):
    _, steps = demo
    assert [done for done, _, _ in steps] == list(range(len(steps)))
    assert steps[-1][:2] == (8, 8)


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="file"):
        write_demo(tmp_path / "file" / "demo")


@pytest.mark.parametrize("exact", [False, True])
def test_results_are_saved_as_pages_that_stand_alone(tmp_path, exact):
    Z = hx.preset("square-ties", exact=exact)
    alpha = "1/2" if exact else 0.5
    traj, eq = hx.simulate(Z, alpha=alpha, layers=4, exact=exact), hx.limit(Z, alpha=alpha, exact=exact)
    for result, words in ((traj, "follows"), (eq, "decided at layer")):
        text = result.save(tmp_path / "page.html").read_text(encoding="utf-8")
        outline = Outline(text)
        assert all(address.startswith(("data:", "#")) for address in outline.addresses)
        assert not re.search(r"<script[^>]*\bsrc=", text)  # the playground is inside; nothing comes from outside
        assert "default-src &#x27;none&#x27;" in text or "default-src 'none'" in text
        assert words in outline.rows[0]
        assert len(outline.rows) == 11
        assert '<svg role="img" aria-label="10 tokens' in text


def test_text_of_the_caller_is_escaped():
    traj = hx.simulate([[1.0, 0.0], [-1.0, 0.0]], layers=1)
    text = trajectory_page(traj, title="<script>alert(1)</script> & more")
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "&lt;b&gt;" in table("<b>", ["<b>"], [["<b>"]])
    assert "<b>" not in table("<b>", ["<b>"], [["<b>"]])


def test_long_fractions_are_shown_rounded():
    from fractions import Fraction

    assert readable(Fraction(1, 3)) == "1/3"
    assert readable(Fraction(10**30, 3 * 10**30 + 1)) == "0.333333"
    assert readable(0.1 + 0.2) == "0.3"
