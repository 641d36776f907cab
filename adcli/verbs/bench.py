"""The verb bench: what a program costs as value, gradient and Jacobian products, and where the time goes.

Times are the best of repeated runs on rows that fit into cache; they drift with the machine, so every figure that matters is a
ratio of two times of one run: the gradient beside the value, two threads beside one.
"""
from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from math import prod
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
import numpy as np

from adcli.api.function import Function
from adcli.codegen.machine.kernel import processors
from adcli.codegen.machine.memory import require_room
from adcli.command.options import (
    derivative_options,
    fast_math_option,
    format_option,
    option,
    output_option,
    precision_option,
    program_options,
    takes,
)
from adcli.command.usage import OTHER, WHERE, Command, WholeNumber
from adcli.input.points import one_point
from adcli.input.sampled_tensors import FittingSizes, require_fitting, subscript_limits
from adcli.input.settings import Options
from adcli.lang.ir import Program, has_tensors
from adcli.lang.ir.errors import AdError, plural
from adcli.lang.lower.frontend import parse_source
from adcli.lang.operations.precision import PRECISIONS
from adcli.lang.sizes.binding import bind, number
from adcli.output.streams import columns_of, packed_destination, say
from adcli.output.wrap import fitted, table
from adcli.task.native import HASTE, native

if TYPE_CHECKING:
    from adcli.codegen.machine.kernel import Kernel
    from adcli.lang.ir import Param
    from adcli.lang.ir.errors import Source

Made = TypeVar("Made")


def timed(work: Callable[[], Made]) -> tuple[Made, float]:
    """Result of a call, and the seconds it took."""
    start = time.perf_counter()
    made = work()
    return made, time.perf_counter() - start


