"""The evaluation tables of a program, point by point, in one of the forms."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adcli.answers.evaluation import rounded_point, seeded
from adcli.answers.reporter import ROUGH, Reporter
from adcli.codegen.documents.notation import Label, Latex, Notation, Unicode
from adcli.codegen.rows.native_arithmetic import native_arithmetic
from adcli.input.settings import Options
from adcli.lang.analyse.trace import traced
from adcli.lang.evaluate import evaluate
from adcli.lang.ir import LEVELS, Program, Var
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import name_table
from adcli.lang.operations.precision import PRECISIONS
from adcli.lang.passes.status import with_status
from adcli.lang.passes.zero_seeds import drop_zero_seeds
from adcli.lang.simplify.simplify import prune
from adcli.output.layout import Row
from adcli.output.numbers import Number, json_number, json_text, number_format
from adcli.output.report import which
from adcli.output.streams import columns_of
from adcli.task.request import Request
from adcli.task.tasks import Task, made
from adcli.trace.tables import RENDERERS, TraceObject, TraceTable, Writer, labels, text

if TYPE_CHECKING:
    from adcli.trace.tensors import StatementRows

READABLE = "%.6g"
"""Numbers of a table, where --fmt does not say otherwise."""


@dataclass(frozen=True, kw_only=True)
class TraceOptions(Options):
    """Options of trace."""

    tangent: str | None
    cotangent: str | None
    naming: str
    fmt: str | None
    element: str | None
    precision: str | None


Seeds = str | Mapping[str, Any] | None
"""A tangent or a cotangent: as the option has it, or numbers by name."""


def prepared(asked: Request, tangent: Seeds, cotangent: Seeds, whole: Program | None = None) -> list[Task]:
    """Tasks evaluated for the status of the trace: the forward and the reverse derivative at the given seeds, or the
    program alone."""
    seeds = {"jvp": tangent, "vjp": cotangent}
    found = [seeded(made(asked._replace(verb=verb), None, whole=whole), spec) for verb, spec in seeds.items() if spec is not None]
    if not found and asked.wrt is not None:
        raise AdError("⟦--wrt⟧ needs ⟦--tangent⟧ or ⟦--cotangent⟧")
    return found or [made(asked, None, whole=whole)]


class Tables:
    """The tables of a program, point by point, in one of the forms; `heard` as of a Reporter."""

    def __init__(self, tasks: list[Task], options: TraceOptions, heard: Callable[[object], object] | None = None) -> None:
        self.tasks, self.form = tasks, options.form
        self.precision = PRECISIONS[options.precision or "double"]
        self.arithmetic = native_arithmetic(self.precision)
        self.number = number_format(options.fmt or (None if self.form == "json" else READABLE), False, options.precision)
        self.columns = columns_of(options.output) if heard is None else None
        self.element = options.element
        self.reporters = [Reporter(t, options, heard=heard) for t in tasks]
        self.primal = tasks[0].primal if tasks[0].request.of is None else prune(tasks[0].primal)
        self.own, self.names = options.naming == "program", dict[Var, Label]()
        self.given = [rounded_point(t.seeds, self.precision) for t in tasks]
        self.seeds: dict[str, dict[str, Any]] = {
            t.verb.seed: {p.seed or "": seeds[p.name] for p in t.signature.seeds}
            for t, seeds in zip(tasks, self.given, strict=True) if t.verb.seed}

    def written(self, at: Iterable[dict[str, float]], headed: bool) -> Iterator[str]:
        """The text of every point; with `headed` it says which point it is."""
        for i, (writer, point, level) in enumerate(self.all(at)):
            yield self.object(writer, point, level) if self.form == "json" else "".join(self.lines(writer, point, headed, i))

    def all(self, at: Iterable[dict[str, float]]) -> Iterator[tuple[Writer | StatementRows, dict[str, Any], int]]:
        """Writer of each trace, with its point and the worst status there."""
        at = (rounded_point(point, self.precision) for point in at)
        if self.tasks[0].signature.tensors:
            yield from self.of_tensors(at)
            return
        if self.element is not None:
            raise AdError("⟦--element⟧ needs a program with tensors; this one is of numbers", help="leave out ⟦--element⟧")
        self.names = labels(self.primal, self.own)
        programs, notation, wrt = [with_level(t) for t in self.tasks], self.notation(), self.tasks[0].derivation.wrt
        for point in at:
            trace = traced(self.primal, point, wrt, self.seeds.get("tangent"), self.seeds.get("cotangent"),
                           self.arithmetic)
            yield Writer(trace, self.names, notation), point, self.watched(programs, point)

    def of_tensors(self, at: Iterable[dict[str, Any]]) -> Iterator[tuple[Writer | StatementRows, dict[str, Any], int]]:
        """Writers of the traces of a program with tensors."""
        from adcli.trace.tensors import StatementRows, traced_tensors
        for point in at:
            found = traced_tensors(self.primal, point, list(self.tasks[0].derivation.wrt), self.seeds, self.precision)
            level, blamed = found.worst
            if blamed is not None:
                self.reporters[0].note(ROUGH, blamed)
            elif level:
                self.reporters[0].rough(Row({**point, **self.tasks[0].seeds}, [], level))
            if self.element is None:
                yield StatementRows(found, self.notation()), point, level
                continue
            trace, self.names = found.of_element(self.element)
            yield Writer(trace, self.names, self.notation()), point, level

    def lines(self, writer: Writer | StatementRows, point: Mapping[str, float], headed: bool, i: int) -> Iterator[str]:
        """The tables of a point."""
        blank = "\n" * bool(i)
        if headed:
            yield blank + self.heading(which(i, point, self.number))
            blank = "\n"
        for table in self.tables(writer):
            yield blank if self.form != "text" or not headed else ""
            yield from text(table, self.columns) if self.form == "text" else RENDERERS[self.form](table)
            blank = "\n"

    def tables(self, writer: Writer | StatementRows) -> Iterator[TraceTable]:
        """The tables that were asked for."""
        return writer.tables("tangent" in self.seeds, "cotangent" in self.seeds)

    def heading(self, point: str) -> str:
        return f"{ {'latex': '%', 'markdown': '**At**'}.get(self.form, '#') } {point}".rstrip() + "\n"

    def object(self, writer: Writer | StatementRows, point: Mapping[str, Any], level: int) -> str:
        return json_text(self.recorded(writer, point, level, self.number)) + "\n"

    def record(self, writer: Writer | StatementRows, point: Mapping[str, Any], level: int) -> dict[str, Any]:
        """Object of a point with plain numbers, those of formulas with all their digits."""
        if isinstance(writer, Writer):
            writer = Writer(writer.trace, self.names, Unicode(number_format(None, False, self.precision.name)))
        return self.recorded(writer, point, level, None)

    def recorded(self, writer: Writer | StatementRows, point: Mapping[str, Any], level: int,
                 number: Number | None) -> dict[str, Any]:
        """Object of a point, with numbers as `number` writes them; of elements with the inputs that they read, and no seeds."""
        if isinstance(writer, Writer):
            given, seeds = (point, self.seeds) if self.element is None else (
                {p.name: writer.trace.values[p.var] for p in writer.trace.program.params}, {})
            return TraceObject(writer, float if number is None else lambda x: json_number(x, number)).record(given, seeds, level)
        from adcli.output.tensors import json_tensor
        written = (lambda x: x.tolist()) if number is None else (lambda x: json_tensor(x, number))
        return writer.record(point, self.seeds, LEVELS[level], written)

    def notation(self) -> Notation:
        if self.form != "latex":
            return Unicode(self.number)
        named = [label.stem for label in self.names.values() if label.subscript is None]
        return Latex(self.number, dict.fromkeys([*named, *(p.name for p in self.primal.params),
                                                 *(r.name for r in self.primal.results),
                                                 *name_table(self.primal).values()]))

    def watched(self, programs: list[Program], point: dict[str, float]) -> int:
        """The worst status at a point, for which a note is given."""
        full = [{**point, **seeds} for seeds in self.given]
        levels = [int(evaluate(p, at, self.arithmetic)[p.results[-1].name]) for p, at in zip(programs, full, strict=True)]
        k = levels.index(max(levels))
        if levels[k]:
            self.reporters[k].rough(Row(full[k], [], levels[k]))
        return levels[k]


def with_level(task: Task) -> Program:
    """The task's program with its status as the last result, as it is computed everywhere."""
    return drop_zero_seeds(with_status(task.program, task.primal, task.derivation.wrt))
