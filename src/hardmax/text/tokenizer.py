"""Custom tokenizers in place of the rules of `hardmax.text.words`: a function or a Hugging Face file."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from hardmax.errors import BadInput, need
from hardmax.text.words import Word

Given = Callable[[str], Iterable[Any]] | str | Path  # or a tokenizer of Hugging Face


class Tokenizer:
    """A tokenizer that was given; `words` applies it.

    Args:
        given: a function from a text to its words, which are strings or pairs (start, end) of places in the text; or a
            file `tokenizer.json` of Hugging Face's `tokenizers` (extra `tokenizers`), or such a tokenizer.

    Example:
        >>> [(w.form, w.start) for w in Tokenizer(str.split).words("so good, so")]
        [('so', 0), ('good,', 3), ('so', 9)]
    """

    def __init__(self, given: Given) -> None:
        self.given: Any = given
        self._encoder: Any = None
        if isinstance(given, str | Path):
            path = Path(given)
            if not path.is_file():
                raise BadInput(
                    f"there is no tokenizer file {path}", fix="pass a tokenizer.json, or a function from text to words"
                )
            self._encoder = _encoder(path.read_text(encoding="utf-8"))
        elif hasattr(given, "encode") and hasattr(given, "to_str"):
            self._encoder = _encoder(given.to_str())  # a copy: truncation and padding of the given one stay as they are
        elif not callable(given):
            raise BadInput("tokenizer must be a function or a tokenizer.json", found=f"{type(given).__name__}")

    @classmethod
    def stored(cls, text: str) -> "Tokenizer":
        """From the contents of a tokenizer.json."""
        return cls(_encoder(text))

    def stores(self) -> str:
        """The contents of a tokenizer.json.

        Raises:
            BadInput: the tokenizer is a function.
        """
        if self._encoder is None:
            raise BadInput(
                "a model whose tokenizer is a Python function cannot be saved",
                found=getattr(self.given, "__name__", type(self.given).__name__),
                fix="use a tokenizer.json of Hugging Face's tokenizers, or pickle the classifier",
            )
        return str(self._encoder.to_str())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tokenizer):
            return NotImplemented
        if self._encoder is None or other._encoder is None:
            return bool(self.given == other.given)
        return self.stores() == other.stores()

    def __hash__(self) -> int:
        return hash(self._encoder is None)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return (Tokenizer, (self.given,)) if self._encoder is None else (Tokenizer.stored, (self.stores(),))

    def words(self, text: str) -> list[Word]:
        """The words of a text with their places, all in one sentence."""
        if self._encoder is not None:
            found = self._encoder.encode(text, add_special_tokens=False)
            pieces: Sequence[Any] = [(token, *place) for token, place in zip(found.tokens, found.offsets, strict=True)]
        else:
            pieces = _placed(text, self.given(text))
        tidy = ((" ".join(form.split()), start, end) for form, start, end in pieces)
        return [Word(form, start, end) for form, start, end in tidy if form]


def _placed(text: str, words: Iterable[Any]) -> list[tuple[str, int, int]]:
    """Words and their places, in either case; one that is not in the text (a stem) is where the one before it ended."""
    if isinstance(words, str) or not isinstance(words, Iterable):
        raise BadInput("the tokenizer must return a list of words or of (start, end) positions", found=repr(words)[:80])
    found, at, lower = [], 0, text.lower()
    lower = lower if len(lower) == len(text) else text
    for word in words:
        if isinstance(word, str):
            start = min((k for k in (text.find(word, at), lower.find(word.lower(), at)) if k >= 0), default=-1)
            place = (at, at) if start < 0 else (start, start + len(word))
            found.append((word, *place))
        elif (
            isinstance(word, Sequence) and len(word) == 2 and all(isinstance(v, int) for v in word)
            and 0 <= word[0] <= word[1] <= len(text)
        ):  # fmt: skip
            place = word[0], word[1]
            found.append((text[place[0] : place[1]], *place))
        else:
            raise BadInput(
                "every word from the tokenizer must be a string or a (start, end) position", found=repr(word)[:80]
            )
        at = place[1]
    return found


def _encoder(text: str) -> Any:
    tokenizers = need("tokenizers", "tokenizers", "a tokenizer.json")
    try:
        encoder = tokenizers.Tokenizer.from_str(text)
    except Exception as error:  # the library raises Exception itself
        raise BadInput(f"the tokenizer.json cannot be read: {error}") from error
    encoder.no_truncation()
    encoder.no_padding()
    return encoder
