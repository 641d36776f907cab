"""The functions that run steps in turn: those of a program, and those of a loop at each of its steps.

    define void @NAME(ptr %env, ptr %share, i64 %first, i64 %last, ptr %unused)

What a step has for many threads is done by all of a team, where one is there: see `adcli.codegen.nests.teams`. The leader begins
it with no value of its outermost index, which fills the result, and then opens all values to the team.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adcli.codegen.nests.addresses import Environment
from adcli.codegen.nests.frames import FunctionWriter
from adcli.codegen.nests.recurrences import StepLoop
from adcli.codegen.nests.teams import ALONE, ENDED, HELPS, LEADS, TEAM

EVERYTHING = 1 << 62
"""More than any index."""


@dataclass(frozen=True, slots=True)
class StepCall:
    """The function `symbol` of a step, which has `number` among all steps and those inside of loops. A team may share it; or it
    is a loop, which is told what its thread is to the team."""

    symbol: str
    number: int
    shared: bool = False
    loops: bool = False


def main(env: Environment, calls: Sequence[StepCall], name: str, linkage: str) -> list[str]:
    """The function that runs steps `first` to `last`, alone or with a team as `share` says."""
    for symbol, line in (("llvm.smax.i64", "i64 @llvm.smax.i64(i64, i64)"), ("llvm.smin.i64", "i64 @llvm.smin.i64(i64, i64)"),
                         ("llvm.memset.p0.i64", "void @llvm.memset.p0.i64(ptr, i8, i64, i1)"),
                         ("llvm.memcpy.p0.p0.i64", "void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")):
        env.declare(symbol, f"declare {line}")
    f, role = FunctionWriter(env.sizes), str(ALONE)
    if env.team is not None:
        f.open_condition(f.put("icmp ne ptr %share, null"), [("i64", role)])
        (role,) = f.close_condition([f.put("load i64, ptr %share")])
        helps = f.put(f"icmp eq i64 {role}, {HELPS}")
        f.open_condition(helps)
        first = f.put(f"load i64, ptr {f.put('getelementptr i64, ptr %share, i64 1')}")
        f.say(f"call void @{env.team.name}.help(ptr %env, i64 {first})")
        f.close_condition()
        f.open_condition(f.put(f"xor i1 {helps}, true"))
    leads = f.put(f"icmp eq i64 {role}, {LEADS}")
    for k, call in enumerate(calls):
        begun, left = f.put(f"icmp sle i64 %first, {k}"), f.put(f"icmp slt i64 {k}, %last")
        f.open_condition(f.put(f"and i1 {begun}, {left}"))
        run(f, env, call, role, leads)
        f.close_condition()
    if env.team is not None:
        f.say(f"store atomic i64 1, ptr {f.put(f'getelementptr i64, ptr %env, i64 {env.team.cells + ENDED}')} release, align 8")
        f.close_condition()
    f.say("ret void")
    params = "ptr %env, ptr %share, i64 %first, i64 %last, ptr %unused"
    return [f"define {linkage}void @{name}({params}){env.stack} {{", *f.text(), "}"]


def loop(env: Environment, loop: StepLoop, calls: Sequence[StepCall]) -> FunctionWriter:
    """The function of a recurrence, without its head: its steps in turn, at each of them the calls."""
    f = FunctionWriter(env.sizes)
    low, high = f.number(loop.low)[0], f.number(loop.high)[0]
    leads = f.put(f"icmp eq i64 %filling, {LEADS}")
    f.open_loop(None, low, high, 1, ())
    now = f.frames[-1].index
    if loop.down:
        last = f.put(f"sub i64 {high}, 1")
        now = f.put(f"sub i64 {last}, {f.put(f'sub i64 {now}, {low}')}")
    f.say(f"store i64 {now}, ptr {f.cell(env.sizes[loop.step])}")
    for call in calls:
        run(f, env, call, str(ALONE), leads)
    f.close_loop([])
    f.say("ret void")
    return f


def run(f: FunctionWriter, env: Environment, call: StepCall, role: str, leads: str) -> None:
    """One step, by the team where this thread leads one and values of the step are for it."""
    if call.loops or not call.shared or env.team is None:
        f.say(f"call void @{call.symbol}(ptr %env, i64 -{EVERYTHING}, i64 {EVERYTHING}, i64 {role if call.loops else ALONE})")
        return
    cells = env.team.cells + TEAM + 2 * call.number
    begin, end = (f.put(f"load i64, ptr {f.put(f'getelementptr i64, ptr %env, i64 {cells + k}')}") for k in (0, 1))
    shared = f.put(f"and i1 {leads}, {f.put(f'icmp slt i64 {begin}, {end}')}")
    f.open_condition(shared)
    f.say(f"call void @{call.symbol}(ptr %env, i64 {EVERYTHING}, i64 -{EVERYTHING}, i64 {ALONE})")
    f.say(f"call void @{env.team.name}.lead(ptr %env, i64 {call.number}, i64 {begin}, i64 {end})")
    f.close_condition()
    f.open_condition(f.put(f"xor i1 {shared}, true"))
    f.say(f"call void @{call.symbol}(ptr %env, i64 -{EVERYTHING}, i64 {EVERYTHING}, i64 {ALONE})")
    f.close_condition()
