"""Calls of compiled programs on NumPy arrays, which are computed with where they lie, wherever that can be."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from ctypes import addressof, c_char
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from adcli.codegen.machine.kernel import CACHE_LINE
from adcli.codegen.machine.small import byte
from adcli.codegen.modules import calls
from adcli.codegen.modules.calls import LARGE, CallPlan, PlannedCode
from adcli.lang.ir import Param
from adcli.lang.ir.errors import AdError, Span


class PlannedKernel(PlannedCode):
    """A compiled program as a function of arrays."""

    def kind(self, code: str) -> np.dtype:
        return np.dtype(np.int64 if code == calls.INT64 else code)

    def __call__(self, arrays: Mapping[str, Any], out: Mapping[str, np.ndarray] | None = None,
                 jobs: int | None = None) -> dict[str, np.ndarray]:
        """The results by name, for arrays (or numbers) by name; into the arrays of `out` where it has one for a result.

        `jobs` threads share a run that is long enough (None: one for each processor). Results do not depend on how many.
        AdError where shapes do not fit the program, a gathered subscript is outside, or there is not memory enough.
        """
        given: list[np.ndarray] = []
        places: list[int] = []
        for p, name, dtype in self.inputs:
            a = arrays.get(name)
            if a.__class__ is float or a.__class__ is int:
                a = np.array(a)
            if a.__class__ is not np.ndarray or a.dtype is not dtype:
                a = converted(p, a, dtype)
            place = address(a)
            if place is None:
                a = converted(p, a, dtype)
                place = a.ctypes.data
            given.append(a)
            places.append(place)
        key = self.key(given)
        plan = self.plans.get(key) or self.plan(key)
        if self.spend is not None:
            self.spend(plan.instructions)
        spare = self.spare_bytes(plan.results.bytes)
        results = plan.results.arrays(spare) if out is None else self.targets(plan, given, places, out)
        places += [address(a) or a.ctypes.data for a in results]
        self.computed(plan, places, jobs)
        found = dict(zip(self.made, results, strict=True))
        if self.copies or out is not None:
            self.finish(found, given, out)
        for name, span in self.whole if out is None else ():
            found[name] = self.whole_numbers(name, found[name], span)
        return found

    def whole_numbers(self, name: str, given: np.ndarray, span: Span | None) -> np.ndarray:
        """A result of whole numbers as integers. AdError where one is NaN or beyond the integers that the precision tells
        apart."""
        wrong = np.argwhere(~(np.abs(given) <= self.most_whole))
        if len(wrong):
            where = f"({', '.join(map(str, wrong[0]))})" if given.ndim else ""
            help = "it comes from a NaN, from a number that is too large, or from a range that is empty"
            raise AdError(f"{name}{where} = {given[tuple(wrong[0])]} is no whole number", span, help, self.interface.source)
        return given.astype(np.int64)

    def targets(self, plan: CallPlan, given: Sequence[np.ndarray], places: Sequence[int],
                out: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """Where results go: arrays of `out` that can be written in place, new ones else. The inputs lie at `places`."""
        found: list[np.ndarray] = []
        apart = len(out) < 2 or disjoint(list(out.values()))
        for name, shape in zip(self.made, plan.outputs, strict=True):
            target = out.get(name)
            if target is None:
                found.append(np.empty(shape, self.real))
                continue
            if target.shape != shape:
                raise AdError(f"the array for '{name}' has shape {target.shape}, but the result has {shape}")
            if not apart and any(np.may_share_memory(target, a) for other, a in out.items() if other != name):
                raise AdError(f"the array for '{name}' overlaps the array for another result")
            start = address(target) if target.dtype is self.real else None
            fits = start is not None and not any(start < place + a.nbytes and place < start + target.nbytes
                                                 for a, place in zip(given, places, strict=True))
            found.append(target if fits else np.empty(shape, self.real))
        return found

    def finish(self, found: dict[str, np.ndarray], given: Sequence[np.ndarray], out: Mapping[str, np.ndarray] | None) -> None:
        """Results that are constants, inputs or the same as others; and results that could not be written in place."""
        if self.copies:
            values = [*given, *[found[name] for name in self.made]]
            for name, source in self.copies:
                found[name] = np.array(values[source] if isinstance(source, int) else source, self.real)
        for name, target in (out or {}).items():
            if name not in found:
                raise AdError(f"no result '{name}'", help=f"the results are {', '.join(found)}")
            if target is not found[name]:
                target[...] = found[name]
                found[name] = target


def blank(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array for a result. A large one begins with a cache line: the registers that are stored would be in two lines each where
    NumPy's begin. Its base is no array, so views of it hold it, as they do an array that owns its memory."""
    if (size := dtype.itemsize * prod(shape)) < LARGE:
        return np.empty(shape, dtype)
    block: Any = np.empty(size + CACHE_LINE, np.uint8)
    memory: Any = (c_char * block.size).from_buffer(block)
    return np.ndarray(shape, dtype, memory, -addressof(memory) % CACHE_LINE)


def address(a: np.ndarray) -> int | None:
    """Where the elements of an array are; None where they do not lie as compiled code needs them, or that is slow to say."""
    try:
        place = addressof(byte(a))
    except (TypeError, ValueError):
        return None
    return None if place % a.itemsize else place


def disjoint(arrays: Sequence[np.ndarray]) -> bool:
    """True if no two of the arrays lie in the same memory, as far as that is quickly said."""
    spans: list[tuple[int, int]] = []
    for a in arrays:
        place = address(a)
        if place is None:
            return False
        spans.append((place, place + a.nbytes))
    spans.sort()
    return all(end <= start for (_, end), (start, _) in pairwise(spans))


def converted(p: Param, given: Any, dtype: np.dtype) -> np.ndarray:
    """A value for an input as an array that compiled code can read."""
    if given is None:
        if p.default is None:
            raise AdError(f"no value for '{p.name}'")
        given = p.default
    try:
        a = np.asarray(given)
    except ValueError as error:
        raise AdError(f"'{p.name}' is not an array: its rows have different lengths") from error
    real = dtype.kind == "f"
    if a.dtype.kind not in ("fiub" if real else "iu"):
        whole = a.dtype.kind == "f" and bool((a == np.floor(a)).all()) and bool((np.abs(a) < 2.0 ** 63).all())
        if real or not whole:
            raise AdError(f"'{p.name}' has elements of type {a.dtype}",
                          help="elements are real numbers" if real else "it is a tensor of integers")
    try:
        with np.errstate(over="raise"):
            return np.require(a, dtype, ["C", "A"]).reshape(a.shape)
    except FloatingPointError:
        raise AdError(f"'{p.name}' has elements that are too large for single precision",
                      help="use double precision, the default") from None
