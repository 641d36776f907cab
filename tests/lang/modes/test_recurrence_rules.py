"""Derivatives of loops: both modes, to the second order in all ways, against differences of the same loop in plain Python."""
from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import mpmath
import numpy as np
import pytest
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import evaluate
from adcli.lang.ir import Program
from adcli.lang.lower.frontend import parse
from adcli.lang.modes import recurrence_rules
from adcli.lang.passes.pipeline import adjoint_program, adjoints, tangent_program, tangents
from adcli.lang.printing.printer import print_program
from adcli.lang.simplify.simplify import simplify
from loop_programs import LOOPS, LoopProgram, given
from row_tables import each_row
from same_programs import equal
from session_seed import drawn, half, part

STEP = mpmath.mpf(10) ** -18
Values = dict[str, Any]
INF = float("inf")


def direction(like: Mapping[str, Any], r: Random) -> Values:
    return {n: np.array([r.uniform(-1, 1) for _ in range(np.size(x))]).reshape(np.shape(x)) for n, x in like.items()}


def precise(x: Any) -> Any:
    return np.vectorize(mpmath.mpf, otypes=[object])(x)


def meaning(made: LoopProgram, at: Mapping[str, Any], weights: Mapping[str, Any]) -> Any:
    """The weighted sum of all outputs, by plain Python."""
    got = made.meaning({n: x if np.shape(x) else np.asarray(x)[()] for n, x in at.items()}, made.steps)
    return sum(np.sum(precise(w) * np.array(got[n], dtype=object)) for n, w in weights.items())


def moved(at: Mapping[str, Any], *along: tuple[Any, Mapping[str, Any]]) -> Values:
    return {n: precise(x) + sum(h * precise(d[n]) for h, d in along) for n, x in at.items()}


def derivative(program: Program, made: LoopProgram, at: Values, seeds: Mapping[str, Any]) -> Values:
    """The results of a derivative program by the names of what they are derivatives of."""
    inputs = {**at, **made.whole}
    inputs.update({p.name: seeds[p.seed] for p in program.params if p.seed})
    return evaluate(program, inputs)


def inner(one: Mapping[str, Any], values: Values) -> float:
    """The inner product with the last results of a program, which are in the same order."""
    last = [*values.values()][len(values) - len(one):]
    return float(sum(np.sum(np.asarray(d) * x) for d, x in zip(one.values(), last, strict=True)))


def close(got: float, want: Any, within: float = 1e-12) -> None:
    assert abs(got - want) <= within * max(1, abs(want)), (got, want)


@each_row("made", LOOPS.values(), ids=lambda made: made.text)
def test_values_and_both_modes_are_those_of_plain_python(made: LoopProgram) -> None:
    with mpmath.workdps(50):
        r, program = drawn("loops", made.text), made.program()
        at = given(made, r)
        got = evaluate(program, {**at, **made.whole})
        w, d = direction(got, r), direction(at, r)
        close(inner(w, got), meaning(made, moved(at), w))
        ahead, behind = moved(at, (STEP, d)), moved(at, (-STEP, d))
        slope = (meaning(made, ahead, w) - meaning(made, behind, w)) / (2 * STEP)
        for forward, reverse in ((tangent_program, adjoint_program), (tangents, adjoints)):
            close(inner(w, derivative(forward(program), made, at, d)), slope)
            close(inner(d, derivative(reverse(program), made, at, w)), slope)


@pytest.mark.parametrize("name", part([*LOOPS], 3))
def test_second_derivatives_are_one_number_in_four_ways(name: str) -> None:
    made = LOOPS[name]
    with mpmath.workdps(60):
        r, program = drawn("second loops", made.text), made.program()
        at = given(made, r)
        w, d, e = direction(evaluate(program, {**at, **made.whole}), r), direction(at, r), direction(at, r)
        corners = [(a, b, meaning(made, moved(at, (a * STEP, d), (b * STEP, e)), w)) for a in (1, -1) for b in (1, -1)]
        want = sum(a * b * m for a, b, m in corners) / (4 * STEP * STEP)
        wrt = [*at]
        for first, known, weights in ((tangent_program(program, wrt), d, {"d" + n: x for n, x in w.items()}),
                                      (adjoint_program(program, wrt), w, {"d_d" + n: x for n, x in d.items()})):
            inputs = {**at, **{p.name: known[p.seed] for p in first.params if p.seed}}
            outputs = [*weights]
            close(inner(weights, derivative(tangent_program(first, wrt, outputs), made, inputs, e)), want, 1e-11)
            close(inner(e, derivative(adjoint_program(first, wrt, outputs), made, inputs, weights)), want, 1e-11)


