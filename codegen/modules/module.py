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

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from adcli.codegen.loops.addresses import Environment
from adcli.codegen.loops.boxes import each_box
from adcli.codegen.loops.frames import FunctionWriter
from adcli.codegen.loops.linear_algebra import functions as matrix_functions
from adcli.codegen.loops.linear_algebra import matrix_step
from adcli.codegen.loops.nest_writer import NestWriter
from adcli.codegen.loops.packing import write_hoisted
from adcli.codegen.loops.registers import RegisterLoop
from adcli.codegen.loops.row_sweeps import SweepWriter
from adcli.codegen.loops.thread_pool import FROM, TO, YIELD, ThreadPool, functions
from adcli.codegen.machine import veclib
from adcli.codegen.machine.kernel import EntryPoint
from adcli.codegen.modules.matrices import called
from adcli.codegen.modules.sequence import StepCall, in_blocks_of_rows, loop, main
from adcli.codegen.nests.cse_across_statements import computed_once
from adcli.codegen.nests.fast_math import with_fast_math
from adcli.codegen.nests.fusion import in_machine_terms, joined
from adcli.codegen.nests.layout import homes
from adcli.codegen.nests.recurrences import (
    in_place,
    in_registers,
    neutral,
    own_starts,
    used_outside,
)
from adcli.codegen.nests.rings import with_rings
from adcli.codegen.nests.row_blocks import RowBlocks
from adcli.codegen.nests.row_sweeps import RowSweep
from adcli.codegen.nests.schedule import Schedule, indices
from adcli.codegen.nests.schedule_search import schedules
from adcli.codegen.nests.steps import ModuleStep, along_rows, crossing, divided, in_blocks
from adcli.codegen.nests.stepwise import StepPart
from adcli.codegen.rows.flushing import here
from adcli.lang.ir import Atom, Equation, Lit, Program, Var
from adcli.lang.ir.comprehension import NEUTRAL, Comprehension, Read, Subscript
from adcli.lang.ir.errors import Span
from adcli.lang.ir.matrix import bound_names
from adcli.lang.ir.precision import DOUBLE, Precision, placing_constants
from adcli.lang.passes.systems import distributed
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


def emit(program: Program, lanes: int, library: veclib.Library, name: str = "tensors",
         header: Iterable[str] = (), precision: Precision = DOUBLE, fast: bool = False) -> TensorModule:
    """The program as a module; the same arguments give the same text on every machine, unless it is `fast`."""
    return written(laid_out(program, lanes, library, name, precision, fast), header)


def laid_out(program: Program, lanes: int, library: veclib.Library, name: str = "tensors",
             precision: Precision = DOUBLE, fast: bool = False) -> TensorModule:
    """The program as a module without its text: all that a plan asks for. With `fast` it has fast math, and numbers below the
    least normal one are 0 while it runs on this machine."""
    given = in_machine_terms(computed_once(joined(distributed(with_fast_math(program, precision) if fast else program))))
    inner = in_place(with_rings(own_starts(given), registers=True))
    steps = divided(inner, lanes, precision.bytes)
    module = in_cells(inner, steps, lanes, library, name, precision=precision, threads=True, flushing=here() if fast else "")
    module.program, module.gathering = given, gathering_statements(program)
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


def in_cells(program: Program, steps: list[ModuleStep], lanes: int, library: veclib.Library, name: str, integer: str = "i64",
             precision: Precision = DOUBLE, threads: bool = False, flushing: str = "") -> TensorModule:
    """These steps with what they need in `env`, which a team may share with `threads`; without, the module stands alone: it
    computes operations on matrices itself, and every step as a whole. `integer` is the type of whole numbers of the inputs. On
    the architecture `flushing` numbers below the least normal one are 0."""
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
    env = Environment({v: cells[home.get(v, v)] for v in crossed}, sizes, flag, lanes, library, integer, precision, flushing)
    end = flag + FLAG + 1
    if threads and any(map(shareable, choosers)):
        env.team = ThreadPool(name, end)
        end = env.team.of(len(choosers) + len(rows))
    entry = EntryPoint(name, lanes, 0, len(program.params), len(program.results), (), precision.code)
    return TensorModule("", entry, program, program, steps, choosers, env, values, choices, end, {}, parts, rows,
                        sweeps, threads)


