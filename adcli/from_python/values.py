"""Values while a Python function is read: numbers and arrays by their elements, and what exists in Python only.

An array is a shape and a function from subscripts to an expression, so arithmetic makes no statement: that comes with a name, a
sum or an operation on matrices. A number is an array without dimensions.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from adcli.lang.ir.affine import Affine, affine
from adcli.lang.ir.errors import Span
from adcli.lang.tree.nodes import Node, Op, Token
from adcli.readers.draft import Ref, Variable, Whole, number

Element = Callable[[Sequence[Affine]], Node]


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Array:
    """Numbers, or truth values. `whole` is a whole number that is known as a sum of sizes and indices, `known` any known number;
    `items` are the parts along the first dimension where these are written out. `loose` are inputs it depends on whose rank
    nobody has said. A `pending` one is a line of a frame as soon as its name is read; `opened` says where elements
    are assigned."""

    shape: tuple[Affine, ...]
    element: Element
    truth: bool = False
    whole: Affine | None = None
    known: float | bool | None = None
    items: list[Array] | None = None
    loose: frozenset[str] = frozenset()
    pending: tuple[str, Span, Any] | None = None
    variable: Variable | None = None
    opened: Any = None

    @property
    def constant(self) -> int | float | bool | None:
        """The number, where it is known."""
        return self.whole.number if self.whole is not None and self.whole.number is not None else self.known


class Several:
    """A list or a tuple."""

    def __init__(self, items: list[Any], kind: str = "tuple") -> None:
        self.items, self.kind = items, kind


class KnownDict:
    """A dictionary with known keys."""

    def __init__(self, items: dict[Any, Any]) -> None:
        self.items = items


class PythonRange:
    """range(low, high, step)."""

    def __init__(self, low: Affine, high: Affine, step: int) -> None:
        self.low, self.high, self.step = low, high, step


class LibraryName:
    """A module, or what stands in one."""

    def __init__(self, path: str) -> None:
        self.path = path


class Defined:
    """A function of the file; `around` are the values of the function that it stands in."""

    def __init__(self, node: ast.FunctionDef | ast.Lambda, around: dict[str, Any] | None = None) -> None:
        self.node, self.around = node, around


class Method:
    """A function of a value: `x.sum`."""

    def __init__(self, value: Any, name: str) -> None:
        self.value, self.name = value, name


class Absent:
    """A name that has no value here, and why."""

    def __init__(self, reason: str, help: str = "assign it in both") -> None:
        self.reason, self.help = reason, help


class Indexed:
    """The items of a loop whose number of turns is a size, one for each turn."""

    def __init__(self, extent: Affine, item: Callable[[Affine], Any]) -> None:
        self.extent, self.item = extent, item


def scalar(node: Node, truth: bool = False, loose: frozenset[str] = frozenset()) -> Array:
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


def of_variable(v: Variable, span: Span, loose: frozenset[str] = frozenset()) -> Array:
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
                 variable=a.variable, opened=a.opened)
