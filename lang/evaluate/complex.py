"""Programs over complex numbers, for the complex step: Im f(x + ih)/h is f′(x) without cancellation, for analytic f.

W. Squire and G. Trapp, Using complex variables to estimate derivatives of real functions, 1998; J. R. R. A. Martins, P.
Sturdza and J. J. Alonso, The complex-step derivative approximation, 2003, from whom comparisons by the real part are: what
has pieces is continued from the piece that the real part is on. Operations without a continuation here are in no entry of
the arithmetic; `continues` says whether a program has any.
"""
from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Mapping
from typing import Any

from adcli.lang.evaluate import FLOAT, Arithmetic, every_value
from adcli.lang.ir import Program, Var

STEP_FACTOR = 2.0 ** -66
"""The step as a part of the scale, a power of two, which rounds nothing. Its square vanishes beside everything but a
derivative that is 0."""
SMALLEST_STEP = 2.0 ** -960
"""A step below this loses digits."""
COMPLEX_NAN = complex(math.nan, math.nan)


def continues(program: Program) -> str | None:
    """None where every operation of the program has a continuation, else the name of one that has none."""
    return next((e.op.spelled or e.op.name for e in program.equations if e.op.name not in COMPLEX.functions
                 and e.op.name != "dup"), None)


def step(length: float) -> float | None:
    """A step for an input whose scale is `length`; None where none is small enough and yet a number of full precision."""
    h = math.ldexp(STEP_FACTOR, math.frexp(length)[1] - 1)
    return h if h > SMALLEST_STEP else None


def complex_step(program: Program, at: Mapping[str, float], name: str, h: float) -> dict[str, tuple[float, float]]:
    """The derivatives of all results with respect to one input, by a step h, and the real parts of the values. The errors are of
    the order of h²: one that matters, beside a derivative that is 0, shows as a difference between two steps, and a real part
    that is not the value says that the step is too long."""
    point = {n: complex(x, h if n == name else 0.0) for n, x in at.items()}
    values: dict[Var, Any] = every_value(program, point, COMPLEX)
    return {r.name: (values[r.atom].imag / h, values[r.atom].real) if isinstance(r.atom, Var) else (0.0, r.atom.value)
            for r in program.results}


def _safe(function: Callable[..., complex]) -> Callable[..., complex]:
    """NaN where Python raises: beyond the range of doubles, and at poles."""
    def called(*args: complex) -> complex:
        try:
            return function(*args)
        except (OverflowError, ValueError, ZeroDivisionError):
            return COMPLEX_NAN
    return called


def _by_real(name: str) -> Callable[..., complex]:
    """A function that is constant on its pieces."""
    return lambda x: complex(FLOAT.functions[name](x.real), 0.0)


def _expm1(z: complex) -> complex:
    half = math.sin(z.imag / 2)
    return complex(math.expm1(z.real) * math.cos(z.imag) - 2 * half * half, math.exp(z.real) * math.sin(z.imag))


def _log1p(z: complex) -> complex:
    return complex(math.log1p(z.real), math.atan2(z.imag, 1 + z.real)) if abs(z.imag) < 1e-9 else cmath.log(1 + z)


def _log(z: complex) -> complex:
    return cmath.log(z) if z.real > 0 else COMPLEX_NAN


def _sqrt(z: complex) -> complex:
    return cmath.sqrt(z) if z.real >= 0 else COMPLEX_NAN


def _unit(function: Callable[[complex], complex]) -> Callable[[complex], complex]:
    return lambda z: function(z) if abs(z.real) < 1 else COMPLEX_NAN


def _cbrt(z: complex) -> complex:
    return math.cbrt(z.real) * cmath.exp(_log1p(complex(0.0, z.imag / z.real)) / 3)


def _exp2(z: complex) -> complex:
    return FLOAT.functions["exp2"](z.real) * cmath.exp(complex(0.0, z.imag * math.log(2)))


