"""A program with tensors before it becomes loops: which arrays there are, what lies in which, and the names of everything."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

from adcli.codegen.c.language import Helpers, LoopHead, Statements
from adcli.codegen.nests.cse_across_statements import invariants_outside
from adcli.codegen.nests.fusion import joined, needed, side_by_side
from adcli.codegen.nests.layout import conditions_of, homes, placed, plain, scratch, size_parameters, work_slots
from adcli.codegen.nests.recurrences import StepLoop, step_loop, unfilled, used_outside
from adcli.lang.ir import Equation, Program, Var
from adcli.lang.ir.affine import affine, shape_text, substituted, text
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import name_table
from adcli.lang.operations.matrix import Boxed, MatrixOperation
from adcli.lang.operations.recurrence import Recurrence, loops
from adcli.lang.printing.comprehension_printer import TensorWriter
from adcli.lang.sizes.binding import counts
from adcli.lang.sizes.in_bounds import LARGEST_WHOLE
from adcli.lang.tree.notation import INDENT


class TensorStatements(Statements):
    """Writes the statements of a program with tensors: those of scalars as they are, others by `nest` and `matrices`.

    `given` is the program in terms of arrays, `shown` the equations that its comments show, `loops` its loops over steps. A value
    lies in the array of its `home`; `slots` are the arrays between nests, `scratch` those of operations on matrices, `unfilled`
    the results that begin as they are, and `loose` the subscripts to be checked. `counted` are sizes that are inputs themselves.
    """

    nest: Callable[..., Any]
    matrices: Callable[..., Any]
    joins = False
    """True if statements over one range are one loop."""

    def __init__(self, helpers: Helpers, program: Program) -> None:
        shown = needed(joined(program))
        self.shown = {e.op if isinstance(e.op, Recurrence) else e.outs[0]: e for e in shown.equations}
        self.printed = TensorWriter(shown, "nested")
        self.given = program = placed(side_by_side(invariants_outside(plain(shown))) if self.joins else plain(shown))
        refuse_endless(program)
        steps = [(e, e.op.step.name) for e in loops(program.equations)]
        self.loops = {e.outs[0]: step_loop(e, used_outside(program, e), f"{name} {k}") for k, (e, name) in enumerate(steps)}
        self.unfilled = unfilled(program)
        self.scratch = {e: v for e in self.every() if isinstance(e.op, MatrixOperation) and (v := scratch(e)) is not None}
        self.home = homes(program) | {v: h for loop in self.loops.values() for v, h in loop.homes.items() if v.shape}
        self.slots = work_slots(program, self.home, {e.outs[0]: self.beside(e) for e in program.equations})
        self.conditions = conditions_of(plain(shown), self.slots, self.loops.values())
        self.loose = self.conditions.loose
        named = helpers.named
        self.counts = {p.name: p for p in counts(program)}
        self.sizes = {n: named(n) for n in size_parameters(program)}
        self.inputs = [named(p.name) for p in program.params]
        self.counted = {n: named(f"{n}_size") for n in self.counts}
        self.outputs = [named(r.name) for r in program.results]
        self.steps = {self.loops[e.outs[0]].step: named(name) for e, name in steps}
        self.whole = helpers.language.expressions({**self.sizes, **self.counted, **self.steps}, helpers)
        self.pool: dict[tuple[str, int], str] = {}
        self.values = self.named_values(program, named)
        as_number = helpers.language.as_number
        super().__init__(helpers, program, {v: as_number.format(n) if v.integer else n for v, n in self.values.items()})
        self.held = {a for e in self.every() if isinstance(e.op, Boxed) for a in e.args}
        self.printed.names = {**self.values, **self.printed.names}

    def named_values(self, program: Program, named: Callable[[str], str]) -> dict[Var, str]:
        """The names of values: a tensor that is an output is its array."""
        values = {p.var: n for p, n in zip(program.params, self.inputs, strict=True)}
        for r, n in zip(program.results, self.outputs, strict=True):
            if isinstance(r.atom, Var) and r.atom.shape:
                values.setdefault(r.atom, n)
        kept = {v for v, _ in self.slots} | {v for e in self.every() for v in e.outs}
        inside = [v for loop in self.loops.values() for e in loop.equations for v in e.outs]
        hints = [(v, hint) for v, hint in name_table(program).items() if v in kept]
        for v, hint in [*hints, *((v, v.name or "i") for v in [*inside, *self.scratch.values()])]:
            if v not in values and self.home.get(v, v) is v:
                values[v] = named(hint)
        return values | {v: values[root] for v, root in self.home.items() if root in values}

    def own_outputs(self) -> list[Var]:
        """The tensors that lie in the array of an output."""
        return [r.atom for r, n in zip(self.given.results, self.outputs, strict=True)
                if isinstance(r.atom, Var) and r.atom.shape and self.values[r.atom] == n]

    def every(self) -> Iterator[Equation]:
        """The equations that are run; those of loops in the places of these."""
        for e in self.given.equations:
            yield from self.inside(e) or (e,)

    def inside(self, e: Equation) -> Sequence[Equation]:
        """The equations of a loop that are run at each step; none of another equation."""
        return self.loops[e.outs[0]].equations if e.outs[0] in self.loops else ()

    def beside(self, e: Equation) -> list[Var]:
        """The tensors that are there while an equation is computed, and no result of it."""
        inside = self.inside(e)
        return [*(v for x in inside for v in x.outs), *(v for x in (e, *inside) if (v := self.scratch.get(x)) is not None)]

    def local(self, hint: str, used: Counter[str]) -> str:
        """A name for something inside of a block, the same in every block that has no other use for it."""
        used[hint] += 1
        key = hint, used[hint]
        if key not in self.pool:
            self.pool[key] = self.helpers.named(hint)
        return self.pool[key]

    def divisor_tests(self) -> list[tuple[str, str]]:
        """The tests that come first: all else divides by these sizes."""
        return [(test, f"a quotient is by {text(x)}") for x in self.conditions.positive
                if (test := self.whole.natural_test(x - 1)) is not None]

    def size_tests(self) -> list[tuple[str, str]]:
        """The tests that sizes must pass, with what they say."""
        return [(test, c.why) for c in self.conditions.conditions if (test := self.whole.implied(c.given, c.then)) is not None]

    # ------------------------------------------------------------ statements

    def single(self, e: Equation) -> bool:
        return len(e.outs) == 1 and self.uses[e.outs[0]] == 1 and e.outs[0] not in self.held

    def equation(self, e: Equation) -> Iterator[str]:
        try:
            if isinstance(e.op, Recurrence):
                yield from self.recurrence(e)
            elif isinstance(e.op, Boxed):
                yield from self.lines_of(e, self.shown.get(e.outs[0], e), e.outs[0] in self.unfilled)
            else:
                yield from super().equation(e)
        except AdError as cannot:
            raise AdError(cannot.message, cannot.span or e.span, cannot.help, self.given.source) from None

    def lines_of(self, e: Equation, shown: Equation | None, stays: bool) -> list[str]:
        write = self.matrices if isinstance(e.op, MatrixOperation) else self.nest
        lines: list[str] = write(self, shown, e, stays).lines()
        return lines

    def comment(self, e: Equation[Recurrence]) -> list[str]:
        """A loop over steps as the language has it."""
        return self.language.comment("\n".join(self.printed.recurrence(self.shown[e.op])).split("\n"))

    def recurrence(self, e: Equation) -> Iterator[str]:
        """A loop over steps, its statements writing into the histories where these lie."""
        loop = self.loops[e.outs[0]]
        yield from self.comment(e)
        assert self.language.loop is not None
        yield self.language.loop(self.head(loop))[0] + self.language.opens
        for inner in loop.equations:
            yield from (INDENT + line for line in self.lines_of(inner, None, inner.outs[0] in loop.histories))
        if (left := self.left_where(loop)) is not None:
            yield from (INDENT + line for line in (self.language.test.format(left) + self.language.opens, f"{INDENT}break;",
                                                   self.language.closes))
        yield self.language.closes

    def head(self, loop: StepLoop) -> LoopHead:
        """The steps from the first to the last, or down from there."""
        name, whole = self.steps[loop.step], self.whole
        whole.bind(loop.step, name, loop.low)
        return LoopHead(name, whole.text(loop.low), whole.text(loop.high), [whole.below(loop.step, loop.high)], loop.down)

    def left_where(self, loop: StepLoop) -> str | None:
        """The test behind a step for leaving a loop that has ended, where all that is read of it are copies; None where all steps
        are run."""
        until = loop.until
        if until is None or not loop.leaves or (until.shape[0].number or 0) < (loop.copies or 0):
            return None
        (at,) = next(e.op.write for e in loop.equations if e.outs[0] is until)
        oldest = substituted(at, {loop.step: affine(loop.step) + (-1 if loop.down else 1)})
        return f"{self.language.element.format(self.values[until], self.whole.text(oldest))} > {self.language.number(0.5)[0]}"


def refuse_endless(program: Program) -> None:
    """AdError where the numbers in a shape alone make a tensor that no memory holds."""
    for e in (*program.equations, None):
        for v in e.outs if e else [p.var for p in program.params]:
            if prod(x.number for x in v.shape if x.number) > LARGEST_WHOLE:
                raise AdError(f"no memory holds a tensor of shape {shape_text(v.shape)}", e.span if e else None,
                              source=program.source)
