"""A violating case on disk: written so that it can be run again, read back with distrust."""

from pathlib import Path
from typing import Any

from hardmax.errors import BadInput, HardmaxError
from hardmax.experiments.claims.case import Case, Undecided, Violated, read_case
from hardmax.experiments.claims.registry import MODULES, Claim, claim

SCHEMA = "hardmax.violation/1"
MOST_TRIES = 200  # checks that the search for the smallest case may cost


def judge(what: Claim, case: Case) -> str | None:
    """None if the claim holds in the case, else the sentence of the violation.

    An error of the package is a violation as well: a check never raises on a case that its generator makes.

    Raises:
        Undecided: neither could be shown.
    """
    try:
        return what.check(case)
    except Violated as found:
        return str(found)
    except (Undecided, KeyboardInterrupt):
        raise
    except HardmaxError as error:
        return f"the package refused the case: {error.what}"
    except Exception as error:
        return f"the check stopped with {type(error).__name__}: {error}"


def smallest(what: Claim, case: Case, sentence: str) -> Case:
    """The case with as few tokens as still violate the claim: tokens are dropped one by one while they can be."""
    tries, i = 0, 0
    # From the first token to the last, and again from the first while something was dropped.
    while "tokens" in case.data and i < len(case["tokens"]) and tries < MOST_TRIES:
        fewer = case["tokens"][:i] + case["tokens"][i + 1 :]
        smaller = Case(case.kind, {**case.data, "tokens": fewer})
        tries += 1
        if fewer and _still(what, smaller, sentence):
            case, i = smaller, 0
        else:
            i += 1
    return case


def _still(what: Claim, case: Case, sentence: str) -> bool:
    """Whether the case violates the claim in the same way; an error that only small cases have does not count."""
    try:
        found = judge(what, case)
    except Undecided:
        return False
    return found is not None and found.startswith("the ") == sentence.startswith("the ")


def save_violation(
    folder: Path,
    what: Claim,
    case: Case,
    sentence: str,
    seed: int,
    trial: int,
    provenance: dict[str, Any],
    reduce: bool = True,
) -> Path:
    """Write the case as it was drawn to a file of its own, and its smallest form beside it if `reduce` is set."""
    from hardmax.io.documents import write_json
    from hardmax.io.files import write_file

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"the folder {folder} cannot be made: {error.strerror or error}", fix="-o DIR") from error
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "claim": what.name,
        "statement": what.statement,
        "citation": what.citation,
        "sentence": sentence,
        "trial": trial,
        "case": case.document(),
        **provenance,
    }
    if reduce:
        document["smallest"] = smallest(what, case, sentence).document()
    path = folder / f"{what.name}-seed-{seed}-trial-{trial}.json"
    return write_file(path, lambda to: write_json(document, to))


def load_violation(path: Path) -> tuple[Claim, Case]:
    """The claim and the case of a file that `save_violation` wrote.

    Raises:
        BadInput: missing, damaged, of another kind, or a case that cannot be run.
    """
    from hardmax.io.documents import read_document

    document = read_document(path, SCHEMA)
    name = str(document.get("claim"))
    if name not in MODULES:
        raise BadInput(f"{path} is about the claim {name[:60]!r}, which there is not", found=", ".join(MODULES))
    what = claim(name)
    try:
        return what, read_case(document.get("case"), what.kinds, what.fields)
    except BadInput as error:
        raise BadInput(f"{path}: {error.what}", found=error.found, fix=error.fix) from error
