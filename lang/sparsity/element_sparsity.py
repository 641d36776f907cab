"""Sparsity patterns of programs with tensors, by elements, at the sizes of a point.

They are found from what the statements hand on between elements (`adcli.lang.sparsity.element_flows`), by the sweeps of
`adcli.lang.sparsity.sparsity` over whole arrays of them. Under a product every term meets every other, under a log-sum-exp itself
too. In a loop a step that finds what the one before it has found has the same sets, and these are not made again.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from adcli.lang.evaluate import every_value, numpy_arithmetic
from adcli.lang.evaluate.comprehensions import as_value, bound
from adcli.lang.ir import Atom, Program, Var
from adcli.lang.ir.errors import AdError
from adcli.lang.simplify.simplify import simplify
from adcli.lang.sizes.binding import shapes
from adcli.lang.sparsity.element_flows import MEETING, Block, Flow, FlowsOnce, KnownPoint, LoopFlows, Stage, flows_of
from adcli.lang.sparsity.number_sets import EMPTY, MOST_AT_ONCE, NumberSets, TooMany
from adcli.lang.sparsity.sparsity import Pattern, symmetric, transposed


def jacobian_elements(program: Program, at: Mapping[str, Any], wrt: Sequence[str]) -> Pattern:
    """The pattern of the Jacobian of all outputs at a point, which has every input: a row for every element of every output,
    columns are the elements of the inputs `wrt`, one input after another. AdError where it is too large."""
    program = simplify(program)
    try:
        return ElementSweep(program, at, wrt).jacobian([r.atom for r in program.results])
    except TooMany:
        raise _too_large() from None


def hessian_elements(program: Program, at: Mapping[str, Any], wrt: Sequence[str]) -> Pattern:
    """The pattern of the Hessian of the one output, a number, at a point: rows and columns are the elements of the inputs.
    AdError where it is too large."""
    program = simplify(program)
    try:
        return ElementSweep(program, at, wrt).hessian(program.results[0].atom)
    except TooMany:
        raise _too_large() from None


def _too_large() -> AdError:
    return AdError(f"the sparsity pattern is too large: more than {MOST_AT_ONCE:,} entries, or elements that one statement reads",
                   help="give smaller tensors, or choose inputs with ⟦--wrt⟧ and outputs with ⟦--of⟧")


def computes_subscripts(program: Program) -> bool:
    """Whether subscripts are computed, so that a pattern depends on the values of inputs that are no integers."""
    return any(o.whole for e in program.equations for o in e.outs)


class ElementSweep:
    """The flows of a program in order, of what depends on the inputs `wrt`; `columns` is the number of their elements."""

    def __init__(self, program: Program, at: Mapping[str, Any], wrt: Sequence[str]) -> None:
        values = {p.var: as_value(p, at[p.name], numpy_arithmetic()) if p.var.shape else at[p.name] for p in program.params}
        sizes: Mapping[Any, int] = bound(program, values)
        if computes_subscripts(program):
            values = every_value(program, at, numpy_arithmetic())
        self.here = KnownPoint(values, sizes, shapes(program, sizes))
        given = {p.name: p.var for p in program.params}
        self.inputs, self.columns = dict[Var, int](), 0
        for name in wrt:
            self.inputs[given[name]] = self.columns
            self.columns += self.here.count(given[name])
        self.parts, active = list[FlowsOnce | LoopFlows](), set[Atom](self.inputs)
        for e in program.equations:
            for part in flows_of(e, active, self.here):
                self.parts.append(part)
                active.update(out for out, reads, _ in part.links() if reads)
        known = dict.fromkeys([*self.inputs, *[r.atom for r in program.results],
                               *[a for part in self.parts for out, reads, _ in part.links() for a in (out, *reads)]])
        ends = np.cumsum([self.here.count(a) for a in known]).tolist()
        self.offsets, self.elements = dict(zip(known, [0, *ends], strict=False)), ends[-1]

    def jacobian(self, results: Sequence[Atom]) -> Pattern:
        """Sets of inputs go forward, or where these are too large sets of results go backward."""
        try:
            within = self.domains({r for r in results if isinstance(r, Var)})
            return within.sets.pattern(np.concatenate([within[r] for r in results]))
        except TooMany:
            return self.by_columns(results)

    def domains(self, wanted: set[Var]) -> ElementSets:
        """The columns that each element of the `wanted` values depends on."""
        for part in reversed(self.parts):
            links, before = list(part.links()), -1
            while before < len(wanted):   # statements of a loop depend on one another in a circle
                before = len(wanted)
                wanted = wanted.union(*[reads for out, reads, _ in links if out in wanted])
        within = ElementSets(NumberSets(self.columns), self)
        for x, first in self.inputs.items():
            within[x][:] = within.sets.single(first, self.here.count(x))
        for part in self.parts:
            if any(out in wanted for out, _, _ in part.links()):
                for stage in part.stages(self.offsets):
                    with within.over(stage) as blocks:
                        for block in blocks:
                            within.forget(block)
                            for f in block:
                                within.add(f.out, f.to, [within[a][elements] for a, elements in f.reads])
        return within

    def by_columns(self, results: Sequence[Atom]) -> Pattern:
        """The pattern of a Jacobian by sets of results that go backward."""
        rows = sum(self.here.count(r) for r in results)
        reached, first = ElementSets(NumberSets(rows), self), 0
        for r in results:
            every = np.arange(self.here.count(r))
            reached.add(r, every, [reached.sets.single(first, len(every))])
            first += len(every)
        for stage in self.backward():
            with reached.over(stage) as blocks:
                for block in reversed(blocks):
                    for f in block:
                        after = reached[f.out][f.to]
                        for a, elements in f.reads:
                            reached.add(a, elements, [after])
                    reached.forget(block)
        return transposed(reached.sets.pattern(np.concatenate([reached[x] for x in self.inputs])), rows)

    def hessian(self, result: Atom) -> Pattern:
        """By the sets of columns that adjoints depend on, as `hessian_pattern` finds them. Elements without an adjoint are those
        that the result does not depend on."""
        within = self.domains({a for part in self.parts for _, _, met in part.links() for a in met})
        adjoint = ElementSets(within.sets, self, NEEDLESS)
        adjoint[result][:] = EMPTY
        for stage in self.backward():
            with adjoint.over(stage, within) as blocks:
                for block in reversed(blocks):
                    self.pull(block, within, adjoint)
                    adjoint.forget(block)
        return symmetric(within.sets.pattern(np.concatenate([adjoint[x] for x in self.inputs])))

    def pull(self, block: Block, within: ElementSets, adjoint: ElementSets) -> None:
        """Hand the columns that adjoints of results depend on to what a block reads, with what its derivatives depend on."""
        block = [f if (some := adjoint[f.out][f.to] != NEEDLESS).all() else f.over(some) for f in block]
        for f, beside in zip(block, self.other_terms(block, within), strict=True):
            after = [adjoint[f.out][f.to], *beside]
            for (a, elements), met in zip(f.reads, f.meetings, strict=True):
                adjoint.add(a, elements, [*after, *[within[b][at] for b, at in (f.reads[q] for q in met)]])

    def other_terms(self, block: Sequence[Flow], within: ElementSets) -> list[list[np.ndarray]]:
        """For each flow to a value the columns that the terms depend on which each of its own meets, if any."""
        if block[0].reduction not in MEETING:
            return [[] for _ in block]
        every = [within[f.out][f.to] for f in block]
        if block[0].reduction == "*":   # a column that one term alone depends on does not meet it
            sets = within.sets
            own = [sets.members(sets.unions(np.tile(np.arange(len(f.to)), len(f.reads)), np.concatenate(
                [within[a][at] for a, at in f.reads]), len(f.to))) for f in block]
            keys = [f.to[place] * self.columns + members for f, (place, members) in zip(block, own, strict=True)]
            different, times = np.unique(np.concatenate(keys), return_counts=True)
            for k, (place, members) in enumerate(own):
                alone = times[np.searchsorted(different, keys[k])] == 1
                at, found = sets.members(every[k])
                stay = ~np.isin(at * self.columns + found, (place * self.columns + members)[alone])
                every[k] = sets.collected(at[stay], found[stay], len(every[k]))
        return [[each] for each in every]

    def backward(self) -> Iterator[Stage]:
        """The stages, last one first."""
        return (stage for part in reversed(self.parts) for stage in part.stages(self.offsets, back=True))


NEEDLESS = -1
"""In the place of a set: the element has none."""


class ElementSets:
    """For every element of the values of a sweep the number of a set, at first `start`."""

    def __init__(self, sets: NumberSets, sweep: ElementSweep, start: int = EMPTY) -> None:
        self.sets, self.sweep, self.start, self.of = sets, sweep, start, np.full(sweep.elements, start, np.int64)
        self.last: tuple[object, bytes, np.ndarray] | None = None

    def __getitem__(self, value: Atom) -> np.ndarray:
        first = self.sweep.offsets[value]
        return self.of[first:first + self.sweep.here.count(value)]

    def add(self, value: Atom, at: np.ndarray, more: Sequence[np.ndarray]) -> None:
        """Add sets to those of elements."""
        of = self[value]
        different, group = np.unique(at, return_inverse=True) if len(at) > 1 else (at, np.zeros_like(at))
        of[different] = self.sets.unions(np.concatenate([np.arange(len(different)), *[group] * len(more)]),
                                         np.concatenate([of[different], *more]), len(different))

    def forget(self, block: Block) -> None:
        """Of elements that a block writes afresh what they were before, or, going back, what they are behind it."""
        for f in block:
            if f.afresh:
                self[f.out][f.to] = self.start

    @contextmanager
    def over(self, stage: Stage, beside: ElementSets | None = None) -> Iterator[Sequence[Block]]:
        """The blocks of a stage to go through. There are none where all is as it was at the one before, here and `beside`: then
        what that has made is taken."""
        at = stage.touched
        if at is None:
            yield stage.blocks()
            return
        given = self.of[at].tobytes() + (b"" if beside is None else beside.of[at].tobytes())
        if self.last is not None and self.last[:2] == (stage.structure, given):
            self.of[at] = self.last[2]
            yield ()
        else:
            yield stage.blocks()
            self.last = stage.structure, given, self.of[at]
