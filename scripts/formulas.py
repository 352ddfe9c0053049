r"""Formulas of the documentation: $...$ and $$...$$ become MathML, and <A x, y> an inner product instead of a tag.

This is an extension of Python-Markdown. The site (mkdocs.yml, docstrings included) and the research note
(scripts/paper.py) use it. MathML needs no script and no font from elsewhere: browsers draw it.
"""

import re
from typing import Any
from xml.etree import ElementTree

from latex2mathml.converter import convert
from markdown import Extension, Markdown
from markdown.inlinepatterns import InlineProcessor
from markdown.preprocessors import Preprocessor

# A "<" and its ">" with a comma between them: no HTML tag looks like this outside of attributes.
PRODUCT = re.compile(r"(?<![<\w`])<(?=[^\s!/])([^<>=\"`]*,[^<>=\"`]*)>")
# A letter with an index or an exponent in prose, such as v_{i+1}, z_i^s or Z^k.
LETTER = r"(?<![A-Za-z_/\\^}])([A-Za-z](?:[_^](?:\{[^{}]+\}|\d+|[A-Za-z](?![A-Za-z0-9]))){1,2})(?!\w)"
FORMULA = r"(?<![\\$\w])(\$\$?)(?=[^\s$])(.+?)(?<=[^\s\\])\1(?![\w$])"

MATHML = "http://www.w3.org/1998/Math/MathML"
LARGE = {"\u2211", "\u220f", "\u22c3", "\u22c2", "max", "min", "sup", "inf", "lim"}
LONG = 40  # characters of a formula that does not fit into a line of a phone
RELATIONS = {"=", "<", ">", "\\le", "\\ge", "\\lt", "\\gt", "\\ne", "\\in", "\\to", "\\subseteq", "\\approx", "\\iff"}
OPENING = {"(", "[", "{", "\\langle", "\\lbrace", "\\left", "\\begin", "\\lceil", "\\lfloor"}
CLOSING = {")", "]", "}", "\\rangle", "\\rbrace", "\\right", "\\end", "\\rceil", "\\rfloor"}

ROUND = "border: solid; border-width: 0 1px; border-radius: 0.8em; padding: 0 0.3em"
REPAIRS = (
    # Brackets are fences; as identifiers they would be slanted and have the wrong height.
    (r"<mi>(&#x027E[89];|&#x0007[BD];)</mi>", r'<mo fence="true" stretchy="false">\1</mo>'),
    # The bars of a norm have no space around them, as a sign between two numbers would.
    (r'<mo stretchy="false">&#x0007C;</mo>', r'<mo stretchy="false" lspace="0" rspace="0">&#x0007C;</mo>'),
    # A minus after "(", "[", a comma or a relation belongs to the number after it.
    (r"((?:&#x0002[8C]|&#x0005B|&#x0003[C-E]|&#x0226[45]|&#x02192);</mo>)<mo>&#x02212;</mo>",
     r'\1<mo form="prefix">&#x02212;</mo>'),
    # A function has a thin space between its name and the factor before it.
    (r"(</m(?:i|n|sub|sup)>)(<mi>(?:exp|ln|log|cos|sin)</mi>)", r'\1<mspace width="0.17em"/>\2'),
    # Brackets of a matrix grow only in fonts for mathematics, which not every machine has; borders do everywhere.
    (r"<mo>&#x00028;</mo><mtable>(.*?)</mtable><mo>&#x00029;</mo>", rf'<mtable style="{ROUND}">\1</mtable>'),
)  # fmt: skip


def mathml(latex: str, block: bool = False) -> str:
    """One formula as MathML.

    Example:
        >>> "<msub><mi>z</mi><mi>i</mi></msub>" in mathml("z_i")
        True
    """
    latex = re.sub(r"\s+", " ", latex.strip())
    found = convert(latex, display="block" if block else "inline")
    found = found.replace("<mi>:</mi>", "<mo>:</mo>")
    for pattern, better in REPAIRS:
        found = re.sub(pattern, better, found)
    return _limits_below(found) if block else found


def _limits_below(found: str) -> str:
    """A formula of its own has the index of a sum, a maximum and the like below the sign, not beside it."""
    ElementTree.register_namespace("", MATHML)
    root = ElementTree.fromstring(found)
    for script, under in (("msub", "munder"), ("msup", "mover"), ("msubsup", "munderover")):
        for node in list(root.iter(f"{{{MATHML}}}{script}")):
            if node[0].tag == f"{{{MATHML}}}mo" and node[0].text in LARGE:
                node.tag = f"{{{MATHML}}}{under}"
    return ElementTree.tostring(root, encoding="unicode")


def pieces(latex: str) -> list[str]:
    """A long formula, cut before its relations and after a plus, where a line may end; brackets stay whole.

    Example:
        >>> pieces("X_s - 2 Y_s = -1/2 + f(s = 0) \\\\le 1/2 + {a = b}")
        ['X_s - 2 Y_s ', '= -1/2 + f(s = 0) ', '\\\\le 1/2 + {a = b}']
        >>> pieces("x = y")
        ['x = y']
    """
    if len(latex) <= LONG:
        return [latex]
    found, depth = [""], 0
    for token in re.findall(r"\\[A-Za-z]+|\\.|.", latex, re.DOTALL):
        depth += (token in OPENING) - (token in CLOSING)
        if token in RELATIONS and not depth and found[-1].strip():
            found.append("")
        found[-1] += token
        if token == "+" and not depth and len(found[-1]) > LONG / 2:
            found.append("")
    return found


def inner_products(text: str) -> str:
    """Markdown with <x, y> written with angle brackets, also across lines; code spans and formulas stay as they are.

    Example:
        >>> inner_products("If <A l, l - x> > 0 then `<a, b>` is code and <b>bold</b> is a tag.")
        'If ⟨A l, l - x⟩ > 0 then `<a, b>` is code and <b>bold</b> is a tag.'
    """
    parts = re.split(r"(`+[^`]*`+|\$[^$]*\$)", text)
    return "".join(part if part[:1] in ("`", "$") else PRODUCT.sub(r"⟨\1⟩", part) for part in parts)


class _Products(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        return inner_products("\n".join(lines)).split("\n")


class _Formula(InlineProcessor):
    def handleMatch(self, m: re.Match[str], data: str) -> tuple[Any, int, int]:  # type: ignore[override]
        block = m[1] == "$$"
        parts = [mathml(part, block) for part in ([m[2]] if block else pieces(m[2]))]
        return self.md.htmlStash.store("<wbr>".join(parts)), m.start(0), m.end(0)


class Formulas(Extension):
    """The extension; both parts run after code blocks have been set aside."""

    def extendMarkdown(self, md: Markdown) -> None:
        md.preprocessors.register(_Products(md), "inner_products", 22)  # fenced code: 25, raw HTML: 20
        md.inlinePatterns.register(_Formula(FORMULA, md), "formula", 185)  # code spans: 190, escapes: 180


class _Letter(InlineProcessor):
    def handleMatch(self, m: re.Match[str], data: str) -> tuple[Any, int, int]:  # type: ignore[override]
        return self.md.htmlStash.store(mathml(m[1])), m.start(0), m.end(0)


class Letters(Extension):
    """Indices and exponents of single letters in prose, for a page without file names and addresses."""

    def extendMarkdown(self, md: Markdown) -> None:
        md.inlinePatterns.register(_Letter(LETTER, md), "letter", 184)  # formulas: 185, escapes: 180
