"""What is certain of values that have no expansion: infinite constants, nan, and growth faster than any power."""
from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from adcli.lang.evaluate import FLOAT
from adcli.lang.evaluate.asymptotic import CONSTANT_ORDER, FLAT, AsymptoticSeries, Beyond, Lost, SeriesOrBeyond
from adcli.lang.evaluate.exact_reals import number


def rank(x: SeriesOrBeyond) -> float:
    """Where a value stands among finite ones (0), steep ones and infinities."""
    if isinstance(x, AsymptoticSeries):
        return 0.0
    if x.constant is not None:
        return 3 * x.constant
    if x.steep:
        return float(x.steep)
    raise Lost


def beyond(name: str, args: tuple[SeriesOrBeyond, ...]) -> SeriesOrBeyond:
    """An operation on a value without an expansion, where something certain can be said."""
    first = next(a for a in args if isinstance(a, Beyond))
    missing = next((a for a in args if isinstance(a, Beyond) and a.constant is not None and a.constant != a.constant), None)
    if missing:
        return missing
    if (found := constants(name, args)) is not None:
        return found
    if any(isinstance(a, Beyond) and a.constant is None and not a.steep for a in args):
        return next(a for a in args if isinstance(a, Beyond) and a.constant is None and not a.steep)

    def sign(i: int) -> int:
        a = args[i]
        if isinstance(a, AsymptoticSeries):
            return a.sign
        return int(math.copysign(1, a.constant)) if a.constant is not None else a.steep

    infinite_constant = first.constant is not None
    if name == "neg":
        return turned(first, -1)
    if name == "abs":
        return turned(first, sign(0))
    if name == "mul" and sign(0) and sign(1):
        return turned(first, sign(1 if args[0] is first else 0))
    if name == "mul" and infinite_constant:
        return Beyond("0·inf along the whole line", math.nan)
    if name == "mul":
        return AsymptoticSeries(())
    if name == "div" and isinstance(args[1], AsymptoticSeries) and sign(1):
        return turned(first, sign(1))
    if name == "div" and isinstance(args[0], AsymptoticSeries):
        return AsymptoticSeries(()) if infinite_constant else AsymptoticSeries((), shifted_flat(args[0]))
    if name in ("add", "sub") and (
            any(isinstance(a, AsymptoticSeries) for a in args) or sign(0) == (sign(1) if name == "add" else -sign(1))):
        return first if args[0] is first else turned(first, 1 if name == "add" else -1)
    if name == "exp" and not infinite_constant:
        return first if first.steep > 0 else AsymptoticSeries((), FLAT)
    if name == "sqrt" and sign(0) > 0:
        return first
    if name == "log" and sign(0) < 0:
        return Beyond("a logarithm of a negative number", math.nan)
    return Beyond(first.reason)


def constants(name: str, args: tuple[SeriesOrBeyond, ...]) -> SeriesOrBeyond | None:
    """The operation on infinite and exact constants as IEEE arithmetic has it, where the result is exact too."""
    numbers = []
    for a in args:
        if isinstance(a, Beyond):
            numbers.append(a.constant)
        elif a.error is None and all(order == CONSTANT_ORDER for order, _ in a.terms):
            numbers.append(float(a.terms[0][1]) if a.terms else 0.0)
        else:
            numbers.append(None)
    function = FLOAT.functions.get("pow" if name == "pown" else name)
    if function is None or None in numbers:
        return None
    x = function(*numbers)
    if not math.isfinite(x):
        return Beyond("infinite or not a number along the whole line", x)
    return AsymptoticSeries(((CONSTANT_ORDER, number(int(x))),) if x else ()) if x in (0, 1, -1) else None


def shifted_flat(f: AsymptoticSeries) -> tuple[Fraction, Fraction]:
    """The order of a series divided by one that grows faster than any power."""
    return f.size[0] + FLAT[0], f.size[1]


def turned(x: Beyond, sign: int) -> Beyond:
    return Beyond(x.reason, None if x.constant is None else x.constant * sign, x.steep * sign)


def select(condition: Any, x: SeriesOrBeyond, y: SeriesOrBeyond) -> SeriesOrBeyond:
    if isinstance(condition, Beyond):
        return condition
    return x if condition else y


def conjunction(x: Any, y: Any) -> Any:
    if x is False or y is False:
        return False
    return x if isinstance(x, Beyond) else y


def disjunction(x: Any, y: Any) -> Any:
    if x is True or y is True:
        return True
    return x if isinstance(x, Beyond) else y
