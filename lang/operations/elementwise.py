"""Whole tensors, element by element, and how every comprehension is emitted.

Primitives have one meaning, on rank-0 values. Where a pass needs one of them on tensors (the sum of two adjoints, a gate, zeros
for what no derivative reaches), it is a comprehension over all elements whose body is the operation on scalars.

The reduction `lse`, the logarithm of a sum of exponentials, in terms of others: what it means, and how machines compute it.

    s(i) lse=! z(i, k)    m(i) max=! z(i, k)
                          e(i) +=! exp(z(i, k) - f)
                          s(i) = f + log(e(i))        with f = m(i) where that is finite, else 0

No exponential is larger than 1, so nothing overflows; one of them is 1, so the logarithm is of no less than that (P. Blanchard,
D. J. Higham, N. J. Higham, Accurately computing the log-sum-exp and softmax functions, 2021, algorithm 3.1). Without elements, or
if all of them are -inf, it is -inf; it is inf if one is and NaN if one is.

It stays one operation until it is computed, so it is smooth where elements are equal, and its derivative is exp(z - s).
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeGuard

from adcli.lang.ir import Atom, Atoms, Equation, Lit, Param, Program, Shape, Var, shape_of
from adcli.lang.ir.affine import Affine, Index, affine, expanded, product
from adcli.lang.ir.build import Builder, Expr
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import Names
from adcli.lang.ir.primitives import TABLE, abs_, exp, log, select
from adcli.lang.operations.comprehension import (
    COMBINED_BY,
    NEUTRAL,
    BodySource,
    Comprehension,
    Range,
    Read,
    Subscript,
    body_of,
    constant_body,
    corner,
    extent_of,
    fixed_indices,
    identity_body,
    nested_reads,
)
from adcli.lang.operations.recurrence import Recurrence, signature_of

NAMES = "ijklmn"
Element = tuple[Atom, tuple[Subscript, ...]]
"""A tensor, with the subscripts of an element of it."""


def needs_scalars(program: Program, what: str, help: str) -> AdError:
    """The error at the first tensor statement of a program, where `what` needs scalars."""
    first = next((e for e in program.equations if e.op.tensors), None)
    return AdError(f"{what} needs a program of numbers; this one has tensors or loops", first.span if first else None, help,
                   program.source)


def every_element(shape: Shape) -> tuple[tuple[Range, ...], tuple[Affine, ...]]:
    """Ranges over all elements of a shape, and the subscripts of the element."""
    indices = [Index(NAMES[d] if d < len(NAMES) else f"i{d}") for d in range(len(shape))]
    ranges = tuple(Range(i, affine(0), extent) for i, extent in zip(indices, shape, strict=True))
    return ranges, tuple(map(affine, indices))


def elementwise(b: Builder, function: Callable[..., Expr], *atoms: Atom) -> Expr:
    """The function of scalars applied to every element of tensors of one shape; scalars among them stand for all elements."""
    shape = next(s for a in atoms if (s := shape_of(a)))
    ranges, here = every_element(shape)
    return computed(b, Comprehension(ranges=ranges, write=here, shape=shape), function,
                    [(a, here if shape_of(a) else ()) for a in atoms])


def filled(b: Builder, shape: Shape, value: float) -> Atom:
    """The tensor with one value everywhere."""
    if not shape:
        return Lit(value)
    ranges, here = every_element(shape)
    return emit(b, Comprehension(ranges=ranges, write=here, shape=shape, body=constant_body(value)), ()).atom


def computed(b: Builder, op: Comprehension, function: Callable[..., Expr], read: Sequence[Element | Affine],
             args: Atoms = ()) -> Expr:
    """Append a comprehension with the box and the write of `op`, whose value is a function of elements and of expressions of
    indices. Subscripts that go through integers read these in `args`."""
    inner, params, sources = Builder(), tuple([Param(Var(f"x{k}"), f"x{k}") for k in range(len(read))]), list[BodySource]()
    for each in read:
        if isinstance(each, Affine):
            sources.append(each)
        else:
            sources.append(Read(len(args), each[1]))
            args = (*args, each[0])
    value = function(*[inner.expr(p.var) for p in params])
    return emit(b, replace(op, sources=tuple(sources), body=body_of(value.atom, params, inner.equations)), args)


def emit(b: Builder, op: Comprehension, args: Atoms) -> Expr:
    """Append a comprehension without the sources and arguments that it does not use."""
    op, args = compact(op, args)
    return b.expr(b.emit(op, *args, shape=op.shape))


def compact(op: Comprehension, args: Atoms) -> tuple[Comprehension, Atoms]:
    """Dead code elimination of a comprehension: no operations of the body that its result does not need, sources that are unused
    then, and unused arguments."""
    used = {r.atom for r in op.body.results}
    for e in reversed(op.body.equations):
        if not used.isdisjoint(e.outs):
            used.update(e.args)
    equations = tuple(e for e in op.body.equations if not used.isdisjoint(e.outs))
    if len(equations) < len(op.body.equations):
        op = replace(op, body=replace(op.body, equations=equations))
    kept = [(p, s) for p, s in op.inputs() if p.var in used]
    if len(kept) < len(op.sources):
        op = replace(op, sources=tuple(s for _, s in kept), body=replace(op.body, params=tuple(p for p, _ in kept)))
    needed = sorted(set(arguments(op)))
    if len(needed) == len(args):
        return op, args
    place = {old: new for new, old in enumerate(needed)}
    return moved(op, lambda r: replace(r, arg=place[r.arg]), place.__getitem__), tuple(args[i] for i in needed)


def arguments(op: Comprehension) -> Iterator[int]:
    """The positions of the arguments that a comprehension uses, with repetition."""
    if op.onto is not None:
        yield op.onto
    yield from (s.arg for s in nested_reads((*op.sources, *op.write)))


def moved(op: Comprehension, read: Callable[[Read], Read], position: Callable[[int], int]) -> Comprehension:
    """The comprehension with every Read rewritten, those inside of subscripts first, and `onto` renumbered."""
    def each(s: BodySource) -> BodySource:
        return read(replace(s, subscripts=tuple(map(each, s.subscripts)))) if isinstance(s, Read) else s
    onto = None if op.onto is None else position(op.onto)
    return replace(op, sources=tuple(map(each, op.sources)), write=tuple(map(each, op.write)), onto=onto)


# ---------------------------------------------------------------- reductions

INF = float("inf")


def in_sums(program: Program) -> Program:
    """The program with every log-sum-exp written out."""
    return replace(program, equations=tuple([x for e in program.equations for x in written_out(e)]))


def written_out(e: Equation) -> tuple[Equation, ...]:
    """A log-sum-exp as a maximum, a sum and a logarithm; a recurrence with such statements; any other equation as it is."""
    op = e.op
    if any(map(_is_one, op.inner())):
        return (_in_loop(e, op),)
    if not _is_one(e):
        return (e,)
    ranges, here = every_element(op.shape)
    return _parts(e, op, Var(None, True, shape=op.shape), Var(None, True, shape=op.shape), ranges, here)


def _is_one(e: Equation) -> TypeGuard[Equation[Comprehension]]:
    return bool(e.op.reduction == "lse")


def _in_loop(e: Equation, op: Recurrence) -> Equation:
    """A recurrence whose log-sum-exps are three statements each; largest values and sums are histories of their own."""
    statements: list[Equation] = []
    more: list[Var] = []
    for s in op.statements:
        if _is_one(s):
            largest, total = Var(None, True, shape=s.op.shape), Var(None, True, shape=s.op.shape)
            fixed = fixed_indices(s.op.ranges, s.op.write)
            ranges = tuple(r for r in s.op.ranges if r.index in fixed)
            statements += _parts(s, s.op, largest, total, ranges, s.op.write)
            more += [largest, total]
        else:
            statements.append(s)
    count = len(op.histories)
    histories = (*op.histories, *more)
    made = replace(op, histories=histories, statements=tuple(statements), signature=signature_of(len(histories)))
    args = (*e.args[:count], *[Lit(0.0)] * len(more), *e.args[count:])
    return e.with_op(made, args, (*e.outs, *[Var(None, True, shape=v.shape) for v in more]))


def _parts(e: Equation, op: Comprehension, largest: Var, total: Var, ranges: tuple[Range, ...],
           here: tuple[Subscript, ...]) -> tuple[Equation, ...]:
    """The three steps; the last one is for the elements `here`."""
    sums = replace(op, reduction="+", sources=(*op.sources, Read(len(e.args), op.write)), body=_exponential(op.body))
    last = Comprehension(ranges=ranges, write=here, shape=op.shape, reduction="=", sources=(Read(0, here), Read(1, here)),
                         body=_logarithm())
    return (e.with_op(replace(op, reduction="max"), e.args, (largest,)),
            e.with_op(sums, (*e.args, largest), (total,)),
            e.with_op(last, (largest, total)))


def _exponential(body: Program) -> Program:
    """exp(z - f) for the value z of a body, with the largest z as one more parameter."""
    b, name = Builder(), Names.of(body).fresh("m")
    m = Var(name)
    b.equations.extend(body.equations)
    value = exp(b.expr(body.results[0].atom) - _shift(b.expr(m)))
    return body_of(value.atom, (*body.params, Param(m, name)), b.equations)


def _logarithm() -> Program:
    b, m, total = Builder(), Var("m"), Var("e")
    value = _shift(b.expr(m)) + log(b.expr(total))
    return body_of(value.atom, (Param(m, "m"), Param(total, "e")), b.equations)


def _shift(m: Expr) -> Expr:
    """The shift of the exponents: the largest value where that is finite, else 0."""
    return select(abs_(m) < INF, m, 0)


# ---------------------------------------------------------------- running sums and products
# Running sums and products: the partial results of a reduction along one index, as a loop.
#
#     a(0) = 0
#     for i in 0:N { a(i + 1) = a(i) + x(i) }
#
# Element i of the result is that of all points below i; run downwards it is that of all points from i on. Either costs as many
# operations as there are points.

def running(b: Builder, terms: Comprehension, args: Atoms, down: bool, name: str | None = None) -> Var:
    """The partial results of a reduction along the first range of `terms`, whose low end is a number; the other indices have a
    dimension each behind that, and no guard leaves out a point."""
    along, *others = terms.ranges
    here, extents = corner(others)
    shape = (extent_of(along) + 1, *extents)
    at = affine(along.index) - along.low
    before, behind = (at + 1, at) if down else (at, at + 1)
    start = _nothing_yet(b, terms.reduction, others, (extent_of(along) if down else affine(0), *here), shape)
    inside, out = Var(name, name is None, shape=shape), Var(name, name is None, shape=shape)
    constants = {a: Var(a.name, a.temp, a.truth, a.shape, a.integer, a.whole) for a in args if isinstance(a, Var)}
    known = tuple([constants[a] if isinstance(a, Var) else a for a in args])
    step = replace(terms, write=(behind, *here), shape=shape, reduction="=", onto=None,
                   sources=(*terms.sources, Read(len(args), (before, *here))), body=_combined(terms))
    statement = Equation((inside,), step, (*known, inside), b.span)
    loop = Recurrence(signature=signature_of(1), step=along.index, low=along.low, high=along.high, down=down,
                      histories=(inside,), constants=tuple(constants.values()), statements=(statement,))
    b.define(out, loop, (start, *constants))
    return out


def _nothing_yet(b: Builder, reduction: str, others: list[Range], write: tuple[Affine, ...], shape: Shape) -> Atom:
    """The initial results: the neutral value where there is no point yet."""
    first = Comprehension(ranges=tuple(others), write=write, shape=shape,
                          body=constant_body(NEUTRAL[reduction]))
    return emit(b, first, ()).atom


def _combined(terms: Comprehension) -> Program:
    """The body of one step: the result before it, given last, with the value of the body."""
    last, made = Var("last"), Var("made")
    line = Equation((made,), TABLE[COMBINED_BY[terms.reduction]], (last, terms.body.results[0].atom))
    name = Names.of(terms.body).fresh("last")
    return body_of(made, (*terms.body.params, Param(last, name)), (*terms.body.equations, line))


def in_a_row(b: Builder, op: Comprehension, args: Atoms, shared: tuple[Range, ...]
             ) -> tuple[Comprehension, Atoms, Affine]:
    """The values of a reduction's body for `running`: one range for all points that meet in an element, in front of the `shared`
    ranges, and the place of a point in it. Points that guards leave out have the neutral value."""
    own = [r for r in op.ranges if r not in shared]
    here, extents = corner(shared)
    place, count = affine(0), affine(1)
    for r in own:
        place = product(place, extent_of(r)) + affine(r.index) - r.low
        count = expanded(product(count, extent_of(r)))   # a sum as in `place`, so that texts give the same extents
    if len(own) == 1 and not op.guards and not op.body.equations and own[0].low.number is not None:
        return replace(op, ranges=(own[0], *shared), onto=None), args, place
    kept = emit(b, replace(op, ranges=(*own, *shared), write=(place, *here), shape=(count, *extents), onto=None,
                           reduction=op.reduction if op.guards else "="), args).atom
    along = Range(Index(own[0].index.name), affine(0), count)
    read = Read(0, (affine(along.index), *here))
    return replace(op, ranges=(along, *shared), guards=(), sources=(read,), body=identity_body(), onto=None), (kept,), place
