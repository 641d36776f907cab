"""Programs with tensors under the same methods: at each point they are written out as programs of numbers.

What is written out are the program itself and its derivatives as forward and reverse mode give them for tensors, at the sizes and
integers of the point (adcli.lang.evaluate.recording). So an entry is the derivative of an element of an output by an element of
an input, and every method looks at it as it looks at the entries of a program of numbers. Native code is that of the tensors.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np

from adcli.check.against import AgainstArrays
from adcli.check.directions import DirectionalCheck
from adcli.check.methods import Check, agreeing, in_precision
from adcli.check.subject import Derived, EntryKey, Native, Seen
from adcli.check.sweeps import TensorDerivatives, hot
from adcli.check.tally import NO_DIGIT, Tally, joined
from adcli.codegen.nests.runtime import TensorKernel
from adcli.codegen.rows.expand import expand
from adcli.codegen.rows.native_arithmetic import NATIVE, native_arithmetic
from adcli.input.points import Point
from adcli.input.sampled_tensors import draw
from adcli.lang.analyse.differences import sided
from adcli.lang.analyse.rounding import Rounding
from adcli.lang.analyse.wrong_rules import Culprit
from adcli.lang.derive.derivatives import partial_name
from adcli.lang.evaluate import evaluate
from adcli.lang.evaluate.recording import NumberOnTape, NumberTape, TooLong, atom_of, elements, written_out
from adcli.lang.evaluate.unfolding import length
from adcli.lang.ir import Atom, Param, Program, Result
from adcli.lang.ir.errors import plural
from adcli.lang.ir.names import tensor_of
from adcli.lang.ir.precision import DOUBLE, Precision
from adcli.lang.passes.simplify import simplify
from adcli.lang.passes.zero_seeds import drop_zero_seeds
from adcli.lang.sizes.binding import bind, number

MOST_WRITTEN = 150_000
"""Operations that a program and its derivatives are written out to at a point."""
TWICE_UP_TO = 8_000
"""Operations of a program and its tangents up to which second tangents are written out."""
AT_ALL_POINTS = 8_000
"""Operations of the programs that are written out at all points together, and entries that are looked at there; one point is
looked at in any case."""


HELD_BY_HELD = 2
"""So many times the errors of what `stop` holds are carried into others that depend on it."""
FEWEST = 6
"""Elements of inputs, and of outputs, that are looked at one by one at least."""


class WrittenOut:
    """The programs of numbers that a program with tensors and its derivatives are at a point. `at` has its elements. Whole
    numbers and ends of loops are those of a `precision`."""

    def __init__(self, of: TensorDerivatives, at: Point, precision: Precision = DOUBLE) -> None:
        self.of, self.given = of, {p.name: at[p.name] for p in of.primal.params}
        self.sizes = bind(of.primal, {n: np.shape(x) for n, x in self.given.items()}, self.given)
        self.tape = NumberTape(MOST_WRITTEN, numbers=native_arithmetic(precision))
        self.known_errors = dict[Precision, dict[str, float]]()
        self.numbers = self.tape.inputs(of.primal.params, self.given)
        values = written_out(self.tape, of.primal, self.numbers)
        self.values = {n: x for each in values.values() for n, x in each.items()}
        self.size = len(self.tape.equations)
        parts = [self.derivative(p) for p in (of.tangents, of.adjoints)]
        parts += [self.derivative(of.tangents_twice)] if len(self.tape.equations) <= TWICE_UP_TO else []
        seeds = {p.name for _, some in parts for p in some}
        self.params = tuple(p for p in self.tape.params if p.name not in seeds)
        self.at = {p.name: self.tape.at[p.name] for p in self.params}
        self.primal = replace(self.program(named(values)), source=of.primal.source)
        self.tangents, self.adjoints, *twice = (self.program(results, seeds) for results, seeds in parts)
        self.tangents_twice = twice[0] if twice else None
        self.wrt = [n for p in of.primal.params if p.name in of.wrt for n in elements(p.name, self.numbers[p.name])]

    def errors(self, precision: Precision) -> dict[str, float]:
        """What rounding in a precision may have done to the values that a `stop` holds, which are inputs here."""
        if precision not in self.known_errors:
            self.known_errors[precision] = self.errors_of_held(precision)
        return self.known_errors[precision]

    def errors_of_held(self, precision: Precision) -> dict[str, float]:
        """The same, found by going through what leads to them."""
        found, held = dict[str, float](), self.tape.held
        for _ in range(HELD_BY_HELD if held else 0):
            machine = expand(self.program(held))
            rounding = Rounding(machine, self.at, any_order=True, errors=found, precision=precision, arithmetic=NATIVE)
            found = {r.name: rounding.of(r.atom)[1] for r in machine.results}
        return found

    def derivative(self, program: Program) -> tuple[list[Result], list[Param]]:
        """The results of a derivative on the tape, and the seeds that it has, an input for each element."""
        first, seeds = len(self.tape.params), program.params[len(self.of.primal.params):]
        numbers = {p.name: self.tape.input(p, np.ones([number(x, self.sizes) for x in p.var.shape])) for p in seeds}
        made = self.tape.params[first:]
        return named(written_out(self.tape, program, {**self.numbers, **numbers})), made

    def program(self, results: Sequence[Result], seeds: Sequence[Param] = ()) -> Program:
        """What is on the tape, with the inputs and some seeds."""
        return simplify(self.tape.program(results, (*self.params, *seeds)))

    def entries(self, mode: str, of: Sequence[str], wrt: Sequence[str]) -> Program:
        """The elements `of` outputs and their derivatives by elements of inputs, a sweep for each element of the one or the
        other."""
        sweep = drop_zero_seeds(self.tangents if mode == "forward" else self.adjoints)
        inputs = {p.name: NumberOnTape(p.var, self.at[p.name]) for p in self.params}
        atoms: dict[tuple[str, str], Atom] = {}
        for one in wrt if mode == "forward" else of:
            seeds = {p.name: self.tape.constant(float(p.seed == one)) for p in sweep.params if p.seed}
            found = list(evaluate(sweep, {**inputs, **seeds}, self.tape.arithmetic).values())[len(self.values):]
            made = [atom_of(self.tape, x) for x in found]
            atoms.update({(v, one): x for v, x in zip(self.values, made, strict=True)} if mode == "forward" else
                         {(one, x): a for x, a in zip(self.wrt, made, strict=True)})
        results = [*(Result(n, self.values[n]) for n in of),
                   *(Result(partial_name(v, (x,)), atoms[v, x], v, (x,)) for v in of for x in wrt)]
        return self.program(results)

    def natively(self, of: Sequence[str], wrt: Sequence[str], back: TensorKernel,
                 ahead: TensorKernel) -> tuple[list[dict[EntryKey, float]], int]:
        """The same from native code, in reverse mode and in forward mode, and the status."""
        levels, forward, backward = list[int](), dict[EntryKey, float](), dict[EntryKey, float]()
        for v in of:
            values, found, level = self.swept(back, v)
            levels.append(level)
            backward.update({(v, (x,)): y for x, y in zip(self.wrt, found, strict=True) if x in wrt})
        for x in wrt:
            values, found, level = self.swept(ahead, x)
            forward.update({(v, (x,)): y for v, y in zip(self.values, found, strict=True) if v in of})
        backward.update({(v, ()): values[v] for v in of})
        forward.update({(v, ()): values[v] for v in of})
        return [backward, forward], max(levels)

    def swept(self, kernel: TensorKernel, one: str) -> tuple[dict[str, float], list[float], int]:
        """The values, the derivatives and the status that a kernel gives for a seed of one element."""
        results = kernel.program.results
        found = kernel({**self.given, **hot(kernel.program, self.sizes, one)})
        own = len(self.of.primal.results)
        values = {n: float(x) for r in results[:own] for n, x in elements(r.name, found[r.name]).items()}
        derivatives = [float(x) for r in results[own:-1] for x in elements(r.name, found[r.name]).values()]
        return values, derivatives, int(found[results[-1].name])


@dataclass(kw_only=True)
class ElementCheck(Check):
    """The methods at one point of a program with tensors. `decided` is what is written out as code of the precision decides it,
    where that may be other elements or steps."""

    written: WrittenOut
    decided: WrittenOut | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.order = 1

    @property
    def effort(self) -> int:
        """Operations that are written out, and entries that are looked at."""
        return len(self.written.tape.equations) + len(self.some_wrt) * len(self.some_of)

    def _some(self, names: list[str], most: int) -> list[str]:
        """Some of these elements, of every tensor at least one."""
        kept = set(super()._some(names, max(most, FEWEST)))
        for _, each in groupby(names, tensor_of):
            if kept.isdisjoint(some := list(each)):
                kept.add(self.random.choice(some))
        return [n for n in names if n in kept]

    @cached_property
    def forward(self) -> Derived:
        return self.derived("forward")

    @cached_property
    def reverse(self) -> Derived:
        return self.derived("reverse")

    def derived(self, mode: str) -> Derived:
        """The entries by one mode; native code of tensors has an order of its own for sums."""
        found = Derived.of(self.written.entries(mode, self.some_of, self.some_wrt))
        return replace(found, any_order=True, errors=self.written.errors)

    @cached_property
    def tangents(self) -> Program:
        return self.written.tangents

    @cached_property
    def adjoints(self) -> Program:
        return self.written.adjoints

    @cached_property
    def tangents_twice(self) -> Program | None:
        return self.written.tangents_twice

    @cached_property
    def back(self) -> Native:
        """Values, and the side of every decision."""
        return Native(sided(self.chosen))

    def natively(self, points: Sequence[Point]) -> Iterator[tuple[list[dict[EntryKey, float]], int]]:
        for _ in points:
            yield self.written.natively(self.some_of, self.some_wrt, self.written.of.back, self.written.of.ahead)

    def in_singles(self, seen: Sequence[Seen]) -> list[Tally]:
        if self.decided is None:
            return super().in_singles(seen)
        check = replace(self, written=self.decided, primal=self.decided.primal, decided=None)
        check.some_of, check.some_wrt, at = self.some_of, self.some_wrt, self.decided.at
        return check.in_singles([replace(s, at=at, forward=check.forward.bounded(at), reverse=check.reverse.bounded(at))
                                 for s in seen])

    def natively_in(self, points: Sequence[Point], precision: Precision) -> Iterator[list[dict[EntryKey, float]]]:
        for _ in points:
            yield self.written.natively(self.some_of, self.some_wrt, *self.written.of.sweeps_in_precision)[0]


def whole_name(v: str, x: str) -> str:
    """The derivative that an entry is an element of."""
    return partial_name(tensor_of(v), (tensor_of(x),))


@dataclass
class TensorCheck:
    """The methods at points of a program with tensors, one after another, and what all of them have found."""

    primal: Program
    wrt: list[str]
    seed: int = 0
    everything: bool = False
    agreed: float = 1e-19
    precision: Precision = DOUBLE
    checks: list[ElementCheck | DirectionalCheck] = field(default_factory=list)
    against: AgainstArrays | None = None

    def __post_init__(self) -> None:
        self.tensors = TensorDerivatives(simplify(self.primal), self.wrt, self.precision)

    def finite(self, points: Sequence[Point]) -> list[list[bool]]:
        """For every point, which of its inputs and outputs are finite in all elements."""
        return [self.tensors.finite(at) for at in points]

    def run(self, points: Sequence[Point]) -> None:
        """Look at as many of the points as there is time for."""
        left = AT_ALL_POINTS
        if self.against is not None:   # first, since there may be nothing to call
            self.against.ask([p.name for p in self.primal.params], points)
        for k, at in enumerate(points):
            check = self.at_point(at, self.seed + k)
            self.checks.append(check)
            left -= check.effort
            if left < 0 and not self.everything:
                break

    def at_point(self, at: Point, seed: int) -> ElementCheck | DirectionalCheck:
        """What all methods find at a point: of single elements, or along directions where the point is too large for that."""
        check: ElementCheck | DirectionalCheck
        operations = length(self.tensors.primal, at)
        try:
            if operations > MOST_WRITTEN:   # of the program alone
                raise TooLong
            written = WrittenOut(self.tensors, at)
            twice = self.precision is not DOUBLE and self.tensors.decisions is not None
            decided = WrittenOut(self.tensors, at, self.precision) if twice else None
        except TooLong:
            check = DirectionalCheck(self.tensors, at, seed, operations)
            check.run()
            if self.against is not None:
                self.against.pass_over()
            return check
        check = ElementCheck(written.primal, written.wrt, seed, self.everything, self.precision, self.agreed, self.against,
                             written=written, decided=decided)
        check.run([written.at])
        self.measure(check, at, seed, operations)
        return check

    def measure(self, check: ElementCheck, at: Point, seed: int, operations: int) -> None:
        """Where bounds of rounding leave no digit to code of the precision, what it does is measured, as of large points."""
        for k, t in enumerate(check.tallies):
            if t.method == in_precision(self.precision) and not t.compared and t.skipped[NO_DIGIT]:
                (found,) = DirectionalCheck(self.tensors, at, seed, operations).in_singles()
                found.note = f"along random directions: {NO_DIGIT} in single elements" if found.compared else None
                check.tallies[k] = found if found.compared else t

    @property
    def looked_at(self) -> int:
        """At how many points."""
        return len(self.checks)

    @property
    def chosen(self) -> Program:
        return self.tensors.primal

    @property
    def by_element(self) -> list[ElementCheck]:
        """The points whose elements are looked at."""
        return [c for c in self.checks if isinstance(c, ElementCheck)]

    @property
    def too_large(self) -> bool:
        """Whether a point was too large for that."""
        return len(self.by_element) < len(self.checks)

    @property
    def whole(self) -> bool:
        """Whether every entry is looked at."""
        return not self.too_large and all(c.whole for c in self.by_element)

    def draw(self, seed: int) -> Iterator[Point]:
        """Points without end."""
        return draw(self.tensors.primal, seed)

    def entries(self, order: int | None = None) -> list[EntryKey]:
        """The entries that are looked at, of all points."""
        return [key for c in self.by_element for key in c.entries(order)]

    def coverage(self) -> str:
        """Which entries are looked at, in words."""
        if self.too_large:
            most = max(c.effort for c in self.checks)
            return f"along random directions, every output by every input; {most:,} operations are too many for single elements"
        found, there = Counter[str](), Counter[str]()
        for c in self.by_element:
            found.update(whole_name(v, x) for v in c.some_of for x in c.some_wrt)
            there.update(whole_name(r.name, x) for r in c.primal.results for x in c.wrt)
        points = f" at {plural(self.looked_at, 'point')}" if self.looked_at > 1 else ""
        if self.whole:
            return plural(found.total(), "first derivative") + points
        parts = ", ".join(f"{found[name]:,} of {there[name]:,} of {name}" for name in there)
        return f"{found.total():,} of {there.total():,} first derivatives{points}, drawn by seed {self.seed}: {parts};" \
            " --all looks at every one, and products and remainders use all"

    @cached_property
    def tallies(self) -> list[Tally]:
        """The figures of the methods, those of all points together."""
        theirs = [] if self.against is None else [self.against.tally]
        each = [t for c in self.checks for t in c.tallies if t not in theirs]
        return [*(joined([t for t in each if t.method == name]) for name in dict.fromkeys(t.method for t in each)), *theirs]

    @property
    def failed(self) -> bool:
        return any(t.failed for t in self.tallies)

    @property
    def agrees(self) -> bool:
        """Whether something was compared, by every method that was asked for, and nothing failed."""
        return agreeing(self)

    @property
    def misjudged(self) -> list[Any]:
        """The operations whose status is wrong."""
        return [found for c in self.by_element for found in c.misjudged]

    def culprit(self, at: Point) -> Culprit | None:
        """The operation whose rule is wrong at a point that was looked at."""
        check = next((c for c in self.by_element if c.written.at == at), None)
        return None if check is None else check.culprit(at)


def named(found: Mapping[str, Mapping[str, Atom]]) -> list[Result]:
    """The elements of results as results."""
    return [Result(name, x) for each in found.values() for name, x in each.items()]


AnyCheck = Check | TensorCheck
