"""Results of one method: counts, reasons for missing comparisons, and the worst entry."""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from adcli.lang.operations.precision import DOUBLE, Precision
from adcli.lang.verify.differences import ORDERS

if TYPE_CHECKING:
    from adcli.lang.ir.errors import Span

NO_DIGIT = "rounding leaves no digit"
"""Why a number is not compared whose error has no bound."""


@dataclass(frozen=True)
class Compared:
    """One comparison: the derivative `name` of some order at a point as it is, as it should be, and the difference that
    is allowed."""

    name: str
    at: dict[str, float]
    got: float
    expected: float
    allowed: float
    order: int = 1

    @property
    def ratio(self) -> float:
        """The difference as a multiple of what is allowed; 1 or less is agreement."""
        difference = abs(self.got - self.expected)
        if difference == 0:
            return 0.0
        return difference / self.allowed if self.allowed and difference < math.inf else math.inf

    @property
    def severity(self) -> tuple[int, float]:
        """Rank of an entry among the worst: a wrong one of low order before one of high order, since that may come from it."""
        return (-self.order if self.ratio > 1 else -10), self.ratio

    def relative(self, x: float) -> float:
        """A difference relative to the derivative; as it is where that is 0."""
        size = max(abs(y) for y in (self.got, self.expected) if math.isfinite(y))
        return x / size if size else x


class Blame(NamedTuple):
    """Error message, and the operation of the program that is at fault."""

    message: str
    span: Span | None = None
    operation: str | None = None


class ForeignFault(NamedTuple):
    """Error at a point that has no numbers to compare."""

    message: str
    at: dict[str, float]


@dataclass
class Tally:
    """The figures of one method. `note` says why it did not run, or of what it looked at a part. Each finding counts as a
    comparison that failed."""

    method: str
    compared: int = 0
    failed: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    worst: Compared | None = None
    digits: float | None = None
    slope: float | None = None
    note: str | None = None
    findings: list[ForeignFault] = field(default_factory=list)

    def compare(self, name: str, at: dict[str, float], got: float, expected: float, allowed: float,
                order: int = 1) -> None:
        """Enter a comparison. One that nothing is known about is counted as skipped."""
        if not (math.isfinite(got) and math.isfinite(expected)):
            self.skip("not finite")
            return
        if not allowed < math.inf:
            self.skip(NO_DIGIT)
            return
        self.enter(Compared(name, at, got, expected, allowed, order))

    def require(self, name: str, at: dict[str, float], got: float, expected: float, allowed: float, order: int = 1) -> None:
        """Enter a comparison; anything but a number fails it."""
        if math.isfinite(got):
            self.compare(name, at, got, expected, allowed, order)
        else:
            self.enter(Compared(name, at, got, expected, allowed, order))

    def enter(self, entry: Compared) -> None:
        """Enter a comparison as it is."""
        self.compared += 1
        if self.worst is None or entry.severity > self.worst.severity:
            self.worst = entry
        self.failed += entry.ratio > 1

    def enter_slope(self, name: str, at: dict[str, float], slope: float, wanted: int, right: bool) -> None:
        """Enter the slope of a remainder of an output; any that is right counts as the one wanted."""
        got, allowed = float(wanted) if right else slope, wanted - ORDERS[wanted - 2]
        self.compare(f"slope of the remainder of {name}", at, got, wanted, allowed)
        if slope < math.inf:
            self.slope = slope if self.slope is None else min(self.slope, slope)

    def count_digits(self, got: float, exact: Any, precision: Precision = DOUBLE) -> None:
        """The decimal digits that all numbers have; `exact` may have more than a double."""
        if exact and math.isfinite(got):
            wrong = float(abs(got - exact) / abs(exact))
            digits = max(0.0, min(precision.decimals, -math.log10(wrong))) if wrong else precision.decimals
            self.digits = digits if self.digits is None else min(self.digits, digits)

    def find(self, message: str, at: dict[str, float]) -> None:
        """Enter a finding."""
        self.compared += 1
        self.failed += 1
        self.findings.append(ForeignFault(message, at))

    def skip(self, reason: str, count: int = 1) -> None:
        self.skipped[reason] += count

    @property
    def verdict(self) -> str:
        return "FAIL" if self.failed else "ok" if self.compared else "not run" if self.note else "nothing compared"


def joined(tallies: Sequence[Tally]) -> Tally:
    """The figures of one method at several points, which were looked at one after another."""
    first = tallies[0]
    found = Tally(first.method, sum(t.compared for t in tallies), sum(t.failed for t in tallies))
    for t in tallies:
        found.skipped.update(t.skipped)
    found.worst = max((t.worst for t in tallies if t.worst), key=lambda w: w.severity, default=None)
    found.digits = min((t.digits for t in tallies if t.digits is not None), default=None)
    found.slope = min((t.slope for t in tallies if t.slope is not None), default=None)
    found.note = next((t.note for t in tallies if t.note), None)
    return found
