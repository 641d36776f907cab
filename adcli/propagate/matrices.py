"""Uncertainties to first order where there are many figures: J C Jᵀ of the Jacobian, which native code gives as tensors.

The figures are those of `adcli.lang.derive.uncertainty`, worked out by matrices in place of an equation for each number: nothing
is written out, so tensors may be large.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf, prod, ulp
from typing import Any

import numpy as np

from adcli.answers.diagnose import note
from adcli.answers.evaluation import evaluate
from adcli.answers.reporter import Reporter
from adcli.input.settings import ResultOptions
from adcli.lang.derive.uncertainty import CANCELLED, MOST_RESULTS
from adcli.lang.derive.uncertainty_figures import Correlation, Figure, cholesky, figures
from adcli.lang.evaluate.recording import elements
from adcli.lang.ir import Param, Program, Var
from adcli.lang.ir.errors import AdError, Note
from adcli.lang.ir.names import Names, tensor_of
from adcli.lang.operations.activity import active_values
from adcli.output.layout import Row
from adcli.propagate.at_points import Budgets
from adcli.propagate.elements import named_elements
from adcli.propagate.given import GivenPoint, Sampling
from adcli.task.matrices import dense
from adcli.task.request import Column, Request, Signature
from adcli.task.tasks import prepared

MANY = 1_000
"""Partial derivatives from which on figures are worked out by matrices."""
LONG = 1_000
"""Elements from which on an exact tensor is not repeated with the results."""


class Linearised:
    """The elements of outputs at a point, and the matrix of their derivatives by the uncertain elements `wrt`."""

    def __init__(self, request: Request, options: ResultOptions, whole: Program, at: Mapping[str, Any], wrt: Sequence[str],
                 wanted: Sequence[str] | None) -> None:
        inputs = {x: np.asarray(at[x]) for x in map(tensor_of, wrt)}
        asked = request._replace(verb="jacobian", wrt=[*inputs], order=1, correlations=(), moments=())
        self.task = prepared(asked, options, whole)
        (self.row,) = evaluate(self.task, [dict(at)], options.jobs)
        signature, active = self.task.signature, active_values(whole, [*inputs])
        outputs = dict(zip(signature.outputs, self.row.results, strict=False))
        blocks = {(c.of or "", c.wrt[0]): np.asarray(x, float)
                  for c, x in zip(signature.derived, self.row.results[len(outputs):], strict=True)}
        self.moving = {r.name for r in whole.results if r.atom in active}
        values, columns = elements_of(outputs), elements_of(inputs)
        kept = named_elements(values, wanted)
        if unknown := next((name for name in kept if name not in values), None):
            raise AdError(f"no output '{unknown}'",
                          help=f"the outputs are {', '.join([*values][:6])}{', …' if len(values) > 6 else ''}")
        self.values = {name: float(values[name]) for name in kept}
        self.jacobian = dense(blocks, outputs, inputs)[places(values, kept)][:, places(columns, wrt)]


def elements_of(tensors: Mapping[str, Any]) -> dict[str, Any]:
    """The elements of all tensors, by their names."""
    return {name: x for whole, found in tensors.items() for name, x in elements(whole, found).items()}


def places(known: Iterable[str], chosen: Iterable[str]) -> list[int]:
    """Where the chosen names stand among the known ones."""
    at = {name: i for i, name in enumerate(known)}
    return [at[name] for name in chosen]


class WatchOfElements(Reporter):
    """Reporter whose notes on a point are about its tensors."""

    found: Linearised

    def explained(self, row: Row) -> Note | str:
        return note(self.found.task, self.found.row, self.jobs) if row.level else super().explained(row)


class MatrixBudgets(Budgets):
    """The budget at one point, whose figures come from matrices."""

    def __init__(self, found: Linearised, point: GivenPoint, correlations: Sequence[Correlation], sampling: Sampling | None,
                 options: ResultOptions, heard: Callable[[object], object] | None) -> None:
        self.found, self.wrt, at = found, list(point.spreads), point.elements or {}
        outputs = list(found.values)
        wanted = figures(outputs, self.wrt, 1, correlations)
        if len(wanted) > MOST_RESULTS:
            raise AdError(f"{len(self.wrt)} uncertain inputs and {len(outputs)} outputs are too many for one propagation",
                          help="choose outputs with ⟦--of⟧, or give fewer inputs a spread")
        self.factor = cholesky(self.wrt, correlations)
        names = Names.among([], [*at, *outputs])
        seeds = tuple(Param(Var(n := names.fresh(f"u_{x}")), n, seed=x) for x in self.wrt)
        columns = (*map(Column, outputs), *(Column(names.fresh(f.hint), f.of) for f in wanted))
        signature = Signature((*(Param(Var(x), x) for x in at), *seeds), tuple(outputs), columns, tuple(self.wrt),
                              source=found.task.signature.source)
        request = found.task.request._replace(order=1, correlations=tuple(correlations))
        task = replace(found.task, signature=signature, request=request)
        reporter = WatchOfElements(task, options, heard=heard)
        reporter.found = found
        reporter.begin()
        super().__init__(task, [point], sampling, options, reporter)

    def rows(self, at: Iterable[dict[str, float]]) -> Iterator[Row]:
        for point in at:
            u = np.array([point[self.spreads[x]] for x in self.wrt])
            yield Row(point, [*self.found.values.values(), *self.numbers(u)], self.found.row.level)

    def numbers(self, u: np.ndarray) -> list[float]:
        """The figures, in their order."""
        with np.errstate(all="ignore"):
            terms = self.found.jacobian * u
            parts = self.turned(terms)
            largest = np.abs(parts).max(axis=1, initial=0.0)
            scale = np.where((largest > 0) & (largest < inf), largest, 1.0)
            whole = scale * np.sqrt(np.square(parts / scale[:, None]).sum(axis=1))
            none = (whole == 0) | (whole == inf)
            portions, directions = terms / whole[:, None], parts / whole[:, None]
            cosines = np.where(none[:, None] | none, 0.0, np.clip(directions @ directions.T, -1.0, 1.0))
        row, column = {v: i for i, v in enumerate(self.outputs)}, {x: i for i, x in enumerate(self.wrt)}
        factors = {(x, y): r for x, y, r in self.correlations}

        def figure(f: Figure) -> float:
            i = row[f.of]
            if f.kind == "u":
                return float(whole[i])
            if f.kind == "corr":
                return float(cosines[i, row[f.along[0]]])
            if none[i]:
                return 0.0
            if len(f.along) == 1:
                return float(100 * portions[i, column[f.along[0]]] ** 2)
            x, y = f.along
            return float(200 * factors[x, y] * portions[i, column[x]] * portions[i, column[y]])

        return [figure(f) for f in self.figures]

    def turned(self, terms: np.ndarray) -> np.ndarray:
        """Contributions that are independent: those that cancel within their rounding are 0."""
        if not self.correlations:
            return terms
        weights = np.zeros((len(self.wrt), len(self.wrt)))
        for i, line in enumerate(self.factor):
            for k, weight in line.items():
                weights[i, k] = weight
        found, several = terms @ weights, np.count_nonzero(weights, axis=0)
        bound = np.where(several > 1, (CANCELLED + several) * ulp(1.0), 0.0) * (np.abs(terms) @ np.abs(weights))
        return np.where(np.abs(found) < bound, 0.0, found)

    def slopes(self, at: Mapping[str, float]) -> dict[str, dict[str, float]]:
        return {v: dict(zip(self.wrt, line, strict=True))
                for v, line in zip(self.outputs, self.found.jacobian.tolist(), strict=True)}

    def depends(self, v: str) -> bool:
        return tensor_of(v) in self.found.moving


def numbers_of(program: Program, at: Mapping[str, Any], spreads: Collection[str]) -> dict[str, float]:
    """The elements of inputs at a point: not whole numbers, and not long tensors that are exact."""
    uncertain = {tensor_of(x) for x in spreads}
    kept = [p.name for p in program.params if not p.var.integer and (p.name in uncertain or np.size(at[p.name]) < LONG)]
    return {name: float(x) for name, x in elements_of({name: np.asarray(at[name]) for name in kept}).items()}


def many(program: Program, spreads: Mapping[str, object], at: Mapping[str, Any]) -> bool:
    """True if there are so many partial derivatives that matrices are sooner done."""
    from adcli.lang.ir import shape_of
    from adcli.lang.sizes.binding import bind, number
    sizes = bind(program, {p.name: np.shape(at[p.name]) for p in program.params}, at)
    return len(spreads) * sum(prod(number(x, sizes) for x in shape_of(r.atom)) for r in program.results) >= MANY
