"""Sparse matrices as CSV, Matrix Market files and SciPy arrays, and their pictures in a terminal."""
from __future__ import annotations

import csv
import io
import math
import sys

import numpy as np
import pytest
import scipy.io
from adcli.lang.derive.derivatives import hessian, jacobian
from adcli.lang.evaluate import evaluate
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from session_seed import drawn

from adcli.output.numbers import number_format
from adcli.task.matrices import Matrix, coo, matrix_among, matrix_market, scipy_coo

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
    r = drawn("test_matrix_market_reads_back_to_the_same_bits")
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
    with pytest.raises(AdError, match="one matrix, but --at gives several points") as fault:
        list(matrix_market(JACOBIAN, [(AT, [1.0, 2.0, 3.0])] * 2))
    assert "--format coo" in fault.value.help


# ---------------------------------------------------------------- SciPy

def test_scipy_arrays():
    found = scipy_coo(JACOBIAN, [1.0, 2.0, 3.0])
    assert found.shape == (2, 3) and found.nnz == 3 and found.toarray().tolist() == [[0, 1, 0], [2, 0, 3]]
    both = scipy_coo(HESSIAN, [1.0, 2.0, 3.0])
    assert both.nnz == 5 and both.toarray().tolist() == [[1, 2, 0], [2, 0, 3], [0, 3, 0]]
    assert scipy_coo(Matrix("jacobian", ("v",), ("x", "y"), (), ()), []).shape == (1, 2)


def test_without_scipy_its_installation_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    with pytest.raises(AdError, match="needs scipy") as fault:
        scipy_coo(JACOBIAN, [1.0, 2.0, 3.0])
    assert fault.value.help == f"{sys.executable} -m pip install scipy"


def test_values_that_do_not_belong_to_the_entries_are_a_defect():
    for wrong in ([], [1.0] * 4):
        with pytest.raises(AssertionError, match="values for 3 entries"):
            list(coo(JACOBIAN, [(AT, wrong)]))


# ---------------------------------------------------------------- pictures

def names(letter: str, count: int) -> list[str]:
    return [f"{letter}{i}" for i in range(count)]
