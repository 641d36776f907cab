"""How bench takes times."""
from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from adcli.lang.ir.errors import plural

Made = TypeVar("Made")


def timed(work: Callable[[], Made]) -> tuple[Made, float]:
    """Result of a call, and the seconds it took."""
    start = time.perf_counter()
    made = work()
    return made, time.perf_counter() - start


def best(run: Callable[[], object], seconds: float) -> float:
    """The smallest time of a run in seconds."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def headline(figures: Mapping[str, Any]) -> str:
    """Headline of the figures."""
    single = ", in single precision" if figures["precision"] == "single" else ""
    fast = ", with --fast-math" if figures["fast_math"] else ""
    return f"{figures['program']}: {plural(figures['inputs'], 'input')}, {plural(figures['outputs'], 'output')}{single}{fast}"
