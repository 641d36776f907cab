"""Calls of a program with arguments of Python: arrays of real numbers that broadcast, and arrays for the results."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adcli.codegen.builtins.direct import Quick, never, with_arrays
from adcli.codegen.machine.arrays import Overlap, compute, empty_columns
from adcli.codegen.machine.kernel import Kernel
from adcli.codegen.machine.memory import UNASKED_BYTES, require_room
from adcli.codegen.machine.workers import PROBE
from adcli.input.points import EXACT
from adcli.lang.ir import Program, Values
from adcli.lang.ir.errors import AdError, nearest
from adcli.lang.operations.precision import FIRST_TOO_LARGE

if TYPE_CHECKING:
    from adcli.codegen.modules.runtime import TensorKernel

DOUBLE, WHOLE = np.dtype(np.float64), np.dtype(np.int64)
FEW_ROWS = 256
"""Rows up to which each result has memory of its own, as their places do not matter."""
MOST_ROWS = 1 << 16
"""Rows up to which the time of a call itself matters."""


def on_arrays(kernel: Kernel, inputs: Sequence[str], outputs: Sequence[str], values: Sequence[Any],
              out: Mapping[str, np.ndarray] | None, jobs: int | None) -> dict[str, Any]:
    """The results of a kernel by name: arrays of the shape that the values broadcast to, floats where that is ()."""
    real = np.dtype(kernel.entry.code)
    arrays = real_arrays(inputs, values, real)
    shape = common_shape(inputs, arrays)
    rows, flat = math.prod(shape), len(shape) == 1
    spread = sum(a.shape != shape for a in arrays)
    if (size := real.itemsize * rows * (spread + (len(outputs) if out is None else 0))) > UNASKED_BYTES:
        require_room(f"a result of {len(outputs):,} × {rows:,} numbers", size)
    if out is None:
        columns = empty_columns(len(outputs), rows, real.char)
        targets = columns if flat else [c.reshape(shape) for c in columns]
    else:
        targets = out_arrays(out, outputs, shape, real)
        columns = [*targets] if flat else [t.reshape(-1) for t in targets]   # held twice, NumPy lets no other thread resize them
    try:
        compute(kernel, [raveled(a, shape) for a in arrays], columns, rows, jobs, new=out is None)
    except Overlap as error:
        raise AdError(f"out['{outputs[error.index]}'] overlaps another result") from None
    if out is None and not shape:
        return {name: float(t) for name, t in zip(outputs, targets, strict=True)}
    return dict(zip(outputs, targets, strict=True))


def direct_arrays(columns: Quick, inputs: Sequence[str], outputs: Sequence[str], defaults: Mapping[str, float],
                  code: str) -> Quick:
    """Fast call for arrays of one shape and numbers, by the builtin `columns`; None for anything else, also for so
    many rows that threads may be worth it or memory be too little."""
    if columns is never or not with_arrays(code):
        return never
    real = np.dtype(code)
    name, empty = inputs[0] if inputs else None, np.empty
    unasked = UNASKED_BYTES // (8 * (len(inputs) + len(outputs)) or 1)
    most, probed = min(MOST_ROWS, unasked), min(PROBE, unasked)

    def quick(given: Any, out: Any, jobs: object) -> dict[str, np.ndarray] | None:
        if type(given) is not dict or (jobs is not None and (type(jobs) is not int or jobs < 1)):
            return None
        first = given.get(name)
        if type(first) is not np.ndarray:
            first = next((x for x in given.values() if type(x) is np.ndarray), None)
        if first is None or not first.ndim or first.size > (most if jobs == 1 else probed):
            return None
        shape = first.shape
        targets: tuple[dict[str, Any], bool]
        if out is None:
            targets = new(shape)
        elif type(out) is dict and len(out) == len(outputs):
            targets = {name: out.get(name) for name in outputs}, False
        else:
            return None
        if (found := columns(given, *targets)) is None and (wider := spread(given, shape)) is not None:
            found = columns(wider, *targets)
        return found

    def new(shape: tuple[int, ...]) -> tuple[dict[str, np.ndarray], bool]:
        if (rows := math.prod(shape)) <= FEW_ROWS:
            return {name: empty(shape, real) for name in outputs}, True
        made = empty_columns(len(outputs), rows, real.char)
        return dict(zip(outputs, made if len(shape) == 1 else [c.reshape(shape) for c in made], strict=True)), True

    spread = filling(defaults, real)
    return quick


def filling(defaults: Mapping[str, float], real: np.dtype) -> Callable[[dict[str, Any], tuple[int, ...]], dict[str, Any] | None]:
    """Function that makes arrays where there are numbers; None where there are none, or something else."""
    single, empty = real.char == "f", np.empty

    def spread(given: dict[str, Any], shape: tuple[int, ...]) -> dict[str, Any] | None:
        found, numbers = {**defaults, **given}, 0
        for name, x in found.items():
            kind = type(x)
            if kind is float or kind is np.float64 or kind is real.type or (kind is int and -EXACT < x < EXACT):
                if single and kind is not real.type and abs(x) >= FIRST_TOO_LARGE:
                    return None
                found[name] = column = empty(shape, real)
                column.fill(x)
                numbers += 1
            elif kind is not np.ndarray or x.dtype is not real or x.shape != shape:
                return None
        return found if numbers else None

    return spread


def on_tensors(kernel: TensorKernel, program: Program, values: Sequence[Any], out: Mapping[str, np.ndarray] | None,
               jobs: int | None) -> dict[str, Any]:
    """The results of a program with tensors by name: arrays of their shapes, floats where they are scalars. A number fills a
    tensor that is a direction or a weight."""
    given, real, short = {}, kernel.real, False
    if any(p.seed and p.var.shape and np.ndim(v) == 0 for p, v in zip(program.params, values, strict=True)):
        values = with_filled_seeds(program, values)
    for p, v in zip(program.params, values, strict=True):
        number = type(v) is float and not p.var.integer
        if not number and (type(v) is not np.ndarray or v.dtype is not (WHOLE if p.var.integer else real)):
            from adcli.input.arrays import conformed
            v = conformed(p, v, real=real)
            short = short or not v.size
        given[p.name] = v
    if short:
        from adcli.input.arrays import of_all_dimensions
        given = of_all_dimensions(program, given)
    targets = {} if out is None else tensor_targets(out, [r.name for r in program.results], real)
    found = kernel(given, targets or None, jobs)
    return {r.name: x if (x := found[r.name]).ndim or r.name in targets else float(x) for r in program.results}


def with_filled_seeds(program: Program, values: Sequence[Any]) -> list[Any]:
    """The values of all inputs, with numbers that stand for directions and weights as tensors."""
    from adcli.input.arrays import conformed, filled
    given = {p.name: v for p, v in zip(program.params, values, strict=True)}
    seeds = {p.name: real_array(p.name, given[p.name]) for p in program.params if p.seed}
    whole = filled(program, {p.name: conformed(p, given[p.name]) for p in program.params if not p.seed}, seeds)
    return [whole[p.name] if p.seed and p.var.shape else v for p, v in zip(program.params, values, strict=True)]


def tensor_targets(out: Values, names: Sequence[str], real: np.dtype) -> dict[str, np.ndarray]:
    """The arrays that results are to be computed into; the floats of an earlier result are none, and are made anew."""
    refuse_unknown(out, names)
    targets = {name: target for name, target in out.items() if isinstance(target, np.ndarray)}
    for name, target in targets.items():
        if target.dtype != real or not target.flags.writeable:
            raise AdError(f"out['{name}'] must be a writeable {real} array")
    if len(targets) < len(out):
        for name, other in out.items():
            if name not in targets and not isinstance(other, float):
                raise AdError(f"out['{name}'] is not an array")
    return targets


def real_arrays(names: Sequence[str], values: Sequence[Any], real: np.dtype = DOUBLE) -> list[np.ndarray]:
    """The values as arrays of a precision; AdError where one is not real numbers."""
    return [v if type(v) is np.ndarray and v.dtype is real else real_array(f"input '{name}'", v, real)
            for name, v in zip(names, values, strict=True)]


def real_array(what: str, value: Any, real: np.dtype = DOUBLE) -> np.ndarray:
    """The value as an array of a precision, `what` it is in messages. AdError where it is not real numbers of it."""
    if type(value) not in (float, int, np.ndarray):
        from adcli.input.arrays import refuse_missing
        refuse_missing(what, value)
    try:
        array = np.asarray(value)
    except Exception as error:   # an object says in its own way that it is no array
        from adcli.input.arrays import no_array
        raise no_array(what, value, error) from None
    if array.dtype == object and type(value) is int:   # of more than 64 bits
        try:
            array = np.asarray(float(value))
        except OverflowError:
            raise AdError(f"{what} is too large for {'double' if real == DOUBLE else 'single'} precision") from None
    if array.dtype.kind not in "fiub":
        found = f"an array of {array.dtype}" if array.ndim else type(value).__name__
        raise AdError(f"{what} must be real numbers, not {found}")
    try:
        with np.errstate(over="raise"):
            return array.astype(real, copy=False)
    except FloatingPointError:
        raise AdError(f"{what} is too large for single precision", help="leave out precision='single'") from None


def one_number(name: str, value: Any) -> float:
    """The value of an input that is one number."""
    array = real_array(f"input '{name}'", value)
    if array.ndim:
        raise AdError(f"input '{name}' must be one number, not an array")
    return float(array)


def common_shape(names: Sequence[str], arrays: Sequence[np.ndarray]) -> tuple[int, ...]:
    """The shape that all arrays broadcast to. AdError where there is none."""
    shapes = {a.shape for a in arrays}
    if len(shapes) == 1:
        return shapes.pop()
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        different = ", ".join(f"{name} {a.shape}" for name, a in zip(names, arrays, strict=True) if a.ndim)
        raise AdError(f"the shapes of the inputs do not broadcast: {different}") from None


def raveled(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The array as a contiguous column of the common shape, itself where it is one already."""
    if array.shape != shape:
        array = np.broadcast_to(array, shape)
    flags = array.flags
    if not (flags.c_contiguous and flags.aligned):
        array = array.copy(order="C")
    return array if array.ndim == 1 else array.reshape(-1)


def refuse_unnamed(out: object) -> None:
    if type(out) is not dict and not isinstance(out, Mapping):
        raise AdError("out= must be a dictionary of arrays, such as a call returns",
                      help="for an input called out, write f({'out': 2.0})")


def refuse_unknown(out: Values, names: Sequence[str]) -> None:
    refuse_unnamed(out)
    for name in out:
        if name not in names:
            raise AdError(f"out has '{name}', which is not an output", help=nearest(str(name), names))


def out_arrays(out: Mapping[str, np.ndarray], names: Sequence[str], shape: tuple[int, ...], real: np.dtype) -> list[np.ndarray]:
    """The arrays that the results are to be computed into; AdError where one does not fit."""
    refuse_unknown(out, names)
    found = [out.get(name) for name in names]
    for name, array in zip(names, found, strict=True):
        if not (isinstance(array, np.ndarray) and array.dtype == real and array.shape == shape and array.flags.carray):
            raise AdError(f"out['{name}'] must be a writeable contiguous {real} array of shape {shape}")
    return [array for array in found if array is not None]

