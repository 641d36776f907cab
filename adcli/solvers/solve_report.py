"""Report of a solution: the unknowns, their derivatives by the other inputs, and what has been checked."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np

from adcli.lang.derive.derivatives import partial_name
from adcli.lang.ir import has_tensors
from adcli.lang.ir.errors import plural
from adcli.numerics.linear import largest
from adcli.output.numbers import Number
from adcli.solvers.explain_failure import failure, leading
from adcli.solvers.point_report import NOT_SMOOTH, PointReport, json_value
from adcli.solvers.solution import Root, Solution

SENTENCES = {
    Root.SOLUTION: "solution{0.more}: {residual}, condition number {0.solution.condition:.3g}",
    Root.LEAST_SQUARES: "no solution, least squares: {0.counts}, {residual}, condition number {0.solution.condition:.3g}",
    Root.SINGULAR: "{residual}, but the Jacobian is singular{0.along}: no sensitivities",
    Root.NOT_CONVERGED: "no solution{0.within}: {residual}{0.lost}",
    Root.NOT_FINITE: "no solution{0.within}: an equation or a derivative is not finite here",
    NOT_SMOOTH: "{residual}, but not smooth there ({0.level}): no sensitivities",
}
"""Sentences on a verdict."""


class SolveReport(PointReport):
    """A solution in words."""

    def __init__(self, solution: Solution) -> None:
        super().__init__(solution.system.function, solution.x)
        self.solution = solution

    @property
    def shown(self) -> bool:
        """True if this is a solution, or a least sum of squares, at which derivatives mean something."""
        return self.solution.found and self.smoothness[0] <= 0

    @property
    def verdict(self) -> str:
        """Verdict in one word or two."""
        return NOT_SMOOTH if self.solution.found and not self.shown else str(self.solution.verdict)

    @cached_property
    def rates(self) -> np.ndarray | None:
        """dx/dp, a column for each component of the other inputs."""
        return self.solution.sensitivity if self.shown else None

    def derived(self) -> dict[str, Any]:
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
        return SENTENCES[self.verdict].format(self, residual=f"residual {self.solution.norm:.2g}")

    @property
    def within(self) -> str:
        """The ranges in which the unknowns were looked for."""
        f = self.function
        ranges = {p.name: f"[{brief(p.low)}, {brief(p.high)}]" for p in map(f.program.param, f.names)
                  if p.low is not None and p.high is not None}
        if len(f.names) == 1:
            return "".join(f" in {ends}" for ends in ranges.values())
        return " with " * bool(ranges) + ", ".join(f"{name} in {ends}" for name, ends in ranges.items())

    @property
    def counts(self) -> str:
        return f"{plural(len(self.solution.residual), 'equation')} for {plural(len(self.x), 'unknown')}"

    @property
    def more(self) -> str:
        return f", {self.counts}" if len(self.solution.residual) > len(self.x) else ""

    @property
    def lost(self) -> str:
        return f", and the Jacobian is singular{self.along}" if self.solution.lost is not None else ""

    @property
    def along(self) -> str:
        """The direction in which the residuals do not change, by its largest components."""
        lost = self.solution.lost
        if lost is None:
            return " to rounding"
        return f" along {leading(self.function.components, lost)}"

    def comments(self) -> Iterator[str]:
        yield self.sentence()
        yield f"{self.solution.solver}: {plural(self.solution.evaluations, 'evaluation')}"

    def record(self, number: Number) -> dict[str, Any]:
        s = self.solution
        return {"residual": [json_value(x, number) for x in s.residual],
                "sensitivity": {k: json_value(v, number) for k, v in self.derived().items()}, "verdict": self.verdict,
                "sentence": self.sentence(), "condition": json_value(s.condition, number), "solver": s.solver,
                "evaluations": s.evaluations}

    def table(self) -> tuple[list[str], Sequence[Any]]:
        """The known inputs, the unknowns, the sensitivities, the residual and the verdict."""
        f, others, found = self.function, self.solution.system.others, self.rates
        rated = np.repeat(self.solution.system.rated, others.sizes[len(f.names):])
        whole = {name: int(x) for name, x in self.at.items() if np.ndim(x) == 0 and np.asarray(x).dtype.kind == "i"}
        rate_names = [partial_name(x, (p,)) for x in f.components for p in compress(others.components[f.n:], rated)]
        rates = np.full(len(rate_names), np.nan) if found is None else found.ravel()
        numbers = np.concatenate([np.asarray(others.pack(self.at))[f.n:], self.x, rates, [self.solution.norm]])
        return [*whole, *others.components[f.n:], *f.components, *rate_names, "residual", "verdict"], \
            [*whole.values(), *numbers.tolist(), self.verdict]

    def reasons(self) -> Iterator[str]:
        """Where there is no solution, what `why` says there."""
        s, f = self.solution, self.function
        if s.found and not self.shown:
            yield str(self.smoothness[1])
        if s.found and (many := [name for name, few in zip(s.system.others.names[len(f.names):], s.system.rated, strict=True)
                                 if not few]):
            yield f"note: the derivatives of {plural(f.n, 'unknown')} by {', '.join(many)} are left out: too many numbers"
        if s.found or has_tensors(f.program):
            return
        yield from failure(f, *((s.x, False) if s.verdict == Root.NOT_FINITE else (s.bad, True)))
        flat = [x for x, most in zip(f.names, largest(s.jacobian, 0), strict=True) if most == 0]
        if flat and s.verdict in (Root.SINGULAR, Root.NOT_CONVERGED):
            from adcli.why.command import remarks_on_zeros
            yield from remarks_on_zeros(f.program, f.names, self.at, flat)[1]


def brief(x: float) -> str:
    """A number as people write it."""
    return short if float(short := f"{x:g}") == x else repr(x)
