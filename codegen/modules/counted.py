"""Calls of programs whose loops end early, with as many steps as they take: a run of the values counts these first.

The values need no step for long, so histories are rings where that can be (`adcli.codegen.nests.recurrences`); where it cannot,
they have some steps, and ever more until the loop ends in them.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
from adcli.codegen.modules.calls import PLANS
from adcli.codegen.modules.runtime import TensorKernel
from adcli.lang.ir import Program
from adcli.lang.passes.steps_taken import CountedSteps
from adcli.lang.sizes.binding import bind, number

FIRST_STEPS, MORE = 64, 8
"""How many steps are tried first, and how many times as many where a loop does not end in these."""
MARGIN = 1
"""Steps beside those that are counted: the sums of another program may be rounded otherwise, and a condition hold later."""
FINENESS = 3
"""Binary digits of a number of steps beside the first one: another number is another plan."""


class CountedKernel:
    """A program with loops that end early: the code of the `whole` one, which `program` is, for few steps, else that of the
    `short` one, with the numbers that the `counter` says; each is made when it is first called."""

    plans: Mapping[object, object] = {}
    """None that are worth keeping: they differ from call to call."""

    def __init__(self, program: Program, counted: CountedSteps, whole: Callable[[], TensorKernel],
                 short: Callable[[], TensorKernel], counter: Callable[[], TensorKernel]) -> None:
        self.program, self.counted, self.remark = program, counted, None
        self.inputs = [(p.name, p.default, p.var.integer and not p.var.shape) for p in counted.counter.params
                       if p.name not in counted.most]
        self.known: dict[object, dict[str, int]] = {}
        self.whole, self.short, self.counter = made_once(whole), made_once(short), made_once(counter)

    @property
    def real(self) -> np.dtype:
        return self.counter().real

    def __call__(self, arrays: Mapping[str, Any], out: Mapping[str, np.ndarray] | None = None,
                 jobs: int | None = None) -> dict[str, np.ndarray]:
        """The results by name: see TensorKernel."""
        steps = self.steps(arrays, jobs)
        kernel = self.short() if steps else self.whole()
        kernel.remark = self.remark
        return kernel({**arrays, **steps}, out, jobs)

    def few(self, arrays: Mapping[str, Any]) -> bool:
        """True if the whole program is computed for such values, whose loops have few steps."""
        return max(self.most(arrays).values()) < self.counted.least

    def most(self, arrays: Mapping[str, Any]) -> dict[str, int]:
        """How many steps the loops have in the text."""
        given = {name: x for name, default, _ in self.inputs if (x := arrays.get(name, default)) is not None}
        key = tuple([int(given[name]) if whole else np.shape(given[name]) for name, _, whole in self.inputs if name in given])
        if (found := self.known.get(key)) is None:
            sizes = bind(self.counted.counter, {name: np.shape(x) for name, x in given.items()}, given)
            found = {name: max(0, number(x, sizes)) for name, x in self.counted.most.items()}
            if len(self.known) >= PLANS:
                self.known.clear()
            self.known[key] = found
        return found

    def steps(self, arrays: Mapping[str, Any], jobs: int | None = None) -> dict[str, int]:
        """How many steps the loops take, and a few more; nothing where there are `few`."""
        if self.few(arrays):
            return {}
        most = self.most(arrays)
        tried = {name: min(FIRST_STEPS, n) for name, n in most.items()}
        while True:
            found = self.counter()({**arrays, **tried}, jobs=jobs)
            taken = {name: int(found[name]) for name in most}
            more = next((name for name, n in most.items() if taken[name] == tried[name] < n), None)
            if more is None:
                exact = self.counter().most_whole
                return {name: min(rounded_up(taken[name] + MARGIN), n) if taken[name] < exact else n for name, n in most.items()}
            tried[more] = min(MORE * tried[more], most[more])


def made_once(make: Callable[[], TensorKernel]) -> Callable[[], TensorKernel]:
    """A value made at the first call, by one of the threads that ask for it."""
    made, lock = cache(make), Lock()

    def kernel() -> TensorKernel:
        with lock:
            return made()

    return kernel


def rounded_up(n: int) -> int:
    """A number of steps with some zeros in its last digits, so that few numbers need few plans."""
    unit = 1 << max(0, n.bit_length() - 1 - FINENESS)
    return -(-n // unit) * unit
