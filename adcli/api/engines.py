"""Shared by the adapters of engines: a program in any form, differentiated by the name of a verb, for batches.

An adapter is a module `adcli.ENGINE` of a few lines: it knows how its engine calls a function of Arrow's tables, and nothing
else.
"""
from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from adcli.api.function import CALLED, Function, compile, load
from adcli.api.words import one_of
from adcli.batches.batch_function import BatchFunction
from adcli.batches.batch_sums import BatchSums
from adcli.lang.ir.errors import AdError

Given = str | os.PathLike[str] | Callable[..., Any] | Function
"""A program: a file by a path or by a text that ends with .ad, the text of one, a Python function, or a Function."""
ForBatches = BatchFunction | BatchSums


def file_of(program: Any) -> Path | None:
    """The file that is meant, if one is."""
    is_file = isinstance(program, os.PathLike) or (isinstance(program, str) and program.endswith(".ad"))
    return Path(program) if is_file else None


def function_of(program: Any, verb: str = "eval", *args: Any, **options: Any) -> Function:
    """The Function of a program, or what the verb makes of it with its options, such as wrt."""
    path = file_of(program)
    f = program if isinstance(program, Function) else load(path) if path else compile(program)
    if one_of("verb", verb, CALLED) != "eval":
        derived: Function = getattr(f, verb)(*args, **options)
        return derived
    if args or options:
        raise AdError("eval takes a program and no options of derivatives")
    return f


def batches_of(program: Given | ForBatches, **options: Any) -> ForBatches:
    """A program for batches, with the options of `Function.arrow`; what `arrow` or `arrow_sum` have made as it is."""
    if not isinstance(program, BatchFunction | BatchSums):
        return function_of(program).arrow(**options)
    if options:
        raise AdError(f"{next(iter(options))} is given where the function of batches is made", help="leave it out here")
    return program
