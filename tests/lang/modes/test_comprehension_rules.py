"""Comprehensions: what they mean, and their derivatives in both modes, to any order, at awkward points too."""
from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from adcli.codegen.modules.runtime import compile_tensors
from adcli.lang.derive.derivatives import gradient, hessian, hvp
from adcli.lang.evaluate import evaluate
from adcli.lang.ir import Equation, Lit, Program, Result
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.modes import comprehension_rules as tensor_rules
from adcli.lang.modes.forward import jvp
from adcli.lang.operations.comprehension import Comprehension
from adcli.lang.operations.elementwise import emit
from adcli.lang.passes.pipeline import adjoints, tangents
from adcli.lang.simplify.simplify import simplify
from comprehension_samples import Sample, Scalar, stated, written
from hypothesis import given
from random_comprehensions import tensor_samples
from random_programs import law
from session_seed import half
from tensor_laws import NUMPY, check_derivatives, check_second_order, close, run

MUL = ("mul", 0, 1)
R = np.random.default_rng(5)
# ---------------------------------------------------------------- at random

@law(160)
@given(tensor_samples())
def test_tangents_are_differences_and_adjoints_agree_with_tangents(made: Sample) -> None:
    check_derivatives(made, random.Random(1))


@law(100)
@given(tensor_samples())
def test_second_derivatives_agree_both_ways(made: Sample) -> None:
    check_second_order(made, random.Random(2))


# ---------------------------------------------------------------- the examples of seeds/002

def matrix_vector() -> Sample:
    return written({"A": ("M, N", R.normal(size=(2, 3))), "B": ("N", R.normal(size=3))},
                   stated("C(i)", "+", "A(i, j); B(j)", MUL, "i:M j:N", "M"), results="C")


def test_the_adjoint_of_a_matrix_vector_product_is_two_comprehensions() -> None:
    made = matrix_vector()
    program = simplify(adjoints(made.program()))
    assert [(r.name, e.op.reduction) for r, e in zip(program.results, program.equations, strict=True)] == [
        ("C", "+"), ("d_dA", "="), ("d_dB", "+")]
    assert [[a.name for a in e.args] for e in program.equations] == [["A", "B"], ["B", "d_dC"], ["A", "d_dC"]]
    seed = np.array([2.0, -1.0])
    got = run(program, made.values, d_dC=seed)
    close(got["d_dA"], np.outer(seed, made.values["B"]), 1e-15, "d_dA")
    close(got["d_dB"], made.values["A"].T @ seed, 1e-15, "d_dB")


def test_a_value_that_stands_in_the_result_is_not_computed_again() -> None:
    made = written({"A": ("N", [1.0, 2.0])}, stated("E(i)", "=", "A(i)", ("exp", 0), "i:N", "N"), results="E")
    for derive in (adjoints, tangents):
        first, second = simplify(derive(made.program())).equations
        assert [[x.op.name for x in e.op.body.equations] for e in (first, second)] == [["exp"], ["mul"]]
        assert first.outs[0] in second.args


# ---------------------------------------------------------------- what people ask for

def test_inputs_that_a_result_does_not_depend_on_have_zeros() -> None:
    made = written({"A": ("M, N", [[1, 2, 3]]), "x": ("", 2)}, Scalar("v", MUL, ("x", "x")), results="v")
    assert run(gradient(made.program()), made.values)["dv_dA"].tolist() == [[0, 0, 0]]
    assert run(simplify(adjoints(made.program())), made.values, d_dv=1.0)["d_dA"].tolist() == [[0, 0, 0]]
    got = run(simplify(tangents(matrix_vector().program(), [])), matrix_vector().values)
    assert got["dC"].tolist() == [0, 0]


@pytest.mark.parametrize(("ask", "message"), [
    (lambda: gradient(matrix_vector().program()), "'C' is a tensor of shape (M); a gradient needs a scalar"),
    (lambda: hessian(matrix_vector().program()), "'C' is a tensor of shape (M); a gradient needs a scalar"),
])
def test_what_has_no_gradient_says_what_there_is_instead(ask: Any, message: str) -> None:
    with pytest.raises(AdError) as fault:
        ask()
    assert message in fault.value.message and fault.value.help


def gathered() -> Sample:
    return written({"LUT": ("E, D", R.normal(size=(3, 2))), "I": ("B", [2, 0, 2, 1])},
                   stated("z(b, j)", "=", "LUT(I(b), j)", 0, "b:B j:D", "B, D"), results="z", integers="I")


