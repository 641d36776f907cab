"""The status of programs with tensors: in both modes, natively and by the reference evaluator, and what is said of it."""
from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from adcli.lang.derive.derivatives import gradient
from adcli.lang.derive.taylor import taylor
from adcli.lang.evaluate import evaluate, numpy_arithmetic
from adcli.lang.ir import LEVELS
from adcli.lang.lower.frontend import parse
from adcli.lang.modes.forward import jvp
from adcli.lang.passes.pipeline import adjoints, checked, tangents
from adcli.lang.passes.status import any_noted, with_status
from adcli.lang.passes.zero_seeds import drop_zero_seeds
from adcli.lang.simplify.simplify import simplify
from session_seed import half

from adcli.task.native import native

NAN, INF = math.nan, math.inf
HALF = "input A(N)\nB(i) = sqrt(A(i))\n"
OUTER = "input A(N), x\ny = sqrt(x)\nz +=! A(i) > 1 ? y : A(i)\noutput z"


def words(text: str, at: dict[str, Any]) -> set[str]:
    """The status in both modes, by the reference over Python's floats, over arrays, and by native code."""
    program, found = parse(text), set()
    values = evaluate(program, at, numpy_arithmetic())
    for derive in (tangents, adjoints):
        derivative = simplify(derive(program))
        whole = checked(simplify(with_status(derivative, program, [p.name for p in program.params if not p.var.integer])))
        full = dict(at)
        for p in derivative.params:
            if p.seed:
                full[p.name] = np.ones(np.shape({**at, **values}[p.seed]))
        arrays = {name: np.asarray(x) for name, x in full.items()}
        last = whole.results[-1].name
        floats = {name: x if x.ndim else float(x) for name, x in arrays.items()}
        gated = simplify(drop_zero_seeds(whole))
        results = evaluate(whole, floats), evaluate(gated, floats, numpy_arithmetic()), native(whole)(arrays)
        found |= {LEVELS[int(x[last])] for x in results}
    return found


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("text", "at", "word"), half([
    ("input A(N)\nB(i) = relu(A(i))\noutput B", {"A": [1, 0, 2.0]}, "kink"),
    ("input A(N)\nB(i) = relu(A(i))\noutput B", {"A": [1, 0.5, 2.0]}, "smooth"),
    ("input A(M, N)\nz(i) max=! A(i, j)\noutput z", {"A": [[1, 2, 2.0], [1, 2, 3]]}, "kink"),
    ("input A(T, N)\nfor t in 0:T { z(t) max=! A(t, j); z(t) += 1 }\noutput z", {"A": [[1, 2, 2.0], [1, 2, 3]]}, "kink"),
    ("input A(M, N)\nz(i) max=! A(i, j)\noutput z", {"A": [[1, 2, 4.0], [1, 1, 3]]}, "smooth"),
    ("input A(M, N)\nz(i) min=! exp(A(i, j))\noutput z", {"A": [[1, 2, 2.0], [1, 1, 3]]}, "kink"),
    ("input A(M, N)\nz min=! A(i, j)\noutput z", {"A": [[1, 2, 2.0], [-1, 1, 3]]}, "smooth"),
    ("input A(N)\nz *=! A(i)\noutput z", {"A": [0.0, 0, 2]}, "smooth"),
    ("input A(N)\nz +=! floor(A(i))\noutput z", {"A": [0.5, 3]}, "jump"),
    ("input A(N)\nz +=! sqrt(A(i))\noutput z", {"A": [1, 0, 2.0]}, "singular"),
    ("input A(N)\nz +=! 1 / A(i)\noutput z", {"A": [1, 0, 2.0]}, "pole"),
    ("input A(N)\nz +=! log(A(i))\noutput z", {"A": [1, -1, 2.0]}, "domain"),
    ("input A(N)\nz +=! fmax(A(i), 1)\noutput z", {"A": [0.5, NAN]}, "domain"),
    ("input A(N)\nz +=! A(i)\noutput z", {"A": [INF, -INF]}, "domain"),
    ("input A(N)\nz +=! sqrt(A(i))^2\noutput z", {"A": [0.0, 1]}, "indeterminate"),
    (HALF + "z +=! B(i) * B(i)\noutput z", {"A": [0.0, 1]}, "indeterminate"),
    # Arms that are not taken, elements that are overwritten.
    ("input A(N)\nz +=! A(i) > 0 ? log(A(i)) : 0\noutput z", {"A": [0.5, -1]}, "smooth"),
    (HALF + "C(i) = A(i) > 0.5 ? B(i) : A(i)\noutput C", {"A": [1, 0, -2.0]}, "smooth"),
    (HALF + "C(i) = A(i) > 0.5 ? B(i) : A(i)\nD(i) = B(i)\noutput C, D", {"A": [1, 0, 2.0]}, "singular"),
    (HALF + "C(i) = A(i) > 0.5 ? B(i) : A(i)\nD(i) = A(i) < 0 ? B(i) : 1\noutput C, D", {"A": [1, 0.25, 0]}, "jump"),
    (HALF + "B(i) = 2 where i in 0:1\noutput B", {"A": [0, 1, 2.0]}, "smooth"),
    (HALF + "B(i) = 2 where i in 0:1\noutput B", {"A": [1, 0, 2.0]}, "singular"),
    # Scalars and tensors.
    (OUTER, {"A": [0.5, 2], "x": 0.0}, "singular"),
    (OUTER, {"A": [0.5, 2], "x": 1.0}, "smooth"),
    ("input A(N), x\nz +=! A(i)\nw = sqrt(z) * x\noutput w", {"A": [0.5, -0.5], "x": 1.0}, "singular"),
    ("input A(N), x\nz max=! A(i)\nw = x > 0 ? z : x\noutput w", {"A": [0.5, 0.5], "x": -1.0}, "smooth"),
    ("input A(N), x\nz max=! A(i)\nw = x > 0 ? z : x\noutput w", {"A": [0.5, 0.5], "x": 1.0}, "kink"),
    ("input A(N), int32 I(B)\nz +=! sqrt(A(I(b)))\noutput z", {"A": [0.0, 1], "I": [1, 1]}, "smooth"),
    ("input A(N), int32 I(B)\nz +=! sqrt(A(I(b)))\noutput z", {"A": [0.0, 1], "I": [1, 0]}, "singular"),
    ("input A(N)\nz +=! A(i) ^ 2\noutput z", {"A": np.zeros(0)}, "smooth"),
]))
def test_the_status_everywhere(text: str, at: dict[str, Any], word: str) -> None:
    assert words(text, at) == {word}


