"""The error of a wrong program: one exception type, with the place, the reason and the fix.

`lang` raises `AdError` and nothing else for bad programs. An error knows its source text and the span (half-open
character offsets) it speaks of; `str(error)` is the whole diagnostic, so that a Python user sees what a shell user sees.
Several faults of one file travel as one error whose `more` holds the others.
"""
from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import field
from types import MappingProxyType
from typing import Any, NamedTuple

from adcli.lang.ir.records import value_record

Span = tuple[int, int]


class FunctionCall(NamedTuple):
    """A call of a function, whose operations stand in the program in its place; `outer` is the call in whose function it is."""

    name: str
    span: Span
    outer: FunctionCall | None


class CalledSpan(tuple[int, int]):
    """The span of an operation that a call brought into the program: passes hand it on as any span, and it travels as one."""

    call: FunctionCall

    def __reduce__(self) -> tuple[object, ...]:
        return tuple, (tuple(self),)


MOST_FAULTS = 20
"""Faults of one text that are reported together."""

EXCERPT_WIDTH = 100
"""Characters of a source line that a diagnostic shows; a longer line is cut around the carets."""
LONGEST_WORD, LONGEST_PART = 1000, 4000
"""Characters without a blank, and characters of a message or a help, that a diagnostic shows; what is longer is cut."""

UNSEEN = "[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]|\r(?!\n)"
"""Characters that a terminal obeys instead of showing: controls, changes of the direction of writing, line separators, and
what is no character. Line ends and tabs are none of these. (A pattern that few runs make.)"""


class Fix(NamedTuple):
    """A change that mends a fault: the text `start`..`end` of the source becomes `text`. One that is not certain is a guess at
    what was meant: a question to the user, and no part of another fix."""

    start: int
    end: int
    text: str
    certain: bool = True

    def applied(self, text: str) -> str:
        return text[:self.start] + self.text + text[self.end:]


class SourceOrigin:
    """The text in another language that a program was made of, the `data` that it has for inputs, as their defaults, and notes
    on it."""

    data: Mapping[str, Any] = MappingProxyType({})
    notes: Sequence[Note] = ()

    def shown(self, text: str, span: Span, element: str = "") -> tuple[Source, Span]:
        """The text that was read, and the part of it that a part of the program's text came from, for one `element` of what it
        assigns."""
        raise NotImplementedError


@value_record
class Source:
    """A text with the name it goes by in messages; `definition` names the one function of tensors that it is, where it is one.
    With `exact_order` sums of products are taken as it has them, with `checkpoint` every loop is a checkpointed one, and with
    `equations` an output `a == b` is the difference of both sides. What was read from another language has an `origin`."""

    name: str
    text: str
    definition: str | None = None
    exact_order: bool = False
    checkpoint: bool = False
    equations: bool = False
    origin: SourceOrigin | None = field(default=None, compare=False, repr=False)
    _starts: list[int] = field(default_factory=list, compare=False, repr=False)

    def shown(self, span: Span, element: str = "") -> tuple[Source, Span]:
        """The text that the user wrote, and the part of it that a part of this text came from."""
        return self.origin.shown(self.text, span, element) if self.origin else (self, span)

    def where(self, span: Span, element: str = "") -> tuple[str, int, int]:
        """File, line and column of a part of the text, as the user wrote it."""
        source, (start, _) = self.shown(span, element)
        return source.name, *source.place(start)

    def quoted(self, span: Span, element: str = "") -> str:
        """A part of the text, as the user wrote it."""
        source, (start, end) = self.shown(span, element)
        return source.text[start:end]

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of a character offset, both counted from 1."""
        starts = self._line_starts()
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Line `number` (from 1) without its line end."""
        starts = self._line_starts()
        end = starts[number] if number < len(starts) else len(self.text)
        return self.text[starts[number - 1]:end].rstrip("\r\n")

    def start_of(self, number: int) -> int:
        """The offset at which line `number` starts (from 1)."""
        return self._line_starts()[number - 1]

    def _line_starts(self) -> list[int]:
        if not self._starts:
            self._starts.append(0)
            at = self.text.find("\n")
            while at >= 0:
                self._starts.append(at + 1)
                at = self.text.find("\n", at + 1)
        return self._starts


