"""A task evaluated at points by native code, one Row a point; and its seeds, --tangent x=1,y=0 and --cotangent v=1."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from adcli.codegen.machine.kernel import run
from adcli.input.nested import arrays_of
from adcli.input.points import axes, complete, named_values, no_value, ranks
from adcli.lang.ir import Param, Program, Result, Values, Var
from adcli.lang.ir.errors import AdError, Unfit
from adcli.lang.ir.names import composed
from adcli.lang.operations.precision import PRECISIONS, SINGLE, Precision
from adcli.output.layout import Row
from adcli.task.tasks import Task

if TYPE_CHECKING:
    from adcli.task.derive import ShortProgram

Remark = Callable[[object], object]
"""Sink of notes."""
POINTS_AT_ONCE = 4096
"""Points that are computed and written at a time, at most."""
NUMBERS_AT_ONCE = 1 << 19
"""Numbers of these points: programs with many results have fewer points at a time, so that memory depends on neither."""


def points_at_once(numbers: int, most: int) -> int:
    """Number of points, or rows, of so many numbers that form a block."""
    return max(1, min(most, NUMBERS_AT_ONCE // max(1, numbers)))


def evaluate(task: Task, at: Iterable[dict[str, Any]], jobs: int | None = None, remark: Remark | None = None) -> Iterator[Row]:
    """The results at every point; `at` has the inputs without the seeds, and `remark` hears of what takes long."""
    return one_by_one(task, at, jobs, remark) if task.signature.tensors else in_blocks(task, at)


def in_blocks(task: Task, at: Iterable[dict[str, float]]) -> Iterator[Row]:
    """Points of scalars, block by block; the first blocks are small, so that results come soon."""
    kernel, inputs = task.kernel, [p.name for p in task.signature.inputs]
    at, most = iter(at), points_at_once(len(inputs) + len(task.signature.results), POINTS_AT_ONCE)
    size = min(64, most)
    while block := list(islice(at, size)):
        full = [{**point, **task.seeds} for point in block] if task.seeds else block
        columns = [[point[name] for point in full] for name in inputs]
        if task.request.precision == "single":
            require_singles(dict(zip(inputs, columns, strict=True)))
        *results, levels = run(kernel, columns, rows=len(block))
        for point, level, *values in zip(full, levels, *results, strict=True):
            yield Row(point, values, int(level))
        size = min(2 * size, most)


def require_singles(columns: Mapping[str, Iterable[float]]) -> None:
    """AdError where a number of a point is too large for single precision."""
    for name, column in columns.items():
        if (large := next((x for x in column if not SINGLE.holds(x)), None)) is not None:
            raise AdError(f"{name}={large!r} is too large for a number of single precision",
                          help="use double precision, the default; infinity is written inf")


def rounded_point(at: Values, precision: Precision) -> dict[str, Any]:
    """A point in numbers of a precision; integers are as they are. AdError where a number is too large for it."""
    if precision.name == "double":
        return dict(at)
    found: dict[str, Any] = {}
    for name, x in at.items():
        if isinstance(x, int | float):
            require_singles({name: [x] if isinstance(x, float) else ()})
            found[name] = precision.rounded(x) if isinstance(x, float) else x
            continue
        import numpy as np  # start-up: points of numbers do without
        array = np.asarray(x)
        whole = array.dtype.kind in "iu"
        require_singles({name: () if whole else array.ravel().tolist()})
        found[name] = array if whole else array.astype(precision.code).astype(np.float64)
    return found


def one_by_one(task: Task, at: Iterable[dict[str, Any]], jobs: int | None, remark: Remark | None) -> Iterator[Row]:
    """Points with tensors: by code from the cache with its plan, as long as that is for them, then in the ordinary way."""
    from adcli.task.replays import Unplanned, keep, replayed
    replay, compute, remark = None, None, each_once(remark)
    for k, point in enumerate(at):
        replay = replay if k else replayed(task, point)
        try:
            if replay is not None:
                with unfit_where_refused():
                    found, level = TensorEvaluator(replay, replay.results, jobs, remark)(replay.filled(point, task.seeds))
        except Unplanned:
            replay = None
        if replay is None:
            full = complete_point(task, arrays_of(point))
            compute = compute or computation(task, jobs, remark)
            with unfit_where_refused():
                found, level = compute(full)
            if k == 0:
                keep(task, point, compute.kernel)
        yield Row({**point, **task.seeds}, found, level)


def each_once(remark: Remark | None) -> Remark | None:
    """Sink of notes that drops repeated ones: a run that is made again in the ordinary way has the same to say before it
    begins."""
    said = list[object]()

    def hear(note: object) -> None:
        if remark is not None and note not in said:
            said.append(note)
            remark(note)

    return remark and hear


def complete_point(task: Task, point: dict[str, Any], program: Program | None = None) -> dict[str, Any]:
    """A point with its seeds, of shapes that fit the program, that of the task if no other."""
    from adcli.input.arrays import filled, fitting
    return filled(program or task.program, point, task.seeds) if task.seeds else fitting(task.primal, point)


@contextmanager
def unfit_where_refused() -> Iterator[None]:
    """A fault that a point gives rise to is one of the point."""
    try:
        yield
    except AdError as fault:
        raise Unfit(fault.message, fault.span, fault.help, fault.source, fault.more) from None


class TensorEvaluator:
    """The results of a derivative with tensors at a complete point, scalars as floats, and the status, whose name is the last."""

    def __init__(self, kernel: Any, names: Sequence[str], jobs: int | None, remark: Remark | None) -> None:
        self.kernel, self.jobs = kernel, jobs
        *self.names, self.word = names
        kernel.remark = remark

    def __call__(self, point: dict[str, Any]) -> tuple[list[Any], int]:
        found = self.kernel(point, jobs=self.jobs)
        return [x if (x := found[name]).ndim else x.tolist() for name in self.names], int(found[self.word].tolist())


def computation(task: Task, jobs: int | None, remark: Remark | None) -> TensorEvaluator:
    """The results of a task with tensors as a function of a complete point."""
    return callable_program(task, without_zeros(task), task.derivation.wrt, jobs, remark, task.short)


def without_zeros(task: Task) -> Program:
    """The program without what its zero seeds would have caused."""
    from adcli.input.arrays import is_zero
    present = {name: float(not is_zero(x)) for name, x in task.seeds.items()}
    if all(present.values()):
        return task.program
    return task.derivation.along(task.request, present).program


def callable_program(task: Task, program: Program, wrt: Sequence[str], jobs: int | None, remark: Remark | None,
                     short: ShortProgram | None = None) -> TensorEvaluator:
    """The results of a derivative, and the status; with the steps of loops that are taken, as a `short` one has them."""
    from adcli.lang.passes.status import with_status
    from adcli.task.native import native, with_steps
    store = task.slot.store if task.slot else task.store
    code = partial(native, store=store, precision=task.request.precision, hasty=task.tier == "auto", fast=task.request.fast)
    whole = with_status(program, task.primal, wrt)
    names = [r.name for r in whole.results]
    if short is None:
        return TensorEvaluator(code(whole), names, jobs, remark)
    shorter = replace(task, worked=short.worked)
    few = with_status(without_zeros(shorter), shorter.primal, wrt)
    return TensorEvaluator(with_steps(short.counted, whole, few, code), names, jobs, remark)


def all_values(program: Program, at: Values, precision: str = "double") -> dict[Var, Any]:
    """Every variable, as an array or a number, computed in a precision; truth values are those of numbers. AdError where there is
    not memory enough."""
    import numpy as np

    from adcli.lang.evaluate import read, rounded_arithmetic
    from adcli.task.native import native
    computed = {f"r{i}": o for i, o in enumerate(o for e in program.equations for o in e.outs if not o.truth)}
    kernel = native(replace(program, results=tuple([Result(name, o) for name, o in computed.items()])), precision=precision)
    found = kernel({name: np.asarray(x) for name, x in at.items()})
    values: dict[Var, Any] = {**{p.var: at[p.name] for p in program.params}, **{o: found[name] for name, o in computed.items()}}
    arithmetic = rounded_arithmetic(PRECISIONS[precision])
    for e in program.equations:
        if e.op.truth:
            values[e.outs[0]] = bool(arithmetic.apply(e.op, [read(values, a, arithmetic) for a in e.args], e.args))
    return values


def all_derivatives(program: Program, at: Values, wrt: Sequence[str], seeds: Values, reverse: bool,
                    precision: str = "double") -> dict[Var, Any]:
    """The tangents of all values along a direction in the inputs `wrt`; or in `reverse` their adjoints, for weights of outputs,
    but for what a loop over steps computes: its adjoints are those of every step. `seeds` are these by name, arrays or numbers
    for all elements; what no derivative reaches has none."""
    import numpy as np

    from adcli.input.arrays import filled
    from adcli.lang.modes.forward import jvp_with_sweep
    from adcli.lang.modes.reverse import vjp_with_sweep
    from adcli.lang.operations.recurrence import loops  # none in a warm run of numbers
    from adcli.task.native import native
    derived, sweep = vjp_with_sweep(program, wrt, list(seeds)) if reverse else jvp_with_sweep(program, wrt)
    inside = {o for e in loops(program.equations) if reverse for o in e.outs}
    known = [v for v in sweep.terms if isinstance(v, Var) and not v.integer and v not in inside]
    results = {f"r{i}": v for i, v in enumerate(known)}
    derivatives = tuple([Result(name, sweep.derivative(v)) for name, v in results.items()])
    whole = replace(derived, equations=tuple(sweep.b.equations), results=derivatives)
    given = {p.name: seeds[p.seed] for p in whole.params if p.seed}
    found = native(whole, precision=precision)(filled(whole, {name: np.asarray(x) for name, x in at.items()}, given))
    return {v: found[name] for name, v in results.items()}


# ---------------------------------------------------------------- seeds

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
    return directions(spec, kind, ranks([p for p in params if p.seed]))


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


def components(spec: str) -> dict[str, str]:
    """The components of a --tangent as they are written, before anything is known of the inputs."""
    given: dict[str, str] = {}
    for part in named_values(spec, {}, "--tangent"):
        name, equals, text = (s.strip() for s in part.partition("="))
        if not equals:
            raise AdError(f"'{part}' is not name=value", help=no_value(part, {}, "--tangent"))
        if (name := composed(name)) in given:
            raise AdError(f"--tangent: '{name}' is given twice")
        given[name] = text
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
    for p in (p for p in task.signature.seeds if p.var.shape):
        from adcli.input.arrays import is_zero  # start-up: only for tensors
        if not is_zero(seeds[p.name]):
            raise AdError(f"--{kind} {p.seed}: a program cannot have a tensor as a constant",
                          help=f"leave out --{kind}: the program then has the input {p.name}")
    return {p.name: 0.0 if p.var.shape else float(seeds[p.name]) for p in task.signature.seeds}
