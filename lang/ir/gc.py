"""Long work without the cyclic garbage collector.

Trees and programs hold no cycles, but while millions of their nodes are made the collector walks them again and again:
at 10⁵ statements that is two thirds of the time of lowering. What has been made then counts as old: otherwise the first
thing that happens behind the block is a walk over all of it.
"""
from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MANY = 100_000
"""Objects that were made and are still there, from which on a walk over them takes longer than it is worth."""


@contextmanager
def paused() -> Iterator[None]:
    """Within the block (or the decorated function) no cycles are looked for."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if gc.get_count()[0] > MANY and not gc.get_freeze_count():   # what is frozen is not ours to thaw
            gc.freeze()
            gc.unfreeze()
        gc.enable()