OPTION = r"⟦--([^ ⟧]+) ?([^⟧]*)⟧"
"""An option in a message, with its value where it has one."""
FRONT: ContextVar[Callable[[re.Match[str]], str]] = ContextVar("FRONT", default=lambda option: option[0][1:-1])
"""How the front in force writes an option: as the shell has it, or as an argument in Python."""


def worded(text: str) -> str:
    """A message with its options ⟦--of v⟧ in the words of the front in force."""
    return re.sub(OPTION, FRONT.get(), text) if "⟦" in text else text


class AdError(ValueError):
    """Something is wrong with a program or a point.

    `message` says what; `span` and `source`, where known, say where; `help` says how to mend it, and `fix` does so; `more` holds
    further errors found in the same run. `line` and `column` count from 1 and are None where there is no place.
    """

    def __init__(self, message: str, span: Span | None = None, help: str | None = None, source: Source | None = None,
                 more: Iterable[AdError] = (), fix: Fix | None = None) -> None:
        self.message, self.help = worded(message), help and worded(help)
        super().__init__(self.message)
        self.span, self.source, self.more, self.fix = span, source, tuple(more), fix

    @property
    def line(self) -> int | None:
        return self.source.where(self.span)[1] if self.source and self.span else None

    @property
    def column(self) -> int | None:
        return self.source.where(self.span)[2] if self.source and self.span else None

    def __str__(self) -> str:
        return "\n".join([diagnostic("error", self.message, self.span, self.source, self.help), *map(str, self.more)])

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message, self.span, self.help, self.source, self.more, self.fix)


class Unfit(AdError):
    """Values do not fit a program: a fault of the point, although it has a place in the program."""


AdError.__module__ = "adcli"   # what users import it from, and what a traceback calls it


def together(faults: Iterable[AdError]) -> AdError:
    """Several errors as one, in order of their places; at most `MOST_FAULTS` of them."""
    first, *rest = sorted(faults, key=lambda e: e.span or (0, 0))[:MOST_FAULTS]
    first.more = tuple(rest)
    return first


@value_record
class Note:
    """Something worth knowing about a program that is not an error, at an `element` of what the place assigns."""

    message: str
    span: Span | None = None
    source: Source | None = None
    element: str = ""

    def __str__(self) -> str:
        return diagnostic("note", self.message, self.span, self.source, element=self.element)


def diagnostic(kind: str, message: str, span: Span | None, source: Source | None, help: str | None = None,
               element: str = "") -> str:
    """One diagnostic: place, kind and message, the source line with carets, help. The only shape there is. Whatever names and
    numbers are in it, it is as many lines as it seems, it can be shown, and it can be read."""
    lines = []
    if source and span:
        source, span = source.shown(span, element)
    name = source and one_line(source.name)
    if source is None:
        lines.append(f"{kind}: {one_line(message)}")
    elif span is None:
        lines.append(f"{name}: {kind}: {one_line(message)}")
    else:
        line, column = source.place(span[0])
        lines.append(f"{name}:{line}:{column}: {kind}: {one_line(message)}")
        if kind == "error":
            lines += excerpt(source.line(line), column - 1, span[1] - span[0])
    if help:
        lines.append(f"help: {one_line(help, LONGEST_PART)}")
    return "\n".join(lines)


def one_line(text: str, longest_word: int = LONGEST_WORD) -> str:
    """A part of a diagnostic, on one line."""
    if len(text) > longest_word:
        text = re.sub(rf"\S{{{longest_word},}}", lambda m: shortened(m[0], longest_word), text)
    return visible(shortened(text, LONGEST_PART)).replace("\n", r"\n")


