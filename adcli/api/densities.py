"""Log densities for samplers: functions of one vector u without bounds.

An input with a declared range or constraint is a function of components of u, as in Stan (Stan Reference Manual, Constraint
transforms): low + exp(u) where it has a lower bound, high - exp(u) where it has an upper one, low + (high - low)*sigmoid(u)
between two. A simplex is the softmax of the vector of sum 0 that has the coordinates u in an orthonormal basis, an ordered vector
has the running sums of a first element and of exponentials. The density of u is that of the inputs times the volume element. The
functions are written in the language; the vector is one input of the program that is called, so that a call is one of native
code; functions of the data alone are computed once.
"""
from __future__ import annotations

import math
import pickle
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from adcli.answers.array_calls import real_array
from adcli.api.scientific import by_name, constant, constants, moved_inputs
from adcli.codegen.builtins.direct import never
from adcli.codegen.nests.cse_across_statements import staged
from adcli.input.constraints import HOLDS
from adcli.input.nested import element
from adcli.input.points import unknown_name
from adcli.lang.ir import Atom, Param, Program, Result, Values, shape_of, substitute
from adcli.lang.ir.affine import affine, substituted, text
from adcli.lang.ir.build import Builder
from adcli.lang.ir.errors import AdError, plural
from adcli.lang.ir.names import Names
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.comprehension import Comprehension
from adcli.lang.operations.elementwise import computed, every_element
from adcli.lang.sizes.binding import bind
from adcli.lang.tree.notation import OF_MATRICES, number
from adcli.numerics.linear import Vector
from adcli.task.derive import chosen

Maker = Callable[[Program], Any]
"""Makes the Function of a program."""

