"""Loops over steps as native code: what they compute, what lies in memory, and that no step is too many."""
from __future__ import annotations

import sys
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from adcli.codegen.machine.veclib import NO_LIBRARY
from adcli.codegen.modules.module import emit
from adcli.codegen.modules.runtime import compile_tensors
from adcli.codegen.nests.history_elements import one_holds
from adcli.lang.evaluate import evaluate
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.comprehension import Comprehension
from adcli.lang.passes.pipeline import adjoints, tangents
from adcli.lang.passes.status import with_status
from adcli.lang.simplify.simplify import simplify
from native_tensors import everywhere
from row_tables import each_row
from session_seed import each_choice, half
from tensor_laws import NUMPY
from tensor_notation import expression

R = np.random.default_rng(5)
NETWORK = """input x(T, N), W(N, N), h0(N)
h(0, n) = h0(n)
for t in 0:T { z(t, n) +=! W(n, m) * h(t, m); h(t+1, n) = tanh(z(t, n) + x(t, n)) }
"""
GIVEN = {"x": R.standard_normal((7, 3)), "W": R.standard_normal((3, 3)), "h0": R.standard_normal(3)}


def network(at: dict[str, Any]) -> np.ndarray:
    h = [at["h0"]]
    for row in at["x"]:
        h.append(np.tanh(at["W"] @ h[-1] + row))
    return np.array(h)


def heat(u: np.ndarray, steps: int) -> np.ndarray:
    for _ in range(steps):
        u = u + 0.1 * (np.pad(u[1:], (0, 1)) + np.pad(u[:-1], (1, 0)) - 2 * u)
    return u


def backwards(c: np.ndarray) -> np.ndarray:
    v = np.zeros(len(c) + 2)
    for t in reversed(range(len(c))):
        v[t] = 0.5 * v[t + 1] + 0.25 * v[t + 2] + c[t]
    return v


def fibonacci(n: int) -> list[float]:
    found = [1.0, 1.0]
    while len(found) < n + 2:
        found.append(found[-1] + found[-2])
    return found


HEAT = """input u0(N)
u(0, i) = u0(i)
for t in 0:9 {
    u(t+1, i) = u(t, i) + 0.1 * ((i < N-1 ? u(t, i+1) : 0) + (i >= 1 ? u(t, i-1) : 0) - 2 * u(t, i)) where i in 0:N
}
y(i) = u(9, i)
"""
PROGRAMS = [
    (NETWORK + "output h", GIVEN, {"h": network(GIVEN)}),
    (NETWORK + "y(n) = h(T, n)\noutput y", GIVEN, {"y": network(GIVEN)[-1]}),
    (NETWORK + "output h, z", GIVEN, {"h": network(GIVEN), "z": network(GIVEN)[:-1] @ GIVEN["W"].T}),
    (NETWORK + "y(n) = h(T, n) + h(T-3, n) where n in 0:N\noutput y", GIVEN, {"y": network(GIVEN)[-1] + network(GIVEN)[-4]}),
    (HEAT + "output y", {"u0": GIVEN["h0"]}, {"y": heat(GIVEN["h0"], 9)}),
    ("input c(T)\nv(T+1) = 0; v(T) = 0\nfor t in 0:T down { v(t) = 0.5*v(t+1) + 0.25*v(t+2) + c(t) }\noutput v",
     {"c": GIVEN["x"][:, 0]}, {"v": backwards(GIVEN["x"][:, 0])}),
    ("input one, c(T)\nf(0) = one; f(1) = one\nfor t in 0:T { f(t+2) = f(t+1) + f(t) + 0*c(t) }\noutput f",
     {"one": 1.0, "c": np.zeros(20)}, {"f": np.array(fibonacci(20))}),
    ("input one, c(T)\nf(0) = one; f(1) = one\nfor t in 0:T { f(t+2) = f(t+1) + f(t) + 0*c(t) }\ny = f(T+1)\noutput y",
     {"one": 1.0, "c": np.zeros(20)}, {"y": fibonacci(20)[-1]}),
]


