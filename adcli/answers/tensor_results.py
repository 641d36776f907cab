"""What the verbs do with programs that have tensors: values and derivatives at points, tensors in and out.

Arrays come and go as they are; sizes are bound and subscripts are proved once for each point's shapes. Rows of tables are
of scalars, so a program with tensors has points only.
"""
from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

import numpy as np

from adcli.answers.tensor_output import binary, csv_matrix, is_cut, json_points, results, text_points, write_arrays
from adcli.command.options import refuse
from adcli.command.usage import Unfit
from adcli.input.arrays import element
from adcli.input.points import within
from adcli.input.tensor_points import filled, is_zero, tensor_points, tensor_seeds
from adcli.lang.ir import Program
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.sizes import shape_text
from adcli.lang.passes.status import with_status
from adcli.output.report import Layout, Number, Row, number_format
from adcli.output.streams import destination, say, write_points
from adcli.task.tasks import Slot, Task
from adcli.task.tensor_code import native

Compute = Callable[[dict[str, Any]], tuple[list[Any], int]]
"""The results at a complete point, in order, and the status."""
MOST = 20
"""Results that are not finite and get a note each."""


def carry_out_tensors(task: Task, options: Mapping[str, Any]) -> int:
    """Write the results at the points; returns the exit code."""
    check_options(options)
    inputs = Program(tuple(p for p in task.program.params if not p.seed), (), ())
    require_point(inputs, options)
    remark: Callable[[object], None] = (lambda _: None) if options["quiet"] else say
    at = tensor_points(inputs, options["at"], remark)
    at = within([p for p in inputs.params if not p.var.shape], at, remark, task.primal.source)
    layout = Layout.of(task.verb, task.primal, task.program, task.wrt, options["status"])
    watch = Watch(task, layout, options["quiet"] or options["form"] == "json", options["jobs"])
    with destination(options["output"]) as out:
        write(out, layout, watch.over(evaluate(task, at, options["jobs"])), options, remark)
    watch.conclude()
    return 4 if options["strict"] and watch.failed else 0


def check_options(options: Mapping[str, Any]) -> None:
    """What tensors have no meaning for, or not yet."""
    if options["data"] is not None:
        raise AdError("rows are of scalars, and this program has tensors", help="give points: --at A=@matrix.npy")
    refuse(["input_format", "on_error", "missing"], "is about rows, and a program with tensors has points only")
    refuse(["digits", "enclose", "fast_math"], "is for programs of scalars, and this one has tensors")
    if options["form"] == "csv" or binary(options["output"]):
        refuse(["status"], "is a word beside the tensors, which --format text and json have room for")
    refuse(["zeros"], "is for programs of scalars: Jacobians of tensors are whole")
    if binary(options["output"]):
        refuse(["form", "fmt", "hexadecimal"], f"is about text, and {options['output']} holds arrays")


def require_point(program: Program, options: Mapping[str, Any]) -> None:
    """AdError where inputs are missing and no point is given."""
    missing = [p for p in program.params if p.default is None]
    if missing and not options["at"]:
        example = ",".join(f"{p.name}=@{p.name}.npy" if p.var.shape else f"{p.name}=1" for p in missing[:3])
        shapes = ", ".join(f"{p.name}{shape_text(p.var.shape)}" if p.var.shape else p.name for p in missing)
        raise AdError(f"no values for {shapes}", help=f"give a point, --at {example}{'' if len(missing) <= 3 else ',…'};"
                      " or --emit text for the program itself")


def seeded_tensors(task: Task, spec: str | None, kind: str, options: Mapping[str, Any]) -> Task:
    """The task with the seeds that --tangent or --cotangent gives."""
    seeds = tensor_seeds(task.program, spec, kind)
    if options["emit"]:
        return task if spec is None else bound_scalars(task, seeds or {}, kind)
    if seeds is None:
        which = [p for p in task.program.params if p.seed]
        raise AdError(f"no --{kind}", help=f"write --{kind} {','.join(f'{p.seed}=1' for p in which[:3])}"
                      " (a number fills a tensor), or give it as a point is given: A=@matrix.npy")
    task.seeds = seeds
    return task


def bound_scalars(task: Task, seeds: Mapping[str, Any], kind: str) -> Task:
    """The task for a program that is written: seeds that are numbers become constants, those that are 0 are left out."""
    for p in task.program.params:
        if p.seed and p.var.shape and not is_zero(seeds[p.name]):
            raise AdError(f"--{kind} {p.seed}: a tensor is no constant of a program",
                          help=f"without --{kind} the program has the input {p.name}")
    return task.at({name: float(x) if np.ndim(x) == 0 else 0.0 for name, x in seeds.items()}, derive=True)


# ---------------------------------------------------------------- numbers