def test_gathers_become_scatters() -> None:
    made, seed = gathered(), R.normal(size=(4, 2))
    program = simplify(adjoints(made.program()))
    got = run(program, made.values, d_dz=seed)
    close(got["z"], made.values["LUT"][[2, 0, 2, 1]], 0, "z")
    close(got["d_dLUT"], [seed[1], seed[3], seed[0] + seed[2]], 1e-15, "d_dLUT")
    assert [r.name for r in program.results] == ["z", "d_dLUT"]
    with pytest.raises(AdError, match="'I' holds whole numbers and has no derivative"):
        gradient(made.program(), ["I"])


@pytest.mark.parametrize("wrong", [3, -1])
def test_a_gather_outside_is_an_error(wrong: int) -> None:
    made = gathered()
    with pytest.raises(AdError, match=rf"I\(1\) = {wrong} is out of range for dimension 0 of 'LUT', which has 3 elements"):
        run(made.program(), made.values, I=[0, wrong, 0, 0])
    with pytest.raises(AdError, match=rf"I\(1\) = {wrong} is out of range"):
        run(simplify(adjoints(made.program())), made.values, I=[0, wrong, 0, 0], d_dz=np.ones((4, 2)))
    with pytest.raises(AdError, match=r"'I': a tensor of integers cannot hold 0.5"):
        run(made.program(), made.values, I=[0, 0.5, 0, 0])


# ---------------------------------------------------------------- simplification

def test_equal_comprehensions_are_computed_once() -> None:
    made = written({"A": ("N", [1, 2])}, stated("s", "+", "A(i)", ("mul", 0, 0), "i:N"),
                   stated("t", "+", "A(k)", ("mul", 0, 0), "k:N"),
                   stated("u", "+", "A(k)", ("mul", 0, 0), "k:1:N"), Scalar("v", ("add", MUL, 2), ("s", "t", "u")), results="v")
    program = simplify(made.program())
    assert sum(isinstance(e.op, Comprehension) for e in program.equations) == 2
    assert run(program, made.values)["v"] == 29.0


def test_constants_and_equal_sources_go_into_the_body() -> None:
    made = written({"A": ("N", [3, 4]), "one": ("", 1)},
                   stated("s", "+", "one(); A(i); A(i)", ("mul", 0, ("mul", 1, 2)), "i:N"), results="s")
    program = made.program()
    [e] = program.equations
    known = Equation(e.outs, e.op, tuple(Lit(1.0) if a.name == "one" else a for a in e.args))
    [short] = simplify(Program(program.params, (known,), program.results)).equations
    assert len(short.args) == 1 and [x.op.name for x in short.op.body.equations] == ["mul"]
    assert run(Program(program.params, (short,), (Result("s", short.outs[0]),)), made.values)["s"] == 25.0


def test_guards_that_are_decided_go() -> None:
    made = written({"A": ("N", [3, 4])}, stated("s", "+", "A(i)", 0, "i:N", guards="2; i; i - 1"), results="s")
    [e] = simplify(made.program()).equations
    assert len(e.op.guards) == 1
    made = written({"A": ("N", [3, 4])}, stated("s(i)", "+", "A(i)", 0, "i:N", "N", guards="0 - 1", onto="A"), results="s")
    assert not simplify(made.program()).equations and run(simplify(made.program()), made.values)["s"].tolist() == [3, 4]


# ---------------------------------------------------------------- planted faults

def unweighted(b: Any, body: Any, e: Any, t: Any, value: Any) -> Any:
    return t


def swapped_without_guards(b: Any, op: Comprehension, args: Any) -> Any:
    from dataclasses import replace
    return emit(b, replace(op, guards=()), args)


@pytest.mark.parametrize(("name", "wrong", "made"), [
    ("_weighted", unweighted, written({"A": ("N", [1, 2])}, stated("z", "max", "A(i)", 0, "i:N"), results="z")),
    ("_times_others", lambda b, body, e, seed: seed,
     written({"A": ("N", [3, 2])}, stated("z", "*", "A(i)", 0, "i:N"), results="z")),
    ("emit", swapped_without_guards,
     written({"A": ("N", [3, 2])}, stated("z", "+", "A(i)", 0, "i:N", guards="i - 1"), results="z")),
    ("all_fixed", lambda ranges, subscripts: True,
     written({"A": ("", 3)}, stated("z(i)", "+", "A()", ("mul", 0, 0), "i:2", "2"), results="z")),
    ("_nothing", lambda body: True, matrix_vector()),
])
def test_a_wrong_rule_is_noticed(monkeypatch: pytest.MonkeyPatch, name: str, wrong: Any, made: Sample) -> None:
    check_derivatives(made, random.Random(3))
    monkeypatch.setattr(tensor_rules, name, wrong)
    with pytest.raises(AssertionError):
        check_derivatives(made, random.Random(3))


