"""How a table is written down, as far as its kind does not say: what separates fields, the decimal mark, names, and what counts
as empty."""
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

from adcli.input.fields import Fault, field_number
from adcli.input.settings import ResultOptions, names
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import composed, repeated
from adcli.tables.streams import SEPARATORS
from adcli.task.rules import require_fit

SPELLINGS = {r"\t": "\t", "tab": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
"""Delimiters that are hard to type."""
NO_DELIMITER = re.compile(r'[^\x20-\x7e\t]|[\w."+\-]', re.ASCII)
"""Characters that delimit nothing: those of numbers, names and quotes."""


@dataclass(frozen=True)
class Dialect:
    """`kind` is csv, tsv or ndjson. `separator` stands between fields where rows have any, `other` in CSV that is made of rows
    that have none or another one; `comma`: numbers have a decimal comma. `columns` are the names where the table has no header,
    None where it has one, empty for the inputs in order. `renamed` gives columns other names; fields that are in `empty` are
    empty, and with `nan` that is NaN. Numbers are to be rounded to a `single`, or are doubles."""

    kind: str
    separator: bytes | None
    other: bytes = b","
    comma: bool = False
    columns: tuple[str, ...] | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)
    empty: frozenset[bytes] = frozenset()
    nan: bool = False
    single: bool = False

    def holds(self, column: Sequence[float]) -> bool:
        """True if finite numbers are finite in the precision, too; False if one is infinite."""
        if not self.single:
            return True
        from adcli.lang.operations.precision import FIRST_TOO_LARGE
        return all(not abs(x) >= FIRST_TOO_LARGE for x in column)

    def is_empty(self, text: bytes) -> bool:
        """True for a field that holds nothing."""
        bare = text.strip(b" \t")
        return not bare or bare in self.empty

    @cached_property
    def empty_words(self) -> list[str]:
        return [word.decode() for word in self.empty]

    @cached_property
    def empty_numbers(self) -> list[float]:
        """The numbers among the fields that count as empty."""
        found = []
        for word in self.empty:
            with suppress(Fault):
                found.append(field_number(word, self.comma))
        return found


def dialect(kind: str, options: ResultOptions, parquet: bool = False) -> Dialect:
    """The dialect of a table of this kind by the options. AdError where they contradict each other or have no meaning."""
    comma = options.decimal == ","
    if parquet or kind == "ndjson":
        require_fit(options, "Parquet" if parquet else "JSON")
    require_fit(options, "CSV and TSV")
    given = delimiter(options.delimiter, comma)
    other = given or (b";" if comma else b",")
    separator = given if given and kind != "ndjson" else other if kind == "csv" else SEPARATORS.get(kind)
    columns = tuple(names(options.columns, "--columns") or ()) if options.no_header else None
    if (twice := repeated(columns or ())) is not None:
        raise AdError(f"--columns names '{twice}' twice")
    empty = frozenset(word.strip().encode() for word in (options.na or "").split(",") if word.strip())
    if options.na is not None and not empty:
        raise AdError("--na names nothing", help="write --na NA,-999")
    kind = kind if separator is None else "tsv" if separator == b"\t" else "csv"
    return Dialect(kind, separator, other, comma, columns, renamed(options.rename), empty,
                   options.missing == "nan", options.precision == "single")


def delimiter(text: str | None, comma: bool) -> bytes | None:
    """The character that --delimiter gives."""
    if text is None:
        return None
    found = SPELLINGS.get(text, text)
    if len(found) != 1 or NO_DELIMITER.search(found):
        raise AdError(f"--delimiter '{text}' is not a delimiter", help="write one character: --delimiter ';', '|' or tab")
    if comma and found == ",":
        raise AdError("--decimal , and --delimiter , cannot be used together", help="leave out --delimiter: it is ; then")
    return found.encode()


def each_pair(given: str) -> list[str]:
    """The pairs of OLD=NEW,OLD=NEW."""
    parts = given.split(",")
    return parts if all(new.strip().isidentifier() for _, _, new in (p.rpartition("=") for p in parts)) and (
        all("=" in p for p in parts)) else [given]


def renamed(pairs: tuple[str, ...]) -> dict[str, str]:
    """The new names of columns by their old ones. An old name may have commas, where what follows one is no pair."""
    found: dict[str, str] = {}
    for pair in (part for given in pairs for part in each_pair(given)):
        old, equals, new = (part.strip() for part in composed(pair).rpartition("="))
        if not (old and equals and new):
            raise AdError(f"--rename '{pair}' is not OLD=NEW", help="write --rename 'my column=x'")
        if old in found:
            raise AdError(f"--rename: '{old}' is renamed twice")
        if new in found.values():
            raise AdError(f"--rename: two columns would be called '{new}'")
        found[old] = new
    return found
