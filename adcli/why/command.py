"""The verb `why`: what made a NaN, an infinity or an exact zero, in the words of the program, and what would help. Numbers to
explain at a point are grouped by their cause."""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import click

from adcli.answers.evaluation import rounded_point
from adcli.codegen.rows.native_arithmetic import native_arithmetic
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
from adcli.input.arrays import filled
from adcli.input.points import located, need_headings, require_point
from adcli.input.settings import Options
from adcli.lang.analyse.explain import Cause
from adcli.lang.analyse.findings import (
    Asked,
    Finding,
    conventional,
    each_bad,
    explained,
    explained_second,
    in_other_mode_alone,
    other_mode,
)
from adcli.lang.analyse.limits import Limits, limits_of
from adcli.lang.analyse.rewrites import Rewrite, mended
from adcli.lang.evaluate import Arithmetic
from adcli.lang.ir import Atom, Program, has_tensors
from adcli.lang.ir.errors import AdError, excerpt
from adcli.lang.ir.names import name_table, tensor_of
from adcli.lang.lower.frontend import parse_source
from adcli.lang.operations.matrix import NoValue
from adcli.lang.operations.precision import DOUBLE, PRECISIONS, Precision
from adcli.lang.passes.pipeline import adjoint_program, evaluation_program
from adcli.output.layout import Row
from adcli.output.numbers import Number, json_number, json_text, number_format
from adcli.output.report import heading as heading_of_point
from adcli.output.report import scalars
from adcli.output.streams import columns_of, packed_destination, write_points
from adcli.output.wrap import fitted
from adcli.task.derive import looked_at
from adcli.why.causes import Words

COMPARED, COMPARED_ALWAYS = 2_000_000, 100_000
"""Operations that may be spent on asking the other mode: of numbers that are not finite, and of all."""
MOST_NAMED = 6
"""Values that are not finite which a fault names."""
MOST_SWEPT = 2_000_000
"""Operations that sweeps over elements may go through, all together: some seconds."""


class WhyAt(NamedTuple):
    """Question to be answered at every point."""

    primal: Program
    wrt: list[str]
    forward: bool
    order: int
    limit: bool
    precision: Precision = DOUBLE

    @property
    def arithmetic(self) -> Arithmetic:
        """Arithmetic of the precision."""
        return native_arithmetic(self.precision)


class Explanation(NamedTuple):
    """Findings with the same cause, and the words for it."""

    findings: list[Finding]
    words: Words
    rewrite: Rewrite | None
    limits: list[Limits]
    other: dict[str, float]
    way: Sequence[str] = ()
    """The elements that passed the first finding's number on."""
    alike: Sequence[str] = ()
    """Elements of tensors beside the one that is told of, in which the same happens."""


def groups(asked: WhyAt, at: Mapping[str, Any]) -> list[Explanation]:
    """Everything there is to explain at a point, grouped by cause: NaN first, then infinities, then zeros. A program with tensors
    is written out as one of scalars there."""
    if not has_tensors(asked.primal):
        return groups_of(asked, asked.primal, at, asked.wrt)
    if (fault := too_large(asked, at)) is not None:
        raise fault
    from adcli.lang.evaluate.recording import elements_of, unfolded
    whole = unfolded(asked.primal, at, asked.arithmetic)
    wrt = [x for x in whole.at if tensor_of(x) in set(asked.wrt)]
    of = differentiated(asked, whole.program, wrt)
    sizes = Counter([*(tensor_of(r.name) for r in whole.program.results), *map(tensor_of, wrt)])
    return groups_of(asked, whole.program, whole.at, wrt, of, lambda found: whole_zeros(found, sizes), elements_of)


