"""Loops to recurrences.

`for t in 0:T { … }` becomes one equation. Its statements are lowered as any statement of tensors is, with the step as their
first range, among histories: the tensors that the loop assigns. How many elements a history has along the step is known before
anything is lowered (`planned`), so what a block assigns before a loop is made long enough; its other extents are those that it
has when the loop comes, or what the statements in the loop ask for.
"""
from __future__ import annotations

from collections import ChainMap, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from adcli.lang.expressions.desugar import Ending, flat
from adcli.lang.expressions.reductions import Made, common_guards, first_place, kept_points
from adcli.lang.expressions.scope import POISON, CallingScope, EquationScope
from adcli.lang.expressions.subscripts import AffineReader, check_elements
from adcli.lang.ir import Atom, Equation, Lit, Shape, Var
from adcli.lang.ir.affine import Affine, Index, affine, bounds, never_negative, text
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import Names
from adcli.lang.ir.records import value_record
from adcli.lang.loops.nested_loops import check_clause
from adcli.lang.operations.comprehension import NEUTRAL, Comprehension, Read, Subscript, identity_body
from adcli.lang.operations.matrix import FORMS, SOLVES, Boxed
from adcli.lang.operations.recurrence import Meeting, Recurrence, meetings, signature_of, surely_met
from adcli.lang.sizes.histories import Gappy, Interval, WrittenElements, extent_over, goes_beyond, written_box, written_region
from adcli.lang.sizes.ranges import Access, Domain, Given
from adcli.lang.statements.comprehension import TensorStatement
from adcli.lang.statements.comprehension_body import Elements, Poisoned, is_integer, shape_of, size_of
from adcli.lang.statements.index_conditions import pieces_where
from adcli.lang.statements.matrix_statement import MatrixStatement, finds_places, is_matrix_call
from adcli.lang.tree.nodes import (
    Assign,
    Call,
    Declare,
    For,
    Node,
    Statement,
    TensorAssign,
    Token,
    Typed,
    bare,
    names_in,
    postorder,
)

T = TypeVar("T")


@value_record
class StepTarget:
    """Where a statement of a loop writes: subscript `at[0]` is the step + `at[1]`; None where it adds at any other subscripts."""

    statement: TensorAssign
    at: tuple[int, int] | None


# ---------------------------------------------------------------- what loops ask for

def planned(scope: EquationScope, statements: Sequence[Statement]) -> dict[str, WrittenElements]:
    """The tensors that loops of a block assign, or its statements element by element, with all elements that the block writes.
    What cannot be read is left out here; it has a fault that is found where its turn comes."""
    found: dict[str, WrittenElements] = {}
    written: dict[str, list[TensorAssign]] = {}
    for loop in (s for s in statements if isinstance(s, For)):
        for name, place, interval in quietly(loop_writes, scope, loop) or ():
            found[name] = found.get(name, WrittenElements(place)).also(place, interval)
    for s in flat(inner for x in statements for inner in (x.body if isinstance(x, For) else [x])):
        if isinstance(s, TensorAssign) and s.subscripts:
            written.setdefault(s.target.text, []).append(s)
    several = {name: own for name, own in written.items() if len(own) > 1}
    declared = declarations(scope, statements) if several else Declarations(set(), {})
    for name, own in several.items():
        history = one_by_one(scope, own, found.get(name), declared)
        if history is not None:
            found[name] = history
    return found


NEXT = affine(1)


def one_by_one(scope: EquationScope, statements: Sequence[TensorAssign], history: WrittenElements | None,
               declared: Declarations) -> WrittenElements | None:
    """What statements write of a tensor along the dimensions in which the text of the first says that; None where the others do
    not go beyond that, and no loop assigns it."""
    first, more = statements[0], history is not None
    own = [elements_written(scope, first, d, declared) for d in range(len(first.subscripts or ()))]
    begun = {d: interval[1] for d, interval in enumerate(own) if interval is not None}
    single = {d for d, interval in enumerate(own) if interval is not None and interval[1] - interval[0] == NEXT}
    if first.target.text in scope.env or any(c.kind == "shape" for s in statements for c in s.clauses):
        begun = {}
    for d in sorted({*begun, *([history.place] if history else [])}):
        intervals = [each for s in statements if (each := elements_written(scope, s, d, declared)) is not None]
        more = more or any(goes_beyond(low, high, begun[d]) or (d in single and not never_negative(begun[d] - high))
                           for low, high in intervals)
        for low, high in sorted(intervals, key=lambda each: each[1] - each[0] != NEXT):   # single elements first
            known = history.along[d] if history is not None and d < len(history.along) else ()
            if high - low == NEXT or not known or goes_beyond(low, high, extent_over(known)):
                history = (history or WrittenElements(d)).also(d, (low, high))
    return history if more else None


