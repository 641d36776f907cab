"""Blocks of points or rows worked on in threads: results leave in order, and few blocks are under way at a time."""
from __future__ import annotations

import contextlib
import logging
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from adcli.codegen.machine.kernel import processors
from adcli.codegen.machine.memory import threads_with_room

Block = TypeVar("Block")
Done = TypeVar("Done")


logging.getLogger("concurrent.futures").addHandler(logging.NullHandler())   # its last words, where a thread dies

LOOK = 1.0
"""Seconds between looks whether those who work are still alive."""


class Pool(ThreadPoolExecutor):
    """Threads, as many of those wanted as the system has: what finds none is done at once."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        try:
            return super().submit(fn, *args, **kwargs)
        except RuntimeError:
            done: Future[Any] = Future()
            done.set_result(fn(*args, **kwargs))
            return done

    def result(self, future: Future[Done]) -> Done:
        """Result of a future. MemoryError where a thread has ended that had too little memory left to say so."""
        while not future.done():
            with contextlib.suppress(TimeoutError):
                future.exception(LOOK)
            if not future.done() and not all(thread.is_alive() for thread in self._threads):
                raise MemoryError
        return future.result()


def threads(jobs: int | None) -> int:
    """Number of threads, if not as asked for: most of the work is outside the interpreter's lock."""
    return jobs or threads_with_room(max(1, min(8, processors())))


def overlapped(work: Callable[[Block], Done], found: Iterator[Block | None], threads: int) -> Iterator[Done]:
    """The blocks worked on, in order, a few at a time. All that is under way comes out before the input is waited for, which it
    says by None."""
    pool = Pool(threads)
    pending: deque[Future[Done]] = deque()
    try:
        for block in found:
            if block is not None:
                pending.append(pool.submit(work, block))
            while pending and (block is None or len(pending) > threads):
                yield pool.result(pending.popleft())
        while pending:
            yield pool.result(pending.popleft())
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
