"""Whole numbers that are computed, and what goes through them: values and every law of derivatives, and what is no subscript."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from adcli.codegen.nests.runtime import compile_tensors
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir.check import check
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import STAGES, chosen_outputs
from adcli.lang.passes.status import with_status
from adcli.lang.syntax.printer import print_program
from session_seed import drawn, half
from source_laws import check_source
from tensor_laws import NUMPY, direction


def spline(x: Any, c: Any) -> Any:
    k = np.floor(x).astype(int)
    return c[k] * (1 - (x - k)) + c[k + 1] * (x - k)


def bilinear(A: Any, x: Any, y: Any) -> Any:
    i, j = np.floor(x).astype(int), np.floor(y).astype(int)
    s, t = x - i, y - j
    return A[i, j]*(1 - s)*(1 - t) + A[i + 1, j]*s*(1 - t) + A[i, j + 1]*(1 - s)*t + A[i + 1, j + 1]*s*t


SELECTED = "input x(N), c(M)\nint32 k(i) = floor(x(i))\ny(i) = c(k(i))"
X, Y = np.array([0.3, 2.4, 1.7]), np.array([1.2, 0.1, 0.6])
PROGRAMS: list[tuple[str, dict[str, Any], Any]] = [
    ("input x(N), c(M)\nint32 k(i) = floor(x(i))\ny(i) = c(k(i)) * (1 - (x(i) - k(i))) + c(k(i) + 1) * (x(i) - k(i))",
     {"x": X, "c": (5,)}, spline),
    ("input x(N), c(M)\ny(i) = c(floor(x(i))) * (1 - fmod(x(i), 1)) + c(floor(x(i)) + 1) * fmod(x(i), 1)",
     {"x": X, "c": (5,)}, spline),
    ("input A(M, N), x(B), y(B)\nint32 i(b) = floor(x(b))\nint32 j(b) = floor(y(b))\ns(b) = x(b) - i(b)\nt(b) = y(b) - j(b)\n"
     "z(b) = A(i(b), j(b))*(1 - s(b))*(1 - t(b)) + A(i(b) + 1, j(b))*s(b)*(1 - t(b)) + A(i(b), j(b) + 1)*(1 - s(b))*t(b) "
     "+ A(i(b) + 1, j(b) + 1)*s(b)*t(b)", {"A": (5, 4), "x": X, "y": Y}, bilinear),
    ("input x(N), int32 J(B)\ny(b, r) = x(J(b) + r)**2 where r in 0:3", {"x": (6,), "J": np.array([3, 0, 2])},
     lambda x, J: x[J[:, None] + np.arange(3)]**2),
    ("input x(N), w(N)\nint32 k(i) = floor(4*abs(x(i)))\nh(k(i)) +=! w(i)**2 where float(6) h", {"x": X / 4, "w": (3,)},
     lambda x, w: np.bincount(np.floor(4*abs(x)).astype(int), w**2, minlength=6)),
    ("input z(B, C), w(C)\nk(b) argmax=! z(b, c)\nv(b) = w(k(b)) * exp(z(b, k(b)))\noutput v",
     {"z": np.array([[1.0, 3, 2, 0], [4, 1, 2, 3.5]]), "w": (4,)},
     lambda z, w: w[z.argmax(1)] * np.exp(z.max(1))),
    ("input x(N), y\nk argmin=! sin(x(i) - y) where i in 1:N\nv = x(k)**2*y\noutput k, v",
     {"x": np.array([9.0, 3, 1, 2]), "y": 0.5},
     lambda x, y: x[1 + np.sin(x[1:] - y).argmin()]**2*y),
    ("input x(N), y\nint32 n = floor(y)\nv = x(n)*y + x(n + 1)**2 + x(floor(y) + 2)", {"x": (5,), "y": 1.25},
     lambda x, y: x[1]*y + x[2]**2 + x[3]),
]


@pytest.mark.parametrize(("source", "given", "reference"), half(PROGRAMS), ids=lambda x: x[:70] if isinstance(x, str) else "")
def test_computed_whole_numbers_select_elements_and_keep_every_law(source: str, given: dict[str, Any], reference: Any) -> None:
    r = drawn("whole numbers", source)
    check_source(source, {n: direction(r, x) if isinstance(x, tuple) else x for n, x in given.items()}, reference, r)


@pytest.mark.parametrize(("source", "at", "said"), [
    (SELECTED, {"x": [0.5, 3.25], "c": [1.0, 2, 3]}, r"k\(1\) = 3 is out of range"),
    (SELECTED, {"x": [0.5, -0.5], "c": [1.0, 2, 3]}, r"k\(1\) = -1 is out of"),
    (SELECTED, {"x": [np.nan], "c": [1.0, 2, 3]}, r"k\(0\) = nan is out of range"),
    ("input x(N), c(M)\nint32 k(i) = floor(x(i))\nh(k(i)) +=! x(i) where float(M) h, exists c(0)",
     {"x": [1e300], "c": [1.0, 2, 3]}, r"k\(0\) = 1000000000.* is out of range for dimension 0 of 'h'"),
    ("input z(N), c(M)\nk argmin=! z(i)\ny = c(k)", {"z": [], "c": [1.0, 2, 3]}, "k = inf is out of range"),
    ("input z(N), c(M)\nk argmin=! z(i)\ny = c(k)", {"z": [1, np.nan], "c": [1.0, 2, 3]}, "k = inf is out of range"),
])
def test_a_computed_number_that_is_no_subscript_is_an_error_with_its_element(source: str, at: dict[str, Any], said: str) -> None:
    program = parse(source)
    values = {n: np.array(x, float) for n, x in at.items()}
    for run in (lambda: evaluate(program, values, NUMPY), lambda: evaluate(program, values, FLOAT),
                lambda: compile_tensors(program)(values)):
        with pytest.raises(AdError, match=said):
            run()


@pytest.mark.parametrize(("source", "said"), [
    ("input x(N)\nint32 k(i) = 2.5*x(i)", "'k' holds whole numbers, and this need not be one"),
    ("input x(N), c(M)\ny(i) = c(x(i))", "is read from 'x', which is not a tensor of integers"),
    ("input x(N), c(M)\ny(i) = c(2*x(i))", "is not a whole number"),
    ("input A(M, N)\nk argmax=! A(i, j)", "finds the place along one index, and this statement reduces over 'i', 'j'"),
    ("input A(M, N)\nk(i, j) argmax=! A(i, j)", "reduces over none"),
    ("input x(N)\nk(i) = x(i)\nint32 k(i) += 1", "'k' holds numbers that need not be whole"),
])
def test_what_is_no_whole_number_is_refused(source: str, said: str) -> None:
    with pytest.raises(AdError, match=said):
        parse(source)


def test_results_are_integers_and_have_no_derivative() -> None:
    program = parse("input z(N)\nk argmax=! z(i)\nint32 r(i) = round(z(i))\nr(i) *= 2\nv = z(k)\noutput k, r, v")
    got = compile_tensors(program)({"z": np.array([1.2, 3.7, 2.0])})
    assert got["k"].dtype == got["r"].dtype == np.int64 and (int(got["k"]), got["r"].tolist()) == (1, [2, 8, 4])
    with pytest.raises(AdError, match=r"r\(2\) = nan is no whole number"):
        compile_tensors(chosen_outputs(program, ["r"]))({"z": np.array([1.2, 3.7, np.nan])})
    for name in ("dup", "forward", "reverse", "simplified"):
        text = print_program(check(STAGES[name](program)))   # type: ignore[misc]
        assert "d_dk" not in text and "dr" not in text and text == print_program(parse(text))


@pytest.mark.parametrize(("z", "level"), [([1.0, 3, 2], 0), ([1.0, 3, 3], 2)])
def test_the_place_of_an_extremum_jumps_where_two_are_equal(z: list[float], level: int) -> None:
    program = chosen_outputs(parse("input z(N), w(N)\nk argmax=! z(i)\nv = w(k)\noutput k, v"), ["v"])
    got = evaluate(with_status(program, program, ["z"]), {"z": np.array(z), "w": np.ones(3)}, NUMPY)
    assert got["status"] == level
