"""pycparser's tree of a C file as one of Python's `ast`, with the places of the file: what differs is spelled out here.

Pointers are an array and where they begin in it; a function that stores through them returns what it stored, and its caller
assigns that. Names with a dot are functions of libraries.
"""
from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pycparser import c_ast as c
from pycparser.c_parser import CParser, ParseError

from adcli.from_c.text import CText, Kind
from adcli.lang.ir.errors import AdError, Span

WHOLES = ("int", "short", "long", "char", "unsigned", "signed", "_Bool", "size_t", "ptrdiff_t", "bool", "ssize_t",
          *(f"{u}int{n}_t" for u in ("", "u") for n in (8, 16, 32, 64)))
COPYING = ("memcpy", "memmove", "memset")
REALS = ("double", "float")
COUNTING = ("p++", "p--", "++", "--")
"""Operators that change their operand by 1."""
HEAD = "".join(f"typedef long {name};" for name in WHOLES[7:]) + "\n"
"""The names of types that headers of the system have."""


class CSignature(NamedTuple):
    """A function: its parameters, what it returns (None for nothing), the parameters that it stores through, those pointers
    that are one number, whether what it returns says only that all went well, and which parameters are the `same` place as an
    earlier one."""

    name: str
    params: dict[str, Kind]
    returns: Kind | None
    outs: list[str]
    numbers: set[str]
    status: bool
    same: dict[str, str] = {}   # noqa: RUF012


