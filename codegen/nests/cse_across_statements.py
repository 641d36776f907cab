"""Function values that several statements compute of the same elements are computed once, into a tensor that these read.

    d_r(t, j) = d_m(t, j) * sech2(x(t, j)) * c(j)       w(t, j) = sech2(x(t, j))
    d_x(t, j) = d_m(t, j) * sech2(x(t, j))              d_r(t, j) = d_m(t, j) * w(t, j) * c(j)
    d_b(j) +=! d_m(t, j) * sech2(x(t, j))               ...

Adjoints are full of them, as what a statement computes is in the adjoint of each of its reads. The values of the primal are there
before the loop that makes adjoints, so w is made before it, and read by what stands in it and behind it. A value that a
statement has written anyway is read from there.

That is done where the functions take longer than the numbers that are written and fetched in their place, and only for a tensor
that is no larger than what it is made of; where a loop is checkpointed memory is worth more. The last operation of a statement
stays where it is, so that a sum of products rounds as it did.

Invariants leave their loops: functions and quotients of numbers that a statement would compute at every point.

Staging: what depends on known inputs alone as a program of its own, whose results are inputs of the rest. Data of a fit or of a
log density are the same in every call, and so are functions of them, as lgamma(y(i) + 1) in a likelihood of counts. No bit of a
result changes: the value of a function stands where it was computed, but never that of a whole statement, whose last operation
may be part of its sum.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from adcli.codegen.nests.fusion import LONGEST_BODY, needed
from adcli.codegen.rows.expand import expand
from adcli.codegen.rows.instructions import DEFINITIONS
from adcli.lang.ir import Atom, Equation, Lit, Param, Primitive, Program, Result, Var
from adcli.lang.ir.affine import Affine, Index, NewSubstitution, affine, atoms, substituted
from adcli.lang.ir.names import Names
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.comprehension import BodySource, Comprehension, Read, all_fixed, atoms_in, body_of
from adcli.lang.operations.elementwise import compact, moved
from adcli.lang.operations.matrix import Boxed, bound_names
from adcli.lang.operations.recurrence import Recurrence, whole_statements, with_statements
from adcli.lang.simplify.simplify import identity

Key = tuple[object, ...]
Place = tuple[int, int]
"""The number of an equation, and that of a statement in it where it is a loop."""
ALONE = 0
CALLED, WRITTEN = 1.4, 2.0
"""Cost of a function of a number, and of writing one, in units of fetching one from memory."""


@dataclass(frozen=True, slots=True, eq=False)
class FunctionValue:
    """A value of the body of an equation, for all points of its ranges, in an `order` of the indices that is the same wherever
    the same `key` is computed."""

    key: Key
    equation: Equation
    value: Var
    order: tuple[Index, ...]
    place: Place
    calls: int
    """How many functions it takes."""
    reads: frozenset[Atom]


@dataclass(frozen=True, slots=True, eq=False)
class ValuePlace:
    """Where a value lies: in a tensor, whose subscripts are of the indices in `order`."""

    tensor: Var
    order: tuple[Index, ...]
    subscripts: tuple[Affine, ...]
    line: int

    def at(self, order: tuple[Index, ...]) -> tuple[Affine, ...]:
        """The subscripts in terms of other indices."""
        by: NewSubstitution = {i: affine(j) for i, j in zip(self.order, order, strict=True)}
        return tuple([substituted(s, by) for s in self.subscripts])


@dataclass(frozen=True, slots=True, eq=False)
class ElementRead:
    """A value that is read there."""

    of: FunctionValue
    there: ValuePlace

    def instead(self, e: Equation[Comprehension], tensor: Var | None = None) -> Equation:
        """The equation with it for the value; a loop has the tensor by another name."""
        return with_read(e, self.of.value, tensor or self.there.tensor, self.there.at(self.of.order))


def computed_once(program: Program) -> Program:
    """The program with each function value of the same elements in one place."""
    made, reads = _chosen(program)
    of_lines: dict[int, dict[int, list[ElementRead]]] = {}
    for (line, part), found in reads.items():
        of_lines.setdefault(line, {})[part] = found
    equations = list[Equation]()
    for line, e in enumerate(program.equations):
        equations += [*made.get(line, ()), with_reads(e, of_lines[line]) if line in of_lines else e]
    return replace(program, equations=tuple(equations)) if reads else program


def _chosen(program: Program) -> tuple[dict[int, list[Equation]], dict[Place, list[ElementRead]]]:
    """The equations that make tensors, by the lines that these come before, and what is read for values of each statement. Those
    that are computed most often come first, so that others are made of them."""
    uses: dict[Key, list[FunctionValue]] = {}
    written: dict[Key, FunctionValue] = {}
    for x in function_values(program):
        if x.value is result_of(x.equation):
            written.setdefault(x.key, x)
        else:
            uses.setdefault(x.key, []).append(x)
    starts = _starts(program)
    made: dict[int, list[Equation]] = {}
    reads: dict[Place, list[ElementRead]] = {}
    for key, every in sorted(uses.items(), key=lambda found: (-len(found[1]), -len(found[0]))):
        there = _written(written[key], starts) if key in written else None
        mine = [x for x in every if (there is None or x.place[0] > there.line) and is_computed(x, reads.get(x.place, ()))]
        e = None
        if there is None and len(mine) > 1:
            e, there = made_tensor(mine[0], reads.get(mine[0].place, ()))
        if there is None or _gain([(x, reads.get(x.place, ())) for x in mine], there, e) <= 0:
            continue
        if e is not None:
            made.setdefault(there.line, []).append(e)
        for x in mine:
            reads.setdefault(x.place, []).append(ElementRead(x, there))
    return made, reads


def _gain(uses: Collection[tuple[FunctionValue, Collection[ElementRead]]], there: ValuePlace, made: Equation | None) -> float:
    """Cost saved per point by reading values there, in statements that read others so; `made` makes the tensor for it."""
    saved = 0.0
    for x, reads in uses:
        e = x.equation
        for read in reads:
            e = read.instead(e)
        saved += CALLED * x.calls + _numbers(e) - _numbers(ElementRead(x, there).instead(e))
    return saved if made is None else saved - CALLED * min(x.calls for x, _ in uses) - _numbers(made) - WRITTEN


def _numbers(e: Equation[Comprehension]) -> int:
    """How many numbers a statement reads for each of its points."""
    every = {*e.op.indices}
    return sum(every <= atoms_in([s]) for _, s in e.op.reads())


def result_of(e: Equation[Comprehension]) -> Atom:
    return e.op.body.results[0].atom


def _written(x: FunctionValue, starts: Collection[Atom]) -> ValuePlace | None:
    """Where a statement writes a value at every point, in a tensor that keeps it."""
    op, (out,) = x.equation.op, x.equation.outs
    if out in starts or op.reduction != "=" or op.onto is not None or not all_fixed(op.ranges, op.write):
        return None
    return ValuePlace(out, x.order, tuple([s for s in op.write if isinstance(s, Affine)]), x.place[0])


def is_computed(x: FunctionValue, reads: Collection[ElementRead]) -> bool:
    """True if a value is computed where others of its statement are read."""
    op = x.equation.op
    needed: set[Atom] = {result_of(x.equation)}
    there = {y.of.value for y in reads}
    for e in reversed(op.body.equations):
        if e.outs[0] in needed and e.outs[0] not in there:
            needed.update(e.args)
    return x.value in needed and x.value not in there


def _starts(program: Program) -> set[Atom]:
    """Tensors that others start from, in whose place these may lie, and those that several statements of a loop write."""
    found: set[Atom] = set()
    for e in program.equations:
        outs = [s.outs[0] for s in with_statements([e])]
        found.update((before for before, _ in e.op.started(e)), (out for out in outs if outs.count(out) > 1))
    return found


def made_tensor(x: FunctionValue, reads: Collection[ElementRead]) -> tuple[Equation, ValuePlace]:
    """The equation that makes a tensor of a value, before all that reads it; it reads what its statement does."""
    op = x.equation.op
    ranges = {r.index: r for r in op.ranges}
    order = tuple([Index(i.name) for i in x.order])
    box = [replace(ranges[i], index=j) for i, j in zip(x.order, order, strict=True)]
    write, shape = tuple([affine(r.index) - r.low for r in box]), tuple([r.high - r.low for r in box])
    tensor = Var(None, True, shape=shape)
    body = body_of(x.value, op.body.params, cone(op.body, x.value))
    e = Equation((tensor,), replace(op, body=body), x.equation.args, x.equation.span)
    for read in reads:
        e = read.instead(e)
    by: NewSubstitution = {i: affine(j) for i, j in zip(x.order, order, strict=True)}
    op = moved(e.op, lambda s: replace(s, subscripts=tuple([substituted(a, by) for a in s.subscripts if isinstance(a, Affine)])),
               lambda position: position)
    op = replace(op, ranges=tuple(box), write=write, shape=shape, reduction="=", onto=None, agreements=())
    return Equation(e.outs, *compact(op, e.args), e.span), ValuePlace(tensor, order, write, x.place[0])


def with_reads(e: Equation, reads: Mapping[int, Collection[ElementRead]]) -> Equation:
    """The equation with elements of tensors for values."""
    if not isinstance(e.op, Recurrence):
        for x in reads[ALONE]:
            e = x.instead(e)
        return e
    statements, inner = list[Equation](e.op.statements), dict[Var, Var]()
    for part, x in [(part, x) for part, found in reads.items() for x in found]:
        tensor = x.there.tensor
        statements[part] = x.instead(statements[part], inner.setdefault(tensor, Var(None, True, shape=tensor.shape)))
    op = replace(e.op, statements=tuple(statements), constants=(*e.op.constants, *inner.values()))
    return Equation(e.outs, op, (*e.args, *inner), e.span, e.group)


def with_read(e: Equation[Comprehension], value: Atom, tensor: Atom, at: tuple[Affine, ...] = ()) -> Equation:
    """The equation with an element of a tensor, or a number, for a value of its body, if it computes that."""
    op = e.op
    equations = tuple([y for y in op.body.equations if y.outs[0] is not value])
    if len(equations) == len(op.body.equations) or not isinstance(value, Var):
        return e
    params = tuple([replace(p, name=f"x{n}") for n, p in enumerate((*op.body.params, Param(value, "")))])
    op = replace(op, sources=(*op.sources, Read(len(e.args), at)), body=replace(op.body, params=params, equations=equations))
    return Equation(e.outs, *compact(op, (*e.args, tensor)), e.span, e.group)


# ---------------------------------------------------------------- function values

def function_values(program: Program) -> Iterator[FunctionValue]:
    """The values of bodies that are worth a tensor: none that depends on a loop of which few steps are kept."""
    living, scarce = {*needed(program).equations}, set[Atom]()
    for line, e in enumerate(program.equations):
        if (isinstance(e.op, Recurrence) and e.op.checkpoint) or not scarce.isdisjoint(e.args):
            scarce.update(e.outs)
        elif e in living:
            own = e.outs if isinstance(e.op, Recurrence) else ()
            for part, s in enumerate(whole_statements(e) if own else (e,)):
                yield from _of_statement(s, (line, part), own)


def _of_statement(e: Equation, place: Place, own: Collection[Atom]) -> Iterator[FunctionValue]:
    """Those of one equation. In a loop, which has its `own` histories, they do not depend on these, unless they are the value of
    the statement; and a loop over numbers keeps them in registers."""
    op = e.op
    if not isinstance(op, Comprehension) or op.guards or len(op.ranges) <= bool(own) or len(op.body.equations) > LONGEST_BODY:
        return
    if not any(map(calls, op.body.equations)) or not _plain(op):
        return
    sources = {p.var: s for p, s in op.inputs()}
    ranges = {r.index: (r.low, r.high) for r in op.ranges}
    forms: dict[tuple[Index, ...], dict[Atom, object]] = {}
    for x in op.body.equations:
        (value,), made_of = x.outs, cone(op.body, x.outs[0])
        called = sum(map(calls, made_of))
        if x.op.truth or not called:
            continue
        reads = [sources[a] for a in dict.fromkeys(a for y in made_of for a in y.args) if a in sources]
        order = _order(op, e.args, reads)
        if order is None:
            continue
        if order not in forms:
            forms[order] = _forms(op, e.args, order)
        if value is result_of(e) or all(e.args[s.arg] not in own for s in reads if isinstance(s, Read)):
            yield FunctionValue(_key(made_of, forms[order], [ranges[i] for i in order]), e, value, order, place, called,
                                frozenset(e.args[s.arg] for s in reads if isinstance(s, Read)))


def _plain(op: Comprehension) -> bool:
    """True if the indices of a comprehension have ranges of their own."""
    return atoms_in([x for r in op.ranges for x in (r.low, r.high)]).isdisjoint(op.indices)


def _order(op: Comprehension, args: tuple[Atom, ...], reads: Collection[BodySource]) -> tuple[Index, ...] | None:
    """The indices in the order of the first tensor that has all of them; None where there is none, or a position is read, or a
    subscript."""
    elements = [s for s in reads if isinstance(s, Read) and all(isinstance(x, Affine) for x in s.subscripts)]
    for s in elements if len(elements) == len(reads) else ():
        a, found = args[s.arg], dict.fromkeys(i for x in s.subscripts if isinstance(x, Affine) for i in x.indices())
        if isinstance(a, Var) and not a.integer and found.keys() == {*op.indices}:
            return tuple(found)
    return None


def cone(body: Program, value: Atom) -> tuple[Equation, ...]:
    """The equations that a value of a body is made of, in an order that depends on nothing else."""
    made: dict[Atom, Equation] = {e.outs[0]: e for e in body.equations}
    found: dict[Atom, Equation] = {}
    left = [value]
    while left:
        e = made.get(left[-1])
        missing = [] if e is None else [a for a in reversed(e.args) if a in made and a not in found]
        left += missing
        if not missing:
            a = left.pop()
            if e is not None:
                found.setdefault(a, e)
    return tuple(found.values())


def _forms(op: Comprehension, args: tuple[Atom, ...], order: tuple[Index, ...]) -> dict[Atom, object]:
    """Canonical forms of a body's parameters, with numbers for indices."""
    by: NewSubstitution = {i: affine(f" {k}") for k, i in enumerate(order)}
    return {p.var: (known_atom(args[s.arg]), *[substituted(x, by) for x in s.subscripts if isinstance(x, Affine)])
            for p, s in op.inputs() if isinstance(s, Read)}


