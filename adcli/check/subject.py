"""The programs that a check of derivatives looks at, and what they give at a point: made once, for every method.

Where a program is long, some inputs and outputs are drawn, and their entries alone are looked at one by one.
"""
from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec
from typing import TypeVar

from adcli.check.tally import Tally
from adcli.codegen.machine.kernel import run
from adcli.codegen.rows.compiled import compile_program
from adcli.codegen.rows.expand import expand, for_machine
from adcli.codegen.rows.native_arithmetic import NATIVE
from adcli.input.sampling import Point, draw
from adcli.lang.analyse.differences import masked, scale, sided, stencil
from adcli.lang.analyse.local_scale import exact_scale, ladder, local_scale
from adcli.lang.analyse.numeric_sweeps import dependent
from adcli.lang.analyse.rounding import NO_ERRORS, ULP, Bounded, Rounding
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import every_value
from adcli.lang.ir import LEVELS, SMOOTH, Equation, Param, Program
from adcli.lang.ir.errors import plural
from adcli.lang.ir.names import Names
from adcli.lang.ir.precision import DOUBLE, Precision
from adcli.lang.ir.primitives import TABLE
from adcli.lang.passes.pipeline import adjoints, tangent_program, tangents
from adcli.lang.passes.simplify import simplify
from adcli.lang.passes.status import with_status

Job = TypeVar("Job")
STOP = TABLE["stop"]
EntryKey = tuple[str, tuple[str, ...]]
"""An entry: the output, and the inputs differentiated with respect to."""

MARGIN = 2.0
"""The error bound is of first order; so many times it is allowed."""
MANY_EQUATIONS = 30_000
"""Equations of a derivative program before entries are sampled."""
SECOND = 20_000
"""Estimated equations of the second derivatives before they are left to the Taylor remainder."""


def held(program: Program, points: Sequence[Point]) -> tuple[Program, list[Point]]:
    """The program in which what each `stop` holds is an input, and the points with its value there: what its derivative is to
    methods that know no rule. The program itself where it has none."""
    stops = [e for e in program.equations if e.op is STOP]
    if not stops:
        return program, [*points]
    names = Names.of(program)
    params = tuple(Param(e.outs[0], names.fresh("stop"), active=False) for e in stops)
    others = tuple(e for e in program.equations if e.op is not STOP)
    made = [{**at, **{p.name: values[p.var] for p in params}} for at in points for values in [every_value(program, at, NATIVE)]]
    return replace(program, params=(*program.params, *params), equations=others), made


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
    """A derivative program by one mode, with its entries and its form in operations of a machine; `any_order` where native code
    adds up otherwise, `errors` of inputs where it computes in a precision."""

    program: Program
    machine: Program
    keys: list[EntryKey]
    any_order: bool = False
    errors: Callable[[Precision], Mapping[str, float]] = lambda precision: NO_ERRORS

    @classmethod
    def of(cls, program: Program) -> Derived:
        keys = [(r.of or r.name, r.wrt) for r in program.results]
        return cls(program, expand(program), keys)

    def bounded(self, at: Point, precision: Precision = DOUBLE) -> dict[EntryKey, Bounded]:
        """Every entry by the reference evaluator, with its error bound where it is computed in this precision."""
        rounding = Rounding(self.machine, at, any_order=self.any_order, errors=self.errors(precision), precision=precision,
                            arithmetic=NATIVE)
        return {key: rounding.of(r.atom) for key, r in zip(self.keys, self.machine.results, strict=True)}


@dataclass
class Seen:
    """A point with its status, the values with error bounds that hold near it too, and every entry there."""

    at: Point
    level: int
    values: dict[str, Bounded]
    forward: dict[EntryKey, Bounded]
    reverse: dict[EntryKey, Bounded]
    native: list[dict[EntryKey, float]]
    strange: list[tuple[Equation, float, float, float]]
    scales: dict[str, dict[str, float | None]] = field(default_factory=dict)


@dataclass
class FirstSweeps:
    """A program and what it is differentiated by, with its derivatives as the two modes give them."""

    primal: Program
    wrt: list[str]

    @cached_property
    def tangents(self) -> Program:
        """The tangents of all outputs along a direction of all inputs."""
        return tangents(self.primal, self.wrt)

    @cached_property
    def adjoints(self) -> Program:
        """The adjoints of all inputs for weights of all outputs."""
        return adjoints(self.primal, self.wrt)


