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

The text of a module: the functions of its steps, and that which runs some of them.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from adcli.codegen.llvm_ir.frames import FunctionWriter
from adcli.codegen.loops.addresses import Environment, Machine
from adcli.codegen.loops.index_loops import each_box
from adcli.codegen.loops.joint_writer import JointLoop, JointWriter, joint_loop, simple
from adcli.codegen.loops.nest_writer import NestWriter, SweepWriter
from adcli.codegen.loops.packing import write_hoisted
from adcli.codegen.loops.registers import RegisterLoop
from adcli.codegen.loops.thread_pool import FROM, TO, YIELD, ThreadPool, functions
from adcli.codegen.machine import veclib
from adcli.codegen.machine.kernel import EntryPoint
from adcli.codegen.matrices.writer import functions as matrix_functions
from adcli.codegen.matrices.writer import matrix_step
from adcli.codegen.modules.matrices import CALLED, OWN, called
from adcli.codegen.modules.sequence import StepCall, in_blocks_of_rows, loop, main, tensor_at
from adcli.codegen.nests.cse_across_statements import computed_once, invariants_outside
from adcli.codegen.nests.fast_math import with_fast_math
from adcli.codegen.nests.fusion import groups, in_machine_terms, joinable, joined, side_by_side
from adcli.codegen.nests.layout import homes
from adcli.codegen.nests.recurrences import (
    StepLoop,
    in_place,
    neutral,
    own_starts,
    used_outside,
    with_rings,
)
from adcli.codegen.nests.row_sweeps import RowBlocks, RowSweep
from adcli.codegen.nests.steps import ModuleStep, along_rows, crossing, divided, in_blocks
from adcli.codegen.nests.stepwise import StepPart
from adcli.codegen.rows.platforms import here
from adcli.codegen.schedules.schedule import Schedule, indices
from adcli.codegen.schedules.search import schedules
from adcli.lang.ir import Atom, Equation, Lit, Program, Var
from adcli.lang.ir.errors import Span
from adcli.lang.modes.systems import distributed
from adcli.lang.operations.comprehension import NEUTRAL, Comprehension, Read, Subscript
from adcli.lang.operations.matrix import bound_names
from adcli.lang.operations.precision import DOUBLE, Precision, placing_constants
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


# ---------------------------------------------------------------- module text

def emit(program: Program, lanes: int, library: veclib.Library, name: str = "tensors",
         header: Iterable[str] = (), precision: Precision = DOUBLE, fast: bool = False) -> TensorModule:
    """The program as a module; the same arguments give the same text on every machine, unless it is `fast`."""
    return written(laid_out(program, lanes, library, name, precision, fast), header)


def written(module: TensorModule, header: Iterable[str] = (), linkage: str = "",
            schedules: Sequence[int] | None = None) -> TensorModule:
    """The module with its text: with the nests of these choices, or with all. AdError, with its place, for a constant that the
    precision has no number for."""
    with placing_constants(module.program, module.env.on(1).precision):
        body = ModuleText(module, schedules).written(linkage)
    used = module.env.instructions.values()
    declared = {line for i in used for line in i.declared.values()}
    helpers = [line for i in used for s in sorted(i.helpers) for line in i.helpers[s]]
    externals = tuple(sorted(set().union(*[i.externals for i in used])))
    comments = [*(f"; {line}".rstrip() for line in header), *interface(module.env, module.inner, module.choices)]
    text = "\n".join([*comments, "", *sorted(declared), "", *helpers, *body, ""])
    return replace(module, text=text, entry=module.entry._replace(externals=externals), schedules=schedules)


def interface(env: Environment, program: Program, choices: int) -> list[str]:
    """Comments that say which cell is which."""
    values = {v: p.name for p in program.params for v in [p.var]}
    values |= {r.atom: r.name for r in program.results if isinstance(r.atom, Var)}
    shown = [f"{k} {values[v]}" for v, k in env.tensors.items() if v in values]
    return [f"; env: {', '.join([*shown, *(f'{k} {n}' for n, k in env.sizes.items())])}, choices from {choices}, flag {env.flag}"]


