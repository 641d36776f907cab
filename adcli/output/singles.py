"""Many numbers of single precision, as the doubles that their shortest decimals are read as: what writes doubles writes these in
as few digits as singles need."""
from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from adcli.output.numbers import DIGITS_OF_SINGLE, shortest_single

MOST_DIGITS = 9
EXACT = 1e-13, 1e13
"""Sizes between which a single times the power of ten that makes a whole number of its digits is a double, but for a part in
2^53, and that power is one exactly."""
DOUBTFUL = 1e-6
"""How near to the middle of two whole numbers that part could make a difference, and more."""
POWERS = np.array([float(f"1e{k}") for k in range(23)])


def as_spelled(columns: Sequence[np.ndarray], number: Callable[[float], str]) -> list[np.ndarray]:
    """The columns as they are to be written by what writes the shortest decimals of doubles, where `number` is to write them."""
    return [read_back(c) if c.dtype.kind == "f" else c for c in columns] if number is shortest_single else [*columns]


def read_back(values: np.ndarray) -> np.ndarray:
    """For each number the double next to the shortest decimal that tells its single from all others, nearest to it."""
    with np.errstate(all="ignore"):
        singles = np.asarray(values).astype(np.float32)
        exact = singles.astype(np.float64)
        size = np.abs(exact)
        found, left = exact.copy(), (size >= EXACT[0]) & (size < EXACT[1])
        slow = ~left & (size > 0) & (size < np.inf)
        magnitude = np.floor(np.log10(np.where(left, size, 1.0))).astype(np.int64)
        for digits in range(DIGITS_OF_SINGLE, MOST_DIGITS + 1):
            power = digits - 1 - magnitude
            scale = POWERS[np.abs(power)]
            scaled = np.where(power < 0, exact / scale, exact * scale)
            whole = np.rint(scaled)
            slow |= left & (np.abs(np.abs(scaled - whole) - 0.5) < DOUBTFUL)
            decimal = np.where(power < 0, whole * scale, whole / scale)
            ends = left & ~slow & (decimal.astype(np.float32) == singles)
            found[ends] = decimal[ends]
            left &= ~(ends | slow)
        places = np.nonzero(slow | left)
        found[places] = [float(shortest_single(x)) for x in exact[places].tolist()]
    return found
