"""Copies that are kept for all steps of a loop: the same bits as where they are made again at each, whoever shares the steps."""
from __future__ import annotations

import numpy as np
import pytest
from adcli.codegen.loops import copies
from adcli.codegen.modules import plans
from adcli.codegen.modules.runtime import TensorKernel, compile_tensors
from adcli.codegen.nests import steps
from adcli.codegen.schedules import schedule
from adcli.lang.ir import Program
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.precision import DOUBLE, SINGLE, Precision
from adcli.lang.passes.pipeline import adjoints
from adcli.lang.simplify.simplify import simplify
from native_tensors import assert_same_bits, everywhere
from session_seed import half, part

GATES = """input U(K, 3, K), V(M, K), h0(B, K), x(T, B)
h(0, n, j) = h0(n, j)
for t in 0:T {
    v(t, n, g, j) +=! h(t, n, k) * U(k, g, j)
    z(t, n, m) +=! V(m, k) * v(t, n, 1, k)
    h(t + 1, n, j) = tanh(v(t, n, 0, j) * v(t, n, 2, j) + x(t, n) * z(t, n, 0))
}
output h, z
"""


def point(sizes: tuple[int, int, int, int], precision: Precision = DOUBLE) -> dict[str, np.ndarray]:
    k, m, b, t = sizes
    r = np.random.default_rng(sizes)
    shapes = {"U": (k, 3, k), "V": (m, k), "h0": (b, k), "x": (t, b)}
    return {name: (r.standard_normal(shape) / (k + 1) ** 0.5).astype(precision.code) for name, shape in shapes.items()}