class ModuleText:
    """Writes the functions of a module, with the nests of these choices, or with all."""

    def __init__(self, module: TensorModule, choices: Sequence[int] | None) -> None:
        self.module, self.env, self.name = module, module.env, module.entry.name
        self.only = [None] * len(module.choosers) if choices is None else choices
        self.lines: list[str] = []
        self.calls = [StepCall(f"{self.name}.{k}", k, shareable(s), s.loop is not None,
                               f"{self.name}.{k}.copies" if any(n.hoisted for n in s.schedules) else None)
                      for k, s in enumerate(module.choosers)]
        self.env.written = {}

    def written(self, linkage: str) -> list[str]:
        """The lines of all functions."""
        module, env = self.module, self.env
        groups = [StepCall(f"{self.name}.rows.{k}", len(self.calls) + k, True) for k, _ in enumerate(module.rows)]
        if env.team is not None:
            env.declare(YIELD, f"declare i32 @{YIELD}()")
            env.on(1).externals.add(YIELD)
            helped = env.on(1).flushed(f"call void @{self.name}.help(ptr %env, i64 %number)", "%bits")
            shared = {c.number: c.symbol for c in (*self.calls, *groups) if c.shared}
            self.lines += functions(env.team, shared, env.stack, "\n".join(helped))
        if any(s.calls for s in module.choosers):
            self.lines += matrix_functions(env, self.name, [s.equations[0].op.name for s in module.choosers if s.calls])
        for k, step in enumerate(module.choosers):
            if step.loop is None:
                self.step(k, step)
        for k, step in enumerate(module.steps):
            if step.loop is not None:
                self.lines += env.step(self.calls[k].symbol, self.loop(step, step.loop))
        for sweep in module.sweeps:
            writer = SweepWriter(env, sweep)
            writer.write()
            self.lines += env.step(of_sweep(self.name, sweep), writer)
        swept = {sweep.steps: of_sweep(self.name, sweep) for sweep in module.sweeps}
        for call, group in zip(groups, module.rows, strict=True):
            self.lines += env.step(call.symbol, in_blocks_of_rows(env, group, self.calls, swept, module.cells))
        joints = dict[int, tuple[str, JointLoop, int | None]]()
        for joint in [j for j in module.joints if j.wanted(self.only)]:
            k, symbol = joint.numbers.start, of_joint(self.name, joint)
            self.joint(joint, symbol)
            joints[k] = symbol, joint, module.choices + k if module.threads else None
        calls = self.calls[:len(module.steps)]
        return [*self.lines, *main(env, calls, list(zip(groups, module.rows, strict=True)), joints, self.name, linkage)]

    def joint(self, joint: JointLoop, symbol: str) -> None:
        """The functions of a joint loop: the loop, and what fills tensors and calls it box by box."""
        writer, f = JointWriter(self.env, joint), JointWriter(self.env, joint)
        writer.write()
        self.lines += self.env.nest(f"{symbol}.loop", writer)
        for step in joint.steps:
            if step.schedules[0].scatter:
                f.out = step.equations[0].outs[0]
                filling(f, step.equations[0].op)
        f.tell("%cells.0", list(writer.cells))
        each_box(f, writer.schedule, self.env.lanes, "%box.0",
                 partial(f.say, f"call void @{symbol}.loop(ptr %env, ptr %cells.0, i64 0, i64 0, ptr %box.0)"))
        self.lines += self.env.step(symbol, f)

    # ------------------------------------------------------------ steps

    def step(self, k: int, step: ModuleStep) -> None:
        """The functions of a step that is no loop."""
        symbol, copies = self.calls[k].symbol, self.calls[k].copies
        write = self.matrices if step.calls else self.comprehension if step.schedules else None
        f = self.scalars(step) if write is None else write(k, step)
        self.lines += self.env.step(symbol, f)
        if copies is not None:
            f = FunctionWriter(self.env.sizes)
            self.choose(f, k, step, [(n, *self.nest(f"{copies}.{n}", step.equations[0], schedule, copying=True))
                                     for n, schedule in self.chosen(k, step) if schedule.hoisted])
            self.lines += self.env.step(copies, f)

    def matrices(self, k: int, step: ModuleStep) -> FunctionWriter:
        """An operation on matrices: in code of its own, or with threads, as the plan chooses, by a callback."""
        def own() -> FunctionWriter:
            return matrix_step(self.env, step, self.name)

        def callback() -> FunctionWriter:
            return called(self.env, self.env.flag + FLAG, k)
        only = self.only[k] if self.module.threads else OWN
        if only is not None:
            return own() if only == OWN else callback()
        names = {n: f"{self.calls[k].symbol}.{n}" for n in (CALLED, OWN)}
        self.lines += [*self.env.step(names[CALLED], callback()), *self.env.step(names[OWN], own())]
        f = FunctionWriter({})
        chosen = f.put(f"load i64, ptr {f.put(f'getelementptr i64, ptr %env, i64 {self.module.choices + k}')}")
        for n, symbol in names.items():
            with f.where(f.put(f"icmp eq i64 {chosen}, {n}")):
                f.say(f"call void @{symbol}(ptr %env, i64 %begin, i64 %end, i64 %filling)")
        return f

    def loop(self, step: ModuleStep, loop_: StepLoop) -> FunctionWriter:
        """A recurrence."""
        if not loop_.registers:
            return loop(self.env, loop_, [self.calls[self.module.choosers.index(s)] for s in step.each])
        kept = loop_.histories if loop_.stored else used_outside(self.module.inner, step.equations[0])
        writer = RegisterLoop(self.env, loop_, kept)
        writer.write()
        return writer

    def chosen(self, k: int, step: ModuleStep) -> list[tuple[int, Schedule]]:
        """The nests of a step that the text has, with their numbers."""
        return [(n, x) for n, x in enumerate(step.schedules) if self.only[k] in (None, n)]

    def nest(self, symbol: str, e: Equation, schedule: Schedule, copying: bool = False) -> tuple[str, list[int]]:
        """Write a nest as a function of this symbol, unless there is one with its text; its symbol and cells."""
        writer = NestWriter(self.env, e, schedule)
        if copying:
            write_hoisted(writer)
        else:
            writer.write()
        found = self.env.written.setdefault(tuple(writer.text()), symbol)
        if found == symbol:
            self.lines += self.env.nest(symbol, writer)
        return found, list(writer.cells)

    def choose(self, f: FunctionWriter, k: int, step: ModuleStep, nests: Sequence[tuple[int, str, list[int]]]) -> None:
        """Call the nest that is chosen for a step, box by box."""
        chosen = f.put(f"load i64, ptr {f.put(f'getelementptr i64, ptr %env, i64 {self.module.choices + k}')}")
        for n, symbol, cells in nests:
            with f.where(f.put(f"icmp eq i64 {chosen}, {n}")):
                f.tell(f"%cells.{n}", cells)
                line = f"call void @{symbol}(ptr %env, ptr %cells.{n}, i64 %begin, i64 %end, ptr %box.{n})"
                each_box(f, step.schedules[n], self.env.lanes, f"%box.{n}", partial(f.say, line))

    def comprehension(self, k: int, step: ModuleStep) -> FunctionWriter:
        """A step that is a comprehension: its nests, and the function that fills and chooses."""
        (e,), symbol = step.equations, self.calls[k].symbol
        op, nests = e.op, [(n, *self.nest(f"{symbol}.{n}", e, x)) for n, x in self.chosen(k, step)]
        f = NestWriter(self.env, e, step.schedules[0])
        spans = [(f.number(r.low)[0], f.number(r.high)[0]) for r in op.ranges]
        some = f.every(f.put(f"icmp slt i64 {low}, {high}") for low, high in spans)
        some = f.every((f.put(f"icmp sge i64 {f.number(g)[0]}, 0") for g in op.guards if not indices(g)), some)
        if step.block is not None:
            low, high, _ = [f.size(name) for name in step.block.names]
            some = f.every([f.put(f"icmp slt i64 {low}, {high}")], some)
        if not step.stays and not starts_there(self.env, e, op):
            fill = f.put("icmp ne i64 %filling, 0")
            if step.block is not None:
                fill = f.every([f.put(f"icmp eq i64 {f.size(step.block.names[2])}, 0")], fill)
            if not step.fills:
                fill = f.every([f.put(f"xor i1 {some}, true")], fill)
            with f.where(fill):
                filling(f, op)
        if step.stays and op.reduction != "=" and op.onto is None:
            self.nothing(f, step, f"{symbol}.nothing")
        with f.where(some):
            self.choose(f, k, step, nests)
        return f

    def nothing(self, f: NestWriter, step: ModuleStep, symbol: str) -> None:
        """Where a reduced range is empty, elements are what a reduction starts from, those of a tensor too that keeps all others:
        by a function of this name."""
        env, (e,) = self.env, step.equations
        fill = neutral(e)
        lengths = [r.high - r.low for r in e.op.ranges if r.index not in fill.op.indices and not indices(r.high - r.low)]
        empty = [f.put(f"icmp sle i64 {f.number(x)[0]}, 0") for x in lengths if x.number is None]
        if not empty:
            return
        block = step.block if step.block is not None and step.block.index in fill.op.indices else None
        symbol, cells = self.nest(symbol, fill, replace(schedules(fill, fill.op, env.lanes, True, env.bytes)[0], block=block))
        nothing = empty[0]
        for x in empty[1:]:
            nothing = f.put(f"or i1 {nothing}, {x}")
        with f.where(nothing):
            f.tell("%cells.nothing", cells)
            f.say(f"call void @{symbol}(ptr %env, ptr %cells.nothing, i64 %begin, i64 %end, ptr null)")

    def scalars(self, step: ModuleStep) -> FunctionWriter:
        """A step of scalar equations."""
        env = self.env
        f, instructions = FunctionWriter(env.sizes), env.on(1)
        own = {out for e in step.equations for out in e.outs}
        text: dict[Var, str] = {}
        for e in step.equations:
            for a in e.args:
                if isinstance(a, Var) and a not in own and a not in text:
                    got = f.put(f"load {'i64' if a.truth else env.scalar}, ptr {tensor_at(f, env, a)}")
                    text[a] = f.put(f"trunc i64 {got} to i1") if a.truth else got
            z = text[e.outs[0]] = f.fresh()
            operands = [instructions.constant(a.value) if isinstance(a, Lit) else text[a] for a in e.args]
            f.chunks[-1].append(instructions.template(e.op).format(*operands, z=z))
            if e.outs[0] in env.tensors:
                kept = f.put(f"zext i1 {z} to i64") if e.outs[0].truth else z
                f.say(f"store {'i64' if e.outs[0].truth else env.scalar} {kept}, ptr {tensor_at(f, env, e.outs[0])}")
        return f


