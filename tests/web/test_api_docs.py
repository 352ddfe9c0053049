"""docs/api.md says what the OpenAPI description says, and its examples work."""

import re
import shlex
from pathlib import Path

import pytest

from hardmax.web import limits
from hardmax.web.app import create_app
from hardmax.web.pool import Pool

TEXT = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## `((?:GET|POST) [^`]+)`\n(.*?)(?=^## |\Z)", TEXT, re.M | re.S))
COMMANDS = [
    shlex.split(command.replace("\\\n", " "))
    for block in re.findall(r"^```\n(.*?)^```", TEXT, re.M | re.S)
    for command in [block]
    if block.startswith("curl ")
]


def _description():
    pool = Pool()
    try:
        return create_app(pool=pool).openapi()
    finally:
        pool.close()


DESCRIPTION = _description()
SCHEMAS = DESCRIPTION["components"]["schemas"]
OPERATIONS = {
    f"{method.upper()} {path}": operation
    for path, methods in DESCRIPTION["paths"].items()
    for method, operation in methods.items()
}


def _names(schema):
    """The names of all fields of a schema, those of the objects in it included."""
    found = set()
    if "$ref" in schema:
        return _names(SCHEMAS[schema["$ref"].rsplit("/", 1)[1]])
    for name, inner in schema.get("properties", {}).items():
        found |= {name} | _names(inner)
    for inner in (*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else ())):
        found |= _names(inner)
    return found


def test_every_route_has_a_section_and_every_section_a_route():
    assert set(SECTIONS) == set(OPERATIONS)


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_every_field_of_a_route_is_described(name):
    operation = OPERATIONS[name]
    fields = {p["name"] for p in operation.get("parameters", ()) if p["in"] == "query"}
    for part in (operation.get("requestBody", {}), operation["responses"]["200"]):
        for content in part.get("content", {}).values():
            fields |= _names(content["schema"])
    assert fields
    missing = {field for field in fields if f"`{field}`" not in SECTIONS[name]}
    if name == "POST /api/limit":
        missing -= {"matrix", "tokens", "alpha"} if "`matrix` are as above" in SECTIONS[name] else set()
    assert missing == set()


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_every_route_names_its_errors(name):
    assert {"400", "408", "413", "429", "500", "503"} <= set(OPERATIONS[name]["responses"])
    assert "422" not in OPERATIONS[name]["responses"]


def test_the_limits_are_those_of_the_code():
    for said in (
        f"{limits.BODY_BYTES:,} bytes", f"within {limits.BODY_SECONDS:g} seconds", f"1 to {limits.TOKENS:,} lists",
        f"longer than {limits.WORK_SECONDS:g} seconds", f"waited for {limits.WAIT_SECONDS:g} seconds",
        f"of 1 to {limits.DIM} numbers", f"0 to {limits.LAYERS:,};", f"at most {limits.COORDINATES:,} |",
        f"at most {limits.FOLLOWED:,} indices", f"at most {limits.TEXT:,} characters",
        f"1 to {limits.SEQUENCES} objects", f"{limits.WAITING} computations",
        f"1 to {limits.SEQUENCE_TOKENS} lists", f"sample of {limits.SAMPLE:,} labeled", f"| 1, {limits.PAGE} |",
        "each at most 1e9 in size",
    ):  # fmt: skip
        assert said in TEXT, said
    assert limits.SIZE == 1e9
    assert limits.WORKERS == 3


def test_every_route_has_an_example():
    paths = {command[1].split("8000")[1].split("?")[0] for command in COMMANDS}
    assert {re.sub(r"\{\w+\}", "7", name.split()[1]) for name in OPERATIONS} == paths


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[1].split("8000")[1])
def test_the_examples_work_as_they_stand(client, command):
    url, rest = command[1], command[2:]
    assert url.startswith("http://127.0.0.1:8000/")
    options = dict(zip(rest[::2], rest[1::2], strict=True))
    path = url.removeprefix("http://127.0.0.1:8000")
    if "-d" in options:
        answer = client.post(path, content=options["-d"], headers=dict([options["-H"].split(": ")]))
    else:
        answer = client.get(path)
        while answer.status_code == 429 or (path.startswith("/api/corpus?") and not answer.json()["ready"]):
            answer = client.get(path)
    assert answer.status_code == 200
