"""The Exact screen in a real browser: draw, load, style, stages, sizes against the bound, errors at their place."""

import json
import subprocess
import sys

import hardmax as hx

OVERLAP = [[[0, 0], [0.9, 0.5], [-0.6, 0.8]], [[0, 0], [-0.9, -0.4], [0.5, -0.8]], [[0, 0], [0.9, 0.5], [-0.9, -0.4]]]
LABELS = ["sun", "moon", "sun"]


def ready(page):
    """Wait for the answer of the server."""
    page.locator(".exact-verdict").wait_for()
    page.locator(".tick-mark.soft").first.wait_for(state="detached")
    return page


def cells(page):
    rows = page.locator(".sizes tbody tr").all()
    return {row.locator("th").inner_text(): row.locator("td").all_inner_texts() for row in rows}


def state(page, key):
    return page.evaluate("(key) => window.hardmaxApp.state[key]", key)


def test_sizes_and_ticks_are_those_of_python(open_page):
    page = ready(open_page("v=1&view=exact"))
    for style, pool in (("bitwise", "mean"), ("two", "max"), ("narrow", "mean")):
        page.get_by_label("Construction").select_option(style)
        page.get_by_label("Sequences are told apart by").select_option(pool)
        net = hx.construct(OVERLAP, LABELS, style=style, pool=pool)
        names = ["input", *net.stages(OVERLAP).names[1:]]
        thumbs = (
            "(names) => [...document.querySelectorAll('.thumb span')].map((one) => one.textContent).join() === names"
        )
        page.wait_for_function(thumbs, arg=",".join(f"{k} {name}" for k, name in enumerate(names)))
        ready(page)
        found = cells(page)
        assert found["blocks"] == [str(net.blocks), f"2M + 2N + 1 = {net.bound}"]
        assert found["nonzero parameters"][0] == str(net.parameters)
        assert found["units in the widest layer"][0] == str(net.width)
        assert found["classified correctly"] == ["3 of 3", "all 3"]
        assert page.locator(".tick-mark.is-right").count() == 3
        assert page.locator(".exact-verdict").inner_text().startswith("\u2713 Exact")


def test_every_stage_shows_all_sequences_where_python_has_them(open_page):
    page = ready(open_page("v=1&view=exact&style=narrow"))
    stages = hx.construct(OVERLAP, LABELS, style="narrow").stages(OVERLAP)
    page.locator(".stage-figure").get_by_role("button", name="as a table").click()
    for k, stage in enumerate(stages):
        page.locator(".thumb").nth(k).click()
        page.locator(".scrub-text", has_text=f"stage {k} of {len(stages) - 1}: {stage.name}").wait_for()
        page.locator(".twin tbody tr").first.wait_for()
        rows = [row.locator("td").all_inner_texts() for row in page.locator(".twin tbody tr").all()]
        expected = [
            [k, j, LABELS[j], i, *at] for j, cloud in enumerate(stage.clouds) for i, at in enumerate(cloud.tolist())
        ]
        assert [[int(r[0]), int(r[1]), r[2], int(r[3]), float(r[4]), float(r[5])] for r in rows] == expected
    assert sorted(set(page.locator(".plane .point-name").all_text_contents())) == ["moon", "sun"]


def test_large_neighboring_numbers_stay_apart_in_the_picture(open_page):
    page = ready(open_page("v=1&view=exact&stage=3"))
    places = page.locator(".plane .point").evaluate_all(
        "(nodes) => nodes.map((node) => node.getBoundingClientRect().x)"
    )
    assert len(places) == 2
    assert abs(places[0] - places[1]) > 200
    assert "The picture shows x0 \u2212 6755399441055744." in page.locator(".stage-note").inner_text()


def test_clicking_draws_a_token_and_delete_removes_it(open_page):
    page = ready(open_page("v=1&view=exact"))
    page.get_by_label("Draw in sequence 1").check()
    with page.expect_response("**/api/construct"):
        page.locator(".plane").click(position={"x": 200, "y": 60})
    ready(page)
    tokens = state(page, "seqs")[1]["tokens"]
    assert len(tokens) == 4
    assert all(abs(x) < 4 and round(x, 2) == x for x in tokens[3])
    assert page.locator(".sequence-size").nth(1).inner_text() == "4 tokens"
    page.locator(".plane .point").nth(6).focus()
    page.keyboard.press("Delete")
    assert len(state(page, "seqs")[1]["tokens"]) == 3


