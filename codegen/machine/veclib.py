"""Which vector maths library the machine has, and what its functions are called.

glibc's libmvec holds `_ZGVeN8v_sin` and its like: the letter is the instruction set that the calling convention needs
(b SSE2, d AVX2, e AVX-512), then the number of lanes and one `v` an argument; `_ZGVeN16v_sinf` is that of single precision. It
grew over time (2.35 has nearly everything, older ones six functions), so it is asked symbol by symbol. Nothing here needs LLVM.
"""
from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache

from adcli.lang.ir.records import value_record

FILE = "libmvec.so.1"
ISA_LETTERS = {16: "b", 32: "d", 64: "e"}
ISA_FLAGS = {16: "sse2", 32: "avx2", 64: "avx512f"}
"""By the bytes of a register."""


@value_record
class Library:
    """A vector maths library: `has` says whether it holds a symbol, and `wide` whether its machine has AVX-512."""

    name: str
    has: Callable[[str], bool]
    wide: bool = False

    def symbol(self, function: str, arity: int, lanes: int, size: int = 8) -> str | None:
        """The symbol for libm's `function` on `lanes` numbers of `size` bytes, None where the library has none."""
        if lanes * size not in ISA_LETTERS:
            return None
        symbol = f"_ZGV{ISA_LETTERS[lanes * size]}N{lanes}{'v' * arity}_{function}"
        return symbol if self.has(symbol) else None


NO_LIBRARY = Library("none", lambda symbol: False)
"""No vector library: the scalar function lane by lane, the same text on every machine."""


@cache
def processor() -> str:
    """The constant part of what Linux reports of the first processor; empty where it reports nothing."""
    kept = ("vendor_id", "cpu family", "model", "stepping", "flags")
    said = []
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
            for line in lines:
                if line.startswith(kept):
                    said.append(line)
                if line.startswith("flags"):
                    break
    except OSError:
        pass
    return "".join(said)


@cache
def cpu_flags() -> frozenset[str]:
    """The processor's features as Linux names them; empty where it does not say or is no x86."""
    *_, flags = processor().splitlines() or [""]
    return frozenset(flags.partition(":")[2].split()) if flags.startswith("flags") else frozenset()


def lanes(size: int = 8) -> int:
    """The widest block of numbers of `size` bytes that this machine's registers hold: 8, 4 or 2 doubles."""
    return next((n for n in (64, 32) if ISA_FLAGS[n] in cpu_flags()), 16) // size


@cache
def host() -> Library:
    """libmvec, where this machine has it; only symbols whose registers the processor has."""
    if not hasattr(os, "uname") or os.uname().machine != "x86_64":
        return NO_LIBRARY
    try:
        library = ctypes.CDLL(FILE)
    except OSError:
        return NO_LIBRARY
    letters = {ISA_LETTERS[n] for n, flag in ISA_FLAGS.items() if flag in cpu_flags()}
    return Library("libmvec", cache(lambda symbol: symbol[4] in letters and hasattr(library, symbol)),
                   ISA_FLAGS[64] in cpu_flags())
