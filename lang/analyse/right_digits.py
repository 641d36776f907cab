"""How many digits of a double are right: the same program in multiple precision, at rising precision until it stands.

The exact result is that of the program read as mathematics: literals are the doubles they denote, constants folded or
rounded on the way keep what they stand for (`adcli.lang.ir.rounded`), and all operations are exact. It counts as known when two
precisions agree to `AGREED`, and as 0 when it is below all doubles and all that is left of it is rounding, which shrinks as
the precision rises. The second precision has more bits than the range of doubles is wide, so that no double that is
added is lost in both (in long programs only the third has, which take too long otherwise). Agreement is strong evidence and
no proof; a proof is what intervals give (`adcli.lang.analyse.enclosure`).

The digits of x against the exact value t are −log10(|x − t| / |t|), between 0 and `MOST_DIGITS`.
"""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adcli.lang.evaluate import FLOAT, MOST_EXPONENT_BITS, REDUCED, Arithmetic, every_value, mpmath_arithmetic, read
from adcli.lang.ir import Program, Var
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.primitives import TABLE

DIGIT_PRECISIONS = (200, 2400, 9600)
"""Working precisions in bits; each is compared with the one before."""
LONG_PROGRAM_PRECISIONS = (200, 800, 2400)
"""The same for programs of more than `LONG_PROGRAM` equations."""
LONG_PROGRAM = 5000
AGREED = 2.0 ** -100
BELOW_DOUBLES = -1200
"""A binary exponent below those of doubles."""
SAME = 2.0 ** -700
"""A relative error that is only that of the exact value, where that had to be rounded."""
MOST_DIGITS, EXACT = 16.0, 17.0
"""The most digits of a double that is not exact, and what stands for exact."""
SELECT = TABLE["select"]


@dataclass(frozen=True, slots=True)
class Digits:
    """What is known about one number: right digits (`EXACT` for all, None where that cannot be told), the exact value
    (an mpmath number, NaN where exact arithmetic has none, None where it is not known), and whether a comparison on the
    way comes out otherwise in exact arithmetic."""

    count: float | None
    value: Any
    turned: bool


def arithmetic(bits: int) -> Arithmetic:
    """Multiple precision of so many bits. AdError where mpmath is missing."""
    try:
        return mpmath_arithmetic(math.ceil(bits * math.log10(2)))
    except ImportError:
        raise AdError("counting digits needs mpmath, which is not installed", help="pip install 'adcli[digits]'") from None


def right_digits(program: Program, at: Mapping[str, float], results: Sequence[float]) -> list[Digits]:
    """The digits of `results`, which doubles gave for the results of `program` at a point."""
    known, truths = exact_results(program, at)
    turned = _turned(program, at, truths)
    return [_judged(x, t, r.atom in turned) for x, t, r in zip(results, known, program.results, strict=True)]


def exact_results(program: Program, at: Mapping[str, float]) -> tuple[list[Any], dict[Var, bool]]:
    """The results in exact arithmetic, None where no precision settles one or an operation on the way is out of reach, and the
    truth values on the way."""
    before: list[Any] = []
    known: list[Any] = [None] * len(program.results)
    values: dict[Var, Any] = {}
    truths: dict[Var, bool] = {}
    for bits in DIGIT_PRECISIONS if len(program.equations) <= LONG_PROGRAM else LONG_PROGRAM_PRECISIONS:
        numbers = arithmetic(bits)
        values = every_value(program, {name: numbers.constant(x) for name, x in at.items()}, numbers)
        now = [read(values, r.atom, numbers) for r in program.results]
        truths = {v: bool(x) for v, x in values.items() if v.truth}
        if before:
            known = [_settled(y, x) for x, y in zip(now, before, strict=True)]
            if None not in known:
                break
        before = now
    lost = _dependent(program, _out_of_reach(program, values, all(map(math.isfinite, at.values()))), values)
    return [None if r.atom in lost else x for x, r in zip(known, program.results, strict=True)], truths


def _settled(before: Any, now: Any) -> Any:
    """The exact value as two precisions have it, the higher one last; None where they do not agree."""
    if before != before or now != now:
        return now if before != before and now != now else None
    if before == now or abs(now - before) <= AGREED * abs(now):
        return now
    mp = now.context
    vanishing = now - now == 0 and abs(now) < mp.ldexp(abs(before), BELOW_DOUBLES) and abs(now) < mp.ldexp(1, BELOW_DOUBLES)
    return mp.zero if vanishing else None


def _turned(program: Program, at: Mapping[str, float], truths: Mapping[Var, bool]) -> set[Any]:
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


def _out_of_reach(program: Program, values: Mapping[Var, Any], bounded: bool) -> set[Any]:
    """The values that exist, but of which multiple precision knows nothing, since their operands are too large for it. With
    `bounded` inputs an infinite operand may be one that was too large."""
    found: set[Any] = set()
    for e in program.equations:
        if e.op.name in REDUCED and values[e.outs[0]] != values[e.outs[0]] and isinstance(last := e.args[-1], Var):
            x = values[last]
            if x == x and (x.context.mag(x) > MOST_EXPONENT_BITS if x.context.isfinite(x) else bounded):
                found.update(e.outs)
    return found


def _judged(x: float, exact: Any, turned: bool) -> Digits:
    if exact is None or exact != exact:
        return Digits(None if exact is None or x != x else 0.0, exact, turned)
    if math.isinf(x) and exact - exact != 0:                     # both infinite; the sign may be that of a zero
        return Digits(EXACT if (x > 0) == bool(exact > 0) else None, exact, turned)
    return Digits(count(x, exact), exact, turned)


def count(x: float, exact: Any) -> float:
    """The right digits of x, given the exact value, a multiple-precision number that is not NaN."""
    mp = exact.context
    if x != x or math.isinf(x) or not exact or exact - exact != 0:
        return EXACT if x == exact else 0.0
    error = abs((mp.mpf(x) - exact) / exact)
    return EXACT if error < SAME else float(min(max(-mp.log10(error), mp.zero), MOST_DIGITS))
