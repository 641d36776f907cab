"""One element of a tensor as a program of numbers: for every element of every value the same number as the whole program has."""
from __future__ import annotations

import numpy as np
import pytest
from adcli.lang.evaluate import evaluate, every_value, numpy_arithmetic, one_element
from adcli.lang.evaluate.one_element import Element, KnownValues
from adcli.lang.evaluate.recording import TooLong
from adcli.lang.ir.reductions import in_sums
from adcli.lang.lower.frontend import parse
from tensors_at_points import PROGRAMS

MORE = {
    "sums onto what is there": ("input x(n)\ny(i) = x(i)\ny(i) += x(j)*i\nz = y(0) > 2 ? log(x(1)) : 3\noutput y, z",
                                {"x": np.arange(1.0, 4.0)}),
    "batches of matrices": ("input A(b, n, n), c(b, n)\nx(k) = solve(A(k), c(k))\noutput x",
                            {"A": np.arange(18.0).reshape(2, 3, 3)**2 % 7 + np.eye(3), "c": np.arange(6.0).reshape(2, 3)}),
}


def elements(text: str, at: dict) -> KnownValues:
    program = in_sums(parse(text))
    return KnownValues(program, every_value(program, at, numpy_arithmetic()))


@pytest.mark.parametrize(("text", "at"), [*PROGRAMS.values(), *MORE.values()], ids=[*PROGRAMS, *MORE])
def test_every_element_is_that_of_the_program(text: str, at: dict) -> None:
    all_of = elements(text, at)
    for var in {o for e in all_of.program.equations for o in e.outs if not o.truth}:
        for place in np.ndindex(np.shape(all_of.values[var])):
            made = all_of.made(Element(var, place))
            (found,) = evaluate(made.program, made.at).values()
            np.testing.assert_allclose(found, all_of.number(Element(var, place)), rtol=1e-12, atol=1e-14)


def test_what_is_read_is_named_as_people_write_it() -> None:
    all_of = elements(*PROGRAMS["a loop with lags"])
    (a,) = (o for e in all_of.program.equations for o in e.outs if all_of.names[o] == "a")
    assert set(all_of.made(Element(a, (2, 1))).read) == {f"W(1, {j})" for j in range(3)} | {f"h(2, {j})" for j in range(3)}
    given = all_of.made(Element(all_of.program.params[0].var, (0, 0)))
    assert not given.read and given.program.results[0].name == "W(0, 0)"


def test_a_statement_that_is_too_long_for_one_element_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_element, "MOST_POINTS", 4)
    all_of = elements("input x(n)\ns +=! x(i)", {"x": np.ones(5)})
    with pytest.raises(TooLong):
        all_of.made(Element(all_of.program.results[0].atom, ()))
