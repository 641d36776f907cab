"""Code that runs at once until code that runs faster takes its place.

The work that is done is counted. When it is as much as making the better code is, that is made in a thread of its own, while the
code that is there goes on: whatever there is to do, it takes no longer than twice the better of the two.
"""
from __future__ import annotations

import atexit
import math
import threading
from collections.abc import Callable
from functools import cache

from adcli.codegen.machine.interrupts import despite_interrupts
from adcli.codegen.machine.kernel import COMPILING, started


class Succession:
    """What `make` makes, and puts in its place, when work that is `worth` it is done. Where memory is too short for that, what is
    there goes on."""

    def __init__(self, make: Callable[[], None], worth: float) -> None:
        self.make, self.worth, self.done = make, worth, 0.0
        self.lock = threading.Lock()
        self.thread: threading.Thread | None = None
        self.fault: BaseException | None = None

    def spend(self, work: float) -> None:
        """Count work that is done now. Raises what making ended with."""
        self.done += work
        if self.done >= self.worth:
            self.begin()
        if self.fault is not None:
            raise self.fault

    def begin(self) -> None:
        """Begin to make it in a thread, unless that is done or under way. A process made by fork has lost the thread, and maybe
        finds the lock taken."""
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
        """Make it now."""
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
    """The interpreter ends when LLVM has ended what it is at, and begins nothing more: what it would use is gone then."""
    atexit.register(despite_interrupts, COMPILING.acquire)
