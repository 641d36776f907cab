"""Results of programs in exact arithmetic, from multiple precision alone: a reference for what intervals claim.

Two precisions that agree are strong evidence where the second has more bits than the range of doubles is wide, and no proof:
where a program is built to lose more than that, a test needs another truth.
"""
from __future__ import annotations

import math

from adcli.lang.evaluate import evaluate
from multiple_precision import mpmath_arithmetic
from one_operation import SUMS

PRECISIONS, LONG = (200, 2400, 9600), 5000
AGREED = 2.0 ** -100


def exact_values(program, at):
    """The results as mpmath numbers, NaN where there is none; None where no two precisions agree."""
    before, known = [], [None] * len(program.results)
    slow = any(e.op.name in SUMS for e in program.equations)   # minutes at thousands of bits
    for bits in (200, 800) if slow else PRECISIONS if len(program.equations) <= LONG else (200, 800, 2400):
        numbers = mpmath_arithmetic(math.ceil(bits * math.log10(2)))
        now = list(evaluate(program, {name: numbers.constant(x) for name, x in at.items()}, numbers).values())
        if before:
            known = [agreed(x, y) for x, y in zip(before, now, strict=True)]
            if None not in known:
                break
        before = now
    return known


def agreed(before, now):
    if before != before and now != now:
        return now
    return now if before == now or abs(now - before) <= AGREED * abs(now) else None
