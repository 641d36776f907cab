"""The graph of a program as PDF or PNG, by matplotlib: the places and colours of its SVG."""
from __future__ import annotations

import io
from itertools import pairwise
from typing import Any

from adcli.codegen.documents.graph import Graph
from adcli.codegen.documents.svg import COLOURS, LETTER_SIZE, LIGHT, THICK, GraphPicture, Lettering, Outline, Shape, Wire, bend
from adcli.pictures import picture as pictures
from adcli.pictures.files import PDF, PNG
from adcli.pictures.picture import require_package

POINTS = 72
"""Pixels of an inch, so that one is a point."""
DOTS, MOST_DOTS = 144, 60_000
"""Pixels of an inch of PNG, and of a side of it."""
TIP, BAR = 7.0, 4.5


def graph_file(graph: Graph, form: str) -> bytes:
    """The picture of a graph as a file of pdf or png."""
    require_package(form)
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    drawn = GraphPicture(graph)
    across, down = drawn.size()
    out = io.BytesIO()
    settings: dict[Any, Any] = {**matplotlib.rcParamsDefault, "backend": "agg", "text.parse_math": False, "pdf.fonttype": 42}
    with pictures.one_at_a_time, matplotlib.rc_context(settings):
        figure = Figure(figsize=(across / POINTS, down / POINTS), facecolor=LIGHT.ground)
        FigureCanvasAgg(figure)
        ax = figure.add_axes((0, 0, 1, 1))
        ax.set(xlim=(0, across), ylim=(down, 0))
        ax.axis("off")
        for shape in drawn.shapes():
            put(ax, shape)
        dots = min(DOTS, POINTS * MOST_DOTS / max(across, down))
        figure.savefig(out, format=form, dpi=dots, metadata={"png": PNG, "pdf": PDF}[form])
    return out.getvalue()


def put(ax: Any, shape: Shape) -> None:
    """Draw a shape."""
    from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
    from matplotlib.path import Path
    if isinstance(shape, Lettering):
        ax.text(shape.x, shape.y, shape.text, family="monospace", fontsize=LETTER_SIZE, color=LIGHT.ink,
                ha="center" if shape.centred else "left", va="baseline")
        return
    kind, *broken = shape.style.split()
    inside, line = COLOURS.get(kind, ("none", COLOURS["wrong"][1] if kind == "cut" else LIGHT.line))
    look: dict[str, Any] = {"facecolor": inside, "edgecolor": line,
                            "linestyle": (0, (1, 4)) if kind == "cut" else (0, (5, 3)) if broken else "solid"}
    if isinstance(shape, Wire):
        (x, y), codes, points = shape.points[-1], [Path.MOVETO], [shape.points[0]]
        for k, (a, b) in enumerate(pairwise(shape.points)):
            points += [b] if k % 2 else [*bend(a, b), b]
            codes += [Path.LINETO] if k % 2 else [Path.CURVE4] * 3
        ax.add_patch(PathPatch(Path(points, codes), linewidth=1, **look))
        bar = shape.end == "bar"
        end = [(x - BAR, y - 2), (x + BAR, y - 2)] if bar else [(x - TIP / 2, y - TIP), (x, y), (x + TIP / 2, y - TIP)]
        ax.add_patch(Polygon(end, facecolor=line, edgecolor=line, linewidth=1 if bar else 0))
        return
    width = THICK if shape.thick else 1
    if isinstance(shape, Outline):
        ax.add_patch(Polygon(shape.points, linewidth=width, **look))
    else:
        corners = f"round,pad=0,rounding_size={shape.radius}" if shape.radius else "square,pad=0"
        ax.add_patch(FancyBboxPatch((shape.x, shape.y), shape.w, shape.h, boxstyle=corners, linewidth=width, **look))
