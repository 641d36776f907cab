"""Derivatives that are rows of the table as documents write them: right as numbers, and in the form that readers know; and names
of programs in LaTeX."""
from __future__ import annotations

import math
import unicodedata

import mpmath
import pytest
from adcli.codegen.documents.latex import equations
from adcli.codegen.documents.notation import CAPITALS, LETTERS, WRITTEN_OUT, Unicode, latex_names
from adcli.lang.derive.derivatives import gradient
from adcli.lang.lower.frontend import parse
from adcli.lang.tree.notation import ATOM, infix
from row_tables import each_row

AT = {"x": 1.7, "y": 2.3}


class Text(Unicode):
    """The notation of the language, which Python reads."""

    def operation(self, name, parts):
        return WRITTEN_OUT[name](self, parts) if name in WRITTEN_OUT else infix(name, parts)


def written(name, orders):
    notation = Text(str)
    return notation.operation(name, [("x", ATOM), ("y", ATOM), *[notation.number(float(n)) for n in orders]])[0]


@each_row("orders", [(m, n) for m in range(4) for n in range(4)])
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


# ---------------------------------------------------------------- names in LaTeX

def test_names_in_latex_are_told_apart():
    names = ["x", "x_max", "alpha2", "α", "alpha", "long_one_here", "x1", "x_1"]
    found = dict(zip(names, latex_names(names), strict=True))
    assert found["x"] == ("x", "")
    assert found["x_max"] == ("x", r"\text{max}")
    assert found["alpha2"] == (r"\alpha", "2")
    assert found["α"] != found["alpha"]
    assert found["x1"] != found["x_1"]
    assert len(set(found.values())) == len(names)


@each_row(("name", "base", "index"), [
    ("x", "x", ""), ("x1", "x", "1"), ("x_1", "x", "1"), ("x_max", "x", r"\text{max}"), ("x_i", "x", "i"),
    ("x_Δ", "x", r"\text{Δ}"),
    ("long", r"\mathit{long}", ""), ("long_2", r"\mathit{long}", "2"), ("long_one_here", r"\mathit{long\_one\_here}", ""),
    ("_", r"\mathit{\_}", ""), ("_x", r"\mathit{\_x}", ""), ("x_", r"\mathit{x\_}", ""), ("x1y", r"\mathit{x1y}", ""),
    ("x12", "x", "12"),
    ("alpha", r"\alpha", ""), ("alpha_0", r"\alpha", "0"), ("α", r"\alpha", ""), ("ω2", r"\omega", "2"), ("Δ", r"\Delta", ""),
    ("Α", r"\textit{Α}", ""), ("ά", r"\textit{ά}", ""), ("é", r"\textit{é}", ""),
    ("größe", r"\textit{größe}", ""),
    ("Alpha", r"\mathit{Alpha}", ""), ("x_alpha", "x", r"\text{alpha}"), ("T_α", "T", r"\text{α}"),
    ("x(0)", "x", "0"), ("A(10, 2)", "A", "10,2"), ("x_m(0)", "x", r"m;\,0"),
    ("alpha(3)", r"\alpha", "3"), ("long(1)", r"\mathit{long}", "1"),
    ("ς", r"\textit{ς}", ""), ("ж", r"\textit{ж}", "")])
def test_a_name_in_latex(name, base, index):
    assert latex_names([name]) == [(base, index)]


def test_every_greek_letter_is_its_command_spelled_out_and_as_itself():
    commands = [*LETTERS, *CAPITALS]
    assert latex_names(commands) == [(f"\\{name}", "") for name in commands]
    words = [f"GREEK {'SMALL' if name.islower() else 'CAPITAL'} LETTER {name.upper()}" for name in commands]
    signs = [unicodedata.lookup(word.replace("LAMBDA", "LAMDA")) for word in words]
    assert latex_names(signs) == [(f"\\{name}", "") for name in commands]


def test_names_that_would_look_the_same_are_spelled_out():
    assert latex_names(["x1", "x_1", "x2"]) == [(r"\mathit{x1}", ""), (r"\mathit{x\_1}", ""), ("x", "2")]
    assert latex_names(["α", "alpha", "β"]) == [(r"\textit{α}", ""), (r"\mathit{alpha}", ""), (r"\beta", "")]
