"""Derivatives along random directions, all from native code in doubles: for points too large to be written out.

What rounding does is measured, for no bound of it is known: the same is computed at points that differ from the given one in
the last bits (the idea of CESTAC: J. Vignes, A stochastic arithmetic for reliable scientific computation, Mathematics and
Computers in Simulation 35, 1993). Methods that need every operation by itself are left out, and the report says so.
"""
from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

import numpy as np

from adcli.check.elements import TensorDerivatives
from adcli.check.methods import MARGIN, in_precision
from adcli.check.subject import Tally
from adcli.codegen.modules.runtime import TensorKernel
from adcli.input.points import Point
from adcli.lang.analyse.rounding import ULP, Bounded
from adcli.lang.evaluate import evaluate, numpy_arithmetic
from adcli.lang.evaluate.recording import evaluations
from adcli.lang.ir import LEVELS, SMOOTH, Param, Program
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.precision import DOUBLE, Precision
from adcli.lang.operations.recurrence import with_statements
from adcli.lang.verify.differences import Quotient, extrapolated
from adcli.task.native import native

PERTURBED, LAST_BITS = 2, 2
"""So many points beside the given one, whose numbers differ from its by up to so many units in the last place."""
NOISE, ROUNDED = 32.0, 512.0
"""Rounding may do so many times what is measured, and beside so many units in the last place of the sum of all terms."""
LONGEST_STEP, HALVINGS = 2.0 ** -5, 20
"""Steps along a direction, as parts of the size of the inputs: the first, and how many there are, each half of the one before."""
RESOLVED_PART = 1e-3
"""An error bar wider than this part of an entry says nothing about it."""
MOST_EVALUATED = 20_000_000_000
"""Operations of all evaluations along directions; beyond, all inputs move together, along one."""
MOST_BY_REFERENCE = 3_000_000
"""Operations up to which the reference evaluator carries out the program too."""
MOST_ONE_BY_ONE = 20_000
"""Statements up to which it does, those of a loop at every step: each takes tens of microseconds, however small it is."""
LEFT_OUT = "left out: too many operations"
STOP = TABLE["stop"]
Arrays = Mapping[str, np.ndarray]


