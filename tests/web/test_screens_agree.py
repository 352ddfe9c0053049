"""The screens read a text as Python does: words, places, weights, what-if. Node runs the modules of the page."""

import json

import pytest

import tiny_models
from hardmax.sentiment.explain import explain
from hardmax.sentiment.highlight import marks
from hardmax.text.words import split
from page_modules import run_node

MODEL = tiny_models.two_classes()  # explanations do not keep it
TEXTS = {
    **{name: text for name, text in tiny_models.HOSTILE.items() if name != "surrogate"},
    "overlap": "Not dull, not dull: the not dull film! The plot (dull) is dull; GREAT film, great plot.",
    "apostrophes": "it\u2019s the film's plot, isn't it? dull\u2019 'great",
    "tags": "great<br /><br />dull &amp; fine https://example.org/great www.dull.com <great> film",
    "astral": "😀great 😀😀 dull \U0001d524\U0001d52f\U0001d522\U0001d51e\U0001d531 film 👩‍👩‍👧 not dull",
}
SCRIPT = """
const { readExplanation, atoms, occurrences, replacePlaces, unitOffsets } = await import(process.argv[1]);
let input = "";
for await (const part of process.stdin) input += part;
const answers = JSON.parse(input).map((answer) => {
  const codePoint = new Map(unitOffsets(answer.text).map((unit, i) => [unit, i]));
  const reading = readExplanation(answer);
  const list = atoms(reading);
  return {
    words: reading.split.map(({ form, start, end }) => [form, codePoint.get(start), codePoint.get(end)]),
    joined: list.map((atom) => atom.text).join(""),
    marks: list.filter((atom) => atom.word)
      .map((atom) => [codePoint.get(atom.start), codePoint.get(atom.end), atom.weight, atom.known]),
    without: replacePlaces(answer.text, occurrences(reading, "dull"), ""),
    instead: replacePlaces(answer.text, occurrences(reading, "dull"), "fine"),
  };
});
process.stdout.write(JSON.stringify(answers));
"""


@pytest.fixture(scope="module")
def readings():
    """Name -> (explanation by Python, what the page makes of it)."""
    model = MODEL
    found = {name: explain(model, text) for name, text in TEXTS.items()}
    answers = [
        ex.as_dict()
        | {
            "decoder": {"v": model.scores[0].tolist(), "b": float(model.bias[0]), "neutral_words": model.neutral_words},
            "split": [(m.word, m.start, m.end) for m in marks(ex)],
            "trace": {"terms": list(ex.term_names), "positions": ex.flow.states.tolist()},
        }
        for ex in found.values()
    ]
    ours = run_node(SCRIPT, "js/reading.js", given=json.dumps(answers))
    return {name: (ex, page) for (name, ex), page in zip(found.items(), ours, strict=True)}


@pytest.mark.parametrize("name", TEXTS)
def test_the_page_has_the_words_in_their_places(readings, name):
    _, page = readings[name]
    assert page["words"] == [[w.form, w.start, w.end] for w in split(TEXTS[name])]


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_of_a_text_is_lost_when_it_is_marked(readings, name):
    assert readings[name][1]["joined"] == TEXTS[name]


@pytest.mark.parametrize("name", TEXTS)
def test_every_word_weighs_the_same_as_in_python(readings, name):
    ex, page = readings[name]
    theirs = [[m.start, m.end, m.weight, m.known] for m in marks(ex)]
    assert [m[:2] + m[3:] for m in page["marks"]] == [m[:2] + m[3:] for m in theirs]
    assert [m[2] for m in page["marks"]] == pytest.approx([m[2] for m in theirs], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", [name for name, text in TEXTS.items() if "dull" in [w.form for w in split(text)]])
def test_what_if_changes_the_text_as_python_does(readings, name):
    ex, page = readings[name]
    assert page["without"] == ex.without("dull").text
    assert page["instead"] == ex.replace("dull", "fine").text