class Declarations(NamedTuple):
    """The sizes of a block, named by its inputs and by the ranges of its loops, and the extents of its inputs."""

    sizes: set[str]
    extents: dict[str, list[Node]]


def declarations(scope: EquationScope, statements: Sequence[Statement]) -> Declarations:
    items = [i.name for s in statements if isinstance(s, Declare) for i in s.items if type(i.name) is Typed]
    extents = [n for typed in items if type(typed) is Typed for n in typed.extents or [typed]]
    ends = [n for s in statements if isinstance(s, For) for n in (s.low, s.high)]
    sizes = {*names_in(*extents, *ends)} | scope.tensors.sizes.keys() | {n for n in scope.env if size_of(scope, n) is not None}
    return Declarations(sizes, {t.text: t.extents for t in items if type(t) is Typed and t.extents})


def elements_written(scope: EquationScope, s: TensorAssign, d: int, declared: Declarations) -> Interval | None:
    """The elements along a dimension that a statement writes, beside which the others stay; None where its text does not say so
    by itself."""
    if d >= len(s.subscripts or ()):
        return None
    node, ranges = (s.subscripts or [])[d], {c.name.text: c.nodes for c in s.clauses if c.kind == "range" and c.name is not None}
    for name in {*names_in(node)} - declared.sizes - ranges.keys():
        if (extent := extent_read(s, name, declared)) is not None:
            ranges[name] = [Token("NUMBER", "0", extent.start, extent.start), extent]
    own = {name: Index(name) for name in {*names_in(node)} & {*ranges}}
    ends = {*names_in(*[n for name in own for n in ranges[name]])}
    if not {*names_in(node)} - {*own} | ends <= declared.sizes or (s.symbol.endswith("!") and own):
        return None
    reader = AffineReader(scope.context, lambda t: affine(own[t.text]) if t.text in own else size_to_come(scope, t))
    sums = {i: [quietly(reader.read, n, "") for n in ranges[name]] for name, i in own.items()}
    at = quietly(reader.read, node, "")
    if at is None or any(None in each for each in sums.values()):
        return None
    low, high = bounds(at, {i: (each[0], each[1] - 1) for i, each in sums.items() if each[0] is not None and each[1] is not None})
    return low, high + 1


def extent_read(s: TensorAssign, index: str, declared: Declarations) -> Node | None:
    """The extent of the inputs that a statement reads at an index whose range it does not state; None where that is not all that
    limits it."""
    found = list[Node]()
    for node in (n for n in postorder(s.value) if type(n) is Call and index in names_in(*n.args)):
        extents = declared.extents.get(node.name, [])
        for k, a in enumerate(node.args):
            if type(token := bare(a)) is Token and token.text == index and k < len(extents):
                found.append(extents[k])
            elif index in names_in(a) and type(token) is not Call:
                return None
    alike = len({repr([getattr(t, "text", "") for t in postorder(n)]) for n in found}) == 1
    return found[0] if alike and index not in names_in(*(n for c in s.clauses for n in c.nodes)) else None


def loop_writes(scope: EquationScope, loop: For) -> list[tuple[str, int, Interval]]:
    """The tensors that a loop writes, with the subscript that has the step and the elements there."""
    low, high = header(scope, loop, lambda t: size_to_come(scope, t))
    targets = [t for s in flat(loop.body) if (t := quietly(target_of, scope, loop, s)) is not None]
    return [(t.statement.target.text, t.at[0], (low + t.at[1], high + t.at[1])) for t in targets if t.at is not None]


def quietly(ask: Callable[..., T], *args: object) -> T | None:
    """What is asked for; None where it has a fault."""
    try:
        return ask(*args)
    except AdError:
        return None


