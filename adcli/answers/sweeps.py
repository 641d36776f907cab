"""Jacobians of programs with tensors, whole: dv_dA of shape v.shape + A.shape, one sweep for each element.

Forward mode takes a sweep for each element of the inputs, reverse mode one for each element of the outputs; auto takes the
fewer. Every sweep has one input, or one output, alone, so that nothing another one would cause comes near it. This is for
looking at small Jacobians: what sparse ones are for has products with vectors, jvp and vjp.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adcli.codegen.machine.memory import require_room
from adcli.lang.ir import Program
from adcli.lang.ir.errors import AdError
from adcli.lang.passes.pipeline import adjoint_program, tangent_program
from adcli.lang.passes.simplify import simplify
from adcli.task.tasks import Task

MOST_ENTRIES = 1 << 27
"""Entries of a Jacobian."""
Evaluator = Callable[[dict[str, Any]], tuple[list[Any], int]]
"""The results at a complete point, in order, and the status."""
Matrices = dict[tuple[str, str], np.ndarray]


def sweeps(task: Task, compiled: Callable[[Program, Sequence[str]], Evaluator]) -> Evaluator:
    """The outputs and all matrices at a point; `compiled` makes a derivative with respect to some inputs callable."""
    primal, wrt = task.primal, task.derivation.wrt
    outputs = [r.name for r in primal.results]
    value = compiled(simplify(primal), ())
    ways: dict[str, Evaluator] = {}

    def run(name: str, program: Program) -> Evaluator:
        if name not in ways:
            ways[name] = compiled(program, wrt)
        return ways[name]

    def compute(point: dict[str, Any]) -> tuple[list[Any], int]:
        values, level = value(point)
        shapes = {v: np.shape(x) for v, x in zip(outputs, values, strict=True)}
        columns, rows = sum(np.size(point[x]) for x in wrt), sum(map(math.prod, shapes.values()))
        require_entries(rows, columns)
        back = task.request.mode == "reverse" or (task.request.mode == "auto" and rows < columns)
        levels = [level]
        found = (reverse if back else forward)(primal, wrt, shapes, point, run, levels)
        return [*values, *(found[v, x] for v in outputs for x in wrt)], max(levels)
    return compute


def require_entries(rows: int, columns: int) -> None:
    """AdError where a Jacobian is too large to be of use."""
    if rows * columns > MOST_ENTRIES:
        raise AdError(f"a Jacobian of {rows:,} × {columns:,} entries is too large",
                      help="jvp and vjp give its products with vectors")
    require_room(f"a Jacobian of {rows:,} × {columns:,} entries", 8 * rows * columns)


def forward(primal: Program, wrt: Sequence[str], shapes: dict[str, tuple[int, ...]], point: dict[str, Any],
            compute: Callable[[str, Program], Evaluator], levels: list[int]) -> Matrices:
    """One sweep for each element of an input: a column of every matrix that has this input."""
    found = {}
    for x in wrt:
        program = tangent_program(primal, [x])
        run = compute(x, program)
        extents = np.shape(point[x])
        matrices = [np.zeros((*shape, *extents)) for shape in shapes.values()]
        for at, seed in one_hot(extents):
            results, level = run({**point, seed_name(program): seed})
            levels.append(level)
            for matrix, column in zip(matrices, results[len(shapes):], strict=True):
                matrix[(..., *at)] = column
        found.update({(v, x): matrix for v, matrix in zip(shapes, matrices, strict=True)})
    return found


def reverse(primal: Program, wrt: Sequence[str], shapes: dict[str, tuple[int, ...]], point: dict[str, Any],
            compute: Callable[[str, Program], Evaluator], levels: list[int]) -> Matrices:
    """One sweep for each element of an output: a row of every matrix that has this output."""
    found = {}
    wrt = [p.name for p in primal.params if p.name in wrt]   # the order of the adjoints
    for v, extents in shapes.items():
        program = adjoint_program(primal, wrt, [v])
        run = compute(v, program)
        matrices = [np.zeros((*extents, *np.shape(point[x]))) for x in wrt]
        for at, seed in one_hot(extents):
            results, level = run({**point, seed_name(program): seed})
            levels.append(level)
            for matrix, row in zip(matrices, results[len(shapes):], strict=True):
                matrix[at] = row
        found.update({(v, x): matrix for x, matrix in zip(wrt, matrices, strict=True)})
    return found


def seed_name(program: Program) -> str:
    return next(p.name for p in program.params if p.seed)


def one_hot(shape: tuple[int, ...]) -> Any:
    """Every element's place, with the tensor that is 1 there and 0 elsewhere, one array for all."""
    seed = np.zeros(shape)
    for at in np.ndindex(shape):
        seed[at] = 1.0
        yield at, seed
        seed[at] = 0.0