def _key(cone: tuple[Equation, ...], forms: Mapping[Atom, object], box: Collection[object]) -> Key:
    """Hash key of a value, with numbers for intermediate values."""
    lines, number = list[object](), dict[Atom, int]()
    for e in cone:
        lines.append((e.op, *[number[a] if a in number else forms[a] if a in forms else known_atom(a) for a in e.args]))
        number[e.outs[0]] = len(number)
    return (*lines, *box)


def known_atom(a: Atom) -> object:
    return identity(a) if isinstance(a, Lit) else a


def calls(e: Equation) -> int:
    """How many functions an operation on numbers calls on a machine."""
    return _calls(e.op, len(e.args), tuple([a.value if isinstance(a, Lit) else None for a in e.args if e.op.static]))


@cache
def _calls(op: Primitive, count: int, constants: tuple[float | None, ...]) -> int:
    args: list[Atom] = [Var(truth=op.kind(k) == "t") for k in range(count)]
    for k in op.static:
        args[k] = Lit(constants[k] or 0.0)
    outs = tuple([Var() for _ in range(op.outs)])
    program = Program((), (Equation(outs, op, tuple(args)),), tuple([Result("", out) for out in outs]))
    return sum(not e.op.llvm for e in expand(program, DEFINITIONS, loops=True).equations)


