"""The derivatives of a program of scalars that a check looks at, and their numbers at points: made once, for every method.

Where a program is long, some inputs and outputs are drawn, and their entries alone are looked at one by one.

Results of one method: counts, reasons for missing comparisons, and the worst entry.
"""
from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from adcli.codegen.machine.kernel import run
from adcli.codegen.rows.compiled import compile_program
from adcli.codegen.rows.expand import expand, for_machine
from adcli.codegen.rows.native_arithmetic import NATIVE
from adcli.input.sampling import Point
from adcli.lang.analyse.numeric_sweeps import dependent
from adcli.lang.analyse.rounding import HERE, NEAR, NO_ERRORS, ULP, Bounded, Rounding
from adcli.lang.derive.derivatives import gradient
from adcli.lang.enclosures import precise_arithmetic
from adcli.lang.evaluate import every_value
from adcli.lang.ir import LEVELS, SMOOTH, Equation, Program
from adcli.lang.operations.precision import DOUBLE, Precision
from adcli.lang.passes.pipeline import tangent_program, tangents
from adcli.lang.passes.status import with_status
from adcli.lang.simplify.simplify import simplify
from adcli.lang.verify.differences import DIGITS, ORDERS, decided, local_scale, size_of

if TYPE_CHECKING:
    from adcli.lang.ir.errors import Span


Job = TypeVar("Job")
EntryKey = tuple[str, tuple[str, ...]]
"""An entry: the output, and the inputs differentiated with respect to."""
Entries = dict[EntryKey, float]

MANY_EQUATIONS = 30_000
"""Equations of a derivative program before entries are sampled."""
SECOND = 20_000
"""Estimated equations of the second derivatives before they are left to the Taylor remainder."""


class Native:
    """A program as native code; rows of results for points."""

    def __init__(self, program: Program, precision: Precision = DOUBLE) -> None:
        self.names = [p.name for p in program.params]
        self.kernel = compile_program(for_machine(program), precision=precision.name)

    def __call__(self, points: Sequence[Point]) -> list[list[float]]:
        """One column for each result."""
        return run(self.kernel, [[at[n] for at in points] for n in self.names], rows=len(points))


@dataclass(frozen=True)
class Derived:
    """A derivative program by one mode, with its entries and its form in operations of a machine; `hold` says where its
    error bounds hold: native code may add up otherwise. `errors` are those of inputs in a precision."""

    program: Program
    machine: Program
    keys: list[EntryKey]
    hold: int = HERE
    errors: Callable[[Precision], Mapping[str, float]] = lambda precision: NO_ERRORS

    @classmethod
    def of(cls, program: Program, **more: Any) -> Derived:
        return cls(program, expand(program), [(r.of or r.name, r.wrt) for r in program.results], **more)

    def bounded(self, at: Point, precision: Precision = DOUBLE) -> dict[EntryKey, Bounded]:
        """Every entry by the reference evaluator, with its error bound where it is computed in this precision."""
        rounding = Rounding(self.machine, at, self.hold, errors=self.errors(precision), precision=precision,
                            arithmetic=NATIVE)
        return {key: rounding.of(r.atom) for key, r in zip(self.keys, self.machine.results, strict=True)}


@dataclass
class Seen:
    """A point with its status, the values with error bounds that hold near it too, and every entry there: with error bounds by
    the reference evaluator, and `native` in reverse and in forward mode."""

    at: Point
    level: int
    values: dict[str, Bounded]
    forward: dict[EntryKey, Bounded]
    reverse: dict[EntryKey, Bounded]
    native: list[Entries]
    strange: list[tuple[Equation, float, float, float]]
    scales: dict[str, dict[str, float | None]] = field(default_factory=dict)


