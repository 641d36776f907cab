"""Sparsity patterns: which first and second derivatives of a program can be other than zero.

A pattern is structural: an entry is there if and only if a chain of equations leads from the input to the result, none of
whose maps is zero by construction. That is exact for the program as it stands; a number that happens to be 0 everywhere,
as in x − x, is still an entry, and so is the arm of a select whose conditions contradict each other. Whoever wants few entries
simplifies the program first.

Everything is sets of integers handed along the edges of the program. Equal sets are one object, and a value that is used
once has no set of its own, so a long sum costs its length and not the square of it.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from adcli.lang.ir import Atom, Equation, Param, Primitive, Program, Result, Var, has_tensors
from adcli.lang.ir.build import many
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.gc import paused
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.rule_programs import Rule, Statics, by_operation, map_rule, shared_rule

Pattern = tuple[tuple[int, ...], ...]
"""For every row its column numbers, in ascending order."""

NumberSet = frozenset[int]
NO_NUMBERS: NumberSet = frozenset()

DUP, POWN = TABLE["dup"], TABLE["pown"]
MOST_ELEMENTS = 50_000_000
"""Elements of sets that may be handled for one pattern; beyond, the matrix is not sparse and memory could end."""


@paused()
def jacobian_pattern(program: Program, wrt: Sequence[str], of: Sequence[str]) -> Pattern:
    """The pattern of ∂of/∂wrt: a row for every result in `of`, columns are positions in `wrt`.

    Sets of inputs go forward to the results, or sets of results go backward to the inputs, as Griewank & Walther describe
    (Evaluating Derivatives, 2nd edition 2008, chapter 7). One can be far cheaper than the other and neither cost is
    known beforehand, so each is tried in turn with a limit that grows: this takes a few times as long as the cheaper one.
    AdError if the pattern is too large for both. Of one result only the way back is gone, and there are no sets.
    """
    refuse_tensors(program)
    if len(of) == 1:
        return (_one_row(program, wrt, program.result(of[0]).atom),)
    edges = Edges.between(program, wrt, of)
    limit = 4 * (len(edges.lines) + len(wrt) + len(of)) + 1_000
    both = (_by_rows, _by_columns) if len(of) > len(wrt) else (_by_columns, _by_rows)   # short sets first
    while True:
        for sweep in both:
            found = sweep(edges, limit)
            if found is not None:
                return found
        if limit >= MOST_ELEMENTS:
            raise _too_large()
        limit = min(8 * limit, MOST_ELEMENTS)


@paused()
def hessian_pattern(program: Program, wrt: Sequence[str], of: str) -> Pattern:
    """The pattern of the second derivatives of the result `of`: symmetric, rows and columns are positions in `wrt`.

    It is that of the Jacobian of the gradient, made symmetric, but no gradient is built. The adjoint of an argument is a
    map of the adjoint of its result, so it depends on what that adjoint depends on, and on what the values in the map
    depend on. The latter are found by one sweep forward, the former by one sweep backward. (Gower & Mello, "A new framework
    for the computation of Hessians", Optimization Methods and Software 27, 2012, push numbers along these same edges.)
    AdError if the pattern is too large.
    """
    refuse_tensors(program)
    edges = Edges.between(program, wrt, [of])
    lines = edges.leading()
    met = [meetings(line) for line in lines]
    union = Union(MOST_ELEMENTS)
    try:
        read = {b for line in met for others in line for b in others}
        within = _domains(edges.inputs, _leading_to(read, lines), union, read)
        adjoint: dict[Var, list[NumberSet]] = {}
        for (out, args, _, _), line in zip(reversed(lines), reversed(met), strict=True):
            after = union(adjoint.pop(out, ()))
            for a, others in zip(args, line, strict=True):
                adjoint.setdefault(a, []).extend((after, *[within[b] for b in others]))
        rows = [union(adjoint.get(x, ())) for x in edges.inputs]
    except TooMany:
        raise _too_large() from None
    return symmetric(_sorted_rows(rows))


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


# ---------------------------------------------------------------- the edges of a program

FlowLine = tuple[Var, tuple[Var, ...], tuple[int, ...], Equation]
"""An equation as the patterns see it: its result, and the arguments, with their positions, that a derivative flows through. (A
plain tuple: there is one for every line of a program.)"""


def meetings(line: FlowLine) -> list[list[Var]]:
    """For each of the arguments of a line those that its map depends on."""
    _, args, positions, e = line
    table = interactions(e)
    place = dict(zip(positions, args, strict=True))
    return [[place[q] for q in table[p] if q in place] for p in positions]


class Edges(NamedTuple):
    """The lines of a program that lead from the `inputs` on, to the `results` and elsewhere; copies are seen through."""

    inputs: list[Var]
    lines: list[FlowLine]
    results: list[Atom]

    @classmethod
    def between(cls, program: Program, wrt: Sequence[str], of: Sequence[str]) -> Edges:
        given, wanted = {p.name: p.var for p in program.params}, {r.name: r.atom for r in program.results}
        inputs = [given[name] for name in wrt]
        lines, copies = _from_inputs(program.equations, inputs)
        results = [copies.get(atom, atom) for atom in (wanted[name] for name in of)]
        return cls(inputs, lines, results)

    def leading(self) -> list[FlowLine]:
        """The lines that the results depend on."""
        return _leading_to(self.results, self.lines)


def _from_inputs(equations: Iterable[Equation], inputs: Iterable[Var]) -> tuple[list[FlowLine], dict[Atom, Atom]]:
    """The equations whose results depend on the inputs, and what each copy is a copy of."""
    active: set[Atom] = set(inputs)
    copies: dict[Atom, Atom] = {}
    lines = []
    for e in equations:
        args: tuple[Any, ...] = tuple([copies.get(a, a) for a in e.args]) if copies else e.args
        if e.op is DUP:
            copies.update(dict.fromkeys(e.outs, args[0]))
        elif not active.isdisjoint(args):
            positions = passing(e)
            if not active.issuperset(args):
                positions = tuple([i for i in positions if args[i] in active])
            if positions:
                out, reached = e.outs[0], args
                active.add(out)
                if len(positions) < len(args):
                    reached = (args[positions[0]],) if len(positions) == 1 else tuple([args[i] for i in positions])
                lines.append((out, reached, positions, e))
    return lines, copies


@by_operation
def passing(op: Primitive, static: Statics, count: int) -> tuple[int, ...]:
    """The arguments of an equation that a derivative flows through: not those without a map, as truth values, or with one that is
    none for these constants, as x**0."""
    written = (i for i in range(count) if op.map(i) is not None)
    return tuple([i for i in written if not op.static or map_rule(op, i, static, count) is not None])


def is_passed_through(op: Primitive) -> bool:
    """Whether a derivative flows through every argument of an operation that can have one, as not through that of `floor`."""
    return type(op) is Primitive and (op.truth or all(
        op.map(i) is not None for i in range(op.arity) if op.kind(i) == "r" and i not in op.static))


def _leading_to(values: Iterable[Atom], lines: Sequence[FlowLine]) -> list[FlowLine]:
    """The lines that the values depend on."""
    needed, kept = set(values), []
    for line in reversed(lines):
        if line[0] in needed:
            needed.update(line[1])
            kept.append(line)
    kept.reverse()
    return kept


@by_operation
def interactions(op: Primitive, static: Statics, count: int) -> tuple[tuple[int, ...], ...]:
    """For every argument of an equation the arguments that its map depends on, found from the rule itself: (0,) for sin, (1,) and
    (0,) for a product, none for a sum. `static` are the constants of the operation, `count` is the number of arguments."""
    if many(op, count):
        return _of_many(op, count)
    rules = [map_rule(op, i, static, count) for i in range(count)]
    smooth = [i for i, rule in enumerate(rules) if rule is not None]
    return tuple([() if rule is None else tuple(sorted(_read_by(rule, smooth))) for rule in rules])


def _of_many(op: Primitive, count: int) -> tuple[tuple[int, ...], ...]:
    """The same for many arguments, whose maps are alike: each depends on its own argument, on all, or on none."""
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


# ---------------------------------------------------------------- sets along the edges

class TooMany(Exception):
    """The sets have become larger than the limit."""


class Union:
    """Unions of sets; equal ones are one object. TooMany once more than `limit` elements have been handled."""

    def __init__(self, limit: int) -> None:
        self.left = limit
        self.made: dict[NumberSet, NumberSet] = {}

    def __call__(self, sets: Iterable[NumberSet]) -> NumberSet:
        different = set(sets)
        different.discard(NO_NUMBERS)
        if len(different) < 2:
            return different.pop() if different else NO_NUMBERS
        self.left -= sum(map(len, different))
        if self.left < 0:
            raise TooMany
        whole = NO_NUMBERS.union(*different)
        return self.made.setdefault(whole, whole)


def _domains(inputs: Iterable[Var], lines: Sequence[FlowLine], union: Union, wanted: set[Var]) -> dict[Var, NumberSet]:
    """The inputs, by number, that each wanted value depends on; the lines are those that lead to these. A value that is used
    once and not wanted has no set."""
    within = {x: frozenset((i,)) for i, x in enumerate(inputs)}
    used = Counter([a for _, args, _, _ in lines for a in args])
    heads = wanted.union([a for a, times in used.items() if times > 1])
    defined: dict[Var, tuple[Var, ...]] = {}
    for out, args, _, _ in lines:
        if out in heads:
            within[out] = union(_leaves(args, defined, within))
        else:
            defined[out] = args
    return within


def _leaves(args: Iterable[Var], defined: Mapping[Var, tuple[Var, ...]], within: Mapping[Var, NumberSet]) -> list[NumberSet]:
    """The sets of the values with one that the expression of a line is made of."""
    stack, found = list(args), []
    while stack:
        a = stack.pop()
        inner = defined.get(a)
        if inner is None:
            found.append(within[a])
        else:
            stack += inner
    return found


def _one_row(program: Program, wrt: Sequence[str], result: Atom) -> tuple[int, ...]:
    """The inputs, by number, that a derivative flows from to one result."""
    reached = {result}
    for e in reversed(program.equations):
        if e.outs[0] in reached or (len(e.outs) > 1 and not reached.isdisjoint(e.outs)):
            args, positions = e.args, (0,) if e.op is DUP else passing(e)
            reached.update(args if len(positions) == len(args) else [args[i] for i in positions])
    given = {p.name: p.var for p in program.params}
    return tuple([i for i, name in enumerate(wrt) if given[name] in reached])


def _by_rows(edges: Edges, limit: int) -> Pattern | None:
    """The pattern by sets of inputs that go forward; None beyond the limit."""
    try:
        within = _domains(edges.inputs, edges.leading(), Union(limit), {r for r in edges.results if isinstance(r, Var)})
    except TooMany:
        return None
    return _sorted_rows([within.get(r, NO_NUMBERS) if isinstance(r, Var) else NO_NUMBERS for r in edges.results])


def _by_columns(edges: Edges, limit: int) -> Pattern | None:
    """The pattern by sets of results that go backward; None beyond the limit."""
    union = Union(limit)
    reached: dict[Atom, NumberSet] = {}
    others: dict[Atom, list[NumberSet]] = {}   # where several sets reach a value all but the first
    for i, r in enumerate(edges.results):
        others.setdefault(r, []).append(frozenset((i,)))
    try:
        for out, args, _, _ in reversed(edges.lines):
            here = reached.pop(out, NO_NUMBERS)
            if out in others:
                here = union((here, *others.pop(out)))
            if here:
                for a in args:
                    if reached.setdefault(a, here) is not here:
                        others.setdefault(a, []).append(here)
        columns = [union((reached.get(x, NO_NUMBERS), *others.get(x, ()))) for x in edges.inputs]
    except TooMany:
        return None
    return transposed(_sorted_rows(columns), len(edges.results))


def _sorted_rows(rows: Iterable[NumberSet]) -> Pattern:
    """Rows in ascending order; equal ones share their tuple."""
    ordered: dict[NumberSet, tuple[int, ...]] = {}
    return tuple([ordered[row] if row in ordered else ordered.setdefault(row, tuple(sorted(row))) for row in rows])


def _too_large() -> AdError:
    return AdError(f"the pattern is too large: it takes more than {MOST_ELEMENTS:,} steps to find",
                   help="choose inputs with --wrt and outputs with --of")
