"""What a claim is: a statement of the papers with a generator of cases and a check."""

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from random import Random
from time import process_time
from typing import Any, cast

from hardmax.errors import BadInput, HardmaxError
from hardmax.experiments.case import Case, read_case
from hardmax.experiments.context import Context, Journal, make_folder, provenance
from hardmax.experiments.item import Item, Outcome, register, select
from hardmax.io.documents import read_document, write_json
from hardmax.io.files import write_file

SCHEMA = "hardmax.violation/1"
MOST_SAVED = 20  # files per claim; further violations are only counted
MOST_TRIES = 200  # checks that the search for the smallest case may cost
CHUNK = 50  # trials that a process runs at once, and that are kept together

Check = Callable[[Case], str | None]


class Violated(Exception):
    """The package contradicts the definition or itself; the message says how."""


class TimeOver(Exception):
    """Raised by the receiver of progress to end a run whose time is limited."""


class Undecided(Exception):
    """The check could not be completed: the case counts neither for nor against the claim."""


@dataclass(frozen=True)
class Claim(Item):
    """A claim; its `run` is the check: None if the claim holds in a case, else a sentence that says what is wrong."""

    kinds: tuple[str, ...] = ()  # the kinds of cases; trial t has kind t modulo their number
    trials: int = 0  # the default number of trials
    fields: tuple[str, ...] = ()  # the names of the numbers that a case holds
    generate: Callable[[Random, str], Case] = lambda rng, kind: Case(kind, {})  # draws a case of a kind

    def case(self, seed: int, trial: int) -> Case:
        """The case of a trial: a function of seed, claim and trial alone, whatever ran before."""
        rng = Random(f"{seed} {self.name} {trial}")
        drawn = self.generate(rng, self.kinds[trial % len(self.kinds)])
        return Case(drawn.kind, {field: drawn[field] for field in self.fields})

    def judge(self, case: Case) -> str | None:
        """None if the claim holds in the case, else the sentence of the violation.

        An error of the package is a violation as well: a check never raises on a case that its generator makes.

        Raises:
            Undecided: neither could be shown.
        """
        try:
            return cast("str | None", self.run(case))
        except Undecided:
            raise
        except Violated as found:
            return str(found)
        except HardmaxError as error:
            return f"the package refused the case: {error.what}"
        except Exception as error:
            return f"the check stopped with {type(error).__name__}: {error}"

    def defaults(self) -> dict[str, Any]:
        """The number of trials and of processes, and whether finished trials are kept for a later run."""
        return {"trials": self.trials, "workers": 1, "resume": False}

    def some_trials(self, seed: int, begin: int, end: int) -> dict[str, Any]:
        """The undecided trials of a range, the violations as pairs of trial and sentence, and the processor time."""
        undecided, violations, begun = 0, [], process_time()
        for trial in range(begin, end):
            try:
                sentence = self.judge(self.case(seed, trial))
            except Undecided:
                sentence, undecided = None, undecided + 1
            if sentence is not None:
                violations.append([trial, sentence])
        return {"undecided": undecided, "violations": violations, "seconds": process_time() - begun}

    def start(self, context: Context, settings: Mapping[str, Any]) -> Outcome:
        """Run all trials, or fewer if the run is interrupted; violations are counted, and saved in the root folder."""
        trials, workers, done, undecided, seconds = settings["trials"], settings["workers"], 0, 0, 0.0
        sentences: list[str] = []
        size = CHUNK if workers > 1 or settings["resume"] else 1
        spans = [(begin, min(begin + size, trials)) for begin in range(0, trials, size)]
        journal = context.journal if settings["resume"] else None
        try:
            context.tell(0, trials, "")
            for end, found in self._in_order(context.seed, spans, workers, journal):
                for trial, sentence in found["violations"]:
                    if context.root is not None and len(sentences) < MOST_SAVED:
                        case = self.case(context.seed, trial)
                        # Reducing a case costs up to some hundred checks, so only the first one of a claim is reduced.
                        smaller = None if sentences else self.smallest(case, sentence)
                        path = self.save(context.root, case, sentence, context.seed, trial, smaller)
                        context.files.append(path.name)
                    sentences.append(sentence)
                done, undecided, seconds = end, undecided + found["undecided"], seconds + found["seconds"]
                if done < trials:
                    context.tell(done, trials, "")
        except (KeyboardInterrupt, TimeOver):
            pass  # what was counted so far is the result
        exact = sum(not self.kinds[t % len(self.kinds)].endswith("float") for t in range(done))
        numbers = {
            "trials": done, "exact": exact, "violations": len(sentences), "undecided": undecided,
            "first": sentences[0] if sentences else None, "processor_seconds": seconds,
        }  # fmt: skip
        return Outcome(f"{len(sentences)} violations in {done} trials.", numbers=numbers, complete=done == trials)

    def _in_order(
        self, seed: int, spans: Sequence[tuple[int, int]], workers: int, journal: Journal | None
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """The end and the results of every range of trials; finished ranges come from the journal."""
        keys = [{"claim": self.name, "seed": seed, "from": begin, "to": end} for begin, end in spans]
        known = [journal.get(key) if journal else None for key in keys]
        left = [(seed, *span) for span, found in zip(spans, known, strict=True) if found is None]
        of_claim = partial(_trials_of, self.name)
        fresh = pool(workers).map(of_claim, left) if workers > 1 else (self.some_trials(*part) for part in left)
        for (_, end), key, old in zip(spans, keys, known, strict=True):
            found = next(fresh) if old is None else old
            yield end, journal.put(key, found) if journal and old is None else found

    def smallest(self, case: Case, sentence: str) -> Case:
        """The case with as few tokens as still violate the claim: tokens are dropped one by one."""
        i = 0
        for _ in range(MOST_TRIES):  # from the first token to the last, and again from the first if one was dropped
            if i >= len(case.data.get("tokens", ())):
                break
            smaller = case.changed(tokens=case["tokens"][:i] + case["tokens"][i + 1 :])
            case, i = (smaller, 0) if smaller["tokens"] and self._still(smaller, sentence) else (case, i + 1)
        return case

    def _still(self, case: Case, sentence: str) -> bool:
        """Whether the case violates the claim in the same way; an error that only small cases have does not count."""
        try:
            found = self.judge(case)
        except Undecided:
            return False
        return found is not None and found.startswith("the ") == sentence.startswith("the ")

    def save(self, folder: Path, case: Case, sentence: str, seed: int, trial: int, smaller: Case | None) -> Path:
        """Write the case as it was drawn, and its smallest form if that is known, to a file of its own."""
        document: dict[str, Any] = {
            "schema": SCHEMA, "claim": self.name, "statement": self.title, "citation": self.source,
            "sentence": sentence, "trial": trial, "case": case.document(), **provenance(seed),
            **({} if smaller is None else {"smallest": smaller.document()}),
        }  # fmt: skip
        path = make_folder(folder) / f"{self.name}-seed-{seed}-trial-{trial}.json"
        return write_file(path, lambda to: write_json(document, to))


@cache
def pool(workers: int) -> ProcessPoolExecutor:
    """Processes that run trials; Ctrl-C reaches the main process only."""
    return ProcessPoolExecutor(workers, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN))


