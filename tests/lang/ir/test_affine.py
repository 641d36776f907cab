"""Expressions of sizes: floors, least and greatest, that they stay short and mean what their text says."""
from __future__ import annotations

import numpy as np
import pytest
from adcli.lang.evaluate import evaluate
from adcli.lang.ir.affine import affine, floor, greatest, least, text, value
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.printing.printer import print_program
from same_programs import equal
from tensor_laws import NUMPY
from tensor_texts import halves


def test_floors_of_sizes_are_their_own_text() -> None:
    program = parse("input x(N), y(M)\nz(i) = x(i) * floor(N / 2) - 2 * min(M, N)\nw(i) = x(i) where i in N/2:min(M, N)")
    assert equal(parse(print_program(program)), program)
    assert "x(i) * floor(N / 2) - 2*min(M, N)" in print_program(program)


@pytest.mark.parametrize("bound", ["-(N / 2)", "-N / 2", "-((1 - N) / 3)", "M - N / 2", "-(2 * (N / 3))", "-(N / 2) - M / 2 + N"])
def test_the_floor_of_a_negative_number_is_none_of_a_positive_one(bound: str) -> None:
    program = parse(f"input x(N), z(M)\ny +=! i where i in {bound}:N")
    again = parse(print_program(program))
    assert equal(again, program)
    at = {"x": np.ones(5), "z": np.ones(2)}
    low = eval(bound.replace("/", "//"), {"N": 5, "M": 2})
    assert evaluate(again, at, NUMPY)["y"] == sum(range(low, 5))


def test_floors_that_differ_by_a_number_are_compared() -> None:
    n = affine("N")
    assert text(least(floor(n, 2), floor(n + 1, 2))) == "N / 2"
    assert text(greatest(floor(n, 2), floor(n + 1, 2))) == "(N + 1) / 2"
    assert text(floor(floor(n, 2) + 1, 3)) == "(N + 2) / 6"
    shifts, found = range(-3, 4), set()
    for a in shifts:
        for b in shifts:
            for c in shifts:
                one, other = floor(n + a, 3), floor(n + b, 3) + c
                low, high = least(one, other), greatest(one, other)
                found |= {len(low.terms), len(high.terms)}
                for k in range(-7, 8):
                    x, y = (k + a) // 3, (k + b) // 3 + c
                    assert (value(low, {"N": k}), value(high, {"N": k})) == (min(x, y), max(x, y))
                    assert value(floor(one + c, 2), {"N": k}) == (x + c) // 2
    assert found == {1}


def test_a_pyramid_of_halves_has_short_extents() -> None:
    program = parse(halves(40))
    assert text(program.results[0].atom.shape[0]) == f"H / {2**40}"   # type: ignore[union-attr]


def test_extents_that_would_double_with_every_call_are_refused() -> None:
    with pytest.raises(AdError, match="the extent of dimension 0 of 'y' is too long an expression"):
        parse(halves(40, "3*i + 1"))
