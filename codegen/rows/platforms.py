"""The machines that code is written for: their triples, as people and as LLVM spell them, and the least processor of each.

A triple is looked up by its words, whatever the vendor in it: aarch64-linux-gnu, aarch64-unknown-linux-gnu and arm64-linux are
one. Where a machine has two conventions, floating point is passed in its own registers unless the triple says otherwise.

Numbers below the least normal one that count as 0 while compiled code runs, as --fast-math allows.

A processor takes a hundred times as long for such a number as for another. On two architectures a thread can have it read and
write 0 in their place: by bits that are set around a call and put back behind it, so that whoever called code of ours has
arithmetic as it was. The call is not inlined, and so no operation is moved out from between.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce
from typing import NamedTuple

from adcli.lang.ir.build import Expr
from adcli.lang.ir.errors import AdError, nearest
from adcli.lang.ir.primitives import select
from adcli.lang.ir.records import value_record


@value_record
class Platform:
    """A machine: `llvm` is LLVM's own triple; `cpu`, `features` and `abi` say which code its least processor runs; `zig` is the
    triple by which zig links libraries for it, None where it does not. Its processors compute numbers of the type `hardware`
    themselves, and longer ones, or all of them where it is empty, by functions that the compiler there has."""

    name: str
    llvm: str
    cpu: str
    zig: str | None
    features: str = ""
    abi: str = ""
    hardware: str = "double"

    @property
    def architecture(self) -> str:
        first = self.name.partition("-")[0]
        return "arm" if first.startswith("thumb") else first

    @property
    def bare(self) -> bool:
        """True without an operating system: programs are linked whole, and their addresses are fixed."""
        return "-none-" in self.name

    @property
    def visible(self) -> str:
        """How LLVM is told that others can call a function of a library, where a name alone does not say so."""
        return "dllexport" if "windows" in self.name else ""

    @property
    def comment(self) -> str:
        """The comment mark of its assembly."""
        return {"aarch64": "//", "arm": "@"}.get(self.architecture, "#")

    @property
    def narrow(self) -> bool:
        """True if sizes have 32 bits, not 64."""
        return self.architecture in ("arm", "wasm32", "riscv32")

    @property
    def extrema(self) -> bool:
        """True if LLVM lacks code for `max` and `min`."""
        return self.architecture in ("arm", "riscv32")


PROFILES = ("v6m", "v7m", "v7em", "v8m.base", "v8m.main")
"""The processors without a system, for which code is Thumb's."""
RISCV = ("+m,+a,+f,+d,+c", "lp64d")
PLATFORMS = {p.name: p for p in (
    Platform("x86_64-linux-gnu", "x86_64-unknown-linux-gnu", "x86-64", "x86_64-linux-gnu"),
    Platform("x86_64-linux-musl", "x86_64-unknown-linux-musl", "x86-64", "x86_64-linux-musl"),
    Platform("x86_64-windows-gnu", "x86_64-unknown-windows-gnu", "x86-64", "x86_64-windows-gnu"),
    Platform("x86_64-windows-msvc", "x86_64-pc-windows-msvc", "x86-64", None),
    Platform("x86_64-macos", "x86_64-apple-macosx11.0.0", "x86-64", "x86_64-macos"),
    Platform("aarch64-linux-gnu", "aarch64-unknown-linux-gnu", "generic", "aarch64-linux-gnu"),
    Platform("aarch64-linux-musl", "aarch64-unknown-linux-musl", "generic", "aarch64-linux-musl"),
    Platform("aarch64-windows-gnu", "aarch64-unknown-windows-gnu", "generic", "aarch64-windows-gnu"),
    Platform("aarch64-macos", "arm64-apple-macosx11.0.0", "apple-m1", "aarch64-macos"),
    Platform("arm-linux-gnueabihf", "armv7-unknown-linux-gnueabihf", "generic", "arm-linux-gnueabihf"),
    Platform("arm-linux-musleabihf", "armv7-unknown-linux-musleabihf", "generic", "arm-linux-musleabihf"),
    Platform("riscv64-linux-gnu", "riscv64-unknown-linux-gnu", "generic-rv64", "riscv64-linux-gnu", *RISCV),
    Platform("riscv64-linux-musl", "riscv64-unknown-linux-musl", "generic-rv64", "riscv64-linux-musl", *RISCV),
    Platform("wasm32", "wasm32-unknown-unknown", "generic", "wasm32-wasi"),
    Platform("arm-none-eabi", "arm-unknown-none-eabi", "generic", None, hardware=""),
    Platform("arm-none-eabihf", "armv7-unknown-none-eabihf", "generic", None, hardware="float"),
    *(Platform(f"{name}-none-eabi", f"{name}-unknown-none-eabi", "generic", None, hardware="")
      for name in (f"thumb{profile}" for profile in PROFILES)),
    Platform("thumbv7em-none-eabihf", "thumbv7em-unknown-none-eabihf", "cortex-m4", None, hardware="float"),
    Platform("thumbv8m.main-none-eabihf", "thumbv8m.main-unknown-none-eabihf", "cortex-m33", None, hardware="float"),
    Platform("aarch64-none-elf", "aarch64-unknown-none-elf", "generic", None),
    Platform("riscv32-none-elf", "riscv32-unknown-none-elf", "generic-rv32", None, "+m,+c", "ilp32", ""),
    Platform("riscv64-none-elf", "riscv64-unknown-none-elf", "generic-rv64", None, *RISCV),
)}
"""Values of --target; the first that begins with the words given is meant."""
VENDORS = {"unknown", "pc", "apple", "w64", "none"}
OTHER_WORDS = {"arm64": "aarch64", "amd64": "x86_64", "x64": "x86_64", "armv7": "arm", "armv7l": "arm", "armv7a": "arm",
               **{f"arm{profile}": f"thumb{profile}" for profile in PROFILES}, "riscv64gc": "riscv64", "riscv32imc": "riscv32",
               "riscv32imac": "riscv32", "darwin": "macos", "macosx": "macos", "win32": "windows", "mingw32": "windows-gnu"}
