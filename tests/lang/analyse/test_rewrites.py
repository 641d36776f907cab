"""Rewrites that keep digits or finite numbers: each is shown where it helps, and none changes the function."""
from __future__ import annotations

import re

import pytest
from adcli.lang.analyse.rewrites import REWRITE_RULES
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.lower.frontend import parse
from command import succeeds
from row_tables import each_row

REWRITES = [
    ("sqrt(x*x + y*y)", "x=0,y=0", "hypot(x, y)"), ("sqrt(x**2 + y**2 + z**2)", "x=0,y=0,z=0", "hypot(x, y, z)"),
    ("sqrt((x - 1)**2)", "x=1", "abs(x - 1)"), ("sqrt(x)**2", "x=0", "x"), ("x*sqrt(x)", "x=0", "x**1.5"),
    ("sqrt(x)/x", "x=inf", "1/sqrt(x)"), ("x/sqrt(x)", "x=0", "sqrt(x)"), ("(x**2)**0.5", "x=0", "abs(x)"),
    ("exp(log(x))", "x=0", "x"), ("log(exp(x))", "x=800", "x"), ("log(1 + exp(x))", "x=800", "softplus(x)"),
    ("log1p(exp(x))", "x=800", "softplus(x)"), ("log(exp(x) + exp(y))", "x=800,y=1", "logaddexp(x, y)"),
    ("exp(x)/(1 + exp(x))", "x=800", "sigmoid(x)"), ("1/(1 + exp(-x))", "x=-800", "sigmoid(x)"),
    ("exp(x)/(exp(x) + exp(y))", "x=800,y=799", "sigmoid(x - y)"),
    ("(exp(x) - exp(-x))/(exp(x) + exp(-x))", "x=800", "tanh(x)"), ("(exp(x) - 1)/(exp(x) + 1)", "x=800", "tanh(x/2)"),
    ("log(cosh(x))", "x=800", "abs(x) + log1p(exp(-2*abs(x))) - log(2)"), ("log(sigmoid(x))", "x=-800", "-softplus(-x)"),
    ("log(1/(1 + exp(-x)))", "x=-800", "-softplus(-x)"), ("exp(x)/exp(y)", "x=800,y=799", "exp(x - y)"),
    ("exp(x)*exp(y)", "x=800,y=-799", "exp(x + y)"), ("1 - cos(x)", "x=1e-12", "2*sin(x/2)**2"),
    ("1 - cos(x)**2", "x=1e-12", "sin(x)**2"), ("log(1 + x)", "x=1e-17", "log1p(x)"), ("log(1 - x)", "x=1e-17", "log1p(-x)"),
    ("exp(x) - 1", "x=1e-17", "expm1(x)"), ("1 - exp(x)", "x=1e-17", "-expm1(x)"), ("1 - tanh(x)**2", "x=50", "1/cosh(x)**2"),
    ("1 - tanh(x)", "x=50", "2*sigmoid(-2*x)"), ("1 - sigmoid(x)", "x=50", "sigmoid(-x)"), ("1 - erf(x)", "x=10", "erfc(x)"),
    ("log(x) - log(y)", "x=inf,y=inf", None), ("sqrt(x + 1) - sqrt(x)", "x=1e40", "1/(sqrt(x + 1) + sqrt(x))"),
    ("sqrt(x + y) - sqrt(x)", "x=1e40,y=3", "y/(sqrt(x + y) + sqrt(x))"),
    ("x*x - y*y", "x=1e200,y=1e200", "(x - y)*(x + y)"), ("x*log(x)", "x=0", "xlogy(x, x)"),
    ("x*log(y)", "x=0,y=0", "xlogy(x, y)"), ("x*log(x/y)", "x=0,y=1", "xlogy(x, x/y)"),
    ("sin(x)/x", "x=0", "x == 0 ? 1 - x**2/6 : sin(x)/x"),
    ("(exp(x) - 1)/x", "x=0", "x == 0 ? 1 + x/2 + x**2/6 : expm1(x)/x"),
    ("log(1 + x)/x", "x=0", "x == 0 ? 1 - x/2 + x**2/3 : log1p(x)/x"),
    ("tan(x)/x", "x=0", "x == 0 ? 1 + x**2/3 : tan(x)/x"),
    ("x/x", "x=0", "1"), ("x/y*y", "x=1,y=0", "x"),
]


@each_row("text, at, new", REWRITES)
def test_a_rewrite_is_shown_where_it_helps(text, at, new):
    """And what it is said to give is what the rewritten program gives."""
    (record,) = succeeds("why", "-e", f"v = {text}", "--at", at, "--format", "json").records
    found = [group["rewrite"] for group in record["why"] if "rewrite" in group]
    assert {r["to"] for r in found if r["to"] == new} == ({new} if new else set()), record
    for rewrite in found:
        assert rewrite["from"] in text
        again = gradient(parse(f"v = {text}".replace(rewrite["from"], rewrite["to"])), None, None, "reverse")
        here = {name: float(x) for name, x in (part.split("=") for part in at.split(","))}
        got = evaluate(again, {p.name: here[p.name] for p in again.params}, FLOAT)
        for name, x in rewrite["gives"].items():
            assert got[name] == pytest.approx(x, rel=1e-13), name


@pytest.mark.parametrize("text", ["sin(2*x)/(2*x)", "(exp(x**2 + 3*x) - 1)/(x**2 + 3*x)", "log(1 + 3*x)/(3*x)", "tan(x)/x"])
def test_a_quotient_by_0_gets_its_second_derivative_too(text):
    """Whatever the argument is: it is that of the limit, and nothing that is said contradicts it."""
    ended = succeeds("why", "-e", f"v = {text}", "--at", "x=0", "--order", "2", "--limit")
    (new,) = re.findall(r"help: write (.*) for ", ended.out)
    limits = dict(re.findall(r"limit: (\w+) → (\S+) as x → 0.0, from either side", ended.out))
    found = evaluate(gradient(parse(f"v = {new}"), ["x"], None, "reverse", 2), {"x": 0.0}, FLOAT)
    assert {name: float(x) for name, x in limits.items()} == pytest.approx(found)
    assert "not -1/3" not in ended.out


def test_every_row_of_the_rewrites_is_tested():
    assert len(REWRITE_RULES) == len(REWRITES)

