"""LLVM IR to native code: the one module that talks to LLVM.

Three steps that can be taken apart, so that object code can be kept: `llvm.emit` writes text, `object_code` turns text
into an object file, `link` turns an object file into a Kernel (which `compiled` does without LLVM where it can). A long
program is several texts, which `object_codes` compiles in several threads while the next are written. LLVM ends the process when
it is handed nonsense, so every text is parsed and verified first and every external function is looked up before it is linked.
It is also slow to import: only the functions that need it do.

No optimisation passes are run. The effort of instruction selection falls with length; each level is linear in it.
"""
from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import takewhile
from typing import Any, TypeVar

from adcli.codegen.machine import veclib
from adcli.codegen.machine.interrupts import apart
from adcli.codegen.machine.kernel import COMPILING, CodegenError, EntryPoint, Kernel, NoExecutableMemory, processors
from adcli.codegen.machine.loader import allowed, object_files, supported
from adcli.codegen.machine.memory import allow, threads_with_room

Result = TypeVar("Result")
WORK_BYTES, BYTES_A_CHARACTER = 16 << 20, 32
"""Memory that LLVM takes for a text, and beyond that for each character of it: a quarter more than measured."""


def verify(text: str) -> None:
    """Raise CodegenError where LLVM does not accept the text."""
    with_module(text, lambda module: None)


def object_code(text: str, cpu: str | None = None, level: int = 2) -> bytes:
    """The text as an object file, for a processor named as LLVM does (default: this one)."""
    return with_module(text, lambda module: with_machine(cpu, level, lambda made: bytes(made.emit_object(module))))


def with_module(text: str, function: Callable[[Any], Result]) -> Result:
    """The result of a function on the text as a module of LLVM."""
    def made() -> Result:
        with parsed(text) as module:
            return function(module)

    with COMPILING, reported():
        return apart(made)


def object_codes(texts: Iterable[str], level: int, jobs: int | None = None) -> bytes:
    """The texts of a kernel as object files for this machine, one behind another: of several, in `jobs` threads (default: one for
    each processor), which changes nothing in them. They may be written while they are compiled."""
    if isinstance(texts, tuple) and len(texts) == 1:
        return object_code(texts[0], level=level)
    from adcli.codegen.machine.workers import share  # only for several texts
    jobs = threads_with_room(jobs or processors())
    found: dict[int, bytes] = {}
    ended = list[None]()

    def compiled(numbered: tuple[int, str]) -> None:
        k, text = numbered
        with parsed(text, jobs) as module:
            found[k] = with_machine(None, level, lambda made: emitted(made, module))

    def all_compiled() -> None:
        start()
        share(compiled, takewhile(lambda _: not ended, enumerate(texts)), jobs)

    with COMPILING, reported():
        apart(all_compiled, lambda: ended.append(None))
    return b"".join(found[k] for k in range(len(found)))


def assembled(text: str, context: Any) -> Any:
    """`binding.parse_assembly(text, context)` without llvmlite's lock."""
    from llvmlite.binding import ModuleRef, ffi
    with ffi.OutputString() as said:
        module = ModuleRef(unlocked("LLVMPY_ParseAssembly")(context, ctypes.c_char_p(text.encode()), said), context)
        if said:
            module.close()
            raise RuntimeError(f"LLVM IR parsing error\n{said}")
    return module


def emitted(machine: Any, module: Any) -> bytes:
    """`machine.emit_object(module)` without llvmlite's lock."""
    from llvmlite.binding import ffi
    with ffi.OutputString() as said:
        buffer = unlocked("LLVMPY_TargetMachineEmitToMemory")(machine, module, 1, said)
        if not buffer:
            raise RuntimeError(str(said))
    try:
        return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


@cache
def unlocked(name: str) -> Any:
    """A function of llvmlite's library without the lock that it puts around each. The lock is for those who share a context or a
    machine, as nobody does here."""
    from llvmlite.binding import ffi
    locked, function = getattr(ffi.lib, name), getattr(ctypes.CDLL(ffi.lib._name), name)
    function.argtypes, function.restype = locked.argtypes, locked.restype
    return function


