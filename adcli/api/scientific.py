"""Functions of one vector, as scipy.optimize asks for them, and points as solvers take them."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from adcli.answers.array_calls import DOUBLE, one_number, real_array
from adcli.input.points import unknown_name
from adcli.lang.ir import Lit, Param, Program, Values, shape_of
from adcli.lang.ir.errors import AdError, plural
from adcli.lang.ir.names import repeated
from adcli.lang.operations.activity import inputs_to_differentiate
from adcli.numerics.linear import Vector
from adcli.output.wrap import few
from adcli.solvers.scalar_function import vector_function
from adcli.task.derive import chosen
from adcli.task.matrices import matrix_among, scipy_coo
from adcli.task.request import columns
from adcli.task.verbs import MatrixKind


class _Three(NamedTuple):
    fun: Callable[..., Any]
    jac: Callable[..., Any]
    hess: Callable[..., Any]


class Solver(_Three):
    """The three functions of one vector, which is also what it unpacks to.

    `names` are its components; `pack` makes the vector of a point, `unpack` a point of the vector; `x0` is the vector of `start`
    where there was one; `hessp(x, p)`, or `hessp(x, v, p)` of several outputs, is the product of the Hessian with p.
    """

    names: list[str]
    pack: Callable[[Values], Vector]
    unpack: Callable[[Any], dict[str, Any]]
    hessp: Callable[..., Vector]
    x0: Vector | None


def solver(program: Program, order: Sequence[str] | None, of: Sequence[str] | None, start: Values | None,
           fixed: Values) -> Solver:
    """See `Function.scipy`."""
    program = chosen(program, of)
    if not program.results:
        raise AdError("no output is asked for", help="leave of= away for all of them")
    inputs = moved_inputs(program, order, fixed)
    begun = starts(program, inputs, start)
    f = vector_function(program, inputs, constants(program, inputs, {**others(program, inputs, start), **fixed}), begun)

    def checked(x: Any) -> Vector:
        if type(x) is np.ndarray and x.dtype is DOUBLE and x.shape == vectors:
            return x
        vector = real_array("the vector", x).ravel()
        if len(vector) != f.n:
            raise AdError(f"a vector of {plural(len(vector), 'component')} for {plural(f.n, 'input')}: {few(f.components)}")
        return vector

    def weights(x: Vector, v: Any) -> Vector:
        found, m = real_array("the weights", v).ravel(), sum(f.output_sizes(x))
        if len(found) != m:
            raise AdError(f"{plural(len(found), 'weight')} for {plural(m, 'output')}")
        return found

    one, vectors = np.ones(1), (f.n,)
    if len(program.results) == 1 and not shape_of(program.results[0].atom):
        made = Solver(lambda x: float(f.fun(checked(x))[0]), lambda x: row(f.jac(checked(x))), lambda x: f.hess(checked(x), one))
        made.hessp = lambda x, p: f.hessp(checked(x), one, checked(p))
    else:
        made = Solver(lambda x: f.fun(checked(x)), lambda x: f.jac(checked(x)),
                      lambda x, v: f.hess(y := checked(x), weights(y, v)))
        made.hessp = lambda x, v, p: f.hessp(y := checked(x), weights(y, v), checked(p))
    made.names, made.pack, made.unpack = f.components, f.pack, lambda x: f.unpack(checked(x))
    made.x0 = None if start is None else f.pack(begun)
    return made


def moved_inputs(program: Program, order: Sequence[str] | None, fixed: Values) -> list[str]:
    """The inputs that are components of the vector: those in `order`, by default all but params that are not `fixed`."""
    known = inputs_to_differentiate(program, order)
    integers = {p.name for p in program.params if p.var.integer}
    inputs_to_differentiate(program, [name for name in fixed if name not in integers])
    if order is None:
        return [name for name in known if name not in fixed]
    if (twice := repeated([*fixed, *order])) is not None:
        raise AdError(f"input '{twice}' is given twice")
    return known


def row(jacobian: Any) -> Vector:
    """The gradient of the one output."""
    found: Vector = (jacobian if type(jacobian) is np.ndarray else jacobian.toarray())[0]
    return found


def starts(program: Program, inputs: Sequence[str], start: Values | None) -> dict[str, Any]:
    """The inputs of the vector where it starts, from which tensors have their shapes; shapes that are declared are known."""
    from adcli.input.arrays import conformed
    start, found = by_name(start) if start is not None else None, {}
    for p in (p for p in program.params if p.name in inputs):
        extents = [x.number for x in p.var.shape]
        if start is not None and p.name in start:
            found[p.name] = conformed(p, start[p.name])
        elif start is not None and p.default is None:
            raise AdError(f"no value for {p.name} in start")
        elif None in extents:
            raise AdError(f"the shape of '{p.name}' is not known", help=f"give values: scipy(start={{'{p.name}': …}})")
        else:
            found[p.name] = np.full([n or 0 for n in extents], p.default or 0.0)
    return found


def by_name(start: Values | None) -> Values:
    """The values of a start. AdError where they have no names."""
    if start is not None and not hasattr(start, "keys"):   # a Series of pandas has names, and is no Mapping
        raise AdError(f"start has values by name, and is no {type(start).__name__}",
                      help="give a dictionary from the names of inputs to their values")
    return {} if start is None else start


def others(program: Program, inputs: Sequence[str], start: Values | None) -> dict[str, Any]:
    """Values in a start for inputs outside the vector. AdError for names of no input."""
    known = [p.name for p in program.params]
    found = {} if start is None else {name: start[name] for name in start.keys() if name not in inputs}   # noqa: SIM118 pandas
    for name in found:
        if name not in known:
            raise unknown_name("input", str(name), known)
    return found


def constants(program: Program, inputs: Sequence[str], fixed: Values, call: str = "scipy") -> dict[str, Any]:
    """The values of the other inputs; arrays are copies, as the functions outlive the call that they were given in."""
    rest = [p for p in program.params if p.name not in inputs]
    missing = [p for p in rest if p.default is None and p.name not in fixed]
    if missing:
        first = missing[0]
        example = f"{call}({first.name}={'…' if first.var.shape else 1})"
        raise AdError(f"no value for {', '.join(p.name for p in missing)}",
                      help=f"fix it: {example}" if first.var.integer else f"name it in order, or fix it: {example}")
    found = {p.name: constant(p, fixed.get(p.name, p.default or 0.0)) for p in rest}
    return {name: x.copy() if isinstance(x, np.ndarray) else x for name, x in found.items()}


def constant(p: Param, given: Any) -> Any:
    if p.var.shape or p.var.integer:
        from adcli.input.arrays import conformed
        return conformed(p, given)
    return one_number(p.name, given)


def conditions(given: object) -> list[str]:
    """One condition, or several."""
    found: list[Any] = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    for text in found:
        if not isinstance(text, str):
            raise AdError(f"a condition is a text, not {type(text).__name__}", help="write 'g <= 0'")
    return found


def whole_point(program: Program, at: Values) -> dict[str, Any]:
    """Every input, by its name, of the kind that the program declares."""
    from adcli.input.arrays import of_all_dimensions
    from adcli.input.points import complete
    given = complete(program.params, at)
    return of_all_dimensions(program, {p.name: constant(p, given[p.name]) for p in program.params})


def sparse(program: Program, kind: MatrixKind, inputs: Sequence[str], found: Sequence[Any], precision: str) -> Any:
    """The matrix of a Jacobian or Hessian with these results, without entries that are 0 by construction."""
    kept = [k for k, r in enumerate(program.results) if not (r.wrt and isinstance(r.atom, Lit) and r.atom.value == 0)]
    every = columns(program)
    form, places = matrix_among([every[k] for k in kept], inputs, kind)
    if any(np.ndim(x) for x in found):
        raise AdError("sparse() takes one point, not arrays")
    return scipy_coo(form, [found[kept[k]] for k in places], precision)
