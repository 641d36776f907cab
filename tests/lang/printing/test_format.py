"""The canonical form: its text, and that it changes no program and not itself."""

import pytest
from adcli.lang.ir.errors import Source
from adcli.lang.lower.frontend import parse
from adcli.lang.printing.format import format_tree
from adcli.lang.syntax.parse import parse_tree
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import check_format
from random_programs import Sample, law, samples
from same_programs import equal

MESSY = """#!/usr/bin/env adcli
# top


input x=2 in [0,2*pi],y   # the inputs
# about f
def f(a,b)->(u,v){   # head

  # inner
  t = a*(b # odd
     +1)
  u=square(t) ; v = t+(b+a) # two
  # end

} # after


def cube(a)=a*a*a
(p,q)=f(x, sin(y)); (_, z) = f(p, q)
(c,d) = (q*0x1p1, z+-2+ -(-pi) - neg(2) - neg(x**2))
w = (p+(q+z)) - (x - -y)**-(2)**x + (c<d && !(c<1 || x==1) ? c : ((d))) - +(x+y) + pow(x,1_000)
# last"""


def formatted(text: str, style: str = "infix") -> str:
    return format_tree(parse_tree(Source("t", text)), style)


def test_a_function_with_the_name_of_an_operation_stays_a_call() -> None:
    text = "def mul(a, b) = a * b + 1\nv = mul(x, y) * 2\n"
    assert formatted(text) == text
    assert formatted(text, "prefix") == "def mul(a, b) = add(a * b, 1)\nv = mul(x, y) * 2\n"


def check_round_trips(text: str) -> None:
    program = parse(text)
    for style in ("infix", "prefix"):
        once = formatted(text, style)
        assert equal(parse(once), program)
        assert formatted(once, style) == once


@pytest.mark.parametrize("text", [MESSY, "v = x", "v = 2\n\n\n# c", "s = s + 1; s = s * x", "(a, b) = (b + 1, a)",
                                  "def f(a) -> (u) { u = a*a*a }", "_ = x*x*2; v = sin(_) + i1"])
def test_round_trips(text: str) -> None:
    check_round_trips(text)


LEAVES = st.sampled_from(["x", "y", "z", "2", "0.5", "pi", "-3", "neg(2)"])
EXPRESSIONS = st.recursive(LEAVES, lambda inner: st.one_of(
    st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "**", "^"]), inner).map(lambda t: f"({t[0]}) {t[1]} {t[2]}"),
    st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "**"]), inner).map(lambda t: f"{t[0]}{t[1]}({t[2]})"),
    inner.map(lambda e: f"-({e})"), inner.map(lambda e: f"+({e})"), inner.map(lambda e: f"neg({e})"),
    inner.map(lambda e: f"sin({e})"), st.tuples(inner, inner).map(lambda t: f"max({t[0]}, {t[1]}, x)"),
    st.tuples(inner, inner, inner).map(lambda t: f"(({t[0]}) < y or not ({t[1]}) == 2 ? {t[1]} : {t[2]})"),
    st.tuples(inner, inner, inner).map(lambda t: f"select(and(lt({t[0]}, x), x > 1), {t[1]}, {t[2]})"),
), max_leaves=12)


@settings(max_examples=150, deadline=None)
@given(st.lists(EXPRESSIONS, min_size=1, max_size=4))
def test_any_program_round_trips(expressions: list[str]) -> None:
    check_round_trips("\n".join(f"v{i} = {e}" for i, e in enumerate(expressions)))


@law(195)
@given(samples())
def test_the_formatter_keeps_the_meaning_and_its_own_text(written: Sample) -> None:
    check_format(written.text)
    check_format(written.calls)