@each_row("text, at, want", PROGRAMS)
def test_loops_compute_what_loops_in_python_do(text: str, at: dict[str, Any], want: dict[str, Any]) -> None:
    everywhere(parse(text), at, want)


def test_one_compilation_serves_every_number_of_steps() -> None:
    kernel = compile_tensors(parse(NETWORK + "output h"))
    for steps in (0, 1, 2, 100):
        at = {**GIVEN, "x": R.standard_normal((steps, 3))}
        np.testing.assert_allclose(kernel(at)["h"], network(at), rtol=1e-13)


def test_nothing_is_filled_that_a_loop_writes_wholly() -> None:
    module = emit(parse(NETWORK + "output h"), 4, NO_LIBRARY)
    assert not any(step.fills and not step.stays for step in module.choosers)


@pytest.mark.parametrize("text, at, want", half([*PROGRAMS]))
def test_adjoints_and_tangents_are_those_of_the_reference(text: str, at: dict[str, Any], want: dict[str, Any]) -> None:
    program = parse(text)
    for made, prefix, seeds in ((adjoints(program), "d_d", want), (tangents(program), "d", at)):
        made = simplify(made)
        given = {**at, **{f"{prefix}{n}": R.standard_normal(np.shape(x)) for n, x in seeds.items()}}
        given = {p.name: given[p.name] for p in made.params}
        everywhere(made, given, evaluate(made, given, NUMPY))


@pytest.mark.parametrize("cases, whole", [
    ([[]], True), ([], False), ([["i"]], False), ([["i"], ["-i - 1"]], True), ([["i", "j"], ["-i - 1"]], False),
    ([["i", "j"], ["-i - 1"], ["i", "-j - 1"]], True), ([["i", "j"], ["-i - 1", "-j - 1"]], False)])
def test_cases_of_which_one_always_holds(cases: list[list[str]], whole: bool) -> None:
    assert one_holds([frozenset(map(expression, case)) for case in cases]) == whole


def test_histories_that_enter_with_the_same_zeros_are_not_copied() -> None:
    text = """input x(T, N)
h(0, n) = 0 where n in 0:N
c(0, n) = 0 where n in 0:N
for t in 0:T { c(t+1, n) = c(t, n) * 0.5 + x(t, n) + h(t, n); h(t+1, n) = tanh(c(t+1, n)) }
output h, c
"""
    x, h, c = R.standard_normal((5, 3)), [np.zeros(3)], [np.zeros(3)]
    for row in x:
        c.append(c[-1] * 0.5 + row + h[-1])
        h.append(np.tanh(c[-1]))
    everywhere(parse(text), {"x": x}, {"h": np.array(h), "c": np.array(c)})
    made = [step.equations[0] for step in emit(parse(text), 4, NO_LIBRARY).steps]
    assert not [e for e in made if isinstance(e.op, Comprehension) and e.args]


@each_row("symbol, nothing", [("max=!", -np.inf), ("min=!", np.inf), ("*=!", 1.0), ("+=!", 0.0)])
@each_row("outputs", ["h", "h, m"])
def test_a_reduction_over_no_points_is_neutral_in_a_loop_as_outside(symbol: str, nothing: float, outputs: str) -> None:
    """Element 0 has no point; the history may lie in memory or be of one step."""
    text = f"""input x(T, N)
h(0, n) = 0 where n in 0:N
for t in 0:T {{
    m(t, n) {symbol} h(t, k) + x(t, k) where n in 0:N, k in 0:N, n - k >= 1
    h(t+1, n) = tanh(m(t, n))
}}
output {outputs}
"""
    program, at = parse(text), {"x": R.standard_normal((4, 11))}
    want = evaluate(program, at, NUMPY)
    np.testing.assert_array_equal(want["h"][1:, 0], np.tanh(nothing))
    everywhere(program, at, want)


