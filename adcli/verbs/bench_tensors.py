"""The figures of bench for programs with tensors: time of a call at some sizes, on one thread and on all."""
from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from math import prod
from typing import Any

import numpy as np

from adcli.api.function import Function
from adcli.codegen.machine.kernel import processors
from adcli.codegen.machine.memory import require_room
from adcli.input.sampled_tensors import FittingSizes, require_fitting, subscript_limits
from adcli.lang.ir import Program
from adcli.lang.ir.errors import AdError
from adcli.lang.operations.precision import PRECISIONS
from adcli.lang.sizes.binding import bind, number
from adcli.output.wrap import table
from adcli.task.native import HASTE, native
from adcli.verbs.timing import Timing, best, headline, timed

USUAL_SIZE, SMALLEST = 32, 4
"""The sizes that are taken where none is given, and the least that are tried where these do not fit."""


def measured(asked: Timing, program: Program, given: Mapping[str, int]) -> dict[str, Any]:
    """All figures: times in microseconds a call, phases in milliseconds. Inputs that the point lacks are drawn. AdError where the
    sizes do not fit the program."""
    point, wrt, of = asked.point, asked.wrt, asked.of
    sizes = bind(program, {name: np.shape(x) for name, x in point.items()}, point) if point else chosen(program, given)
    f = Function(program, precision=asked.precision, fast_math=asked.fast)
    functions = {"value": f, "forward": f.jvp(wrt, of), "reverse": f.vjp(wrt, of)}
    with suppress(AdError):   # of one number only
        functions["gradient"] = f.grad(wrt, of)
    limits = subscript_limits(program, sizes)
    inside = {p.name: limits[p.var] for p in program.params if p.var in limits}
    times, memory = dict[str, dict[str, float]](), dict[str, int]()
    for name, g in functions.items():
        kernel = native(g.program, precision=asked.precision, hasty=False, fast=asked.fast)
        at = values(asked, g.program, sizes, inside)
        times[name] = {str(jobs): best(partial(kernel, at, jobs=jobs), asked.seconds) * 1e6 for jobs in sorted({1, processors()})}
        memory[name] = max(plan.memory for plan in kernel.plans.values())
    return {**asked.figures(functions, {name: us["1"] for name, us in times.items()}, times), "sizes": sizes,
            "us_per_call": times, "memory_bytes": memory, "compile_ms": phases(asked, sizes, inside)}


def chosen(program: Program, given: Mapping[str, int]) -> dict[str, int]:
    """The sizes: those given, the others the usual one, or less where that does not fit."""
    fitting = FittingSizes(program, random.Random(0))
    unknown = sorted(set(given).difference(fitting.names))
    if unknown:
        names = ", ".join(fitting.names) or "none"
        raise AdError(f"--size {unknown[0]}={given[unknown[0]]}: no size '{unknown[0]}'", help=f"the sizes are {names}")
    fault = AdError("")
    for usual in range(USUAL_SIZE, SMALLEST - 1, -1):
        sizes = {**dict.fromkeys(fitting.names, usual), **given}
        try:
            fitting.make_equal(sizes, max(sizes.values(), default=1))
            sizes.update(given)
            require_fitting(program, sizes)
            return sizes
        except AdError as found:
            fault = found
    example = ",".join(f"{n}={USUAL_SIZE}" for n in fitting.names[:3])
    raise AdError(f"no sizes up to {USUAL_SIZE} are found that fit this program: {fault.message}", fault.span,
                  f"give the sizes: --size {example}", program.source)


