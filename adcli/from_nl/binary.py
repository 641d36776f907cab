"""The binary form of .nl files as the text form, item by item."""
from __future__ import annotations

import struct
from collections.abc import Iterator

from adcli.lang.ir.errors import AdError, Source
from adcli.lang.syntax.source import decode as decode_text

HEADER = 10
"""Lines of the header, which is text in both forms."""
ITEMS = {"n": "d", "v": "i", "s": "h", "l": "i", "o": "i", "C": "i", "L": "i", "O": "ii", "V": "iii", "x": "i", "d": "i",
         "k": "i", "K": "i", "J": "ii", "G": "ii", "r": "", "b": "", "f": "ii", "h": "", "S": "ii", "F": "iii"}
"""The numbers behind each letter, as `struct` has them."""
COUNTED = {11, 12, 54, 59, 60, 61, 64, 70, 71, 74, 75}
"""Opcodes with a number of operands behind them."""
ORDERS = {0: "<", 1: "<", 2: ">"}
"""Orders of bytes by the number in the sixth line of the header."""


def decode(data: bytes, name: str) -> Source:
    """The text form of a file. AdError where it is neither form, or ends too early."""
    if data[:1] == b"b":
        try:
            return Source(name, BinaryForm(data, name).text())
        except struct.error:
            raise ended(name, "the middle of an item", data) from None
    source = decode_text(data, name)
    if not source.text.startswith("g"):
        what = f"begins with {source.text[:1]!r}, not with g or b" if source.text else "is empty"
        raise AdError(f"not a .nl file: it {what}", source=Source(name, ""))
    return source


def ended(name: str, where: str, data: bytes) -> AdError:
    return AdError(f"the file ends in {where}: it has {len(data):,} bytes", source=Source(name, ""))


class BinaryForm:
    """A file in binary form, read from `at` on."""

    def __init__(self, data: bytes, name: str) -> None:
        self.data, self.name, self.at = data, name, 0
        for _ in range(HEADER):
            self.at = data.find(b"\n", self.at) + 1
            if not self.at:
                raise ended(name, "its header", data)
        self.head = data[:self.at].decode("latin-1")
        words = self.head.split("\n")[5].partition("#")[0].split()
        kind = int(words[2]) if len(words) > 2 and words[2].isdecimal() else 0
        if kind not in ORDERS:
            raise AdError(f"numbers of kind {kind} (line 6) are neither of the two orders of bytes", source=Source(name, ""))
        self.order = ORDERS[kind]

    def take(self, kinds: str) -> tuple[float, ...]:
        found = struct.unpack_from(self.order + kinds, self.data, self.at)
        self.at += struct.calcsize(self.order + kinds)
        return found

    def word(self) -> str:
        """A text with its length before it."""
        length = int(self.take("i")[0])
        found = self.data[self.at:self.at + length]
        if length < 0 or len(found) < length:
            raise struct.error
        self.at += length
        return found.decode("latin-1")

    def text(self) -> str:
        sizes = [int(w) for w in self.head.split("\n")[1].partition("#")[0].split()[:2] if w.isdecimal()]
        rows = dict(zip("br", sizes, strict=False))
        return self.head + "".join(f"{line}\n" for line in self.lines(rows))

    def lines(self, rows: dict[str, int]) -> Iterator[str]:
        while self.at < len(self.data):
            letter, place = chr(self.data[self.at]), self.at
            self.at += 1
            if letter not in ITEMS:
                raise AdError(f"byte {place:,}: {self.data[place]:#04x} begins nothing that a .nl file has",
                              source=Source(self.name, ""), help="perhaps its numbers have the other order of bytes")
            numbers = self.take(ITEMS[letter])
            if letter in "hSF":
                yield f"{letter}{' '.join(map(str, numbers))} {self.word()}"
            else:
                yield letter + " ".join(map(repr, numbers))
            if letter == "o" and numbers[0] in COUNTED:
                yield str(self.take("i")[0])
            elif letter in "br":
                yield from (self.bound() for _ in range(rows.get(letter, 0)))
            elif letter in "kK":
                yield from (str(self.take("i")[0]) for _ in range(int(numbers[0])))
            elif letter in "xdJGSV":
                value = "i" if letter == "S" and not int(numbers[0]) & 4 else "d"
                yield from ("{} {!r}".format(*self.take("i" + value)) for _ in range(int(numbers[letter in "JGSV"])))

    def bound(self) -> str:
        """A row of bounds: its kind and its numbers."""
        kind = chr(int(self.take("B")[0]))
        numbers = self.take({"0": "dd", "3": "", "5": "ii"}.get(kind, "d"))
        return " ".join([kind, *map(repr, numbers)])