def best(run: Callable[[], object], seconds: float) -> float:
    """The smallest time of a run in seconds."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


class Timing(NamedTuple):
    """Subject of a timing, and its settings."""

    source: Source
    wrt: list[str] | None
    of: list[str] | None
    seconds: float
    point: Mapping[str, Any]
    precision: str = "double"
    fast: bool = False

    def drawn(self, r: np.random.Generator, p: Param, shape: int | tuple[int, ...]) -> Any:
        """Numbers of an input: from its range, else from 0.5 to 1.5."""
        return r.uniform(*(0.5, 1.5) if p.low is None or p.high is None else (p.low, p.high), shape)

    def figures(self, functions: Mapping[str, Function], alone: Mapping[str, float],
                shared: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
        """The figures of any program: `alone` is what each mode takes on one thread, `shared` what it takes by threads."""
        f, threads = functions["value"], max(map(int, shared["value"]))
        return {"program": self.source.name, "precision": self.precision, "fast_math": self.fast,
                "inputs": len(f.inputs), "outputs": len(f.outputs), "threads": threads,
                "equations": {name: len(g.program.equations) for name, g in functions.items()},
                "over_value": {name: x / alone["value"] for name, x in alone.items() if name != "value"},
                "speed_up": {name: x["1"] / x[str(threads)] for name, x in shared.items()}}


def headline(figures: Mapping[str, Any]) -> str:
    """Headline of the figures."""
    single = ", in single precision" if figures["precision"] == "single" else ""
    fast = ", with --fast-math" if figures["fast_math"] else ""
    return f"{figures['program']}: {plural(figures['inputs'], 'input')}, {plural(figures['outputs'], 'output')}{single}{fast}"


BATCH = 16
"""Factor of the rows that are timed on several threads; a start of threads must not show."""
RUNS = 5
"""Processes of each kind whose start is timed, behind one that is not."""


@dataclass(frozen=True, kw_only=True)
class BenchOptions(Options):
    """Options of bench."""

    rows: int
    size: str | None
    seconds: float
    form: str
    precision: str | None
    fast_math: bool


@click.command("bench", cls=Command,
               examples=("adcli bench -e 'v = x*sin(y)' --rows 4096 --seconds 0.05",
                         "adcli bench -e 'v = x*sin(y)' --rows 64 --seconds 0.01 --format json"))
@program_options
@derivative_options
@option(WHERE, "--at", "at", multiple=True, metavar="POINT",
        help="The point to time at: x=2,y=5; A=@matrix.npy, which gives the sizes; @point.json (default: sampled).")
@option(OTHER, "--rows", type=WholeNumber(1, 100_000_000), default=1 << 15, metavar="N",
        help="Rows per timed call, of a program of numbers.")
@option(OTHER, "--size", metavar="N=1024,…", help="Sizes of tensors; 32 where none is given.")
@option(OTHER, "--seconds", type=click.FloatRange(0, 3600), default=0.5, metavar="S",
        help="Minimum seconds per measurement.")
@precision_option("What is computed in: double, the default, or single.")
@fast_math_option
@format_option(("text", "json"), "Format of the figures.")
@output_option
@takes(BenchOptions)
def command(options: BenchOptions) -> int:
    """Time of value, forward and reverse mode per row on one and on all threads, compile time by phase, both tiers, start-up.

    Rows are sampled from the declared ranges of the inputs, else from 0.5 to 1.5; all are the point of --at where one is given.
    With tensors it is the time of a call, at the sizes of --size or at the point.
    """
    if options.seconds != options.seconds:
        raise AdError("--seconds nan is no length of time", help="write --seconds 0.5")
    figures, told = figures_of(options)
    with packed_destination(options.output) as out:
        text = json.dumps(figures) + "\n" if options.form == "json" else told(figures, columns_of(options.output))
        out.write(text.encode())
    return 0


def figures_of(options: BenchOptions) -> tuple[dict[str, Any], Callable[[dict[str, Any], int | None], str]]:
    """The figures, and what writes them as text."""
    program = parse_source(options.source)
    numbers = not has_tensors(program)
    if options.size and numbers:
        raise AdError(f"--size {options.size}: a program of numbers has no sizes", help="give --rows")
    if options.size and options.at:
        raise AdError(f"--size {options.size}: the point of --at has its sizes", help="give one of the two")
    point = one_point(program.params, options.at, say, options.source, "the times are those of one point",
                      "give one number for each input: --at x=2,y=5") if options.at else {}
    asked = Timing(options.source, options.inputs, options.outputs, options.seconds, point, options.precision or "double",
                   options.fast_math)
    if numbers:
        return measured(asked, options.rows), report
    return tensors_measured(asked, program, sizes(options.size or "")), tensor_report


def sizes(text: str) -> dict[str, int]:
    """N=1024,M=16 as numbers."""
    found: dict[str, int] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, size = map(str.strip, part.partition("="))
        if not (size.isascii() and size.isdigit() and 0 < int(size) < 1 << 40) or name in found:
            raise AdError(f"--size {part}: expected a name, given once, and a whole number above 0", help="write --size N=1024")
        found[name] = int(size)
    return found


def measured(asked: Timing, rows: int) -> dict[str, Any]:
    """All figures: times in nanoseconds a row, phases and start-up in milliseconds. Inputs that the point lacks are sampled."""
    f, wrt, of = Function(parse_source(asked.source), precision=asked.precision, fast_math=asked.fast), asked.wrt, asked.of
    functions = {"value": f, "forward": f.jvp(wrt, of), "reverse": f.vjp(wrt, of), "gradient": f.grad(wrt, of)}
    many = BATCH * rows
    widest = max(len(g.inputs) + len(g.outputs) for g in functions.values())
    require_room(f"a batch of {BATCH} × {rows:,} rows", PRECISIONS[asked.precision].bytes * widest * many, "time fewer --rows")
    per_row = {name: best(call(asked, g, rows, 1), asked.seconds) / rows * 1e9 for name, g in functions.items()}
    batches = {name: {str(jobs): best(call(asked, g, many, jobs), asked.seconds) / many * 1e9
                      for jobs in sorted({1, processors()})} for name, g in functions.items()}
    return {**asked.figures(functions, per_row, batches), "rows": rows, "ns_per_row": per_row, "batch_rows": many,
            "batch_ns_per_row": batches, "tiers": tiers_beside(asked, functions["gradient"], rows), "compile_ms": phases(asked),
            "start_up_ms": start_up(asked, f.program)}


def sampled(asked: Timing, g: Function, rows: int) -> dict[str, Any]:
    """Columns of the inputs."""
    r, code = np.random.default_rng(0), PRECISIONS[g.precision].code
    return {p.name: np.full(rows, asked.point[p.name], code) if p.name in asked.point else asked.drawn(r, p, rows).astype(code)
            for p in g.program.params}


def call(asked: Timing, g: Function, rows: int, jobs: int) -> Callable[[], object]:
    """A call on sampled rows into arrays that are there already, of compiled code however long it takes to make."""
    from adcli.codegen.rows.tiers import TieredKernel
    kernel = g.kernel()
    if isinstance(kernel, TieredKernel):
        kernel.succession.rise()
    at = sampled(asked, g, rows)
    result = g(at, jobs=jobs)
    return lambda: g(at, jobs=jobs, out=result)


def tiers_beside(asked: Timing, g: Function, rows: int) -> dict[str, dict[str, float]]:
    """Both tiers of code: milliseconds until it is there, nanoseconds a row, and a row and equation, microseconds a single point.
    The tape's are without the milliseconds of its interpreter, which are there once."""
    from adcli.codegen.machine import veclib
    from adcli.codegen.rows.expand import for_machine
    from adcli.codegen.rows.tiers import interpreter, made_interpreter, native
    code = PRECISIONS[g.precision].code
    interpreter(None, code)
    program = for_machine(g.program)
    columns, figures = list(sampled(asked, g, rows).values()), dict[str, dict[str, float]]()
    for tier in ("compiled", "tape"):
        kernel, made = timed(partial(native, program, tier, precision=g.precision, fast=g.fast_math and tier == "compiled"))
        single, row = (best(on_rows(kernel, columns, n), asked.seconds) / n for n in (1, rows))
        figures[tier] = {"made_ms": made * 1e3, "us_per_point": single * 1e6, "ns_per_row": row * 1e9,
                         "ns_per_row_and_equation": row / max(1, len(program.equations)) * 1e9}
    lanes = veclib.lanes(PRECISIONS[g.precision].bytes)
    figures["tape"]["interpreter_ms"] = timed(lambda: made_interpreter(lanes, code))[1] * 1e3
    return figures


