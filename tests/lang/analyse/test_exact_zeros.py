"""What a 0 is: never called a root or a stationary point where guaranteed bounds exclude 0, nor underflow where it is one."""
from __future__ import annotations

import sys
from itertools import product

from adcli.lang.analyse.enclosure import sharpened
from adcli.lang.analyse.explain import Explainer, Question
from adcli.lang.derive.derivatives import gradient
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from command import succeeds
from one_operation import BESSEL, OTHER_FORMS, few_costly
from row_tables import each_row
from session_seed import half

EXTREME = (1e-320, 1e-300, 1e-200, 1e-9, 0.5, 1.0, 2.0, 30.0, 190.5, 750.0, 1e4, 1e160, 1e300)
POINTS = tuple(sorted({-x for x in EXTREME} | set(EXTREME)))
PAIRS = tuple(product((-1e300, -750.0, -2.0, 1e-300, 1e-160, 1.0, 6.0, 1e160, 1e300), repeat=2))
CLAIMS = {"root": "exact", "stationary": "exact", "zero factor": "exact", "underflow": "small", "tail": "not", "rounding": "not"}
"""What a kind of cause says of the number in exact arithmetic."""


CALLS = {"polygamma": ["polygamma(1, x)", "polygamma(2, x)", "polygamma(100, x)"], "pown": ["x**2", "x**3", "x**40", "x**-7"],
         "dpow": ["dpow(x, y, 1, 0)", "dpow(x, y, 0, 1)", "dpow(x, y, 2, 1)"], "dxlogy": ["dxlogy(x, y, 0)", "dxlogy(x, y, 1)"],
         "derfcx": ["derfcx(x, 0)", "derfcx(x, 1)"], "dsinc": ["dsinc(x, 1)"], "dexprel": ["dexprel(x, 1)"],
         "polygamma_gap": ["polygamma_gap(0, 0, x, y)"], "dgamma_p": ["dgamma_p(x, y, 1)"], "dzeta": ["dzeta(x, 1)"],
         "dhurwitz_zeta": ["dhurwitz_zeta(x, y, 1)"],
         "gamma_density": ["gamma_density(x, y, 0, 1)", "gamma_density(x, y, 1, 0)"],
         "voigt": ["voigt(x, y, 0.5)"], "dvoigt": ["dvoigt(x, 0.5, y, 1, 0)"],
         **{f"d{name}": [f"d{name}(x, y, 0, 1)", f"d{name}(x, y, 1, 0)"] for name in BESSEL},
         **{f"{name}{rest}": [f"{name}{rest}(2.5, 1.5, x{orders})"] for name in ("inc_beta", "inc_beta_logit")
            for rest, orders in (("", ""), ("_density", ", 0, 0, 1"))},
         **{f"d{name}": [f"d{name}(2.5, 1.5, x, 0, 1)"] for name in ("inc_beta", "inc_beta_logit")},
         "inc_betac": ["inc_betac(2.5, 1.5, x)"]}


def are_told_from_0(found):
    return all(x.thin or not (x.decoration and x.has(0)) for x in found)


def calls(op):
    return CALLS.get(op.name) or [f"{op.name}({', '.join('xyw'[:op.arity])})"]


SMOOTH = [op.name for op in few_costly([*TABLE.values()]) if not op.truth and not op.pieces and op.name not in (
    "dup", "select", "fma", "bessel_i", "bessel_j", "bessel_y", "owens_t", *OTHER_FORMS)]


@each_row("name", half(SMOOTH))
def test_a_zero_is_what_it_is_said_to_be(name):
    """At extreme points, against ball arithmetic of up to 4000 bits."""
    op = TABLE[name]
    for text in calls(op):
        program = parse(f"v = {text}\n")
        names = [p.name for p in program.params]
        derived = gradient(program, names, None, "reverse")
        for values in (((x,) for x in POINTS) if len(names) == 1 else PAIRS):
            if name == "sinc" and abs(values[0]) > 1e15:
                continue                                         # a root, as all doubles there
            at = dict(zip(names, values, strict=True))
            explainer = Explainer(program, at, names)
            found = {"v": (explainer.number(program.results[0].atom), Question(program.results[0].atom))}
            found |= {f"dv_d{x}": (y, q) for _, x, y, q in explainer.derivatives(program.results, False)}
            if not any(x == 0 for x, _ in found.values()):
                continue
            bounds, _ = sharpened(derived, {x: (y, y) for x, y in at.items()}, are_told_from_0)
            exact = dict(zip([r.name for r in derived.results], bounds, strict=True))
            for result, (x, question) in found.items():
                y = exact[result]
                for cause in explainer.causes(question) if x == 0 and y.decoration else ():
                    claim = CLAIMS.get(cause.kind)
                    if claim == "exact":
                        assert y.has(0), (text, at, result, cause)
                    elif claim == "small":
                        assert not (y.thin and y.lo == 0) and y.lo > -5e-324 and y.hi < 5e-324, (text, at, result, cause)
                    elif claim == "not":
                        assert not (y.thin and y.lo == 0), (text, at, result, cause)


def test_without_python_flint_nothing_is_claimed(monkeypatch):
    monkeypatch.setitem(sys.modules, "flint", None)
    monkeypatch.setattr("adcli.lang.analyse.explain.precise_arithmetic", lambda digits: __import__("flint"))
    text = succeeds("why", "-e", "v = gamma(x)", "--at", "x=-190.5").out
    assert "is -0.0: exactly, or by underflow: python-flint, which is not installed, would tell" in text
    assert "root" not in text and "stationary" not in text