PAIRS = [
    ("B(i) = sqrt(A(i))\nC(i) = A(i) > 0.5 ? B(i) : A(i)\nz +=! C(i)", "z = (a > 0.5 ? sqrt(a) : a) + (b > 0.5 ? sqrt(b) : b)"),
    ("z max=! A(i) * A(i)", "z = max(a*a, b*b)"),
    ("z min=! abs(A(i))", "z = min(abs(a), abs(b))"),
    ("y +=! A(i)\nz = sqrt(y) * y", "y = a + b\nz = sqrt(y) * y"),
    ("z +=! log(A(i)) / A(i)", "z = log(a)/a + log(b)/b"),
    ("y *=! A(i)\nz = 1 / y", "y = a*b\nz = 1 / y"),
    ("y max=! A(i)\nz +=! relu(A(i) - 1) * y", "y = max(a, b)\nz = relu(a - 1)*y + relu(b - 1)*y"),
    ("y = sqrt(A(0))\nz +=! A(i) > 1 ? y : A(i)", "y = sqrt(a)\nz = (a > 1 ? y : a) + (b > 1 ? y : b)"),
    ("z +=! fmax(A(i), 1) ^ A(i)", "z = fmax(a, 1)^a + fmax(b, 1)^b"),
    ("z +=! A(i) > 0 ? log(A(i)) : A(i) < -2 ? 1 / A(i) : 0",
     "z = (a > 0 ? log(a) : a < -2 ? 1/a : 0) + (b > 0 ? log(b) : b < -2 ? 1/b : 0)"),
    ("y +=! A(i) > 1 ? A(i) : 0\nz = sqrt(y)", "y = (a > 1 ? a : 0) + (b > 1 ? b : 0)\nz = sqrt(y)"),
    ("B(i) = 1 / A(i)\nB(i) = 2 where i in 0:1\nz +=! B(i) * A(i)", "z = 2*a + 1/b*b"),
]
"""The same function of two numbers with tensors and without."""


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("tensors", "scalars"), PAIRS)
def test_gradients_and_status_are_those_of_the_scalars(tensors: str, scalars: str) -> None:
    program, other = parse(f"input A(2)\n{tensors}\noutput z"), parse(f"input a, b\n{scalars}\noutput z")
    kernel = native(with_status(gradient(program), program, ["A"]))
    expected = simplify(with_status(gradient(other), other, ["a", "b"]))
    for a, b in itertools.product((0.0, -1.0, 1.0, 4.0, INF, NAN), repeat=2):
        got, want = kernel({"A": np.array([a, b])}), evaluate(expected, {"a": a, "b": b})
        np.testing.assert_allclose([*got["dz_dA"], got["z"], got["status"]],
                                   [want["dz_da"], want["dz_db"], want["z"], want["status"]], 1e-13, err_msg=f"{a}, {b}")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("tensors", "scalars"), PAIRS[:-1])
