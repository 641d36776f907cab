"""Statements that mean several plain ones: tensors that are written out, and several targets of one statement."""
from __future__ import annotations

import numpy as np
import pytest
from adcli.lang.evaluate import evaluate
from adcli.lang.ir.errors import AdError, Source
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoints
from adcli.lang.printing.format import format_tree
from adcli.lang.syntax.parse import parse_tree
from adcli.lang.syntax.scan import normal
from row_tables import each_row
from session_seed import drawn
from source_laws import check_source
from tensor_laws import NUMPY, direction
from well_formed import check

from adcli.lsp.scopes import ScopedNames

KERNEL = "input u(N), a\nk = [1, -2, a]\nR = [[a, 0], [sin(a), 1]]\nd(i) +=! u(i + j) * k(j)\nv(i, n) = d(i)**2 * R(n, 0)"


def test_lists_are_tensors_of_their_elements_in_every_law() -> None:
    r = drawn("lists")

    def reference(u: np.ndarray, a: float) -> np.ndarray:
        d = u[:-2] - 2*u[1:-1] + a*u[2:]
        return d[:, None]**2 * np.array([a, np.sin(a)])
    check_source(KERNEL, {"u": direction(r, (6,)), "a": 0.75}, reference, r)


def test_lists_nest_and_stay_as_they_are_written() -> None:
    text = "k = [[[1, 2], [3, 4]], [[5, 6], [7, -8.5]]]\n"
    assert evaluate(check(parse(f"{text}output k")), {}, NUMPY)["k"].tolist() == [[[1, 2], [3, 4]], [[5, 6], [7, -8.5]]]
    whole = parse("input x(N)\nint32 rows = [2, 0]\ny(i) = x(rows(i))")
    assert evaluate(check(whole), {"x": np.arange(3.0)}, NUMPY)["y"].tolist() == [2, 0]
    inside = parse("def f(float(N) x) -> (y) { k = [1, 2]; y(i) +=! x(i + j) * k(j) }\n")
    assert evaluate(check(inside), {"x": np.arange(3.0)}, NUMPY)["y"].tolist() == [2, 5]
    names = parse("i = 2*x\nj = 3\nk = [i, j]\nv = k(0) + k(1)")
    assert evaluate(check(names), {"x": 2.0}, NUMPY)["v"] == 7


def test_a_list_has_no_more_elements_than_allowed() -> None:
    with pytest.raises(AdError, match="at most 256 elements"):
        parse(f"k = [{', '.join('1' * 300)}]")


def test_the_formatter_keeps_lists() -> None:
    assert format_tree(parse_tree(normal("k=[1,-2 ,\n  1]\nR = [[a,0],[ 1,2]]", "t"))) == "k = [1, -2, 1]\nR = [[a, 0], [1, 2]]\n"


# ---------------------------------------------------------------- several targets

RATE = "def rate(u, v, a) -> (du, dv) { p = u*v; du = a*u - p; dv = p - v }\n"
SAME = [   # a text with tuples, and one without
    ("input x(N); (u(i), v(i)) = (x(i) + 1, x(i)**2); (u(i), v(i)) = (v(i), u(i))",
     "input x(N); v(i) = x(i) + 1; u(i) = x(i)**2; output u, v"),
    (RATE + "input x(N), a; (p(i), q(i)) = rate(x(i), sin(x(i)), a)",
     "input x(N), a; p(i) = a*x(i) - x(i)*sin(x(i)); q(i) = x(i)*sin(x(i)) - sin(x(i))"),
    (RATE + "input x(N), a; (_, q(i)) = rate(x(i), 2, a) where i in 1:N", "input x(N), a; q(i) = x(i)*2 - 2 where i in 1:N"),
    ("input x(N); (s, w(i)) = (x(0), 2*x(i))", "input x(N); s = x(0); w(i) = 2*x(i)"),
    ("input x(N); p(i), q(i) = dup(x(i))", "input x(N); p(i) = x(i); q(i) = x(i)"),
    (RATE + """input x(N), a; (u(0), v(0)) = (x(0), x(1))
     for t in 0:4 { (k(t), l(t)) = rate(u(t), v(t), a); (u(t+1), v(t+1)) = (u(t) + 0.1*k(t), v(t) + 0.1*l(t)) }
     output u, v""", """input x(N), a; u(0) = x(0); v(0) = x(1)
     for t in 0:4 { u(t+1) = u(t) + 0.1*(a*u(t) - u(t)*v(t)); v(t+1) = v(t) + 0.1*(u(t)*v(t) - v(t)) }
     output u, v"""),
    (RATE + "input x(N), a; (u(0), v(0), u(1)) = (x(0), 2, a); (u(2), u(3)) = rate(x(1), x(2), a)\n"
     "for t in 0:2 { u(t+4) = u(t) - u(t+3); v(t+1) = v(t) + u(t+1) }",
     "input x(N), a; u(0) = x(0); u(1) = a; u(2) = a*x(1) - x(1)*x(2); u(3) = x(1)*x(2) - x(2); v(0) = 2\n"
     "for t in 0:2 { u(t+4) = u(t) - u(t+3); v(t+1) = v(t) + u(t+1) }"),
    ("input x(N); def f(float(N) x) -> (a, b) { (a(i), b(i)) = (x(i) + 1, 2*x(i)) }; (p, q) = f(x)",
     "input x(N); p(i) = x(i) + 1; q(i) = 2*x(i)"),
]


def values(program):
    point = {"x": np.array([0.5, -1.25, 2.0]), "a": 0.75}
    found = evaluate(program, {q.name: point[q.name] for q in program.params})
    return {k: np.asarray(v, float).tolist() for k, v in found.items()}


@each_row(("text", "plain"), SAME)
def test_a_tuple_of_elements_is_a_statement_for_each(text, plain):
    program, reference = parse(text), parse(plain)
    found, wanted = values(program), values(reference)
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-15)
    assert {r.name for r in adjoints(program).results} == {r.name for r in adjoints(reference).results}


@each_row(("text", "_"), SAME)
def test_formatted_text_is_the_same_program(text, _):
    tree = parse_tree(Source("t", text))
    once = format_tree(tree)
    assert format_tree(parse_tree(Source("t", once))) == once
    assert values(parse(once)) == values(parse(text))
    places = [(o.start, o.end) for o in ScopedNames(tree).all()]
    assert len(places) == len(set(places)) and all(text[a:b].isidentifier() for a, b in places)
