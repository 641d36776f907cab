"""The verb `why`: what made a NaN, an infinity or an exact zero, in the words of the program, and what would help."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import click

from adcli.answers.evaluation import rounded_point
from adcli.command.options import (
    derivative_options,
    format_option,
    option,
    output_option,
    points_option,
    precision_option,
    program_options,
    quiet_option,
    takes,
)
from adcli.command.usage import WHAT, Command, OneOf
from adcli.input.points import located, need_headings, require_point
from adcli.input.settings import Options
from adcli.lang.analyse.explain import Cause
from adcli.lang.analyse.findings import Finding
from adcli.lang.ir import has_tensors
from adcli.lang.ir.errors import excerpt
from adcli.lang.lower.frontend import parse_source
from adcli.lang.operations.precision import PRECISIONS
from adcli.output.layout import Row
from adcli.output.numbers import Number, json_number, json_text, number_format
from adcli.output.report import heading as heading_of_point
from adcli.output.report import scalars
from adcli.output.streams import columns_of, packed_destination, write_points
from adcli.output.wrap import fitted
from adcli.task.derive import looked_at
from adcli.why.causes import Words
from adcli.why.groups import Explanation, WhyAt, groups

SWEEPS = ("reverse", "forward")
NAMES_LISTED = 6
"""Names that a heading lists before it counts."""
CAUSES_SHOWN = 3
"""Causes of one zero that are told."""
NOTHING = "nothing to explain: all values and derivatives here are finite and not zero"
NOTHING_OF_TENSORS = "nothing to explain: all values and derivatives here are finite, and none is zero in every element"


@dataclass(frozen=True, kw_only=True)
class WhyOptions(Options):
    """Options of why."""

    mode: str
    order: int
    limit: bool
    precision: str | None


@click.command("why", cls=Command,
               examples=("adcli why -e 'v = sqrt(x)**2' --at x=0 --limit", "adcli why -e 'v = x*log(x)' --at x=0"))
@program_options
@derivative_options
@points_option
@option(WHAT, "--mode", type=OneOf("mode", SWEEPS), default="reverse", show_default=True, help="The sweep to explain.")
@option(WHAT, "--order", type=click.IntRange(1, 2), default=1, show_default=True, metavar="N",
        help="Explain derivatives up to order N.")
@option(WHAT, "--limit", is_flag=True,
        help="Compute limits of what is NaN, infinite or at a kink, along each input and from either side (no proof).")
@format_option(("text", "json"), "Paragraphs, or one JSON object per point.")
@precision_option("What numbers are computed in: double, the default, or single.")
@output_option
@quiet_option
@takes(WhyOptions)
def command(options: WhyOptions) -> int:
    """What made a NaN, an infinity or an exact zero in the values and derivatives at a point.

    why follows every such number back, through the program and through the adjoint (or tangent) sweep, to the operation that
    made it, and suggests a rewrite that it has tried at this point.
    """
    primal, inputs = looked_at(parse_source(options.source), options.outputs, options.inputs)
    for note in primal.notes:
        options.remark(note)
    require_point(primal.params, options.at)
    precision = PRECISIONS[options.precision or "double"]
    at = (rounded_point(x, precision) for x in located(primal.params, options.at, options.remark, primal.source))
    asked = WhyAt(primal, inputs, options.mode == "forward", options.order, options.limit, precision)
    headed = need_headings(primal.params, options.at)
    with packed_destination(options.output) as stream:
        columns = columns_of(options.output)
        texts = as_json(asked, at) if options.form == "json" else (fitted(text, columns) for text in as_text(asked, at, headed))
        write_points(stream, texts)
    return 0


def number_of(asked: WhyAt) -> Number:
    """Number format of the precision."""
    return number_format(None, False, asked.precision.name)


# ---------------------------------------------------------------- text

def as_text(asked: WhyAt, at: Iterable[Mapping[str, float]], headed: bool) -> Iterator[str]:
    """A paragraph a cause; where there are several points, a comment in front of each says which."""
    number = number_of(asked)
    for i, point in enumerate(at):
        head = "\n" * bool(i) + f"{heading_of_point(i, Row(dict(point), [], 0), number)}\n" if headed else ""
        yield head + "\n\n".join(paragraphs(groups(asked, point)) or [nothing(asked)]) + "\n"


def paragraphs(found: Sequence[Explanation]) -> list[str]:
    """Paragraphs, one a group."""
    told: set[str] = set()
    return ["\n".join(paragraph(g, told)) for g in found]


def nothing(asked: WhyAt) -> str:
    """That there is nothing to explain."""
    return NOTHING_OF_TENSORS if has_tensors(asked.primal) else NOTHING


def paragraph(group: Explanation, told: set[str]) -> Iterator[str]:
    """Paragraph of a group: the numbers, the operation with its place, where its operands came from, what helps. `told` holds
    the rewrites that were shown before."""
    number = group.words.number
    yield heading(group.findings, number)
    causes = group.findings[0].causes
    for cause in causes[:CAUSES_SHOWN]:
        yield from reported(group.words, cause)
    if group.way:
        yield f"passed on through {', '.join(shortened(group.way))}"
    if group.alike:
        yield f"the same in {listed(group.alike)}"
    if len(causes) > CAUSES_SHOWN:
        yield f"and {len(causes) - CAUSES_SHOWN} more such places"
    if group.other:
        mode = "reverse" if "tangent" in {c.sweep for c in causes} else "forward"
        there = listed([f"{name} is {number(x)}" for name, x in group.other.items()])
        order = "adds up" if all(c.kind == "cancellation" for c in causes) else "multiplies"
        yield f"{mode} mode {order} in another order: there {there}"
    for limit in group.limits:
        yield f"computed limit: {limit.text}"
    if group.rewrite:
        again = group.rewrite.text in told
        told.add(group.rewrite.text)
        yield "help: the same rewrite helps" if again else f"help: write {group.rewrite.text}"
        yield f"      {group.rewrite.gain}"


def shortened(way: Sequence[str]) -> Sequence[str]:
    """The ends of a long way."""
    return way if len(way) <= NAMES_LISTED else [*way[:NAMES_LISTED - 2], "…", *way[-2:]]


def heading(findings: Sequence[Finding], number: Number) -> str:
    """dv_dx and dv_dy are nan; v is inf."""
    by_value: dict[str, list[str]] = {}
    for f in findings:
        by_value.setdefault(number(f.value), []).append(f.name)
    return "; ".join(f"{listed(found)} {'is' if len(found) == 1 else 'are'} {x}" for x, found in by_value.items())


def listed(found: Sequence[str]) -> str:
    if len(found) > NAMES_LISTED + 1:
        return f"{', '.join(found[:NAMES_LISTED])} and {len(found) - NAMES_LISTED} more"
    return " and ".join(filter(None, [", ".join(found[:-1]), found[-1]]))


def reported(words: Words, cause: Cause) -> Iterator[str]:
    """A cause with its place, the source line and carets, and where its numbers came from."""
    e = cause.equation
    if e is None or e.span is None or words.source is None:
        yield words.sentence(cause) + (", which is passed on" if cause.kind == "input" else "")
    else:
        source, (start, end) = words.source.shown(e.span, words.element_of.get(e.outs[0], ""))
        line, column = source.place(start)
        yield f"{words.place(e)}: {words.sentence(cause)}"
        yield from excerpt(source.line(line), column - 1, end - start)
        if words.element_of and (read := words.numbers_read(e)):
            yield f"with {', '.join(read)}"
    yield from words.reasons(cause)


# ---------------------------------------------------------------- JSON

def as_json(asked: WhyAt, at: Iterable[Mapping[str, float]]) -> Iterator[str]:
    """One object a point."""
    number = number_of(asked)
    for point in at:
        found = [record(g, partial(json_number, number=number)) for g in groups(asked, point)]
        yield json_text({"at": json_values(point, number), "why": found}) + "\n"


def json_values(point: Mapping[str, Any], number: Number) -> dict[str, object]:
    """A point with its numbers, as `point_lists` has it."""
    if scalars(point.values()):
        return {name: json_number(x, number) for name, x in point.items()}
    from adcli.output.tensors import json_tensor, point_lists
    return point_lists(point, lambda x: json_tensor(x, number))


def record(group: Explanation, number: Callable[[float], object]) -> dict[str, Any]:
    """A group as an object: the numbers, their causes, and what else is known."""
    made: dict[str, Any] = {"results": {f.name: number(f.value) for f in group.findings},
                            "causes": [one(group.words, c, number) for c in group.findings[0].causes]}
    if group.way:
        made["way"] = list(group.way)
    if group.alike:
        made["same_in"] = list(group.alike)
    if group.other:
        made["other_mode"] = {name: number(x) for name, x in group.other.items()}
    if group.limits:
        made["limits"] = [limit.record(number) for limit in group.limits]
    if group.rewrite:
        made["rewrite"] = {"from": group.rewrite.old, "to": group.rewrite.new, "gives": {
            name: number(x) for name, x in group.rewrite.numbers.items()}}
    return made


def one(words: Words, cause: Cause, number: Callable[[float], object]) -> dict[str, Any]:
    """A cause as an object."""
    made: dict[str, Any] = {"kind": cause.kind, "sweep": cause.sweep, "text": words.sentence(cause)}
    e = cause.equation
    if e is not None:
        made["operation"] = e.op.spelled or e.op.name
        values = [words.explainer.number(a) for a in e.args]
        made["operands"] = [x if isinstance(x, bool) else number(x) for x in values]
        if e.span is not None and words.source is not None:
            spot = e.span, words.element_of.get(e.outs[0], "")
            file, line, column = words.source.where(*spot)
            made |= {"file": file, "line": line, "column": column, "source": words.source.quoted(*spot)}
    if cause.position is not None:
        made["argument"] = cause.position
        made |= {key: number(x) for key, x in ((cause.sweep, cause.seed), ("partial", cause.partial)) if x is not None}
    reasons = list(words.reasons(cause))
    return made | ({"because": reasons} if reasons else {})
