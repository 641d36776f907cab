"""--enclose: guaranteed bounds of the results, at points or over boxes.

A box is a point with spreads, x=1±0.1, or, where no point is given, the ranges that inputs are declared with. As text a result
is a declaration, `input v in [lo, hi]`, so the output is a program of the language and can stand before a further one that
takes it up from there. JSON has an object `enclosure` of the shape of the results with pairs [lo, hi], one `decoration` with
what IEEE Std 1788-2015 calls them ("com", "dac", "def", "trv"), and over a box one `inner` with ranges that are certainly
spanned, or null; CSV has columns `v_low`, `v_high` and `v_decoration`. Text says in a comment what is not as it should be.
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from adcli.answers.derivatives import of_numbers
from adcli.answers.diagnose import described, fixed, letter
from adcli.answers.watch import Watch
from adcli.command.options import ROW_OPTIONS, ResultOptions
from adcli.input.points import joined, located, several
from adcli.input.spreads import widths
from adcli.lang.analyse.conventions import enclosed as of_derivatives
from adcli.lang.analyse.enclosure import Enclosure, FloatBounds, available
from adcli.lang.ir import Equation, Param
from adcli.lang.ir.errors import AdError, Note
from adcli.lang.passes.zero_seeds import drop_zero_seeds
from adcli.output.layout import Layout
from adcli.output.numbers import Number, json_number, json_text, number_format, shortest
from adcli.output.report import csv_text, json_point
from adcli.output.streams import packed_destination, write_points
from adcli.output.wrap import commented
from adcli.task.tasks import Task

GivenBox = dict[str, FloatBounds]
FoundEnclosure = tuple[GivenBox, Enclosure]


def bounds(task: Task, options: ResultOptions, watch: Watch) -> int:
    """Write bounds of the results at the points or boxes; returns the exit code."""
    refuse_others(options)
    specs, layout, number = joined(task.free, options.at), task.layout(False), number_format(None, options.hexadecimal)
    rows = enclosed(task, given_boxes(task, specs, watch), watch)
    with packed_destination(options.output, options.document and several(specs)) as out:
        match options.form:
            case "json":
                lines = json_lines(layout, rows, number)
            case "csv":
                lines = csv_lines(layout, rows, number, not specs or any(widths(spec)[1] for spec in specs))
            case _:
                lines = paragraphs(layout, rows, number, several(specs))
        write_points(out, lines)
    return watch.conclude(options.strict)


def refuse_others(options: ResultOptions) -> None:
    """AdError for what has no meaning beside bounds, and where python-flint is missing."""
    options.refuse(["data", *ROW_OPTIONS], "cannot be used with --enclose, which takes points and boxes")
    options.refuse(["digits"], "and --enclose cannot be used together")
    options.refuse(["fmt"], "cannot be used with --enclose: rounded bounds guarantee nothing")
    options.refuse(["status"], "cannot be used with --enclose: wide bounds show what is not smooth")
    options.refuse(["fast_math", "tier"], "has no effect on --enclose")
    available()


def enclosed(task: Task, boxes: Iterable[GivenBox], watch: Watch) -> Iterator[FoundEnclosure]:
    """Every box with its seeds, and what is known of the results there."""
    program, asked = drop_zero_seeds(task.program), of_numbers(task)
    seeds = {name: (x, x) for name, x in task.seeds.items()}
    for box in boxes:
        known = of_derivatives(program, box | seeds, task.primal, asked)
        yield box | seeds, known
        watched(known, task, watch)


def watched(known: Enclosure, task: Task, watch: Watch) -> None:
    """Take down whether --strict fails, and say what is to blame."""
    watch.failed |= "trv" in known.decorations or not all(math.isfinite(x) for pair in known.bounds for x in pair)
    if known.culprit:
        watch.say(note(*known.culprit, task))


# ---------------------------------------------------------------- boxes

def given_boxes(task: Task, specs: Sequence[str], watch: Watch) -> Iterator[GivenBox]:
    """The boxes that --at gives, or the one of the declared ranges. Everything that can be wrong is found at once."""
    inputs = task.free
    if not specs:
        return iter([declared(inputs)])
    parts = [widths(spec) for spec in specs]
    centres = [located(inputs, [plain], watch.say, task.signature.source) for plain, _ in parts]
    for _, spreads in parts:
        for name in spreads:
            if name not in {p.name for p in inputs}:
                raise AdError(f"no input '{name}'")
    return (box(at, spreads) for at_all, (_, spreads) in zip(centres, parts, strict=True) for at in at_all)


def declared(inputs: Sequence[Param]) -> GivenBox:
    """The box of the declared ranges; an input without one has its default."""
    missing = [p.name for p in inputs if p.low is None and p.default is None]
    if missing:
        raise AdError(f"no range for {', '.join(missing)}",
                      help=f"give a point or a box: --at {','.join(f'{n}=1±0.1' for n in missing[:3])}; or declare the range:"
                           f" input {missing[0]} in [0, 1]")
    ends = {p.name: (p.default, p.default) if p.low is None or p.high is None else (p.low, p.high) for p in inputs}
    return {name: finite(name, lo, hi) for name, (lo, hi) in ends.items() if lo is not None and hi is not None}


def box(at: Mapping[str, float], spreads: Mapping[str, float]) -> GivenBox:
    return {name: finite(name, *around(x, spreads.get(name, 0.0))) for name, x in at.items()}


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

def paragraphs(layout: Layout, found: Iterable[FoundEnclosure], number: Number, headed: bool) -> Iterator[str]:
    """A declaration a line; a comment says where there is no value, and over a box how much too wide it may be."""
    for i, (where, known) in enumerate(found):
        heading = [""] * bool(i and headed) + [f"# {place(where, number)}"] * headed
        yield paragraph(heading, [f"input {name}" for name in layout.names], known, number)


def paragraph(heading: list[str], names: Sequence[str], known: Enclosure, number: Number) -> str:
    """What is known on one box."""
    texts = [f"{name} in [{number(lo)}, {number(hi)}]" for name, (lo, hi) in zip(names, known.bounds, strict=True)]
    return "\n".join(heading + commented(texts, remarks(known))) + "\n"


def place(where: GivenBox, number: Number) -> str:
    """x in [0.9, 1.1], y = 2.0"""
    return ", ".join(f"{name} = {number(lo)}" if lo == hi else f"{name} in [{number(lo)}, {number(hi)}]"
                     for name, (lo, hi) in where.items())


def remarks(known: Enclosure) -> list[str]:
    """What is to be said of each result: where it has no value, or is a convention; over a box, whether it may jump, and how wide
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
    """How much wider the bounds may be than the true range."""
    (lo, hi) = bounds
    if not math.isfinite(hi - lo):
        return "no finite bound found"
    if inner is None or not inner[1] > inner[0]:
        return ""
    ratio = math.ceil((hi - lo) / (inner[1] - inner[0]) * 1000) / 1000
    return f"at most {ratio:.4g} times the true range"


