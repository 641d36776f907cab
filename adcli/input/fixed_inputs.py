"""Inputs that `--at` fixes: one value each, where the others vary from row to row or stay inputs of an emitted program."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from adcli.input.points import axes, ranks, typed, unknown_name
from adcli.lang.ir import Param
from adcli.lang.ir.errors import AdError


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
