"""Graphs as SVG and as lists: every node and edge is there, nothing overlaps, and lines that need not cross do not."""
from __future__ import annotations

from itertools import pairwise, product
from xml.etree import ElementTree

from adcli.codegen.documents.graph import CALL, COPY, INPUT, OPERATION, OUTPUT, Edge, Graph, Node, merged, program_graph
from adcli.codegen.documents.layered import Placement, layered
from adcli.codegen.documents.svg import listing, svg
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import STAGES
from places import ROOT
from session_seed import drawn, half

SVG = "{http://www.w3.org/2000/svg}"


def check(graph: Graph) -> None:
    """It is XML with a line for every edge and all texts; nothing is outside."""
    made = ElementTree.fromstring(svg(graph))
    lines = [p for p in made.iter(f"{SVG}path") if "marker-end" in p.attrib]
    assert len(lines) == len(merged(graph.edges))
    assert [p.get("marker-end") == "url(#bar)" for p in lines] == [bool(e.cut) for e in merged(graph.edges)]
    texts = [t.text for t in made.iter(f"{SVG}text")]
    assert all(line.strip() in texts for n in graph.nodes for line in n.lines)
    assert all(said in texts for said in graph.legend.split("; ") if said)
    width, height = (float(made.get(side)) for side in ("width", "height"))
    for rect in made.iter(f"{SVG}rect"):
        if rect.get("class") != "ground":
            x, y, w, h = (float(rect.get(k)) for k in ("x", "y", "width", "height"))
            assert x >= 0 and y >= 0 and x + w <= width and y + h <= height


def test_samples() -> None:
    for path in half(sorted((ROOT / "samples").glob("*.ad"))):
        for stage in ("ssa", "dup", "simplified"):
            check(program_graph(STAGES[stage](parse(path.read_text(encoding="utf-8")))))


def test_random_graphs() -> None:
    r = drawn("svg", "graphs")
    for n in (2, 4, 8, 16):
        for density in (0.1, 0.3, 0.6):
            nodes = [Node(r.choice([INPUT, OPERATION, COPY, CALL, OUTPUT]), (f"a<{k}&", "b"), r.random() < 0.4, r.random() < 0.2,
                          r.choice(["", "", "nan"])) for k in range(n)]
            edges = [Edge(a, b, nodes[a].derivative, r.choice(["", "", "step"])) for a in range(n) for b in range(a + 1, n)
                     if r.random() < density]
            check(Graph(tuple(nodes), tuple(edges)))


def test_kinds_differ() -> None:
    kinds = [(INPUT, False), (OPERATION, False), (COPY, False), (CALL, False), (OUTPUT, True)]
    nodes = [Node(k, ("a",), d, out) for k, out in kinds for d in (False, True)] + [Node(OPERATION, ("a",), mark="nan")]
    assert len({svg(Graph((n,), ())) for n in nodes}) == len(nodes)


def test_the_list() -> None:
    nodes = Node(INPUT, ("x", "value 1.5")), Node(OPERATION, ("v = floor x", "value 1"), output=True, mark="nan")
    assert listing(Graph(nodes, (Edge(0, 1, False, "flat step"),))) == (
        "x             value 1.5\nv = floor x   value 1     ⚠ nan\n\n╳ x → v = floor x: flat step\n")


# ---------------------------------------------------------------- layouts

def laws(widths: list[int], edges: list[tuple[int, int]], gap: int) -> Placement:
    found = layered(widths, edges, gap)
    assert all(found.ranks[a] < found.ranks[b] for a, b in edges) and min(found.ranks, default=0) >= 0
    passed = {(a, row) for a, b in edges for row in range(found.ranks[a] + 1, found.ranks[b])}
    assert set(found.lanes) == passed
    rows: dict[int, list[tuple[int, int]]] = {}
    for x, w, row in zip(found.x, widths, found.ranks, strict=True):
        rows.setdefault(row, []).append((x, w))
    for (_, row), x in found.lanes.items():
        rows[row].append((x, 1))
    assert sorted(rows) == list(range(len(rows)))
    for row in rows.values():
        assert all(x + w + gap <= y for (x, w), (y, _) in pairwise(sorted(row)))
    assert min((x for row in rows.values() for x, _ in row), default=0) == 0
    return found


def test_layouts_of_random_graphs() -> None:
    r = drawn("layers")
    for n in (1, 2, 5, 12, 30):
        for density in (0.05, 0.3):
            edges = [(a, b) for a in range(n) for b in range(a + 1, n) if r.random() < density]
            laws([r.randint(1, 20) for _ in range(n)], edges, r.randint(1, 40))


def test_a_row_is_as_far_down_as_it_must_be() -> None:
    assert laws([1] * 5, [(0, 1), (1, 2), (3, 2), (2, 4)], 1).ranks == [0, 1, 2, 1, 3]   # an input stands above its first use
    assert layered([], [], 1) == Placement([], [])


def test_a_tree_has_no_crossings_however_its_nodes_are_numbered() -> None:
    r = drawn("layers", "tree")
    names = list(range(15))
    r.shuffle(names)
    edges = [(names[i], names[(i - 1) // 2]) for i in range(1, 15)]
    found = laws([3] * 15, edges, 2)
    for (a, b), (c, d) in product(edges, edges):
        if found.ranks[a] == found.ranks[c] and found.x[a] < found.x[c]:
            assert found.x[b] <= found.x[d]


def test_a_long_line_is_straight() -> None:
    found = laws([5] * 7, [(i, i + 1) for i in range(5)] + [(6, 0), (6, 5)], 3)
    columns = [found.lanes[6, row] for row in range(2, 5)]
    assert len(set(columns)) == 1


def test_many_rows() -> None:
    laws([40] * 300, [(i, i + k) for i in range(290) for k in (1, 3)], 4)