STATEMENTS = {
    "simplex": """
w({I}k) = {U} / sqrt((k + 1)*(k + 2)) where {A}k in 0:{K} - 1
z({I}k) +=! w({I}j) where {A}k in 0:{K}, j in k:{K} - 1
z({I}k + 1) += -(k + 1)*w({I}k)
{L} lse=! z({I}k)
x({I}k) = exp(z({I}k) - {L})
s +=! z({I}k) - {L} + log({K}) / (2*{K})""",
    "ordered": """
d({I}k) = k > 0 ? exp({U}) : {U} where {A}k in 0:{K}
x({I}k) +=! d({I}j) where {A}k in 0:{K}, j in 0:k + 1
s +=! {U} where {A}k in 1:{K}""",
    "cholesky_factor_corr": """
v({I}i, k) = 0 where {A}i in 0:{K}, k in 0:{K}{V}
n({I}i, k) = softplus(2*v({I}i, k)) - v({I}i, k) - log(2)
h({I}i, k) +=! n({I}i, j) where {A}i in 0:{K}, k in 0:{K}, j in 0:k
x({I}i, k) = k < i ? tanh(v({I}i, k))*exp(-h({I}i, k)) : k == i ? exp(-h({I}i, k)) : 0
s +=! -2*n({I}i, k) - h({I}i, k) where {A}i in 0:{K}, k in 0:i"""}
"""Vectors x along k, for each element of other dimensions, of components U, and the logarithm s of the volume element; a matrix
has its components in the rows V, and n = log cosh v. Indices of other dimensions are I, with ranges A and a number L each. Names
of one small letter are made fresh."""
COMPONENTS: Mapping[str, Callable[[int], int]] = {
    "simplex": lambda k: k - 1, "ordered": lambda k: k, "cholesky_factor_corr": lambda k: k * (k - 1) // 2}


class Parameter(NamedTuple):
    """An input that is sampled: its shape, and the place of its first component in the vector."""

    param: Param
    shape: tuple[int, ...]
    place: int

    @property
    def components(self) -> tuple[int, ...]:
        """The shape of the components, of which a vector or matrix with a constraint has fewer than elements."""
        kind = self.param.constraint
        return (*self.shape[:-1 - (kind in OF_MATRICES)], COMPONENTS[kind](self.shape[-1])) if kind else self.shape

    @property
    def length(self) -> int:
        return math.prod(self.components)

    def names(self) -> list[str]:
        name, places = self.param.name, [*np.ndindex(self.components)]
        if self.param.constraint in OF_MATRICES:
            below = [*zip(*np.tril_indices(self.shape[-1], -1), strict=True)]
            places = [(*at, *below[k]) for *at, k in places]
        return [f"{name}({', '.join(map(str, at))})" for at in places] if self.shape else [name]

    def ranged(self, u: str) -> tuple[str, str]:
        """The value that a component gives, and the logarithm of its absolute derivative, if it is not that component."""
        low, high = self.param.ends
        if math.isfinite(low) and math.isfinite(high):
            return (f"{number(low)} + {number(high - low)}*sigmoid({u})",
                    f"{number(math.log(high - low))} - softplus({u}) - softplus(-{u})")
        if math.isfinite(low):
            return f"{number(low)} + exp({u})" if low else f"exp({u})", u
        return (f"{number(high)} - exp({u})", u) if math.isfinite(high) else (u, "")

    def statements(self, mark: str, vector: str, extents: Sequence[str], rows: bool) -> str:
        """Statements for the value `mark`x of the vector, and `mark`s if the volume changes, in a program with names of that
        mark, or for every row of a matrix if it has `rows`."""
        around, extents = ["r"] if rows else [], [*extents[:len(self.components) - 1], *extents[-1:]]
        inner = [f"{mark}i{d}" for d in range(len(extents) - 1)] + [f"{mark}k"] * (len(extents) > 0)
        strides = [math.prod(self.components[d + 1:]) for d in range(len(extents))]
        place = " + ".join([*(f"{n}*{i}" for n, i in zip(strides, inner, strict=True)), str(self.place)])
        indices = [*around, *inner]
        ranges = [f"{i} in 0:{n}" for i, n in zip(indices, [*(["R"] if rows else []), *extents], strict=True)]
        u = f"{vector}({', '.join([*around, place])})"
        if self.param.constraint:
            text = re.sub(r"\b(?=[a-z]\b)", mark, STATEMENTS[self.param.constraint])
            here, within = ("".join(f"{x}, " for x in xs[:-1]) for xs in (indices, ranges))
            lines = [f"\n{mark}v({here}{n}, {mark}k) = {u[:-1]} + {n * (n - 1) // 2}) where {within}{mark}k in 0:{n}"
                     for n in range(1, self.shape[-1]) if self.param.constraint in OF_MATRICES]
            return text.format(U=u, K=extents[-1], L=f"{mark}l({here[:-2]})" if here else f"{mark}l", I=here, A=within,
                               V="".join(lines))
        value, slope = self.ranged(u)
        here, where = f"({', '.join(indices)})" if indices else "", f" where {', '.join(ranges)}" if ranges else ""
        return f"{mark}x{here} = {value}{where}" + (f"\n{mark}s {'+=!' if indices else '='} {slope}{where}" if slope else "")

    def outer(self, given: Any) -> Vector:
        """The components of a value, which lies inside of its range or satisfies its constraint."""
        x, (low, high), kind = np.asarray(constant(self.param, given), float), self.param.ends, self.param.constraint
        if x.shape != self.shape:
            raise AdError(f"the value of '{self.param.name}' has shape {x.shape}, and its shape is {self.shape}")
        inside = HOLDS[kind](x) & (x > 0).all(-1) if kind == "simplex" else HOLDS[kind](x) if kind else (low < x) & (x < high)
        if not inside.all():
            within = kind or f"its range, {low} to {high}"
            raise AdError(f"'{self.param.name}' has a value that is not inside of {within}")
        if kind == "ordered":
            return np.concatenate([x[..., :1], np.log(np.diff(x))], -1).ravel()
        if kind == "simplex":
            z, k = np.log(x), np.arange(1, x.shape[-1])
            return ((np.cumsum(z, -1)[..., :-1] - k * z[..., 1:]) / np.sqrt(k * (k + 1))).ravel()
        if kind == "cholesky_factor_corr":
            i, j = np.tril_indices(x.shape[-1], -1)
            return np.arctanh(x[..., i, j] / np.sqrt(1 - (np.cumsum(x**2, -1) - x**2)[..., i, j])).ravel()
        found: Vector = np.log(x - low) - np.log(high - x) if math.isfinite(low) and math.isfinite(high) else \
            np.log(x - low) if math.isfinite(low) else np.log(high - x) if math.isfinite(high) else x
        return found.ravel()


class LogDensity:
    """The logarithm of a density of one vector u: `d(u)` is the value and the gradient, `d.value(u)` the value alone.

    `names` are the components, `dim` their number, `start` a vector to begin with. `unpack` makes the inputs by name of one
    vector, or of arrays whose last dimension is it, and `pack` the vector of inputs by name. Where the density is not a
    number, or its gradient is not finite, the value is -inf and the gradient 0, as where it is 0.
    """

    def __init__(self, function: Maker, program: Program, parameters: Sequence[Parameter],
                 data: Values) -> None:
        self.names = [name for p in parameters for name in p.names()]
        self.dim, self._parameters, self._function = len(self.names), parameters, function
        self._made_of: tuple[Any, ...] = ()
        self._data = {**data, **{p.param.name: np.zeros(p.shape) for p in parameters if p.shape}}
        made, self._u = of_one_vector(program, parameters)
        plain = function(made)
        gradient = plain.grad(wrt=[self._u])
        self._value, self._both = plain, gradient._changed(lambda made: with_soundness(made.program), None, gradient._short)
        self.start = np.zeros(self.dim)

    def __call__(self, u: Any) -> tuple[float, Vector]:
        value, gradient, sound = (self._both._numbers or never)(self._data, u) or self._called(self._both, u)
        return (value, gradient) if sound == 0 else (-math.inf, np.zeros(self.dim))

    def _called(self, function: Any, u: Any) -> tuple[Any, ...]:
        """Results of a general call."""
        return tuple(function({**self._data, self._u: self._vector(u)}).values())

    def value(self, u: Any) -> float:
        found = self._number(u)
        return -math.inf if math.isnan(found) else found

    def _number(self, u: Any) -> float:
        (found,) = (self._value._numbers or never)(self._data, u) or self._called(self._value, u)
        return float(found)

    def _vector(self, u: Any, several: bool = False) -> Vector:
        return self._of_this_length(real_array("the vector", u), several)

    def _of_this_length(self, x: Any, several: bool) -> Any:
        if x.shape[-1:] != (self.dim,) or (len(x.shape) > 1 and not several):
            raise AdError(f"the vector has shape {x.shape}, and the density {plural(self.dim, 'component')}",
                          help=f"its shape is ({self.dim},), and `names` are its components")
        return x

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (self._packed,)

    @cached_property
    def _packed(self) -> bytes:
        function, program, *rest = self._made_of
        return pickle.dumps((function(program), *rest))

    def unpack(self, u: Any) -> dict[str, Any]:
        u = self._vector(u, several=True)
        found = self._unpacked({"u": u.reshape(-1, self.dim)}).values()
        return {p.param.name: x.reshape((*u.shape[:-1], *p.shape))[()] for p, x in zip(self._parameters, found, strict=True)}

    @cached_property
    def _unpacked(self) -> Any:
        """The inputs of the rows of a matrix u."""
        return self._function(transforms(self._parameters, rows=True))

    def pack(self, point: Values) -> Vector:
        """AdError for a value on or outside of its bounds."""
        for p in self._parameters:
            if p.param.name not in point:
                raise AdError(f"no value for {p.param.name}")
        return np.concatenate([p.outer(point[p.param.name]) for p in self._parameters])

    def jax(self) -> Callable[[Any], Any]:
        """The value as a function that JAX traces, differentiates once and maps, as blackjax and NumPyro do."""
        import jax

        def computed(u: Any) -> tuple[Any, Any]:
            found = [self(row) for row in np.asarray(u, float).reshape(-1, self.dim)]
            return np.array([value for value, _ in found], u.dtype).reshape(u.shape[:-1]), np.array(
                [gradient for _, gradient in found], u.dtype).reshape(u.shape)

        def both(u: Any) -> Any:
            u = self._of_this_length(jax.numpy.asarray(u), True)
            u = u.astype(jax.numpy.promote_types(u.dtype, "float32"))   # whole numbers have no gradient
            kinds = jax.ShapeDtypeStruct(u.shape[:-1], u.dtype), jax.ShapeDtypeStruct(u.shape, u.dtype)
            return jax.pure_callback(computed, kinds, u, vmap_method="expand_dims")

        @jax.custom_jvp
        def density(u: Any) -> Any:
            return both(u)[0]

        def tangent(at: tuple[Any], along: tuple[Any]) -> tuple[Any, Any]:
            value, gradient = both(at[0])
            return value, gradient @ along[0]

        density.defjvp(tangent)
        return density

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


def transforms(parameters: Sequence[Parameter], mark: str = "", rows: bool = False) -> Program:
    """The parameters as functions of a vector u, the first input, and the sum of the logarithms of volume elements; or for every
    row of a matrix u the parameters alone. Names begin with `mark`; further inputs are there for the names of sizes."""
    names, lines = [f"{mark}{n}_" if mark else f"v{n}_" for n in range(len(parameters))], list[str]()
    inputs = [f"{mark}u({'R, ' if rows else ''}{sum(p.length for p in parameters)})"]
    for name, p in zip(names, parameters, strict=True):
        extents = [str(n) if rows else text(x) for n, x in zip(p.shape, p.param.var.shape, strict=True)]
        inputs += [f"{name}sizes({', '.join(extents)})"] * (p.shape != () and not rows)
        lines.append(p.statements(name, f"{mark}u", extents, rows))
    slopes = [f"{name}s" for name, line in zip(names, lines, strict=True) if f"{name}s " in line]
    outputs = [f"{name}x" for name in names]
    if slopes and not rows:
        lines.append(f"{mark}s = {' + '.join(slopes)}")
        outputs.append(f"{mark}s")
    return parse("\n".join([f"input {', '.join(inputs)}", *lines, f"output {', '.join(outputs)}"]))


def of_one_vector(program: Program, parameters: Sequence[Parameter]) -> tuple[Program, str]:
    """The log density of the components of a vector, and the name of that. Tensors stay as inputs, for their sizes alone."""
    taken, b = Names.of(program).taken, Builder()
    mark = next(mark for n in count(1) if not any(name.startswith(mark := n * "_") for name in taken))
    made = transforms(parameters, mark)
    u, found = made.params[0], [r.atom for r in made.results]
    env: dict[Atom, Atom] = {p.param.var: x for p, x in zip(parameters, found, strict=False)}
    rest = substitute(replace(program, params=()), env)
    value = b.expr(rest.results[0].atom)
    for slope in found[len(parameters):]:
        value = value + b.expr(slope)
    own = {p.param.name for p in parameters if not p.shape}
    params = (u, *(replace(p, active=False) for p in program.params if p.name not in own))
    before = [replace(e, span=None) for e in made.equations]
    return replace(rest, params=params, equations=(*before, *rest.equations, *b.equations),
                   results=(Result(program.results[0].name, value.atom),)), u.name


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
    whole, program = program, chosen(program, of)
    if len(program.results) != 1 or shape_of(program.results[0].atom):
        names = ", ".join(r.name for r in program.results)
        raise AdError(f"a log density is one number, and the outputs are {names}", help="choose one: logdensity(of='lp', …)")
    known, begin = [p.name for p in program.params], by_name(start)
    for name in (*data, *begin):
        if name not in known:
            raise unknown_name("input", name, known)
        if name in data and name in begin:
            raise AdError(f"input '{name}' is given twice")
    inputs = moved_inputs(program, None, data)
    if not inputs:
        raise AdError("every input is given, and no parameter is left", help="leave out what is to be sampled")
    sizes, parameters, place = sizes_of(program, {**data, **begin}), list[Parameter](), 0
    for p in (program.param(name) for name in inputs):
        if p.ends[0] == p.ends[1]:
            raise AdError(f"'{p.name}' has no room between its bounds", help=f"give its value: logdensity({p.name}={p.low!r})")
        parameters.append(Parameter(p, shape(p, sizes), place))
        place += parameters[-1].length
    if not place:
        raise AdError("the parameters have no component", help="a simplex of one element is [1]")
    fixed = constants(program, inputs, data, "logdensity")
    first, rest = staged(program, fixed)
    made = LogDensity(function, rest, parameters, {**fixed, **(function(first)(fixed) if first.results else {})})
    for each in parameters:
        if each.param.name in begin:
            made.start[each.place:each.place + each.length] = each.outer(begin[each.param.name])
    refuse_nan(fixed, made)
    made._made_of = function, whole, of, dict(begin), {name: fixed[name] for name in data}
    return made


def refuse_nan(data: Values, density: LogDensity) -> None:
    """AdError for data that are not a number, unless the density is one beside them."""
    for name, x in data.items():
        if (wrong := np.isnan(x)).any() and math.isnan(density._number(density.start)):
            rest = f"leave it out, and what belongs to it: np.asarray({name})[~np.isnan({name})]"
            raise AdError(f"{element(name, int(np.flatnonzero(wrong)[0]), np.shape(x))} is nan, and so is the density",
                          help=rest if np.ndim(x) == 1 else None)


@lru_cache(maxsize=8)
def restored(packed: bytes) -> LogDensity:
    """A log density that travelled, made once for all the times that a pool of processes sends it."""
    function, of, start, data = pickle.loads(packed)
    found: LogDensity = function.logdensity(of, start, **data)
    return found


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
