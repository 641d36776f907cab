"""Tapes as bytes, and their memory."""
from __future__ import annotations

import ctypes

from adcli.codegen.machine.kernel import TapeKernel, run, unpacked
from adcli.codegen.rows import tiers
from native_programs import long_program


def test_a_tape_travels_as_bytes() -> None:
    tape = tiers.recorded(long_program(200))
    again = unpacked(tape.packed())
    assert again == tape and again is not None
    interpreter = tiers.interpreter(None)
    at = [[0.1, -2.0, 3.0]] * 5
    assert run(TapeKernel(again, interpreter), at) == run(TapeKernel(tape, interpreter), at)


def test_memory_is_of_each_caller_and_as_long_as_the_live_values() -> None:
    tape = tiers.recorded(long_program(5000))
    kernel = TapeKernel(tape, tiers.interpreter(None))
    one, other = kernel.workspace(), kernel.workspace()
    assert ctypes.addressof(one) != ctypes.addressof(other) and ctypes.addressof(one) % 64 == 0
    assert kernel.work_bytes == len(one) == 64 + 8 * kernel.lanes * (tape.slots + len(tape.constants))