def size_to_come(scope: EquationScope, token: Token) -> Affine:
    """A size in what is looked at ahead of its time, which may be known by then."""
    return scope.tensors.sizes.get(token.text) or affine(token.text)


def header(scope: EquationScope, s: For, size: Callable[[Token], Affine]) -> Interval:
    """The range of the step."""
    reader = AffineReader(scope.context, size, bound=True, scope=scope)
    what = f"the range of the step '{s.step.text}'"
    return reader.read(s.low, what), reader.read(s.high, what)


def target_of(scope: EquationScope, loop: For, s: Statement) -> StepTarget:
    """Where a statement writes. AdError where that is no constant number of steps from the step."""
    context, step = scope.context, loop.step.text
    token = s.targets[0] if isinstance(s, Assign) else s.target if isinstance(s, TensorAssign) else loop.step
    said = f"'{token.text}' is assigned in the loop without its step"
    if not isinstance(s, TensorAssign):
        carries = isinstance(s, Assign) and token.text in names_in(*s.values)
        raise context.fault(said, token, carried(loop, token.text) if carries else f"write {token.text}({step}) = ...")
    index, name = Index(step), s.target.text
    plain = [(d, [*postorder(n)]) for d, n in enumerate(s.subscripts or ())]
    having = [d for d, tokens in plain if any(type(t) is Token and t.text == step for t in tokens)
              and not any(type(t) is Call for t in tokens)]   # what is gathered may be another at every step
    adds = s.symbol == "+=" and plain and not any(type(t) is Call for _, tokens in plain for t in tokens)
    if not having:
        if adds:
            return StepTarget(s, None)
        if not plain and not s.symbol.endswith("!") and s.symbol != "=":
            raise context.fault(said, token, carried(loop, name))
        subscripts = ", ".join([step, *map(context.text, s.subscripts or ())])
        raise context.fault(said, token, f"write {name}({subscripts}) {s.symbol} ...")
    node = (s.subscripts or [])[having[0]]
    reader = AffineReader(context, lambda t: affine(index) if t.text == step else size_to_come(scope, t))
    what = f"dimension {having[0]} of '{name}'"
    at = quietly(reader.read, node, what) if adds else reader.read(node, what)
    offset = None if at is None else (at - affine(index)).number
    if adds and (len(having) > 1 or offset is None):
        return StepTarget(s, None)
    if len(having) > 1 or offset is None:
        raise context.fault(f"'{name}' is not assigned at a constant number of steps from '{step}'",
                            node if len(having) == 1 else (s.subscripts or [])[having[1]],
                            f"one subscript of it is {step}, {step} + 1, {step} - 1, ..., and no other has {step}")
    return StepTarget(s, (having[0], offset))


def carried(loop: For, name: str) -> str:
    """The help for a name whose value goes from step to step."""
    before, after = loop.step.text, f"{loop.step.text} + 1"
    if loop.down:
        before, after = after, before
    return f"write {name}({after}) = ... {name}({before}) ..., and its first element before the loop"


# ---------------------------------------------------------------- a loop

class LoopScope(EquationScope):
    """What the statements of a loop see: histories, and the names of the scope around it."""

    def __init__(self, outer: EquationScope, step: str) -> None:
        super().__init__(outer.context, outer.allowance)
        self.outer, self.step, self.tensors = outer, step, outer.tensors
        self.histories: dict[str, Atom] = {}
        self.env = ChainMap(self.histories, outer.env)

    def read(self, token: Token) -> Atom:
        own = self.histories.get(token.text)
        return self.outer.read(token) if own is None else own