# ---------------------------------------------------------------- invariants

def invariants_outside(program: Program, some: Callable[[Equation], object] = bool) -> Program:
    """The program with such values of some statements as equations of numbers before the first that has them."""
    found, known = list[Equation](), dict[object, Var]()
    for e in program.equations:
        if isinstance(e.op, Comprehension) and e.op.ranges and some(e):
            e = _without_invariants(e, found, known)
        found.append(e)
    return replace(program, equations=tuple(found))


def _without_invariants(e: Equation[Comprehension], found: list[Equation], known: dict[object, Var]) -> Equation:
    """The statement with numbers in place of them, whose equations are appended."""
    op = e.op
    values: dict[Atom, Atom] = {p.var: e.args[s.arg] for p, s in op.inputs() if isinstance(s, Read) and _number(e.args[s.arg])}
    moved = dict[Atom, None]()
    for x in op.body.equations:
        if all(isinstance(a, Lit) or a in values or a in moved for a in x.args):
            moved |= dict.fromkeys(x.outs)
    kept = [x for x in op.body.equations if x.outs[0] not in moved]
    edge = {a for x in kept for a in x.args}   # no result: its last operation may be part of a sum
    outside = [v for v in moved if v in edge and isinstance(v, Var) and not v.truth and any(map(_long, cone(op.body, v)))]
    if not outside:
        return e
    for x in [x for v in outside for x in cone(op.body, v)]:
        args = tuple([values.get(a, a) for a in x.args])
        key = (x.op, *map(known_atom, args))
        if key not in known:
            known[key] = out = Var(None, True, x.outs[0].truth)
            found.append(Equation((out,), x.op, args, e.span, e.group))
        values[x.outs[0]] = known[key]
    for v in outside:
        e = with_read(e, v, values[v])
    return e


