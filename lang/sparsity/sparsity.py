"""Sparsity patterns: which first and second derivatives of a program can be other than zero.

A pattern is structural: an entry is there if and only if a chain of equations leads from the input to the result, none of
whose maps is zero by construction. That is exact for the program as it stands; a number that happens to be 0 everywhere,
as in x − x, is still an entry, and so is the arm of a select whose conditions contradict each other. Whoever wants few entries
simplifies the program first.

Sets of inputs or results are integers with a bit for each. They are handed along the equations for so many inputs or results at
once that memory holds a set for every value.
"""
from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import Any

from adcli.lang.ir import Atom, Equation, Param, Primitive, Program, Result, Var, has_tensors
from adcli.lang.ir.build import many
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.records import paused
from adcli.lang.operations.rule_programs import Rule, Statics, by_operation, map_rule, shared_rule

Pattern = tuple[tuple[int, ...], ...]
"""For every row its column numbers, in ascending order."""

Sets = dict[Atom, int]
"""For each value a set of inputs, or of results, as bits."""
Sweep = Callable[[dict[Any, int]], dict[Any, int]]
"""From the sets of where it starts those of all values that it reaches."""
PartOfRow = tuple[int, int]
"""The number of a column, and a bit for it and each that follows."""

DUP = TABLE["dup"]
AT_ONCE = 1 << 12
"""Columns whose sets are found together: longer integers cost more than a sweep more, and memory holds one for every value."""
MOST_ENTRIES = 50_000_000
"""Of a pattern; beyond, the matrix is not sparse and memory could end."""


@paused()
def jacobian_pattern(program: Program, wrt: Sequence[str], of: Sequence[str]) -> Pattern:
    """The pattern of ∂of/∂wrt: a row for every result in `of`, columns are positions in `wrt`.

    Sets of inputs go forward to the results, or sets of results backward to the inputs, whichever are fewer (Griewank & Walther,
    Evaluating Derivatives, 2nd edition 2008, chapter 7). AdError if the pattern is too large.
    """
    refuse_tensors(program)
    equations, results = program.equations, {r.name: r.atom for r in program.results}
    inputs = [program.param(name).var for name in wrt]
    return pattern_by([results[name] for name in of], inputs, partial(_pushed, equations), partial(_pulled, equations))


@paused()
def hessian_pattern(program: Program, wrt: Sequence[str], of: str) -> Pattern:
    """The pattern of the second derivatives of the result `of`: symmetric, rows and columns are positions in `wrt`.

    No adjoint is built: that of an argument depends on what the adjoint of the result does, found by a sweep backward, and on
    what the values in its map do, by one forward, as numbers are pushed along edges (Gower & Mello, "A new framework for the
    computation of Hessians", Optimization Methods and Software 27, 2012). AdError if it is too large.
    """
    refuse_tensors(program)
    needed = _leading_to(program.result(of).atom, equations=program.equations)
    met = _leading_to(*[e.args[q] for e in needed for others in interactions(e) for q in others], equations=needed)
    inputs = [program.param(name).var for name in wrt]
    return symmetric(_pattern(inputs, inputs, lambda sets: _adjoints(needed, _pushed(met, sets))))


def _leading_to(*values: Atom, equations: Sequence[Equation]) -> list[Equation]:
    """The equations that any of the values depends on."""
    reached = _pulled(equations, dict.fromkeys(values, 1))
    return [e for e in equations if not reached.keys().isdisjoint(e.outs)]


def refuse_tensors(program: Program) -> None:
    """AdError where a program is not one of numbers alone."""
    if has_tensors(program):
        raise AdError("sparsity patterns are of programs of numbers; this one has tensors or loops")


def symmetric(pattern: Pattern) -> Pattern:
    """The smallest symmetric pattern that holds a square one."""
    mirrored = transposed(pattern, len(pattern))
    return tuple([row if row == other else tuple(sorted({*row, *other})) for row, other in zip(pattern, mirrored, strict=True)])


def entries(pattern: Pattern) -> int:
    """The number of entries."""
    return sum(map(len, pattern))


def transposed(pattern: Pattern, columns: int) -> Pattern:
    """The pattern of the transposed matrix; `columns` is the number of columns of the given one."""
    rows: list[list[int]] = [[] for _ in range(columns)]
    for i, row in enumerate(pattern):
        for j in row:
            rows[j].append(i)
    return tuple(map(tuple, rows))


# ---------------------------------------------------------------- sweeps

def pattern_by(rows: Sequence[Hashable], columns: Sequence[Hashable], push: Sweep, pull: Sweep) -> Pattern:
    """The pattern of rows by columns: sets of columns pushed to the rows, or sets of rows pulled back, whichever are fewer."""
    if len(columns) <= len(rows):
        return _pattern(rows, columns, push)
    return transposed(_pattern(columns, rows, pull), len(rows))


