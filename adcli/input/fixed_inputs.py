"""Inputs that `--at` fixes: one value each, where the others vary from row to row or stay inputs of an emitted program."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from adcli.input.points import axes, out_of_range, ranks, typed, unknown_name
from adcli.lang.ir import Param, Program, has_tensors
from adcli.lang.ir.errors import AdError
from adcli.output.streams import say


def given(specs: Iterable[str], kinds: Mapping[str, int], several: str) -> Iterator[tuple[str, Any]]:
    """The names that --at gives, each with its one value; `kinds` are the `ranks` of the inputs. AdError, as `several` says,
    where a name is given more values."""
    for spec in specs:
        for axis in axes(spec, kinds):
            if len(axis) != 1:
                raise AdError(several, help="write --at k=3")
            yield from axis[0].items()


def fixed(params: Sequence[Param], values: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """The values as inputs have them. AdError for a name that is unknown or given twice."""
    found: dict[str, Any] = {}
    known, kinds = {p.name: p for p in params}, ranks(params)
    for name, x in values:
        if name not in known:
            raise unknown_name("input", name, list(known))
        if name in found:
            raise AdError(f"'{name}' is given twice")
        found.update(typed([known[name]], kinds, {name: x}))
    return found


def with_constants(program: Program, specs: Iterable[str], quiet: bool, arrays: bool = False,
                   ) -> tuple[Program, dict[str, Any]]:
    """The values that --at gives, and the program with their inputs declared as params, which are differentiated only where
    named. A note where one leaves the range that its input was declared with, unless `quiet`. A target that takes `arrays` has
    of an input with tensors that is no param the shape only: the program stays."""
    values = fixed(program.params, given(specs, ranks(program.params), "with --emit, --at gives inputs one value each"))
    if arrays and has_tensors(program):
        return program, values
    for p in [p for p in program.params if p.name in values]:
        if p.var.shape or p.var.integer:
            raise AdError(f"--at {p.name}: {'a tensor' if p.var.shape else 'an integer'} cannot be a constant of a program",
                          help=f"leave it out: the program then has the input {p.name}")
        if not quiet and p.low is not None and p.high is not None and not p.low <= values[p.name] <= p.high:
            say(out_of_range(p, values[p.name], program.source))
    params = tuple([replace(p, active=False) if p.name in values else p for p in program.params])
    return replace(program, params=params), {name: float(x) for name, x in values.items()}
