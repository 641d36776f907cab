"""--digits: results with the number of their right digits beside them.

As text the digits are comments, so the output stays a program; JSON has an object `digits` of the shape of the results, CSV
a column `v_digits` behind every `v`. In both, 17 stands for an exact number; null or an empty field for one of which nothing
is proven. A program with tensors is written out as one of numbers at each point; as text, a tensor is given the fewest digits
that an element of it has.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import tee
from typing import TYPE_CHECKING, Any

from adcli.answers.derivatives import of_numbers
from adcli.answers.evaluation import without_zeros
from adcli.answers.results import evaluated
from adcli.answers.watch import Watch
from adcli.command.options import ResultOptions
from adcli.input.points import need_headings
from adcli.lang.analyse.conventions import AskedDerivative, Convention, conventions
from adcli.lang.analyse.right_digits import EXACT, Digits, right_digits
from adcli.lang.ir import LEVELS, Program
from adcli.lang.ir.errors import AdError
from adcli.lang.passes.zero_seeds import drop_zero_seeds
from adcli.output.layout import Layout, Row
from adcli.output.numbers import Number, json_text, number_format
from adcli.output.report import csv_text, heading, json_record, text
from adcli.output.streams import packed_destination, write_points
from adcli.output.wrap import commented
from adcli.task.tasks import Task

if TYPE_CHECKING:
    import numpy as np

FEW_DIGITS = 8.0
"""Digits below which the exact value is shown."""
TURNED = "; a comparison has the other outcome in exact arithmetic"

Judged = tuple[Row, list[Any]]
"""The results at a point with the Digits of each, in an array where it is a tensor."""


def with_digits(task: Task, options: ResultOptions, watch: Watch) -> int:
    """Write the results at the points with their digits; returns the exit code."""
    if options.fast_math:
        raise AdError("--digits and --fast-math cannot be used together", help="leave out --fast-math")
    found = evaluated(task, options, watch)
    number, layout = number_format(options.fmt, options.hexadecimal), task.layout(options.status)
    rows = judged_elements(task, found) if task.signature.tensors else judged(task, found)
    form = {"csv": csv_lines, "json": json_lines}.get(options.form)
    if form is None and task.signature.tensors:
        form = tensor_paragraphs
    headed = need_headings(task.free, options.at)
    with packed_destination(options.output, options.document and headed) as out:
        write_points(out, (form or paragraphs)(layout, rows, number, headed))
    return watch.conclude(options.strict)


def judged(task: Task, rows: Iterable[Row]) -> Iterator[Judged]:
    program, primal, asked = drop_zero_seeds(task.program), task.primal, of_numbers(task)
    for row in rows:
        yield row, right_digits(program, row.at, row.results, conventions_at(primal, row.at, asked))


def conventions_at(primal: Program, at: Mapping[str, float], asked: Sequence[AskedDerivative]) -> list[Convention]:
    """The kink or jump at which each of the derivatives is a convention, at a point."""
    return conventions(primal, {p.name: (at[p.name],) * 2 for p in primal.params}, asked)


def judged_elements(task: Task, rows: Iterable[Row]) -> Iterator[Judged]:
    """The same for tensors, of each point by itself. AdError where that is too long."""
    import numpy as np

    from adcli.answers.derivatives import of_elements
    from adcli.input.arrays import filled, fitting
    from adcli.input.nested import arrays_of
    from adcli.lang.evaluate.unfolding import unfolded
    from adcli.task.shapes import written_out
    program = without_zeros(task)
    for row in rows:
        own = arrays_of({name: x for name, x in row.at.items() if name not in task.seeds})
        at = filled(program, own, task.seeds) if task.seeds else fitting(task.primal, own)
        whole, primal = written_out(program, at, "--digits"), unfolded(task.primal, at)
        numbers = [float(x) for result in row.results for x in np.ravel(result)]
        found = iter(right_digits(whole.program, whole.at, numbers,
                                  conventions_at(primal.program, primal.at, of_elements(task, primal, at))))
        judged: list[Any] = []
        for result in row.results:
            each = np.empty(np.shape(result), object)
            for place in np.ndindex(each.shape):
                each[place] = next(found)
            judged.append(each if each.shape else each[()])
        yield row, judged


def paragraphs(layout: Layout, rows: Iterable[Judged], number: Number, headed: bool) -> Iterator[str]:
    """The text of the results with a comment behind every number, in one column."""
    rows, again = tee(rows)
    for paragraph, (_, digits) in zip(text(layout, (row for row, _ in rows), number, headed), again, strict=True):
        lines = paragraph.split("\n")
        first = len(lines) - 1 - len(layout.names)
        shown = slice(first, first + len(digits))
        lines[shown] = commented(lines[shown], list(map(comment, digits)))
        yield "\n".join(lines)


def comment(d: Digits) -> str:
    """The digits of one number in words."""
    return words(d) + TURNED * d.turned


def words(d: Digits) -> str:
    """How many digits are right, in words."""
    if d.convention.level:
        return str(d.convention)
    match d.exact, d.count:
        case "nan", _:
            return "not a number in exact arithmetic" + (" either" if d.count is None else ": 0.0 digits")
        case "inf or -inf", None:
            return "infinite, with the sign of a zero"
        case _, None:
            return "not proven"
        case _, count if count == EXACT:
            return "exact"
        case exact, count:
            shown = f"exactly {exact}" if exact else "exact value not proven"
            return f"{count:.1f} digits" + f", {shown}" * (count < FEW_DIGITS)


def tensor_paragraphs(layout: Layout, rows: Iterable[Judged], number: Number, headed: bool) -> Iterator[str]:
    """The text of results of any rank, with a comment on each: behind it where it is one line, else below."""
    from adcli.output.tensors import result_lines
    for i, (row, judged) in enumerate(rows):
        lines = [""] * (headed and i > 0) + [heading(i, row, number)] * headed
        for name, x, digits in zip(layout.results, row.results, judged, strict=True):
            shown = list(result_lines(name, x, number, False))
            said = comment(digits) if isinstance(digits, Digits) else of_all(digits)
            lines += [f"{shown[0]}  # {said}"] if len(shown) == 1 else [*shown, f"# {name}: {said}"]
        if layout.status:
            lines.append(f"{layout.status} = {LEVELS[row.level]}")
        yield "\n".join(lines) + "\n"


def of_all(digits: np.ndarray) -> str:
    """The digits of a tensor in words: the fewest, and how many elements have none that could be counted."""
    import numpy as np
    each = list(np.ndenumerate(digits))
    counted = [(d.count, place, d) for place, d in each if d.count is not None]
    said = []
    if counted:
        fewest, place, d = min(counted, key=lambda known: known[0])
        where = f", the fewest at ({', '.join(map(str, place))})" if fewest < EXACT else ""
        said.append(words(d) + where)
    said += [f"{many} of {len(each)} {text}" for text, many in Counter(words(d) for _, d in each if d.count is None).items()]
    return ("; ".join(said) or "no elements") + TURNED * any(d.turned for _, d in each)


def json_lines(layout: Layout, rows: Iterable[Judged], number: Number, headed: bool) -> Iterator[str]:
    """One object a point, with the digits beside the results."""
    for row, digits in rows:
        record = json_record(layout, row, number)
        record["digits"] = layout.shaped([counts(d) for d in digits])
        for key, holds in MARKS.items():
            if named := [name for name, d in zip(layout.results, digits, strict=True) if of_any(d, holds)]:
                record[key] = named
        yield json_text(record) + "\n"


def counts(digits: Any) -> Any:
    """The number of digits, or nested lists of them."""
    if isinstance(digits, Digits):
        return digits.count if digits.count is None else round(digits.count, 2)
    return [counts(d) for d in digits]


MARKS: dict[str, Callable[[Digits], bool]] = {"turned": lambda d: d.turned, "conventions": lambda d: d.convention.certain}
"""Further properties of numbers, each told as a list of the results that have it."""


def of_any(digits: Any, holds: Callable[[Digits], bool]) -> bool:
    """Whether it holds for a number, or for an element of a tensor."""
    return holds(digits) if isinstance(digits, Digits) else any(of_any(d, holds) for d in digits)


def csv_lines(layout: Layout, rows: Iterable[Judged], number: Number, headed: bool) -> Iterator[str]:
    """A line a point, a column of digits behind each result."""
    yield csv_text([*layout.inputs, *layout.seeds, *(n for r in layout.results for n in (r, f"{r}_digits")),
                  *([layout.status] if layout.status else [])])
    for row, digits in rows:
        pairs = [(number(x), "" if d.count is None else f"{d.count:.2f}") for x, d in zip(row.results, digits, strict=True)]
        yield csv_text([*map(number, row.at.values()), *(field for pair in pairs for field in pair),
                      *([LEVELS[row.level]] if layout.status else [])])
