"""LLVM IR to native code: the one module that talks to LLVM.

Three steps that can be taken apart, so that object code can be kept: `llvm.emit` writes text, `object_code` turns text
into an object file, `link` turns an object file into a Kernel. LLVM ends the process when it is handed nonsense, so
every text is parsed and verified first and every external function is looked up before it is linked. It is also slow
to import: only the functions that need it do, so a Kernel made of kept code can be run without it.

No optimisation passes are run. The effort of instruction selection falls with length; each level is linear in it.
"""
from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from array import array
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from codegen import veclib

if TYPE_CHECKING:
    import numpy as np

    from codegen.llvm import Entry
    from lang.ir import Program

LOCK = threading.RLock()
"""Held around all work in LLVM."""

SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
Pointers = Any
"""An address, or a ctypes array of pointers."""


class CodegenError(RuntimeError):
    """LLVM refuses what this package wrote: a defect of adcli, never of a program or a point."""


class Kernel:
    """Compiled code, callable from several threads at once; each call brings its own workspace."""

    __slots__ = ("entry", "function", "held", "lanes", "work_bytes")

    def __init__(self, entry: Entry, address: int, held: object) -> None:
        self.entry, self.lanes, self.work_bytes = entry, entry.lanes, entry.work_bytes
        self.function, self.held = SIGNATURE(address), held

    def __call__(self, inputs: Pointers, outputs: Pointers, begin: int, end: int, work: Pointers = None) -> None:
        """Compute rows `begin` to `end`, a multiple of `lanes`; see `codegen.llvm`. The GIL is released meanwhile."""
        self.function(inputs, outputs, begin, end, work)

    def workspace(self) -> Pointers:
        """Memory for one call at a time; None where the program needs none."""
        return ctypes.create_string_buffer(self.work_bytes) if self.work_bytes else None


def compile_program(program: Program, lanes: int | None = None, library: veclib.Library | None = None,
                    level: int | None = None) -> Kernel:
    """The program as native code for this machine, for blocks of `lanes` rows (default: what its registers hold)."""
    from codegen.llvm import emit
    module = emit(program, lanes or veclib.lanes(), library or veclib.host())
    return link(object_code(module.text, level=effort(module.equations) if level is None else level), module.entry)


def effort(equations: int) -> int:
    """LLVM's code generation level for a program of this length."""
    if equations <= 2_000:
        return 2
    return 1 if equations <= 20_000 else 0


def verify(text: str) -> None:
    """Raise CodegenError where LLVM does not accept the text."""
    with LOCK:
        parsed(text)


def object_code(text: str, cpu: str | None = None, level: int = 2) -> bytes:
    """The text as an object file, for a processor named as LLVM does (default: this one)."""
    with LOCK, reported():
        return bytes(machine(cpu, level).emit_object(parsed(text)))


def assembly(text: str, cpu: str | None = None, level: int = 2) -> str:
    """The text as assembly, for a processor named as LLVM does (default: this one)."""
    with LOCK, reported():
        return str(machine(cpu, level).emit_assembly(parsed(text)))


def link(code: bytes, entry: Entry) -> Kernel:
    """The kernel in an object file that `object_code` made for this machine."""
    from llvmlite import binding
    with LOCK, reported():
        start()
        missing = [symbol for symbol in entry.externals if not binding.address_of_symbol(symbol)]
        if missing:
            raise CodegenError(f"this machine has no {', '.join(missing)}")
        empty = binding.parse_assembly("", binding.create_context())
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


def parsed(text: str) -> Any:
    """The text as a verified LLVM module, in a context of its own."""
    from llvmlite import binding
    with reported():
        start()
        module = binding.parse_assembly(text, binding.create_context())
        module.verify()
        return module


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
    for library in ("libm.so.6", veclib.FILE if veclib.host() is not veclib.NONE else ""):
        if library and os.name == "posix":
            with contextlib.suppress(RuntimeError):
                binding.load_library_permanently(library)


def run(kernel: Kernel, columns: Sequence[Sequence[float]], rows: int | None = None) -> list[list[float]]:
    """Results for columns of inputs, one list per result, without numpy; `rows` counts them where there is no input."""
    rows = (len(columns[0]) if columns else 1) if rows is None else rows
    check_columns(kernel, [len(c) for c in columns], rows)
    if rows == 0:
        return [[] for _ in range(kernel.entry.outputs)]
    full = -(-rows // kernel.lanes) * kernel.lanes
    inputs = [array("d", c) + array("d", c[-1:]) * (full - rows) for c in columns]
    outputs = [array("d", bytes(8 * full)) for _ in range(kernel.entry.outputs)]
    kernel(pointers([a.buffer_info()[0] for a in inputs]), pointers([a.buffer_info()[0] for a in outputs]), 0, full,
           kernel.workspace())
    return [list(a[:rows]) for a in outputs]


def run_arrays(kernel: Kernel, columns: Sequence[np.ndarray], rows: int | None = None,
               out: Sequence[np.ndarray] | None = None) -> list[np.ndarray]:
    """The same for NumPy arrays of float64, one-dimensional and contiguous; results go into `out` where it is given.

    Whole blocks are computed in place, without a copy; the last rows through a padded one. Slices of arrays may be
    computed in several threads.
    """
    import numpy as np
    rows = (len(columns[0]) if columns else 1) if rows is None else rows
    out = [np.empty(rows) for _ in range(kernel.entry.outputs)] if out is None else list(out)
    check_columns(kernel, [len(c) for c in columns], rows, [len(c) for c in out])
    if not all(map(is_column, (*columns, *out))) or not all(c.flags.writeable for c in out):
        raise ValueError("a column must be a contiguous one-dimensional array of float64")
    whole, work = rows - rows % kernel.lanes, kernel.workspace()
    kernel(addresses(columns), addresses(out), 0, whole, work)
    if whole < rows:
        last = [np.append(c[whole:], np.full(kernel.lanes - (rows - whole), c[-1])) for c in columns]
        results = [np.empty(kernel.lanes) for _ in out]
        kernel(addresses(last), addresses(results), 0, kernel.lanes, work)
        for target, result in zip(out, results, strict=True):
            target[whole:] = result[:rows - whole]
    return out


def is_column(a: np.ndarray) -> bool:
    return a.dtype.char == "d" and a.dtype.isnative and a.ndim == 1 and a.flags.c_contiguous and a.flags.aligned


def check_columns(kernel: Kernel, inputs: list[int], rows: int, outputs: list[int] | None = None) -> None:
    """Compiled code checks nothing: the number of columns and their lengths are checked here."""
    entry = kernel.entry
    if len(inputs) != entry.inputs or (outputs is not None and len(outputs) != entry.outputs):
        raise ValueError(f"{entry.inputs} columns of inputs and {entry.outputs} of results expected")
    if rows < 0 or any(length != rows for length in (*inputs, *(outputs or ()))):
        raise ValueError("columns must have equal lengths")


def addresses(columns: Sequence[np.ndarray]) -> Pointers:
    return pointers([c.ctypes.data for c in columns])


def pointers(values: Sequence[int]) -> Pointers:
    return (ctypes.c_void_p * len(values))(*values)
