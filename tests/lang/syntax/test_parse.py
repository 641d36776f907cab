"""What a text means: precedence, names, inputs and outputs, functions, and very long or deep programs."""
import math

import pytest
from adcli.lang.ir import Lit, Program
from adcli.lang.ir.equal import equal
from adcli.lang.ir.errors import Source
from adcli.lang.syntax.flatten import flatten
from adcli.lang.syntax.format import format_tree
from adcli.lang.syntax.parse import parse, parse_tree
from adcli.lang.syntax.scan import is_bare_expression
from hypothesis import given, settings
from hypothesis import strategies as st


def prefix(text: str) -> str:
    """The canonical prefix form of one expression."""
    return format_tree(parse_tree(Source("t", f"v = {text}")), "prefix").removeprefix("v = ").rstrip("\n")


def equations(program: Program) -> list[str]:
    def show(atom: object) -> str:
        return f"{atom.value:g}" if isinstance(atom, Lit) else str(getattr(atom, "name", None))
    return [f"{', '.join(show(o) for o in e.outs)} = {e.op.name}({', '.join(show(a) for a in e.args)})"
            for e in program.equations]


def interface(text: str) -> tuple[list[str], list[str]]:
    program = parse(text)
    return [p.name for p in program.params], [r.name for r in program.results]


@pytest.mark.parametrize(("text", "expected"), [
    ("a + b * c", "add(a, mul(b, c))"), ("a - b - c", "sub(sub(a, b), c)"), ("a - (b - c)", "sub(a, sub(b, c))"),
    ("a / b * c", "mul(div(a, b), c)"), ("-x**2", "neg(pow(x, 2))"), ("(-x)**2", "pow(neg(x), 2)"),
    ("2**-x", "pow(2, neg(x))"), ("a**b**c", "pow(a, pow(b, c))"), ("a ^ b", "pow(a, b)"), ("-a * b", "mul(neg(a), b)"),
    ("2**-x**2", "pow(2, neg(pow(x, 2)))"), ("2**-x * 3", "mul(pow(2, neg(x)), 3)"), ("a - -b", "sub(a, neg(b))"),
    ("+a", "a"), ("-2", "-2"), ("--2", "--2"), ("neg(2)", "neg(2)"), ("negate(x)", "neg(x)"), ("-(2 * x)", "neg(mul(2, x))"),
    ("a < b ? c : d", "select(lt(a, b), c, d)"), ("a < b ? c : a > b ? d : e", "select(lt(a, b), c, select(gt(a, b), d, e))"),
    ("a < 1 ? b < 1 ? c : d : e", "select(lt(a, 1), select(lt(b, 1), c, d), e)"),
    ("a < b or c < d and e < f ? 1 : 2", "select(or(lt(a, b), and(lt(c, d), lt(e, f))), 1, 2)"),
    ("not a < b && !(c < d) || e != f ? 1 : 2", "select(or(and(not(lt(a, b)), not(lt(c, d))), ne(e, f)), 1, 2)"),
    ("and(a < b, not(c < d)) ? 1 : 2", "select(and(lt(a, b), not(lt(c, d))), 1, 2)"),
    ("a + b < c * d ? 1 : 2", "select(lt(add(a, b), mul(c, d)), 1, 2)"),
    ("(a\n  +\n b)", "add(a, b)"), ("max(a, b, c)", "max(a, b, c)"),
])
def test_precedence(text: str, expected: str) -> None:
    assert prefix(text) == expected
    assert equal(parse(f"v = {text}"), parse(f"v = {expected}"))


@pytest.mark.parametrize(("text", "value"), [
    ("2", 2.0), ("2.5", 2.5), (".5", 0.5), ("1.", 1.0), ("1e-3", 1e-3), ("0x1.8p-2", 0.375), ("0x10", 16.0), ("1_000.5", 1000.5),
    ("0.1", 0.1), ("1e-400", 0.0), ("-2", -2.0), ("-(2)", -2.0), ("--2", 2.0), ("-inf", -math.inf), ("pi", math.pi),
    ("5e-324", 5e-324), ("1.7976931348623157e308", 1.7976931348623157e308), ("0x1.fffffffffffff7p0", 2.0 - 2.0**-52),
])
def test_numbers(text: str, value: float) -> None:
    program = parse(f"v = {text}")
    atom = program.results[0].atom
    assert isinstance(atom, Lit) and atom.value == value and not program.equations


