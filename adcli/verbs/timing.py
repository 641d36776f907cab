"""Timing for bench."""
from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from adcli.lang.ir.errors import plural

if TYPE_CHECKING:
    import numpy as np

    from adcli.api.function import Function
    from adcli.lang.ir import Param
    from adcli.lang.ir.errors import Source

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


class Timing(NamedTuple):
    """Subject of a timing, and its settings."""

    source: Source
    wrt: list[str] | None
    of: list[str] | None
    seconds: float
    point: Mapping[str, Any]
    precision: str = "double"
    fast: bool = False

    def drawn(self, r: np.random.Generator, p: Param, shape: int | tuple[int, ...]) -> Any:
        """Numbers of an input: from its range, else from 0.5 to 1.5."""
        return r.uniform(*(0.5, 1.5) if p.low is None or p.high is None else (p.low, p.high), shape)

    def figures(self, functions: Mapping[str, Function], alone: Mapping[str, float],
                shared: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
        """The figures of any program: `alone` is what each mode takes on one thread, `shared` what it takes by threads."""
        f, threads = functions["value"], max(map(int, shared["value"]))
        return {"program": self.source.name, "precision": self.precision, "fast_math": self.fast,
                "inputs": len(f.inputs), "outputs": len(f.outputs), "threads": threads,
                "equations": {name: len(g.program.equations) for name, g in functions.items()},
                "over_value": {name: x / alone["value"] for name, x in alone.items() if name != "value"},
                "speed_up": {name: x["1"] / x[str(threads)] for name, x in shared.items()}}


def headline(figures: Mapping[str, Any]) -> str:
    """Headline of the figures."""
    single = ", in single precision" if figures["precision"] == "single" else ""
    fast = ", with --fast-math" if figures["fast_math"] else ""
    return f"{figures['program']}: {plural(figures['inputs'], 'input')}, {plural(figures['outputs'], 'output')}{single}{fast}"
