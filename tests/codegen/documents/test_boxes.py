"""Pictures of graphs in Unicode: who follows the lines from box to box finds every edge of the graph, and no other."""
from __future__ import annotations

from itertools import pairwise, product

import pytest
from adcli.codegen.documents.boxes import Placement, isotonic, layered, picture, spaced
from adcli.codegen.documents.columns import width
from adcli.codegen.documents.graph import CALL, COPY, INPUT, OPERATION, OUTPUT, Edge, Graph, Node, folded, program_graph
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import STAGES
from places import ROOT
from random_programs import sample
from session_seed import drawn, half

SIDES = {"│": "ud", "╎": "ud", "─": "lr", "╌": "lr", "┌": "dr", "┐": "dl", "└": "ur", "┘": "ul", "╭": "dr", "╮": "dl", "╰": "ur",
         "╯": "ul", "├": "udr", "┤": "udl", "┬": "dlr", "┴": "ulr", "┼": "udlr"}
STEP = {"u": (-1, 0), "d": (1, 0), "l": (0, -1), "r": (0, 1)}
BACK = dict(zip("udlr", "durl", strict=True))
ENDS = "▼▽╳"


def labelled(graph: Graph) -> Graph:
    """The graph with short names of its own, so that a box can be found."""
    nodes = tuple(Node(n.kind, (f"N{i}.",), n.derivative, n.output, n.mark) for i, n in enumerate(graph.nodes))
    return Graph(nodes, graph.edges)


def read(text: str) -> set[tuple[int, int, str]]:
    """The edges that a picture shows: tail, head, and how the line ends."""
    rows = text.split("\n\n")[0].splitlines()
    grid = {(y, x): c for y, row in enumerate(rows) for x, c in enumerate(row)}
    homes: dict[tuple[int, int], int] = {}
    exits: list[tuple[int, int, int]] = []
    for (y, x), c in list(grid.items()):
        if c == "N" and grid.get((y, x + 1), " ").isdigit():
            name = int("".join(iter_digits(grid, y, x + 1)))
            left = x - 2
            right = next(k for k in range(x, len(rows[y]) + 1) if grid.get((y, k), " ") in "│╎║┃⟩╏")
            bottom = next(k for k in range(y, len(rows)) if grid[k, left] in "└╰╙╚┗")
            for k in range(left, right + 1):
                homes[y - 1, k] = name
                if grid[bottom, k] in "┬╤┯":
                    exits.append((name, bottom + 1, k))
    found = set()
    for tail, y, x in exits:
        open_ends, seen = [(y, x, "d")], set()
        while open_ends:
            at = open_ends.pop()
            if at in seen:
                continue
            seen.add(at)
            y, x, heading = at
            c = grid.get((y, x), " ")
            if c in ENDS:
                assert heading == "d"
                found.add((tail, homes[y + 1, x], c))
                continue
            sides = SIDES[c]
            onward = heading if BACK[heading] not in sides else ""   # under another line
            for side in onward or sides.replace(BACK[heading], ""):
                dy, dx = STEP[side]
                open_ends.append((y + dy, x + dx, side))
    return found


def iter_digits(grid: dict[tuple[int, int], str], y: int, x: int) -> list[str]:
    digits = []
    while grid.get((y, x), " ").isdigit():
        digits.append(grid[y, x])
        x += 1
    return digits


def check(graph: Graph) -> None:
    graph = labelled(graph)
    cut = {(e.tail, e.head) for e in graph.edges} - {(e.tail, e.head) for e in graph.edges if not e.cut}
    wanted = {(e.tail, e.head, "╳" if (e.tail, e.head) in cut else "▽" if graph.nodes[e.tail].derivative else "▼")
              for e in graph.edges}
    assert read(picture(graph)) == wanted


@pytest.mark.parametrize("name", half(["worked", "kinks", "textbook", "pendulum", "neural_net", "max_pooling", "lennard_jones"]))
def test_samples(name: str) -> None:
    p = parse((ROOT / "samples" / f"{name}.ad").read_text())
    for stage in ("ssa", "reverse"):
        check(program_graph(STAGES[stage](p)))
    check(folded(program_graph(p), p.source, lambda f: True))


