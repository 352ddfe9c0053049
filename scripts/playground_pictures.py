"""Take the pictures of the playground for the manual: docs/images/playground-*.png and a short GIF of a drag.

python scripts/playground_pictures.py [NAME ...]     all pictures, or those whose name contains one of the words

Needs the extra `web`, playwright and a chromium. A state gives the same picture, but for the fonts of the machine.
"""

import json
import os
import subprocess
import sys
import tempfile
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
ASK = "document.querySelectorAll('.ask')[2].scrollIntoView({ block: 'center' })"
REVEAL = "document.querySelectorAll('.ask .primary')[2].click()"
# Every screen: its state, and what is done then (JavaScript).
SCREENS = {
    "dynamics": ("v=1&n=120&k=4&sel=9", ""),
    "figure": ("v=1&figure=2&k=3", ""),
    "beta": ("v=1&view=beta&beta=4&k=6", ""),
    "text": ("v=1&view=text&ex=turned", ""),
    "exact": ("v=1&view=exact", ""),
    "corpus": ("v=1&view=corpus&wrong=0", ""),
    "article": ("v=1&lesson=3", ASK),
}
# Each at three sizes: what its name ends in, the window, the theme.
SIZES = {"": ((1280, 860), "light"), "-tablet": ((820, 1080), "dark"), "-phone": ((390, 844), "light")}
# name -> the state, what is done then, the window, the theme
PICTURES = {
    screen + ending: (*shown, size, theme)
    for screen, shown in SCREENS.items()
    for ending, (size, theme) in SIZES.items()
} | {
    "ties": ("v=1&preset=square-ties&k=3&sel=4&show=arrows,hull,leaders,limit,sectors", "", (1280, 860), "light"),
    "space-dark": ("v=1&preset=ring&n=200&d=3&k=3", "", (1280, 860), "dark"),
    "step": ("v=1&preset=ball&n=40&seed=3&sel=11&show=leaders,limit", "", (1280, 860), "light"),
    "answer": ("v=1&lesson=3", f"{ASK}; {REVEAL}", (1280, 860), "light"),
}
FRAMES, FRAME_MS = 48, 70


# Labeled texts for the corpus screen, written for it; two are labeled against their words.
TEXTS = [
    ("A wonderful film with great music and a clever plot. I loved every minute.", 1),
    ("Boring, far too long and a waste of a good cast.", 0),
    ("The jokes fall flat and the ending is awful.", 0),
    ("Funny, moving and perfectly acted: one of the best films of the year.", 1),
    ("A terrible mess that I would watch again tomorrow.", 1),
    ("Great pictures, excellent sound, and nothing to say.", 0),
    ("The first half is dull, but the last scene is a brilliant surprise.", 1),
    ("The worst script in years, poorly directed and predictable.", 0),
    ("A small, honest and charming story.", 1),
    ("I was disappointed: weak characters and no tension at all.", 0),
]


@contextmanager
def server() -> Iterator[str]:
    """The playground's address while it runs."""
    data = Path(tempfile.mkdtemp()) / "reviews.jsonl"
    data.write_text("".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in TEXTS))
    words = [
        sys.executable,
        "-m",
        "hardmax",
        "playground",
        "--no-browser",
        "--port",
        "0",
        "--json",
        "--data",
        str(data),
    ]
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
        viewport={"width": size[0], "height": size[1]},
        color_scheme=theme,
        device_scale_factor=1,
        reduced_motion="reduce",
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


def complete(state: str) -> str:
    """What holds when the server has answered all that a state asks for (JavaScript)."""
    view = state.partition("view=")[2].partition("&")[0] or ("article" if "lesson=" in state else "dyn")
    shown = {"text": ".verdict-label", "exact": ".thumb", "corpus": ".review-text", "dyn": "[data-certificate=good]"}
    return f"document.querySelector('{shown[view]}')" if view in shown else "true"


def still(browser: Any, url: str, name: str) -> None:
    """One picture of the whole window."""
    state, action, size, theme = PICTURES[name]
    page = open_page(browser, url, state, theme, size)
    page.wait_for_function(
        f"() => !document.querySelector('[data-id=compiling]') && ({complete(state)})", timeout=300_000
    )
    if action:
        page.evaluate(f"() => {{ {action}; }}")
    page.wait_for_timeout(1000)
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
