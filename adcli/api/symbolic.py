"""Programs as expressions of SymPy, and expressions of SymPy as programs."""
from __future__ import annotations

import math
from typing import Any

from adcli.api.function import Function
from adcli.lang.evaluate import Arithmetic, evaluate
from adcli.lang.ir import Atom, Equation, Primitive, has_tensors
from adcli.lang.ir.errors import AdError, Source

NAMED = {"sqrt": "sqrt", "cbrt": "cbrt", "exp": "exp", "log": "log", "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin",
         "acos": "acos", "atan": "atan", "atan2": "atan2", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "asinh": "asinh",
         "acosh": "acosh", "atanh": "atanh", "max": "Max", "min": "Min", "abs": "Abs", "sign": "sign", "floor": "floor",
         "ceil": "ceiling", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "gamma": "gamma", "lgamma": "loggamma",
         "digamma": "digamma", "polygamma": "polygamma", "lt": "StrictLessThan", "le": "LessThan", "gt": "StrictGreaterThan",
         "ge": "GreaterThan", "eq": "Eq", "ne": "Ne", "and": "And", "or": "Or", "not": "Not", "expint_e1": "E1", "expint_ei": "Ei"}
"""Operations that SymPy has, by its names."""


class SympyArithmetic(Arithmetic):
    """Expressions in the place of numbers."""

    def apply(self, op: Primitive, args: list[Any], atoms: tuple[Atom, ...], e: Equation | None = None) -> Any:
        if op.name not in self.functions and op.value is None:
            raise AdError(f"SymPy has nothing for '{op.name}'", help="write it in functions that SymPy has")
        return super().apply(op, args, atoms, e)


def text_of(expression: Any, name: str) -> Source:
    """What SymPy writes of an expression, as a program."""
    import sympy

    from adcli.from_sympy.module import read
    return read(Source(name, sympy.srepr(expression)), None, {}, {})


def to_sympy(f: Function) -> Any:
    """The output of a Function of numbers as an expression of SymPy, or a dictionary of its outputs. Decimal numbers are the
    rational ones that are written; operations that SymPy does not have are written by others."""
    try:
        import sympy
    except ImportError:
        raise AdError("to_sympy needs SymPy, which is not installed", help="pip install 'adcli[sympy]'") from None
    if has_tensors(f.program):
        raise AdError("this program has tensors, and to_sympy is of numbers", help="write the elements as inputs of their own")

    def constant(x: float) -> Any:
        special = {math.pi: sympy.pi, math.e: sympy.E, math.inf: sympy.oo, -math.inf: -sympy.oo}
        return sympy.nan if x != x else special.get(x) or sympy.Rational(repr(float(x)))

    def half_away(x: Any) -> Any:
        return sympy.sign(x) * sympy.floor(sympy.Abs(x) + sympy.Rational(1, 2))
    made = {name: getattr(sympy, sympys) for name, sympys in NAMED.items()} | {
        "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
        "neg": lambda x: -x, "pow": lambda x, y: x**y, "pown": lambda x, n: x**n, "dup": lambda x: (x, x), "stop": lambda x: x,
        "select": lambda c, x, y: sympy.Piecewise((x, c), (y, True)), "hypot": lambda *x: sympy.sqrt(sum(v**2 for v in x)),
        "exp2": lambda x: 2**x, "expm1": lambda x: sympy.exp(x) - 1, "log1p": lambda x: sympy.log(1 + x),
        "log2": lambda x: sympy.log(x, 2), "log10": lambda x: sympy.log(x, 10), "fmax": sympy.Max, "fmin": sympy.Min,
        "relu": lambda x: sympy.Max(x, 0), "trunc": lambda x: sympy.sign(x) * sympy.floor(sympy.Abs(x)), "round": half_away,
        "fma": lambda x, y, z: x * y + z, "sech2": lambda x: 1 / sympy.cosh(x)**2, "clamp": lambda x, a, b: sympy.Min(sympy.Max(
            x, a), b), "sigmoid": lambda x: 1 / (1 + sympy.exp(-x)), "softplus": lambda x: sympy.log(1 + sympy.exp(x)),
        "sinc": lambda x: sympy.sinc(sympy.pi * x), "lambert_w0": lambda x: sympy.LambertW(x), "lambert_wm1": lambda x:
            sympy.LambertW(x, -1), "xlogy": lambda x, y: x * sympy.log(y), "normal_pdf": lambda x: sympy.exp(-x**2 / 2) / sympy.sqrt(
                2 * sympy.pi), "normal_cdf": lambda x: (1 + sympy.erf(x / sympy.sqrt(2))) / 2,
        "fmod": lambda x, y: x - y * sympy.sign(x / y) * sympy.floor(sympy.Abs(x / y)), "logaddexp": lambda x, y: sympy.log(sympy.exp(x) + sympy.exp(y)), "lbeta": lambda x, y: sympy.loggamma(x) + sympy.loggamma(
            y) - sympy.loggamma(x + y), "erfcx": lambda x: sympy.exp(x**2) * sympy.erfc(x)}
    made["copysign"] = lambda x, y: sympy.Piecewise((sympy.Abs(x), y >= 0), (-sympy.Abs(x), True))
    symbols = {p.name: sympy.Symbol(p.name, real=True) for p in f.program.params}
    found = evaluate(f.program, symbols, SympyArithmetic(made, constant))
    return found if len(found) > 1 else next(iter(found.values()))
