"""Tiered compilation: run quickly produced code, swap in optimised code when it is ready.

Work is counted. When it has taken as long as optimising takes, the better code is made in a thread of its own while the first
goes on: a job takes at most twice as long as with the better of the two.
"""
from __future__ import annotations

import atexit
import math
import threading
from collections.abc import Callable
from functools import cache

from adcli.codegen.machine.interrupts import despite_interrupts
from adcli.codegen.machine.kernel import COMPILING, started


class TierUp:
    """Calls `make`, which swaps the better code in, once work of `worth` is done; where memory is too short for it, never."""

    def __init__(self, make: Callable[[], None], worth: float) -> None:
        self.make, self.worth, self.done = make, worth, 0.0
        self.lock = threading.Lock()
        self.thread: threading.Thread | None = None
        self.fault: BaseException | None = None

    def spend(self, work: float) -> None:
        """Count work. Raises what making ended with."""
        self.done += work
        if self.done >= self.worth:
            self.begin()
        if self.fault is not None:
            raise self.fault

    def begin(self) -> None:
        """Start making in a thread, unless done or under way. A process made by fork has lost the thread, and maybe finds the
        lock taken."""
        if not self.lock.acquire(blocking=False):
            return
        try:
            if self.worth < math.inf and not (self.thread and self.thread.is_alive()):
                with COMPILING:   # a process made by fork has modules that are whole
                    from adcli.codegen.rows import jit, llvm  # noqa: F401
                self.thread = threading.Thread(target=self.rise, daemon=True)
                if not started(self.thread):
                    self.rise()
        finally:
            self.lock.release()

    def rise(self) -> None:
        """Make the better code now."""
        finish_at_exit()
        try:
            self.make()
        except MemoryError:
            pass
        except BaseException as fault:
            self.fault = fault
        self.worth = math.inf


@cache
def finish_at_exit() -> None:
    """At exit, wait until LLVM has finished, and let it start nothing more: its globals are gone then."""
    atexit.register(despite_interrupts, COMPILING.acquire)
