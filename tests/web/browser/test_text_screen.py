"""The Sentiment screen in a real browser: marked text, leaders, what-if, compare, odd texts, every state."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest

import hardmax as hx
from hardmax.sentiment.explain import explain
from hardmax.web.static_site import write_site
from tiny_models import two_classes

MIXED = "This was not a good movie. The plot is boring and the ending is a waste of time, but the music was great."
HOSTILE = (
    "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'> great &lt;b&gt; "
    "\u202eevil\u202c \u0639\u0631\u0628\u064a \u05e2\u05d1\u05e8\u05d9\u05ea "
    "\U0001f469\u200d\U0001f467 dull \x00\x1b[2J end"
)


@pytest.fixture(scope="module")
def model():
    return hx.load("imdb")


def loud(leaders):
    """Leaders with a row of their own: those that say something beside the loudest one."""
    most = max(abs(leader.contribution) for leader in leaders)
    return [leader for leader in leaders if abs(leader.contribution) >= 0.1 * most]


def number(text):
    return float(text.replace("\u2212", "-"))


def ready(page, count=1):
    """Wait until so many readings are shown."""
    page.locator(".reading-body:visible .verdict-label").nth(count - 1).wait_for()
    page.wait_for_function("() => !document.querySelector('.reading.is-busy')")
    return page


def write(page, text):
    """Put a text into the field, and wait for its reading."""
    with page.expect_response("**/api/explain"):
        page.get_by_label("Text", exact=True).fill(text)
    return ready(page)


def word(page, text, panel=0):
    return page.locator(".reading").nth(panel).locator(".atom.is-word .word").get_by_text(text, exact=True).first


def test_leaders_marks_and_cloud_are_those_of_python_and_add_up_to_the_logit(open_page, model):
    page = ready(open_page("v=1&view=text"))
    ex = model.explain(MIXED)
    names = page.locator(".leaders tbody .leader-name bdi").all_inner_texts()
    assert names == [leader.word for leader in loud(ex.leaders)]
    parts = [number(text) for text in page.locator(".leaders tbody .part .num").all_inner_texts()]
    assert parts == pytest.approx([leader.contribution for leader in loud(ex.leaders)], abs=5.1e-4)
    parts += [number(text) for text in page.locator(".leaders .quiet td").all_inner_texts()]
    bias, logit = (number(text) for text in page.locator(".leaders tfoot td").all_inner_texts())
    assert logit == pytest.approx(ex.logit, abs=5.1e-4)
    assert bias + sum(parts) == pytest.approx(logit, abs=1e-3 * (len(parts) + 2))
    assert str(ex.label) in page.locator(".verdict-label").inner_text()
    # every leader has a mark of its own, in the list and in the cloud
    marks = page.locator(".leaders .leader-number").all_inner_texts()
    assert len(set(marks)) == len(marks) > 3
    shown = [name for name in page.locator(".plane .point-name.is-leader").all_text_contents() if name]
    assert len(shown) > 3
    assert set(shown) <= {f"{i} {leader.word}" for i, leader in enumerate(ex.leaders, 1)}
    # a star for each leader, a point for each term, and the half-planes of the decoder
    assert page.locator(".plane .point.is-leader").count() == len(ex.leaders)
    assert page.locator(".plane .half").count() == 2
    assert page.locator(".plane .half-name").all_text_contents() == ["positive \u2192", "\u2190 negative"]
    assert page.locator(".plane .point").count() == len(ex.terms)
    page.locator(".words-figure").get_by_role("button", name="as a table").click()
    assert page.locator(".words-figure .twin tbody tr").count() == len(ex.terms)
    # choosing a leader lights its words
    most = max(ex.leaders, key=lambda leader: len(leader.followers))
    page.locator(f".plane .point[aria-label^='{most.word}, leader']").press("Enter")
    lit = page.locator(".reading .atom.is-word.is-lit .word").all_inner_texts()
    assert {word.lower() for word in lit} >= {word for word in most.followers if " " not in word}
    assert page.locator(".point.is-lit").count() == 1 + len(most.followers) > 1
    assert "logit = b" in page.locator(".formula").inner_text()


def test_words_that_decide_are_underlined_and_carry_the_number_of_their_leader_and_the_others_are_folded(
    open_page, model
):
    page = ready(open_page("v=1&view=text"))
    ex = model.explain(MIXED)
    rank = {leader.word: i for i, leader in enumerate(ex.leaders)}
    found = page.evaluate(
        """() => [...document.querySelectorAll(".reading .atom.is-word")].map((atom) => {
            const word = atom.querySelector(".word"), line = getComputedStyle(word);
            return {
                word: word.textContent, mark: word.dataset.mark ?? null, leads: atom.classList.contains("is-leader"),
                line: line.textDecorationLine === "underline" ? line.textDecorationStyle : null,
            };
        })"""
    )
    assert [one["word"] for one in found] == re.findall(r"\w+", MIXED)
    decide = {word.word for word in ex.words if not word.neutral}
    for one, place in zip(found, re.finditer(r"\w+", MIXED), strict=True):
        assert one["line"] == ("solid" if one["word"].lower() in decide else None), one
        if one["mark"] is not None:
            here = [t for t in ex.terms if any(a <= place.start() and place.end() <= b for a, b in t.places)]
            marking = max(here, key=lambda term: abs(term.contribution))
            assert int(one["mark"]) == rank[marking.leader] + 1
            assert one["leads"] == (marking.leader == marking.term)
    assert {one["word"].lower() for one in found if one["line"]} == decide
    assert sum(one["mark"] is not None for one in found) > 3
    neutral = [word.word for word in ex.words if word.neutral]
    line = page.locator(".ranked .folded").last
    assert line.locator("summary").inner_text() == f"{len(neutral)} neutral words"
    assert line.locator("bdi").is_hidden()
    line.locator("summary").click()
    assert sorted(line.locator("bdi").inner_text().split(", ")) == sorted(neutral)
    # how far the probability can be trusted
    assert "calibrated probability" in page.locator(".verdict-label").inner_text()
    row = next(row for row in model.model_.calibration if row["words"] == 20)
    said = f"first 20 words the model says {100 * row['probability']:.0f} % on average"
    assert said in page.locator(".verdict-note").inner_text()


@pytest.mark.parametrize("name", ["imdb", "imdb-words"])
def test_there_is_an_example_whose_verdict_attention_turns(open_page, name):
    page = ready(open_page(f"v=1&view=text&ex=turned&model={name}"))
    ex = hx.load(name).explain(page.get_by_label("Text", exact=True).input_value())
    v, n0 = ex.study.parameters.scores[0], ex.study.parameters.neutral
    without = float(ex.bias + (ex.flow.states[0] @ v).sum() / (len(ex.terms) + n0))
    assert ex.label == "negative"
    assert without > 0.1
    assert ex.logit < -0.1
    said = page.locator(".logit-sentence").first.inner_text()
    odds = 100 / (1 + np.exp(-without))
    assert said.startswith(f"Attention turns the verdict. Without it: positive, probability {odds:.1f} %")
    assert page.locator(".logit-end").all_text_contents() == [
        f"with {ex.logit:+.2f}".replace("-", "\u2212"), f"without {without:+.2f}"]  # fmt: skip
    page.locator(".logit-figure").first.get_by_role("button", name="as a table").click()
    rows = page.locator(".logit-figure tbody tr").all_inner_texts()
    expected = ex.bias + (ex.flow.states @ v).sum(axis=1) / (len(ex.terms) + n0)
    assert [float(row.split("\t")[1]) for row in rows] == pytest.approx(expected.tolist(), abs=1e-9)


def test_a_click_on_the_logits_shows_that_layer(open_page):
    page = ready(open_page("v=1&view=text&ex=turned"))
    box = page.locator(".logit-chart").first.bounding_box()
    page.mouse.click(box["x"] + 22, box["y"] + 60)
    page.wait_for_function("() => window.hardmaxApp.state.layer === 0")
    assert "after layer 0 of 8 the logit would be" in page.locator(".verdict-logit").first.inner_text()


def test_dropping_a_word_shows_both_results(open_page, model):
    page = ready(open_page("v=1&view=text&ex=halves"))
    word(page, "awful").click()
    page.get_by_role("button", name="Drop it").click()
    ready(page, 2)
    ex = model.explain(page.get_by_label("Text", exact=True).input_value())
    other = ex.without("awful")
    rows = page.locator(".compare tbody").first.locator("tr").all_inner_texts()
    for row, one in zip(rows, (ex, other), strict=True):
        assert str(one.label) in row
        assert f"{one.logit:+.3f}".replace("-", "\u2212") in row
    assert page.locator(".reading:visible .marked").count() == 2
    assert page.get_by_label("Second text", exact=True).input_value() == other.text
    assert page.locator(".compare h2").inner_text().startswith("What if: without \u201cawful\u201d")


def test_replacing_a_word_by_another_and_then_a_second_one(open_page, model):
    page = ready(open_page("v=1&view=text&ex=halves"))
    word(page, "awful").click()
    page.get_by_label("or put").fill("superb")
    page.get_by_role("button", name="in its place").click()
    ready(page, 2)
    word(page, "brilliant", 1).click()
    with page.expect_response("**/api/explain"):
        page.get_by_role("button", name="Drop it").click()
    ready(page, 2)
    text = page.get_by_label("Second text", exact=True).input_value()
    first = model.explain(page.get_by_label("Text", exact=True).input_value())
    assert text == first.replace("awful", "superb").without("brilliant").text
    page.get_by_text(f"logit {model.explain(text).logit:+.3f}".replace("-", "\u2212")).wait_for()
    assert "superb\u201d for \u201cawful\u201d, without" in page.locator(".reading h2").nth(1).inner_text()
    page.get_by_role("button", name="Close the second text").click()
    assert page.locator(".reading:visible").count() == 1


def test_a_word_that_stands_twice_can_be_dropped_here_or_everywhere(open_page):
    page = ready(open_page("v=1&view=text"))
    write(page, "dull plot, dull film")
    word(page, "dull").click()
    page.get_by_label("all 2 places").uncheck()
    page.get_by_role("button", name="Drop it").click()
    ready(page, 2)
    assert page.get_by_label("Second text", exact=True).input_value() == " plot, dull film"


@pytest.mark.slow
def test_scrubbing_and_playing_the_layers_moves_the_words_and_the_sum(open_page, model):
    page = ready(open_page("v=1&view=text&layer=0"))
    ex = model.explain(MIXED)
    v, b = ex.study.parameters.scores[0], ex.bias
    for layer in (0, 1):
        n0 = ex.study.parameters.neutral
        expected = float(b + (ex.flow.states[layer] @ v).sum() / (len(ex.terms) + n0))
        assert number(page.locator(".leaders .total td").inner_text()) == pytest.approx(expected, abs=5.1e-4)
        assert f"layer {layer} of 8" in page.locator(".scrub-text").first.inner_text()
        page.get_by_role("button", name="One layer forward").click()
    assert page.evaluate("window.hardmaxApp.state.layer") == 2
    page.evaluate("window.hardmaxApp.set({ layer: 6 })")
    page.locator(".scrub-text", has_text="layer 6 of 8").first.wait_for()
    page.locator(".screen-text").focus()
    page.keyboard.press("Space")
    assert page.get_by_role("button", name="Pause").count() == 1
    page.locator(".scrub-text", has_text="layer 8 of 8").first.wait_for()
    page.get_by_role("button", name="Play", exact=True).wait_for()


def test_a_hostile_or_long_text_is_shown_as_text(open_page):
    page = ready(open_page("v=1&view=text"))
    shown = "(text) => document.querySelector('.marked').textContent === text"
    for text in (HOSTILE, ("great " + "x" * 4000 + " dull<br>\n") * 4):
        write(page, text)
        expected = text.replace("\x00", "\u2400").replace("\x1b", "\u241b").replace("\u202e", "\ufffd")
        page.wait_for_function(shown, arg=expected.replace("\u202c", "\ufffd"))
        assert page.evaluate("window.hacked") is None
        assert page.locator(".marked script, .marked img, .marked b").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.evaluate(  # half a character cannot be typed by the driver: the page makes it
        """() => {
            const area = document.querySelector(".text-controls textarea");
            area.value = "great \\ud800 film \\udfff";
            area.dispatchEvent(new Event("input"));
        }"""
    )
    page.wait_for_function(shown, arg="great \ufffd film \ufffd")
    text = " ".join(f"good{i % 7} plot {i} was dull" for i in range(2000))[:20_000]
    write(page, text)
    page.wait_for_function(shown, arg=text)
    page.get_by_text("20,000 of 20,000 characters").wait_for()


def test_an_empty_text_asks_for_one_and_one_without_a_known_word_says_so(open_page):
    page = ready(open_page("v=1&view=text&ex=unknown"))
    assert "No word of the text is known" in page.locator(".reading-note").first.inner_text()
    assert page.locator(".unknown").first.inner_text() == "Not known, ignored: zxqwv, bnmpl, qqrrtt"
    assert page.locator(".leaders tbody tr").count() == 0
    page.get_by_label("Text", exact=True).fill("  ")
    page.get_by_text("Write or choose a text above").wait_for()
    assert page.locator(".reading-body:visible").count() == 0


def test_loading_is_said_after_a_while_and_the_last_reading_stays(open_page):
    page = ready(open_page("v=1&view=text"))
    held = []
    page.route("**/api/explain", lambda route: held.append(route))
    page.get_by_label("Text", exact=True).fill("great film")
    page.get_by_text("Reading the text").wait_for()
    assert page.locator(".reading").first.get_attribute("aria-busy") == "true"
    assert page.locator(".marked").first.evaluate("(node) => node.textContent") == MIXED
    held[0].continue_()
    page.get_by_text("Reading the text").wait_for(state="hidden")
    assert page.locator(".marked").first.evaluate("(node) => node.textContent") == "great film"


def test_without_a_model_the_page_says_why(open_page):
    page = open_page(ready=False)
    nothing = json.dumps({"schema": "hardmax.models/1", "models": [], "reason": "no model is installed"})
    page.route("**/api/models", lambda route: route.fulfill(body=nothing, content_type="application/json"))
    page.goto(page.url.split("#")[0] + "#v=1&view=text")
    page.locator(".banner", has_text="No model: no model is installed").wait_for()
    assert page.get_by_label("Model").is_disabled()


def test_a_link_to_a_model_that_is_not_there_is_answered_by_another(open_page):
    page = ready(open_page("v=1&view=text&model=nowhere"))
    assert (
        "no model \u201cnowhere\u201d; using imdb instead"
        in page.locator(".banner:not([data-id=compiling])").inner_text()
    )


def test_another_model_gives_other_leaders(open_page):
    page = ready(open_page("v=1&view=text"))
    with page.expect_response("**/api/explain"):
        page.get_by_label("Model").select_option("imdb-words")
    ex = hx.load("imdb-words").explain(MIXED)
    page.get_by_text(f"logit {ex.logit:+.3f}".replace("-", "\u2212")).wait_for()
    assert page.locator(".leader-name bdi").all_inner_texts() == [leader.word for leader in loud(ex.leaders)]


def test_a_link_holds_my_text_only_if_i_say_so(open_page):
    page = ready(open_page("v=1&view=text"))
    write(page, "a dull secret & more")
    page.get_by_role("button", name="Share").click()
    link = page.get_by_label("Link to this screen")
    assert "secret" not in link.input_value()
    page.get_by_label("include my text").check()
    shared = link.input_value()
    other = ready(open_page(shared.split("#")[1]))
    assert other.get_by_label("Text", exact=True).input_value() == "a dull secret & more"


def test_copied_programs_give_the_numbers_on_the_screen(open_page, tmp_path, capsys):
    page = ready(open_page("v=1&view=text&ex=letters"))
    exports = page.evaluate(
        """() => {
            const given = window.hardmaxApp.controller.exports();
            const [{ logit }, { rows }] = [given.json(), given.table()];
            return { python: given.python(), command: given.command(), logit, rows: rows.length };
        }"""
    )
    python = (
        exports["python"].replace("print(model.explain(", "print(repr(model.explain(").replace('"))\n', '").logit))\n')
    )
    exec(python, {})
    assert float(capsys.readouterr().out) == exports["logit"]
    command = exports["command"].replace("hardmax ", f"{sys.executable} -m hardmax ", 1) + " --json"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True, cwd=tmp_path)
    document = json.loads(done.stdout)
    assert document["logit"] == exports["logit"]
    assert len(document["terms"]) == exports["rows"]


def test_the_screen_can_be_walked_with_the_keyboard_alone(open_page, model):
    page = ready(open_page("v=1&view=text"))
    page.get_by_label("Text", exact=True).focus()
    names = []
    for _ in range(40):
        page.keyboard.press("Tab")
        names.append(
            page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent")
        )
    assert "Words of the text; Enter asks what if" in names
    assert any("leader, followed by" in name for name in names)
    page.locator(".marked").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    current = page.locator(".marked").first.get_attribute("aria-activedescendant")
    assert page.locator(f"#{current} .word").inner_text() == "not"
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    assert page.locator(".what-if").count() == 0
    assert page.evaluate("document.activeElement.className") == "marked"
    page.locator(".plane .point[tabindex='0']").first.focus()
    for leader in model.explain(MIXED).leaders[:2]:
        count = len(leader.followers)
        wanted = f"{leader.word}, leader, followed by {count} word{'s' * (count != 1)}, "
        assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith(wanted)
        page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    assert page.locator(".leader-name[aria-pressed=true] bdi").inner_text() == leader.word


def test_a_model_without_attention_names_no_leaders(open_page, tmp_path):
    own = two_classes(layers=0)
    site = write_site(tmp_path / "site", str(own.save(tmp_path / "plain")))
    page = open_page("v=1&view=text", url=(site / "index.html").as_uri())
    page.get_by_label("Text", exact=True).fill("a great film, not dull")
    ex = explain(own, "a great film, not dull")
    page.get_by_text(f"logit {ex.logit:+.3f}".replace("-", "\u2212")).wait_for()
    reading = page.locator(".reading").first
    shown = reading.inner_text()
    assert "lead" not in shown
    assert "Attention" not in shown
    assert reading.locator("[data-mark]").count() == 0
    parts = [number(text.strip("\u25b2\u25bc")) for text in reading.locator(".leaders td:last-child").all_inner_texts()]
    assert sum(parts[:-1]) == pytest.approx(parts[-1], abs=0.005)  # terms and bias add up to the logit
    word(page, "great").click()
    assert "lead" not in reading.locator(".what-if").inner_text()
    page.get_by_role("button", name="Drop it").click()
    page.locator(".compare summary").click()
    rows = page.locator(".compare tbody").nth(1).locator("tr").all_inner_texts()
    assert any(row.startswith("great") and "not there" in row for row in rows)
    everything = page.locator(".screen-text").inner_text().lower()
    assert "speaks for itself" in everything
    assert "lead" not in everything
    assert not page.locator(".screen-text .transport").is_visible()
    page.evaluate("window.hardmaxApp.announce()")
    said = page.locator("[aria-live=polite].visually-hidden").first.text_content()
    assert said.startswith(f"{ex.label}, probability")
    page.locator(".words-figure").first.get_by_role("button", name="as a table").click()
    assert page.locator(".words-figure .twin thead").first.inner_text().split()[:2] == ["term", "contribution"]
