"""Graphs as texts for Graphviz: a line for every node and every edge, told apart by more than colour."""
from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from adcli.codegen.documents.graph import (
    CALL,
    COPY,
    DERIVATIVE,
    INPUT,
    OPERATION,
    OUTPUT,
    VALUE,
    WRONG,
    Edge,
    Graph,
    Node,
    digraph,
    program_graph,
    quoted,
)
from adcli.codegen.documents.svg import DARK
from adcli.lang.derive.derivatives import gradient
from adcli.lang.ir import Program
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoints
from random_programs import sample
from session_seed import drawn

NODE = re.compile(r'^ +n(\d+) \[label="((?:[^"\\]|\\.)*)"(.*)\];$', re.M)
EDGE = re.compile(r'^ +n(\d+) -> n(\d+)(?: \[(.*)\])?;$', re.M)


def check(p: Program) -> None:
    made, text = program_graph(p), digraph(program_graph(p), "f")
    nodes = {int(m[1]): m for m in NODE.finditer(text)}
    assert sorted(nodes) == list(range(len(made.nodes))) and len(NODE.findall(text)) == len(nodes)
    assert {i for i, m in nodes.items() if "dashed" in m[3]} == {i for i, n in enumerate(made.nodes) if n.derivative}
    assert sorted((int(a), int(b), "dashed" in said) for a, b, said in EDGE.findall(text)) == sorted(
        (e.tail, e.head, e.derivative) for e in made.edges)


def test_random_programs_and_their_gradients() -> None:
    r = drawn("dot")
    for _ in range(8):
        p = parse(sample(r, 16, True).text)
        check(p)
        check(gradient(p))
        check(adjoints(p))


def test_the_text() -> None:
    lines = digraph(program_graph(gradient(parse("v = x - 2*y"))), "f").splitlines()
    assert lines[0] == 'digraph "f" {' and lines[-1] == "}" and "bgcolor" in lines[1]
    assert lines[4] == '    label="w₁: a value without a name in the program"; labelloc=b; labeljust=l;'
    assert lines[5:-1] == [
        '    n0 [label="x", shape=ellipse, fillcolor="#eaf2fb", color="#2a5d8f"];',
        '    n1 [label="y", shape=ellipse, fillcolor="#eaf2fb", color="#2a5d8f"];',
        '    subgraph cluster_values {',
        '        label="values"; labeljust=l; style=solid; color="#9a9a9a";',
        '        n2 [label="w₁ = 2 × y", shape=box, fillcolor="#eaf2fb", color="#2a5d8f"];',
        '        n3 [label="v = x - w₁", shape=box, fillcolor="#eaf2fb", color="#2a5d8f", peripheries=2];',
        '    }',
        '    subgraph cluster_derivatives {',
        '        label="derivatives"; labeljust=l; style=dashed; color="#9a9a9a";',
        '        n4 [label="∂v/∂x = 1", shape=box, fillcolor="#fdf1e0", color="#8f4e00",'
        ' style="filled,dashed", peripheries=2];',
        '        n5 [label="∂v/∂y = -2", shape=box, fillcolor="#fdf1e0", color="#8f4e00",'
        ' style="filled,dashed", peripheries=2];',
        '    }',
        '    n1 -> n2;',
        '    n0 -> n3;',
        '    n2 -> n3;']


def test_kinds_differ_in_shape_or_line_whatever_their_colour() -> None:
    kinds = [*(Node(kind, ("a",)) for kind in (INPUT, OPERATION, COPY, CALL)), Node(OUTPUT, ("a",), output=True),
             Node(INPUT, ("a",), True), Node(OPERATION, ("a",), True), Node(OPERATION, ("a",), mark="nan")]
    text = digraph(Graph(tuple(kinds), (Edge(0, 1), Edge(5, 6, True), Edge(1, 2, False, "times 0"))), "g")
    looks = [re.sub(r"(?:fillcolor|color)=[^,\]]*", "", m[3]) + m[2] for m in NODE.finditer(text)]
    assert len(set(looks)) == len(kinds)
    assert [re.sub(r"(?:font)?color=[^,\]]*", "", m[3] or "") for m in EDGE.finditer(text)] == [
        "", "style=dashed", 'label=" times 0", style=dotted, arrowhead=tee, , ']


def test_graphviz_is_told_to_hurry_in_large_graphs() -> None:
    nodes = tuple(Node(OPERATION, ("a",)) for _ in range(400))
    found = [["nslimit" in text, "splines" in text] for n in (149, 150, 400) if (text := digraph(Graph(nodes[:n], ()), "g"))]
    assert found == [[False, False], [True, False], [True, True]]


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    weights = zip((0.2126, 0.7152, 0.0722), [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)], strict=True)
    return sum(w * (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4) for w, c in weights)


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_texts_and_lines_can_be_seen() -> None:
    for inside, line in (VALUE, DERIVATIVE, WRONG):
        assert contrast(inside, "#1a1a1a") > 7 and contrast(inside, line) > 4.5
    for inside, line in DARK.values():
        assert contrast(inside, "#f0f0f0") > 7 and contrast(inside, line) > 4.5


def test_a_text_has_no_quotes_of_its_own() -> None:
    assert quoted('a"b\\c\nd') == r'"a\"b\\c\ld"'


@pytest.mark.skipif(shutil.which("nop") is None, reason="no Graphviz")
def test_graphviz_reads_it() -> None:
    text = digraph(program_graph(gradient(parse("v = graph*node + sin(größe)/α"))), "digraph")
    subprocess.run(["nop"], input=text.encode(), stdout=subprocess.DEVNULL, check=True)
