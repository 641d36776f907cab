"""Values while a Python function is read: numbers and arrays by their elements, and what exists in Python only.

An array is a shape and a function from subscripts to an expression, so arithmetic makes no statement: that comes with a name, a
sum or an operation on matrices. A number is an array without dimensions.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from adcli.lang.ir.affine import Affine, Index, affine
from adcli.lang.ir.errors import Span
from adcli.lang.tree.nodes import Call, Node, Op, Token
from adcli.readers.draft import Ref, Variable, Whole, number, put_in

Shape = Sequence[Affine]
"""Extents, or subscripts."""
Element = Callable[[Shape], Node]
Loose = frozenset[str]
NONE: Loose = frozenset()


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Array:
    """Numbers, or truth values. `whole` is a whole number that is known as a sum of sizes and indices, `known` any known number;
    `items` are the parts along the first dimension where these are written out. `loose` are inputs it depends on whose rank
    nobody has said. A `pending` one is a line of a frame as soon as its name is read; `opened` says where elements
    are assigned, `history` that they are those before a turn of a loop."""

    shape: tuple[Affine, ...]
    element: Element
    truth: bool = False
    whole: Affine | None = None
    known: float | bool | None = None
    items: list[Array] | None = None
    loose: Loose = NONE
    pending: tuple[str, ast.AST, Any] | None = None
    variable: Variable | None = None
    opened: Any = None
    history: Any = None

    @property
    def constant(self) -> int | float | bool | None:
        """The number, where it is known."""
        return self.whole.number if self.whole is not None and self.whole.number is not None else self.known


class Several(NamedTuple):
    """A list or a tuple."""

    items: list[Any]
    kind: str = "tuple"


class KnownDict(NamedTuple):
    """A dictionary with known keys."""

    items: dict[Any, Any]


class PythonRange(NamedTuple):
    """range(low, high, step); a step that is a size is positive."""

    low: Affine
    high: Affine
    step: Affine


class LibraryName(NamedTuple):
    """A module, or what stands in one."""

    path: str


class Defined(NamedTuple):
    """A function of the file; `around` are the values of the function that it stands in."""

    node: ast.FunctionDef | ast.Lambda
    around: dict[str, Any] | None = None


class Method(NamedTuple):
    """A function of a value: `x.sum`."""

    value: Any
    name: str


class Absent(NamedTuple):
    """A name that has no value here, and why."""

    reason: str
    help: str = "assign it in both"


class Indexed(NamedTuple):
    """The items of a loop whose number of turns is a size, one for each turn; `rising` are those of a loop that counts down, from
    its last turn on."""

    extent: Affine
    item: Callable[[Affine], Any]
    rising: Callable[[Affine], Any] | None = None


def imported(s: ast.Import | ast.ImportFrom) -> dict[str, LibraryName]:
    """The names that an import brings."""
    if isinstance(s, ast.ImportFrom):
        return {a.asname or a.name: LibraryName(f"{s.module}.{a.name}") for a in s.names}
    return {a.asname or root: LibraryName(a.name if a.asname else root) for a in s.names for root in [a.name.partition(".")[0]]}


def scalar(node: Node, truth: bool = False, loose: Loose = NONE) -> Array:
    return Array((), lambda at: node, truth, loose=loose)


def known(value: float | bool, span: Span) -> Array:
    """A number that stands in the text."""
    if isinstance(value, bool):
        node: Node = Op("eq", [number(0, span), number(0 if value else 1, span)], *span)
        return Array((), lambda at: node, True, known=value)
    if isinstance(value, int):
        return whole(affine(value), span)
    found = number(value, span)
    return Array((), lambda at: found, known=value)


def whole(value: Affine, span: Span) -> Array:
    """A whole number made of sizes and indices."""
    n = value.number
    node: Node = Whole(value, span) if n is None else number(n, span)
    return Array((), lambda at: node, whole=value)


def of_variable(v: Variable, span: Span, loose: Loose = NONE) -> Array:
    """A variable read as it stands."""
    if not v.shape:
        ref: Node = Ref(v, span)
        return Array((), lambda at: ref, loose=loose, variable=v)
    return Array(v.shape, lambda at: Ref(v, span, at), loose=loose, variable=v)


def moved(node: Node, span: Span) -> Node:
    """A leaf at the place where it is read."""
    if type(node) is Ref:
        return Ref(node.variable, span, node.subscripts)
    if type(node) is Whole:
        return Whole(node.value, span)
    return Token(node.type, node.text, *span) if type(node) is Token else node


def at_place(a: Array, span: Span) -> Array:
    """A value as it is read at a place: the leaves that are its name stand there."""
    element = a.element
    return Array(a.shape, lambda at: moved(element(at), span), a.truth, a.whole, a.known, a.items, a.loose,
                 variable=a.variable, opened=a.opened, history=a.history)


def stacked(items: list[Any]) -> Array:
    """An array of parts that are written out."""
    shape = (affine(len(items)), *(items[0].shape if items else ()))

    def element(at: Shape) -> Node:
        n = at[0].number
        assert n is not None, "one_array comes first"
        return items[n].element(at[1:])
    return Array(shape, element, bool(items) and items[0].truth, items=items, loose=loose_of(items))


def first_of(a: Array, at: Affine) -> Array:
    """The part of an array at a place along its first dimension."""
    if a.items is not None and at.number is not None:
        return a.items[at.number]
    return Array(a.shape[1:], lambda rest: a.element([at, *rest]), a.truth, loose=a.loose)


def loose_of(arrays: Iterable[Array]) -> Loose:
    """The inputs of open rank that some of these depend on."""
    return NONE.union(*(a.loose for a in arrays))


def is_true(value: Any) -> bool:
    """True for an argument that is known to be true."""
    return isinstance(value, Array) and bool(value.known)


def with_leaves(node: Node, leaf: Callable[[Node], Node]) -> Node:
    """An expression with other leaves."""
    if isinstance(node, Op | Call):
        return type(node)(node.name, [with_leaves(a, leaf) for a in node.args], node.start, node.end)
    return leaf(node)


def replaced_in(node: Node, by: Mapping[Index | str, Affine]) -> Node:
    """An expression with some of its indices replaced."""
    def leaf(node: Node) -> Node:
        if isinstance(node, Ref) and node.subscripts is not None:
            return Ref(node.variable, node.span, [put_in(x, by) for x in node.subscripts])
        return Whole(put_in(node.value, by), node.span) if isinstance(node, Whole) else node
    return with_leaves(node, leaf)


def at_turn(node: Node, t: Index, value: Affine) -> Node:
    """An expression in another turn."""
    return replaced_in(node, {t: value})


def every_turn(t: Index, extent: Affine, a: Array) -> Array:
    """The values of all turns, one behind another."""
    return Array((extent, *a.shape), lambda at: at_turn(a.element(at[1:]), t, at[0]), loose=a.loose)


def in_turn(a: Array, by: Mapping[Index | str, Affine]) -> Array:
    """A value with some of its indices replaced."""
    element = a.element
    return Array(a.shape, lambda at: replaced_in(element(at), by), a.truth, None if a.whole is None else put_in(a.whole, by))
