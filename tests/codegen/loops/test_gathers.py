"""Gathered registers: the numbers and the faults that one lane has."""
import numpy as np
import pytest
from adcli.codegen.modules.runtime import compile_tensors
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from row_tables import each_row

INPUTS = "input x(J), A(J, K, J)\nparam int32 I(E), int32 P(E), int32 Q(2*E), int32 B(E, K)\n"
PROGRAMS = {
    "a sum": "s +=! tanh(x(I(e)))",
    "elements": "y(e) = exp(x(I(e)))*x(e % J)",
    "an integer that is gathered": "s +=! x(I(P(e)))**2",
    "integers at a distance": "y(e) = sin(x(Q(2*e + 1)))",
    "two subscripts and an index": "y(e, k) = cos(A(I(e), k, P(e % E) % J))",
    "integers of rows": "s(e) +=! x(B(e, k))",
    "a computed subscript": "y(e) = x(floor(min(abs(x(I(e))*9), 4)))*2",
    "a sum onto elements": "y(I(e)) +=! tanh(x(I(e))) where float(J) y",
    "elements that are chosen": "y(I(e)) = x(I(e)) + 1 where float(J) y",
    "greatest of places": "y(I(e)) max=! x(I(e))*e where float(J) y",
}


def at(e: int, j: int) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(e)
    return {"x": draw.normal(size=j), "A": draw.normal(size=(j, 3, j)), "I": draw.integers(0, j, e),
            "P": draw.integers(0, max(e, 1), e), "Q": draw.integers(0, j, 2 * e), "B": draw.integers(0, j, (e, 3))}


def named(text: str, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {p.name: values[p.name] for p in parse(text).params}


@each_row("name", PROGRAMS)
def test_registers_have_the_numbers_of_one_lane(name: str) -> None:
    text = INPUTS + PROGRAMS[name]
    wide, one = compile_tensors(parse(text), lanes=4), compile_tensors(parse(text), lanes=1)
    for e in (0, 1, 3, 4, 5, 37):
        values = named(text, at(e, 5))
        found, want = wide(values), one(values)
        assert all(np.allclose(found[k], want[k], rtol=1e-14, atol=1e-14) for k in want), e


@each_row("name, source", [("a sum", "I"), ("an integer that is gathered", "P"), ("integers at a distance", "Q"),
                                          ("two subscripts and an index", "I"), ("a sum onto elements", "I")])
@each_row("places", [[0], [5], [36], [7, 2], [33, 34]])
def test_the_first_integer_outside_is_told(name: str, source: str, places: list[int]) -> None:
    text, values = INPUTS + PROGRAMS[name], at(37, 5)
    for k in places:
        values[source][2 * k + 1 if source == "Q" else k] = 100 + k
    said = []
    for lanes in (4, 1):
        with pytest.raises(AdError, match=f"{source}.*is out of range") as fault:
            compile_tensors(parse(text), lanes=lanes)(named(text, values))
        said.append(str(fault.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("text", ["s +=! tanh(x(I(e)))", "y(I(e)) +=! x(I(e))**2 where float(J) y"])
def test_gathers_are_vectorised(text: str) -> None:
    (step,) = compile_tensors(parse(INPUTS + text), lanes=4).module.steps
    assert step.schedules[0].vector is not None
