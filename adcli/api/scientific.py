"""Functions for SciPy: sparse matrices, and what scipy.optimize asks for, functions of one vector."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from adcli.api.arguments import one_number, real_array
from adcli.codegen.machine.arrays import run_arrays
from adcli.lang.derive import derivatives
from adcli.lang.ir import Lit, Param, Program, Result, Var
from adcli.lang.ir.activity import inputs_to_differentiate
from adcli.lang.ir.build import Builder
from adcli.lang.ir.errors import AdError, plural
from adcli.lang.ir.names import Names, repeated
from adcli.task.derive import chosen
from adcli.task.matrices import matrix_among, scipy_coo
from adcli.task.signature import columns
from adcli.task.verbs import MatrixKind

if TYPE_CHECKING:
    from adcli.codegen.machine.kernel import Kernel

Vector = np.ndarray


class Solver(NamedTuple):
    """The three functions of one vector; `order` names its components."""

    fun: Callable[..., Any]
    jac: Callable[..., Any]
    hess: Callable[..., Any]


class Compiled(Protocol):
    """A program with its native code."""

    @property
    def program(self) -> Program: ...

    @property
    def inputs(self) -> tuple[str, ...]: ...

    def kernel(self) -> Kernel: ...


def solver(program: Program, compiled: Callable[[Program], Compiled], order: Sequence[str] | None, of: Sequence[str] | None,
           fixed: Mapping[str, float]) -> Solver:
    """See `Function.scipy`; `compiled` gives a program its native code."""
    program = chosen(program, of)
    if not program.results:
        raise AdError("no output is asked for", help="leave of= away for all of them")
    inputs = vector_inputs(program, order, fixed)
    rest = constants(program, inputs, fixed)
    value, gradient = compiled(program), compiled(derivatives.jacobian(program, inputs))
    rows = len(program.results)
    if rows == 1:
        curved = compiled(derivatives.hessian(program, inputs))
        return Solver(lambda x: float(numbers(value, inputs, x, rest)[0]),
                      lambda x: dense_row(gradient.program, numbers(gradient, inputs, x, rest), inputs),
                      lambda x: matrix(curved.program, "hessian", inputs, numbers(curved, inputs, x, rest)))
    weighted, weights = weighted_sum(program)
    combined = compiled(derivatives.hessian(weighted, inputs))
    return Solver(lambda x: np.array(numbers(value, inputs, x, rest)),
                  lambda x: matrix(gradient.program, "jacobian", inputs, numbers(gradient, inputs, x, rest)),
                  lambda x, v: matrix(combined.program, "hessian", inputs,
                                      numbers(combined, (*inputs, *weights), joined(x, v, rows), rest)))


def vector_inputs(program: Program, order: Sequence[str] | None, fixed: Mapping[str, float]) -> list[str]:
    """The inputs that are components of the vector."""
    known = inputs_to_differentiate(program, [*(order or ()), *fixed])
    if order is None:
        return [p.name for p in program.params if p.active and p.name not in fixed]
    if (twice := repeated([*fixed, *order])) is not None:
        raise AdError(f"input '{twice}' is given twice")
    return known[:len(order)]


def constants(program: Program, inputs: Sequence[str], fixed: Mapping[str, float]) -> dict[str, float]:
    """The values of the other inputs."""
    rest = [p for p in program.params if p.name not in inputs]
    missing = [p.name for p in rest if p.default is None and p.name not in fixed]
    if missing:
        raise AdError(f"no value for {', '.join(missing)}", help=f"name it in order, or fix it: scipy({missing[0]}=1.0)")
    return {p.name: one_number(p.name, fixed.get(p.name, p.default or 0.0)) for p in rest}


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
    weights = real_array("the weights", v).ravel()
    if len(weights) != rows:
        raise AdError(f"{plural(len(weights), 'weight')} for {plural(rows, 'output')}")
    return np.concatenate([real_array("the vector", x).ravel(), weights])


def numbers(f: Compiled, inputs: Sequence[str], x: Any, rest: Mapping[str, float]) -> list[float]:
    """All results at a vector."""
    vector = real_array("the vector", x).ravel()
    if len(vector) != len(inputs):
        raise AdError(f"a vector of {plural(len(vector), 'component')} for {plural(len(inputs), 'input')}:"
                      f" {', '.join(inputs[:6])}{', …' if len(inputs) > 6 else ''}")
    given = {**dict(zip(inputs, vector, strict=True)), **rest}
    columns = [np.array([given[name]]) for name in f.inputs]
    return [float(column[0]) for column in run_arrays(f.kernel(), columns, 1)]


# ---------------------------------------------------------------- matrices

def dense_row(program: Program, found: Sequence[float], inputs: Sequence[str]) -> Vector:
    """The gradient of the one output."""
    row, place = np.zeros(len(inputs)), {x: i for i, x in enumerate(inputs)}
    for r, value in zip(program.results, found, strict=True):
        if r.wrt:
            row[place[r.wrt[0]]] = value
    return row


def matrix(program: Program, kind: MatrixKind, inputs: Sequence[str], found: Sequence[float]) -> Any:
    """A Jacobian or Hessian: dense, or sparse where entries were left out."""
    form, places = matrix_among(columns(program), inputs, kind)
    values, n = [found[k] for k in places], len(form.rows)
    if len(places) < (n * (n + 1) // 2 if form.symmetric else n * len(form.columns)):
        return scipy_coo(form, values).tocsr()
    full = np.zeros((n, len(form.columns)))
    full[form.i, form.j] = values
    if form.symmetric:
        full[form.j, form.i] = values
    return full


def sparse(program: Program, kind: MatrixKind, inputs: Sequence[str], found: Sequence[Any]) -> Any:
    """See `Function.sparse`: the matrix of a Jacobian or Hessian with these results, without entries that are 0 by
    construction."""
    kept = [k for k, r in enumerate(program.results) if not (r.wrt and isinstance(r.atom, Lit) and r.atom.value == 0)]
    every = columns(program)
    form, places = matrix_among([every[k] for k in kept], inputs, kind)
    if any(np.ndim(x) for x in found):
        raise AdError("sparse() takes one point, not arrays")
    return scipy_coo(form, [found[kept[k]] for k in places])
