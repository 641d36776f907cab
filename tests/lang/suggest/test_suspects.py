"""Inputs whose names mean something else elsewhere are noted, once, and only where they are inputs."""
from __future__ import annotations

import math
import timeit

from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.lower.frontend import parse
from adcli.lang.syntax.constants import CONSTANTS_ELSEWHERE
from back_ends import same
from row_tables import each_row


@each_row(("text", "said"), [
    ("v = e**x + e**(2*x)", ["'e' is an input here; for the exponential function write exp(x)"]),
    ("v = e^(-x)", ["'e' is an input here; for the exponential function write exp(-x)"]),
    ("v = e*x", []), ("input e\nv = e**x", []), ("e = 2\nv = e**x", []), ("v = x**e", []),
    ("v = PI*x + PI", ["'PI' is an input here; the constant is pi"]),
    ("v = x < Inf ? x : 0", ["'Inf' is an input here; the constant is inf"]),
    ("v = x·y", ["'x·y' is one name, with a middle dot in it; for a product write x*y"]),
    ("v = é*x", []), ("def f(e) = e**2\nv = f(x)", []),
])
def test_notes(text: str, said: list[str]) -> None:
    assert [n.message for n in parse(text).notes] == said


OF_OTHERS = {"e E": math.e, "PI Pi M_PI": math.pi, "Inf INF Infinity infinity oo": math.inf, "NaN NAN None": math.nan,
             "True true": 1.0, "False false": 0.0}


def test_constants_of_other_languages_are_those_here() -> None:
    meant = {name: x for names, x in OF_OTHERS.items() for name in names.split()}
    assert CONSTANTS_ELSEWHERE.keys() == meant.keys()
    for name, text in CONSTANTS_ELSEWHERE.items():
        assert same(evaluate(parse(f"v = {text}"), {}, FLOAT)["v"], meant[name]), name


def test_pi_has_two_names() -> None:
    assert evaluate(parse("v = π*x"), {"x": 2.0}, FLOAT) == evaluate(parse("v = pi*x"), {"x": 2.0}, FLOAT)
    assert [p.name for p in parse("input π\nv = π*x").params] == ["π", "x"]


def test_many_inputs_of_another_alphabet_take_no_longer_than_others() -> None:
    def seconds(letter: str) -> float:
        text = "v = " + " + ".join(f"a{i} * {letter}{i}" for i in range(400))
        return min(timeit.repeat(lambda: parse(text), number=1, repeat=3))
    assert seconds("β") < 5 * seconds("b")
