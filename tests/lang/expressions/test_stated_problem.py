"""`minimize`, `maximize` and `subject to`: how they read, what they become, and that they are names everywhere else."""
from __future__ import annotations

import pickle

import pytest
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse, tree_and_program
from adcli.lang.operations.activity import without_problem
from adcli.lang.printing.format import format_tree
from adcli.lang.printing.printer import STYLES, print_program
from adcli.lang.syntax.scan import normal
from adcli.lang.tree.nodes import Objective, SubjectTo
from row_tables import each_row

import adcli

T = "input x(N), y(N), A(N, M); param hi(N), t; v +=! x(i)**2; "


def conditions(text):
    return [(c.text, c.first, *(len(a.shape) for a in c.parts)) for c in parse(text).problem.conditions]


@each_row("text, stated", [
    ("minimize (x-1)^2+y\nsubject to x+y<=2, 0 <= y <= 1", [("x+y<=2", (), 0, 0), ("0 <= y <= 1", (), 0, 0, 0)]),
    ("subject to g >= 2*(x - 1)\ng = x*y", [("g >= 2*(x - 1)", (), 0, 0)]),
    ("v = x; subject to (x < 1 ? x : 2) == 3", [("(x < 1 ? x : 2) == 3", (), 0, 0)]),
    (T + "subject to x <= hi", [("x(i) <= hi(i)", ("0",), 1, 1)]),
    (T + "subject to x(i) <= hi(i)", [("x(i) <= hi(i)", ("0",), 1, 1)]),
    (T + "subject to -hi <= 2*x <= hi", [("-hi(i) <= 2*x(i) <= hi(i)", ("0",), 1, 1, 1)]),
    (T + "subject to x(k+1) - x(k) <= t", [("x(i+1) - x(i) <= t", ("0",), 1, 0)]),
    (T + "subject to x(k) - x(k-1) == 0", [("x(i) - x(i-1) == 0", ("1",), 1, 0)]),
    (T + "subject to x(i+1) <= hi(i)", [("x(i+1) <= hi(i)", ("0",), 1, 0)]),   # of the difference
    (T + "subject to x(i) <= 2*i", [("x(i) <= 2*i", ("0",), 1, 0)]),
    (T + "subject to 0 <= x(i) <= A(i, j)", [("0 <= x(i)", ("0",), 0, 1), ("x(i) <= A(i, j)", ("0", "0"), 2, 0)]),
    (T + "subject to x(i) <= hi(i) where i in 1:N - 1", [("x(i) <= hi(i)", ("1",), 1, 1)]),
    (T + "subject to A(i, j)*x(i) <= 3", [("A(i, j)*x(i) <= 3", ("0", "0"), 2, 0)]),
    (T + "subject to A(j, i)*x(j) <= t*N, x(0) == x(N - 1)", [("A(i, j)*x(i) <= t*N", ("0", "0"), 2, 0),
                                                           ("x(0) == x(N - 1)", (), 0, 0)]),
    (T + "def f(float(N) a) -> (b) { b(i) = 2*a(i) }\nsubject to f(x) <= 1, f(x) <= hi",
     [("f(x)(i) <= 1", ("0",), 1, 0), ("f(x)(i) <= hi(i)", ("0",), 1, 1)]),
    (T + "def f(float(N) a) -> (b) { b +=! a(i) }\nsubject to f(x) <= 1", [("f(x) <= 1", (), 0, 0)]),
])
def test_conditions_and_that_they_read_back(text, stated):
    assert conditions(text) == stated
    tree, program = tree_and_program(normal(text, "f"))
    assert program.results and {r.name for r in program.results} <= {"v", "g", "objective"}
    for written in (format_tree(tree), *(print_program(program, style) for style in STYLES)):
        again = parse(written)
        assert [r.name for r in again.results] == [r.name for r in program.results]
        assert [len(c.parts) for c in again.problem.conditions] == [len(c.parts) for c in program.problem.conditions]
        assert written in (format_tree(tree_and_program(normal(written, "f"))[0]), *(print_program(again, s) for s in STYLES))


