"""Sparse Jacobians and Hessians as programs: for every block of entries a tensor of values, and where they stand.

Derivative programs are linear in their tangents: the forward one of the outputs for a Jacobian, forward over reverse mode for a
Hessian of the outputs' sum with weights, which are the cotangents. As sums over boxes (`linear_statements`) their coefficients
are the entries, at rows and columns that the subscripts say before any number is known, and there are none where conditions on
indices make a coefficient zero. Entries at one place add up. Statements
over equal boxes are computed together, and what several of their entries take is a tensor of its own. Of two blocks of a Hessian
that are each other's transpose one is computed.

A sum that is read again at places that indices do not say, as of the flows into a bus whose balance is squared, is a stage: rows
depend on its elements, these on the inputs, and entries are products of entries of both. Which there are is known from the whole
numbers of a point, so these are matrices at a point, and no programs.
"""
from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from adcli.lang.derive.cost import weight
from adcli.lang.derive.implicit import parts
from adcli.lang.derive.linear_statements import (
    ElementAt,
    NoStatements,
    Source,
    Statement,
    box_key,
    is_zero,
    linear_statements,
    onto_box,
    put_in,
)
from adcli.lang.evaluate import FLOAT, evaluate, numpy_arithmetic
from adcli.lang.ir import Atom, Equation, Lit, Param, Program, Result, Shape, Var, shape_of
from adcli.lang.ir.affine import Affine, Index, affine, atoms, product
from adcli.lang.ir.build import Builder
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import Names
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.records import paused
from adcli.lang.modes.forward import jvp
from adcli.lang.modes.reverse import duplicate, vjp
from adcli.lang.operations.comprehension import BodySource, Comprehension, Range, Read, body_of, corner, identity_body
from adcli.lang.operations.elementwise import compact, every_element, filled
from adcli.lang.passes.pipeline import run
from adcli.lang.simplify.simplify import simplify

SELECT, MUL, DIV = TABLE["select"], TABLE["mul"], TABLE["div"]
MAYBE_ZERO = {SELECT, MUL, DIV, TABLE["add"], TABLE["sub"], TABLE["neg"]}
"""Operations that make zero of what is so by construction."""
KEPT = 4
"""Operations from which on a value that several others take is computed once, into a tensor."""
GATHERED = 3
"""Operations that a read through whole numbers counts for."""
MOST_PRODUCTS = 1 << 23
"""Products of entries, of which there are the square of an element's entries."""
NEVER, ALWAYS = Lit(0.0), Lit(1.0)
"""Where a value is that is zero by construction, and one that is not, as constants that are known by identity."""
DRAWN = 12 * ((0.1, 0.9), (-0.9, 0.9), (-9.0, 9.0))
"""Intervals from which the points are drawn at which coefficients are compared: in the domain of every function, and of both
signs."""


class EntryBlock(NamedTuple):
    """Entries of which each point of a box has one: the results of `values` and of `places` that they and their places are.
    Of a `mirrored` one the transpose is meant, too. A row, and a column, of -1 are those of no entry. Rows, or columns, may be
    elements of a stage, here its number: entries of the matrix are products, summed over these elements."""

    value: str
    row: str
    column: str
    mirrored: bool
    row_of: int | None = None
    column_of: int | None = None