def test_tangents_and_status_are_those_of_the_scalars(tensors: str, scalars: str) -> None:
    """Without products of zero directions with infinite values, which stay NaN (README)."""
    program, other = parse(f"input A(2)\n{tensors}\noutput z"), parse(f"input a, b\n{scalars}\noutput z")
    kernel = native(with_status(simplify(tangents(program)), program, ["A"]))
    expected = drop_zero_seeds(with_status(simplify(tangents(other)), other, ["a", "b"]))
    for a, b, da, db in itertools.product((0.0, -1.0, 1.0, 4.0), (0.0, -1.0, 1.0, 4.0), (0.0, 1.0), (0.0, 1.0)):
        got = kernel({"A": np.array([a, b]), "dA": np.array([da, db])})
        want = evaluate(expected, {"a": a, "b": b, "da": da, "db": db})
        np.testing.assert_allclose([got["dz"], got["status"]], [want["dz"], want["status"]], 1e-13, err_msg=f"{a} {b} {da} {db}")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("text", [
    "input A(N), x\ny = sqrt(x)\nz +=! A(i) > 1 ? y : A(i)\noutput z",
    "input A(N), x\ny = sqrt(x)\nC +=! A(i) > 1 ? y * x : A(i)\nz = exp(C)\noutput z",
    "input A(N), x\nY(j) = sqrt(x * A(j))\nz +=! A(i) > 1 ? Y(j) : A(i) where i in 0:N, j in 0:N\noutput z",
    "input A(N), x\nY(j) = log(x * A(j))\nV(i) +=! A(i) > 1 ? Y(j) : A(j)\nz +=! V(i)\noutput z"])
def test_what_no_term_of_a_sum_takes_has_no_derivative(text: str) -> None:
    """An infinite derivative in an arm that is not taken anywhere: the same in both modes, and smooth."""
    assert words(text, {"A": [0.5, 0.25], "x": 0.0}) == {"smooth"}
    program = parse(text)
    back = native(gradient(program))({"A": np.array([0.5, 0.25]), "x": np.array(0.0)})
    assert back["dz_dx"] == 0 and np.isfinite(back["dz_dA"]).all()


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 3, 65])
def test_a_constant_exponent_says_what_a_power_can_meet(n: int) -> None:
    program = parse(f"v = x**({n})*y")
    whole = simplify(with_status(gradient(program), program, ["x", "y"]))
    for x in (0.0, -0.0, 2.0, -INF, NAN):
        word = "domain" if math.isnan(x) else "pole" if x == 0 and n < 0 else "smooth"
        assert LEVELS[int(evaluate(whole, {"x": x, "y": 1.0})["status"])] == word
    conditions = {e.op.name for e in with_status(program, program, ["x"]).equations} & {"lt", "eq", "and"}
    assert bool(conditions) == (n < 0), "what is false by construction is not made"


@pytest.mark.parametrize(("at", "word"), [({"x": NAN, "y": 2.0}, "domain"), ({"x": 1.0, "y": 2.0}, "smooth")])
def test_a_nan_that_a_power_hides_is_seen(at: dict[str, float], word: str) -> None:
    for text in ("v = x**0*y", "v = max(x**2, y)", "v = max(x**0, y)"):
        program = parse(text)
        whole = with_status(gradient(program), program, ["x", "y"])
        assert LEVELS[int(evaluate(whole, at)["status"])] == word, text


@pytest.mark.parametrize(("text", "x", "y", "word"), [
    ("1/x**y", 0.0, -1.5, "pole"), ("1/dpow(x, y, 1, 0)", 0.0, -1.5, "pole"), ("sqrt(x**y - 1)*0", -1.0, 2.0, "domain"),
    ("sqrt(dpow(x, y, 1, 0) + 2)*0", -1.0, 2.0, "domain")])
