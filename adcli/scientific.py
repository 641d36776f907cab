"""Functions for SciPy: sparse matrices, and what scipy.optimize asks for, functions of one vector."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from codegen.arrays import run_arrays
from lang.build import Builder
from lang.derivatives import inputs_to_differentiate
from lang.errors import AdError
from lang.ir import Param, Program, Result, Var
from lang.names import Names

if TYPE_CHECKING:
    from adcli.function import Function

Vector = np.ndarray


class Solver(NamedTuple):
    """The three functions of one vector; `order` names its components."""

    fun: Callable[..., Any]
    jac: Callable[..., Any]
    hess: Callable[..., Any]


def solver(f: Function, order: Sequence[str] | None, of: Sequence[str] | None, fixed: Mapping[str, float]) -> Solver:
    """See `Function.scipy`."""
    from adcli.derive import chosen
    from adcli.function import Function
    program = chosen(f.program, of)
    inputs = vector_inputs(program, order, fixed)
    rest = constants(program, inputs, fixed)
    value, jacobian = Function(program), Function(program).jacobian(inputs)
    rows = len(program.results)
    if rows == 1:
        hessian = Function(program).hessian(inputs)
        return Solver(lambda x: float(numbers(value, inputs, x, rest)[0]),
                      lambda x: dense_row(jacobian, numbers(jacobian, inputs, x, rest), inputs),
                      lambda x: matrix(hessian, numbers(hessian, inputs, x, rest), inputs))
    weighted, weights = weighted_sum(program)
    combined = Function(weighted).hessian(inputs)
    return Solver(lambda x: np.array(numbers(value, inputs, x, rest)),
                  lambda x: matrix(jacobian, numbers(jacobian, inputs, x, rest), inputs),
                  lambda x, v: matrix(combined, numbers(combined, (*inputs, *weights), joined(x, v, rows), rest), inputs))


def vector_inputs(program: Program, order: Sequence[str] | None, fixed: Mapping[str, float]) -> list[str]:
    """The inputs that are components of the vector."""
    known = inputs_to_differentiate(program, [*(order or ()), *fixed])
    if order is None:
        return [p.name for p in program.params if p.active and p.name not in fixed]
    twice = [x for x in order if x in fixed] or [x for x in order if list(order).count(x) > 1]
    if twice:
        raise AdError(f"input '{twice[0]}' is given twice")
    return known[:len(order)]


def constants(program: Program, inputs: Sequence[str], fixed: Mapping[str, float]) -> dict[str, float]:
    """The values of the other inputs."""
    rest = [p for p in program.params if p.name not in inputs]
    missing = [p.name for p in rest if p.default is None and p.name not in fixed]
    if missing:
        raise AdError(f"no value for {', '.join(missing)}", help=f"name it in order, or fix it: scipy({missing[0]}=1.0)")
    return {p.name: float(fixed.get(p.name, p.default or 0.0)) for p in rest}


def weighted_sum(program: Program) -> tuple[Program, list[str]]:
    """The sum of the outputs, each times a further input, and the names of these inputs."""
    names, b = Names.of(program), Builder()
    b.equations.extend(program.equations)
    weights = [Param(Var(n := names.fresh(f"weight_{r.name}")), n) for r in program.results]
    total = b.expr(program.results[0].atom) * b.expr(weights[0].var)
    for r, w in zip(program.results[1:], weights[1:], strict=True):
        total = total + b.expr(r.atom) * b.expr(w.var)
    result = Result(names.fresh("total"), total.atom)
    return Program((*program.params, *weights), tuple(b.equations), (result,), program.source), [w.name for w in weights]


def joined(x: Any, v: Any, rows: int) -> Vector:
    """The vector and the weights in one."""
    weights = np.asarray(v, dtype=float).ravel()
    if len(weights) != rows:
        raise AdError(f"{len(weights)} weights for {rows} outputs")
    return np.concatenate([np.asarray(x, dtype=float).ravel(), weights])


def numbers(f: Function, inputs: Sequence[str], x: Any, rest: Mapping[str, float]) -> list[float]:
    """All results of a Function at a vector."""
    vector = np.asarray(x, dtype=float).ravel()
    if len(vector) != len(inputs):
        raise AdError(f"a vector of {len(vector)} components for {len(inputs)} inputs: {', '.join(inputs[:6])}"
                      f"{', …' if len(inputs) > 6 else ''}")
    given = {**dict(zip(inputs, vector, strict=True)), **rest}
    columns = [np.array([given[name]]) for name in f.inputs]
    return [float(column[0]) for column in run_arrays(f.kernel(), columns, 1)]


# ---------------------------------------------------------------- matrices

def entries(f: Function, found: Sequence[float]) -> list[tuple[Result, float]]:
    """The entries of the matrix among the results: the partial derivatives of the highest order."""
    highest = max((len(r.wrt) for r in f.program.results), default=0)
    return [(r, x) for r, x in zip(f.program.results, found, strict=True) if r.wrt and len(r.wrt) == highest]


def dense_row(f: Function, found: Sequence[float], inputs: Sequence[str]) -> Vector:
    """The gradient of the one output."""
    row, place = np.zeros(len(inputs)), {x: i for i, x in enumerate(inputs)}
    for r, value in entries(f, found):
        row[place[r.wrt[0]]] = value
    return row


def matrix(f: Function, found: Sequence[float], inputs: Sequence[str]) -> Any:
    """A Jacobian or Hessian: dense, or sparse where entries were left out."""
    shape, i, j, values = coordinates(f, found, inputs)
    second = any(len(r.wrt) == 2 for r in f.program.results)
    complete = len(entries(f, found)) == (shape[0] * (shape[0] + 1) // 2 if second else shape[0] * shape[1])
    if not complete:
        return coo(shape, i, j, values).tocsr()
    full = np.zeros(shape)
    full[i, j] = values
    return full


def coordinates(f: Function, found: Sequence[float], inputs: Sequence[str]) -> tuple[tuple[int, int], list[int], list[int],
                                                                                   list[float]]:
    """Shape, row and column numbers and values of a matrix; of a Hessian both triangles."""
    place = {x: i for i, x in enumerate(inputs)}
    outputs = {r.name: i for i, r in enumerate(r for r in f.program.results if not r.wrt)}
    i, j, values = [], [], []
    second = False
    for r, value in entries(f, found):
        second = len(r.wrt) == 2
        row = place[r.wrt[0]] if second else outputs[r.of or ""]
        column = place[r.wrt[-1]]
        i.append(row)
        j.append(column)
        values.append(value)
        if second and row != column:
            i.append(column)
            j.append(row)
            values.append(value)
    return (len(inputs) if second else len(outputs), len(inputs)), i, j, values


def coo(shape: tuple[int, int], i: Sequence[int], j: Sequence[int], values: Sequence[float]) -> Any:
    try:
        from scipy.sparse import coo_array
    except ImportError:
        raise AdError("sparse matrices need SciPy", help="pip install 'adcli[scipy]'") from None
    return coo_array((np.array(values, dtype=float), (np.array(i, dtype=int), np.array(j, dtype=int))), shape=shape)


def sparse(f: Function, wrt: Sequence[str] | None, at: Mapping[str, Any] | None, values: Mapping[str, Any]) -> Any:
    """See `Function.sparse`."""
    if wrt is None:
        raise AdError("only a Jacobian or a Hessian is a matrix", help="write f.jacobian().sparse(…)")
    results = f(at, **values)
    found = [results[name] for name in f.outputs]
    if any(np.ndim(x) for x in found):
        raise AdError("a sparse matrix is of one point, not of arrays")
    shape, i, j, numbers = coordinates(f, found, wrt)
    return coo(shape, i, j, numbers)
