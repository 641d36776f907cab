"""--enclose: guaranteed bounds of the results, at points or over boxes.

A box is a point with spreads, x=1±0.1, or, where no point is given, the ranges that inputs are declared with. As text a result
is a declaration, `input v in [lo, hi]`, so the output is a program of the language and can stand before a further one that
takes it up from there; of a tensor there is a line for each element. JSON has an object `enclosure` of the shape of the results
with pairs [lo, hi], one `decoration` with what IEEE Std 1788-2015 calls them ("com", "dac", "def", "trv"), and over a box one
`inner` with ranges that are certainly spanned, or null; CSV has columns `v_low`, `v_high` and `v_decoration`. Text says in a
comment what is not as it should be.

At the middle of a box a program with tensors is written out as one of numbers. Choices between values stay choices, so bounds of
that program hold for the whole box, if nothing that was decided at the middle turns. Sizes, and subscripts that are given, are
whole numbers, which a box does not move; a subscript that is computed is refused, and a loop that ends at `until`. The order of
the rows of a matrix has no influence on a value as long as no pivot is 0, which is proven for the box, or there is no answer.
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from adcli.answers.diagnose import described, fixed, letter
from adcli.answers.digits import NumbersAt, as_numbers
from adcli.answers.reporter import Reporter
from adcli.codegen.machine.small import shape_of
from adcli.input.distributions import tensor_parts, tensor_widths, widths
from adcli.input.points import joined, located, parts, require_point, several
from adcli.input.settings import ResultOptions
from adcli.lang.analyse.conventions import enclosed
from adcli.lang.analyse.enclosure import Enclosure, FloatBounds, available, enclose
from adcli.lang.ir import Equation, Param, Program, Result, Values, Var
from adcli.lang.ir.errors import AdError, Note
from adcli.lang.ir.names import composed
from adcli.output.layout import Layout
from adcli.output.numbers import Number, json_number, json_text, number_format, shortest
from adcli.output.report import csv_text, json_point
from adcli.output.streams import packed_destination, write_points
from adcli.output.wrap import commented
from adcli.task.matrices import elements
from adcli.task.rules import require_fit
from adcli.task.tasks import Task

if TYPE_CHECKING:
    from adcli.lang.evaluate.recording import Pivots

MOST_NAMED = 10
"""Elements that a heading names."""
GivenBox = dict[str, FloatBounds]
WideBox = tuple[dict[str, Any], Iterable[tuple[str, FloatBounds]]]
"""A point in the middle, and the ends of every number that has a width, which are made when they are asked for."""


class Bounded(NamedTuple):
    """A task as a program of numbers in the middle of a box, the ends of every number, and what is known of the results."""

    numbers: NumbersAt
    box: GivenBox
    known: Enclosure


def bounds(task: Task, options: ResultOptions, reporter: Reporter) -> int:
    """Write bounds of the results at the points or boxes; returns the exit code."""
    tensors = task.signature.tensors
    require_fit(options, "enclose", tensors)
    available()
    if tensors:
        refuse_until(task.program)
        refuse_computed_subscripts(task.program)
    specs, number = joined(task.free, options.at), number_format(None, options.hexadecimal)
    rows = bounded(task, boxes(task, specs, reporter), reporter)
    with packed_destination(options.output, options.document and several(specs)) as out:
        match options.form:
            case "json":
                lines = json_lines(task.layout(False), rows, number)
            case "csv":
                lines = csv_lines(task.layout(False), rows, number, not specs or any(widths(spec)[1] for spec in specs))
            case _:
                first = list(islice(rows, 2)) if tensors else []   # two points tell whether there are several
                lines = paragraphs(chain(first, rows), number, len(first) > 1 or (not tensors and several(specs)))
        write_points(out, lines)
    return reporter.conclude()


def bounded(task: Task, given: Iterable[WideBox], reporter: Reporter) -> Iterator[Bounded]:
    """Every box, a point in its middle with the ends of what has a width, and what is known of the results there."""
    numbers_at = as_numbers(task, "--enclose")
    for middle, ends in given:
        here = numbers_at(middle)
        box = {name: (x, x) for name, x in here.at.items()} | dict(ends)
        for name, pair in box.items():
            finite(name, *pair)
        refuse_undecided(here, box)
        known = enclosed(here.program, box, here.primal, here.asked)
        yield Bounded(here, box, known)
        watched(known, task, reporter)


def watched(known: Enclosure, task: Task, reporter: Reporter) -> None:
    """Take down whether --strict fails, and say what is to blame."""
    reporter.failed |= "trv" in known.decorations or not all(math.isfinite(x) for pair in known.bounds for x in pair)
    if known.culprit:
        reporter.say(note(*known.culprit, task))


# ---------------------------------------------------------------- what is decided at the middle

def refuse_until(program: Program) -> None:
    """AdError where a loop ends at `until`: how many steps it takes may differ within a box, and from exact arithmetic."""
    from adcli.lang.operations.recurrence import ended_by_values
    for e in ended_by_values(program.equations):
        raise AdError("--enclose needs a number of steps that no value decides; this loop ends at 'until'", e.span,
                      help="leave out 'until': the loop then takes all its steps")


def refuse_computed_subscripts(program: Program) -> None:
    """AdError where a subscript is computed, as by argmax=!: which element it reads or writes may differ within a box, and from
    exact arithmetic."""
    from adcli.lang.operations.comprehension import nested_reads
    from adcli.lang.operations.recurrence import boxed
    given = {p.var for p in program.params if p.var.integer}
    for e in boxed(program.equations):
        whole = [*(s for _, read in e.op.reads() for s in read.subscripts), *e.op.write]
        for atom in (e.args[s.arg] for s in nested_reads(whole)):
            if isinstance(atom, Var) and atom not in given:
                name = f"'{atom.name}'" if atom.name else "a subscript"
                raise AdError(f"--enclose needs subscripts that no value decides; here {name} is computed", e.span,
                              help=f"give {name} as an input of whole numbers")


def refuse_undecided(whole: NumbersAt, box: GivenBox) -> None:
    """AdError where an operation on a matrix has no value at the middle, or is not proven to have one on the whole box."""
    from adcli.lang.operations.matrix import NoValue
    thin = all(lo == hi for lo, hi in box.values())
    for e in whole.program.equations:
        if isinstance(e.op, NoValue):
            raise AdError(f"{e.op.name} has no value {'here' if thin else 'in the middle of the box'}", e.span)
    for each in whole.pivots:
        if not proven(whole.program, each, box):
            raise AdError(f"{each.operation} is not proven to have a value {'here' if thin else 'everywhere in the box'}:"
                          " a pivot may be 0", each.span, None if thin else "give a smaller box")


def proven(program: Program, needed: Pivots, box: GivenBox) -> bool:
    """Proof that the elements of a matrix are numbers on the whole box, and no pivot is 0: at once, or on its parts."""
    atoms = tuple(dict.fromkeys([*needed.pivots, *needed.elements]))
    asked = Program(program.params, program.equations, tuple([Result(f"r{k}", a) for k, a in enumerate(atoms)]))
    return any(regular(enclose(asked, box, *most), len(set(needed.pivots))) for most in ([0], []))


def regular(known: Enclosure, pivots: int) -> bool:
    return "trv" not in known.decorations and all(lo > 0 or hi < 0 for lo, hi in known.bounds[:pivots])


# ---------------------------------------------------------------- boxes

def boxes(task: Task, specs: Sequence[str], reporter: Reporter) -> Iterator[WideBox]:
    """The boxes that --at gives, or where all inputs are numbers, the one of the declared ranges. Everything that can be wrong is
    found at once."""
    inputs = task.free
    if not specs and not any(p.var.shape for p in inputs):
        ends = declared(inputs)
        return iter([({name: low for name, (low, _) in ends.items()}, ends.items())])
    require_point(inputs, specs)
    given = [split_widths(inputs, spec) for spec in specs or [""]]
    points = [located(inputs, [plain], reporter.say, task.signature.source) for plain, _ in given]
    return ((dict(at), ends_of(at, spreads)) for each, (_, spreads) in zip(points, given, strict=True) for at in each)


def declared(inputs: Sequence[Param]) -> GivenBox:
    """The box of the declared ranges; an input without one has its default."""
    missing = [p.name for p in inputs if p.low is None and p.default is None]
    if missing:
        raise AdError(f"no range for {', '.join(missing)}",
                      help=f"give a point or a box: --at {','.join(f'{n}=1±0.1' for n in missing[:3])}; or declare the range:"
                           f" input {missing[0]} in [0, 1]")
    ends = {p.name: (p.default, p.default) if p.low is None or p.high is None else (p.low, p.high) for p in inputs}
    return {name: finite(name, lo, hi) for name, (lo, hi) in ends.items() if lo is not None and hi is not None}


def split_widths(inputs: Sequence[Param], spec: str) -> tuple[str, dict[str, str | float]]:
    """Split one --at into the point and the widths after ±, those of a tensor as written."""
    kinds = {p.name: p.var for p in inputs}
    plain: list[str] = []
    spreads: dict[str, str | float] = {}
    for part in filter(str.strip, parts(spec)):
        name = composed(part.partition("=")[0].strip())
        kind = kinds.get(name)
        if kind is None and ("±" in part or "+-" in part):
            raise AdError(f"no input '{name}'")
        if kind is not None and kind.shape:
            value, width = tensor_parts(part)
            found: dict[str, Any] = {} if width is None else {name: width}
            if width and "~" in width:
                raise AdError(f"{name}: a box has no distribution", help=f"write {name}=…±{width.partition('~')[0].strip()}")
        else:
            value, found = widths(part)
        if found and kind is not None and kind.integer:
            raise AdError(f"'{name}' is a whole number and has no spread", help=f"write {value.strip()}")
        plain.append(value)
        spreads |= found
    return ",".join(plain), spreads


def ends_of(at: Values, spreads: Mapping[str, str | float]) -> Iterator[tuple[str, FloatBounds]]:
    """The ends of every number that has a spread."""
    for name, given in spreads.items():
        if isinstance(given, float):
            yield name, around(at[name], given)
            continue
        import numpy as np  # start-up: only for tensors
        middle = np.asarray(at[name], float)
        each = tensor_widths(name, middle, given).ravel().tolist()
        for element, x, width in zip(elements(name, middle.shape), middle.ravel().tolist(), each, strict=True):
            yield element, around(x, width)


def around(x: float, spread: float) -> FloatBounds:
    """x ± spread, rounded outwards."""
    if not spread or not math.isfinite(x):
        return x, x
    low, high = x - spread, x + spread
    if Fraction(x) - Fraction(spread) < low:
        low = math.nextafter(low, -math.inf)
    if math.isfinite(high) and Fraction(x) + Fraction(spread) > high:
        high = math.nextafter(high, math.inf)
    return low, high


def finite(name: str, low: float, high: float) -> FloatBounds:
    if not (math.isfinite(low) and math.isfinite(high)):
        shown = shortest(low) if low == high or low != low else f"[{shortest(low)}, {shortest(high)}]"
        raise AdError(f"{name} = {shown}: --enclose needs finite inputs")
    return low, high


# ---------------------------------------------------------------- output

def paragraphs(found: Iterable[Bounded], number: Number, headed: bool) -> Iterator[str]:
    """A line a number; that of a scalar is a declaration. A box of many elements is named by its number."""
    for i, (numbers, box, known) in enumerate(found):
        names = [r.name if r.name.endswith(")") else f"input {r.name}" for r in numbers.program.results]
        given = numbers.given
        where = place(box, number) if len(box) <= MOST_NAMED or box.keys() == given.keys() else f"point {i + 1}"
        whole = [f"{name} = {int(x)}" for name, x in given.items() if name not in box and not shape_of(x)]
        texts = [f"{name} in [{number(lo)}, {number(hi)}]" for name, (lo, hi) in zip(names, known.bounds, strict=True)]
        heading = [""] * bool(i and headed) + [f"# {', '.join(filter(None, [where, *whole]))}"] * headed
        yield "\n".join(heading + commented(texts, remarks(known))) + "\n"


def place(where: GivenBox, number: Number) -> str:
    """x in [0.9, 1.1], y = 2.0"""
    return ", ".join(f"{name} = {number(lo)}" if lo == hi else f"{name} in [{number(lo)}, {number(hi)}]"
                     for name, (lo, hi) in where.items())


def remarks(known: Enclosure) -> list[str]:
    """Remarks on each result: where it has no value, or is a convention; over a box, whether it may jump, and how wide
    its bounds are."""
    conventions = known.conventions or [""] * len(known.bounds)
    said = [[chosen or UNDEFINED[where]] if decoration == "trv" else ["may jump"] * (decoration == "def" and bool(known.inner))
            for decoration, where, chosen in zip(known.decorations, known.undefined, conventions, strict=True)]
    for remark, bounds, inner, where in zip(said, known.bounds, known.inner, known.undefined, strict=False):
        if where != "everywhere":
            remark += filter(None, [quality(bounds, inner)])
    return list(map("; ".join, said))


UNDEFINED = {"everywhere": "no value", "somewhere": "partly defined", "": "may be undefined"}


def quality(bounds: FloatBounds, inner: FloatBounds | None) -> str:
    """Quality of bounds: their width against the true range."""
    (lo, hi) = bounds
    if not math.isfinite(hi - lo):
        return "no finite bound found"
    if inner is None or not inner[1] > inner[0]:
        return ""
    ratio = math.ceil((hi - lo) / (inner[1] - inner[0]) * 1000) / 1000
    return f"at most {ratio:.4g} times the true range"


def as_json(bounds: FloatBounds, number: Number) -> list[object]:
    return [json_number(x, number) for x in bounds]


def json_lines(layout: Layout, found: Iterable[Bounded], number: Number) -> Iterator[str]:
    for numbers, box, known in found:
        line = json_point(layout, {name: ends(name, x, box, number) for name, x in numbers.given.items()})
        line["enclosure"] = layout.shaped(by_result(numbers, [as_json(b, number) for b in known.bounds]))
        line["decoration"] = layout.shaped(by_result(numbers, known.decorations))
        if known.inner:
            line["inner"] = layout.shaped(by_result(numbers, [b and as_json(b, number) for b in known.inner]))
        yield json_text(line) + "\n"


def spot(bounds: FloatBounds, number: Number) -> object:
    return json_number(bounds[0], number) if bounds[0] == bounds[1] else as_json(bounds, number)


def ends(name: str, x: Any, box: GivenBox, number: Number) -> Any:
    """An input, as nested lists where it is a tensor, with the ends of its elements where it has some; integers are as they
    are."""
    shape = shape_of(x)
    if not shape:
        return spot(box[name], number) if name in box else int(x)
    each = zip(elements(name, shape), x.ravel().tolist(), strict=True)
    return lists(shape, iter([spot(box[element], number) if element in box else value for element, value in each]))


def by_result(numbers: NumbersAt, entries: Sequence[object]) -> list[Any]:
    """One entry a result, nested lists where it is a tensor, from one for each element."""
    left = iter(entries)
    return [lists(shape, left) for shape in numbers.shapes]


def lists(shape: tuple[int, ...], entries: Iterator[object]) -> Any:
    """Entries in the order of memory as nested lists."""
    return [lists(shape[1:], entries) for _ in range(shape[0])] if shape else next(entries)


def csv_lines(layout: Layout, found: Iterable[Bounded], number: Number, wide: bool) -> Iterator[str]:
    """Inputs have two columns too where there are boxes."""
    def columns(names: Iterable[str], *suffixes: str) -> list[str]:
        return [f"{name}_{suffix}" for name in names for suffix in suffixes]

    yield csv_text([*(columns(layout.inputs, "low", "high") if wide else layout.inputs), *layout.seeds,
                    *columns(layout.names, "low", "high", "decoration")])
    for _, where, known in found:
        spots = [x for k in layout.inputs for x in (where[k] if wide else where[k][:1])]
        spots += [where[k][0] for k in layout.seeds]
        fields = [field for b, said in zip(known.bounds, known.decorations, strict=True) for field in (*map(number, b), said)]
        yield csv_text([*map(number, spots), *fields])


def note(e: Equation, operands: Sequence[FloatBounds | bool | None], reason: str, task: Task) -> Note:
    """Note on the operation that made bounds infinite, has no value, or is undecided."""
    shown = [f"{letter(i)} {within_ends(x)}" for i, x in enumerate(operands) if i not in fixed(e)]
    return Note(f"{described(e, '')} at {', '.join(shown)}: {reason}", e.span, task.signature.source)


def within_ends(bounds: FloatBounds | bool | None) -> str:
    if bounds is None or isinstance(bounds, bool):
        return "is true or false" if bounds is None else f"= {str(bounds).lower()}"
    lo, hi = bounds
    return f"= {shortest(lo)}" if lo == hi else f"in [{shortest(lo)}, {shortest(hi)}]"
