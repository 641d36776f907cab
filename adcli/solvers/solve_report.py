"""Report of a solution: the unknowns, their derivatives by the other inputs, and what has been checked."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np

from adcli.lang.derive.derivatives import partial_name
from adcli.lang.ir import LEVELS, has_tensors
from adcli.lang.ir.errors import Note, plural
from adcli.numerics.linear import largest
from adcli.output.layout import Layout, Row
from adcli.output.numbers import Number, json_number, json_text
from adcli.output.report import csv_text, heading, result_lines
from adcli.solvers.explain_failure import failure, leading, no_influence, status
from adcli.solvers.solution import NOT_CONVERGED, NOT_FINITE, SINGULAR_SOLUTION, Solution

NOT_SMOOTH = "not smooth"


@dataclass(frozen=True)
class SolveReport:
    """A solution in words."""

    solution: Solution

    @property
    def at(self) -> dict[str, Any]:
        return self.solution.system.function.point(self.solution.x)

    @cached_property
    def smoothness(self) -> tuple[int, Note | None]:
        """The level of the status of the equations there, and the note on it."""
        return status(self.solution.system.function, self.at)

    @property
    def shown(self) -> bool:
        """True if this is a solution, or a least sum of squares, at which derivatives mean something."""
        return self.solution.found and self.smoothness[0] <= 0

    @property
    def verdict(self) -> str:
        """Verdict in one word or two."""
        return NOT_SMOOTH if self.solution.found and not self.shown else self.solution.verdict

    @cached_property
    def rates(self) -> np.ndarray | None:
        """dx/dp, a column for each component of the other inputs."""
        return self.solution.sensitivity if self.shown else None

    def sensitivities(self) -> dict[str, Any]:
        """dx_da by name: numbers, and arrays where one of the two is a tensor."""
        s, found = self.solution, self.rates
        f, others = s.system.function, s.system.others
        if found is None:
            return {}
        made, column = {}, 0
        known = list(zip(others.names, others.shapes, others.sizes, strict=True))[len(f.names):]
        for name, shape, size in compress(known, s.system.rated):
            row = 0
            for x, x_shape, x_size in zip(f.names, f.shapes, f.sizes, strict=True):
                block = found[row:row + x_size, column:column + size].reshape((*x_shape, *shape))
                made[partial_name(x, (name,))] = block if block.ndim else float(block)
                row += x_size
            column += size
        return made

    def sentence(self) -> str:
        s = self.solution
        residual = f"residual {s.norm:.2g}"
        if s.found and self.smoothness[0] > 0:
            return f"{residual}, but not smooth there ({LEVELS[self.smoothness[0]]}): no sensitivities"
        match s.verdict:
            case "solution":
                extra = f", {self.counts()}" if len(s.residual) > len(s.x) else ""
                return f"solution{extra}: {residual}, condition number {s.condition:.3g}"
            case "least squares":
                return f"no solution, least squares: {self.counts()}, {residual}, condition number {s.condition:.3g}"
            case "singular":
                return f"{residual}, but the Jacobian is singular{self.along()}: no sensitivities"
            case "not finite":
                return f"no solution{self.within()}: an equation or a derivative is not finite here"
        lost = f", and the Jacobian is singular{self.along()}" if s.lost is not None else ""
        return f"no solution{self.within()}: {residual}{lost}"

    def within(self) -> str:
        """The ranges in which the unknowns were looked for."""
        f = self.solution.system.function
        ranges = {p.name: f"[{brief(p.low)}, {brief(p.high)}]" for p in map(f.program.param, f.names)
                  if p.low is not None and p.high is not None}
        if len(f.names) == 1:
            return "".join(f" in {ends}" for ends in ranges.values())
        return " with " * bool(ranges) + ", ".join(f"{name} in {ends}" for name, ends in ranges.items())

    def counts(self) -> str:
        s = self.solution
        return f"{plural(len(s.residual), 'equation')} for {plural(len(s.x), 'unknown')}"

    def along(self) -> str:
        """The direction in which the residuals do not change, by its largest components."""
        lost = self.solution.lost
        if lost is None:
            return " to rounding"
        return f" along {leading(self.solution.system.function.components, lost)}"

    def effort(self) -> str:
        return f"{self.solution.solver}: {plural(self.solution.evaluations, 'evaluation')}"

    def reasons(self) -> Iterator[str]:
        """Where there is no solution, what `why` says there."""
        s, f = self.solution, self.solution.system.function
        if s.found and not self.shown:
            yield str(self.smoothness[1])
        if s.found and (many := [name for name, few in zip(s.system.others.names[len(f.names):], s.system.rated, strict=True)
                                 if not few]):
            yield f"note: the derivatives of {plural(f.n, 'unknown')} by {', '.join(many)} are left out: too many numbers"
        if s.found or has_tensors(f.program):
            return
        yield from failure(f, *((s.x, False) if s.verdict == NOT_FINITE else (s.bad, True)))
        flat = [x for x, most in zip(f.names, largest(s.jacobian, 0), strict=True) if most == 0]
        if flat and s.verdict in (SINGULAR_SOLUTION, NOT_CONVERGED):
            yield from no_influence(f.program, f.names, self.at, flat)[1]


def brief(x: float) -> str:
    """A number as people write it."""
    return short if float(short := f"{x:g}") == x else repr(x)


# ---------------------------------------------------------------- forms

def as_text(told: Iterable[SolveReport], number: Number, headed: bool) -> Iterator[str]:
    """The unknowns and the sensitivities of each point; a comment in front says which where there are several."""
    for i, one in enumerate(told):
        moved = one.solution.system.function.unpack(one.solution.x)
        results = {**moved, **one.sensitivities()}
        known = {k: v for k, v in one.at.items() if k not in moved}
        layout = Layout(None, (), "", {}, tuple(results), ())
        row = Row(known, list(results.values()), 0)
        head = [""] * (headed and i > 0) + [heading(i, row, number)] * headed
        yield "\n".join([*head, *result_lines(layout, row, number, False), f"# {one.sentence()}", f"# {one.effort()}"]) + "\n"


def as_json(told: Iterable[SolveReport], number: Number) -> Iterator[str]:
    """One object a point, with all inputs, as --at @FILE reads it."""
    from adcli.output.tensors import json_tensor

    def shown(x: Any) -> object:
        return json_tensor(np.asarray(x), number) if np.ndim(x) else json_number(float(x), number)

    for one in told:
        s = one.solution
        yield json_text({"at": {k: shown(v) for k, v in one.at.items()}, "residual": [shown(x) for x in s.residual],
                         "sensitivity": {k: shown(v) for k, v in one.sensitivities().items()}, "verdict": one.verdict,
                         "sentence": one.sentence(), "condition": shown(s.condition), "solver": s.solver,
                         "evaluations": s.evaluations}) + "\n"


def as_csv(told: Iterable[SolveReport], number: Number) -> Iterator[str]:
    """A header and a row a point: the known inputs, the unknowns, the sensitivities, the residual and the verdict."""
    for i, one in enumerate(told):
        f, others = one.solution.system.function, one.solution.system.others
        n, found = f.n, one.rates
        rated = np.repeat(one.solution.system.rated, others.sizes[len(f.names):])
        known = np.asarray(others.pack(one.at))[n:]
        whole = {name: x for name, x in one.at.items() if np.ndim(x) == 0 and np.asarray(x).dtype.kind == "i"}
        if i == 0:
            rate_names = [partial_name(x, (p,)) for x in f.components for p in compress(others.components[n:], rated)]
            yield csv_text([*whole, *others.components[n:], *f.components, *rate_names, "residual", "verdict"])
        rates = np.full(n * int(rated.sum()), np.nan) if found is None else found.ravel()
        numbers = (number(float(x)) for x in (*known, *one.solution.x, *rates, one.solution.norm))
        yield csv_text([*(str(int(x)) for x in whole.values()), *numbers, one.verdict])