def groups_of(asked: WhyAt, program: Program, at: Mapping[str, float], wrt: list[str], of: Collection[str] | None = None,
              chosen: Callable[[Iterable[Asked]], Iterable[Asked]] = each_bad,
              elements: Callable[[Program], Mapping[Atom, str]] | None = None) -> list[Explanation]:
    """The groups of a program of scalars. Of one whose values are `elements` of tensors, those in which the same operation does
    the same are one group; of others also what the other mode alone makes, and rewrites that help."""
    found, first = list[Explanation](), list[Words]()
    looked_at = [explained(program, at, wrt, asked.forward, chosen, of, asked.arithmetic)]
    if asked.order == 2:
        looked_at.append(explained_second(program, at, wrt, asked.forward, chosen, asked.arithmetic))
    for explainer, findings in looked_at:
        words = Words(explainer, elements and elements(explainer.program), asked.precision)
        first.append(words)
        other = other_mode(explainer, findings, not asked.forward, COMPARED)
        together: dict[Hashable, list[Finding]] = {}
        for f in findings:
            together.setdefault((rank(f.value), *map(operation, f.causes)) if elements else f.causes, []).append(f)
        found += [Explanation(same, words, None, [], {f.name: other[f.name] for f in same if f.name in other},
                              words.way(same[0].question) if same[0].question else (), also(same, words))
                  for same in together.values()]
    if elements is None:
        found += [Explanation([f], first[0], None, [], {f.name: here}) for f, here in in_other_mode_alone(
            program, first[0].explainer, asked.forward, COMPARED_ALWAYS)]
    found.sort(key=lambda g: rank(g.findings[0].value))
    if elements is None:
        rewrites = mended(program, at, [(g.findings, g.words.explainer) for g in found])
        found = [g._replace(rewrite=r) for g, r in zip(found, rewrites, strict=True)]
    return with_limits(asked, program, of, first[0], found) if asked.limit else found


def too_large(asked: WhyAt, at: Mapping[str, Any]) -> AdError | None:
    """The fault of a point that is too large to be written out, with the first element of each value that is not finite there, in
    the order of the program; where all are finite, of each adjoint of its outputs."""
    from adcli.lang.evaluate.recording import MOST_OPERATIONS, length
    if (operations := length(asked.primal, at)) <= MOST_OPERATIONS:
        return None
    found = not_finite(asked.primal, at, asked.precision)
    for r in [] if found else asked.primal.results:
        swept = adjoint_program(asked.primal, asked.wrt, [r.name])
        found += not_finite(swept, filled(swept, at, {p.name: 1.0 for p in swept.params if p.seed}), asked.precision)
    first = f"; the first numbers that are not finite: {', '.join(found[:MOST_NAMED])}" if found else ""
    return AdError(f"why follows at most {MOST_OPERATIONS:,} operations on numbers; here there are {operations:,}{first}",
                   help="give smaller tensors: fewer steps, fewer rows of a batch")


def not_finite(program: Program, at: Mapping[str, Any], precision: Precision) -> list[str]:
    """The first element that is not finite of each value that has one: h(2, 0) is nan."""
    import numpy as np

    from adcli.answers.evaluation import all_values
    from adcli.lang.evaluate.recording import element
    names, found = {**name_table(program), **{p.var: p.name for p in program.params}}, []
    for v, x in all_values(evaluation_program(program), at, precision.name).items():
        numbers = np.asarray(x, float)
        if not (fine := np.isfinite(numbers)).all():
            place = tuple(int(i) for i in np.unravel_index(int(np.argmin(fine)), numbers.shape))
            found.append(f"{element(v.name if v.name and not v.temp else names.get(v, '?'), place)} is {numbers[place]}")
    return list(dict.fromkeys(found))


