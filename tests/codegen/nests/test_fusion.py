"""Elementwise work goes into the loops that use it: what it does to memory, and what it leaves alone."""
from __future__ import annotations

import numpy as np
import pytest
from adcli.codegen.modules.runtime import compile_tensors
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import evaluate, numpy_arithmetic
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import tangents
from adcli.lang.simplify.simplify import simplify
from session_seed import drawn

OUTER = [
    "y(i, j) = exp(x(i) * x(j))\ns +=! y(i, j)**2",
    "y(i, j) = x(i) - x(j)\nk(i, j) = exp(-y(i, j)**2)\ns +=! k(i, j) * x(j)",
    "y(i, j) = log(1 + x(i)**2 * x(j)**2)\ns +=! y(i, j)\nt(i) +=! y(i, j) * x(j)\ns += t(i)**2",
]


@pytest.mark.parametrize("text", OUTER)
def test_a_tensor_of_all_with_all_takes_no_memory(text: str) -> None:
    """Neither in the value nor in its gradient lies a tensor that has every pair of elements."""
    program = parse(f"input x(N)\n{text}\noutput s")
    graded = gradient(program)
    second = [simplify(tangents(graded))] if text is OUTER[0] else []
    r = drawn(text)
    for derived in (program, graded, *second):
        kernel = compile_tensors(derived)
        at = {p.name: np.array([r.gauss(0, 0.5) for _ in range(9)]) if p.var.shape else 0.7 for p in derived.params}
        got, want = kernel(at), evaluate(derived, at, numpy_arithmetic())
        for name in want:
            np.testing.assert_allclose(got[name], want[name], rtol=1e-12, atol=1e-13, err_msg=name)
        large = kernel.plan(kernel.key([np.zeros(5000) if p.var.shape else np.zeros(()) for p in derived.params]))
        assert large.memory < 5000 * 8 * 10, large.memory


def test_values_that_are_compared_are_not_computed_again() -> None:
    """An extremum and the count of its ties see the same bits, whatever loops they are in."""
    r = drawn("ties of functions")
    kernel = compile_tensors(gradient(parse("input x(N), y(M)\nv max=! exp(x(i)) * sin(y(j))")))
    for n, m in ((9, 17), (3, 1), (33, 5)):
        at = {"x": np.array([r.gauss(0, 1) for _ in range(n)]), "y": np.array([r.uniform(0, 3) for _ in range(m)])}
        got = kernel(at)
        i, j = np.argmax(at["x"]), np.argmax(np.sin(at["y"]))
        want = np.zeros(n)
        want[i] = np.exp(at["x"][i]) * np.sin(at["y"][j])
        np.testing.assert_allclose(got["dv_dx"], want, rtol=1e-14)
