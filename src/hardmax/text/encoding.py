"""Bytes to text without guessing: UTF-8, or UTF-16 and UTF-32 with a byte order mark. Anything else is refused."""

import codecs
import re
from pathlib import Path
from shlex import quote

from hardmax.errors import BadInput

_MARKS = {  # in this order: the mark of UTF-32 begins with that of UTF-16
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_BROKEN = re.compile("[\udc80-\udcff]")  # what "surrogateescape" makes of a byte that is not UTF-8
_START = 1024  # bytes in which a file without zeros is taken for text


def encoding_of(start: bytes, name: str) -> str:
    """The encoding that the first bytes of a file tell: by its byte order mark, otherwise UTF-8.

    Raises:
        BadInput: there are zero bytes as in UTF-16, but no mark.

    Example:
        >>> encoding_of("text".encode("utf-16"), "a.csv"), encoding_of(b"text", "a.csv")
        ('utf-16', 'utf-8')
    """
    for mark, encoding in _MARKS.items():
        if start.startswith(mark):
            return encoding
    if len(start) >= 4 and (not any(start[1:64:2]) or not any(start[:64:2])):
        raise BadInput(f"{name} looks like UTF-16 without a byte order mark", fix=_iconv("UTF-16LE", name))
    return "utf-8"


def file_encoding(path: Path) -> str:
    """The encoding of a file."""
    with open(path, "rb") as file:
        return encoding_of(file.read(_START), str(path))


def decoded(data: bytes, name: str, is_file: bool = False) -> str:
    """The text of some bytes; `name` says in an error where they come from, and whether that is a file.

    Raises:
        BadInput: they are in another encoding.

    Example:
        >>> decoded("\ufeffcafé".encode(), "the text")
        'café'
    """
    try:
        return data.decode(encoding_of(data[:_START], name))
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{name} is not UTF-8",
            found=f"byte 0x{data[error.start]:02x} at position {error.start}",
            fix=_iconv("WINDOWS-1252", name) if is_file else "decode it with its own encoding: data.decode('latin-1')",
        ) from error


class Checked:
    """Lines of a file that was opened with errors="surrogateescape", checked one after the other.

    A file of another encoding is refused at the first byte that is not UTF-8, unless there was UTF-8 beyond ASCII
    before: then only that line is damaged.
    """

    def __init__(self, name: str) -> None:
        self.name, self.foreign = name, False

    def good(self, line: str, number: int) -> bool:
        """Whether a line can be used.

        Raises:
            BadInput: the file is in another encoding.

        Example:
            >>> checked = Checked("a.csv")
            >>> checked.good("café", 1), checked.good(b"caf\\xe9".decode("utf-8", "surrogateescape"), 2)
            (True, False)
        """
        if line.isascii():
            return True
        broken = _BROKEN.search(line)
        if broken is None:
            self.foreign = True
            return True
        if not self.foreign:
            raise BadInput(
                f"{self.name} is not UTF-8: it may be Latin-1 or Windows-1252",
                found=f"byte 0x{ord(broken[0]) - 0xDC00:02x} in line {number}",
                fix=_iconv("WINDOWS-1252", self.name),
            )
        return False


def _iconv(encoding: str, name: str) -> str:
    path = Path(name)
    if not path.is_file():  # standard input, or bytes
        return f"convert it with iconv -f {encoding} -t UTF-8"
    to = path.with_name(f"{path.stem}-utf8{path.suffix}")
    return f"convert it: iconv -f {encoding} -t UTF-8 {quote(name)} > {quote(str(to))}"
