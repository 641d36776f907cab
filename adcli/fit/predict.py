"""Predictions of a fit at other rows: the outputs with their standard errors, and the bands that hold the curve and a new
observation (Bates and Watts, Nonlinear Regression Analysis, 1988, 2.3.2: J C Jᵀ along the tangent plane at the solution)."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from adcli.fit.fit import Fit, Fitted
from adcli.lang.ir import Program, Values, has_tensors, shape_of
from adcli.lang.ir.errors import AdError
from adcli.numerics.least_squares import RANK, of_length_one
from adcli.numerics.linear import Normal, column_lengths
from adcli.numerics.losses import Matrix
from adcli.numerics.vectors import Vector
from adcli.propagate.coverage import coverage_factor

COVERAGE = 0.95
ALONG_LOST = 1e-6
"""Part of a derivative along a direction that the data do not determine, from which on an output depends on it."""


class Prediction(NamedTuple):
    """An output in every row: its value and standard error; half the widths of the band of the curve and of that of a new
    observation, None where its scatter is not known."""

    output: str
    value: Vector
    error: Vector
    half: Vector
    half_new: Vector | None

    @property
    def columns(self) -> dict[str, Vector]:
        """The columns of a table."""
        v, x = self.output, self.value
        found = {v: x, f"u_{v}": self.error}
        with np.errstate(invalid="ignore"):
            for of, half in (("", self.half), ("new_", self.half_new)):
                found |= {} if half is None else {f"low_{of}{v}": x - half, f"high_{of}{v}": x + half}
        return found


def require_predictable(program: Program, fit: Fit) -> None:
    """AdError where outputs are not a number a row."""
    if fit.places is None or any(shape_of(r.atom) for r in program.results):
        raise AdError("predictions are of outputs that are numbers, in the rows of a table")


def factor_of(found: Fitted, coverage: float) -> float:
    """Standard errors in half the width of an interval."""
    return coverage_factor(coverage, math.inf if found.absolute else found.dof)


@np.errstate(all="ignore")
def predictions(fit: Fit, found: Fitted, inputs: Values, scatters: Sequence[Any],
                coverage: float, places: Values | None = None) -> list[Prediction]:
    """Each output in rows with these `inputs`. `scatters` are the uncertainties of a new observation of each output, up to the
    scatter of the residuals where these are relative, None where they are not known; `places` as of a RowModel."""
    rows = max((len(x) for x in inputs.values() if np.ndim(x)), default=1)
    if not rows:
        none = np.zeros(0)
        return [Prediction(v, none, none, none, none if s is not None else None)
                for v, s in zip(fit.model.task.signature.outputs, scatters, strict=True)]
    model = fit.model.elsewhere(inputs, rows, places)
    values, jacobian = model(found.values)
    m, tensors = len(scatters), has_tensors(model.task.primal)
    error, k = standard_errors(found, jacobian), factor_of(found, coverage)
    means, errors = (x.reshape(rows, m).T if tensors else x.reshape(m, rows) for x in (values, error))
    unit = 1.0 if found.absolute else found.residual_sd
    outputs = model.task.signature.outputs
    return [Prediction(v, mean, u, k * u, None if scatter is None else k * np.hypot(u, unit * np.asarray(scatter, float)))
            for v, mean, u, scatter in zip(outputs, means, errors, scatters, strict=True)]


def standard_errors(found: Fitted, jacobian: Matrix) -> Vector:
    """Of quantities with this Jacobian by the parameters; NaN where one depends on what the data do not determine."""
    free = np.flatnonzero(~found.end.held)
    triangle, rows = found.end.triangle[:, free], np.asarray(jacobian)[:, free]
    lengths = column_lengths(triangle)
    unit = rows / lengths
    if isinstance(triangle, np.ndarray):
        _, s, vt = np.linalg.svd(triangle / lengths, full_matrices=False)
        kept = s > RANK * s[0] if len(s) else s > 0
        error = np.linalg.norm(unit @ (vt[kept].T / s[kept]), axis=1)
    else:
        error = np.sqrt(np.sum(unit * Normal(of_length_one(triangle, lengths)).solve(unit.T).T, axis=1))
    lost = np.reshape(found.end.lost, (-1, len(free)))
    depends = np.abs(rows @ lost.T) > ALONG_LOST * (np.abs(rows) @ np.abs(lost).T)
    return np.where(depends.any(axis=1), math.nan, error * found.scale)


# ---------------------------------------------------------------- as a table

def predicted_table(inputs: Values, made: Sequence[Prediction]) -> dict[str, list[Any]]:
    """The inputs that differ from row to row, or were given so, then what is predicted."""
    columns: dict[str, Any] = {n: x for n, x in inputs.items() if np.ndim(x)}
    columns |= {n: x for p in made for n, x in p.columns.items()}
    return {name: list(x.tolist() if x.dtype != object else x) for name, x in columns.items()}
