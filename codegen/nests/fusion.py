"""Elementwise work goes into the loops that use it, instead of through memory.

A tensor whose every element is the body of a comprehension over plain indices, `T(i, j) = body`, need not exist where each of its
elements is read once: the body stands in the place of the read, with the read's subscripts for its indices. Where there are few
readers and the body is a few instructions it is computed again for each. No bit of a result changes: bodies with calls, whose
last digit may depend on the loops they stand in, are not computed twice.

But for one kind: a tensor with more dimensions than all that it is made of, as y(i, j) = exp(x(i)*x(j)), takes memory out of
proportion, and fetching it takes longer than making it where it is large. It is computed again wherever it is read, but for
readers that compare values with one another, as those do that count ties: these must see the same bits.

Joint loops: statements over one range in one loop (horizontal fusion), where each element is read once and values are shared.

    lp +=! t*t/-2 where t = (y(i) - m(i))/s
    d_m(i) = t/s where t = (y(i) - m(i))/s
    d_s +=! t*t/s where t = (y(i) - m(i))/s

A statement of such a group writes an element for each value of the index, or adds to a number, or to the element that an integer
names. It may read what another one of the group writes, at its own index. Each sum keeps its accumulators and their order, so no
bit of a result changes. Groups are found twice: equations that may be moved to one stand behind each other first, which is of use
to all that writes loops; `groups` finds them among what stands behind each other.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from adcli.codegen.rows.expand import expand
from adcli.codegen.rows.instructions import DEFINITIONS
from adcli.codegen.schedules.schedule import indices
from adcli.lang.ir import Atom, Equation, Param, Program, Result, Var
from adcli.lang.ir.affine import Affine, Index, NewSubstitution, Substitution, affine, substituted
from adcli.lang.operations.comprehension import BodySource, Comprehension, Read, all_fixed, nested_reads
from adcli.lang.operations.elementwise import compact, in_sums, moved
from adcli.lang.simplify.simplify import simplify
from adcli.lang.simplify.simplify_tensors import normal

READERS, CHEAP = 3, 2
"""How many reads a body of how many equations is computed again for."""
MOST_AGAIN, LONGEST_AGAIN, CALL = 24, 24, 8
"""How many reads a tensor is computed again for that would take memory out of proportion, and how long its body may be, a call of
a function counted as so many equations."""
LONGEST_BODY = 100
"""Equations that a body may come to."""


def joined(program: Program) -> Program:
    """The program with its scalars and reductions in terms of what a machine has, and elementwise work where it is used."""
    return fused(expand(in_sums(program), DEFINITIONS, loops=True))


def in_machine_terms(program: Program) -> Program:
    """The program with its bodies in terms of what a machine has."""
    equations = []
    for e in program.equations:
        if isinstance(e.op, Comprehension):
            body = expand(simplify(expand(e.op.body, DEFINITIONS, loops=True)), DEFINITIONS, loops=True)
            op, args = compact(replace(e.op, body=body), e.args)
            e = replace(e, op=op, args=args)
        equations.append(e)
    return replace(program, equations=tuple(equations))


def needed(program: Program) -> Program:
    """The program without equations that nothing needs."""
    wanted: set[Atom] = {r.atom for r in program.results}
    kept: list[Equation] = []
    for e in reversed(program.equations):
        if not wanted.isdisjoint(e.outs):
            wanted.update(e.args)
            kept.append(e)
    return replace(program, equations=tuple(reversed(kept)))


def fused(program: Program) -> Program:
    """The program with elementwise comprehensions where they are read; those that nothing reads any more are left for others
    to drop."""
    given = [normalised(e) for e in program.equations]
    uses = Counter(a for e in given for a in used(e))
    uses.update(r.atom for r in program.results for _ in range(READERS + 1))
    known: dict[Atom, Equation] = {}
    again = made_again(program, given)
    equations = []
    for e in given:
        if isinstance(e.op, Comprehension):
            e = with_producers(e, known, uses, again)
            if elementwise(e) and (uses[e.outs[0]] <= READERS or outer(e, again.get(e.outs[0], 0))):
                known[e.outs[0]] = e
        equations.append(e)
    return replace(program, equations=tuple(equations))


def made_again(program: Program, equations: Iterable[Equation]) -> dict[Atom, int]:
    """The tensors that only comprehensions read that compare nothing, at elements of their own, with the number of reads."""
    found: Counter[Atom] = Counter()
    others: set[Atom] = {r.atom for r in program.results}
    for e in equations:
        op = e.op
        if (not isinstance(op, Comprehension) or op.reduction not in ("=", "+") or op.onto is not None
                or any(map(compares, op.body.equations))):
            others.update(e.args)
            continue
        reads = Counter(used(e))
        for _, s in op.reads():
            if all(isinstance(x, Affine) for x in s.subscripts) and all_fixed(op.ranges, s.subscripts):
                found[e.args[s.arg]] += 1
                reads[e.args[s.arg]] -= 1
        others.update(a for a, n in reads.items() if n)
    return {a: n for a, n in found.items() if a not in others}


def compares(e: Equation) -> bool:
    """True if an operation asks which of two values is larger, or whether they are equal."""
    return e.op.truth and len({a for a in e.args if isinstance(a, Var) and not a.truth}) > 1


def outer(e: Equation[Comprehension], readers: int) -> bool:
    """True if a tensor has more dimensions than all that it is made of, and is made again for so many readers."""
    op = e.op
    length = sum(1 if x.op.llvm else CALL for x in op.body.equations)
    short = 0 < readers <= MOST_AGAIN and length <= LONGEST_AGAIN
    return short and all(len(s.subscripts) < len(op.shape) for _, s in op.reads())


def normalised(e: Equation) -> Equation:
    """The equation with each element that it reads once."""
    if not isinstance(e.op, Comprehension):
        return e
    op, args = normal(e.op, e.args)
    return Equation(e.outs, op, args, e.span, e.group)


def used(e: Equation) -> list[Atom]:
    """Operands of an equation, as often as it reads them; those that stay in memory anyway count as read by many."""
    if not isinstance(e.op, Comprehension):
        return list(e.args) * (READERS + 1)
    op = e.op
    found = [e.args[s.arg] for s in nested_reads((*op.sources, *op.write))]
    return found + ([e.args[op.onto]] * (READERS + 1) if op.onto is not None else [])


def elementwise(e: Equation[Comprehension]) -> bool:
    """True if every element of the result is the body at its own indices."""
    op = e.op
    plain = op.reduction == "=" and not op.guards and op.onto is None and len(op.ranges) == len(op.write)
    return plain and own_indices(op) is not None


def own_indices(op: Comprehension, but: int | None = None) -> list[Index] | None:
    """The indices of an element of the result, but for one dimension, where each subscript is another index that runs over all
    elements; else None."""
    ends = {r.index: r.high for r in op.ranges if r.low == affine(0)}
    others = [(s, n) for d, (s, n) in enumerate(zip(op.write, op.shape, strict=True)) if d != but]
    found = [i for s, n in others if isinstance(s, Affine) and (i := s.index) is not None and ends.get(i) == n]
    return found if len(set(found)) == len(others) else None


def with_producers(e: Equation[Comprehension], known: Mapping[Atom, Equation], uses: Mapping[Atom, int],
                   again: Mapping[Atom, int]) -> Equation:
    """The equation with the bodies of what it reads, wherever that pays."""
    waiting = True
    while waiting:
        waiting = False
        op = e.op
        for k, s in op.reads():
            producer = known.get(e.args[s.arg])
            if producer is not None and pays(op, s, producer, uses[out := producer.outs[0]], again.get(out, 0)):
                e, waiting = inlined(e, op, k, s, producer), True
                break
    return e


def pays(op: Comprehension, s: Read, producer: Equation[Comprehension], reads: int, again: int) -> bool:
    made = producer.op
    if len(op.body.equations) + len(made.body.equations) > LONGEST_BODY or not all(isinstance(x, Affine) for x in s.subscripts):
        return False
    if not made.sources:
        return True
    once = all_fixed(op.ranges, s.subscripts)
    cheap = len(made.body.equations) <= CHEAP and all(x.op.llvm for x in made.body.equations) and len(made.sources) <= CHEAP
    return once and (reads == 1 or cheap or outer(producer, again))


def inlined(e: Equation, op: Comprehension, k: int, s: Read, producer: Equation[Comprehension]) -> Equation:
    """Source `k`, the read `s` of what the producer makes, as the producer's body."""
    made = producer.op
    by: NewSubstitution = {}
    for i, x in zip(made.write, s.subscripts, strict=True):
        assert isinstance(i, Affine) and isinstance(x, Affine) and i.index is not None
        by[i.index] = x
    shifted = moved(made, lambda r: replace(r, arg=r.arg + len(e.args), subscripts=tuple(put(x, by) for x in r.subscripts)),
                    lambda position: position)
    sources = [put(x, by) if isinstance(x, Affine) else x for x in shifted.sources]
    env: dict[Atom, Atom] = {p.var: Var(f"y{n}") for n, p in enumerate(made.body.params)}
    params = [Param(v, f"y{n}") for n, v in enumerate(env.values()) if isinstance(v, Var)]
    first = copied(made.body, env)
    value = made.body.results[0].atom
    env = {op.body.params[k].var: env.get(value, value)}
    names = [p for n, p in enumerate(op.body.params) if n != k]
    second = copied(op.body, env)
    last = op.body.results[0].atom
    body = Program(tuple(replace(p, name=f"x{n}") for n, p in enumerate([*names, *params])), (*first, *second),
                   (Result("z", env.get(last, last)),))
    kept = [x for n, x in enumerate(op.sources) if n != k]
    whole = replace(op, sources=(*kept, *sources), body=body)
    new, args = normal(whole, (*e.args, *producer.args))
    return Equation(e.outs, new, args, e.span, e.group)


