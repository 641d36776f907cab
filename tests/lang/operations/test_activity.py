"""What is differentiated: names are checked, params and integers stand aside, and a value is active by what it depends on."""
from __future__ import annotations

import pytest
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.activity import active_values, inputs_to_differentiate, outputs_to_differentiate, with_outputs
from row_tables import each_row

PROGRAM = parse("param k = 2\ns = x*y\nu = s + k\nw = z > 0 ? s : z")


def test_every_input_but_params_by_default():
    assert inputs_to_differentiate(PROGRAM, None) == ["x", "y", "z"]
    assert inputs_to_differentiate(PROGRAM, ["k", "x", "k"]) == ["k", "x"]
    assert inputs_to_differentiate(PROGRAM, None, [("u", ("y", "x", "y"))]) == ["y", "x"]


def test_outputs_by_name_and_order():
    assert outputs_to_differentiate(PROGRAM, None) == ["u", "w"]
    assert [r.name for r in with_outputs(PROGRAM, outputs_to_differentiate(PROGRAM, ["w", "u"])).results] == ["w", "u"]


@each_row("call, said", [
    (lambda: inputs_to_differentiate(PROGRAM, ["q"]), "no input 'q'"),
    (lambda: inputs_to_differentiate(parse("input x(M)\ny(i) = x(i)"), ["M"]), "no input 'M'\nhelp: 'M' is a size"),
    (lambda: outputs_to_differentiate(PROGRAM, ["s"]), "no output 's'"),
    (lambda: inputs_to_differentiate(parse("input int32 I(N), x(M)\ny(i) = x(I(i))"), ["I"]), "holds whole numbers"),
    (lambda: inputs_to_differentiate(parse("input x(M)\ny(i) = x(i)"), ["x[0]"]), r"no input 'x\[0\]'\nhelp: derivatives are by "
     "all elements: x$"),
    (lambda: outputs_to_differentiate(parse("input x(M, N)\ny(i, j) = x(i, j)"), ["y[0][1]"]),
     r"help: give the element a name: e = y\(0, 1\), and choose e$"),
    (lambda: outputs_to_differentiate(parse("input e(M, N)\ny(i, j) = e(i, j)"), ["y[-1]"]),
     r"help: give the elements a name: e_1\(i\) = y\(M - 1, i\), and choose e_1$"),
    (lambda: outputs_to_differentiate(parse("input x(M, N)\ny(i, j) = x(i, j)"), ["y[1:3, 0]"]),
     r"help: give the elements a name: e\(i\) = y\(i \+ 1, 0\) where i in 0:2, and choose e$"),
    (lambda: outputs_to_differentiate(parse("input x(M)\ny(i) = x(i)"), ["y(0, 1)"]), "help: the outputs are y$"),
])
def test_names_that_cannot_be_differentiated(call, said):
    with pytest.raises(AdError, match=said):
        call()


def test_a_value_is_active_if_it_depends_on_an_input_and_a_truth_value_never_is():
    active = active_values(PROGRAM, ["z"])
    for e in PROGRAM.equations:
        (out,) = e.outs
        assert (out in active) == (e.op.name == "select"), e
