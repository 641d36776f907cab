"""Programs with tensors from the cache: what a run with some shapes has needed, for the next one with the same.

Beside the code itself the cache has an entry for each set of shapes, with the plan of its calls. A run with them reads both and
calls the code: nothing is parsed, differentiated, written as code or planned. What the plan does not foresee, as a subscript
that is outside, is Unplanned: then the run is made again in the ordinary way, which can say what is wrong.
"""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from adcli.codegen.machine import cache
from adcli.codegen.machine.kernel import EntryPoint
from adcli.codegen.machine.small import SMALL_BYTES, shape_of
from adcli.codegen.nests.actions import Base, CallAction, Fill, Move, Stretch
from adcli.codegen.rows.compiled import code_name, kept
from adcli.lang.ir.precision import PRECISIONS
from adcli.task.small_replays import KINDS, Replay, action
from adcli.task.tasks import LANES, Slot, Task, fits, keep_tensors

if TYPE_CHECKING:
    from adcli.codegen.nests.runtime import TensorKernel

FORMS: tuple[Any, ...] = (
    (int, int, [(int, int)]), ((int, int), (int, int), int), ((int, int), int, int | float), (int, int))
"""What each kind of action of a plan has in an entry, by its number."""
ENTRY = {"key": str, "code": str, "entry": (str, int, int, int, int, [str], str), "inputs": [str], "counts": [int], "made": [str],
         "copies": [(str, int | float)], "whole": [str], "flag": int, "team": int | None, "results": [str], "given": [[int]],
         "cells": [int], "places": [(int, int, int)], "memory": int, "needed": int, "outputs": [[int]], "actions": [list],
         "lull": float, "instructions": int | float, "worth": int | float}
"""What an entry is; see `adcli.task.tasks.fits`. Its code is `worth` so many instructions, or any number where that is 0."""


def replayed(task: Task, point: Mapping[str, Any]) -> Replay | None:
    """What the cache has for a point with such shapes."""
    if task.slot is None or task.counts is None:
        return None
    name = entry_name(task.slot, task.counts, point, task.seeds)
    try:
        found = json.loads(task.slot.store.get(name) or b"")
    except (ValueError, RecursionError):
        return None
    if not (fits(found, ENTRY) and found["key"] == name and in_order(found, task)):
        return None
    head, _, code = (task.slot.store.get(found["code"]) or b"").partition(b"\n")
    *entry, externals, kind = found["entry"]
    kernel = kept(code, EntryPoint._make([*entry, tuple(externals), kind])) if head == found["code"].encode() else None
    if kernel is None:
        return None
    if is_small(found, task, point):
        return Replay(found, task, kernel)
    from adcli.task.array_replays import ArrayReplay
    return ArrayReplay(found, task, kernel)


def is_small(found: Mapping[str, Any], task: Task, point: Mapping[str, Any]) -> bool:
    """Whether a run needs no arrays: it is given small tensors and numbers, and all that it makes is small."""
    return task.request.precision == "double" and found["needed"] <= SMALL_BYTES and all(map(prod, found["outputs"])) \
        and all(isinstance(x, float | memoryview) for x in (*point.values(), *task.seeds.values()))


def in_order(found: Mapping[str, Any], task: Task) -> bool:
    """Whether an entry can be what `keep` has put there: it is about this signature, and its places lie in its memory."""
    cells, memory = len(found["cells"]), found["memory"]
    size = PRECISIONS[task.request.precision].bytes
    return (
        {*found["inputs"]} <= {p.name for p in task.signature.inputs}
        and [c.name for c in task.signature.results] == found["results"][:-1]
        and found["entry"][1] in LANES and found["entry"][2:5] == [0, len(found["inputs"]), len(found["results"])]
        and found["entry"][-1] == PRECISIONS[task.request.precision].code
        and len(found["inputs"]) + len(found["made"]) <= cells and 0 <= found["flag"] < cells
        and len(found["outputs"]) == len(found["made"]) and 0 <= memory <= found["needed"]
        and sum(size * prod(shape) for shape in found["outputs"]) + memory <= found["needed"]
        and all(n < cells and 0 <= at <= at + size <= memory for n, at, size in found["places"])
        and all(packed[:1] in ([0], [1], [2], [3]) and fits(packed[1:], FORMS[packed[0]]) and inside(action(packed), found, size)
                for packed in found["actions"]))


def inside(x: CallAction, found: Mapping[str, Any], size: int) -> bool:
    """Whether an action of an entry keeps to its cells and to its places in memory; elements have so many bytes."""
    cells, ends = range(len(found["cells"])), {n: end for n, _, end in found["places"]}

    def holds(place: Sequence[int], length: int) -> bool:
        name, at = place
        end = ends.get(name, found["needed"] if name in cells else -1)
        return 0 <= at <= at + length <= end

    match x:
        case Stretch(first, last, values):
            return 0 <= first <= last and all(cell in cells for cell, _ in values)
        case Move(target, source, length):
            return holds(target, length) and holds(source, length)  # type: ignore[arg-type]  # numbers, as FORMS says
        case Fill(place, elements, _):
            return holds(place, elements * size)  # type: ignore[arg-type]  # numbers, as FORMS says
        case Base(tensor, _):
            return tensor in cells


def entry_name(slot: Slot, counts: Sequence[str], point: Mapping[str, Any], seeds: Mapping[str, Any]) -> str:
    """The name of the entry for points of such shapes, with such integers that are sizes, and seeds that are zero or not."""
    given = [(name, shape_of(x), int(x.tolist()) if name in counts else 0) for name, x in point.items()]
    directions = [(name, shape_of(x), bool(x if isinstance(x, float) else x.any())) for name, x in seeds.items()]
    return cache.key([slot.key, json.dumps([given, directions])])


def keep(task: Task, point: Mapping[str, Any], kernel: TensorKernel) -> None:
    """Keep what a run needs with the shapes of a point, which `kernel` has just computed. Code that calls back into Python, for
    operations on matrices, is not for this."""
    if task.slot is None or kernel.caller is not None or not kernel.plans:
        return
    from adcli.task.nest_code import code_words
    shapes, plan = next(iter(kernel.plans.items()))
    counts = [p.name for k, p in enumerate(kernel.program.params) if k in kernel.counts]
    name, interface = entry_name(task.slot, counts, point, task.seeds), kernel.interface
    succession = kernel.succession
    entry = {
        "key": name, "code": code_name(code_words(kernel.module, succession is not None)), "entry": list(kernel.kernel.entry),
        "inputs": [p.name for p in interface.inputs], "counts": interface.counts, "made": interface.made,
        "copies": interface.copies, "whole": [name for name, _ in interface.whole], "flag": interface.flag,
        "team": interface.team, "results": [r.name for r in kernel.program.results], "given": shapes, "cells": list(plan.cells),
        "places": [(n, *place) for n, place in plan.places.items()], "memory": plan.memory, "needed": plan.needed,
        "outputs": plan.outputs, "actions": [(KINDS.index(type(a)), *a) for a in plan.actions], "lull": plan.lull,
        "instructions": plan.instructions, "worth": succession.worth if succession else 0}
    if task.counts is None:
        keep_tensors(task, counts)
    task.slot.store.put(name, json.dumps(entry).encode())
