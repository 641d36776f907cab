"""A program with comprehensions as an LLVM module: a list of steps, and one function that runs some of them.

    define void @NAME(ptr %env, ptr %share, i64 %first, i64 %last, ptr %unused)

Steps `first` to `last` are run. A step is a comprehension or a run of scalar equations between two of them. `env` is an array
of 64-bit cells: the addresses of all values (a scalar lies in memory as a tensor with one element does), the sizes, for each
step the number of the nest to use, a flag that the first gather outside of its tensor sets, and what a team of threads has to
know. `share` is null, or the address of what this thread is to the team (adcli.codegen.loops.thread_pool). The function of a step
does the values `begin` to `end` of its outermost index, and fills the result first if it is told to.

A recurrence is one step, whose function has the loop; the step of the loop is in a cell of its own, as a size is, and what there
is to do at it is functions like those of other steps.

Sizes come when the function is called, so code is for all sizes that take the nests it has.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adcli.codegen.loops.addresses import Environment, Machine
from adcli.codegen.loops.joint_writer import JointLoop, joint_loop, simple
from adcli.codegen.loops.thread_pool import FROM, TO, ThreadPool
from adcli.codegen.machine import veclib
from adcli.codegen.machine.kernel import EntryPoint
from adcli.codegen.nests.cse_across_statements import computed_once, invariants_outside
from adcli.codegen.nests.fast_math import with_fast_math
from adcli.codegen.nests.fusion import groups, in_machine_terms, joinable, joined, side_by_side
from adcli.codegen.nests.layout import homes
from adcli.codegen.nests.recurrences import (
    in_place,
    own_starts,
    with_rings,
)
from adcli.codegen.nests.row_blocks import RowBlocks
from adcli.codegen.nests.row_sweeps import RowSweep
from adcli.codegen.nests.steps import ModuleStep, along_rows, crossing, divided, in_blocks
from adcli.codegen.nests.stepwise import StepPart
from adcli.codegen.rows.flushing import here
from adcli.lang.ir import Atom, Equation, Program, Var
from adcli.lang.ir.errors import Span
from adcli.lang.modes.systems import distributed
from adcli.lang.operations.comprehension import Comprehension, Read, Subscript
from adcli.lang.operations.matrix import bound_names
from adcli.lang.operations.precision import DOUBLE, Precision
from adcli.lang.sizes.binding import counts

FLAG = 6
"""Cells of the flag: which gather, the integer, its place; and three that nobody reads. Behind them stands the address of what
steps call that compute operations on matrices."""


@dataclass(slots=True)
class TensorModule:
    """LLVM IR with what a caller must know: the program as it was compiled, its steps, the positions of all values in `env`,
    which has `cells` cells, and the values that the first cells are the addresses of. Of `choosers` each has a cell from
    `choices` on: the steps, and those inside of loops. `gathering` are the places of gathers in the text. Where the `text` has
    `schedules` of some choices only, it computes nothing with others; a module that is laid out only has none yet."""

    text: str
    entry: EntryPoint
    program: Program
    inner: Program
    """The program as the text has it, with values in place of others."""
    steps: list[ModuleStep]
    choosers: list[ModuleStep]
    env: Environment
    values: list[Var]
    choices: int
    cells: int
    gathering: Mapping[tuple[Atom, Atom, int], Span | None] = field(default_factory=dict)
    parts: Sequence[StepPart] = ()
    """The steps along the steps of time; none where there is no loop."""
    rows: Sequence[RowBlocks] = ()
    sweeps: Sequence[RowSweep] = ()
    """Steps along rows that are done in one loop."""
    joints: Sequence[JointLoop] = ()
    threads: bool = False
    schedules: Sequence[int] | None = None

    def helped(self, cells: Any) -> int:
        """How many steps, with those inside of loops, threads share in a plan with these cells."""
        if (team := self.env.team) is None:
            return 0
        entered = [team.of(k) for k in range(len(self.choosers) + len(self.rows))]
        return sum(cells[at + FROM] < cells[at + TO] for at in entered)

    def has(self, choices: Sequence[int]) -> bool:
        """True if the text has what is needed where nests are chosen so."""
        return bool(self.text) and (self.schedules is None or self.schedules == choices)


def laid_out(program: Program, lanes: int, library: veclib.Library, name: str = "tensors",
             precision: Precision = DOUBLE, fast: bool = False) -> TensorModule:
    """The program as a module without its text: all that a plan asks for. With `fast` it has fast math, and numbers below the
    least normal one are 0 while it runs on this machine."""
    source, program = program, joined(distributed(with_fast_math(program, precision) if fast else program))
    before = in_machine_terms(computed_once(program))
    given = side_by_side(invariants_outside(before, joinable))
    inner = in_place(with_rings(own_starts(given), registers=True))
    steps = divided(inner, lanes, precision.bytes, before)
    machine = Machine(lanes, library, precision, flushing=here() if fast else "")
    module = in_cells(inner, steps, machine, name, threads=True)
    module.program, module.gathering = given, gathering_statements(source)
    return module


def gathering_statements(program: Program) -> dict[tuple[Atom, Atom, int], Span | None]:
    """Where the text gathers from a tensor by a subscript that another one has, with the dimension: the statement, whatever
    loops it comes to stand in. Where there are several it is not known which."""
    found: dict[tuple[Atom, Atom, int], Span | None] = {}
    for e, op in [(e, e.op) for e in program.equations if isinstance(e.op, Comprehension)]:
        for s, tensor, d in gathers(e, op):
            key = tensor, e.args[s.arg], d
            found[key] = e.span if found.get(key, e.span) == e.span else None
    return found


def gathers(e: Equation, op: Comprehension, write: Sequence[Subscript] = ()) -> Iterator[tuple[Read, Atom, int]]:
    """The subscripts that a comprehension reads, those of `write` too: the read, the tensor that it is a subscript of, and the
    dimension."""
    stack: list[tuple[Atom, Sequence[Subscript]]] = [(e.outs[0], write)]
    stack += [(e.args[s.arg], s.subscripts) for s in op.sources if isinstance(s, Read)]
    while stack:
        tensor, subscripts = stack.pop()
        for d, s in enumerate(subscripts):
            if isinstance(s, Read):
                yield s, tensor, d
                stack.append((e.args[s.arg], s.subscripts))


def in_cells(program: Program, steps: list[ModuleStep], machine: Machine, name: str, threads: bool = False) -> TensorModule:
    """These steps with what they need in `env`, which a team may share with `threads`; without, the module stands alone: it
    computes operations on matrices itself, and every step as a whole."""
    home = {**homes(program), **{v: h for s in steps if s.loop is not None for v, h in s.loop.homes.items()}}
    parts, rows, sweeps = list[StepPart](), list[RowBlocks](), list[RowSweep]()
    if threads and any(s.loop is not None for s in steps):
        steps, parts = in_blocks(program, steps, home)
    elif threads:
        steps, rows, sweeps = along_rows(steps, home)
    crossed = crossing(program, steps)
    values = list(dict.fromkeys(home.get(v, v) for v in crossed))
    cells = {v: k for k, v in enumerate(values)}
    names = sorted(bound_names([*(p for p in program.params if p.var.shape), *counts(program)]))
    names += [s.loop.step for s in steps if s.loop is not None]
    names += [name for s in steps if s.block is not None and not rows for name in s.block.names]
    names += [name for g in rows for name in g.names]
    sizes = {n: len(values) + k for k, n in enumerate(names)}
    choices = len(values) + len(sizes)
    choosers = [*steps, *(inner for s in steps for inner in s.each)]
    flag = choices + len(choosers)
    env = Environment({v: cells[home.get(v, v)] for v in crossed}, sizes, flag, machine)
    end = flag + FLAG + 1
    if threads and any(map(shareable, choosers)):
        env.team = ThreadPool(name, end)
        end = env.team.of(len(choosers) + len(rows))
    entry = EntryPoint(name, machine.lanes, 0, len(program.params), len(program.results), (), machine.precision.code)
    joints = [] if parts else joint_loops(steps, rows, machine.lanes)
    return TensorModule("", entry, program, program, steps, choosers, env, values, choices, end, {}, parts, rows,
                        sweeps, joints, threads)


def joint_loops(steps: Sequence[ModuleStep], rows: Sequence[RowBlocks], lanes: int) -> list[JointLoop]:
    """The joint loops of these steps; none that steps along rows are a part of only."""
    found = [r for r in groups([simple(s) for s in steps]) if len({steps[k].schedules[0].vector is None for k in r}) == 1]
    return [joint_loop(r, steps[r.start:r.stop], lanes) for r in found
            if all(r.stop <= g.first or r.start >= g.last or g.first <= r.start < r.stop <= g.last for g in rows)]


def shareable(step: ModuleStep) -> bool:
    """True if threads may share a step."""
    return any(n.shared is not None for n in step.schedules)