def written(module: TensorModule, header: Iterable[str] = (), linkage: str = "",
            schedules: Sequence[int] | None = None) -> TensorModule:
    """The module with its text: with the nests of these choices, or with all. AdError, with its place, for a constant that the
    precision has no number for."""
    with placing_constants(module.program, module.env.on(1).precision):
        return with_text(module, header, linkage, schedules)


def with_text(module: TensorModule, header: Iterable[str], linkage: str, schedules: Sequence[int] | None) -> TensorModule:
    env, name, steps, choosers = module.env, module.entry.name, module.steps, module.choosers
    env.written = {}
    only = [None] * len(choosers) if schedules is None else schedules
    of_copies = {k: f"{name}.{k}.copies" for k, s in enumerate(choosers) if any(n.hoisted for n in s.schedules)}
    calls = [StepCall(f"{name}.{k}", k, shareable(s), s.loop is not None, of_copies.get(k))
             for k, s in enumerate(choosers)]
    groups = [StepCall(f"{name}.rows.{k}", len(choosers) + k, True) for k, _ in enumerate(module.rows)]
    body: list[str] = []
    if env.team is not None:
        env.declare(YIELD, f"declare i32 @{YIELD}()")
        env.on(1).externals.add(YIELD)
        body += functions(env.team, {c.number: c.symbol for c in (*calls, *groups) if c.shared}, env.stack)
    if not module.threads and any(s.calls for s in choosers):
        body += matrix_functions(env, name)
    for k, step in enumerate(choosers):
        if step.calls and not module.threads:
            body += [head(f"{name}.{k}", env), *matrix_step(env, step.equations[0], step.place, step.stays, name), "}", ""]
        else:
            body += function(env, step, f"{name}.{k}", module.choices + k, k, only[k])
            if k in of_copies:
                kept = [(n, x) for n, x in of_choice(step, only[k]) if x.hoisted]
                body += copying(env, step, of_copies[k], module.choices + k, kept)
    for k, step in enumerate(steps):
        if step.loop is not None and in_registers(step.loop):
            (e,) = step.equations
            writer = RegisterLoop(env, step.loop, step.loop.histories if step.loop.stored else used_outside(module.inner, e))
            body += [head(f"{name}.{k}", env), *with_cells(writer)]
        elif step.loop is not None:
            f = loop(env, step.loop, [calls[choosers.index(s)] for s in step.each])
            lines_of = f.text()
            body += [head(f"{name}.{k}", env), lines_of[0], *told("%cells", list(f.cells)), *lines_of[1:], "}", ""]
    for sweep in module.sweeps:
        body += [head(of_sweep(name, sweep), env), *with_cells(SweepWriter(env, sweep)), ""]
    swept = {sweep.steps: of_sweep(name, sweep) for sweep in module.sweeps}
    for call, group in zip(groups, module.rows, strict=True):
        body += [head(call.symbol, env), *in_blocks_of_rows(env, group, calls, swept, module.cells), "}", ""]
    body += main(env, calls[:len(steps)], list(zip(groups, module.rows, strict=True)), name, linkage)
    used = env.instructions.values()
    declared = {line for i in used for line in i.declared.values()}
    helpers = [line for i in used for s in sorted(i.helpers) for line in i.helpers[s]]
    externals = tuple(sorted(set().union(*[i.externals for i in used])))
    comments = [*(f"; {line}".rstrip() for line in header), *interface(env, module.inner, module.choices)]
    lines = [*comments, "", *sorted(declared), "", *helpers, *body]
    return replace(module, text="\n".join(lines) + "\n", entry=module.entry._replace(externals=externals), schedules=schedules)


def with_cells(writer: NestWriter) -> list[str]:
    """The text of a function that a nest is, with its cells, which other nests are told."""
    first, *others = writer.write()
    return [first, *told("%cells", list(writer.cells)), *others]


def of_sweep(name: str, sweep: RowSweep) -> str:
    """The symbol of the function that does these steps in one loop."""
    return f"{name}.sweep.{sweep.steps[0]}"


def interface(env: Environment, program: Program, choices: int) -> list[str]:
    """Comments that say which cell is which."""
    values = {v: p.name for p in program.params for v in [p.var]}
    values |= {r.atom: r.name for r in program.results if isinstance(r.atom, Var)}
    shown = [f"{k} {values[v]}" for v, k in env.tensors.items() if v in values]
    return [f"; env: {', '.join([*shown, *(f'{k} {n}' for n, k in env.sizes.items())])}, choices from {choices}, flag {env.flag}"]


