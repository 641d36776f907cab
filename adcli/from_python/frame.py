"""The values of a function while it is read, how they become lines of the program, and operations on whole arrays."""
from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from itertools import chain, repeat
from typing import Any, Self

from adcli.from_python.reading import PythonReading
from adcli.from_python.values import (
    Absent,
    Array,
    Element,
    KnownDict,
    Several,
    Shape,
    at_place,
    known,
    loose_of,
    of_variable,
    scalar,
    stacked,
    whole,
)
from adcli.lang.ir.affine import Affine, Index, affine
from adcli.lang.ir.errors import Span
from adcli.lang.tree.nodes import Call, Node, Op, postorder
from adcli.readers.draft import DraftLine, DraftLoop, Range, Ref, Variable

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

    def __init__(self, reading: PythonReading, values: dict[str, Any], lines: list[DraftLine | DraftLoop]) -> None:
        self.reading, self.values, self.lines = reading, values, lines
        self.steps: tuple[tuple[Index, Affine], ...] = ()
        self.arm, self.conditional, self.library = False, False, ""
        self.closed = False   # in a function of the program, which sees no values but its own
        self.shared: set[str] = set()
        self.at, self.fault, self.equal = reading.at, reading.fault, reading.equal

    def beside(self, values: dict[str, Any], **changes: Any) -> Self:
        """A frame like this one with other values, whose lines follow those of this one."""
        made = copy(self)
        vars(made).update(changes, values=values)
        return made

    def turn(self, t: Index, extent: Affine) -> Self:
        """The frame of one turn of a loop over a size, whose lines are those of every turn."""
        return self.beside(dict(self.values), lines=[], arm=True, steps=(*self.steps, (t, extent)))

    @property
    def here(self) -> Span:
        """The place of the part that is being read."""
        return self.reading.here

    def argument_nodes(self) -> Iterator[ast.AST]:
        """The arguments of the call that is being read, and the call for those that have none of their own."""
        call = self.reading.part
        return chain(call.args, repeat(call))

    def fit(self, one: Shape, other: Shape) -> None:
        """Take the extents of two arrays for equal."""
        for x, y in zip(one, other, strict=False):
            self.equal(x, y)

    # Statements, which are built on this.

    @abstractmethod
    def store(self, target: ast.expr, value: Any) -> None:
        """Assign to an element."""

    @abstractmethod
    def result(self, function: ast.FunctionDef | ast.Lambda) -> Any:
        """The value that a function returns."""

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

    def write(self, variable: Variable, value: Node, at: Shape, indices: Sequence[Index] = (), extents: Shape = (),
              symbol: str = "=") -> None:
        """A line for an element, or for those of all values of some indices, in every turn."""
        self.lines.append(DraftLine([variable], [value], self.here, tuple(at) or None, symbol, self.ranges(indices, extents)))

    def put(self, variable: Variable, shape: Shape, value: Element, symbol: str = "=", over: Sequence[Index] = (),
            extents: Shape = ()) -> Array:
        """A line for all elements of a variable, in every turn; what is `over` more indices is put together."""
        at = [Index("i") for _ in shape]
        variable.shape = self.new("", shape).shape
        places = (*self.around, *map(affine, at))
        self.write(variable, value(places[len(self.steps):]), places, [*at, *over], [*shape, *extents], symbol)
        return self.placed(variable, shape)

    def placed(self, variable: Variable, shape: Shape) -> Array:
        """A variable as it is read in this turn."""
        around, span = self.around, self.here
        if not around:
            return of_variable(variable, span)
        return Array(tuple(shape), lambda at: Ref(variable, span, [*around, *at]), variable=variable)

    def line(self, hint: str, value: Array) -> Array:
        """A line that assigns a value, and the value by its name."""
        made = self.put(Variable(hint), value.shape, value.element)
        if made.variable and not value.shape:
            made.variable.value = value.element(())
        made.truth, made.whole, made.known, made.loose = value.truth, value.whole, value.known, value.loose
        return made

    def reduced(self, symbol: str, shape: Shape, element: Callable[[Shape, Shape], Node], over: Shape) -> Array:
        """A line that puts together the elements over some dimensions; it gets its name with its value's, or none."""
        inner = [Index("j") for _ in over]
        return self.put(Variable(""), shape, lambda at: element(at, list(map(affine, inner))), symbol, inner, over)

    def called(self, name: str, args: Sequence[Array], shape: Shape) -> Array:
        """A line that calls an operation on whole tensors, in a loop on those of a turn."""
        variable = self.new("", shape)
        self.write(variable, Call(name, list(map(self.operand, args)), *self.here), self.around)
        return self.placed(variable, shape)

    def operand(self, a: Array) -> Node:
        """A whole tensor as an operation takes it, with the subscripts of its turn; it gets a variable where it has none."""
        if a.variable is None or a.pending or len(a.variable.shape) not in (len(a.shape), len(a.shape) + len(self.steps)):
            a.variable = self.line("", self.one_array(a)).variable
        assert a.variable is not None
        return Ref(a.variable, self.here, self.around if len(a.variable.shape) > len(a.shape) else None)

    def one_array(self, a: Array) -> Array:
        """An array whose elements are found by any subscript: one that is written out gets a line for each element."""
        if a.items is None or not a.shape:
            return a
        variable = self.new("", a.shape)
        self.elements(variable, a, tuple(self.around))
        a.items, a.variable, a.element = None, variable, self.placed(variable, a.shape).element
        return a

    def elements(self, variable: Variable, a: Array, at: tuple[Affine, ...]) -> None:
        """A line for each part of an array that is written out."""
        if a.items is None:
            rest = [Index("i") for _ in a.shape]
            places = tuple(map(affine, rest))
            self.write(variable, a.element(places), (*at, *places), rest, a.shape)
        for k, part in enumerate(a.items or []):
            self.elements(variable, part, (*at, affine(k)))

    def settled(self, value: Any) -> Any:
        """A value that is read by its name at a place: a pending one becomes a line."""
        if not isinstance(value, Array):
            return value
        if value.pending:
            hint, place, owner = value.pending
            value.pending = None
            made = self.at(place, owner.line, hint, value)
            value.element, value.variable, value.items = made.element, made.variable, None
        return at_place(value, self.here)

    def bind(self, name: str, value: Any) -> None:
        """Give a name a value."""
        self.reading.counted()
        self.values[name] = self.bound(name, value)

    def bound(self, name: str, value: Any) -> Any:
        """A value as a name has it: a number or an array in a line, unless that is clear without it."""
        if not isinstance(value, Array):
            return value
        v = value.variable
        if v is not None and not v.hint:
            v.hint = name
            return value
        if value.items is not None and not self.arm:
            self.shortened(name, value)
        of_no_tensor = value.truth and (value.known is not None or value.shape or self.steps)
        if value.whole is not None or value.items is not None or of_no_tensor:
            return value
        if self.arm:
            made = at_place(value, self.here)
            made.element, made.variable, made.pending = value.element, None, (name, self.reading.part, self)
            return made
        return self.line(name, value)

    def shortened(self, name: str, a: Array) -> None:
        """Lines for the long elements of an array that is written out."""
        for k, part in enumerate(a.items or []):
            if part.shape:
                self.shortened(name, part)
            elif not part.truth and len(postorder(part.element(()))) > LONGEST_ELEMENT:
                assert a.items is not None
                a.items[k] = self.line(name, part)

    # Elementwise.

    def known(self, value: float | bool) -> Array:
        """A number that stands here in the text."""
        return known(value, self.here)

    def whole(self, value: Affine) -> Array:
        """A whole number made of sizes and indices."""
        return whole(value, self.here)

    def operation(self, name: str, *args: Array) -> Array:
        """An operation of the language on each element."""
        kind, span = Op if name in OPERATIONS else Call, self.here
        return self.apply(lambda x: kind(name, x, *span), args, name in TRUTHS)

    def apply(self, make: Make, args: Sequence[Array], truth: bool = False) -> Array:
        """An operation on elements, with NumPy's broadcasting."""
        lengths = {len(a.items) for a in args if a.items is not None}
        if len(lengths) == 1 and all(a.items is not None or not a.shape for a in args) and (
                len({len(a.shape) for a in args if a.shape}) == 1):
            return stacked([self.apply(make, [a.items[k] if a.items is not None else a for a in args], truth)
                            for k in range(*lengths)])
        args = [*map(self.one_array, args)]
        shape = self.broadcast([a.shape for a in args])
        if not shape:
            return scalar(make([a.element(()) for a in args]), truth, loose_of(args))

        def element(at: Shape) -> Node:
            return make([a.element([ZERO if x.number == 1 else i for i, x in
                                    zip(at[len(at) - len(a.shape):], a.shape, strict=True)]) for a in args])
        return Array(shape, element, truth, loose=loose_of(args))

    def broadcast(self, shapes: Sequence[Shape]) -> tuple[Affine, ...]:
        rank = max(map(len, shapes))
        found: list[Affine] = []
        for d in range(rank):
            extents = [s[d - rank + len(s)] for s in shapes if d - rank + len(s) >= 0]
            longer = [x for x in extents if x.number != 1]
            for x in longer[1:]:
                self.equal(longer[0], x)
            found.append(longer[0] if longer else affine(1))
        return tuple(found)

    def as_number(self, a: Array) -> Array:
        """1 and 0 for truth values."""
        if not a.truth:
            return a
        if a.known is not None:
            return self.known(int(a.known))
        return self.operation("select", a, self.known(1), self.known(0))

    def choice(self, c: Array, a: Any, b: Any) -> Any:
        """a where c holds, else b; what has no choice is Absent."""
        if a is b:
            return a
        if isinstance(a, Several) and isinstance(b, Several) and len(a.items) == len(b.items):
            return Several([self.choice(c, x, y) for x, y in zip(a.items, b.items, strict=True)], a.kind)
        if isinstance(a, KnownDict) and isinstance(b, KnownDict) and a.items.keys() == b.items.keys():
            return KnownDict({k: self.choice(c, x, b.items[k]) for k, x in a.items.items()})
        if isinstance(a, Array) and isinstance(b, Array):
            if a.whole is not None and a.whole == b.whole:
                return a
            if a.items is not None and b.items is not None and a.shape == b.shape:
                return stacked([self.choice(c, x, y) for x, y in zip(a.items, b.items, strict=True)])
            if not a.truth:
                return self.operation("select", c, a, b)
            arms = [self.operation("and", *both) for both in ([c, a], [self.operation("not", c), b])]
            return self.operation("or", *arms)
        if not isinstance(a, Array | Several | KnownDict) and a == b:
            return a
        return Absent("has another value in each arm that is no number")
