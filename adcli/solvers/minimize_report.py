"""Report of an optimum: the point, the value, what has been checked there, and where that shows no minimum, why."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from adcli.lang.ir import JUMP, LEVELS, SMOOTH, Program, has_tensors
from adcli.lang.ir.errors import Note, plural
from adcli.numerics.optimality import (
    DEGENERATE,
    FLAT,
    INFEASIBLE,
    MINIMUM,
    MOVING,
    NOT_FINITE,
    NOT_STRICT,
    NOT_UNIQUE,
    SADDLE,
    STATIONARY,
)
from adcli.output.layout import Layout, Row
from adcli.output.numbers import Number, json_number, json_text
from adcli.output.report import csv_text, result_lines
from adcli.solvers.explain_failure import failure, leading, near_kink, no_influence, point_text, status
from adcli.solvers.minimize import Optimum, Problem, is_removable

SAME = 1e-6
"""Values of minima that differ by less, relative to them or 1, count as one."""
FAR = 1e4
"""How far from its start, relative to it, a point is that still moves where there may be no minimum."""
EFFORT = {"values": "value", "gradients": "gradient", "hessians": "Hessian", "products": "product"}
MOST_SHOWN = 20
"""Conditions that are told one by one."""


@dataclass(frozen=True)
class Report:
    """The best answer to a problem, among those to `every` start."""

    program: Program
    problem: Problem
    optimum: Optimum
    every: tuple[Optimum, ...]

    @property
    def word(self) -> str:
        return "minimum" if self.problem.sign > 0 else "maximum"

    @property
    def at(self) -> dict[str, Any]:
        return self.problem.function.point(self.optimum.found.x)

    @property
    def objective(self) -> str:
        return self.problem.function.program.results[0].name

    @cached_property
    def smoothness(self) -> tuple[int, Note | None]:
        """The level of the status of the objective, the conditions and their gradients at the point, and the note on it."""
        return status(self.problem.function, self.at)

    @cached_property
    def rough(self) -> bool:
        """True if derivatives say nothing here: not at a kink at which the second ones of all sides agree."""
        level = self.smoothness[0]
        return level > JUMP or (level > SMOOTH and not (
            self.optimum.found.verdict == MINIMUM and is_removable(self.problem, self.optimum.found)))

    @property
    def shown(self) -> bool:
        """True if everything was found that a minimum has."""
        return self.optimum.found.verdict in (MINIMUM, NOT_UNIQUE, NOT_STRICT, STATIONARY) and not self.rough

    @property
    def far(self) -> bool:
        """True if the point is far from the start."""
        start = np.maximum(1.0, np.max(np.abs(self.problem.start), initial=0.0))
        return bool(np.max(np.abs(self.optimum.found.x), initial=0.0) > FAR * start)

    @property
    def gradient(self) -> float:
        """The largest component of the gradient of the Lagrangian."""
        return float(np.max(np.abs(self.optimum.found.residual), initial=0.0))

    # -- in words

    def sentence(self) -> str:
        """Verdict on one line."""
        found, held = self.optimum.found, self.optimum.found.active.any() or self.optimum.found.held.any()
        gradient = f"gradient{' of the Lagrangian' if held else ''} {self.gradient:.2g}"
        if found.verdict == NOT_FINITE and np.isfinite(found.f) and np.isfinite(found.c).all():
            return f"not shown to be a {self.word}: a derivative is not finite here"
        if found.verdict == NOT_FINITE:
            return f"no {self.word}: {self.objective}, a condition or a derivative is not finite here"
        if found.verdict == INFEASIBLE:
            return f"no {self.word}: the conditions do not hold, by {found.violation:.2g}"
        if self.rough:
            return f"not shown to be a {self.word}: not smooth here ({LEVELS[self.smoothness[0]]})"
        if found.verdict == DEGENERATE:
            return (f"not shown to be a {self.word}: the gradients of what is active are zero or dependent here, and no"
                    f" multipliers need exist; {gradient}")
        if found.verdict == MOVING:
            return f"no {self.word}: not stationary, {gradient}"
        if found.verdict == SADDLE:
            return f"no {self.word}: a saddle point, {gradient}; {self.objective} {self.verb} {self.along()}"
        if found.verdict == FLAT and found.step is not None:
            return f"not shown to be a {self.word}: {gradient}, but the Hessian is another within rounding or a Newton step"
        if found.verdict == FLAT:
            return f"not shown to be a {self.word}: {gradient}, but the Hessian is singular to rounding {self.along()}".rstrip()
        if found.verdict == STATIONARY:
            return f"stationary: {gradient}; second derivatives are not looked at, with {found.x.size:,} variables"
        if found.verdict == NOT_STRICT:
            return (f"{self.word} to second order, not shown to be strict: {gradient}, Hessian next to zero {self.along()},"
                    " and neither side leads lower")
        definite = "positive" if self.problem.sign > 0 else "negative"
        if found.verdict == NOT_UNIQUE:
            across = "" if found.cornered else f", Hessian {definite} definite across"
            return f"{self.word}, not unique: nothing changes {self.along()}; {gradient}{across}"
        if found.cornered:
            return f"{self.word}: {gradient}; the active conditions leave no direction free"
        where = " along what is free to move" if held else ""
        sides = ", the same on all sides of a " + LEVELS[self.smoothness[0]] if self.smoothness[0] > 0 else ""
        return f"{self.word}: {gradient}, Hessian {definite} definite{where}{sides}"

    @property
    def verb(self) -> str:
        return "falls" if self.problem.sign > 0 else "rises"

    def along(self) -> str:
        """The direction that decides, by its largest components."""
        direction = self.optimum.found.direction
        if direction is None:
            return ""
        return f"along {leading(self.problem.function.components, direction / max(float(np.max(np.abs(direction))), 1e-300))}"

    def held(self) -> list[tuple[str, float, float]]:
        """The variables at bounds: name, bound and multiplier."""
        found, names, b = self.optimum.found, self.problem.function.components, self.problem.bounds
        bound = np.where(found.x - b.low <= b.high - found.x, b.low, b.high)
        return [(names[i], float(bound[i]), float(found.bound_multipliers[i])) for i in np.flatnonzero(found.held)]

    def conditions(self) -> list[tuple[str, float, bool, float]]:
        """Conditions as written, each with its value, whether it is active, and its multiplier."""
        f = self.optimum.found
        return [(text, float(c), bool(a), float(m))
                for text, c, a, m in zip(self.problem.conditions, f.c, f.active, f.multipliers, strict=True)]

    def effort(self) -> str:
        counts = self.optimum.evaluations
        parts = [plural(counts[k], word) for k, word in EFFORT.items() if counts.get(k)]
        return f"{self.optimum.solver}: {', '.join([plural(self.optimum.iterations, 'iteration'), *parts])}"

    def comments(self) -> Iterator[str]:
        yield self.sentence()
        for text, value, active, multiplier in self.conditions()[:MOST_SHOWN]:
            yield f"{text}: {f'active, {pull(multiplier)}' if active else f'not active, {value:.6g}'}"
        if len(self.problem.conditions) > MOST_SHOWN:
            yield f"and {len(self.problem.conditions) - MOST_SHOWN} more conditions"
        for name, bound, multiplier in self.held()[:MOST_SHOWN]:
            yield f"{name} is at its bound {bound:.6g}: {pull(multiplier)}"
        if len(self.held()) > MOST_SHOWN:
            yield f"and {len(self.held()) - MOST_SHOWN} more at bounds"
        yield self.effort()
        if len(self.every) > 1:
            yield self.starts()

    def starts(self) -> str:
        best = self.optimum.found
        good = [o.found for o in self.every if o.found.verdict == best.verdict]
        same = sum(abs(f.f - best.f) <= SAME * max(1.0, abs(best.f)) for f in good)
        others = [f.f for f in good if abs(f.f - best.f) > SAME * max(1.0, abs(best.f))]
        parts = [f"{plural(len(self.every), 'start')}: {same} with this value"]
        if others:
            nearest = min(others, key=lambda f: abs(f - best.f))
            parts.append(f"{len(others)} at others, the next {self.objective} = {nearest:.6g}")
        if failed := len(self.every) - len(good):
            parts.append(f"{failed} without success")
        return ", ".join(parts)

    def reasons(self) -> Iterator[object]:
        """Where no minimum is shown, what `why` says there."""
        optimum, function = self.optimum, self.problem.function
        found = optimum.found
        if found.verdict in (NOT_UNIQUE, FLAT) and found.direction is not None and not has_tensors(function.program):
            still = np.ravel(abs(function.jac(found.x)).sum(axis=0)) == 0
            flat = [function.names[k] for k in np.flatnonzero(still & (np.abs(found.direction) > 1e-6))]
            yield from no_influence(function.program, function.names, self.at, flat)[1]
        if self.shown:
            return
        level, note = self.smoothness
        if level > 0:
            yield note
        elif found.verdict == MOVING:
            near = near_kink(function, found.x)
            if near is not None:
                yield near
        yield from failure(function, *((found.x, False) if found.verdict == NOT_FINITE else (optimum.bad, True)))
        moved, edge = not np.array_equal(found.x, self.problem.start), optimum.bad is not None and not self.problem.conditions
        if found.verdict in (MOVING, NOT_FINITE) and (self.far or (found.verdict == MOVING and edge and moved)):
            where = f"it may have no {self.word}" if self.far else f"its {self.word} may be where its domain ends"
            yield (f"note: {self.objective} still {self.verb} at {point_text(function.components, found.x)}: {where};"
                   " bounds are declared as 'input x in [0, 10]'")


def pull(multiplier: float) -> str:
    """A multiplier in words; NaN is none."""
    if multiplier != multiplier:
        return "no multiplier: the gradients of what is active are zero or dependent"
    return f"multiplier {multiplier:.6g}"


# ---------------------------------------------------------------- forms

def results(told: Report) -> tuple[list[str], list[Any]]:
    """The inputs that were moved, and the objective."""
    moved = told.problem.function.unpack(told.optimum.found.x)
    return [*moved, told.objective], [*moved.values(), told.optimum.found.f]


def as_text(told: Report, number: Number) -> Iterator[str]:
    names, values = results(told)
    layout = Layout(None, (), "", {}, tuple(names), ())
    lines = result_lines(layout, Row({}, [np.asarray(v) if np.ndim(v) else v for v in values], 0), number, False)
    yield "\n".join([*lines, *(f"# {comment}" for comment in told.comments())]) + "\n"


def as_json(told: Report, number: Number) -> Iterator[str]:
    """One object: the point with all inputs, as --at @FILE reads it, the value, and what was found."""
    from adcli.output.tensors import json_tensor
    o, one = told.optimum, lambda x: json_number(float(x), number)

    def claimed(multiplier: float) -> object:
        return None if multiplier != multiplier else one(multiplier)

    yield json_text({
        "at": {k: json_tensor(v, number) if np.ndim(v) else one(v) for k, v in told.at.items()},
        "value": {told.objective: one(o.found.f)},
        "verdict": verdict_word(told), told.word: told.shown, "sentence": told.sentence(),
        "gradient": one(told.gradient), "violation": one(max(o.found.violation, 0.0)),
        "conditions": [{"text": t, "value": one(v), "active": a, "multiplier": claimed(m)} for t, v, a, m in told.conditions()],
        "bounds": {n: {"bound": one(b), "multiplier": claimed(m)} for n, b, m in told.held()},
        "status": LEVELS[max(told.smoothness[0], 0)],
        "solver": o.solver, "iterations": o.iterations, "evaluations": o.evaluations, "message": o.message}) + "\n"


def verdict_word(told: Report) -> str:
    """The verdict in one word or two."""
    word = told.optimum.found.verdict
    if word in (MINIMUM, NOT_UNIQUE, NOT_STRICT, STATIONARY, FLAT) and told.rough:
        return "not smooth"
    return told.word if word == MINIMUM else word


def as_csv(told: Report, number: Number) -> Iterator[str]:
    """A header and one row: what was moved, component by component, and what was found."""
    o = told.optimum
    numbers = [*o.found.x, o.found.f, told.gradient, max(o.found.violation, 0.0)]
    yield csv_text([*told.problem.function.components, told.objective, "gradient", "violation", "verdict", "solver"],
                   [*(number(float(x)) for x in numbers), verdict_word(told), o.solver])