class CFile:
    """The declarations of a file."""

    def __init__(self, text: CText) -> None:
        self.text = text
        self.typedefs: dict[str, Any] = {name: Kind(True) for name in WHOLES[7:]}
        self.definitions: dict[str, c.FuncDef] = {}
        self.variants: dict[str, ast.stmt | None] = {}
        self.structs: dict[str, c.Struct] = {}
        self.globals: dict[str, Kind] = {}
        self.unread: dict[str, AdError] = {}
        self.spans: dict[int, Span] = {}
        self.starts = [0, *(m.end() for m in re.finditer("\n", text.text))]
        self.body: list[ast.stmt] = []
        self.known: dict[str, CSignature] = {}
        self.declarations = self.parsed().ext

    def parsed(self) -> c.FileAST:
        try:
            return CParser().parse(HEAD + self.text.text, "file")
        except ParseError as error:
            found = re.match(r"file:(\d+)(?::(\d+))?:\s*(.*)", str(error), re.DOTALL)
            line, column, said = (int(found[1]) - 2, int(found[2] or 1) - 1, found[3]) if found else (
                len(self.starts) - 1, 0, str(error).removeprefix("file: "))
            start = min(self.starts[min(max(line, 0), len(self.starts) - 1)] + column, max(0, len(self.text.text) - 1))
            raise self.text.fault(self.text.place(start, start + 1), f"this is not C: {said.replace('before: ', 'before ')}",
                                  "a type that is meant needs its typedef in this file, or in a header beside it") from None
        except RecursionError:
            raise AdError("this is nested too deeply to be read", source=self.text.source) from None

    def fault(self, node: c.Node, message: str, help: str | None = None) -> AdError:
        return self.text.fault(self.text.place(*self.span(node)), message, help)

    # Places.

    def span(self, n: c.Node) -> Span:
        """The part of the text that a node is, with all of its parentheses."""
        if id(n) not in self.spans:
            self.spans[id(n)] = self.found(n)
        return self.spans[id(n)]

    def found(self, n: c.Node) -> Span:
        text = self.text.text
        inner = [self.span(m) for _, m in n.children() if not isinstance(m, c.TypeDecl | c.PtrDecl | c.Typename)]
        start = self.starts[n.coord.line - 2] + (n.coord.column or 1) - 1 if n.coord else inner[0][0]
        start = min([start, *(a for a, _ in inner)])
        end = max([start + 1, *(b for _, b in inner)])
        if isinstance(n, c.ID | c.Constant):
            return start, start + len(n.name if isinstance(n, c.ID) else n.value)
        if isinstance(n, c.FuncCall | c.ArrayRef | c.FuncDef | c.Compound):
            before = start if isinstance(n, c.FuncDef | c.Compound) else self.span(n.name)[1]
            at = text.find("[" if isinstance(n, c.ArrayRef) else "(" if isinstance(n, c.FuncCall) else "{", before)
            end = closing(text, at)
        elif isinstance(n, c.UnaryOp) and n.op in ("p++", "p--"):
            end = text.find(n.op[1:], end) + 2
        elif isinstance(n, c.Return | c.Break | c.Continue):
            word = re.compile(r"\w*").match(text, start)
            end = max(end, word.end() if word else end)
        elif not isinstance(n, c.For | c.While | c.If | c.DoWhile | c.Decl | c.DeclList):
            start, end = balanced(text, start, end)
        return start, end

    def put(self, made: Any, node: c.Node) -> Any:
        """A node of Python's tree with the place of a node of C's."""
        source = self.text.source
        start, end = self.text.place(*self.span(node))
        for name, offset in (("", start), ("end_", end)):
            line, column = source.place(offset)
            text = source.line(line)
            setattr(made, f"{name}lineno", line)
            setattr(made, f"{name}col_offset", column - 1 if text.isascii() else len(text[:column - 1].encode()))
        return made

    # Types.

    def kind(self, type: Any, at: c.Node) -> Kind:
        if isinstance(type, c.TypeDecl):
            return self.kind(type.type, at)
        if isinstance(type, c.IdentifierType):
            names = type.names
            if len(names) == 1 and (found := self.typedefs.get(names[0])) is not None:
                return found if isinstance(found, Kind) else self.kind(found, at)
            if any(n in REALS for n in names) and "_Complex" not in names:
                return Kind(False)
            if all(n in WHOLES for n in names):
                return Kind(True)
            raise self.fault(at, f"the type {' '.join(names)} cannot be read", "numbers are double, float and int here")
        if isinstance(type, c.ArrayDecl | c.PtrDecl):
            inner = self.kind(type.type, at)
            if isinstance(type, c.PtrDecl) and inner.dims and inner.dims[0] is None:
                raise self.fault(at, "an array of pointers cannot be read", "declare it with its extents: double A[n][m]")
            return inner._replace(dims=(type.dim if isinstance(type, c.ArrayDecl) else None, *inner.dims))
        if isinstance(type, c.Struct) and (found := type if type.decls else self.structs.get(type.name)):
            return Kind(False, fields={d.name: self.kind(d.type, d) for d in found.decls})
        if isinstance(type, c.Struct):
            raise self.fault(at, f"the fields of struct {type.name} are not in this file",
                             f"declare them: struct {type.name} {{ double x, y; }};")
        raise self.fault(at, "a union or a function by a pointer cannot be read",
                         "pass its numbers, or call a function by its name")

    # Functions.

    def signature(self, name: str) -> CSignature:
        if name not in self.known:
            d = self.definitions[name]
            params: dict[str, Kind] = {}
            for p in (d.decl.type.args.params if d.decl.type.args else []):
                if isinstance(p, c.EllipsisParam | c.ID):
                    raise self.fault(d.decl, "a parameter has no type", f"write double {name}(double x)")
                if p.name is not None:
                    kind = self.kind(p.type, p)
                    params[p.name] = kind._replace(dims=(None, *kind.dims[1:])) if isinstance(p.type, c.PtrDecl) else kind
            returned = d.decl.type.type
            void = isinstance(returned, c.TypeDecl) and getattr(returned.type, "names", None) == ["void"]
            kind_of = None if void else self.kind(returned, d.decl)
            if kind_of and kind_of.dims:
                raise self.fault(d.decl, "a function that returns a pointer cannot be read",
                                 "store through a parameter: double *y")
            self.known[name] = CSignature(name, params, kind_of, [], set(), False)   # for one that calls itself
            outs = [p for p in params if params[p].dims and p in set(self.stored(d.body))]
            numbers = {p for p, k in params.items() if k.dims == (None,) and self.is_number(p, d.body)}
            values = [r.expr for r in walk(d.body) if isinstance(r, c.Return)]
            status = bool(outs) and kind_of is not None and kind_of.whole and all(isinstance(
                v.expr if isinstance(v, c.UnaryOp) else v, c.Constant) for v in values)
            self.known[name] = CSignature(name, params, kind_of, outs, numbers, status)
        return self.known[name]

    def stored(self, body: c.Node) -> Iterator[str]:
        """The names of arrays that are stored into, also by other names of them and by functions."""
        alias: dict[str, str] = {}
        for n in walk(body):
            if isinstance(n, c.Decl) and isinstance(n.type, c.PtrDecl) and n.init is not None:
                alias[n.name] = root(n.init)
            elif isinstance(n, c.Assignment) and not isinstance(n.lvalue, c.ID):
                yield from chain(alias, root(n.lvalue))
            elif isinstance(n, c.UnaryOp) and n.op in COUNTING and not isinstance(n.expr, c.ID):
                yield from chain(alias, root(n.expr))
            elif isinstance(n, c.FuncCall) and isinstance(n.name, c.ID) and n.name.name in COPYING and n.args:
                yield from chain(alias, root(n.args.exprs[0]))
            for s, p, a in self.given(n):
                if p in s.outs:
                    yield from chain(alias, root(a))

    def given(self, n: c.Node) -> Iterator[tuple[CSignature, str, c.Node]]:
        """The parameters of a call of a function of the file, with what is given for them."""
        if isinstance(n, c.FuncCall) and isinstance(n.name, c.ID) and n.name.name in self.definitions and n.args:
            s = self.signature(n.name.name)
            yield from ((s, p, a) for p, a in zip(s.params, n.args.exprs, strict=False))

    def added_to(self, name: str, function: str) -> bool:
        """True if what is stored first in an array depends on what was there."""
        first = next((n for n in walk(self.definitions[function].body) if (isinstance(n, c.Assignment) and root(n.lvalue) == name)
                      or (isinstance(n, c.UnaryOp) and n.op in COUNTING and root(n.expr) == name)), None)
        return first is not None and (isinstance(first, c.UnaryOp) or first.op != "=")

    def is_number(self, name: str, body: c.Node) -> bool:
        """True for a pointer that is used as *p only."""
        uses = sum(isinstance(n, c.ID) and n.name == name for n in walk(body))
        found = 0
        for n in walk(body):
            match n:
                case c.UnaryOp(op="*", expr=c.ID(name=used)) | c.StructRef(type="->", name=c.ID(name=used)):
                    found += used == name
            found += sum(p in s.numbers and isinstance(a, c.ID) and a.name == name for s, p, a in self.given(n))
        return 0 < uses == found


