"""Layouts in rows: edges go down, nothing overlaps, lines that need not cross do not."""
from __future__ import annotations

from itertools import pairwise, product

import pytest
from adcli.codegen.documents.layers import Placement, isotonic, layered
from session_seed import drawn


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


def test_random_graphs() -> None:
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
