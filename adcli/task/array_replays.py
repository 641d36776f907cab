"""Replays on arrays: what is too large to do without NumPy, or of a kind that takes it."""
from __future__ import annotations

from functools import partial

import numpy as np

from adcli.codegen.nests.array_calls import PlannedKernel, blank
from adcli.codegen.nests.result_memory import ResultMemory
from adcli.lang.ir.errors import AdError, Span
from adcli.task.small_replays import Replay, Unplanned


class ArrayReplay(PlannedKernel, Replay):  # type: ignore[misc]  # it gives arrays where that gives small tensors
    """Code from the cache, for one set of shapes, on arrays."""

    def memory(self, outputs: list[tuple[int, ...]]) -> ResultMemory:
        return ResultMemory(outputs, self.real.itemsize, partial(blank, dtype=self.real))

    def full(self, shape: tuple[int, ...], x: float) -> np.ndarray:
        return np.full(shape, x)

    def whole_numbers(self, name: str, given: np.ndarray, span: Span | None) -> np.ndarray:
        try:
            return super().whole_numbers(name, given, span)
        except AdError:
            raise Unplanned from None
