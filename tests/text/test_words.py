"""Words and n-grams: the rules, and the compiled splitter against the plain one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardmax.text import words_compiled as scan
from hardmax.text.words import split, terms

CURLY, SCRIPT_A = "\u2019", "\U0001d49c"
PIECES = [
    "<br />",
    "<",
    ">",
    "http://a.b/c",
    "www.",
    "WWW.x",
    "&amp;",
    "&#39;",
    "&",
    ";",
    "don't",
    CURLY,
    "'",
    "!",
    "?",
]
PIECES += [
    " ",
    "\n",
    "\x00",
    "\ud800",
    "É",
    "İ",
    "ΟΔΟΣ",
    "好",
    SCRIPT_A,
    "😀",
    "a1",
    "_",
    "7/10",
    "hTTps://x",
    "h",
    "w",
]
texts = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=4)), max_size=12).map("".join)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I DON'T like it!", ["i", "don't", "like", "it", "!"]),
        ("good<br /><br />bad", ["good", "bad"]),
        ("see http://x.org/a?b=c now", ["see", "now"]),
        ("www.site.com great", ["great"]),
        ("this &amp; that &quot;ok&quot;", ["this", "that", "ok"]),
        ("1 < 2 but 3 > 2", ["1", "2", "but", "3", "2"]),
        (f"don{CURLY}t", ["don't"]),
        ("'quoted' rock 'n' roll", ["quoted", "rock", "n", "roll"]),
        ("what?!", ["what", "?", "!"]),
        ("ÉTÉ été", ["été", "été"]),
        ("a_b", ["a", "b"]),
        ("", []),
        ("\x00\ud800 \n", []),
    ],
)
def test_words_are_split_by_the_rules(text, expected):
    assert [w.form for w in split(text)] == expected


@given(texts)
@settings(derandomize=True, deadline=None, max_examples=300)
def test_places_point_at_the_written_word(text):
    for word in split(text):
        written = text[word.start : word.end]
        assert len(written) == len(word.form)
        assert written.replace(CURLY, "'").casefold() == word.form.casefold() or not written.isascii()


def _compiled(text):
    codes, begins_of = scan.code_points([text])
    n = codes.size
    hashes, begins, ends = np.empty(n, np.uint64), np.empty(n, np.int32), np.empty(n, np.int32)
    count = scan.scan(codes, 0, n, *scan.tables_for(codes), hashes, begins, ends)
    assert begins_of.tolist() == [0, len(text)]
    return hashes[:count].tolist(), list(zip(begins[:count].tolist(), ends[:count].tolist(), strict=True))


@given(texts)
@settings(derandomize=True, deadline=None, max_examples=600)
def test_the_compiled_splitter_finds_the_same_words(text):
    hashes, places = _compiled(text)
    words = split(text)
    assert places == [(w.start, w.end) for w in words]
    # equal forms have equal hashes, whatever the spelling and the width of the characters
    for word, value in zip(words, hashes, strict=True):
        assert _compiled(word.form)[0] == [value] or word.form[:3] == "www"


def test_different_words_have_different_hashes():
    forms = [f"{a}{b}" for a in "abcdefgh" for b in range(2000)]
    assert len({_compiled(f)[0][0] for f in forms}) == len(forms)


def test_no_letter_lies_beyond_the_tables():
    assert not any(chr(code).isalnum() for code in range(scan.LAST_LETTER, 0x110000))


def test_terms_are_all_runs_of_neighboring_words():
    words = split("not a bad film")
    found = {t.form for t in terms(words, 3)}
    forms = [w.form for w in words]
    assert found == {" ".join(forms[i:j]) for i in range(4) for j in range(i + 1, 5) if j - i <= 3}
    for term in terms(words, 3):
        assert term.form == " ".join(forms[term.first : term.last + 1])
