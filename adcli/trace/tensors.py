"""The trace of a program with tensors: a row for every statement, or every operation behind chosen elements.

The program is written out as one of numbers at the point (`adcli.lang.evaluate.recording`) and traced as any; so tangents and
adjoints are those of the sweeps. A tensor's row has its shape, its Euclidean norm and its numbers, of a long one the corners.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from adcli.answers.diagnose import blame, worst_operation
from adcli.answers.evaluation import all_derivatives, all_values
from adcli.codegen.documents.names import examples, labels, legend
from adcli.codegen.documents.notation import Label, Latex, Notation
from adcli.codegen.rows.native_arithmetic import native_arithmetic
from adcli.lang.analyse.trace import ADJOINT, TANGENT, VALUE, Trace, traced
from adcli.lang.evaluate.recording import MOST_OPERATIONS, Unfolded, element, elements_of, length, unfolded
from adcli.lang.ir import Atom, Lit, Program, Var
from adcli.lang.ir.errors import AdError, Note
from adcli.lang.ir.names import name_table, tensor_of
from adcli.lang.operations.precision import Precision
from adcli.lang.operations.recurrence import loops
from adcli.lang.passes.status import activity, with_status
from adcli.output.tensors import FIRST, abridged, extremes, nested_lines, norm
from adcli.task.native import native
from adcli.trace.tables import FORWARD, NOTHING, PRIMAL, REVERSE, Cell, TraceRow, TraceTable, element_labels, no_element, place_of

Seeds = Mapping[str, Mapping[str, Any]]
"""Tangents of inputs and cotangents of outputs by name, each an array or a number for all elements."""
LONGEST = 60
"""Characters of a tensor's numbers in a row."""


class TracedTensors(NamedTuple):
    """A program with tensors at a point, written out and traced."""

    program: Program
    whole: Unfolded
    trace: Trace
    wrt: list[str]
    abridged: bool = False

    def numbers(self, atom: Atom, kind: str) -> np.ndarray:
        """The values, tangents or adjoints of all elements; a derivative that does not exist is 0."""
        elements = self.whole.elements[atom] if isinstance(atom, Var) else np.array(atom, object)
        made = np.empty(elements.shape)
        for place, a in np.ndenumerate(elements):
            if kind == VALUE:
                made[place] = a.value if isinstance(a, Lit) else self.trace.values[a]
            else:
                derivatives = self.trace.tangents if kind == TANGENT else self.trace.adjoints
                made[place] = derivatives[a].value if a in derivatives else 0.0
        return made

    @property
    def worst(self) -> tuple[int, Callable[[], Note] | None]:
        """The worst status at the point, and the note on the operation that has it."""
        level, e = worst_operation(self.whole.program, self.trace.values, activity(self.whole.program, self.wrt))
        return level, None if e is None else partial(blame, self.whole.program, e, self.trace.values, level, level)

    def of_element(self, wanted: str) -> tuple[Trace, dict[Var, Label]]:
        """The trace of the elements that `wanted` names alone, as h(3, 0), h(:, 0) or h, and what its values are called. AdError
        where there is none."""
        trace, element_of = self.trace, elements_of(self.trace.program)
        matches = pattern(wanted)
        lines = [line for line in trace.lines if matches.fullmatch(element_of.get(line.equation.outs[0], ""))]
        if not lines:
            raise no_element(self.program, wanted,
                             {name: self.whole.elements[o].shape for o, name in computed_names(self.program).items()})
        read = {a for line in lines for a in line.equation.args}
        made = {o for line in lines for o in line.equation.outs}
        program = replace(trace.program, params=tuple(p for p in trace.program.params if p.var in read),
                          results=tuple(r for r in trace.program.results if r.atom in made))
        chosen = trace._replace(program=program, lines=lines)
        return chosen, element_labels(chosen, element_of, [p.name for p in self.program.params])


