"""The parts of a .nl file: its header, bounds, starts, linear terms, and the expressions as they stand.

The binary form of .nl files as the text form, item by item.
"""
from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from adcli.lang.ir.errors import AdError, Source, Span
from adcli.lang.syntax.scan import decode as decode_text

SEGMENT = re.compile(r"^([COVLFSJGxdrbkK])(.*)$", re.MULTILINE)
COUNTS = {2: ("variables, constraints and objectives", 3), 3: ("nonlinear rows", 2), 5: ("nonlinear variables", 2),
          8: ("entries", 2), 7: ("discrete variables", 5), 10: ("common expressions", 5)}
"""Lines of the header that are looked at, with what they count, and how many numbers they have at least."""
NUMBERS_OF = {"C": 1, "O": 2, "V": 3, "L": 1, "J": 2, "G": 2, "x": 1, "r": 0, "b": 0}
"""Whole numbers in the line of a segment; others are passed over."""
BOUNDS = {"0": (0, 1), "1": (None, 0), "2": (0, None), "3": (None, None), "4": (0, 0)}
"""Which numbers of a row of bounds are the lower and the upper one, by its kind."""
PASSED_OVER = {"S": "suffixes", "d": "starts of multipliers"}


class RowBody(NamedTuple):
    """An expression: the row it is part of, its text, and where that stands."""

    row: int
    text: str
    start: int


@dataclass(eq=False, repr=False)
class NlModel:
    """A model: `bodies` and `linear` terms (row, variable, coefficient) of constraints C, objectives O and common expressions V.
    `lines` are the linear terms as they stand: row, number, text, and place."""

    source: Source
    header: list[list[int]]
    bodies: dict[str, list[RowBody]] = field(default_factory=lambda: {"C": [], "O": [], "V": []})
    lines: dict[str, list[tuple[int, int, str, int]]] = field(default_factory=lambda: {"C": [], "O": [], "V": []})
    linear: dict[str, np.ndarray] = field(default_factory=dict)
    maximized: dict[int, bool] = field(default_factory=dict)
    places: dict[tuple[str, int], int] = field(default_factory=dict)
    seen: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        (self.variables, self.constraints, self.objectives), self.common = self.header[1][:3], sum(self.header[9][:5])
        self.start = np.zeros(self.variables)
        self.bounds = {"b": np.full((2, self.variables), [[-np.inf], [np.inf]]),
                       "r": np.full((2, self.constraints), [[-np.inf], [np.inf]])}

    def count(self, kind: str) -> int:
        return {"C": self.constraints, "O": self.objectives, "V": self.common, "x": self.variables}[kind]

    @property
    def discrete(self) -> np.ndarray:
        """The variables that are whole numbers in the model, by the order that a .nl file has."""
        (in_rows, in_objectives, *rest), (binary, whole, both, rows, objectives) = self.header[4], self.header[6][:5]
        in_both = rest[0] if rest else 0
        nonlinear = max(in_rows, in_objectives)
        ends = ((in_both, both), (in_rows, rows), (nonlinear if objectives else 0, objectives), (self.variables, binary + whole))
        return np.concatenate([np.arange(max(end - n, 0), end) for end, n in ends])

    def fault(self, message: str, place: int, help: str | None = None) -> AdError:
        """The error at a line of the file."""
        return AdError(message, self.span(place), help, self.source)

    def span(self, place: int) -> Span:
        end = self.source.text.find("\n", place)
        return place, len(self.source.text) if end < 0 else end


def model(source: Source) -> NlModel:
    """The parts of a text. AdError where it is not whole."""
    text = source.text
    if "#" in text:   # comments become blanks, so that places stay
        text = re.sub(r"#.*", lambda m: " " * len(m[0]), text)
    found = NlModel(source, header(source))
    begin = len("\n".join(text.split("\n", HEADER)[:HEADER])) + 1
    segments = list(SEGMENT.finditer(text, begin))
    ends = [m.start() for m in segments[1:]] + [len(text)] * bool(segments)
    if text[begin:segments[0].start() if segments else len(text)].strip():
        raise found.fault("expected a segment, which begins with one of C O V r b x J G k", begin)
    for m, end in zip(segments, ends, strict=True):
        segment(found, m, text[m.end() + 1:end])
    for kind, each in found.lines.items():
        found.linear[kind] = linear(found, each)
    whole(found)
    if not found.objectives:   # any point where the conditions hold
        found.objectives, found.maximized[0], found.places["O", 0] = 1, False, 0
        found.bodies["O"].append(RowBody(0, "n0\n", 0))
    return found


def header(source: Source) -> list[list[int]]:
    """The numbers of the header, line by line."""
    lines = [line.lstrip("gb") for line in source.text.split("\n", HEADER)[:HEADER]]
    found: list[list[int]] = []
    for k, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        numbers = [int(w) for w in words if w.isdecimal() and len(w) < 10]
        what, least = COUNTS.get(k, ("", 0))
        if len(numbers) < least or (least and len(numbers) < len(words)):
            raise AdError(f"line {k} of the header has the numbers of {what}, at least {least}",
                          (source.start_of(k), source.start_of(k) + len(line)), None, source)
        found.append(numbers)
    if len(found) < HEADER:
        raise AdError(f"the file ends in its header, which has {HEADER} lines", source=source)
    if sum(found[1][:3]) > len(source.text):
        raise AdError("the header counts more than the file has", source=source)
    return found


