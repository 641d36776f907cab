"""--enclose of programs with tensors, loops or matrices: bounds of every element, at points or over boxes.

At the middle of a box the program is written out as one of numbers (`adcli.lang.evaluate.unfolding`). Choices between values
stay choices, so bounds of that program hold for the whole box, if nothing that was decided at the middle turns. Sizes, and
subscripts that are given, are whole numbers, which a box does not move; a subscript that is computed is refused. The order of
the rows of a matrix has no influence on a value as long as no pivot is 0, which is proven for the box, or there is no answer.
A loop that ends at `until` is refused.

As text there is a line for each element; JSON has the objects that numbers have, with nested lists where a result is a tensor.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from adcli.answers.derivatives import of_elements
from adcli.answers.enclose import GivenBox, around, as_json, declared, finite, paragraph, place, refuse_others, spot, watched
from adcli.answers.evaluation import without_zeros
from adcli.answers.watch import Watch
from adcli.command.options import ResultOptions
from adcli.input.arrays import filled, fitting
from adcli.input.points import joined, located, parts, require_point, several
from adcli.input.spreads import tensor_parts, tensor_widths, widths
from adcli.lang.analyse.conventions import enclosed
from adcli.lang.analyse.enclosure import Enclosure, FloatBounds, enclose
from adcli.lang.evaluate.recording import Pivots, element
from adcli.lang.evaluate.unfolding import Unfolded, unfolded
from adcli.lang.ir import Program, Result, Var
from adcli.lang.ir.comprehension import Comprehension, nested_reads
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.matrix import MatrixOperation, NoValue
from adcli.lang.ir.names import composed
from adcli.lang.ir.recurrence import Recurrence, whole_statements
from adcli.output.layout import Layout
from adcli.output.numbers import Number, json_text, number_format
from adcli.output.report import json_point
from adcli.output.streams import packed_destination, write_points
from adcli.task.shapes import written_out
from adcli.task.tasks import Task

MOST_NAMED = 10
"""Elements that a heading names."""


class BoxOfElements(NamedTuple):
    """A point in the middle, and the ends of every element that has a width, which are made when they are asked for."""

    middle: dict[str, Any]
    ends: Iterable[tuple[str, FloatBounds]]


class BoundedElements(NamedTuple):
    """What is known of all elements on a box, the shape of every result, and the arrays of the inputs and seeds."""

    whole: Unfolded
    box: GivenBox
    known: Enclosure
    at: Mapping[str, Any]
    shapes: list[tuple[int, ...]]


def bounds_of_elements(task: Task, options: ResultOptions, watch: Watch) -> int:
    """Write bounds of the elements of the results at the points or boxes; returns the exit code."""
    refuse_others(options)
    if options.form == "csv":
        options.refuse(["enclose"], "of tensors needs --format text or json")
    refuse_until(task.program)
    refuse_computed_subscripts(task.program)
    specs, number = joined(task.free, options.at), number_format(None, options.hexadecimal)
    rows = bounded(task, boxes(task, specs, watch), watch)
    with packed_destination(options.output, options.document and several(specs)) as out:
        if options.form == "json":
            write_points(out, json_lines(task.layout(False), rows, number))
        else:
            first = list(islice(rows, 2))   # two points tell whether there are several
            write_points(out, paragraphs(chain(first, rows), number, len(first) > 1))
    return watch.conclude(options.strict)


def bounded(task: Task, given: Iterator[BoxOfElements], watch: Watch) -> Iterator[BoundedElements]:
    """Every box with what is known of the results there."""
    program = without_zeros(task)
    for middle, ends in given:
        at = filled(program, middle, task.seeds) if task.seeds else fitting(task.primal, middle)
        whole = written_out(program, at, "--enclose")
        box = {name: (x, x) for name, x in whole.at.items()} | dict(ends)
        for name, pair in box.items():
            finite(name, *pair)
        refuse_undecided(whole, box)
        shapes = [whole.elements[r.atom].shape if isinstance(r.atom, Var) else () for r in program.results]
        primal = unfolded(task.primal, at)
        known = enclosed(whole.program, box, primal.program, of_elements(task, primal, at))
        yield BoundedElements(whole, box, known, at, shapes)
        watched(known, task, watch)


# ---------------------------------------------------------------- what is decided at the middle

def refuse_until(program: Program) -> None:
    """AdError where a loop ends at `until`: how many steps it takes may differ within a box, and from exact arithmetic."""
    for e in program.equations:
        if isinstance(e.op, Recurrence) and e.op.until is not None:
            raise AdError("--enclose needs a number of steps that no value decides; this loop ends at 'until'", e.span,
                          help="leave out 'until': the loop then takes all its steps")


def refuse_computed_subscripts(program: Program) -> None:
    """AdError where a subscript is computed, as by argmax=!: which element it reads or writes may differ within a box, and from
    exact arithmetic."""
    given = {p.var for p in program.params if p.var.integer}
    for e in chain.from_iterable(whole_statements(e) if isinstance(e.op, Recurrence) else (e,) for e in program.equations):
        if not isinstance(e.op, Comprehension | MatrixOperation):
            continue
        whole = [*(s for _, read in e.op.reads() for s in read.subscripts), *e.op.write]
        for atom in (e.args[s.arg] for s in nested_reads(whole)):
            if isinstance(atom, Var) and atom not in given:
                name = f"'{atom.name}'" if atom.name else "a subscript"
                raise AdError(f"--enclose needs subscripts that no value decides; here {name} is computed", e.span,
                              help=f"give {name} as an input of whole numbers")


def refuse_undecided(whole: Unfolded, box: GivenBox) -> None:
    """AdError where an operation on a matrix has no value at the middle, or is not proven to have one on the whole box."""
    thin = all(lo == hi for lo, hi in box.values())
    for e in whole.program.equations:
        if isinstance(e.op, NoValue):
            raise AdError(f"{e.op.name} has no value {'here' if thin else 'in the middle of the box'}", e.span)
    for each in whole.pivots:
        if not proven(whole.program, each, box):
            raise AdError(f"{each.operation} is not proven to have a value {'here' if thin else 'everywhere in the box'}:"
                          " a pivot may be 0", each.span, None if thin else "give a smaller box")


def proven(program: Program, needed: Pivots, box: GivenBox) -> bool:
    """Whether the elements of a matrix are numbers on the whole box, and no pivot is 0: at once, or on its parts."""
    atoms = tuple(dict.fromkeys([*needed.pivots, *needed.elements]))
    asked = Program(program.params, program.equations, tuple([Result(f"r{k}", a) for k, a in enumerate(atoms)]))
    return any(regular(enclose(asked, box, *most), len(set(needed.pivots))) for most in ([0], []))


def regular(known: Enclosure, pivots: int) -> bool:
    return "trv" not in known.decorations and all(lo > 0 or hi < 0 for lo, hi in known.bounds[:pivots])


# ---------------------------------------------------------------- boxes

def boxes(task: Task, specs: Sequence[str], watch: Watch) -> Iterator[BoxOfElements]:
    """The boxes that --at gives, or where all inputs are numbers, the one of the declared ranges."""
    inputs = task.free
    if not specs and not any(p.var.shape for p in inputs):
        ends = declared(inputs)
        return iter([BoxOfElements({name: lo for name, (lo, _) in ends.items()}, ends.items())])
    require_point(inputs, specs)
    given = [split_widths(task, spec) for spec in specs]
    return (BoxOfElements(dict(at), ends_of(at, spreads))
            for plain, spreads in given for at in located(inputs, [plain], watch.say, task.signature.source))


def split_widths(task: Task, spec: str) -> tuple[str, dict[str, str | float]]:
    """What one --at says without its spreads, and what stands behind ±: of a tensor as it is written."""
    kinds = {p.name: p.var for p in task.free}
    plain: list[str] = []
    spreads: dict[str, str | float] = {}
    for part in filter(str.strip, parts(spec)):
        name = composed(part.partition("=")[0].strip())
        value, width = tensor_parts(part)
        if width is not None and name not in kinds:
            raise AdError(f"no input '{name}'")
        if width is not None and kinds[name].integer:
            raise AdError(f"'{name}' is a whole number and has no spread", help=f"write {value.strip()}")
        if width is not None and kinds[name].shape:
            if "~" in width:
                raise AdError(f"{name}: a box has no distribution", help=f"write {name}=…±{width.partition('~')[0].strip()}")
            plain.append(value)
            spreads[name] = width
        else:
            number, found = widths(part) if name in kinds and not kinds[name].shape else (part, {})
            plain.append(number)
            spreads |= found
    return ",".join(plain), spreads


def ends_of(at: Mapping[str, Any], spreads: Mapping[str, str | float]) -> Iterator[tuple[str, FloatBounds]]:
    """The ends of every element that has a spread."""
    for name, given in spreads.items():
        middle = np.asarray(at[name], float)
        each = tensor_widths(name, middle, given) if isinstance(given, str) else np.asarray(given)
        for index, x in np.ndenumerate(middle):
            yield element(name, index), around(float(x), float(each[index]))


# ---------------------------------------------------------------- output

def paragraphs(found: Iterable[BoundedElements], number: Number, headed: bool) -> Iterator[str]:
    """A line an element; that of a number is a declaration. A box of many elements is named by its number."""
    for i, row in enumerate(found):
        names = [r.name if r.name.endswith(")") else f"input {r.name}" for r in row.whole.program.results]
        where = place(row.box, number) if len(row.box) <= MOST_NAMED else f"point {i + 1}"
        whole = [f"{name} = {int(x)}" for name, x in row.at.items() if name not in row.box and np.ndim(x) == 0]
        heading = [""] * bool(i and headed) + [f"# {', '.join(filter(None, [where, *whole]))}"] * headed
        yield paragraph(heading, names, row.known, number)


def json_lines(layout: Layout, found: Iterator[BoundedElements], number: Number) -> Iterator[str]:
    for row in found:
        line = json_point(layout, {name: ends(name, np.asarray(x), row.box, number) for name, x in row.at.items()})
        line["enclosure"] = layout.shaped(by_result(row, [as_json(b, number) for b in row.known.bounds]))
        line["decoration"] = layout.shaped(by_result(row, row.known.decorations))
        if row.known.inner:
            line["inner"] = layout.shaped(by_result(row, [b and as_json(b, number) for b in row.known.inner]))
        yield json_text(line) + "\n"


def ends(name: str, x: np.ndarray, box: GivenBox, number: Number) -> Any:
    """An input as nested lists, with the ends of its elements where it has some; integers are as they are."""
    places = [element(name, index) for index in np.ndindex(x.shape)]
    return lists(x.shape, [spot(box[e], number) if e in box else int(x.flat[k]) for k, e in enumerate(places)])


def by_result(row: BoundedElements, entries: Sequence[object]) -> list[Any]:
    """One entry a result, nested lists where it is a tensor, from one for each element."""
    left = iter(entries)
    return [lists(shape, [next(left) for _ in np.ndindex(shape)]) for shape in row.shapes]


def lists(shape: tuple[int, ...], entries: Sequence[object]) -> Any:
    """Entries in the order of memory as nested lists."""
    made = np.empty(shape, object)
    for index, x in zip(np.ndindex(shape), entries, strict=True):
        made[index] = x
    return made.tolist() if shape else made[()]
