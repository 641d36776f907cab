"""Code from the cache run without NumPy, which takes longer to load than such a run takes otherwise."""
from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

from adcli.codegen.machine.small import SMALL_BYTES, SmallTensor, blank, packed, place, shape_of, unpacked
from adcli.codegen.nests.actions import Base, CallAction, Fill, Move, Stretch
from adcli.codegen.nests.calls import INT64, CallInterface, CallPlan, PlannedCode, Shapes, refuse_much
from adcli.codegen.nests.result_memory import ResultMemory
from adcli.lang.ir.precision import PRECISIONS
from adcli.task.tasks import Task

KINDS: tuple[Any, ...] = (Stretch, Move, Fill, Base)
"""The actions of a plan, by their numbers in an entry."""


class Unplanned(Exception):
    """A run that the plan at hand is not for."""


class Replay(PlannedCode):
    """Code from the cache, for one set of shapes, on small tensors and numbers; `results` are the names of what it gives, the
    status as the last."""

    def __init__(self, found: Mapping[str, Any], task: Task, kernel: Any) -> None:
        params = {p.name: p for p in task.signature.inputs}
        super().__init__(CallInterface(
            [params[name] for name in found["inputs"]], found["counts"], found["made"], [tuple(c) for c in found["copies"]],
            [(name, None) for name in found["whole"]], found["flag"], found["team"], PRECISIONS[task.request.precision],
            task.signature.source), kernel)
        self.results: list[str] = found["results"]
        self.shapes: Shapes = tuple(map(tuple, found["given"]))
        outputs = [tuple(shape) for shape in found["outputs"]]
        self.only = CallPlan(
            (ctypes.c_int64 * len(found["cells"]))(*found["cells"]), {n: (at, size) for n, at, size in found["places"]},
            found["memory"], found["needed"], outputs, self.memory(outputs), list(map(action, found["actions"])),
            found["lull"], found["instructions"])
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

    def filled(self, point: Mapping[str, Any], seeds: Mapping[str, Any]) -> dict[str, Any]:
        """The point with its seeds; those that are numbers become the tensors that have them everywhere."""
        whole = {**point, **seeds}
        for (_, name, _), shape in zip(self.inputs, self.shapes, strict=False):
            if name in seeds and shape and not shape_of(seeds[name]):
                whole[name] = self.full(shape, float(seeds[name]))
        return whole

    def memory(self, outputs: list[tuple[int, ...]]) -> ResultMemory:
        """Where results go."""
        return ResultMemory(outputs, self.interface.precision.bytes, partial(blank, code=self.real))

    def full(self, shape: tuple[int, ...], x: float) -> Any:
        """A tensor that is the same everywhere."""
        return packed(shape, [x] * prod(shape))

    def __call__(self, point: Mapping[str, Any], jobs: int | None = None) -> dict[str, Any]:
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


def action(packed: Sequence[Any]) -> CallAction:
    kind, *values = packed
    made: CallAction = KINDS[kind](*values)
    return made
