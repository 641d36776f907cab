"""The one door from text to Program: faults of reading and of meaning come together, and the prelude is read once."""
from __future__ import annotations

import pytest
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse, parse_source, tree_and_program
from adcli.lang.lower.library import prelude
from adcli.lang.syntax.scan import normal
from command import adcli as run
from command import succeeds
from same_programs import equal


def test_text_and_source_give_the_same_program():
    source = normal("v = x*sin(y)\r\n", "f.ad")
    assert equal(parse("v = x*sin(y)"), parse_source(source))
    assert equal(tree_and_program(source)[1], parse_source(source))
    assert parse_source(source).source is source


def test_faults_of_the_text_and_of_its_meaning_are_reported_together():
    with pytest.raises(AdError) as found:
        parse("u = (x\nv = sinn(x)\nw = x +")
    said = str(found.value)
    assert said.count("error:") >= 2 and "unknown function 'sinn'" in said


def test_the_functions_of_the_prelude_are_programs_of_the_language():
    assert prelude() is prelude()
    for name, template in prelude().items():
        arguments = ", ".join(f"x{i}" for i in range(len(template.params)))
        assert parse(f"v = {name}({arguments})").equations, name


# ---------------------------------------------------------------- outputs that are equations

@pytest.mark.parametrize("program, at, x", [
    ("cos(x) == x", {"x": 1.0}, 0.7390851332151607), ("x == cos(x)", {"x": 1.0}, 0.7390851332151607),
    ("v = (x**2 == a)", {"x": 1.0, "a": 3.0}, 3**0.5),
    ("c = x == 2\nv = c ? x : 2*x - 3", {"x": 1.0}, 1.5), ("f = x == 2\noutput f", {"x": 1.0}, 2.0),
    ("input x(N), b(N)\nr(i) = x(i)*x(i) == b(i)", {"x": "[1.0, 1.0]", "b": "[4.0, 9.0]"}, [2.0, 3.0])])
def test_an_output_may_be_an_equation(program, at, x, tmp_path):
    """At points, of a file, and in what is emitted."""
    path = tmp_path / "p.ad"
    path.write_text(program)
    for words in (("-e", program), (path,)):
        ended = succeeds("solve", *words, "--wrt", "x", "--at", ",".join(f"{k}={v}" for k, v in at.items()), "--format", "json")
        assert ended.records[0]["at"]["x"] == pytest.approx(x)
    assert "==" not in succeeds("solve", path, "--wrt", "x", "--emit", "text").out.split("\n", 4)[-1] or "c =" in program
    assert "is a truth value" in run("solve", "-e", "x >= 2", "--at", "x=1").err