def walk(node: c.Node) -> Iterator[c.Node]:
    stack = [node]
    while stack:
        n = stack.pop()
        yield n
        stack += [m for _, m in n.children()][::-1]


def chain(alias: dict[str, str], name: str) -> Iterator[str]:
    """A name, and those it is another one of."""
    seen: set[str] = set()
    while name not in seen:
        seen.add(name)
        yield name
        name = alias.get(name, name)


def root(n: c.Node) -> str:
    """The name of the array that a place is in."""
    match n:
        case c.ID():
            return str(n.name)
        case c.ArrayRef() | c.StructRef():
            return root(n.name)
        case c.UnaryOp() | c.Cast():
            return root(n.expr)
        case c.BinaryOp():
            return root(n.left) or root(n.right)
    return ""


def closing(text: str, at: int) -> int:
    """The end of what a bracket opens."""
    depth = 0
    for k in range(max(at, 0), len(text)):
        depth += (text[k] in "([{") - (text[k] in ")]}")
        if depth == 0:
            return k + 1
    return len(text)


def balanced(text: str, start: int, end: int) -> Span:
    """A part of a text with the parentheses that begin or end in it."""
    depth = least = 0
    for k in range(start, end):
        depth += (text[k] == "(") - (text[k] == ")")
        least = min(least, depth)
    for _ in range(-least):
        start = text.rfind("(", 0, start)
    for _ in range(depth - least):
        end = text.find(")", end) + 1
    return max(start, 0), end


def names(nodes: Sequence[c.Node]) -> set[str]:
    """The names that stand in nodes, and those of fields."""
    return {n.name for each in nodes for n in walk(each) if isinstance(n, c.ID)}
