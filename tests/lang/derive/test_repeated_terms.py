"""Programs that are written out have the values and derivatives of the statements that are made of their terms."""
from __future__ import annotations

import random

import numpy as np
import pytest
from adcli.lang.derive.repeated_terms import OTHERS, UNKNOWNS, repeated
from adcli.lang.evaluate import evaluate, numpy_arithmetic
from adcli.lang.lower.frontend import parse
from session_seed import fixed, half

from adcli.solvers import scalar_function
from adcli.solvers.scalar_function import ScalarVectorFunction, vector_function

TERMS = ["100*(x{j} - x{i}**2)**2", "sin({r}*x{i})*x{j}", "-x{i}/(a + x{j}**2)", "(x{i} > {r} ? x{i}**2 : {r}*x{j})", "{r}*x{i}",
         "x{i}*x{i}"]


def written(r: random.Random, terms: int = 300, unknowns: int = 12) -> str:
    """Two outputs that are sums of terms of inputs that are drawn."""
    lines = ["input " + ", ".join(f"x{i}" for i in range(unknowns)), "param a", "v = 0.3", "w = x0"]
    for _ in range(terms):
        i, j = r.sample(range(unknowns), 2) if r.randrange(8) else [r.randrange(unknowns)] * 2
        term = r.choice(TERMS).format(i=i, j=j, r=round(r.uniform(0.1, 2), 3))
        name = r.choice("vw")
        lines.append(f"{name} = {name} {r.choice('+-')} {term}")
    return "\n".join([*lines, "output v, w"])


@pytest.mark.parametrize("number", half(range(2)))
def test_terms_of_a_shape_are_one_statement(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program = parse(written(fixed("terms", number)))
    names = [p.name for p in program.params if p.name != "a"]
    made = repeated(program, names)
    assert made is not None
    assert len(made.program.equations) < 3 * len(TERMS)
    x, v = np.linspace(0.4, 1.7, len(names)), np.array([0.7, -1.3])
    at = {UNKNOWNS: x, OTHERS: np.array([1.5]), **made.data}
    plain = ScalarVectorFunction(program, names, {"a": 1.5})
    np.testing.assert_allclose(evaluate(made.program, at, numpy_arithmetic())["y"], plain.fun(x) - [0.3, 0], rtol=1e-12)
    monkeypatch.setattr(scalar_function, "LONG", 1)
    f = vector_function(program, names, {"a": 2.5}, {}).elsewhere({"a": 1.5, **dict.fromkeys(names, 1.0)})
    dense = plain.hess(x, v)
    np.testing.assert_allclose(f.hess(x, v), dense, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(f.jac(x), plain.jac(x), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(f.hessp(x, v, x), dense @ x, rtol=1e-9)


def test_what_shares_much_or_is_of_many_shapes_is_left() -> None:
    chain = "input x\na0 = sin(x)\n" + "".join(f"a{k + 1} = sin(a{k})*x\n" for k in range(300)) + "v = a300\noutput v"
    shapes = "input x\nv = " + " + ".join("sin(" * k + "x" + ")" * k for k in range(1, 40)) + "\noutput v"
    assert repeated(parse(chain), ["x"]) is None
    assert repeated(parse(shapes), ["x"]) is None
