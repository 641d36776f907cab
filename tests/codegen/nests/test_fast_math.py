"""What --fast-math lets code of tensors and loops do: fuse, reciprocate, and take numbers below the least normal one for 0, in
all threads of a run and nowhere else."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from adcli.codegen.machine import veclib
from adcli.codegen.modules import plans
from adcli.codegen.modules.module import emit
from adcli.codegen.modules.runtime import compile_tensors
from adcli.codegen.nests.fast_math import FUSED, with_fast_math
from adcli.codegen.rows.platforms import FLUSHING, here
from adcli.lang.evaluate import evaluate, numpy_arithmetic
from adcli.lang.evaluate.small_matrices import SMALL
from adcli.lang.ir import Program
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.comprehension import Comprehension
from adcli.lang.operations.precision import DOUBLE, PRECISIONS, Precision
from adcli.lang.passes.pipeline import adjoints, evaluation_program
from adcli.lang.sizes.binding import number
from native_tensors import assert_same_bits
from session_seed import half

FUSES = "fma" in veclib.cpu_flags()
fuses = pytest.mark.skipif(not FUSES, reason="this processor has no fused operations")
flushes = pytest.mark.skipif(not here(), reason="nothing is known that makes numbers 0 on this processor")
both = pytest.mark.parametrize("precision", PRECISIONS.values(), ids=list(PRECISIONS))

MIXED = """input a(M, N), b(M, N), c(M, N), s(M)
y(i, j) = (a(i, j)*b(i, j) + c(i, j))/s(i) - a(i, j)*c(i, j)
z(j) +=! y(i, j)*y(i, j)/3
m max=! y(i, j)*b(i, j) + c(i, j)
f = m*m + a(0, 0)
output y, z, f
"""
STEPS = """input x(T, N), W(N, N), k
h(0, n) = 0 where n in 0:N
for t in 0:T {
    z(t, n) +=! W(n, m)*h(t, m)
    h(t+1, n) = (z(t, n)*0.5 + x(t, n))/k
}
v +=! h(t, n)*h(t, n)
output v, h
"""
PRODUCTS = "input a(N, M), b(N, M)\ny(i, j) = a(i, j)*b(i, j)*tanh(exp(sin(a(i, j) + 1)))"
"""They take long enough for others to come and help."""


def point(program: Program, precision: Precision, size: int = 5) -> dict[str, Any]:
    """Numbers of a precision for the inputs, of which each size is another."""
    r, sizes = np.random.default_rng(3), {"M": size, "N": size + 4, "T": 7}
    return {p.name: np.asarray(r.uniform(0.5, 1.5, [number(x, sizes) for x in p.var.shape]), precision.code)
            for p in program.params}


@pytest.fixture
def teams(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step that can be is shared."""
    monkeypatch.setattr(plans, "WORTH_HELP", 0.0)
    monkeypatch.setattr(plans, "WORTH_THREADS", 0.0)


def keeps_all_numbers() -> bool:
    """Whether NumPy has numbers below the least normal one."""
    return all(float(np.array([p.smallest], p.code)[0] * np.array([0.5], p.code)[0]) != 0 for p in PRECISIONS.values())


# ---------------------------------------------------------------- the licence

@fuses
def test_elements_have_the_bits_of_the_licensed_program() -> None:
    """As the reference evaluator has them, whatever the loop and whoever is in it."""
    program = parse("input a(M, N), b(M, N), c(M, N), s(M)\ny(i, j) = (a(i, j)*b(i, j) - c(i, j))/s(i) - a(i, j)*c(i, j)\n"
                    "w(i) = 2 - s(i)*s(i)/3\noutput y, w")
    changed = with_fast_math(program, DOUBLE)
    assert [[e.op is FUSED for e in b.equations].count(True) for b in bodies(changed)] == [2, 1]
    for size in (1, 3, 8, 21):
        at = point(program, DOUBLE, size)
        want, usual = (evaluate(p, at, numpy_arithmetic()) for p in (changed, program))
        found = compile_tensors(program, fast=True)(at)
        for name in want:
            assert_same_bits(found[name], want[name], (name, size))
        assert any(np.any(want[name] != usual[name]) for name in want)


def bodies(program: Program) -> Iterator[Program]:
    for e in program.equations:
        if isinstance(e.op, Comprehension):
            yield e.op.body


def test_what_is_fused_and_what_is_divided_by() -> None:
    """A divisor that each quotient has of its own stays one, and so does a sum of whole numbers; constants are reciprocated
    unless that leaves the normal numbers."""
    program = parse("input a(N), b(N), s; y(i) = a(i)*b(i) + (i*2 + 1); z(i) = a(i)/b(i); u(i) = a(i)/s\n"
                    "v(i) = a(i)/1e308; w(i) = a(i)/7; int32 k(i) = floor(a(i)/7); output y, z, u, v, w, k")
    found = [[e.op.name for e in b.equations] for b in bodies(with_fast_math(program, DOUBLE))]
    assert found[0].count("fma") == 1 and found[1:] == [["div"], ["div", "mul"], ["div"], ["mul"], ["div", "floor"]], found


