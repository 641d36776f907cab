"""Lines of equal value over a grid: marching squares, cell by cell, joined to lines."""
from __future__ import annotations

import math
from collections import defaultdict

from adcli.pictures.picture import Contour

Point = tuple[float, float]
Edge = tuple[int, int, int]
"""An edge of the grid: its first corner (i, j), and 0 where it goes along x, 1 along y."""


def level_lines(c: Contour, level: float) -> list[list[Point]]:
    """The lines on which the value is `level`, each a list of points. Cells with a corner that has no value have none."""
    joined: dict[Edge, list[Edge]] = defaultdict(list)
    for j in range(len(c.y) - 1):
        for i in range(len(c.x) - 1):
            for a, b in crossed(c, level, i, j):
                joined[a].append(b)
                joined[b].append(a)
    lines = []
    for start in sorted(joined, key=lambda edge: (len(joined[edge]), edge)):   # ends of open lines first
        while joined[start]:
            lines.append([crossing(c, level, edge) for edge in walked(joined, start)])
    return lines


def walked(joined: dict[Edge, list[Edge]], start: Edge) -> list[Edge]:
    """The edges along a line from its start, which are taken out of what is joined."""
    line = [start]
    while joined[line[-1]]:
        here = line[-1]
        there = joined[here].pop()
        joined[there].remove(here)
        line.append(there)
    return line


def crossed(c: Contour, level: float, i: int, j: int) -> list[tuple[Edge, Edge]]:
    """The pairs of edges of a cell that a line goes through; a saddle is decided by the middle."""
    corners = c.z[j][i], c.z[j][i + 1], c.z[j + 1][i + 1], c.z[j + 1][i]
    if not all(map(math.isfinite, corners)):
        return []
    above = [z >= level for z in corners]
    edges: list[Edge] = [(i, j, 0), (i + 1, j, 1), (i, j + 1, 0), (i, j, 1)]
    cut = [edge for k, edge in enumerate(edges) if above[k] != above[(k + 1) % 4]]
    if len(cut) < 4:
        return [(cut[0], cut[1])] if cut else []
    middle = sum(z / 4 for z in corners) >= level
    return [(cut[0], cut[1]), (cut[2], cut[3])] if middle == above[0] else [(cut[3], cut[0]), (cut[1], cut[2])]


def crossing(c: Contour, level: float, edge: Edge) -> Point:
    """Where the line cuts an edge, by linear interpolation."""
    i, j, along = edge
    a, b = c.z[j][i], c.z[j + 1][i] if along else c.z[j][i + 1]
    t = (level - a) / (b - a) if math.isfinite(b - a) else 0.5
    return (c.x[i], c.y[j] + t * (c.y[j + 1] - c.y[j])) if along else (c.x[i] + t * (c.x[i + 1] - c.x[i]), c.y[j])
