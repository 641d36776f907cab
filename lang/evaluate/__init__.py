"""Interpreter of Programs over any arithmetic.

It is the reference that every back end is tested against, and what diagnoses run. An `Arithmetic` says how constants are
made and what each primitive does; here are Python floats with IEEE semantics, and NumPy arrays. (Intervals and multiple
precision are in the room `enclosures`.) A primitive that the table defines by others (`value`) needs no entry.

The room `evaluate` has one file for each arithmetic, with all its functions; a new arithmetic is a new file. It knows the IR and
nothing else: not the text of programs, nor their derivatives, nor machines.
"""
from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

from adcli.lang.ir import Atom, Equation, Lit, Point, Primitive, Program, Var, has_tensors
from adcli.lang.ir.affine import value
from adcli.lang.ir.build import composed
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.table_sum import TableSum
from adcli.lang.operations.comprehension import Comprehension
from adcli.lang.operations.matrix import MatrixOperation
from adcli.lang.operations.precision import Precision
from adcli.lang.operations.recurrence import Recurrence, at_one_step


@dataclass(frozen=True)
class Arithmetic:
    """Constants by `constant`, primitives by `functions`; `compositions` remembers the expanded ones. Of floats `least` is the
    smallest that is larger than 0."""

    functions: Mapping[str, Callable[..., Any]]
    constant: Callable[[float], Any] = float
    compositions: dict[Any, Program] = field(default_factory=dict)
    least: float = math.ulp(0.0)

    def point(self, at: Point) -> dict[str, Any]:
        """The numbers of a point."""
        return {name: self.constant(x) for name, x in at.items()}

    def enter(self, e: Equation) -> None:
        """Hear of an equation between tensors, or of a statement of a loop at a step, before it is carried out."""

    def apply(self, op: Primitive, args: list[Any], atoms: tuple[Atom, ...], e: Equation | None = None) -> Any:
        """The result of an operation; `e` says where it stands, for arithmetics that remember that."""
        function = self.functions.get(op.name)
        if function is not None:
            return function(*args)
        if isinstance(op, TableSum) and self.functions is FLOAT.functions:
            return _table_sum(op, args)
        static = {i: a for i in op.static if isinstance(a := atoms[i], Lit)}
        key = (op, *(static[i].value for i in op.static))
        if key not in self.compositions:
            self.compositions[key] = composed(op, static)
        inputs = {f"x{i}": a for i, a in enumerate(args) if i not in static}
        return evaluate(self.compositions[key], inputs, self)["z"]


def evaluate(program: Program, at: Mapping[str, Any], arithmetic: Arithmetic | None = None) -> dict[str, Any]:
    """The results of a program at a point, by name; `at` gives every input that has no default.

    Tensors are arrays, or nested lists of numbers. AdError where shapes do not fit the program.
    """
    arithmetic = arithmetic or FLOAT
    values = every_value(program, at, arithmetic)
    return {r.name: read(values, r.atom, arithmetic) for r in program.results}


class ValuesAt(dict[Var, Any]):
    """The value of every variable of a program at a point, and the `arithmetic` they were computed in."""

    def __init__(self, arithmetic: Arithmetic) -> None:
        super().__init__()
        self.arithmetic = arithmetic