# ---------------------------------------------------------------- functions

def function(env: Environment, step: ModuleStep, name: str, choice: int, number: int, schedule: int | None = None) -> list[str]:
    """The function of a step that is no loop, with this nest only, or with all."""
    if step.loop is not None:
        return []
    if step.calls:
        return [head(name, env), *called(env, env.flag + FLAG, number), "}", ""]
    return comprehension(env, step, name, choice, schedule) if step.schedules else scalars(env, step, name)


def shareable(step: ModuleStep) -> bool:
    """True if threads may share a step."""
    return any(n.shared is not None for n in step.schedules)


def comprehension(env: Environment, step: ModuleStep, name: str, choice: int, only: int | None) -> list[str]:
    """A step that is a comprehension: the schedules, and the function that fills and chooses."""
    (e,) = step.equations
    op = e.op
    lines, functions = list[str](), []
    for k, schedule in of_choice(step, only):
        writer = NestWriter(env, e, schedule)
        text = tuple(writer.write())
        symbol = env.written.setdefault(text, f"{name}.{k}")
        if symbol == f"{name}.{k}":
            params = "ptr %env, ptr %cells, i64 %begin, i64 %end, ptr %box"
            lines += [f"define internal void @{symbol}({params}){env.stack} {{", *text]
        functions.append((k, symbol, list(writer.cells)))
    f = NestWriter(env, e, step.schedules[0])
    some = "true"
    for low, high in [(f.number(r.low)[0], f.number(r.high)[0]) for r in op.ranges]:
        some = f.put(f"and i1 {some}, {f.put(f'icmp slt i64 {low}, {high}')}")
    for g in op.guards:
        if not indices(g):
            some = f.put(f"and i1 {some}, {f.put(f'icmp sge i64 {f.number(g)[0]}, 0')}")
    if step.block is not None:
        low, high, _ = [f.size(name) for name in step.block.names]
        some = f.put(f"and i1 {some}, {f.put(f'icmp slt i64 {low}, {high}')}")
    if not step.stays and not starts_there(env, e, op):
        fill = f.put("icmp ne i64 %filling, 0")
        if step.block is not None:
            fill = f.put(f"and i1 {fill}, {f.put(f'icmp eq i64 {f.size(step.block.names[2])}, 0')}")
        if not step.fills:
            fill = f.put(f"and i1 {fill}, {f.put(f'xor i1 {some}, true')}")
        f.open_condition(fill)
        filling(f, op)
        f.close_condition()
    if step.stays and op.reduction != "=" and op.onto is None:
        lines += of_nothing(f, step, f"{name}.nothing")
    f.open_condition(some)
    at = f.put(f"getelementptr i64, ptr %env, i64 {choice}")
    chosen = f.put(f"load i64, ptr {at}")
    for k, symbol, cells in functions:
        f.open_condition(f.put(f"icmp eq i64 {chosen}, {k}"))
        f.chunks[0] += told(f"%cells.{k}", cells)
        line = f"call void @{symbol}(ptr %env, ptr %cells.{k}, i64 %begin, i64 %end, ptr %box.{k})"
        each_box(f, step.schedules[k], env.lanes, f"%box.{k}", partial(f.say, line))
        f.close_condition()
    f.close_condition()
    f.say("ret void")
    f.chunks[0] += told("%cells", list(f.cells))
    return [*lines, head(name, env), *f.text(), "}", ""]


def of_choice(step: ModuleStep, only: int | None) -> list[tuple[int, Schedule]]:
    """The nests of a step that a text has, with their numbers: this one only, or all."""
    return [(k, n) for k, n in enumerate(step.schedules) if only in (None, k)]


def copying(env: Environment, step: ModuleStep, name: str, choice: int, schedules: Sequence[tuple[int, Schedule]]) -> list[str]:
    """The function that makes copies for the nest that is chosen, if it is one of these."""
    lines = list[str]()
    f = FunctionWriter(env.sizes)
    chosen = f.put(f"load i64, ptr {f.put(f'getelementptr i64, ptr %env, i64 {choice}')}")
    for k, schedule in schedules:
        writer = NestWriter(env, step.equations[0], schedule)
        lines += [f"define internal void @{name}.{k}(ptr %env, ptr %cells, i64 %begin, i64 %end, ptr %box){env.stack} {{",
                  *write_hoisted(writer)]
        f.open_condition(f.put(f"icmp eq i64 {chosen}, {k}"))
        f.chunks[0] += told(f"%cells.{k}", list(writer.cells))
        line = f"call void @{name}.{k}(ptr %env, ptr %cells.{k}, i64 %begin, i64 %end, ptr %box.{k})"
        each_box(f, schedule, env.lanes, f"%box.{k}", partial(f.say, line))
        f.close_condition()
    f.say("ret void")
    f.chunks[0] += told("%cells", list(f.cells))
    return [*lines, head(name, env), *f.text(), "}", ""]


