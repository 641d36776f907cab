"""Numbers that a program cannot have at a point: they are near neither its value in multiple precision nor any limit.

A rewritten program may be the same function everywhere but at the point in question, as where a removable singularity is filled
in inside another one: sin(x)/x is 1 at 0, but (sin(x)/x)**(1/x**2) has the limit exp(−1/6) there, and floor(sin(x)/x) has 0.
"""
from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from adcli.lang.analyse.enclosure import have_intervals
from adcli.lang.analyse.findings import Finding
from adcli.lang.analyse.limits import limits
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import evaluate, precise_arithmetic
from adcli.lang.ir import Program
from adcli.lang.ir.activity import with_outputs
from adcli.lang.passes.simplify import simplify

CONTRADICTION_DIGITS = 400
LONGEST_CONTRADICTED = 500
"""Operations of the longest program whose limits are worth looking for here."""
MOST_DIRECTIONS = 6
SAME = 1e-6
"""Relative difference up to which a number and a limit are the same, and the root of the absolute one."""


class Contradictions:
    """Knowledge of the values and derivatives of a program at a point."""

    def __init__(self, primal: Program, at: Mapping[str, float], wrt: Sequence[str]) -> None:
        self.primal, self.at, self.wrt = primal, at, wrt

    @cached_property
    def derived(self) -> Program:
        return gradient(self.primal, self.wrt, None, "reverse")

    @cached_property
    def values(self) -> Program:
        return simplify(self.primal)

    def contradicted(self, f: Finding, x: float) -> bool:
        """True if a number cannot be what `f` is about: with a limit along some input it would agree."""
        program = self.derived if f.wrt else self.values
        exact = self.exactly(program, f.name)
        if exact is not None:
            return not near(x, exact, exact)
        if len(program.equations) > LONGEST_CONTRADICTED or not have_intervals():
            return False
        found = list(self.between(program, f))
        return bool(found) and not any(near(x, *each) for each in found)

    def exactly(self, program: Program, result: str) -> float | None:
        """The value at the point, where multiple precision has one; a 0 may be all that cancellation left."""
        try:
            numbers = precise_arithmetic(CONTRADICTION_DIGITS)
        except ModuleNotFoundError:
            return None
        at = {name: numbers.constant(y) for name, y in self.at.items()}
        x = float(evaluate(with_outputs(program, [result]), at, numbers)[result])
        return x if x and math.isfinite(x) else None

    def between(self, program: Program, f: Finding) -> Iterator[tuple[float, float]]:
        """The smaller and the larger one-sided limit along each input that has any."""
        for name in (f.wrt or tuple(self.wrt))[:MOST_DIRECTIONS]:
            if self.at[name] == self.at[name]:
                known = limits(program, f.name, self.at, name).known.values()
                if known:
                    yield min(known), max(known)


def near(x: float, low: float, high: float) -> bool:
    """True if a number is between two that are finite, or as good as one of them."""
    if math.isfinite(high - low) and low <= x <= high:
        return True
    return any(math.isclose(x, y, rel_tol=SAME, abs_tol=SAME ** 2) for y in (low, high))