def _trials_of(name: str, part: tuple[int, int, int]) -> dict[str, Any]:
    """The trials of a range, in a process of its own."""
    return next(one for one in claims([name]) if one.name == name).some_trials(*part)


def claim(name: str, citation: str, *, cases: Callable[[Random, str], Case], **about: Any) -> Callable[[Check], Check]:
    """Register the decorated check as a claim; the first paragraph of its docstring is the statement.

    Args:
        citation: where the claim stands in the papers.
        cases: draws a case of a kind.   about: further attributes of `Claim`: trials, kinds, fields.
    """

    def register_check(check: Check) -> Check:
        statement = " ".join((check.__doc__ or name).split("\n\n")[0].split())
        register(Claim("claims", name, statement, check, source=citation, record=False, generate=cases, **about))
        return check

    return register_check


def claims(names: Sequence[str] = ()) -> list[Claim]:
    """The claims with these names, or beginnings of names, in their usual order; all of them if no name is given.

    Example:
        >>> [one.title for one in claims(["fact-3"])]
        ['Every token of layer k+1 lies in the convex hull of the tokens of layer k.']
    """
    return [one for one in select("claims", names) if isinstance(one, Claim)]


def load_violation(path: Path) -> tuple[Claim, Case]:
    """The claim and the case of a file that `Claim.save` wrote; every field is validated.

    Raises:
        BadInput: the file is missing, damaged, of another kind, or holds a case that cannot be run.
    """
    document = read_document(path, SCHEMA)
    name, known = str(document.get("claim")), {one.name: one for one in claims()}
    if name not in known:
        raise BadInput(f"{path} is about the unknown claim {name[:60]!r}", found=", ".join(known))
    try:
        return known[name], read_case(document.get("case"), known[name].kinds, known[name].fields)
    except BadInput as error:
        raise BadInput(f"{path}: {error.what}", found=error.found, fix=error.fix) from error