@each_row("made", half([*LOOPS.values()]), ids=lambda made: made.text)
def test_what_is_printed_reads_back_equal_and_gives_the_same_bits(made: LoopProgram) -> None:
    r, program = drawn("read back", made.text), made.program()
    at = given(made, r)
    w = direction(evaluate(program, {**at, **made.whole}), r)
    for first, seeds in ((tangent_program(program), direction(at, r)), (adjoint_program(program), w)):
        again = parse(print_program(first))
        assert equal(simplify(again), simplify(first)), print_program(first)
        named = {p.name: seeds[p.seed] for p in first.params if p.seed}
        one, other = evaluate(first, {**at, **made.whole, **named}), evaluate(again, {**at, **made.whole, **named})
        assert all(np.array_equal(one[n], other[n], equal_nan=True) for n in one)


def test_what_says_which_elements_of_factors_exist_reads_back() -> None:
    program = parse("input c, x(T)\nh(0) = c\n"
                    "for t in 1:T + 1 { K(t, n, m) = (n == m ? 3 : 0) + h(t - 1) where n in 0:2, m in 0:2; "
                    "L(t) = cholesky(K(t)); h(t) = x(t - 1) * L(t, 0, 0) }\noutput L\n")
    second = tangent_program(adjoint_program(program))
    assert equal(simplify(parse(print_program(second))), simplify(second))


def test_zeros_that_no_step_writes_are_told_where_sums_of_whole_adjoints_read_them() -> None:
    program = parse("input W(N, N), int32 T\nh(T + 2, n) = 1 where n in 0:N\nh(T + 3, n) = 1\nh(T + 4, n) = 1\n"
                    "for t in 1:T + 1 down { K(t, n, m) = h(t + 4, n) where m in 0:N; Z(t) = inverse(K(t)); "
                    "h(t + 1, n) +=! W(n, m) * Z(t, n, m) }\n"
                    "y +=! (K(i, j, k) + Z(i, j, k)) * cos(i) where i in 1:T + 1\noutput y\n")
    second = adjoint_program(adjoint_program(program))
    assert parse(print_program(second))


HISTORY = ("input x(N), c, w\nh(0, i) = x(i)\nfor t in 0:2 {{ h(t+1, i) = {step} }}\ns +=! {read}\n"
           "v = c > 0 ? w*s : {other}\noutput v")


@each_row("derive", ["forward", "reverse"])
@each_row(("step", "read", "other", "x", "taken", "left"), [
    # a history under a condition of the whole: where that holds its infinities count, where it fails they are no part of it
    ("sqrt(h(t, i))", "h(2, i)", "x(0)", [0.0, 1.0], [2 * INF, 0.5], [1.0, 0.0]),
    ("sqrt(h(t, i))", "h(t, i)", "1", [0.0, 1.0], [INF, 3.5], [0.0, 0.0]),
    ("h(t, i) + sqrt(x(i))", "h(2, i)", "x(0) + x(1)", [0.0, 0.0], [INF, INF], [1.0, 1.0]),
    ("log(h(t, i))", "h(1, i)", "w", [0.0, 1.0], [INF, 2.0], [0.0, 0.0]),
    # and where the history exists for some elements alone
    ("h(t, i) > 0 ? sqrt(h(t, i)) : 0*i", "h(2, i)", "x(1)", [0.0, 16.0], [0.0, 0.0625], [0.0, 1.0])])
def test_a_history_under_a_condition_exists_where_that_holds(derive, step, read, other, x, taken, left):
    program = parse(HISTORY.format(step=step, read=read, other=other))
    derived = gradient(program, ["x"], mode=derive)
    for c, want in ((1.0, taken), (-1.0, left)):
        got = evaluate(derived, {"x": x, "c": c, "w": 2.0})["dv_dx"]
        assert np.array_equal(np.broadcast_to(got, (2,)), want), (c, got)


def test_what_conditions_alone_read_has_no_adjoint() -> None:
    """The history that says how far a loop is has no derivative, nor has what it is made of."""
    text = ("input x0(N)\nx(0, i) = x0(i)\nfor t in 0:T until d(t) < 1 "
            "{ x(t + 1, i) = sin(x(t, i)); d(t) +=! (x(t + 1, i) - x(t, i))**2 }\ns +=! x(T, i)\noutput s")
    swept = print_program(adjoint_program(parse(text))).split("d_ds\n")[1].split(" down {")[1]
    assert "d_dx" in swept
    assert "d(t)" not in swept and "d_dd" not in swept


def test_the_work_of_a_loop_grows_with_its_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each statement reads the one before, so what is certain to exist turns out for one history after another: each contribution
    is made twice at most, once under each supposition."""
    count, made = 40, list[object]()
    names = range(count)
    text = (f"input x(T), w\n{'; '.join(f'h{k}(0) = 0' for k in names)}\nfor t in 0:T {{ h0(t + 1) = tanh(w*h0(t) + x(t))\n"
            + "".join(f"h{k}(t + 1) = tanh(w*h{k - 1}(t + 1) + x(t))\n" for k in names[1:]) + f"}}\ny = h{count - 1}(T)")
    pulled = recurrence_rules.pulled_at
    monkeypatch.setattr(recurrence_rules, "pulled_at", lambda *args: made.append(0) or pulled(*args))
    assert adjoint_program(parse(text))
    assert len(made) <= 2 * 3 * count