class Loop:
    """One loop being lowered."""

    def __init__(self, outer: CallingScope, s: For, for_until: Collection[str] = ()) -> None:
        self.outer, self.s, self.context = outer, s, outer.context
        self.for_until = for_until   # what only the condition reads
        self.scope = LoopScope(outer, s.step.text)
        self.step = Index(s.step.text)
        self.low, self.high = header(outer, s, outer.size_of_step)
        self.check_step()
        self.check_range()
        self.assigns([target_of(outer, s, statement) for statement in s.body])
        self.done: str | None = None
        if s.until is not None:
            self.assigns([*self.until()])
        self.names = list(self.by_name)
        self.entering: dict[str, Atom] = {}
        self.fresh: set[str] = set()   # histories that nothing wrote before
        self.accesses: list[tuple[Sequence[Access], Domain]] = []
        self.unknown: set[str] = set()
        self.whole = {t.statement.target.text for t in self.targets if holds_whole_numbers(outer, t.statement)}
        self.read: set[str] = set()   # histories of which the loop reads every element that it writes

    def assigns(self, targets: list[StepTarget]) -> None:
        self.targets = targets
        self.by_name: defaultdict[str, list[StepTarget]] = defaultdict(list)
        for t in targets:
            self.by_name[t.statement.target.text].append(t)

    def run(self) -> dict[str, Atom]:
        """Emit the loop; the values that its names have behind it."""
        for name in self.names:
            self.enter(name)
        if self.done is not None:
            self.know(self.done, (self.high + 1,))
        self.shapes()
        for target in self.targets:
            statement_of(self, target).run()
        self.check_elements()
        return self.emit()

    def until(self) -> Iterator[StepTarget]:
        """The statements of a loop that may end early."""
        names = Names({*self.context.tree.names, *(t.statement.target.text for t in self.targets)})   # those of calls among them
        self.done = names.fresh("done")
        ending = Ending(self.s, self.done, names.fresh, self.context.source)
        for t in self.targets:
            name, adds = t.statement.target.text, t.statement.symbol == "+="
            if t.at is None or (adds and not any(o.at == t.at and o.statement.symbol != "+=" for o in self.written(name))):
                raise self.context.fault("a loop with until adds only to elements that the same step assigns", t.statement.target,
                                         "write the sum as an element of its own: +=!, or = with the element of the step before")
            place, offset = t.at
            first = self.high + offset if self.s.down else self.low + (offset - 1)
            carried = t.statement.target.text in self.outer.env and (self.s.down or never_negative(first))
            yield from (target_of(self.outer, self.s, s) for s in ending.statement(t.statement, place, carried, self.inner(t)))
        yield target_of(self.outer, self.s, ending.condition())

    def inner(self, target: StepTarget) -> int | None:
        """How many dimensions of what a statement assigns have no subscripts, if it is an operation on matrices."""
        value = bare(target.statement.value)
        if not is_matrix_call(self.scope, value) or target.statement.symbol != "=":
            return None
        assert type(value) is Call
        if value.name not in SOLVES:
            return len(FORMS[value.name][1])
        right = bare(value.args[-1])
        if is_matrix_call(self.scope, right):
            return 2
        name = right.name if type(right) is Call else getattr(right, "text", "")
        known = self.outer.env.get(name)
        count = len(right.args) if type(right) is Call else 0
        if known is not None:
            return len(shape_of(known)) - count
        above = self.targets[:self.targets.index(target)]
        of = next((t for t in above if t.statement.target.text == name), None)
        return 1 if of is None else len(of.statement.subscripts or ()) + (self.inner(of) or 0) - count

    def check_step(self) -> None:
        token = self.s.step
        known = self.outer.env.get(token.text)
        if known is not None or token.text in self.outer.tensors.sizes:
            what = "a size" if known is None else "a tensor" if shape_of(known) else "a value"
            raise self.context.fault(f"'{token.text}' is {what} and cannot be the step of a loop too", token,
                                     "choose another name for the step")

    def check_range(self) -> None:
        if self.low != self.high and never_negative(self.low - self.high):
            low, high = map(self.context.text, (self.s.low, self.s.high))
            raise AdError(f"the range {low}:{high} of the loop is empty", (self.s.low.start, self.s.high.end),
                          f"a loop that runs down is written for {self.step.name} in low:high down", self.context.source)

    def written(self, name: str) -> list[StepTarget]:
        return self.by_name.get(name, [])

    def offsets(self, name: str) -> list[int]:
        """How far from the step a history is written."""
        return [t.at[1] for t in self.written(name) if t.at is not None]

    def place(self, name: str) -> int:
        """The subscript of a history that has the step, the first where no statement says which."""
        return next((t.at[0] for t in self.written(name) if t.at is not None), 0)

    # Histories.

    def enter(self, name: str) -> None:
        """What a history holds before the loop: the value that its name has, or nothing."""
        token = self.written(name)[0].statement.target
        known = self.outer.env.get(name)
        if known is POISON:
            raise Poisoned
        self.unknown.add(name)
        self.entering[name] = Lit(0.0)
        if known is None:
            self.fresh.add(name)
        else:
            self.entering[name] = self.outer.read(token)
            if shape_of(known):
                self.know(name, shape_of(known))

    def helper(self, near: str, shape: Shape, start: float) -> Var:
        """A history that no text has, all of whose elements start from a number."""
        name = Names({*self.context.tree.names, *self.names}).fresh(near)
        self.names.append(name)
        self.entering[name] = Lit(start)
        self.know(name, shape)
        history = self.scope.histories[name]
        assert isinstance(history, Var)
        return history

    def know(self, name: str, shape: Shape) -> None:
        self.unknown.discard(name)
        self.scope.histories[name] = Var(name, False, False, shape, False, name in self.whole)

    def shapes(self) -> None:
        """Find the shapes of the histories that nothing wrote before: each is what its first statement asks for of which that is
        known."""
        waiting = [t for t in self.targets if t.statement.target.text in self.unknown]
        for target in waiting:
            shape = statement_of(self, target).declared
            if shape is not None and target.statement.target.text in self.unknown:
                self.know(target.statement.target.text, shape)
        while self.unknown:
            fault: AdError | None = None
            for target in [t for t in waiting if t.statement.target.text in self.unknown]:
                if target.statement.target.text in self.unknown:
                    try:
                        self.know(target.statement.target.text, statement_of(self, target).probed())
                        break
                    except AdError as error:
                        fault = fault or error
            else:
                assert fault is not None
                raise fault

    def found_shapes(self) -> dict[str, Shape]:
        """The shapes of what it assigns, before its statements are lowered."""
        for name in self.names:
            self.enter(name)
        self.shapes()
        return {name: shape_of(self.scope.histories[name]) for name in self.names}

    def extent(self, name: str) -> Affine:
        """The elements of a history that nothing wrote before."""
        planned = self.outer.tensors.histories.get(name)
        if planned is not None and planned.place == self.place(name):
            return extent_over(planned.intervals)
        return extent_over([(self.low + offset, self.high + offset) for offset in self.offsets(name)])

    # What must be so.

    def check_elements(self) -> None:
        """Every element of a history that is read is written, before the loop or in it. One that is added to starts from zero."""
        written = self.outer.tensors.written
        for name, entering in self.entering.items():
            own = [e.op for e in self.scope.equations if e.outs[0] is self.scope.histories[name]]
            before = Gappy(self.place(name)) if name in self.fresh else written.get(entering)
            if before is not None and all(op.onto is None for op in own):
                boxes = [written_box(op) for op in own]
                if None not in boxes:
                    regions = [written_region(op) for op in own]
                    written[self.scope.histories[name]] = before.also(*[b for b in boxes if b is not None], regions=regions)
        for accesses, domain in self.accesses:
            for a in accesses:
                atom = self.scope.env.get(a.tensor)
                check_elements(self.context, written, atom, a, domain.ranges, domain.guards)

    def check_order(self, e: Equation) -> None:
        """An element is assigned once or added to, and read behind all writes to it. What that depends on sizes for is found when
        they are known."""
        for each in meetings(e):
            if surely_met(each, self.step):
                raise self.read_too_early(each) if each.reads else self.written_twice(each)

    def written_twice(self, each: Meeting) -> AdError:
        name, first = each.writer.outs[0].name, self.line_of(each.writer)
        kinds = {s.op.onto is None for s in (each.writer, each.other) if isinstance(s.op, Comprehension)}
        said, help = "assigned twice in one step", "give one of them another name, or write += for both, which add to zero"
        if len(kinds) > 1:
            said, help = "assigned, and added to before", "assign an element first, and add to it then"
        return AdError(f"elements of '{name}' are {said}: here and {first}", each.other.span, help, self.context.source)

    def read_too_early(self, each: Meeting) -> AdError:
        element = f"{each.writer.outs[0].name}({', '.join(text(s) if isinstance(s, Affine) else '...' for s in each.subscripts)})"
        if each.writer.span == each.other.span:
            return AdError(f"this statement reads {element}, which it assigns itself", each.other.span,
                           f"read an earlier step, or assign the element at {self.step.name} + 1", self.context.source)
        return AdError(f"{element} is read here and assigned later, {self.line_of(each.writer)}", each.other.span,
                       "move this statement behind that one, or read an earlier step", self.context.source)

    def line_of(self, statement: Equation) -> str:
        source, span = self.context.source, statement.span or (0, 0)
        _, line, column = source.where(span)
        return f"in line {line}" + (f", column {column}" if line == source.where(self.s.span)[1] else "")

    # The equation.

    def emit(self) -> dict[str, Atom]:
        statements = self.scope.equations
        histories = [self.scope.histories[n] for n in self.names]
        used = dict.fromkeys(a for s in statements for a in s.args if a not in histories)
        inner: dict[Atom, Atom] = {a: Var(a.name, a.temp, False, a.shape, a.integer, a.whole) for a in used if isinstance(a, Var)}
        s, inlined = self.s, self.outer.tensors.inlined
        op = Recurrence(signature=signature_of(len(self.names)), step=self.step, low=self.low, high=self.high, down=s.down,
                        histories=tuple(v for v in histories if isinstance(v, Var)),
                        constants=tuple(v for v in inner.values() if isinstance(v, Var)),
                        statements=tuple(e.substituted(inner) for e in statements),
                        checkpoint=s.checkpoint or self.context.source.checkpoint,
                        until=None if self.done is None else self.names.index(self.done))
        own = {t.text for t in s.targets}
        outs = tuple(Var(n, inlined or n not in own, False, shape_of(h), False, n in self.whole)
                     for n, h in zip(self.names, histories, strict=True))
        written = self.outer.tensors.written
        written.update((out, written[h]) for out, h in zip(outs, histories, strict=True) if h in written)
        made = Equation(outs, op, (*self.entering.values(), *inner), s.span)
        self.check_order(made)
        self.outer.equations.append(made)
        return dict(zip(self.names, outs, strict=True))


