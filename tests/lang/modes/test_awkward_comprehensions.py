"""Derivatives of comprehensions where it is awkward: ties, NaN, zeros in products, and what is zero by construction."""
from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from adcli.codegen.modules.runtime import compile_tensors
from adcli.lang.derive.derivatives import gradient
from adcli.lang.lower.frontend import parse
from adcli.lang.modes import comprehension_rules as tensor_rules
from adcli.lang.passes.pipeline import adjoints, tangents
from adcli.lang.simplify.simplify import simplify
from comprehension_samples import Sample, Scalar, stated, written
from row_tables import each_row
from session_seed import drawn, half
from tensor_laws import check_derivatives, check_second_order, close, run

MUL = ("mul", 0, 1)
NAN, INF = math.nan, math.inf
R = np.random.default_rng(6)


@pytest.mark.parametrize(("rows", "want"), [
    ([[1, 3, 3], [2, 2, 2]], [[0, .5, .5], [1 / 3, 1 / 3, 1 / 3]]),
    ([[0.0, -0.0, -1], [INF, INF, 1]], [[.5, .5, 0], [.5, .5, 0]]),
    ([[NAN, 3, 3], [-INF, -INF, -INF]], [[NAN, NAN, NAN], [1 / 3, 1 / 3, 1 / 3]])])
@pytest.mark.parametrize("reduction", ["max", "min"])
def test_ties_share_and_a_nan_wins(rows: list[list[float]], want: list[list[float]], reduction: str) -> None:
    sign = 1 if reduction == "max" else -1
    made = written({"A": ("M, N", sign * np.array(rows, float))},
                   stated("z(i)", reduction, "A(i, j)", 0, "i:M j:N", "M"), results="z")
    got = run(simplify(adjoints(made.program())), made.values, d_dz=[1, 1])
    close(got["d_dA"], want, 1e-15, "d_dA")
    ahead = run(simplify(tangents(made.program())), made.values, dA=[[1, 2, 4]] * 2)
    close(ahead["dz"], (np.array(want) * [1, 2, 4]).sum(axis=1), 1e-15, "dz")


DIVIDED = [
    ("v max=! x(i)", ["v max=! x(i) where i in 0:2\nv max= x(i) where i in 2:N", "v = x(0)\nv max= x(i) where i in 1:N",
                      "v max=! x(i) where i in 1:N\nv max= x(0)\nv max= -inf"]),
    ("v max=! sin(x(i))", ["v max=! sin(x(i)) where i in 0:2\nv max= sin(x(i)) where i in 2:N"]),
    ("m(k) max=! x(k + j) where k in 0:2, j in 0:3\nv +=! (k + 1) * m(k)",
     ["m(k) = x(k) where k in 0:2\nm(k) max= x(k + j) where k in 0:2, j in 1:3\nv +=! (k + 1) * m(k)",
      "m(k) max=! j >= 1 ? x(k + j - 1) : x(k + 2) where k in 0:2, j in 0:3\nv +=! (k + 1) * m(k)"]),
]


@each_row(("whole", "divided", "sign"), half([(*row, sign) for sign in (1, -1) for row in DIVIDED]))
def test_an_extremum_shares_among_all_its_ties_however_it_is_divided(whole: str, divided: list[str], sign: int) -> None:
    """In one comprehension, in several onto one another, in those that a choice by an index makes: 1/n for each of n ties."""
    r = drawn("ties")
    for text in divided:
        one, other = (parse("input x(N)\n" + (t if sign > 0 else t.replace("max", "min").replace("-inf", "inf")) + "\noutput v")
                      for t in (whole, text))
        first, second = gradient(one), gradient(other)
        forward, native = simplify(tangents(other)), compile_tensors(second) if sign > 0 else None
        for _ in range(4):
            x = np.array([r.choice((0.5, 1.0)) for _ in range(4)])
            want, dx = run(first, {"x": x}), np.array([r.gauss(0, 1) for _ in x])
            close(run(second, {"x": x})["dv_dx"], want["dv_dx"], 1e-14, f"{text} at {x}")
            if native is not None:
                close(native({"x": x})["dv_dx"], want["dv_dx"], 1e-14, f"native, {text} at {x}")
            close(run(forward, {"x": x}, dx=dx)["dv"], np.dot(want["dv_dx"], dx), 1e-14, f"forward, {text} at {x}")


def test_ties_of_values_that_are_computed() -> None:
    """exp(A(j)) is compared with its own value, kept in a tensor: the code that computed the maximum may round otherwise."""
    made = written({"A": ("N", [1.0, 1.0, 0.5])}, stated("z", "max", "A(j)", ("exp", 0), "j:1:N"), results="z")
    program = simplify(adjoints(made.program()))
    assert [e.op.reduction for e in program.equations].count("max") == 2
    close(run(program, made.values, d_dz=2.0)["d_dA"], [0, 2 * math.e, 0], 1e-15, "d_dA")
    made.values["A"] = np.array([5.0, 0.5, 0.5])
    close(run(program, made.values, d_dz=2.0)["d_dA"], [0, math.exp(.5), math.exp(.5)], 1e-15, "d_dA")