def put(s: BodySource, by: Substitution) -> BodySource:
    """A subscript with the reader's for the producer's indices; what is read inside of it has them already."""
    return s if isinstance(s, Read) else substituted(s, by)


def copied(body: Program, env: dict[Atom, Atom]) -> list[Equation]:
    """The equations of a body with values of their own, on what `env` says for others, which they are added to."""
    env.update((out, Var(out.name, out.temp, out.truth)) for e in body.equations for out in e.outs)
    return [e.substituted(env) for e in body.equations]


# ---------------------------------------------------------------- joint loops

REACH, MOST_NUMBERS = 24, 400
"""Equations behind the first of a group among which others are looked for, and how many of numbers may be between them."""
MOST_MEMBERS, MOST_EQUATIONS = 12, 120
"""How many statements one loop has, and how long their bodies are together."""
EACH, TOTAL, SCATTER = "each", "total", "scatter"


@dataclass(frozen=True, slots=True)
class Joinable:
    """A statement that may be one of a group."""

    equation: Equation[Comprehension]
    kind: str

    @property
    def reads(self) -> set[Atom]:
        """Tensors read along the index."""
        op = self.equation.op
        return {self.equation.args[s.arg] for _, s in op.reads() if any(indices(x) for x in s.subscripts)}


def joinable(e: Equation) -> Joinable | None:
    """The statement as one of a group; None where it can be in none."""
    op = e.op
    if not isinstance(op, Comprehension) or len(op.ranges) != 1 or op.guards or op.onto is not None or e.outs[0].whole:
        return None
    (r,) = op.ranges
    kind = None
    if op.reduction == "=" and op.write == (affine(r.index),) and r.low == affine(0) and op.shape == (r.high,):
        kind = EACH
    elif op.reduction == "+":
        kind = TOTAL if not op.write else SCATTER if len(op.write) == 1 and isinstance(op.write[0], Read) else None
    return Joinable(e, kind) if kind else None


