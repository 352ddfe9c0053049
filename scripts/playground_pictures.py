"""Take the pictures of the playground for the manual: docs/images/playground-*.png and a short GIF of a drag.

python scripts/playground_pictures.py [NAME ...]     all pictures, or those whose name contains one of the words

Needs the extra `web`, playwright and a chromium. A state gives the same picture, but for the fonts of the machine.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from math import cos, pi, sin
from pathlib import Path
from typing import Any

from PIL import Image, ImageColor, ImageDraw

IMAGES = Path(__file__).parent.parent / "docs" / "images"
PALETTE = Path(__file__).parent.parent / "src" / "hardmax" / "palette.json"
CHROMIUM = "/usr/bin/chromium"
REVIEW = "The plot is dull and the jokes fall flat, but the acting is great and the last scene is a wonderful surprise."
# name -> the state, the theme, the size of the window, and a text to type into the sentiment screen
PICTURES: dict[str, tuple[str, str, tuple[int, int], str | None]] = {
    "dynamics": ("v=1&n=120&k=4&sel=9", "light", (1280, 860), None),
    "dynamics-dark": ("v=1&n=120&k=4&sel=9", "dark", (1280, 860), None),
    "ties": (
        "v=1&preset=square-ties&k=3&sel=4&show=arrows,hull,leaders,limit,sectors,trails",
        "light",
        (1280, 860),
        None,
    ),
    "space-dark": ("v=1&preset=ring&n=200&d=3&k=3", "dark", (1280, 860), None),
    "many-dark": ("v=1&n=3000&k=2", "dark", (1280, 860), None),
    "beta": ("v=1&view=beta&beta=4&k=6", "light", (1280, 900), None),
    "beta-dark": ("v=1&view=beta&beta=4&k=6", "dark", (1280, 900), None),
    "phone": ("v=1&preset=emerging&k=2", "light", (390, 844), None),
    "tablet": ("v=1&k=10", "light", (820, 1080), None),
    "step": ("v=1&preset=ball&n=40&seed=3&sel=11&show=leaders,limit", "light", (1280, 860), None),
    "figure": ("v=1&figure=2&k=3", "light", (1280, 720), None),
    "figure-phone": ("v=1&figure=1", "light", (390, 844), None),
    "figure-tablet-dark": ("v=1&figure=layers&k=9", "dark", (820, 1080), None),
    "beta-phone": ("v=1&view=beta&beta=4&k=6", "light", (390, 844), None),
    "beta-tablet": ("v=1&view=beta&beta=4&k=6", "light", (820, 1080), None),
    "text": ("v=1&view=text", "light", (1280, 1000), REVIEW),
    "text-dark": ("v=1&view=text", "dark", (1280, 1000), REVIEW),
    "text-turned": ("v=1&view=text&ex=turned", "light", (1280, 1240), None),
    "text-phone": ("v=1&view=text&ex=turned", "light", (390, 1500), None),
    "text-tablet-dark": ("v=1&view=text&ex=turned", "dark", (820, 1500), None),
    "exact": ("v=1&view=exact", "light", (1280, 1000), None),
}
FRAMES, FRAME_MS = 48, 70


@contextmanager
def server() -> Iterator[str]:
    """The playground's address while it runs."""
    words = [sys.executable, "-m", "hardmax", "playground", "--no-browser", "--port", "0", "--json"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"]
    finally:
        process.terminate()
        process.wait()


def open_page(browser: Any, url: str, state: str, theme: str, size: tuple[int, int]) -> Any:
    """A page that stands ready in one state."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme=theme, device_scale_factor=1.5
    )
    page = context.new_page()
    page.goto(f"{url}#{state}")
    page.wait_for_function("() => window.hardmaxApp?.controller && !window.hardmaxApp.frame")
    return page


def few_colors(frames: list[Image.Image], theme: str) -> list[Image.Image]:
    """The pictures with one palette: the page's own colors, then the most frequent ones that differ from those chosen.

    An averaging palette would change the hue of a small mark or of a faint ground.
    """
    counts: Counter[tuple[int, int, int]] = Counter()
    for frame in frames:
        for count, color in frame.getcolors(frame.width * frame.height) or ():
            counts[color] += count  # type: ignore[index]
    own = json.loads(PALETTE.read_text())[theme]
    names = [value for value in own.values() if isinstance(value, str)] + own["clusters"]
    chosen = list(dict.fromkeys(ImageColor.getrgb(name)[:3] for name in names))
    for color, _ in counts.most_common(6000):
        if len(chosen) < 256 and min(sum(abs(a - b) for a, b in zip(color, one, strict=True)) for one in chosen) > 7:
            chosen.append(color)
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for color in chosen for part in color])
    return [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]


def still(browser: Any, url: str, name: str) -> None:
    """One picture of the whole window."""
    state, theme, size, text = PICTURES[name]
    page = open_page(browser, url, state, theme, size)
    if text is not None:
        page.locator(".screen-text textarea").first.fill(text)
        page.wait_for_timeout(4000)
    page.wait_for_timeout(2500)  # the server has checked the certificate by then
    image = Image.open(BytesIO(page.screenshot())).convert("RGB")
    few_colors([image], theme)[0].save(IMAGES / f"playground-{name}.png", optimize=True)
    page.context.close()


def drag(browser: Any, url: str) -> None:
    """A token of the square is led around; leaders, hull and limit follow."""
    context = browser.new_context(viewport={"width": 760, "height": 700}, color_scheme="light")
    page = context.new_page()
    page.goto(f"{url}#v=1&preset=square&hide=controls&show=arrows,hull,leaders,limit,sectors&embed=1")
    page.wait_for_function("() => window.hardmaxApp?.controller && !window.hardmaxApp.frame")
    page.wait_for_timeout(1500)
    place = """() => {
        const { scene, svg } = window.hardmaxApp.controller;
        const box = svg.getBoundingClientRect();
        const [x, y] = scene.view.place(0, 0);
        return { at: [box.left + scene.positions[12], box.top + scene.positions[13]], scale: scene.view.scale,
                 origin: [box.left + x, box.top + y] };
    }"""
    found = page.evaluate(place)
    page.mouse.move(*found["at"])
    page.mouse.down()
    frames = []
    for f in range(FRAMES):
        angle = 2 * pi * f / FRAMES + 0.9
        radius = 1.02 + 0.42 * sin(3 * angle + 0.6)
        x = found["origin"][0] + found["scale"] * radius * 1.15 * cos(angle)
        y = found["origin"][1] - found["scale"] * radius * 0.95 * sin(angle)
        page.mouse.move(x, y)
        page.evaluate("window.hardmaxApp.flush()")
        image = Image.open(BytesIO(page.screenshot())).convert("RGB")
        pen = ImageDraw.Draw(image)
        arrow = [(0, 0), (0, 17), (4, 13), (7, 19), (10, 18), (7, 12), (12, 12)]
        pen.polygon([(x + dx, y + dy) for dx, dy in arrow], fill="#1b1f24", outline="#ffffff")
        frames.append(image.resize((600, round(600 * image.height / image.width)), Image.Resampling.LANCZOS))
    page.mouse.up()
    small = few_colors(frames, "light")
    small[0].save(
        IMAGES / "playground-drag.gif", save_all=True, append_images=small[1:], duration=FRAME_MS, loop=0, optimize=True
    )
    context.close()


def main() -> None:
    """All pictures, or those that were named."""
    from playwright.sync_api import sync_playwright

    wanted = sys.argv[1:]
    chosen = [name for name in (*PICTURES, "drag") if not wanted or any(word in name for word in wanted)]
    path = CHROMIUM if Path(CHROMIUM).exists() else None
    with server() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        for name in chosen:
            if name == "drag":
                drag(browser, url)
            else:
                still(browser, url, name)
            print(f"playground-{name}")
        browser.close()


if __name__ == "__main__":
    main()
