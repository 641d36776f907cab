"""Operations on matrices from compiled code: a step calls back, and NumPy's LAPACK computes them where the tensors lie.

The compiled step calls the function whose address is in a cell of `env`, with the number of the step. Everything else
is found in `env`: the sizes, of which the step of a loop is one, and the addresses of the tensors. What the operation means is
said in `adcli.lang.evaluate.matrix_operations`, so the numbers are those of the reference.
"""
from __future__ import annotations

import ctypes
from collections.abc import Generator, Mapping, Sequence
from math import inf, prod
from typing import TYPE_CHECKING, Any

import numpy as np
from adcli.codegen.llvm_ir.frames import FunctionWriter
from adcli.lang.evaluate import FLOAT
from adcli.lang.evaluate.decompositions import SMALL_EXPONENT
from adcli.lang.evaluate.matrix_operations import in_doubles, written_matrices
from adcli.lang.evaluate.small_matrices import SMALL
from adcli.lang.ir import Equation, Var
from adcli.lang.ir.affine import Affine, value
from adcli.lang.operations.matrix import FACTORED, SEARCH, MatrixOperation, matrix_extent, operand_shape, trailing
from adcli.lang.sizes.binding import number

if TYPE_CHECKING:
    from adcli.codegen.loops.addresses import Environment

CALLED, OWN = 0, 1
"""Choices of a step."""
CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_int64)
FAILED = -1
"""The flag of a call that raised an error."""


class MatrixCaller:
    """Callbacks of compiled code. The address of a function for one `env` goes into its cell for that."""

    def __init__(self, equations: Mapping[int, tuple[Equation, bool]], env: Environment, cell: int) -> None:
        self.equations, self.env, self.cell = equations, env, cell
        self.faults: dict[int, BaseException] = {}

    def functions(self, cells: Any) -> object:
        """Put the function for an `env` into it; what must live as long as that."""
        steps = self.steps(cells)
        next(steps)
        function = CALLBACK(steps.send)
        cells[self.cell] = ctypes.cast(function, ctypes.c_void_p).value or 0
        return function

    def steps(self, cells: Any) -> Generator[None, int, None]:
        """Compute one step after another. An error ends that, and is kept until the call of the compiled code is over; so is the
        exception of a signal's handler, which Python raises where it goes on: at the start of a function nobody catches it."""
        address, flag, faults = ctypes.addressof(cells), self.env.flag, self.faults
        try:
            while True:
                self.compute(cells, *self.equations[(yield)])
        except GeneratorExit:
            return
        except BaseException as error:   # none may pass through compiled code
            cells[flag] = FAILED
            faults[address] = error
        yield

    def fault(self, env: Any) -> BaseException:
        """The error of a call that has failed."""
        return self.faults.pop(ctypes.addressof(env))

    def compute(self, cells: Any, e: Equation[MatrixOperation], stays: bool) -> None:
        op = e.op
        sizes: dict[Any, int] = {name: cells[at] for name, at in self.env.sizes.items()}
        args = [self.tensor(cells, a, sizes) for a in e.args if isinstance(a, Var)]
        out = self.tensor(cells, e.outs[0], sizes)
        if not op.ranges and not op.guards and all(isinstance(s, Affine) for r in (*op.sources, op) for s in subscripts(r)):
            operands = [args[s.arg][tuple([value(x, sizes) for x in s.subscripts if isinstance(x, Affine)])] for s in op.sources]
            at = tuple([value(x, sizes) for x in op.write if isinstance(x, Affine)])
            if at and not stays:
                out[...] = 0.0
            out[at] = in_doubles(op, *[x[None] for x in operands])[0]
            return
        if not stays:
            out[...] = 0.0
        written_matrices(e, op, out, args, sizes, FLOAT)

    def tensor(self, cells: Any, v: Var, sizes: Mapping[Any, int]) -> np.ndarray:
        """A tensor where it lies."""
        shape = tuple([value(x, sizes) for x in v.shape])
        kind = np.dtype(np.int64 if v.integer else self.env.precision.code)
        place = cells[self.env.tensors[v]]
        if not prod(shape):
            return np.empty(shape, kind)
        memory: Any = (ctypes.c_char * (kind.itemsize * prod(shape))).from_address(place)
        return np.ndarray(shape, kind, memory)


def subscripts(x: Any) -> Sequence[object]:
    return x.write if isinstance(x, MatrixOperation) else x.subscripts


def costs(e: Equation[MatrixOperation], sizes: Mapping[str, int]) -> list[float]:
    """About how many instructions an operation takes, by a callback and in code of its own; that is for matrices of `SMALL` rows.
    LAPACK computes four numbers at once."""
    op = e.op
    n = number(matrix_extent(e), sizes)
    columns = [number(x, sizes) for x in trailing(e)[1:]]
    points = float(prod([max(number(r.high, sizes) - number(r.low, sizes), 0) for r in op.ranges]))
    if op.name == "expm" and n <= SMALL_EXPONENT:
        return [inf, points * (10 * n**3 + 20)]
    if op.name in FACTORED:
        rows = prod([number(x, sizes) for x in operand_shape(e)[:-1]])
        return [points * (10 * rows * n * n + 1000), inf]
    if op.name == SEARCH:
        return [inf, points * 4 * n.bit_length()]
    products = n * n * (n / 3 + prod(columns))
    return [inf if n <= SMALL else points * (products / 4 + 1000), points * (products + 20) if n <= SMALL else inf]


def called(env: Environment, cell: int, step: int) -> FunctionWriter:
    """The function of a step that calls back, into code that has arithmetic as everybody's; not after one that has failed."""
    f = FunctionWriter({})
    flag = f.put(f"load i64, ptr {f.put(f'getelementptr i64, ptr %env, i64 {env.flag}')}")
    f.say(f"br i1 {f.put(f'icmp eq i64 {flag}, 0')}, label %whole, label %over")
    f.say("whole:")
    function = f.put(f"load ptr, ptr {f.put(f'getelementptr i64, ptr %env, i64 {cell}')}")
    env.flushed(f, f"call void {function}(i64 {step})", flushes=False)
    f.say("br label %over")
    f.say("over:")
    return f
