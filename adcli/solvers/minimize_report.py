"""Report of an optimum: the point, the value, what has been checked there, and where that shows no minimum, why."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from adcli.lang.ir import JUMP, SMOOTH, has_tensors
from adcli.lang.ir.errors import plural
from adcli.numerics.optimality import Verdict
from adcli.output.numbers import Number, json_number
from adcli.solvers.explain_failure import failure, leading, near_kink, point_text
from adcli.solvers.minimize import Optimum, Problem, is_removable
from adcli.solvers.point_report import NOT_SMOOTH, PointReport

SAME = 1e-6
"""Values of minima that differ by less, relative to them or 1, count as one."""
FAR = 1e4
"""How far from its start, relative to it, a point is that still moves where there may be no minimum."""
EFFORT = {"values": "value", "gradients": "gradient", "hessians": "Hessian", "products": "product"}
MOST_SHOWN = 20
"""Conditions that are told one by one."""


CORNERED, REMOVABLE, UNSTEADY, UNDERIVED = " cornered", " removable", "unsteady", "underived"
"""Cases of a verdict that have a sentence of their own."""
SENTENCES = {
    Verdict.MINIMUM: "{0.word}: {gradient}, Hessian {definite} definite{where}",
    Verdict.MINIMUM + REMOVABLE: "{0.word}: {gradient}, Hessian {definite} definite{where}, the same on all sides of a {0.level}",
    Verdict.MINIMUM + CORNERED: "{0.word}: {gradient}; the active conditions leave no direction free",
    Verdict.NOT_UNIQUE: "{0.word}, not unique: nothing changes {0.along}; {gradient}, Hessian {definite} definite across",
    Verdict.NOT_UNIQUE + CORNERED: "{0.word}, not unique: nothing changes {0.along}; {gradient}",
    Verdict.NOT_STRICT: "{0.word} to second order, not shown to be strict: {gradient}, Hessian next to zero {0.along}, and"
                        " neither side leads lower",
    Verdict.STATIONARY: "stationary: {gradient}; second derivatives are not looked at, with {0.x.size:,} variables",
    Verdict.FLAT: "not shown to be a {0.word}: {gradient}, but the Hessian is singular to rounding {0.along}",
    UNSTEADY: "not shown to be a {0.word}: {gradient}, but the Hessian is another within rounding or a Newton step",
    Verdict.DEGENERATE: "not shown to be a {0.word}: the gradients of what is active are zero or dependent here, and no"
                        " multipliers need exist; {gradient}",
    NOT_SMOOTH: "not shown to be a {0.word}: not smooth here ({0.level})",
    Verdict.SADDLE: "no {0.word}: a saddle point, {gradient}; {0.objective} {0.verb} {0.along}",
    Verdict.MOVING: "no {0.word}: not stationary, {gradient}",
    Verdict.INFEASIBLE: "no {0.word}: the conditions do not hold, by {0.violation:.2g}",
    UNDERIVED: "not shown to be a {0.word}: a derivative is not finite here",
    Verdict.NOT_FINITE: "no {0.word}: {0.objective}, a condition or a derivative is not finite here",
}
"""Sentences on a verdict."""


class Report(PointReport):
    """The best answer to a problem, among those to `every` start."""

    def __init__(self, problem: Problem, optimum: Optimum, every: Sequence[Optimum]) -> None:
        super().__init__(problem.function, optimum.found.x)
        self.problem, self.optimum, self.every = problem, optimum, every

    @property
    def word(self) -> str:
        return "minimum" if self.problem.sign > 0 else "maximum"

    @property
    def objective(self) -> str:
        return self.function.program.results[0].name

    @cached_property
    def rough(self) -> bool:
        """True if derivatives say nothing here: not at a kink at which the second ones of all sides agree."""
        level, found = self.smoothness[0], self.optimum.found
        return level > JUMP or (level > SMOOTH and not (found.verdict == Verdict.MINIMUM and is_removable(self.problem, found)))

    @property
    def shown(self) -> bool:
        """True if everything was found that a minimum has."""
        return self.optimum.found.verdict.shown and not self.rough

    @property
    def verdict(self) -> str:
        """The verdict in one word or two."""
        word = self.optimum.found.verdict
        if word.rank <= Verdict.FLAT.rank and self.rough:
            return NOT_SMOOTH
        return self.word if word == Verdict.MINIMUM else str(word)

    @property
    def far(self) -> bool:
        """True if the point is far from the start."""
        start = np.maximum(1.0, np.max(np.abs(self.problem.start), initial=0.0))
        return bool(np.max(np.abs(self.x), initial=0.0) > FAR * start)

    @property
    def gradient(self) -> float:
        """The largest component of the gradient of the Lagrangian."""
        return float(np.max(np.abs(self.optimum.found.residual), initial=0.0))

    @property
    def violation(self) -> float:
        return max(self.optimum.found.violation, 0.0)

    # -- in words

    def sentence(self) -> str:
        """Verdict on one line."""
        found = self.optimum.found
        kind: str = found.verdict
        held = bool(found.active.any() or found.held.any())
        if kind == Verdict.NOT_FINITE and np.isfinite(found.f) and np.isfinite(found.c).all():
            kind = UNDERIVED
        elif found.verdict.rank < Verdict.INFEASIBLE.rank and self.rough:
            kind = NOT_SMOOTH
        elif kind == Verdict.FLAT and found.step is not None:
            kind = UNSTEADY
        elif kind in (Verdict.MINIMUM, Verdict.NOT_UNIQUE) and found.cornered:
            kind += CORNERED
        elif kind == Verdict.MINIMUM and self.smoothness[0] > 0:
            kind += REMOVABLE
        return SENTENCES[kind].format(
            self, gradient=f"gradient{' of the Lagrangian' * held} {self.gradient:.2g}",
            definite="positive" if self.problem.sign > 0 else "negative", where=" along what is free to move" * held).rstrip()

    @property
    def verb(self) -> str:
        return "falls" if self.problem.sign > 0 else "rises"

    @property
    def along(self) -> str:
        """The direction that decides, by its largest components."""
        direction = self.optimum.found.direction
        if direction is None:
            return ""
        return f"along {leading(self.function.components, direction / max(float(np.max(np.abs(direction))), 1e-300))}"

    def held(self) -> list[tuple[str, float, float]]:
        """The variables at bounds: name, bound and multiplier."""
        found, names, b = self.optimum.found, self.function.components, self.problem.bounds
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
        optimum, function = self.optimum, self.function
        found = optimum.found
        free = found.verdict in (Verdict.NOT_UNIQUE, Verdict.FLAT) and not has_tensors(function.program)
        if free and found.direction is not None:
            from adcli.why.command import remarks_on_zeros
            still = np.ravel(abs(function.jac(found.x)).sum(axis=0)) == 0
            flat = [function.names[k] for k in np.flatnonzero(still & (np.abs(found.direction) > 1e-6))]
            yield from remarks_on_zeros(function.program, function.names, self.at, flat)[1]
        if self.shown:
            return
        level, note = self.smoothness
        if level > 0:
            yield note
        elif found.verdict == Verdict.MOVING:
            near = near_kink(function, found.x)
            if near is not None:
                yield near
        yield from failure(function, *((found.x, False) if found.verdict == Verdict.NOT_FINITE else (optimum.bad, True)))
        moved, edge = not np.array_equal(found.x, self.problem.start), optimum.bad is not None and not self.problem.conditions
        moving = found.verdict == Verdict.MOVING
        if (self.far and (moving or found.verdict == Verdict.NOT_FINITE)) or (moving and edge and moved):
            where = f"it may have no {self.word}" if self.far else f"its {self.word} may be where its domain ends"
            yield (f"note: {self.objective} still {self.verb} at {point_text(function.components, found.x)}: {where};"
                   " bounds are declared as 'input x in [0, 10]'")

    # -- as data

    def derived(self) -> dict[str, Any]:
        return {self.objective: self.optimum.found.f}

    def record(self, number: Number) -> dict[str, Any]:
        o, one = self.optimum, lambda x: json_number(float(x), number)

        def claimed(multiplier: float) -> object:
            return None if multiplier != multiplier else one(multiplier)

        return {
            "value": {self.objective: one(o.found.f)}, "verdict": self.verdict, self.word: self.shown,
            "sentence": self.sentence(), "gradient": one(self.gradient), "violation": one(self.violation),
            "conditions": [{"text": t, "value": one(v), "active": a, "multiplier": claimed(m)}
                           for t, v, a, m in self.conditions()],
            "bounds": {n: {"bound": one(b), "multiplier": claimed(m)} for n, b, m in self.held()},
            "status": self.level, "solver": o.solver, "iterations": o.iterations, "evaluations": o.evaluations,
            "message": o.message}

    def table(self) -> tuple[list[str], Sequence[Any]]:
        o = self.optimum
        return [*self.function.components, self.objective, "gradient", "violation", "verdict", "solver"], \
            [*self.x.tolist(), float(o.found.f), self.gradient, self.violation, self.verdict, o.solver]


def pull(multiplier: float) -> str:
    """A multiplier in words; NaN is none."""
    if multiplier != multiplier:
        return "no multiplier: the gradients of what is active are zero or dependent"
    return f"multiplier {multiplier:.6g}"