@dataclass(frozen=True)
class EntryProgram:
    """A program of the values of entries, one of their rows and columns, which reads no weights, and a sweep, which gives a
    column or the sum of some."""

    values: Program
    places: Program
    blocks: tuple[EntryBlock, ...]
    weights: tuple[str, ...]
    swept: Program

    def every_place(self, point: Mapping[str, Any]) -> EveryPlace:
        """All entries at a point. NoStatements where there are too many products."""
        found, first = evaluate(self.places, point, numpy_arithmetic()), 0
        parts: dict[tuple[int | None, int | None], list[tuple[np.ndarray, ...]]] = {(None, None): [(np.zeros(0, np.int64),) * 3]}
        for b in self.blocks:
            i, j = (np.ravel(found[name]).astype(np.int64) for name in (b.row, b.column))
            there = np.flatnonzero(i >= 0)
            here = parts.setdefault((b.row_of, b.column_of), [])
            here.append((i[there], j[there], first + there))
            if b.mirrored:
                here.append((j[there], i[there], first + there))
            first += len(i)
        of = {key: joined(p) for key, p in parts.items()}
        factors, done = [(np.zeros(0, np.int64),) * 2], dict[int | None, Places]()
        for row in (*range(max((s for _, s in of if s is not None), default=-1), -1, -1), None):   # a stage reads later ones only
            every = [of[row, None]] if (row, None) in of else []
            for stage in [s for r, s in of if r == row and s in done and s is not None]:
                i, j, left, right = products(of[row, stage], done[stage])
                every.append((i, j, first + np.arange(len(i))))
                factors.append((left, right))
                first += len(i)
            done[row] = joined(every)
        (i, j, number), (left, right) = done[None], joined(factors)
        return EveryPlace(i, j, number, left, right, np.cumsum([len(f) for f, _ in factors[1:]], dtype=np.int64))


Places = tuple[np.ndarray, ...]
"""Row, column and number of each entry."""


def joined(parts: Sequence[Places]) -> Places:
    return tuple(map(np.concatenate, zip(*parts, strict=True)))


class EveryPlace(NamedTuple):
    """Row, column and number of every entry, of Hessians in both triangles. Numbers count the elements of all blocks and then the
    products, which are those of the elements `left` and `right`; products up to each of `ends` have factors that are among the
    elements and products before."""

    i: np.ndarray
    j: np.ndarray
    entry: np.ndarray
    left: np.ndarray
    right: np.ndarray
    ends: np.ndarray


def products(of_rows: Places, of_columns: Places) -> tuple[np.ndarray, ...]:
    """Row, column and both factors of every product of entries that meet at one element: a column of one, a row of the other."""
    (i, s, left), (t, j, right) = of_rows, of_columns
    order = np.argsort(t, kind="stable")
    low, high = (np.searchsorted(t[order], s, side) for side in ("left", "right"))
    count = high - low
    if count.sum() > MOST_PRODUCTS:
        raise NoStatements(f"there are {count.sum():,} products of entries")
    one = np.repeat(np.arange(len(s)), count)
    other = order[np.arange(len(one)) + np.repeat(low - (np.cumsum(count) - count), count)]
    return i[one], j[other], left[one], right[other]


@paused()
def jacobian_entries(program: Program, wrt: Sequence[str], staged: bool = False) -> EntryProgram:
    """The Jacobian of all outputs by the elements of the inputs `wrt`, with products where it is `staged`. NoStatements where it
    is none of sums over boxes."""
    outputs = [r.name for r in program.results]
    swept = simplify(jvp(simplify(program), wrt, outputs))
    return entries(swept, program, wrt, outputs, False, staged)


@paused()
def hessian_entries(program: Program, wrt: Sequence[str], staged: bool = False) -> EntryProgram:
    """The Hessian of the sum of all outputs, each times one of the `weights`, with products where it is `staged`."""
    reverse = simplify(vjp(duplicate(program), wrt, [r.name for r in program.results]))
    adjoints = [r.name for r in reverse.results[len(program.results):]]
    return entries(simplify(jvp(reverse, wrt, adjoints)), program, wrt, wrt, True, staged)


