"""The graph of a program at a stage of its way to a derivative, and what can be made of it.

At a point nodes have their value, tangent and adjoint; what is nan or infinite, and where paths are cut. The numbers of programs
of scalars are those of the sweeps that `why` explains, and so are the words; those of programs with tensors are the values of the
derivative program, of which the adjoint of every value is made a result.

The graph of a program as PDF or PNG, by matplotlib: the places and colours of its SVG.
"""
from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from adcli.answers.evaluation import all_derivatives, all_values
from adcli.codegen.documents.graph import CALL, NOWHERE, AtPoint, Graph, Said, call_of, called, digraph, folded, program_graph
from adcli.codegen.documents.notation import Label, Unicode
from adcli.codegen.documents.svg import (
    COLOURS,
    LETTER_SIZE,
    LIGHT,
    THICK,
    GraphPicture,
    Lettering,
    Outline,
    Shape,
    Wire,
    bend,
    listing,
    svg,
)
from adcli.codegen.rows.native_arithmetic import native_arithmetic
from adcli.lang.analyse.explain import Cause, Explainer, Question
from adcli.lang.analyse.numeric_sweeps import Sweep, forward_sweep, reverse_sweep
from adcli.lang.ir import Atom, Equation, Lit, Program, Var, has_tensors, shape_of
from adcli.lang.ir.errors import AdError, nearest
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.activity import inputs_to_differentiate, outputs_to_differentiate, with_outputs
from adcli.lang.operations.precision import DOUBLE
from adcli.lang.passes.pipeline import STAGES as SHOWN
from adcli.lang.passes.pipeline import adjoints, tangents
from adcli.lang.simplify.mathematics import decided
from adcli.lang.simplify.simplify import prune
from adcli.output.numbers import Number, number_format
from adcli.pictures import picture as pictures
from adcli.pictures.files import PDF, PNG
from adcli.pictures.picture import require_package

if TYPE_CHECKING:
    import numpy as np


STAGES = tuple(name for name in SHOWN if name in ("ssa", "dup", "forward", "reverse", "simplified"))
"""The stages of `adcli show` that are programs of operations."""
READABLE = "%.6g"
"""Numbers of a graph, where nothing else is said."""
FOLDED = 60
"""Nodes from which calls are folded where nothing else is said."""
DERIVED = {"forward": "tangent", "reverse": "cotangent"}
"""The stages at which derivatives are nodes of their own, and their seeds."""
Seeds = Mapping[str, Any]
"""The tangent of every input, or the weight of every output; those that are not named are 0."""
MOST_DRAWN = 1500
"""Nodes of a picture, whose time grows faster than their number."""


@dataclass(frozen=True)
class Drawing:
    """A graph with a name, which can be written in several ways."""

    graph: Graph
    name: str

    @property
    def dot(self) -> str:
        """The graph for Graphviz."""
        return digraph(self.graph, self.name)

    def text(self) -> str:
        """A line for every node."""
        return listing(self.graph)

    def svg(self) -> str:
        """The picture."""
        self.require(MOST_DRAWN, "a picture", "-o g.dot")
        return svg(self.graph)

    def picture(self, form: str) -> bytes:
        """The graph as svg, pdf or png, the latter by matplotlib. AdError where that is not installed, or the graph too large."""
        if form == "svg":
            return self.svg().encode()
        self.require(MOST_DRAWN, "a picture", "-o g.dot")
        return graph_file(self.graph, form)

    def written(self, form: str) -> bytes:
        """The graph in any of the forms: text, dot, svg, pdf or png."""
        if form == "text":
            return self.text().encode()
        return self.dot.encode() if form == "dot" else self.picture(form)

    def require(self, most: int, what: str, other: str) -> None:
        nodes = self.graph.nodes
        if len(nodes) > most:
            fewer = [f"write {other}", *(["draw one output with ⟦--of⟧"] if sum(n.output for n in nodes) > 1 else []),
                     *(["fold functions with ⟦--fold all⟧"] if any(n.kind != CALL and call_of(n.span) for n in nodes) else [])]
            raise AdError(f"this graph has {len(nodes):,} nodes, too many for {what} (at most {most:,})",
                          help=", or ".join(fewer))


