"""Names of programs in LaTeX."""
from __future__ import annotations

import unicodedata

import pytest
from adcli.codegen.documents.latex_names import CAPITALS, LETTERS, latex_names


def test_names_in_latex_are_told_apart():
    names = ["x", "x_max", "alpha2", "α", "alpha", "long_one_here", "x1", "x_1"]
    found = dict(zip(names, latex_names(names), strict=True))
    assert found["x"] == ("x", "")
    assert found["x_max"] == ("x", r"\text{max}")
    assert found["alpha2"] == (r"\alpha", "2")
    assert found["α"] != found["alpha"]
    assert found["x1"] != found["x_1"]
    assert len(set(found.values())) == len(names)


@pytest.mark.parametrize(("name", "base", "index"), [
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
