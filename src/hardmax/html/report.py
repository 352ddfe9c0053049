"""A report on labeled texts as a page: figures, confusion matrix, reliability diagram, errors, words. No script."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from hardmax.html.page import notebook, page, render
from hardmax.html.sketch import Shape, svg

if TYPE_CHECKING:
    from hardmax.sentiment.report import Report

SIZE, LEFT, TOP = 320, 44, 12  # of the diagram's square, and the room for its axes, in pixels
MOST_CLASSES = 30  # of the confusion matrix
MOST_CHARACTERS = 600  # of an error's text


def save_report(report: "Report", path: Path, title: str = "Report on a text classifier") -> None:
    """Write the page."""
    path.write_text(page(title, [report_section(report, title)]), encoding="utf-8")


def report_part(report: "Report") -> str:
    """The report in a notebook."""
    return notebook(report_section(report, ""))


def report_section(report: "Report", title: str) -> Markup:
    """The report as a part of a page; without a title it has no heading of its own."""
    largest = max(max(row) for row in report.confusion) or 1
    return render(
        "classifier_report.html",
        r=report,
        title=title,
        diagram=reliability_svg(report.reliability),
        largest=largest,
        most_classes=MOST_CLASSES,
        most_characters=MOST_CHARACTERS,
    )


def reliability_svg(bins: list[dict[str, Any]]) -> Markup:
    """Confidence against accuracy: a bar for each bin, a disc at its mean, and the diagonal where the two agree."""
    width, height = LEFT + SIZE + 16, TOP + SIZE + 46

    def at(x: float, y: float) -> tuple[float, float]:
        return round(LEFT + SIZE * x, 1), round(TOP + SIZE * (1 - y), 1)

    def text(x: float, y: float, content: str, anchor: str, **more: Any) -> Shape:
        return "text", {"x": x, "y": y, "text-anchor": anchor, **more}, content

    shapes: list[Shape] = [("rect", {"class": "frame", "x": LEFT, "y": TOP, "width": SIZE, "height": SIZE}, "")]
    for k in range(0, 11, 2):
        x, y = at(k / 10, k / 10)
        shapes += [text(x, TOP + SIZE + 16, f"{k / 10:.1f}", "middle"), text(LEFT - 6, y + 4, f"{k / 10:.1f}", "end")]
    for b in bins:
        x, y = at(b["low"], b["accuracy"])
        title = Markup(
            "<title>{} texts with confidence {:.0%} to {:.0%}: {:.1%} correct, mean confidence {:.1%}</title>"
        )
        said = title.format(f"{b['n']:,}", b["low"], b["high"], b["accuracy"], b["confidence"])
        shapes.append(("rect", {"class": "bin", "x": x + 1, "y": y, "width": SIZE / 10 - 2,
                                "height": round(TOP + SIZE - y, 1)}, said))  # fmt: skip
    (x1, y1), (x2, y2) = at(0, 0), at(1, 1)
    shapes.append(("line", {"class": "ideal", "x1": x1, "y1": y1, "x2": x2, "y2": y2}, ""))
    for b in bins:
        x, y = at(b["confidence"], b["accuracy"])
        shapes.append(("circle", {"class": "mean", "cx": x, "cy": y, "r": 4}, ""))
    middle = TOP + SIZE / 2
    shapes.append(text(LEFT + SIZE / 2, height - 8, "confidence", "middle"))
    shapes.append(text(12, middle, "accuracy", "middle", transform=f"rotate(-90 12 {middle})"))
    told = "; ".join(f"{b['confidence']:.2f} confident, {b['accuracy']:.2f} correct, {b['n']} texts" for b in bins)
    return svg(width, height, f"Reliability diagram. {told}", shapes)