@pytest.mark.parametrize(("x", "want"), [([2, 3, 5], [15, 10, 6]), ([2, 0, 5], [0, 10, 0]), ([0, 0, 5], [0, 0, 0]), ([0], [1])])
def test_zeros_in_products(x: list[float], want: list[float]) -> None:
    made = written({"A": ("N", x)}, stated("z", "*", "A(j)", 0, "j:N"), results="z")
    close(run(gradient(made.program()), made.values)["dz_dA"], want, 0, "dz_dA")
    close(run(simplify(tangents(made.program())), made.values, dA=np.arange(len(x)))["dz"], np.dot(want, range(len(x))), 0, "dz")


def test_products_are_exact_at_zeros_to_the_third_order() -> None:
    """The third derivative of x·y·z along (u, v, w) is 6uvw wherever it is taken, here at two zeros."""
    made = written({"A": ("N", [0.0, 0.0, 5.0])}, stated("z", "*", "A(j)", 0, "j:N"), results="z")
    program, at = made.program(), dict(made.values)
    for _ in range(3):
        free = [p.name for p in program.params]
        program = simplify(tangents(program, ["A"], [program.results[-1].name]))
        [new] = [p.name for p in program.params if p.name not in free]
        at[new] = np.array([1.0, 2.0, 3.0])
    assert run(program, at)[program.results[-1].name] == 36.0


def test_nothing_is_written_where_no_point_is() -> None:
    """The neutral value stays, and no derivative comes from it."""
    for reduction, neutral in (("+", 0.0), ("*", 1.0), ("min", INF), ("max", -INF), ("=", 0.0)):
        made = written({"A": ("N", [1.5, 2.5])}, stated("z(j)", reduction, "A(j)", 0, "j:N", "N", guards="j - 1"), results="z")
        got = run(simplify(adjoints(made.program())), made.values, d_dz=[10, 100])
        assert got["z"].tolist() == [neutral, 2.5] and got["d_dA"].tolist() == [0, 100]
        assert run(simplify(tangents(made.program())), made.values, dA=[1, 1])["dz"].tolist() == [0, 1]


def test_what_an_assignment_overwrites_has_no_derivative() -> None:
    made = written({"A": ("N", [1, 2, 3]), "x": ("", 7)}, stated("z(i)", "=", "x()", 0, "i:1:2", "N", onto="A"), results="z")
    got = run(simplify(adjoints(made.program())), made.values, d_dz=[1, 10, 100])
    assert (got["z"].tolist(), got["d_dA"].tolist(), got["d_dx"]) == ([1, 7, 3], [1, 0, 100], 10)
    assert run(simplify(tangents(made.program(), ["A"])), made.values, dA=[1, 1, 1])["dz"].tolist() == [1, 0, 1]


@pytest.mark.parametrize("read", ["b", "(b + 1) % M", "(1 - b) % M", "M - 1 - b", "J(b)"])
def test_the_last_point_that_writes_an_element_has_its_derivative(read: str) -> None:
    program = parse("input x(M), int32 I(M), int32 J(M)\n"
                    f"z(I(b)) = x({read})**2 where b in 0:M, float(M) z\nv = z(1) + 2*z(0)\noutput v")
    values = {"x": np.array([2.0, 3, 5, 7]), "I": np.array([1, 0, 0, 1]), "J": np.array([2, 0, 3, 1])}
    one, other = (run(gradient(program, ["x"], mode=mode), values)["dv_dx"].tolist() for mode in ("forward", "reverse"))
    assert one == other and sum(x != 0 for x in one) == 2


def test_an_element_of_an_arm_that_is_not_taken_has_no_derivative() -> None:
    """sqrt(x) has the derivative inf at 0; where the arm is not taken that is no 0·inf."""
    made = written({"A": ("N", [0.0, 4.0])}, stated("z", "+", "A(i)", ("where", 0.0, 0, ("sqrt", 0), 0), "i:N"), results="z")
    close(run(gradient(made.program()), made.values)["dz_dA"], [1, .25], 0, "dz_dA")


def roots(*lines: Any, results: str = "s") -> Sample:
    """y = sqrt(A), whose derivative is infinite at A(0) = 0, and further lines."""
    return written({"A": ("N", [0.0, 4.0, 1.0])}, stated("y(i)", "=", "A(i)", ("sqrt", 0), "i:N", "N"), *lines, results=results)