class DrawnPoint(NamedTuple):
    """A point, a number or an array for every input, with seeds, and how numbers are written."""

    at: Mapping[str, Any]
    tangent: Seeds | None = None
    cotangent: Seeds | None = None
    number: Number = number_format(READABLE, False)


def graph(program: Program, stage: str = "ssa", point: DrawnPoint | None = None, *, name: str = "program",
          wrt: Sequence[str] | None = None, of: Sequence[str] | None = None, fold: str | Sequence[str] = "auto") -> Drawing:
    """The graph of a program at a stage, one of `STAGES`.

    At a `point` nodes say their values. They say their adjoints by the
    `cotangent`, the weights of outputs (default: 1 for a single scalar one), and their tangents by the `tangent`, those of
    inputs. At the stages forward and reverse the derivatives are nodes of their own, without cases of rules that hold neither
    the point nor any inside of the domain. `fold` is auto, all, none, or names of
    functions whose calls become one node each. AdError for what the program does not have.
    """
    if stage not in STAGES:
        raise AdError(f"no stage '{stage}' to draw", help=nearest(stage, STAGES) or f"the stages are {', '.join(STAGES)}")
    outputs, inputs = outputs_to_differentiate(program, of), inputs_to_differentiate(program, wrt)
    made = staged(program, stage, wrt, of)
    known, at = NOWHERE, None
    if point is not None:
        at, known = located(program, made, stage, point, inputs, outputs)
    read = decided(made, at).program if stage in DERIVED else made
    return Drawing(as_asked(program_graph(read, known), program, fold), name)


def staged(program: Program, stage: str, wrt: Sequence[str] | None, of: Sequence[str] | None) -> Program:
    """The program at a stage, as `adcli show` has it; of a stage of values, what the outputs in `of` need, and of numbers without
    the inputs that they do not."""
    if stage == "forward":
        return tangents(program, wrt, of)
    if stage == "reverse":
        return adjoints(program, wrt, of)
    make = SHOWN[stage]
    assert make is not None, "a stage to draw is a program"
    if of is None:
        return make(program)
    program = prune(with_outputs(program, of))
    used = {*(a for e in program.equations for a in e.args), *(r.atom for r in program.results)}
    params = tuple(p for p in program.params if p.var in used or has_tensors(program))
    return make(replace(program, params=params))


def located(program: Program, made: Program, stage: str, point: DrawnPoint, wrt: Sequence[str], of: Sequence[str]
            ) -> tuple[Mapping[str, Any], AtPoint]:
    """The inputs of what was `made` of a program, and its values, tangents and adjoints at a point."""
    from adcli.answers.evaluation import seeds_for
    from adcli.input.arrays import filled
    from adcli.input.points import complete
    given, tangent, cotangent, number = point
    at = complete(program.params, given)
    if stage in DERIVED:
        seeds = seeds_for(made.params, tangent if stage == "forward" else cotangent, DERIVED[stage])
        whole = filled(made, at, seeds) if has_tensors(program) else {**at, **seeds}
        return whole, at_point(made, whole, [], None, None, number)
    if cotangent is None and len(of) == 1 and not shape_of(program.result(of[0]).atom):
        cotangent = {of[0]: 1.0}
    wrt = [x for x in wrt if any(p.name == x for p in made.params)]

    def every(given: Seeds | None, kind: str, derived: Callable[..., Program]) -> Seeds | None:
        if given is None:
            return None
        params = derived(program, wrt, of).params
        found = seeds_for(params, given, kind)
        return {p.seed: found[p.name] for p in params if p.seed}
    return at, at_point(made, at, wrt, every(tangent, "tangent", tangents), every(cotangent, "cotangent", adjoints), number)


