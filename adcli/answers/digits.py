"""--digits: results with the number of their right digits beside them.

As text the digits are comments, so the output stays a program; JSON has an object `digits` of the shape of the results, CSV
a column `v_digits` behind every `v`. In both, 17 stands for an exact number; null or an empty field for one of which nothing
is proven. A program with tensors is written out as one of numbers at each point; as text, a tensor is given the fewest digits
that an element of it has.

A task at a point as a program of numbers, whatever the ranks of its values: what digits and enclosures are taken of.

A program with tensors is written out at the point. Each number among the results is a derivative of some outputs along inputs
that move together.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from adcli.answers.evaluation import complete_point, without_zeros
from adcli.answers.reporter import Reporter
from adcli.answers.results import evaluated
from adcli.codegen.machine.small import shape_of, unpacked
from adcli.input.nested import arrays_of
from adcli.input.points import need_headings
from adcli.input.settings import ResultOptions
from adcli.lang.analyse.conventions import AskedDerivative, conventions
from adcli.lang.analyse.right_digits import EXACT, Digits, right_digits
from adcli.lang.ir import LEVELS, Program, Values, Var
from adcli.lang.ir.errors import AdError
from adcli.lang.passes.zero_seeds import drop_zero_seeds
from adcli.output.layout import Layout, Row
from adcli.output.numbers import Number, json_text, number_format
from adcli.output.report import csv_text, heading, json_record
from adcli.output.streams import packed_destination, write_points
from adcli.output.tensors import result_lines
from adcli.output.wrap import commented
from adcli.task.tasks import Task

if TYPE_CHECKING:
    import numpy as np

    from adcli.lang.evaluate.recording import Pivots


FEW_DIGITS = 8.0
"""Digits below which the exact value is shown."""
TURNED = "; a comparison has the other outcome in exact arithmetic"

Judged = tuple[Row, list[Any]]
"""The results at a point with the Digits of each, in an array where it is a tensor."""


def with_digits(task: Task, options: ResultOptions, reporter: Reporter) -> int:
    """Write the results at the points with their digits; returns the exit code."""
    if options.fast_math:
        raise AdError("--digits and --fast-math cannot be used together", help="leave out --fast-math")
    found = evaluated(task, options, reporter)
    number, layout = number_format(options.fmt, options.hexadecimal), task.layout(options.status)
    form = {"csv": csv_lines, "json": json_lines}.get(options.form, paragraphs)
    headed = need_headings(task.free, options.at)
    with packed_destination(options.output, options.document and headed) as out:
        write_points(out, form(layout, judged(task, found), number, headed))
    return reporter.conclude()


def judged(task: Task, rows: Iterable[Row]) -> Iterator[Judged]:
    """The results with their digits. AdError where a program with tensors is too long to be written out."""
    numbers_at = as_numbers(task, "--digits")
    for row in rows:
        here = numbers_at(arrays_of({name: x for name, x in row.at.items() if name not in task.seeds}))
        place = {p.name: (here.at[p.name],) * 2 for p in here.primal.params}
        found = iter(right_digits(here.program, here.at, [x for result in row.results for x in flat(result)],
                                  conventions(here.primal, place, here.asked)))
        yield row, [digits_of(shape, found) for shape in here.shapes]


def digits_of(shape: tuple[int, ...], found: Iterator[Digits]) -> Any:
    """The digits of a number; those of a tensor as an array."""
    if not shape:
        return next(found)
    import numpy as np
    each = np.empty(shape, object)
    for place in np.ndindex(shape):
        each[place] = next(found)
    return each


def paragraphs(layout: Layout, rows: Iterable[Judged], number: Number, headed: bool) -> Iterator[str]:
    """The text of the results with a comment on each: behind it where it is one line, else below. Those of a program of numbers
    begin in one column."""
    for i, (row, judged) in enumerate(rows):
        each = [[*result_lines(name, x, number, False)] for name, x in zip(layout.results, row.results, strict=True)]
        said = [comment(d) if isinstance(d, Digits) else of_all(d) for d in judged]
        if all(isinstance(d, Digits) for d in judged) and not any(map(shape_of, row.at.values())):
            lines = commented([line for line, in each], said)
        else:
            lines = [line for name, shown, text in zip(layout.results, each, said, strict=True) for line in
                     ([f"{shown[0]}  # {text}"] if len(shown) == 1 else [*shown, f"# {name}: {text}"])]
        status = [f"{layout.status} = {LEVELS[row.level]}"] if layout.status else []
        yield "\n".join([*[""] * (headed and i > 0), *[heading(i, row, number)] * headed, *lines, *status]) + "\n"


def comment(d: Digits) -> str:
    """The digits of one number in words."""
    return words(d) + TURNED * d.turned


def words(d: Digits) -> str:
    """Count of right digits, in words."""
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
    """Test of a number, or of any element of a tensor."""
    return holds(digits) if isinstance(digits, Digits) else any(of_any(d, holds) for d in digits)


def csv_lines(layout: Layout, rows: Iterable[Judged], number: Number, headed: bool) -> Iterator[str]:
    """A line a point, a column of digits behind each result."""
    yield csv_text([*layout.inputs, *layout.seeds, *(n for r in layout.results for n in (r, f"{r}_digits")),
                  *([layout.status] if layout.status else [])])
    for row, digits in rows:
        pairs = [(number(x), "" if d.count is None else f"{d.count:.2f}") for x, d in zip(row.results, digits, strict=True)]
        yield csv_text([*map(number, row.at.values()), *(field for pair in pairs for field in pair),
                      *([LEVELS[row.level]] if layout.status else [])])


# ---------------------------------------------------------------- a task as a program of numbers

Elements = Mapping[str, Sequence[str]]
"""The elements of every input and output by name, in the order of memory; a number is the one element of itself."""


class NumbersAt(NamedTuple):
    """The derivative and the program it is of as programs of numbers, the value of every number, what each result is, the shapes
    of the results, the inputs and seeds as they were given, and the pivots of operations on matrices."""

    program: Program
    primal: Program
    at: Mapping[str, float]
    asked: list[AskedDerivative]
    shapes: list[tuple[int, ...]]
    given: Values
    pivots: tuple[Pivots, ...] = ()


def as_numbers(task: Task, what: str) -> Callable[[Values], NumbersAt]:
    """A task as a program of numbers at each point, which has the inputs. AdError, of `what`, where that is too long."""
    if task.signature.tensors:
        program = without_zeros(task)
        return lambda at: written_at(task, program, dict(at), what)
    names = [*(p.name for p in task.signature.own), *task.signature.outputs]
    program, asked = drop_zero_seeds(task.program), derivatives(task, {name: (name,) for name in names}, task.seeds)
    shapes: list[tuple[int, ...]] = [()] * len(program.results)
    return lambda at: NumbersAt(program, task.primal, {**at, **task.seeds}, asked, shapes, {**at, **task.seeds})


def written_at(task: Task, program: Program, own: dict[str, Any], what: str) -> NumbersAt:
    import numpy as np

    from adcli.lang.evaluate.recording import elements, unfolded
    from adcli.task.shapes import written_out
    at = complete_point(task, own, program)
    whole, primal = written_out(program, at, what), unfolded(task.primal, at)
    shaped = {name: np.asarray(x) for name, x in at.items()}
    for r in task.primal.results:   # a constant has no elements of its own
        shaped[r.name] = primal.elements[r.atom] if isinstance(r.atom, Var) else np.zeros(())
    asked = derivatives(task, {name: [*elements(name, x)] for name, x in shaped.items()}, at)
    shapes = [whole.elements[r.atom].shape if isinstance(r.atom, Var) else () for r in program.results]
    return NumbersAt(whole.program, primal.program, whole.at, asked, shapes, at, whole.pivots)


def derivatives(task: Task, elements: Elements, seeds: Values) -> list[AskedDerivative]:
    """One for each number among the results, in order. Of the `seeds` those that are 0 move nothing, nor do those left out."""
    signature = task.signature
    moving = [name for p in signature.seeds if p.seed and p.name in seeds
              for name, x in zip(elements[p.seed], flat(seeds[p.name]), strict=True) if x]
    found = [AskedDerivative((name,), ()) for v in signature.values for name in elements[v]]
    for column, path in zip(signature.derived, task.verb.places(signature), strict=True):
        match path:
            case ("taylor", str(v), int(order)):
                found += [AskedDerivative((name,), (moving,) * order) for name in elements[v]]
            case ("jvp", str(v)):
                found += [AskedDerivative((name,), (moving,)) for name in elements[v]]
            case ("vjp", str(x)):
                found += [AskedDerivative(moving, ((name,),)) for name in elements[x]]
            case ("hvp", str(x)):
                outputs = [name for v in signature.outputs for name in elements[v]]
                found += [AskedDerivative(outputs, (moving, (name,))) for name in elements[x]]
            case _:
                found += [AskedDerivative((name,), [(x,) for x in along]) for name, *along in product(
                    elements[column.of or ""], *[elements[x] for x in column.wrt])]
    return found


def flat(x: Any) -> Sequence[float]:
    """The elements of a value of any rank."""
    return unpacked(x) if isinstance(x, memoryview) else x.ravel().tolist() if hasattr(x, "ravel") else [x]
