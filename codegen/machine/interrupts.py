"""Exceptions out of handlers of signals, such as KeyboardInterrupt: Python raises them between any two steps of its main thread,
also while that waits for other threads or cleans up.
"""
from __future__ import annotations

import threading
from _thread import start_new_thread
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

Result = TypeVar("Result")
LOOK_AGAIN = 0.05
"""Seconds between looks for the end of others that no word may have come from: an exception can have cut off who heard it."""
MOST_INTERRUPTS = 10_000
"""Exceptions while one waits after which none of them came out of a signal's handler."""


def despite_interrupts(end: Callable[[], object]) -> None:
    """Call `end` again until it has run to its end. An exception out of a signal's handler is raised after that."""
    interrupt: BaseException | None = None
    for _ in range(MOST_INTERRUPTS):
        try:
            end()
        except BaseException as fault:
            interrupt = fault
        else:
            break
    if interrupt is not None:
        raise interrupt


class _ApartWork(Generic[Result]):
    """A function that one of two threads calls: whoever claims it."""

    def __init__(self, function: Callable[[], Result]) -> None:
        self.function, self.done, self.claims = function, False, dict[str, int]()
        self.ended = threading.Lock()   # is free when the other thread is done
        self.ended.acquire()
        self.result: Result | None = None
        self.fault: BaseException | None = None

    def claimed(self) -> bool:
        """Claim it for this thread, in one step; False where the other one has."""
        me = threading.get_ident()
        return self.claims.setdefault("by", me) == me

    def run(self) -> None:
        if self.claimed():
            try:
                self.result = self.function()
            except BaseException as fault:
                self.fault = fault
            finally:
                self.done = True
                self.ended.release()

    def wait(self) -> None:
        while not self.done:
            self.ended.acquire(timeout=LOOK_AGAIN)


def apart(function: Callable[[], Result], hasten: Callable[[], object] = lambda: None) -> Result:
    """Call a function in a thread where no signal handler runs: for work that must not be left halfway. An exception out of a
    handler is raised when it has ended, which `hasten` may bring about."""
    if threading.get_ident() != threading.main_thread().ident:
        return function()
    work = _ApartWork(function)
    try:
        with suppress(RuntimeError):   # there is no thread
            start_new_thread(work.run, ())
            work.ended.acquire(timeout=LOOK_AGAIN)   # or it does not come
        if not work.claimed():
            work.wait()
    except BaseException:
        if not work.claimed():
            hasten()
            despite_interrupts(work.wait)
        raise
    if work.claimed():
        return function()
    if work.fault is not None:
        raise work.fault
    return work.result   # type: ignore[return-value]