def every_value(program: Program, at: Mapping[str, Any], arithmetic: Arithmetic) -> ValuesAt:
    """The value of every variable of a program at a point."""
    values = ValuesAt(arithmetic)
    for p in program.params:
        given = at.get(p.name)
        if given is None:
            assert p.default is not None, f"no value for {p.name}"
            given = arithmetic.constant(p.default)
        values[p.var] = given
    sizes = _sizes(program, values, arithmetic) if has_tensors(program) else {}
    constant, apply, dup = arithmetic.constant, arithmetic.apply, TABLE["dup"]
    for e in program.equations:
        args = [constant(a.value) if isinstance(a, Lit) else values[a] for a in e.args]
        if e.op is dup:
            values.update(dict.fromkeys(e.outs, args[0]))
            continue
        if type(e.op) is Primitive:
            values[e.outs[0]] = apply(e.op, args, e.args, e)
            continue
        arithmetic.enter(e)
        if isinstance(e.op, Comprehension):
            from adcli.lang.evaluate.comprehensions import comprehension
            values[e.outs[0]] = comprehension(e, args, sizes, arithmetic, lambda body, at: evaluate(body, at, arithmetic))
        elif isinstance(e.op, Recurrence):
            values.update(zip(e.outs, _histories(e, args, dict(sizes.items()), arithmetic), strict=True))
        elif isinstance(e.op, MatrixOperation):
            from adcli.lang.evaluate.matrix_operations import matrix_operation
            values[e.outs[0]] = matrix_operation(e, args, dict(sizes.items()), arithmetic)
        else:   # one without a value, NoValue
            values[e.outs[0]] = apply(e.op, args, e.args, e)
    return values


def _histories(e: Equation[Recurrence], args: list[Any], sizes: dict[Any, Any], arithmetic: Arithmetic) -> list[Any]:
    """The values of a recurrence's results, its histories behind the last step: step after step, in each all statements in their
    order. The meaning is that of the docstring of `adcli.lang.operations.recurrence`, with nothing in it that is quick."""
    from adcli.lang.evaluate.comprehensions import filled, make_neutral, written
    from adcli.lang.evaluate.matrix_operations import written_matrices
    from adcli.lang.operations.elementwise import written_out
    wanted = len(e.outs)
    (plain,) = written_out(e)
    op, args = plain.op, [*args[:wanted], *[arithmetic.constant(0.0)] * (len(plain.outs) - wanted), *args[wanted:]]
    count = len(op.histories)
    values = {h: filled(a, tuple([value(x, sizes) for x in h.shape]), arithmetic)
              for h, a in zip(op.histories, args, strict=False)}
    constants = dict(zip(op.constants, args[count:], strict=True))
    steps = range(value(op.low, sizes), value(op.high, sizes))
    for t in reversed(steps) if op.down else steps:
        for s in op.statements:
            arithmetic.enter(s)
            given = [arithmetic.constant(a.value) if isinstance(a, Lit) else values[a] if a in values else constants[a]
                     for a in s.args]
            here, known, out = at_one_step(s.op, op.step), {**sizes, op.step: t}, values[s.outs[0]]
            if isinstance(here, MatrixOperation):
                written_matrices(s, here, out, given, known, arithmetic)
                continue
            if here.onto is None and here.reduction != "=":
                make_neutral(s, here, out, given, known, arithmetic)
            written(s, here, out, given, known, arithmetic, lambda body, at: evaluate(body, at, arithmetic))
    return list(values.values())[:wanted]


def _sizes(program: Program, values: dict[Var, Any], arithmetic: Arithmetic) -> dict[str, int]:
    """The sizes of tensors as numbers; the tensors among the inputs become arrays."""
    from adcli.lang.evaluate.comprehensions import as_value, bound
    values.update({p.var: as_value(p, values[p.var], arithmetic) for p in program.params if p.var.shape})
    return bound(program, values)


def read(values: Mapping[Var, Any], atom: Atom, arithmetic: Arithmetic) -> Any:
    return arithmetic.constant(atom.value) if isinstance(atom, Lit) else values[atom]


# ---------------------------------------------------------------- floats, as IEEE 754 and C99 Annex F have them

NAN, INF = math.nan, math.inf


def _divide(x: float, y: float) -> float:
    if y != 0:
        return x / y
    return NAN if x == 0 or x != x else math.copysign(INF, x) * math.copysign(1, y)


def _ieee(function: Callable[..., float], overflow: Callable[..., float] = lambda *x: INF,
          outside: Callable[..., float] = lambda *x: NAN) -> Callable[..., float]:
    """A function of `math` that returns what IEEE says where Python raises."""
    def safe(*args: float) -> float:
        try:
            return function(*args)
        except OverflowError:
            return overflow(*args)
        except ValueError:
            return outside(*args)
    return safe


