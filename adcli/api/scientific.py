"""Functions of one vector, as scipy.optimize asks for them; points as solvers take them; and log densities for samplers.

An input of a log density with a declared range is a function of a component u that has none, as in Stan (Stan Reference Manual,
Constraint transforms): low + exp(u) where it has a lower bound, high - exp(u) where it has an upper one,
low + (high - low)*sigmoid(u) between two. The density of u is that of the inputs times the absolute derivatives of these
functions. The vector is one input of the program that is called, so that a call is one of native code; functions of the data
alone are computed once.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from adcli.answers.array_calls import DOUBLE, one_number, real_array
from adcli.codegen.builtins.direct import Quick, never
from adcli.codegen.nests.staging import staged
from adcli.input.points import unknown_name
from adcli.lang.ir import Atom, Param, Program, Result, Values, Var, shape_of, substitute
from adcli.lang.ir.affine import Affine, affine, substituted
from adcli.lang.ir.build import Builder, Expr
from adcli.lang.ir.errors import AdError, plural
from adcli.lang.ir.names import Names
from adcli.lang.ir.primitives import exp, sigmoid, softplus
from adcli.lang.operations.comprehension import Comprehension
from adcli.lang.operations.elementwise import computed, every_element
from adcli.lang.sizes.binding import bind
from adcli.numerics.vectors import Vector
from adcli.solvers.functions import moved_inputs
from adcli.solvers.tensor_functions import vector_function
from adcli.task.derive import chosen


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
            inputs = f"{', '.join(f.components[:6])}{', …' if f.n > 6 else ''}"
            raise AdError(f"a vector of {plural(len(vector), 'component')} for {plural(f.n, 'input')}: {inputs}")
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


def row(jacobian: Any) -> Vector:
    """The gradient of the one output."""
    found: Vector = (jacobian if type(jacobian) is np.ndarray else jacobian.toarray())[0]
    return found


def starts(program: Program, inputs: Sequence[str], start: Values | None) -> dict[str, Any]:
    """The inputs of the vector where it starts, from which tensors have their shapes; shapes that are declared are known."""
    from adcli.input.arrays import conformed
    if start is not None and not hasattr(start, "keys"):   # a Series of pandas has names, and is no Mapping
        raise AdError(f"start has values by name, and is no {type(start).__name__}",
                      help="give a dictionary from the names of inputs to their values")
    found = {}
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


def others(program: Program, inputs: Sequence[str], start: Values | None) -> dict[str, Any]:
    """Values in a start for inputs outside the vector. AdError for names of no input."""
    known = [p.name for p in program.params]
    found = {} if start is None else {name: start[name] for name in start.keys() if name not in inputs}   # noqa: SIM118 pandas
    for name in found:
        if name not in known:
            raise unknown_name("input", str(name), known)
    return found


def constants(program: Program, inputs: Sequence[str], fixed: Values) -> dict[str, Any]:
    """The values of the other inputs; arrays are copies, as the functions outlive the call that they were given in."""
    rest = [p for p in program.params if p.name not in inputs]
    missing = [p for p in rest if p.default is None and p.name not in fixed]
    if missing:
        first = missing[0]
        example = f"scipy({first.name}={'…' if first.var.shape else 1})"
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


# ---------------------------------------------------------------- log densities

Maker = Callable[[Program], Any]
"""Makes the Function of a program."""


class Parameter(NamedTuple):
    """An input that is sampled: its shape, and the place of its first element in the vector."""

    param: Param
    shape: tuple[int, ...]
    place: int

    @property
    def low(self) -> float:
        return -math.inf if self.param.low is None else self.param.low

    @property
    def high(self) -> float:
        return math.inf if self.param.high is None else self.param.high

    @property
    def length(self) -> int:
        return math.prod(self.shape)

    def names(self) -> list[str]:
        name = self.param.name
        return [f"{name}({', '.join(map(str, at))})" for at in np.ndindex(self.shape)] if self.shape else [name]

    @property
    def two_sided(self) -> bool:
        return math.isfinite(self.low) and math.isfinite(self.high)

    def inner(self, u: Any, exp: Callable[[Any], Any], sigmoid: Callable[[Any], Any]) -> Any:
        """The value that a component gives."""
        low, high = self.low, self.high
        if self.two_sided:
            return low + (high - low) * sigmoid(u)
        return low + exp(u) if math.isfinite(low) else high - exp(u) if math.isfinite(high) else u

    def log_slope(self, u: Expr) -> Expr:
        """The logarithm of the absolute derivative of that."""
        return math.log(self.high - self.low) - softplus(u) - softplus(-u) if self.two_sided else u

    def outer(self, x: np.ndarray) -> np.ndarray:
        """The components of values, which lie inside of the range."""
        low, high = self.low, self.high
        if not ((low < x) & (x < high)).all():
            raise AdError(f"'{self.param.name}' has a value that is not inside of its range, {low} to {high}")
        found: np.ndarray = np.log(x - low) - np.log(high - x) if self.two_sided else \
            np.log(x - low) if math.isfinite(low) else np.log(high - x) if math.isfinite(high) else x
        return found

    def bounded(self) -> bool:
        return math.isfinite(self.low) or math.isfinite(self.high)


class LogDensity:
    """The logarithm of a density of one vector u: `d(u)` is the value and the gradient, `d.value(u)` the value alone.

    `names` are the components, `dim` their number, `start` a vector to begin with. `unpack` makes the inputs by name of one
    vector, or of arrays whose last dimension is it, and `pack` the vector of inputs by name. Where the density is not a
    number, or its gradient is not finite, the value is -inf and the gradient 0, as where it is 0.
    """

    def __init__(self, function: Maker, program: Program, parameters: Sequence[Parameter],
                 data: Values) -> None:
        self.names = [name for p in parameters for name in p.names()]
        self.dim, self._parameters = len(self.names), parameters
        self._data = {**data, **{p.param.name: np.zeros(p.shape) for p in parameters if p.shape}}
        made, self._u = of_one_vector(program, parameters)
        plain = function(made)
        gradient = plain.grad(wrt=[self._u])
        self._value, self._both = plain, gradient._changed(lambda made: with_soundness(made.program), None, gradient._short)
        self.start = np.zeros(self.dim)
        self._quick: Quick = never

    def __call__(self, u: Any) -> tuple[float, Vector]:
        found = self._quick({**self._data, self._u: u})
        value, gradient, sound = (self._called(u) if found is None else found).values()
        return (value, gradient) if sound == 0 else (-math.inf, np.zeros(self.dim))

    def _called(self, u: Any) -> dict[str, Any]:
        """Results of a general call, after which there may be a quick one."""
        found: dict[str, Any] = self._both({**self._data, self._u: np.asarray(u, float)})
        self._quick = self._both._numbers or never
        return found

    def value(self, u: Any) -> float:
        (found,) = self._value({**self._data, self._u: np.asarray(u, float)}).values()
        return -math.inf if math.isnan(found) else float(found)

    def unpack(self, u: Any) -> dict[str, Any]:
        u = np.asarray(u, float)
        with np.errstate(over="ignore"):
            return {p.param.name: p.inner(u[..., p.place:p.place + p.length], np.exp, lambda u: 1 / (1 + np.exp(-u))).reshape(
                (*u.shape[:-1], *p.shape))[()] for p in self._parameters}

    def pack(self, point: Values) -> Vector:
        """AdError for a value on or outside of its bounds."""
        return np.concatenate([p.outer(np.asarray(point[p.param.name], float).ravel()) for p in self._parameters])

    def nutpie(self) -> Any:
        """The model that `nutpie.sample` takes (package nutpie); its draws are the inputs by name."""
        from nutpie.compiled_pyfunc import from_pyfunc

        def expanded(*_: Any) -> Callable[..., dict[str, np.ndarray]]:
            return lambda u, **_: {name: np.asarray(x, float) for name, x in self.unpack(u).items()}

        def density(u: Any, **_: Any) -> tuple[float, Vector]:
            value, gradient = self(u)
            if value == -math.inf:
                raise Impossible
            return value, gradient

        names, shapes = [p.param.name for p in self._parameters], [p.shape for p in self._parameters]
        return from_pyfunc(self.dim, lambda: density, expanded, [np.dtype(float) for _ in names], shapes, names)


class Impossible(ValueError):
    """A point of no density, from which a sampler turns back."""

    is_recoverable = True


def of_one_vector(program: Program, parameters: Sequence[Parameter]) -> tuple[Program, str]:
    """The log density of the components of a vector, and the name of that. Tensors stay as inputs, for their sizes alone."""
    b, after = Builder(), Builder()
    u = Var(Names.of(program).fresh("u"), shape=(affine(sum(p.length for p in parameters)),))
    env, slopes = dict[Atom, Atom](), list[Expr]()
    for p in parameters:
        ranges, here = every_element(p.param.var.shape)
        at: Affine = affine(p.place)
        for k, i in enumerate(here):
            at = at + i * math.prod(p.shape[k + 1:])
        box = Comprehension(ranges=ranges, write=here, shape=p.param.var.shape)
        env[p.param.var] = computed(b, box, lambda u, p=p: p.inner(u, exp, sigmoid), [(u, (at,))]).atom
        if p.bounded():
            total = Comprehension(ranges=ranges, reduction="+" if ranges else "=")
            slopes.append(computed(after, total, p.log_slope, [(u, (at,))]))
    rest = substitute(replace(program, params=()), env)
    value = after.expr(rest.results[0].atom)
    for slope in slopes:
        value = value + slope
    own = {p.param.name for p in parameters if not p.shape}
    params = (Param(u, u.name or "u"), *(replace(p, active=False) for p in program.params if p.name not in own))
    return replace(rest, params=params, equations=(*b.equations, *rest.equations, *after.equations),
                   results=(Result(program.results[0].name, value.atom),)), u.name or "u"


def with_soundness(program: Program) -> Program:
    """The program of a value and its gradient with one more result: 0, or NaN where any of their numbers is not finite."""
    b, (value, gradient) = Builder(), program.results
    b.equations.extend(program.equations)
    ranges, here = every_element(shape_of(gradient.atom))
    total = computed(b, Comprehension(ranges=ranges, reduction="+"), lambda g: g * 0.0, [(gradient.atom, here)])
    sound = Result(Names.of(program).fresh("sound"), (total + b.expr(value.atom) * 0.0).atom)
    return replace(program, equations=tuple(b.equations), results=(value, gradient, sound))


def log_density(function: Maker, program: Program, of: Sequence[str] | None,
                start: Values | None, data: Values) -> LogDensity:
    """See `Function.logdensity`."""
    program = chosen(program, of)
    if len(program.results) != 1 or shape_of(program.results[0].atom):
        names = ", ".join(r.name for r in program.results)
        raise AdError(f"a log density is one number, and the outputs are {names}", help="choose one: logdensity(of='lp', …)")
    known, begin = [p.name for p in program.params], start or {}
    for name in (*data, *begin):
        if name not in known:
            raise unknown_name("input", name, known)
    inputs = moved_inputs(program, None, data)
    if not inputs:
        raise AdError("every input is given, and no parameter is left", help="leave out what is to be sampled")
    sizes, parameters, place = sizes_of(program, {**data, **begin}), list[Parameter](), 0
    for p in (program.param(name) for name in inputs):
        parameters.append(Parameter(p, shape(p, sizes), place))
        place += parameters[-1].length
    fixed = constants(program, inputs, data)
    first, rest = staged(program, fixed)
    made = LogDensity(function, rest, parameters, {**fixed, **(function(first)(fixed) if first.results else {})})
    if begin:
        made.start = made.pack({**made.unpack(made.start), **begin})
    return made


def sizes_of(program: Program, given: Values) -> dict[str, int]:
    """The sizes that the data have."""
    some = tuple([p for p in program.params if p.name in given])
    numbers = {p.name: given[p.name] for p in some if p.var.integer and not p.var.shape}
    return dict(bind(Program(some, (), ()), {p.name: np.shape(given[p.name]) for p in some}, numbers))


def shape(p: Param, sizes: Mapping[str, int]) -> tuple[int, ...]:
    extents = [substituted(x, {name: affine(n) for name, n in sizes.items()}).number for x in p.var.shape]
    if None in extents:
        raise AdError(f"the shape of '{p.name}' is not known", help=f"give values: logdensity(start={{'{p.name}': …}})")
    return tuple([n or 0 for n in extents])
