"""Real numbers rounded to so many digits, on Arb (python-flint, an extra, which whoever imports this module must have).

An operation is enclosed at rising precision until the bounds are narrow enough, and the middle is kept. Exponents have no end:
what overflows or underflows in doubles is a number here. There is one zero, without a sign. Exponentials out of the reach of
interval arithmetic are infinite, or the smallest numbers there are, never 0.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import nan
from typing import Any

from adcli.lang.enclosures.interval_arithmetic import interval_arithmetic
from adcli.lang.enclosures.intervals import EITHER, INF, Interval, arb, ctx, point_of
from adcli.lang.enclosures.special_intervals import SPECIAL
from adcli.lang.evaluate import CHOICES, COMPARISONS, FLOAT, RING, Arithmetic
from adcli.lang.ir import Lit
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.rounded import meant

LONGEST = 1 << 15
"""Working precision in bits beyond which nothing is computed: no angle that a double can be needs more."""
DIRECT = {*COMPARISONS, *RING, *CHOICES, "div", "fma", "copysign"}
"""Operations that need no enclosure."""
ALONE = {"pown", "digamma", "polygamma", "normal_pdf", "normal_cdf", "normal_quantile", "erfinv", "erfcx", "derfcx", *SPECIAL}
"""Functions that floats have by their definitions only, which are approximations for doubles."""
LIFTED = [name for name in interval_arithmetic().functions
          if name not in DIRECT and (name in FLOAT.functions or name in ALONE)]
"""Functions that are those of interval arithmetic at a point."""


def exactly(operation: Callable[[Any, Any], Any]) -> Callable[[PreciseNumber, Any], PreciseNumber]:
    """An operator of rounded numbers, from that of exact ones."""
    return lambda x, y: x.with_(y, operation)


class PreciseNumber:
    """A number, an infinity or NaN: an exact `value` of Arb, and the bits that results with it are rounded to."""

    __slots__ = ("bits", "value")

    def __init__(self, value: Any, bits: int) -> None:
        self.value, self.bits = value, bits

    def with_(self, other: Any, operation: Callable[[Any, Any], Any]) -> PreciseNumber:
        before, ctx.prec = ctx.prec, self.bits
        try:
            return PreciseNumber(operation(self.value, exact(other)).mid(), self.bits)
        finally:
            ctx.prec = before

    __add__ = __radd__ = exactly(lambda a, b: a + b)
    __mul__ = __rmul__ = exactly(lambda a, b: a * b)
    __sub__, __rsub__ = exactly(lambda a, b: a - b), exactly(lambda a, b: b - a)
    __truediv__, __rtruediv__ = exactly(lambda a, b: a / b), exactly(lambda a, b: b / a)

    def __pow__(self, n: int) -> PreciseNumber:
        return self.with_(0, lambda a, _: a ** n)

    def __neg__(self) -> PreciseNumber:
        return self.with_(0, lambda a, _: -a)

    def __abs__(self) -> PreciseNumber:
        return self.with_(0, lambda a, _: abs(a))

    def __lt__(self, y: Any) -> bool:
        return bool(self.value < exact(y))

    def __le__(self, y: Any) -> bool:
        return bool(self.value <= exact(y))

    def __gt__(self, y: Any) -> bool:
        return bool(self.value > exact(y))

    def __ge__(self, y: Any) -> bool:
        return bool(self.value >= exact(y))

    def __eq__(self, y: object) -> bool:
        return bool(self.value == exact(y))

    def __ne__(self, y: object) -> bool:
        return not self == y

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        return self != 0

    def __float__(self) -> float:
        return float(self.value)

    def __int__(self) -> int:
        return int(self.value.unique_fmpz())

    def __repr__(self) -> str:
        return str(self.value)


def exact(x: Any) -> Any:
    return x.value if isinstance(x, PreciseNumber) else arb(x)


@cache
def arithmetic(digits: int) -> Arithmetic:
    """Multiple precision with `digits` decimal digits."""
    bits = round((digits + 1) * 3.3219280948873626)

    def constant(x: Any) -> PreciseNumber:
        return PreciseNumber(exact(x), bits)

    def divide(x: PreciseNumber, y: PreciseNumber) -> PreciseNumber:
        return x / y if y else constant(FLOAT.functions["div"](float((x > 0) - (x < 0)) if x == x else nan, float(y)))

    positive_power = lifted("pow", bits)

    def power(x: PreciseNumber, y: PreciseNumber) -> PreciseNumber:
        if not (x < 0 and y.value.is_finite() and y.value.is_integer()):
            return positive_power(x, y)
        return -positive_power(-x, y) if int(y) % 2 else positive_power(-x, y)

    def whole_power(x: PreciseNumber, n: Any) -> PreciseNumber:
        return x ** int(n) if x or n >= 0 else constant(INF)

    functions: dict[str, Callable[..., Any]] = {**COMPARISONS, **RING, **CHOICES, **{name: lifted(name, bits) for name in LIFTED},
                 "div": divide, "fma": lambda a, b, c: a * b + c, "pow": power, "pown": whole_power,
                 "powi": whole_power,
                 "copysign": lambda x, y: abs(x) if y >= 0 else -abs(x)}
    return Arithmetic(functions, lambda x: meant(x, functions, constant))


def lifted(name: str, bits: int) -> Callable[..., PreciseNumber]:
    """A function of interval arithmetic at points; of an infinity as doubles have it."""
    enclosed = interval_arithmetic().functions[name]

    def called(*args: PreciseNumber) -> PreciseNumber:
        if not all(x.value.is_finite() for x in args):
            at = [float(x) for x in args]
            return PreciseNumber(arb(FLOAT.apply(TABLE[name], at, tuple(map(Lit, at)))), bits)
        points, before = [point_of(x.value) for x in args], ctx.prec
        try:
            for ctx.prec in (bits + 32, 2 * bits + 512, 8 * bits + 2048, LONGEST):
                if (found := middle(enclosed(*points), bits)) is not None:
                    return PreciseNumber(found, bits)
        finally:
            ctx.prec = before
        return PreciseNumber(arb(nan), bits)
    return called


def middle(z: Interval, bits: int) -> Any | None:
    """The number that bounds are narrow enough for; None where they are not."""
    if z.valueless:
        return INF if z is EITHER else z.lo if z.infinite else arb(nan)
    if z.bounded and (z.thin or z.ball().rel_accuracy_bits() >= bits):
        return z.ball().mid()
    if z.lo > FAR or z.hi < -FAR:
        return INF if z.lo > 0 else -INF
    return z.hi if z.lo >= 0 and z.hi * FAR < 1 else None


FAR = arb(2) ** (1 << 64)
"""Numbers beyond it, as exponentials that are out of reach, are infinite."""
