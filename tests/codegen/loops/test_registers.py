"""Loops over numbers: what steps hand on stays in registers, and memory has what somebody reads behind the loop."""
from __future__ import annotations

import numpy as np
import pytest
from adcli.codegen.machine.veclib import NO_LIBRARY
from adcli.codegen.modules.module import emit
from adcli.codegen.modules.runtime import compile_tensors
from adcli.lang.evaluate import evaluate
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoints
from adcli.lang.simplify.simplify import simplify
from native_tensors import everywhere
from session_seed import half
from tensor_laws import NUMPY

R = np.random.default_rng(6)
PREY = """input a, b, x0, y0, f(T)
x(0) = x0; y(0) = y0
for t in 0:T {
    k(t) = a * x(t) - x(t) * y(t)
    x(t+1) = x(t) + 0.01 * k(t) + f(t)
    y(t+1) = y(t) + 0.01 * (x(t) * y(t) - b * y(t)) + k(t) * 1e-3
}
"""


def prey(a: float, b: float, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    x, y = [1.0], [0.5]
    for force in f:
        k = a * x[-1] - x[-1] * y[-1]
        y.append(y[-1] + 0.01 * (x[-1] * y[-1] - b * y[-1]) + k * 1e-3)
        x.append(x[-1] + 0.01 * k + force)
    return np.array(x), np.array(y)


@pytest.mark.parametrize("steps", [0, 1, 2, 9])
def test_numbers_from_step_to_step(steps: int) -> None:
    f = R.standard_normal(steps)
    x, y = prey(1.1, 0.4, f)
    at = {"a": 1.1, "b": 0.4, "x0": 1.0, "y0": 0.5, "f": f}
    everywhere(parse(PREY + "output x, y"), at, {"x": x, "y": y})
    everywhere(parse(PREY + "z = x(T)\noutput z"), at, {"z": x[-1]})


@pytest.mark.parametrize("way", ["", "down"])
def test_lags_reach_over_several_steps_and_columns(way: str) -> None:
    """Two columns of one history, each with a lag of 3, up and down."""
    c, start = R.standard_normal(8), R.standard_normal((3, 2))
    a = list(map(tuple, start))
    if way:
        text = """input c(T), s(3, 2)
a(T, j) = s(0, j); a(T+1, j) = s(1, j); a(T+2, j) = s(2, j)
for t in 0:T down { a(t, 0) = a(t+3, 1) + c(t) * a(t+1, 0); a(t, 1) = a(t, 0) - a(t+3, 0) }
output a"""
        for x in c[::-1]:
            first = a[2][1] + x * a[0][0]
            a.insert(0, (first, first - a[2][0]))
    else:
        text = """input c(T), s(3, 2)
a(0, j) = s(0, j); a(1, j) = s(1, j); a(2, j) = s(2, j)
for t in 0:T { a(t+3, 0) = a(t, 1) + c(t) * a(t+2, 0); a(t+3, 1) = a(t+3, 0) - a(t, 0) }
output a"""
        for t, x in enumerate(c):
            first = a[t][1] + x * a[t + 2][0]
            a.append((first, first - a[t][0]))
    everywhere(parse(text), {"c": c, "s": start}, {"a": np.array(a)})


def test_what_nobody_reads_behind_the_loop_takes_no_memory() -> None:
    kernel = compile_tensors(parse(PREY + "output x"))
    assert not [v for v in kernel.module.values if v.name == "k"]
    assert kernel.module.choosers[-1].loop is not None, "no step of a step has a function of its own"


def test_a_million_steps_are_no_more_code() -> None:
    assert "phi double" in emit(parse(PREY + "output x"), 4, NO_LIBRARY).text
    text = "input a; input int32 T\nv(0) = a\nfor t in 0:T { v(t+1) = v(t) * 0.5 + 1 }\ny = v(T)\noutput y"
    kernel = compile_tensors(parse(text))
    assert kernel({"a": 0.0, "T": 10**6})["y"] == 2.0


@pytest.mark.parametrize(("text", "leaves"), [
    ("v(0) = a\nfor t in 0:T until abs(v(t+1)**2 - a) < 1e-9 { v(t+1) = 0.5*(v(t) + a/v(t)) }\ny = v(T)\noutput y", True),
    ("v(T) = a\nfor t in 0:T down until abs(v(t)**2 - a) < 1e-9 { v(t) = 0.5*(v(t+1) + a/v(t+1)) }\noutput v", True),
    ("v(0) = a; w(0) = 2*a\nfor t in 0:T until v(t+1) > 9 { w(t+1) = w(t)-v(t); v(t+1) = v(t)+w(t) }\noutput v, w", True),
    ("v(0) = a\nfor t in 0:T until v(t+1) > 9 { v(t+1) +=! v(t) * v(t) }\noutput v", True),
    # what somebody reads behind the loop and a first step makes
    ("input x(T)\nv(0) = a\nfor t in 0:T until v(t+1) > 3 { k(t) = x(t) * v(t); v(t+1) = v(t)+abs(k(t)) }\noutput v, k", False)])
def test_a_loop_that_has_ended_copies(text: str, leaves: bool) -> None:
    """The bits of the steps that are left out, in values and adjoints, wherever the loop ends."""
    program = parse(f"input a\n{text}")
    assert ("i1 false, i1 " in compile_tensors(program).module.text) is leaves
    both = program, simplify(adjoints(program))
    for p in both:
        run = compile_tensors(p)
        for steps in (0, 1, 2, 5, 6, 7, 40):
            at = {"a": 2.0, "T": steps, "x": np.linspace(0.5, 1, steps)}
            at |= {f"d_d{r.name}": 1.0 if r.name == "y" else np.linspace(1, 2, steps + (r.name != "k")) for r in program.results}
            at = {q.name: at[q.name] for q in p.params} | {"T": steps}
            want, got = evaluate(p, at, NUMPY), run(at)
            for name, value in want.items():
                np.testing.assert_array_equal(got[name], value, f"{name} at T = {steps}")


CONDITIONS = {
    "a first step": "for t in 0:T { k(t) = a + x(t) where t <= 0; k(t) = k(t-1) * x(t) where t >= 1; v(t+1) = v(t)*0.5 + k(t) }",
    "one that is read": ("for t in 0:T { k(t) = a where t < 1; k(t) = v(t-1) / v(t) where t >= 1; v(t+1) = v(t)*0.5 + k(t) }\n"
                         "output v, k"),
    "some steps": "v(i) = 3 where i in 1:T + 1\nfor t in 0:T { v(t+1) = v(t) * a + x(t) where t >= 2, t < T - 2 }",
    "down": "v(T) = a\nfor t in 0:T down { k(t) = v(t+1) where t >= T - 1; k(t) = v(t+1) * v(t+2) where t < T - 1; v(t) = k(t) }",
    "until": "for t in 0:T until v(t+1) > 3 { k(t) = x(t) * v(t); v(t+1) = v(t) + abs(k(t)) }\ny = v(T)\noutput y",
    # this reads what is not there where the condition does not hold
    "before the first": "for t in 0:T { k(t) = v(t) where t < 1; k(t) = v(t) * x(t-1) where t >= 1; v(t+1) = 1 - k(t) }",
}


@pytest.mark.parametrize("case", half([*CONDITIONS]))
def test_conditions_on_the_step_are_chosen(case: str) -> None:
    """The bits of the evaluator, in values and adjoints, at every length, and nothing beyond the ends of arrays."""
    text = CONDITIONS[case]
    program = parse(f"input a, x(T)\n{'' if text.startswith('v') else 'v(0) = a'}\n{text}")
    assert any(s.each for s in compile_tensors(program).module.steps) is (case == "before the first")
    for p in (program, simplify(adjoints(program))):
        for steps in (0, 1, 2, 3, 9):
            at = {"a": 0.7, "T": steps, "x": np.linspace(0.5, 1.25, steps)}
            values = evaluate(program, {q.name: at[q.name] for q in program.params}, NUMPY)
            at |= {f"d_d{name}": np.linspace(1, 2, np.size(v)).reshape(np.shape(v)) for name, v in values.items()}
            at = {q.name: at[q.name] for q in p.params} | {"T": steps}
            everywhere(p, at, evaluate(p, at, NUMPY), exact=True)


def test_what_statements_share_is_computed_once() -> None:
    """Elements of inputs are loaded once, and the same operations on them and on what is carried are one."""
    text = "input a, x(T)\nu(0) = a; v(0) = a\n"
    text += "for t in 0:T { u(t+1) = u(t) / sqrt(v(t)**2 + x(t)); v(t+1) = u(t) - sqrt(v(t)**2 + x(t)) }"
    program = parse(text + "\noutput u, v")
    assert emit(program, 4, NO_LIBRARY).text.count("call double @llvm.sqrt") == 1
    at = {"a": 2.0, "x": np.linspace(0.5, 1.25, 9)}
    want, got = evaluate(program, at | {"T": 9}, NUMPY), compile_tensors(program)(at)
    for name, value in want.items():
        np.testing.assert_array_equal(got[name], value)
