"""Errors and their messages. The same text serves Python and the command line."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class HardmaxError(Exception):
    """Base of every error that hardmax raises on purpose.

    Args:
        what: one sentence that names the thing, the place and the caller's own value.
        found: what was found there, if a second line helps.
        fix: what to do about it.

    Example:
        >>> print(HardmaxError("alpha is 0; expected a number > 0", fix="the paper uses alpha = 0.5"))
        alpha is 0; expected a number > 0
          fix:   the paper uses alpha = 0.5
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
    """The input cannot be used as it is. The message says what is wrong, where, why, and how to fix it.

    Example:
        >>> import hardmax as hx
        >>> try:
        ...     hx.simulate([[1, 2], [3]])
        ... except BadInput as error:
        ...     print(error.what)
        Z: token 1 has 1 coordinate, but token 0 has 2
    """

    exit_code = 3


class ContradictoryTargets(BadInput):
    """Two sequences that no transformer of this form can tell apart have different targets.

    Attributes:
        sequences: their two indices.

    Example:
        >>> import hardmax as hx
        >>> try:
        ...     hx.construct([[[0, 1]], [[0, 1]]], ["yes", "no"])
        ... except ContradictoryTargets as error:
        ...     print(error.sequences)
        (0, 1)
    """

    def __init__(
        self, what: str, *, found: str | None = None, fix: str | None = None, sequences: tuple[int, int] = (-1, -1)
    ) -> None:
        super().__init__(what, found=found, fix=fix)
        self.sequences = sequences


class ImpossibleTarget(BadInput):
    """A target has more distinct tokens than its sequence; equal tokens stay equal.

    Example:
        >>> import hardmax as hx
        >>> try:
        ...     hx.construct([[[0, 1], [0, 1]]], targets=[[[1, 0], [2, 0]]])
        ... except ImpossibleTarget as error:
        ...     print(error.what.split(";")[0])
        targets[0] has 2 distinct tokens, but sequences[0] has only 1 distinct token among its 2
    """


class IllConditioned(BadInput):
    """The answer depends on a difference that float64 does not resolve, so nothing is built on it.

    Example:
        >>> issubclass(IllConditioned, BadInput), IllConditioned.exit_code
        (True, 3)
    """


class MissingExtra(HardmaxError, ImportError):
    """An optional package is not installed; the message gives the pip command.

    Example:
        >>> print(MissingExtra("matplotlib", "plot", "a picture").fix)
        pip install "hardmax[plot]"
    """

    exit_code = 4

    def __init__(self, package: str, extra: str, needed_for: str) -> None:
        self.missing = package, extra, needed_for
        super().__init__(
            f"{needed_for} needs the package {package}, which is not installed",
            fix=f'pip install "hardmax[{extra}]"',
        )

    def __reduce__(self) -> tuple[Any, ...]:  # for processes that hand errors on
        return MissingExtra, self.missing


class NotFetched(HardmaxError):
    """A download failed, or the downloaded file does not match its checksum.

    Example:
        >>> NotFetched("the download failed", fix="Check your network connection.").exit_code
        5
    """

    exit_code = 5


class NotExact(HardmaxError):
    """An exact answer was requested where only an approximate one exists.

    Example:
        >>> import hardmax as hx
        >>> try:
        ...     hx.simulate([[1, 2]], rule=hx.Softmax(), exact=True)
        ... except NotExact as error:
        ...     print(error.what)
        Softmax(beta=1.0) has no rational values
    """

    exit_code = 3


class NotCertified(HardmaxError):
    """No certificate could be computed; the message and `known` say what is known nevertheless.

    Attributes:
        known: a dict of what was established: `certain` (indices of tokens whose limit is certain),
            `open` (the others), `points` (best known position of every token), `leaders`, `layers`.

    Example:
        >>> import hardmax as hx
        >>> try:
        ...     hx.limit(hx.preset("emerging"), max_layers=0)
        ... except NotCertified as error:
        ...     print(error.known["certain"])
        [0 2 3 4 5 6 7]
    """

    exit_code = 6

    def __init__(
        self, what: str, *, found: str | None = None, fix: str | None = None, known: dict[str, Any] | None = None
    ) -> None:
        super().__init__(what, found=found, fix=fix)
        self.known = known or {}


@contextmanager
def failing(what: str, fix: str | None = None) -> Iterator[None]:
    """Turn an OSError of the block into a `BadInput` that says what failed, and the reason that the system gives.

    Example:
        >>> with failing("notes.txt cannot be read"):
        ...     open("no such folder/notes.txt")
        Traceback (most recent call last):
        hardmax.errors.BadInput: notes.txt cannot be read: No such file or directory
    """
    try:
        yield
    except OSError as error:
        raise BadInput(f"{what}: {error.strerror or error}", fix=fix) from error


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number and its noun in the right form.

    Example:
        >>> counted(1, "leader"), counted(1200, "token"), counted(2, "trajectory", "trajectories")
        ('1 leader', '1,200 tokens', '2 trajectories')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def whole(name: str, value: Any, least: int | None = None, most: int | None = None, note: str = "") -> int:
    """The value as an int, if it is a whole number within these bounds; otherwise BadInput with its name.

    Args:
        note: what the message says after the bounds.

    Example:
        >>> whole("layers", 3, least=0)
        3
    """
    from numbers import Integral

    fits = isinstance(value, Integral) and not isinstance(value, bool)
    if fits and (least is None or value >= least) and (most is None or value <= most):
        return int(value)
    bounds = "" if least is None else f" of at least {least}" if most is None else f" from {least} to {most}"
    raise BadInput(f"{name} is {value if fits else repr(value)}; expected a whole number{bounds}{note}")


def need(package: str, extra: str, needed_for: str) -> Any:
    """Import an optional package, or raise `MissingExtra` with the pip command that installs it.

    Example:
        >>> need("json", "plot", "a picture").__name__
        'json'
    """
    from importlib import import_module

    try:
        return import_module(package)
    except ImportError as error:
        raise MissingExtra(package.split(".")[0], extra, needed_for) from error