@each_row(("lines", "want"), [
    ([stated("z(i)", "=", "A(i); y(i)", ("where", 0.0, 0, 1, 0), "i:N", "N"), stated("s", "+", "z(i)", 0, "i:N")], [1, .25, .5]),
    ([stated("z(i)", "=", "A(i); y(i)", ("where", 0.0, 0, 1, 0), "i:N", "N"),
      stated("u(i)", "=", "z(i)", ("mul", 4.0, 0), "i:N", "N"), stated("s", "+", "u(i)", 0, "i:N")], [4, 1, 2]),
    ([stated("s", "+", "y(i)", 0, "i:1:N")], [0, .25, .5]),
    ([stated("s", "+", "y(i)", 0, "i:N", guards="i - 1")], [0, .25, .5]),
    ([stated("s", "+", "y(2*i + 1)", 0, "i:1")], [0, .25, 0]),
    ([stated("z(i)", "=", "", 1.0, "i:1", "N", onto="y"), stated("s", "+", "z(i)", 0, "i:N")], [0, .25, .5]),
    ([stated("s", "max", "y(i)", 0, "i:N")], [0, .25, 0]),
    ([stated("z(i)", "+", "y(i)", 0, "i:1:N", "N"), stated("t(i)", "+", "y(i)", 0, "i:1:N", "N"),
      stated("u(i)", "=", "z(i); t(i)", ("add", 0, 1), "i:1:N", "N"), stated("s", "+", "u(i)", 0, "i:N")], [0, .5, 1]),
])
def test_elements_that_reach_nothing_have_no_derivative(lines: list[Any], want: list[float]) -> None:
    """Zero by construction, through lines of their own too, where 0·inf would be NaN."""
    made = roots(*lines)
    close(run(gradient(made.program()), made.values)["ds_dA"], want, 1e-15, "ds_dA")


def test_tangents_that_do_not_exist_stay_zero() -> None:
    made = written({"A": ("N", [0.0, 4.0, 1.0])}, stated("u(i)", "=", "A(i)", 0, "i:1:N", "N"),
                   stated("w(i)", "=", "u(i)", ("mul", 2.0, 0), "i:N", "N"), stated("y(i)", "=", "w(i)", ("sqrt", 0), "i:N", "N"),
                   results="y")
    close(run(simplify(tangents(made.program())), made.values, dA=[1, 1, 1])["dy"], [0, 2 ** -1.5, 2 ** -.5], 1e-15, "dy")


def test_who_cannot_be_infinite_does_not_look() -> None:
    """relu(A x + c): the adjoint of relu exists where x > 0 only, and no line of this program has to know."""
    made = written({"A": ("M, N", R.normal(size=(2, 3))), "x": ("N", [1, 2, 3]), "c": ("M", [.1, .2])},
                   stated("t(i)", "+", "A(i, j); x(j)", MUL, "i:M j:N", "M"),
                   stated("u(i)", "=", "t(i); c(i)", ("add", 0, 1), "i:M", "M"),
                   stated("v(i)", "=", "u(i)", ("relu", 0), "i:M", "M"), results="v")
    program = simplify(adjoints(made.program()))
    names = ["t", "u", "v", "d_du", "d_dt", "d_dA", "d_dx"]
    assert [e.outs[0].name for e in program.equations] == names
    check_derivatives(made, random.Random(4))


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_a_sum_in_an_arm_that_is_not_taken(mode: str) -> None:
    """v = 0 < c ? c · Σ sqrt(A(i)) : c, and w adds to it what exists under another condition: guards govern whole tensors."""
    x = ("N", [0.0, 4.0])
    made = written({"A": x, "c": ("", -1.0)}, stated("s", "+", "A(i)", ("sqrt", 0), "i:N"), stated("t", "+", "A(i)", 0, "i:N"),
                   Scalar("v", ("where", 0.0, 1, MUL, 1), ("s", "c")), Scalar("u", ("where", 1, 0.0, 0, MUL), ("t", "c")),
                   Scalar("w", ("add", 0, 1), ("v", "u")), results="w")
    program = made.program()
    if mode == "reverse":
        whole = gradient(program)
        close(run(whole, made.values)["dw_dA"], [1, 1], 0, "dw_dA")
        close(run(whole, made.values, c=1.0)["dw_dA"], [INF, 1.25], 0, "dw_dA")
    else:
        ahead = simplify(tangents(program))
        assert run(ahead, made.values, dA=[1, 1], dc=0.0)["dw"] == 2.0
        assert run(ahead, made.values, c=1.0, dA=[1, 1], dc=0.0)["dw"] == INF


def test_a_gate_of_a_whole_tensor_has_one_condition(monkeypatch: pytest.MonkeyPatch) -> None:
    """v = s + relu(s)·min(s, t) where s < t: the adjoint of t is a NaN that does not exist, in second derivatives too."""
    made = written({"A": ("N", [-1.0, 0.25]), "B": ("M", [2.0, 1.0])}, stated("s", "+", "A(i)", 0, "i:N"),
                   stated("t", "+", "B(i)", ("mul", 0, 0), "i:M"),
                   Scalar("v", ("add", 0, ("mul", ("relu", 0), ("min", 0, 1))), ("s", "t")), results="v")
    check_second_order(made, random.Random(5))
    monkeypatch.setattr(tensor_rules, "_of_the_whole", lambda b, body, guard: ())
    with pytest.raises(AssertionError):
        check_second_order(made, random.Random(5))
