"""Classification of zeros in doubles: a root or stationary point, or what underflow and rounding have left.

One operation is computed again at the same operands in multiple precision (the extra package python-flint), whose exponents have
no end. So many digits are carried that a difference such as 1 − tanh² keeps some wherever it is as large as the smallest double.
"""
from __future__ import annotations

from typing import Any

from adcli.lang.analyse.numeric_rules import arguments, by_rule
from adcli.lang.evaluate import MOST_EXPONENT_BITS, ValuesAt, precise_arithmetic
from adcli.lang.ir import Equation

ZERO_DIGITS = 400
ZERO, UNDERFLOW, ROUNDING, UNVERIFIED = "zero", "underflow", "rounding", "unverified"
"""Kinds of zeros: exact; smaller than any other number; lost to rounding; one or the other of these, where that is not known."""


def nature(e: Equation, values: ValuesAt, position: int | None = None) -> str:
    """Kind of the 0 of an operation, or of its partial derivative with respect to an argument; operands are finite."""
    args = arguments(e, values)
    far = any(abs(a) >= 2.0 ** MOST_EXPONENT_BITS for a in args)   # an exponential there is infinite even there
    try:
        x = exactly(e, args, position)
    except ModuleNotFoundError:
        return UNVERIFIED
    if x is None or x != x:
        return UNVERIFIED
    if x == 0 and not (e.op.saturates and (far or position is not None)):   # what levels off never reaches its limit
        return ZERO
    return UNDERFLOW if abs(x) < values.arithmetic.least else ROUNDING


def exactly(e: Equation, args: list[Any], position: int | None) -> Any:
    """An operation, or its partial derivative, in multiple precision; None where that is not known."""
    numbers = precise_arithmetic(ZERO_DIGITS)
    exact = [x if isinstance(x, bool) else numbers.constant(x) for x in args]
    z = numbers.apply(e.op, exact, e.args)
    if position is None:
        return z
    return by_rule(e, position, numbers.constant(1.0), z, exact, numbers)
