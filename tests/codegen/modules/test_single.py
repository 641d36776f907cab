"""Tensors in single precision: nests of every kind, loops and operations on matrices."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from adcli.codegen.machine import veclib
from adcli.codegen.modules.runtime import compile_tensors
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import evaluate, numpy_arithmetic, rounded_arithmetic
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.precision import SINGLE
from adcli.lang.passes.pipeline import evaluation_program
from session_seed import half

R = np.random.default_rng(7)
A, B, X = (R.normal(size=s).astype(np.float32) for s in ((37, 41), (41, 35), (50,)))
S = (A[:20] @ A[:20].T + 20 * np.eye(20)).astype(np.float32)
PROGRAMS: dict[str, tuple[str, dict[str, Any]]] = {
    "products in tiles, with a loss": ("input A(M, K), B(K, N); C(i, j) +=! A(i, k)*B(k, j); L +=! tanh(C(i, j)/10)",
                                       {"A": A, "B": B}),
    "windows, guards, a maximum": (
        "input x(N), w(K); y(i) +=! w(k)*x(i + k); m max=! y(i); s +=! y(i)**2 where 2*i >= 3; L = m + s", {"x": X, "w": X[:5]}),
    "log of sums of exponentials": ("input A(M, K); z(i) lse=! A(i, j); L +=! z(i)**2", {"A": A}),
    "a table of numbers that are computed": (
        "input x(N), c(M); int32 k(i) = floor(3*abs(x(i))); L +=! c(k(i))*x(i)", {"x": X, "c": X[:20]}),
    "a loop": ("input h0(N), W(N, N); h(0, i) = h0(i); for t in 0:6 { u(t, i) +=! W(i, j)*h(t, j); h(t + 1, i) = tanh(u(t, i)) }"
               "; L +=! h(6, i)", {"h0": X[:20], "W": S / 40}),
    "numbers in a loop": ("input x(N); s(0) = 0.5; for t in 0:N { s(t + 1) = sin(s(t)) + x(t)/7 }; L = s(N)", {"x": X}),
    "a system": ("input S(N, N), b(N); y = solve(S, b); d = logdet(S); e +=! y(i)**2; L = d + e", {"S": S, "b": X[:20]}),
}
WIDTHS = (veclib.lanes(4), 4, 1)


@pytest.mark.parametrize("name", half([*PROGRAMS]))
def test_values_and_gradients_are_near_the_doubles(name: str) -> None:
    text, at = PROGRAMS[name]
    program = evaluation_program(gradient(parse(text)))
    single = compile_tensors(program, precision=SINGLE)
    found, want = single(at), evaluate(program, {k: x.astype(float) for k, x in at.items()}, numpy_arithmetic())
    for key, x in found.items():
        assert x.dtype == np.float32
        near = 2e-5 * max(1e-3, float(np.abs(want[key]).max(initial=0)))
        np.testing.assert_allclose(x, want[key], rtol=0, atol=near, err_msg=key)
    if name == "products in tiles, with a loss":
        assert all(np.array_equal(single(at, jobs=2)[key], x) for key, x in found.items())


def test_elements_have_the_bits_of_the_evaluator_at_any_width() -> None:
    """Elementwise, with indices, gathers, selects and powers: floats rounded to single after each operation."""
    program = parse("input x(N), int32 I(N); "
                    "y(i) = (x(I(i)) > 0 ? x(i)*i : x(i)/(i + 1)) + abs(x(i))**3 - max(x(i), 0.1); output y")
    at = {"x": X, "I": R.integers(0, 50, 50)}
    want = evaluate(program, at, rounded_arithmetic(SINGLE))["y"]
    for lanes in WIDTHS:
        got = compile_tensors(program, lanes, precision=SINGLE)(at)["y"]
        assert got.tobytes() == np.array([float(x) for x in want], np.float32).tobytes(), lanes


def test_whole_numbers_and_what_is_outside() -> None:
    kernel = compile_tensors(parse("input x(N), c(M); int32 k(i) = floor(x(i)); y(i) = c(k(i)); output y, k"), precision=SINGLE)
    c = np.arange(4, dtype=np.float32)
    found = kernel({"x": np.float32([0.5, 3.7]), "c": c})
    assert found["y"].tolist() == [0, 3] and found["k"].tolist() == [0, 3] and found["k"].dtype == np.int64
    with pytest.raises(AdError, match=r"k\(1\) = 5 is out of range for dimension 0 of 'c', which has 4 elements"):
        kernel({"x": np.float32([0.5, 5.7]), "c": c})
    with pytest.raises(AdError, match="is no whole number"):
        compile_tensors(parse("input x(N); int32 k(i) = floor(x(i)); output k"), precision=SINGLE)({"x": np.float32([2.0 ** 25])})