def entries(swept: Program, program: Program, wrt: Sequence[str], rows: Sequence[str], symmetric: bool,
            staged: bool = False) -> EntryProgram:
    """The entries of a program that is linear in the tangents of `wrt`: rows are its last results, those of `rows` in the order
    of the program."""
    given = {p.name for p in program.params}
    own = [p for p in swept.params if p.name not in given]
    last = len(own) - len(wrt)   # cotangents stand before tangents
    weights, tangents = own[:last], {p.seed or "": p for p in own[last:]}
    results = in_order(swept.results[len(swept.results) - len(rows):], program, rows)
    columns = [tangents[name].var for name in wrt]
    of = [Var(r.name, shape=shape_of(r.atom)) for r in results]
    stages = list[Var]()
    statements, passive = linear_statements(swept, [p.name for p in tangents.values()], of, [r.atom for r in results],
                                            stages if staged else None)
    number: dict[Atom, int] = {v: k for k, v in enumerate(stages)}
    own_places = dict.fromkeys(number, affine(0))
    first_row, first_column = offsets(of) | own_places, offsets(columns) | own_places
    of_row: dict[Atom, Atom] = dict(zip(of, columns, strict=True)) if symmetric else {}
    names, values, places, blocks = Names.of(swept), Emitter(passive), Emitter(passive), list[EntryBlock]()
    for group in groups(statements):
        merged, found = together(group)
        for made in kept_apart(merged, one_triangle(merged, found, of_row) if symmetric else found, values):
            block = EntryBlock(names.fresh("value"), names.fresh("row"), names.fresh("column"), made.mirrored,
                               number.get(made.row.atom), number.get(made.column.atom))
            box = made.box(merged)
            values.result(block.value, values.sum(merged, box, made))
            for name, at, first in ((block.row, made.row, first_row), (block.column, made.column, first_column)):
                places.result(name, places.number(merged, box, at, first[at.atom], made.there))
            blocks.append(block)
    return EntryProgram(values.program((*program.params, *weights)), places.program(program.params), tuple(blocks),
                        tuple([p.name for p in weights]), swept)


def in_order(results: Sequence[Result], program: Program, rows: Sequence[str]) -> list[Result]:
    """The results in the order of `rows`, from that of the program."""
    place = {name: k for k, name in enumerate([*(p.name for p in program.params), *(r.name for r in program.results)])}
    by = dict(zip(sorted(rows, key=place.__getitem__), results, strict=True))
    return [by[name] for name in rows]


def offsets(values: Iterable[Var]) -> dict[Atom, Affine]:
    """The number of the first element of each value among those of all."""
    values = list(values)
    return dict(zip(values, [p.at for p in parts((v.name or "", v.shape) for v in values)[0]], strict=True))


def strides(shape: Shape) -> list[Affine]:
    """By how many elements those along each dimension lie apart."""
    found = [affine(1)]
    for extent in shape[:0:-1]:
        found.append(product(found[-1], extent))
    return found[:len(shape)][::-1]


# ---------------------------------------------------------------- as one program

@paused()
def listed(program: Program, wrt: Sequence[str], kind: str) -> Program:
    """The outputs, and the entries of their Jacobian or of the Hessian of the one output as three vectors: values, rows, columns.
    AdError where statements do not make them."""
    try:
        made = (hessian_entries if kind == "hessian" else jacobian_entries)(program, wrt)
    except NoStatements as error:
        raise AdError(f"the entries are not made statement by statement: {error.reason}", error.span,
                      "--format coo, and .sparse(…) in Python, give them at a point", program.source) from None
    b, names = Builder(), Names.of(program)
    b.equations = list(program.equations)
    ones: dict[Atom, Atom] = {p.var: Lit(1.0) for p in made.values.params if p.name in made.weights}
    values, places = written(b, made.values, ones), written(b, made.places, {})
    listings: dict[str, list[Atom]] = {"value": [], "row": [], "column": []}
    for block in made.blocks:
        for row, column in ((block.row, block.column), (block.column, block.row))[:1 + block.mirrored]:
            for name, atom in zip(listings, (values[block.value], places[row], places[column]), strict=True):
                listings[name].append(atom)
    results = [Result(names.fresh(name), one_vector(b, parts, name != "value")) for name, parts in listings.items()]
    return run(Program(program.params, tuple(b.equations), (*program.results, *results), program.source), [simplify])


def written(b: Builder, program: Program, known: Mapping[Atom, Atom]) -> dict[str, Atom]:
    """The results of a program that is written behind others, in variables of its own."""
    env: dict[Atom, Atom] = {out: replace(out) for e in program.equations for out in e.outs}
    env.update(known)
    b.equations += [e.substituted(env) for e in program.equations]
    return {r.name: env.get(r.atom, r.atom) for r in program.results}


