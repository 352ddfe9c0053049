"""What can go wrong, and the sentence a person reads. One text serves Python and the command line."""

from typing import Any


class HardmaxError(Exception):
    """Base of every error that hardmax raises on purpose.

    Args:
        what: one sentence that names the thing, the place and the caller's own value.
        found: what was found there, if a second line helps.
        fix: what to do about it.
    """

    exit_code = 1

    def __init__(self, what: str, *, found: str | None = None, fix: str | None = None) -> None:
        self.what, self.found, self.fix = what, found, fix
        lines = [what]
        if found:
            lines.append(f"  found: {found}")
        if fix:
            lines.append(f"  fix:   {fix}")
        super().__init__("\n".join(lines))


class BadInput(HardmaxError, ValueError):
    """The input cannot be used as it is: the text says what, where, why, and how to mend it."""

    exit_code = 3


class ContradictoryTargets(BadInput):
    """Two sequences that no transformer of this form can tell apart have different targets.

    Attributes:
        sequences: their two indices.
    """

    def __init__(
        self, what: str, *, found: str | None = None, fix: str | None = None, sequences: tuple[int, int] = (-1, -1)
    ) -> None:
        super().__init__(what, found=found, fix=fix)
        self.sequences = sequences


class ImpossibleTarget(BadInput):
    """A target has more tokens than its sequence has distinct ones; equal tokens stay equal."""


class IllConditioned(BadInput):
    """The answer hangs on a difference that float64 does not resolve; nothing is built on it."""


class MissingExtra(HardmaxError, ImportError):
    """An optional part is not installed; the text holds its pip line."""

    exit_code = 4

    def __init__(self, package: str, extra: str, needed_for: str) -> None:
        super().__init__(
            f"{needed_for} needs the package {package}, which is not installed",
            fix=f'pip install "hardmax[{extra}]"',
        )


class NotFetched(HardmaxError):
    """A download failed, or what came is not what was expected."""

    exit_code = 5


class NotExact(HardmaxError):
    """An exact answer was asked for where only an approximate one exists."""

    exit_code = 3


class NotCertified(HardmaxError):
    """No certificate could be made; the text and `known` say what is known all the same.

    Attributes:
        known: a dict of what was established: `certain` (indices of tokens whose limit is certain),
            `open` (the others), `points` (best known position of every token), `leaders`, `layers`.
    """

    exit_code = 6

    def __init__(
        self, what: str, *, found: str | None = None, fix: str | None = None, known: dict[str, Any] | None = None
    ) -> None:
        super().__init__(what, found=found, fix=fix)
        self.known = known or {}


def need(package: str, extra: str, needed_for: str) -> Any:
    """Import an optional package, or raise `MissingExtra` with its pip line.

    Example:
        >>> need("json", "plot", "a picture").__name__
        'json'
    """
    from importlib import import_module

    try:
        return import_module(package)
    except ImportError as error:
        raise MissingExtra(package.split(".")[0], extra, needed_for) from error
