"""Programs as nodes and edges: a node for every input and operation, an edge for every use."""
from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from adcli.codegen.documents.graph import (
    CALL,
    COPY,
    INPUT,
    LONGEST_LINE,
    MOST_LINES,
    OUTPUT,
    Graph,
    call_of,
    called,
    folded,
    program_graph,
    wrapped,
)
from adcli.codegen.documents.names import derivatives
from adcli.lang.ir import Program, Var
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import STAGES
from places import ROOT
from random_programs import sample
from session_seed import drawn, half


def check(p: Program) -> None:
    graph = program_graph(p)
    computed = [n for n in graph.nodes if n.kind not in (INPUT, OUTPUT)]
    assert len(computed) == len(p.equations) and len(graph.nodes) - len(computed) >= len(p.params)
    assert sum(n.output for n in graph.nodes) == len({r.name for r in p.results})
    uses = sum(isinstance(a, Var) for e in p.equations for a in e.args)
    alone = [r for r in p.results if isinstance(r.atom, Var)]
    assert uses <= len(graph.edges) <= uses + len(alone) and all(e.tail < e.head for e in graph.edges)
    assert [n.derivative for n in computed] == [derivatives(p).values.issuperset(e.outs) for e in p.equations]
    assert all(e.derivative == graph.nodes[e.tail].derivative for e in graph.edges)


def test_random_programs_at_every_stage() -> None:
    r = drawn("graph")
    for _ in range(6):
        p = parse(sample(r, 16, True).text)
        for make in filter(None, STAGES.values()):
            check(make(p))


@pytest.mark.parametrize("name", half(["max_pooling", "softmax_regression", "recurrent", "convolution", "matrix_product"]))
def test_tensors(name: str) -> None:
    p = parse((ROOT / "samples" / f"{name}.ad").read_text())
    check(p)
    check(STAGES["reverse"](p))


def test_an_output_that_nothing_computes_has_a_node_of_its_own() -> None:
    graph = program_graph(parse("input x, y = 2\noutput a, b, c, d\na = 1\nb = x\nc = x*y\nd = c"))
    own = [n.lines[0] for n in graph.nodes if n.kind == OUTPUT]
    assert own == ["a = 1", "b = x", "d = c"]
    assert [n.lines[0] for n in graph.nodes if n.kind == INPUT] == ["x", "y = 2"]


def test_copies_and_shapes() -> None:
    assert [n.lines for n in program_graph(STAGES["dup"](parse("v = x*x"))).nodes if n.kind == COPY] == [("x₁, x₂ = dup(x)",)]
    pool = program_graph(parse((ROOT / "samples" / "max_pooling.ad").read_text()))
    assert pool.nodes[0].lines == ("IN(B, C, H, W)",) and pool.nodes[1].lines[-1] == "shape (B, C, H / 2, W / 2)"
    assert "".join(line.strip() for line in pool.nodes[1].lines[:-1]).startswith("OUT(b, c, i, j) max=! IN(b, c,")


def test_long_formulas_go_on_in_further_lines() -> None:
    text = "v = " + " + ".join(f"name{i}" for i in range(12))
    assert re.sub(r"\s+", " ", " ".join(wrapped(text))) == text and all(len(line) <= LONGEST_LINE for line in wrapped(text))
    endless = wrapped("x" * 10_000)
    assert len(endless) == MOST_LINES and all(len(line) <= LONGEST_LINE for line in endless) and endless[-1].endswith("…")


TEXT = """\
def inner(a, b) = a * b + sin(a)
def outer(x, y) = inner(x, y) * inner(y, x)
v = outer(p, q) + inner(p, 2) + rsqrt(q)
"""


def fold(p: Program, chosen: Callable[[str], bool] = lambda name: True) -> Graph:
    return folded(program_graph(p), p.source, chosen)


def test_the_outermost_chosen_call_is_one_node() -> None:
    p = parse(TEXT)
    assert [n.lines for n in fold(p).nodes if n.kind == CALL] == [
        ("w₇ = outer(p, q)", "7 operations"), ("w₁₀ = inner(p, 2)", "3 operations"), ("w₁₃ = rsqrt(q)", "2 operations")]
    inner = [n.lines[0] for n in fold(p, "inner".__eq__).nodes if n.kind == CALL]
    assert [line.partition(" = ")[2] for line in inner] == ["inner(x, y)", "inner(y, x)", "inner(p, 2)"]
    assert fold(p, "nothing".__eq__).nodes == program_graph(p).nodes
    assert called(program_graph(p)) == {"inner": 3, "outer": 1, "rsqrt": 1}


def test_derivatives_of_a_call_are_a_node_of_their_own() -> None:
    for stage in ("forward", "reverse"):
        calls = [n for n in fold(STAGES[stage](parse(TEXT))).nodes if n.kind == CALL]
        assert [n.derivative for n in calls].count(True) == [n.derivative for n in calls].count(False) == 3
        assert all((" = derivative of " in " ".join(n.lines)) == n.derivative for n in calls)


def test_edges_go_forwards_and_none_is_lost() -> None:
    r = drawn("folding")
    texts = [TEXT, (ROOT / "samples" / "neural_net.ad").read_text()]
    for _ in range(3):
        names = [r.choice("abcd") for _ in range(8)]
        calls = " + ".join(f"{r.choice(['f', 'g', 'h'])}({a}, {r.choice(names)})" for a in names)
        defined = "def f(x, y) = x*y - cos(x)\ndef g(x, y) = f(y, x)*f(x, x)\ndef h(x, y) = g(x, f(x, y)) + y\n"
        texts.append(f"{defined}v = h({calls}, a)\nw = {calls}")
    for text in texts:
        for stage in ("ssa", "dup", "forward", "reverse", "simplified"):
            p = STAGES[stage](parse(text))
            whole, small = program_graph(p), fold(p)
            assert all(e.tail < e.head for e in small.edges) and len(set(small.edges)) == len(small.edges)
            counts = [int(n.lines[-1].split()[0].replace(",", "")) if n.kind == CALL else 1 for n in small.nodes]
            assert sum(counts) == len(whole.nodes)
            inside = [(call_of(n.span), n.derivative) for n in whole.nodes]
            crossing = [e for e in whole.edges if inside[e.tail][0] is None and inside[e.head][0] is None]
            kept = {(small.nodes[e.tail], small.nodes[e.head]) for e in small.edges}
            assert all((whole.nodes[e.tail], whole.nodes[e.head]) in kept for e in crossing)


def test_a_mark_inside_is_seen_and_a_long_chain_of_calls_is_no_trouble() -> None:
    chain = "".join(f"def f{i + 1}(x) = f{i}(x) + 1\n" for i in range(3000))
    assert [n.lines[1] for n in fold(parse("def f0(x) = x * 2\n" + chain + "v = f3000(x)")).nodes if n.kind == CALL] == [
        "3,001 operations"]
