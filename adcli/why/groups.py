"""Numbers to explain at a point, grouped by their cause."""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from adcli.codegen.rows.native_arithmetic import native_arithmetic
from adcli.input.arrays import filled
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
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import name_table, tensor_of
from adcli.lang.operations.matrix import NoValue
from adcli.lang.operations.precision import DOUBLE, Precision
from adcli.lang.passes.pipeline import adjoint_program, evaluation_program
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
    from adcli.lang.evaluate.unfolding import elements_of, unfolded
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
    from adcli.lang.evaluate.unfolding import MOST_OPERATIONS, length
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
