"""The values of a function while it is read, how they become lines of the program, and operations on whole arrays."""
from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Self

from adcli.from_python.reading import PythonReading
from adcli.from_python.values import (
    Absent,
    Array,
    Element,
    Indexed,
    KnownDict,
    Several,
    Shape,
    at_place,
    known,
    loose_of,
    of_variable,
    scalar,
    stacked,
)
from adcli.lang.ir.affine import Affine, Index, affine
from adcli.lang.ir.errors import AdError, Span
from adcli.lang.tree.nodes import Call, Node, Op, postorder
from adcli.readers.draft import DraftLine, DraftLoop, Range, Ref, Variable, number

ZERO = Affine()
TRUTHS = frozenset(("lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not"))
"""Operations that give truth values."""
OPERATIONS = TRUTHS | {"add", "sub", "mul", "div", "pow", "neg", "select"}
"""Operations that are not written as calls."""
LONGEST_ELEMENT = 20
"""Nodes of an element that is written out, from which on it gets a line: what reads it repeats only a name."""
Make = Callable[[list[Node]], Node]


class PythonFrame(ABC):
    """Names with their values, and the lines that are made. In an arm of an `if` a name makes a line only once it is read."""

    def __init__(self, reading: PythonReading, values: dict[str, Any], lines: list[DraftLine | DraftLoop],
                 arm: bool = False, steps: tuple[tuple[Index, Affine], ...] = ()) -> None:
        self.reading, self.values, self.lines, self.arm, self.steps = reading, values, lines, arm, steps
        self.conditional, self.library = False, ""
        self.shared: set[str] = set()

    def within(self, values: dict[str, Any], arm: bool) -> Self:
        """A frame beside this one whose lines follow those of this one."""
        return self._like(type(self)(self.reading, values, self.lines, arm, self.steps))

    def turn(self, t: Index, extent: Affine) -> Self:
        """The frame of one turn of a loop over a size, whose lines are those of every turn."""
        return self._like(type(self)(self.reading, dict(self.values), [], True, (*self.steps, (t, extent))))

    def _like(self, made: Self) -> Self:
        made.conditional, made.shared = self.conditional, self.shared
        return made

    def span(self, node: ast.AST) -> Span:
        return self.reading.span(node)

    def fault(self, node: ast.AST, message: str, help: str | None = None) -> AdError:
        """The error for what cannot be read, at its place, with what could."""
        return self.reading.fault(node, message, help)

    def refuse(self, node: ast.AST, message: str, help: str | None = None) -> NoReturn:
        """Raise this error, where a value is expected."""
        raise self.reading.fault(node, message, help)

    def equal(self, x: Affine, y: Affine, node: ast.AST) -> None:
        """Take two extents for equal from now on."""
        self.reading.equal(x, y, node)

    # Loops and statements, which are built on this.

    @abstractmethod
    def indexed(self, node: ast.ListComp | ast.GeneratorExp) -> Array | None:
        """A comprehension as an array of its elements; None where they can be written out."""

    @abstractmethod
    def turns(self, value: Any, node: ast.AST) -> Indexed | None:
        """The items of a loop, where their number is a size."""

    @abstractmethod
    def store(self, target: ast.expr, value: Any, node: ast.AST) -> None:
        """Assign to an element."""

    @abstractmethod
    def run(self, todo: list[Any]) -> Any:
        """Do statements, the last of the list first; gives what is returned."""

    def result(self, function: ast.FunctionDef) -> Any:
        """The value that a function returns."""
        return self.run([*reversed(function.body)])

    # Values into lines.

    @property
    def around(self) -> list[Affine]:
        """The turns of the loops that a line is in, which are its first subscripts."""
        return [affine(t) for t, _ in self.steps]

    @property
    def box(self) -> dict[Index, Range]:
        """The first and the last turn of each loop that a line is in."""
        return {t: (ZERO, n - 1) for t, n in self.steps}

    def ranges(self, at: Sequence[Index] = (), shape: Shape = ()) -> dict[Index, Range]:
        """The ranges of the turns of loops, and of these indices."""
        return {i: (ZERO, x) for i, x in (*self.steps, *zip(at, shape, strict=True))}

    def new(self, hint: str, shape: Shape) -> Variable:
        """A variable with an element for every turn."""
        return Variable(hint, (*(x for _, x in self.steps), *shape))

    def put(self, variable: Variable, shape: Shape, value: Element, span: Span, symbol: str = "=", over: Sequence[Index] = (),
            extents: Shape = ()) -> Array:
        """A line for all elements of a variable, in every turn; what is `over` more indices is put together."""
        at = [Index("i") for _ in shape]
        variable.shape = self.new("", shape).shape
        places = (*self.around, *map(affine, at))
        self.lines.append(DraftLine([variable], [value(places[len(self.steps):])], span, places or None, symbol,
                                    self.ranges([*at, *over], [*shape, *extents])))
        return self.placed(variable, shape, span)

    def placed(self, variable: Variable, shape: Shape, span: Span) -> Array:
        """A variable as it is read in this turn."""
        around = self.around
        if not around:
            return of_variable(variable, span)
        return Array(tuple(shape), lambda at: Ref(variable, span, [*around, *at]), variable=variable)

    def line(self, hint: str, value: Array, span: Span) -> Array:
        """A line that assigns a value, and the value by its name."""
        made = self.put(Variable(hint), value.shape, value.element, span)
        if made.variable and not value.shape:
            made.variable.value = value.element(())
        made.truth, made.whole, made.known, made.loose = value.truth, value.whole, value.known, value.loose
        return made

    def reduced(self, symbol: str, shape: Shape, element: Callable[[Shape, Shape], Node], over: Shape, span: Span) -> Array:
        """A line that puts together the elements over some dimensions; it gets its name with its value's, or none."""
        inner = [Index("j") for _ in over]
        return self.put(Variable(""), shape, lambda at: element(at, list(map(affine, inner))), span, symbol, inner, over)

    def called(self, name: str, args: Sequence[Array], shape: Shape, span: Span) -> Array:
        """A line that calls an operation on whole tensors, in a loop on those of a turn."""
        variable = self.new("", shape)
        call = Call(name, [self.operand(a, span) for a in args], *span)
        self.lines.append(DraftLine([variable], [call], span, tuple(self.around) or None, "=", self.ranges()))
        return self.placed(variable, shape, span)

    def operand(self, a: Array, span: Span) -> Node:
        """A whole tensor as an operation takes it, with the subscripts of its turn; it gets a variable where it has none."""
        if a.variable is None or a.pending or len(a.variable.shape) not in (len(a.shape), len(a.shape) + len(self.steps)):
            a.variable = self.line("", self.one_array(a, span), span).variable
        assert a.variable is not None
        return Ref(a.variable, span, self.around if len(a.variable.shape) > len(a.shape) else None)

    def one_array(self, a: Array, span: Span) -> Array:
        """An array whose elements are found by any subscript: one that is written out gets a line for each element."""
        if a.items is None or not a.shape:
            return a
        variable = self.new("", a.shape)
        self.elements(variable, a, tuple(self.around), span)
        a.items, a.variable, a.element = None, variable, self.placed(variable, a.shape, span).element
        return a

    def elements(self, variable: Variable, a: Array, at: tuple[Affine, ...], span: Span) -> None:
        """A line for each part of an array that is written out."""
        if a.items is None:
            rest = [Index("i") for _ in a.shape]
            places = tuple(map(affine, rest))
            self.lines.append(DraftLine([variable], [a.element(places)], span, (*at, *places), "=", self.ranges(rest, a.shape)))
        for k, part in enumerate(a.items or []):
            self.elements(variable, part, (*at, affine(k)), span)

    def settled(self, value: Any, span: Span) -> Any:
        """A value that is read by its name at a place: a pending one becomes a line."""
        if not isinstance(value, Array):
            return value
        if value.pending:
            hint, place, owner = value.pending
            value.pending = None
            made = owner.line(hint, value, place)
            value.element, value.variable, value.items = made.element, made.variable, None
        return at_place(value, span)

    def bind(self, name: str, value: Any, node: ast.AST) -> None:
        """Give a name a value."""
        self.reading.counted(node)
        self.values[name] = self.bound(name, value, self.span(node)) if isinstance(value, Array) else value

    def bound(self, name: str, value: Array, span: Span) -> Array:
        v = value.variable
        if v is not None and not v.hint:
            v.hint = name
            return value
        if value.items is not None and not self.arm:
            self.shortened(name, value, span)
        of_no_tensor = value.truth and (value.known is not None or value.shape or self.steps)
        if value.whole is not None or value.items is not None or of_no_tensor:
            return value
        if self.arm:
            made = at_place(value, span)
            made.element, made.variable, made.pending = value.element, None, (name, span, self)
            return made
        return self.line(name, value, span)

    def shortened(self, name: str, a: Array, span: Span) -> None:
        """Lines for the long elements of an array that is written out."""
        for k, part in enumerate(a.items or []):
            if part.shape:
                self.shortened(name, part, span)
            elif not part.truth and len(postorder(part.element(()))) > LONGEST_ELEMENT:
                assert a.items is not None
                a.items[k] = self.line(name, part, span)

    # Elementwise.

    def operation(self, name: str, args: Sequence[Array], node: ast.AST) -> Array:
        """An operation of the language on each element."""
        kind, span = Op if name in OPERATIONS else Call, self.span(node)
        return self.apply(lambda x: kind(name, x, *span), args, node, name in TRUTHS)

    def apply(self, make: Make, args: Sequence[Array], node: ast.AST, truth: bool = False) -> Array:
        """An operation on elements, with NumPy's broadcasting."""
        lengths = {len(a.items) for a in args if a.items is not None}
        if len(lengths) == 1 and all(a.items is not None or not a.shape for a in args) and (
                len({len(a.shape) for a in args if a.shape}) == 1):
            return stacked([self.apply(make, [a.items[k] if a.items is not None else a for a in args], node, truth)
                            for k in range(*lengths)])
        span = self.span(node)
        args = [self.one_array(a, span) for a in args]
        shape = self.broadcast([a.shape for a in args], node)
        if not shape:
            return scalar(make([a.element(()) for a in args]), truth, loose_of(args))

        def element(at: Shape) -> Node:
            return make([a.element([ZERO if x.number == 1 else i for i, x in
                                    zip(at[len(at) - len(a.shape):], a.shape, strict=True)]) for a in args])
        return Array(shape, element, truth, loose=loose_of(args))

    def broadcast(self, shapes: Sequence[Shape], node: ast.AST) -> tuple[Affine, ...]:
        rank = max(map(len, shapes))
        found: list[Affine] = []
        for d in range(rank):
            extents = [s[d - rank + len(s)] for s in shapes if d - rank + len(s) >= 0]
            longer = [x for x in extents if x.number != 1]
            for x in longer[1:]:
                self.equal(longer[0], x, node)
            found.append(longer[0] if longer else affine(1))
        return tuple(found)

    def as_number(self, a: Array, node: ast.AST) -> Array:
        """1 and 0 for truth values."""
        if not a.truth:
            return a
        span = self.span(node)
        if a.known is not None:
            return known(int(a.known), span)
        return self.apply(lambda x: Op("select", [x[0], number(1, span), number(0, span)], *span), [a], node)

    def choice(self, c: Array, a: Any, b: Any, node: ast.AST) -> Any:
        """a where c holds, else b; what has no choice is Absent."""
        if a is b:
            return a
        if isinstance(a, Several) and isinstance(b, Several) and len(a.items) == len(b.items):
            return Several([self.choice(c, x, y, node) for x, y in zip(a.items, b.items, strict=True)], a.kind)
        if isinstance(a, KnownDict) and isinstance(b, KnownDict) and a.items.keys() == b.items.keys():
            return KnownDict({k: self.choice(c, x, b.items[k], node) for k, x in a.items.items()})
        if isinstance(a, Array) and isinstance(b, Array):
            if a.whole is not None and a.whole == b.whole:
                return a
            if a.items is not None and b.items is not None and a.shape == b.shape:
                return stacked([self.choice(c, x, y, node) for x, y in zip(a.items, b.items, strict=True)])
            span = self.span(node)
            return self.apply(lambda x: chosen(x, a.truth, span), [c, a, b], node, a.truth)
        if not isinstance(a, Array | Several | KnownDict) and a == b:
            return a
        return Absent("has another value in each arm that is no number")


def chosen(x: list[Node], truth: bool, span: Span) -> Node:
    """A choice of numbers, or of truth values."""
    if not truth:
        return Op("select", x, *span)
    both, other = Op("and", x[:2], *span), Op("and", [Op("not", x[:1], *span), x[2]], *span)
    return Op("or", [both, other], *span)
