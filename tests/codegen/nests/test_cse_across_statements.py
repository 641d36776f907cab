"""Function values of the same elements in one place: which, and that nothing else changes."""
from __future__ import annotations

from collections.abc import Sequence
from unittest import mock

import numpy as np
import pytest
from adcli.codegen.modules import module
from adcli.codegen.modules.runtime import compile_tensors
from adcli.codegen.nests.cse_across_statements import computed_once
from adcli.codegen.nests.fusion import joined, needed
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import evaluate, numpy_arithmetic
from adcli.lang.ir import Program
from adcli.lang.lower.frontend import parse
from adcli.lang.modes.systems import distributed
from adcli.lang.operations.comprehension import Comprehension
from adcli.lang.operations.recurrence import with_statements
from adcli.lang.passes.pipeline import evaluation_program
from native_tensors import assert_same_bits
from places import ROOT
from session_seed import drawn, half

GATES = """
input x(T, N), y(T, N), W(N, N), b(N), c(N), h0(N)
h(0, n) = h0(n)
for t in 0:T {
    v(t, n) +=! h(t, m) * W(m, n)
    h(t + 1, n) = tanh(x(t, n) * v(t, n) + b(n) * y(t, n))
}
L +=! h(T, n)**2
output L
"""
WEIGHTS = """
input s(H, T, U), v(H, U)
z(h, t) lse=! s(h, t, u)
w(h, t, u) = exp(s(h, t, u) - z(h, t))
a(h, t) +=! w(h, t, u) * v(h, u)
L +=! a(h, t)**2
output L
"""


def bodies(program: Program, name: str) -> list[Comprehension]:
    """The operations, those in loops too, whose bodies have a row of the table."""
    found = [e.op for e in with_statements(needed(program).equations)]
    return [op for op in found if isinstance(op, Comprehension) and any(x.op.name == name for x in op.body.equations)]


def before_and_after(text: str, wrt: Sequence[str] | None = None) -> tuple[Program, Program]:
    before = joined(distributed(evaluation_program(gradient(parse(text), wrt))))
    return before, computed_once(before)


def test_what_the_adjoint_of_each_read_has_is_computed_once_before_the_loop() -> None:
    """The derivative of tanh at every step, for x, v, b and y; a value that only v's own loop has stays."""
    before, after = before_and_after(GATES)
    assert len(bodies(before, "sech2")) > 3
    (made,) = bodies(after, "sech2")
    assert made.reduction == "=" and len(made.ranges) == 2
    assert len(bodies(after, "tanh")) == len(bodies(before, "tanh")) == 1


def test_a_value_that_a_statement_has_written_is_read_there() -> None:
    """The weights of a log-sum-exp, which its adjoint asks for, too."""
    before, after = before_and_after(WEIGHTS)
    assert len(bodies(before, "exp")) == len(bodies(after, "exp")) + 1


@pytest.mark.parametrize("text", [
    GATES.replace("0:T {", "0:T checkpoint {"),   # memory is worth more
    "input x(N), y(M)\nv +=! tanh(x(i) * y(j))",   # a tensor of all with all would be larger than what it is made of
    "input x(N), w(N)\nv +=! exp(x(i)) * w(i)",   # fetching it would take as long
    "input x(N), y(N)\nv +=! tanh(x(i) * y(i)) where i >= 1",
])
def test_what_stays(text: str) -> None:
    before, after = before_and_after(text)
    assert after is before


@pytest.mark.parametrize("text", half([GATES, WEIGHTS, (ROOT / "tests/programs/models/gru.ad").read_text(encoding="utf-8")]))
def test_a_gradient_stays_what_it_is(text: str) -> None:
    """But for the order of sums, which the nests that are chosen say; and its bits are the same by any number of threads."""
    program = gradient(parse(text))
    r = drawn(text)
    sizes = {"T": 5, "N": 13, "H": 11, "U": 19, "I": 4, "B": 9, "3": 3}
    at = {}
    for p in program.params:
        shape = [n.number if n.number is not None else sizes[str(n.terms[0][0])] for n in p.var.shape]
        at[p.name] = np.array([r.gauss(0, 0.7) for _ in range(int(np.prod(shape)))]).reshape(shape)
    kernel = compile_tensors(program)
    with mock.patch.object(module, "computed_once", lambda program: program):
        plain = compile_tensors(program)
    assert len(kernel.module.choosers) != len(plain.module.choosers) or text is WEIGHTS
    found, exact = [kernel(at, jobs=jobs) for jobs in (1, 2, 3)], evaluate(program, at, numpy_arithmetic())
    for name, want in plain(at, jobs=1).items():
        for got in found:
            assert_same_bits(got[name], found[0][name], name)
        np.testing.assert_allclose(found[0][name], want, rtol=1e-12, atol=1e-13, err_msg=name)
        np.testing.assert_allclose(found[0][name], exact[name], rtol=1e-9, atol=1e-12, err_msg=name)
