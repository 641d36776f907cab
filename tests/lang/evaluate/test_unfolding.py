"""Programs with tensors written out as programs of numbers: the values are those of the reference evaluation in doubles."""
from __future__ import annotations

import numpy as np
import pytest
from adcli.lang.evaluate import evaluate
from adcli.lang.evaluate.recording import elements_of, evaluations, length, unfolded
from adcli.lang.ir.rounded import meaning
from adcli.lang.lower.frontend import parse
from tensors_at_points import PROGRAMS


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_numbers_are_those_of_the_tensors(name):
    text, at = PROGRAMS[name]
    program = parse(text)
    whole = unfolded(program, at)
    found = evaluate(whole.program, whole.at)
    for result, expected in evaluate(program, at).items():
        place = np.ndindex(np.shape(expected))
        numbers = [found[f"{result}({', '.join(map(str, p))})" if p else result] for p in place]
        np.testing.assert_allclose(np.reshape(numbers, np.shape(expected)), expected, rtol=1e-12)
    assert len(whole.program.equations) <= 3 * length(program, at) + 20


def test_statements_of_loops_are_carried_out_at_every_step():
    text = ("input x(N, M)\ns(0, j) = x(0, j)\nfor t in 0:N {\n s(t+1, j) = s(t, j) + x(t, j)\n y(t, j) = s(t, j)\n}\n"
            "v +=! y(i, j)")
    few, many = (evaluations(parse(text), {"x": np.zeros((n, 5))}) for n in (100, 1100))
    assert 2000 <= many - few <= 3000 and few <= 310
    assert evaluations(parse("input x(N); v +=! x(i)"), {"x": np.zeros(10**6)}) == 1


def test_every_number_belongs_to_an_element_and_has_a_place():
    text, at = PROGRAMS["a loop with lags"]
    program = unfolded(parse(text), at).program
    names = elements_of(program)
    assert {names[o] for e in program.equations for o in e.outs} >= {"a(0, 0)", "h(4, 2)", "L"}
    assert all(e.span for e in program.equations)


def test_what_constants_give_is_a_constant_that_knows_what_it_was_rounded_from():
    whole = unfolded(parse("input x(n)\ny(i) = x(i)*(1/(i+3)) + stop(x(i))*(0*i)"), {"x": np.ones(2)})
    products = [e.args[1].value for e in whole.program.equations if e.op.name == "mul"]
    assert [str(meaning(x)) for x in products] == ["('div', 1.0, 3.0)", "0.0", "0.25", "0.0"]
    assert [e.op.name for e in whole.program.equations[:4]] == ["mul", "stop", "mul", "add"]
