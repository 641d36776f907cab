"""SizeLoops whose number of turns is a size: their lines are those of all turns at once, with the turn as an index.

What a turn reads of the turn before is a history, and the loop then is one of the language. What is only added to is a sum. An
array whose elements are assigned turn by turn has the subscripts that stand there.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from adcli.from_python.calls import PythonCalls
from adcli.from_python.frame import ZERO
from adcli.from_python.reading import Advice
from adcli.from_python.values import Absent, Array, Element, Indexed, PythonRange, Several, Shape, first_of, known, whole
from adcli.lang.ir.affine import Affine, Index, affine, floor, substituted
from adcli.lang.ir.errors import Span
from adcli.lang.tree.nodes import Call, Node, Op
from adcli.readers.draft import DraftLine, DraftLoop, Ref, Variable, Whole

NEUTRAL: dict[type[ast.operator], tuple[int, str]] = {ast.Add: (0, "+=!"), ast.Sub: (0, "+=!"), ast.Mult: (1, "*=!")}
"""The neutral elements of sums and products."""


class SizeLoops(PythonCalls):
    """SizeLoops and comprehensions over sizes."""

    def turns(self, value: Any, node: ast.AST) -> Indexed | None:
        """The items of a loop, where their number is a size or a sum of sizes."""
        if isinstance(value, Array) and not value.shape and value.loose:
            value = self.ranked(value, 1, node)
        if isinstance(value, Indexed):
            return value
        if isinstance(value, PythonRange) and (value.high - value.low).number is None:
            by = abs(value.step)
            length = value.high - value.low if value.step > 0 else value.low - value.high
            return Indexed(length if by == 1 else floor(length + by - 1, by), lambda t: whole(value.low + t * value.step, (0, 0)))
        if isinstance(value, Array) and value.shape and value.shape[0].number is None:
            return Indexed(value.shape[0], lambda t: first_of(value, t))
        return None

    def indexed(self, node: ast.ListComp | ast.GeneratorExp) -> Array | None:
        g = node.generators[0]
        over = None if g.ifs else self.turns(self.value(g.iter), g.iter)
        if over is None:
            return None
        t = Index("t")
        frame = self.turn(t, over.extent)
        frame.unpack(g.target, over.item(affine(t)), g.iter, quiet=True)
        made = frame.one_array(frame.number(node.elt), self.span(node))
        self.lines += frame.lines
        return Array((over.extent, *made.shape), lambda at: at_turn(made.element(at[1:]), t, at[0]), loose=made.loose)

    def over_size(self, s: ast.For, over: Indexed) -> None:
        """A loop over a size."""
        t, stored = Index("t"), [*dict.fromkeys(assigned(s.body))]
        writes = [n for n in stored if isinstance(self.values.get(n), Array) and self.open(n, s)]
        frame = self.turn(t, over.extent)
        frame.unpack(s.target, over.item(affine(t)), s.iter, quiet=True)
        sums = {n: kind for n in stored if (kind := only_added(n, s.body)) and isinstance(self.values.get(n), Array)}
        others = [n for n in stored if n not in (*sums, *writes) and isinstance(self.values.get(n), Array)]
        histories = {n: self.history(n, frame, over.extent) for n in others}
        for n, kind in sums.items():
            frame.values[n] = known(NEUTRAL[kind][0], self.span(s))
        seen = {n: frame.values[n].opened.reads for n in writes}
        frame.run([*reversed(s.body)])
        used = {n: h for n, h in histories.items() if h.read}
        again = [n for n in writes if frame.values[n].opened.reads > seen[n]]
        self.closed_loop(s, t, over.extent, frame, used, again)
        for n in stored:
            if n in sums:
                self.summed(n, sums[n], frame.values[n], t, over.extent, s)
            elif n in used:
                self.values[n] = used[n].at([*self.around, over.extent], self.span(s))
            elif n in writes:
                self.values[n] = frame.values[n]
            elif n in frame.values:
                self.values[n] = self.after(self.values.get(n), frame.values[n], t, over.extent)

    def after(self, before: Any, value: Any, t: Index, extent: Affine) -> Any:
        """The value of a name behind a loop: that of the last turn, or a list of what all turns put there."""
        lists = isinstance(before, Several) and isinstance(value, Several) and not before.items and len(value.items) == 1
        if lists and isinstance(item := value.items[0], Array):
            item = self.one_array(item, (0, 0))
            return Array((extent, *item.shape), lambda at: at_turn(item.element(at[1:]), t, at[0]), loose=item.loose)
        if value is before or before is None or isinstance(before, Array):
            return last_turn(value, t, extent)
        return Absent("changes in a loop over a size", "write a comprehension, [f(u) for u in x], or use an array of numbers")

    def history(self, name: str, frame: Any, extent: Affine) -> History:
        """The values of a name before each turn; read or not, which shows when the turn is."""
        before = self.one_array(self.settled(self.values[name], (0, 0)), (0, 0))
        made = History(self.new(name, (extent + 1, *before.shape)), before)
        around = frame.around

        def element(at: Shape) -> Node:
            made.read = True
            return Ref(made.variable, (0, 0), [*around, *at])
        frame.values[name] = Array(before.shape, element, loose=before.loose)
        return made

    def closed_loop(self, s: ast.For, t: Index, extent: Affine, frame: Any, histories: dict[str, History],
                    again: Sequence[str]) -> None:
        """The lines of all turns: a loop of the language where a turn reads another one."""
        span = self.span(s)
        for name, h in histories.items():
            after = frame.one_array(frame.as_array(frame.values[name], s), span)
            if len(after.shape) != len(h.shape):
                raise self.fault(s, f"'{name}' has another number of dimensions after a turn", "begin with np.zeros of its shape")
            for x, y in zip(h.shape, after.shape, strict=True):
                self.equal(x, y, s)
            at = [Index("i") for _ in h.shape]
            places = [*map(affine, at)]
            first, then = (*self.around, ZERO, *places), (*self.around, affine(t) + 1, *places)
            self.lines.append(DraftLine([h.variable], [h.before.element(places)], span, first, "=", self.ranges(at, h.shape)))
            frame.lines.append(DraftLine([h.variable], [after.element(places)], span, then, "=", frame.ranges(at, h.shape)))
        if not histories and not again:
            self.lines += frame.lines
            return
        for name in again:
            self.covered(frame.values[name], t, extent, s)
        for line in (line for each in frame.lines for line in each.lines):
            line.ranges.pop(t, None)
        self.lines.append(DraftLoop(t, ZERO, extent, frame.lines, span))

    def summed(self, name: str, kind: type[ast.operator], each: Array, t: Index, extent: Affine, s: ast.For) -> None:
        """The terms that all turns add to a name, or the factors."""
        span, (neutral, symbol) = self.span(s), NEUTRAL[kind]
        total = self.reduced(symbol, each.shape, lambda at, inner: at_turn(each.element(at), t, inner[0]), [extent], span)
        before = self.settled(self.values[name], span)
        if before.constant != neutral:
            total = self.binary(ast.Mult if kind is ast.Mult else ast.Add, before, total, s)
        self.bind(name, total, s)

    # Arrays that are assigned element by element.

    def open(self, name: str, s: ast.AST) -> bool:
        """True for an array of which elements are assigned in a loop; it gets a variable whose elements can be written."""
        value = self.values[name]
        if value.opened is None and name in stored_elements(s) and value.items is None and value.shape:
            self.values[name] = self.opened(name, value, s)
        return self.values[name].opened is not None

    def opened(self, name: str, value: Array, node: ast.AST) -> Array:
        fill = next((x for x in self.lines if isinstance(x, DraftLine) and x.targets == [value.variable]), None)
        made = value
        if fill is None or value.pending:
            made = self.line(name, value, self.span(node))
            fill = self.lines[-1]   # type: ignore[assignment]
        assert isinstance(fill, DraftLine) and made.variable is not None
        made.opened = Opened(fill, made.variable, len(self.steps), value)
        inner = made.element

        def element(at: Shape) -> Node:
            assert made.opened is not None
            made.opened.reads += 1
            return inner(at)
        made.element = element
        return made

    def store_element(self, base: Array, places: Shape, value: Array, node: ast.AST, symbol: str = "=") -> None:
        """A line that assigns one element in each turn."""
        if self.conditional:
            raise self.fault(node, "an element that is assigned under a condition cannot be read", Advice.CHOICE)
        o, span = base.opened, self.span(node)
        assert o is not None
        rest = base.shape[len(places):]
        for x, y in zip(rest, value.shape[len(value.shape) - len(rest):], strict=True):
            self.equal(x, y, node)
        at = [Index("i") for _ in rest]
        value = self.one_array(value, span)
        subscripts = (*self.around[:o.depth], *places, *map(affine, at))
        expression = value.element([*map(affine, at)][len(at) - len(value.shape):])
        self.lines.append(DraftLine([o.variable], [expression], span, subscripts, symbol, self.ranges(at, rest)))
        o.written.append(places[0])

    def covered(self, value: Array, t: Index, extent: Affine, s: ast.For) -> None:
        """Take back what fills an array whose turns read one another; all of its elements have to be assigned."""
        o = value.opened
        assert o is not None
        single = [x.number for x in o.written if x.number is not None]
        to_end = [x for x in o.written if substituted(x, {t: extent}) == value.shape[0]]
        starts = [c for x in to_end if (c := (x - affine(t)).number) is not None]
        if not starts:
            raise self.fault(s, "this loop reads elements that it assigns, and does not assign all of them",
                             Advice.FIRST_ELEMENT)
        first = [self.boundary(o, k) for k in range(starts[0]) if k not in single]
        for lines in (self.lines, self.reading.draft.lines):
            if o.fill in lines:
                at = lines.index(o.fill)
                lines[at:at + 1] = first

    def boundary(self, o: Opened, k: int) -> DraftLine:
        """An element, with all that is behind it, as the array has it at first."""
        at = o.fill.subscripts[o.depth + 1:] if o.fill.subscripts else ()
        i = (o.fill.subscripts or ())[o.depth].index
        ranges = {j: x for j, x in o.fill.ranges.items() if j is not i}
        values = [v if i is None else at_turn(v, i, affine(k)) for v in o.fill.values]
        return DraftLine([o.variable], values, o.fill.span, (*(o.fill.subscripts or ())[:o.depth], affine(k), *at), "=", ranges)


class History:
    """A name that has a value before each turn, and `before` the first."""

    def __init__(self, variable: Variable, before: Array) -> None:
        self.variable, self.before, self.read = variable, before, False

    @property
    def shape(self) -> tuple[Affine, ...]:
        return self.before.shape

    def at(self, turn: Shape, span: Span) -> Array:
        """The value before a turn."""
        return Array(self.shape, lambda at: Ref(self.variable, span, [*turn, *at]))


class Opened:
    """An array whose elements are assigned: the line that fills it first, and where it is written."""

    def __init__(self, fill: DraftLine, variable: Variable, depth: int, base: Array) -> None:
        self.fill, self.variable, self.depth, self.base, self.reads = fill, variable, depth, base, 0
        self.written: list[Affine] = []


def at_turn(node: Node, t: Index, value: Affine) -> Node:
    """An expression in another turn."""
    if isinstance(node, Ref) and node.subscripts is not None:
        return Ref(node.variable, node.span, [substituted(x, {t: value}) for x in node.subscripts])
    if isinstance(node, Whole):
        return Whole(substituted(node.value, {t: value}), node.span)
    if isinstance(node, Op | Call):
        return type(node)(node.name, [at_turn(a, t, value) for a in node.args], node.start, node.end)
    return node


def last_turn(value: Any, t: Index, extent: Affine) -> Any:
    """A value as the last turn leaves it."""
    if not isinstance(value, Array):
        return value
    element: Element = value.element
    return Array(value.shape, lambda at: at_turn(element(at), t, extent - 1), value.truth,
                 None if value.whole is None else substituted(value.whole, {t: extent - 1}))


def assigned(body: Sequence[ast.stmt]) -> Iterator[str]:
    """The names that statements assign, those of elements and of lists that grow too."""
    for s in body:
        for n in ast.walk(s):
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store):
                yield n.id
            elif isinstance(n, ast.Attribute) and n.attr in ("append", "extend") and isinstance(n.value, ast.Name):
                yield n.value.id
            elif isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store) and (name := name_of(n)):
                yield name


def name_of(node: ast.AST) -> str:
    """The name before the subscripts of a target."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def stored_elements(s: ast.AST) -> set[str]:
    """The names of which elements are assigned."""
    return {n.value.id for n in ast.walk(s) if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store) and isinstance(
        n.value, ast.Name)}


def only_added(name: str, body: Sequence[ast.stmt]) -> type[ast.operator] | None:
    """The operation where a name is nothing but added to, or multiplied."""
    every = [n for s in body for n in ast.walk(s) if isinstance(n, ast.Name) and n.id == name]
    added = [n for s in body for n in ast.walk(s) if isinstance(n, ast.AugAssign)]
    sums = [n for n in added if isinstance(n.target, ast.Name) and n.target.id == name]
    kinds = {ast.Mult if isinstance(n.op, ast.Mult) else ast.Add for n in sums if type(n.op) in NEUTRAL}
    return kinds.pop() if len(every) == len(sums) > 0 and len(kinds) == 1 and all(type(n.op) in NEUTRAL for n in sums) else None