def _at(pole: float, value: float) -> Callable[..., float]:
    return lambda x: value if x == pole else NAN


def _odd(y: float) -> bool:
    return math.isfinite(y) and y % 2 == 1


def _pow_pole(x: float, y: float) -> float:
    """0 ** negative is infinite, with the sign of 0 where y is odd; a negative base with a fraction is NaN."""
    return (math.copysign(INF, x) if _odd(y) else INF) if x == 0 else NAN


def _pow_overflow(x: float, y: float) -> float:
    return -INF if x < 0 and _odd(y) else INF


def _gamma_pole(x: float) -> float:
    return math.copysign(INF, x) if x == 0 else NAN


def _gamma_overflow(x: float) -> float:
    return math.copysign(INF, x)


def _fma(a: float, b: float, c: float) -> float:
    """a·b + c rounded once."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c
    try:
        return float(exact)
    except OverflowError:
        return INF if exact > 0 else -INF


def _larger(x: float, y: float) -> float:
    if x != x or y != y:
        return x if x != x else y
    return (y if math.copysign(1, x) < 0 else x) if x == y else max(x, y)


def _smaller(x: float, y: float) -> float:
    return -_larger(-x, -y)


def _fold(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def folded(first: Any, *rest: Any) -> Any:
        for x in rest:
            first = function(first, x)
        return first
    return folded


def _whole(function: Callable[[float], float]) -> Callable[[float], float]:
    """floor, ceil and trunc with the sign of zero kept, and infinities and NaN passed through."""
    return lambda x: math.copysign(float(function(x)), x) if math.isfinite(x) else x


def _round(x: float) -> float:
    """To the nearest integer, halves away from zero."""
    if not math.isfinite(x):
        return x
    whole = math.trunc(x)
    return math.copysign(float(whole) + (1.0 if abs(x - whole) >= 0.5 else 0.0) * math.copysign(1, x), x)


def _product(x: float, n: float, rounded: Callable[[float], float] = float) -> float:
    """The product of n factors x, from left to right."""
    z, left = 1.0, abs(int(n))
    while left:
        before, z, left = z, rounded(z * x), left - 1
        if abs(z) == abs(before) or z != z:   # from here on only the sign changes
            z *= math.copysign(1.0, x) if left % 2 else 1.0
            break
    return rounded(_divide(1.0, z)) if n < 0 else z


def _select(c: bool, x: Any, y: Any) -> Any:
    return x if c else y


COMPARISONS: dict[str, Callable[..., Any]] = {name: getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq", "ne")}
RING: dict[str, Callable[..., Any]] = {name: getattr(operator, name) for name in ("add", "sub", "mul", "neg")}
CHOICES: dict[str, Callable[..., Any]] = {
    "select": _select, "and": lambda x, y: x and y, "or": lambda x, y: x or y, "not": lambda x: not x, "abs": abs,
    "max": _fold(_larger), "min": _fold(_smaller),
    "fmax": lambda x, y: y if x != x else x if y != y else _larger(x, y),
    "fmin": lambda x, y: y if x != x else x if y != y else _smaller(x, y)}

LIBRARY = {name: _ieee(getattr(math, name)) for name, row in TABLE.items() if row.libm and hasattr(math, name)}
"""The functions of the mathematics library; Python's have the same names, mostly."""
FLOAT = Arithmetic({
    **COMPARISONS, **RING, **CHOICES, **LIBRARY, "div": _divide, "fma": _fma, "powi": _product,
    "sqrt": _ieee(math.sqrt), "pow": _ieee(math.pow, _pow_overflow, _pow_pole), "copysign": math.copysign,
    **{name: _ieee(getattr(math, name), outside=_at(0, -INF)) for name in ("log", "log2", "log10")},
    "log1p": _ieee(math.log1p, outside=_at(-1, -INF)), "sinh": _ieee(math.sinh, lambda x: math.copysign(INF, x)),
    "atanh": _ieee(math.atanh, outside=lambda x: math.copysign(INF, x) if abs(x) == 1 else NAN),
    "floor": _whole(math.floor), "ceil": _whole(math.ceil), "trunc": _whole(math.trunc), "round": _round,
    "gamma": _ieee(math.gamma, _gamma_overflow, _gamma_pole), "lgamma": _ieee(math.lgamma, outside=lambda x: INF),
})