@each_row("text", [
    "minimize = 3\nmaximize = minimize*x\nsubject = 2; to = subject", "maximize (i) = 3*i where i in 0:2", "minimize + 3",
    "minimize and x",
    "def minimize(x) = x\nv = minimize (3)", "input subject, to\nv = subject - to", "minimize(i) +=! to(i, j)",
    "subject, to = (1, 2)",
])
def test_the_words_are_names_where_no_statement_begins(text):
    text = f"input to(N, M)\n{text}" if "to(i" in text else text
    tree, _ = tree_and_program(normal(text, "f")) if "and" not in text else (parse_only(text), None)
    assert not any(isinstance(s, Objective | SubjectTo) for s in tree.statements)


def parse_only(text):
    from adcli.lang.syntax.parse import read
    return read(normal(text, "f"))[0]


def test_other_verbs_see_the_outputs_alone():
    plain, stated = "g = x + y; v = x*y", "\nsubject to g <= 2, v + x >= 1\nminimize v"
    for text in (stated, stated + "\nsubject to sin(x) <= y*y"):
        assert print_program(parse(plain)) == print_program(without_problem(parse(plain + text)))
    assert adcli.compile(plain + stated).grad()(x=1.0, y=2.0) == adcli.compile(plain).grad()(x=1.0, y=2.0)
    assert list(adcli.compile("minimize (x - 1)**2; subject to x >= 3")(x=3.0)) == ["objective"]


@each_row("text, meant", [
    ("minimise x^2", "minimize x^2"), ("minimze x^2", "minimize x^2"), ("Maxmize x^2", "maximize x^2"),
    ("v = x; Maximum: v", "v = x; maximize v"), ("minimize f = x^2", "f = x^2; minimize f"),
    ("input x(N); Minimise f +=! x(i)", "input x(N); f +=! x(i); minimize f"), ("maximize f max=! x", "f max=! x; maximize f"),
    ("v = x; min v s.t. v >= 3", "v = x; minimize v; subject to v >= 3"), ("v = x; subjet to v >= 3", "v = x; subject to v >= 3"),
    ("v = x; subject to v => 3", "v = x; subject to v >= 3"), ("v = x; such that v >= 3", "v = x; subject to v >= 3"),
    ("v = x; s.t. c1: v >= 3", "v = x; subject to v >= 3"),
    ("v = x; subject to v >= 3 and v <= 4", "v = x; subject to v >= 3, v <= 4"),
    ("v = x; subject to v = 3", "v = x; subject to v == 3"),
    ("v = x; subject to v in [-1, 2*x]", "v = x; subject to -1 <= v <= 2*x"),
    ("v = x; subject to v + x in [0, 2], v >= 1", "v = x; subject to 0 <= v + x <= 2, v >= 1"),
])
def test_spellings_that_are_mended(text, meant):
    with pytest.raises(AdError) as found:
        parse(text)
    assert found.value.fix is not None and found.value.fix.applied(text) == meant


def test_a_strict_sign_says_what_it_means():
    assert ["'<' means '<='" in n.message for n in parse("v = x; subject to x < 1").notes] == [True]


def test_a_problem_travels_and_reads_back():
    f = adcli.compile("input x(N); minimize v; v +=! x(i)**2; subject to x(0) == 1, x(i - 1) - x(i) <= 0.5")
    found, again = f.minimize(x=[0.0, 3.0, 4.0]), pickle.loads(pickle.dumps(f)).minimize(x=[0.0, 3.0, 4.0])
    assert again.x == pytest.approx([1.0, 0.5, 0.0], abs=1e-7) and again.conditions == found.conditions
    assert adcli.compile("minimize x; subject to x >= 2").minimize(x=3.0).x == pytest.approx([2.0])
