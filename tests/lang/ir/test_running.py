"""Products of the others by running products, against products over pairs of points in plain Python."""
from __future__ import annotations

import math

import pytest
from adcli.lang.evaluate import evaluate
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.recurrence import Recurrence
from adcli.lang.passes.pipeline import adjoint_program, tangent_program
from adcli.lang.printing.printer import print_program
from same_programs import equal

X = [[2.0, 0.0, 3.0], [1.0, -1.0, 0.5], [0.0, 0.0, 4.0]]
"""Rows with none, one and two zeros."""


def others(points: list[tuple[int, int]], meet: bool) -> list[list[float]]:
    """For every element the product of the others among the points, of its row where only these `meet`."""
    return [[math.prod(X[k][m] for k, m in points if (k, m) != (i, j) and (k == i or meet)) if (i, j) in points else 0.0
             for j in range(3)] for i in range(3)]


ALL = [(i, j) for i in range(3) for j in range(3)]
CASES = {
    "rows": ("y(i) *=! x(i,j)", others(ALL, False)),
    "everything": ("y *=! x(i,j)", others(ALL, True)),
    "a triangle": ("y(i) *=! x(i,j) where i >= j", others([(i, j) for i, j in ALL if i >= j], False)),
    "a part": ("y *=! x(i,j) where j in 1:3, i in 1:M", others([(i, j) for i, j in ALL if i and j], True)),
}


@pytest.mark.parametrize("name", CASES)
def test_products_of_others_are_two_loops(name: str) -> None:
    text, expected = CASES[name]
    program = parse(f"input x(M,N)\n{text}\noutput y\n")
    adjoints = adjoint_program(program)
    ones = {"d_dy": 1.0 if "y *" in text else [1.0] * 3}
    assert evaluate(adjoints, {"x": X, **ones})["d_dx"].tolist() == expected
    tangents = evaluate(tangent_program(program), {"x": X, "dx": [[1.0] * 3] * 3})["dy"]
    assert sum(map(sum, expected)) == (tangents if "y *" in text else tangents.sum())
    assert sum(isinstance(e.op, Recurrence) for e in adjoints.equations) == 2
    assert all(len(e.op.ranges) <= 2 for e in adjoints.equations if hasattr(e.op, "ranges")), "no pairs of points"
    assert equal(parse(print_program(adjoints)), adjoints)


def test_texts_give_the_same_extents() -> None:
    program = adjoint_program(parse("input x(M, N, N), int32 T\ny *=! x(i, j, k) where i in 0:T + 1\noutput y\n"))
    assert equal(parse(print_program(program)), program)


def test_equal_loops_are_one() -> None:
    program = adjoint_program(parse("input x(N), y(N)\np *=! x(i)*y(i)\noutput p\n"))
    assert sum(isinstance(e.op, Recurrence) for e in program.equations) == 2
