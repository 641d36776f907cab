"""Programs with tensors as programs of scalars: at each point they are written out, with their derivatives.

What is written out are the program itself and its derivatives as forward and reverse mode give them for tensors, at the sizes and
integers of the point (adcli.lang.evaluate.recording). So an entry is the derivative of an element of an output by an element of
an input, and every method looks at it as it looks at the entries of a program of scalars. Native code is that of the tensors.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np

from adcli.check.subject import Derived, Entries, Seen, Subject
from adcli.codegen.modules.runtime import TensorKernel
from adcli.codegen.rows.expand import expand
from adcli.codegen.rows.native_arithmetic import NATIVE, native_arithmetic
from adcli.input.points import Point
from adcli.lang.analyse.rounding import ANY_ORDER, Bounded, Rounding
from adcli.lang.derive.derivatives import partial_name
from adcli.lang.evaluate import evaluate
from adcli.lang.evaluate.recording import NumberOnTape, NumberTape, atom_of, element, elements, written_out
from adcli.lang.ir import Atom, Param, Program, Result
from adcli.lang.ir.names import tensor_of
from adcli.lang.operations.activity import needed_values
from adcli.lang.operations.precision import DOUBLE, Precision
from adcli.lang.operations.recurrence import ended_by_values
from adcli.lang.passes.pipeline import adjoint_program, adjoints, tangent_program, tangents
from adcli.lang.passes.status import with_status
from adcli.lang.passes.zero_seeds import drop_zero_seeds
from adcli.lang.simplify.simplify import simplify
from adcli.lang.sizes.binding import bind, number, shapes
from adcli.task.native import native

MOST_WRITTEN = 150_000
"""Operations that a program and its derivatives are written out to at a point."""
TWICE_UP_TO = 8_000
"""Operations of a program and its tangents up to which second tangents are written out."""
HELD_BY_HELD = 2
"""So many times the errors of what `stop` holds are carried into others that depend on it."""
FEWEST = 6
"""ElementSubject of inputs, and of outputs, that are looked at one by one at least."""


@dataclass
class TensorDerivatives:
    """A program of any rank, what it is differentiated by, and the native code of its derivatives for all points, in doubles and
    in another precision that it is looked at in."""

    primal: Program
    wrt: list[str]
    precision: Precision = DOUBLE

    @cached_property
    def tangents(self) -> Program:
        return tangents(self.primal, self.wrt)

    @cached_property
    def adjoints(self) -> Program:
        return adjoints(self.primal, self.wrt)

    @cached_property
    def tangents_twice(self) -> Program:
        return tangent_program(self.tangents, self.wrt)

    @cached_property
    def ahead(self) -> TensorKernel:
        """Values, tangents along a direction, and the status."""
        return self.coded(tangent_program)

    @cached_property
    def back(self) -> TensorKernel:
        """Values, adjoints for weights of the outputs, and the status."""
        return self.coded(adjoint_program)

    @cached_property
    def sweeps_in_precision(self) -> tuple[TensorKernel, TensorKernel]:
        """`back` and `ahead` in the other precision."""
        return self.coded(adjoint_program, self.precision), self.coded(tangent_program, self.precision)

    def coded(self, sweep: Callable[[Program, list[str]], Program], precision: Precision = DOUBLE) -> TensorKernel:
        """Native code of a sweep, with the status."""
        return native(with_status(sweep(self.primal, self.wrt), self.primal, self.wrt), precision=precision.name)

    @cached_property
    def decisions(self) -> Program | None:
        """Program of the whole numbers and conditions that decide which elements are read and where loops end; None without
        any."""
        ends = [e.outs[e.op.until or 0] for e in ended_by_values(self.primal.equations)]
        found = [*(v for e in self.primal.equations for v in e.outs if v.whole), *ends]
        return replace(self.primal, results=tuple([Result(f"decision {k}", v) for k, v in enumerate(found)])) if found else None

    def decided_alike(self, at: Point) -> bool:
        """Test that code in the other precision decides alike."""
        if self.decisions is None:
            return True
        first, second = (native(self.decisions, precision=p.name)(at) for p in (DOUBLE, self.precision))
        return all(np.array_equal(first[name], second[name], equal_nan=True) for name in first)

    def finite(self, at: Point) -> list[bool]:
        """Finiteness of the inputs that outputs read, then of the outputs, in all elements; an output without any is not.
        AdError where shapes or subscripts do not fit."""
        needed = needed_values(self.primal, [r.name for r in self.primal.results])
        inputs = [bool(np.isfinite(at[p.name]).all()) for p in self.primal.params if p.var in needed]
        sizes = bind(self.primal, {n: np.shape(x) for n, x in at.items()}, at)
        found = self.back({**at, **hot(self.back.program, sizes, "")})
        return [*inputs, *(bool(np.size(found[r.name]) and np.isfinite(found[r.name]).all()) for r in self.primal.results)]


def hot(program: Program, sizes: Mapping[str, int], one: str) -> dict[str, Any]:
    """Seeds that are 1 at one element, and 0 elsewhere. AdError where a value would have less than no elements."""
    found = shapes(program, sizes)
    seeds = {p.name: np.zeros(found[p.var]) for p in program.params if p.seed}
    for p in program.params:
        if p.seed:
            for place in np.ndindex(seeds[p.name].shape):
                seeds[p.name][place] = element(p.seed, place) == one
    return seeds


class ElementSubject(Subject):
    """The elements of a program at a point, `at`, as a program of scalars. Whole numbers and ends of loops are those of the
    precision `decides`. TooLong where it comes to too many operations."""

    def __init__(self, of: TensorDerivatives, at: Point, seed: int = 0, everything: bool = False, agreed: float = 1e-19,
                 decides: Precision = DOUBLE) -> None:
        self.of, self.given = of, {p.name: at[p.name] for p in of.primal.params}
        self.sizes_bound = bind(of.primal, {n: np.shape(x) for n, x in self.given.items()}, self.given)
        self.tape = NumberTape(MOST_WRITTEN, numbers=native_arithmetic(decides))
        self.known_errors = dict[Precision, dict[str, float]]()
        self.numbers = self.tape.inputs(of.primal.params, self.given)
        values = written_out(self.tape, of.primal, self.numbers)
        self.atoms = {n: x for each in values.values() for n, x in each.items()}
        parts = [self.derivative(p) for p in (of.tangents, of.adjoints)]
        parts += [self.derivative(of.tangents_twice)] if len(self.tape.equations) <= TWICE_UP_TO else []
        seeds = {p.name for _, some in parts for p in some}
        self.params = tuple(p for p in self.tape.params if p.name not in seeds)
        self.at = {p.name: self.tape.at[p.name] for p in self.params}
        wrt = [n for p in of.primal.params if p.name in of.wrt for n in elements(p.name, self.numbers[p.name])]
        primal = replace(self.program(named(values)), source=of.primal.source)
        super().__init__(primal, wrt, seed, everything, of.precision, agreed)
        self.order = 1
        self.tangents, self.adjoints, *twice = (self.program(results, seeds) for results, seeds in parts)
        self.tangents_twice = twice[0] if twice else None
        self.decided: ElementSubject | None = None
        if of.precision is not DOUBLE and decides is DOUBLE and of.decisions is not None:
            self.decided = ElementSubject(of, at, seed, everything, agreed, of.precision)
            self.decided.some_of, self.decided.some_wrt = self.some_of, self.some_wrt

    @property
    def effort(self) -> int:
        """Operations that are written out, and entries that are looked at."""
        return len(self.tape.equations) + len(self.some_wrt) * len(self.some_of)

    def _some(self, names: list[str], most: int) -> list[str]:
        """Some of these elements, of every tensor at least one."""
        kept = set(super()._some(names, max(most, FEWEST)))
        for _, each in groupby(names, tensor_of):
            if kept.isdisjoint(some := list(each)):
                kept.add(self.random.choice(some))
        return [n for n in names if n in kept]

    # ---------------------------------------------------------------- what is on the tape

    def derivative(self, program: Program) -> tuple[list[Result], list[Param]]:
        """The results of a derivative on the tape, and the seeds that it has, an input for each element."""
        first, seeds = len(self.tape.params), program.params[len(self.of.primal.params):]
        ones = {p.name: self.tape.input(p, np.ones([number(x, self.sizes_bound) for x in p.var.shape])) for p in seeds}
        made = self.tape.params[first:]
        return named(written_out(self.tape, program, {**self.numbers, **ones})), made

    def program(self, results: Sequence[Result], seeds: Sequence[Param] = ()) -> Program:
        """Program on the tape, with the inputs and some seeds."""
        return simplify(self.tape.program(results, (*self.params, *seeds)))

    def derived(self, mode: str) -> Derived:
        """The entries by one mode, a sweep for each element; native code of tensors has an order of its own for sums."""
        forward, of, wrt = mode == "forward", self.some_of, self.some_wrt
        sweep = drop_zero_seeds(self.tangents if forward else self.adjoints)
        inputs = {p.name: NumberOnTape(p.var, self.at[p.name]) for p in self.params}
        atoms: dict[tuple[str, str], Atom] = {}
        for one in wrt if forward else of:
            seeds = {p.name: self.tape.constant(float(p.seed == one)) for p in sweep.params if p.seed}
            found = list(evaluate(sweep, {**inputs, **seeds}, self.tape.arithmetic).values())[len(self.atoms):]
            made = [atom_of(self.tape, x) for x in found]
            atoms.update({(v, one): x for v, x in zip(self.atoms, made, strict=True)} if forward else
                         {(one, x): a for x, a in zip(self.wrt, made, strict=True)})
        results = [*(Result(n, self.atoms[n]) for n in of),
                   *(Result(partial_name(v, (x,)), atoms[v, x], v, (x,)) for v in of for x in wrt)]
        return Derived.of(self.program(results), hold=ANY_ORDER, errors=self.errors)

    def errors(self, precision: Precision) -> dict[str, float]:
        """Rounding errors, in a precision, of the values that a `stop` holds, which are inputs here: bounds from the program
        that computes them."""
        found = dict[str, float]()
        if precision not in self.known_errors:
            for _ in range(HELD_BY_HELD if self.tape.held else 0):
                machine = expand(self.program(self.tape.held))
                rounding = Rounding(machine, self.at, ANY_ORDER, errors=found, precision=precision, arithmetic=NATIVE)
                found = {r.name: rounding.of(r.atom)[1] for r in machine.results}
            self.known_errors[precision] = found
        return self.known_errors[precision]

    # ---------------------------------------------------------------- native code

    def natively(self, points: Sequence[Point]) -> Iterator[tuple[list[Entries], int]]:
        for _ in points:
            yield self.swept_all(self.of.back, self.of.ahead)

    def natively_in(self, points: Sequence[Point]) -> Iterator[list[Entries]]:
        for _ in points:
            yield self.swept_all(*self.of.sweeps_in_precision)[0]

    def in_precision(self, seen: Sequence[Seen]) -> Iterator[tuple[Seen, Entries, dict[Any, Bounded], dict[Any, Bounded]]]:
        if (other := self.decided) is None:
            return super().in_precision(seen)
        return other.in_precision([replace(s, at=other.at, forward=other.forward.bounded(other.at),
                                           reverse=other.reverse.bounded(other.at)) for s in seen])

    def swept_all(self, back: TensorKernel, ahead: TensorKernel) -> tuple[list[Entries], int]:
        """The entries from two kernels, in reverse mode and in forward mode, and the status."""
        levels, forward, backward = list[int](), Entries(), Entries()
        for v in self.some_of:
            values, found, level = self.swept(back, v)
            levels.append(level)
            backward.update({(v, (x,)): y for x, y in zip(self.wrt, found, strict=True) if x in self.some_wrt})
        for x in self.some_wrt:
            values, found, _ = self.swept(ahead, x)
            forward.update({(v, (x,)): y for v, y in zip(self.atoms, found, strict=True) if v in self.some_of})
        own: Entries = {(v, ()): values[v] for v in self.some_of}
        return [{**backward, **own}, {**forward, **own}], max(levels)

    def swept(self, kernel: TensorKernel, one: str) -> tuple[dict[str, float], list[float], int]:
        """The values, the derivatives and the status that a kernel gives for a seed of one element."""
        results = kernel.program.results
        found = kernel({**self.given, **hot(kernel.program, self.sizes_bound, one)})
        own = len(self.of.primal.results)
        values = {n: float(x) for r in results[:own] for n, x in elements(r.name, found[r.name]).items()}
        derivatives = [float(x) for r in results[own:-1] for x in elements(r.name, found[r.name]).values()]
        return values, derivatives, int(found[results[-1].name])


def named(found: Mapping[str, Mapping[str, Atom]]) -> list[Result]:
    """The elements of results as results."""
    return [Result(name, x) for each in found.values() for name, x in each.items()]