@dataclass
class Subject:
    """The derivatives of `primal` (with the outputs asked for) with respect to `wrt`, and what is computed of them.

    Where a program is long, `some_wrt` and `some_of` are the inputs and outputs whose entries are looked at one by one;
    not if `everything` is to be. The `precision` is one in which native code is looked at beside that in doubles; `agreed` is
    the relative difference up to which multiple precision takes an entry for settled.
    """

    primal: Program
    wrt: list[str]
    seed: int = 0
    everything: bool = False
    precision: Precision = DOUBLE
    agreed: float = 1e-19

    def __post_init__(self) -> None:
        self.primal = simplify(self.primal)
        self.random = random.Random(f"adcli check {self.seed}")
        self.seen: list[Seen] = []
        size = max(1, len(expand(self.primal).equations))
        self.some_wrt = self._some(self.wrt, MANY_EQUATIONS // (2 * size))
        self.some_of = self._some([r.name for r in self.primal.results], MANY_EQUATIONS // (4 * size))
        n, m = len(self.some_wrt), len(self.some_of)
        self.order = 2 if self.whole and 6 * size * n * (n + 1) * m <= SECOND else 1

    def _some(self, names: list[str], most: int) -> list[str]:
        if self.everything or len(names) <= max(1, most):
            return names
        chosen = set(self.random.sample(names, max(1, most)))
        return [n for n in names if n in chosen]

    @property
    def whole(self) -> bool:
        """Coverage of every entry."""
        return len(self.some_wrt) == len(self.wrt) and len(self.some_of) == len(self.primal.results)

    # ---------------------------------------------------------------- programs, made once

    @cached_property
    def chosen(self) -> Program:
        """The program of the outputs that are looked at."""
        kept = tuple(r for r in self.primal.results if r.name in self.some_of)
        return simplify(Program(self.primal.params, self.primal.equations, kept, self.primal.source))

    @cached_property
    def forward(self) -> Derived:
        return self.derived("forward")

    @cached_property
    def reverse(self) -> Derived:
        return self.derived("reverse")

    def derived(self, mode: str) -> Derived:
        """The entries by one mode."""
        return Derived.of(gradient(self.chosen, self.some_wrt, mode=mode, order=self.order))

    @cached_property
    def tangents(self) -> Program:
        """The tangents of all outputs along a direction of all inputs."""
        return tangents(self.primal, self.wrt)

    @cached_property
    def tangents_twice(self) -> Program | None:
        """The tangents with theirs along a second direction; None where that is too long."""
        short = len(expand(self.tangents).equations) <= MANY_EQUATIONS
        return tangent_program(self.tangents, self.wrt) if short else None

    @cached_property
    def machine(self) -> Program:
        return expand(self.chosen)

    @cached_property
    def ahead(self) -> Native:
        """The values and derivatives of the chosen part of the program, in forward mode."""
        return Native(self.forward.program)

    @cached_property
    def back(self) -> Native:
        """Values and derivatives in reverse mode, then the status."""
        return Native(with_status(self.reverse.program, self.chosen, self.some_wrt))

    # ---------------------------------------------------------------- their numbers at points

    def finite(self, points: Sequence[Point]) -> list[list[bool]]:
        """For every point, which of its inputs and values are finite numbers."""
        columns = self.back(points)[:len(self.chosen.results)]
        return [[math.isfinite(x) for x in (*at.values(), *(c[i] for c in columns))] for i, at in enumerate(points)]

    def see(self, points: Sequence[Point]) -> list[Seen]:
        """Every entry at every point: both modes, native and by the reference evaluator, and the status."""
        self.seen = []
        for at, (native, level) in zip(points, self.natively(points), strict=True):
            near = Rounding(self.machine, at, NEAR, arithmetic=NATIVE)
            values = {r.name: near.of(r.atom) for r in self.machine.results}
            self.seen.append(Seen(at, level, values, self.forward.bounded(at), self.reverse.bounded(at), native, near.strange))
        return self.seen

    def natively(self, points: Sequence[Point]) -> Iterator[tuple[list[Entries], int]]:
        """Every entry at every point as native code has it, in reverse mode and in forward mode, and the status."""
        *columns, level = self.back(points)
        for found, worst in zip(self.rows(columns, self.ahead(points)), level, strict=True):
            yield found, int(worst)

    def natively_in(self, points: Sequence[Point]) -> Iterable[list[Entries]]:
        """Every entry at every point as native code of the other precision has it, in reverse mode and in forward mode."""
        return self.rows(*(Native(d.program, self.precision)(points) for d in (self.reverse, self.forward)))

    def rows(self, back: Sequence[Sequence[float]], ahead: Sequence[Sequence[float]]) -> Iterator[list[Entries]]:
        """The entries of every point from columns of reverse and of forward mode."""
        for numbers in zip(zip(*back, strict=True), zip(*ahead, strict=True), strict=True):
            yield [dict(zip(d.keys, row, strict=True)) for d, row in zip((self.reverse, self.forward), numbers, strict=True)]

    def in_precision(self, seen: Sequence[Seen]) -> Iterator[tuple[Seen, Entries, dict[EntryKey, Bounded],
                                                                   dict[EntryKey, Bounded]]]:
        """For every point and mode, the entries of native code in the other precision, their bounds there, and the entries in
        doubles."""
        for s, found in zip(seen, self.natively_in([s.at for s in seen]), strict=True):
            for native, derived, doubles in zip(found, (self.reverse, self.forward), (s.reverse, s.forward), strict=True):
                yield s, native, derived.bounded(s.at, self.precision), doubles

    def name(self, key: EntryKey) -> str:
        return self.names[key] if key[1] else key[0]

    @cached_property
    def names(self) -> dict[EntryKey, str]:
        return {k: r.name for r, k in zip(self.reverse.program.results, self.reverse.keys, strict=True)}

    def entries(self, order: int | None = None) -> list[EntryKey]:
        return [k for k in self.reverse.keys if k[1] and order in (None, len(k[1]))]

    # ---------------------------------------------------------------- what a method takes of it

    def smooth(self, seen: Iterable[Seen], tally: Tally) -> Iterator[Seen]:
        """The points where the program is smooth; the others are counted with the reason."""
        for s in seen:
            if s.level == SMOOTH:
                yield s
            else:
                tally.skip(f"{LEVELS[s.level]} at the point", len(self.entries(1)))

    def sampled(self, jobs: Sequence[Job], cost: int, budget: int, tally: Tally, unit: str) -> list[Job]:
        """As many of the jobs as the budget allows, at least one, spread over all."""
        most = max(1, budget // max(1, cost))
        if self.everything or len(jobs) <= most:
            return list(jobs)
        tally.note = f"{most} of {len(jobs)} {unit}"
        return spread(self.random.sample(list(jobs), len(jobs)), most)

    @cached_property
    def outputs_reached(self) -> dict[str, set[str]]:
        """By input the outputs that any path leads to."""
        depends = {x: dependent(self.chosen, [x]) for x in self.some_wrt}
        return {x: {r.name for r in self.chosen.results if r.atom in depends[x]} for x in self.some_wrt}

    def reached(self, wrt: Iterable[str]) -> set[str]:
        """The outputs that paths lead to from all of these inputs."""
        return set.intersection(*(self.outputs_reached[x] for x in wrt))

    def sizes(self, s: Seen) -> dict[str, float]:
        """Sizes of the numbers that each value is made of."""
        return {n: tamed(bounded) / ULP for n, bounded in s.values.items()}

    def length(self, s: Seen, x: str, local: bool) -> float:
        """The length in an input that steps are parts of: its size, or one over which all outputs go on as they begin."""
        p = self.primal.param(x)
        size = size_of(s.at[x], p.low, p.high)
        known = [h for h in self.scales(s, x).values() if h is not None] if local and x in self.some_wrt else []
        return min([size, *known])

    def scales(self, s: Seen, x: str) -> dict[str, float | None]:
        """For every output how far it goes on in an input as it begins at the point; None where nothing shows it, as where
        multiple precision is on other pieces than doubles."""
        if x not in s.scales:
            s.scales[x], reached = dict.fromkeys(self.some_of, math.inf), self.outputs_reached[x]
            if reached:
                found = local_scale(self.chosen, s.at, x, self.sizes(s)) if self.same_pieces(s) else dict.fromkeys(reached)
                s.scales[x].update({n: found[n] for n in reached})
        return s.scales[x]

    def shown(self, s: Seen, name: str, wrt: Iterable[str]) -> bool:
        """Test that an output has a length in each of some inputs."""
        return name not in self.some_of or all(self.scales(s, x)[name] is not None for x in wrt)

    def same_pieces(self, s: Seen) -> bool:
        """Test that comparisons and steps come out in multiple precision as in doubles."""
        exact = precise_arithmetic(DIGITS)
        there = every_value(self.chosen, {n: exact.constant(x) for n, x in s.at.items()}, exact)
        return decided(self.chosen, every_value(self.chosen, s.at, NATIVE), NATIVE) == decided(self.chosen, there, exact)


def evaluated(program: Program) -> int:
    """Cost of evaluating a program, in operations: inputs are read and outputs written, too."""
    return len(program.params) + len(program.equations) + len(program.results)


def tamed(bounded: Bounded) -> float:
    """The error bound; where there is none, the size of the value."""
    value, bound = bounded
    return bound if bound < math.inf else abs(value)


def spread(items: Sequence[Job], most: int) -> list[Job]:
    """At most so many items, evenly."""
    if len(items) <= most:
        return list(items)
    return [items[i * len(items) // most] for i in range(most)]


# ---------------------------------------------------------------- the tally of comparisons

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
