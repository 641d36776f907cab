"""Programs as JavaScript and as Python: the numbers of the reference, at every point."""
from __future__ import annotations

import json
import math
import re
import subprocess
from typing import Any

import pytest
from adcli.codegen.c.language import filled, listed, wrapped
from adcli.codegen.c.spelling import number as c_number
from adcli.codegen.c.spelling import operator
from adcli.codegen.scripts import javascript, matlab, python, rust
from adcli.lang.derive.derivatives import gradient
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from adcli.lang.tree.notation import ATOM, COMPARISON, PRODUCT, SUM, TERNARY, UNARY
from native_programs import long_program
from one_operation import REAL, few_costly, program
from row_tables import each_row
from script_programs import NODE

# ---------------------------------------------------------------- names and texts


def test_a_result_called_proto_is_no_prototype() -> None:
    assert '["__proto__"]: ' in javascript.module(parse("__proto__ = x * 2"), "f")


def test_a_loop_that_has_ended_is_left() -> None:
    module: dict[str, Any] = {}
    exec(python.module(parse("x(0) = a; x(1) = a + 1\nfor k in 1:1000000000 until abs(x(k+1) - x(k)) < 1e-9 "
                             "{ x(k+1) = x(k) - (x(k)**2 - 2)*(x(k) - x(k-1))/(x(k)**2 - x(k-1)**2) }\n"
                             "y = x(1000000000) - x(999999999) + x(999999998)"), "f"), module)
    assert module["f"](1.0) == pytest.approx(math.sqrt(2), rel=1e-15)


@pytest.mark.skipif(NODE is None, reason="no node")
@pytest.mark.parametrize("size", [javascript.PART_SIZE, 1])
def test_texts_of_sliders_are_numbers(size: int, tmp_path) -> None:
    p = parse("input x, y = 2\nv = x + y\nw = x\nu = v*x + y\noutput v, w, u")
    (tmp_path / "m.mjs").write_text(javascript.module(p, "f", size))
    asked = 'import {f} from "./m.mjs"; console.log(JSON.stringify([f("3", "-0.5"), f("4")]))'
    told = subprocess.run([str(NODE), "--input-type=module", "-e", asked], cwd=tmp_path, capture_output=True, check=True)
    assert json.loads(told.stdout) == [{"v": 2.5, "w": 3, "u": 7}, {"v": 6, "w": 4, "u": 26}]


@pytest.mark.parametrize("made", [javascript.module, python.module], ids=["js", "python"])
def test_a_module_has_the_functions_that_it_calls(made) -> None:
    for op in few_costly(REAL):
        text = made(gradient(program(op)), "f")
        defined = re.findall(r"^(?:export )?(?:function|def) (\w+)|^(_\w+) = ", text, re.M)
        for name in ("".join(pair) for pair in defined):
            assert name == "f" or len(re.findall(rf"\b{name}\(", text)) > 1 or f"{name} = " in text, (op, name)
        assert text.isascii() and max(map(len, text.splitlines())) < 300


@pytest.mark.parametrize("made", [javascript.module, python.module], ids=["js", "python"])
def test_what_a_language_lacks_is_refused(made, monkeypatch) -> None:
    for language in (javascript.LANGUAGE, python.LANGUAGE):
        monkeypatch.delitem(language.helpers, "erf")
    with pytest.raises(AdError, match="has no 'erf', and the table does not define it by other operations"):
        made(parse("v = erf(x)"), "f")


def test_a_long_program_is_in_parts() -> None:
    chain = parse("\n".join(["input x, a0", *(f"a{k + 1} = a{k} * x + {k % 7}" for k in range(3000)), "output a3000"]))
    assert javascript.module(chain, "f").count("function f_part") == 6
    assert javascript.module(long_program(300, 300), "f").count("function f") == 1


@each_row("spelling, parts, text", [
    ("-", [("a", ATOM)], "-a"), ("-", [("-a", UNARY)], "-(-a)"), ("!", [("a && b", COMPARISON)], "!(a && b)"),
    ("-", [("a", ATOM), ("b + c", SUM)], "a - (b + c)"), ("-", [("b + c", SUM), ("a", ATOM)], "b + c - a"),
    ("%", [("a * b", PRODUCT), ("c * d", PRODUCT)], "a * b % (c * d)"), ("===", [("a + b", SUM), ("c", ATOM)], "a + b === c"),
    ("Math.sin", [("a + b", SUM)], "Math.sin(a + b)"), ("+", [("a ? b : c", TERNARY), ("c", ATOM)], "(a ? b : c) + c")])
def test_parentheses(spelling: str, parts, text: str) -> None:
    assert operator(spelling, parts)[0] == text


@each_row("number", [c_number, javascript.number, matlab.number, python.number, rust.number])
@each_row("value", [-1.5, -0.0, -0.1, -1e300, -math.inf])
def test_a_negative_constant_has_parentheses_where_a_sign_has(number, value: float) -> None:
    """Without them -(-1.5) would be a decrement."""
    text, level = number(value)
    assert operator("-", [(text, level)])[0] == (f"-({text})" if text.startswith("-") else f"-{text}")
    assert number(-value)[1] == (UNARY if number is c_number and math.isinf(value) else ATOM)


def test_items_in_rows() -> None:
    assert wrapped("f(", ["a", "b"], ");") == ["f(a, b);"]
    lines = wrapped("    f(", ["abcdefg"] * 40, ");")
    assert (lines[0], lines[-1]) == ("    f(", "    );") and all(len(line) <= 120 for line in lines)
    assert filled([], 10) == [] and filled(["a" * 20], 10) == ["a" * 20 + ","]
    assert listed(list("abc")) == "a, b, c" and listed([f"x{i}" for i in range(90)]) == "x0, x1, …, x89"


def test_every_real_operation_is_spelled() -> None:
    """By the table, by other operations, or by a text of the language's own."""
    for language in (javascript.LANGUAGE, python.LANGUAGE):
        for op in TABLE.values():
            own = op.name in language.helpers or op.name in (language.definitions or ())
            assert op.name == "dup" or (language.spelling(op) is None) == (own or op.value is not None), (language.name, op)