def _number(a: Atom) -> bool:
    return isinstance(a, Lit) or not (a.shape or a.integer)


def _long(x: Equation) -> bool:
    """True for an operation that takes longer than keeping its value."""
    return x.op is TABLE["div"] or calls(x) > 0


# ---------------------------------------------------------------- staging

def staged(program: Program, known: Collection[str]) -> tuple[Program, Program]:
    """The program of values of the known inputs, and the rest, whose further inputs have the names of its results."""
    params = tuple([p for p in program.params if p.name in known])
    early, sizes = {p.var for p in params}, bound_names(params)
    first, later = list[Equation](), list[Equation]()
    for e in program.equations:
        read = {a for a in e.args if isinstance(a, Var)}
        if read and read <= early and sizes_of(e) <= sizes and not any(out.whole for out in e.outs):
            early.update(e.outs)
            first.append(e)
        else:
            later.append(e)
    reads: dict[int, dict[int, list[ElementRead]]] = {}
    for x in sorted(function_values(replace(program, equations=tuple(later))), key=lambda x: -len(x.key)):
        mine, e = reads.setdefault(x.place[0], {}).setdefault(x.place[1], []), x.equation
        if x.value is not result_of(e) and x.reads <= early and sizes_of(e) <= sizes and is_computed(x, mine):
            tensor, there = made_tensor(x, ())
            first.append(tensor)
            mine.append(ElementRead(x, there))
    equations = tuple([with_reads(e, reads[k]) if k in reads else e for k, e in enumerate(later)])
    used = {a for e in equations for a in e.args} | {r.atom for r in program.results}
    names = Names.of(program)
    made = [(out, names.fresh("known")) for e in first for out in e.outs if out in used]
    results = tuple([Result(name, out) for out, name in made])
    inputs = [Param(out, name, active=False) for out, name in made]
    return (replace(program, params=params, equations=tuple(first), results=results, problem=None),
            replace(program, params=(*program.params, *inputs), equations=equations))


def sizes_of(e: Equation) -> set[str]:
    """The sizes that an operation asks for, but for those of what it reads; a loop's are never known."""
    if not isinstance(e.op, Boxed):
        return {"" for _ in e.op.inner()}
    ends = [x for r in e.op.ranges for x in (r.low, r.high)]
    return {a for x in (*ends, *e.op.guards, *e.op.shape) for a in atoms(x) if isinstance(a, str)}
