"""Subscripts with sizes as factors, floors and remainders: values against NumPy's own reshaping and rolling, and every law of
derivatives."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from adcli.codegen.modules.runtime import compile_tensors
from adcli.lang.evaluate import evaluate
from adcli.lang.ir.affine import Index, affine, product, remainder, substituted, text, value
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from row_tables import each_row
from session_seed import drawn, half
from source_laws import check_source
from subscript_cases import SUBSCRIPTS
from tensor_laws import NUMPY, direction


@each_row(("source", "shapes", "reference"), half(SUBSCRIPTS))
def test_subscripts_mean_what_numpy_does_and_keep_every_law(source: str, shapes: dict[str, tuple[int, ...]],
                                                            reference: Any) -> None:
    r = drawn("subscripts", source)
    check_source(source, {n: direction(r, shape) for n, shape in shapes.items()}, reference, r)


@pytest.mark.parametrize(("source", "at", "said"), [
    ("input B(3*N), w(K)\nA(i, j) = B(i*K + j) where i in 0:N, j in 0:K", {"B": (6,), "w": (4,)}, "runs from 0 to 7, and"),
    ("input x(N), w(K)\ny(i, k) = x((i + 3) % K) * w(k) where i in 0:N", {"x": (3,), "w": (5,)}, "runs from 0 to"),
    ("input x(N), w(K)\ny(i) = x(i % K) where i in 0:N", {"x": (3,), "w": (0,)}, "the remainder by K is taken, which is 0"),
])
def test_what_sizes_do_not_allow_is_said_when_they_are_known(source: str, at: dict[str, tuple[int, ...]], said: str) -> None:
    program = parse(source)
    values = {n: np.ones(s) for n, s in at.items()}
    for run in (lambda: evaluate(program, values, NUMPY), lambda: compile_tensors(program)(values)):
        with pytest.raises(AdError, match=said):
            run()


def test_values_in_a_subscript_are_no_longer_than_allowed() -> None:
    lets = ", ".join(["t0 = i", *(f"t{k} = t{k-1} + t{k-1}" for k in range(1, 40)), "t = t39"])
    with pytest.raises(AdError, match="make it too long"):
        parse(f"input x(N)\ny(i) = x(t) where {lets}")


def test_expressions_are_numbers_and_their_own_text() -> None:
    r = drawn("expressions of subscripts")
    i, j = Index("i"), Index("j")
    for _ in range(200):
        known = {i: r.randrange(5), j: r.randrange(5), "N": r.randrange(1, 5), "M": r.randrange(1, 5)}
        x, number = affine(0), 0
        for a in (i, j, "N", "M", None, None):
            c = r.randrange(-3, 4)
            x, number = (x + c, number + c) if a is None else (x + affine(a) * c, number + c * known[a])
        size, times = r.choice([(affine("N"), known["N"]), (affine("N") + 1, known["N"] + 1), (affine(3), 3)])
        for made, n in ((product(x, size), number * times), (remainder(x, size), number % times),
                        (remainder(product(x, size) + remainder(x, size) * 2 + 1, size), (2 * (number % times) + 1) % times)):
            assert value(made, known) == n
            assert eval(text(made), {a.name if isinstance(a, Index) else a: k for a, k in known.items()}) == n
            assert substituted(made, {a: affine(k) for a, k in known.items()}).number == n


def test_conditions_on_indices_choose_the_points_that_they_say() -> None:
    """Every point once, whatever pieces a condition leaves."""
    r = drawn("conditions on indices")

    def condition(depth: int) -> str:
        if depth == 0:
            left, compared = r.choice(("i", "j", "i - j", "i % 2", "2*i + j")), r.choice(("<", "<=", ">", ">=", "==", "!="))
            return f"{left} {compared} {r.randrange(-1, 4)}"
        kind = r.choice(("and", "or", "not"))
        return f"not ({condition(depth - 1)})" if kind == "not" else f"({condition(depth - 1)} {kind} {condition(depth - 1)})"

    for _ in range(12):
        chosen = condition(2)
        program = parse(f"input x(M, N)\nn(i, j) +=! x(i, j) where {chosen}\ns +=! x(i, j) where {chosen}")
        got = evaluate(program, {"x": np.ones((4, 3))}, NUMPY)
        want = [[float(eval(chosen, {"i": i, "j": j})) for j in range(3)] for i in range(4)]
        assert got["n"].tolist() == want and got["s"] == np.sum(want), chosen


def test_elements_beyond_those_of_the_first_statement_are_told_to_be_declared_there() -> None:
    even, odd = "input x(N)\ny(i) = x(i)\nz(2*i) = y(i)", "\nz(2*i + 1) = -y(i)"
    with pytest.raises(AdError) as fault:
        parse(even + odd)
    clause = str(fault.value.help).rpartition(": ")[2]
    assert clause == "where float(2*N) z"
    assert evaluate(parse(f"{even} {clause}{odd}"), {"x": [1.0, 2.0]})["z"].tolist() == [1, -1, 2, -2]
