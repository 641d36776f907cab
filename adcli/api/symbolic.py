"""Programs as expressions of SymPy."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from adcli.api.function import Function
from adcli.lang.evaluate import Arithmetic, evaluate
from adcli.lang.ir import Atom, Equation, Primitive, has_tensors
from adcli.lang.ir.errors import AdError, missing

NAMED = {"sqrt": "sqrt", "cbrt": "cbrt", "exp": "exp", "log": "log", "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin",
         "acos": "acos", "atan": "atan", "atan2": "atan2", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "asinh": "asinh",
         "acosh": "acosh", "atanh": "atanh", "max": "Max", "min": "Min", "abs": "Abs", "sign": "sign", "floor": "floor",
         "ceil": "ceiling", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "gamma": "gamma", "lgamma": "loggamma",
         "digamma": "digamma", "polygamma": "polygamma", "lt": "StrictLessThan", "le": "LessThan", "gt": "StrictGreaterThan",
         "ge": "GreaterThan", "eq": "Eq", "ne": "Ne", "and": "And", "or": "Or", "not": "Not",
         "fmax": "Max", "fmin": "Min", "lambert_w0": "LambertW", "expint_e1": "E1", "expint_ei": "Ei"}
"""Operations that SymPy has, by its names."""


def operations(s: Any) -> dict[str, Callable[..., Any]]:
    """The operations on expressions of SymPy, the module `s`."""
    return {name: getattr(s, sympys) for name, sympys in NAMED.items()} | {
        "add": lambda x, y: x + y,
        "sub": lambda x, y: x - y,
        "mul": lambda x, y: x * y,
        "div": lambda x, y: x / y,
        "neg": lambda x: -x,
        "pow": lambda x, y: x**y,
        "pown": lambda x, n: x**n,
        "fma": lambda x, y, z: x * y + z,
        "dup": lambda x: (x, x),
        "stop": lambda x: x,
        "select": lambda c, x, y: s.Piecewise((x, c), (y, True)),
        "clamp": lambda x, low, high: s.Min(s.Max(x, low), high),
        "relu": lambda x: s.Max(x, 0),
        "trunc": lambda x: s.sign(x) * s.floor(s.Abs(x)),
        "round": lambda x: s.sign(x) * s.floor(s.Abs(x) + s.Rational(1, 2)),
        "fmod": lambda x, y: x - y * s.sign(x / y) * s.floor(s.Abs(x / y)),
        "copysign": lambda x, y: s.Piecewise((s.Abs(x), y >= 0), (-s.Abs(x), True)),
        "hypot": lambda *x: s.sqrt(sum(v**2 for v in x)),
        "exp2": lambda x: 2**x,
        "expm1": lambda x: s.exp(x) - 1,
        "log1p": lambda x: s.log(1 + x),
        "log2": lambda x: s.log(x, 2),
        "log10": lambda x: s.log(x, 10),
        "logaddexp": lambda x, y: s.log(s.exp(x) + s.exp(y)),
        "sigmoid": lambda x: 1 / (1 + s.exp(-x)),
        "softplus": lambda x: s.log(1 + s.exp(x)),
        "sech2": lambda x: 1 / s.cosh(x)**2,
        "xlogy": lambda x, y: x * s.log(y),
        "lbeta": lambda x, y: s.loggamma(x) + s.loggamma(y) - s.loggamma(x + y),
        "erfcx": lambda x: s.exp(x**2) * s.erfc(x),
        "normal_pdf": lambda x: s.exp(-x**2 / 2) / s.sqrt(2 * s.pi),
        "normal_cdf": lambda x: (1 + s.erf(x / s.sqrt(2))) / 2,
        "lambert_wm1": lambda x: s.LambertW(x, -1)}


class SympyArithmetic(Arithmetic):
    """Expressions in the place of numbers."""

    def apply(self, op: Primitive, args: list[Any], atoms: tuple[Atom, ...], e: Equation | None = None) -> Any:
        if op.name not in self.functions and op.value is None:
            raise AdError(f"SymPy has nothing for '{op.name}'", help="write it in functions that SymPy has")
        return super().apply(op, args, atoms, e)


def to_sympy(f: Function) -> Any:
    """The output of a Function of numbers as an expression of SymPy, or a dictionary of its outputs. Decimal numbers are the
    rational ones that are written; operations that SymPy does not have are written by others."""
    try:
        import sympy
    except ImportError:
        raise missing("to_sympy", "sympy") from None
    if has_tensors(f.program):
        raise AdError("this program has tensors, and to_sympy is of numbers", help="write the elements as inputs of their own")

    def constant(x: float) -> Any:
        special = {math.pi: sympy.pi, math.e: sympy.E, math.inf: sympy.oo, -math.inf: -sympy.oo}
        return sympy.nan if x != x else special.get(x) or sympy.Rational(repr(float(x)))

    symbols = {p.name: sympy.Symbol(p.name, real=True) for p in f.program.params}
    found = evaluate(f.program, symbols, SympyArithmetic(operations(sympy), constant))
    return found if len(found) > 1 else next(iter(found.values()))
