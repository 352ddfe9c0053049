"""Words and n-grams: the rules, and the compiled splitter against the plain one on all of Unicode."""

from itertools import pairwise
from unicodedata import normalize

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import cases
from hardmax.text import words_compiled as compiled
from hardmax.text.clean import clean, compose, prepared
from hardmax.text.hashes import word_hash
from hardmax.text.words import split, terms

CURLY, SHY, ZWJ, ZWNJ = "\u2019", "\u00ad", "\u200d", "\u200c"
FAMILY = f"\U0001f468{ZWJ}\U0001f469{ZWJ}\U0001f467"
ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
RULES = {
    "I DON'T like it!": ["i", "don't", "like", "it", "!"],
    f"don{CURLY}t": ["don't"],
    "'quoted' rock 'n' roll": ["quoted", "rock", "n", "roll"],
    "what?!": ["what", "?", "!"],
    "ÉTÉ e\u0301te\u0301": ["été", "été"],
    "a_b": ["a", "b"],
    "": [],
    "\x00\ud800 \n": [],
    # markup, entities and links
    "good<br /><br />bad <A HREF='x'>it</A>": ["good", "bad", "it"],
    "a<b and c>d": ["a", "b", "and", "c", "d"],
    "1 < 2 but 3 > 2": ["1", "2", "but", "3", "2"],
    "I <3 it, <user> <sarcasm>": ["i", "3", "it", "user", "sarcasm"],
    "this &amp; that &quot;ok&quot; R&D; &unreal;": ["this", "that", "ok", "r", "d", "unreal"],
    "don&#39;t &eacute;t&#xE9; &lt;b&gt;x&lt;/b&gt;": ["don't", "été", "x"],
    "good<script>bad = 'awful';</script> film<style media=\"x\">b {color: red}</style>!": ["good", "film", "!"],
    "<SCRIPT async src=x.js>if (a<b) '<style>'</Script >fine": ["fine"],
    "&lt;style&gt;p {}&lt;/style&gt;fine </script> too": ["fine", "too"],
    "the <script> tag <style>and</style> this": ["the", "tag", "this"],
    "see http://x.org/a?b=c. Now": ["see", "http", "now"],
    "https://x.org/Zu\u0308rich! https://пример.рф/путь, www.x.org/é\u533a": ["http", "!", "http", "http", "区"],
    "Www.site.com great, awww. so": ["http", "great", "awww", "so"],
    # scripts
    "İSTANBUL I\u0307zmir": ["istanbul", "izmir"],
    "नमस्ते दुनिया। हिन्दी": ["नमस्ते", "दुनिया", "हिन्दी"],
    "كِتَابٌ جيد؟": ["كِتَابٌ", "جيد", "?"],
    f"می{ZWNJ}خواهم": ["میخواهم"],
    f"Vertrags{SHY}bruch": ["vertragsbruch"],
    "房间很好\uff0110元": ["房", "间", "很", "好", "!", "10", "元"],
    "ホテルは良い": ["ホ", "テ", "ル", "は", "良", "い"],
    "か\u3099く": ["が", "く"],
    "좋은 영화": ["좋은", "영화"],
    "ดีมาก เป็น ๕๐": ["ดี", "มา", "ก", "เป็", "น", "๕๐"],
    "ພາສາ": ["ພາ", "ສາ"],
    "ខ្មែរ": ["ខ្មែ", "រ"],
    "မြန်မာ": ["မြ", "န်", "မာ"],
    # emoji
    f"so good👍🏽👍 {FAMILY}❤\ufe0f": ["so", "good", "👍", "👍", FAMILY, "❤"],
    f"🇩🇪🇫🇷{ENGLAND}": ["🇩🇪", "🇫🇷", ENGLAND],
    "★★☆ ©": ["★", "★", "☆"],
}
PIECES = [
    *RULES,
    "<br />",
    "<script>",
    "</script>",
    "<Style a>",
    "</style >",
    "<",
    ">",
    "&",
    ";",
    "www.",
    CURLY,
    SHY,
    ZWJ,
    ZWNJ,
    "\ufe0f",
    "🏽",
    "🇩",
    "่",
    "\u17d2",
    "เ",
    "ก",
]
PIECES += [
    "İ",
    "ΟΔΟΣ",
    "\U0001d49c",
    "\u0301",
    "\u0344",
    "\u1100",
    "\u1161",
    "\u11a8",
    "\u200b",
    ".",
    "...",
    "。",
    "\u2028",
]
pieces = st.one_of(st.sampled_from(PIECES), st.text(max_size=4), st.characters(codec=None))
texts = st.lists(pieces, max_size=12).map("".join)


