"""What the preprocessor of C does: a text without comments, directives and macros, which knows where each part was written."""
from __future__ import annotations

import ast
import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from adcli.from_python.module import PythonFile
from adcli.from_python.reading import Facts, names_in
from adcli.from_python.statements import PythonStatements
from adcli.from_python.values import known
from adcli.lang.ir.errors import AdError, Source, Span, alike

COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|//(?:[^\n\\]|\\.)*|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", re.DOTALL)
WORD = re.compile(r"[A-Za-z_]\w*|\.?\d(?:[eEpP][-+]|[\w.])*|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'"
                  r"|[<>]=|[=!]=|&&|\|\||##|\s+|.", re.DOTALL)
DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(\w*)[ \t]*((?:[^\n\\]|\\.)*)", re.DOTALL)
EMPTY = ("__restrict", "__restrict__", "__inline", "__inline__", "__extension__", "register", "volatile")
"""Words that change no value."""
DEEPEST = 40
"""Files that include one another."""
MOST_WORDS = 2_000_000


class Kind(NamedTuple):
    """The type of a name: whole or real numbers, or the fields of a struct, and its extents; a pointer has None first."""

    whole: bool
    dims: tuple[Any, ...] = ()
    fields: dict[str, Kind] | None = None


class Word(NamedTuple):
    """A piece of the text, and the place that it stands for."""

    text: str
    start: int
    end: int


class Macro(NamedTuple):
    """A definition; without parentheses behind its name, `params` is None."""

    params: list[str] | None
    body: list[str]


