"""The graph of a program at a stage of its way to a derivative, and what can be made of it."""
from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, NamedTuple

from adcli.codegen.documents.dot import digraph
from adcli.codegen.documents.graph import CALL, NOWHERE, AtPoint, Graph, call_of, called, folded, program_graph
from adcli.codegen.documents.svg import listing, svg
from adcli.lang.ir import Program, has_tensors, shape_of
from adcli.lang.ir.errors import AdError, install, nearest
from adcli.lang.operations.activity import inputs_to_differentiate, outputs_to_differentiate, with_outputs
from adcli.lang.passes.pipeline import STAGES as SHOWN
from adcli.lang.passes.pipeline import adjoints, tangents
from adcli.lang.simplify.simplify import prune
from adcli.output.numbers import Number, number_format
from adcli.output.streams import ENDINGS

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
        """The graph as svg, pdf or png, the latter by Graphviz. AdError where that is not installed, or the graph too large."""
        if form == "svg":
            return self.svg().encode()
        self.require(MOST_DRAWN, "Graphviz", "-o g.dot")
        return piped(painter(form), self.dot.encode())

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
    inputs. At the stages forward and reverse the derivatives are nodes of their own. `fold` is auto, all, none, or names of
    functions whose calls become one node each. AdError for what the program does not have.
    """
    if stage not in STAGES:
        raise AdError(f"no stage '{stage}' to draw", help=nearest(stage, STAGES) or f"the stages are {', '.join(STAGES)}")
    outputs, inputs = outputs_to_differentiate(program, of), inputs_to_differentiate(program, wrt)
    made = staged(program, stage, wrt, of)
    known: AtPoint = NOWHERE
    if point is not None:
        known = located(program, made, stage, point, inputs, outputs)
    return Drawing(as_asked(program_graph(made, known), program, fold), name)


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


def located(program: Program, made: Program, stage: str, point: DrawnPoint, wrt: Sequence[str], of: Sequence[str]) -> AtPoint:
    """The values, tangents and adjoints at a point of what was `made` of a program."""
    from adcli.answers.seeding import seeds_for
    from adcli.draw.at_point import at_point
    from adcli.input.arrays import filled
    from adcli.input.points import complete
    given, tangent, cotangent, number = point
    at = complete(program.params, given)
    if stage in DERIVED:
        seeds = seeds_for(made.params, tangent if stage == "forward" else cotangent, DERIVED[stage])
        return at_point(made, filled(made, at, seeds) if has_tensors(program) else {**at, **seeds}, [], None, None, number)
    if cotangent is None and len(of) == 1 and not shape_of(program.result(of[0]).atom):
        cotangent = {of[0]: 1.0}
    wrt = [x for x in wrt if any(p.name == x for p in made.params)]

    def every(given: Seeds | None, kind: str, derived: Callable[..., Program]) -> Seeds | None:
        if given is None:
            return None
        params = derived(program, wrt, of).params
        found = seeds_for(params, given, kind)
        return {p.seed: found[p.name] for p in params if p.seed}
    return at_point(made, at, wrt, every(tangent, "tangent", tangents), every(cotangent, "cotangent", adjoints), number)


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


# ---------------------------------------------------------------- Graphviz

SECONDS = 120
"""How long `dot` may take."""
INSTALL = {"apt-get": "sudo apt-get install graphviz", "dnf": "sudo dnf install graphviz", "pacman": "sudo pacman -S graphviz",
           "apk": "sudo apk add graphviz", "brew": "brew install graphviz", "winget": "winget install graphviz",
           "conda": "conda install graphviz"}
"""Commands that install Graphviz, by package manager."""
BUNDLED = """import sys, pygraphviz
graph = pygraphviz.AGraph(string=sys.stdin.buffer.read().decode())
sys.stdout.buffer.write(graph.draw(format=sys.argv[1], prog="dot"))
"""
"""The script for pygraphviz, in a process of its own, which can be ended."""


def painter(form: str) -> list[str]:
    """The command that reads a graph and writes a picture. AdError where there is nothing."""
    program = shutil.which("dot")
    if program is not None:
        return [program, f"-T{form}"]
    if find_spec("pygraphviz") is not None:
        return [sys.executable, "-P", "-c", BUNDLED, form]
    manager = next((m for m in INSTALL if shutil.which(m)), "brew" if sys.platform == "darwin" else "apt-get")
    raise AdError(f"{form} needs the program 'dot' of Graphviz, which is not installed",
                  help=f"{INSTALL[manager]}; or {install('pygraphviz')}; or write DOT for another program: -o g.dot")


def piped(command: list[str], given: bytes) -> bytes:
    """The output of a program, which ends with us."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        ENDINGS.add(process.kill)
        try:
            out, said = process.communicate(given, SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise AdError(f"dot has not laid out this graph in {SECONDS} seconds",
                          help="draw one output with ⟦--of⟧, fold functions with ⟦--fold all⟧, or write DOT: -o g.dot") from None
        finally:
            ENDINGS.discard(process.kill)
    if process.returncode or not out:
        lines = said.decode(errors="replace").strip().splitlines() or [f"exit {process.returncode}"]
        raise AdError(f"dot has failed: {lines[0]}", help="write DOT: -o g.dot")
    return out