def holds_whole_numbers(scope: EquationScope, s: TensorAssign) -> bool:
    """Whether a statement declares whole numbers, finds places, or goes on from what holds whole numbers."""
    before = scope.env.get(s.target.text)
    typed = [s.target, *(c.name for c in s.clauses if c.kind == "shape" and c.name is not None)]
    return (s.symbol.startswith("arg") or any(map(is_integer, typed)) or s.target.text in scope.tensors.whole
            or (isinstance(before, Var) and before.whole) or finds_places(scope, bare(s.value)))


class LoopStatement(TensorStatement):
    """One statement of a loop."""

    def __init__(self, loop: Loop, target: StepTarget) -> None:
        self.loop, self.target = loop, target
        super().__init__(loop.scope, target.statement)

    def check_new(self) -> None:
        pass

    def existing(self) -> Atom | None:
        if self.s.symbol not in ("=", "+=") and not self.s.symbol.endswith("!"):
            raise self.context.fault(f"a loop has no '{self.s.symbol}'", self.s.target,
                                     f"write {self.s.symbol}! to start anew, or the element before it as a value of its own")
        for c in self.s.clauses:
            check_clause(self.context, c, self.loop.step.name)
            if self.is_onto(c):
                raise self.context.fault(f"'{self.name}' goes on from the value that it has before the loop", c.nodes[0],
                                         f"write {self.name} = {self.context.text(c.nodes[0])} before the loop")
        return None

    def holds_whole_numbers(self) -> bool:
        return self.name in self.loop.whole

    def declared_shape(self) -> Shape | None:
        known = self.scope.env.get(self.name)
        return shape_of(known) if known is not None and self.name not in self.loop.unknown else super().declared_shape()

    def is_stated_shape(self, known: Shape) -> bool:
        return self.name not in self.loop.entering and known is self.declared

    def elements(self) -> Elements:
        b = super().elements()
        b.indices[self.loop.step.name] = self.loop.step
        b.passed_over = self.loop.unknown   # histories whose shape is not known yet
        return b

    def subscript(self, node: Node, what: str) -> tuple[Var, tuple[tuple[str, Affine], ...]]:
        for token in postorder(node):
            name = token.name if type(token) is Call else getattr(token, "text", "")
            if name in self.loop.names:
                raise self.computed_in_loop(node, what, name)
        return super().subscript(node, what)

    def computed_in_loop(self, node: Node, what: str, name: str) -> AdError:
        """What is said of a subscript that is made from what the loop assigns, which is a statement."""
        known = {*self.scope.env, *self.tensors.sizes, *self.loop.names}
        whole = f"{Names(self.context.tree.names).fresh('k')}({', '.join(n for n in names_in(node) if n not in known)})"
        return self.context.fault(f"{what} is computed here from '{name}', which the loop assigns", node,
                                  f"write int32 {whole} = {self.context.text(node)} above in the loop, and {whole} here")

    def assigned(self) -> Collection[str]:
        return self.loop.names

    def around(self) -> EquationScope:
        """Ahead of the loop, where they are computed for all steps at once."""
        return self.loop.outer

    def ranges_around(self, b: Elements) -> list[Given]:
        s = self.loop.s
        return [Given(self.loop.step, self.loop.low, self.loop.high, (s.low.start, s.high.end))]

    def probed(self) -> Shape:
        """The shape that the statement asks for."""
        arm = self.stated_arms()[0]
        b, _, write, _, given = self.gathered(arm)
        self.forget_subscripts(arm)
        return self.shape(write, self.domain(b, write, given))

    def extents(self, write: tuple[Subscript, ...], domain: object) -> Shape:
        found = list(super().extents(write, domain))  # type: ignore[arg-type]
        if self.target.at is not None:
            found[self.target.at[0]] = self.loop.extent(self.name)
        return tuple(found)

    def check_own_reads(self, b: Elements, write: tuple[Subscript, ...], given: list[Given], guards: Sequence[Affine]) -> None:
        for a in b.accesses:
            if a.tensor in self.loop.entering and not self.is_copy(a):
                self.check_read(a)

    def is_copy(self, a: Access) -> bool:
        """Whether an access stands for the element of the step before, where a loop has ended."""
        place = self.loop.place(self.name)
        return self.loop.done is not None and a.tensor == self.name and a.span(place) == self.s.target.span

    def check_read(self, a: Access) -> None:
        """A read of a history is of an element that is written before."""
        loop, step = self.loop, self.loop.step
        targets = loop.written(a.tensor)
        place, offsets = loop.place(a.tensor), loop.offsets(a.tensor)
        at = a.subscripts[place] if place < len(a.subscripts) else None
        if at is None:
            raise AdError(f"'{a.tensor}' is read at a subscript that is a value", a.span(place),
                          f"a loop reads what it assigns at {step.name}, {step.name} - 1, {step.name} - s with s in 1:S, ...",
                          self.context.source)
        steps = (at - affine(step)).number
        if steps is None or not offsets:
            return   # the order is proved of the whole loop
        if any(t.at == (place, steps) and t.statement.start == self.s.start and t.statement.target.start != self.s.target.start
               for t in targets):
            raise AdError(f"'{a.tensor}' is assigned by this statement, whose right sides are read before", a.span(place),
                          f"assign {a.tensor} in a statement of its own above", self.context.source)
        last = min(offsets) if loop.s.down else max(offsets)
        if steps < last if loop.s.down else steps > last:
            raise self.not_yet(a, place, last)
        if steps == last and self.name != loop.done and self.name not in loop.for_until:
            loop.read.add(a.tensor)

    def not_yet(self, a: Access, place: int, last: int) -> AdError:
        """A read of an element that only a later step writes."""
        at, step = a.subscripts[place], self.loop.step
        assert at is not None
        s, up = self.loop.s, self.loop.s.down
        said = f"a step writes {a.tensor} at {text(affine(step) + last)}, so {text(at)} is written by a later one"
        header = f"for {step.name} in {self.context.text(s.low)}:{self.context.text(s.high)}" + ("" if up else " down")
        help = f"a loop that runs {'up' if up else 'down'} knows it: {header} {{ ... }}"
        return AdError(said, a.span(place), help, self.context.source)

    def check_elements(self, accesses: Sequence[Access], domain: Domain) -> None:
        self.loop.accesses.append(([a for a in accesses if not self.is_copy(a) and a.tensor != self.loop.done], domain))

    def together(self, made: list[Made]) -> list[Made]:
        """What is no sum of several comprehensions reduces what all of them have made."""
        if len(made) == 1 or self.s.symbol in ("=", "+=!", "+="):
            return made
        return self.points(made)

    def points(self, made: list[Made]) -> list[Made]:
        """The reduction of the values of all points, which a history keeps."""
        first, history = made[0][0], self.scope.env[self.name]
        assert isinstance(history, Var) and self.target.at is not None
        place, offset = self.target.at
        if first.reduction in ("min", "max") and len(self.stated) > 1:
            self.refuse_pieces(NEUTRAL[first.reduction])
        step = affine(self.loop.step) + offset
        kept = kept_points(made, step, history.shape[place])
        points = self.loop.helper(self.name, kept[0][0].shape, NEUTRAL[first.reduction])
        self.scope.equations += [Equation((points,), op, tuple(args), self.s.span) for op, args in kept]
        b = self.elements()
        b.indices = {r.index.name: r.index for r in first.ranges}
        write = tuple([b.subscript(n, f"dimension {d} of '{self.name}'")[1] for d, n in enumerate(self.s.subscripts or ())])
        guards = common_guards([op for op, _ in made])
        read = Read(len(b.args), kept[0][0].write)
        return [(replace(first, guards=guards, write=write, sources=(read,), body=identity_body(), agreements=()),
                 [*b.args, points])]

    def places(self, made: list[Made]) -> list[Made]:
        """The extremum is a history of its own."""
        if len(made) > 1 or not all(e.op.llvm for e in made[0][0].body.equations):   # the same bits twice
            made = self.points(made)
        (op, args), = made
        extremum = self.loop.helper(self.name, op.shape, NEUTRAL[op.reduction])
        self.scope.equations.append(Equation((extremum,), op, tuple(args), self.s.span))
        return [first_place(op, args, extremum, self.along(op))]

    def refuse_pieces(self, start: float) -> None:
        """A point in no piece of what `where` leaves would count among the equal elements of an extremum that is infinite, so the
        text has to say that it has that value."""
        clause = next(c for c in self.s.clauses if c.kind == "guard" and len(pieces_where(self.context, c.nodes[0], True)) > 1)
        condition, value = (self.context.text(n, 60) for n in (clause.nodes[0], self.s.value))
        said = "a condition that leaves several pieces of the points, in an extremum of a loop"
        raise self.context.fault(said, clause.nodes[0],
                                 f"write a choice in place of it: {self.s.symbol} {condition} ? {value} : {start:g}")

    def emitted(self, op: Boxed, args: list[Atom], symbol: str, before: Atom | None, last: bool,
                whole: bool | None = None) -> Atom:
        history = self.scope.env[self.name]
        assert isinstance(history, Var)
        if symbol == "+=" and isinstance(op, Comprehension):
            op, args = replace(op, onto=len(args)), [*args, history]
        self.scope.equations.append(Equation((history,), op, tuple(args), self.s.span))
        return history


