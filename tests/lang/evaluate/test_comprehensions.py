"""What comprehensions mean: the values of plain loops."""
from __future__ import annotations

import pytest
from comprehension_samples import Sample, stated, written
from hypothesis import given
from random_comprehensions import tensor_samples
from random_programs import law
from tensor_laws import check_values


@law(260)
@given(tensor_samples())
def test_values_are_those_of_plain_loops(made: Sample) -> None:
    check_values(made)


def test_a_wrong_value_is_noticed() -> None:
    made, product = (written({"A": ("M, N", [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), "B": ("N", [0.5, -1.0, 2.0])},
                             stated("C(i)", "+", "A(i, j); B(j)", ("mul", 0, 1), "i:M j:N", "M"), results="C") for _ in range(2))
    check_values(made)
    made.statements[0] = stated("C(i)", "+", "A(i, j); B(j)", ("mul", 0, 0), "i:M j:N", "M")
    program = made.program()
    made.program = lambda: program   # type: ignore[method-assign]
    made.statements[0] = product.statements[0]
    with pytest.raises(AssertionError, match="C: "):
        check_values(made)
