"""Why a result of a program with tensors is not smooth: the operation responsible and the element, found by native code."""
from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from adcli.answers.diagnose import described, letter, level_of, operands, reason, shown, taken
from adcli.input.arrays import element
from adcli.lang.evaluate import FLOAT, every_value
from adcli.lang.ir import DOMAIN, LEVELS, Equation, Program
from adcli.lang.ir.comprehension import Comprehension
from adcli.lang.ir.errors import Note
from adcli.lang.passes.status_places import Place, places
from adcli.lang.passes.tensor_status import unmoved
from adcli.task.tasks import Task
from adcli.task.tensor_code import native

SYMBOLS = {"+": "+=!", "*": "*=!", "min": "min=!", "max": "max=!", "=": "="}
Found = Mapping[str, Any]


def note(task: Task, at: Mapping[str, Any], level: int, jobs: int | None) -> Note:
    """One note for a result of this status level."""
    source = task.primal.source
    for p in task.primal.params:
        wrong = np.flatnonzero(np.isnan(at[p.name]))
        if len(wrong):
            return Note(f"{element(p.name, int(wrong[0]), np.shape(at[p.name]))} is nan: {LEVELS[level]}", None, source)
    place, met, found = worst(task, task.primal, task.wrt, at, jobs)
    if place is not None:
        prime = "'" if task.verb != "eval" and met != DOMAIN else ""
        text, span = told(place, found, met, prime)
        return Note(f"{text}: {reason(level)}", span, source)
    if task.program.equations:
        place, met, found = worst(task, task.program, None, at, jobs)
        if place is not None:
            text, span = told(place, found, met, "")
            return Note(f"the derivative has {text.removesuffix(' is nan')}: {reason(level)}", span, source)
    return Note(reason(level), None, source)


def worst(task: Task, program: Program, wrt: Collection[str] | None, at: Mapping[str, Any],
          jobs: int | None) -> tuple[Place | None, int, Found]:
    """The first place of the greatest level, and what is known of it: first all levels are computed, then the rest for one."""
    from adcli.input.tensor_points import filled
    located, known = places(program, wrt)
    point = {p.name: at[p.name] for p in program.params}
    if any(p.seed for p in program.params):
        point = filled(program, {p.name: at[p.name] for p in program.params if not p.seed}, at)

    def run(names: Collection[str]) -> Found:
        chosen = replace(located, results=tuple(r for r in located.results if r.name in names))
        return native(chosen, task.slot)({name: np.asarray(x) for name, x in point.items()}, jobs=jobs)

    levels = run({p.level for p in known})
    greatest = max((float(levels[p.level]) for p in known), default=0.0)
    if greatest <= 0:
        return None, 0, levels
    place = next(p for p in known if levels[p.level] == greatest)
    return place, int(greatest), run({*place.indices, *place.values}) if place.values else levels


def told(place: Place, found: Found, met: int, prime: str) -> tuple[str, Any]:
    """A place in words, and where it is."""
    e = place.equation
    where = [float(found[name]) for name in place.indices]
    values = [float(found[name]) for name in place.values]
    index = "".join(f", {r.index.name} = {int(i)}" for r, i in zip(place.ranges, where, strict=True) if np.isfinite(i))
    name = e.outs[0].name or "a value"
    if not np.isfinite(where).all() or place.kind == "reduction":
        return (f"{symbol(e)} of infinite numbers at {name} is nan" if met == DOMAIN else f"'{name}'"), e.span
    if place.kind == "ties":
        subscripts = f"({', '.join(str(int(i)) for i in where)})" if where else ""
        return f"{symbol(e)} at {name}{subscripts} with {int(values[0])} equal elements", e.span
    if place.kind == "row":
        shown_values = ", ".join(f"{letter(i)} = {shown(x)}" for i, x in enumerate(values))
        return f"{described(e, prime)} at {shown_values}{' is nan' if met == DOMAIN else ''}", e.span
    line, known = inner(e, values)
    if line is None:
        return f"'{name}'{index}", e.span
    made = f" is {shown(known[line.outs[0]])}" if met == DOMAIN and not line.op.truth else ""
    return f"{described(line, prime)} at {operands(line, known)}{index}{made}", line.span or e.span


def inner(e: Equation, values: list[float]) -> tuple[Equation | None, Mapping[Any, Any]]:
    """The operation in the body of a comprehension that is to blame at these values of its sources."""
    assert isinstance(e.op, Comprehension)
    body = e.op.body
    known = every_value(body, {p.name: x for p, x in zip(body.params, values, strict=True)}, FLOAT)
    greatest, blamed, still = 0, None, unmoved(e)
    for line in taken(body, known):
        level = 0 if line in still else level_of(line, known)
        if level > greatest:
            greatest, blamed = level, line
    return blamed, known


def symbol(e: Equation) -> str:
    assert isinstance(e.op, Comprehension)
    return SYMBOLS[e.op.reduction]
