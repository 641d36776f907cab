"""Integers among the inputs as sizes: ranges and extents that are made of them, by their values at each call."""
from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from adcli.lang.evaluate import evaluate
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoints, tangents
from adcli.lang.printing.printer import print_program
from adcli.lang.simplify.simplify import simplify
from row_tables import each_row
from same_programs import equal
from tensor_texts import DEFINITIONS
from well_formed import check

import adcli as api

BY_ID = {d["id"]: d["text"] for d in DEFINITIONS}
WINDOW = BY_ID["tc/f-c3d21f0d"]
SQUARES = "def f(int32 a, float(N) b) -> (c) { c(j) = b(j)^2 where j in 0:a }"
TEXTS = [
    WINDOW, BY_ID["tc/f-1089fab1"], SQUARES,
    "def f(int32 a, float(N) b) -> (float(a) c) { t(j) = b(j)*2 where j in 0:a\n c(j) = sin(t(j)) }",
    "input int32 k, A(M, N)\nB(i) *=! A(i, j) where j in k:N\nz max=! A(i, k + j) where j in 0:2\noutput B, z",
    "input int32 k, int32 I(B), A(M, N)\nz +=! A(I(b), k) * k where b in 0:k\noutput z",
    "input int32 k, A(N), D(k)\nB(i) = A(i) * D(i) * k\noutput B",
    "def g(int32 a, float(a) b) -> (c) { c +=! b(i) }\ninput int32 k, A(N)\nB(i) = A(i) where i in 0:k\nz = g(k, B)\noutput z",
    "input int32 k, A(N)\ny = k * A(0)\nB(i) = A(i) * y where i in 0:k + 1\noutput B"]


@each_row("text", TEXTS)
def test_programs_and_derivatives_print_and_read_back(text: str) -> None:
    program = check(parse(text))
    for each in (program, simplify(tangents(program)), simplify(adjoints(program))):
        assert equal(parse(print_program(check(each))), each)


@pytest.mark.parametrize("evaluator", ["native", "reference"])
def test_one_program_serves_all_values(evaluator: str) -> None:
    function, b = api.compile(WINDOW), np.arange(1.0, 7.0)
    back, ahead = function.vjp(), function.jvp()

    def run(f: Any, **at: Any) -> Any:
        return f(at) if evaluator == "native" else evaluate(f.program, at)

    for a in [2, 6, 1, 3, 2]:
        n = len(b) - a + 1
        want = np.array([b[i:i + a].sum() for i in range(n)])
        np.testing.assert_array_equal(run(function, a=a, b=b)["c"], want)
        weights = np.arange(1.0, n + 1)
        adjoint = sum((np.eye(len(b))[i + j] * weights[i] for i, j in itertools.product(range(n), range(a))), np.zeros(len(b)))
        np.testing.assert_array_equal(run(back, a=a, b=b, d_dc=weights)["d_db"], adjoint)
        np.testing.assert_array_equal(run(ahead, a=a, b=b, db=2 * b)["dc"], 2 * want)
    assert run(function, a=0, b=b)["c"].tolist() == [0.0] * 7
    assert run(api.compile(SQUARES), a=np.int32(2), b=b)["c"].tolist() == [1, 4]


@pytest.mark.parametrize(("a", "said"), [
    (-1, "'a' is -1, and a range or an extent is made of it"),
    (2 ** 31, "'a' is 2147483648, and a range or an extent is made of it"),
    (2.5, "a: an integer input cannot hold 2.5"), ([1, 2], "'a' is a scalar, and the value given has 1 dimension"),
    (9, "subscript j of dimension 0 of 'b' runs from 0 to 8, and the extent there is 6")])
def test_values_that_cannot_be_sizes(a: Any, said: str) -> None:
    with pytest.raises(AdError) as caught:
        api.compile(SQUARES)(a=a, b=np.ones(6))
    assert said in str(caught.value)


def test_seeds_have_the_extent_that_the_value_says() -> None:
    with pytest.raises(AdError) as caught:
        api.compile(SQUARES).vjp()(a=2, b=np.ones(6), d_dc=[1, 2, 3])
    assert caught.value.message == "'d_dc' has 3 elements along dimension 0, and 'a' is 2"


def test_values_of_tensors_are_no_sizes() -> None:
    for text, said in (("def f(int32(N) size) -> (O) { O(i) = 3 where i in 0:size(0) }", "the value of 'size'"),
                       ("def f(float a, float(N) b) -> (c) { c(i) = b(i) where i in 0:a }", "the value of 'a'")):
        with pytest.raises(AdError, match=said):
            parse(text)