class LoopMatrixStatement(LoopStatement, MatrixStatement):
    """One statement of a loop that is an operation on matrices."""

    def tensor(self, node: Node) -> tuple[Var, str]:
        name = node.name if type(node) is Call else node.text if type(node) is Token else ""
        if name in self.loop.unknown:
            raise self.context.fault(f"'{name}' is read before anything has written it", node,
                                     f"give it a value before the loop, {name}(0, ...) = ..., or in the loop above this line")
        return super().tensor(node)

    def lifted(self, node: Node) -> Node:
        raise no_statement_of_its_own(self.loop, node)

    def probed(self) -> Shape:
        return self.made()[0].shape


def statement_of(loop: Loop, target: StepTarget) -> LoopStatement:
    """One statement of a loop, to be lowered."""
    value = bare(target.statement.value)
    if is_matrix_call(loop.scope, value) and target.statement.symbol == "=":
        return LoopMatrixStatement(loop, target)
    inner = next((n for n in postorder(value) if is_matrix_call(loop.scope, n)), None)
    if inner is not None:
        raise no_statement_of_its_own(loop, inner)
    return LoopStatement(loop, target)


def no_statement_of_its_own(loop: Loop, call: Node) -> AdError:
    """What is said of an operation on matrices that stands inside of an expression in a loop."""
    context = loop.scope.context
    return context.fault("an operation on matrices is a statement of its own in a loop", call,
                         f"give it a name first in the loop: M({loop.step.name}) = {context.text(call)}")