def as_json(bounds: FloatBounds, number: Number) -> list[object]:
    return [json_number(x, number) for x in bounds]


def json_lines(layout: Layout, found: Iterable[FoundEnclosure], number: Number) -> Iterator[str]:
    for where, known in found:
        line = json_point(layout, {k: spot(x, number) for k, x in where.items()})
        line["enclosure"] = layout.shaped([as_json(b, number) for b in known.bounds])
        line["decoration"] = layout.shaped(known.decorations)
        if known.inner:
            line["inner"] = layout.shaped([b and as_json(b, number) for b in known.inner])
        yield json_text(line) + "\n"


def spot(bounds: FloatBounds, number: Number) -> object:
    return json_number(bounds[0], number) if bounds[0] == bounds[1] else as_json(bounds, number)


def csv_lines(layout: Layout, found: Iterable[FoundEnclosure], number: Number, wide: bool) -> Iterator[str]:
    """Inputs have two columns too where there are boxes."""
    def columns(names: Iterable[str], *suffixes: str) -> list[str]:
        return [f"{name}_{suffix}" for name in names for suffix in suffixes]

    yield csv_text([*(columns(layout.inputs, "low", "high") if wide else layout.inputs), *layout.seeds,
                    *columns(layout.names, "low", "high", "decoration")])
    for where, known in found:
        spots = [x for k in layout.inputs for x in (where[k] if wide else where[k][:1])]
        spots += [where[k][0] for k in layout.seeds]
        fields = [field for b, said in zip(known.bounds, known.decorations, strict=True) for field in (*map(number, b), said)]
        yield csv_text([*map(number, spots), *fields])


def note(e: Equation, operands: Sequence[FloatBounds | bool | None], reason: str, task: Task) -> Note:
    """What made bounds infinite, has no value, or what no precision decides, with its place."""
    shown = [f"{letter(i)} {within_ends(x)}" for i, x in enumerate(operands) if i not in fixed(e)]
    return Note(f"{described(e, '')} at {', '.join(shown)}: {reason}", e.span, task.signature.source)


def within_ends(bounds: FloatBounds | bool | None) -> str:
    if bounds is None or isinstance(bounds, bool):
        return "is true or false" if bounds is None else f"= {str(bounds).lower()}"
    lo, hi = bounds
    return f"= {shortest(lo)}" if lo == hi else f"in [{shortest(lo)}, {shortest(hi)}]"
