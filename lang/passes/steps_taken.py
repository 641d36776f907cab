"""Loops that end early, with no other steps than those that are taken.

Behind the step at which `until` holds a loop copies. So a program that reads of its histories the last elements only, or others
at a subscript of sizes, has the same results where the loop has that many steps, and histories as many elements:

    for t in 0:10000 until c { x(t + 1) = e }; y = x(10000)        is with steps = 5
    for t in 0:steps until c { x(t + 1) = e }; y = x(steps)

`steps` is an input of the program and of its derivatives, whose memory and time are those of the steps; any number that is not
too small gives the same. What it is `counter` says: the values alone, with histories of some steps, of ever more until the loop
ends in them (`adcli.codegen.modules.counted`).
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from adcli.lang.ir import Atom, Equation, Lit, Param, Program, Result, Shape, Var, definitions
from adcli.lang.ir.affine import Affine, affine, bounds, least, never_negative
from adcli.lang.ir.build import Builder, apply
from adcli.lang.ir.names import Names
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.records import record
from adcli.lang.operations.activity import without_problem
from adcli.lang.operations.comprehension import Comprehension, Range, Read, body_of, ends_of, identity_body
from adcli.lang.operations.elementwise import moved
from adcli.lang.operations.matrix import Boxed, MatrixOperation, elements_read
from adcli.lang.operations.recurrence import (
    Recurrence,
    ended_by_values,
    signature_of,
    step_offset,
    step_place,
    whole_statements,
)
from adcli.lang.simplify.simplify import prune
from adcli.lang.sizes.binding import size_names

LEAST_STEPS, LEAST_OF_NUMBERS = 1 << 8, 1 << 14
"""A range with fewer steps, of a loop over tensors or over numbers alone, is taken as it is: counting is a run of its own."""


@record
class CountedSteps:
    """A program whose loops have as many steps as its last inputs say, which are named as in `most`, where is how many there are
    in the text, and `least` how many that has to be for this to be worth while. The results of the `counter` are how many of
    these each loop takes, if it ends in as many. With `matrices` a loop has operations on them, whose histories are no rings."""

    program: Program
    counter: Program
    most: Mapping[str, Affine]
    least: int
    matrices: bool


class LoopCut(NamedTuple):
    """A loop with the size that is the number of its steps, and the dimension that is the step of each tensor that becomes
    shorter: histories, and what these enter with."""

    loop: Equation[Recurrence]
    size: str
    places: Mapping[Var, int]

    @property
    def high(self) -> Affine:
        return self.loop.op.low + affine(self.size)

    def shape(self, v: Var) -> Shape:
        """The shape of a tensor without the steps that are not taken."""
        d = self.places[v]
        return (*v.shape[:d], v.shape[d] - self.loop.op.high + self.high, *v.shape[d + 1:])


def counted_steps(program: Program) -> CountedSteps | None:
    """The program with numbers of steps as inputs; None where no loop ends early of whose histories the last elements do."""
    if not ended_by_values(program.equations):
        return None
    program = prune(without_problem(program) if program.problem else program)
    values = [o.name for e in program.equations for o in e.outs if o.name]
    names = Names([*(p.name for p in program.params), *(r.name for r in program.results), *size_names(program), *values])
    found = [_cut(program, e, names.fresh("steps")) for e in ended_by_values(program.equations)]
    cuts = [cut for cut in found if cut is not None]
    if not cuts:
        return None
    most = {cut.size: cut.loop.op.high - cut.loop.op.low for cut in cuts}
    params = (*program.params, *(Param(Var(name, integer=True), name) for name in most))
    new: dict[Atom, Var] = {v: replace(v, shape=cut.shape(v)) for cut in cuts for v in cut.places}
    cut_short = replace(program, params=params, equations=tuple([_shorter(e, cuts, new) for e in program.equations]))
    loops = [cut.loop for cut in cuts]
    matrices = any(isinstance(s.op, MatrixOperation) for e in loops for s in e.op.statements)
    return CountedSteps(cut_short, _counter(cut_short, cuts, new), most, min(map(_least_steps, loops)), matrices)


# ---------------------------------------------------------------- which loops

def _cut(program: Program, e: Equation[Recurrence], size: str) -> LoopCut | None:
    """A loop with what becomes shorter; None where that could be seen, or the loop is short."""
    op, places, starts = e.op, dict[Var, int](), dict[Var, int]()
    steps = (op.high - op.low).number
    if op.down or (steps is not None and steps < _least_steps(e)):
        return None
    for out, inner, start in zip(e.outs, op.histories, e.args, strict=False):
        found = {step_place(s.op, op.step) for s in op.statements if s.outs[0] is inner}
        at = found.pop()
        if found or at is None or out.shape[at[0]] != op.high + at[1]:
            return None
        entered = _entered(program, start, at[0], op.low + at[1])
        if entered is None:
            return None
        places[out] = at[0]
        starts |= dict.fromkeys(entered, at[0])
    own = dict(zip(op.histories, places.values(), strict=True))
    inside = [(own[a], subscripts) for s in op.statements for a, subscripts in elements_read(s, s.op) if a in own]
    plain = all(d < len(subscripts) and step_offset(subscripts[d], op.step) is not None for d, subscripts in inside)
    behind = all(_reads_elements(x, places) for x in program.equations if x is not e)
    if not plain or not behind or any(r.atom in places for r in program.results):
        return None
    return LoopCut(e, size, {**places, **starts})


def _least_steps(e: Equation[Recurrence]) -> int:
    return LEAST_OF_NUMBERS if all(len(out.shape) == 1 for out in e.outs) else LEAST_STEPS


def _entered(program: Program, start: Atom, d: int, last: Affine) -> list[Var] | None:
    """The tensors that a history enters with, one made of the other; None where they have elements behind the `last` along
    dimension d that are not the same for all steps, or somebody else reads them."""
    made = definitions(program.equations)
    uses = Counter([*(a for x in program.equations for a in x.args), *(r.atom for r in program.results)])
    found: list[Var] = []
    a: Atom | None = start
    while isinstance(a, Var):
        x = made.get(a)
        if x is None or not isinstance(x.op, Comprehension) or uses[a] > 1:
            return None
        at = x.op.write[d]
        if not isinstance(at, Affine) or not (never_negative(last - bounds(at, ends_of(x.op.ranges))[1])
                                              or _whole_range(x.op, d) is not None):
            return None
        found.append(a)
        a = x.op.start(x)
    return found


def _whole_range(op: Comprehension, d: int) -> Range | None:
    """The range of the index that goes through all of dimension d of what is written."""
    return next((r for r in op.ranges if op.write[d] == affine(r.index) and r.high == op.shape[d]), None)


def _reads_elements(x: Equation, places: Mapping[Var, int]) -> bool:
    """True if an equation reads of these tensors no element but at a subscript along the step that is one for all points."""
    if not any(a in places for a in x.args):
        return True
    loop = isinstance(x.op, Recurrence)
    if loop and any(a in places for a in x.args[:len(x.outs)]):
        return False
    for s in whole_statements(x) if loop else [x]:
        if not isinstance(s.op, Boxed) or s.op.start(s) in places:
            return False
        for a, subscripts in elements_read(s, s.op):
            if isinstance(a, Var) and a in places:
                d = places[a]
                at = subscripts[d] if d < len(subscripts) else None
                if not isinstance(at, Affine) or at.indices():
                    return False
    return True


# ---------------------------------------------------------------- the program

def _shorter(x: Equation, cuts: Sequence[LoopCut], new: Mapping[Atom, Var]) -> Equation:
    """An equation of the program in terms of what is shorter."""
    cut = next((c for c in cuts if x.outs[0] in c.places), None)
    last = {v: (d, v.shape[d] - 1, c.shape(v)[d] - 1) for c in cuts for v, d in c.places.items()}
    env: dict[Atom, Atom] = dict(new)
    if isinstance(x.op, Recurrence):
        return _shorter_loop(x, cut, new, last).substituted(env)
    if not isinstance(x.op, Boxed):
        return x
    if cut is None:
        return _within(x, last).substituted(env)
    d = cut.places[x.outs[0]]
    assert isinstance(x.op, Comprehension)
    whole = _whole_range(x.op, d)
    ranges = [replace(r, high=cut.shape(x.outs[0])[d]) if r is whole else r for r in x.op.ranges]
    return _within(replace(x, op=replace(x.op, ranges=tuple(ranges), shape=cut.shape(x.outs[0]))), last).substituted(env)


def _shorter_loop(x: Equation[Recurrence], cut: LoopCut | None, new: Mapping[Atom, Var],
                  last: Mapping[Var, tuple[int, Affine, Affine]]) -> Equation:
    """A loop that has fewer steps, or reads behind one that has."""
    op, count = x.op, len(x.outs)
    inner = dict(zip((*op.histories, *op.constants), (*x.outs, *x.args[count:]), strict=True))
    short = {a: replace(a, shape=new[v].shape) for a, v in inner.items() if v in new}
    env: dict[Atom, Atom] = dict(short.items())
    read = {a: last[v] for a, v in inner.items() if a in op.constants and isinstance(v, Var) and v in last}
    statements = [_within(s, read) for s in op.statements]
    if cut is not None:
        steps, *_ = [replace(s.op.ranges[0], high=cut.high) for s in statements]
        shapes = {a: cut.shape(out) for a, out in zip(op.histories, x.outs, strict=True)}
        statements = [replace(s, op=replace(s.op, ranges=(steps, *s.op.ranges[1:]), shape=shapes[s.outs[0]])) for s in statements]
        op = replace(op, high=cut.high)
    named = [tuple([short.get(a, a) for a in each]) for each in (op.histories, op.constants)]
    return replace(x, op=replace(op, histories=named[0], constants=named[1],
                                 statements=tuple([s.substituted(env) for s in statements])))


def _within(s: Equation[Boxed], last: Mapping[Var, tuple[int, Affine, Affine]]) -> Equation:
    """An operation that reads the last element there is in place of one behind it, which is a copy; `last` has for each tensor
    its dimension along the step and which element was and is the last."""
    def read(r: Read) -> Read:
        a = s.args[r.arg]
        if not isinstance(a, Var) or a not in last:
            return r
        d, old, now = last[a]
        at = r.subscripts[d]
        assert isinstance(at, Affine)
        at = now if at == old else at if never_negative(now - at) else least(at, now)
        return replace(r, subscripts=(*r.subscripts[:d], at, *r.subscripts[d + 1:]))
    if not any(a in last for a in s.args):
        return s
    if isinstance(s.op, Comprehension):
        return replace(s, op=moved(s.op, read, lambda position: position))
    return replace(s, op=replace(s.op, sources=tuple(map(read, s.op.sources))))


# ---------------------------------------------------------------- the counter

def _counter(program: Program, cuts: Sequence[LoopCut], new: Mapping[Atom, Var]) -> Program:
    """The program whose results are how many steps each loop takes, named as the size is."""
    of = {new[cut.loop.outs[0]]: cut for cut in cuts}
    b, results = Builder(), list[Result]()
    for x in program.equations:
        cut = of.get(x.outs[0])
        if cut is None:
            b.equations.append(x)
            continue
        counting, taken = _counting(x, cut)
        b.equations.append(counting)
        number = Comprehension(sources=(Read(0, (cut.high,)),), body=identity_body())
        results.append(Result(cut.size, b.emit(number, taken, shape=())))
    return prune(replace(program, equations=tuple(b.equations), results=tuple(results)))


def _counting(x: Equation[Recurrence], cut: LoopCut) -> tuple[Equation, Var]:
    """A loop with one more history, which says behind each step how many there were."""
    op, count = x.op, len(x.outs)
    assert op.until is not None
    done, here = op.histories[op.until], affine(op.step)
    shape = (cut.high + 1,)
    inner, outer = Var("taken", True, shape=shape), Var("taken", True, shape=shape)
    b, ended, before, now = Builder(), Var("ended"), Var("before"), Var("now")
    value = apply(TABLE["select"], b.expr(ended) > 0.5, b.expr(before), b.expr(now))
    body = body_of(value.var, [Param(ended, "ended"), Param(before, "before"), Param(now, "now")], b.equations)
    made = Comprehension(ranges=(Range(op.step, op.low, cut.high),), write=(here + 1,), shape=shape, body=body,
                         sources=(Read(0, (here,)), Read(1, (here,)), here + 1 - op.low))
    counting = replace(op, signature=signature_of(count + 1), histories=(*op.histories, inner),
                       statements=(*op.statements, Equation((inner,), made, (done, inner))))
    return x.with_op(counting, (*x.args[:count], Lit(0.0), *x.args[count:]), (*x.outs, outer)), outer
