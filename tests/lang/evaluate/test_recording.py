"""Programs with tensors written out as programs of numbers: the same values, also near the point, and each operation once."""
from __future__ import annotations

import numpy as np
import pytest
from adcli.lang.evaluate import FLOAT, evaluate, numpy_arithmetic
from adcli.lang.evaluate.recording import NumberTape, TooLong, element, written_out
from adcli.lang.ir import Program, Result
from adcli.lang.lower.frontend import parse
from row_tables import each_row

A = np.array([[2.0, 0.5], [-0.25, 3.0]])
PROGRAMS = {
    "sums": ("input A(M, N), x(N)\ny(i) +=! A(i, j) * sin(x(j))", {"A": A, "x": np.array([1.0, 2.0])}),
    "gather": ("input A(M, N)\nparam int32 k(M)\ny(i) = A(i, k(i))**2", {"A": A, "k": np.array([1, 0])}),
    "choice": ("input x(N)\ny(i) = x(i) > 0 ? exp(x(i)) : x(i)", {"x": np.array([-1.0, 2.0])}),
    "largest": ("input A(M, N)\ny(i) max=! A(i, j)", {"A": A}),
    "computed subscript": ("input x(N), p\nint32 k = floor(p)\ny = x(k) * p", {"x": np.array([1.0, 5.0]), "p": 1.5}),
    "loop": ("input x, h(N)\nh0(0) = x\nfor t in 0:3 {\n    h0(t + 1) = tanh(h0(t)) + x\n}\ny = h0(3) + h(0)",
             {"x": 0.3, "h": np.array([1.0])}),
    "matrices": ("input A(N, N), b(N)\nw = solve(A, b)\ny +=! w(i)\nz = logdet(A)", {"A": A, "b": np.array([1.0, -1.0])}),
    "held": ("input x(N)\ny(i) = x(i) * stop(exp(x(i)))", {"x": np.array([0.5, 1.0])}),
}


def recorded(program: Program, at: dict) -> tuple[NumberTape, list[Result]]:
    tape = NumberTape(1000)
    found = written_out(tape, program, tape.inputs(program.params, at))
    return tape, [Result(name, atom) for each in found.values() for name, atom in each.items()]


@each_row("name", PROGRAMS)
def test_what_is_written_out_has_the_values_of_the_program_at_the_point_and_near_it(name: str) -> None:
    text, at = PROGRAMS[name]
    program = parse(text)
    tape, results = recorded(program, at)
    for near in (0.0, 1e-3):
        moved = {n: x if np.asarray(x).dtype.kind == "i" else x + near for n, x in at.items()}
        again = {p.name: v for p, v in zip(tape.params, recorded(program, moved)[0].at.values(), strict=True)}
        found = evaluate(tape.program(results), again, FLOAT)
        want = evaluate(program, moved, numpy_arithmetic())
        for r in program.results:
            for place in np.ndindex(np.shape(want[r.name])):
                assert found[element(r.name, place)] == pytest.approx(np.asarray(want[r.name])[place], rel=1e-14)


def test_an_operation_is_written_once_and_products_with_a_zero_not_at_all() -> None:
    tape, _ = recorded(parse("input x(N)\ny = exp(x(0)) * 2 + exp(x(0)) * 2\nz(i) = 0 * x(i) + x(i)"), {"x": np.ones(3)})
    assert [e.op.name for e in tape.equations] == ["exp", "mul", "add"]


def test_a_tape_ends() -> None:
    tape = NumberTape(5)
    with pytest.raises(TooLong):
        written_out(tape, parse("input x(N)\ny(i) = exp(x(i))"), tape.inputs(parse("input x(N)\ny(i) = exp(x(i))").params,
                                                                             {"x": np.arange(9.0)}))
