"""A program that several threads share: one of them leads, the others help with what a step has for many.

    define internal void @NAME.lead(ptr %env, i64 %which, i64 %low, i64 %high, i64 %whole)
    define internal void @NAME.help(ptr %env, i64 %first)
    define internal void @NAME.wait(ptr %env, i64 %helpers)
    define internal void @NAME.linger(ptr %mailbox)
    define internal i64 @NAME.post(ptr %mailbox)
    define internal void @NAME.other(ptr %env, ptr %share, i64 %role)
    define internal void @NAME.run(ptr %env, i1 %leads, i64 %number, ptr %step)

The leader runs the steps, those of loops too. What is worth it at one, number `which`, is opened to all by its values `low` to
`high` of the outermost index, in parts, which begin with a multiple of `whole` values where there are that many. The leader goes
on when all are done. Each thread takes the parts from its own `first` on, which are the same values at every step, so what it
needs is in its own cache; then it takes what is left of the others'. So nobody waits for a thread that has not come, and a step's
results do not depend on who computed what. What passes between threads are numbers that only grow: in cells of `env` the number
of what is open and how many parts are done, and for each part the number of that of which somebody took it last. Who has called
the leader, for one stretch of steps after the other, raises a flag at the end, so that nobody has to be woken again for the next
stretch, and waits until as many helpers as have come are gone. That is waited for here, where it takes no time to be seen.

A thread that has helped lingers before it returns, with its mailbox open: cells of its own (`adcli.codegen.machine.workers`),
where it finds who leads the next run, which may be one of other code. To wake a thread that sleeps takes as long as many runs,
and one that returns asks for the interpreter's lock when the leader does. Whoever leads writes into the mailbox and posts it;
either that comes before the thread is gone or the thread has left. `other` is the work of a thread that neither leads nor is
alone; one that lingers may run other code, which says itself whether numbers are flushed. `run` does a step, by the team where
this thread leads one and values of the step are for it.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from adcli.codegen.machine.workers import AS, CLOSED_MAILBOX, ENV, OPEN_MAILBOX, POSTED, RUN

OPEN, DONE, ENDED, GONE, PARTS, TAKEN, WHICH, LOW, UNIT, UNITS = range(10)
"""Cells of a team: the counters, the flag, how many helpers are gone, the number of parts, where it is said of each which was
taken last, and what the parts that are open now belong to: so many units of so many values."""
TEAM = 10
TAKEN_APART = 64
"""Bytes from what is said of one part to the next: a cache line."""
YIELD = "sched_yield"
"""The system's function that lets others run, which a thread calls while it waits."""
ALONE, LEADS, HELPS, WAITS, POSTS = 1, 2, 3, 4, 5
"""Roles of a thread: alone, leader of a team, helper, waiting for helpers, posting to a thread that lingers."""
ROLE, NUMBER, MAILBOX = range(3)
"""Cells of a role: what the thread is; the first part it takes, or for how many it waits, or whether it has asked; and its own
mailbox, where it lingers with it, or that which it posts."""
LINGERING = 8192
"""How often a thread that lingers lets others run before it returns: a millisecond or so where nobody wants the processor."""
THREAD_PARTS = 4
"""Parts of a step for each thread."""
FROM, TO, WHOLE = range(3)
"""Cells of what is shared: the first value of the outermost index, the one after the last, and how many a tile has."""
SHARED = 3
EVERYTHING = 1 << 62
"""More than any index."""


@dataclass(frozen=True, slots=True)
class ThreadPool:
    """The team of the module `name`, whose `cells` begin here in `env`; behind its own stand those of all that it may share, by
    its number."""

    name: str
    cells: int

    def of(self, number: int) -> int:
        """The first cell of what has this number."""
        return self.cells + TEAM + SHARED * number


def functions(team: ThreadPool, each: Mapping[int, str], lanes: str, helped: str) -> list[str]:
    """The functions of the team, for steps by their numbers, of which these are the functions; a thread has `helped` by these
    lines."""
    cases = " ".join(f"i64 {j}, label %run.{j}" for j in each)
    runs = [f"run.{j}:\n  call void @{symbol}(ptr %env, i64 %begin, i64 %end, i64 0)\n  br label %done"
            for j, symbol in each.items()]
    cells = {name: team.cells + k for k, name in enumerate(CELLS)}
    return [TEXT.format(name=team.name, lanes=lanes, cases=cases, runs="\n".join(runs), helped=helped,
                        first=team.of(0), **cells, **CONSTANTS)]


