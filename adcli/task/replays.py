"""Programs with tensors from the cache: what a run with some shapes has needed, for the next one with the same.

Beside the code the cache has an entry for each set of shapes, with the plan of its calls. A run with them reads both and calls
the code: nothing is parsed, differentiated, written as code or planned. What the plan does not foresee, as a subscript that is
outside, is Unplanned: then the run is made again in the ordinary way, which can say what is wrong. Small tensors do without
NumPy, which takes longer to load than such a run takes otherwise.
"""
from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Sequence
from functools import cache as once
from functools import cached_property, partial
from math import prod
from typing import TYPE_CHECKING, Any

from adcli.codegen.machine import cache
from adcli.codegen.machine.cache import Store, location, sha256, to_stderr
from adcli.codegen.machine.small import SMALL_BYTES, SmallTensor, blank, packed, place, shape_of, unpacked
from adcli.codegen.modules.calls import (
    INT64,
    Base,
    CallInterface,
    CallPlan,
    Fill,
    Move,
    PlannedCode,
    ResultMemory,
    Shapes,
    Stretch,
    refuse_much,
)
from adcli.codegen.rows.compiled import code_name, stored
from adcli.lang.ir import Param, Program, Values
from adcli.lang.ir.errors import AdError, Source, Span
from adcli.lang.operations.precision import PRECISIONS
from adcli.task.tasks import Slot, Task, keep_tensors

if TYPE_CHECKING:
    from adcli.codegen.modules.runtime import TensorKernel

KINDS: tuple[Any, ...] = (Stretch, Move, Fill, Base)
"""The actions of a plan, by their numbers in an entry."""


class Unplanned(Exception):
    """A run that the plan at hand is not for."""


class Replay(PlannedCode):
    """Code from the cache for one set of shapes, on small tensors and numbers; `results` are the names of what it gives, the
    status as the last."""

    def __init__(self, found: Values, inputs: Sequence[Param], precision: str, source: Source | None,
                 kernel: Any) -> None:
        params = {p.name: p for p in inputs}
        super().__init__(CallInterface(
            [params[name] for name in found["inputs"]], found["counts"], found["made"], [tuple(c) for c in found["copies"]],
            [(name, None) for name in found["whole"]], found["flag"], found["team"], PRECISIONS[precision], source), kernel)
        self.results: list[str] = found["results"]
        self.shapes: Shapes = tuple(map(tuple, found["given"]))
        outputs = [tuple(shape) for shape in found["outputs"]]
        self.only = CallPlan(
            (ctypes.c_int64 * len(found["cells"]))(*found["cells"]), {n: (at, size) for n, at, size in found["places"]},
            found["memory"], found["needed"], outputs, self.memory(outputs), [KINDS[kind](*values) for kind, *values in
                                                                              found["actions"]],
            found["idle_window"], found["instructions"])
        self.left: float = found["worth"]
        self.spend = self.spent if self.left else None

    def spent(self, instructions: float) -> None:
        """Code that was made in haste is for a few runs."""
        self.left -= instructions
        if self.left < 0:
            raise Unplanned

    def plan(self, key: Shapes) -> CallPlan:
        if key != self.shapes:
            raise Unplanned
        refuse_much(self.only.needed, self.limit)
        return self.kept(key, self.only)

    def fault(self, plan: CallPlan, env: Any) -> BaseException:
        return Unplanned()

    def filled(self, point: Values, seeds: Values) -> dict[str, Any]:
        """The point with its seeds; those that are numbers become the tensors that have them everywhere."""
        whole = {**point, **seeds}
        for (_, name, _), shape in zip(self.inputs, self.shapes, strict=False):
            if name in seeds and shape and not shape_of(seeds[name]):
                whole[name] = self.full(shape, float(seeds[name]))
        return whole

    def memory(self, outputs: list[tuple[int, ...]]) -> ResultMemory:
        """Memory of the results."""
        return ResultMemory(outputs, self.interface.precision.bytes, partial(blank, code=self.real))

    def full(self, shape: tuple[int, ...], x: float) -> Any:
        """A tensor that is the same everywhere."""
        return packed(shape, [x] * prod(shape))

    def __call__(self, point: Values, jobs: int | None = None) -> dict[str, Any]:
        """The results by name, as small tensors."""
        given = [self.tensor(point[name], code) for _, name, code in self.inputs]
        plan = self.plan(self.key(given))
        if self.spend is not None:
            self.spend(plan.instructions)
        results = plan.results.arrays(SMALL_BYTES)
        self.computed(plan, [*map(place, given), *map(place, results)], jobs)
        found = dict(zip(self.made, results, strict=True))
        values = [*given, *results]
        for name, source in self.copies:
            x = values[source] if isinstance(source, int) else packed((), [source])
            found[name] = x if x.format == self.real else packed(shape_of(x), unpacked(x))
        for name, _ in self.whole:
            found[name] = self.integers(found[name])
        return found

    def tensor(self, x: Any, code: str) -> SmallTensor:
        """A number or a small tensor with elements of a kind."""
        x = packed((), [x], code) if isinstance(x, float) else x
        if not isinstance(x, memoryview) or x.format != code:
            raise Unplanned
        return x

    def integers(self, given: SmallTensor) -> SmallTensor:
        """A result of whole numbers as integers."""
        elements = unpacked(given)
        if not all(abs(x) <= self.most_whole for x in elements):
            raise Unplanned
        return packed(shape_of(given), list(map(int, elements)), INT64)


