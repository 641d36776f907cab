"""Reference evaluation of comprehensions, over any arithmetic.

A tensor is a NumPy array, of objects where the arithmetic's numbers are no doubles. All points of the domain are listed, in the
order of the ranges; sources are read at all of them, the body gives its values, and they go one after another to the
elements they belong to. With NumPy's arithmetic the body runs once for all points. How a body is evaluated is given: that is
what this is a part of.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from adcli.lang.ir import Equation, Param, Program, Var
from adcli.lang.ir.affine import Affine, AffineAtom, Extreme, Floor, Index, Modulo, Product, atoms, value
from adcli.lang.ir.errors import AdError
from adcli.lang.operations.comprehension import COMBINED_BY, NEUTRAL, Comprehension, Read, Subscript
from adcli.lang.operations.elementwise import written_out
from adcli.lang.operations.matrix import Boxed
from adcli.lang.sizes.binding import bind, elements, no_subscript, number
from adcli.lang.sizes.in_bounds import prove, prove_steps

BLOCK = 1024
"""Terms of a sum that are added one after another, see `_sum_in_blocks`; more where there are more blocks than that."""
UFUNCS = {"+": np.add, "*": np.multiply, "min": np.minimum, "max": np.maximum}
Known = dict[Index | str, Any]


class ElementArithmetic(Protocol):
    """Part of the `Arithmetic` of `adcli.lang.evaluate` that is used here."""

    @property
    def functions(self) -> Mapping[str, Callable[..., Any]]: ...

    @property
    def constant(self) -> Callable[[float], Any]: ...

    def enter(self, e: Equation) -> None: ...


Evaluate = Callable[[Program, Mapping[str, Any]], Mapping[str, Any]]
"""The results of a body at values of its inputs, in the arithmetic."""


def as_value(p: Param, given: Any, arithmetic: ElementArithmetic) -> Any:
    """A tensor as an array with the elements of the arithmetic. AdError for a fraction among integers."""
    array = np.asarray(given)
    if p.var.integer:
        if array.dtype.kind not in "iu" and (array != np.floor(array)).any():
            raise AdError(f"'{p.name}': a tensor of integers cannot hold {array[array != np.floor(array)][0]}")
        return array.astype(np.int64)
    return array.astype(np.float64) if is_double(arithmetic) else _objects(array, arithmetic)


def is_double(arithmetic: ElementArithmetic) -> bool:
    """True if numbers of the arithmetic are doubles."""
    return isinstance(arithmetic.constant(1.0), float)


def _objects(array: np.ndarray, arithmetic: ElementArithmetic) -> np.ndarray:
    made = np.empty(array.shape, object)
    for at in np.ndindex(array.shape):
        x = array[at]
        made[at] = arithmetic.constant(float(x)) if isinstance(x, (int, float, np.number)) else x
    return made


def bound(program: Program, values: Mapping[Var, Any]) -> dict[str, int]:
    """The sizes, from the values of the inputs, when the program has been proved to stay inside its tensors."""
    given = {p.name: np.shape(values[p.var]) for p in program.params}
    integers = {p.name: values[p.var] for p in program.params if p.var.integer and not p.var.shape}
    sizes = bind(program, given, integers)
    prove(program, sizes)
    prove_steps(program, sizes)
    return sizes


def comprehension(e: Equation[Comprehension], args: list[Any], sizes: Mapping[str, int], arithmetic: ElementArithmetic,
                  evaluate: Evaluate) -> Any:
    """The value of a comprehension's result."""
    op = e.op
    if op.reduction == "lse":
        values: dict[Any, Any] = dict(zip(e.args, args, strict=True))
        for part in written_out(e):
            values[part.outs[0]] = comprehension(part, [values[a] for a in part.args], sizes, arithmetic, evaluate)
        return values[e.outs[0]]
    shape = tuple([number(x, sizes) for x in op.shape])
    out = _started(op, args, shape, arithmetic)
    written(e, op, out, args, dict(sizes.items()), arithmetic, evaluate)
    return out if shape else out[()]