def _table_sum(op: TableSum, args: list[float]) -> float:
    """A sum over a table, its terms computed together as an array."""
    columns = zip(*op.table, strict=True)
    import numpy as np
    names = [p.name for p in op.term.params]
    at = dict(zip(names, [*map(np.array, columns), *args], strict=True))
    return float(sum(evaluate(op.term, at, numpy_arithmetic())["z"].tolist()))


# ---------------------------------------------------------------- floats of another precision

@cache
def rounded_arithmetic(precision: Precision) -> Arithmetic:
    """Floats with every result and every constant rounded to a precision: double as it is, or single, whose sums, products,
    quotients and roots are so rounded once."""
    if precision.code == "d":
        return FLOAT

    def rounding(function: Callable[..., float]) -> Callable[..., float]:
        return lambda *args: precision.rounded(function(*args))

    same = {*COMPARISONS, "and", "or", "not", "select"}
    functions = {name: f if name in same else rounding(f) for name, f in FLOAT.functions.items()}
    functions["fma"] = lambda a, b, c: precision.rounded(_to_odd(a * b, c))
    functions["powi"] = lambda x, n: _product(x, n, precision.rounded)
    return Arithmetic(functions, precision.nearest, least=precision.least)


def _to_odd(x: float, y: float) -> float:
    """x + y, of the two doubles beside it the one whose last bit is 1: rounded once more, to fewer bits, it is rounded once
    (Boldo and Melquiond, IEEE Trans. Computers 57, 2008)."""
    z = x + y
    if not math.isfinite(z):
        return z
    moved = z - x
    rest = (x - (z - moved)) + (y - moved)
    return z if rest == 0 or int(z.hex().partition("p")[0][-1], 16) % 2 else math.nextafter(z, math.copysign(INF, rest))


# ---------------------------------------------------------------- arrays and multiple precision

@cache
def numpy_arithmetic() -> Arithmetic:
    """The arithmetic of NumPy arrays, elementwise; where NumPy lacks a function, the float one element by element."""
    import numpy as np
    named = {name: row.python.removeprefix("np.") for name, row in TABLE.items() if row.python and row.python.startswith("np.")}
    direct: dict[str, Callable[..., Any]] = {
        **{name: getattr(np, python) for name, python in named.items() if name in FLOAT.functions},
        "hypot": _fold(np.hypot), "max": _fold(np.maximum), "min": _fold(np.minimum), "fmax": np.fmax, "fmin": np.fmin,
        "div": np.divide}

    def silent(function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any) -> Any:
            with np.errstate(all="ignore"):
                return function(*args)
        return called

    def product_of(x: Any, n: Any) -> Any:
        z = np.ones(np.broadcast_shapes(np.shape(x), np.shape(n)))
        left = np.broadcast_to(np.abs(n), z.shape)
        more = left > 0
        while more.any():
            before, z, left = z, np.where(more, z * x, z), np.where(more, left - 1, left)
            more = more & (left > 0) & (np.abs(z) != np.abs(before)) & (z == z)
        z = np.where(left % 2 == 1, z * np.copysign(1.0, x), z)
        return np.where(n < 0, 1 / z, z)

    direct["powi"] = product_of
    quiet = {name: silent(f) for name, f in {**COMPARISONS, **RING, **direct}.items()}
    one_by_one = {name: silent(np.vectorize(f, otypes=[float])) for name, f in FLOAT.functions.items() if name not in quiet}
    return Arithmetic({**quiet, **one_by_one}, np.float64)


MOST_EXPONENT_BITS = 64
"""Arguments that need more make exponentials as good as infinite or zero: their exponents alone would have that many bits."""
