"""Long work without the cyclic garbage collector.

Trees and programs hold no cycles, but while millions of their nodes are made the collector walks them again and again:
at 10⁵ statements that is two thirds of the time of lowering.
"""
from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
        gc.enable()
