from html.parser import HTMLParser

from hardmax.html.page import facts, page, point, table

HOSTILE = '<script>alert("1")</script> & more'


class _Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def test_every_text_is_escaped():
    for made in (table(HOSTILE, [HOSTILE], [[HOSTILE]]), facts([(HOSTILE, HOSTILE)]), page(HOSTILE, [], HOSTILE)):
        read = _Tags(made)
        assert not any(tag == "script" for tag, _ in read.tags)
        assert HOSTILE in read.text


def test_a_policy_stands_in_the_head_if_there_is_one():
    rules = [
        [a["content"] for t, a in _Tags(page("x", ["<p>y</p>"], policy)).tags if a.get("http-equiv")]
        for policy in ("", "default-src 'none'")
    ]
    assert rules == [[], ["default-src 'none'"]]


def test_a_point_is_written_for_reading():
    assert point([1.0, 1 / 3]) == "(1, 0.333333)"
