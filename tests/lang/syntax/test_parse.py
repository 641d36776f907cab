"""The tree of a text: precedence, numbers, very long or deep programs, and text that is no program."""
import math

import pytest
from adcli.lang.derive.derivatives import gradient
from adcli.lang.ir import Lit
from adcli.lang.ir.errors import AdError, Source
from adcli.lang.lower.frontend import parse
from adcli.lang.printing.format import format_tree
from adcli.lang.syntax.parse import parse_tree
from adcli.lang.syntax.scan import is_bare_expression
from hypothesis import given, settings
from hypothesis import strategies as st
from random_programs import law
from row_tables import each_row
from same_programs import equal
from session_seed import half
from well_formed import check


def prefix(text: str) -> str:
    """The canonical prefix form of one expression."""
    return format_tree(parse_tree(Source("t", f"v = {text}")), "prefix").removeprefix("v = ").rstrip("\n")


@each_row(("text", "expected"), [
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


@each_row(("text", "value"), [
    ("2", 2.0), ("2.5", 2.5), (".5", 0.5), ("1.", 1.0), ("1e-3", 1e-3), ("0x1.8p-2", 0.375), ("0x10", 16.0), ("1_000.5", 1000.5),
    ("0.1", 0.1), ("1e-400", 0.0), ("-2", -2.0), ("-(2)", -2.0), ("--2", 2.0), ("-inf", -math.inf), ("pi", math.pi),
    ("5e-324", 5e-324), ("1.7976931348623157e308", 1.7976931348623157e308), ("0x1.fffffffffffff7p0", 2.0 - 2.0**-52),
])
def test_numbers(text: str, value: float) -> None:
    program = parse(f"v = {text}")
    atom = program.results[0].atom
    assert isinstance(atom, Lit) and atom.value == value and not program.equations


@each_row(("text", "bare"), [("x*sin(y)", True), ("a < b ? 1 : 2", True), ("v = x", False), ("x == y", False),
                                            ("x == y ? 1 : 2", True), ("x <- y", False), ("return x", False), ("2x", False),
                                            ("input x", False), ("", False), ("x; y", False), ("x  # c", True),
                                            ("s += x", False)])
def test_bare_expression(text: str, bare: bool) -> None:
    assert is_bare_expression(text) is bare


# Very long and very deep.

N = 20_000


def deep(n: int) -> list[str]:
    """Expressions n deep or n long, of every kind that nests."""
    return ["(" * n + "x" + ")" * n, "(" * n + "x" + " + 1)" * n, "(1 + " * n + "x" + ")" * n, "x" + " + x" * n,
            "-" * n + "x", "neg(" * n + "2" + ")" * n, "x**" * n + "2", "x < 1 ? 2 : " * n + "3",
            "x < 1 ? " * n + "2" + " : 3" * n, "sin(" * n + "x" + ")" * n]


@pytest.mark.parametrize("text", half([*deep(N)]), ids=lambda text: text[:12])
def test_depth(text: str) -> None:
    assert parse(f"v = {text}").results


@pytest.mark.parametrize("text", half([*deep(N // 10)]), ids=lambda text: text[:12])
def test_formatting_at_depth(text: str) -> None:
    program, tree = parse(f"v = {text}"), parse_tree(Source("t", f"v = {text}"))
    assert equal(parse(format_tree(tree)), program)
    assert equal(parse(format_tree(tree, "prefix")), program)


@pytest.mark.parametrize(("typed", "plain"), [
    ("input double x = 2 in [0, 3], y; v = x*y", "input x = 2 in [0, 3], y; v = x*y"),
    ("input float(N) x in [0, 1]; v +=! x(i)", "input x(N) in [0, 1]; v +=! x(i)"),
    ("input float(N, M) x in simplex, y(2) in ordered; v +=! x(i, j)*y(0)",
     "input x(N, M) in simplex, y(2) in ordered; v +=! x(i, j)*y(0)")])
def test_typed_inputs_have_defaults_and_ranges(typed: str, plain: str) -> None:
    assert equal(parse(typed), parse(plain))
    assert equal(parse(format_tree(parse_tree(Source("t", typed)))), parse(plain))


def test_any_text_gives_a_program_or_an_error() -> None:
    from adcli.lang.ir.errors import AdError
    pieces = ["x", "2", "(", ")", "+", "-", "=", "\n", ";", ",", "?", ":", "def ", "f", "{", "}", "->", "not ", "input ",
              "[", "]", " in ", "<", "**", "#", "dup ", "−", "+=!", "sin(", "_", "output "]

    @settings(max_examples=150, deadline=None)
    @given(st.lists(st.sampled_from(pieces), max_size=25).map("".join))
    def holds(text: str) -> None:
        try:
            program = parse(text)
        except AdError as fault:
            assert str(fault)
        else:
            assert equal(parse(format_tree(parse_tree(Source("t", text)))), program)
    holds()


@pytest.mark.parametrize("word", ["for", "where", "exists", "until", "down"])
def test_a_value_may_have_the_name_of_a_keyword(word: str) -> None:
    text = f"{word} = 2 * x\nv = 3 * {word} + {word}\n"
    named, plain = (parse(t) for t in (text, text.replace(word, "value")))
    assert [e.op for e in named.equations] == [e.op for e in plain.equations]


# ---------------------------------------------------------------- text that is no program

TOKENS = (
    "x", "y", "v", "f", "sin", "pow", "dup", "α", "where", "_", "input", "output", "param", "def", "in", "and", "or", "not",
    "2", ".5", "0x1p3", "1e999", "inf", "nan", "pi", "(", ")", "(", ")", "[", "]", "{", "}", ",", "=", "=", "=", "->",
    "+", "-", "*", "/", "**", "^", "<", "<=", ">", ">=", "==", "!=", "?", ":", "!", "&&", "||", ";", "\n", "\n", "\n", " ", "\r",
    "#", "+=", "+=!", "−", "“", "@", "\0", "x = ", "v = x", "(a, b) =", "def g(a) = a*a", "output v", "input x")


@law(975)
@given(st.lists(st.sampled_from(TOKENS), max_size=25), st.sampled_from(("", " ")))
def test_any_text_is_a_program_or_an_error_with_a_message(tokens: list[str], blank: str) -> None:
    text = blank.join(tokens)
    try:
        program = parse(text)
    except AdError as fault:
        assert "error" in str(fault)
        assert all(str(other) for other in fault.more)
    else:
        check(gradient(check(program)))
