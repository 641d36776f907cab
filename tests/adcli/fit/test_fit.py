"""Least squares: what an answer is worth where parameters are determined, and what is said where they are not."""
from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from adcli.fit.fit import Fitted, fitted
from adcli.fit.notes import connected, said_of
from adcli.numerics.least_squares import Residuals, Start, ended, lost_beside
from adcli.numerics.losses import Loss

FREE = Loss()


def start(values: list[float], low: float = -np.inf, high: float = np.inf) -> Start:
    n = len(values)
    return Start(tuple(f"b{i + 1}" for i in range(n)), np.array(values), np.full(n, low), np.full(n, high))


def linear(matrix: list[list[float]], y: list[float], begin: Start, loss: Loss = FREE, absolute: bool = False) -> Fitted:
    a, observed = np.array(matrix, float), np.array(y, float)
    residuals = Residuals(lambda b: (a @ b - observed, a.copy()), float(np.abs(observed).max()))
    return fitted(residuals, begin, loss, absolute, 1000)


LINE = [[1.0, x] for x in (1.0, 2.0, 3.0, 5.0, 8.0)]
RESPONSE = [2.0, 4.0, 3.0, 7.0, 11.0]


def exact_line() -> tuple[list[Fraction], list[list[Fraction]], Fraction]:
    """The line through the points in rational numbers: coefficients, (AᵀA)⁻¹, Σr²."""
    a = [[Fraction(x) for x in row] for row in LINE]
    y = [Fraction(x) for x in RESPONSE]
    s = [[sum(r[i] * r[j] for r in a) for j in range(2)] for i in range(2)]
    det = s[0][0] * s[1][1] - s[0][1] ** 2
    inverse = [[s[1][1] / det, -s[0][1] / det], [-s[0][1] / det, s[0][0] / det]]
    right = [sum(r[i] * v for r, v in zip(a, y, strict=True)) for i in range(2)]
    b = [sum(inverse[i][j] * right[j] for j in range(2)) for i in range(2)]
    rss = sum((sum(c * x for c, x in zip(r, b, strict=True)) - v) ** 2 for r, v in zip(a, y, strict=True))
    return b, inverse, Fraction(rss)


@pytest.mark.parametrize("absolute", [False, True])
def test_a_line_has_the_coefficients_and_covariances_of_rational_arithmetic(absolute: bool) -> None:
    b, inverse, rss = exact_line()
    found = linear(LINE, RESPONSE, start([0.0, 0.0]), absolute=absolute)
    variance = Fraction(1) if absolute else rss / 3
    np.testing.assert_allclose(found.values, [float(x) for x in b], rtol=1e-13)
    np.testing.assert_allclose(found.covariance, [[float(variance * x) for x in row] for row in inverse], rtol=1e-12)
    assert (found.dof, found.converged) == (3, True)
    assert found.chi2 == pytest.approx(float(rss), rel=1e-12)


@pytest.mark.parametrize(("matrix", "said", "known"), [
    ([[1, 2, 0], [3, 6, 1], [1, 2, 5], [2, 4, 1]],
     ["b1 and b2 can only be had together: here the data determine b1 + 2*b2, and neither alone"], ["b3"]),
    ([[1, 0, 0], [3, 0, 1], [1, 0, 5], [2, 0, 1]], ["b2 has no influence: no residual changes with it here"], ["b1", "b3"]),
    ([[1e9, 1e-9, 2e-9], [3e9, 2e-9, 4e-9], [1e9, 5e-9, 10e-9], [1e9, 1e-9, 2e-9]],
     ["b2 and b3 can only be had together: here the data determine b2 + 2*b3, and neither alone"], ["b1"]),
    ([[1, 1, 2], [2, 1, 3], [5, 1, 6], [3, 3, 6]],
     ["b1, b2 and b3 can only be had together: moving b1 by 1, b2 by 1, b3 by -1 changes no residual"], []),
    ([[1, -1, 0], [1, -1, 0], [1, -1, 0], [1, -1, 0]],
     ["b1 and b2 can only be had together: here the data determine b1 - b2, and neither alone",
      "b3 has no influence: no residual changes with it here"], []),
    ([[1, 2, 4], [2, 4, 8], [3, 6, 12], [0, 0, 0]],
     ["b1, b2 and b3 can only be had together: here the data determine b1 + 2*b2 + 4*b3, and none alone"], []),
])
def test_what_is_not_determined_is_named_and_has_no_uncertainty(matrix: list[list[float]], said: list[str],
                                                                known: list[str]) -> None:
    found = linear(matrix, [1.0, 2.0, 3.0, 5.0], start([0.5, 0.5, 0.5]))
    assert sorted(map(said_of, connected(found.undetermined))) == sorted(said)
    assert [n for n, u in zip(found.names, found.uncertainties, strict=True) if np.isfinite(u)] == known
    for direction in found.undetermined:
        move = np.array([direction.moves.get(n, 0.0) for n in found.names])
        assert np.abs(np.array(matrix) @ move).max() <= 1e-12 * np.abs(matrix).max() * np.abs(move).max()


