"""Rows of a kernel in parts: threads share them, and an interrupt is heard between two."""
from __future__ import annotations

import time

from adcli.codegen.machine.kernel import Kernel, Pointers, processors
from adcli.codegen.machine.workers import share

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