def test_a_value_that_is_compared_with_itself_has_the_same_bits() -> None:
    """The largest of sums of products, whose derivative asks which element it is."""
    program = parse("input a(N), b(N), c(N), s\nm max=! (a(i)*b(i) + c(i))/s\np(i) = a(i)*b(i)\noutput m, p")
    kernel = compile_tensors(evaluation_program(adjoints(program)), fast=True)
    r = np.random.default_rng(0)
    for n in range(1, 60):
        at = {name: r.standard_normal(n) for name in "abc"} | {"s": 0.7, "d_dm": 1.0, "d_dp": np.zeros(n)}
        found = kernel(at)["d_dc"]
        assert np.count_nonzero(found) == 1 and found.sum() == pytest.approx(1/0.7), (n, found)


@both
@pytest.mark.parametrize("text", half([MIXED, STEPS, PRODUCTS]))
def test_results_are_within_a_few_units_of_the_last_place(text: str, precision: Precision) -> None:
    program = evaluation_program(adjoints(parse(text)))
    at = point(program, precision, 21)
    usual, fast = (compile_tensors(program, precision=precision, fast=f)(at) for f in (False, True))
    for name, x in usual.items():
        largest = float(np.max(np.abs(x)))
        assert np.max(np.abs(fast[name] - x)) <= 64*largest*2.0**-precision.digits, name


def test_without_it_the_text_is_as_ever() -> None:
    program = parse(MIXED)
    usual, fast = (emit(program, 4, veclib.NO_LIBRARY, fast=f).text for f in (False, True))
    assert not any(word in usual for word in (".flushed", *FLUSHING["x86_64"].declared, *FLUSHING["aarch64"].declared))
    assert here() == "" or f"call void @{next(iter(FLUSHING[here()].declared))}" in fast or "get.fpcr" in fast


# ---------------------------------------------------------------- numbers below the least normal one

@flushes
@both
def test_products_that_small_are_0(precision: Precision) -> None:
    """Those of elements, of numbers, in loops, and what is read that is as small; without the option they are kept."""
    text = "input a(N), s\ny(i) = a(i)*a(i)\nw(i) = a(i) + 0\nz = s*s\nh(0) = s\nfor t in 0:1 { h(t+1) = h(t)*s }\nu = h(1)\n"
    small = precision.smallest
    program = parse(text + "output y, w, z, u")
    root = float(np.sqrt(np.array(small, precision.code)) / 2)
    for fast in (False, True):
        at = {"a": np.array([root, 3.0, small / 2], precision.code), "s": root}
        found = compile_tensors(program, precision=precision, fast=fast)(at)
        is_0 = [found["y"][0] == 0, found["w"][2] == 0, found["z"] == 0, found["u"] == 0]
        assert is_0 == [fast]*4 and found["y"][1] == 9, (fast, found)
        assert keeps_all_numbers()


@flushes
@both
def test_helpers_have_it_too_and_threads_change_no_bit(teams: None, precision: Precision) -> None:
    program = parse(PRODUCTS)
    half = np.full((431, 390), np.sqrt(np.array(precision.smallest, precision.code)) / 2)
    kernel = compile_tensors(program, precision=precision, fast=True)
    for jobs in (1, 2, 3):
        for _ in range(5):
            assert not kernel({"a": half, "b": half}, jobs=jobs)["y"].any()
    assert next(iter(kernel.plans.values())).idle_window
    for text in (MIXED, STEPS):
        swept = evaluation_program(adjoints(parse(text)))
        at, shared = point(swept, precision, 33), compile_tensors(swept, precision=precision, fast=True)
        want = shared(at, jobs=1)
        for name, x in shared(at, jobs=2).items():
            assert_same_bits(x, want[name], name)


@flushes
def test_a_thread_that_has_helped_keeps_all_numbers_for_others(teams: None) -> None:
    """A helper lingers in the code of one run, and is asked to help in another."""
    program = parse(PRODUCTS)
    kernels = {fast: compile_tensors(program, fast=fast) for fast in (True, False)}
    half = np.full((431, 390), np.sqrt(DOUBLE.smallest) / 2)
    for _ in range(20):
        for fast, kernel in kernels.items():
            is_0 = kernel({"a": half, "b": half}, jobs=3)["y"] == 0
            assert is_0.all() if fast else not is_0.any()


@flushes
def test_a_run_that_ends_with_a_fault_leaves_arithmetic_as_it_was() -> None:
    kernel = compile_tensors(parse("input a(N), int32 k(M)\ny(j) = a(k(j))*a(k(j))"), fast=True)
    with pytest.raises(AdError, match="out of range"):
        kernel({"a": np.ones(3), "k": np.array([1, 5])})
    assert keeps_all_numbers()


@flushes
def test_operations_on_matrices_that_call_back_have_arithmetic_as_everybody_s() -> None:
    kernel = compile_tensors(parse("input A(N, N), b(N)\nu = solve(A, b)\nv(i) = u(i)*0.5\noutput u, v"), fast=True)
    b = np.array([DOUBLE.smallest / 2, *[4.0] * SMALL])
    found = kernel({"A": np.eye(SMALL + 1), "b": b})
    assert np.array_equal(found["u"], b) and np.array_equal(found["v"], [0.0, *[2.0] * SMALL])
