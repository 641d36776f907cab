"""Uncertain tensors: each element is an uncertain number, and a covariance matrix says how they belong together.

At a point a program with tensors, loops or matrices is written out as one of numbers (`adcli.lang.evaluate.unfolding`), whose
inputs and outputs are the elements. So the budgets, the second order and Monte Carlo are those of every program.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from adcli.input.arrays import fitting, read_tensor, text_array
from adcli.input.distributions import Spread
from adcli.input.points import located, parts
from adcli.input.spreads import split, spread_of, tensor_parts, tensor_widths
from adcli.lang.derive.uncertainty import MOST_RESULTS
from adcli.lang.derive.uncertainty_figures import Correlation
from adcli.lang.evaluate.recording import element
from adcli.lang.ir import Param, Program
from adcli.lang.ir.errors import AdError, nearest
from adcli.lang.ir.names import composed, tensor_of
from adcli.lang.operations.activity import inputs_to_differentiate
from adcli.lang.operations.recurrence import Recurrence
from adcli.propagate.given import GivenPoint
from adcli.task.derive import chosen

Remark = Callable[[object], None]
SYMMETRIC = 1e-9
"""How far two entries of a covariance matrix that are one may lie apart, beside the product of their standard uncertainties."""


def given_elements(program: Program, points: Sequence[GivenPoint], covariances: Sequence[str], samples: bool,
                   say: Remark) -> tuple[dict[str, Any], GivenPoint, tuple[Correlation, ...]]:
    """The one given point, the same with the spreads of elements, and the correlations of elements that covariance matrices say.
    AdError for several points, and for `samples` where a loop ends at `until`."""
    if samples and any(isinstance(e.op, Recurrence) and e.op.until is not None for e in program.equations):
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
