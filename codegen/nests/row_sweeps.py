"""Statements along the same rows whose elements are taken in one loop: each is fetched once, and what they share computed once.

    y(t, d) = g(d) * (x(t, d) - m(t)) / s(t)
    d_g(d) +=! d_y(t, d) / s(t) * (x(t, d) - m(t))
    d_m(t) +=! -(g(d) * (d_y(t, d) / s(t)))

In a block of rows (adcli.codegen.nests.row_sweeps) one statement after another would fetch these rows from the second cache, and
divide d_y by s again. Instead a loop along d has a tile of a few rows of all of them. A statement writes each element; or it is a
sum of a row, whose accumulators are registers; or a sum of a column, which goes on where the rows before have left it.

These read nothing that another of them writes, and call no functions, which take longer than fetching numbers.

Statements that go along the rows of one tensor, done together: all of them for a block of rows, then for the next.

    y(i) +=! A(i,j) * x(j)
    d_x(j) +=! A(i,j) * d_y(i)

Where A is larger than the caches each statement waits for memory, once for every element of A. In blocks of rows the second one
finds in the second cache what the first has read. The rows are the first dimension. A statement has a part for each row if it
writes to that row, or if it is a sum over rows; then what blocks come to is added up in their order. What is made in such a group
may be read in it, too, row by row. All rows are in up to 16 parts, whatever threads there are: a part is what a thread takes, and
its sums are its own until the end.

Another tensor of the same shape, as the adjoint of what has one element for each of A's, is taken by the same rows.

Only statements with no more points than the tensor has elements are done so, those for which memory is what takes the time: a
product of matrices loses more by having its operands copied for every block.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from adcli.codegen.nests.cse_across_statements import known_atom
from adcli.codegen.nests.fusion import EACH, TOTAL, joinable
from adcli.codegen.schedules.schedule import Schedule, StepBlock, indices
from adcli.lang.ir import Atom, Equation, Param, Program, Result, Var
from adcli.lang.ir.affine import Affine, Index, NewSubstitution, Substitution, affine, substituted
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.comprehension import BodySource, Comprehension, Range, Read, Subscript
from adcli.lang.operations.matrix import elements_read
from adcli.lang.sizes.binding import number

ROWS = 4
"""Rows of a tile."""
MOST_EQUATIONS, MOST_ROW_SUMS = 60, 4
"""How long the bodies of all statements may be, and how many may be sums of rows, whose accumulators registers hold."""
ELEMENTS, ROW_SUM, COLUMN_SUM = "elements", "row sum", "column sum"


@dataclass(frozen=True, slots=True)
class SweepStep:
    """The step of this number as one of a sweep: what it writes of an element, and its index along the rows and range in them."""

    number: int
    equation: Equation
    kind: str
    row: Index
    column: Range

    @property
    def op(self) -> Comprehension:
        return self.equation.op

    @property
    def elements(self) -> set[Atom]:
        """Tensors read by rows and columns."""
        return {self.equation.args[s.arg] for _, s in self.op.reads() if len(s.subscripts) > 1}


@dataclass(frozen=True, slots=True)
class RowSweep:
    """Steps that go along the rows of a block in one loop, in the place of the first of them."""

    members: tuple[SweepStep, ...]
    block: StepBlock

    @property
    def steps(self) -> tuple[int, ...]:
        return tuple([m.number for m in self.members])


def in_sweeps(steps: Sequence[RowStep], blocks: Mapping[int, StepBlock]) -> list[RowSweep]:
    """The sweeps among the steps with these blocks, which stand behind each other."""
    found, current, since = list[list[SweepStep]](), list[SweepStep](), Touched()
    for k, block in blocks.items():
        member = sweep_step(k, steps[k], block.index)
        if member is not None and (since.clashes(steps[k]) or not go_together([*current, member])):
            found.append(current)
            current, since = [], Touched()
        if member is not None:
            current.append(member)
        since.add(steps[k])
    return [RowSweep(tuple(members), blocks[members[0].number]) for members in (*found, current) if len(members) > 1]


def sweep_step(number: int, step: RowStep, row: Index) -> SweepStep | None:
    """The step as one of a sweep along `row`; None where it can be in none."""
    (e,) = step.equations
    op = e.op
    columns = [r for r in op.ranges if r.index is not row]
    if len(columns) != 1 or op.guards or op.onto is not None or not all(x.op.llvm for x in op.body.equations):
        return None
    (column,) = columns
    i, j = affine(row), affine(column.index)
    kinds: dict[tuple[str, tuple[Subscript, ...]], str]
    kinds = {("=", (i, j)): ELEMENTS, ("+", (i,)): ROW_SUM, ("+", (j,)): COLUMN_SUM}
    kind = kinds.get((op.reduction, op.write))
    registers = any(n.vector is column.index and not n.scatter and not n.windows and not n.powers for n in step.schedules)
    return SweepStep(number, e, kind, row, column) if kind is not None and registers else None


def go_together(members: Sequence[SweepStep]) -> bool:
    """True if all have the same columns, the last reads an element that another one does, and one loop is not too long."""
    *others, last = members
    columns = {(m.column.low, m.column.high) for m in members}
    shared = not others or not last.elements.isdisjoint(set[Atom]().union(*[m.elements for m in others]))
    row_sums, length = [m.kind for m in members].count(ROW_SUM), sum(len(m.op.body.equations) for m in members)
    return len(columns) == 1 and shared and row_sums <= MOST_ROW_SUMS and length <= MOST_EQUATIONS


# ---------------------------------------------------------------- one body

@dataclass(frozen=True, slots=True)
class SweptResult:
    """Result of a statement of a sweep: where it lies, which value of the body it is, with the equations that no statement before
    it has. A `product` is none of these: it goes into a sum by a fused operation."""

    kind: str
    out: Var
    write: tuple[Subscript, ...]
    value: Atom
    equations: tuple[Equation, ...]
    product: Equation | None


class OneBody:
    """The bodies of several statements as one, with each source and each value once."""

    def __init__(self) -> None:
        self.args: dict[object, tuple[int, Atom]] = {}
        self.sources: dict[object, tuple[Param, BodySource]] = {}
        self.made: dict[object, Equation] = {}
        self.values: dict[Atom, Atom] = {}
        """Values of the body that stand for elements of tensors."""

    def add(self, e: Equation, op: Comprehension, by: Substitution) -> Atom:
        """The value of a statement, with other indices for its own."""
        env = dict[Atom, Atom]()
        for p, s in op.inputs():
            if isinstance(s, Read) and (value := self.values.get(e.args[s.arg])) is not None:
                env[p.var] = value
                continue
            name, (key, source) = f"x{len(self.sources)}", self.source(s, e.args, by)
            env[p.var] = self.sources.setdefault(key, (Param(Var(name), name), source))[0].var
        for x in op.body.equations:
            args, (out,) = tuple([env.get(a, a) for a in x.args]), x.outs
            key = (x.op, *map(known_atom, args))
            env[out] = self.made.setdefault(key, Equation((Var(out.name, out.temp, out.truth),), x.op, args)).outs[0]
        value = op.body.results[0].atom
        return env.get(value, value)

    def source(self, s: BodySource, args: Sequence[Atom], by: Substitution) -> tuple[object, BodySource]:
        """A source in terms of all arguments, and what it has in common with others that are the same."""
        if isinstance(s, Affine):
            return (found := substituted(s, by)), found
        place, _ = self.args.setdefault(known_atom(a := args[s.arg]), (len(self.args), a))
        keys, subscripts = zip(*[self.source(x, args, by) for x in s.subscripts], strict=True) if s.subscripts else ((), ())
        return (place, keys), Read(place, subscripts)

    def results(self, found: Sequence[tuple[str, Equation, tuple[Subscript, ...], Atom, int]]) -> list[SweptResult]:
        """Results of statements, each of a kind, with what it writes, its value, and how many equations there were after it. A
        `TOTAL` fuses its product as it does alone, also where others have that value."""
        equations, made, begin = tuple(self.made.values()), list[SweptResult](), 0
        readers = Counter([*(value for *_, value, _ in found), *(a for e in equations for a in e.args)])
        for kind, e, write, value, end in found:
            mine, alone, last = equations[begin:end], readers[value] == 1, e.op.body.equations[-1:]
            if kind == TOTAL:
                some = equations if last and last[0].outs == (e.op.body.results[0].atom,) else ()
            else:
                some = mine if alone and kind in (ROW_SUM, COLUMN_SUM) else ()
            product = next((x for x in some if x.outs[0] is value and x.op is TABLE["mul"]), None)
            others, begin = tuple([x for x in mine if x is not product or not alone]), end
            made.append(SweptResult(kind, e.outs[0], write, value, others, product))
        return made

    def comprehension(self, op: Comprehension, values: Sequence[Atom]) -> Comprehension:
        """The comprehension with all sources and these values."""
        params, sources = zip(*self.sources.values(), strict=True) if self.sources else ((), ())
        body = Program(params, tuple(self.made.values()), tuple([Result(f"z{k}", x) for k, x in enumerate(values)]))
        return replace(op, sources=sources, body=body)

    @property
    def arguments(self) -> tuple[Atom, ...]:
        return tuple([a for _, a in self.args.values()])


def one_statement(group: Sequence[Equation[Comprehension]]) -> tuple[Equation[Comprehension], list[SweptResult]]:
    """The statements of a joint loop as one, and what is written in it."""
    first, whole, found = group[0], OneBody(), []
    index = affine(first.op.ranges[0].index)
    for e in group:
        x = joinable(e)
        assert x is not None
        by: NewSubstitution = {e.op.ranges[0].index: index}
        value = whole.add(e, e.op, by)
        write = tuple([whole.source(s, e.args, by)[1] for s in e.op.write])
        if x.kind == EACH:
            whole.values[e.outs[0]] = value
        found.append((x.kind, e, write, value, len(whole.made)))
    results = whole.results(found)
    op = whole.comprehension(replace(first.op, write=(), shape=(), reduction="+", agreements=()), [r.value for r in results])
    return replace(first, op=op, args=whole.arguments), results


def one_nest(sweep: RowSweep) -> tuple[Schedule, list[SweptResult]]:
    """The nest of a sweep, and what is written in it."""
    first, whole = sweep.members[0], OneBody()
    i, j = first.row, first.column.index
    writes = {ELEMENTS: (i, j), ROW_SUM: (i,), COLUMN_SUM: (j,)}
    values = [(m.kind, m.equation, whole.add(m.equation, m.op, {m.row: affine(i), m.column.index: affine(j)}), len(whole.made))
              for m in sweep.members]
    results = whole.results([(kind, e, tuple(map(affine, writes[kind])), value, end) for kind, e, value, end in values])
    op = whole.comprehension(replace(first.op, write=(affine(i),), reduction="+"), [r.value for r in results])
    return Schedule(op, whole.arguments, (), (), j, i, ROWS, block=sweep.block), results


# ---------------------------------------------------------------- row blocks

NEAR, STILL_NEAR = 1 << 16, 1 << 19
"""Bytes of rows that are done together, a part of the smallest second caches; and where so many are needed for LEAST_ROWS."""
FAR = 1 << 21
"""Bytes of a tensor's rows beyond which they are no longer near by themselves."""
LEAST_ROWS = 8
"""Rows of the shortest blocks, which have whole tiles."""
PARTS = 16
"""Parts of all rows at most, each of which has sums of its own and may be another thread's."""
REACH = 8
"""Statements behind the last of a group among which another one for it is looked for."""


