"""Programs and object code made callable: without LLVM, whose import takes longer than the rest of a short run, where the code
is there, and without native code where the system allows none."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from adcli.codegen.machine.kernel import CodegenError, EntryPoint, Kernel, NoExecutableMemory
from adcli.codegen.machine.loader import LoadError, load, supported
from adcli.lang.ir.gc import paused

if TYPE_CHECKING:
    from adcli.codegen.machine.cache import Store
    from adcli.codegen.machine.veclib import Library
    from adcli.codegen.rows.llvm import Module
    from adcli.codegen.rows.long_kernel import LongKernel
    from adcli.lang.ir import Program
    from adcli.lang.ir.precision import Precision


@paused()
def compile_program(program: Program, lanes: int | None = None, library: Library | None = None,
                    level: int | None = None, store: Store | None = None, precision: str = "double",
                    fast: bool = False) -> Kernel:
    """The program as native code for this machine, for blocks of `lanes` rows (default: what its registers hold), `fast` as
    --fast-math says; carried out by the evaluator where the system refuses native code."""
    from adcli.codegen.machine import veclib
    from adcli.lang.ir.precision import PRECISIONS
    real = PRECISIONS[precision]
    kernel = kernel_texts(program, lanes or veclib.lanes(real.bytes), library or veclib.host(), fast, real)
    texts = tuple(kernel.texts) if store else kernel.texts

    def made() -> bytes:
        from adcli.codegen.rows import jit
        return jit.object_codes(texts, kernel.level if level is None else level)

    try:
        return kept_or_made(["module", str(level), *(texts if store else ())], kernel.entry, made, store)
    except NoExecutableMemory:
        from adcli.codegen.rows.interpreted import Interpreted
        return Interpreted(program, real)


def kernel_texts(program: Program, lanes: int, library: Library, fast: bool = False,
                 precision: Precision | None = None) -> Module | LongKernel:
    """The kernel of a program for this machine, as texts for LLVM: as one where that is one part, which it has time for. With
    `fast` its arithmetic is licensed, and numbers below the least normal one are 0."""
    from adcli.codegen.rows import llvm
    from adcli.codegen.rows.expand import expand
    from adcli.codegen.rows.flushing import here
    program, precision, flushing = expand(program, llvm.DEFINITIONS), precision or llvm.DOUBLE, here() if fast else ""
    if supported() and (len(program.equations) > llvm.ONE_PART or not llvm.level(llvm.one_text_length(program))):
        from adcli.codegen.rows.long_kernel import LongKernel  # only for long programs
        return LongKernel(program, lanes, library, fast, precision, flushing)
    return llvm.emit(program, lanes, library, fast=fast, precision=precision, flushing=flushing)


def linked(code: bytes, entry: EntryPoint) -> Kernel:
    """The kernel in an object file that `adcli.codegen.rows.jit.object_code` made for this machine. CodegenError where it
    cannot be linked, NoExecutableMemory where the system refuses that."""
    try:
        return load(code, entry)
    except LoadError:
        from adcli.codegen.rows import jit
        return jit.link(code, entry)


def same_for_all(what: str, entry: EntryPoint, text: Callable[[], str], keep: bool) -> Kernel:
    """The code of a text that is the same for every program; with `keep` it may come from the compile cache and go there.
    NoExecutableMemory where the system runs no code of ours."""
    from adcli.codegen.machine.cache import Store, location, to_stderr

    def made() -> bytes:
        from adcli.codegen.rows.jit import object_code
        return object_code(text())

    return kept_or_made([what], entry, made, Store(location(), to_stderr) if keep else None)


def kept_or_made(what: Sequence[str], entry: EntryPoint, made: Callable[[], bytes], store: Store | None) -> Kernel:
    """The kernel in an object file that the cache has for what LLVM is given, or that is `made` and then kept, where there is
    a cache. CodegenError where it cannot be linked, NoExecutableMemory where the system refuses that."""
    try:
        name = code_name(what) if store else ""
    except OSError:   # our own files cannot be looked at
        store = None
    if store:
        head, _, code = (store.get(name) or b"").partition(b"\n")
        if head == name.encode() and (found := kept(code, entry)):
            return found
    code = made()
    kernel = linked(code, entry)
    if store:
        store.put(name, name.encode() + b"\n" + code)
    return kernel


def code_name(what: Sequence[str]) -> str:
    """The name in the cache of the code for what LLVM is given. OSError where our own files cannot be looked at."""
    from adcli.codegen.machine.cache import key, surroundings
    return key([*what, *surroundings()])


def kept(code: bytes, entry: EntryPoint) -> Kernel | None:
    """The kernel in an object file that comes from the cache; None where it cannot run here. LLVM ends the process over an object
    that is not in order, so it is asked only where we have no loader."""
    try:
        return load(code, entry) if supported() else linked(code, entry)
    except (LoadError, CodegenError, NoExecutableMemory):
        return None
