"""Seeds given on the command line: --tangent x=1,y=0 and --cotangent v=1; tensors as points have them."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from adcli.input.points import axes, complete, parts, ranks
from adcli.input.values import value
from adcli.lang.ir import Param, Values
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import composed
from adcli.task.tasks import Task


def seeded(task: Task, spec: str | Values | None, emitted: bool = False) -> Task:
    """The task at its seeds, as an option gives them, or by name. In a program that is `emitted` seeds that are given become
    constants, and others stay inputs."""
    kind = task.verb.seed or ""
    if emitted and spec is None:
        return task
    inputs = task.signature.inputs
    seeds = seeds_for(inputs, given_seeds(inputs, spec, kind) if isinstance(spec, str) else spec, kind)
    return task.at(constants(task, seeds, kind) if emitted else seeds, derive=emitted)


def given_seeds(params: Sequence[Param], spec: str, kind: str) -> dict[str, Any]:
    """The components of a direction, or the weights, that an option gives."""
    tensors = ranks([p for p in params if p.seed])
    return directions(spec, kind, tensors) if ranks(params) or "@" in spec else components(spec, kind)


def seeds_for(params: Sequence[Param], given: Values | None, kind: str) -> dict[str, Any]:
    """The value of every seed parameter, from those `given` by the names of the inputs or outputs that they belong to: 0 where
    not named; where there is only one, a scalar, and nothing is given, 1. A number for a tensor stands for all its elements."""
    seeds = [p for p in params if p.seed]
    tensors = bool(ranks(params))
    if given is None:
        if not seeds or (len(seeds) == 1 and not seeds[0].var.shape):
            return {p.name: 1.0 for p in seeds}
        help = f"write --{kind} {','.join(f'{p.seed}=1' for p in seeds[:3])}"
        more = f" (a number fills a tensor), or read a file: --{kind} {seeds[0].seed}=@matrix.npy" if tensors else ""
        raise AdError(f"no --{kind}", help=help + more)
    names = [p.seed for p in seeds]
    for p in params:
        if kind == "tangent" and p.name in given and p.name not in names and not p.seed:
            raise AdError(f"⟦--tangent⟧: '{p.name}' is not among the inputs to differentiate",
                          help=f"add it: ⟦--wrt {','.join([*filter(None, names), p.name])}⟧")
    zeros = [replace(p, name=p.seed or "", default=0.0) for p in seeds]
    whole = complete(zeros, given, "input" if kind == "tangent" else "output")
    return {p.name: whole[p.seed or ""] for p in seeds} if not tensors else {p.name: array(p, whole[p.seed or ""]) for p in seeds}


def array(p: Param, x: Any) -> Any:
    """A seed as an array; a number, which fills a tensor, as it is."""
    if isinstance(x, float):
        return x
    from adcli.input.arrays import conformed
    return conformed(p, x)


def components(spec: str, kind: str, texts: bool = False) -> dict[str, Any]:
    """The components of a direction; with `texts` those that are tensors as they are written."""
    given: dict[str, Any] = {}
    for part in filter(None, map(str.strip, parts(spec))):
        name, equals, text = (s.strip() for s in part.partition("="))
        if not equals:
            raise AdError(f"--{kind}: '{part}' is not name=value")
        name = composed(name)
        if name in given:
            raise AdError(f"--{kind}: '{name}' is given twice")
        given[name] = text if texts and text[:1] in ("[", "@") else value(name, text)
    return given


def directions(spec: str, kind: str, kinds: Mapping[str, int]) -> dict[str, Any]:
    """Components of a direction with tensors or files."""
    given: dict[str, Any] = {}
    for one in axes(spec, kinds or {"": 0}, f"--{kind}"):
        if len(one) != 1:
            raise AdError(f"--{kind} takes one direction, not {len(one)}")
        for name, x in one[0].items():
            if name in given:
                raise AdError(f"--{kind}: '{name}' is given twice")
            if not kinds and not isinstance(x, float):
                raise AdError(f"--{kind}: '{name}' is a number, and an array is given")
            given[name] = x
    return given


def constants(task: Task, seeds: Values, kind: str) -> dict[str, float]:
    """Seeds as constants of a program, tensors only where they are zero."""
    if not task.signature.tensors:
        return dict(seeds)
    import numpy as np

    from adcli.input.arrays import is_zero
    for p in task.signature.seeds:
        if p.var.shape and not is_zero(seeds[p.name]):
            raise AdError(f"--{kind} {p.seed}: a program cannot have a tensor as a constant",
                          help=f"leave out --{kind}: the program then has the input {p.name}")
    return {name: float(x) if np.ndim(x) == 0 else 0.0 for name, x in seeds.items()}