@dataclass(frozen=True, slots=True)
class RowBlocks:
    """Steps `first` to `last` of a module go along `rows` rows of `tensors`. With `parts` in the cell of that name the rows are
    done so, each part block by block; with 0 there one step is done after the other, as those of no group are."""

    first: int
    last: int
    rows: Affine
    tensors: tuple[Var, ...]
    blocks: Mapping[int, StepBlock]
    """For each of these steps what says which rows are done."""
    sums: Mapping[int, tuple[Var, Var]]
    """For the sums over rows where the result lies, and where what parts come to, but for the first, which is in its place."""

    def name(self, of: str) -> str:
        """The name of a cell: for the `rows` of a block, the `blocks`, or the `parts`."""
        return f"{of} {self.first}"

    def bytes_of_sum(self, k: int) -> str:
        """The name of the cell for the bytes of a sum's result."""
        return f"bytes {k}"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all cells, those first that say which rows are done."""
        block = next(iter(self.blocks.values())).names
        return (*block, *map(self.name, ("rows", "blocks", "parts")), *map(self.bytes_of_sum, self.sums))

    def cells(self, sizes: Mapping[str, int], bytes_of: Callable[[Var], int], everything: int) -> dict[str, int]:
        """Contents of the cells at these sizes."""
        def bytes_in(v: Var, shape: Sequence[Affine]) -> int:
            return bytes_of(v) * prod([number(x, sizes) for x in shape])

        rows, row = number(self.rows, sizes), sum(bytes_in(v, v.shape[1:]) for v in self.tensors)
        many = max(LEAST_ROWS, NEAR // max(1, row) // LEAST_ROWS * LEAST_ROWS)
        blocks = -(-rows // many) if row * rows > FAR and row * many <= STILL_NEAR else 0
        found = (-everything, everything, 0, many, blocks, min(PARTS, blocks))
        return dict(zip(self.names, (*found, *(bytes_in(v, v.shape) for v, _ in self.sums.values())), strict=True))


@dataclass(frozen=True, slots=True)
class RowStep:
    """A step as it is looked at here: its equations and schedules, whether it `covers` all elements of its result, and which
    places in memory it reads and writes."""

    equations: Sequence[Equation]
    schedules: Sequence[Schedule]
    covers: bool
    reads: frozenset[Var]
    writes: frozenset[Var]


class Touched:
    """The places in memory that some steps read and write."""

    def __init__(self) -> None:
        self.reads, self.writes = set[Var](), set[Var]()

    def add(self, step: RowStep) -> None:
        self.reads |= step.reads
        self.writes |= step.writes

    def clashes(self, step: RowStep) -> bool:
        """True if a step must stay behind one of these."""
        return not (step.writes.isdisjoint(self.reads) and step.writes.isdisjoint(self.writes)
                    and step.reads.isdisjoint(self.writes))


def in_row_blocks(steps: Sequence[RowStep], home: Callable[[Var], Var]) -> tuple[list[int], list[RowBlocks]]:
    """The order in which steps are to be done, by their numbers, and the groups, whose numbers are places in that order."""
    order, groups, k = list[int](), list[RowBlocks](), 0
    while k < len(steps):
        made = [g for v in dict.fromkeys(v for v, _ in _reads(steps[k], home)) if (g := _Group(steps, k, v, home)).many > 1]
        if not made:
            order.append(k)
            k += 1
            continue
        best = max(made, key=lambda g: g.many)
        before, members, behind = best.parted()
        order += before
        first = len(order)
        names = f"row {first}", f"to row {first}", f"more rows {first}"
        blocks = {first + n: StepBlock(best.index[m], best.adds(m), names) for n, m in enumerate(members)}
        made_by = {first + n: next(iter(steps[m].writes)) for n, m in enumerate(members) if best.adds(m)}
        sums = {n: (v, replace(v, name=None)) for n, v in made_by.items()}
        groups.append(RowBlocks(first, first + len(members), best.rows, tuple(best.large), blocks, sums))
        order += [*members, *behind]
        k = best.last + 1
    return order, groups


class _Group:
    """The steps from number `k` on that go along the rows of a tensor, which that step reads."""

    def __init__(self, steps: Sequence[RowStep], k: int, tensor: Var, home: Callable[[Var], Var]) -> None:
        self.steps, self.home = steps, home
        self.large: dict[Var, None] = {}
        self.index: dict[int, Index] = {}
        self.touched = Touched()
        self.sums = set[Var]()
        """Sums over rows, complete only after all of them."""
        self.many, self.last = 0, k
        """The steps that read the tensor, or another one as large, and the last of them."""
        if len(tensor.shape) < 2:
            return
        self.rows, self.shape, self.large = tensor.shape[0], tensor.shape, {tensor: None}
        before, behind, waiting = list[int](), list[int](), Touched()
        for m in range(k, len(steps)):
            if m > self.last + REACH or (m > k and not self.index):
                break
            joins, waits = self.touched.clashes(steps[m]), waiting.clashes(steps[m])
            i = None if waits else self.along(steps[m])
            if i is not None and (self.read_by_rows(steps[m], i) or joins):
                self.add(m, i)
            elif waits or joins:
                behind.append(m)
                waiting.add(steps[m])
            else:
                before.append(m)
        self.before, self.behind = ([n for n in x if n < self.last] for x in (before, behind))
        made = {v for n in self.index if n > self.last for v in steps[n].writes}
        self.large = {v: None for v in self.large if v not in made}

    def parted(self) -> tuple[list[int], list[int], list[int]]:
        """Steps before the group, in it, and after it."""
        return self.before, [n for n in self.index if n <= self.last], self.behind

    def add(self, m: int, i: Index) -> None:
        step = self.steps[m]
        self.index[m] = i
        if read := self.read_by_rows(step, i):
            self.many, self.last = self.many + 1, m
            self.large |= dict.fromkeys(read)
        (out,) = step.writes
        self.touched.add(step)
        if self.adds(m):
            self.sums.add(out)
        e = step.equations[0]
        if self.whole(e.op, e.op.write, i):
            self.large[out] = None

    def adds(self, m: int) -> bool:
        """True if a step is a sum over rows."""
        return not any(self.index[m] in indices(s) for s in _comprehension(self.steps[m]).write)

    def along(self, step: RowStep) -> Index | None:
        """The index of a step that goes along the rows, if there is one: what the group makes is read row by row only."""
        if not step.schedules or not step.covers or len(step.equations) != 1:
            return None
        if not (step.writes.isdisjoint(self.touched.reads) and step.writes.isdisjoint(self.touched.writes)
                and step.reads.isdisjoint(self.sums)):
            return None
        e, op = step.equations[0], _comprehension(step)
        if op.guards or (isinstance(a := op.start(e), Var) and self.home(a) in self.touched.writes):
            return None
        found = list(_reads(step, self.home))
        if not all(isinstance(x, Affine) for _, subscripts in found for x in subscripts):
            return None
        for r in op.ranges:
            i, ends = r.index, {j for q in op.ranges for x in (q.low, q.high) for j in indices(x)}
            if r.low != affine(0) or r.high != self.rows or i in ends:
                continue
            mine = [d for d, s in enumerate(op.write) if i in indices(s)]
            each = mine == [0] and op.write[0] == affine(i)
            if not each and (mine or op.reduction != "+"):
                continue
            plain = all(subscripts and subscripts[0] == affine(i) for v, subscripts in found if v in self.touched.writes)
            short = len(op.ranges) == 1 or bool(self.read_by_rows(step, i))
            if plain and short and all(map(partial(does, i), step.schedules)):
                return i
        return None

    def read_by_rows(self, step: RowStep, i: Index) -> list[Var]:
        """The large tensors, and others of the same shape, whose rows a step reads along an index, at no more points than they
        have elements."""
        return [v for v, s in _reads(step, self.home)
                if (v in self.large or v.shape == self.shape) and self.whole(_comprehension(step), s, i)]

    def whole(self, op: Comprehension, subscripts: Sequence[Subscript], i: Index) -> bool:
        """True if an access has a row for the index, and all other indices are within a row."""
        plain = len(subscripts) > 1 and subscripts[0] == affine(i)
        return plain and {r.index for r in op.ranges} <= {j for s in subscripts for j in indices(s)}


def does(i: Index, schedule: Schedule) -> bool:
    """True if a schedule can do some values of an index."""
    whole = schedule.scatter or any(p.along is i for p in schedule.powers)
    return not whole and any(r.index is i for r in schedule.op.ranges)


def _comprehension(step: RowStep) -> Comprehension:
    return step.equations[0].op


def _reads(step: RowStep, home: Callable[[Var], Var]) -> Iterator[tuple[Var, tuple[Subscript, ...]]]:
    """The tensors that a comprehension reads, with the subscripts."""
    if step.schedules:
        e = step.equations[0]
        for a, subscripts in elements_read(e, _comprehension(step)):
            if isinstance(a, Var):
                yield home(a), subscripts