def one_vector(b: Builder, values: Sequence[Atom], whole: bool) -> Atom:
    """The elements of tensors, one after another."""
    places, total = parts(("", shape_of(a)) for a in values)
    found = filled(b, (total,), 0.0)
    for part, a in zip(places, values, strict=True):
        ranges, here = every_element(part.shape)
        op = Comprehension(ranges=ranges, write=(part.place(here),), shape=(total,), sources=(Read(0, here),),
                           body=identity_body(), onto=1)
        out = Var(None, True, shape=(total,), whole=whole)
        b.equations.append(Equation((out,), op, (a, found)))
        found = out
    return found


# ---------------------------------------------------------------- statements over one box

class Presence(NamedTuple):
    """A number that is computed from the `sources`, expressions of indices and whole numbers, by these equations."""

    sources: Mapping[Source, Var]
    equations: Sequence[Equation]
    value: Atom


@dataclass
class BoxEntry:
    """An entry at every point of a box: its coefficient, and the elements that its row and its column are. Where some points have
    none, `there` has 1 at those that have one, and else 0."""

    row: ElementAt
    column: ElementAt
    coefficient: Atom
    mirrored: bool = False
    there: Presence | None = None

    def box(self, merged: Statement) -> tuple[Range, ...]:
        """The ranges of the indices that say where the entry stands."""
        here = atoms_of(self.row) | atoms_of(self.column)
        return tuple([r for r in merged.ranges if r.index in here or merged.guards or self.there])


def atoms_of(s: Source) -> set[Index | str]:
    """The indices and sizes in a source."""
    return atoms(s) if isinstance(s, Affine) else {a for x in s.subscripts for a in atoms_of(x)}


def groups(statements: Iterable[Statement]) -> Iterator[list[Statement]]:
    """The statements over equal boxes."""
    found: dict[object, list[Statement]] = {}
    for s in statements:
        found.setdefault(box_key(s), []).append(s)
    yield from found.values()


def together(group: Sequence[Statement]) -> tuple[Statement, list[BoxEntry]]:
    """The body of statements over equal boxes, simplified, and their entries."""
    first, found = group[0], list[BoxEntry]()
    merged = Statement(first.out, first.ranges, first.guards, ())
    for s in group:
        by = onto_box(s, first)
        env = merged.take(s, by)
        row = put_in(ElementAt(s.out, s.write), by)
        found += [BoxEntry(row, put_in(at, by), env.get(c, c)) for at, c in s.terms.items()]
    body = Program(tuple([Param(v, f"x{k}") for k, v in enumerate(merged.sources.values())]), tuple(merged.equations),
                   tuple([Result(f"z{k}", x.coefficient) for k, x in enumerate(found)]))
    body = simplify(body)
    merged.equations = list(body.equations)
    there = presences(merged)
    kept = [BoxEntry(x.row, x.column, r.atom, there=there.get(r.atom)) for x, r in zip(found, body.results, strict=True)
            if not is_zero(r.atom)]
    return merged, kept


def presences(merged: Statement) -> dict[Atom, Presence]:
    """For values of a body that conditions on indices and whole numbers make zero by construction at some points, where they are
    not."""
    sources: dict[Source, Var] = {s: v for s, v in merged.sources.items() if is_given(s)}
    known, b, found = set[Atom](sources.values()), Builder(), dict[Atom, Atom]()
    for e in merged.equations:
        out, = e.outs
        if all(isinstance(a, Lit) or a in known for a in e.args):   # said before any number is
            known.add(out)
            b.equations.append(e)
        if e.op in MAYBE_ZERO:
            parts = [NEVER if is_zero(a) else found.get(a, ALWAYS) for a in e.args]
            found[out] = present(b, e, parts, e.args[0] in known)
    return {a: Presence(sources, b.equations, x) for a, x in found.items() if x is not ALWAYS}


