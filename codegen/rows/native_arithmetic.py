"""The arithmetic of native code, one operation at a time, for whoever explains the numbers that it has computed.

Native code takes functions such as sin from a vector library, whose last digits are not those of Python's. What is exact in both
(sums, products, roots, rounding) stays Python's; of each other function a program of that one operation is compiled when it is
first wanted, so an explanation meets the numbers of the run bit for bit, NaN among them.
"""
from __future__ import annotations

from array import array
from dataclasses import replace
from functools import cache
from threading import Lock

from adcli.codegen.machine.cache import Store, location, to_stderr
from adcli.codegen.machine.kernel import Kernel, Pointers, pointers
from adcli.lang.evaluate import Arithmetic, rounded_arithmetic
from adcli.lang.ir import Equation, Param, Primitive, Program, Result, Var
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.precision import DOUBLE, Precision


@cache
def native_arithmetic(precision: Precision) -> Arithmetic:
    """Floats of a precision, with the functions that native code has for them."""
    plain = rounded_arithmetic(precision)
    return replace(plain, functions=dict(plain.functions) | {
        name: NativeFunction(row, precision) for name, row in TABLE.items() if row.libm and row.ulps})


class NativeFunction:
    """An operation of the table as native code carries it out."""

    def __init__(self, row: Primitive, precision: Precision) -> None:
        self.row, self.precision, self.lock = row, precision, Lock()
        self.calls: dict[int, tuple[Kernel, list[array[float]], Pointers, Pointers]] = {}

    def __call__(self, *args: float) -> float:
        with self.lock:   # the columns are for one call at a time
            if len(args) not in self.calls:
                self.calls[len(args)] = self.prepared(len(args))
            kernel, columns, inputs, outputs = self.calls[len(args)]
            for column, x in zip(columns, args, strict=False):
                column[0] = x
            kernel(inputs, outputs, 0, kernel.lanes)
            return columns[-1][0]

    def prepared(self, count: int) -> tuple[Kernel, list[array[float]], Pointers, Pointers]:
        """The kernel for so many arguments, from the cache where it is there, and columns of one block."""
        from adcli.codegen.rows.compiled import compile_program
        args, out = tuple([Var(f"x{i}") for i in range(count)]), Var("z")
        program = Program(tuple([Param(a, a.name or "") for a in args]), (Equation((out,), self.row, args),), (Result("z", out),))
        kernel = compile_program(program, store=Store(location(), to_stderr), precision=self.precision.name)
        assert not kernel.work_bytes, "one operation needs no workspace"
        empty = bytes(kernel.entry.size * kernel.lanes)
        columns: list[array[float]] = [array(self.precision.code, empty) for _ in range(count + 1)]
        addresses = [c.buffer_info()[0] for c in columns]
        return kernel, columns, pointers(addresses[:-1]), pointers(addresses[-1:])


NATIVE = native_arithmetic(DOUBLE)
