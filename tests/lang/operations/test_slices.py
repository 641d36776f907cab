"""What is written for a slice has the elements that NumPy gives."""
import numpy as np
import pytest
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.slices import sliced
from row_tables import each_row

SHAPES = {"x": ["N"], "A": ["M", "N"]}
VALUES = {"x": np.arange(6.0), "A": np.arange(24.0).reshape(4, 6)}


@each_row("text", [
    "x[:]", "x[1:]", "x[:-1]", "x[2:5]", "x[-3:]", "x[-3:-1]", "x[0:0]", "x[::2]", "x[1::3]", "x[::-1]", "x[1:] - x[:-1]",
    "(x[2:] - 2*x[1:-1] + x[:-2])/4", "A[1:, 0]", "A[:, -1]", "A[-1, 1:3]", "A[1:3, 2:]", "A[::2, ::-1]", "A[0, 1:]*x[:-1]",
])
def test_the_elements_are_those_of_numpy(text):
    found = sliced(text, SHAPES, ())
    assert found is not None
    program = parse(f"input x(N), A(M, N); y({found.indices}) = {found.text}{found.ranges}")
    assert np.array_equal(evaluate(program, VALUES, FLOAT)["y"], eval(text, {}, VALUES))


@pytest.mark.parametrize("text", ["x[0]", "x", "y[:-1]", "y[-1:]", "x[4:1:-1]", "x[:4:2]"])
def test_what_is_no_slice_or_cannot_be_written(text):
    assert sliced(text, SHAPES, ()) is None


def test_indices_are_no_names_of_the_program():
    assert sliced("x[1:]", {}, {"i"}) == ("x(j + 1)", "j", "")
