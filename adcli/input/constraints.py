"""Values of inputs that are declared `in simplex` and the like: notes on those that break the constraint, and random ones."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from adcli.lang.ir import Param
from adcli.lang.ir.errors import AdError, Note, Source
from adcli.lang.tree.notation import CONSTRAINTS

SUM_WITHIN = 1e-8
"""How far the sum of a simplex may be from 1, as in Stan."""
HOLDS: Mapping[str, Callable[[np.ndarray], Any]] = {
    "simplex": lambda x: (x >= 0).all(-1) & (abs(x.sum(-1) - 1) <= SUM_WITHIN),
    "ordered": lambda x: (np.diff(x) > 0).all(-1),
    "cholesky_factor_corr": lambda x: (np.triu(x, 1) == 0).all((-2, -1)) & (np.diagonal(x, 0, -2, -1) > 0).all(-1)
    & (abs((x**2).sum(-1) - 1) <= SUM_WITHIN).all(-1)}
OF_ANY: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "simplex": lambda x: abs(x) / abs(x).sum(-1, keepdims=True), "ordered": lambda x: np.sort(x, -1),
    "cholesky_factor_corr": lambda x: np.linalg.cholesky(correlations(x))}
"""The vectors and matrices with a constraint that others are turned into."""

INSTEAD = {
    "simplex": "in minimize, declare it in [0, 1] and write: subject to sum({0}) == 1; in fit, use others: {0} = softmax(u)",
    "ordered": "in minimize, write instead: subject to {0}(k) <= {0}(k + 1); in fit, use others, u in [0, inf]: "
               "s = cumsum(u); {0}(k) = first + s(k)",
    "cholesky_factor_corr": "of two rows it is {0}(0, 0) = 1; {0}(1, 0) = r; {0}(1, 1) = sqrt(1 - r**2), with r in [-1, 1]"}
"""What to do in place of a constraint."""


def correlations(x: np.ndarray) -> np.ndarray:
    """Correlation matrices made of any square ones."""
    c = x @ np.swapaxes(x, -1, -2) + np.eye(x.shape[-1]) * (x**2).sum((-2, -1), keepdims=True)
    d = 1 / np.sqrt(np.diagonal(c, 0, -2, -1))
    found: np.ndarray = d[..., None] * c * d[..., None, :]
    return found


def require_unconstrained(p: Param) -> None:
    """AdError for an input with a constraint, where inputs are moved within ranges alone."""
    if p.constraint:
        raise AdError(f"'{p.name}' is in {p.constraint}, and only Function.logdensity keeps it so",
                      help=INSTEAD[p.constraint].format(p.name))


def broken(p: Param, given: object, source: Source | None) -> Note | None:
    """The note on the first vector of an input that breaks its constraint."""
    x = np.asarray(given, float)
    wrong = np.argwhere(~HOLDS[p.constraint or ""](x))[:1].tolist()
    if not wrong:
        return None
    place = f"({', '.join([*map(str, wrong[0]), *':' * (x.ndim - len(wrong[0]))])})" if wrong[0] else ""
    return Note(f"{p.name}{place} is not in {p.constraint}, where {CONSTRAINTS[p.constraint or '']}", None, source)
