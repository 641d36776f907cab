"""Sizes as numbers: the names of sizes, bound by the shapes of the values given for the inputs."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, prod
from typing import Any, NamedTuple, cast

from adcli.lang.ir import Param, Program, Var
from adcli.lang.ir.affine import (
    Affine,
    Index,
    affine,
    atoms,
    shape_text,
    substituted,
    text,
    value,
)
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.comprehension import atoms_in
from adcli.lang.operations.matrix import Boxed
from adcli.lang.operations.recurrence import with_statements

DUP = TABLE["dup"]
BYTES = 8
"""Of one element of a tensor."""
LARGEST_SIZE = 2 ** 31 - 1
"""The largest integer among the inputs that a range or an extent can be made of."""
Sizes = dict[str, int]
"""The names of sizes as numbers."""


class Extent(NamedTuple):
    """A declared extent, and the number that the value given for a tensor has there."""

    tensor: str
    dimension: int
    declared: Affine
    given: int


def elements(n: int) -> str:
    return "1 element" if n == 1 else f"{n} elements"


def no_subscript(got: float, extent: int) -> tuple[str, str | None]:
    """A value that should be a subscript and is none, as a number, and the help that goes with it."""
    if isfinite(got):
        return str(int(got)), f"subscripts go from 0 to {extent - 1}" if extent else None
    return str(got), "there is no such whole number: it comes from a NaN, from infinity, or from a range that is empty"


def number(x: Affine, sizes: Mapping[str, int]) -> int:
    """The value of an expression of sizes alone."""
    return value(x, cast(Mapping[Index | str, int], sizes))


def bind(program: Program, shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, Any] | None = None,
         unseen: bool = False) -> Sizes:
    """The size names as numbers, from the shapes of the values given for the inputs.

    An extent that is a size name alone binds it; the others are checked, and solved for a size that no other extent gives.
    An integer that is an input is a size of its own name, by its value in `values`. AdError where a rank or two extents disagree,
    or where an integer that is used as a size cannot be one. With `unseen` a shape that ends in 0 may lack dimensions behind
    that, as that of nested lists does.
    """
    sizes = _counted(program, {name: x for name, x in (values or {}).items() if not shapes.get(name)})
    origin: dict[str, tuple[int, str]] = {}
    later: list[Extent] = []
    for p in program.params:
        given = tuple(shapes.get(p.name, ()))
        if p.name not in shapes and p.var.shape:
            raise AdError(f"no value for '{p.name}'", help=f"it is a tensor of shape {shape_text(p.var.shape)}")
        if len(given) != len(p.var.shape) and not (unseen and ends_early(p, given)):
            raise _wrong_rank(p.name, p.var.shape, given)
        for d, (extent, n) in enumerate(zip(p.var.shape, given, strict=False)):
            size = _size_name(extent)
            if size is None:
                later.append(Extent(p.name, d, extent, n))
            elif size not in sizes:
                sizes[size], origin[size] = n, (d, p.name)
            elif sizes[size] != n and size not in origin:
                raise AdError(f"'{p.name}' has {elements(n)} along dimension {d}, and '{size}' is {sizes[size]}")
            elif sizes[size] != n:
                first, other = origin[size]
                raise AdError(f"'{p.name}' has {elements(n)} along dimension {d}, and '{other}' has {sizes[size]} along "
                              f"dimension {first}: both are {size}")
    _check_extents(later, sizes)
    return sizes


def ends_early(p: Param, given: Sequence[int]) -> bool:
    """Whether a shape is that of nested lists without elements, which show no dimensions behind: `[]` is 0 by anything."""
    return 0 < len(given) < len(p.var.shape) and given[-1] == 0


def _counted(program: Program, values: Mapping[str, Any]) -> Sizes:
    """The sizes that are integers among the inputs, by their values."""
    used = {p.name for p in counts(program)}
    found = {p.name: int(values[p.name]) for p in program.params if p.var.integer and not p.var.shape and p.name in values}
    for name, n in found.items():
        if name in used and not 0 <= n <= LARGEST_SIZE:
            raise AdError(f"'{name}' is {n}, and a range or an extent is made of it",
                          help="it cannot be negative" if n < 0 else f"it cannot be more than {LARGEST_SIZE}")
    return found


def counts(program: Program) -> list[Param]:
    """The integers among the inputs that ranges or extents are made of."""
    scalars = [p for p in program.params if p.var.integer and not p.var.shape]
    return [p for p in scalars if p.name in size_names(program)] if scalars else []


def size_names(program: Program) -> set[str]:
    """The names in all extents, ranges and subscripts of a program."""
    found = {a for p in program.params for x in p.var.shape for a in atoms(x)}
    for e in with_statements(program.equations):
        if isinstance(op := e.op, Boxed):
            found |= atoms_in((*op.shape, *op.guards, *op.write, *op.sources, *(x for r in op.ranges for x in (r.low, r.high))))
    return {a for a in found if isinstance(a, str)}


def _check_extents(left: Sequence[Extent], sizes: Sizes) -> None:
    """Extents that are expressions, once their sizes are known; one with a single unknown size gives that size."""
    while left:
        waiting = []
        for each in left:
            name, d, extent, n = each
            unknown = [a for a in atoms(extent) if isinstance(a, str) and a not in sizes]
            if not unknown:
                expected = number(extent, sizes)
                if expected != n:
                    where = f"{text(extent)} is {expected}" if atoms(extent) else f"the program has {expected}"
                    raise AdError(f"'{name}' has {elements(n)} along dimension {d}, where {where}",
                                  help=_sizes_help(extent, sizes))
            elif len(unknown) == 1 and (c := _known(extent, sizes).coefficient(unknown[0])):
                rest = number(extent, {**sizes, unknown[0]: 0})
                if (n - rest) % c or (n - rest) // c < 0:
                    raise AdError(f"'{name}' has {elements(n)} along dimension {d}, which cannot be {text(extent)}")
                sizes[unknown[0]] = (n - rest) // c
            else:
                waiting.append(each)
        if len(waiting) == len(left):
            name, d, extent, _ = waiting[0]
            raise AdError(f"the sizes in {text(extent)}, dimension {d} of '{name}', follow from no input",
                          help="declare an input with an extent that is the size alone")
        left = waiting


def _size_name(extent: Affine) -> str | None:
    """The size that an extent is, where it is nothing but one."""
    if extent.constant == 0 and len(extent.terms) == 1:
        a, c = extent.terms[0]
        return a if c == 1 and isinstance(a, str) else None
    return None


def _wrong_rank(name: str, shape: Sequence[Affine], given: Sequence[int]) -> AdError:
    if not shape:
        return AdError(f"'{name}' is a scalar, and the value given has {_dimensions(len(given))}")
    return AdError(f"'{name}' has {_dimensions(len(shape))}, and the value given has {len(given)}",
                   help=f"its shape is {shape_text(shape)}; {tuple(given)} was given")


def _dimensions(n: int) -> str:
    return "1 dimension" if n == 1 else f"{n} dimensions"


def _sizes_help(extent: Affine, sizes: Mapping[str, int]) -> str | None:
    named = sorted(a for a in atoms(extent) if isinstance(a, str))
    return f"with {', '.join(f'{a} = {sizes[a]}' for a in named)}" if named else None


def shapes(program: Program, sizes: Mapping[str, int]) -> dict[Var, tuple[int, ...]]:
    """The shape of every value of a program, scalars included. AdError where an extent would be negative."""
    found = {p.var: tuple([number(x, sizes) for x in p.var.shape]) for p in program.params}
    for e in program.equations:
        for out in e.outs:
            found[out] = shape = tuple([number(x, sizes) for x in out.shape])
            if shape and min(shape) < 0:
                d = next(d for d, n in enumerate(shape) if n < 0)
                raise AdError(f"'{out.name or 'a tensor'}' would have {elements(shape[d])} along dimension {d}, where its extent "
                              f"is {text(out.shape[d])}", e.span, _sizes_help(out.shape[d], sizes), program.source)
    return found


def memory(program: Program, sizes: Mapping[str, int]) -> int:
    """Bytes of all values together, none of them in the place of another: what one call needs at most."""
    copies = {out for e in program.equations if e.op is DUP for out in e.outs}
    return BYTES * sum(prod(shape) for v, shape in shapes(program, sizes).items() if v not in copies)


def _known(x: Affine, sizes: Mapping[str, int]) -> Affine:
    """The expression with numbers in the place of those sizes that are known."""
    return substituted(x, {name: affine(n) for name, n in sizes.items()})