def of_sweep(name: str, sweep: RowSweep) -> str:
    """The symbol of the function that does these steps in one loop."""
    return f"{name}.sweep.{sweep.steps[0]}"


def of_joint(name: str, joint: JointLoop) -> str:
    """The symbol of the function of a joint loop."""
    return f"{name}.joint.{joint.numbers.start}"


def starts_there(env: Environment, e: Equation, op: Comprehension) -> bool:
    """True if the result lies where what it starts from does."""
    start = op.start(e)
    return isinstance(start, Var) and start in env.tensors and env.tensors[start] == env.tensors[e.outs[0]]


def filling(f: NestWriter, op: Comprehension) -> None:
    """Fill the result with its initial elements."""
    count = f.product([f.number(x)[0] for x in op.shape])
    out = f.tensor(f.out)
    source = None if op.onto is None else f.schedule.args[op.onto]
    if isinstance(source, Var):
        size = f.put(f"mul i64 {count}, {f.bytes}")
        f.say(f"call void @llvm.memcpy.p0.p0.i64(ptr {out}, ptr {f.tensor(source)}, i64 {size}, i1 false)")
        return
    start = NEUTRAL[op.reduction] if source is None else source.value
    if start == 0 and op.shape:
        size = f.put(f"mul i64 {count}, {f.bytes}")
        f.say(f"call void @llvm.memset.p0.i64(ptr {out}, i8 0, i64 {size}, i1 false)")
        return
    with f.each("0", count) as k:
        f.say(f"store {f.scalar} {f.scalars.constant(start)}, ptr {f.put(f'getelementptr {f.scalar}, ptr {out}, i64 {k}')}")
