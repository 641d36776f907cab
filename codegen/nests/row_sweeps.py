"""Statements along the same rows whose elements are taken in one loop: each is fetched once, and what they share computed once.

    y(t, d) = g(d) * (x(t, d) - m(t)) / s(t)
    d_g(d) +=! d_y(t, d) / s(t) * (x(t, d) - m(t))
    d_m(t) +=! -(g(d) * (d_y(t, d) / s(t)))

In a block of rows (adcli.codegen.nests.row_blocks) one statement after another would fetch these rows from the second cache, and
divide d_y by s again. Instead a loop along d has a tile of a few rows of all of them. A statement writes each element; or it is a
sum of a row, whose accumulators are registers; or a sum of a column, which goes on where the rows before have left it.

These read nothing that another of them writes, and call no functions, which take longer than fetching numbers.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from adcli.codegen.nests.fusion import EACH, TOTAL, joinable
from adcli.codegen.nests.row_blocks import RowStep, Touched
from adcli.codegen.schedules.schedule import Schedule, StepBlock
from adcli.lang.ir import Atom, Equation, Lit, Param, Program, Result, Var
from adcli.lang.ir.affine import Affine, Index, affine, substituted
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.comprehension import BodySource, Comprehension, Range, Read, Subscript
from adcli.lang.simplify.simplify import identity

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

    def add(self, e: Equation, op: Comprehension, by: Mapping[Index | str, Affine]) -> Atom:
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
            key = (x.op, *map(_known, args))
            env[out] = self.made.setdefault(key, Equation((Var(out.name, out.temp, out.truth),), x.op, args)).outs[0]
        value = op.body.results[0].atom
        return env.get(value, value)

    def source(self, s: BodySource, args: Sequence[Atom], by: Mapping[Index | str, Affine]) -> tuple[object, BodySource]:
        """A source in terms of all arguments, and what it has in common with others that are the same."""
        if isinstance(s, Affine):
            return (found := substituted(s, by)), found
        place, _ = self.args.setdefault(_known(a := args[s.arg]), (len(self.args), a))
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


def _known(a: Atom) -> object:
    return identity(a) if isinstance(a, Lit) else a


def one_statement(group: Sequence[Equation[Comprehension]]) -> tuple[Equation[Comprehension], list[SweptResult]]:
    """The statements of a joint loop as one, and what is written in it."""
    first, whole, found = group[0], OneBody(), []
    index = affine(first.op.ranges[0].index)
    for e in group:
        x = joinable(e)
        assert x is not None
        by: dict[Index | str, Affine] = {e.op.ranges[0].index: index}
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
