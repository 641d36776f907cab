"""Sparse matrices as CSV, Matrix Market files and SciPy arrays, and their pictures in a terminal."""
from __future__ import annotations

import csv
import io
import math
import random
import sys

import numpy as np
import pytest
import scipy.io
from adcli.lang.derive.derivatives import hessian, jacobian
from adcli.lang.evaluate import evaluate
from adcli.lang.ir.errors import AdError
from adcli.lang.syntax.parse import parse

from adcli.output.report import number_format
from adcli.task.matrices import Matrix, coo, matrix_among, matrix_market, scipy_coo
from adcli.verbs.picture import BRAILLE, DOTS, figures, percent, picture

INF, NAN = math.inf, math.nan
JACOBIAN = Matrix("jacobian", ("u", "v"), ("x", "y", "z"), (0, 1, 1), (1, 0, 2))
HESSIAN = Matrix("hessian of v", ("x", "y", "z"), ("x", "y", "z"), (0, 0, 1), (0, 1, 2), True)
AT = {"x": 1.0, "y": 2.0, "z": -3.0}


# ---------------------------------------------------------------- from the results of a program

@pytest.mark.parametrize("zeros", [True, False])
def test_the_matrix_among_the_results(zeros):
    program, wrt = parse("u = x*y\nv = sin(z)*x\nw = 2 + 0*1\noutput u, v, w"), ["z", "x", "y"]
    at = {"x": 2.0, "y": 3.0, "z": 0.0}
    first, second = jacobian(program, wrt, zeros=zeros), hessian(program, wrt, ["v"], zeros=zeros)
    matrix, places = matrix_among(first.results, wrt, "jacobian")
    found = list(evaluate(first, at).values())
    assert (matrix.name, matrix.rows, matrix.columns) == ("jacobian", ("u", "v", "w"), ("z", "x", "y"))
    assert len(places) == (9 if zeros else 4)
    assert scipy_coo(matrix, [found[k] for k in places]).toarray().tolist() == [[0, 3, 2], [2, 0, 0], [0, 0, 0]]
    matrix, places = matrix_among(second.results, wrt, "hessian")
    found = list(evaluate(second, at).values())
    assert (matrix.name, matrix.rows, matrix.columns) == ("hessian of v", ("z", "x", "y"), ("z", "x", "y"))
    assert len(places) == (6 if zeros else 2)
    assert scipy_coo(matrix, [found[k] for k in places]).toarray().tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]


def test_the_hessian_of_a_linear_function_has_no_entries():
    program = hessian(parse("v = x + y"), ["x", "y"], zeros=False)
    matrix, places = matrix_among(program.results, ["x", "y"], "hessian")
    assert places == [] and scipy_coo(matrix, []).toarray().tolist() == [[0, 0], [0, 0]]


# ---------------------------------------------------------------- a table of entries

def test_coo_is_a_table_of_entries():
    assert "".join(coo(JACOBIAN, [(AT, [0.1, NAN, -INF])])) == (
        "i,j,row,column,value\n0,1,u,y,0.1\n1,0,v,x,nan\n1,2,v,z,-inf\n")


def test_coo_has_both_triangles_of_a_symmetric_matrix():
    want = "i,j,row,column,value\n0,0,x,x,1.0\n0,1,x,y,2.0\n1,0,y,x,2.0\n1,2,y,z,3.0\n2,1,z,y,3.0\n"
    lower = Matrix(HESSIAN.name, HESSIAN.rows, HESSIAN.columns, HESSIAN.j, HESSIAN.i, True)
    assert "".join(coo(HESSIAN, [(AT, [1.0, 2.0, 3.0])])) == "".join(coo(lower, [(AT, [1.0, 2.0, 3.0])])) == want


def test_coo_numbers_the_points_where_there_are_several():
    pieces = list(coo(JACOBIAN, [(AT, [1.0, 2.0, 3.0]), (AT, [4.0, 5.0, 6.0])], number_format("%.1e", False), several=True))
    assert len(pieces) == 3
    rows = [(r["point"], r["i"], r["j"], r["value"]) for r in csv.DictReader(io.StringIO("".join(pieces)))]
    assert rows[2:4] == [("0", "1", "2", "3.0e+00"), ("1", "0", "1", "4.0e+00")]


def test_coo_of_nothing_has_its_header():
    assert "".join(coo(Matrix("jacobian", ("v",), ("x",), (), ()), [(AT, [])])) == "i,j,row,column,value\n"
    assert "".join(coo(JACOBIAN, [], several=True)) == "point,i,j,row,column,value\n"


def test_coo_takes_points_as_they_come():
    def points():
        yield AT, [1.0, 2.0, 3.0]
        raise AssertionError("the second point was asked for too early")

    pieces = coo(JACOBIAN, points(), several=True)
    assert next(pieces).startswith("point") and next(pieces).startswith("0,0,1,u,y,1.0\n")


