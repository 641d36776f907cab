"""Functions and quotients of numbers outside of loops: which, and that emitted loops have each value once."""
from __future__ import annotations

import numpy as np
import pytest
from adcli.codegen.emission import EmitOptions
from adcli.codegen.nests.cse_across_statements import invariants_outside
from adcli.codegen.nests.fusion import joined
from adcli.codegen.nests.layout import plain
from adcli.codegen.targets import TARGETS
from adcli.lang.evaluate import evaluate, numpy_arithmetic
from adcli.lang.lower.frontend import parse
from row_tables import each_row

import adcli

CASES = {
    "s +=! x(i)*log(a)": ["log"],
    "s +=! x(i)/a": [],                                     # its quotient is another at every point
    "s +=! x(i)*(1/a) + 1/a": ["div"],
    "s +=! x(i)*(2*a + 1)": [],                             # quickly computed
    "y(i) = exp(a)*x(i) + exp(a); s +=! x(i)*exp(a)": ["exp"],
    "y(i) = x(i) - sin(exp(a)); s +=! y(i)*x(i)": ["exp", "sin"],
    "s +=! a < 0 ? log(-a)*x(i) : x(i)/2": ["log", "neg"],
    "s +=! i*x(i)*log(a + N)": []}                          # sizes are no values of the program


@each_row("text", CASES)
def test_which_leave_their_loops(text: str) -> None:
    before = plain(joined(parse(f"input x(N), a; {text}; output s")))
    after = invariants_outside(before)
    assert sorted(e.op.name for e in after.equations if not e.op.tensors) == sorted(CASES[text])
    at = {"x": np.array([0.5, 2.0, -1.0]), "a": 0.7}
    assert evaluate(after, at, numpy_arithmetic()) == evaluate(before, at, numpy_arithmetic())


@pytest.mark.parametrize("target", ["c", "rust"])
def test_an_emitted_gradient_has_one_loop_with_each_value_once(target: str) -> None:
    f = adcli.compile("input y(N), m(N), s in [0.1, inf]; lp +=! normal_lpdf(y(i), m(i), s)").grad(wrt=["m", "s"])
    text = TARGETS[target].emit(f.program, [], EmitOptions(name="f"))
    assert isinstance(text, str)
    code = [line for line in text.splitlines() if not line.strip().startswith(("/*", "//", "where"))]
    (start,) = [k for k, line in enumerate(code) if line.strip().startswith("for ")]
    inside = "\n".join(code[start:])
    assert inside.count("/ s)") + inside.count("/ s;") == 2 and "ln(" not in inside and "log" not in inside