@once
def array_replay() -> type[Replay]:
    """Replay on arrays: for what is too large to do without NumPy, or of a kind that takes it."""
    import numpy as np

    from adcli.codegen.modules import array_calls

    class ArrayReplay(array_calls.PlannedKernel, Replay):  # type: ignore[misc]  # arrays, where that gives small tensors
        """Code from the cache for one set of shapes, on arrays."""

        def memory(self, outputs: list[tuple[int, ...]]) -> ResultMemory:
            return ResultMemory(outputs, self.real.itemsize, partial(array_calls.blank, dtype=self.real))

        def full(self, shape: tuple[int, ...], x: float) -> np.ndarray:
            return np.full(shape, x)

        def whole_numbers(self, name: str, given: np.ndarray, span: Span | None) -> np.ndarray:
            try:
                return super().whole_numbers(name, given, span)
            except AdError:
                raise Unplanned from None

    return ArrayReplay


# ---------------------------------------------------------------- entries of the cache

def replayed(task: Task, point: Values) -> Replay | None:
    """Entry of the cache for the shapes of a point."""
    if task.slot is None or task.counts is None:
        return None
    found, kernel = kept_entry(task.slot.store, entry_name(task.slot, task.counts, point, task.seeds))
    if kernel is None:
        return None
    small = task.request.precision == "double" and found["needed"] <= SMALL_BYTES and all(map(prod, found["outputs"])) \
        and all(isinstance(x, float | memoryview) for x in (*point.values(), *task.seeds.values()))
    return (Replay if small else array_replay())(found, task.signature.inputs, task.request.precision, task.signature.source,
                                                 kernel)


def kept_entry(store: Store, name: str) -> tuple[dict[str, Any], Any]:
    """An entry of the cache with its code, None where that is not there."""
    data = store.get(name) if name else None
    found = json.loads(data) if data else {}
    return found, stored(store, found["code"]) if found else None


def entry_name(slot: Slot, counts: Sequence[str], point: Values, seeds: Values) -> str:
    """The name of the entry for points of such shapes, with such integers that are sizes, and seeds that are zero or not."""
    given = [(name, shape_of(x), int(x.tolist()) if name in counts else 0) for name, x in point.items()]
    directions = [(name, shape_of(x), bool(x if isinstance(x, float) else x.any())) for name, x in seeds.items()]
    return cache.key([slot.key, json.dumps([given, directions])])


def keep(task: Task, point: Values, kernel: TensorKernel) -> None:
    """Keep what a run needs with the shapes of a point, which `kernel` has just computed."""
    entry = None if task.slot is None else entry_of(kernel)
    if task.slot is None or entry is None:
        return
    counts = task.counts
    if counts is None:
        keep_tensors(task, counts := [p.name for k, p in enumerate(kernel.program.params) if k in kernel.counts])
    task.slot.store.put(entry_name(task.slot, counts, point, task.seeds), json.dumps(entry).encode())