def shortened(text: str, longest: int) -> str:
    """A text, or where it is too long its head and its tail."""
    if len(text) <= longest:
        return text
    return f"{text[:longest // 2]} … {text[-longest // 4:]} ({len(text):,} characters)"


def visible(text: str) -> str:
    """A text for a terminal: what it would obey is shown, as \\x1b."""
    return text if text.isprintable() else re.sub(UNSEEN, lambda m: escape(m[0]), text)


def escape(c: str) -> str:
    """A character, or a byte that is not one, as Python spells it."""
    code = ord(c) - 0xdc00 if "\udc80" <= c <= "\udcff" else ord(c)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def excerpt(line: str, start: int, length: int, width: int = EXCERPT_WIDTH) -> list[str]:
    """The source line and the carets under `length` characters from `start`, cut to a readable width."""
    length = max(1, min(length, len(line) - start, width))
    first = 0 if len(line) <= width else max(0, min(start - width // 3, len(line) - width))
    shown = line[first:first + width]
    left = "…" if first else ""
    right = "…" if first + width < len(line) else ""
    under = "".join("\t" if c == "\t" else " " for c in left + shown[:start - first])
    printable = "".join(c if c == "\t" or c.isprintable() else "�" for c in shown)
    return [f"    {left}{printable}{right}", f"    {under}{'^' * min(length, max(1, len(shown) - start + first))}"]


def unknown(what: str, word: str, known: Iterable[str], synonyms: Mapping[str, str] = MappingProxyType({})) -> AdError:
    """The error for a word that is none of the known ones."""
    known, several = list(known), f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return AdError(f"no {what} '{word}'", help=nearest(word, known, synonyms) or f"the {several} are {', '.join(known)}")


def nearest(word: str, known: Iterable[str], synonyms: Mapping[str, str] = MappingProxyType({})) -> str | None:
    """Help for an unknown word: `did you mean 'exp'?`, or None where nothing known is close.

    The first of these: what `synonyms` calls it here; a known word with other capitals, with its letters in another order, that
    begins with it, or that is spelled almost as it is. A synonym that is not a known word is said to be written.
    """
    words = list(known)
    found = meant(word, words, synonyms)
    if found is None:
        return None
    return f"did you mean '{found}'?" if found in words else f"write {found}"


def meant(word: str, known: list[str], synonyms: Mapping[str, str] = MappingProxyType({})) -> str | None:
    """The word that an unknown word stands for, as in `nearest`."""
    return synonyms.get(word) or synonyms.get(word.casefold()) or alike(word, known)


def alike(word: str, words: list[str]) -> str | None:
    """The one of some words that a mistyped word is most likely to be."""
    first, letters = word.casefold(), sorted(word)
    same = [w for w in words if w.casefold() == first] or [w for w in words if sorted(w) == letters]
    begun = sorted((w for w in words if len(word) > 1 and w.startswith(word)), key=len)
    if same or begun:
        return (same or begun)[0]
    import difflib  # costs more than a short run
    close = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    return close[0] if close else None


def plural(count: int, noun: str) -> str:
    """`1 row`, `2 rows`."""
    return f"{count} {noun}{'s' * (count != 1)}"


# ---------------------------------------------------------------- packages that adcli does without until something needs one

def missing(what: str, package: str) -> AdError:
    """The error where something needs a package that is not there."""
    return AdError(f"{what} needs {package}, which is not installed", help=install(package))


def install(package: str) -> str:
    """The command that puts a package beside this adcli, in whatever folder it is typed.

    It names the package and not an extra of adcli: `adcli[digits]` would be looked up in a registry, where a clone is not,
    and `.[digits]` works in the folder of the clone alone.
    """
    import shlex  # for a fault only
    import sys
    from importlib.machinery import PathFinder
    python = shlex.quote(sys.executable or "python3")
    pip = PathFinder.find_spec("pip")   # asked too, setuptools' finder would take it for an import and change distutils
    return f"{python} -m pip install {package}" if pip else f"uv pip install --python {python} {package}"
