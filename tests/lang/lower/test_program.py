"""What the lines of a program come to: equations, inputs and outputs, tuples, functions, notes."""
from __future__ import annotations

import math
import pickle

import pytest
from adcli.lang.ir import Equation, Lit, Program
from adcli.lang.ir.errors import CalledSpan
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoints
from row_tables import each_row


def equations(program: Program) -> list[str]:
    def show(atom: object) -> str:
        return f"{atom.value:g}" if isinstance(atom, Lit) else str(getattr(atom, "name", None))
    return [f"{', '.join(show(o) for o in e.outs)} = {e.op.name}({', '.join(show(a) for a in e.args)})"
            for e in program.equations]


def interface(text: str) -> tuple[list[str], list[str]]:
    program = parse(text)
    return [p.name for p in program.params], [r.name for r in program.results]


def test_the_worked_example() -> None:
    program = parse("p = 7 * x\nr = 1 / y\nq = p * x * 5\nv = 2 * p * q + 3 * r\n")
    assert equations(program) == ["p = mul(7, x)", "r = div(1, y)", "i1 = mul(p, x)", "q = mul(i1, 5)", "i2 = mul(2, p)",
                                  "i3 = mul(i2, q)", "i4 = mul(3, r)", "v = add(i3, i4)"]
    assert [p.name for p in program.params] == ["x", "y"] and [r.name for r in program.results] == ["v"]


@each_row(("text", "inputs", "outputs"), [
    ("s = 0; s = s + x; s = s + y", ["x", "y"], ["s"]),
    ("s = s + x", ["s", "x"], ["s"]),
    ("b = x\na = y\nb = b + 1", ["x", "y"], ["a", "b"]),
    ("input y, x\nv = x * y * z", ["y", "x", "z"], ["v"]),
    ("v = x\nw = v\noutput w, v", ["x"], ["w", "v"]),
    ("output w\nv = x\nw = v\noutput v", ["x"], ["w", "v"]),
    ("input x\noutput x\nx = x + 1", ["x"], ["x"]),
    ("(a, _) = dup(x)\nb = y", ["x", "y"], ["a", "b"]),
    ("_ = x * 2\nv = sin(_)", ["x"], ["v"]),
    ("v = sin * gamma + e", ["sin", "gamma", "e"], ["v"]),
    ("pi = 3 * pi\nv = pi", [], ["v"]),
    ("#! /usr/bin/adcli\nα = β * x_1 # c", ["β", "x_1"], ["α"]),
    ("def f(a, b) -> (u, v) { u = a * b; v = a }", ["a", "b"], ["u", "v"]),
])
def test_inputs_and_outputs(text: str, inputs: list[str], outputs: list[str]) -> None:
    assert interface(text) == (inputs, outputs)


def test_declared_inputs() -> None:
    program = parse("input x = 2 in [0, 1e3], y in [-pi, 2 * pi]\ninput z in [-1, 1] = 0.5\nparam k = 9.81\nv = x*y*z*k")
    assert [(p.name, p.default, p.low, p.high, p.active) for p in program.params] == [
        ("x", 2.0, 0.0, 1000.0, True), ("y", None, -math.pi, 2 * math.pi, True), ("z", 0.5, -1.0, 1.0, True),
        ("k", 9.81, None, None, False)]


def test_tuples() -> None:
    program = parse("(a, b) = dup x\n(a, b) = (b * 2, a)\nu, v = (a, b)\n")
    assert equations(program) == ["a, b = dup(x)", "a = mul(b, 2)"]
    assert [getattr(r.atom, "name", None) for r in program.results] == ["a", "a"]


def test_functions_are_inlined() -> None:
    program = parse("def sq(a) = a * a\ndef f(a, b) -> (u, w) {\n  t = sq(a) + b\n  u = t * 2\n  w = b\n}\n(p, q) = f(x, sin(y))")
    assert equations(program) == ["i1 = sin(y)", "i2 = mul(x, x)", "t = add(i2, i1)", "p = mul(t, 2)"]
    assert [getattr(r.atom, "name", None) for r in program.results] == ["p", "i1"]


def test_integer_exponents_are_pown_also_as_arguments() -> None:
    ops = [e.op.name for e in parse("def f(a, n) = a**n\nv = f(x, 2) + x**y + pow(x, -3.0) + x**0.5").equations]
    assert [op for op in ops if op.startswith("pow")] == ["pown", "pow", "pown", "pow"]


def test_prelude_and_spans() -> None:
    text = "def f(a) = a * (a + 1)\nv = f(rsqrt(x))"
    spans = [text[e.span[0]:e.span[1]] for e in parse(text).equations if e.span]
    assert spans == ["rsqrt(x)", "rsqrt(x)", "a + 1", "a * (a + 1)"]


def calls(e: Equation) -> list[str]:
    found, call = [], e.span.call if isinstance(e.span, CalledSpan) else None
    while call is not None:
        found, call = [call.name, *found], call.outer
    return found


def test_an_operation_knows_the_calls_that_brought_it_and_so_do_its_adjoints() -> None:
    text = "def g(a) = a * rsqrt(a)\ndef f(x) = g(x) + 1\nv = f(f(x)) + sin(x)"
    program = parse(text)
    values = ["f/g/rsqrt"] * 2 + ["f/g", "f"]
    assert ["/".join(calls(e)) for e in program.equations] == [*values, *values, "", ""]
    outer = [e.span.call for e in program.equations if isinstance(e.span, CalledSpan) and e.span.call.outer is None]
    assert len(set(map(id, outer))) == 2 and [text[slice(*c.span)] for c in outer] == ["f(x)", "f(f(x))"]
    assert {"/".join(calls(e)) for e in adjoints(program).equations} == {*values, ""}
    assert pickle.loads(pickle.dumps(program.equations[0].span)) == program.equations[0].span


def test_truth_parameters() -> None:
    assert [e.op.name for e in parse("def p(c, a) = c ? a : 0\nv = p(x < 1, x)").equations] == ["lt", "select"]


def test_notes() -> None:
    notes = [n.message for n in parse("pi = 3\ns = x\ns = pi\ndef sin(a) = a\nv = sin(s)").notes]
    assert notes == ["'pi' hides the constant of that name", "the value assigned to 's' here is never used",
                     "'sin' hides the function of that name"]


@pytest.mark.no_cover
def test_a_long_chain_of_functions() -> None:
    chain = "".join(f"def f{i + 1}(x) = f{i}(x) + 1\n" for i in range(10_000))
    assert len(parse("def f0(x) = x * 2\n" + chain + "v = f10000(x)").equations) == 10_001
