"""How many units in the last place a derivative of one operation is off, and how many it may be.

The truth is differences of the value alone in ball arithmetic (Arb), with ever smaller steps and ever more digits until two of
them agree; no rule takes part in it.
"""
from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

from adcli.lang.derive.derivatives import gradient
from adcli.lang.enclosures.interval_arithmetic import interval_arithmetic
from adcli.lang.enclosures.intervals import point_of
from adcli.lang.evaluate import evaluate
from adcli.lang.ir import Lit, Primitive, Program
from back_ends import values
from flint import arb, ctx

ORDER = 3
"""Highest order of derivatives that is looked at."""
EPSILON = 2.0 ** -52
ULPS = 50.0
"""Units in the last place that a well conditioned derivative may be off by."""
SPREAD = 1.0
"""What is added for each unit of the condition number: what changes of the arguments by one unit do."""
SMALLEST, LARGEST = 1e-300, 1e300
"""Numbers beyond which doubles lose digits, or products of a few of them leave the range."""
STENCILS = ((0, 0, 1, 0, 0), (0, -0.5, 0, 0.5, 0), (0, 1, -2, 1, 0), (-0.5, 1, 0, -1, 0.5), (1, -4, 6, -4, 1))
"""Central differences of order 0 to 4, with an error of the second order in the step."""
PLACES = (11, 22, 88, 176, 352)
"""Bits of the step are three times these, in turn."""
SCALES: tuple[Callable[[float], float], ...] = (lambda x: abs(x) or 1.0, lambda x: 1.0)
"""What the step is a fraction of: a function varies on the scale of its argument, or on that of 1."""

Counts = tuple[int, ...]
"""How often a derivative is taken with respect to each input."""


class Derivative(NamedTuple):
    """A derivative, and the sum over the inputs of what their relative changes change in it."""

    value: Any
    change: Any

    @property
    def condition(self) -> float:
        return float(self.change / abs(self.value)) if self.value else math.inf

    def off(self, got: float) -> float:
        """Units in the last place between the truth and a number."""
        return float(abs(got - self.value) / abs(self.value)) / EPSILON if self.value else math.inf if got else 0.0

    def allows(self, got: float, more: float = 0.0) -> bool:
        return bool(abs(got - self.value) <= EPSILON * (ULPS * abs(self.value) + SPREAD * self.change + more))

    @property
    def in_range(self) -> bool:
        return SMALLEST <= abs(self.value) <= LARGEST


def truths(program: Program, at: Mapping[str, float], wanted: Set[Counts], pieces: bool = False,
           ) -> dict[Counts, Derivative]:
    """The derivatives `wanted` of a program with one result, those for which the differences settle. (They never do at 0.)

    What is put together from pieces varies on no other scale than that of its arguments.
    """
    needed = wanted | {up for c in wanted for up in above(c)}
    settled: dict[Counts, Any] = {}
    for scale in SCALES[:1] if pieces else SCALES:
        before: dict[Counts, Any] = {}
        for places in PLACES if not wanted <= settled.keys() else ():
            if needed <= settled.keys():
                break
            now = differences(program, at, needed - settled.keys(), scale, places)
            settled |= {c: now[c] for c in now.keys() & before.keys() if agree(before[c], now[c], c)}
            before = now
    return {c: Derivative(settled[c], sum(abs(x * settled.get(up, 0)) for x, up in zip(at.values(), above(c), strict=True)))
            for c in wanted & settled.keys()}


def differences(program: Program, at: Mapping[str, float], needed: Set[Counts], scale: Callable[[float], float],
                places: int) -> dict[Counts, Any]:
    """Central differences, those that are not lost in rounding and whose values are all numbers."""
    with ctx.workprec(19 * places + 130):
        steps = [arb(scale(x)) * arb(2) ** (-3 * places) for x in at.values()]
        grid, found = {}, {}
        for k in itertools.product(range(-2, 3), repeat=len(steps)):
            if any(weight(c, k) for c in needed):
                moved = {name: point_of(x + i * h) for (name, x), i, h in zip(at.items(), k, steps, strict=True)}
                grid[k] = evaluate(program, moved, interval_arithmetic())["z"].ball()
        for c in needed:
            total = sum((w * v for k, v in grid.items() if (w := weight(c, k))), arb(0))
            if total.is_finite() and not total.contains(0):
                found[c] = (total / math.prod(h ** n for h, n in zip(steps, c, strict=True))).mid()
        return found


def weight(c: Counts, k: Counts) -> float:
    """The weight in the difference `c` of the value that is k steps away."""
    return math.prod(STENCILS[n][i + 2] for n, i in zip(c, k, strict=True))


def agree(one: Any, two: Any, c: Counts) -> bool:
    return bool(abs(one - two) <= (1e-19 if sum(c) <= ORDER else 0.01) * abs(two))


def above(c: Counts) -> list[Counts]:
    """The derivatives that are one higher, by each input."""
    return [(*c[:i], c[i] + 1, *c[i + 1:]) for i in range(len(c))]


def counts(program: Program, wrt: Sequence[str]) -> Counts:
    return tuple(wrt.count(p.name) for p in program.params)


class Miss(NamedTuple):
    """A derivative that is off by more than it may be; `off` is in units in the last place."""

    wrt: tuple[str, ...]
    at: tuple[float, ...]
    how: tuple[str, str]
    got: float
    want: float
    off: float
    condition: float


def rounded_exponent(program: Program, at: Mapping[str, float], wrt: Sequence[str]) -> float:
    """What the rounding of y - m, beside a small y, changes in a derivative of dpow(x, y, m, n), in units of its value."""
    e = program.equations[-1]
    if e.op.name != "dpow" or abs(at["x1"]) >= 1:
        return 0.0
    m = e.args[2]
    assert isinstance(m, Lit)
    return (m.value + wrt.count("x0")) * abs(math.log(at["x0"]))


def beyond(op: Primitive, program: Program, at: Sequence[Mapping[str, float]], ways: Sequence[tuple[str, str]]) -> Iterator[Miss]:
    """The derivatives of a program of one operation up to ORDER that are off, computed in each way: a mode and a back end.

    Where digits of the value are lost beside its zeros, as the row says, they may be.
    """
    derived = {way: gradient(program, mode=way[0], order=ORDER) for way in ways}
    wanted = {counts(program, r.wrt) for r in derived[ways[0]].results if not isinstance(r.atom, Lit)}
    known = [truths(program, x, wanted, op.pieces is not None) for x in at]
    for way, derivative in derived.items():
        for x, truth, got in zip(at, known, values(derivative, at, way[1]), strict=True):
            for r in derivative.results:
                d, z = truth.get(counts(program, r.wrt)), got[r.name]
                lost = (op.ulps or 0.0) * max(1.0, *map(abs, x.values())) if op.absolute and not r.wrt else 0.0
                lost += rounded_exponent(program, x, r.wrt) * float(abs(d.value)) if d is not None else 0.0
                if d is not None and d.in_range and not d.allows(z, lost):
                    yield Miss(r.wrt, tuple(x.values()), way, z, float(d.value), d.off(z), d.condition)