def test_a_freedom_of_the_model_ends_the_search_and_one_of_a_point_does_not() -> None:
    random = np.random.default_rng(0)
    matrix = np.tile(random.normal(size=(60, 8)), 2)
    seen = 2 * matrix[:, 0] + random.normal(size=60)
    found = linear(matrix.tolist(), seen.tolist(), start([0.0] * 16))
    assert (found.solver, found.converged, len(found.undetermined)) == ("trf", True, 8)
    least = np.linalg.lstsq(matrix, seen, rcond=None)[0]
    assert found.chi2 == pytest.approx(np.linalg.norm(matrix @ least - seen) ** 2, rel=1e-12)
    t = np.arange(1.0, 5.0)
    for b2, slope, free in ((lambda x: 0 * t + x, lambda x: 0 * t + 1, True),
                            (lambda x: t * x**3, lambda x: 3 * t * x**2, False)):   # no influence where it is 0
        residuals = Residuals(lambda b: (b[0] + b2(b[1]) - t, np.column_stack([np.ones(4), slope(b[1])])), 4.0)   # noqa: B023
        end = ended(residuals, start([0.0, 0.0]), np.array([2.5, 0.0]), FREE, "trf")
        assert len(end.lost) == 1 and lost_beside(residuals, start([0.0, 0.0]), end) == free


def test_a_parameter_at_its_bound_is_held_and_the_others_are_fitted() -> None:
    begin = start([0.5, 1.0])._replace(high=np.array([np.inf, 1.2]))
    found = linear(LINE, RESPONSE, begin)
    assert found.held == {"b2": 1.2} and found.values[1] == 1.2
    level = np.mean([v - 1.2 * row[1] for row, v in zip(LINE, RESPONSE, strict=True)])
    assert found.values[0] == pytest.approx(level, rel=1e-13)
    assert found.converged and np.isnan(found.uncertainties[1])
    assert found.uncertainties[0] == pytest.approx(np.sqrt(found.chi2 / 4 / 5), rel=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_bounds_are_those_of_linear_programs_of_least_squares(seed: int) -> None:
    """Random linear problems with bounds of which about half are active, beside scipy.optimize.lsq_linear; the bound 0, which
    nothing is near to relative to itself, among them."""
    from scipy.optimize import lsq_linear
    rng = np.random.default_rng(seed)
    a, y = rng.normal(size=(12, 4)), rng.normal(size=12)
    low, high = np.where(rng.random(4) < 0.6, 0.0, -0.2), np.where(rng.random(4) < 0.5, np.inf, 0.3)
    known = lsq_linear(a, y, (low, high), method="bvls", tol=1e-15)
    found = linear(a.tolist(), y.tolist(), start([0.1] * 4)._replace(low=low, high=high))
    assert found.converged
    np.testing.assert_allclose(found.values, known.x, rtol=1e-9, atol=1e-12)
    assert [int(n in found.held) for n in found.names] == [int(x != 0) for x in known.active_mask]
