"""Programs as graphs: every value is a node, every use an edge."""
from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from adcli.codegen.documents.dot import graph, operands, quoted
from adcli.codegen.documents.sections import derivatives
from adcli.lang.derive.derivatives import gradient
from adcli.lang.ir import Lit, Program
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from random_programs import sample
from session_seed import drawn

NODE = re.compile(r'^ +(\w+) \[label="((?:[^"\\]|\\.)*)"(.*)\];$', re.M)
EDGE = re.compile(r'^ +(\w+) -> (\w+)(?: \[.*\])?;$', re.M)


def check(p: Program) -> None:
    text = graph(p, "f")
    nodes = {m[1]: (m[2], m[3]) for m in NODE.finditer(text)}
    edges = [m.groups() for m in EDGE.finditer(text)]
    constants = sum(isinstance(a, Lit) for e in p.equations for a in e.args) + sum(isinstance(r.atom, Lit) for r in p.results)
    assert len(nodes) == len(NODE.findall(text)) == len(p.params) + len(p.equations) + len(p.results) + constants
    assert len(edges) == sum(len(e.args) for e in p.equations) + len(p.results)
    assert all(a in nodes and b in nodes for a, b in edges)
    broken = {name for name, (_, said) in nodes.items() if "dashed" in said and name[0] == "n"}
    made = {f"n{i}" for i, e in enumerate(p.equations) if e.outs[0] in derivatives(p).values}
    assert broken == made
    assert text == graph(p, "f")


def test_random_programs_and_their_gradients() -> None:
    r = drawn("dot")
    for _ in range(15):
        p = parse(sample(r, 16, True).text)
        check(p)
        check(gradient(p))


def test_the_text() -> None:
    assert graph(gradient(parse("v = x - 2*y")), "f") == r"""digraph "f" {
    in0 [label="x", shape=box];
    in1 [label="y", shape=box];
    subgraph cluster_values {
        label="values"; style=solid;
        c0 [label="2", shape=plaintext];
        n0 [label="×", shape=ellipse];
        n1 [label="-\nv", shape=ellipse];
        out0 [label="v", shape=box, peripheries=2];
    }
    subgraph cluster_derivatives {
        label="derivatives"; style=dashed;
        c1 [label="1", shape=plaintext];
        out1 [label="dv_dx", shape=box, peripheries=2, style=dashed];
        c2 [label="-2", shape=plaintext];
        out2 [label="dv_dy", shape=box, peripheries=2, style=dashed];
    }
    c0 -> n0;
    in1 -> n0;
    in0 -> n1 [label="x"];
    n0 -> n1 [label="y"];
    n1 -> out0;
    c1 -> out1 [style=dashed];
    c2 -> out2 [style=dashed];
}
"""


def test_values_and_derivatives_have_frames() -> None:
    text = graph(gradient(parse("input x, k = 3\nv = sqrt(x)/k")), "f")
    assert re.findall(r'subgraph (\w+) \{\n +label="(\w+)"; style=(\w+);', text) == [
        ("cluster_values", "values", "solid"), ("cluster_derivatives", "derivatives", "dashed")]
    assert 'label="k = 3"' in text and 'label="√·"' in text


def test_operands_are_told_where_their_order_counts() -> None:
    assert operands(TABLE["add"], 2) == ["", ""] and operands(TABLE["sin"], 1) == [""]
    assert operands(TABLE["select"], 3) == ["c", "x", "y"] and operands(TABLE["fma"], 3) == ["a", "b", "c"]
    assert operands(TABLE["max"], 5) == [""] * 5


def test_a_text_has_no_quotes_of_its_own() -> None:
    assert quoted('a"b\\c\nd') == r'"a\"b\\c\nd"'


@pytest.mark.skipif(shutil.which("nop") is None, reason="no Graphviz")
def test_graphviz_reads_it() -> None:
    text = graph(gradient(parse("v = graph*node + sin(größe)/α")), "digraph")
    subprocess.run(["nop"], input=text.encode(), stdout=subprocess.DEVNULL, check=True)