def as_asked(graph: Graph, program: Program, fold: str | Sequence[str]) -> Graph:
    """The graph with calls folded: those of some functions, all, or all where it is large."""
    if fold == "none" or (fold == "auto" and len(graph.nodes) <= FOLDED):
        return graph
    if isinstance(fold, str) and fold in ("auto", "all"):
        return folded(graph, program.source, lambda name: True)
    names, known = [fold] if isinstance(fold, str) else fold, called(graph)
    for each in names:
        if each not in known:
            raise AdError(f"no operation of this graph is of a call of '{each}'",
                          help=nearest(each, known) or (f"some are of {', '.join(known)}" if known else "none is of any call"))
    return folded(graph, program.source, set(names).__contains__)


def without_adjoints(program: Program, stage: str, of: Sequence[str] | None) -> str | None:
    """A note on how to get adjoints, where there are several outputs without weights."""
    names = of or [r.name for r in program.results]
    if stage in DERIVED or len(names) < 2:
        return None
    weights = ",".join(f"{name}=1" for name in names[:2])
    return f"note: adjoints need weights of the outputs: ⟦--cotangent {weights}⟧, or one output: ⟦--of {names[0]}⟧"


# ---------------------------------------------------------------- values at a point

DUP = TABLE["dup"]
WORDS = {"not taken": "arm not taken", "not the winner": "not the winner", "hinge": "flat side", "step": "flat step",
         "comparison": "only a comparison", "kink": "kink: 0 by convention", "zero factor": "times 0", "stationary": "slope 0",
         "tail": "slope rounds to 0", "underflow": "underflow", "unverified": "slope 0"}
"""Labels of edges by which no derivative goes on, by the kind of cause."""
WIDEST_TENSOR = 6
"""Elements of a tensor that are shown; of a larger one the least and the largest."""



def at_point(program: Program, point: Mapping[str, Any], wrt: Sequence[str], tangent: Seeds | None, cotangent: Seeds | None,
             number: Number) -> AtPoint:
    """A program at a point; adjoints and tangents where there are seeds for all outputs or inputs."""
    if has_tensors(program):
        if tangent is not None:
            raise AdError("⟦--tangent⟧: the values of this program are tensors", help="draw its tangents: ⟦--stage forward⟧")
        return _tensors(program, point, wrt, cotangent, number)
    explainer = Explainer(program, point, wrt, native_arithmetic(DOUBLE))
    sweeps = []
    if tangent is not None:
        sweeps.append(forward_sweep(program, explainer.values, [(program.param(x).var, s) for x, s in tangent.items()]))
    if cotangent is not None:
        weights = [(r.atom, cotangent[r.name]) for r in reversed(program.results) if r.name in cotangent]
        sweeps.append(reverse_sweep(program, explainer.values, weights, explainer.depends, explainer.active))
    scalars = _Scalars(explainer, sweeps, number)
    return AtPoint(dict(scalars.values()), dict(scalars.cuts(sweeps[-1])) if sweeps else {})