# ---------------------------------------------------------------- Matrix Market

def read_back(text: str) -> np.ndarray:
    return scipy.io.mmread(io.BytesIO(text.encode())).toarray()


def test_matrix_market_of_a_jacobian():
    text = "".join(matrix_market(JACOBIAN, [(AT, [0.1, 2.0, -3e-300])]))
    assert text == ("%%MatrixMarket matrix coordinate real general\n% adcli 0.1.0: jacobian\n% rows: u v\n% columns: x y z\n"
                    "% at x = 1.0, y = 2.0, z = -3.0\n2 3 3\n2 1 2.0\n1 2 0.1\n2 3 -3e-300\n")
    assert read_back(text).tolist() == [[0, 0.1, 0], [2.0, 0, -3e-300]]


def test_matrix_market_of_a_hessian_is_its_lower_triangle():
    text = "".join(matrix_market(HESSIAN, [({}, [1.0, 2.0, 3.0])]))
    assert text.startswith("%%MatrixMarket matrix coordinate real symmetric\n") and "% at" not in text
    assert text.endswith("\n3 3 3\n1 1 1.0\n2 1 2.0\n3 2 3.0\n")
    assert read_back(text).tolist() == [[1, 2, 0], [2, 0, 3], [0, 3, 0]]


def test_matrix_market_reads_back_to_the_same_bits():
    r = random.Random(5)
    values = [r.uniform(-1, 1) * 10.0 ** r.randint(-300, 300) for _ in range(200)] + [INF, -INF, NAN, 5e-324, -0.0]
    n = len(values)
    matrix = Matrix("jacobian", tuple(f"r{i}" for i in range(n)), ("x",), tuple(range(n)), (0,) * n)
    [text] = matrix_market(matrix, [({"x": 1.0}, values)])
    np.testing.assert_array_equal(read_back(text)[:, 0], values)


def test_matrix_market_of_nothing():
    [text] = matrix_market(Matrix("jacobian", ("u", "v"), ("x",), (), ()), [({}, [])])
    assert text.endswith("\n2 1 0\n") and read_back(text).tolist() == [[0], [0]]


def test_long_comments_are_wrapped_at_names():
    names = (*[f"variable_{i}" for i in range(500)], "β" * 300)
    [text] = matrix_market(Matrix("jacobian", ("v",), names, (0,), (500,)), [({}, [2.0])])
    comments = [line for line in text.splitlines()[1:] if line.startswith("%")]
    assert all(len(line) <= 100 or line == f"%   {'β' * 300}" for line in comments)
    assert " ".join(line.lstrip("% ") for line in comments).split("columns: ")[1].split() == list(names)
    assert read_back(text)[0, 500] == 2.0


def test_matrix_market_refuses_several_points():
    with pytest.raises(AdError, match="one matrix, and there are several points") as fault:
        list(matrix_market(JACOBIAN, [(AT, [1.0, 2.0, 3.0])] * 2))
    assert "--format coo" in fault.value.help


# ---------------------------------------------------------------- SciPy

def test_scipy_arrays():
    found = scipy_coo(JACOBIAN, [1.0, 2.0, 3.0])
    assert found.shape == (2, 3) and found.nnz == 3 and found.toarray().tolist() == [[0, 1, 0], [2, 0, 3]]
    both = scipy_coo(HESSIAN, [1.0, 2.0, 3.0])
    assert both.nnz == 5 and both.toarray().tolist() == [[1, 2, 0], [2, 0, 3], [0, 3, 0]]
    assert scipy_coo(Matrix("jacobian", ("v",), ("x", "y"), (), ()), []).shape == (1, 2)


def test_without_scipy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    with pytest.raises(AdError, match="need the package scipy") as fault:
        scipy_coo(JACOBIAN, [1.0, 2.0, 3.0])
    assert fault.value.help == "pip install 'adcli[scipy]'"


def test_values_that_do_not_belong_to_the_entries_are_a_defect():
    for wrong in ([], [1.0] * 4):
        with pytest.raises(AssertionError, match="values for 3 entries"):
            list(coo(JACOBIAN, [(AT, wrong)]))


# ---------------------------------------------------------------- pictures

def names(letter: str, count: int) -> list[str]:
    return [f"{letter}{i}" for i in range(count)]


def test_a_small_matrix_has_names_and_a_character_an_entry():
    assert picture(((0, 1), (1, 2), ()), ["u", "v", "long"], ["x", "beta", "z"]) == (
        "      x  beta  z\n"
        "   u  ×   ×    ·\n"
        "   v  ·   ×    ×\n"
        "long  ·   ·    ·\n"
        "jacobian: 3 × 3, 4 of 9 entries, 44 %, 2 colours by columns\n")