def test_random_programs() -> None:
    r = drawn("boxes")
    for _ in range(5):
        p = parse(sample(r, 14, True).text)
        for stage in ("dup", "forward", "reverse"):
            check(program_graph(STAGES[stage](p)))


def test_random_graphs() -> None:
    r = drawn("boxes", "graphs")
    for n in (2, 4, 8, 16):
        for density in (0.1, 0.3, 0.6):
            nodes = [Node(r.choice([INPUT, OPERATION, COPY, CALL, OUTPUT]), ("",), r.random() < 0.4, r.random() < 0.2,
                          r.choice(["", "", "nan"])) for _ in range(n)]
            edges = [Edge(a, b, nodes[a].derivative, r.choice(["", "", "step"])) for a in range(n) for b in range(a + 1, n)
                     if r.random() < density]
            check(Graph(tuple(nodes), tuple(edges)))


def test_the_picture() -> None:
    assert picture(program_graph(STAGES["dup"](parse("v = x*x + 1")))) == """\
       ╭───╮
       │ x │
       ╰─┬─╯
         ▼
╭─────────────────╮
⟨ x1, x2 = dup(x) ⟩
╰────────┬────────╯
         ▼
  ┌──────────────┐
  │ i1 = x1 × x2 │
  └───────┬──────┘
          ▼
   ╔════════════╗
   ║ v = i1 + 1 ║
   ╚════════════╝
"""


def test_frames_differ() -> None:
    kinds = [(INPUT, False), (OPERATION, False), (COPY, False), (CALL, False), (OUTPUT, True)]
    nodes = [Node(k, ("a",), d, out) for k, out in kinds for d in (False, True)] + [Node(OPERATION, ("a",), mark="nan")]
    frames = {tuple(picture(Graph((n,), ())).splitlines()[:3]) for n in nodes}
    assert len(frames) == len(nodes)


def test_wide_characters_keep_the_frame() -> None:
    lines = picture(program_graph(parse("変数 = größe*2"))).splitlines()
    frame = [line for line in lines if line.strip()[0] in "╔║╚"]
    assert "変数" in frame[1] and len({width(line) for line in frame}) == 1


def test_a_cut_is_told_below() -> None:
    nodes = Node(INPUT, ("x",)), Node(OPERATION, ("v = floor x", "value 0"), output=True)
    graph = Graph(nodes, (Edge(0, 1, False, "flat step"),))
    assert picture(graph).endswith("\n\n╳ x → v = floor x: flat step\n")


@pytest.mark.parametrize("wanted, free, found", [
    ([3], [[1, 3, 5]], (3,)), ([3, 3], [range(9), range(9)], (1, 3)), ([3, 3], [[3, 4], [3, 4]], (3, 4)),
    ([0, 1, 2], [range(6)] * 3, (0, 2, 4)), ([9, 9], [range(4), range(4)], (1, 3))])
def test_lines_come_down_apart(wanted: list[int], free: list[list[int]], found: tuple[int, ...]) -> None:
    assert spaced(wanted, free) == found


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


@pytest.mark.parametrize("wanted, weights, nearest", [
    ([], [], []), ([1, 2, 3], [1, 1, 1], [1, 2, 3]), ([3, 1], [1, 1], [2, 2]), ([3, 1], [3, 1], [2.5, 2.5]),
    ([1, 5, 3, 4, 9], [1] * 5, [1, 4, 4, 4, 9]), ([3, 2, 1], [1, 1, 1], [2, 2, 2])])
def test_isotonic_regression(wanted: list[float], weights: list[float], nearest: list[float]) -> None:
    assert isotonic(wanted, weights) == nearest


def test_many_rows() -> None:
    laws([40] * 300, [(i, i + k) for i in range(290) for k in (1, 3)], 4)