class _Scalars:
    """The numbers of a program of scalars, in words."""

    def __init__(self, explainer: Explainer, sweeps: Sequence[Sweep], number: Number) -> None:
        self.explainer, self.sweeps, self.number = explainer, sweeps, number
        self.copies = {o: Unicode(str).label(Label(o.name)) if o.name else ""
                       for e in explainer.program.equations if e.op is DUP for o in e.outs}

    def values(self) -> Iterator[tuple[Atom, Said]]:
        for var, x in self.explainer.values.items():
            copy = var in self.copies
            lines = [] if copy else [f"value {self.text(x)}"]
            lines += [f"{self.copies.get(var, '')} {sweep.word} {self.text(d.value)}".lstrip() for sweep in self.sweeps
                      if (d := sweep.derivatives.get(var)) is not None]
            yield var, Said(tuple(lines), self.mark(var, x))

    def text(self, x: Any) -> str:
        return str(x).lower() if isinstance(x, bool) else self.number(x)

    def mark(self, var: Var, x: Any) -> str:
        """The fault of a value, else of its derivatives; with the reason, where that came about here."""
        if wrong(x):
            return self.because(self.text(x), Question(var), lambda c: c.position is None and self.defines(c, var))
        for sweep in self.sweeps:
            if wrong(d := sweep.numbers.get(var, 0.0)):
                return self.because(f"{sweep.word} {self.text(d)}", Question(var, sweep), lambda c: self.reaches(c, var))
        return ""

    def defines(self, cause: Cause, var: Var) -> bool:
        return cause.equation is not None and var in cause.equation.outs

    def reaches(self, cause: Cause, var: Var) -> bool:
        e = cause.equation
        return e is not None and cause.position is not None and (e.args[cause.position] is var or var in e.outs)

    def because(self, text: str, question: Question, here: Callable[[Cause], bool]) -> str:
        cause = self.explainer.causes(question)[0]
        return f"{text}: {cause.kind.replace('·', ' · ')}" if here(cause) else text

    def cuts(self, sweep: Sweep) -> Iterator[tuple[tuple[Equation, int], str]]:
        """The arguments of operations that a derivative reaches and does not pass."""
        parts = {(p.equation, p.position): p for line in sweep.lines for p in line}
        for e in self.explainer.program.equations:
            for i, a in enumerate(e.args):
                source = a if sweep.forward else e.outs[0]
                if e.op is DUP or isinstance(a, Lit) or a not in self.explainer.depends or not sweep.numbers.get(source):
                    continue
                p = parts.get((e, i))
                if p is None or p.derivative.absent:
                    yield (e, i), WORDS[self.explainer.ending(e, i)]
                elif p.value == 0:
                    cause = self.explainer.part_zero(sweep, p)
                    assert isinstance(cause, Cause), "the derivative that reaches it is not zero"
                    yield (e, i), WORDS[cause.kind]


def wrong(x: Any) -> bool:
    """True for nan and infinities."""
    return not isinstance(x, bool) and not math.isfinite(x)


# ---------------------------------------------------------------- tensors

def _tensors(program: Program, point: Mapping[str, Any], wrt: Sequence[str], cotangent: Seeds | None, number: Number) -> AtPoint:
    values = all_values(program, point)
    adjoints = {} if cotangent is None else all_derivatives(program, point, wrt, cotangent, True)
    said: dict[Atom, Said] = {}
    for var, x in values.items():
        lines = [f"value {tensor_text(x, number)}"]
        lines += [f"adjoint {tensor_text(adjoints[var], number)}"] if var in adjoints else []
        said[var] = Said(tuple(lines), tensor_mark(x) or (f"adjoint {m}" if (m := tensor_mark(adjoints.get(var, 0.0))) else ""))
    return AtPoint(said)


def tensor_text(x: Any, number: Number) -> str:
    """A small tensor with its elements, a large one by its shape, its least and its largest element."""
    import numpy as np
    array: np.ndarray = np.asarray(x)
    if array.dtype == bool and array.ndim == 0:
        return str(bool(array)).lower()
    if array.size <= WIDEST_TENSOR:
        return nested(array, number)
    shape = " × ".join(map(str, array.shape))
    finite = array[np.isfinite(array)]
    if not finite.size:
        return f"{shape}, none finite"
    low, high = number(float(finite.min())), number(float(finite.max()))
    return f"{shape}, all {low}" if low == high and finite.size == array.size else f"{shape}, {low} to {high}"


def nested(array: np.ndarray, number: Number) -> str:
    if array.ndim == 0:
        return str(int(array)) if array.dtype.kind in "iu" else number(float(array))
    return f"[{', '.join(nested(part, number) for part in array)}]"


def tensor_mark(x: Any) -> str:
    """How many elements are nan or infinite."""
    import numpy as np
    array: np.ndarray = np.asarray(x, float)
    found = [(np.isnan(array), "nan"), (np.isposinf(array), "inf"), (np.isneginf(array), "-inf")]
    said = [word if array.ndim == 0 else f"{int(there.sum()):,} × {word}" for there, word in found if there.any()]
    return ", ".join(said)


# ---------------------------------------------------------------- graphs

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
