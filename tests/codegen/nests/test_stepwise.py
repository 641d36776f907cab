"""What the steps of a module do along the steps of time."""
from __future__ import annotations

from adcli.codegen.nests.runtime import compile_tensors
from adcli.lang.derive.derivatives import gradient
from adcli.lang.lower.frontend import parse

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