# ---------------------------------------------------------------- "=" where several points write one element

SCATTERS = {
    # the statement: numbers of b and c, the element that a point writes, the index that runs slower: the first in the statement
    "y(I(b), 0) = f": (3, 1, lambda p, q, b, c: (p[b], 0), "b"),
    "y(I(b), c) = f": (4, 2, lambda p, q, b, c: (p[b], c), "b"),
    "y(c, I(b)) = f": (4, 2, lambda p, q, b, c: (c, p[b]), "c"),
    "y(I(b), J(c)) = f": (3, 3, lambda p, q, b, c: (p[b], q[c]), "b"),
    "y(I(b + 2*c), 1) = f": (3, 2, lambda p, q, b, c: (p[b + 2 * c], 1), "b"),
    "y(I(b), 1 - c) = f": (4, 2, lambda p, q, b, c: (p[b], 1 - c), "b"),
    "y(0, I(J(c))) = f": (2, 3, lambda p, q, b, c: (0, p[q[c]]), "c"),
}
GUARDS = {"": lambda b, c: True, ", b >= c": lambda b, c: b >= c}


def last_writers(statement, inside, p, q):
    """The point that the loops leave in each element."""
    nb, nc, element, outer = SCATTERS[statement]
    points = [(b, c) for b in range(nb) for c in range(nc)] if outer == "b" else [(b, c) for c in range(nc) for b in range(nb)]
    return {element(p, q, b, c): (b, c) for b, c in points if inside(b, c)}


def scatter_gradient(winners, at):
    """The gradient of L = Σ u·y² by x, z and the values that y starts from, one element at a time."""
    x, z, s, u = (np.asarray(at[n]) for n in "xzsu")
    dx, dz, ds = np.zeros_like(x), np.zeros_like(z), np.zeros_like(s)
    for place in np.ndindex(*u.shape):
        if place not in winners:
            ds[place] = 2 * u[place] * s[place]
            continue
        b, c = winners[place]
        y = np.sin(x[b]) * np.exp(z[c])
        dx[b] += 2 * u[place] * y * np.cos(x[b]) * np.exp(z[c])
        dz[c] += 2 * u[place] * y * y
    return {"x": dx, "z": dz, "s": ds}


@pytest.mark.parametrize("guard", half([*GUARDS]))
@pytest.mark.parametrize("statement", SCATTERS)
def test_the_point_that_writes_last_has_the_derivative(statement, guard):
    """In both modes, by the evaluator and native, and in the derivative of the derivative."""
    nb, nc = SCATTERS[statement][:2]
    program = parse(f"input x(B), z(C), s(P, P), u(P, P), int32 I(K), int32 J(C)\ny(i, j) = s(i, j) + 0\n"
                    f"{statement.replace('= f', '= sin(x(b))*exp(z(c))')} where b in 0:{nb}, c in 0:{nc}{guard}\n"
                    "L +=! u(i, j)*y(i, j)*y(i, j)\noutput L")
    wrt, ahead = ["x", "z", "s"], simplify(tangents(program))
    back = gradient(program, wrt, mode="reverse")
    curved, native = simplify(tangents(back, wrt)), None if guard else compile_tensors(back)
    for seed in range(3):
        r = np.random.default_rng([seed, nb, nc])
        at = {"x": r.normal(size=nb), "z": r.normal(size=nc), "s": r.normal(size=(3, 3)), "u": r.normal(size=(3, 3)),
              "I": r.integers(0, 3, 12), "J": r.integers(0, 3, nc)}
        winners = last_writers(statement, GUARDS[guard], at["I"], at["J"])
        want, v = scatter_gradient(winners, at), {n: r.normal(size=at[n].shape) for n in wrt}
        bent = scatter_gradient(winners, {**at, **{n: at[n] + 1e-30j * v[n] for n in wrt}})
        seeds = {f"d{n}": x for n, x in {"u": np.zeros((3, 3)), **v}.items()}
        along = evaluate(ahead, {**at, **seeds}, NUMPY)["dL"]
        assert along == pytest.approx(sum(np.sum(want[n] * v[n]) for n in wrt), rel=1e-12)
        second = evaluate(curved, {**at, **seeds}, NUMPY)
        for found in [evaluate(back, at, NUMPY), *([native(at)] if native else [])]:
            for n in wrt:
                np.testing.assert_allclose(found[f"dL_d{n}"], want[n], rtol=1e-12, atol=1e-14)
        for n in wrt:
            np.testing.assert_allclose(second[f"ddL_d{n}"], bent[n].imag / 1e-30, rtol=1e-11, atol=1e-13)


