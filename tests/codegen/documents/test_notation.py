"""Derivatives that are rows of the table as documents write them: right as numbers, and in the form that readers know."""
from __future__ import annotations

import math

import mpmath
import pytest
from adcli.codegen.documents.latex import equations
from adcli.codegen.documents.notation import WRITTEN_OUT, Unicode
from adcli.lang.derive.derivatives import gradient
from adcli.lang.ir.notation import ATOM, infix
from adcli.lang.lower.frontend import parse

AT = {"x": 1.7, "y": 2.3}


class Text(Unicode):
    """The notation of the language, which Python reads."""

    def operation(self, name, parts):
        return WRITTEN_OUT[name](self, parts) if name in WRITTEN_OUT else infix(name, parts)


def written(name, orders):
    notation = Text(str)
    return notation.operation(name, [("x", ATOM), ("y", ATOM), *[notation.number(float(n)) for n in orders]])[0]


@pytest.mark.parametrize("orders", [(m, n) for m in range(4) for n in range(4)])
def test_a_derivative_of_a_power_is_that_number(orders):
    right = float(mpmath.diff(lambda x, y: x**y, (AT["x"], AT["y"]), orders))
    assert eval(written("dpow", orders), {"log": math.log}, AT) == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize("n", range(6))
def test_a_derivative_of_xlogy_is_that_number(n):
    right = float(mpmath.diff(lambda x, y: x * mpmath.log(y), (AT["x"], AT["y"]), (0, n)))
    assert eval(written("dxlogy", (n,)), {"log": math.log}, AT) == pytest.approx(right, rel=1e-12)


def test_readers_see_formulas_of_books():
    text = equations(gradient(parse("v = x**y")))
    assert r"&= y \cdot x^{y - 1} \\" in text and r"&= x^{y} \cdot \ln x" in text
