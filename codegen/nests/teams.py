"""A program that several threads share: one of them leads, the others help with what a step has for many.

    define internal void @NAME.lead(ptr %env, i64 %which, i64 %low, i64 %high)
    define internal void @NAME.help(ptr %env)

The leader runs the steps, those of loops too. What is worth it at one, number `which`, is opened to all by its values `low` to
`high` of the outermost index, in parts, of which whoever is free takes the next one; the leader goes on when all are done. So
nobody waits for a thread that has not come, and a step's results do not depend on who computed what. What passes between threads
are counters that only grow, in cells of `env`: parts taken, parts open, parts done; the leader raises a flag at the end.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

TAKEN, OPEN, DONE, ENDED, PARTS, WHICH, FIRST, LOW, SIZE = range(9)
"""Cells of a team: the counters, the flag, the number of parts, and what the parts that are open now belong to."""
TEAM = 9
YIELD = "sched_yield"
"""The system's function that lets others run, which a thread calls while it waits."""
ALONE, LEADS, HELPS = 1, 2, 3
"""What a thread is: it has no team, or leads one, or helps."""
WHOLE_TILES = 32
"""Long parts have a multiple of so many values of the index."""


@dataclass(frozen=True, slots=True)
class Team:
    """The team of the module `name`, whose `cells` begin here in `env`; behind its own stand two for each step, the first value
    of the outermost index and the one after the last that are for the team."""

    name: str
    cells: int


def functions(team: Team, each: Mapping[int, str], lanes: str) -> list[str]:
    """The functions of the team, for steps by their numbers, of which these are the functions."""
    name = team.name

    def cell(text: str, k: int) -> str:
        return f"  {text} = getelementptr i64, ptr %env, i64 {team.cells + k}"

    def kept(k: int, value: str) -> list[str]:
        return [cell(f"%cell.{k}", k), f"  store i64 {value}, ptr %cell.{k}"]

    def loaded(k: int) -> list[str]:
        return [cell(f"%cell.{k}", k), f"  %now.{k} = load i64, ptr %cell.{k}"]
    cases = " ".join(f"i64 {j}, label %run.{j}" for j in each)
    take = [f"define internal void @{name}.take(ptr %env){lanes} {{", "entry:",
            cell("%taken.at", TAKEN), cell("%open.at", OPEN), cell("%done.at", DONE), "  br label %try",
            "try:",
            "  %taken = load atomic i64, ptr %taken.at acquire, align 8",
            "  %open = load atomic i64, ptr %open.at acquire, align 8",
            "  %some = icmp slt i64 %taken, %open",
            "  br i1 %some, label %ask, label %none",
            "ask:",
            "  %next = add i64 %taken, 1",
            "  %answer = cmpxchg ptr %taken.at, i64 %taken, i64 %next acq_rel acquire",
            "  %mine = extractvalue { i64, i1 } %answer, 1",
            "  br i1 %mine, label %part, label %try",
            "part:",
            *loaded(WHICH), *loaded(FIRST), *loaded(LOW), *loaded(SIZE),
            f"  %place = sub i64 %taken, %now.{FIRST}",
            f"  %offset = mul i64 %place, %now.{SIZE}",
            f"  %begin = add i64 %now.{LOW}, %offset",
            f"  %end = add i64 %begin, %now.{SIZE}",
            f"  switch i64 %now.{WHICH}, label %done [ {cases} ]"]
    for j, symbol in each.items():
        take += [f"run.{j}:", f"  call void @{symbol}(ptr %env, i64 %begin, i64 %end, i64 0)", "  br label %done"]
    take += ["done:", "  %before = atomicrmw add ptr %done.at, i64 1 acq_rel", "  br label %try", "none:", "  ret void", "}", ""]
    lead = [f"define internal void @{name}.lead(ptr %env, i64 %which, i64 %low, i64 %high){lanes} {{", "entry:",
            *loaded(PARTS), cell("%open.at", OPEN), cell("%done.at", DONE),
            "  %open = load i64, ptr %open.at",
            "  %length = sub i64 %high, %low",
            f"  %more = sub i64 %now.{PARTS}, 1",
            "  %sum = add i64 %length, %more",
            f"  %even = sdiv i64 %sum, %now.{PARTS}",
            f"  %up = add i64 %even, {WHOLE_TILES - 1}",
            f"  %tiles = sdiv i64 %up, {WHOLE_TILES}",
            f"  %rounded = mul i64 %tiles, {WHOLE_TILES}",
            f"  %long = icmp sgt i64 %even, {WHOLE_TILES}",
            "  %size = select i1 %long, i64 %rounded, i64 %even",
            *kept(WHICH, "%which"), *kept(FIRST, "%open"), *kept(LOW, "%low"), *kept(SIZE, "%size"),
            f"  %all = add i64 %open, %now.{PARTS}",
            "  store atomic i64 %all, ptr %open.at release, align 8",
            f"  call void @{name}.take(ptr %env)",
            "  br label %wait",
            "wait:",
            "  %done = load atomic i64, ptr %done.at acquire, align 8",
            "  %over = icmp eq i64 %done, %all",
            "  br i1 %over, label %end, label %pause",
            "pause:", f"  %yielded = call i32 @{YIELD}()", "  br label %wait",
            "end:", "  ret void", "}", ""]
    help_ = [f"define internal void @{name}.help(ptr %env){lanes} {{", "entry:", cell("%ended.at", ENDED), "  br label %again",
             "again:",
             f"  call void @{name}.take(ptr %env)",
             "  %ended = load atomic i64, ptr %ended.at acquire, align 8",
             "  %over = icmp ne i64 %ended, 0",
             "  br i1 %over, label %end, label %pause",
             "pause:", f"  %yielded = call i32 @{YIELD}()", "  br label %again",
             "end:", "  ret void", "}", ""]
    return [*take, *lead, *help_]