def written(e: Equation, op: Comprehension, out: np.ndarray, args: list[Any], sizes: Known, arithmetic: ElementArithmetic,
            evaluate: Evaluate) -> None:
    """Write what all points of the domain give into the elements of `out`. `sizes` may have indices too, those that are no
    range."""
    known, count = points(op, sizes)
    if count:
        subscripts = subscripts_at(e, op.write, e.outs[0], out.shape, args, known, count)
        values = _body(e, op, args, known, count, arithmetic, evaluate)
        if op.reduction == "+" and count > BLOCK:
            _sum_in_blocks(out, subscripts, values, arithmetic)
        else:
            _combine(op.reduction, out, subscripts, values, arithmetic)


def make_neutral(e: Equation, op: Comprehension, out: np.ndarray, args: list[Any], sizes: Known,
                  arithmetic: ElementArithmetic) -> None:
    """Give the elements that a reduction is for their neutral value, also those that no point is left for."""
    indices = {i for s in op.write for i in _atoms(s)}
    elements = replace(op, ranges=tuple(r for r in op.ranges if r.index in indices),
                       guards=tuple(g for g in op.guards if indices.issuperset(g.indices())))
    known, count = points(elements, sizes)
    if count:
        out[subscripts_at(e, op.write, e.outs[0], out.shape, args, known, count)] = arithmetic.constant(NEUTRAL[op.reduction])


def _atoms(s: Subscript) -> set[Index | str]:
    return {a for x in s.subscripts for a in _atoms(x)} if isinstance(s, Read) else atoms(s)


def points(op: Boxed, sizes: Known) -> tuple[Known, int]:
    """The indices at all points of the domain, and sizes; and the number of points."""
    axes = [np.arange(value(r.low, sizes), value(r.high, sizes)) for r in op.ranges]
    grid = [g.reshape(-1) for g in np.meshgrid(*axes, indexing="ij")]
    known: Known = dict(zip(op.indices, grid, strict=True))
    known.update(sizes)
    count = len(grid[0]) if grid else 1
    inside = np.ones(count, bool)
    for g in op.guards:
        inside &= numbers(g, known) >= 0
    known.update({i: known[i][inside] for i in op.indices})
    return known, int(inside.sum())


def numbers(x: Affine, known: Mapping[Index | str, Any]) -> Any:
    """The values of an expression where indices are arrays."""
    whole: Any = x.constant
    for a, c in x.terms:
        whole = whole + c * _numbers(a, known)
    return whole


def _numbers(a: AffineAtom, known: Mapping[Index | str, Any]) -> Any:
    match a:
        case Floor(whole, by):
            return numbers(whole, known) // numbers(by, known)
        case Extreme(parts, largest):
            found = np.stack(np.broadcast_arrays(*[numbers(p, known) for p in parts]))
            return found.max(axis=0) if largest else found.min(axis=0)
        case Product(left, right):
            return numbers(left, known) * numbers(right, known)
        case Modulo(whole, by):
            return numbers(whole, known) % numbers(by, known)
        case _:
            return known[a]


def filled(start: Any, shape: tuple[int, ...], arithmetic: ElementArithmetic) -> np.ndarray:
    """A new array with copies of the elements of a tensor, or of a number."""
    out = np.empty(shape, np.float64 if is_double(arithmetic) else object)
    out[...] = start
    return out


def _started(op: Comprehension, args: list[Any], shape: tuple[int, ...], arithmetic: ElementArithmetic) -> np.ndarray:
    """A new array with what the result starts from."""
    return filled(arithmetic.constant(NEUTRAL[op.reduction]) if op.onto is None else args[op.onto], shape, arithmetic)


def subscripts_at(e: Equation, subscripts: tuple[Subscript, ...], tensor: Any, shape: tuple[int, ...], args: list[Any],
                known: Known, count: int) -> tuple[np.ndarray, ...]:
    """Where an access goes at every point. AdError where a gathered subscript is outside."""
    found = []
    for d, (s, extent) in enumerate(zip(subscripts, shape, strict=False)):   # of matrices the leading ones
        if isinstance(s, Read):
            where = subscripts_at(e, s.subscripts, e.args[s.arg], np.shape(args[s.arg]), args, known, count)
            at = np.broadcast_to(np.asarray(args[s.arg])[where], count)
            wrong = np.flatnonzero(~((at >= 0) & (at < extent)))
            if len(wrong):
                raise _gathered_outside(e, s, [int(w[wrong[0]]) for w in where], float(at[wrong[0]]), tensor, d, extent)
            at = at.astype(np.int64)
        else:
            at = np.broadcast_to(numbers(s, known), count)
            assert count == 0 or (at.min() >= 0 and at.max() < extent), "a subscript that was proved is outside"
        found.append(at)
    return tuple(found)


