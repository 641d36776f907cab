"""Whole tensors, element by element, and how every comprehension is emitted.

Primitives have one meaning, on rank-0 values. Where a pass needs one of them on tensors (the sum of two adjoints, a gate, zeros
for what no derivative reaches), it is a comprehension over all elements whose body is the operation on scalars.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from adcli.lang.ir import Atom, Atoms, Lit, Param, Program, Shape, Var, shape_of
from adcli.lang.ir.affine import Affine, Index, affine
from adcli.lang.ir.build import Builder, Expr
from adcli.lang.ir.errors import AdError
from adcli.lang.operations.comprehension import (
    BodySource,
    Comprehension,
    Range,
    Read,
    Subscript,
    body_of,
    constant_body,
    nested_reads,
)

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