def test_the_worked_example() -> None:
    program = parse("p = 7 * x\nr = 1 / y\nq = p * x * 5\nv = 2 * p * q + 3 * r\n")
    assert equations(program) == ["p = mul(7, x)", "r = div(1, y)", "i1 = mul(p, x)", "q = mul(i1, 5)", "i2 = mul(2, p)",
                                  "i3 = mul(i2, q)", "i4 = mul(3, r)", "v = add(i3, i4)"]
    assert [p.name for p in program.params] == ["x", "y"] and [r.name for r in program.results] == ["v"]


@pytest.mark.parametrize(("text", "inputs", "outputs"), [
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


def test_truth_parameters() -> None:
    assert [e.op.name for e in parse("def p(c, a) = c ? a : 0\nv = p(x < 1, x)").equations] == ["lt", "select"]


def test_notes() -> None:
    notes = [n.message for n in parse("pi = 3\ns = x\ns = pi\ndef sin(a) = a\nv = sin(s)").notes]
    assert notes == ["'pi' hides the constant of that name", "the value assigned to 's' here is never used",
                     "'sin' hides the function of that name"]


@pytest.mark.parametrize(("text", "bare"), [("x*sin(y)", True), ("a < b ? 1 : 2", True), ("v = x", False), ("x == y", True),
                                            ("input x", False), ("", False), ("x; y", False), ("x  # c", True),
                                            ("s += x", False)])
def test_bare_expression(text: str, bare: bool) -> None:
    assert is_bare_expression(text) is bare


# Very long and very deep.

N = 100_000


def deep(n: int) -> list[str]:
    """Expressions n deep or n long, of every kind that nests."""
    return ["(" * n + "x" + ")" * n, "(" * n + "x" + " + 1)" * n, "(1 + " * n + "x" + ")" * n, "x" + " + x" * n,
            "-" * n + "x", "neg(" * n + "2" + ")" * n, "x**" * n + "2", "x < 1 ? 2 : " * n + "3",
            "x < 1 ? " * n + "2" + " : 3" * n, "sin(" * n + "x" + ")" * n]


@pytest.mark.parametrize("text", deep(N), ids=lambda text: text[:12])
def test_depth(text: str) -> None:
    assert parse(f"v = {text}").results


@pytest.mark.parametrize("text", deep(N // 10), ids=lambda text: text[:12])
def test_formatting_at_depth(text: str) -> None:
    program, tree = parse(f"v = {text}"), parse_tree(Source("t", f"v = {text}"))
    assert equal(parse(format_tree(tree)), program)
    assert equal(parse(format_tree(flatten(tree), "prefix")), program)


def test_a_long_chain_of_functions() -> None:
    chain = "".join(f"def f{i + 1}(x) = f{i}(x) + 1\n" for i in range(10_000))
    assert len(parse("def f0(x) = x * 2\n" + chain + "v = f10000(x)").equations) == 10_001


def test_any_text_gives_a_program_or_an_error() -> None:
    from adcli.lang.ir.errors import AdError
    pieces = ["x", "2", "(", ")", "+", "-", "=", "\n", ";", ",", "?", ":", "def ", "f", "{", "}", "->", "not ", "input ",
              "[", "]", " in ", "<", "**", "#", "dup ", "−", "+=!", "sin(", "_", "output "]

    @settings(max_examples=400, deadline=None)
    @given(st.lists(st.sampled_from(pieces), max_size=25).map("".join))
    def holds(text: str) -> None:
        try:
            program = parse(text)
        except AdError as fault:
            assert str(fault)
        else:
            assert equal(parse(format_tree(parse_tree(Source("t", text)))), program)
    holds()