def test_a_nan_is_that_of_a_power_where_its_exponent_moves(text: str, x: float, y: float, word: str) -> None:
    """Elsewhere a NaN among the derivatives of a number is a surprise."""
    program = parse(f"v = {text}")
    for wrt, expected in (["x"], "indeterminate"), (["x", "y"], word):
        whole = with_status(gradient(program, wrt=wrt), program, wrt)
        assert LEVELS[int(evaluate(whole, {"x": x, "y": y})["status"])] == expected


@pytest.mark.parametrize("text, noted", [
    ("v = x*y + 2 - x", False), ("v = x**2*y", False), ("v = x/y", True), ("v = x**-2*y", True), ("v = x > 0 ? x : y", True),
    ("v = x**0*y", True), ("input A(3), x\nv += A(i)*x\noutput v", True)])
def test_what_reaches_a_result_is_looked_at_where_there_can_be_anything_to_note(text: str, noted: bool) -> None:
    assert any_noted(parse(text)) is noted


def test_the_status_of_a_sweep_over_many_outputs_grows_as_they_do():
    """And not as the pairs of an output and an input: that all outputs are numbers is asked once."""
    def size(n):
        p = parse("\n".join(f"v{k} = x{k} * x{(k + 1) % n}" for k in range(n)))
        return len(with_status(adjoints(p), p, [x.name for x in p.params]).equations)
    assert size(60) < 2.1 * size(30)


def test_whether_an_output_is_a_number_is_asked_once_for_all_its_derivatives():
    p = parse("\n".join(["v = " + " + ".join(f"sin(x{k})" for k in range(9)), "w = x0*x1"]))
    inputs = [x.name for x in p.params]
    status = with_status(gradient(p, inputs), p, inputs)
    assert sum(e.op.name == "and" for e in status.equations) == 4   # v and w: a number, and finite


def test_a_condition_of_a_loop_may_stand_on_both_sides_of_operations_on_matrices():
    """What says when elements are read comes of several lines then."""
    text = ("input A(N, N), b(N), int32 T\nx(0, i) = b(i); s(0) = 0\nfor t in 0:T {{\ny_1(t) = solve(A, x(t))\n"
            "y(t, i) = s(t) > {0} ? 1 : y_1(t, i)\nx_1(t+1) = solve(A, y(t))\nx(t+1, i) = s(t) > {0} ? sqrt(b(i)) : x_1(t+1, i)\n"
            "s(t+1) = s(t) + 1\n}}\noutput x")
    for limit, level in ((0.5, "domain"), (9.5, "smooth")):
        p = parse(text.format(limit))
        status = checked(with_status(p, p, ["b"]))
        at = {"A": [[2.0, 1.0], [1.0, 3.0]], "b": [1.0, -2.0], "T": 4}
        assert LEVELS[int(evaluate(status, at)[status.results[-1].name])] == level


@pytest.mark.parametrize(("verb", "words"), [
    ("taylor", ["smooth", "smooth", "singular", "singular"]), ("jvp", ["smooth", "singular", "pole"])])
def test_coefficients_and_tangents_of_tangents_have_the_status_of_their_order(verb: str, words: list[str]) -> None:
    program, seeds = parse("v = x**1.5"), {"x": 0.0}
    for order, word in enumerate(words):
        if verb == "taylor":
            derived = taylor(program, ["x"], None, order)
            whole, at = with_status(derived, program, ["x"]), {"x": 0.0, "dx": 1.0}
        else:
            derived = simplify(jvp(program, ["x"]))
            whole, at = with_status(derived, program, ["x"]), seeds | {derived.params[-1].name: 1.0}
            program, seeds = derived, at
        assert LEVELS[int(evaluate(whole, at)[whole.results[-1].name])] == word, order


def test_infinite_elements_beside_values_that_are_not_finite_are_no_news() -> None:
    """exp overflows at 800, and so do its derivatives; the logarithm of 0 is infinite as its derivatives are."""
    for line, x, word in (("exp(x(i))", 800.0, "smooth"), ("log(x(i))", 0.0, "singular"), ("x(i)**-1", 0.0, "pole")):
        assert words(f"input x(N); v(i) = {line}; output v", {"x": [x, 1.0]}) == {word}

