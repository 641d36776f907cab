"""How many digits of a double are right, as far as that can be proven: from an enclosure of the exact value.

The exact result is that of the program read as mathematics (`adcli.lang.analyse.enclosure`), where zero has no sign. It is
enclosed at rising precision until it stands: a number by bounds far narrower than doubles, an infinity, or no value at all.
Whatever is said follows from the enclosure; where it is too wide for that, nothing is said. In particular a double is called
exact only where the enclosure is that one number, and an exact value that may be zero has no digits that could be counted.

The digits of x against the exact value t are −log10(|x − t| / |t|), between 0 and `MOST_DIGITS`.
"""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from adcli.lang.analyse.conventions import NO_CONVENTION, Convention
from adcli.lang.analyse.enclosure import available, precision, settled, sharpened
from adcli.lang.evaluate import FLOAT, every_value
from adcli.lang.ir import Point, Program, Var
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.records import value_record

MOST_DIGITS, EXACT = 16.0, 17.0
"""The most digits of a double that is not exact, and what stands for exact."""
SURE = 0.01
"""A count is said where the enclosure leaves it no more room than this."""
SHOWN_DIGITS = 17
"""Digits to which an exact value is written."""
SELECT = TABLE["select"]


@value_record
class Digits:
    """Proven facts about one number: its right digits (`EXACT` for all, None where there is no such count), the exact value in
    words ("nan" where exact arithmetic has none, None where it is not known), whether a comparison on the way comes out
    otherwise in exact arithmetic, and what the number is a convention at, which has neither digits nor an exact value."""

    count: float | None
    exact: str | None
    turned: bool
    convention: Convention = NO_CONVENTION


def right_digits(program: Program, at: Point, results: Sequence[float],
                 conventions: Sequence[Convention] = ()) -> list[Digits]:
    """The digits of `results`, which doubles gave for the results of `program` at a point. `conventions` are what each of them is
    a convention at, where any is."""
    known, truths = exact_results(program, at, results)
    turned = _turned(program, at, truths)
    found = [_judged(x, t, r.atom in turned) for x, t, r in zip(results, known, program.results, strict=True)]
    return [Digits(None, None, d.turned, c) if c.level and math.isfinite(x) else d
            for d, x, c in zip(found, results, conventions or [NO_CONVENTION] * len(found), strict=True)]


def exact_results(program: Program, at: Point, results: Sequence[float]) -> tuple[list[Any], dict[Var, bool]]:
    """Intervals of the results in exact arithmetic, narrow enough to judge `results` where any precision gets there, and the
    truth values on the way that are decided."""
    available("counting digits")

    def enough(found: list[Any]) -> bool:
        return all(settled(t) and (t.valueless or t.thin or not within(x, t)) for x, t in zip(results, found, strict=True))

    found, values = sharpened(program, {name: (x, x) for name, x in at.items()}, enough)
    return found, {v: x for v, x in values.items() if x is True or x is False}


def within(x: float, t: Any) -> bool:
    """True if a double may be the exact value."""
    from adcli.lang.enclosures.intervals import arb
    return x == x and bool(t.lo <= arb(x) <= t.hi)


def _turned(program: Program, at: Point, truths: Mapping[Var, bool]) -> set[Any]:
    """The values that depend on a comparison that comes out otherwise in doubles than in exact arithmetic."""
    if not truths:
        return set()
    doubles = every_value(program, at, FLOAT)
    return _dependent(program, {v for v, truth in truths.items() if bool(doubles[v]) is not truth}, doubles)


def _dependent(program: Program, sources: set[Any], values: Mapping[Var, Any]) -> set[Any]:
    """The sources, and the values that depend on one of them, not counting arms that are not taken."""
    found = set(sources)
    for e in program.equations if found else ():
        used = (e.args[0], e.args[1 if values[e.args[0]] else 2]) if e.op is SELECT and isinstance(e.args[0], Var) else e.args
        if not found.isdisjoint(used):
            found.update(e.outs)
    return found


# ---------------------------------------------------------------- one number

def _judged(x: float, t: Any, turned: bool) -> Digits:
    from adcli.lang.enclosures.intervals import EITHER, EMPTY
    if t is EMPTY:
        return Digits(None if x != x else 0.0, "nan", turned)
    if t is EITHER:
        return Digits(None if math.isinf(x) else 0.0, "inf or -inf", turned)
    if t.valueless:
        return Digits(EXACT if x == float(t.lo) else 0.0, str(float(t.lo)), turned)
    if not t.decoration:
        return Digits(None, None, turned)
    return Digits(count(x, t), written(t), turned)


def count(x: float, t: Any) -> float | None:
    """The right digits of x, given bounds of the exact value; None where they leave it open."""
    if not math.isfinite(x):
        return 0.0
    if not t.bounded:
        return None
    if t.thin and within(x, t):
        return EXACT
    counts = [_digits(x, end) for end in (t.lo, t.hi)]
    if within(x, t):
        counts.append(MOST_DIGITS)
    if t.has(0):
        counts.append(0.0)
    return sum(counts[:2]) / 2 if max(counts) - min(counts) <= SURE else None


def _digits(x: float, t: Any) -> float:
    """The digits of x against one number."""
    from adcli.lang.enclosures.intervals import arb
    if t == 0:
        return 0.0 if x else MOST_DIGITS
    with precision(64):
        error = abs((arb(x) - t) / t)
    if error == 0:
        return MOST_DIGITS
    return min(max(-float(error.log() / arb(10).log()), 0.0), MOST_DIGITS)


# ---------------------------------------------------------------- the exact value in words

def written(t: Any) -> str | None:
    """As many digits of the exact value as bounds agree on, 17 at most; None where they do not even agree on one."""
    for digits in range(SHOWN_DIGITS, 0, -1) if t.bounded else ():
        low, high = decimal(t.lo, digits), decimal(t.hi, digits)
        if low == high:
            return low
    return None


def decimal(end: Any, digits: int) -> str:
    """An exact number rounded to so many digits; its exponent may be of any size."""
    if end == 0:
        return "0.0"
    whole, _, exponent = (int(n) for n in end.mid_rad_10exp(digits + 5))
    sign, figures = "-" * (whole < 0), str(abs(whole))
    drop = len(figures) - digits
    rounded = str((abs(whole) + 5 * 10 ** (drop - 1)) // 10 ** drop if drop > 0 else abs(whole) * 10 ** -drop)
    exponent += drop + len(rounded) - 1                          # of the first figure
    rounded = rounded.rstrip("0")
    if -5 <= exponent < digits:
        point = exponent + 1
        if point <= 0:
            return f"{sign}0.{'0' * -point}{rounded}"
        rounded = rounded.ljust(point, "0")
        return f"{sign}{rounded[:point]}.{rounded[point:] or '0'}"
    return f"{sign}{rounded[0]}.{rounded[1:] or '0'}e{exponent:+d}"