def is_given(s: Source) -> bool:
    """True of an expression of indices, and of an element of integers that are inputs."""
    return isinstance(s, Affine) or (isinstance(s.atom, Var) and s.atom.integer and all(map(is_given, s.subscripts)))


def present(b: Builder, e: Equation, parts: Sequence[Atom], decided: bool) -> Atom:
    """1 where a value is not zero by construction, else 0, from what its operands are, as equations of `b`."""
    if e.op is SELECT and decided and parts[1] is not parts[2]:
        return b.emit(SELECT, e.args[0], *parts[1:])
    if e.op is DIV:
        return parts[0]
    settles, other = (NEVER, ALWAYS) if e.op is MUL else (ALWAYS, NEVER)
    left = [x for x in dict.fromkeys(parts[e.op is SELECT:]) if x is not other]
    if settles in left or len(left) < 2:
        return settles if settles in left else left[0] if left else other
    return b.emit(TABLE["min" if e.op is MUL else "max"], *left)


def one_triangle(merged: Statement, found: Sequence[BoxEntry], of_row: dict[Atom, Atom]) -> list[BoxEntry]:
    """The entries of a symmetric matrix without those that are others transposed, where both are the same function of what the
    body reads: as numbers that are drawn show."""
    def key(x: BoxEntry) -> tuple[ElementAt, ElementAt]:
        return ElementAt(of_row.get(x.row.atom, x.row.atom), x.row.subscripts), x.column
    by, kept = {key(x): x for x in found if x.row.atom in of_row}, list[BoxEntry]()
    equal = same_values(merged, [(x, other) for x in found if (other := by.get(key(x)[::-1])) is not None and other is not x])
    for x in found:
        other = by.get(key(x)[::-1])
        if other is not None and other is not x and (id(x), id(other)) in equal:
            if other.mirrored:
                continue
            x.mirrored = True
        kept.append(x)
    return kept


