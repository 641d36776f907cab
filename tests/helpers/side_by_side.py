"""Threads that do the same at the same time."""
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


def in_threads(work: Callable[[int], Any], count: int) -> list[Any]:
    """What work(k) gives for each k below `count`, in threads that start together. What it raises is raised here, when all have
    ended."""
    found, faults, start = [None] * count, list[BaseException](), threading.Barrier(count, timeout=60)

    def one(k: int) -> None:
        try:
            start.wait()
            found[k] = work(k)
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=one, args=(k,)) for k in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if faults:
        raise faults[0]
    return found
