"""Reads an HTML page back, for tests: elements, text, tables and scripts; fails where tags do not close in order."""

import json
from html.parser import HTMLParser

VOID = {"meta", "img", "br", "link", "input", "hr"}
# Markup, scripts, quotes, the ends of comments and CDATA, template syntax, control characters, half a character.
HOSTILE = '<script>alert("1")</script> \' & ]]> --> {{ 7*7 }} {% raw %} {# x #} \x00\x1b[2J \ud800'
SHOWN = '<script>alert("1")</script> \' & ]]> --> {{ 7*7 }} {% raw %} {# x #} ␀␛[2J �'


class Html(HTMLParser):
    """`elements` [(tag, attributes)], `text` outside of scripts and styles, table `rows`, `blocks` by id or tag."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.text, self.rows, self.blocks = [], [], "", [], {}
        self.feed(str(text))
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        if tag not in VOID:
            self.open.append((tag, dict(attrs).get("id", tag)))

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        tag, name = self.open[-1] if self.open else ("", "")
        self.blocks[name] = self.blocks.get(name, "") + data
        if tag in ("td", "th"):
            self.rows[-1].append(data)
        if tag not in ("script", "style", "title"):
            self.text += data

    def tags(self):
        return {tag for tag, _ in self.elements}

    def json(self, name):
        return json.loads(self.blocks[name])

    def policy(self):
        (rule,) = [a["content"] for _, a in self.elements if a.get("http-equiv") == "Content-Security-Policy"]
        return rule


def assert_alone(text, scripts=False):
    """The page asks for nothing from outside, and has no script of its own unless `scripts`; returns it as `Html`."""
    page = Html(text)
    assert not page.tags() & {"link", "iframe", "object", "embed", "base", "form"}
    assert scripts or "script" not in page.tags()
    for _, attributes in page.elements:
        assert not any(name.startswith("on") for name in attributes)
        for name in ("src", "href", "xlink:href"):
            assert attributes.get(name, "#").startswith(("#", "data:"))
    assert "url(" not in text.replace("url(#", "")
    assert "@import" not in text
    text.encode("utf-8")
    return page