def segment(found: NlModel, m: re.Match[str], body: str) -> None:
    """Take a segment in."""
    letter, place = m[1], m.start()
    words = m[2].split()
    if letter in "LF":
        raise found.fault("logical constraints are not read" if letter == "L" else "imported functions are not read", place,
                          "write the model without them")
    found.seen.setdefault(letter, place)
    if letter not in NUMBERS_OF:
        return
    try:
        numbers = [int(w) for w in words]
    except ValueError:
        numbers = []
    if len(numbers) < NUMBERS_OF[letter]:
        raise found.fault(f"expected {NUMBERS_OF[letter]} whole numbers behind {letter}", place)
    row = numbers[0] if numbers else 0
    kind = {"J": "C", "G": "O"}.get(letter, letter)
    first = found.variables if kind == "V" else 0
    if kind in found.bodies and not first <= row < first + found.count(kind):
        raise found.fault(f"{letter}{row} is beyond what the header counts", place)
    if letter in "COV":
        expression(found, kind, numbers, place, body)
    elif letter in "JG":
        found.lines[kind].append((row, numbers[1], body, place))
    elif letter == "x":
        starts = pairs(found, body, row, place)
        found.start[indices(found, starts[0], place)] = starts[1]
    else:
        bounds(found, letter, body, place)


def expression(found: NlModel, kind: str, numbers: Sequence[int], place: int, body: str) -> None:
    """Take the expression of a row in, and the linear terms of a common one."""
    row, start = numbers[0] - (found.variables if kind == "V" else 0), found.span(place)[1] + 1
    if (kind, row) in found.places:
        raise found.fault(f"{kind}{numbers[0]} is there twice", place)
    found.places[kind, row] = place
    if kind == "O":
        found.maximized[row] = numbers[1] == 1
    if kind == "V" and numbers[1]:
        head = re.match(rf"(.*\n){{{numbers[1]}}}", body) if 0 < numbers[1] <= found.variables else None
        if head is None:
            raise found.fault(f"expected {numbers[1]} linear terms", place)
        found.lines["V"].append((row, numbers[1], head[0], place))
        body, start = body[head.end():], start + head.end()
    found.bodies[kind].append(RowBody(row, body, start))


def linear(found: NlModel, lines: Sequence[tuple[int, int, str, int]]) -> np.ndarray:
    """Linear terms as three columns: all at once, and where that cannot be, one after another to find out why."""
    rows, counts = (np.array([each[k] for each in lines], dtype=np.int64) for k in (0, 1))
    try:
        made = pairs(found, "".join([body for _, _, body, _ in lines]), int(counts.sum()), 0)
        if [body.count("\n") for _, _, body, _ in lines[:-1]] != counts[:-1].tolist():
            raise AdError("")
    except AdError:
        for _, count, body, place in lines:
            pairs(found, body, count, place)
        raise
    return np.vstack([np.repeat(rows, counts), made])


def pairs(found: NlModel, body: str, rows: int, place: int) -> np.ndarray:
    """Rows of two numbers, a variable and a number, as two arrays."""
    try:
        numbers = np.array(body.split(), dtype=np.float64)
    except ValueError as error:
        raise found.fault(f"these lines have a variable and a number each: {error}", place) from None
    if len(numbers) != 2 * rows:
        raise found.fault(f"expected {rows} lines of a variable and a number, and there are {len(numbers) / 2:g}", place)
    made = numbers.reshape(rows, 2).T
    indices(found, made[0], place)
    return made


def indices(found: NlModel, numbers: np.ndarray, place: int) -> np.ndarray:
    if not ((numbers >= 0) & (numbers < found.variables) & (numbers == np.floor(numbers))).all():
        raise found.fault(f"the variables are 0 to {found.variables - 1}", place)
    return numbers.astype(np.int64)


def bounds(found: NlModel, letter: str, body: str, place: int) -> None:
    """Take the bounds of the variables or of the constraints in."""
    lines = body.split("\n")
    into = found.bounds[letter]
    for i in range(into.shape[1]):
        words = lines[i].split() if i < len(lines) else []
        if words[:1] == ["5"]:
            raise found.fault("complementarity is not read", after(found, place, i),
                              "write it as conditions: x >= 0, g >= 0, x*g == 0")
        try:
            low, high = BOUNDS[words[0]]
            numbers = [float(w) for w in words[1:]]
            into[:, i] = -np.inf if low is None else numbers[low], np.inf if high is None else numbers[high]
        except (KeyError, IndexError, ValueError):
            raise found.fault("expected bounds: 0 LOW HIGH, 1 HIGH, 2 LOW, 3, or 4 VALUE", after(found, place, i)) from None


def after(found: NlModel, place: int, lines: int) -> int:
    """The place of the line so many lines behind the first one of a segment."""
    number = min(found.source.place(place)[0] + lines + 1, found.source.text.count("\n") + 1)
    return found.source.start_of(number)


def whole(found: NlModel) -> None:
    """AdError where rows that the header counts are not there."""
    for kind, what in (("C", "constraint"), ("O", "objective"), ("V", "common expression")):
        there = {body.row for body in found.bodies[kind]}
        if lacking := set(range(found.count(kind))) - there:
            raise AdError(f"{what} {min(lacking)} is not there: the file has {len(there)} of {found.count(kind)}",
                          source=found.source)
    for kind, counted in zip("CO", found.header[7], strict=False):
        entries = found.linear[kind].shape[1]
        if entries < counted:
            raise AdError(f"the file ends too early: it has {entries} of {counted} entries of its Jacobian", source=found.source)
    for letter, what in (("r", "constraints"), ("b", "variables")):
        if letter not in found.seen and found.bounds[letter].size:
            raise AdError(f"the bounds of the {what}, segment {letter}, are not there", source=found.source)


# ---------------------------------------------------------------- binary

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
