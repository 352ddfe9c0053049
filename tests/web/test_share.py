"""Links: the page writes and reads them by the definition, and the package reads the same clouds from them."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import link_codec
from hardmax.cloud.presets import GENERATED, PRESETS, preset, random_cloud
from hardmax.web import share
from hardmax.web.share import tokens_of
from link_codec import decode_points, divisor_for, encode_points, number_text
from programs import node

STATE_JS = Path(share.__file__).parent / "static" / "js" / "state.js"
# Reads lines of {"link": ...} or {"state": ...}; gives back the state (what both languages agree on) and the link.
SCRIPT = """
import { decodeState, encodeState, TABLE } from %s;
import { readFileSync } from "node:fs";
const lines = readFileSync(0, "utf8").trimEnd().split("\\n");
console.log(JSON.stringify(Object.keys(TABLE)));
for (const line of lines) {
  const { link, state: given } = JSON.parse(line);
  const { state, dropped, newer } = link === undefined ? { state: given, dropped: [], newer: 0 } : decodeState(link);
  if (state.pts) state.pts = { d: state.pts.d, coords: Float64Array.from(state.pts.coords) };
  const again = encodeState(state, { personal: true });
  if (state.pts) state.pts = { d: state.pts.d, coords: Array.from(state.pts.coords) };
  const lost = Object.fromEntries(dropped.map((d) => [d.key, d.reason]));
  console.log(JSON.stringify({ state, dropped: lost, newer, link: again }));
}
"""


def _in_javascript(requests):
    script = SCRIPT % json.dumps(STATE_JS.as_uri())
    lines = "\n".join(json.dumps(r) for r in requests) + "\n"
    done = subprocess.run(
        [node(), "--input-type=module", "-e", script], input=lines, capture_output=True, text=True, check=True
    )
    keys, *answers = (json.loads(line) for line in done.stdout.rstrip("\n").split("\n"))
    return keys, answers


def rounded(coords):
    """The coordinates that a link gives back, by the definition: q / D with q = floor(D x + 1/2), at most 32767."""
    D = divisor_for(coords)
    return [max(-32767, min(32767, np.floor(x * D + 0.5))) / D + 0.0 for x in coords]


def _tokens(state):
    """The tokens of a state at layer 0."""
    if state["pts"] is not None:
        return np.array(state["pts"]["coords"]).reshape(-1, state["pts"]["d"])
    if state["preset"] in GENERATED:
        return random_cloud(state["preset"], state["n"], state["d"], state["seed"])
    return preset(state["preset"])


finite = st.floats(-1e5, 1e5, allow_nan=False).map(lambda x: x + 0.0)
thousandths = st.integers(-4000, 4000).map(lambda q: q / 1000)
eigenvalue = st.floats(0.001, 1000)
words = st.text(st.characters(codec="utf-8"), max_size=30)
matrices = st.one_of(
    st.just({"kind": "I"}),
    st.builds(
        lambda angle, l1, l2: {"kind": "rot", "angle": angle + 0.0, "l1": l1, "l2": l2},
        st.floats(-180, 180), eigenvalue, eigenvalue,
    ),
    st.lists(st.lists(finite, min_size=2, max_size=2), min_size=2, max_size=2).map(
        lambda rows: {"kind": "rows", "rows": rows}
    ),
)  # fmt: skip
points = st.sampled_from([2, 3]).flatmap(
    lambda d: st.one_of(
        st.lists(st.lists(x, min_size=d, max_size=d), max_size=20).map(
            lambda rows: {"d": d, "coords": rounded([c for row in rows for c in row])}
        )
        for x in (finite, thousandths)
    )
)
sequences = st.lists(
    st.builds(
        lambda label, tokens: {"label": label, "tokens": tokens},
        st.text(st.characters(codec="utf-8", max_codepoint=0xFFFF), min_size=1, max_size=24),
        st.lists(st.lists(thousandths, min_size=2, max_size=2), max_size=5),
    ),
    min_size=1, max_size=4,
)  # fmt: skip
states = st.fixed_dictionaries(
    {},
    optional={
        "view": st.sampled_from(link_codec.VIEWS),
        "preset": st.sampled_from(link_codec.PRESETS),
        "n": st.integers(1, 5000),
        "d": st.integers(2, 3),
        "seed": st.integers(0, 2**32 - 1),
        "pts": points,
        "alpha": st.floats(0.001, 1000),
        "A": matrices,
        "K": st.integers(100, 500),
        "k": st.integers(0, 100),
        "show": st.sets(st.sampled_from(link_codec.SHOWN)).map(sorted),
        "sel": st.integers(-1, 4999),
        "turn": st.tuples(st.integers(-180, 180), st.integers(-90, 90)).map(list),
        "beta": st.floats(0, 1e6).map(lambda x: x + 0.0),
        "figure": st.sampled_from(["1", "2", "layers"]),
        "theme": st.sampled_from(["auto", "light", "dark"]),
        "hide": st.just("controls"),
        "embed": st.just("1"),
        "lesson": st.integers(0, 7),
        "model": words,
        "ex": st.sampled_from(link_codec.EXAMPLES),
        "review": words,
        "text": words,
        "text2": words,
        "layer": st.integers(-1, 1000),
        "set": st.sampled_from(link_codec.SETS),
        "seqs": sequences,
        "style": st.sampled_from(["bitwise", "two", "narrow"]),
        "pool": st.sampled_from(["mean", "max"]),
        "stage": st.integers(0, 1000),
        "wrong": st.sampled_from(["0", "1"]),
        "label": words,
        "leader": words,
        "page": st.integers(1, 100_000),
    },
)


def _random_states(count):
    """A fixed list of random states: node is started once for all of them."""
    found = []

    @given(states)
    @settings(derandomize=True, deadline=None, max_examples=count, database=None)
    def collect(state):
        found.append({**link_codec.start_state(), "K": 500, **state})

    collect()
    return found


def test_random_states_go_through_both_languages_and_come_back():
    given_states = _random_states(150)
    links = [link_codec.encode_state(state, personal=True) for state in given_states]
    keys, from_links = _in_javascript([{"link": link} for link in links])
    _, from_states = _in_javascript([{"state": state} for state in given_states])
    assert keys == list(link_codec.TABLE)
    assert len(from_links) == len(from_states) == len(given_states) > 100
    for state, link, read, written in zip(given_states, links, from_links, from_states, strict=True):
        assert read["dropped"] == {}
        assert read["state"] == state
        assert read["link"] == link
        assert written["link"] == link
        ours = link_codec.decode_state("http://127.0.0.1:1/#" + link)
        assert (ours.state, ours.dropped, ours.newer) == (state, {}, 0)
        assert np.array_equal(tokens_of("http://127.0.0.1:1/#" + link), _tokens(state))


HOSTILE = [
    "", "#", "&&&", "v=2", "v=1.5", "v=x", "alpha=0", "alpha=1e999", "alpha=NaN", "alpha=0x10", "alpha=%", "alpha=%zz",
    "text=%ff", "text=%f0%9f%98%80", "K=10&k=400", "K=1e2", "n=5001", "n=1.5", "n=-0", "d=4", "view=%3Cscript%3E",
    "show=", "show=hull,hull", "show=trails,hull", "show=all", "A=", "A=1,0;0", "A=1,0;0,1", "A=rot:0,1", "A=rot:0,0,1",
    "pts=", "pts=AQI", "pts=A", "pts=AQIAAHpE9AEY_A", "pts=AgIAAHpE9AEY_A", "pts=AQIAAAAA9AEY_A", "pts=AQIAAHpE9AEY",
    "pts=*", "pts=AQIAAHpE9AEY_B", "pts=AQIAAHpE9AEY_A%0A", "alpha=5%0A", "turn=1", "turn=1,2,3", "turn=200,0",
    "seqs=1,2", "seqs=a:1,2;3,4;b:", "seqs=a:1", "seqs=a%253Ab:1,2", "seqs=a:1,2;;3,4", "seqs=a:0x10,1",
    "seqs=a:%201,2", "seqs=a:1e999,0", "seqs=a:.5,-2.", "seqs=a:0b1,1", "embed=2", "unknown=1&alpha=3",
    "alpha=3&alpha=4", "alpha", "constructor=1", "__proto__=1", "sel=-1", "sel=-2", "page=0", "theme=blue", "beta=-1",
    "model=" + "x" * 201, "label=" + "%F0%9F%98%80" * 51,
]  # fmt: skip


def test_hostile_links_lose_the_same_keys_in_both_languages():
    _, answers = _in_javascript([{"link": link} for link in HOSTILE])
    assert len(answers) == len(HOSTILE)
    for link, theirs in zip(HOSTILE, answers, strict=True):
        ours = link_codec.decode_state(link)
        assert set(ours.dropped) == set(theirs["dropped"]), link
        assert ours.newer == theirs["newer"], link
        assert ours.state == theirs["state"], link
        assert np.array_equal(tokens_of(link), _tokens(theirs["state"])), link


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(derandomize=True, deadline=None, max_examples=300)
def test_a_number_reads_back_to_the_same_float(x):
    assert float(number_text(x)) == x


def test_numbers_are_written_as_the_page_writes_them():
    values = [0.1, 1e21, 1e-7, 123456.789, 5e-324, 1.7976931348623157e308, 1e16, 123456789012345680000.0, 1e-6, -2.5]
    script = f"console.log(JSON.stringify({json.dumps(values)}.map(String)))"
    done = subprocess.run([node(), "-e", script], capture_output=True, text=True, check=True)
    assert [number_text(x) for x in values] == json.loads(done.stdout)


def test_a_generated_cloud_is_only_its_seed():
    assert link_codec.encode_state({"preset": "ring", "n": 300, "seed": 9}) == "v=1&view=dyn&preset=ring&n=300&seed=9"
    assert np.array_equal(tokens_of("#v=1&preset=ring&n=300&d=3&seed=9"), random_cloud("ring", 300, 3, 9))


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_keeps_its_name_and_its_tokens(name):
    assert np.array_equal(tokens_of(link_codec.encode_state({"preset": name})), preset(name))


@pytest.mark.parametrize("name", ["triangle", "emerging", "square", "square-ties", "grid", "polygon", "cube"])
def test_edited_presets_survive_a_link_without_rounding(name):
    Z = preset(name)
    state = {**link_codec.start_state(), "pts": {"d": Z.shape[1], "coords": Z.ravel().tolist()}}
    assert np.array_equal(tokens_of(link_codec.encode_state(state)), Z)


def test_three_hundred_edited_tokens_take_about_1600_characters():
    Z = random_cloud("random", 300, 2, 7)
    text = encode_points({"d": 2, "coords": Z.ravel().tolist()})
    assert len(text) <= 1700
    assert decode_points(text)["coords"] == Z.ravel().tolist()


@pytest.mark.parametrize("size", [0.0, 5e-324, 1e-106, 1e-30, 1e30, 1e300, 1.7e308])
def test_a_cloud_of_any_size_can_be_read_back(size):
    cloud_here = {"d": 2, "coords": [size, -size, size / 2, 0.0]}
    text = encode_points(cloud_here)
    assert decode_points(text)["coords"] == rounded(cloud_here["coords"]) == tokens_of(f"#pts={text}").ravel().tolist()
    _, (theirs,) = _in_javascript([{"state": {**link_codec.start_state(), "pts": cloud_here}}])
    assert f"pts={text}" in theirs["link"]
    if 1e-30 <= size <= 1e30:
        assert decode_points(text)["coords"] == pytest.approx(cloud_here["coords"], abs=size / 8192)


def test_coordinates_that_do_not_fit_are_rounded_to_a_part_in_sixteen_thousand():
    coords = [0.1234567, -3.9876543, 2e-9]
    back = decode_points(encode_points({"d": 3, "coords": coords}))["coords"]
    assert max(abs(a - b) for a, b in zip(back, coords, strict=True)) <= 3.9876543 / 16384
    assert back == rounded(coords)


def test_a_readers_own_text_goes_into_a_link_only_if_asked():
    state = {"view": "text", "text": "my diary & more"}
    assert "diary" not in link_codec.encode_state(state)
    assert link_codec.decode_state(link_codec.encode_state(state, personal=True)).state["text"] == "my diary & more"
