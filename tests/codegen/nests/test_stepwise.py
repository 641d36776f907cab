"""What the steps of a module do along the steps of time."""
from __future__ import annotations

import numpy as np
import pytest
from adcli.codegen.modules.runtime import compile_tensors
from adcli.lang.derive.derivatives import gradient
from adcli.lang.lower.frontend import parse

from adcli.task.native import native

NETWORK = """input W(N, N), h0(N), x(T, N)
h(0, n) = h0(n)
for t in 0:T { h(t + 1, n) +=! W(n, m) * h(t, m) + x(t, m) }
y +=! h(t + 1, n)**2
"""


def test_steps_are_loops_sums_along_the_step_or_beside_it() -> None:
    parts = compile_tensors(gradient(parse(NETWORK), ["W", "h0"])).module.parts
    kinds = {p.written.name: (p.kind, p.way) for p in parts if p.written.name in ("h", "y", "dy_dW", "d_dW", "dy_dh0", "d_dh0")}
    assert [p.way for p in parts if p.kind == "loop"] == [1, -1]
    assert kinds["y"] == ("sum", 0)
    assert {k for k, _ in kinds.values()} >= {"sum", "plain"}
    (down,) = [p for p in parts if p.way == -1]
    assert sorted(o for a in down.accesses for o in [a.offset] if a.writes and o is not None) == [0]
    assert {a.element is not None for p in parts for a in p.accesses if p.kind == "element" and a.writes} == {True}


@pytest.mark.parametrize(("text", "value", "slopes"), [
    ("q = solve(A, b); h(0) = 1; for t in 0:N { h(t + 1) = h(t) * q(t) }; s = h(N); output s", 0.5 * 0.5,
     {"b": [1 / 4, 1 / 8]}),   # q = (1/2, 1/2)
    ("q = solve(A, b); s *=! q(i); output s", 0.5 * 0.5, {"b": [1 / 4, 1 / 8]}),
    ("h(0) = b(0); for t in 0:1 { h(t + 1) = h(t) * b(t + 1) }; q = solve(A, h); s +=! q(i)*b(i); output s", 1.5,
     {"b": [2.0, 1.0]}),
    ("L = cholesky(A); h(0) = b(0); for t in 0:N { h(t + 1) = h(t) * L(t, t)**2 }; s = h(N); output s", 8.0,
     {"b": [8.0, 0.0], "A": [[4.0, 0.0], [0.0, 2.0]]}),
])
def test_what_an_operation_on_matrices_takes_whole_is_walked_along_by_a_loop(text: str, value: float, slopes: dict) -> None:
    """With A = diag(2, 4) and b = (1, 2)."""
    program = gradient(parse(f"input A(N, N), b(N); {text}"), ["A", "b"])
    found = native(program)({"A": np.diag([2.0, 4.0]), "b": np.array([1.0, 2.0])})
    assert found["s"] == pytest.approx(value, rel=1e-14)
    for x, slope in slopes.items():
        assert found[f"ds_d{x}"] == pytest.approx(np.array(slope), rel=1e-14)
