"""The bytes of a program file as text. Nothing of the language is needed for it."""
from __future__ import annotations

from adcli.lang.ir.errors import AdError, Source
from adcli.lang.ir.names import composed


def decode(data: bytes, name: str) -> Source:
    """The text of a program file: UTF-8, with or without a byte order mark, any line ends."""
    if (other := other_encoding(data)) is not None:
        raise AdError(f"not UTF-8: the file looks like {other}", source=Source(name, ""), help="save it as UTF-8")
    zero = data.find(b"\0")
    if zero >= 0:
        raise AdError(f"a NUL byte at byte offset {zero}", source=Source(name, ""), help="a program is plain text")
    try:
        return normal(data.decode("utf-8"), name)
    except UnicodeDecodeError as fault:
        raise AdError(f"not UTF-8: byte 0x{data[fault.start]:02x} at byte offset {fault.start}",
                      source=Source(name, ""), help="save it as UTF-8") from None


def other_encoding(start: bytes) -> str | None:
    """The encoding of wide characters that a byte order mark tells."""
    if start.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):   # the mark of UTF-16 is the beginning of one of UTF-32
        return "UTF-32"
    return "UTF-16" if start.startswith((b"\xff\xfe", b"\xfe\xff")) else None


def normal(text: str, name: str) -> Source:
    """The text as diagnostics count it: no byte order mark, lines ended by a line feed, names composed."""
    return Source(name, composed(text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")))


def is_file_name(text: str) -> bool:
    """Test for a text that is rather a file name than a program."""
    return text.endswith(".ad") and not any(c in text for c in " \t\n=;()*+")
