"""`stop(e)`: what it holds has no derivative, at any order, in any mode, in text that is read again."""
from __future__ import annotations

import numpy as np
import pytest
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import evaluate
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoints, tangents
from adcli.lang.passes.status import with_status
from adcli.lang.printing.printer import print_program
from adcli.lang.simplify.simplify import simplify
from row_tables import each_row

SCALARS = ["x*x*{k} + sin({k}*y)", "exp(x*{k})/y", "{k}", "max(x, {k})*{k}", "x**{k}"]
POINT = {"x": 0.75, "y": 1.5}
HELD = POINT["x"] * POINT["y"] + 1


@each_row("mode", ["forward", "reverse"])
@each_row("text", SCALARS)
def test_a_stopped_value_is_a_constant_to_the_third_order(text: str, mode: str) -> None:
    """The derivatives are those of the program in which its value is an input of its own."""
    program = parse("v = " + text.format(k="stop(x*y + 1)") + " + 0*x*y")
    other = parse("param k\nv = " + text.format(k="k") + " + 0*x*y")
    got = evaluate(gradient(program, ["x", "y"], mode=mode, order=3), POINT)
    want = evaluate(gradient(other, ["x", "y"], mode=mode, order=3), {**POINT, "k": HELD})
    assert len(got) == 1 + 2 + 3 + 4 and got == pytest.approx(want, rel=1e-14)


TENSORS = """input x(N)
m max=! abs(x(i))
e(i) = exp(x(i) - stop(m)) * stop(x(i))
v +=! e(i) * x(i)
output v
"""
HELD_TENSORS = """input x(N), k(N), c
e(i) = exp(x(i) - c) * k(i)
v +=! e(i) * x(i)
output v
"""


def test_in_the_body_of_a_comprehension_read_again_and_differentiated_again() -> None:
    x = np.array([0.5, -2.0, 2.0, 0.0])
    at = {"x": x, "d_dv": 1.5, "dx": np.array([1.0, 2.0, -1.0, 0.5])}
    for derive in (adjoints, tangents):
        program = parse(print_program(simplify(derive(parse(TENSORS), ["x"]))))
        other = simplify(derive(parse(HELD_TENSORS), ["x"]))
        again, same = simplify(tangents(program, ["x"])), simplify(tangents(other, ["x"]))
        for p, q in ((program, other), (again, same)):
            at |= {p.name: np.array([2.0, 1.0, 0.0, -1.0]) for p in p.params if p.name not in at}
            held = at | {"k": x, "c": 2.0}
            got, want = (evaluate(f, {p.name: given[p.name] for p in f.params}) for f, given in ((p, at), (q, held)))
            for name in want:
                np.testing.assert_allclose(got[name], want[name], rtol=1e-13, err_msg=name)


@pytest.mark.parametrize(("text", "x", "status"), [
    (TENSORS, [1.0, 1.0, -1.0], 0),   # ties and a kink behind stop
    (TENSORS, [0.0, 0.0], 0),
    (TENSORS.replace("stop(m)", "m"), [1.0, 1.0, -1.0], 1),
    ("input x(N); y(i) = x(i) > 0 ? stop(abs(x(i))) : x(i); v +=! y(i)", [0.0, 1.0], 2),
    ("input x(N); y(i) = abs(x(i)); v +=! stop(y(i)) * x(i)", [0.0, 1.0], 0),
    ("input x(N); y(i) = abs(x(i)); v +=! stop(y(i)) * y(i)", [0.0, 1.0], 1),
    ("input x(N); y(i) = log(x(i)); v +=! stop(y(i)) * x(i)", [-1.0, 1.0], 5)])
def test_what_is_behind_it_is_smooth(text: str, x: list[float], status: int) -> None:
    program = parse(text)
    program = simplify(with_status(gradient(program), program, ["x"]))
    assert evaluate(program, {"x": np.array(x)})["status"] == status


def test_a_function_or_a_tensor_of_this_name_hides_it() -> None:
    program = parse("def stop(x) = x*x\nv = stop(x)")
    assert evaluate(gradient(program), {"x": 3.0})["dv_dx"] == 6
    assert [n.message for n in program.notes] == ["'stop' hides the function of that name"]
    program = parse("input stop(N)\ns +=! stop(i)*stop(i)")
    assert list(evaluate(gradient(program), {"stop": np.array([1.0, 2.0])})["ds_dstop"]) == [2, 4]
