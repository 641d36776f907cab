"""--enclose of tensors, loops and matrices: what is computed by other means lies inside, and nothing is claimed that was decided
in the middle of a box."""
from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from adcli.lang.evaluate import recording
from command import adcli, succeeds

from adcli.answers import enclose

MATRIX = np.array([[4.0, 1.0], [1.0, 3.0]])
SWAPPED = np.array([[0.0, 2.0], [1.0, 0.0]])
"""Its rows change places in an elimination."""


def iterated(x):
    return np.sin(np.sin(x)) * x


CASES = [   # the program, its input, half the width, and the result by NumPy
    ("input x(N); y(i) = max(x(i), 1)*x(i)", np.array([1.0, 2.0]), 0.25, lambda x: np.maximum(x, 1) * x),
    ("input x(N); h(0, i) = x(i); for t in 0:2 { h(t+1, i) = sin(h(t, i)) }; y(i) = h(2, i)*x(i)", np.array([0.75, 1.125]), 0.25,
     iterated),
    ("input A(N, N); b(i) = 1 + i where i in 0:N; y = solve(A, b)", MATRIX, 0.25, lambda a: np.linalg.solve(a, [1.0, 2.0])),
    ("input A(N, N); y = inverse(A)", SWAPPED, 0.25, np.linalg.inv),
    ("input A(N, N); y = logdet(A)", MATRIX, 0.25, lambda a: np.linalg.slogdet(a)[1]),
    ("input A(N, N); y = cholesky(A)", MATRIX, 0.25, lambda a: np.linalg.cholesky((a + a.T) / 2)),
    ("input A(N, N); b(i) = 1 + i where i in 0:N; y = solve_lower(A, b)", MATRIX, 0.25,
     lambda a: np.linalg.solve(np.tril(a), [1.0, 2.0])),
]


@pytest.mark.parametrize(("text", "middle", "width", "reference"), CASES)
def test_bounds_hold_and_are_close(text, middle, width, reference):
    name = text[6]
    (found,) = succeeds("eval", "-e", text, "--at", f"{name}={middle.tolist()}±{width}", "--enclose", "--format", "json").records
    bounds = np.array(found["enclosure"]["value"]["y"])
    steps = product((-width, 0.0, width), repeat=middle.size)
    taken = np.array([reference(middle + np.reshape(step, middle.shape)) for step in steps])
    low, high = taken.min(axis=0), taken.max(axis=0)
    assert (bounds[..., 0] <= low + 1e-14).all() and (bounds[..., 1] >= high - 1e-14).all()
    assert (bounds[..., 1] - bounds[..., 0] <= 1.01 * (high - low) + 1e-14).all()


def test_what_is_too_long_is_refused_before_the_ends_of_its_elements_are_made(monkeypatch):
    monkeypatch.setattr(recording, "MOST_OPERATIONS", 1)
    monkeypatch.setattr(enclose, "around", None)
    ended = adcli("eval", "-e", "input x(N); y +=! x(i)", "--at", "x=[1,2,3]±0.1", "--enclose")
    assert ended.code in (1, 2) and "at most 1;" in ended.err


def test_a_matrix_that_is_nearly_singular_is_bounded_exactly():
    """The elements are the doubles, of which the determinant is some 1e-17."""
    (a, b), (c, d) = [[Fraction(0.1), Fraction(0.3)], [Fraction(0.3), Fraction(0.9)]]
    (found,) = succeeds("eval", "-e", "input A(N, N); y = inverse(A)", "--at", "A=[[0.1,0.3],[0.3,0.9]]", "--enclose",
                        "--format", "json").records
    (low, high), _ = found["enclosure"]["value"]["y"][0]
    exact = d / (a * d - b * c)
    assert low <= exact <= high <= math.nextafter(math.nextafter(low, math.inf), math.inf)

