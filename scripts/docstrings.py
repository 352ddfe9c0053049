"""Docstrings on their way into the reference; an extension of griffe, named in mkdocs.yml.

The house writes `Example:`, which the parser of Google's style knows as `Examples:`, and describes several parameters
in one line, `n, dim, seed: ...`, which becomes one line each.
"""

import re
from typing import Any

import griffe

SEVERAL = re.compile(r"^( +)(\w+(?:, \w+)+): (.*)$", re.MULTILINE)


def reference_form(docstring: str) -> str:
    """A docstring as the parser wants it.

    Example:
        >>> print(reference_form("Args:\\n    n, dim: of a cloud."))
        Args:
            n: of a cloud.
            dim: of a cloud.
    """
    docstring = re.sub(r"^( *)Example:$", r"\1Examples:", docstring, flags=re.MULTILINE)
    return SEVERAL.sub(lambda m: "\n".join(f"{m[1]}{name}: {m[3]}" for name in m[2].split(", ")), docstring)


class House(griffe.Extension):
    """Rewrites every docstring before it is parsed."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = reference_form(obj.docstring.value)