@dataclass
class Subject(FirstSweeps):
    """The derivatives of `primal` (with the outputs asked for) with respect to `wrt`, and what is computed of them.

    Where a program is long, `some_wrt` and `some_of` are the inputs and outputs whose entries are looked at one by one;
    not if `everything` is to be. The `precision` is one in which native code is looked at beside that in doubles.
    """

    seed: int = 0
    everything: bool = False
    precision: Precision = DOUBLE
    outputs_reached: dict[str, set[str]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.primal = simplify(self.primal)
        self.random = random.Random(f"adcli check {self.seed}")
        size = max(1, len(expand(self.primal).equations))
        of = [r.name for r in self.primal.results]
        self.some_wrt = self._some(self.wrt, MANY_EQUATIONS // (2 * size))
        self.some_of = self._some(of, MANY_EQUATIONS // (4 * size))
        n, m = len(self.some_wrt), len(self.some_of)
        self.order = 2 if self.whole and 6 * size * n * (n + 1) * m <= SECOND else 1

    def _some(self, names: list[str], most: int) -> list[str]:
        if self.everything or len(names) <= max(1, most):
            return names
        chosen = set(self.random.sample(names, max(1, most)))
        return [n for n in names if n in chosen]

    @property
    def whole(self) -> bool:
        """Whether every entry is looked at."""
        return len(self.some_wrt) == len(self.wrt) and len(self.some_of) == len(self.primal.results)

    def coverage(self) -> str:
        """Which entries are looked at, in words."""
        first, second = (len(self.entries(order)) for order in (1, 2))
        found = f"{first} first and {second} second derivatives" if second else plural(first, "first derivative")
        if self.whole:
            return found
        inputs, outputs = f"{len(self.some_wrt)} of {len(self.wrt)} inputs", \
            f"{len(self.some_of)} of {len(self.primal.results)} outputs"
        return f"{found}, of {inputs} and {outputs}; products and remainders use all of them"

    # ---------------------------------------------------------------- programs, made once

    @cached_property
    def chosen(self) -> Program:
        kept = tuple(r for r in self.primal.results if r.name in self.some_of)
        return simplify(Program(self.primal.params, self.primal.equations, kept, self.primal.source))

    @cached_property
    def forward(self) -> Derived:
        return Derived.of(gradient(self.chosen, self.some_wrt, mode="forward", order=self.order))

    @cached_property
    def reverse(self) -> Derived:
        return Derived.of(gradient(self.chosen, self.some_wrt, mode="reverse", order=self.order))

    @cached_property
    def ahead(self) -> Native:
        """The values and derivatives of the chosen part of the program, in forward mode."""
        return Native(self.forward.program)

    @cached_property
    def back(self) -> Native:
        """The same in reverse mode, then the status, and the side of every decision."""
        return Native(sided(with_status(self.reverse.program, self.chosen, self.some_wrt)))

    @cached_property
    def machine(self) -> Program:
        return expand(self.chosen)

    @cached_property
    def tangents_twice(self) -> Program | None:
        """The tangents with theirs along a second direction; None where that is too long."""
        short = len(expand(self.tangents).equations) <= MANY_EQUATIONS
        return tangent_program(self.tangents, self.wrt) if short else None

    # ---------------------------------------------------------------- what they give

    def draw(self, seed: int) -> Iterator[Point]:
        """Points without end."""
        return draw(self.primal.params, seed)

    def finite(self, points: Sequence[Point]) -> list[list[bool]]:
        """For every point, which of its inputs and values are finite numbers."""
        columns = self.back(points)[:len(self.chosen.results)]
        return [[math.isfinite(x) for x in (*at.values(), *(c[i] for c in columns))] for i, at in enumerate(points)]

    def see(self, points: Sequence[Point]) -> Iterator[Seen]:
        """Every entry at every point: both modes, native and by the reference evaluator, and the status."""
        for at, (native, level) in zip(points, self.natively(points), strict=True):
            near = Rounding(self.machine, at, near=True, arithmetic=NATIVE)
            values = {r.name: near.of(r.atom) for r in self.machine.results}
            yield Seen(at, level, values, self.forward.bounded(at), self.reverse.bounded(at), native, near.strange)

    def natively(self, points: Sequence[Point]) -> Iterator[tuple[list[dict[EntryKey, float]], int]]:
        """Every entry at every point as native code has it, in reverse mode and in forward mode, and the status."""
        *columns, level, _ = self.back(points)
        ahead = self.ahead(points)
        for i in range(len(points)):
            yield [{k: c[i] for k, c in zip(d.keys, found, strict=True)}
                   for d, found in ((self.reverse, columns), (self.forward, ahead))], int(level[i])

    def natively_in(self, points: Sequence[Point], precision: Precision) -> Iterator[list[dict[EntryKey, float]]]:
        """Every entry at every point as native code of a precision has it, in reverse mode and in forward mode."""
        columns = [(d.keys, Native(d.program, precision)(points)) for d in (self.reverse, self.forward)]
        for i in range(len(points)):
            yield [{k: c[i] for k, c in zip(keys, found, strict=True)} for keys, found in columns]

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

    def sampled(self, jobs: Sequence[Job], cost: int, budget: int, tally: Tally, unit: str = "columns") -> list[Job]:
        """As many of the jobs as the budget allows, at least one, spread over all."""
        most = max(1, budget // max(1, cost))
        if self.everything or len(jobs) <= most:
            return list(jobs)
        tally.note = f"{most} of {len(jobs)} {unit}"
        return spread(self.random.sample(list(jobs), len(jobs)), most)

    def columns(self, seen: Iterable[Seen]) -> list[tuple[Seen, str]]:
        return [(s, x) for s in seen for x in self.some_wrt]

    def reached(self, x: str) -> set[str]:
        """The outputs that any path leads to from an input."""
        if x not in self.outputs_reached:
            depends = dependent(self.chosen, [x])
            self.outputs_reached[x] = {r.name for r in self.chosen.results if r.atom in depends}
        return self.outputs_reached[x]

    def scales(self, s: Seen, x: str) -> dict[str, float | None]:
        """For every output how far it goes on in one input as it begins at the point; None where nothing shows it, as where the
        next doubles are on other pieces, whatever multiple precision sees beyond them."""
        if x not in s.scales:
            size, reached = scale(s.at[x], None, None), self.reached(x)
            found = s.scales[x] = dict[str, float | None]({r.name: size for r in self.chosen.results})
            if not reached:
                return found
            steps = ladder(s.at[x])
            *columns, sides = self.back([*stencil(s.at, x, [(s.at[x] + h, s.at[x] - h) for h in steps]), s.at])
            for r, column in zip(self.chosen.results, columns, strict=False):
                if r.name in reached:
                    kept = masked(column[:-1], sides[:-1], sides[-1])
                    found[r.name] = local_scale(steps, kept[::2], kept[1::2], column[-1], MARGIN * s.values[r.name][1])
            alone = bool(steps) and sides[-1] not in (sides[0], sides[1])
            if None in found.values() and not alone and find_spec("mpmath"):
                exact = exact_scale(self.chosen, s.at, x, {n: tamed(s.values[n]) / ULP for n in found})
                found.update({n: h and min(h, size) for n, length in found.items() if length is None for h in [exact[n]]})
        return s.scales[x]

    def shown(self, s: Seen, name: str, wrt: Iterable[str]) -> bool:
        """Whether there is a length for an output in each of some inputs."""
        return name not in self.some_of or all(self.scales(s, x)[name] is not None for x in wrt)

    def length(self, s: Seen, x: str) -> float:
        """A length in one input over which all outputs go on as they begin; where nothing shows it, the size of the input."""
        known = [h for h in self.scales(s, x).values() if h is not None] if x in self.some_wrt else []
        p = self.primal.param(x)
        return min(known) if known else scale(s.at[x], p.low, p.high)

    def direction(self, s: Seen) -> dict[str, float]:
        """A random direction in which every input moves by about its own length."""
        return {x: self.length(s, x) * self.random.choice((-1, 1)) * self.random.uniform(0.5, 1) for x in self.wrt}


def evaluated(program: Program) -> int:
    """What it costs to evaluate a program, in operations: inputs are read and outputs written, too."""
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
