"""Multiple precision on Arb against mpmath: every function of both, at ordinary, special and far operands."""
from __future__ import annotations

import math

from adcli.lang.enclosures import precise_arithmetic
from adcli.lang.enclosures.multiple_precision import LIFTED
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.special_rows import DERIVATIVES
from multiple_precision import mpmath_arithmetic
from one_operation import SUMS, few_costly
from row_tables import each_row
from session_seed import fixed

PLAIN, PRECISE = mpmath_arithmetic(60), precise_arithmetic(60)
SPECIAL = (0.0, 1.0, -1.0, 2.0, 0.5, -0.5, 3.0, 1e-300, -1e-300, 1e300, 1e16, -1e16, 700.0, -700.0, 40.0)
WHOLE = {"pown": (1,), "polygamma": (0,), "derfcx": (1,), **{name: TABLE[name].static for name in DERIVATIVES}}


def operand(r, name, i):
    if i in WHOLE.get(name, ()):
        return float(r.randint(-5 if name == "pown" else 0, 1 if name in SUMS else 5))
    return r.choice((*SPECIAL, r.uniform(-3, 3), r.gauss(0, 1) * 10.0 ** r.randint(-10, 10)))


OWN = "add", "sub", "mul", "div", "neg", "abs", "max", "fmin", "copysign", "fma"


@each_row("name", [op.name for op in few_costly([TABLE[name] for name in sorted({*LIFTED, *OWN})])])
def test_functions_are_those_of_mpmath(name):
    r, count = fixed("test_functions_are_those_of_mpmath", name), max(TABLE[name].arity, 1 + (name in ("max", "hypot")))
    for _ in range(20 if name in SUMS else 40):
        operands = [operand(r, name, i) for i in range(count)]
        sizes = [abs(x) for x in operands]
        if name in SUMS and (max(sizes) > 2.0 ** 6 or ("beta" in name and any(0 < x < 2.0 ** -64 for x in sizes))):
            continue   # out of the reach of Arb, or slow there
        want = float(PLAIN.functions[name](*map(PLAIN.constant, operands)))
        got = float(PRECISE.functions[name](*map(PRECISE.constant, operands)))
        lost = got != got and not math.isfinite(want)
        assert got == want or lost or math.isclose(got, want, rel_tol=1e-15), (operands, got, want)


def test_digits_are_kept_and_exponents_have_no_end():
    exact, plain = precise_arithmetic(200), mpmath_arithmetic(200)
    third, one = exact.constant(1.0) / 3, exact.constant(1.0)
    assert abs(third * 3 - one) < exact.constant(10.0) ** -199 and third == abs(-third) != -third
    assert 0 < exact.functions["exp"](exact.constant(-1e9)) < exact.constant(10.0) ** -400_000_000
    assert exact.functions["sin"](exact.constant(1e300)) - float(plain.functions["sin"](plain.constant(1e300))) < 1e-16
    assert float(exact.functions["exp"](exact.constant(2.0) ** 700)) == math.inf
    nothing = exact.functions["log"](exact.constant(-1.0))
    assert nothing != nothing and math.isnan(float(nothing))
