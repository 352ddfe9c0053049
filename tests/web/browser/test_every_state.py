"""Every state of the page: axe finds nothing, nothing lies on a figure, and random use raises no error.

The suite takes a part of it. Everything, as `make browser` does: HARDMAX_BROWSER=full.
"""

import os
import random

import pytest

pytestmark = pytest.mark.slow
FULL = os.environ.get("HARDMAX_BROWSER") == "full"
ACTIONS = 2000 if FULL else 80
LOOKS = [390, 820, 1024, 1440]
WIDTHS = [320, 336, 360, 375, 390, 412, 480, 540, 600, 640, 768, 820, 900, 1024, 1112, 1280, 1366, 1440, 1680, 1920]
TEXT = "view=text&ex=halves"
SHOW_ALL = "show=arrows,hull,leaders,limit,sectors,trails"
# name -> the link, and what is done then (JavaScript)
STATES = {
    "dynamics": ("view=dyn&k=3", ""),
    "a token and its table": (f"view=dyn&preset=square-ties&k=2&sel=4&{SHOW_ALL}", "table()"),
    "space": ("view=dyn&preset=cube&k=2", ""),
    "many tokens": ("view=dyn&n=1200&k=1", ""),
    "no tokens": ("view=dyn&pts=AQIAAIA_", ""),
    "bad link": ("view=dyn&alpha=none", ""),
    "figure 1": ("view=dyn&figure=1", ""),
    "figure 2": ("view=dyn&figure=2&k=3", ""),
    "layers": ("view=dyn&figure=layers&k=3", ""),
    "the end": ("view=dyn&k=10&sel=3", ""),
    "a hint": ("view=dyn", "document.querySelectorAll('.starts button')[1].click()"),
    "embedded": ("view=dyn&embed=1&preset=square", ""),
    "hardmax against softmax": ("view=beta&k=5&beta=4", ""),
    "ties under softmax": ("view=beta&preset=square-ties&k=3&sel=4", "table()"),
    "sentiment": ("view=text&ex=letters", "ready('.verdict-label')"),
    "two texts": (f"{TEXT}&text2=A%20great%20film", "ready('.compare table').then(table).then(details)"),
    "what if": (TEXT, "ready('.verdict-label').then(() => document.querySelector('.atom.is-word').click())"),
    "exact": ("view=exact&set=parity", "ready('.thumb').then(table)"),
    "corpus": ("view=corpus", "ready('.review-text').then(table)"),
    "help": ("view=dyn", "app.shell.help()"),
    "share": ("view=dyn", "[...document.querySelectorAll('.menu-place button')][0].click()"),
    "export": ("view=dyn", "[...document.querySelectorAll('.menu-place button')][1].click()"),
    "article": ("view=article", ""),
    "a question": ("lesson=3", "ask(2)"),
    "an answer": ("lesson=4", "ask(3, true)"),
    "words": ("lesson=6", "ask(5, true)"),
}
ABOVE = {"help", "share", "export"}  # lie above the page on purpose
LAYOUTS = [name for name in STATES if name not in ABOVE]
EVERYWHERE = LAYOUTS if FULL else [
    "dynamics", "figure 2", "hardmax against softmax", "two texts", "exact", "corpus", "a question",
]  # fmt: skip
# The state of the link stands, and what the action asked of the server has come, however slow the machine is.
ARRANGE = """async ([link, action]) => {
    const app = window.hardmaxApp;
    const here = (selector) => document.querySelector(`section:not([hidden]) ${selector}`);
    const until = async (test, what = String(test)) => {
        for (const start = performance.now(); !test(); await new Promise((done) => setTimeout(done, 20))) {
            if (performance.now() - start > 120_000) throw new Error(`not within two minutes: ${what}`);
        }
    };
    document.querySelector("dialog[open]")?.close();
    app.shell.closeMenus();
    document.querySelectorAll("[aria-expanded=true][aria-controls^=table]").forEach((one) => one.click());
    app.readAddress(`v=1&${link}`);
    const stands = () => app.shell.sections.get(app.state.view)?.checkVisibility();
    const drawn = () => until(() => app.controller && !app.frame && stands());
    const ready = (selector) => until(() => here(selector)?.offsetParent && !here(".is-busy"), selector);
    const table = () => [...document.querySelectorAll("section:not([hidden]) button")]
        .find((one) => one.textContent === "as a table" && one.checkVisibility()).click();
    const details = () => { here("details").open = true; };
    const ask = async (n, tell = false) => {
        const node = document.querySelectorAll(".ask")[n];
        node.scrollIntoView({ block: "center" });
        await until(() => app.controller.active?.node === node);
        if (tell) node.querySelector(".primary:not([hidden])")?.click();
        if (n === 5) await until(() => app.controller.figure.words.facts());
    };
    await drawn();
    if (action) await eval(action);
    await drawn();
}"""