def same_values(merged: Statement, pairs: Sequence[tuple[BoxEntry, BoxEntry]]) -> set[tuple[int, int]]:
    """The pairs whose coefficients are equal, up to rounding, at all points that are drawn. Conditions are drawn as well, so that
    every arm of a choice is compared; at points outside of a domain both must be NaN."""
    conditions = [out for e in merged.equations for out in e.outs if out.truth]
    params = [Param(v, f"x{k}") for k, v in enumerate([*merged.sources.values(), *conditions])]
    body = Program(tuple(params), tuple([e for e in merged.equations if not e.outs[0].truth]),
                   tuple([Result(f"z{k}", c.coefficient) for k, c in enumerate(x for pair in pairs for x in pair)]))
    draw, found = random.Random(0), {(id(x), id(y)): 0 for x, y in pairs}
    for low, high in DRAWN if pairs else ():
        point = {p.name: draw.random() < 0.5 if p.var.truth else draw.uniform(low, high) for p in params}
        values = list(evaluate(body, point, FLOAT).values())
        for (x, y), a, b in zip(pairs, values[::2], values[1::2], strict=True):
            if abs(a - b) <= 1e-9 * (abs(a) + abs(b)):
                found[id(x), id(y)] += 1
            elif a == a or b == b:
                found[id(x), id(y)] -= len(DRAWN)
    return {pair for pair, times in found.items() if times >= len(DRAWN) // 3}


def kept_apart(merged: Statement, found: Sequence[BoxEntry], into: Emitter) -> Sequence[BoxEntry]:
    """The entries, with values that take long and are used several times as elements of tensors of their own: these are emitted,
    and the body of the statement is what is left."""
    uses = Counter(a for e in merged.equations for a in e.args)
    uses.update(x.coefficient for x in found)
    costs: dict[Atom, int] = {v: GATHERED if gathers(s) else 1 for s, v in merged.sources.items()}
    here, _ = corner(merged.ranges)
    for s, v in list(merged.sources.items()):
        if costs[v] == GATHERED and uses[v] > 2:
            kept = into.tensor(merged, v)
            del merged.sources[s]
            merged.sources[ElementAt(kept, here)] = v
            costs[v] = 1
    given, merged.equations = merged.equations, []
    for e in given:
        merged.equations.append(e)
        out, = e.outs
        costs[out] = weight(e.op) + sum(costs.get(a, 0) for a in e.args)
        if uses[out] > 1 and costs[out] >= KEPT and not out.truth:
            kept = into.tensor(merged, out)
            merged.equations.pop()
            merged.sources[ElementAt(kept, here)] = out
            costs[out] = 1
    return found


def gathers(s: Source) -> bool:
    """True if a source is read through whole numbers."""
    return isinstance(s, ElementAt) and any(isinstance(x, ElementAt) for x in s.subscripts)


class Emitter:
    """Equations of a program that computes entries or their places, behind those that are there already."""

    def __init__(self, passive: Sequence[Equation]) -> None:
        self.b, self.results = Builder(), list[Result]()
        self.b.equations = list(passive)

    def program(self, params: Sequence[Param]) -> Program:
        return run(Program(tuple(params), tuple(self.b.equations), tuple(self.results)), [simplify])

    def result(self, name: str, value: Atom) -> None:
        self.results.append(Result(name, value))

    def comprehension(self, merged: Statement, value: Atom, ranges: Sequence[Range], reduction: str = "=",
                      onto: Atom | None = None, whole: bool = False) -> Var:
        """A tensor of the values of a body at the points of a box, with a dimension for each of these `ranges`."""
        args: dict[Atom, int] = {}

        def lowered(s: Source) -> BodySource:
            if isinstance(s, Affine):
                return s
            return Read(args.setdefault(s.atom, len(args)), tuple([lowered(x) for x in s.subscripts]))
        sources = tuple([lowered(s) for s in merged.sources])
        params = tuple([Param(v, f"x{k}") for k, v in enumerate(merged.sources.values())])
        here, shape = corner(ranges)
        op = Comprehension(ranges=merged.ranges, guards=merged.guards, write=here, shape=shape, reduction=reduction,
                           sources=sources, body=body_of(value, params, merged.equations),
                           onto=None if onto is None else len(args))
        op, atoms = compact(op, (*args, *([] if onto is None else [onto])))
        out = Var(None, True, shape=shape, whole=whole)
        self.b.equations.append(Equation((out,), op, atoms))
        return out

    def tensor(self, merged: Statement, value: Atom) -> Var:
        """A value of the body at every point of the box."""
        return self.comprehension(merged, value, merged.ranges)

    def sum(self, merged: Statement, box: Sequence[Range], x: BoxEntry) -> Var:
        """The coefficients of an entry, added over the indices that its place does not have."""
        return self.comprehension(merged, x.coefficient, box, "=" if len(box) == len(merged.ranges) else "+")

    def number(self, merged: Statement, box: tuple[Range, ...], at: ElementAt, first: Affine,
               there: Presence | None = None) -> Var:
        """The number of an element among those of all, at every point of the box; -1 where a guard leaves it out, or it is not
        `there`."""
        place, b = Statement(merged.out, box, merged.guards, ()), Builder()
        number = None if first.number == 0 else b.expr(place.source(first))
        for x, step in zip(at.subscripts, strides(shape_of(at.atom)), strict=True):
            here = b.expr(place.source(x)) if step.number == 1 else b.expr(place.source(x)) * b.expr(place.source(step))
            number = here if number is None else number + here
        number = b.expr(Lit(0.0)) if number is None else number
        if there is not None:
            env: dict[Atom, Atom] = {v: place.source(s) for s, v in there.sources.items()}
            env.update((out, replace(out)) for e in there.equations for out in e.outs)
            b.equations += [e.substituted(env) for e in there.equations]
            number = (number + 1.0) * b.expr(env.get(there.value, there.value)) - 1.0
        place.equations = b.equations
        onto = filled(self.b, corner(box)[1], -1.0) if merged.guards else None
        return self.comprehension(place, number.atom, box, onto=onto, whole=True)
