"""The verbs that draw, called from Python: graphs and plots as a PictureView."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from adcli.api.arguments import one_number
from adcli.api.verbs import Given, given_point, heard, plain
from adcli.api.view import PictureView, in_characters, picture_view
from adcli.api.words import OneOrMore, by_name, names, together, unused, whole, word
from adcli.input.values import value
from adcli.lang.ir import Program
from adcli.lang.ir.errors import AdError, plural, worded


def drawn(program: Program, at: Given | None, values: Given, stage: str, of: OneOrMore, wrt: OneOrMore,
          tangent: str | Given | None, cotangent: str | Given | None, fold: OneOrMore) -> PictureView:
    """See `Looks.draw`."""
    from adcli.draw.command import without_adjoints
    from adcli.draw.drawing import DERIVED, graph
    word("stage", stage)
    program, point, said = plain(program), together(at, values), list[str]()
    given = {"tangent": tangent, "cotangent": cotangent}
    if not point:
        unused(given, "needs a point")
        unused({"wrt": None if stage in DERIVED else wrt}, "needs a point, or stage forward or reverse")
    if stage in DERIVED:
        unused({kind: x for kind, x in given.items() if kind != DERIVED[stage]}, f"is no seed of stage {stage}")
    folded = names(fold) or ["auto"]
    located = given_point(program, point, said) if point else None
    drawing = graph(program, stage, of=names(of), wrt=names(wrt), at=located,
                    tangent=seeds("tangent", tangent), cotangent=seeds("cotangent", cotangent),
                    fold=folded[0] if len(folded) == 1 else folded)
    if point and cotangent is None and (note := without_adjoints(program, stage, names(of))):
        said.append(worded(note))
    nodes, edges = drawing.graph.nodes, drawing.graph.edges
    data = {"stage": stage, "nodes": [asdict(node) for node in nodes], "edges": [asdict(edge) for edge in edges],
            "dot": drawing.dot}
    caption = f"graph at stage {stage}: {plural(len(nodes), 'node')}, {plural(len(edges), 'edge')}"
    return in_characters("draw", data, drawing.text, tuple(said), drawing.picture, caption)


def seeds(kind: str, given: str | Given | None) -> Mapping[str, Any] | None:
    """A direction or weights, numbers or arrays by name."""
    known = by_name(kind, given)
    if isinstance(known, str):
        from adcli.answers.seeding import components
        return components(known, kind)
    return known


def plotted(program: Program, at: Given | None, values: Given, of: OneOrMore, derivatives: int,
            points: int | None) -> PictureView:
    """See `Looks.plot`."""
    from adcli.plot.command import HIGHEST
    from adcli.plot.pictured import picture
    ranges, said = {name: extent(name, x) for name, x in together(at, values).items()}, [str(note) for note in program.notes]
    count = None if points is None else whole("points", points, 2, 100_000)
    found = picture(plain(program), ranges, names(of), whole("derivatives", derivatives, 0, HIGHEST), count, heard(said))
    return picture_view("plot", found, tuple(said))


def extent(name: str, x: Any) -> float | tuple[float, ...]:
    """A number, or the ends of a range and how many points it has: a tuple, or a text as the shell has it."""
    if isinstance(x, str):
        fields = tuple(value(name, part) for part in x.split(":"))
        return fields if len(fields) > 1 else fields[0]
    if isinstance(x, list):
        raise AdError(f"input '{name}' must be one number or a range, not a list",
                      help=f"write {name}=(-3, 3), a pair of ends")
    return tuple(one_number(name, part) for part in x) if isinstance(x, tuple) else one_number(name, x)