class DirectionalCheck:
    """The methods at one point, which has `operations`."""

    def __init__(self, of: TensorDerivatives, at: Point, seed: int, operations: int) -> None:
        self.of, self.effort, self.random = of, operations, np.random.default_rng(seed)
        self.given = {p.name: np.asarray(at[p.name]) for p in of.primal.params}
        self.numbers = {n: float(x) for n, x in self.given.items() if not x.shape}
        self.near = self.moved_a_little(DOUBLE)
        self.values = [self.value(at) for at in self.near]
        self.outputs = [r.name for r in of.primal.results]
        self.direction = {x: self.along(of.primal.param(x)) for x in of.wrt}
        self.weights = {v: self.random.uniform(-1, 1, np.shape(self.values[0][v])) for v in self.outputs}

    @cached_property
    def value(self) -> TensorKernel:
        return native(self.of.primal)

    @cached_property
    def tangents(self) -> dict[str, list[dict[str, np.ndarray]]]:
        """By input the tangents along its direction, at all points."""
        return {x: self.swept(self.of.ahead, self.direction, [x]) for x in self.of.wrt}

    def moved_a_little(self, precision: Precision) -> list[dict[str, np.ndarray]]:
        """The point, and others that differ from it in the last bits of a precision."""
        def moved(x: np.ndarray) -> np.ndarray:
            if x.dtype.kind != "f":
                return x
            return x * (1 + precision.ulp(1.0) * self.random.integers(-LAST_BITS, LAST_BITS, x.shape, endpoint=True))
        return [self.given, *({n: moved(x) for n, x in self.given.items()} for _ in range(PERTURBED))]

    def along(self, p: Param) -> np.ndarray:
        """A direction in which every element moves by about its size, and one that is 0 by about the size of the largest."""
        x = np.abs(self.given[p.name].astype(float))
        size = np.where(x > 0, x, x.max(initial=0.0) or 1.0)
        found = size * self.random.uniform(0.5, 1, x.shape) * self.random.choice((-1.0, 1.0), x.shape)
        return found.astype(self.of.precision.code).astype(float)

    def run(self) -> list[Tally]:
        """The figures of every method, also of those that are left out here."""
        tallies = self.products(), self.by_reference(), *self.in_singles(), self.differences()
        found = {t.method: t for t in tallies}
        methods = ("forward against reverse", "native against reference", in_precision(self.of.precision),
                   "multiple precision", "differences along directions", "Taylor remainder, gradient",
                   "Taylor remainder, Hessian")
        return [found.get(name) or Tally(name, note=LEFT_OUT) for name in methods if name]

    # ---------------------------------------------------------------- sweeps

    def swept(self, kernel: TensorKernel, seeds: Arrays, some: Collection[str]) -> list[dict[str, np.ndarray]]:
        """Results of a kernel at all points; of the seeds `some` are not 0."""
        given = {p.name: seeds[p.seed] * (p.seed in some) for p in kernel.program.params if p.seed}
        return [kernel({**at, **given}) for at in self.near]

    def total(self, found: Sequence[Arrays], names: Mapping[str, str], factors: Arrays) -> Bounded:
        """The inner product of results and factors, and what rounding may have done to it. `names` are the results', by those of
        their factors."""
        terms = [np.concatenate([(factors[n] * each[name]).reshape(-1) for n, name in names.items()]) for each in found]
        sums = [float(t.sum()) for t in terms]
        return sums[0], NOISE * max(abs(s - sums[0]) for s in sums[1:]) + ROUNDED * ULP * float(np.abs(terms[0]).sum())

    def derivative_names(self, program: Program, of: Sequence[str]) -> dict[str, str]:
        """The names of the derivatives in a sweep, which follow the values, by what each belongs to."""
        return dict(zip(of, [r.name for r in program.results[len(self.outputs):]], strict=False))

    # ---------------------------------------------------------------- methods

    def products(self) -> Tally:
        """⟨w, Jv⟩ against ⟨Jᵀw, v⟩ for the derivative of every output by every input."""
        tally = Tally("forward against reverse")
        ahead = self.derivative_names(self.of.ahead.program, self.outputs)
        back = self.derivative_names(self.of.back.program, self.of.wrt)
        for v in self.outputs:
            adjoints = self.swept(self.of.back, self.weights, [v])
            for x in self.of.wrt:
                left, a = self.total(self.tangents[x], {v: ahead[v]}, self.weights)
                right, b = self.total(adjoints, {x: back[x]}, self.direction)
                tally.compare(f"⟨w, d{v}_d{x}·v⟩", self.numbers, left, right, a + b)
        return tally

    def by_reference(self) -> Tally:
        """Native code against the reference evaluator with arrays: tangents and adjoints, the element that differs most."""
        tally = Tally("native against reference")
        if self.effort > MOST_BY_REFERENCE or evaluations(self.of.primal, self.given) > MOST_ONE_BY_ONE:
            tally.note = LEFT_OUT
            return tally
        for kernel, program, seeds in ((self.of.ahead, self.of.tangents, self.direction),
                                       (self.of.back, self.of.adjoints, self.weights)):
            found = self.swept(kernel, seeds, seeds)
            given = {**self.given, **{p.name: seeds[p.seed] for p in program.params if p.seed}}
            expected = evaluate(program, given, numpy_arithmetic())
            for r in program.results:
                self.compare_worst(tally, r.name, [each[r.name] for each in found], np.asarray(expected[r.name]), DOUBLE)
        return tally

    def in_singles(self) -> list[Tally]:
        """Native code in another precision against that in doubles: tangents and adjoints, the element that differs most."""
        precision = self.of.precision
        if precision is DOUBLE:
            return []
        tally, near = Tally(in_precision(precision)), self.moved_a_little(precision)
        if not self.of.decided_alike(self.given):
            tally.skip("whole numbers or ends of loops are others")
            return [tally]
        back, ahead = self.of.sweeps_in_precision
        for kernel, other, seeds in ((self.of.back, back, self.weights), (self.of.ahead, ahead, self.direction)):
            given = {p.name: seeds[p.seed] for p in kernel.program.params if p.seed}
            expected = kernel({**self.given, **given})
            found = [other({**at, **given}) for at in near]
            for r in kernel.program.results[:-1]:
                self.compare_worst(tally, r.name, [each[r.name] for each in found], expected[r.name], precision)
        return [tally]

    def compare_worst(self, tally: Tally, name: str, found: Sequence[np.ndarray], want: np.ndarray, precision: Precision) -> None:
        """Enter the element of a result that differs most, among those that are numbers; what rounding does to it is told by what
        was `found` at points near by. Below its smallest number a precision may have 0."""
        got = np.asarray(found[0], float)
        there = np.isfinite(got) & np.isfinite(want)
        if not there.all():
            tally.skip("not finite", int(there.size - there.sum()))
        got, want = got[there], want[there]
        if want.size:
            noise = max(float(np.abs(np.asarray(each, float)[there] - got).max()) for each in found[1:])
            k = int(np.argmax(np.abs(got - want)))
            allowed = NOISE * noise + ROUNDED * precision.ulp(1.0) * float(np.abs(want).max()) + precision.smallest
            tally.compare(name, self.numbers, float(got[k]), float(want[k]), allowed, int(name not in self.outputs))

    def differences(self) -> Tally:
        """Derivatives of every output along a direction of every input, against extrapolated differences."""
        tally, status = Tally("differences along directions"), self.of.ahead.program.results[-1].name
        level = max((int(found[0][status]) for found in self.tangents.values()), default=SMOOTH)
        if holds(self.of.primal):
            tally.note = "not run: stop holds values that a step moves"
        elif level != SMOOTH:
            tally.skip(f"{LEVELS[level]} at the point")
        else:
            parts = [[x] for x in self.of.wrt]
            if 2 * HALVINGS * len(parts) * self.effort > MOST_EVALUATED:
                parts, tally.note = [self.of.wrt], "all inputs move together"
            for some in parts:
                self.compare_along(tally, some)
        return tally

    def compare_along(self, tally: Tally, some: Sequence[str]) -> None:
        """Enter the derivatives of all outputs along the direction of some inputs."""
        names = self.derivative_names(self.of.ahead.program, self.outputs)
        steps = [LONGEST_STEP / 2 ** k for k in range(HALVINGS)]
        slopes = self.tangents[some[0]] if len(some) == 1 else self.swept(self.of.ahead, self.direction, some)
        above, below = ([self.projected(self.stepped(some, sign * h)) for h in steps] for sign in (1, -1))
        for v in self.outputs:
            slope, centre = self.total(slopes, {v: names[v]}, self.weights), self.total(self.values, {v: v}, self.weights)
            name = f"⟨w, d{v}_d{some[0]}·v⟩" if len(some) == 1 else f"⟨w, d{v}·v⟩"
            quotient = extrapolated([2 * h for h in steps], [x[v] for x in above], [x[v] for x in below], *centre)
            settle(tally, name, self.numbers, slope, quotient)

    def stepped(self, some: Collection[str], h: float) -> Arrays:
        """The values a step along the direction of some inputs."""
        return self.value({**self.given, **{x: self.given[x] + h * self.direction[x] for x in some}})

    def projected(self, values: Arrays) -> dict[str, float]:
        """⟨w, v⟩ for every output v."""
        return {v: float((self.weights[v] * values[v]).sum()) for v in self.outputs}


def settle(tally: Tally, name: str, at: Point, derivative: Bounded, quotient: Quotient) -> None:
    """Compare a derivative with a difference quotient where its error bar leaves anything to compare."""
    got, bound = derivative
    if quotient.problem:
        tally.skip(quotient.problem)
        return
    wide = quotient.bar > RESOLVED_PART * max(abs(got), abs(quotient.value))
    if wide and got and abs(got - quotient.value) <= quotient.bar:
        tally.skip("error bar too wide")
        return
    tally.compare(name, at, got, quotient.value, quotient.bar + MARGIN * bound)


def holds(program: Program) -> bool:
    """Test for a `stop` in a program."""
    found = with_statements(program.equations)
    return any(inner.op is STOP for e in found for inner in (e.op.inner() or (e,)))