def test_names_of_columns_give_way_to_the_width():
    rows, columns, row = ["v"], names("x", 20), (tuple(range(0, 20, 2)),)
    shown = [picture(row, rows, columns, width).splitlines()[0] for width in (100, 60, 30)]
    assert shown == ["   " + "  ".join(columns), "v" + " × ·" * 10, "v " + "×·" * 10]


def test_a_large_matrix_is_drawn_in_braille():
    diagonal = tuple((i,) for i in range(200))
    assert picture(diagonal, names("v", 200), names("x", 200), width=12, height=7, name="hessian") == (
        "┌──────────┐\n│⠑⢄⠀⠀⠀⠀⠀⠀⠀⠀│\n│⠀⠀⠑⢄⠀⠀⠀⠀⠀⠀│\n│⠀⠀⠀⠀⠑⢄⠀⠀⠀⠀│\n│⠀⠀⠀⠀⠀⠀⠑⢄⠀⠀│\n│⠀⠀⠀⠀⠀⠀⠀⠀⠑⢄│\n└──────────┘\n"
        "hessian: 200 × 200, 200 of 40,000 entries, 0.5 %, 1 colour as a symmetric matrix\n")


def test_the_frame_names_the_first_and_the_last_column():
    shown = picture(tuple((i,) for i in range(200)), names("v", 200), names("x", 200), 40)
    assert shown.splitlines()[0] == "┌─────────── x0 … x199 ────────────┐"


def dots(shown: str) -> set[tuple[int, int]]:
    """The places of the dots of a picture in braille."""
    cells = [line[1:-1] for line in shown.splitlines() if line.startswith("│")]
    return {(4 * i + a, 2 * j + b) for i, line in enumerate(cells) for j, c in enumerate(line)
            for a, pair in enumerate(DOTS) for b, bit in enumerate(pair) if (ord(c) - BRAILLE) & bit}


@pytest.mark.parametrize("rows, columns, width, height", [
    (100, 100, 80, 40), (1_000, 998, 80, 40), (3, 5_000, 80, 40), (5_000, 3, 80, 40), (300, 70, 40, 10), (777, 1_234, 20, 5),
    (1, 1_000, 10, 3), (1_000, 1, 10, 3)])
def test_every_entry_shows_and_nothing_else(rows, columns, width, height):
    r = random.Random(rows)
    places = {(r.randrange(rows), r.randrange(columns)) for _ in range(30)} | {(rows - 1, columns - 1), (0, 0)}
    pattern = tuple(tuple(sorted(j for i, j in places if i == row)) for row in range(rows))
    shown = picture(pattern, names("v", rows), names("x", columns), width, height)
    *drawn, _ = shown.splitlines()
    assert all(len(line) <= width for line in drawn) and len(drawn) <= height
    found = dots(shown)
    down, across = 1 + max(i for i, _ in found), 1 + max(j for _, j in found)
    assert down >= min(rows, 16, 4 * (height - 2)) // 2 and across >= min(columns, 16, 2 * (width - 2)) // 2
    blocks = [(d, a) for d in range(1, rows + 1) for a in range(1, columns + 1)
              if math.ceil(rows / d) == down and math.ceil(columns / a) == across]
    assert any({(i // d, j // a) for i, j in places} == found for d, a in blocks)


def test_matrices_of_nothing():
    assert picture((), [], ["x"]) == "jacobian: 0 × 1, 0 of 0 entries\n"
    assert picture(((),), ["v"], []) == "jacobian: 1 × 0, 0 of 0 entries\n"
    assert picture(((),), ["v"], ["x"]) == "   x\nv  ·\njacobian: 1 × 1, 0 of 1 entry\n"


def test_figures_count_the_colours_of_the_better_side():
    n = 1_000
    residuals = tuple((i, i + 1, i + 2) for i in range(n - 2))
    assert figures(residuals, n, "jacobian") == "jacobian: 998 × 1,000, 2,994 of 998,000 entries, 0.3 %, 3 colours by columns"
    assert figures((tuple(range(n)),), n, "jacobian") == "jacobian: 1 × 1,000, 1,000 of 1,000 entries, 100 %, 1 colour by rows"
    band = tuple(tuple(range(max(0, i - 1), min(n, i + 2))) for i in range(n))
    assert figures(band, n, "hessian") == (
        "hessian: 1,000 × 1,000, 2,998 of 1,000,000 entries, 0.3 %, 3 colours as a symmetric matrix")


@pytest.mark.parametrize("share, shown", [
    (1.0, "100 %"), (0.999, "100 %"), (0.58333, "58 %"), (0.0999, "10 %"), (0.0651, "6.5 %"), (0.003, "0.3 %"),
    (2.9998e-4, "0.03 %"), (1.26e-8, "0.0000013 %")])
def test_shares_are_written_in_full(share, shown):
    assert percent(share) == shown
