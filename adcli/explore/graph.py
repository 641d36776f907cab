"""The graph of a page: where the layout of all pictures puts its nodes, of a long program in parts."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from adcli.codegen.documents.layered import layered
from adcli.codegen.documents.svg import APART
from adcli.codegen.scripts.tape import Json

MOST, PART = 160, 80
"""Nodes of a graph that is shown as a whole, and operations of a part of a longer one."""
LONGEST, LEAST, LETTER, PAD = 30, 107, 7.9, 24
"""Letters of a label; pixels of the longest number, -1.23457e-300, of a letter, and beside a label."""


def parts(labels: Mapping[str, Json], reads: Mapping[str, Sequence[str]]) -> list[Json]:
    """The pictures of nodes with `labels`, each of which `reads` others."""
    if len(labels) <= MOST:
        return [picture(labels, labels, reads)]
    starts = range(0, len(reads), PART)
    return [picture(dict.fromkeys([*(a for x in part for a in reads[x]), *part]), labels, {x: reads[x] for x in part})
            for part in ([*reads][k:k + PART] for k in starts)]


def picture(names: Iterable[str], labels: Mapping[str, Json], reads: Mapping[str, Sequence[str]]) -> Json:
    """Nodes with their rows and their middles across, edges with where they pass rows, and the extent of all."""
    place = {name: i for i, name in enumerate(names)}
    widths = [max(LEAST, round(LETTER * max(map(len, labels[name].values())) + PAD)) for name in place]
    edges = list(dict.fromkeys((place[a], place[x]) for x, args in reads.items() for a in args))
    drawn = layered(widths, edges, APART)
    nodes = [{"id": name, "label": labels[name], "row": row, "x": x + w / 2, "width": w}
             for name, row, x, w in zip(place, drawn.ranks, drawn.x, widths, strict=True)]
    ways = [[a, b, [drawn.lanes[a, row] for row in range(drawn.ranks[a] + 1, drawn.ranks[b])]] for a, b in edges]
    across = max([*map(sum, zip(drawn.x, widths, strict=True)), *drawn.lanes.values()], default=0)
    return {"nodes": nodes, "edges": ways, "width": across, "rows": 1 + max(drawn.ranks, default=-1)}