def test_a_new_data_set_can_be_made_with_the_keyboard_alone(open_page):
    page = ready(open_page("v=1&view=exact"))
    for left in (2, 1, 0):
        page.get_by_role("button", name="Remove sequence 0").press("Enter")
        page.wait_for_function("n => document.querySelectorAll('.sequence-label').length === n", arg=left)
    page.get_by_text("There are no sequences yet").wait_for()
    for label, x in (("left", "-1"), ("right", "1")):
        page.get_by_role("button", name="Add a sequence").press("Enter")
        field = page.locator(".sequence-label").last
        field.focus()
        field.press("Control+a")
        page.keyboard.type(label)
        page.get_by_label("x", exact=True).fill(x)
        page.get_by_role("button", name="Add token to").press("Enter")
    ready(page)
    assert state(page, "seqs") == [{"label": "left", "tokens": [[-1, 0.5]]}, {"label": "right", "tokens": [[1, 0.5]]}]
    assert page.locator(".tick-mark.is-right").count() == 2
    page.locator(".screen-exact").focus()
    page.keyboard.press("End")
    page.locator(".scrub-text", has_text="place").wait_for()
    page.keyboard.press("ArrowLeft")
    assert state(page, "stage") == 4


def test_contradictory_sequences_are_named_and_the_last_good_network_stays(open_page):
    page = ready(open_page("v=1&view=exact"))
    page.watch.forgiven.append("400")
    page.evaluate(
        """() => window.hardmaxApp.set({ seqs: [
            { label: "a", tokens: [[0, 0], [1, 1]] }, { label: "c", tokens: [[3, 3]] },
            { label: "b", tokens: [[1, 1], [0, 0]] }] })"""
    )
    error = page.locator(".exact-controls .field-error", has_text="sequences 0 and 2 hold the same tokens")
    error.wait_for()
    assert "The last valid network is shown." in error.inner_text()
    assert page.locator(".sequence.has-error").count() == 2
    assert cells(page)["blocks"][0] == "5"
    page.locator(".thumb").nth(5).click()
    page.get_by_text("This is the last valid network").wait_for()


def test_a_label_left_empty_is_an_error_at_its_field(open_page):
    page = ready(open_page("v=1&view=exact"))
    page.get_by_label("Label of sequence 1").fill("")
    page.get_by_text("Sequence 1 has no label").wait_for()
    assert page.get_by_label("Label of sequence 1").get_attribute("aria-invalid") == "true"
    page.get_by_label("Label of sequence 1").fill("<img src=x onerror=alert(1)>")
    ready(page)
    assert page.locator(".exact-controls img").count() == 0


def test_a_file_is_loaded_and_a_bad_one_is_refused_with_its_place(open_page, tmp_path):
    page = ready(open_page("v=1&view=exact"))
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text('{"tokens": [[0, 1]], "label": 1}\n{"tokens": [[1, 0], [0.25, 2]], "label": 2}\n')
    bad.write_text('{"tokens": [[0, 1]], "label": 1}\nnonsense\n')
    page.locator("input[type=file]").set_input_files(str(bad))
    page.get_by_text("bad.jsonl: line 2 is not JSON").wait_for()
    assert state(page, "seqs") is None
    page.locator("input[type=file]").set_input_files(str(good))
    page.locator(".sequence").nth(2).wait_for(state="detached")
    ready(page)
    assert state(page, "seqs") == [{"label": "1", "tokens": [[0, 1]]}, {"label": "2", "tokens": [[1, 0], [0.25, 2]]}]


def test_a_link_brings_the_drawn_sequences_back(open_page):
    page = ready(open_page("v=1&view=exact"))
    page.locator(".plane").click(position={"x": 300, "y": 100})
    page.get_by_role("button", name="Share").click()
    link = page.get_by_label("Link to this screen").input_value()
    other = ready(open_page(link.split("#")[1]))
    assert state(other, "seqs") == state(page, "seqs")


def test_copied_programs_give_the_numbers_on_the_screen(open_page, tmp_path, capsys):
    page = ready(open_page("v=1&view=exact&set=xor&style=two"))
    exports = page.evaluate(
        """() => {
            const given = window.hardmaxApp.controller.exports();
            return { python: given.python(), command: given.command(), json: given.json() };
        }"""
    )
    found = exports["json"]
    exec(exports["python"], {})
    assert capsys.readouterr().out.split() == [
        *(str(found[k]) for k in ("blocks", "bound", "width", "parameters")),
        "True",
    ]
    command = exports["command"].replace("\nhardmax ", f"\n{sys.executable} -m hardmax ") + " --json"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True, cwd=tmp_path)
    document = json.loads(done.stdout)
    same = ("blocks", "bound", "width", "parameters", "min_gap", "exact")
    assert {k: document[k] for k in same} == {k: found[k] for k in same}
