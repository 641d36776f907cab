"""Functions written in a few words of Python, as LLVM IR: loops over ranges, conditions, arithmetic and places in memory.

Integers are words of 64 bits, `x if test else y` computes both, and `and` and `or` compute all their operands. A name that a loop
or a condition assigns, and that was known before, has its new value behind it.
"""
from __future__ import annotations

import ast
import operator
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from adcli.codegen.llvm_ir.frames import FunctionWriter

ARITHMETIC = {ast.Add: ("add", operator.add), ast.Sub: ("sub", operator.sub), ast.Mult: ("mul", operator.mul),
              ast.FloorDiv: ("sdiv", operator.floordiv), ast.Div: ("div", operator.truediv), ast.Mod: ("srem", operator.mod),
              ast.BitAnd: ("and", operator.and_)}
COMPARISONS = {ast.Gt: ("sgt", "ogt", operator.gt), ast.Lt: ("slt", "olt", operator.lt), ast.Eq: ("eq", "oeq", operator.eq),
               ast.NotEq: ("ne", "une", operator.ne), ast.LtE: ("sle", "ole", operator.le), ast.GtE: ("sge", "oge", operator.ge)}
Typed = tuple[str, str]
"""How a value is written, and its type."""


def functions(text: str) -> dict[str, ast.FunctionDef]:
    """The functions of a text, by name."""
    return {f.name: f for f in ast.parse(text).body if isinstance(f, ast.FunctionDef)}


class Translator(FunctionWriter, ABC):
    """Writes a function; `known` are the values of its names where the text has come to. What a place in memory is, and a call,
    is said by those that have such."""

    def __init__(self, known: Mapping[str, Typed]) -> None:
        super().__init__({})
        self.known = dict(known)
        self.ended = "ret void"

    @abstractmethod
    def load(self, x: ast.Subscript | ast.Attribute) -> Typed:
        """The value at a place in memory."""

    @abstractmethod
    def store(self, place: ast.expr, value: ast.expr) -> None:
        """Put a value there."""

    @abstractmethod
    def call(self, x: ast.Call) -> Typed:
        """The value of a call."""

    # ------------------------------------------------------------ statements

    def run(self, statements: Sequence[ast.stmt]) -> None:
        for s in statements:
            match s:
                case ast.Assign([ast.Name(name)], value):
                    self.known[name] = self.value(value)
                case ast.Assign([place], value):
                    self.store(place, value)
                case ast.For(ast.Name(name), ast.Call(args=[*low, high]), body) if len(low) < 2:
                    self.loop(name, (self.value(low[0])[0] if low else "0", self.value(high)[0], "1"), body)
                case ast.For(ast.Name(name), ast.Call(args=[low, high, step]), body):
                    self.loop(name, (self.value(low)[0], self.value(high)[0], self.value(step)[0]), body)
                case ast.If(test, body, other):
                    holds = self.value(test)[0]
                    self.only(holds, body)
                    if other:
                        self.only(self.negated(holds), other)
                case ast.Expr(ast.Call() as call):
                    self.call(call)
                case ast.Return(ast.expr() as value):
                    text, kind = self.value(value)
                    self.ended = f"ret {kind} {text}"

    def loop(self, name: str, limits: tuple[str, str, str], body: Sequence[ast.stmt]) -> None:
        """A loop, with what it assigns of what was known before carried from turn to turn."""
        names = [x.id for s in body for x in ast.walk(s) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)]
        outside, carried = dict(self.known), [x for x in dict.fromkeys(names) if x in self.known]
        kinds = [self.known[x][1] for x in carried]
        names = self.open_loop(None, *limits, [(kind, self.known[x][0]) for x, kind in zip(carried, kinds, strict=True)])
        self.known |= dict(zip(carried, zip(names, kinds, strict=True), strict=True))
        self.known[name] = self.frames[-1].index, "i64"
        self.run(body)
        after = self.close_loop([self.known[x][0] for x in carried])
        self.known = outside | dict(zip(carried, zip(after, kinds, strict=True), strict=True))

    def only(self, holds: str, body: Sequence[ast.stmt]) -> None:
        """What is done only where something holds, with what it assigns of what was known before."""
        if holds == "true":
            self.run(body)
        elif holds != "false":
            outside = dict(self.known)
            self.open_condition(holds)
            self.run(body)
            changed = [x for x, (text, kind) in outside.items() if self.known[x] != (text, kind) and self.known[x][1] == kind]
            self.frames[-1].carried = [(outside[x][1], outside[x][0], "") for x in changed]
            after = self.close_condition([self.known[x][0] for x in changed])
            self.known = outside | {x: (text, outside[x][1]) for x, text in zip(changed, after, strict=True)}

    def negated(self, holds: str) -> str:
        return {"true": "false", "false": "true"}.get(holds) or super().negated(holds)

    # ------------------------------------------------------------ values

    @abstractmethod
    def real(self, x: float) -> Typed:
        """A constant."""

    def both(self, left: ast.expr, right: ast.expr) -> tuple[str, str, str]:
        """Two values, and the type of both: a whole number is of that of the other."""
        (one, kind), (two, other) = self.value(left), self.value(right)
        return one, two, other if whole(one) else kind

    def condition(self, kind: str) -> str:
        """The type of a comparison."""
        return "i1"

    def value(self, x: ast.expr) -> Typed:
        match x:
            case ast.Constant(bool() as value):
                return str(value).lower(), "i1"
            case ast.Constant(value):
                return self.real(value) if isinstance(value, float) else (f"{value!r}", "i64")
            case ast.Name(name):
                return self.known[name]
            case ast.Subscript() | ast.Attribute():
                return self.load(x)
            case ast.Call():
                return self.call(x)
            case ast.IfExp(test, body, other):
                holds, bits = self.value(test)
                if holds in ("true", "false"):
                    return self.value(body if holds == "true" else other)
                one, two, kind = self.both(body, other)
                return self.put(f"select {bits} {holds}, {kind} {one}, {kind} {two}"), kind
            case ast.BoolOp(op, [first, *others]):
                whole_test, word = self.value(first)[0], "and" if isinstance(op, ast.And) else "or"
                for other in others:
                    whole_test = self.put(f"{word} i1 {whole_test}, {self.value(other)[0]}")
                return whole_test, "i1"
            case ast.UnaryOp(ast.Not(), operand):
                return self.negated(self.value(operand)[0]), "i1"
            case ast.UnaryOp(ast.USub(), ast.Constant(value)):
                return self.real(-value) if isinstance(value, float) else (f"-{value!r}", "i64")
            case ast.Compare(left, [op], [right]):
                one, two, kind = self.both(left, right)
                of_numbers, of_reals, known = COMPARISONS[type(op)]
                if whole(one) and whole(two):
                    return str(known(int(one), int(two))).lower(), "i1"
                compare = f"fcmp {of_reals}" if "double" in kind else f"icmp {of_numbers}"
                return self.put(f"{compare} {kind} {one}, {two}"), self.condition(kind)
        assert isinstance(x, ast.BinOp)   # which is all else that there is
        one, two, kind = self.both(x.left, x.right)
        word, computed = ARITHMETIC[type(x.op)]
        if whole(one) and whole(two):
            return f"{computed(int(one), int(two))}", kind
        return self.put(f"{'f' * ('double' in kind)}{word} {kind} {one}, {two}"), kind


def whole(text: str) -> bool:
    """True for a whole number that is known."""
    return text.removeprefix("-").isdigit()
