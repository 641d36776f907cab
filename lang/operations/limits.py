"""How large a program may become: the one limit for all that a short text or a small number can make long.

Functions that call functions twice, orders of differentiation, matrices of partial derivatives: each multiplies, and memory ends
before patience does. Whatever multiplies is counted before it is made, by arithmetic on sizes, and refused in one way. What only
grows in proportion to the text that was written is never refused.
"""
from __future__ import annotations

import math

from adcli.lang.ir.errors import AdError
from adcli.lang.ir.records import plain_record

LIMIT = 10_000_000
"""Operations that a program may come to have (some 3 GB)."""
OF_A_STATEMENT = 100
"""Operations that a statement on tensors counts for: what it takes to lower, derive and compile one beside a scalar operation."""
OF_A_DERIVATIVE = 5
"""Operations that a derivative counts for that is a result with a name."""
MOST_DERIVATIVES = LIMIT // OF_A_DERIVATIVE
MOST_INSTRUCTIONS = 10**15
"""Machine instructions, on vectors where they can be, that one run of a program may take: days of work. What takes hours may be
meant, and can be interrupted."""
LONG_NUMBER = 10**9
"""Numbers from here on are written in powers of ten."""
BEYOND = 10**1000
"""A count that no limit reaches; how far beyond it is, is not worth working out."""


@plain_record
class Allowance:
    """The operations that unfolding functions has made so far."""

    spent: int = 0

    def allows(self, operations: int) -> bool:
        return self.spent + operations <= LIMIT

    def spend(self, operations: int) -> None:
        self.spent += operations


def too_much(what: str, count: int, noun: str, help: str | None, most: int = LIMIT) -> AdError:
    """The error for `what` that makes `count` of something; it says what to do."""
    return AdError(f"{what} {quantity(count)} {noun}; the limit is {quantity(most)}", help=help)


def said(value: object) -> str:
    """A given whole number as a message shows it: an integer may have more digits than Python writes."""
    if not isinstance(value, int) or isinstance(value, bool):
        return repr(value)
    return ("-" if value < 0 else "") + quantity(abs(value))


def quantity(count: int) -> str:
    """A count for people: 1,234,567 or 7.5e+10, however long the number is."""
    if count < LONG_NUMBER:
        return f"{count:,}"
    shift = max(count.bit_length() - 64, 0)
    exponent = math.log10(count >> shift) + shift * math.log10(2)
    return power_of_ten(exponent)


def power_of_ten(exponent: float) -> str:
    """10 to a power, with two digits."""
    whole = math.floor(exponent)
    digits = f"{10 ** (exponent - whole):.1f}"
    return f"1.0e+{whole + 1}" if digits == "10.0" else f"{digits}e+{whole}"


def partial_derivatives(inputs: int, order: int) -> int:
    """How many partial derivatives of orders 1 to `order` a function of some inputs has: C(inputs + order, order) − 1, or some
    number from `BEYOND` on."""
    count = 1
    for k in range(1, min(inputs, order) + 1):
        count = count * (max(inputs, order) + k) // k
        if count > BEYOND:
            break
    return count - 1
