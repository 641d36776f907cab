"""Arithmetic of Python on values: what a value is as numbers, as truth values and as a whole number."""
from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Any

from adcli.from_python.frame import PythonFrame
from adcli.from_python.values import (
    Absent,
    Array,
    Defined,
    KnownDict,
    LibraryName,
    Method,
    PythonRange,
    Several,
    known,
    stacked,
    whole,
)
from adcli.lang.ir.affine import Affine, floor
from adcli.lang.tree.nodes import Call, Op, Token

Compute = Callable[[Any, Any], Any]
OPERATORS: dict[type[ast.operator], tuple[str, Compute]] = {
    ast.Add: ("add", operator.add), ast.Sub: ("sub", operator.sub), ast.Mult: ("mul", operator.mul),
    ast.Div: ("div", operator.truediv), ast.Pow: ("pow", operator.pow), ast.Mod: ("mod", operator.mod),
    ast.FloorDiv: ("floordiv", operator.floordiv)}


class PythonArithmetic(PythonFrame):
    """Values as numbers, and operators on them."""

    def as_array(self, value: Any, node: ast.AST) -> Array:
        """A value that is a number or an array of them."""
        if isinstance(value, Array):
            return value
        if isinstance(value, Several) and value.items:
            parts = [self.as_number(self.as_array(x, node), node) for x in value.items]
            if all(len(p.shape) == len(parts[0].shape) for p in parts):
                for p in parts[1:]:
                    for x, y in zip(parts[0].shape, p.shape, strict=True):
                        self.equal(x, y, node)
                return stacked(parts)
        if isinstance(value, Absent):
            raise self.fault(node, value.reason, value.help)
        raise self.fault(node, f"{told(value)} stands where a number is needed")

    def ranked(self, value: Any, least: int, node: ast.AST) -> Array:
        """An array of at least so many dimensions; an input of which nobody has said the rank gets this one."""
        a = self.as_array(value, node)
        if len(a.shape) >= least:
            return a
        loose = sorted(p for p in a.loose if self.reading.open(p) and self.reading.facts.ranks.get(p, 0) < least)
        if len(loose) == 1:
            self.reading.learn_rank(loose[0], least)
        if loose:
            names = " and ".join(f"'{p}'" for p in loose)
            raise self.fault(node, f"which of {names} are arrays is not said",
                             f"annotate them, {loose[0]}: Float[Array, \"n\"] or {loose[0]}: float, or give the point with --at")
        raise self.fault(node, f"an array with {least} dimension{'s' * (least > 1)} is needed here, and this has {len(a.shape)}")

    def as_truth(self, value: Any, node: ast.AST) -> Array:
        """A truth value; a number is true where it is not 0."""
        if value is None or isinstance(value, str | Several | KnownDict):
            return known(bool(value.items if isinstance(value, Several | KnownDict) else value), self.span(node))
        a = self.as_array(value, node)
        if a.truth:
            return a
        span = self.span(node)
        if a.constant is not None:
            return known(bool(a.constant), span)
        return self.apply(lambda x: Op("ne", [x[0], Token("NUMBER", "0", *span)], *span), [a], node, truth=True)

    def as_whole(self, value: Any, node: ast.AST, what: str) -> Affine:
        """A whole number as a sum of sizes and indices: a subscript, or the bound of a loop."""
        if isinstance(value, Array):
            if value.whole is not None:
                return value.whole
            self.settle_constant(value, node, True)
        raise self.fault(node, f"{what} depends on a value",
                         "it has to be made of numbers, sizes such as len(x), and indices of loops")

    def settle_constant(self, value: Array, node: ast.AST, needed: bool = False) -> None:
        """Take the one input that a number is made of for a constant, which it has to be where a number is `needed`."""
        names = [p for p in value.loose if p in self.reading.inputs]
        if not value.shape and len(names) == 1:
            default = self.reading.facts.given.get(names[0], self.reading.inputs[names[0]])
            if needed or (isinstance(default, int | float) and float(default).is_integer()):
                self.reading.learn_constant(names[0], node, default)

    def binary(self, kind: type[ast.operator], left: Array, right: Array, node: ast.AST) -> Array:
        name, compute = OPERATORS[kind]
        left, right = (self.as_number(a, node) for a in (left, right))
        span = self.span(node)
        if (both := whole_arithmetic(name, left.whole, right.whole)) is not None:
            return whole(both, span)
        value = None
        if (a := left.constant) is not None and (b := right.constant) is not None:
            try:
                value = compute(a, b)
            except (ArithmeticError, ValueError):
                raise self.fault(node, "this has no value") from None
            if isinstance(a, int) and isinstance(b, int) and isinstance(value, int):
                return known(value, span)
        if name == "floordiv":
            made = self.apply(lambda x: Call("floor", [Op("div", x, *span)], *span), [left, right], node)
        else:
            made = self.operation(name, [left, right], node)
        made.known = value if isinstance(value, float) else None
        return made

    def all_of(self, name: str, parts: Sequence[Array], node: ast.AST) -> Array:
        """Truth values joined by `and` or `or`; known ones decide or drop out."""
        span = self.span(node)
        left: list[Array] = []
        for p in parts:
            if p.known is None:
                left.append(p)
            elif bool(p.known) == (name == "or"):
                return known(bool(p.known), span)
        if not left:
            return known(name == "and", span)
        found = left[0]
        for p in left[1:]:
            found = self.operation(name, [found, p], node)
        return found


def told(value: Any) -> str:
    """A value in words."""
    if value is None:
        return "None"
    return {str: "a text", Several: "a list", KnownDict: "a dictionary", PythonRange: "a range", LibraryName: "a function",
            Defined: "a function", Method: "a method"}.get(type(value), "this")


def whole_arithmetic(name: str, a: Affine | None, b: Affine | None) -> Affine | None:
    """PythonArithmetic on whole numbers that are sums of sizes and indices, as far as it gives one."""
    if a is None or b is None or (a.number is not None and b.number is not None):
        return None
    if name == "add":
        return a + b
    if name == "sub":
        return a - b
    if name == "mul" and (a.number is not None or b.number is not None):
        return a * b.number if b.number is not None else b * (a.number or 0)
    if name == "floordiv" and b.number is not None and b.number > 0 and not a.indices():
        return floor(a, b.number)
    return None
