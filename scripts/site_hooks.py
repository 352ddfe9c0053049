"""What the documentation site has besides its Markdown files; hooks of MkDocs, named in mkdocs.yml.

- `commands.md`, generated from the command line itself: every command, every option, every exit code;
- the notebooks of docs/notebooks as pages, with the outputs that are stored in them (a test runs them again);
- `playground/`, the static playground, which works without a server;
- formulas (scripts/formulas.py), on pages and in docstrings.
"""

import json
import re
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))
from formulas import Formulas

ROOT = Path(__file__).parent.parent
SOURCE = "https://github.com/hardmax/hardmax/blob/main/"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Formulas for pages and docstrings."""
    config.markdown_extensions.append(Formulas())  # type: ignore[arg-type]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    files.append(File.generated(config, "commands.md", content=commands_page()))
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        if stored := files.get_file_from_path(f"notebooks/{path.name}"):
            files.remove(stored)
        page = notebook_page(json.loads(path.read_text(encoding="utf-8")), path.name)
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=page))
    return files


def on_post_build(config: MkDocsConfig) -> None:
    """Write the static playground beside the pages, which embed it."""
    from hardmax.web.static_site import MODEL, write_site

    write_site(Path(config.site_dir) / "playground", MODEL, force=True)


def on_post_page(output: str, **_: Any) -> str:
    """What the theme lacks for screen readers: a name of the search, and no empty heading of a column."""
    search = 'data-md-component="search" role="dialog"'
    return output.replace(search, f'{search} aria-label="Search"').replace("<th></th>", "<td></td>")


def commands_page() -> str:
    """The reference of the command line in Markdown, made from the commands.

    Example:
        >>> "## hardmax limit" in commands_page()
        True
    """
    import typer

    from hardmax.cli.main import app
    from hardmax.cli.topics import EXIT_CODES

    parts = ["# Commands", "This page is generated from the commands. `hardmax COMMAND --help` prints the same text."]
    commands = list(_commands(typer.main.get_command(app), "hardmax"))
    rows = [f"| [`{name}`](#{name.replace(' ', '-')}) | {_summary(command)} |" for name, command in commands]
    parts.append("\n".join(["| command | what it does |", "|---|---|", *rows]))
    parts += [_command(name, command) for name, command in commands]
    codes = [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()]
    parts += ["## Exit codes", "\n".join(["| code | meaning |", "|---|---|", *codes])]
    return "\n\n".join(parts) + "\n"


def _commands(group: Any, name: str) -> Iterator[tuple[str, Any]]:
    for word, command in sorted(group.commands.items()):
        if getattr(command, "commands", None):
            yield from _commands(command, f"{name} {word}")
        elif not command.hidden:
            yield f"{name} {word}", command


def _summary(command: Any) -> str:
    return " ".join((command.help or "").split("\n\n")[0].split())


def _command(name: str, command: Any) -> str:
    context = command.context_class(command, info_name=name)
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    about = [
        _paragraph(part) for part in re.split(r"\n\s*\n", "\n\n".join(filter(None, (command.help, command.epilog))))
    ]
    rows = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            rows.append(f"| `{_cell(record[0], code=True)}` | {_cell(record[1])} |")
    table = "\n".join(["| argument or option | meaning |", "|---|---|", *rows])
    return "\n\n".join([f"## {name}", f"```text\n{usage}\n```", *about, table])


def _paragraph(text: str) -> str:
    """A paragraph of a help text; commands in it, on lines of their own or after "Example:", become code."""
    text = re.sub(r"\A[\b\s]+", "", text)
    label, _, rest = text.partition("hardmax ") if re.match(r"(Examples?:\s*)?hardmax ", text) else (text, "", "")
    if not rest:
        return re.sub(r"\s*\n\s*", " ", escape(text, quote=False))
    lines = [line.strip() for line in f"hardmax {rest}".splitlines()]
    return "\n\n".join(filter(None, [label.strip(), "```sh\n" + "\n".join(lines) + "\n```"]))


def _cell(text: str, code: bool = False) -> str:
    text = " ".join(text.split()).replace("|", "\\|" if not code else "/")
    return text if code else escape(text, quote=False).replace("*", "\\*").replace("_", "\\_")


def notebook_page(notebook: dict[str, Any], name: str) -> str:
    """A notebook as Markdown: its text, its code, and the outputs stored in it.

    Example:
        >>> cell = {"cell_type": "code", "source": ["1 + 1"], "outputs": [{"data": {"text/plain": ["2"]}}]}
        >>> print(notebook_page({"cells": [cell]}, "sum.ipynb").split("\\n\\n", 1)[1])
        ```python
        1 + 1
        ```
        <BLANKLINE>
        ```text
        2
        ```
        <BLANKLINE>
    """
    where = f"{SOURCE}docs/notebooks/{name}"
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        parts += [_output(output, cell) for output in cell.get("outputs", [])]
    title, *rest = parts if parts and parts[0].startswith("# ") else ["", *parts]
    note = f"[Open this page as a notebook]({where}){{ .md-button }}"
    first, _, below = title.partition("\n")
    return "\n\n".join(filter(None, [first, note, below.strip(), *rest])) + "\n"


def _output(output: dict[str, Any], cell: dict[str, Any]) -> str:
    data = output.get("data", {})
    if "image/png" in data:
        alt = cell.get("metadata", {}).get("alt", "The figure that the code above draws")
        return f"![{alt}](data:image/png;base64,{''.join(data['image/png']).strip()})"
    if "text/html" in data:
        # A table with a class is not laid out by the theme, but by the style sheet that comes with the result.
        html = "".join(data["text/html"]).replace("<table>", '<table class="result">')
        return f'<div class="output">{html}</div>'
    text = "".join(data.get("text/plain", output.get("text", "")))
    return f"```text\n{text.rstrip()}\n```"