CELLS = ("open", "done", "ended", "gone", "parts", "taken", "which", "low", "unit", "units")
"""Names in the text of the cells OPEN to UNITS."""
CONSTANTS = {"yields": YIELD, "apart": TAKEN_APART, "each": THREAD_PARTS, "lingering": LINGERING, "opened": OPEN_MAILBOX,
             "closed": CLOSED_MAILBOX, "posted": POSTED, "run": RUN, "env": ENV, "role": AS,
             "number": NUMBER, "mailbox": MAILBOX, "helps": HELPS, "waits": WAITS, "posts": POSTS, "shared": SHARED, "from": FROM,
             "to": TO, "whole": WHOLE, "everything": EVERYTHING, "alone": ALONE}
TEXT = """\
define internal void @{name}.take(ptr %env, i64 %first){lanes} {{
entry:
  %open.at = getelementptr i64, ptr %env, i64 {open}
  %done.at = getelementptr i64, ptr %env, i64 {done}
  %open = load atomic i64, ptr %open.at acquire, align 8
  %closed = sub i64 %open, 1
  %parts.at = getelementptr i64, ptr %env, i64 {parts}
  %parts.now = load i64, ptr %parts.at
  %taken.at = getelementptr i64, ptr %env, i64 {taken}
  %taken.now = load i64, ptr %taken.at
  %taken = inttoptr i64 %taken.now to ptr
  br label %try
try:
  %k = phi i64 [ 0, %entry ], [ %more, %next ]
  %some = icmp slt i64 %k, %parts.now
  br i1 %some, label %look, label %none
look:
  %beyond = add i64 %first, %k
  %part = urem i64 %beyond, %parts.now
  %offset = mul i64 %part, {apart}
  %at = getelementptr i8, ptr %taken, i64 %offset
  %last = load atomic i64, ptr %at monotonic, align 8
  %free = icmp eq i64 %last, %closed
  br i1 %free, label %ask, label %next
ask:
  %answer = cmpxchg ptr %at, i64 %closed, i64 %open acq_rel monotonic
  %mine = extractvalue {{ i64, i1 }} %answer, 1
  br i1 %mine, label %part.taken, label %next
part.taken:
  %which.at = getelementptr i64, ptr %env, i64 {which}
  %which.now = load i64, ptr %which.at
  %low.at = getelementptr i64, ptr %env, i64 {low}
  %low.now = load i64, ptr %low.at
  %unit.at = getelementptr i64, ptr %env, i64 {unit}
  %unit.now = load i64, ptr %unit.at
  %units.at = getelementptr i64, ptr %env, i64 {units}
  %units.now = load i64, ptr %units.at
  %begin.share = mul i64 %part, %units.now
  %begin.unit = udiv i64 %begin.share, %parts.now
  %begin.offset = mul i64 %begin.unit, %unit.now
  %begin = add i64 %low.now, %begin.offset
  %following = add i64 %part, 1
  %end.share = mul i64 %following, %units.now
  %end.unit = udiv i64 %end.share, %parts.now
  %end.offset = mul i64 %end.unit, %unit.now
  %end = add i64 %low.now, %end.offset
  switch i64 %which.now, label %done [ {cases} ]
{runs}
done:
  %before = atomicrmw add ptr %done.at, i64 1 acq_rel
  br label %next
next:
  %more = add i64 %k, 1
  br label %try
none:
  ret void
}}

define internal void @{name}.lead(ptr %env, i64 %which, i64 %low, i64 %high, i64 %whole){lanes} {{
entry:
  %parts.at = getelementptr i64, ptr %env, i64 {parts}
  %parts.now = load i64, ptr %parts.at
  %open.at = getelementptr i64, ptr %env, i64 {open}
  %done.at = getelementptr i64, ptr %env, i64 {done}
  %length = sub i64 %high, %low
  %threads = sdiv i64 %parts.now, {each}
  %before = sub i64 %whole, 1
  %up = add i64 %length, %before
  %tiles = sdiv i64 %up, %whole
  %enough = icmp sge i64 %tiles, %threads
  %unit = select i1 %enough, i64 %whole, i64 1
  %rest = sub i64 %unit, 1
  %sum = add i64 %length, %rest
  %units = sdiv i64 %sum, %unit
  %which.at = getelementptr i64, ptr %env, i64 {which}
  store i64 %which, ptr %which.at
  %low.at = getelementptr i64, ptr %env, i64 {low}
  store i64 %low, ptr %low.at
  %unit.at = getelementptr i64, ptr %env, i64 {unit}
  store i64 %unit, ptr %unit.at
  %units.at = getelementptr i64, ptr %env, i64 {units}
  store i64 %units, ptr %units.at
  %closed = load i64, ptr %open.at
  %open = add i64 %closed, 1
  %all = mul i64 %open, %parts.now
  store atomic i64 %open, ptr %open.at release, align 8
  call void @{name}.take(ptr %env, i64 0)
  br label %wait
wait:
  %done = load atomic i64, ptr %done.at acquire, align 8
  %over = icmp eq i64 %done, %all
  br i1 %over, label %end, label %pause
pause:
  %yielded = call i32 @{yields}()
  br label %wait
end:
  ret void
}}

define internal void @{name}.help(ptr %env, i64 %first){lanes} {{
entry:
  %ended.at = getelementptr i64, ptr %env, i64 {ended}
  br label %again
again:
  call void @{name}.take(ptr %env, i64 %first)
  %ended = load atomic i64, ptr %ended.at acquire, align 8
  %over = icmp ne i64 %ended, 0
  br i1 %over, label %end, label %pause
pause:
  %yielded = call i32 @{yields}()
  br label %again
end:
  %gone.at = getelementptr i64, ptr %env, i64 {gone}
  %gone = atomicrmw add ptr %gone.at, i64 1 acq_rel
  ret void
}}

define internal void @{name}.wait(ptr %env, i64 %helpers){lanes} {{
entry:
  %gone.at = getelementptr i64, ptr %env, i64 {gone}
  br label %again
again:
  %gone = load atomic i64, ptr %gone.at acquire, align 8
  %over = icmp sge i64 %gone, %helpers
  br i1 %over, label %end, label %pause
pause:
  %yielded = call i32 @{yields}()
  br label %again
end:
  ret void
}}

define internal void @{name}.linger(ptr %mailbox){lanes} {{
entry:
  br label %open
open:
  store atomic i64 {opened}, ptr %mailbox release, align 8
  br label %look
look:
  %times = phi i64 [ 0, %open ], [ %more, %pause ]
  %now = load atomic i64, ptr %mailbox acquire, align 8
  %posted = icmp eq i64 %now, {posted}
  br i1 %posted, label %help, label %pause
pause:
  %yielded = call i32 @{yields}()
  %more = add i64 %times, 1
  %stay = icmp slt i64 %more, {lingering}
  br i1 %stay, label %look, label %leave
leave:
  %answer = cmpxchg ptr %mailbox, i64 {opened}, i64 {closed} acq_rel acquire
  %gone = extractvalue {{ i64, i1 }} %answer, 1
  br i1 %gone, label %return, label %help
help:
  %run.at = getelementptr i64, ptr %mailbox, i64 {run}
  %run = load ptr, ptr %run.at
  %env.at = getelementptr i64, ptr %mailbox, i64 {env}
  %env = load ptr, ptr %env.at
  %role.at = getelementptr i64, ptr %mailbox, i64 {role}
  %role = load ptr, ptr %role.at
  call void %run(ptr %env, ptr %role, i64 0, i64 0, ptr null)
  br label %open
return:
  ret void
}}

define internal i64 @{name}.post(ptr %mailbox){lanes} {{
entry:
  %answer = cmpxchg ptr %mailbox, i64 {opened}, i64 {posted} acq_rel monotonic
  %mine = extractvalue {{ i64, i1 }} %answer, 1
  %found = zext i1 %mine to i64
  ret i64 %found
}}

define internal void @{name}.other(ptr %env, ptr %share, i64 %role){lanes} {{
entry:
  %number.at = getelementptr i64, ptr %share, i64 {number}
  %number = load i64, ptr %number.at
  %mailbox.at = getelementptr i64, ptr %share, i64 {mailbox}
  %mailbox = load ptr, ptr %mailbox.at
  switch i64 %role, label %end [ i64 {helps}, label %help i64 {waits}, label %wait i64 {posts}, label %post ]
help:
{helped}
  %lingers = icmp ne ptr %mailbox, null
  br i1 %lingers, label %linger, label %end
linger:
  call void @{name}.linger(ptr %mailbox)
  br label %end
wait:
  call void @{name}.wait(ptr %env, i64 %number)
  br label %end
post:
  %asked = call i64 @{name}.post(ptr %mailbox)
  store i64 %asked, ptr %number.at
  br label %end
end:
  ret void
}}

define internal void @{name}.run(ptr %env, i1 %leads, i64 %number, ptr %step){lanes} {{
entry:
  %cells = mul i64 %number, {shared}
  %first = add i64 %cells, {first}
  %first.at = getelementptr i64, ptr %env, i64 %first
  %from.at = getelementptr i64, ptr %first.at, i64 {from}
  %from = load i64, ptr %from.at
  %to.at = getelementptr i64, ptr %first.at, i64 {to}
  %to = load i64, ptr %to.at
  %some = icmp slt i64 %from, %to
  %together = and i1 %leads, %some
  br i1 %together, label %lead, label %all
lead:
  %whole.at = getelementptr i64, ptr %first.at, i64 {whole}
  %whole = load i64, ptr %whole.at
  call void %step(ptr %env, i64 {everything}, i64 -{everything}, i64 {alone})
  call void @{name}.lead(ptr %env, i64 %number, i64 %from, i64 %to, i64 %whole)
  ret void
all:
  call void %step(ptr %env, i64 -{everything}, i64 {everything}, i64 {alone})
  ret void
}}
"""
