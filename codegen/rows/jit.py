"""LLVM IR to native code: the one module that talks to LLVM.

Three steps that can be taken apart, so that object code can be kept: `llvm.emit` writes text, `object_code` turns text
into an object file, `link` turns an object file into a Kernel (which `compiled` does without LLVM where it can). LLVM ends
the process when it is handed nonsense, so every text is parsed and verified first and every external function is looked up
before it is linked. It is also slow to import: only the functions that need it do.

No optimisation passes are run. The effort of instruction selection falls with length; each level is linear in it.
"""
from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from adcli.codegen.machine import veclib
from adcli.codegen.machine.kernel import COMPILING, CodegenError, EntryPoint, Kernel, NoExecutableMemory
from adcli.codegen.machine.loader import allowed
from adcli.codegen.machine.memory import allow

if TYPE_CHECKING:
    from adcli.codegen.rows.llvm import Module

WORK_BYTES, BYTES_A_CHARACTER = 16 << 20, 32
"""Memory that LLVM takes for a program, and beyond that for each character of its text: a quarter more than measured."""


def effort(module: Module) -> int:
    """LLVM's code generation level for a program of this length."""
    return level(module.length)


def level(length: int) -> int:
    """LLVM's code generation level for so many equations."""
    if length <= 3_000:
        return 2
    return 1 if length <= 20_000 else 0


def verify(text: str) -> None:
    """Raise CodegenError where LLVM does not accept the text."""
    with COMPILING, reported(), parsed(text):
        pass


def object_code(text: str, cpu: str | None = None, level: int = 2) -> bytes:
    """The text as an object file, for a processor named as LLVM does (default: this one)."""
    with COMPILING, reported(), parsed(text) as module:
        return bytes(machine(cpu, level).emit_object(module))


def assembly(text: str, cpu: str | None = None, level: int = 2) -> str:
    """The text as assembly, for a processor named as LLVM does (default: this one)."""
    with COMPILING, reported(), parsed(text) as module:
        return str(machine(cpu, level).emit_assembly(module))


def link(code: bytes, entry: EntryPoint) -> Kernel:
    """The kernel in an object file, by LLVM's linker."""
    from llvmlite import binding
    if os.name == "posix" and not allowed():   # LLVM does not notice, and jumps into memory that is not executable
        raise NoExecutableMemory
    with COMPILING, reported():
        start()
        missing = [symbol for symbol in entry.externals if not binding.address_of_symbol(symbol)]
        if missing:
            raise CodegenError(f"this machine has no {', '.join(missing)}")
        empty = binding.parse_assembly("")   # in the context that never ends, as no engine may outlive its context
        engine = binding.create_mcjit_compiler(empty, machine(None, 0))
        engine.add_object_file(binding.ObjectFileRef.from_data(code))
        engine.finalize_object()
        address = engine.get_function_address(entry.name)
        if not address:
            raise CodegenError(f"the object code has no {entry.name}")
        return Kernel(entry, address, engine)


def baseline() -> str:
    """The processor that every machine of this architecture has; emitted files are for it."""
    from llvmlite import binding
    return "x86-64" if binding.get_process_triple().startswith("x86_64") else "generic"


@contextlib.contextmanager
def reported() -> Iterator[None]:
    """What LLVM complains about, as CodegenError."""
    try:
        yield
    except RuntimeError as error:
        if isinstance(error, CodegenError):
            raise
        raise CodegenError(f"LLVM: {error}") from error


@contextlib.contextmanager
def parsed(text: str) -> Iterator[Any]:
    """The text as a verified LLVM module, in a context of its own. Both end here, the module first: left to the garbage
    collector the context can end before what is in it, which crashes."""
    from llvmlite import binding
    allow("compiling this program", lambda limit: WORK_BYTES + BYTES_A_CHARACTER * len(text))
    start()
    with binding.create_context() as context, binding.parse_assembly(text, context) as module:
        module.verify()
        yield module


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