def on_rows(kernel: Kernel, columns: Sequence[np.ndarray], rows: int) -> Callable[[], object]:
    """A call of a kernel on the first rows of columns."""
    from adcli.codegen.machine.arrays import run_arrays
    given = [c[:rows] for c in columns]
    out = run_arrays(kernel, given, rows)
    return lambda: run_arrays(kernel, given, rows, out)


def phases(asked: Timing) -> dict[str, float]:
    """Milliseconds from text to callable gradient, phase by phase. Here each ends before the next begins; otherwise LLVM compiles
    the first texts of a long program while the next are emitted, and all processors take part in both."""
    from adcli.codegen.machine import veclib
    from adcli.codegen.rows import jit
    from adcli.codegen.rows.compiled import kernel_texts
    from adcli.codegen.rows.expand import for_machine
    from adcli.lang.derive.derivatives import gradient
    found, real = dict[str, float](), PRECISIONS[asked.precision]
    program, found["parse"] = timed(lambda: parse_source(asked.source))
    derived, found["differentiate"] = timed(lambda: gradient(program, asked.wrt, asked.of))
    expanded, found["expand"] = timed(lambda: for_machine(derived))
    (kernel, texts), found["emit"] = timed(lambda: (k := kernel_texts(expanded, veclib.lanes(real.bytes), veclib.host(),
                                                                      asked.fast, real), tuple(k.texts)))
    code, found["llvm"] = timed(lambda: jit.object_codes(texts, kernel.level))
    _, found["link"] = timed(lambda: jit.link(code, kernel.entry))
    return {name: seconds * 1e3 for name, seconds in found.items()}


def start_up(asked: Timing, program: Program) -> dict[str, float]:
    """Milliseconds of whole processes that compute one gradient, median of five: from the cache, and compiling. (-P: no
    module of the folder one is in is imported.)"""
    r = random.Random(0)
    sampled = {p.name: r.uniform(0.5, 1.5) if p.low is None or p.high is None else p.low for p in program.params}
    at = ",".join(f"{name}={x!r}" for name, x in {**sampled, **asked.point}.items())
    command = [sys.executable, "-P", "-c", "from adcli.main import main; main()", "grad", "-", "--precision",
               asked.precision, *(["--fast-math"] if asked.fast else []), *(["--at", at] if at else [])]
    found = {}
    for name, more in (("warm", []), ("cold", ["--no-cache"])):
        times: list[float] = []
        for _ in range(RUNS + 1):
            start = time.perf_counter()
            subprocess.run([*command, *more], input=asked.source.text.encode(), capture_output=True, check=True)
            times.append(time.perf_counter() - start)
        found[name] = median(times[1:]) * 1e3
    return found


PER_ROW, TIERS = (10, 9, 9, 8, 9, 10, 9), (10, 9, 9, 9, 10)
"""Columns of the tables at least."""