def values(asked: Timing, program: Program, sizes: Mapping[str, int], limits: Mapping[str, int]) -> dict[str, Any]:
    """The inputs of a point, and others of these sizes, by the same rule as rows; square matrices have a heavy diagonal, and
    integers are subscripts that are inside."""
    r, found, code = np.random.default_rng(0), dict[str, Any](), PRECISIONS[asked.precision].code
    shapes = {p.name: tuple([number(x, sizes) for x in p.var.shape]) for p in program.params}
    require_room("a point of these sizes", 8 * sum(map(prod, shapes.values())), "give smaller ones: --size")
    for p in program.params:
        shape = shapes[p.name]
        if p.name in asked.point:
            found[p.name] = np.asarray(asked.point[p.name], None if p.var.integer else code)
        elif p.name in sizes:
            found[p.name] = np.int64(sizes[p.name])
        elif p.var.integer:
            low, high = (0, limits.get(p.name, 2) - 1) if p.low is None or p.high is None else (int(p.low), int(p.high))
            found[p.name] = r.integers(low, max(low, high) + 1, shape)
        else:
            x = asked.drawn(r, p, shape)
            heavy = p.low is None and len(shape) > 1 and shape[-1] == shape[-2]
            found[p.name] = (x + np.swapaxes(x, -1, -2)) / 2 + 2 * shape[-1] * np.eye(shape[-1]) if heavy else np.asarray(x)
            found[p.name] = found[p.name].astype(code)
    return found


def phases(asked: Timing, sizes: Mapping[str, int], inside: Mapping[str, int]) -> dict[str, float]:
    """Milliseconds from text to the callable adjoint for these sizes, phase by phase; LLVM in haste, and well."""
    from adcli.codegen.machine import veclib
    from adcli.codegen.modules.module import laid_out
    from adcli.codegen.modules.module_text import written
    from adcli.codegen.modules.runtime import TensorKernel
    from adcli.codegen.rows import jit
    from adcli.codegen.rows.compiled import linked
    from adcli.lang.lower.frontend import parse_source
    from adcli.lang.passes.pipeline import adjoint_program, evaluation_program
    found, real = dict[str, float](), PRECISIONS[asked.precision]
    program, found["parse"] = timed(lambda: parse_source(asked.source))
    derived, found["differentiate"] = timed(lambda: adjoint_program(program, asked.wrt, asked.of))
    module, found["lay out"] = timed(lambda: laid_out(evaluation_program(derived), veclib.lanes(real.bytes), veclib.host(),
                                                       precision=real, fast=asked.fast))
    kernel, at = TensorKernel(module, None), values(asked, derived, sizes, inside)
    plan, found["plan"] = timed(lambda: kernel.plan(kernel.key([at[p.name] for p in derived.params])))
    module, found["emit"] = timed(lambda: written(module, schedules=kernel.schedules(plan)))
    code, found["llvm in haste"] = timed(lambda: jit.object_code(module.text, level=HASTE[True]))
    _, found["llvm"] = timed(lambda: jit.object_code(module.text, level=HASTE[False]))
    _, found["link"] = timed(lambda: linked(code, module.entry))
    return {name: seconds * 1e3 for name, seconds in found.items()}


def report(figures: dict[str, Any], columns: int | None = None) -> str:
    """The figures for people."""
    threads = str(figures["threads"])
    rows = [("", "equations", "1 thread, us", "/ value", f"{threads} threads, us", "speed-up", "bytes between")]
    for name, us in figures["us_per_call"].items():
        ratio = f"{figures['over_value'][name]:.2f}" if name in figures["over_value"] else ""
        rows.append((name, str(figures["equations"][name]), f"{us['1']:.1f}", ratio, f"{us[threads]:.1f}",
                     f"{figures['speed_up'][name]:.2f}", f"{figures['memory_bytes'][name]:,}"))
    sizes = ", ".join(f"{name} = {n:,}" for name, n in figures["sizes"].items())
    return "\n".join([
        headline(figures), f"sizes: {sizes}" if sizes else "no sizes", "", *table(rows, "<>>>>>>", columns, "  "), "",
        f"compile    {', '.join(f'{k} {v:.1f}' for k, v in figures['compile_ms'].items())} ms, reverse", ""])
