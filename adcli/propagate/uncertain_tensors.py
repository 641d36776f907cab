"""Uncertain tensors: each element is an uncertain number, and a covariance matrix says how they belong together.

At a point a program with tensors, loops or matrices is written out as one of numbers (`adcli.lang.evaluate.recording`), whose
inputs and outputs are the elements. So the budgets, the second order and Monte Carlo are those of every program.

Where there are many figures, nothing is written out, so tensors may be large: uncertainties to first order are J C Jᵀ of the
Jacobian, which native code gives as tensors. The figures are those of `adcli.lang.derive.uncertainty`, worked out by matrices in
place of an equation for each number.
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
from adcli.input.arrays import fitting, read_tensor, text_array
from adcli.input.distributions import Spread, split, spread_of, tensor_parts, tensor_widths
from adcli.input.points import located, parts
from adcli.input.settings import ResultOptions
from adcli.lang.derive.uncertainty import CANCELLED, MOST_RESULTS
from adcli.lang.derive.uncertainty_figures import Correlation, Figure, cholesky, figures
from adcli.lang.evaluate.recording import element, elements
from adcli.lang.ir import Param, Program, Var
from adcli.lang.ir.errors import AdError, Note, nearest
from adcli.lang.ir.names import Names, composed, tensor_of
from adcli.lang.operations.activity import active_values, inputs_to_differentiate
from adcli.lang.operations.recurrence import ended_by_values
from adcli.output.layout import Row
from adcli.output.wrap import few
from adcli.propagate.at_points import Budgets
from adcli.propagate.given import GivenPoint, Sampling
from adcli.task.derive import chosen
from adcli.task.matrices import dense
from adcli.task.request import Column, Request, Signature
from adcli.task.tasks import prepared

Remark = Callable[[object], None]
SYMMETRIC = 1e-9
"""How far two entries of a covariance matrix that are one may lie apart, beside the product of their standard uncertainties."""


def given_elements(program: Program, points: Sequence[GivenPoint], covariances: Sequence[str], samples: bool,
                   say: Remark) -> tuple[dict[str, Any], GivenPoint, tuple[Correlation, ...]]:
    """The one given point, the same with the spreads of elements, and the correlations of elements that covariance matrices say.
    AdError for several points, and for `samples` where a loop ends at `until`."""
    if samples and ended_by_values(program.equations):
        raise AdError("⟦--monte-carlo⟧ needs the same number of steps for all samples; here a loop ends at 'until'",
                      help="leave out ⟦--monte-carlo⟧: the uncertainties to first order hold the number of steps")
    found = [point for given in points for point in located(program.params, [given.plain], say, program.source)]
    if len(found) > 1:
        raise AdError("propagate takes one point of a program with tensors or loops, but ⟦--at⟧ gives several",
                      help="run adcli once for each of them")
    given, at = points[0], fitting(program, found[0])
    spreads = dict(given.spreads)
    for name, text in given.widths.items():
        spreads |= of_tensor(name, at[name], text)
    if given.widths and not (spreads or covariances):
        name, width = next(iter(given.widths.items()))
        raise AdError(f"'{name}' has no elements, and nothing else is uncertain",
                      help=f"write {name}=[2,3]±{'0.1' if width.startswith('[') else width}")
    matrices = dict(covariance(program, spreads, text) for text in covariances)
    correlations: list[Correlation] = []
    for name, matrix in matrices.items():
        uncertain, related = of_matrix(name, np.asarray(at[name]), matrix)
        spreads |= uncertain
        correlations += related
    inputs_to_differentiate(program, list(dict.fromkeys(tensor_of(x) for x in spreads)))
    return at, GivenPoint(given.plain, spreads), tuple(correlations)


def with_elements(program: Program, wanted: Sequence[str] | None) -> Program:
    """The program of elements with the outputs that are wanted: single elements, and all those of an output."""
    return chosen(program, wanted and named_elements([r.name for r in program.results], wanted))


def named_elements(known: Iterable[str], wanted: Sequence[str] | None) -> list[str]:
    """The elements that are wanted (None: all that are known), each once: single ones, and all those of a tensor."""
    whole: dict[str, list[str]] = {}
    for name in known:
        whole.setdefault(tensor_of(name), []).append(name)
    return list(dict.fromkeys(x for name in (whole if wanted is None else wanted) for x in whole.get(name, [name])))


# ---------------------------------------------------------------- spreads of tensors

def given_tensors(program: Program, spec: str) -> GivenPoint:
    """Point of one --at, where some of it are tensors."""
    tensors = {p.name for p in program.params if p.var.shape}
    plain: list[str] = []
    widths: dict[str, str] = {}
    spreads: dict[str, Spread] = {}
    for part in filter(str.strip, parts(spec)):
        name = composed(part.partition("=")[0].strip())
        if name in tensors:
            value, width = tensor_parts(part)
            if "~" in value and width is None:
                raise AdError(f"'{part.strip()}' has no spread", help=f"write {name}=[1,2]±0.1~rect")
            plain.append(value)
            widths.update({} if width is None else {name: width})
        elif "=@" in part.replace(" ", ""):
            plain.append(part)
        else:
            number, found = split(part)
            plain.append(number)
            spreads |= found
    return GivenPoint(",".join(plain), spreads, widths)


def of_tensor(name: str, at: np.ndarray, text: str) -> dict[str, Spread]:
    """The spreads of all elements of x=[1,2]±0.1: one number or percentage for all, or a tensor of the same shape; a
    distribution may follow. AdError for more elements than any propagation takes."""
    if at.size > MOST_RESULTS:
        raise AdError(f"'{name}' has {at.size:,} uncertain elements, and a propagation takes {MOST_RESULTS:,} at most",
                      help="give the spread of a smaller tensor")
    width, kind = text, None
    if "~" in text:
        width, _, kind = (part.strip() for part in text.rpartition("~"))
    each = tensor_widths(name, at, width)
    return {(x := element(name, place)): spread_of(x, repr(float(a)), float(a), float(each[place]), kind)
            for place, a in np.ndenumerate(at)}


# ---------------------------------------------------------------- covariance matrices

def covariance(program: Program, spreads: Mapping[str, Spread], text: str) -> tuple[str, np.ndarray]:
    """The input that x=@C.npy is about, and its matrix; @C.npy alone is of the only tensor."""
    tensors: dict[str, Param] = {p.name: p for p in program.params if p.var.shape and not p.var.integer}
    name, equals, place = (s.strip() for s in text.partition("="))
    if not equals and len(tensors) == 1:
        (name,), place = tensors, text.strip()
    name = composed(name)
    if name not in tensors:
        why = f"of {name}: no input '{name}' is a tensor" if equals else f"{text} names no input"
        raise AdError(f"⟦--covariance⟧ {why}",
                      help=nearest(name, list(tensors)) or f"write ⟦--covariance {next(iter(tensors), 'x')}=@C.npy⟧")
    if any(tensor_of(x) == name for x in spreads):
        raise AdError(f"'{name}' has a spread and a covariance matrix", help=f"give {name} without a spread")
    if place[:1] not in ("@", "["):
        raise AdError(f"⟦--covariance {text}⟧: expected a matrix", help=f"write ⟦--covariance {name}=@C.npy⟧")
    matrix = text_array(name, place) if place[0] == "[" else read_tensor(name, place[1:], 2)
    return name, np.asarray(conformed_matrix(name, matrix), float)


def conformed_matrix(name: str, matrix: np.ndarray) -> np.ndarray:
    """A square matrix of finite numbers."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise AdError(f"⟦--covariance⟧ of {name} must be a square matrix, not of the shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise AdError(f"⟦--covariance⟧ of {name} must have finite numbers")
    return matrix


