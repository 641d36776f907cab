"""Histories in rings: how much memory is kept, and when all of it is."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from adcli.codegen.modules.runtime import compile_tensors
from adcli.codegen.nests.recurrences import with_rings
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.recurrence import Recurrence

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


ROD = """input u0(N), int32 T
u(0, i) = u0(i)
for t in 0:T {
    INSIDE
    u(t+1, 0) = u0(0)
    u(t+1, N-1) = u(t, N-2)
}
y(i) = u(T, i) where i in 1:N-1
output y
"""
INSIDE = "u(t+1, i) = 0.5 * (u(t, i-1) + u(t, i+1)) where i in 1:N-1"


@pytest.mark.parametrize("inside, ring", [
    (INSIDE, True), ("u(t+1, i+1) = 0.5 * (u(t, i) + u(t, i+2)) where i in 0:N-2", True),
    (INSIDE.replace("1:N-1", "1:3") + "\n" + INSIDE.replace("1:N-1", "3:N-1"), True),
    ("u(t+1, i) = 0.5 * u(t, i) where i in 2:N-1\nu(t+1, 2*k) = u(t, 2*k) where k in 0:1", False),
    ("u(t+1, i) = 0.5 * u(t, i) where i in 2:N-1", False)])
def test_edges_and_what_is_inside_of_them_assign_all_elements_together(inside: str, ring: bool) -> None:
    program = with_rings(parse(ROD.replace("INSIDE", inside)))
    (history,) = {x.number for e in program.equations if isinstance(e.op, Recurrence) for x in e.outs[0].shape[:1]}
    assert history == (2 if ring else None)