def report(figures: dict[str, Any], columns: int | None = None) -> str:
    """The figures for people; in so many columns."""
    threads = figures["threads"]
    modes = [("", "equations", "ns/row", "/ value", "1 thread", f"{threads} threads", "speed-up")]
    for name, ns in figures["ns_per_row"].items():
        ratio = f"{figures['over_value'][name]:.2f}" if name in figures["over_value"] else ""
        batch = figures["batch_ns_per_row"][name]
        modes.append((name, str(figures["equations"][name]), f"{ns:.2f}", ratio, f"{batch['1']:.2f}",
                      f"{batch[str(threads)]:.2f}", f"{figures['speed_up'][name]:.2f}"))
    tiers = [("gradient", "made, ms", "us/point", "ns/row", "/ equation")]
    for tier, found in figures["tiers"].items():
        tiers.append((tier, f"{found['made_ms']:.1f}", f"{found['us_per_point']:.2f}", f"{found['ns_per_row']:.2f}",
                      f"{found['ns_per_row_and_equation']:.3f}"))
    shown = {kind: ", ".join(f"{k} {v:.1f}" for k, v in figures[kind].items()) for kind in ("compile_ms", "start_up_ms")}
    return fitted("\n".join([
        headline(figures),
        f"ns/row: {figures['rows']} rows per call on one thread, then {figures['batch_rows']} on 1 and {threads} threads",
        "", *table(modes, "<>>>>>>", columns, " ", PER_ROW), "", *table(tiers, "<>>>>", columns, " ", TIERS), "",
        f"compile    {shown['compile_ms']} ms",
        f"interpreter {figures['tiers']['tape']['interpreter_ms']:.1f} ms, once for all tapes",
        f"start-up   {shown['start_up_ms']} ms", ""]), columns)


# ---------------------------------------------------------------- programs with tensors

USUAL_SIZE, SMALLEST = 32, 4
"""The sizes that are taken where none is given, and the least that are tried where these do not fit."""


def tensors_measured(asked: Timing, program: Program, given: Mapping[str, int]) -> dict[str, Any]:
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
        at = drawn_values(asked, g.program, sizes, inside)
        times[name] = {str(jobs): best(partial(kernel, at, jobs=jobs), asked.seconds) * 1e6 for jobs in sorted({1, processors()})}
        memory[name] = max(plan.memory for plan in kernel.plans.values())
    return {**asked.figures(functions, {name: us["1"] for name, us in times.items()}, times), "sizes": sizes,
            "us_per_call": times, "memory_bytes": memory, "compile_ms": tensor_phases(asked, sizes, inside)}


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


def drawn_values(asked: Timing, program: Program, sizes: Mapping[str, int], limits: Mapping[str, int]) -> dict[str, Any]:
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


def tensor_phases(asked: Timing, sizes: Mapping[str, int], inside: Mapping[str, int]) -> dict[str, float]:
    """Milliseconds from text to the callable adjoint for these sizes, phase by phase; LLVM in haste, and well."""
    from adcli.codegen.machine import veclib
    from adcli.codegen.modules.module import laid_out, written
    from adcli.codegen.modules.runtime import TensorKernel
    from adcli.codegen.rows import jit
    from adcli.codegen.rows.compiled import linked
    from adcli.lang.passes.pipeline import adjoint_program, evaluation_program
    found, real = dict[str, float](), PRECISIONS[asked.precision]
    program, found["parse"] = timed(lambda: parse_source(asked.source))
    derived, found["differentiate"] = timed(lambda: adjoint_program(program, asked.wrt, asked.of))
    module, found["lay out"] = timed(lambda: laid_out(evaluation_program(derived), veclib.lanes(real.bytes), veclib.host(),
                                                       precision=real, fast=asked.fast))
    kernel, at = TensorKernel(module, None), drawn_values(asked, derived, sizes, inside)
    plan, found["plan"] = timed(lambda: kernel.plan(kernel.key([at[p.name] for p in derived.params])))
    module, found["emit"] = timed(lambda: written(module, schedules=kernel.schedules(plan)))
    code, found["llvm in haste"] = timed(lambda: jit.object_code(module.text, level=HASTE[True]))
    _, found["llvm"] = timed(lambda: jit.object_code(module.text, level=HASTE[False]))
    _, found["link"] = timed(lambda: linked(code, module.entry))
    return {name: seconds * 1e3 for name, seconds in found.items()}


def tensor_report(figures: dict[str, Any], columns: int | None = None) -> str:
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