def differentiated(asked: WhyAt, program: Program, wrt: Sequence[str]) -> set[str]:
    """The elements of outputs whose derivatives are looked at: all, or those that the effort allows, first what is not finite.
    AdError where it allows none."""
    count = max(1, len(program.equations)) * (len(wrt) ** (asked.order - 1))
    names = [r.name for r in program.results]
    if (len(wrt) if asked.forward else 1) * count > MOST_SWEPT:
        raise AdError(f"⟦--{'mode forward' if asked.forward else 'order 2'}⟧ takes {len(wrt):,} sweeps here, each of {count:,} "
                      f"operations, which is too much", help="name fewer inputs with ⟦--wrt⟧, or give smaller tensors")
    return set(names if asked.forward else names[:max(1, MOST_SWEPT // count)])


def whole_zeros(found: Iterable[Asked], sizes: Mapping[str, int]) -> Iterator[Asked]:
    """The numbers that are not finite, and the tensors all elements of which are 0: of these the first, with the tensor's name. A
    zero by itself is seldom a question."""
    zeros: dict[str, list[Asked]] = {}
    for each in found:
        if not math.isfinite(each[0].value):
            yield each
        elif each[0].value == 0:
            zeros.setdefault(tensor_of(each[0].name), []).append(each)
    for name, those in zeros.items():
        f, question = those[0]
        if len(those) == math.prod(sizes[tensor_of(x)] for x in (f.of or "", *f.wrt)):
            yield replace(f, name=name if len(those) == 1 else f"every element of {name}"), question


def operation(cause: Cause) -> Hashable:
    """Key of a cause, equal in all elements of a tensor."""
    e = cause.equation
    position = None if e and isinstance(e.op, NoValue) else cause.position   # an element of the matrix
    return (cause.kind, position, cause.sweep, tensor_of(cause.name or ""), e and (e.span, e.op.name))


def also(same: Sequence[Finding], words: Words) -> list[str]:
    """The elements beside that of the first finding where the same operation does the same."""
    def places(f: Finding) -> list[str]:
        return [words.element_of.get(c.equation.outs[0], "") if c.equation else c.name or "" for c in f.causes]
    told = set(places(same[0]))
    return [x for x in dict.fromkeys(x for f in same[1:] for x in places(f)) if x and x not in told]


def with_limits(asked: WhyAt, program: Program, of: Collection[str] | None, words: Words,
                found: Sequence[Explanation]) -> list[Explanation]:
    """The explanations with limits, and further ones for numbers that are chosen at a kink or a jump, one for each tensor. The
    `words` are those about the program itself."""
    chosen = conventional(program, words.explainer, asked.order, of)
    told = {tensor_of(f.name.rpartition(" ")[2]) for g in found for f in g.findings}
    together: dict[tuple[Cause, ...], list[Finding]] = {}
    for f in {tensor_of(f.name): f for f in reversed(chosen)}.values():
        if tensor_of(f.name) not in told:
            together.setdefault(f.causes, []).insert(0, f)
    whole = [*found, *(Explanation(same, words, None, [], {}) for same in together.values())]
    limits = limits_of(program, words.explainer.at, words.explainer.wrt, [g.findings for g in whole], asked.order,
                       {(f.of, f.wrt) for f in chosen})
    return [g._replace(limits=each) for g, each in zip(whole, limits, strict=True)]


def rank(x: float) -> int:
    return 0 if x != x else 2 if x == 0 else 1


# ---------------------------------------------------------------- the verb

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
@option(WHAT, "--mode", type=OneOf("mode", SWEEPS), default="reverse", help="The sweep to explain.")
@option(WHAT, "--order", type=click.IntRange(1, 2), default=1, metavar="N",
        help="Explain derivatives up to order N.")
@option(WHAT, "--limit",
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


# ---------------------------------------------------------------- remarks of solvers, which are asked for no `why`

MOST_TOLD = 3
"""Causes that are told of one point."""


def remarks_on_numbers(primal: Program, wrt: Sequence[str], at: Mapping[str, float]) -> list[str]:
    """Explanations of NaN and infinite numbers at a point: of values, or where these are finite of derivatives."""
    found = [g for g in explanations(primal, wrt, at) if any(not math.isfinite(f.value) for f in g.findings)]
    outputs = {r.name for r in primal.results}
    values = [g for g in found if any(f.name in outputs and not math.isfinite(f.value) for f in g.findings)]
    return paragraphs((values or found)[:MOST_TOLD])


def remarks_on_zeros(primal: Program, wrt: Sequence[str], at: Mapping[str, float], flat: Collection[str]
                     ) -> tuple[Sequence[object], list[str]]:
    """Explanations of zero derivatives by the inputs that are `flat`: the causes with their places in the text, and
    the words for them."""
    ends = tuple(f"_d{x}" for x in flat)
    found = [g for g in explanations(primal, [x for x in wrt if x in flat], at)
             if any(f.value == 0 and f.name.endswith(ends) for f in g.findings)]
    causes = tuple((c.kind, c.equation and c.equation.span) for g in found for c in g.findings[0].causes)
    return causes, paragraphs(found[:MOST_TOLD])


def explanations(primal: Program, wrt: Sequence[str], at: Mapping[str, float]) -> list[Explanation]:
    """All there are; none of a program with tensors."""
    if has_tensors(primal):
        return []
    try:
        return groups(WhyAt(primal, list(wrt), False, 1, False), at)
    except AdError:
        return []
