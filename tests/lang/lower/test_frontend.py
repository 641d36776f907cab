"""The one door from text to Program: faults of reading and of meaning come together, and the prelude is read once."""
from __future__ import annotations

import pytest
from adcli.lang.ir.equal import equal
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse, parse_source, prelude, tree_and_program
from adcli.lang.syntax.source import normal


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
