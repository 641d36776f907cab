"""Programs as modules of SymPy, which are read back; SymPy itself runs them in the tests of to_sympy."""
from __future__ import annotations

import pytest
from adcli.codegen.scripts.symbolic import module
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir import Primitive
from adcli.lang.ir.errors import AdError, Source
from adcli.lang.lower.frontend import parse, parse_source
from command import adcli
from one_operation import REAL, few_costly, program, samples
from row_tables import each_row

from adcli.from_sympy.module import read


@each_row("op", few_costly([op for op in REAL if op.name not in ("voigt", "inc_beta")]), ids=lambda op: op.name)
def test_an_operation_and_its_derivative_travel(op: Primitive) -> None:
    p = gradient(program(op))
    back = parse_source(read(Source("f.sympy", module(p, "f")), None, {}, {}))
    assert [x.name for x in back.params] == [x.name for x in p.params]
    for at in samples(op, 2):
        expected, found = (evaluate(q, at, FLOAT) for q in (p, back))
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


NAMES = "input lambda, E, x, x_\nsymbols = lambda*E - 1e-20\noutputs = select(x < 0, x_, -2**-symbols)*E\noutput symbols, outputs"


def test_words_of_python_and_of_sympy_are_no_names_of_values() -> None:
    text = module(parse(NAMES), "f")
    assert compile(text, "m", "exec") and max(map(len, text.splitlines())) <= 120
    back = parse_source(read(Source("f.sympy", text), None, {}, {}))
    at = {"lambda": 0.5, "E": 3.0, "x": 1.0, "x_": 7.0}
    assert evaluate(back, at, FLOAT) == pytest.approx(evaluate(parse(NAMES), at, FLOAT))


def test_a_module_goes_through_a_pipe_and_tensors_are_refused() -> None:
    text = adcli("grad", "samples/worked.ad", "--emit", "sympy").out
    assert adcli("eval", "-", "--from", "sympy", "--at", "x=2,y=5", "--fmt", "%.6g", stdin=text.encode()).out == \
        adcli("grad", "samples/worked.ad", "--at", "x=2,y=5", "--fmt", "%.6g").out
    with pytest.raises(AdError, match="tensors"):
        module(parse("input x(n); s +=! x(i)"), "f")