class CText:
    """The text that is left of a file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.macros: dict[str, Macro] = {name: Macro(None, []) for name in EMPTY} | {"complex": Macro(None, ["_Complex"])}
        self.comments: list[tuple[int, str]] = []
        words = list(self.of_file(source.text, None, os.path.dirname(source.name), 0))
        self.text = "".join(w.text for w in words)
        self.words = words
        self.starts: list[int] = []
        at = 0
        for w in words:
            self.starts.append(at)
            at += len(w.text)

    def place(self, start: int, end: int) -> Span:
        """The place in the file of a part of what is left."""
        if not self.words:
            return 0, 0
        first = self.words[max(0, bisect_right(self.starts, start) - 1)]
        last = self.words[max(0, bisect_right(self.starts, max(start, end - 1)) - 1)]
        exact = len(first.text) == first.end - first.start
        begin = first.start + (start - self.starts[bisect_right(self.starts, start) - 1] if exact else 0)
        return begin, max(begin + 1, last.end)

    def fault(self, at: Span, message: str, help: str | None = None) -> AdError:
        return AdError(message, at, help, self.source)

    # Files.

    def of_file(self, text: str, at: Span | None, folder: str, depth: int) -> Iterator[Word]:
        """The words of a file; one that is included stands `at` its directive."""
        if depth == 0:
            self.comments = list(self.notes(text))
        blank = COMMENT.sub(lambda m: m[0] if m[0][0] in "\"'" else re.sub(r"[^\n]", " ", m[0]), text)
        taken: list[bool | None] = []   # of the conditions around: it holds, does not, or one before did
        position, begin = 0, 0
        for d in (m for m in DIRECTIVE.finditer(blank) if m.start() == 0 or blank[m.start() - 1] == "\n"):
            if d.start() < position:
                continue
            if all(taken):
                yield from self.expanded(self.split(blank, begin, d.start(), at), frozenset())
            position = begin = d.end()
            yield from self.directive(d, at or (d.start(), max(d.start() + 1, d.end())), taken, folder, depth)
        if all(taken):
            yield from self.expanded(self.split(blank, begin, len(blank), at), frozenset())

    def notes(self, text: str) -> Iterator[tuple[int, str]]:
        """The comments by their lines, as the language writes them."""
        for m in COMMENT.finditer(text):
            if m[0][0] == "/":
                line = text.count("\n", 0, m.start()) + 1
                inner = m[0][2:].removesuffix("*/") if m[0][1] == "*" else m[0][2:]
                for k, each in enumerate(inner.split("\n")):
                    if said := each.strip(" *\t\r/!"):
                        yield line + k, f"# {said}"

    def split(self, text: str, start: int, end: int, at: Span | None) -> list[Word]:
        return [Word(m[0], *(at or m.span())) for m in WORD.finditer(text, start, end)]

    def directive(self, d: re.Match[str], at: Span, taken: list[bool | None], folder: str, depth: int) -> Iterator[Word]:
        name, rest = d[1], d[2].replace("\\\n", " ").strip()
        if name in ("if", "ifdef", "ifndef"):
            asked = rest if name == "if" else f"{'!' * (name == 'ifndef')}defined({rest})"
            taken.append(all(taken) and self.holds(asked, at))
        elif name in ("elif", "else", "endif"):
            if not taken:
                raise self.fault(at, f"#{name} without #if")
            before = taken.pop()
            if name != "endif":
                open_one = all(taken) and before is False
                taken.append(open_one and (name == "else" or self.holds(rest, at)) if before is False else None)
        elif not all(taken):
            return
        elif name == "define":
            self.define(rest, at)
        elif name == "undef":
            self.macros.pop(rest, None)
        elif name == "include" and rest.startswith('"'):
            yield from self.included(rest.strip('"'), at, folder, depth)
        elif name == "error":
            raise self.fault(at, f"#error {rest}")
        elif name not in ("include", "pragma", "line", ""):
            raise self.fault(at, f"#{name} cannot be read")

    def included(self, name: str, at: Span, folder: str, depth: int) -> Iterator[Word]:
        """A file beside this one."""
        path = os.path.normpath(name)
        if os.path.isabs(path) or path.startswith("..") or depth > DEEPEST:
            raise self.fault(at, f"'{name}' is not read, for it is no file beside this one", "copy it, or what is needed of it")
        try:
            with open(os.path.join(folder, path), encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError as error:
            raise self.fault(at, f"{name}: {error.strerror}", "only files beside this one are found") from None
        yield from self.of_file(text, at, os.path.join(folder, os.path.dirname(path)), depth + 1)

    def define(self, rest: str, at: Span) -> None:
        found = re.match(r"(\w+)(?:\(([\w\s,.]*)\))?(.*)", rest, re.DOTALL)
        if found is None:
            raise self.fault(at, "this macro has no name")
        params = None if found[2] is None else [p.strip() for p in found[2].split(",") if p.strip()]
        body = [m[0] for m in WORD.finditer(found[3].strip())]
        self.macros[found[1]] = Macro(params, body)

    def holds(self, text: str, at: Span) -> bool:
        """The value of a condition."""
        text = re.sub(r"defined\s*\(?\s*(\w+)\s*\)?", lambda m: str(int(m[1] in self.macros)), text)
        words = "".join(w.text for w in self.expanded([Word(m[0], *at) for m in WORD.finditer(text)], frozenset()))
        words = re.sub(r"!(?!=)", " not ", words.replace("&&", " and ").replace("||", " or "))
        words = re.sub(r"\b(\d+)[uUlL]+\b", r"\1", words)
        try:
            words = words.strip().replace("/", "//")
            return bool(constant(ast.parse(words, mode="eval").body, Source("", words)))
        except (SyntaxError, AdError):
            raise self.fault(at, "this condition cannot be read", "write #ifdef NAME, or compare numbers") from None

    # Macros.

    def expanded(self, words: list[Word], hidden: frozenset[str]) -> Iterator[Word]:
        """The words with macros put in; those that are being put in are `hidden`."""
        k = 0
        while k < len(words):
            w = words[k]
            k += 1
            macro = self.macros.get(w.text) if w.text not in hidden else None
            if macro is None:
                yield w
                continue
            args: dict[str, list[Word]] = {}
            if macro.params is not None:
                given, behind = self.arguments(words, k)
                if given is None:
                    yield w
                    continue
                if len(given) != len(macro.params) and (macro.params or given != [[]]):
                    raise self.fault((w.start, w.end), f"{w.text} has {len(macro.params)} parameters, and {len(given)} are given")
                args = dict(zip(macro.params, [list(self.expanded(g, hidden)) for g in given], strict=False))
                w, k = Word(w.text, w.start, words[behind - 1].end), behind
            yield from self.body(w, macro, args, hidden | {w.text})

    def body(self, w: Word, macro: Macro, args: dict[str, list[Word]], hidden: frozenset[str]) -> Iterator[Word]:
        if "##" in macro.body or "#" in macro.body:
            raise self.fault((w.start, w.end), f"the macro {w.text} makes names of its arguments", "write its text in this place")
        put: list[Word] = []
        for each in macro.body:
            put += args.get(each, [Word(each, w.start, w.end)])
        if len(put) > MOST_WORDS:
            raise self.fault((w.start, w.end), f"the macro {w.text} is too long")
        yield from self.expanded(put, hidden)

    def arguments(self, words: list[Word], k: int) -> tuple[list[list[Word]] | None, int]:
        """The arguments of a macro and where they end; None where there are no parentheses."""
        while k < len(words) and words[k].text.isspace():
            k += 1
        if k == len(words) or words[k].text != "(":
            return None, k
        given: list[list[Word]] = [[]]
        depth = 1
        for at in range(k + 1, len(words)):
            text = words[at].text
            depth += (text == "(") - (text == ")")
            if depth == 0:
                return given, at + 1
            if text == "," and depth == 1:
                given.append([])
            elif given[-1] or not text.isspace():
                given[-1].append(words[at])
        raise self.fault((words[k].start, words[k].end), "this parenthesis is not closed")


def constant(node: ast.expr, source: Source) -> int:
    """The value of an expression of constants in a source; a name that is left is 0."""
    names = dict.fromkeys(names_in(node), known(0, (0, 0)))
    reading = PythonFile(source, ast.Module([], []), Facts())
    return int(PythonStatements(reading, names, []).number(node).constant or 0)


def named(names: Iterable[str], wrong: str) -> str | None:
    """The help where one of several names may be meant."""
    close = alike(wrong, [*names])
    return f"did you mean '{close}'?" if close else None