def of_nothing(f: NestWriter, step: ModuleStep, name: str) -> list[str]:
    """Where a reduced range is empty, elements are what a reduction starts from, those of a tensor too that keeps all others:
    by a function of this name, whose text it is."""
    env, (e,) = f.env, step.equations
    fill = neutral(e)
    lengths = [r.high - r.low for r in e.op.ranges if r.index not in fill.op.indices and not indices(r.high - r.low)]
    empty = [f.put(f"icmp sle i64 {f.number(x)[0]}, 0") for x in lengths if x.number is None]
    if not empty:
        return []
    block = step.block if step.block is not None and step.block.index in fill.op.indices else None
    writer = NestWriter(env, fill, replace(schedules(fill, fill.op, env.lanes, True, env.bytes)[0], block=block))
    text, nothing = writer.write(), empty[0]
    for x in empty[1:]:
        nothing = f.put(f"or i1 {nothing}, {x}")
    f.open_condition(nothing)
    f.chunks[0] += told("%cells.nothing", list(writer.cells))
    f.say(f"call void @{name}(ptr %env, ptr %cells.nothing, i64 %begin, i64 %end, ptr null)")
    f.close_condition()
    return [f"define internal void @{name}(ptr %env, ptr %cells, i64 %begin, i64 %end, ptr %box){env.stack} {{", *text]


def starts_there(env: Environment, e: Equation, op: Comprehension) -> bool:
    """True if the result lies where what it starts from does."""
    start = None if op.onto is None else e.args[op.onto]
    return isinstance(start, Var) and start in env.tensors and env.tensors[start] == env.tensors[e.outs[0]]


def told(name: str, cells: Sequence[int]) -> list[str]:
    """An array with the positions of cells, on the stack."""
    lines = [f"  {name} = alloca i64, i64 {max(1, len(cells))}"]
    for k, position in enumerate(cells):
        lines += [f"  {name}.{k}.at = getelementptr i64, ptr {name}, i64 {k}", f"  store i64 {position}, ptr {name}.{k}.at"]
    return lines


def head(name: str, env: Environment) -> str:
    return f"define internal void @{name}(ptr %env, i64 %begin, i64 %end, i64 %filling){env.stack} {{"


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
    f.open_loop(None, "0", count, 1, ())
    at = f.put(f"getelementptr {f.scalar}, ptr {out}, i64 {f.frames[-1].index}")
    f.say(f"store {f.scalar} {f.scalars.constant(start)}, ptr {at}")
    f.close_loop([])


def scalars(env: Environment, step: ModuleStep, name: str) -> list[str]:
    """A step of scalar equations."""
    f, instructions = FunctionWriter(env.sizes), env.on(1)
    own = {out for e in step.equations for out in e.outs}
    text: dict[Var, str] = {}
    for e in step.equations:
        for a in e.args:
            if isinstance(a, Var) and a not in own and a not in text:
                got = f.put(f"load {'i64' if a.truth else env.scalar}, ptr {cell(f, env, a)}")
                text[a] = f.put(f"trunc i64 {got} to i1") if a.truth else got
        z = text[e.outs[0]] = f.fresh()
        operands = [instructions.constant(a.value) if isinstance(a, Lit) else text[a] for a in e.args]
        f.chunks[-1].append(instructions.template(e.op).format(*operands, z=z))
        if e.outs[0] in env.tensors:
            kept = f.put(f"zext i1 {z} to i64") if e.outs[0].truth else z
            f.say(f"store {'i64' if e.outs[0].truth else env.scalar} {kept}, ptr {cell(f, env, e.outs[0])}")
    f.say("ret void")
    return [head(name, env), *f.text(), "}", ""]


def cell(f: FunctionWriter, env: Environment, v: Var) -> str:
    """The address of a value."""
    return f.put(f"load ptr, ptr {f.put(f'getelementptr i64, ptr %env, i64 {env.tensors[v]}')}")