class LargeTrace:
    """A point that is too large to be written out: every value, tangent and adjoint by native code as an array."""

    abridged = True

    def __init__(self, program: Program, at: Mapping[str, Any], wrt: Sequence[str], seeds: Seeds,
                 precision: Precision) -> None:
        self.program, self.wrt, self.seeds, self.precision = program, wrt, seeds, precision
        self.at = {name: np.asarray(x) for name, x in at.items()}
        self.values = all_values(program, at, precision.name)

    def numbers(self, atom: Atom, kind: str) -> np.ndarray | None:
        """The values, tangents or adjoints of all elements; a derivative that does not exist is 0. None for adjoints of what a
        loop over steps computes: reverse mode keeps none of them."""
        if isinstance(atom, Lit):
            return np.asarray(atom.value if kind == VALUE else 0.0)
        if kind == VALUE:
            return np.asarray(self.values[atom], float)
        if kind == ADJOINT and any(atom in e.outs for e in loops(self.program.equations)):
            return None
        found = self.tangents if kind == TANGENT else self.adjoints
        return np.asarray(found[atom] if atom in found else np.zeros(np.shape(self.values[atom])), float)

    @cached_property
    def tangents(self) -> dict[Var, Any]:
        return all_derivatives(self.program, self.at, self.wrt, self.seeds[TANGENT], False, self.precision.name)

    @cached_property
    def adjoints(self) -> dict[Var, Any]:
        return all_derivatives(self.program, self.at, self.wrt, self.seeds["cotangent"], True, self.precision.name)

    @cached_property
    def worst(self) -> tuple[int, None]:
        """The worst status at the point; what has it is found natively."""
        program = with_status(self.program, self.program, self.wrt)
        only = replace(program, results=program.results[-1:])
        return int(native(only, precision=self.precision.name)(self.at)[only.results[0].name]), None

    def of_element(self, wanted: str) -> tuple[Trace, dict[Var, Label]]:
        """AdError: operations on single numbers are those of a point that is written out."""
        raise AdError(f"⟦--element⟧ writes out every operation on numbers, at most {MOST_OPERATIONS:,}",
                      help="leave out ⟦--element⟧, or give smaller tensors: fewer steps, fewer rows of a batch")


def traced_tensors(program: Program, at: Mapping[str, Any], wrt: list[str], seeds: Seeds,
                   precision: Precision) -> TracedTensors | LargeTrace:
    """The trace at a point, by native code where the program is too long to be written out."""
    if length(program, at) > MOST_OPERATIONS:
        return LargeTrace(program, at, wrt, seeds, precision)
    arithmetic = native_arithmetic(precision)
    whole = unfolded(program, at, arithmetic)
    results = {r.name: whole.elements[r.atom].shape if isinstance(r.atom, Var) else () for r in program.results}
    shapes = {TANGENT: {p.name: np.shape(at[p.name]) for p in program.params}, "cotangent": results}
    spread = {kind: {element(name, place): float(x) for name, given in those.items()
                     for place, x in np.ndenumerate(np.broadcast_to(given, shapes[kind][name]))}
              for kind, those in seeds.items()}
    moved = [x for x in whole.at if tensor_of(x) in wrt]
    trace = traced(whole.program, whole.at, moved, spread.get(TANGENT), spread.get("cotangent"), arithmetic)
    return TracedTensors(program, whole, trace, moved)


# ---------------------------------------------------------------- a row for every statement

