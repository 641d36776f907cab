"""Blocks of steps: every step once, in the order of the sweep, and what is read is written before."""
from __future__ import annotations

import numpy as np
import pytest
from adcli.codegen.modules import sweeps
from adcli.codegen.modules.runtime import compile_tensors
from adcli.codegen.modules.sweeps import Sweeps
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.lower.frontend import parse

TWO = """input a(N), b(N), x(T, N)
h(0, n) = a(n)
g(0, n) = b(n)
for t in 0:T { h(t + 1, n) = sin(h(t, n)) + x(t, n) }
for t in 1:T { g(t, n) = g(t - 1, n) * h(t + 1, n) }
y +=! g(t, n)**2
"""


def test_blocks_cover_every_step_once_and_reads_come_behind_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "LEAST_BLOCK", 1)
    kernel = compile_tensors(gradient(parse(TWO)))
    plan = kernel.plan(kernel.key([np.zeros((17, 2)) if p.name == "x" else np.zeros(2) for p in kernel.program.params]))
    found = Sweeps(kernel.module.parts, plan.sizes, plan.shapes, 8)
    assert [s.way for s in found.sweeps] == [1, -1]
    for n, sweep in enumerate(found.sweeps):
        written: dict[object, set[int]] = {}
        for j in found.blocks(n):
            for k in (k for k in sweep.members if k in found.ends):
                low, high = found.block(n, k, j)
                own = {a.tensor for a in found.parts[k].accesses if a.writes}
                for a in found.parts[k].accesses:
                    if a.offset is not None and not a.writes and a.tensor not in own and found.level_of(k) == n:
                        mine = [w for w in found.before(found.parts[k], a.tensor) if w in found.ends and found.level_of(w) == n]
                        ends = [(found.ends[w][0] + o, found.ends[w][1] + o) for w in mine
                                for o in found.parts[w].writes(a.tensor)]
                        asked = {t + a.offset for t in range(low, high)}
                        assert {e for e in asked for b, c in ends if b <= e < c} <= written.get(a.tensor, set())
                for a in found.parts[k].accesses:
                    if a.writes and a.offset is not None:
                        written.setdefault(a.tensor, set()).update(t + a.offset for t in range(low, high))
                    steps = written.setdefault(k, set())
                if own:
                    assert not steps & set(range(low, high))
                    steps.update(range(low, high))
        for k in (k for k in sweep.members if k in found.ends):
            assert written.get(k, set()) == set(range(*found.ends[k]))


SUMS = """input u(N), int32 T
v(T, n) = u(n)
for t in 0:T down { v(t, n) = 0.9*sin(v(t + 1, n)) + 0.1 }
s(n) +=! v(t - 1, n) where t in 1:T
s(n) += v(t, n)**2 where t in 0:T
output s
"""
"""The first sum reads what the loop makes a step later: of the first block it has nothing."""


def test_what_adds_to_a_sum_begins_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "LEAST_BLOCK", 1)
    program = parse(SUMS)
    at = {"u": np.linspace(0, 1, 3), "T": 7}
    np.testing.assert_allclose(compile_tensors(program)(at)["s"], evaluate(program, at, FLOAT)["s"], rtol=1e-14)