@each_row("symbol, nothing", [("max=!", -np.inf), ("min=!", np.inf), ("*=!", 1.0), ("+=!", 0.0)])
@each_row("checkpoint, n", each_choice(["", " checkpoint"], [0, 3]))
def test_a_reduction_over_an_empty_range_is_neutral_before_a_loop_and_in_it(symbol: str, nothing: float, checkpoint: str,
                                                                           n: int) -> None:
    text = f"""input V(M, N), b(N), x(T)
h(0, m) {symbol} V(m, k) * b(k)
for t in 0:T{checkpoint} {{
    z(t, m) {symbol} V(m, k) * h(t, m) * x(t)
    h(t + 1, m) = x(t) + 0.5 * atan(z(t, m) + h(t, m))
}}
output h, z
"""
    program, at = parse(text), {"V": R.standard_normal((2, n)), "b": R.standard_normal(n), "x": R.standard_normal(5)}
    want = evaluate(program, at, NUMPY)
    assert n or ((want["h"][0] == nothing).all() and (want["z"] == nothing).all())
    everywhere(program, at, want)


@pytest.mark.parametrize(("down", "read"), [(False, "h(T, n)"), (False, "h(T, n) - h(T - 2, n)"), (True, "h(0, n)"),
                                            (True, "h(0, n) - h(1, n)"), (False, "h(T, n) - g(T - 1, n)")])
def test_no_step_is_taken_behind_the_one_that_ends_a_loop(down: bool, read: str) -> None:
    """Wherever that is, the results have the bits of copies, and nothing is read that later steps would read: it is outside."""
    here, behind, way = ("t + 1", "t", " down") if down else ("t", "t + 1", "")
    text = (f"input u(K, N), int32 k(T), c\nh({'T' if down else 0}, n) = u(0, n) where n in 0:N\n"
            f"for t in 0:T{way} until e(t) > c {{ g(t, n) = 0.5*h({here}, n) + u(k(t), n)\n"
            f"h({behind}, n) = g(t, n) + 0.1*h({here}, n); e(t) max=! g(t, n) }}\n"
            f"y(n) = {read} where n in 0:N\noutput y")
    program, run, steps = parse(text), compile_tensors(parse(text)), 9
    at = {"u": GIVEN["x"], "k": np.arange(steps)[::-1 if down else 1] % 3, "c": 0.0}
    ends = evaluate(parse(text.replace("output y", "output e")), at | {"c": 1e9}, NUMPY)["e"][::-1 if down else 1]
    for c in (*ends[:-3], 1e9):
        last = next((t for t, e in enumerate(ends) if e > c), steps)
        outside = at["k"].copy()
        outside[::-1 if down else 1][last + 4:] = 99
        np.testing.assert_array_equal(run(at | {"c": c, "k": outside})["y"], evaluate(program, at | {"c": c}, NUMPY)["y"])


def test_the_work_grows_with_the_statements_of_a_loop() -> None:
    """Calls of functions, as they are the same in every run."""
    def calls(count: int) -> int:
        values = ["x(t)", *(f"v{i}" for i in range(count))]
        lines = [f"  {after} = sin({before})*0.5 + {before}*0.1" for before, after in pairwise(values)]
        text = "\n".join(["input a", "x(0) = a", "for t in 0:20 {", *lines, f"  x(t+1) = {values[-1]}", "}", "y = x(20)",
                          "output y"])
        made = 0

        def called(frame: object, event: str, argument: object) -> None:
            nonlocal made
            made += event == "call"
        before = sys.getprofile()
        sys.setprofile(called)
        try:
            program = parse(text + "\n")
            for each in with_status(program, program, ["a"]), adjoints(program):
                emit(simplify(each), 4, NO_LIBRARY)
        finally:
            sys.setprofile(before)
        return made
    assert calls(60) < 4.5 * calls(15)
