"""Joint loops: which statements are in one, and that no bit of a result changes by it, natively and in a library's code."""
from __future__ import annotations

import numpy as np
import pytest
from adcli.codegen.loops.joint_writer import JOINT, JointLoop
from adcli.codegen.machine import veclib
from adcli.codegen.modules import module
from adcli.codegen.modules.module import laid_out
from adcli.codegen.modules.runtime import compile_tensors
from adcli.codegen.nests import row_sweeps
from adcli.codegen.nests.fusion import groups, side_by_side
from adcli.lang.evaluate import evaluate, numpy_arithmetic
from adcli.lang.ir import Program
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.precision import DOUBLE, PRECISIONS
from native_tensors import assert_same_bits, everywhere
from row_tables import each_row

import adcli
from adcli.task.native import native as compile_code

NORMAL = "input y(N), m(N), s in [0.1, inf]; lp +=! normal_lpdf(y(i), m(i), s)"
GATHERED = "input y(N), int32 k(N), z(C), s; lp +=! -((y(i) - z(k(i)))/s)**2/2 - exp(z(k(i))/9)"
CASES = {
    "residuals": (NORMAL, ["m", "s"], [3]),
    "gather and scatter": (GATHERED, ["z", "s"], [3]),
    "elements of one another": (
        "input x(N), a; u(i) = sin(a*x(i)); v(i) = u(i)*x(i); t +=! u(i)*v(i); w +=! v(i); output u, v, t, w",
                                None, [4]),
    "a product that others have": (
        "input x(N), y(N); p(i) = x(i)*y(i); s +=! x(i)*y(i); q +=! x(i)*y(i) + 1; output p, s, q", None, [3]),
    "accumulators of all kinds": (
        "input x(N), y(N); a +=! x(i); b +=! exp(x(i)); c +=! x(i)*y(i)*(x(i) - 2)*(y(i) - 3)*(x(i) + 4)*(y(i) + 5)*(x(i) - 6)*"
        "(y(i) - 7); output a, b, c", None, [3]),
    "what another sum needs": ("input x(N); m +=! x(i)/N; v +=! (x(i) - m)**2; q +=! x(i)**2; output m, v, q", None, [2]),
    "other ranges": ("input x(N); a +=! x(i); b +=! x(i) where i in 1:N; output a, b", None, []),
    "a neighbour of what is made": ("input x(N); a(i) = 2*exp(x(i)); b(i) = a(i) - a(i % 2); output a, b", None, []),
    "nothing in common": ("input x(N), y(N); a +=! x(i); b +=! y(i); output a, b", None, [])}


def program_of(text: str, wrt: list[str] | None) -> Program:
    f = adcli.compile(text)
    return (f if wrt is None else f.grad(wrt=wrt)).program


def point(program: Program, n: int) -> dict[str, np.ndarray]:
    r = np.random.default_rng(n)
    drawn = {"k": r.integers(0, 3, n), "z": r.normal(size=3)}
    return {p.name: drawn.get(p.name, r.normal(size=n) if p.var.shape else np.array(1.3)) for p in program.params}


@each_row("text, wrt, sizes", CASES.values())
def test_which_statements_are_in_one_loop(text: str, wrt: list[str] | None, sizes: list[int]) -> None:
    made = laid_out(program_of(text, wrt), veclib.lanes(), veclib.host())
    assert [len(j.steps) for j in made.joints] == sizes


@pytest.mark.parametrize("precision", PRECISIONS.values(), ids=PRECISIONS)
@pytest.mark.parametrize("text, wrt", [(text, wrt) for text, wrt, sizes in CASES.values() if sizes],
                         ids=[name for name, (*_, sizes) in CASES.items() if sizes])
def test_a_joint_loop_has_the_bits_of_its_statements(text: str, wrt: list[str] | None, precision: object,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    """At lengths before and behind whole registers of any number, and where long sums are in boxes."""
    program = program_of(text, wrt)
    joint = compile_tensors(program, precision=precision)
    monkeypatch.setattr(module, "joint_loops", lambda *_: list[JointLoop]())
    apart = compile_tensors(program, precision=precision)
    assert joint.module.joints and not apart.module.joints
    lanes = joint.module.entry.lanes
    for n in (0, 1, 2, lanes - 1, lanes, 3 * lanes, 3 * lanes + 1, 7 * lanes + 5, 16 * lanes + 2, 70 * lanes, 1025 * lanes,
              5000 * lanes + 3):
        at = point(program, n)
        found, wanted = joint(at), apart(at)
        for name, x in wanted.items():
            assert_same_bits(found[name], x, (name, n))
    if precision is DOUBLE:
        at = point(program, 3 * lanes + 3)
        everywhere(program, at, apart(at), exact=True)


def test_steps_by_blocks_of_rows_are_in_no_joint_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the rows of a tensor are many, one block after another is done by all that go along them."""
    text = "input X(N, K), y(N), b(K), s in [0.1, inf]; m(i) +=! X(i, j)*b(j); lp +=! normal_lpdf(y(i), m(i), s)"
    program, r = program_of(text, ["b", "s"]), np.random.default_rng(1)
    at = {"X": r.normal(size=(300, 5)), "y": r.normal(size=300), "b": r.normal(size=5), "s": np.array(0.7)}
    for far in (row_sweeps.FAR, 8):
        monkeypatch.setattr(row_sweeps, "FAR", far)
        kernel = compile_code(program)
        found = kernel(at)
        (plan,) = kernel.plans.values()
        (joint,) = [j for j in kernel.module.joints if len(j.steps) == 3]
        assert (plan.cells[kernel.module.choices + joint.numbers.start] == JOINT) == (far > 8)
        want = evaluate(program, at, numpy_arithmetic())
        for name in want:
            np.testing.assert_allclose(found[name], want[name], rtol=1e-12)


def test_statements_of_a_group_are_brought_together() -> None:
    program = parse("input x(N), y(N); a +=! x(i); c = a**2; d(i) = c*y(i); b(i) = 2*x(i); e +=! d(i)*x(i); output b, c, e")
    names = [e.outs[0].name for e in side_by_side(program).equations]
    assert [n for n in names if n in "abde"] == ["a", "b", "d", "e"]
    assert [len(r) for r in groups(side_by_side(program).equations)] == [2, 2]


def test_a_subscript_that_is_outside_is_found_in_a_joint_loop() -> None:
    f = adcli.compile(GATHERED).grad(wrt=["z", "s"])
    with pytest.raises(adcli.AdError, match=r"k\(2\) = 7 is out of range for dimension 0 of 'z', which has 3 elements"):
        f(y=np.ones(4), k=np.array([0, 1, 7, 9]), z=np.ones(3), s=1.0)