def arrange(page, name):
    page.evaluate(ARRANGE, list(STATES[name]))


@pytest.mark.parametrize("look", range(len(LOOKS)))
def test_axe_finds_nothing_in_any_state(open_page, violations, look):
    page = open_page("v=1", width=LOOKS[look], height=900, bypass_csp=True)
    found = {}
    for number, name in enumerate(STATES):
        if FULL or number % len(LOOKS) == look:
            arrange(page, name)
            found[name] = violations(page)
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


OVERLAPS = """async () => {
    window.scrollTo(0, window.scrollY);
    for (let i = 0; i < 2; i += 1) await new Promise(requestAnimationFrame);
    const seen = (node) => node.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
    const box = (node) => node.getBoundingClientRect();
    const figures = [...document.querySelectorAll(".cloud, .plane, .strip, .board svg, .token-box")].filter(seen);
    const controls = [...document.querySelectorAll("button, input, select, textarea, summary, a, label")].filter(seen)
        .filter((node) => !node.matches(".ghost, .visually-hidden, .skip") && !node.closest(".menu, dialog"));
    const bad = [];
    for (const figure of figures) {
        const f = box(figure);
        if (f.width === 0) continue;
        for (const control of controls) {
            if (figure.contains(control)) continue;
            const c = box(control);
            const across = Math.min(f.right, c.right) - Math.max(f.left, c.left);
            const along = Math.min(f.bottom, c.bottom) - Math.max(f.top, c.top);
            if (!(c.width > 0 && across > 1 && along > 1)) continue;
            // What has scrolled away below the pinned figure of the article, or its ghost, does not cover it.
            const [x, y] = [Math.max(f.left, c.left) + across / 2, Math.max(f.top, c.top) + along / 2];
            const top = document.elementFromPoint(x, y);
            const name = control.textContent || control.id || control.className;
            const below = top && (figure.contains(top) || top.closest(".ghost"));
            if (!below) bad.push(`${name} on ${figure.getAttribute("class")}`);
        }
    }
    const wide = document.documentElement.scrollWidth - window.innerWidth;
    if (wide > 0) bad.push(`${wide} pixels too wide`);
    return bad;
}"""


def test_no_control_lies_on_a_figure_and_no_page_is_too_wide(open_page):
    page = open_page("v=1", width=1280, height=860, bypass_csp=True)
    found = []
    for name in LAYOUTS:
        page.set_viewport_size({"width": 1280, "height": 860})
        arrange(page, name)
        for width in WIDTHS if name in EVERYWHERE else (320, 390):
            page.set_viewport_size({"width": width, "height": 860})
            found += [f"{name} at {width}: {bad}" for bad in page.evaluate(OVERLAPS)]
    assert found == []


