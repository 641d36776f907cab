"""Histories in rings: how much memory is kept, and when all of it is."""
from __future__ import annotations

from typing import Any

import numpy as np
from adcli.codegen.nests.runtime import compile_tensors
from adcli.lang.lower.frontend import parse

NETWORK = """input x(T, N), W(N, N), h0(N)
h(0, n) = h0(n)
for t in 0:T { z(t, n) +=! W(n, m) * h(t, m); h(t+1, n) = tanh(z(t, n) + x(t, n)) }
"""
HEAT = """input u0(N)
u(0, i) = u0(i)
for t in 0:9 {
    u(t+1, i) = u(t, i) + 0.1 * ((i < N-1 ? u(t, i+1) : 0) + (i >= 1 ? u(t, i-1) : 0) - 2 * u(t, i)) where i in 0:N
}
y(i) = u(9, i)
"""


def memory(text: str, at: dict[str, Any]) -> int:
    kernel = compile_tensors(parse(text))
    return kernel.plan(kernel.key([np.asarray(at[p.name]) for p in kernel.program.params])).memory


def test_of_a_history_whose_end_is_read_no_more_is_kept_than_the_loop_reads() -> None:
    few, many = ({"x": np.zeros((steps, 3)), "W": np.zeros((3, 3)), "h0": np.zeros(3)} for steps in (3, 3000))
    assert memory(NETWORK + "y(n) = h(T, n)\noutput y", few) == memory(NETWORK + "y(n) = h(T, n)\noutput y", many)
    two = HEAT.replace("0:9", "0:T").replace("u(9", "u(T").replace("u0(N)", "u0(N), x(T)") + "output y"
    assert memory(two, {"u0": np.zeros(99), "x": np.zeros(3000)}) < 3 * 99 * 8, "cases of a choice assign all elements together"
    assert memory(NETWORK + "s +=! h(t, n)\noutput s", many) > 3000 * 3 * 8


def test_a_history_that_is_read_farther_back_is_kept_as_a_whole() -> None:
    text = NETWORK.replace("x(t, n))", "x(t, n) + (t >= 5 ? h(t-5, n) : 0))")
    at = {"x": np.zeros((3000, 3)), "W": np.zeros((3, 3)), "h0": np.zeros(3)}
    assert memory(text + "y(n) = h(T, n)\noutput y", at) < 3000 * 8
    assert memory(text + "y(n) = h(T, n) + h(0, n)\noutput y", at) > 3000 * 3 * 8
