"""Checkpointed loops: the same bits as without, in less memory."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from adcli.codegen.modules import sweeps
from adcli.codegen.modules.runtime import TensorKernel, compile_tensors
from adcli.lang.derive.derivatives import gradient, hvp
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoint_program
from places import ROOT
from session_seed import half

NETWORK = """input W(N, N), V(N, N), h0(N), a
param x(T, N)
h(0, n) = h0(n)
g(0, n) = 0 where n in 0:N
g(1, n) = h0(n)
for t in 0:T {
    z(t, n) +=! W(n, m) * h(t, m)
    h(t + 1, n) = tanh(z(t, n) + x(t, n))
    g(t + 2, n) +=! V(n, m) * g(t, m) + a*h(t + 1, m)
}
s +=! g(T + 1, n)**2
r max=! h(t, n) * x(t, n) where t in 0:T
y = s + log(1 + s) + (T >= 1 ? r : 0)
output y
"""
NUMBERS = """input a, b, x(T)
h(0) = a
v(T + 1) = b
for t in 0:T until h(t + 1) > 5 { h(t + 1) = h(t) + 0.1*sin(a*h(t)) + x(t)**2 }
for t in 0:T down { v(t) = 0.5*v(t + 1) + 0.25*(t >= 1 ? v(t + 2 - 1) : b)*h(t) }
y +=! v(t)*h(t + 1) where t in 0:T
output y
""".replace("v(T + 1) = b", "v(T) = b")
MATRICES = """input A(N, N), b(N)
param x(T, N, N)
p(0, n) = b(n)
for t in 0:T {
    S(t, i, j) = A(i, j) + x(t, i, j) where i in 0:N, j in 0:N
    q(t) = solve(S(t), p(t))
    p(t + 1, n) = q(t, n) * 0.5 + b(n)
}
y +=! p(T, n)**2
output y
"""
LAST = """input a, u(N), int32 T
h(n, m, T + 1) = 0.5*a where n in 0:N, m in 0:N
h(n, m, T + 2) = cos(u(n)) where n in 0:N, m in 0:N
for t in 1:T + 1 down {
    z(t, n, m) = log(1 + h(m, n, t + 2)**2) where n in 0:N, m in 0:N
    h(n, m, t) = 0.7*u(n)*(h(m, n, t + 1) - h(m, n, t + 2)) where n in 0:N, m in 0:N
}
y +=! h(j, l, i)**2 where i in 1:T + 3, j in 0:N, l in 0:N
output y
"""
TWICE = """input a, b, u(N), int32 T
h(T) = a*b
h(T + 1) = a
for t in 0:T down { h(t) = sin(h(t + 2)) }
q(T + 2) = b
for t in 2:T + 2 down {
    q(t) = tanh(q(t + 1))
    q(t) += u(k)*(h(t - 2) > h(T - t + 1) ? tanh(h(T - t + 1)) : 0.5*h(t - 2))
}
y = q(2)*a
output y
"""
"""Two sums over the step assign elements of one tensor, from both of its ends."""

GUARDED = """input a, x(T)
h(0) = a
for t in 0:T { h(t + 1) = h(t)*cos(x(t)) + 0.5*a }
for t in 0:T {
    w(t) = h(t)**2 where 0 >= t
    w(t) = 0.5*w(t - 1) + h(t + 1) where t >= 1
}
y +=! w(t) where t in 0:T
output y, w
"""
"""Numbers that are assigned under a condition on the step."""


def checkpointed(text: str) -> str:
    return text.replace(" {", " checkpoint {")


def nan_memory(count: int) -> np.ndarray:
    return np.full(-(-count // 8) + 1, np.nan)


def given(kernel: TensorKernel, steps: int) -> dict[str, Any]:
    r, sizes = np.random.default_rng(7), {"T": steps, "N": 3}
    shapes = {p.name: [sizes[next(iter(x.terms))[0]] for x in p.var.shape] for p in kernel.program.params}
    found: dict[str, Any] = {name: r.uniform(-1, 1, s) + (3 * np.eye(3) if name == "A" else 0) for name, s in shapes.items()}
    return {**found, "T": steps}


def windows(kernel: TensorKernel, at: dict[str, Any]) -> int:
    """How many tensors have windows."""
    plan = kernel.plan(kernel.key([np.asarray(at[p.name]) for p in kernel.program.params]))
    return len([v for v in plan.windows if not isinstance(v, tuple)])


@pytest.mark.parametrize(("text", "derived"), [(GUARDED, lambda p: p), *half([
    (NETWORK, gradient), (NUMBERS, hvp), (MATRICES, gradient),
    (LAST, lambda p: adjoint_program(gradient(p))), (TWICE, hvp)])])
def test_the_bits_are_those_without_checkpoints(text: str, derived: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "LEAST_BLOCK", 1)
    plain, kernel = (compile_tensors(derived(parse(t)), allocate=nan_memory) for t in (text, checkpointed(text)))
    for steps in (0, 1, 2, 11, 16):
        at = given(plain, steps)
        want, got = plain(at, jobs=1), kernel(at, jobs=2 if steps == 16 else 1)
        assert text in (LAST, GUARDED) or windows(kernel, at) > 2 or steps < 11
        for name, x in want.items():
            assert np.isfinite(x).all()
            np.testing.assert_array_equal(x.view(np.int64), got[name].view(np.int64), f"{name}, {steps} steps")


def test_memory_grows_with_the_root_of_the_number_of_steps() -> None:
    text = (ROOT / "tests/programs/models/heat.ad").read_text(encoding="utf-8")
    at = {"u0": np.zeros((64, 64)), "k": np.zeros((64, 64)), "y": np.zeros((64, 64))}
    plain, kernel = (compile_tensors(gradient(parse(t))) for t in (text, checkpointed(text)))

    def states(kernel: TensorKernel, steps: int) -> float:
        key = kernel.key([np.asarray({**at, "T": steps}[p.name]) for p in kernel.program.params])
        return kernel.plan(key).memory / (8 * 64 * 64)
    assert states(plain, 900) > 1800
    assert states(kernel, 900) < 100 < 2.2 * states(kernel, 225)


def test_an_adjoint_that_begins_with_one_element_has_a_window_too() -> None:
    text = "input a, int32 T\nh(0) = a\nfor t in 0:T { h(t + 1) = h(t) + 0.1*sin(a*h(t)) }\ny = h(T)\noutput y"
    kernel = compile_tensors(gradient(parse(checkpointed(text))))
    key = kernel.key([np.asarray({"a": 1.0, "T": 10**6}[p.name]) for p in kernel.program.params])
    assert kernel.plan(key).memory < 10**5