KEYS = [
    " ", "ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "Shift+ArrowRight", "Home", "End", "1", "2", "3", "4", "6",
    "l", "t", "a", "h", "m", "n", "Delete", "Enter", "Escape", "?", "Tab", "Shift+Tab", "Control+z", "Control+y",
    "PageDown",
]  # fmt: skip
PICK = """(at) => {
    const dialog = document.querySelector("dialog[open]");
    const controls = "button, a[href], select, summary, input:not([type=file]), textarea";
    const all = [...(dialog ?? document).querySelectorAll(controls)]
        .filter((node) => node.checkVisibility() && !node.disabled && node.getBoundingClientRect().width > 1);
    if (all.length === 0) return null;
    const node = all[Math.floor(at * all.length)];
    node.scrollIntoView({ block: "nearest" });
    const box = node.getBoundingClientRect();
    const typed = node.matches("textarea, input:not([type=range], [type=checkbox], [type=radio])");
    const options = [...(node.options ?? [])].filter((one) => !one.disabled).map((one) => one.value);
    window.hardmaxPicked = node;
    return {
        kind: typed ? "type" : node.tagName, options, name: node.textContent.slice(0, 30) || node.id,
        x: box.left + box.width / 2, y: box.top + box.height / 2,
    };
}"""
SELECT = """(value) => {
    window.hardmaxPicked.value = value;
    window.hardmaxPicked.dispatchEvent(new Event("change", { bubbles: true }));
}"""
TYPED = ["", "0", "-1", "2.5", "abc", "1e9", "7", "60", "great film \U0001f600 <b>", "2,-1;-1,2", "999999", "\u202e"]
LINKS = [link for link, _ in STATES.values()] + ["n=2&K=0", "n=1", "preset=grid&k=20", "A=rot:30,2,0.5", "d=3&n=40&k=3"]


def act(page, chance):
    """One random action; what it was."""
    kind = chance.choices(["click", "key", "drag", "link", "size", "scroll", "back"], [10, 8, 4, 1, 1, 2, 0.5])[0]
    if kind == "click":
        found = page.evaluate(PICK, chance.random())
        if found is None:
            return "nothing to click"
        if found["kind"] == "SELECT" and found["options"]:
            page.evaluate(SELECT, chance.choice(found["options"]))
        else:
            page.mouse.click(found["x"], found["y"])
            if found["kind"] == "type":
                page.keyboard.press("Control+a")
                page.keyboard.insert_text(chance.choice(TYPED) or " ")
        return f"{found['kind']} {found['name']!r}"
    size = page.viewport_size
    somewhere = (chance.uniform(0, size["width"]), chance.uniform(0, size["height"]))
    if kind == "key":
        key = chance.choice(KEYS)
        page.keyboard.press(key)
        return f"key {key!r}"
    if kind == "drag":
        page.mouse.move(*somewhere)
        page.mouse.down()
        page.mouse.move(chance.uniform(0, size["width"]), chance.uniform(0, size["height"]), steps=3)
        page.mouse.up()
        if chance.random() < 0.2:
            page.mouse.dblclick(*somewhere)
    elif kind == "link":
        page.evaluate("(hash) => { location.hash = hash; }", f"v=1&{chance.choice(LINKS)}")
    elif kind == "size":
        page.set_viewport_size({"width": chance.choice(WIDTHS), "height": chance.choice([560, 760, 900])})
    elif kind == "scroll":
        page.mouse.wheel(0, chance.uniform(-900, 900))
    else:
        link = f"v=1&{chance.choice(LINKS)}"
        page.evaluate("(hash) => { location.hash = hash; setTimeout(() => history.back(), 40); }", link)
    return f"{kind} {somewhere}"


@pytest.mark.parametrize("seed", range(5) if FULL else [0])
def test_random_use_raises_no_error(open_page, seed):
    chance = random.Random(seed)
    page = open_page("v=1&n=30", fresh=True)
    page.set_default_timeout(60_000)
    page.on("dialog", lambda dialog: dialog.dismiss())
    page.watch.forgiven += [
        "status of 408",
        "status of 429",
        "status of 503",
    ]  # a slow machine has many computations waiting
    done = []
    for _ in range(ACTIONS // (5 if FULL else 1)):
        done.append(act(page, chance))
        assert page.watch.left == [], done[-12:]
        if not page.url.startswith("http://127.0.0.1"):
            pytest.fail(f"left the page: {done[-5:]}")
        if page.evaluate("location.hash") == "":
            page.evaluate("location.hash = 'v=1'")
    page.wait_for_function("() => window.hardmaxApp && !window.hardmaxApp.frame")
    page.wait_for_timeout(500)