def _gathered_outside(e: Equation, s: Read, where: list[int], got: float, tensor: Any, d: int, extent: int) -> AdError:
    integers = e.args[s.arg]
    name = integers.name if isinstance(integers, Var) else None
    element = (name or "the subscript") + (f"({', '.join(map(str, where))})" if where else "")
    target = tensor.name if isinstance(tensor, Var) and tensor.name else "the tensor"
    value, help = no_subscript(got, extent)
    return AdError(f"{element} = {value} is out of range for dimension {d} of '{target}', which has {elements(extent)}", e.span,
                   help)


def _body(e: Equation, op: Comprehension, args: list[Any], known: Known, count: int, arithmetic: ElementArithmetic,
          evaluate: Evaluate) -> Any:
    """The value of the body at every point."""
    columns = []
    for s in op.sources:
        if isinstance(s, Read):
            where = subscripts_at(e, s.subscripts, e.args[s.arg], np.shape(args[s.arg]), args, known, count)
            column = np.broadcast_to(np.asarray(args[s.arg])[where], count)
        else:
            column = np.broadcast_to(numbers(s, known), count)
        columns.append(column.astype(np.float64) if column.dtype.kind in "iu" else column)
    names = [p.name for p in op.body.params]
    result = op.body.results[0].name
    if is_vectorised(arithmetic):
        return np.broadcast_to(evaluate(op.body, dict(zip(names, columns, strict=True)))[result], count)
    exact = float if is_double(arithmetic) else (lambda x: arithmetic.constant(float(x)) if isinstance(x, np.generic) else x)
    rows = ([exact(c[k]) for c in columns] for k in range(count))
    return [evaluate(op.body, dict(zip(names, row, strict=True)))[result] for row in rows]


def is_vectorised(arithmetic: ElementArithmetic) -> bool:
    return arithmetic.constant is np.float64


def _sum_in_blocks(out: np.ndarray, subscripts: tuple[np.ndarray, ...], values: Any, arithmetic: ElementArithmetic) -> None:
    """Add values to elements, those of an element in their order: in blocks, whose sums are added."""
    element = np.ravel_multi_index(subscripts, out.shape) if out.shape else np.zeros(len(values), int)
    counts = np.bincount(element)
    order = np.argsort(element, kind="stable")
    number = np.empty(len(order), int)
    number[order] = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    length = max(BLOCK, 1 << math.ceil(math.log2(counts.max()) / 2))
    for block in range(-(-int(counts.max()) // length)):
        here = np.flatnonzero(number // length == block)
        where = tuple(s[here] for s in subscripts)
        some = np.asarray(values)[here] if is_vectorised(arithmetic) else [values[k] for k in here]
        if block == 0:
            _combine("+", out, where, some, arithmetic)
            continue
        sums = np.full(out.shape, arithmetic.constant(0.0), out.dtype)
        _combine("+", sums, where, some, arithmetic)
        found = np.unravel_index(np.unique(element[here]), out.shape) if out.shape else ()
        _combine("+", out, found, sums[found] if out.shape else [sums[()]], arithmetic)


def _combine(reduction: str, out: np.ndarray, subscripts: tuple[np.ndarray, ...], values: Any,
             arithmetic: ElementArithmetic) -> None:
    if reduction == "=":
        if len(out.shape):
            for k, x in enumerate(values) if out.dtype == object else ():
                out[tuple(s[k] for s in subscripts)] = x
            if out.dtype != object:
                out[subscripts] = values
        else:
            out[()] = values[-1]
    elif is_vectorised(arithmetic):
        with np.errstate(all="ignore"):
            if out.shape:
                UFUNCS[reduction].at(out, subscripts, values)
            else:
                UFUNCS[reduction].at(out.reshape(1), np.zeros(len(values), int), values)
    else:
        _one_by_one(arithmetic.functions[COMBINED_BY[reduction]], out, subscripts, values)


def _one_by_one(function: Callable[[Any, Any], Any], out: np.ndarray, subscripts: tuple[np.ndarray, ...], values: Any) -> None:
    for k, x in enumerate(values):
        at = tuple(int(s[k]) for s in subscripts)
        out[at] = function(out[at] if out.dtype == object else float(out[at]), x)
