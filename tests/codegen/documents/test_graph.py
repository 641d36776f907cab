"""Programs as nodes and edges: a node for every input and operation, an edge for every use, the names that `show` gives."""
from __future__ import annotations

import re

import pytest
from adcli.codegen.documents.graph import COPY, INPUT, LONGEST_LINE, MOST_LINES, OUTPUT, program_graph, wrapped
from adcli.codegen.documents.sections import derivatives
from adcli.lang.ir import Program, Var
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import STAGES
from adcli.lang.syntax.printer import print_program
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


def test_values_go_by_the_names_that_show_gives() -> None:
    for stage in ("dup", "forward", "reverse"):
        made = STAGES[stage](parse("p = 7*x\nv = 2*p*p*x + 3/y"))
        printed = {line.partition(" = ")[0].strip("()") for line in print_program(made, "anf").splitlines() if " = " in line}
        drawn = {n.lines[0].partition(" = ")[0] for n in program_graph(made).nodes if n.kind != INPUT}
        assert drawn == printed


def test_an_output_that_nothing_computes_has_a_node_of_its_own() -> None:
    graph = program_graph(parse("input x, y = 2\noutput a, b, c, d\na = 1\nb = x\nc = x*y\nd = c"))
    own = [n.lines[0] for n in graph.nodes if n.kind == OUTPUT]
    assert own == ["a = 1", "b = x", "d = c"]
    assert [n.lines[0] for n in graph.nodes if n.kind == INPUT] == ["x", "y = 2"]


def test_copies_and_shapes() -> None:
    assert [n.lines for n in program_graph(STAGES["dup"](parse("v = x*x"))).nodes if n.kind == COPY] == [("x1, x2 = dup(x)",)]
    pool = program_graph(parse((ROOT / "samples" / "max_pooling.ad").read_text()))
    assert pool.nodes[0].lines == ("IN(B, C, H, W)",) and pool.nodes[1].lines[-1] == "shape (B, C, H / 2, W / 2)"
    assert "".join(line.strip() for line in pool.nodes[1].lines[:-1]).startswith("OUT(b, c, i, j) max=! IN(b, c,")


def test_long_formulas_go_on_in_further_lines() -> None:
    text = "v = " + " + ".join(f"name{i}" for i in range(12))
    assert re.sub(r"\s+", " ", " ".join(wrapped(text))) == text and all(len(line) <= LONGEST_LINE for line in wrapped(text))
    endless = wrapped("x" * 10_000)
    assert len(endless) == MOST_LINES and all(len(line) <= LONGEST_LINE for line in endless) and endless[-1].endswith("…")
