"""Code made in haste where there is little to compute, and code made well that takes its place: nobody sees which."""
from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import numpy as np
import pytest
from adcli.codegen.machine import veclib
from adcli.codegen.machine.kernel import CodegenError, Kernel
from adcli.codegen.modules import runtime
from adcli.codegen.modules.module import TensorModule, emit, laid_out
from adcli.codegen.modules.runtime import TensorKernel
from adcli.codegen.rows import jit
from adcli.codegen.rows.compiled import linked
from adcli.lang.derive.derivatives import gradient
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoint_program
from loop_programs import LOOPS, given
from native_tensors import assert_same_bits
from session_seed import part

from adcli.task.native import HASTE

pytestmark = pytest.mark.usefixtures("made_well")
NET = """
input x(N), W(N, N), int32 T
h(0, i) = x(i)
for t in 0:T { z(t, i) +=! W(i, j) * h(t, j); h(t + 1, i) = tanh(z(t, i)) }
L +=! h(T, i)**2 * exp(x(i))
"""


def hasty(monkeypatch: pytest.MonkeyPatch, worth: float) -> tuple[TensorKernel, list[bool]]:
    """A kernel that is compiled in haste and then, when runs have taken so many instructions, well."""
    monkeypatch.setattr(runtime, "instructions_worth", lambda text: worth)
    asked = list[bool]()

    def compiled(module: TensorModule, haste: bool) -> Kernel:
        asked.append(haste)
        return linked(jit.object_code(module.text, level=HASTE[haste]), module.entry)

    return TensorKernel(laid_out(gradient(parse(NET)), veclib.lanes(), veclib.host()), None, compiled=compiled), asked


def point(n: int, steps: int = 3) -> dict[str, Any]:
    return {"x": np.linspace(-1, 2, n), "W": np.linspace(-1, 1, n * n).reshape(n, n), "T": np.int64(steps)}


def joined(kernel: TensorKernel) -> None:
    """Wait for what is compiled meanwhile."""
    if kernel.succession and kernel.succession.thread:
        kernel.succession.thread.join()


def test_code_made_in_haste_gives_way_to_code_made_well_when_runs_have_taken_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    at = point(5)
    kernel, asked = hasty(monkeypatch, 1e9)
    want = kernel(at)
    (plan,) = kernel.plans.values()
    kernel, asked = hasty(monkeypatch, 3.5 * plan.instructions)
    for run in range(6):
        assert asked == ([True] if 0 < run < 4 else [True, False] if run else [])
        got = kernel(at)
        for name, x in want.items():
            assert_same_bits(got[name], x, (run, name))
        joined(kernel)
    assert kernel.spend is None and kernel.quick(at, {}) is not None


def test_calls_that_go_on_and_shapes_that_differ_have_it_made_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a loop of calls asks for is made in a thread of its own; other nests are there when the call returns, and one run that
    takes long is never of code made in haste."""
    kernel, asked = hasty(monkeypatch, 1e9)
    kernel(point(5))
    assert kernel.quick(point(5), {}) is None
    joined(kernel)
    assert asked == [True, False] and kernel.quick(point(5), {}) is not None
    kernel, asked = hasty(monkeypatch, 1e9)
    kernel(point(1))
    kernel(point(40))
    assert asked == [True, False] and kernel.spend is None and kernel.succession is None
    kernel, asked = hasty(monkeypatch, 10.0)
    kernel(point(5))
    assert asked == [False]


def test_threads_that_call_while_code_is_replaced_all_have_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, asked = hasty(monkeypatch, 1e5)
    points = [point(n, steps) for n in (3, 7, 40) for steps in (1, 4)]
    with ThreadPoolExecutor(6) as pool:
        got = list(pool.map(lambda k: kernel(points[k % 6]), range(120)))
    joined(kernel)
    for k, results in enumerate(got):
        for name, x in kernel(points[k % 6]).items():
            assert_same_bits(results[name], x, (k, name))
    assert asked[0] is True and asked.count(False) >= 1 and kernel.succession is None


@pytest.mark.parametrize("fault", [MemoryError(), CodegenError("nonsense")], ids=["memory", "defect"])
def test_too_little_memory_leaves_code_made_in_haste_and_a_defect_is_said(fault: BaseException,
                                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, _ = hasty(monkeypatch, 1e3)
    want = kernel(at := point(5))["L"]
    assert kernel.succession is not None

    def refused() -> None:
        raise fault
    kernel.succession.make, kernel.succession.worth = refused, 0.0
    with contextlib.suppress(CodegenError):
        kernel(at)
    joined(kernel)
    if isinstance(fault, MemoryError):
        assert_same_bits(kernel(at)["L"], want, "L")
    else:
        with pytest.raises(CodegenError):
            kernel(at)


@pytest.mark.parametrize("name", part(["recurrent net", "in logarithms", "Kalman filter", "heat"], 4))
def test_the_bits_are_the_same(name: str) -> None:
    """Of values and adjoints, where numbers are usual and where they are not."""
    made, r = LOOPS[name], Random(7)
    program = adjoint_program(made.program())
    module = emit(program, veclib.lanes(), veclib.host())
    haste, well = (TensorKernel(module, linked(jit.object_code(module.text, level=HASTE[each]), module.entry))
                   for each in (True, False))
    whole = {n: np.asarray(made.whole.get(n, made.steps), np.int64) for n in (p.name for p in program.params if p.var.integer)}
    own = {**given(made, r), **whole}
    outs = TensorKernel(emit(made.program(), veclib.lanes(), veclib.host()), None)
    (shapes,) = [outs.planner.plan(outs.key([np.asarray(own[n]) for _, n, _ in outs.inputs])).outputs]
    at = {**own, **{p.name: np.ones(s) for p, s in zip([p for p in program.params if p.name not in own], shapes, strict=False)}}
    for special in (None, 0.0, np.inf, np.nan, 1e-310):
        point = {n: x.copy() for n, x in at.items()}
        for x in point.values():
            if special is not None and x.dtype.kind == "f" and x.size:
                x.flat[x.size // 2] = special
        one, other = haste(point), well(point)
        for n, x in one.items():
            assert_same_bits(x, other[n], (name, n, special))
