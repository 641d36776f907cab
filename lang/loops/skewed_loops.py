"""A loop over sizes in a loop, as one loop over diagonals: dynamic programming in two dimensions.

    for i in 1:N + 1 { for j in 1:M + 1 { R(i, j) = D(i - 1, j - 1) + min(R(i - 1, j), R(i, j - 1)) } }

What an element reads is on earlier diagonals i + j (or 2*i + j, where it reads R(i - 1, j + 1); Lamport, 1974, names the
directions). So the loop goes over these, and all elements of one are computed together, from a copy of R with a row for each:

    for d in 2:N + M + 1 { S(d, i) = D(i - 1, d - i - 1) + min(S(d - 1, i - 1), S(d - 1, i)) where d - i >= 1, ... }

What is read at the edges is copied before, and the elements that the loops assign behind. Both are statements like any other.
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from adcli.lang.expressions.scope import Context
from adcli.lang.expressions.subscripts import AffineReader
from adcli.lang.ir.affine import Index, affine, slope
from adcli.lang.ir.errors import AdError
from adcli.lang.statements.comprehension_body import rewritten
from adcli.lang.tree.nodes import (
    Call,
    Clause,
    For,
    Node,
    Op,
    Parens,
    Statement,
    TensorAssign,
    Token,
    bare,
    names_in,
    postorder,
    targets_of,
)

WORK = "all statements stand in the inner loop, and assign elements with both steps: R(i, j) = ..."


@dataclass(slots=True, eq=False, repr=False)
class StepRead:
    """An element of a tensor that the loops assign: where the two steps stand among its subscripts, and what is added to them."""

    args: list[Node]
    places: tuple[int, int]
    offsets: tuple[int, int]
    surely: bool = True


class Skewed:
    """Two loops being made one."""

    def __init__(self, context: Context, outer: For, inner: For, fresh: Callable[[str], str]) -> None:
        self.context, self.outer, self.inner = context, outer, inner
        self.check()
        self.statements = [s for s in inner.body if isinstance(s, TensorAssign)]
        self.names = {name: fresh(name) for name in dict.fromkeys(s.target.text for s in self.statements)}
        self.step = fresh("d")
        self.index = Index(outer.step.text), Index(inner.step.text)
        self.writes = [self.access(s.target, s.subscripts or []) for s in self.statements]
        self.reads = [(n.name, self.access(n, n.args, surely)) for s in self.statements for n, surely in reads(s)
                      if n.name in self.names]
        self.slope = self.found_slope()
        self.at = inner.start, inner.end   # the place of what is made

    def check(self) -> None:
        outer, inner, fault = self.outer, self.inner, self.context.fault
        for s in inner.body:
            if not isinstance(s, TensorAssign) or not s.subscripts:
                raise fault("a loop over sizes in a loop assigns single tensors", inner.step, WORK)
        if inner.down != outer.down:
            raise fault("a loop over sizes in a loop that runs the other way", inner.step, "let both run down, or none")
        if inner.until is not None or outer.until is not None:
            raise fault("loops over sizes in one another have no until", inner.step, "let the inner loop go over numbers")
        if inner.checkpoint:
            raise fault("an inner loop has no checkpoint", inner.step, "write it behind the range of the outermost loop")

    def access(self, node: Token | Call, args: list[Node], surely: bool = True) -> StepRead:
        steps = self.outer.step, self.inner.step
        places = [[k for k, a in enumerate(args) if step.text in names_in(a)] for step in steps]
        reader = AffineReader(self.context, lambda t: affine(next((i for i in self.index if i.name == t.text), t.text)))
        offsets = list[int | None]()
        for at, index in zip(places, self.index, strict=True):
            try:
                offsets.append((reader.read(args[at[0]], "") - affine(index)).number if len(at) == 1 else None)
            except AdError:
                offsets.append(None)
        first, second = offsets
        if first is None or second is None or places[0] == places[1]:
            name = node.name if type(node) is Call else getattr(node, "text", "")
            said = f"'{name}' is not at a constant number of steps from '{steps[0].text}' and '{steps[1].text}'"
            raise self.context.fault(said, node, WORK)
        return StepRead(args, (places[0][0], places[1][0]), (first, second), surely)

    def growth(self, end: Node) -> int:
        """How much further the inner range begins or ends at each outer step."""
        index = self.index[0]
        if index.name not in names_in(end):
            return 0
        reader = AffineReader(self.context, lambda t: affine(index if t.text == index.name else t.text))
        grows = slope(reader.read(end, "the range of an inner loop"), index).number
        if grows is None or int(grows) != grows:
            raise self.context.fault("the range of an inner loop is no sum of the outer step", end, f"as in {index.name} + 1")
        return int(grows)

    def bound(self, end: Node, greatest: bool) -> Node:
        """The least or the greatest value, over all outer steps, of where the inner range begins or ends."""
        last = self.sum((self.outer.high, 1), self.number(-1)) if (self.growth(end) > 0) == greatest else self.outer.low
        return self.at_step(end, last)

    def at_step(self, end: Node, step: Node) -> Node:
        """Where the inner range begins or ends at an outer step."""
        name = self.outer.step.text
        return rewritten(end, lambda n: Parens(step, *self.at) if type(n) is Token and n.text == name else None)

    def lags(self) -> Iterator[tuple[str, StepRead, tuple[int, int]]]:
        """For each read of what the loops assign, by how many steps the element was written before."""
        sign = -1 if self.outer.down else 1
        for name, read in self.reads:
            for s, write in zip(self.statements, self.writes, strict=True):
                if s.target.text == name:
                    lag = tuple(sign * (w - r) for w, r in zip(write.offsets, read.offsets, strict=True))
                    yield name, read, (lag[0], lag[1])

    def found_slope(self) -> int:
        """How many diagonals further an outer step is, so that all that is read is on earlier ones."""
        slope = 1
        for name, read, (rows, columns) in self.lags():
            if rows < 0 or (rows == 0 and columns < 0):
                at = read.args[read.places[0]]
                raise self.context.fault(f"this reads an element of '{name}' that a later step assigns", at,
                                         "read what earlier steps assign, or let the loops run down")
            if rows:
                slope = max(slope, -((columns - 1) // rows))
        return slope

    # Parts of the text.

    def token(self, text: str) -> Token:
        return Token("NAME" if not text.isdigit() else "NUMBER", text, *self.at)

    def sum(self, *terms: tuple[Node, int]) -> Node:
        """A sum of nodes with factors; that of a number is the number itself."""
        made: Node | None = None
        at = self.at
        for node, factor in terms:
            if not factor or (type(node) is Token and node.text == "0"):
                continue
            node = Parens(node, *at) if isinstance(node, Op) else node
            part = node if abs(factor) == 1 else Op("mul", [self.token(str(abs(factor))), node], *at)
            if made is None:
                made = part if factor > 0 else Op("neg", [part], *at)
            else:
                made = Op("add" if factor > 0 else "sub", [made, part], *at)
        return made or self.token("0")

    def number(self, value: int) -> tuple[Node, int]:
        return self.token(str(abs(value))), 1 if value >= 0 else -1

    def range_of(self, name: str, low: Node, high: Node) -> Clause:
        return Clause("range", self.token(name), [low, high], *self.at)

    def on_diagonals(self, access: StepRead, row: Node, column: Node) -> list[Node]:
        """The subscripts in the copy of an element in a row and a column of the tensor."""
        p, q = access.places
        args = [*access.args]
        args[p], args[q] = self.sum((row, self.slope), (column, 1)), row
        return args

    def statement(self, name: str, left: list[Node], value: Node, clauses: list[Clause]) -> TensorAssign:
        return TensorAssign(self.token(name), left, "=", value, None, clauses, *self.at)

    # Statements.

    def run(self, before: Sequence[Statement]) -> list[Statement]:
        made: list[Statement] = []
        for name in self.names:
            edges = [*self.edges(name)]
            if edges and not any(t.text == name for s in before for t in targets_of(s)):
                said = f"'{name}' is read beside what the loops assign, where nothing has written it"
                raise self.context.fault(said, edges[0].value,
                                         f"give it values there before the loops, for example {name}(0, j) = 0 where j in 0:M")
            made += [self.zeros(name), *self.given(name, before), *edges]
        body: list[Statement] = [self.moved(s, write) for s, write in zip(self.statements, self.writes, strict=True)]
        low = self.sum((self.outer.low, self.slope), (self.bound(self.inner.low, False), 1))
        high = self.sum((self.outer.high, self.slope), (self.bound(self.inner.high, True), 1), self.number(-self.slope))
        loop = replace(self.outer, step=self.token(self.step), low=low, high=high, body=body)
        return [*made, loop, *(self.back(s, w) for s, w in zip(self.statements, self.writes, strict=True))]

    def zeros(self, name: str) -> TensorAssign:
        """The copy, with room for all elements that are read or written."""
        own = [w for s, w in zip(self.statements, self.writes, strict=True) if s.target.text == name]
        others = [r for n, r in self.reads if n == name] + own
        rows = self.sum((self.outer.high, 1), self.number(max(a.offsets[0] for a in others)))
        far = max(self.slope * a.offsets[0] + a.offsets[1] for a in others) + self.slope   # with no step there are edges too
        diagonals = self.sum((self.outer.high, self.slope), (self.bound(self.inner.high, True), 1), self.number(far - self.slope))
        s = next(s for s in self.statements if s.target.text == name)
        p, q = own[0].places
        left = [*own[0].args]
        left[p], left[q] = self.token(self.step), self.token(self.outer.step.text)
        more = [n for k, a in enumerate(left) if k not in (p, q) for n in names_in(a)]
        clauses = [c for c in s.clauses if c.kind == "range" and c.name is not None and c.name.text in more]
        zero = self.token("0")
        there = {n: made for k, (n, made) in enumerate(self.names.items()) if k < [*self.names].index(name)}
        for node in (n for n, _ in reads(s) if n.name in there or n.name not in self.names):
            if {*more} & {*names_in(*node.args)}:
                args = [a if type(bare(a)) is Token and {*names_in(a)} & {*more} else zero for a in node.args]
                read = Call(there.get(node.name, node.name), args, node.start, node.end)
                clauses.append(Clause("exists", None, [read], node.start, node.end))
        clauses += [self.range_of(self.step, zero, diagonals), self.range_of(self.outer.step.text, zero, rows)]
        return self.statement(self.names[name], left, zero, clauses)

    def given(self, name: str, before: Sequence[Statement]) -> Iterator[TensorAssign]:
        """What statements before the loops have assigned, where reads of it are under conditions."""
        if all(read.surely for other, read in self.reads if other == name):
            return
        own = next(w for s, w in zip(self.statements, self.writes, strict=True) if s.target.text == name)
        for outer in before:
            for s in outer.body if isinstance(outer, For) else [outer]:
                if isinstance(s, TensorAssign) and s.target.text == name and len(s.subscripts or ()) == len(own.args):
                    assert s.subscripts is not None
                    clauses = [c for c in s.clauses if c.kind != "shape"]
                    if isinstance(outer, For):
                        clauses.append(self.range_of(outer.step.text, outer.low, outer.high))
                    place = replace(own, args=s.subscripts)
                    left = self.on_diagonals(place, *(s.subscripts[k] for k in own.places))
                    yield self.statement(self.names[name], left, Call(name, s.subscripts, s.start, s.end), clauses)

    def edges(self, name: str) -> Iterator[TensorAssign]:
        """The elements around those that the loops assign that are surely read."""
        own = next(w for s, w in zip(self.statements, self.writes, strict=True) if s.target.text == name)
        found = [read for other, read in self.reads if other == name and read.surely]
        inner, self.at = self.at, (found[0].args[0].start, found[0].args[-1].end) if found else self.at
        beside = defaultdict[tuple[int, int, bool], list[int]](list)
        grows = {True: self.growth(self.inner.low), False: self.growth(self.inner.high)}
        rows = own.offsets[0]
        for read in found:
            for k, (offset, written) in enumerate(zip(read.offsets, own.offsets, strict=True)):
                for low, growth in grows.items():   # of a row, beyond what the loops assign of that row
                    beyond = (offset + k * growth * (rows - read.offsets[0]) - written) * (-1 if low else 1)
                    for step in range(1, beyond + 1):
                        beside[k, step, low].append(read.offsets[1 - k])
        for (k, step, low), others in sorted(beside.items()):
            loop, across = (self.outer, self.inner) if k == 0 else (self.inner, self.outer)
            free = self.token(across.step.text)
            end = self.at_step(loop.low if low else loop.high, self.sum((free, 1), self.number(-rows)))
            line = self.sum((end, 1), self.number(own.offsets[k] + (-step if low else step - 1)))
            least, most = min(others), max(others)
            if k and any(grows.values()):   # further rows are edges as a whole
                least, most = max(least, rows), min(most, rows)
            first = self.sum((self.bound(across.low, False), 1), self.number(least))
            last = self.sum((self.bound(across.high, True), 1), self.number(most))
            row, column = (line, free) if k == 0 else (free, line)
            args = [*own.args]
            args[own.places[0]], args[own.places[1]] = row, column
            ranges = [self.range_of(free.text, first, last)]
            yield self.statement(self.names[name], self.on_diagonals(own, row, column), Call(name, args, *self.at), ranges)
        self.at = inner

    def moved(self, s: TensorAssign, write: StepRead) -> TensorAssign:
        """A statement of the loops on diagonals."""
        i, slope = self.token(self.outer.step.text), self.slope
        column = Parens(self.sum((self.token(self.step), 1), (i, -slope)), *self.at)

        def subscripts(access: StepRead) -> list[Node]:
            args = [rewritten(a, change) for a in access.args]
            (p, q), (a, b) = access.places, access.offsets
            args[p] = self.sum((self.token(self.step), 1), self.number(slope * a + b))
            args[q] = self.sum((i, 1), self.number(a))
            return args

        def change(node: Node) -> Node | None:
            if type(node) is Call and node.name in self.names:
                return Call(self.names[node.name], subscripts(self.access(node, node.args)), node.start, node.end)
            return column if type(node) is Token and node.text == self.inner.step.text else None

        at, low, high = self.at, self.inner.low, self.inner.high
        clauses = [replace(c, nodes=[rewritten(n, change) for n in c.nodes]) for c in s.clauses]
        clauses += [self.range_of(i.text, self.outer.low, self.outer.high),
                    Clause("guard", None, [Op("ge", [column, low], *at)], *at),
                    Clause("guard", None, [Op("lt", [column, high], *at)], *at)]
        target = Token("NAME", self.names[s.target.text], s.target.start, s.target.end)
        return replace(s, target=target, subscripts=subscripts(write), value=rewritten(s.value, change), clauses=clauses)

    def back(self, s: TensorAssign, write: StepRead) -> TensorAssign:
        """The elements that a statement has assigned."""
        i, j = self.token(self.outer.step.text), self.token(self.inner.step.text)
        row, column = (self.sum((n, 1), self.number(k)) for n, k in zip((i, j), write.offsets, strict=True))
        value = Call(self.names[s.target.text], self.on_diagonals(write, row, column), s.start, s.end)
        ranges = [self.range_of(i.text, self.outer.low, self.outer.high), self.range_of(j.text, self.inner.low, self.inner.high)]
        return replace(s, value=value, symbol="=", clauses=[*(c for c in s.clauses if c.kind == "shape"), *ranges])


def reads(s: TensorAssign) -> Iterator[tuple[Call, bool]]:
    """The calls in a statement; whether each is made whatever the conditions in it say."""
    stack: list[tuple[Node, bool]] = [(n, True) for n in [s.value, *(n for c in s.clauses for n in c.nodes)]]
    while stack:
        root, surely = stack.pop()
        node = bare(root)
        if isinstance(node, Token | Parens):
            continue
        if type(node) is Call:
            yield node, surely
        chosen = node.name in ("select", "and", "or")
        stack += [(a, surely and not (chosen and k)) for k, a in enumerate(node.args)]


def is_over_numbers(loop: For) -> bool:
    return all(type(bare(n)) is Token and getattr(bare(n), "text", "").isdigit() for n in (loop.low, loop.high))


def is_over_sizes(loop: For) -> bool:
    """Test for a loop whose only statement is a loop over sizes with steps that depend on one another."""
    inner = loop.body[0] if len(loop.body) == 1 else None
    return isinstance(inner, For) and not is_over_numbers(inner) and at_once(loop, inner) is None \
        and not any(isinstance(s, For) for s in inner.body)


def at_once(outer: For, inner: For) -> list[Statement] | None:
    """The statements of an inner loop over sizes with its step as an index; None where its steps depend on one another."""
    assigned: dict[str, list[list[Node]]] = {}
    for s in inner.body:
        if not isinstance(s, TensorAssign) or not s.subscripts or inner.until is not None or inner.checkpoint:
            return None
        assigned.setdefault(s.target.text, []).append(s.subscripts)
    if any(len({subscript(write, inner.step.text) for write in writes}) > 1 for writes in assigned.values()):
        return None   # of one tensor at several places
    for s in inner.body:
        assert isinstance(s, TensorAssign)
        if inner.step.text not in names_in(*s.subscripts or ()) and s.symbol != "+=":
            return None
        if not assigned.keys().isdisjoint(names_in(s.value, *(n for c in s.clauses for n in c.nodes))):
            return None   # a tensor as a whole
        for node, _ in reads(s):
            for write in assigned.get(node.name, []):
                same_step = subscript(write, outer.step.text) == subscript(node.args, outer.step.text)
                own = subscript(write, inner.step.text)
                if same_step and (not own or own != subscript(node.args, inner.step.text)):
                    return None
    place = inner.start, inner.end
    step = Token("NAME", inner.step.text, inner.step.start, inner.step.end)
    return [replace(s, clauses=[*s.clauses, Clause("range", step, [inner.low, inner.high], *place)])
            for s in inner.body if isinstance(s, TensorAssign)]


def subscript(args: Sequence[Node], step: str) -> tuple[tuple[int, str], ...]:
    """The subscripts that have a step, in words, with their places."""
    return tuple((k, " ".join(getattr(n, "text", getattr(n, "name", "")) for n in postorder(a)))
                 for k, a in enumerate(args) if step in names_in(a))


def skewed(context: Context, loop: For, before: Sequence[Statement], fresh: Callable[[str], str]) -> list[Statement]:
    """The statements that a loop with a loop over sizes in it is made of."""
    inner = loop.body[0]
    assert isinstance(inner, For)
    return Skewed(context, loop, inner, fresh).run(before)