def values(at: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    h, z = [at["h0"]], []
    for x in at["x"]:
        v = np.einsum("nk,kgj->ngj", h[-1], at["U"])
        z.append(v[:, 1] @ at["V"].T)
        h.append(np.tanh(v[:, 0] * v[:, 2] + x[:, None] * z[-1][:, :1]))
    return {"h": np.array(h), "z": np.array(z).reshape(len(at["x"]), len(at["h0"]), len(at["V"]))}


def with_packed_nests(kernel: TensorKernel, at: dict[str, np.ndarray], kept: bool) -> TensorKernel:
    """The kernel with nests that copy in all steps of loops that have such, and how often they do it."""
    plan = kernel.plan(kernel.key([at[p.name] for p in kernel.program.params]))
    found = [(k, n, one) for k, s in enumerate(kernel.module.choosers) for n, one in enumerate(s.schedules)
             if one.packed and any(s in outer.each for outer in kernel.module.steps)]
    for k, n, one in found:
        assert bool(one.hoisted) == kept
        plan.cells[kernel.module.choices + k] = n
    assert found
    return kernel


def both(program: Program, at: dict[str, np.ndarray], monkeypatch: pytest.MonkeyPatch,
         precision: Precision = DOUBLE) -> list[TensorKernel]:
    """With copies that are kept, and without."""
    made = with_packed_nests(compile_tensors(program, precision=precision), at, True)
    monkeypatch.setattr(steps, "hoisted_packing", lambda nests, loop, lanes: nests)
    return [made, with_packed_nests(compile_tensors(program, precision=precision), at, False)]


SIZES = [(37, 19, 11, 4), (64, 16, 64, 3), (1, 1, 9, 2), (24, 40, 17, 1), (130, 8, 3, 2), (5, 3, 8, 0), (6, 1, 0, 3)]


@pytest.mark.parametrize("precision", [DOUBLE, SINGLE])
@pytest.mark.parametrize("sizes", half(SIZES))
def test_the_bits_are_those_of_copies_for_each_step(sizes: tuple[int, int, int, int], precision: Precision,
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    at = point(sizes, precision)
    kept, again = (k(at, jobs=1) for k in both(parse(GATES), at, monkeypatch, precision))
    for name, x in values(at).items():
        assert_same_bits(kept[name], again[name], name)
        np.testing.assert_allclose(kept[name], x, rtol=1e-4 if precision is SINGLE else 1e-11, atol=1e-5)


@pytest.mark.parametrize("sizes", [(9, 5, 10, 2), (21, 18, 8, 3)])
def test_nothing_else_is_touched(sizes: tuple[int, int, int, int]) -> None:
    at = point(sizes)
    everywhere(parse(GATES), at, values(at))


@pytest.mark.parametrize("piece, group", [(4, 32), (7, 1 << 15), (1 << 15, 1)])
def test_sums_in_pieces_and_groups_of_panels(piece: int, group: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for m in (schedule, copies):
        monkeypatch.setattr(m, "PIECE", piece)
        monkeypatch.setattr(m, "GROUP", group)
    at = point((45, 21, 19, 3))
    kept, again = (k(at, jobs=1) for k in both(parse(GATES), at, monkeypatch))
    for name in kept:
        assert_same_bits(kept[name], again[name], name)


@pytest.mark.parametrize(("sizes", "checkpoint"), part([(sizes, checkpoint) for sizes in ((37, 19, 11, 9), (16, 33, 24, 4))
                                                        for checkpoint in ("", " checkpoint")], 4))
def test_loops_that_go_back_and_those_in_blocks_of_steps(sizes: tuple[int, int, int, int], checkpoint: str,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    at = point(sizes)
    program = simplify(adjoints(parse(GATES.replace("0:T {", f"0:T{checkpoint} {{"))))
    r = np.random.default_rng(3)
    seeds = {f"d_d{name}": r.standard_normal(x.shape) for name, x in values(at).items()}
    kept, again = both(program, {**at, **seeds}, monkeypatch)
    want = again({**at, **seeds}, jobs=1)
    for name, x in kept({**at, **seeds}, jobs=1).items():
        assert_same_bits(x, want[name], name)


@pytest.mark.parametrize("jobs", [2, 3, 7])
def test_threads_find_panels_in_the_same_places(jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "WORTH_HELP", 0.0)
    monkeypatch.setattr(plans, "WORTH_THREADS", 0.0)
    kernel = compile_tensors(parse(GATES))
    for sizes in ((67, 75, 24, 40), (90, 130, 9, 30), (300, 70, 8, 20)):
        at = point(sizes)
        want = kernel(at, jobs=1)
        plan = kernel.plan(kernel.key([at[p.name] for p in kernel.program.params]))
        chosen = [s.schedules[plan.cells[kernel.module.choices + k]] for k, s in enumerate(kernel.module.choosers) if s.schedules]
        assert plan.idle_window and sum(bool(n.hoisted) for n in chosen) == 2
        for _ in range(5):
            for name, found in kernel(at, jobs=jobs).items():
                assert_same_bits(found, want[name], (name, sizes))


@pytest.mark.parametrize("statement, kept", [
    ("v(t, n, j) +=! h(t, n, k) * U(k, j)", True),
    ("v(t, n, j) +=! h(t, n, k) * U(j, k)", True),
    ("v(t, n, j) +=! h(t, n, k) * U(k, j) where k in 0:j + 1", False),
    ("v(t, n, j) +=! h(t, n, k) * W(t, k, j)", False),
    ("v(t, n, j) +=! h(t, n, k) * h(t, k, j)", False)])
def test_what_is_the_same_at_all_steps_is_kept(statement: str, kept: bool) -> None:
    text = f"""input U(K, K), W(T, K, K), h0(K, K)
h(0, n, j) = h0(n, j)
for t in 0:T {{ {statement}; h(t + 1, n, j) = v(t, n, j) + h(t, n, j) }}
output h"""
    made = compile_tensors(parse(text)).module
    assert any(n.packed for s in made.choosers for n in s.schedules) or not kept
    assert any(n.hoisted for s in made.choosers for n in s.schedules) == kept


def test_the_memory_of_copies_is_counted() -> None:
    """Whole panels of U and V, in the plan and where memory is refused."""
    at = point((37, 19, 11, 4))
    kernel = compile_tensors(parse(GATES), 8)
    kernel(at)
    (plan,) = kernel.plans.values()
    assert plan.memory >= 8 * (37 * 3 * 48 + 37 * 32)
    limited = compile_tensors(parse(GATES), 8, limit=plan.needed - 1)
    with pytest.raises(AdError, match="memory"):
        limited(at)