def joins(group: Sequence[Joinable], x: Joinable) -> bool:
    """True if a statement can be behind these in one loop, and shares with them what is read or made."""
    if len(group) == MOST_MEMBERS or sum(len(m.equation.op.body.equations) for m in (*group, x)) > MOST_EQUATIONS:
        return False
    op, made = x.equation.op, {m.equation.outs[0]: m.kind for m in group}
    ends = [(m.equation.op.ranges[0].low, m.equation.op.ranges[0].high) for m in (*group, x)]
    here = (affine(op.ranges[0].index),)
    mine = [(x.equation.args[s.arg], s.subscripts) for _, s in op.reads()]
    direct = {a for a, _ in mine}
    if len(set(ends)) > 1 or any(a in made and a not in direct for a in x.equation.args):
        return False
    if any(a in made and (made[a] != EACH or subscripts != here) for a, subscripts in mine):
        return False
    return not x.reads.isdisjoint({*made}.union(*[m.reads for m in group]))


def side_by_side(program: Program) -> Program:
    """The program with the statements of a group behind each other."""
    left, found = list(program.equations)[::-1], list[Equation]()
    while left:
        found.append(left.pop())
        first = joinable(found[-1])
        if first is None:
            continue
        group, passed, numbers, skipped = [first], list[Equation](), set[Equation](), set[Atom]()
        begin = len(found) - 1
        while left and len(passed) - len(numbers) < REACH and len(numbers) < MOST_NUMBERS:
            e = left.pop()
            free = skipped.isdisjoint(e.args)
            x = joinable(e) if free else None
            if x is not None and joins(group, x):
                group.append(x)
                found.append(e)
                continue
            passed.append(e)
            if free and not e.op.tensors and all(m.equation.outs[0] not in e.args for m in group):
                numbers.add(e)   # a later statement of the group may need it
            else:
                skipped.update(e.outs)
        before = numbers if len(group) > 1 else ()
        found[begin:begin] = [e for e in passed if e in before]
        left += [e for e in reversed(passed) if e not in before]
    return replace(program, equations=tuple(found))


def groups(equations: Sequence[Equation | None]) -> list[range]:
    """The positions of the statements of each group; None stands for what is in none."""
    found, current = list[range](), list[Joinable]()
    for k, e in enumerate((*equations, None)):
        x = None if e is None else joinable(e)
        if x is not None and current and joins(current, x):
            current.append(x)
            continue
        if len(current) > 1:
            found.append(range(k - len(current), k))
        current = [] if x is None else [x]
    return found