def entry_of(kernel: TensorKernel) -> dict[str, Any] | None:
    """What a run needs with the shapes that a kernel has planned first. Code that calls back into Python, for operations on
    matrices, is not for this."""
    if not kernel.plans or kernel.caller is not None:
        return None
    from adcli.task.native import code_words
    shapes, plan = next(iter(kernel.plans.items()))
    interface, succession = kernel.interface, kernel.succession
    return {
        "code": code_name(code_words(kernel.module, succession is not None)),
        "inputs": [p.name for p in interface.inputs], "counts": interface.counts, "made": interface.made,
        "copies": interface.copies, "whole": [name for name, _ in interface.whole], "flag": interface.flag,
        "team": interface.team, "results": [r.name for r in kernel.program.results], "given": shapes, "cells": list(plan.cells),
        "places": [(n, *place) for n, place in plan.places.items()], "memory": plan.memory, "needed": plan.needed,
        "outputs": plan.outputs, "actions": [(KINDS.index(type(a)), *a) for a in plan.actions], "idle_window": plan.idle_window,
        "instructions": plan.instructions, "worth": succession.worth if succession else 0}


# ---------------------------------------------------------------- code of a program that need not be there

class KeptCode:
    """Native code of a program with these inputs: from the cache, which may have it under the `words` for the shapes of the first
    call; else, and for other shapes, that of `made`."""

    def __init__(self, words: Sequence[str], inputs: Sequence[Param], precision: str, made: Callable[[], TensorKernel]) -> None:
        self.words, self.inputs, self.precision, self.made = words, inputs, precision, made
        self.store = Store(location(), to_stderr)
        self.name: str | None = None
        self.replay: Replay | None = None
        self.kept: object = None

    @cached_property
    def kernel(self) -> TensorKernel:
        return self.made()

    @cached_property
    def often(self) -> Callable[[Values], dict[str, Any]]:
        from adcli.codegen.modules.direct_tensors import OftenCalled
        return OftenCalled(self.kernel)

    def __call__(self, point: Values) -> dict[str, Any]:
        """The results by name."""
        if self.name is None:
            self.name = point_name(["kept code", *self.words, self.precision], self.inputs, point)
            self.replay = self.found()
        if (replay := self.replay) is not None:
            try:
                return replay(point)
            except Unplanned:
                self.replay = None
        found = self.often(point)
        if self.kept is not self.kernel.kernel and len(self.kernel.plans) == 1:
            self.keep(point)
        return found

    def found(self) -> Replay | None:
        """The entry of the cache."""
        entry, kernel = kept_entry(self.store, self.name or "")
        return None if kernel is None else array_replay()(entry, self.inputs, self.precision, None, kernel)

    def keep(self, point: Values) -> None:
        """Keep what runs with the shapes of the first call need, if they are those of this one; again once code is made well."""
        self.kept = self.kernel.kernel
        same = self.name == point_name(["kept code", *self.words, self.precision], self.inputs, point)
        if self.name and same and (entry := entry_of(self.kernel)) is not None:
            self.store.put(self.name, json.dumps(entry).encode())


def point_name(words: Sequence[str], inputs: Sequence[Param], point: Values, integers: bool = False) -> str:
    """The name of the entry under these words for points of such shapes, with such integers: those that are numbers, or all.
    Nothing where our own files cannot be read."""
    given = []
    for p in inputs:
        x = point[p.name]
        told = p.var.integer and (integers or not shape_of(x))
        given.append([p.name, shape_of(x), sha256(integer_bytes(x)).hex() if told else ""])
    slot = slot_of([*words, json.dumps(given)])
    return slot.key if slot else ""


def integer_bytes(x: Any) -> bytes:
    import numpy as np
    return np.asarray(x, np.int64).tobytes()


def slot_of(words: Sequence[str]) -> Slot | None:
    """The place for one entry under these words; None where our own files cannot be read."""
    try:
        return Slot(Store(location(), to_stderr), code_name(words))
    except OSError:
        return None


def words_of(program: Program) -> list[str]:
    """What tells a program from all others: its text, and how its sums may be taken."""
    from adcli.lang.printing.printer import print_program
    source = program.source
    return [print_program(program), str(source and (source.exact_order, source.checkpoint, source.equations))]