class StatementRows:
    """The rows of the statements, as tables and as an object."""

    def __init__(self, found: TracedTensors | LargeTrace, notation: Notation) -> None:
        self.found, self.notation = found, notation
        program = found.program
        self.labels = labels(program, name_table(program))
        outputs = {r.atom for r in program.results}
        self.inputs: list[tuple[str, Atom]] = [(p.name, p.var) for p in program.params if not p.var.integer]
        self.values: list[tuple[str, Atom]] = [(name, o) for o, name in computed_names(program).items() if o not in outputs]
        self.outputs: list[tuple[str, Atom]] = [(r.name, r.atom) for r in program.results]
        self.spans = {o: e.span for e in program.equations for o in e.outs}

    def names(self) -> list[str]:
        return [name for name, _ in (*self.inputs, *self.values, *self.outputs)]

    def tables(self, tangent: bool, cotangent: bool) -> Iterator[TraceTable]:
        """The primal trace beside the tangents, then beside the adjoints, as far as they are asked for."""
        if tangent or not cotangent:
            yield self.table(FORWARD if tangent else "", TANGENT)
        if cotangent:
            yield self.table(REVERSE, ADJOINT)

    def table(self, title: str, kind: str) -> TraceTable:
        inputs, values, outputs = ([TraceRow(self.cell(name, atom, VALUE), self.cell(name, atom, kind) if title else NOTHING)
                                    for name, atom in rows] for rows in (self.inputs, self.values, self.outputs))
        named = self.labels.values()
        said = legend(self.notation, named, examples(self.notation, named, [kind] if title else []))
        return TraceTable((PRIMAL, title), (inputs, values, outputs), said)

    def cell(self, name: str, atom: Atom, kind: str) -> Cell:
        """h = 4 × 2, norm 3.2 = [[0.5, 1], …]; a number as in any trace."""
        found, label = self.found.numbers(atom, kind), self.notation.label(self.labels.get(name, Label(name)), kind)
        if found is None:
            return NOTHING
        if not found.shape:
            return Cell(label, "", "", self.number(found.item()))
        text = " ".join(line.strip() for line in nested_lines(found, found.ndim, self.number, True))
        text = text if len(text) <= LONGEST else text[:LONGEST - 1] + "…"
        size = f"{' × '.join(map(str, found.shape))}, norm {self.number(norm(found))}"
        if self.found.abridged and found.size:
            size += ", {} to {}".format(*map(self.number, extremes(found)))
        if isinstance(self.notation, Latex):
            size, text = rf"\text{{{size}}}".replace("×", r"$\times$"), text.replace("…", r"\ldots")
        return Cell(label, size, "", text)

    def number(self, x: float) -> str:
        return self.notation.number(x)[0]

    def record(self, at: Mapping[str, Any], seeds: Seeds, status: str, written: Any) -> dict[str, Any]:
        """Rows as an object; `written` is how an array or a number is."""
        def rows(those: list[tuple[str, Atom]]) -> list[dict[str, Any]]:
            return [self.one(name, atom, [VALUE, *kinds], written) for name, atom in those]
        kinds = [kind for kind, seed in ((TANGENT, TANGENT), (ADJOINT, "cotangent")) if seed in seeds]
        given = {kind: {name: self.told(np.asarray(x), written) for name, x in those.items()} for kind, those in seeds.items()}
        return {"at": {name: self.told(np.asarray(x), written) for name, x in at.items()}, **given, "inputs": rows(self.inputs),
                "lines": rows(self.values), "outputs": rows(self.outputs), "status": status}

    def one(self, name: str, atom: Atom, kinds: list[str], written: Any) -> dict[str, Any]:
        place = place_of(self.found.program.source, self.spans.get(atom) if isinstance(atom, Var) else None)
        found = {kind: x for kind in kinds if (x := self.found.numbers(atom, kind)) is not None}
        shape = found[VALUE].shape
        extent = {"shape": list(shape), "norm": written(np.asarray(norm(found[VALUE])))} if shape else {}
        return {"name": name, **place, **extent, **{kind: self.told(x, written) for kind, x in found.items()}}

    def told(self, x: np.ndarray, written: Any) -> Any:
        """A number or all elements; of a large point the extremes and the first elements."""
        if not (self.found.abridged and x.size > FIRST):
            return written(x)
        return abridged(x, written)


def computed_names(program: Program) -> dict[Var, str]:
    """The values that statements compute with their names; what a loop starts from has that of the loop, and is left out."""
    names = name_table(program)
    starts = {a: o for e in loops(program.equations) for a, o in zip(e.args, e.outs, strict=False)
              if isinstance(a, Var) and a.name and a.name == o.name}
    begun = {o: names[a] for a, o in starts.items() if isinstance(a, Var)}
    return {o: begun.get(o, names[o]) for e in program.equations for o in e.outs if o not in starts}


# ---------------------------------------------------------------- operation by operation

def pattern(wanted: str) -> re.Pattern[str]:
    """Pattern of the names of wanted elements: ':' is every subscript, and a name alone all elements."""
    name, parenthesis, places = wanted.replace(" ", "").rstrip(")").partition("(")
    inner = ", ".join(r"\d+" if p == ":" else re.escape(p) for p in places.split(","))
    return re.compile(re.escape(name) + (rf"\({inner}\)" if parenthesis else r"(\(.*\))?"))
