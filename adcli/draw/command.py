"""The verb draw: a program at a stage of its way to a derivative, as a graph."""
from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import Any

import click

from adcli.answers.evaluation import given_seeds
from adcli.command.options import (
    derivative_options,
    fmt_option,
    option,
    output_option,
    points_option,
    program_options,
    quiet_option,
    seed_option,
    takes,
)
from adcli.command.usage import WHAT, WRITTEN, Command, OneOf
from adcli.draw.drawing import READABLE, STAGES, DrawnPoint, graph, without_adjoints
from adcli.input.points import one_point, require_point
from adcli.input.settings import Options, names
from adcli.lang.ir import Program
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse_source
from adcli.lang.passes.pipeline import adjoints, tangents
from adcli.output.numbers import number_format
from adcli.output.streams import STDOUT, descriptor, destination
from adcli.task.rules import require_fit

FORMS = ("text", "dot", "svg", "pdf", "png")
PAINTED = ("pdf", "png")
"""Formats that are not for a terminal."""


@dataclass(frozen=True, kw_only=True)
class DrawOptions(Options):
    """The options of draw."""

    stage: str
    fold: str
    tangent: str | None
    cotangent: str | None
    fmt: str | None

    @property
    def folded(self) -> str | list[str]:
        """The functions that --fold names."""
        return self.fold if self.fold in ("auto", "all", "none") else names(self.fold, "⟦--fold⟧") or "none"

    @property
    def to_terminal(self) -> bool:
        return descriptor(self.output) == STDOUT and sys.stdout.isatty()

    @property
    def chosen(self) -> str:
        """The form that --format or the name of the file asks for; else text for a terminal, and DOT for anything else."""
        if self.form:
            return self.form
        return "text" if self.to_terminal or (self.output or "").lower().endswith(".txt") else "dot"


@click.command("draw", cls=Command,
               examples=("adcli draw -e 'v = x*sin(x)' --stage dup --format text",
                         "adcli draw -e 'v = x/y' --at x=2,y=0 --format text"))
@program_options
@option(WHAT, "--stage", type=OneOf("stage", STAGES), default="ssa", help="The stage to draw, as in show.")
@derivative_options
@option(WHAT, "--fold", metavar="NAME,…", default="auto",
        help="Calls of these functions become one node each: names, all, none, or auto (all in large graphs).")
@seed_option("tangent", "With --at: the direction of the tangents; inputs not named get 0.")
@seed_option("cotangent", "With --at: the weights of the outputs for the adjoints; a single scalar output gets 1.")
@points_option
@option(WRITTEN, "--format", "form", type=OneOf("format", FORMS),
        help="Form of the graph: a list of nodes (text), DOT, or a picture (default: by the suffix of -o FILE; else text on a"
             " terminal, DOT elsewhere).")
@fmt_option
@output_option
@quiet_option
@takes(DrawOptions)
def command(options: DrawOptions) -> int:
    """The program at a stage of its way to a derivative, as a graph: a node for each operation, an edge for each use of a value.

    With --at every node says its value and its adjoint; nan, infinity, and where nothing of an adjoint goes on are marked.
    """
    program = parse_source(options.source)
    require_fit(options, "draw")
    form = options.chosen
    if form in PAINTED and options.to_terminal:
        raise AdError(f"refusing to write {form.upper()} to a terminal; use -o FILE.{form}")
    drawing = graph(program, options.stage, at_point(options, program), name=title(options, program), wrt=options.inputs,
                    of=options.outputs, fold=options.folded)
    written = drawing.written(form)
    with destination(options.output) as stream:
        stream.write(written)
    return 0


def title(options: DrawOptions, program: Program) -> str:
    """The name of the graph: that of the file and of the stage."""
    stem = os.path.splitext(os.path.basename(program.source.name))[0] if program.source else ""
    return f"{stem.strip('-<>') or 'program'} {options.stage}"


def at_point(options: DrawOptions, program: Program) -> DrawnPoint | None:
    """The point and the seeds that are given, if any."""
    if not options.at:
        return None
    require_point(program.params, options.at)
    wrt, of = options.inputs, options.outputs
    at = one_point(program.params, options.at, options.remark, program.source, "draw shows one point",
                   "give one number for each input: ⟦--at x=2,y=5⟧")
    seeds: dict[str, Any] = {}
    if options.tangent is not None:
        seeds["tangent"] = given_seeds(tangents(program, wrt, of).params, options.tangent, "tangent")
    if options.cotangent is not None:
        seeds["cotangent"] = given_seeds(adjoints(program, wrt, of).params, options.cotangent, "cotangent")
    elif note := without_adjoints(program, options.stage, of):
        options.remark(note)
    return DrawnPoint(at, **seeds, number=number_format(options.fmt or READABLE, False))
