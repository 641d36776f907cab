"""Calls as one node: every operation is in one, no edge is lost, and what is folded can be chosen."""
from __future__ import annotations

from collections.abc import Callable

from adcli.codegen.documents.folding import call_of, called, folded
from adcli.codegen.documents.graph import CALL, Graph, program_graph
from adcli.lang.ir import Program
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import STAGES
from places import ROOT
from session_seed import drawn

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
        ("i7 = outer(p, q)", "7 operations"), ("i10 = inner(p, 2)", "3 operations"), ("i13 = rsqrt(q)", "2 operations")]
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
