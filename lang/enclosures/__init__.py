"""Right digits and guaranteed bounds, by Arb: intervals, functions of them, and numbers of any precision.

An arithmetic here is one of `lang/evaluate`, which carries out programs with it. It knows the IR and nothing else.
"""
from __future__ import annotations

from adcli.lang.evaluate import Arithmetic


def precise_arithmetic(digits: int = 50) -> Arithmetic:
    """Multiple precision with `digits` decimal digits (the extra package python-flint)."""
    from adcli.lang.enclosures import multiple_precision
    return multiple_precision.arithmetic(digits)
