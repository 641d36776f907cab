"""Whole numbers that are computed, and what goes through them: values and every law of derivatives, and what is no subscript."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from adcli.codegen.modules.runtime import compile_tensors
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import STAGES, chosen_outputs
from adcli.lang.passes.status import with_status
from adcli.lang.printing.printer import print_program
from row_tables import each_row
from session_seed import drawn, half
from source_laws import check_source
from subscript_cases import WHOLE_NUMBERS
from tensor_laws import NUMPY, direction
from well_formed import check

SELECTED = "input x(N), c(M)\nint32 k(i) = floor(x(i))\ny(i) = c(k(i))"


@each_row(("source", "given", "reference"), half(WHOLE_NUMBERS))
def test_computed_whole_numbers_select_elements_and_keep_every_law(source: str, given: dict[str, Any], reference: Any) -> None:
    r = drawn("whole numbers", source)
    check_source(source, {n: direction(r, x) if isinstance(x, tuple) else x for n, x in given.items()}, reference, r)


@pytest.mark.parametrize(("source", "at", "said"), [
    (SELECTED, {"x": [0.5, 3.25], "c": [1.0, 2, 3]}, r"k\(1\) = 3 is out of range"),
    (SELECTED, {"x": [0.5, -0.5], "c": [1.0, 2, 3]}, r"k\(1\) = -1 is out of"),
    (SELECTED, {"x": [np.nan], "c": [1.0, 2, 3]}, r"k\(0\) = nan is out of range"),
    ("input x(N), c(M)\nint32 k(i) = floor(x(i))\nh(k(i)) +=! x(i) where float(M) h, exists c(0)",
     {"x": [1e300], "c": [1.0, 2, 3]}, r"k\(0\) = 1000000000.* is out of range for dimension 0 of 'h'"),
    ("input z(N), c(M)\nk argmin=! z(i)\ny = c(k)", {"z": [], "c": [1.0, 2, 3]}, "k = inf is out of range"),
    ("input z(N), c(M)\nk argmin=! z(i)\ny = c(k)", {"z": [1, np.nan], "c": [1.0, 2, 3]}, "k = inf is out of range"),
])
def test_a_computed_number_that_is_no_subscript_is_an_error_with_its_element(source: str, at: dict[str, Any], said: str) -> None:
    program = parse(source)
    values = {n: np.array(x, float) for n, x in at.items()}
    for run in (lambda: evaluate(program, values, NUMPY), lambda: evaluate(program, values, FLOAT),
                lambda: compile_tensors(program)(values)):
        with pytest.raises(AdError, match=said):
            run()


def test_results_are_integers_and_have_no_derivative() -> None:
    program = parse("input z(N)\nk argmax=! z(i)\nint32 r(i) = round(z(i))\nr(i) *= 2\nv = z(k)\noutput k, r, v")
    got = compile_tensors(program)({"z": np.array([1.2, 3.7, 2.0])})
    assert got["k"].dtype == got["r"].dtype == np.int64 and (int(got["k"]), got["r"].tolist()) == (1, [2, 8, 4])
    with pytest.raises(AdError, match=r"r\(2\) = nan is no whole number") as caught:
        compile_tensors(chosen_outputs(program, ["r"]))({"z": np.array([1.2, 3.7, np.nan])})
    assert caught.value.line == 4
    for name in ("dup", "forward", "reverse", "simplified"):
        text = print_program(check(STAGES[name](program)))   # type: ignore[misc]
        assert "d_dk" not in text and "dr" not in text and text == print_program(parse(text))


@pytest.mark.parametrize(("z", "level"), [([1.0, 3, 2], 0), ([1.0, 3, 3], 2)])
def test_the_place_of_an_extremum_jumps_where_two_are_equal(z: list[float], level: int) -> None:
    program = chosen_outputs(parse("input z(N), w(N)\nk argmax=! z(i)\nv = w(k)\noutput k, v"), ["v"])
    got = evaluate(with_status(program, program, ["z"]), {"z": np.array(z), "w": np.ones(3)}, NUMPY)
    assert got["status"] == level


def test_a_parameter_that_is_a_whole_number_takes_a_number_and_a_computed_one() -> None:
    row = "def row(float(M, N) A, int32 i) -> (r) { r(j) = A(i, j) * i }\n"
    program = check(parse(f"{row}input A(M, N), x\nint32 k = floor(x)\nr = row(A, 1)\ns = row(A, k)\nv +=! r(j) * s(j)"))
    a = np.arange(6.0).reshape(3, 2)
    assert evaluate(program, {"A": a, "x": 2.5}, NUMPY)["v"] == 2 * a[1] @ a[2]
    for wrong, said in (("1.5", "is a whole number"), ("x", "is a whole number"), ("-1", "goes down to -1")):
        with pytest.raises(AdError, match=said):
            parse(f"{row}input A(M, N), x\nr = row(A, {wrong})")