def of_matrix(name: str, at: np.ndarray, matrix: np.ndarray) -> tuple[dict[str, Spread], list[Correlation]]:
    """The standard uncertainties and correlations of the elements of an input, in the order of memory."""
    if len(matrix) != at.size:
        raise AdError(f"'{name}' has {at.size} elements, and its covariance matrix {len(matrix)} rows",
                      help="rows and columns are the elements, row by row")
    names = [element(name, place) for place in np.ndindex(at.shape)]
    if (matrix.diagonal() < 0).any():
        bad = names[int(np.argmax(matrix.diagonal() < 0))]
        raise AdError(f"⟦--covariance⟧ of {name}: the variance of {bad} is negative")
    u = np.sqrt(matrix.diagonal())
    spreads = {x: Spread(float(a), float(w)) for x, a, w in zip(names, at.flat, u, strict=True)}
    return spreads, list(correlated(name, names, matrix, u))


def correlated(name: str, names: Sequence[str], matrix: np.ndarray, u: np.ndarray) -> Iterator[Correlation]:
    """The correlation coefficients of every two elements that have one. AdError where the matrix is none of covariances."""
    for i, j in zip(*np.nonzero(np.triu(matrix, 1) + np.tril(matrix, -1).T), strict=True):
        c, other, most = matrix[i, j], matrix[j, i], u[i] * u[j]
        if abs(c - other) > SYMMETRIC * most:
            raise AdError(f"⟦--covariance⟧ of {name} is not symmetric: {names[i]}:{names[j]} is {float(c)!r} and"
                          f" {float(other)!r}")
        if abs(c) > most * (1 + SYMMETRIC):
            raise AdError(f"⟦--covariance⟧ of {name}: {float(c)!r} for {names[i]}:{names[j]} is more than their standard"
                          " uncertainties allow", help=f"it can be from {float(-most)!r} to {float(most)!r}")
        yield names[i], names[j], float(max(-1.0, min(1.0, c / most)))


# ---------------------------------------------------------------- uncertainties to first order by matrices

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
                          help=f"the outputs are {few(values)}")
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
