"""The reduction lse=!, against multiple precision: values and derivatives to the second order, ties, infinities, no elements."""
from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from adcli.codegen.modules.runtime import compile_tensors
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import FLOAT, evaluate, numpy_arithmetic
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoints, tangents
from adcli.lang.passes.status import with_status
from adcli.lang.printing.printer import print_program
from adcli.lang.simplify.simplify import simplify
from multiple_precision import mpmath_arithmetic
from session_seed import drawn

ROWS = parse("input z(N, K)\ns(n) lse=! z(n, k)")
NATIVE = compile_tensors(ROWS)
INF, NAN = float("inf"), float("nan")


def weights(z: list[float]) -> tuple[Any, list[Any]]:
    """log Σ exp(z) and exp(z)/Σ exp(z), in 50 digits."""
    with mpmath.workdps(50):
        parts = [mpmath.exp(mpmath.mpf(x)) for x in z]
        return mpmath.log(mpmath.fsum(parts)), [p / mpmath.fsum(parts) for p in parts]


@pytest.mark.parametrize("size", [1e-3, 1.0, 30.0, 700.0, 5e4])
def test_value_and_derivatives_are_right_whatever_the_size(size: float) -> None:
    r = drawn(f"lse {size}")
    z = np.array([[r.gauss(0, 1) * size for _ in range(r.choice((1, 2, 5, 9)))] + [size, size]])
    dz = np.array([[r.gauss(0, 1) for _ in row] for row in z])
    program = simplify(tangents(gradient(parse("input z(N, K)\ns(n) lse=! z(n, k)\nv +=! s(n)\noutput v"))))
    for got in (evaluate(program, {"z": z, "dz": dz}, FLOAT), evaluate(program, {"z": z, "dz": dz}, numpy_arithmetic()),
                compile_tensors(program)({"z": z, "dz": dz})):
        value, p = weights(list(z[0]))
        along = mpmath.fdot(p, dz[0])
        allowed = 2.0**-51 * max(1, size)   # the last digit of a difference of numbers of this size, and of a value below 4
        assert abs(float(got["v"]) - value) <= allowed
        assert abs(float(got["dv"]) - along) <= 8 * allowed
        for k, x in enumerate(p):
            assert abs(got["dv_dz"][0, k] - x) <= 4 * allowed
            assert abs(got["ddv_dz"][0, k] - x * (dz[0, k] - along)) <= 40 * allowed


def test_elements_that_are_infinite_or_none() -> None:
    rows = [[-INF, -INF], [INF, 1.0], [NAN, INF], [-INF, 3.0], [1e308, 1e308], [-1e308, -INF]]
    want = [-INF, INF, NAN, 3.0, 1e308, -1e308]
    for got in (evaluate(ROWS, {"z": rows}, FLOAT)["s"], evaluate(ROWS, {"z": rows}, numpy_arithmetic())["s"],
                NATIVE({"z": np.array(rows)})["s"]):
        np.testing.assert_array_equal(got, want)
    for nothing in (np.zeros((2, 0)), np.zeros((0, 3))):
        for got in (evaluate(ROWS, {"z": nothing}, FLOAT)["s"], NATIVE({"z": nothing})["s"]):
            np.testing.assert_array_equal(got, np.full(len(nothing), -INF))


def test_equal_elements_share_the_derivative_and_are_smooth() -> None:
    program = parse("input z(K)\ns lse=! z(k)")
    graded = simplify(with_status(gradient(program), program, ["z"]))
    for z, want in (([0.0] * 5, [0.2] * 5), ([3.0, 3.0, -INF], [0.5, 0.5, 0.0])):
        got = evaluate(graded, {"z": np.array(z)})
        assert got["status"] == 0
        np.testing.assert_allclose(got["ds_dz"], want, rtol=4e-16)


def test_the_derivative_is_an_exponential_of_a_difference_and_reads_back() -> None:
    text = print_program(simplify(adjoints(ROWS)))
    assert text.splitlines()[2] == "d_dz(n, k) = d_ds(n) * exp(z(n, k) - s(n))"
    assert print_program(parse(text)) == text
    again = print_program(simplify(adjoints(parse(text))))
    assert print_program(parse(again)) == again


def test_onto_a_value_and_in_a_choice_of_indices() -> None:
    program = parse("input z(K), y\ns = y\ns lse= 2*z(k)\nm lse=! i >= 1 ? z(i - 1) : y where i in 0:K + 1\noutput s, m")
    at = {"z": [0.5, -1.0, 2.0], "y": 1.25}
    for name, slope in (("s", 2), ("m", 1)):
        got = evaluate(gradient(program, of=[name]), at, mpmath_arithmetic(40))
        value, p = weights([at["y"], *[slope * x for x in at["z"]]])
        with mpmath.workdps(50):
            assert abs(got[name] - value) < 1e-30 and abs(got[f"d{name}_dy"] - p[0]) < 1e-30
            assert all(abs(x - slope * w) < 1e-30 for x, w in zip(got[f"d{name}_dz"], p[1:], strict=True))


def test_in_a_loop_it_is_the_log_of_sums_of_products() -> None:
    """The forward recursion of a hidden Markov model, against the product of matrices that it is the logarithm of."""
    program = gradient(parse("input a0(S), A(S, S), E(T, S)\na(0, j) = a0(j)\n"
                             "for t in 0:T { a(t + 1, j) lse=! a(t, i) + A(i, j) + E(t, j) }\nv lse=! a(T, j)\noutput v"))
    r = drawn("hidden Markov model")
    at = {name: np.array([r.gauss(0, 2) for _ in range(int(np.prod(shape)))]).reshape(shape)
          for name, shape in {"a0": (3,), "A": (3, 3), "E": (4, 3)}.items()}
    steps = [np.exp(at["A"] + row) for row in at["E"]]
    behind = [np.ones(3)]
    for m in reversed(steps):
        behind.insert(0, m @ behind[0])
    total = np.exp(at["a0"]) @ behind[0]
    ahead = [np.exp(at["a0"])]
    for m in steps:
        ahead.append(ahead[-1] @ m)
    joint = np.array([np.outer(x, y) * m / total for x, y, m in zip(ahead, behind[1:], steps, strict=False)])
    for got in (evaluate(program, at, FLOAT), evaluate(program, at, numpy_arithmetic()), compile_tensors(program)(at)):
        np.testing.assert_allclose(got["v"], np.log(total), rtol=1e-13)
        np.testing.assert_allclose(got["dv_dA"], joint.sum(axis=0), rtol=1e-12)
        np.testing.assert_allclose(got["dv_dE"], joint.sum(axis=1), rtol=1e-12)
        np.testing.assert_allclose(got["dv_da0"], np.exp(at["a0"]) * behind[0] / total, rtol=1e-12)
