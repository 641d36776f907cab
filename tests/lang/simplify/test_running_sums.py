"""Sums over triangles in linear time: the same numbers as point by point, for every direction and offset, and no other sums."""
from __future__ import annotations

import numpy as np
import pytest
from adcli.lang.evaluate import evaluate
from adcli.lang.ir import Program
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.recurrence import Recurrence
from adcli.lang.passes.pipeline import adjoint_program
from adcli.lang.printing.printer import print_program
from row_tables import each_row
from same_programs import equal

AT = {"x": np.array([2.0, 0.0, -3.0, 0.5]), "w": np.array([[1.0, -2.0], [4.0, 8.0], [0.25, 3.0], [0.5, -1.0]])}
"""Numbers of which no sum is rounded."""
LINEAR = {
    "running": "y(i) +=! x(j) where i in 0:N, j in 0:i+1",
    "those before": "y(i) +=! x(j)*x(j) where i in 0:N, j in 0:i",
    "from the end": "y(i) +=! x(j) where i in 0:N, j >= i",
    "those behind": "y(i) +=! floor(x(j)) where i in 0:N, j in i+1:N",
    "a product": "y(i) *=! x(j) where i in 0:N, j in 0:i+1",
    "for every column": "y(i,m) +=! w(j,m)*x(j) where i in 0:N, j <= i",
    "another index summed": "y(i) +=! w(j,m)*x(j) where i in 0:N, j >= i",
    "onto a value": "y(i) = x(i); y(i) += x(j) where i in 0:N, j <= i",
    "a part": "y(i) +=! x(j) where i in 1:N, j in 1:i+1",
}
LEFT = {
    "terms with the index": "y(i) +=! x(j)*x(i) where j in 0:i+1",
    "a window": "y(i) +=! x(j) where i in 0:N, j >= i, j <= i + 1",
    "a maximum": "y(i) max=! x(j) where i in 0:N, j <= i",
    "few points": "y(i) +=! x(j) where i in 0:4, j in 0:i+1",
}


def whole(text: str, exact: bool) -> Program:
    sums = "s +=! y(i,m)**2" if "y(i,m)" in text else "s +=! y(i)**2"
    return parse(f"input x(N), w(N,M)\n{text}\n{sums}\noutput y, s\n", exact_order=exact)


@each_row("name", LINEAR)
def test_a_triangle_is_a_loop(name: str) -> None:
    quick, slow = whole(LINEAR[name], False), whole(LINEAR[name], True)
    assert any(isinstance(e.op, Recurrence) for e in quick.equations)
    assert not any(isinstance(e.op, Recurrence) for e in slow.equations)
    for n in (4, 1, 0):
        at = {name: values[:n] for name, values in AT.items()}
        assert evaluate(quick, at)["y"].tolist() == evaluate(slow, at)["y"].tolist()
        d = [evaluate(adjoint_program(p, ["x"], ["s"]), {**at, "d_ds": 1.0})["d_dx"].tolist() for p in (quick, slow)]
        assert d[0] == d[1]
    adjoints = adjoint_program(quick, ["x"], ["s"])
    assert equal(parse(print_program(adjoints)), adjoints)
    for e in adjoints.equations:
        statements = e.op.statements if isinstance(e.op, Recurrence) else [e]
        assert not any(getattr(s.op, "guards", ()) for s in statements), "a triangle is left"


@pytest.mark.parametrize("name", LEFT)
def test_other_sums_stay(name: str) -> None:
    assert not any(isinstance(e.op, Recurrence) for e in whole(LEFT[name], False).equations)
