"""What is certain of values that have no expansion: infinite constants and nan."""
from __future__ import annotations

import math
from typing import Any

from adcli.lang.evaluate import FLOAT
from adcli.lang.evaluate.asymptotic import AsymptoticSeries, Between, Beyond, Expansion, Lost
from adcli.lang.evaluate.exact_reals import ExactReal, number
from adcli.lang.evaluate.growth import CONSTANT


def rank(x: Expansion) -> float:
    """Where a value stands among finite ones (0) and infinities."""
    if not isinstance(x, Beyond):
        return 0.0
    if x.constant is None:
        raise Lost
    return x.constant


def beyond(name: str, args: tuple[Expansion, ...]) -> Expansion:
    """An operation on a value without an expansion, where something certain can be said."""
    lacking = [a for a in args if isinstance(a, Beyond)]
    for a in lacking:
        if a.constant is not None and a.constant != a.constant:
            return a
    if (found := constants(name, args)) is not None:
        return found
    for a in lacking:
        if a.constant is None:
            return a
    return infinities(name, args, lacking[0])


def infinities(name: str, args: tuple[Expansion, ...], first: Beyond) -> Expansion:
    """An operation on an infinite constant and others that are infinite or expand."""
    if name == "div" and isinstance(args[1], Beyond):
        return AsymptoticSeries(())
    if name == "mul":
        side = sign(args[0]) * sign(args[1])
        return endless(first.reason, side) if side else Beyond("0·inf along the whole line", math.nan)
    if name == "div" and sign(args[1]):
        return endless(first.reason, sign(args[0]) * sign(args[1]))
    if name in ("add", "sub"):
        return first if args[0] is first else endless(first.reason, sign(first) * (1 if name == "add" else -1))
    return Beyond(first.reason)


def sign(x: Expansion) -> int:
    """The sign of a value for small s. Lost where it has not one."""
    if isinstance(x, AsymptoticSeries):
        return x.sign
    if isinstance(x, Between):
        if x.lower.sign > 0 or x.upper.sign < 0:
            return x.lower.sign
        raise Lost
    return int(math.copysign(1, x.constant or 0.0))


def endless(reason: str, side: int) -> Beyond:
    return Beyond(reason, side * math.inf)


def constants(name: str, args: tuple[Expansion, ...]) -> Expansion | None:
    """The operation on infinite and exact constants as IEEE arithmetic has it, where the result is exact too."""
    numbers = []
    for a in args:
        exact = a.constant if not isinstance(a, Between) else None
        numbers.append(None if exact is None else as_double(exact))
    function = FLOAT.functions.get("pow" if name == "pown" else name)
    if function is None or None in numbers:
        return None
    x = function(*numbers)
    if not math.isfinite(x):
        return Beyond("infinite or not a number along the whole line", x)
    return AsymptoticSeries(((CONSTANT, number(int(x))),) if x else ()) if x in (0, 1, -1) else None


def as_double(x: ExactReal | float) -> float | None:
    """A constant as a double; None where that would be 0 or ±1, where functions turn, and the constant is not."""
    near = float(x)
    return None if isinstance(x, ExactReal) and near in (0, 1, -1) and x.rational != near else near


def conjunction(x: Any, y: Any) -> Any:
    if x is False or y is False:
        return False
    return x if isinstance(x, Beyond) else y


def disjunction(x: Any, y: Any) -> Any:
    if x is True or y is True:
        return True
    return x if isinstance(x, Beyond) else y
