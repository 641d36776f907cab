"""Expansions of every row of the table against multiple precision."""
from __future__ import annotations

import math

import pytest
from adcli.lang.analyse.limits import limits
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import FLOAT, evaluate, mpmath_arithmetic
from adcli.lang.evaluate.asymptotic import Beyond
from adcli.lang.evaluate.asymptotic_arithmetic import Expansions, literal
from adcli.lang.ir import Lit
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from session_seed import fixed, half

NAMES = [op.name for op in TABLE.values() if not op.truth and op.name not in ("dup", "select", "polygamma", "pown")]
ORDERS = (0, 1, 2)
"""What arguments that are integer constants may be."""
TEMPLATES = ("{f}*x/(x + x*x)", "({f} - y)/x", "x*log(x + 2)*{f}", "{f}/(1 + {f}*{f})")


@pytest.mark.parametrize("name", half(NAMES))
def test_every_primitive_expands_as_multiple_precision_has_it(name):
    """Values and derivatives at and about points where the operation is singular, bounded or smooth: at distances of 1e-20
    and 1e-60, in 400 digits, the program goes to the limit that was found."""
    arithmetic, r, compared = mpmath_arithmetic(400), fixed("test_every_primitive_expands_as_multiple_precision_has_it", name), 0
    op = TABLE[name]
    arguments = ["x", "x + 1", "x - 1", "2*x + 0.5", "y", "x*x"]
    for n in range(40):
        if n >= 4 and compared >= 4:
            return
        chosen = [str(r.choice(ORDERS)) if i in op.static else r.choice(arguments if i else arguments[:4])
                  for i in range(op.arity)]
        call = f"{name}({', '.join(chosen)})"
        text = r.choice(TEMPLATES).format(f=call)
        program = gradient(parse(f"input x, y\nv = {text}\n"), ["x"], None, "reverse")
        at = {"x": r.choice((0.0, 1.0, -1.0, 2.0)), "y": 0.75}
        for result in ("v", "dv_dx"):
            for word, side in limits(program, result, at, "x").sides.items():
                if side.value is None:
                    continue
                step = 1 if word == "right" else -1
                far, near = (evaluate(program, {**at, "x": arithmetic.constant(at["x"]) + arithmetic.constant(step) / 10 ** n},
                                      arithmetic)[result] for n in (20, 60))
                if math.isfinite(side.value):
                    gap = abs(near - side.value)   # where a logarithm is left, it is a third of what it was
                    assert gap <= max(1e-9 * max(1, abs(side.value)), abs(far - side.value) / 2), (text, at, result, word)
                else:
                    assert abs(near) > 1.5 * abs(far) and (near > 0) == (side.value > 0), (text, at, result, word)
                compared += 1
    raise AssertionError("hardly any limit was found")


def test_every_primitive_has_an_expansion_and_constants_come_out_as_floats():
    """The arithmetic of expansions on constants is that of floats."""
    functions = Expansions(4).arithmetic
    for op in TABLE.values():
        if op.truth or op.name in ("dup", "select"):
            continue
        args = [literal(2.0 if i in op.static else (low + high) / 2 + 0.0625) for i, (low, high) in
                enumerate((op.domain * 3)[:op.arity])]
        atoms = tuple(Lit(float(a.terms[0][1])) for a in args)
        made = functions.apply(op, args, atoms)
        want = FLOAT.apply(op, [a.value for a in atoms], atoms)
        assert not isinstance(made, Beyond), op
        assert (float(made.terms[0][1]) if made.terms else 0.0) == pytest.approx(want, rel=1e-12), op
