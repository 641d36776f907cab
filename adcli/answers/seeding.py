"""Seeds given on the command line: --tangent x=1,y=0 and --cotangent v=1."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adcli.input.points import complete, value
from adcli.lang.ir import Param, Program
from adcli.lang.ir.errors import AdError
from adcli.task.tasks import Task


def seeded(task: Task, spec: str | None, kind: str, options: Mapping[str, Any]) -> Task:
    """The task at its seeds."""
    if task.tensors:
        from adcli.answers.tensor_results import seeded_tensors
        return seeded_tensors(task, spec, kind, options)
    return task.at(seed_values(task.program, spec, kind, needed=not options["emit"]), derive=bool(options["emit"]))


def seed_values(program: Program, spec: str | None, kind: str, needed: bool) -> dict[str, float]:
    """The value of every seed parameter: as given, 0 where not named, 1 where there is only one and nothing is given."""
    seeds = {p.seed: p.name for p in program.params if p.seed}
    if spec is None:
        if len(seeds) != 1 and needed and seeds:
            raise AdError(f"no --{kind}", help=f"write --{kind} {','.join(f'{s}=1' for s in list(seeds)[:3])}")
        return dict.fromkeys(seeds.values(), 1.0) if needed else {}
    zero = [Param(p.var, p.seed, 0.0) for p in program.params if p.seed]
    given = components(spec, kind)
    for p in program.params:
        if kind == "tangent" and p.name in given and p.name not in seeds and not p.seed:
            raise AdError(f"--tangent: '{p.name}' is not among the inputs that are differentiated",
                          help=f"name it with the others: --wrt {','.join([*filter(None, seeds), p.name])}")
    return {seeds[name]: x for name, x in complete(zero, given, "input" if kind == "tangent" else "output").items()}


def components(spec: str, kind: str) -> dict[str, float]:
    """The components of a direction as they are given."""
    given: dict[str, float] = {}
    for part in filter(None, (p.strip() for p in spec.split(","))):
        name, equals, number = (s.strip() for s in part.partition("="))
        if not equals:
            raise AdError(f"--{kind}: '{part}' is not name=value")
        if name in given:
            raise AdError(f"--{kind}: '{name}' is given twice")
        given[name] = value(name, number)
    return given