def _pattern(rows: Sequence[Hashable], columns: Sequence[Hashable], sweep: Sweep) -> Pattern:
    """The pattern that a sweep finds for `rows` of sets of `columns`, so many columns at once."""
    parts: list[list[PartOfRow]] = [[] for _ in rows]
    entries = 0
    for first in range(0, len(columns), AT_ONCE):
        seeds = dict[Any, int]()
        for k, atom in enumerate(columns[first:first + AT_ONCE]):
            seeds[atom] = seeds.get(atom, 0) | 1 << k
        found = sweep(seeds)
        for part, atom in zip(parts, rows, strict=True):
            if bits := found.get(atom, 0):
                part.append((first, bits))
                entries += bits.bit_count()
        if entries > MOST_ENTRIES:
            raise AdError(f"the pattern is too large: it has more than {MOST_ENTRIES:,} entries",
                          help="choose inputs with ⟦--wrt⟧ and outputs with ⟦--of⟧")
    known: dict[tuple[PartOfRow, ...], tuple[int, ...]] = {}   # equal rows share their tuple
    return tuple([known[key] if (key := tuple(part)) in known else known.setdefault(key, tuple(_members(key))) for part in parts])


def _members(parts: Sequence[PartOfRow]) -> Iterator[int]:
    for first, bits in parts:
        first += (bits & -bits).bit_length() - 1
        digits = bin(bits)[:1:-1].lstrip("0")
        k = 0
        while k >= 0:
            yield first + k
            k = digits.find("1", k + 1)


def _pushed(equations: Sequence[Equation], sets: Sets) -> Sets:
    """For each value the inputs that it depends on, of those in `sets`."""
    there = sets.get
    for e in equations:
        args, positions, bits = e.args, passing(e), 0
        for a in args if len(positions) == len(args) else [args[i] for i in positions]:
            bits |= there(a, 0)
        if bits:
            for out in e.outs:
                sets[out] = bits
    return sets


def _pulled(equations: Sequence[Equation], sets: Sets) -> Sets:
    """For each value the results that depend on it, of those in `sets`."""
    there = sets.get
    for e in reversed(equations):
        outs = e.outs
        bits = there(outs[0], 0) if len(outs) == 1 else there(outs[0], 0) | there(outs[1], 0)
        if bits:
            args, positions = e.args, passing(e)
            for a in args if len(positions) == len(args) else [args[i] for i in positions]:
                before = there(a)
                sets[a] = bits if before is None else before | bits
    return sets


def _adjoints(equations: Sequence[Equation], within: Sets) -> Sets:
    """For each value the inputs that its adjoint depends on; `within` has those that values depend on."""
    sets: Sets = {}
    there, inside = sets.get, within.get
    for e in reversed(equations):
        args, positions, met, after = e.args, passing(e), interactions(e), 0
        for out in e.outs:
            after |= there(out, 0)
        for i in positions:
            bits = there(args[i], 0) | after
            for q in met[i]:
                if q in positions:
                    bits |= inside(args[q], 0)
            sets[args[i]] = bits
    return sets


# ---------------------------------------------------------------- what a derivative flows through

@by_operation
def passing(op: Primitive, static: Statics, count: int) -> tuple[int, ...]:
    """The arguments of an equation that a derivative flows through: not those without a map, as truth values, or with one that is
    none for these constants, as x**0."""
    if op is DUP:
        return (0,)
    written = (i for i in range(count) if op.map(i) is not None)
    return tuple([i for i in written if not op.static or map_rule(op, i, static, count) is not None])


def is_passed_through(op: Primitive) -> bool:
    """Whether a derivative flows through every argument of an operation that can have one, as not through that of `floor`."""
    return type(op) is Primitive and (op.truth or all(
        op.map(i) is not None for i in range(op.arity) if op.kind(i) == "r" and i not in op.static))


@by_operation
def interactions(op: Primitive, static: Statics, count: int) -> tuple[tuple[int, ...], ...]:
    """For every argument of an equation the arguments that its map depends on, found from the rule itself: (0,) for sin, (1,) and
    (0,) for a product, none for a sum. `static` are the constants of the operation, `count` is the number of arguments."""
    if op is DUP:
        return ((),)
    if many(op, count):
        return _of_many(op, count)
    rules = [map_rule(op, i, static, count) for i in range(count)]
    smooth = [i for i, rule in enumerate(rules) if rule is not None]
    return tuple([() if rule is None else tuple(sorted(_read_by(rule, smooth))) for rule in rules])


def _of_many(op: Primitive, count: int) -> tuple[tuple[int, ...], ...]:
    """The interactions of many arguments, whose maps are alike: each depends on its own argument, on all, or on none."""
    rule, common = map_rule(op, 0, (), count), shared_rule(op, count)
    assert rule is not None, "the row has maps"
    varies = common is not None and bool(_read_by(common, range(count)))
    read = _read_by(rule, [-1])   # of the argument, of what the maps have in common, of the result
    if -1 in read or (varies and 1 in read):
        return (tuple(range(count)),) * count
    return tuple([(i,) for i in range(count)]) if 0 in read else ((),) * count


def _read_by(rule: Rule, smooth: Sequence[int]) -> set[int]:
    """The arguments that a map depends on; the result of the operation depends on the `smooth` ones."""
    params = [Param(v, v.name or "") for v in (*rule.args, rule.z) if isinstance(v, Var) and not v.truth]
    written = Program(tuple(params), rule.equations, (Result("m", rule.value),))
    [row] = jacobian_pattern(written, [p.name for p in params], ["m"])
    found = {params[k].var for k in row}
    return {i for i, a in enumerate(rule.args) if a in found}.union(smooth if rule.z in found else ())