def evaluate(task: Task, at: Iterable[dict[str, Any]], jobs: int | None) -> Iterator[Row]:
    """The results at every point. Seeds that are zero are left out of the program before it is compiled."""
    compute: Compute | None = None
    for point in at:
        full = filled(task.program, point, task.seeds) if task.seeds else point
        compute = compute or computation(task, jobs)
        try:
            found, level = compute(full)
        except AdError as fault:
            raise Unfit(fault.message, fault.span, fault.help, fault.source, fault.more) from None
        yield Row({**point, **task.seeds}, found, level)


def computation(task: Task, jobs: int | None) -> Compute:
    if task.verb == "jacobian" and not task.program.equations:
        from adcli.answers.tensor_jacobian import sweeps
        return sweeps(task, jobs)
    return compiled(without_zeros(task), task.primal, task.wrt, task.slot, jobs)


def without_zeros(task: Task) -> Program:
    """The program without what its zero seeds would have caused."""
    present = {name: float(not is_zero(x)) for name, x in task.seeds.items()}
    if all(present.values()):
        return task.program
    from adcli.task.derive import along
    return along(task.request, task.primal, task.program, task.wrt, present)


def compiled(program: Program, primal: Program, wrt: Collection[str], slot: Slot | None, jobs: int | None) -> Compute:
    """The results of a derivative, scalars as floats, and the status."""
    kernel = native(with_status(program, primal, wrt), slot)
    names, word = [p.name for p in program.params], kernel.program.results[-1].name

    def compute(point: dict[str, Any]) -> tuple[list[Any], int]:
        found = kernel({name: np.asarray(point[name]) for name in names}, jobs=jobs)
        return [x if np.ndim(x := found[r.name]) else float(x) for r in program.results], int(found[word])
    return compute


# ---------------------------------------------------------------- writing

def write(out: Any, layout: Layout, rows: Iterator[Row], options: Mapping[str, Any], remark: Callable[[object], None]) -> None:
    """All results in the format that the options or the name of the file ask for."""
    if kind := binary(options["output"]):
        write_arrays(out, kind, layout, list(rows))
        return
    number = number_format(options["fmt"], options["hexadecimal"])
    first = list(islice(rows, 2))
    write_points(out, pieces(options["form"], layout, first, rows, number, options["output"], remark))


def pieces(form: str, layout: Layout, first: list[Row], rest: Iterator[Row], number: Number, path: str | None,
           remark: Callable[[object], None]) -> Iterator[str]:
    """The results as text; `first` are those of the first points, two where there are several."""
    rows = chain(first, rest)
    match form:
        case "json":
            return json_points(layout, rows, number)
        case "text":
            cut = path is None and sys.stdout.isatty()
            if cut and any(is_cut(row.results) for row in first):
                remark("note: tensors are cut short for the terminal; -o FILE.npz has them whole, and so has a pipe")
            return text_points(layout, rows, number, len(first) > 1, cut)
        case "csv":
            if len(first) != 1:
                raise AdError("--format csv writes the tensor of one point, and there are several",
                              help="write --format json, or -o FILE.npz")
            return csv_matrix(layout, first[0], number)
    raise AdError(f"--format {form} is for programs of scalars, and this one has tensors", help="write --format json")


class Watch:
    """Watches results go by: a note for each that is not smooth, one for each with elements that are not finite, and whether
    --strict would fail. Nothing is said if it is `silent`."""

    def __init__(self, task: Task, layout: Layout, silent: bool, jobs: int | None) -> None:
        self.task, self.layout, self.silent, self.jobs = task, layout, silent, jobs
        self.count, self.failed = 0, False

    def over(self, rows: Iterable[Row]) -> Iterator[Row]:
        for row in rows:
            yield row
            if row.level and self.more():
                from adcli.answers.tensor_diagnose import note
                say(note(self.task, row.at, row.level, self.jobs))
            for name, x in zip(results(self.layout), row.results, strict=True):
                wrong = np.flatnonzero(~np.isfinite(x))
                if len(wrong) and self.more():
                    say(not_finite(name, x, wrong))

    def more(self) -> bool:
        """Count a result; whether it gets a note."""
        self.failed, self.count = True, self.count + 1
        return not self.silent and self.count <= MOST

    def conclude(self) -> None:
        if self.count > MOST and not self.silent:
            say(f"note: {self.count - MOST} more results are not smooth or not finite")


def not_finite(name: str, x: Any, wrong: np.ndarray) -> str:
    number = float(np.reshape(x, -1)[wrong[0]])
    several = f": {len(wrong):,} of {np.size(x):,} elements are not finite" if np.ndim(x) else " is not finite"
    return f"note: {element(name, int(wrong[0]), np.shape(x))} = {number!r}{several}"
