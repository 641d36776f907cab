"""Programs and object code made callable: without LLVM, whose import takes longer than the rest of a short run, where the cache
has the code, and without native code where the system allows none."""
from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from adcli.codegen.machine.kernel import CodegenError, EntryPoint, Kernel, NoExecutableMemory, Pointers
from adcli.codegen.machine.loader import LoadError, load, supported
from adcli.lang.ir.records import paused

if TYPE_CHECKING:
    from adcli.codegen.machine.cache import Store
    from adcli.codegen.machine.veclib import Library
    from adcli.codegen.rows.llvm import Module
    from adcli.codegen.rows.long_kernel import LongKernel
    from adcli.lang.ir import Program
    from adcli.lang.operations.precision import Precision


@paused()
def compile_program(program: Program, lanes: int | None = None, library: Library | None = None,
                    level: int | None = None, store: Store | None = None, precision: str = "double",
                    fast: bool = False) -> Kernel:
    """The program as native code for this machine, for blocks of `lanes` rows (default: what its registers hold), `fast` as
    --fast-math says; carried out by the evaluator where the system refuses native code."""
    from adcli.codegen.machine import veclib
    from adcli.lang.operations.precision import PRECISIONS
    real = PRECISIONS[precision]
    kernel = kernel_texts(program, lanes or veclib.lanes(real.bytes), library or veclib.host(), fast, real)
    texts = tuple(kernel.texts) if store else kernel.texts

    def made() -> tuple[EntryPoint, bytes]:
        from adcli.codegen.rows import jit
        return kernel.entry, jit.object_codes(texts, kernel.level if level is None else level)

    try:
        return kept_or_made(["module", str(level), *(texts if store else ())], made, store)
    except NoExecutableMemory:
        return Interpreted(program, real)


def kernel_texts(program: Program, lanes: int, library: Library, fast: bool = False,
                 precision: Precision | None = None) -> Module | LongKernel:
    """The kernel of a program for this machine, as texts for LLVM: as one where that is one part, which it has time for. With
    `fast` its arithmetic is licensed, and numbers below the least normal one are 0."""
    from adcli.codegen.rows import llvm
    from adcli.codegen.rows.expand import expand
    from adcli.codegen.rows.platforms import here
    program = expand(program, llvm.DEFINITIONS, loops=True)
    numbers = llvm.Numbers(fast, precision or llvm.DOUBLE, here() if fast else "")
    if supported() and (len(program.equations) > llvm.ONE_PART or not llvm.level(llvm.one_text_length(program))):
        from adcli.codegen.rows.long_kernel import LongKernel  # only for long programs
        return LongKernel(program, lanes, library, numbers)
    return llvm.emit(program, lanes, library, numbers=numbers)


def linked(code: bytes, entry: EntryPoint) -> Kernel:
    """The kernel in an object file made for this machine. CodegenError where it cannot be linked, NoExecutableMemory where the
    system refuses that."""
    try:
        return load(code, entry)
    except LoadError:
        from adcli.codegen.rows import jit
        return jit.link(code, entry)


def same_for_all(what: str, entry: EntryPoint, text: Callable[[], str], keep: bool) -> Kernel:
    """The code of a text that no program changes; with `keep` through the compile cache. NoExecutableMemory where the system runs
    no code of ours."""
    from adcli.codegen.machine.cache import Store, location, to_stderr

    def made() -> tuple[EntryPoint, bytes]:
        from adcli.codegen.rows.jit import object_code
        return entry, object_code(text())

    return kept_or_made([what], made, Store(location(), to_stderr) if keep else None)


def kept_or_made(what: Sequence[str], made: Callable[[], tuple[EntryPoint, bytes]], store: Store | None) -> Kernel:
    """The kernel that the cache has under the words `what`, or one that is `made` and then kept, if there is a cache.
    CodegenError where it cannot be linked, NoExecutableMemory where the system refuses that."""
    try:
        name = code_name(what) if store else ""
    except OSError:   # our own files cannot be read
        store = None
    if store and (found := stored(store, name)):
        return found
    entry, code = made()
    kernel = linked(code, entry)
    if store:
        store.put(name, json.dumps(entry).encode() + b"\n" + code)
    return kernel


def code_name(what: Sequence[str]) -> str:
    """The name of code in the cache. OSError where our own files cannot be read."""
    from adcli.codegen.machine.cache import key, surroundings
    return key([*what, *surroundings()])


def stored(store: Store, name: str) -> Kernel | None:
    """The kernel that the cache has under a name; None where there is none, or it cannot run here."""
    head, _, code = (store.get(name) or b"").partition(b"\n")
    if not head:
        return None
    *entry, externals, letter = json.loads(head)
    return kept(code, EntryPoint._make([*entry, tuple(externals), letter]))


def kept(code: bytes, entry: EntryPoint) -> Kernel | None:
    """The kernel in an object file from the cache; None where it cannot run here. LLVM ends the process over a malformed
    object, so it is asked only where we have no loader."""
    try:
        return load(code, entry) if supported() else linked(code, entry)
    except (LoadError, CodegenError, NoExecutableMemory):
        return None


# ---------------------------------------------------------------- without native code

class Interpreted(Kernel):
    """A Kernel by the reference evaluator, where a system refuses executable memory: called as native code is, one row at a time,
    thousands of times slower."""

    __slots__ = ("arithmetic", "program")

    def __init__(self, program: Program, precision: Precision) -> None:
        from adcli.lang.evaluate import rounded_arithmetic
        self.program, self.arithmetic = program, rounded_arithmetic(precision)
        self.entry = EntryPoint("interpreted", 1, 0, len(program.params), len(program.results), (), precision.code)
        self.lanes, self.work_bytes = 1, 0

    def __call__(self, inputs: Pointers, outputs: Pointers, begin: int, end: int, work: Pointers = None) -> None:
        from adcli.lang.evaluate import evaluate
        names = [p.name for p in self.program.params]
        code = self.entry.code
        given, found = columns(inputs, len(names), code), columns(outputs, len(self.program.results), code)
        for row in range(begin, end):
            at = {name: column[row] for name, column in zip(names, given, strict=True)}
            results = evaluate(self.program, at, self.arithmetic)
            for column, r in zip(found, self.program.results, strict=True):
                column[row] = results[r.name]


def columns(pointers: Pointers, count: int, code: str) -> list[Any]:
    """The columns behind an array of pointers, which is a ctypes array or an address; of numbers with this letter."""
    kind = ctypes.c_double if code == "d" else ctypes.c_float
    address = pointers if isinstance(pointers, int) else ctypes.addressof(pointers)
    return list((ctypes.POINTER(kind) * count).from_address(address)) if count else []
