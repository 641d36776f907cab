"""Which assignment every use of a name reads, in whatever scope; and that lowering agrees."""
from __future__ import annotations

from dataclasses import replace

import pytest
from adcli.lang.lower.frontend import read_through
from adcli.lang.syntax.parse import read
from adcli.lang.syntax.scan import normal
from places import ROOT
from random_programs import Author
from same_programs import equal
from session_seed import drawn

from adcli.lsp.scopes import ScopedNames

READS = [   # a text, a name, and for each of its places in order: which of them it reads, by number ('-': none), and what it is
    ("s = 1; s = s + x; v = s", "s", "0101", "value"),
    ("v = x * x", "x", "00", "input"),
    ("v = x; x = 2; w = x", "x", "011", "input, value"),
    ("output v\nv = x\nv = v + 1", "v", "2121", "value"),
    ("input x = pi\nv = x + pi", "pi", "--", "constant"),
    ("pi = 3; v = pi", "pi", "00", "value"),
    ("v = sin(sin)", "sin", "-1", "function of the language, input"),
    ("def f(a) = a * a\na = 2\nv = f(a)", "a", "00033", "parameter, value"),
    ("def f(a) = a\ndef g(a) = f(a)\nv = f(g(x))", "f", "000", "function"),
    ("v = f(x)\ndef f(a) = a", "f", "11", "function"),
    ("def f(x) -> (u) { u = x; u = u * x }\nv = f(u)", "u", "21214", "value, input"),
    ("(a, b) = (x, y); (b, a) = (a, b)", "a", "010", "value"),
    ("input A(N), B(N)\nC(i) = A(i) * B(i)", "N", "00", "size"),
    ("input A(N), B(N)\nC(i) = A(i) * B(i)\nD(i) = C(i)", "i", "00033", "index"),
    ("input A(N)\nS +=! A(k) * c where k in 0:N, c = k + 1", "k", "111", "index"),
    ("input A(N)\nS +=! A(k) * c where k in 0:N, c = k + 1", "c", "11", "value of this statement"),
    ("input A(N), int32 I(M)\nC(m) = A(I(m)) + i", "I", "00", "input"),
    ("input A(N), int32 I(M)\nC(m) = A(I(m)) + i", "i", "0", "input"),
    ("input A(N); t = 2; C(i) = A(i) + t", "t", "00", "value"),
    ("input A(N)\nC(i) = A(i)\nC(i) += A(i)\nv = C(0)", "C", "011", "value"),
    ("def f(float(N) A) -> (float(N) C) { C(i) = 2 * A(i) }\ninput A(N)\nC = f(A)\nv = C(0)", "C", "1122", "value"),
    ("def f(float(N) A) -> (float(N) C) { C(i) = 2 * A(i) }\ninput A(N)\nC = f(A)\nv = C(0)", "N", "002", "size"),
    ("input A(N, N)\nL = cholesky(A)\ns +=! log(L(i, i))", "i", "00", "index"),
    ("input A(N, N)\nL = cholesky(A)\ns +=! log(L(i, i))", "L", "00", "value"),
    ("input relu(N)\nv(i) = relu(i)", "relu", "00", "input"),
    ("x = 2 +\nv = x * y", "x", "00", "value"),   # a statement that cannot be read still gives its name a meaning
    ("v = tahn(x\nw = v", "v", "00", "value"),
]


def tree_of(text):
    return read(normal(text, "t"))[0]


@pytest.mark.parametrize("text, name, reads, kinds", READS)
def test_a_use_reads_the_latest_assignment_in_its_scope(text, name, reads, kinds):
    places = [n for n in ScopedNames(tree_of(text)).all() if n.name == name]
    starts = [n.start for n in places]
    assert all(text[n.start:n.end] == name for n in places)
    assert "".join("-" if n.reads is None else str(starts.index(n.reads.start)) for n in places) == reads
    assert ", ".join(dict.fromkeys(n.kind for n in places)) == kinds


@pytest.mark.parametrize("path", sorted((ROOT / "samples").glob("*.ad")), ids=lambda p: p.stem)
def test_inputs_and_outputs_are_those_of_the_program(path):
    tree, program, _ = read_through(normal(path.read_text(encoding="utf-8"), path.name))
    of_program = dict[str, str]()
    for n in ScopedNames(tree).all():
        if n.function is None or len(tree.statements) == 1:
            of_program.setdefault(n.name, n.kind)
    assert [p.name for p in program.params if of_program.get(p.name) not in ("input", "parameter")] == []
    assert [r.name for r in program.results if of_program.get(r.name) != "value"] == []
    names = [path_name for path_name, kind in of_program.items() if kind in ("input", "parameter")]
    assert sorted(names) == sorted(p.name for p in program.params)


SEEN = [   # a text with | where the names are wanted, and those of its own that have a meaning there
    ("x = 1; y = |", "x y"), ("def f(a) = a\nx = |", "f x"), ("x = 1\ndef f(a, b) -> (u) { c = a; u = | }", "a b c u"),
    ("input A(N)\nC(i) = A(|i)\ny = 2", "A N i"), ("input A(N)\nC(i) = A(i)\ny = |", "A C N y"),
]


@pytest.mark.parametrize("marked, wanted", SEEN)
def test_what_is_seen_from_a_place(marked, wanted):
    offset, text = marked.index("|"), marked.replace("|", "")
    tree = tree_of(text)
    assert {n.name for n in ScopedNames(tree).seen_from(offset)} == set(wanted.split())


def test_a_place_behind_a_name_is_in_it():
    found = ScopedNames(tree_of("ab = x"))
    assert [found.at(i).name if found.at(i) else None for i in range(7)] == ["ab", "ab", "ab", None, None, "x", "x"]


def test_with_a_name_of_its_own_for_every_assignment_a_program_is_the_same():
    """Every value that is assigned gets another name, and so does every use that is said to read it: lowering must agree."""
    compared = 0
    for number in range(40):
        text = Author(drawn("occurrences", number), 8, False).sample().text
        source = normal(text, "t")
        tree, program, _ = read_through(source)
        if program is None:
            continue
        changed = source.text
        for n in reversed([*ScopedNames(tree).all()]):
            if n.kind in ("value", "input", "parameter") and n.name != "_":
                changed = changed[:n.start] + f"{n.name}__{n.reads.start if n.reads else ''}" + changed[n.end:]
        again = read_through(normal(changed, "t"))[1]
        if again is None or len(again.results) != len(program.results):
            continue   # a value that is never used would now be an output
        params = tuple(replace(p, name=p.name.rpartition("__")[0]) for p in again.params)
        results = tuple(replace(r, name=r.name.rpartition("__")[0]) for r in again.results)
        assert equal(replace(again, params=params, results=results), program), text
        compared += 1
    assert compared > 10
