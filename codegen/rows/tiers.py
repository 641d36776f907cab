"""The two tiers of native code for a program of scalars, with the same bits: compiled code, and a tape with its interpreter.

A program on a tape counts the work done there; when that has taken as long as compiling takes, code is compiled in a thread of
its own and takes over between two blocks of rows. So the rows decide, however they come: in one call, in a stream, in many
calls.
"""
from __future__ import annotations

import math
import os
from array import array
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from adcli.codegen.machine import veclib
from adcli.codegen.machine.kernel import COMPILING, EntryPoint, Kernel, NoExecutableMemory, Pointers, Tape, TapeKernel
from adcli.codegen.rows.compiled import compile_program, kept_or_made
from adcli.codegen.rows.tier_up import TierUp
from adcli.lang.ir.records import paused

if TYPE_CHECKING:
    from adcli.codegen.machine.cache import Store
    from adcli.lang.ir import Program

TAPE_FROM = 1_500
"""Equations, as `compile_length` counts them, from which on a run at a few points is sooner done on a tape.

Measured, whole processes in turns, `grad` of random programs at one point, ms on a tape and compiled, with an empty cache: 258
and 245 at a length of 300, 256 and 267 at 1,000, 252 and 284 at 1,900, 335 and 382 at 9,000, 548 and 802 at 30,000. Where the
cache has the interpreter: 192 and 239, 197 and 260, 215 and 332, 263 and 333, 545 and 699.
"""
LONG = 100_000
"""Threshold for functions that are called again and again: from here on compiling takes a second."""
FEW_ROWS_BYTES = 1 << 20
"""Size of tables up to which their rows are few. At a length of 30,000 a tape with the code that follows it takes 0.35 s for 100
rows and 1.6 s for 100,000, compiled code 0.56 s and 1.1 s; they meet at 10,000 rows."""
COMPILE_SECONDS = 10e-6
"""Time to compile an equation: a third of it Python's, the rest LLVM's."""
INTERPRET_SECONDS = 4e-9
"""Extra time of an instruction on a tape, against compiled code, for a block of rows."""
AT_A_TIME = 0.05
"""Seconds of these between two looks at whether there is compiled code."""


def begins_on_tape(program: Program, often: bool = False) -> bool:
    """True if an expanded program, maybe one that is called `often`, is so long that it begins on a tape."""
    from adcli.codegen.rows.llvm import compile_length
    return compile_length(program) > (LONG if often else TAPE_FROM)


def many_rows(tables: Sequence[str]) -> bool:
    """True if tables, so far as their files tell, have more rows than are sooner done on a tape."""
    return any(not os.path.isfile(path) or os.path.getsize(path) > FEW_ROWS_BYTES for path in tables)


def blocks_worth(tape: Tape) -> int:
    """Blocks of rows whose interpretation costs as much as compiling."""
    return math.ceil(COMPILE_SECONDS * tape.length / (INTERPRET_SECONDS * tape.instructions))


def blocks_at_a_time(tape: Tape) -> int:
    """Blocks that are interpreted before the next look for compiled code."""
    return max(1, int(AT_A_TIME / (INTERPRET_SECONDS * tape.instructions)))


@paused()
def recorded(program: Program, precision: str = "double") -> Tape:
    """The tape of a program as `for_machine` leaves it."""
    from adcli.codegen.rows.bytecode import encoded
    from adcli.codegen.rows.expand import expand
    from adcli.codegen.rows.instructions import DEFINITIONS
    from adcli.lang.ir.table_sum import TableSum
    from adcli.lang.operations.precision import PRECISIONS, placing_constants
    with placing_constants(program, PRECISIONS[precision]):
        for e in program.equations:
            if isinstance(e.op, TableSum):
                e.op.require_digits(precision)
        return encoded(expand(program, DEFINITIONS), PRECISIONS[precision])


# ---------------------------------------------------------------- the interpreter

_interpreters: dict[str, Kernel] = {}
"""Those of this process, by the letter of their numbers."""


def interpreter(store: Store | None, code: str = "d") -> Kernel:
    """The interpreter of tapes for this machine. NoExecutableMemory where the system refuses native code."""
    with COMPILING:
        if code not in _interpreters:
            lanes = veclib.lanes(array(code).itemsize)
            _interpreters[code] = kept_or_made(["interpreter", str(lanes), code], partial(made_interpreter, lanes, code), store)
        return _interpreters[code]


def made_interpreter(lanes: int, code: str) -> tuple[EntryPoint, bytes]:
    """Its code, made anew."""
    from adcli.codegen.rows import jit
    from adcli.codegen.rows.bytecode import interpreter_text
    from adcli.lang.operations.precision import PRECISIONS
    text, entry = interpreter_text(lanes, veclib.host(), next(p for p in PRECISIONS.values() if p.code == code))
    return entry, jit.object_code(text)


# ---------------------------------------------------------------- from a tape to compiled code

class TieredKernel(Kernel):
    """A tape that is replaced by compiled code, which `make` makes, when its interpretation has taken as long as that takes.

    Every call has memory of its own, which a later one uses again.
    """

    __slots__ = ("current", "idle", "succession")

    def __init__(self, tape: TapeKernel, make: Callable[[], Kernel]) -> None:
        self.entry, self.lanes, self.work_bytes = tape.entry._replace(work_bytes=0), tape.lanes, 0
        self.current: Kernel = tape
        self.idle: list[tuple[Kernel, Pointers]] = []

        def rise() -> None:
            self.current = make()

        self.succession = TierUp(rise, blocks_worth(tape.tape))

    def __call__(self, inputs: Pointers, outputs: Pointers, begin: int, end: int, work: Pointers = None) -> None:
        self.succession.spend((end - begin) // self.lanes)
        while begin < end:
            kernel = self.current
            until = min(end, begin + self.lanes * blocks_at_a_time(kernel.tape)) if isinstance(kernel, TapeKernel) else end
            memory = self.memory(kernel)
            kernel(inputs, outputs, begin, until, memory)
            self.idle.append((kernel, memory))
            begin = until

    def memory(self, kernel: Kernel) -> Pointers:
        """Memory for a call."""
        while self.idle:
            owner, memory = self.idle.pop()
            if owner is kernel:
                return memory
        return kernel.workspace()


def on_tape(tape: Tape, tier: str, make: Callable[[], Kernel], store: Store | None) -> Kernel:
    """The kernel that begins with a tape, and stays with it where `tier` says so. NoExecutableMemory where the system refuses
    native code."""
    kernel = TapeKernel(tape, interpreter(store, tape.constants.typecode))
    return kernel if tier == "tape" else TieredKernel(kernel, make)


def native(program: Program, tier: str = "auto", store: Store | None = None, precision: str = "double",
           fast: bool = False) -> Kernel:
    """A program as `for_machine` leaves it as native code in a tier, always compiled where it is to be `fast`; the evaluator
    where the system refuses native code."""
    make = partial(compile_program, program, store=store, precision=precision, fast=fast)
    if tier == "compiled" or fast or (tier == "auto" and not begins_on_tape(program, often=True)):
        return make()
    try:
        return on_tape(recorded(program, precision), tier, make, store)
    except NoExecutableMemory:
        return make()