def assembly(text: str, cpu: str | None = None, level: int = 2) -> str:
    """The text as assembly, for a processor named as LLVM does (default: this one)."""
    return with_module(text, lambda module: with_machine(cpu, level, lambda made: str(made.emit_assembly(module))))


def link(code: bytes, entry: EntryPoint) -> Kernel:
    """The kernel in object files, by LLVM's linker."""
    from llvmlite import binding
    if os.name == "posix" and not allowed():   # LLVM does not notice, and jumps into memory that is not executable
        raise NoExecutableMemory
    def linked() -> Kernel:
        start()
        missing = [symbol for symbol in entry.externals if not binding.address_of_symbol(symbol)]
        if missing:
            raise CodegenError(f"this machine has no {', '.join(missing)}")
        empty = binding.parse_assembly("")   # in the context that never ends, as no engine may outlive its context
        engine = binding.create_mcjit_compiler(empty, machine(None, 0))
        for each in object_files(code) if supported() else [code]:
            engine.add_object_file(binding.ObjectFileRef.from_data(each))
        engine.finalize_object()
        address = engine.get_function_address(entry.name)
        if not address:
            raise CodegenError(f"the object code has no {entry.name}")
        return Kernel(entry, address, engine)

    with COMPILING, reported():
        return apart(linked)


def baseline() -> str:
    """The processor that every machine of this architecture has; emitted files are for it."""
    from llvmlite import binding
    return "x86-64" if binding.get_process_triple().startswith("x86_64") else "generic"


@contextlib.contextmanager
def reported() -> Iterator[None]:
    """Turn errors of LLVM into CodegenError."""
    try:
        yield
    except RuntimeError as error:
        if isinstance(error, CodegenError):
            raise
        raise CodegenError(f"LLVM: {error}") from error


@contextlib.contextmanager
def parsed(text: str, at_once: int = 1) -> Iterator[Any]:
    """The text as a verified LLVM module, in a context of its own. Both end here, the module first: left to the garbage
    collector, or where an interrupt leaves them, the context can end before what is in it, which crashes. `at_once` says how many
    of its length there may be."""
    from llvmlite import binding
    allow("compiling this program", lambda limit: at_once * (WORK_BYTES + BYTES_A_CHARACTER * len(text)))
    start()
    with binding.create_context() as context, assembled(text, context) as module:
        module.verify()
        yield module


_idle = dict[tuple[str | None, int], list[Any]]()
"""Code generators that nobody uses, by processor and level: to make one takes three milliseconds, a short text takes one."""


def with_machine(cpu: str | None, level: int, function: Callable[[Any], Result]) -> Result:
    """The result of a function on a code generator that nobody else uses meanwhile."""
    idle = _idle.setdefault((cpu, level), [])
    try:
        made = idle.pop()
    except IndexError:
        made = machine(cpu, level)
    result = function(made)
    idle.append(made)   # none that failed
    return result


def machine(cpu: str | None, level: int) -> Any:
    """A code generator for a processor, position-independent."""
    from llvmlite import binding
    start()
    target = binding.Target.from_triple(binding.get_process_triple())
    if cpu is not None:
        return target.create_target_machine(cpu=cpu, opt=level, reloc="pic", codemodel="default")
    features = binding.get_host_cpu_features().flatten()
    return target.create_target_machine(cpu=binding.get_host_cpu_name(), features=features, opt=level, reloc="pic",
                                        codemodel="small")


@cache
def start() -> None:
    """Set LLVM up and make the maths libraries visible to it, once."""
    from llvmlite import binding
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    for library in ("libm.so.6", veclib.FILE if veclib.host() is not veclib.NO_LIBRARY else ""):
        if library and os.name == "posix":
            with contextlib.suppress(RuntimeError):
                binding.load_library_permanently(library)
