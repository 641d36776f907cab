"""Points of programs with tensors: `A=@matrix.npy`, `A=[[1,2],[3,4]]`, `@inputs.npz`, nested lists in @points.json.

A tensor is one value on its axis, so it stands beside ranges of scalars as any other. The same notation gives directions and
weights, where a number fills a whole tensor.
"""
from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from adcli.input.arrays import Value, conformed, json_array, read_npz, read_tensor, require_room, text_array
from adcli.input.points import axis, complete, file_points, json_number, points
from adcli.lang.ir import Param, Program
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.sizes import bind, shapes

Axis = Sequence[dict[str, Any]]
MARK = re.compile(r"[\[\],]")


def tensor_points(program: Program, specs: Sequence[str], remark: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """All points that the `--at` options give, complete, tensors as arrays of the kind that the program declares."""
    ranks = {p.name: len(p.var.shape) for p in program.params}
    found = points(program.params, specs, remark, lambda spec: axes(spec, ranks, "--at"))
    return (fitting(program, {p.name: given(p, point[p.name]) for p in program.params}) for point in found)


def fitting(program: Program, point: dict[str, Any]) -> dict[str, Any]:
    """The point. AdError where shapes do not fit the program or each other."""
    bind(program, {name: np.shape(x) for name, x in point.items()}, point)
    return point


def given(p: Param, x: Any) -> Value:
    """The value of an input: a float, or an array."""
    if isinstance(x, float) and not p.var.integer and not p.var.shape:
        return x
    array = conformed(p, x)
    return array if array.ndim or p.var.integer else float(array)


def axes(spec: str, ranks: Mapping[str, int], option: str) -> list[Axis]:
    """The axes of one option."""
    found = [tensor_axis(part.strip(), ranks) for part in parts(spec) if part.strip()]
    if not found and spec.strip():
        raise AdError(f"{option} '{spec}' gives nothing", help=f"write {option} x=2,A=@matrix.npy")
    return found


def parts(spec: str) -> Iterator[str]:
    """What commas separate, other than those inside of brackets."""
    depth = start = 0
    for found in MARK.finditer(spec):
        depth += {"[": 1, "]": -1, ",": 0}[found[0]]
        if found[0] == "," and depth <= 0:
            yield spec[start:found.start()]
            start = found.end()
    yield spec[start:]


def tensor_axis(part: str, ranks: Mapping[str, int]) -> Axis:
    """One part of a point: `A=@file`, `A=[…]`, `@inputs.npz`, `@points.json`, or what programs of scalars have."""
    if part.startswith("@"):
        return [read_npz(part[1:])] if part.lower().endswith(".npz") else file_points(part[1:], json_value)
    name, _, text = part.partition("=")
    name, text = name.strip(), text.strip()
    if text.startswith("@") and name:
        return [{name: read_tensor(name, text[1:], ranks.get(name, 2))}]
    if text.startswith("[") and name:
        return [{name: text_array(name, text)}]
    return axis(part)


def json_value(where: str, name: str, x: object) -> Value:
    return json_array(name, x, where) if isinstance(x, list) else json_number(f"{where}'{name}'", x)


# ---------------------------------------------------------------- directions and weights

def tensor_seeds(program: Program, spec: str | None, kind: str) -> dict[str, Any] | None:
    """The values that --tangent or --cotangent gives to the seed inputs of a derivative, 0 for those it does not name.

    None where the option is not given and there is no default: a single seed that is a scalar is 1.
    """
    seeds = [p for p in program.params if p.seed]
    if spec is None:
        return {p.name: 1.0 for p in seeds} if len(seeds) == 1 and not seeds[0].var.shape else None if seeds else {}
    ranks = {p.seed: len(p.var.shape) for p in seeds if p.seed}
    named: dict[str, Any] = {}
    for one in axes(spec, ranks, f"--{kind}"):
        if len(one) != 1:
            raise AdError(f"--{kind} is one direction, and this is {len(one)} of them")
        for name, x in one[0].items():
            if name in named:
                raise AdError(f"--{kind}: '{name}' is given twice")
            named[name] = x
    zeros = [replace(p, name=p.seed or "", default=0.0) for p in seeds]
    whole = complete(zeros, named, "input" if kind == "tangent" else "output")
    return {p.name: conformed(p, whole[p.seed or ""]) for p in seeds}


def filled(program: Program, at: Mapping[str, Any], seeds: Mapping[str, Any]) -> dict[str, Any]:
    """A point with seeds: a number becomes the tensor that has it everywhere. AdError where a shape does not fit."""
    inputs = tuple(p for p in program.params if not p.seed)
    sizes = bind(replace(program, params=inputs), {name: np.shape(x) for name, x in at.items()}, at)
    extents = shapes(Program(program.params, (), ()), sizes)
    whole = dict(at)
    for p in program.params:
        if p.seed:
            x = seeds[p.name]
            require_room(f"'{p.name}'", 8 * math.prod(extents[p.var]))
            whole[p.name] = np.full(extents[p.var], x) if np.ndim(x) == 0 else x
    return fitting(program, whole)


def is_zero(x: Any) -> bool:
    """Whether a seed is zero everywhere, so that nothing it would cause is computed."""
    return not np.any(x)
