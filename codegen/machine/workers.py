"""Threads that wait for work, and share a list of parts with the thread that has them.

Starting a thread takes as long as it takes the system to run it, which on a busy machine is many times the work it is for. These
threads are there already, and whoever is free takes the next part: one that is never run takes none, and nobody waits for it.

To wake one takes long, too. Compiled code that has helped to run may linger a while with the mailbox of its thread open before it
returns; whoever leads the next run gives the mailbox what to do. A mailbox is cells that such code reads and changes in one step:
whether it is closed, open, or what is in it has been posted, and then a function of compiled code and what it is called with.
"""
from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
from array import array
from collections.abc import Callable, Iterable, Sequence
from operator import length_hint
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from adcli.codegen.machine.interrupts import LOOK_AGAIN, despite_interrupts
from adcli.codegen.machine.kernel import Kernel, Pointers, processors, started

Result = TypeVar("Result")
NONE = object()
"""In place of a part where there is none left."""
STATE, RUN, ENV, AS = range(4)
"""Cells of a mailbox: its state, the function, and what it is called with: `env`, and as what."""
CLOSED_MAILBOX, OPEN_MAILBOX, POSTED = range(3)
"""States of a mailbox."""
HAND_CELLS = 16
"""Cells of a mailbox with those around it: two cache lines."""
SETTLED_WITHIN, LOOK = 1.0, 1e-4
"""Seconds to wait at the end of the process for threads that linger, and between looks."""


class Mailbox:
    """Cells that compiled code reads, at an `address`. `held` is what must live as long as a function that was posted is run."""

    def __init__(self) -> None:
        self.cells = array("q", bytes(8 * HAND_CELLS))
        self.address = self.cells.buffer_info()[0]
        self.held: object = None

    def give(self, run: int, env: int, role: int, held: object) -> None:
        """Say what is to be posted."""
        self.cells[RUN], self.cells[ENV], self.cells[AS] = run, env, role
        self.held = held


class _Work:
    """Parts under way. `given` counts those that helpers have begun, `busy` those that they are at; `fault` is what one of them
    met. `function` holds all memory that parts work on, and so does a helper as long as it is at one."""

    def __init__(self, function: Callable[[Any], None], parts: Iterable[Any]) -> None:
        self.function, self.left, self.given, self.busy = function, iter(parts), 0, 0
        self.lock, self.changed = threading.Lock(), SimpleQueue[None]()
        self.fault: BaseException | None = None

    def next(self, helps: bool) -> Any:
        """The next part; NONE where there is none left, or one could not be done."""
        with self.lock:
            part = NONE if self.fault else next(self.left, NONE)
            if helps and part is not NONE:
                self.given += 1
                self.busy += 1
            return part

    def lead(self) -> None:
        """Do parts until there are none."""
        while (part := self.next(False)) is not NONE:
            self.function(part)

    def help(self) -> None:
        """Do parts in another thread than the one that waits for all."""
        try:
            while (part := self.next(True)) is not NONE:
                try:
                    self.function(part)
                except BaseException as fault:
                    self.fault = fault
                finally:
                    with self.lock:
                        self.busy -= 1
                    self.changed.put(None)
        except BaseException as fault:   # parts may be made one by one
            self.fault = fault

    def close(self) -> int:
        """Begin no more parts; how many helpers have begun."""
        with self.lock:
            self.left = iter(())
            return self.given

    def end(self) -> None:
        """Begin no more parts, and wait for those that others are at."""
        self.close()
        while self.busy:
            with contextlib.suppress(Empty):
                self.changed.get(timeout=LOOK_AGAIN)
        self.function = nothing   # threads that have not come yet would hold its memory


def nothing(part: Any) -> None:
    """In place of a function that is not called any more."""


