"""Loops whose number of turns is a size: their lines are those of all turns at once, with the turn as an index.

What a turn reads of the turn before is a history, and the loop then is one of the language. What is only added to is a sum. An
array whose elements are assigned turn by turn has the subscripts that stand there.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from adcli.from_python.arrays import SUBSCRIPT
from adcli.from_python.calls import PythonCalls
from adcli.from_python.frame import ZERO
from adcli.from_python.reading import Advice, names_in, parts_of
from adcli.from_python.values import (
    Absent,
    Array,
    Indexed,
    Several,
    Shape,
    at_turn,
    every_turn,
    in_turn,
    replaced_in,
    with_leaves,
)
from adcli.lang.ir.affine import Affine, Index, affine, linear, slope, without
from adcli.lang.ir.errors import Span
from adcli.lang.tree.nodes import Node
from adcli.readers.draft import DraftLine, DraftLoop, Ref, Variable, covers, flat, put_in, read_in

NEUTRAL: dict[type[ast.operator], tuple[int, str]] = {ast.Add: (0, "+=!"), ast.Sub: (0, "+=!"), ast.Mult: (1, "*=!")}
"""The neutral elements of sums and products."""


class SizeLoops(PythonCalls):
    """Loops over sizes."""

    def over_size(self, s: ast.For, over: Indexed) -> None:
        """A loop over a size."""
        t, stored = Index("t"), [*dict.fromkeys(assigned(s.body))]
        arrays = {n: v for n in stored if isinstance(v := self.values.get(n), Array)}
        counters = {n: Index(n) for n, v in arrays.items() if v.whole is not None and counted(n, s.body)}
        turn, same = Steps(t, over.extent, over.rising is not None), renewed(s)
        again = [n for n, v in arrays.items() if n in same and v.shape and v.items is None and (
            v.opened is None or v.opened.depth == len(self.steps))]
        writes = [n for n in arrays if n not in again and self.open(n, s)]
        frame: Any = self.turn(t, over.extent)
        frame.unpack(s.target, (over.rising or over.item)(affine(t)), quiet=True)
        sums = {n: kind for n in arrays if n not in counters and (kind := only_added(n, s.body))}
        others = [n for n in arrays if n not in (*sums, *writes, *counters)]
        histories = {n: self.history(n, frame, turn) for n in others}
        for n, kind in sums.items():
            frame.values[n] = self.known(NEUTRAL[kind][0])
        for n, marker in counters.items():
            frame.values[n] = self.whole(affine(marker))
        seen = {n: frame.values[n].opened.reads for n in writes}
        frame.run([*reversed(s.body)])
        for n, marker in counters.items():
            self.values[n] = self.count(n, marker, turn, frame)
        for n in again:
            self.begun(histories[n], frame.lines)
        used = {n: h for n, h in histories.items() if h.read}
        chained = [n for n in writes if frame.values[n].opened.reads > seen[n]]
        self.closed_loop(turn, frame, used, chained)
        for n in stored:
            if n in sums:
                self.summed(n, sums[n], frame.values[n], turn)
            elif n in used:
                self.values[n] = used[n].at([*self.around, turn.after], self.here)
            elif n in writes:
                self.values[n] = frame.values[n]
            elif n in frame.values and n not in counters:
                self.values[n] = self.after(self.values.get(n), frame.values[n], turn)

    def count(self, name: str, marker: Index, steps: Steps, frame: Any) -> Array:
        """Put the value that a whole number has in each turn, which grows by the same or by a linear number, into the lines of
        the turn; gives the value behind the loop."""
        first, after = self.values[name].whole, frame.values[name].whole
        t, before = steps.t, steps.extent - 1 - affine(steps.t) if steps.down else affine(steps.t)
        by = None if after is None else put_in(after - affine(marker), {t: before})
        if by is None or marker in by.indices() or not linear(by) or (bend := slope(by, t).number) is None:
            raise self.fault(f"by how much '{name}' grows in each turn is not known", Advice.COUNTER)
        add, multiply = partial(self.binary, ast.Add), partial(self.binary, ast.Mult)

        def at(turn: Affine) -> Affine:
            n, less = self.whole(turn), self.whole(turn - 1)
            found = add(self.whole(first), multiply(self.whole(without(by, t)), n))
            if bend:
                pairs = self.binary(ast.FloorDiv, multiply(n, less), self.known(2))
                found = add(found, multiply(self.known(bend), pairs))
            return frame.as_whole(found, SUBSCRIPT)
        lines, frame.lines[:] = list(frame.lines), []
        now: dict[Index | str, Affine] = {marker: at(before)}
        replace_indices(lines, now)
        frame.lines += lines
        for n, v in frame.values.items():
            if isinstance(v, Array) and v.opened is not None:
                v.opened.written[:] = [put_in(x, now) for x in v.opened.written]
            elif isinstance(v, Array) and n != name and v is not self.values.get(n):
                frame.values[n] = in_turn(v, now)
        return self.whole(at(steps.extent))

    def after(self, before: Any, value: Any, turn: Steps) -> Any:
        """The value of a name behind a loop: that of the last turn, or a list of what all turns put there."""
        lists = isinstance(before, Several) and isinstance(value, Several) and not before.items and len(value.items) == 1
        if lists and isinstance(item := value.items[0], Array):
            return every_turn(turn.t, turn.extent, self.one_array(item))
        if value is before or before is None or isinstance(before, Array):
            return in_turn(value, {turn.t: turn.last}) if isinstance(value, Array) else value
        return Absent("changes in a loop over a size", "write a comprehension, [f(u) for u in x], or use an array of numbers")

    def history(self, name: str, frame: Any, turn: Steps) -> History:
        """The values of a name before each turn; read or not, which shows when the turn is."""
        before = self.one_array(self.settled(self.values[name]))
        made, span = History(self.new(name, (turn.extent + 1, *before.shape)), before), self.here
        around = [*self.around, turn.now]

        def element(at: Shape) -> Node:
            made.read = True
            return Ref(made.variable, span, [*around, *at])
        frame.values[name] = Array(before.shape, element, loose=before.loose, history=made)
        return made

    def begun(self, h: History, lines: list[DraftLine | DraftLoop]) -> None:
        """Leave out the elements that an array has before a turn where each turn assigns all of them first."""
        if h.fill is None:
            return
        v = h.fill.targets[0]
        after = lines[lines.index(h.fill) + 1:] if h.fill in lines else []
        first = next((x for x in after if v in read_in(x) or any(v in each.targets for each in x.lines)), None)
        if isinstance(first, DraftLine) and v not in read_in(first) and covers(first):
            lines.remove(h.fill)
        h.read = h.read or any(h.variable in read_in(x) for x in lines)

    def closed_loop(self, turn: Steps, frame: Any, histories: dict[str, History], chained: Sequence[str]) -> None:
        """The lines of all turns: a loop of the language where a turn reads another one."""
        for name, h in histories.items():
            after = frame.one_array(frame.as_array(frame.values[name]))
            if len(after.shape) != len(h.shape):
                raise self.fault(f"'{name}' has another number of dimensions after a turn", "begin with np.zeros of its shape")
            self.fit(h.shape, after.shape)
            at = [Index("i") for _ in h.shape]
            places = [*map(affine, at)]
            self.write(h.variable, h.before.element(places), (*self.around, turn.first, *places), at, h.shape)
            frame.write(h.variable, after.element(places), (*self.around, turn.then, *places), at, h.shape)
        if not histories and not chained:
            self.lines += frame.lines
            return
        for name in chained:
            self.covered(frame.values[name], turn)
        for line in flat(frame.lines):
            line.ranges.pop(turn.t, None)
        self.lines.append(DraftLoop(turn.t, ZERO, turn.extent, frame.lines, self.here, turn.down))

    def summed(self, name: str, kind: type[ast.operator], each: Array, turn: Steps) -> None:
        """The terms that all turns add to a name, or the factors."""
        neutral, symbol = NEUTRAL[kind]
        total = self.reduced(symbol, each.shape, lambda at, inner: at_turn(each.element(at), turn.t, inner[0]), [turn.extent])
        before = self.settled(self.values[name])
        if before.constant != neutral:
            total = self.binary(ast.Mult if kind is ast.Mult else ast.Add, before, total)
        self.bind(name, total)

    # Arrays that are assigned element by element.

    def open(self, name: str, s: ast.For) -> bool:
        """True for an array of which elements are assigned in a loop; it gets a variable whose elements can be written."""
        value = self.values[name]
        o = value.opened
        if o is not None and o.depth == len(self.steps) and (o.added or any(x.indices() for x in o.written)) and (
                name in elements_in(s, ast.Load)):   # a loop before this one assigned them
            self.values[name] = self.opened(name, Array(value.shape, value.element, loose=value.loose))
        elif o is None and value.items is not None and only_added(name, s.body, ast.Subscript) is ast.Add:
            self.values[name] = self.opened(name, Array(value.shape, self.one_array(value).element, loose=value.loose))
        elif o is None and name in elements_in(s, ast.Store) and value.items is None and value.shape:
            self.values[name] = self.opened(name, value)
        return self.values[name].opened is not None

    def opened(self, name: str, value: Array) -> Array:
        fill = next((x for x in self.lines if isinstance(x, DraftLine) and x.targets == [value.variable]), None)
        made = value
        if fill is None or value.pending:
            read = value.history.read if value.history else True
            made = self.line(name, value)
            fill = self.lines[-1]   # type: ignore[assignment]
            if value.history:
                value.history.read, value.history.fill = read, fill
        assert isinstance(fill, DraftLine) and made.variable is not None
        made.opened = Opened(fill, made.variable, len(self.steps))
        inner = made.element

        def element(at: Shape) -> Node:
            assert made.opened is not None
            made.opened.reads += 1
            return inner(at)
        made.element = element
        return made

    def store_element(self, base: Array, places: Shape, value: Array, symbol: str = "=") -> None:
        """A line that assigns one element in each turn."""
        if self.conditional:
            raise self.fault("an element that is assigned under a condition cannot be read", Advice.CHOICE)
        o = base.opened
        assert o is not None
        rest = base.shape[len(places):]
        self.fit(rest, value.shape[len(value.shape) - len(rest):])
        at = [Index("i") for _ in rest]
        value = self.one_array(value)
        subscripts = (*self.around[:o.depth], *places, *map(affine, at))
        expression = value.element([*map(affine, at)][len(at) - len(value.shape):])
        own = {i[0] for x in places if len(i := x.indices()) == 1}
        if not o.written and not o.added and all(t in own for t, _ in self.steps[o.depth:]):   # its own element was there before
            def before(x: Node) -> Node:
                if not (isinstance(x, Ref) and x.variable is o.variable and x.subscripts == subscripts):
                    return x
                o.reads -= 1
                return o.first(subscripts)
            expression = with_leaves(expression, before)
            for line in flat(self.lines):   # those of this turn
                line.values = [with_leaves(v, before) for v in line.values]
        self.write(o.variable, expression, subscripts, at, rest, symbol)
        if symbol == "=":
            o.written.append(places[0])
        else:
            o.added = True

    def covered(self, value: Array, turn: Steps) -> None:
        """Take back what fills an array whose turns read one another; all of its elements have to be assigned."""
        o = value.opened
        assert o is not None
        for x in o.written:
            low, short = put_in(x, {turn.t: ZERO}).number, (value.shape[0] - put_in(x, {turn.t: turn.extent})).number
            if (x - affine(turn.t)).indices() == [] and low is not None and short is not None:
                break
        else:
            raise self.fault("this loop reads elements that it assigns, and does not assign all of them", Advice.FIRST_ELEMENT)
        ends = [*map(affine, range(low)), *(value.shape[0] - 1 - k for k in range(short))]
        first = [self.boundary(o, k) for k in ends if k not in o.written]
        for lines in (self.lines, self.reading.draft.lines):
            if o.fill in lines:
                at = lines.index(o.fill)
                lines[at:at + 1] = first

    def boundary(self, o: Opened, k: Affine) -> DraftLine:
        """An element, with all that is behind it, as the array has it at first."""
        at = o.fill.subscripts[o.depth + 1:] if o.fill.subscripts else ()
        i = (o.fill.subscripts or ())[o.depth].index
        ranges = {j: x for j, x in o.fill.ranges.items() if j is not i}
        values = [v if i is None else at_turn(v, i, k) for v in o.fill.values]
        return DraftLine([o.variable], values, o.fill.span, (*(o.fill.subscripts or ())[:o.depth], k, *at), "=", ranges)


class Steps(NamedTuple):
    """The turns of a loop, counted by t, `down` from the last."""

    t: Index
    extent: Affine
    down: bool

    @property
    def now(self) -> Affine:
        """Where a history has the value before a turn."""
        return affine(self.t) + self.down

    @property
    def then(self) -> Affine:
        """Where a history has the value after a turn."""
        return affine(self.t) + (not self.down)

    @property
    def first(self) -> Affine:
        """Where a history begins."""
        return self.extent if self.down else ZERO

    @property
    def after(self) -> Affine:
        """Where a history ends."""
        return ZERO if self.down else self.extent

    @property
    def last(self) -> Affine:
        """The last turn."""
        return ZERO if self.down else self.extent - 1


class History:
    """A name that has a value before each turn, and `before` the first; `fill` copies it, where elements are assigned."""

    def __init__(self, variable: Variable, before: Array) -> None:
        self.variable, self.before, self.read = variable, before, False
        self.fill: DraftLine | None = None

    @property
    def shape(self) -> tuple[Affine, ...]:
        return self.before.shape

    def at(self, turn: Shape, span: Span) -> Array:
        """The value before a turn."""
        return Array(self.shape, lambda at: Ref(self.variable, span, [*turn, *at]))


class Opened:
    """An array whose elements are assigned: the line that fills it first, and where it is written."""

    def __init__(self, fill: DraftLine, variable: Variable, depth: int) -> None:
        self.fill, self.variable, self.depth, self.reads = fill, variable, depth, 0
        self.written: list[Affine] = []
        self.added = False

    def first(self, at: Shape) -> Node:
        """The element that is there at first."""
        own = zip(self.fill.subscripts or (), at, strict=True)
        return replaced_in(self.fill.values[0], {i: x for p, x in own if (i := p.index) is not None})


def replace_indices(lines: Sequence[DraftLine | DraftLoop], by: Mapping[Index | str, Affine]) -> None:
    """Replace some of the indices of lines."""
    for x in lines:
        if isinstance(x, DraftLoop):
            x.low, x.high = put_in(x.low, by), put_in(x.high, by)
            replace_indices(x.body, by)
        else:
            x.values = [replaced_in(v, by) for v in x.values]
            x.subscripts = None if x.subscripts is None else tuple(put_in(p, by) for p in x.subscripts)
            x.ranges = {i: (put_in(low, by), put_in(high, by)) for i, (low, high) in x.ranges.items()}


def counted(name: str, body: Sequence[ast.stmt]) -> bool:
    """True for a name that nothing but grows by whole numbers, in each turn."""
    stores = [n for n in parts_of(ast.Name, *body) if n.id == name and isinstance(n.ctx, ast.Store)]
    steady, found = list(body), 0
    while steady:
        s = steady.pop()
        if isinstance(s, ast.For):
            steady += s.body
        elif isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name) and s.target.id == name:
            plain = isinstance(s.value, ast.Constant) and isinstance(s.value.value, int)
            found += isinstance(s.op, ast.Add | ast.Sub) and (plain or getattr(s, "whole", False))
    return 0 < found == len(stores)


def assigned(body: Sequence[ast.stmt]) -> Iterator[str]:
    """The names that statements assign, those of elements and of lists that grow too."""
    for n in parts_of(ast.expr, *body):
        if isinstance(n, ast.Name | ast.Subscript) and isinstance(n.ctx, ast.Store) and (name := name_of(n)):
            yield name
        elif isinstance(n, ast.Attribute) and n.attr in ("append", "extend") and isinstance(n.value, ast.Name):
            yield n.value.id


def name_of(node: ast.AST) -> str:
    """The name before the subscripts of a target."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def renewed(s: ast.For) -> set[str]:
    """The names of arrays of which every turn assigns the same elements: no subscript depends on the turn."""
    tied = names_in(s.target)
    stores = [n for n in parts_of(ast.Subscript, *s.body) if isinstance(n.ctx, ast.Store)]
    for _ in s.body:
        for b in parts_of(ast.stmt, *s.body):
            if isinstance(b, ast.AugAssign) or (isinstance(b, ast.Assign | ast.For) and tied & names_in(
                    b.iter if isinstance(b, ast.For) else b.value)):
                targets = b.targets if isinstance(b, ast.Assign) else [b.target]
                tied |= {t.id for t in targets if isinstance(t, ast.Name)}
    return {*map(name_of, stores)} - {name_of(n) for n in stores if tied & names_in(n.slice)}


def elements_in(s: ast.AST, context: type[ast.expr_context]) -> set[str]:
    """The names of which elements are read, or assigned."""
    return {n.value.id for n in parts_of(ast.Subscript, s) if isinstance(n.ctx, context) and isinstance(n.value, ast.Name)}


def only_added(name: str, body: Sequence[ast.stmt], target: type[ast.expr] = ast.Name) -> type[ast.operator] | None:
    """The operation where a name, or elements of it, are nothing but added to, or multiplied."""
    every = [n for n in parts_of(ast.Name, *body) if n.id == name]
    sums = [n for n in parts_of(ast.AugAssign, *body) if isinstance(n.target, target) and name_of(n.target) == name]
    kinds = {ast.Mult if isinstance(n.op, ast.Mult) else ast.Add for n in sums if type(n.op) in NEUTRAL}
    return kinds.pop() if len(every) == len(sums) > 0 and len(kinds) == 1 and all(type(n.op) in NEUTRAL for n in sums) else None