"""Words of triples that others write."""
WEBASSEMBLY = re.compile(r"wasm32(-(unknown|wasi|wasip1|freestanding|none))*")


def platform(triple: str) -> Platform:
    """The machine of a triple. AdError for one that is not known."""
    name = common(triple)
    if found := next((p for key, p in PLATFORMS.items() if f"{common(key)}-".startswith(f"{name}-")), None):
        return found
    first, architectures = name.partition("-")[0], {p.architecture for p in PLATFORMS.values()}
    close = nearest(name, [key for key, p in PLATFORMS.items() if p.architecture == first]) or nearest(first, architectures)
    raise AdError(f"no target '{triple}'", help=close or f"the targets are {', '.join(PLATFORMS)}")


def common(triple: str) -> str:
    """A triple in the words of the table."""
    if WEBASSEMBLY.fullmatch(triple):
        return "wasm32"
    first, *others = triple.lower().split("-")
    words = [first, *(re.sub(r"(?<=darwin|macosx)[0-9.]+$|(?<=macos)[0-9.]+$", "", w) for w in others if w not in VENDORS)]
    return "-".join(OTHER_WORDS.get(word, word) for word in words)


def for_processor(platform: Platform, cpu: str | None) -> Platform:
    """The machine with another processor than the least one."""
    return platform if cpu is None else replace(platform, cpu=cpu)


def larger(x: Expr, y: Expr) -> Expr:
    """max by comparisons: NaN where one is NaN, and 0.0 above -0.0."""
    return select(x > y, x, select(y > x, y, select((x == y) & (x != 0), x, x + y)))


def smaller(x: Expr, y: Expr) -> Expr:
    """min by comparisons: NaN where one is NaN, and -0.0 below 0.0."""
    return select(x < y, x, select(y < x, y, select((x == y) & (x != 0), x, -(-x - y))))


EXTREMA: Mapping[str, Callable[..., Expr]] = {"max": lambda *xs: reduce(larger, xs), "min": lambda *xs: reduce(smaller, xs)}
"""Definitions for `expand` on a machine with `extrema`."""


# ---------------------------------------------------------------- flushing

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