class Workers:
    """Threads, as many as were ever asked for at once and the system has.

    An exception out of a signal's handler can be raised between any two steps of the thread that shares its work, also while
    it waits for others or cleans up. It leaves when the others have ended; and even if several such exceptions cut that short,
    others hold what they work on.
    """

    def __init__(self) -> None:
        self.offers: SimpleQueue[_Work] = SimpleQueue()
        self.count, self.lock = 0, threading.Lock()
        self.mailboxes: list[Mailbox] = []
        self.own = threading.local()

    def share(self, function: Callable[[Any], None], parts: Iterable[Any], jobs: int) -> None:
        """function(part) for all parts, in at most `jobs` threads of which this is one. Each takes its next part when it has
        done one: where taking makes it, one thread makes while others work. What stood in the way of any part is raised here,
        when none is under way."""
        work = _Work(function, parts)
        try:
            try:
                self.offer(work, min(jobs, length_hint(parts, jobs)) - 1)
                work.lead()
            finally:
                despite_interrupts(work.end)
        finally:
            despite_interrupts(work.end)   # where an exception was raised before the other began
        if work.fault is not None:
            raise work.fault

    def lead(self, leader: Callable[[], Result], helper: Callable[[Any, Mailbox], None], parts: Sequence[Any],
             post: Callable[[Any, Mailbox], bool], wait: Callable[[int], None]) -> Result:
        """The result of leader(), which runs here; meanwhile helpers do those parts that other threads begin before it has
        ended: `post(part, mailbox)` gives one to a thread that lingers, if it still does, and helper(part, mailbox) does one in
        a thread whose mailbox that is. `wait(n)` says when n of these have ended, sooner than a thread that sleeps can be woken;
        what stood in their way is not raised."""
        own = self.own
        work, posted = _Work(lambda part: helper(part, own.mailbox), ()), list[Any]()

        ended = False

        def end() -> None:
            nonlocal ended
            wait(work.close() + len(posted))
            ended = True
        try:
            try:
                if not self.lock.locked():   # else another call is at it, maybe one that a signal's handler has interrupted
                    with self.lock:
                        for mailbox in self.mailboxes:
                            lingers = mailbox.cells[STATE] == OPEN_MAILBOX
                            if lingers and len(posted) < len(parts) and post(parts[len(posted)], mailbox):
                                posted.append(mailbox)
                rest = parts[len(posted):]
                work.left = iter(rest)
                if rest:
                    self.offer(work, len(rest))
                return leader()
            finally:
                despite_interrupts(end)
        finally:
            if not ended:   # as above
                despite_interrupts(end)

    def offer(self, work: _Work, helpers: int) -> None:
        """Tell so many threads of work."""
        if self.count < helpers and not self.lock.locked():
            with self.lock:
                while self.count < helpers and started(threading.Thread(target=self.run, daemon=True)):
                    self.count += 1
        for _ in range(min(helpers, self.count)):
            self.offers.put(work)

    def run(self) -> None:
        mailbox = self.own.mailbox = Mailbox()
        self.mailboxes.append(mailbox)
        while True:
            self.offers.get().help()
            mailbox.held = None

    def settle(self) -> None:
        """Wait until no thread lingers in code that is about to go."""
        end = time.monotonic() + SETTLED_WITHIN
        while any(mailbox.cells[STATE] != CLOSED_MAILBOX for mailbox in self.mailboxes) and time.monotonic() < end:
            time.sleep(LOOK)


_workers = Workers()


def share(function: Callable[[Any], None], parts: Iterable[Any], jobs: int) -> None:
    """See `Workers.share`, by the workers of this process."""
    _workers.share(function, parts, jobs)


def lead(leader: Callable[[], Result], helper: Callable[[Any, Mailbox], None], parts: Sequence[Any],
         post: Callable[[Any, Mailbox], bool], wait: Callable[[int], None]) -> Result:
    """See `Workers.lead`, by the workers of this process."""
    return _workers.lead(leader, helper, parts, post, wait)


def _start_again() -> None:
    """A process made by fork has none of the threads."""
    global _workers
    _workers = Workers()


atexit.register(lambda: _workers.settle())
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_again)


# ---------------------------------------------------------------- rows in parts

PROBE, FIRST = 4096, 256
"""Rows that are timed before threads are started, and where their time is not known at all: multiples of all numbers of lanes."""
A_PART, PARTS_EACH = 0.02, 4
"""Seconds that a part of the rows takes, so that an interrupt is soon heard; and the least number of parts for each thread."""
SHORTEST = 1e-12
"""Seconds of a row, where the clock has not moved."""
WORTH_A_THREAD = 1e-3
"""Seconds of work beyond which a thread pays for its start."""


def shared(kernel: Kernel, inputs: Pointers, outputs: Pointers, rows: int, jobs: int | None, held: object = None) -> None:
    """Compute whole blocks in `jobs` threads. The first rows are timed, and threads are started only where the rest takes long
    enough to be worth it, with None; the rest is done in parts, between which an exception ends all. `held` is what the memory
    belongs to, which threads hold while they work in it."""
    known = getattr(kernel, "pace", A_PART / FIRST)
    begin = min(rows, PROBE, max(FIRST, int(A_PART / max(known, SHORTEST)) // FIRST * FIRST))
    start = time.perf_counter()
    kernel(inputs, outputs, 0, begin, kernel.workspace())
    if begin == rows:
        return
    kernel.pace = pace = (time.perf_counter() - start) / begin
    rest = pace * (rows - begin)
    if jobs is None:
        jobs = processors() if rest > WORTH_A_THREAD else 1
    count = max(1 if jobs == 1 else PARTS_EACH * jobs, int(rest / A_PART))
    size = -(-(rows - begin) // (count * kernel.lanes)) * kernel.lanes
    idle = list[Pointers]()

    def work(at: int, held: object = held) -> None:
        try:
            memory = idle.pop()
        except IndexError:
            memory = kernel.workspace()
        kernel(inputs, outputs, at, min(rows, at + size), memory)
        idle.append(memory)

    parts = range(begin, rows, size)
    if jobs == 1:
        for at in parts:
            work(at)
        return
    share(work, parts, jobs)