def _pow(x: complex, y: complex) -> complex:
    """x**y = x.real**y.real · exp of the small rest, so that large exponents keep their digits; y whole where x < 0."""
    if x.imag == 0 and y.imag == 0:
        return complex(math.pow(x.real, y.real), 0.0)
    if y.imag == 0 and y.real == int(y.real) and abs(y.real) <= 64:
        return x ** int(y.real)
    if x.real == 0 or (x.real < 0 and y.imag != 0):
        return COMPLEX_NAN
    rest = y.real * _log1p(complex(0.0, x.imag / x.real))
    if y.imag:
        rest += complex(0.0, y.imag) * cmath.log(x)
    return math.pow(x.real, y.real) * cmath.exp(rest)


def _hypot(*xs: complex) -> complex:
    """By the scaled sum of squares; where the imaginary parts are tiny these are added up alone, since squares underflow."""
    length = math.hypot(*(x.real for x in xs))
    if length and all(abs(x.imag) < 1e-9 * length for x in xs):
        return complex(length, sum(x.real / length * x.imag for x in xs))
    size = max(abs(x.real) for x in xs)
    return size * cmath.sqrt(sum((x / size) * (x / size) for x in xs)) if size else COMPLEX_NAN


def _atan2(y: complex, x: complex) -> complex:
    """The branch from the real parts, the rest from the arc tangent of the smaller quotient."""
    if abs(x.real) >= abs(y.real):
        rest = cmath.atan(y / x)
        return rest + (math.atan2(y.real, x.real) - rest.real)
    return math.atan2(y.real, x.real) - (rest := cmath.atan(x / y)) + rest.real


def _larger(first: complex, *rest: complex) -> complex:
    return max((first, *rest), key=lambda z: z.real)


def _smaller(first: complex, *rest: complex) -> complex:
    return min((first, *rest), key=lambda z: z.real)


def _fmod(x: complex, y: complex) -> complex:
    rest = math.fmod(x.real, y.real)
    return complex(rest, x.imag - round((x.real - rest) / y.real) * y.imag)


def _fma(a: complex, b: complex, c: complex) -> complex:
    """Rounded once in the real part: programs that use fma for its rounding error depend on that."""
    return complex(FLOAT.functions["fma"](a.real, b.real, c.real), a.real * b.imag + a.imag * b.real + c.imag)


def _signed(x: complex, sign: float) -> complex:
    return x if math.copysign(1, x.real) == math.copysign(1, sign) else -x


COMPLEX = Arithmetic({
    "lt": lambda x, y: x.real < y.real, "le": lambda x, y: x.real <= y.real, "gt": lambda x, y: x.real > y.real,
    "ge": lambda x, y: x.real >= y.real, "eq": lambda x, y: x.real == y.real, "ne": lambda x, y: x.real != y.real,
    "and": lambda x, y: x and y, "or": lambda x, y: x or y, "not": lambda x: not x, "select": lambda c, x, y: x if c else y,
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "neg": lambda x: -x,
    "div": _safe(lambda x, y: x / y), "fma": _fma, "sqrt": _safe(_sqrt), "cbrt": _safe(_cbrt),
    "hypot": _safe(_hypot), "pow": _safe(_pow), "exp": _safe(cmath.exp), "exp2": _safe(_exp2),
    "expm1": _safe(_expm1), "log": _safe(_log), "log2": _safe(lambda z: _log(z) / math.log(2)),
    "log10": _safe(lambda z: _log(z) / math.log(10)), "log1p": _safe(_log1p), "sin": _safe(cmath.sin), "cos": _safe(cmath.cos),
    "tan": _safe(cmath.tan), "asin": _safe(_unit(cmath.asin)), "acos": _safe(_unit(cmath.acos)), "atan": _safe(cmath.atan),
    "atan2": _safe(_atan2), "sinh": _safe(cmath.sinh), "cosh": _safe(cmath.cosh), "tanh": _safe(cmath.tanh),
    "asinh": _safe(cmath.asinh), "acosh": _safe(lambda z: cmath.acosh(z) if z.real > 1 else COMPLEX_NAN),
    "atanh": _safe(_unit(cmath.atanh)), "max": _larger, "min": _smaller, "fmax": _larger, "fmin": _smaller,
    "abs": lambda x: x if x.real >= 0 else -x, "floor": _by_real("floor"), "ceil": _by_real("ceil"),
    "trunc": _by_real("trunc"), "round": _by_real("round"), "fmod": _safe(_fmod),
    "copysign": lambda x, y: _signed(x, y.real),
}, complex)