def test_an_element_overwritten_has_no_part_in_a_derivative_however_large_its_own_is() -> None:
    """Not even as 0·inf, in any mode: what was overwritten is zero by construction."""
    program = parse("input x(B), int32 I(B)\ny(I(b)) = sqrt(x(b)) where float(2) y\nL +=! y(i)\noutput L")
    at = {"x": np.array([0.0, 4.0, 9.0]), "I": np.array([0, 0, 1])}
    assert evaluate(gradient(program, ["x"]), at, NUMPY)["dL_dx"].tolist() == [0.0, 0.25, 1 / 6]
    assert evaluate(simplify(tangents(program)), {**at, "dx": np.ones(3)}, NUMPY)["dL"] == 0.25 + 1 / 6


def test_derivatives_of_powers_of_indices() -> None:
    """Σ x_j t**j: at t = 0, where j·t**(j−1) is not 0·∞ for j = 0; both modes, and of second order."""
    model = parse("input t(N), x(M); v +=! x(j)*t(i)**j")
    t, x = np.array([0.0, 2.0, -1.0]), np.array([5.0, 7.0, 11.0, 13.0])
    j = np.arange(4.0)
    first = [sum(x[k] * k * b ** (k - 1) for k in (1, 2, 3)) for b in t]
    second = [sum(x[k] * k * (k - 1) * b ** (k - 2) for k in (2, 3)) for b in t]
    mixed = [[k * b ** max(k - 1, 0) for k in j] for b in t]
    got = run(gradient(model), {"t": t, "x": x})
    assert [list(got["dv_dt"]), list(got["dv_dx"])] == [first, [sum(b ** k for b in t) for k in j]]
    ahead = run(simplify(tangents(model)), {"t": t, "x": x, "dt": np.ones(3), "dx": np.ones(4)})
    assert ahead["dv"] == sum(first) + sum(got["dv_dx"])
    along = run(hvp(model), {"t": t, "x": x, "dt": np.ones(3), "dx": np.zeros(4)})
    close(along["hvp_t"], second, 0.0, "along t")
    close(along["hvp_x"], np.sum(mixed, axis=0), 0.0, "along t, by x")


@pytest.mark.parametrize(("added", "tangents"), [("stop(y(i))", 1), ("stop(y(i))*x(i)", 1), ("y(i)", 2), ("1 + stop(y(i))", 1)])
def test_what_adds_no_derivative_leaves_the_tangent_it_starts_from(added: str, tangents: int) -> None:
    """Nothing is added to it, by no loop; what adds the derivative 1, or any other, is a loop of its own."""
    program = parse(f"input y(N), x(N)\nv(i) = y(i)*y(i)\nv(i) += {added}\noutput v")
    derived = jvp(program, ["y"])
    assert len(derived.equations) == len(program.equations) + tangents
    got = evaluate(derived, {"y": [3.0, -1.0], "x": [5.0, 7.0], "dy": [1.0, 10.0]})
    assert np.array_equal(got["dv"], np.array([6.0, -20.0]) + (np.array([1.0, 10.0]) if tangents == 2 else 0))


def test_elements_that_are_written_over_with_no_derivative_have_none() -> None:
    program = parse("input y(N), x(N)\nv(i) = sqrt(y(i))\nv(0) = stop(y(1))\nv(1) += stop(y(0))\noutput v")
    got = evaluate(jvp(program, ["y"]), {"y": [0.0, 4.0, 1.0], "x": [5.0, 7.0, 1.0], "dy": [1.0, 8.0, 1.0]})
    assert np.array_equal(got["dv"], [0.0, 2.0, 0.5])
