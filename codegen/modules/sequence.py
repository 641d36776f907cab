"""The functions that run steps in turn: those of a program, and those of a loop at each of its steps.

    define void @NAME(ptr %env, ptr %share, i64 %first, i64 %last, ptr %unused)

What a step has for many threads is done by all of a team, where one is there: see `adcli.codegen.loops.thread_pool`. The leader
begins it with no value of its outermost index, which fills the result, and then opens all values to the team.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from adcli.codegen.llvm_ir.frames import FunctionWriter
from adcli.codegen.loops.addresses import Environment
from adcli.codegen.loops.joint_writer import JOINT, JointLoop
from adcli.codegen.loops.thread_pool import ALONE, EVERYTHING, HELPS, LEADS
from adcli.codegen.nests.recurrences import StepLoop
from adcli.codegen.nests.row_sweeps import RowBlocks
from adcli.codegen.rows.instructions import Instructions
from adcli.lang.ir import Var
from adcli.lang.ir.affine import Index, affine, substituted

JointCalls = Mapping[int, tuple[str, JointLoop, int | None]]
"""The functions of joint loops, by the numbers of their first steps, with the cell of the choice; None where sizes decide."""


@dataclass(frozen=True, slots=True)
class StepCall:
    """The function `symbol` of a step, which has `number` among all steps and those inside of loops. A team may share it; or it
    is a loop, which is told what its thread is to the team."""

    symbol: str
    number: int
    shared: bool = False
    loops: bool = False
    copies: str | None = None
    """The function that makes copies for all steps of the loop that this is a step of."""
def main(env: Environment, calls: Sequence[StepCall], rows: Sequence[tuple[StepCall, RowBlocks]], joints: JointCalls, name: str,
         linkage: str) -> list[str]:
    """The function that runs steps `first` to `last`, alone or with a team as `share` says; those that go along rows together.
    Where numbers are flushed the steps are in a function of their own."""
    for symbol, line in (("llvm.smax.i64", "i64 @llvm.smax.i64(i64, i64)"), ("llvm.smin.i64", "i64 @llvm.smin.i64(i64, i64)"),
                         ("llvm.memset.p0.i64", "void @llvm.memset.p0.i64(ptr, i8, i64, i1)"),
                         ("llvm.memcpy.p0.p0.i64", "void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")):
        env.declare(symbol, f"declare {line}")
    f, role, apart = FunctionWriter(env.sizes), str(ALONE), list[str]()
    if env.team is not None:
        f.open_condition(f.put("icmp ne ptr %share, null"), [("i64", role)])
        (role,) = f.close_condition([f.put("load i64, ptr %share")])
        others = f.put(f"icmp sge i64 {role}, {HELPS}")
        with f.where(others):
            f.say(f"call void @{env.team.name}.other(ptr %env, ptr %share, i64 {role})")
        f.open_condition(f.negated(others))
    if env.flushing:
        g = FunctionWriter(env.sizes)
        in_turn(g, env, calls, rows, joints, "%role")
        apart = g.defined(f"define internal void @{name}.flushed(ptr %env, i64 %role, i64 %first, i64 %last){env.stack}")
        env.flushed(f, f"call void @{name}.flushed(ptr %env, i64 {role}, i64 %first, i64 %last)")
    else:
        in_turn(f, env, calls, rows, joints, role)
    if env.team is not None:
        f.close_condition()
    params = "ptr %env, ptr %share, i64 %first, i64 %last, ptr %unused"
    return [*apart, *f.defined(f"define {linkage}void @{name}({params}){env.stack}")]


def in_turn(f: FunctionWriter, env: Environment, calls: Sequence[StepCall], rows: Sequence[tuple[StepCall, RowBlocks]],
            joints: JointCalls, role: str) -> None:
    """Steps `first` to `last`, by a thread that is alone or leads a team."""
    leads = f.put(f"icmp eq i64 {role}, {LEADS}")
    groups = {k: each for each in rows for k in range(each[1].first, each[1].last)}
    k = 0
    while k < len(calls):
        if (group := groups.get(k)) is None:
            k = run_each(f, env, calls, range(k, k + 1), joints, role, leads)
            continue
        begun, left = f.put(f"icmp sle i64 %first, {k}"), f.put(f"icmp slt i64 {k}, %last")
        with f.where(f.put(f"and i1 {begun}, {left}")):
            run_rows(f, env, calls, *group, joints, role, leads)
        k = group[1].last
    if f.cells:
        f.tell("%cells", list(f.cells))


def run_each(f: FunctionWriter, env: Environment, calls: Sequence[StepCall], numbers: range, joints: JointCalls, role: str,
             leads: str) -> int:
    """Steps one after another, of those from `first` to `last`; a joint loop in place of its steps, where all of them are wanted
    and it has what they have. The number of the first step that is left."""
    k = numbers.start
    while k < numbers.stop:
        symbol, joint, cell = joints.get(k, ("", None, None))
        end, apart = k + 1, "true"
        if joint is not None:
            end = joint.numbers.stop
            if cell is None:
                length = f.number(joint.length)[0]
                few = [] if joint.most is None else [f.put(f"icmp sle i64 {length}, {joint.most}")]
                few.append(f.put(f"icmp sgt i64 {length}, 0"))
            else:
                chosen = f.put(f"load i64, ptr {f.put(f'getelementptr i64, ptr %env, i64 {cell}')}")
                few = [f.put(f"icmp eq i64 {chosen}, {JOINT}")]
            together = f.every([f.put(f"icmp sle i64 %first, {k}"), f.put(f"icmp sle i64 {end}, %last"), *few])
            with f.where(together):
                f.say(f"call void @{symbol}(ptr %env, i64 0, i64 0, i64 {ALONE})")
            apart = f.negated(together)
            f.open_condition(apart)
        for n in range(k, end):
            with f.where(f.every([f.put(f"icmp sle i64 %first, {n}"), f.put(f"icmp slt i64 {n}, %last")])):
                run(f, env, calls[n], role, leads)
        if joint is not None:
            f.close_condition()
        k = end
    return k


def loop(env: Environment, loop: StepLoop, calls: Sequence[StepCall]) -> FunctionWriter:
    """The function of a recurrence: its steps in turn, at each of them the calls. One that has ended (`until`) is left where
    nobody reads behind it what later steps would copy; as many more steps are taken as fill the rings of what is read."""
    f = FunctionWriter(env.sizes)
    low, high = f.number(loop.low)[0], f.number(loop.high)[0]
    leads = f.put(f"icmp eq i64 %filling, {LEADS}")
    with f.where(f.put(f"icmp slt i64 {low}, {high}")):
        for call in [call for call in calls if call.copies is not None]:
            f.say(f"call void @{call.copies}(ptr %env, i64 -{EVERYTHING}, i64 {EVERYTHING}, i64 {ALONE})")
    carried = f.open_loop(None, low, high, 1, [("i64", high)] if loop.leaves else ())
    now, level = f.frames[-1].index, len(f.frames) - 1
    if loop.down:
        last = f.place(level, f"sub i64 {high}, 1")
        now = f.place(level, f"sub i64 {last}, {f.place(level, f'sub i64 {now}, {low}')}")
    f.say(f"store i64 {now}, ptr {f.cell(env.sizes[loop.step])}")
    for call in calls:
        run(f, env, call, str(ALONE), leads)
    if loop.leaves:
        behind = f.put(f"add i64 {f.frames[-1].index}, {1 + (loop.copies or 0)}")
        end = f.put(f"select i1 {has_ended(f, env, loop, now)}, i64 {behind}, i64 {high}")
        end = f.put(f"call i64 @llvm.smin.i64(i64 {carried[0]}, i64 {end})")
        f.close_loop([end], f.put(f"icmp sge i64 {f.put(f'add i64 {f.frames[-1].index}, 1')}, {end}"))
    else:
        f.close_loop([])
    return f


def has_ended(f: FunctionWriter, env: Environment, loop: StepLoop, now: str) -> str:
    """True if a loop has ended behind the step `now`."""
    e = next(e for e in loop.equations if e.outs[0] is loop.until)
    (at,), step = e.op.write, Index(loop.step)
    f.bound[step] = now, len(f.frames) - 1
    place = f.number(substituted(at, {loop.step: affine(step)}))[0]
    found = f.put(f"getelementptr {env.scalar}, ptr {tensor_at(f, env, e.outs[0])}, i64 {place}")
    return f.put(f"fcmp ogt {env.scalar} {f.put(f'load {env.scalar}, ptr {found}')}, 0.5")


def run_rows(f: FunctionWriter, env: Environment, calls: Sequence[StepCall], together: StepCall, group: RowBlocks,
             joints: JointCalls, role: str, leads: str) -> None:
    """Steps that go along rows, all of them by parts of the rows where these are many; then the sums of parts are added up."""
    parts = in_cell(f, env, group.name("parts"))
    many = f.put(f"icmp sgt i64 {parts}, 0")
    with f.where(many):
        run(f, env, together, role, leads)
        for k, (result, apart) in group.sums.items():
            size = in_cell(f, env, group.bytes_of_sum(k))
            at, first = (tensor_at(f, env, v) for v in (result, apart))
            with f.each("1", parts) as part:
                before = f.put(f"mul i64 {f.put(f'sub i64 {part}, 1')}, {size}")
                other = f.put(f"getelementptr i8, ptr {first}, i64 {before}")
                for on, offset in each_register(f, env, size):
                    here, there = (f.put(f"getelementptr i8, ptr {x}, i64 {offset}") for x in (at, other))
                    x, y = (f.put(f"load {on.real}, ptr {z}, align {on.size}") for z in (here, there))
                    f.say(f"store {on.real} {f.put(f'fadd {on.real} {x}, {y}')}, ptr {here}, align {on.size}")
    with f.where(f.negated(many)):
        run_each(f, env, calls, range(group.first, group.last), joints, role, leads)


def in_blocks_of_rows(env: Environment, group: RowBlocks, calls: Sequence[StepCall], swept: Mapping[tuple[int, ...], str],
                      cells: int) -> FunctionWriter:
    """The function of steps that go along rows: parts `begin` to `end` of the rows. A thread has an `env` of
    its own for it, with its rows and, but for the first part, other places for sums, which start from nothing there. Steps that
    are `swept` together are done by a function of that name, in the place of the first; their sums start from 0 in all
    places."""
    others = {k: steps for steps in swept for k in steps}
    f, copy = FunctionWriter(env.sizes), "%copy"
    f.chunks[0].append(f"  {copy} = alloca i64, i64 {cells}")
    f.say(f"call void @llvm.memcpy.p0.p0.i64(ptr {copy}, ptr %env, i64 {8 * cells}, i1 false)")
    rows, blocks, parts = (in_cell(f, env, group.name(of)) for of in ("rows", "blocks", "parts"))
    low = f.put("call i64 @llvm.smax.i64(i64 %begin, i64 0)")
    with f.each(low, f.put(f"call i64 @llvm.smin.i64(i64 %end, i64 {parts})")) as part:
        more = f.put(f"icmp sgt i64 {part}, 0")
        for k, (result, apart) in group.sums.items():
            size = in_cell(f, env, group.bytes_of_sum(k))
            before = f.put(f"mul i64 {f.put(f'sub i64 {part}, 1')}, {size}")
            other = f.put(f"getelementptr i8, ptr {tensor_at(f, env, apart)}, i64 {before}")
            chosen = f.put(f"select i1 {more}, ptr {other}, ptr {tensor_at(f, env, result)}")
            own, zero = (size, 0.0) if k in others else (f.put(f"select i1 {more}, i64 {size}, i64 0"), -0.0)
            for on, offset in each_register(f, env, own):
                there = f.put(f"getelementptr i8, ptr {chosen}, i64 {offset}")
                f.say(f"store {on.real} {on.constant(zero)}, ptr {there}, align {on.size}")
            f.say(f"store ptr {chosen}, ptr {f.put(f'getelementptr i64, ptr {copy}, i64 {env.tensors[result]}')}")
        first, last = (f.put(f"sdiv i64 {f.put(f'mul i64 {x}, {blocks}')}, {parts}")
                       for x in (part, f.put(f"add i64 {part}, 1")))
        with f.each(first, last) as block:
            row = f.put(f"mul i64 {block}, {rows}")
            for name, x in zip(group.names, (row, f.put(f"add i64 {row}, {rows}"), block), strict=False):   # 0 for the first
                f.say(f"store i64 {x}, ptr {f.put(f'getelementptr i64, ptr {copy}, i64 {env.sizes[name]}')}")
            for k in [k for k in range(group.first, group.last) if k not in others or k == others[k][0]]:
                symbol = swept[others[k]] if k in others else calls[k].symbol
                f.say(f"call void @{symbol}(ptr {copy}, i64 -{EVERYTHING}, i64 {EVERYTHING}, i64 {ALONE})")
    return f


def each_register(f: FunctionWriter, env: Environment, size: str) -> Iterator[tuple[Instructions, str]]:
    """Loops along numbers of so many bytes: registers, and what is left one by one. What is on each, and where it is."""
    whole = f.put(f"and i64 {size}, -{env.lanes * env.bytes}")
    for first, last, lanes in (("0", whole, env.lanes), (whole, size, 1)):
        with f.each(first, last, lanes * env.bytes) as offset:
            yield env.on(lanes), offset


def in_cell(f: FunctionWriter, env: Environment, name: str) -> str:
    """The number in the cell of this name."""
    return f.put(f"load i64, ptr {place_of(f, env, name)}")


def place_of(f: FunctionWriter, env: Environment, name: str) -> str:
    """The address of the cell of this name."""
    return f.put(f"getelementptr i64, ptr %env, i64 {env.sizes[name]}")


def tensor_at(f: FunctionWriter, env: Environment, v: Var) -> str:
    """The address of a tensor."""
    return f.put(f"load ptr, ptr {f.put(f'getelementptr i64, ptr %env, i64 {env.tensors[v]}')}")


def run(f: FunctionWriter, env: Environment, call: StepCall, role: str, leads: str) -> None:
    """One step, by the team where this thread leads one and values of the step are for it."""
    if call.loops or not call.shared or env.team is None:
        f.say(f"call void @{call.symbol}(ptr %env, i64 -{EVERYTHING}, i64 {EVERYTHING}, i64 {role if call.loops else ALONE})")
    else:
        f.say(f"call void @{env.team.name}.run(ptr %env, i1 {leads}, i64 {call.number}, ptr @{call.symbol})")