@pytest.mark.parametrize("text", RULES)
def test_words_are_split_by_the_rules(text):
    assert [w.form for w in split(text)] == RULES[text]


def test_places_point_at_the_word_as_it_was_written():
    text = f"<b>E\u0301TE\u0301</b><style>p</style> don&#39;t {FAMILY}! Isn{CURLY}t"
    assert [text[w.start : w.end] for w in split(text)] == [
        "E\u0301TE\u0301", "don&#39;t", FAMILY, "!", f"Isn{CURLY}t",
    ]  # fmt: skip


@given(texts)
@settings(derandomize=True, deadline=None, max_examples=cases(120, 2000))
def test_words_stand_in_order_without_overlaps(text):
    words = split(text)
    assert all(0 <= w.start < w.end <= len(text) and w.form for w in words)
    assert all(a.end <= b.start for a, b in pairwise(words))
    assert all(0 <= b.sentence - a.sentence <= 1 for a, b in pairwise(words))


@given(texts)
@settings(derandomize=True, deadline=None, max_examples=cases(120, 2000))
def test_composing_by_parts_is_composing_the_whole(text):
    composed, places = compose(text)
    assert composed == normalize("NFC", text)
    assert len(clean(text)) == len(text)
    if places is not None:
        assert len(places) == len(composed)
        assert (places[0][0], places[-1][1]) == (0, len(text))


def _compiled(text):
    codes, _ = compiled.code_points([prepared(text)])
    n = codes.size
    hashes, places, before = np.empty(n, np.uint64), np.empty((n, 2), np.int32), np.empty(n, np.uint8)
    count = compiled.scan(codes, 0, n, *compiled.tables_for(codes), hashes, places, before)
    return hashes[:count].tolist(), places[:count].tolist(), before[:count].tolist()


@given(texts)
@settings(derandomize=True, deadline=None, max_examples=cases(200, 5000))
def test_the_compiled_splitter_finds_the_same_words(text):
    hashes, places, before = _compiled(text)
    words = split(text)
    assert hashes == [word_hash(w.form) for w in words]
    assert places == [[w.start, w.end] for w in split(prepared(text))] or prepared(text) != prepared(prepared(text))
    in_sentence = [sum(v.sentence == w.sentence for v in words[:i]) for i, w in enumerate(words)]
    assert before == in_sentence


def test_every_character_is_the_same_to_both_splitters():
    rng = np.random.default_rng(0)
    for plane in range(17):
        codes = rng.permutation(np.arange(plane << 16, (plane + 1) << 16))[:1000].tolist()
        text = "".join(f"a{chr(code)}{chr(code)}b. " for code in codes)
        hashes, _, before = _compiled(text)
        words = split(text)
        assert hashes == [word_hash(w.form) for w in words]
        assert [b == 0 for b in before] == [i == 0 or w.sentence > words[i - 1].sentence for i, w in enumerate(words)]


def test_different_words_have_different_hashes():
    forms = [f"{a}{b}" for a in "abcdefgh" for b in range(2000)]
    assert len(set(map(word_hash, forms))) == len(forms)


def test_terms_are_all_runs_of_neighboring_words():
    words = split("not a bad film")
    found = {t.form for t in terms(words, 3)}
    forms = [w.form for w in words]
    assert found == {" ".join(forms[i:j]) for i in range(4) for j in range(i + 1, 5) if j - i <= 3}
    for term in terms(words, 3):
        assert term.form == " ".join(forms[term.first : term.last + 1])


@pytest.mark.parametrize("end", [". ", "! ", "?! ", "... ", "… ", "\n", "<br />", "。", '.) "'])
def test_no_term_crosses_the_end_of_a_sentence(end):
    found = {t.form for t in terms(split(f"so good{end}the film"), 2)}
    assert {"so good", "the film"} <= found
    assert not {"good the", "! the", "? the"} & found


@pytest.mark.parametrize("inside", ["3.5", "p2pnet.net", "good, the", "good (the"])
def test_what_does_not_end_a_sentence(inside):
    assert len(terms(split(inside), 2)) == 3


@pytest.mark.parametrize(
    "part",
    ["<", "<b a=", "<!--", "&", "&#", "http://", "www.", "'", SHY, ZWJ, "e\u0301", "a'", '<a b="', "ก่", "👍" + ZWJ],
)
def test_a_long_text_takes_time_in_proportion(part):
    from time import process_time

    def cost(text):
        begin = process_time()
        split(text)
        return process_time() - begin

    assert cost(part * 20_000) < 2.0  # quadratic work would take minutes
