"""Shared libraries in tests: made by the command, called by ctypes."""
from __future__ import annotations

import ctypes
import pathlib
import shutil
from collections.abc import Sequence

from command import succeeds

LD = shutil.which("ld")


def library(folder: pathlib.Path, *words: object, name: str = "libf.so") -> ctypes.CDLL:
    """What a command line makes with --emit library."""
    succeeds(*words, "--emit", "library", "-o", folder / name)
    return ctypes.CDLL(str(folder / name))


def called(loaded: ctypes.CDLL, name: str, at: Sequence[float], outputs: int) -> list[float]:
    """The results of a function of two arrays; one number stands behind them, which the function must leave alone."""
    results = (ctypes.c_double * (outputs + 1))(*[7.0] * (outputs + 1))
    assert getattr(loaded, name)((ctypes.c_double * max(1, len(at)))(*at), results) == 0
    assert results[outputs] == 7.0
    return results[:outputs]
