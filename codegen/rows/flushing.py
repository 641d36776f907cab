"""Numbers below the least normal one that count as 0 while compiled code runs, as --fast-math allows.

A processor takes a hundred times as long for such a number as for another. On two architectures a thread can have it read and
write 0 in their place: by bits that are set around a call and put back behind it, so that whoever called code of ours has
arithmetic as it was. The call is not inlined, and so no operation is moved out from between.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from adcli.codegen.rows.platforms import OTHER_WORDS


class FlushingBits(NamedTuple):
    """The `bits` of a control register of this `kind`, the lines that read the register and that write it, with places for a
    name and for what is written, and the declarations of what they call, by its name."""

    bits: int
    kind: str
    read: tuple[str, ...]
    write: tuple[str, ...]
    declared: Mapping[str, str]


FLUSHING = {
    "x86_64": FlushingBits(
        0x8040, "i32",   # flush to zero, denormals are zero
        ("{name}.at = alloca i32", "call void @llvm.x86.sse.stmxcsr(ptr {name}.at)", "{name} = load i32, ptr {name}.at"),
        ("{name}.put = alloca i32", "store i32 {value}, ptr {name}.put", "call void @llvm.x86.sse.ldmxcsr(ptr {name}.put)"),
        {"llvm.x86.sse.stmxcsr": "declare void @llvm.x86.sse.stmxcsr(ptr)",
         "llvm.x86.sse.ldmxcsr": "declare void @llvm.x86.sse.ldmxcsr(ptr)"}),
    "aarch64": FlushingBits(
        1 << 24, "i64", ("{name} = call i64 @llvm.aarch64.get.fpcr()",), ("call void @llvm.aarch64.set.fpcr(i64 {value})",),
        {"llvm.aarch64.get.fpcr": "declare i64 @llvm.aarch64.get.fpcr()",
         "llvm.aarch64.set.fpcr": "declare void @llvm.aarch64.set.fpcr(i64)"}),
}
"""By architecture; the others compute with all numbers."""


def able(architecture: str) -> str:
    """The architecture, if numbers can be flushed on it; else none."""
    return architecture if architecture in FLUSHING else ""


def here() -> str:
    """That of this machine, likewise."""
    import platform  # only where it is asked
    machine = platform.machine().lower()
    return able(OTHER_WORDS.get(machine, machine))


def flushed(call: str, architecture: str, name: str, flushes: bool = True) -> list[str]:
    """The lines of a call of a void function with such numbers as 0, or with all of them unless it `flushes`; what the bits were
    is a value of this name."""
    found = FLUSHING[architecture]
    operation = f"or {found.kind} {name}, {found.bits}" if flushes else f"and {found.kind} {name}, {~found.bits}"
    return ["  " + line for line in (
        *(x.format(name=name) for x in found.read),
        f"{name}.changed = {operation}",
        *(x.format(name=f"{name}.changed", value=f"{name}.changed") for x in found.write),
        f"{call} noinline",
        *(x.format(name=name, value=name) for x in found.write))]
