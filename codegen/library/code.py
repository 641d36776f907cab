"""Programs as code of LLVM: its IR, assembly, object files, and shared libraries, which need no compiler of C.

Rows of numbers are computed by a function on columns; a program with tensors, and in libraries any program, is the function that
`--emit c` writes; `casadi` has the interface of CasADi instead. Libraries are linked by `ld`, the linker of every Linux with a
compiler, or by zig, which comes as a package of Python and links for every system.
"""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from platform import libc_ver
from typing import Literal

from adcli.codegen.emission import EmitOptions, commented
from adcli.codegen.machine import veclib
from adcli.codegen.rows import cross_compile, jit, llvm, platforms
from adcli.codegen.rows.expand import expand, for_machine
from adcli.codegen.rows.instructions import DEFINITIONS, Instructions
from adcli.codegen.rows.platforms import EXTREMA, Platform, for_processor, platform
from adcli.codegen.rows.point import function
from adcli.lang.ir import Program, has_tensors
from adcli.lang.ir.errors import AdError, missing
from adcli.lang.operations.elementwise import needs_scalars

LLVM_NEEDED = (("splat (", 18), ("@llvm.maximum", 17), ("@llvm.minimum", 17), ("", 15))
"""The first LLVM that reads and compiles IR with such a text in it: a constant vector in short; an operation that earlier
ones cannot select on x86; and everywhere pointers without a type, which LLVM 14 reads with `-opaque-pointers`."""


@dataclass(frozen=True, slots=True)
class CodeModule:
    """LLVM IR that defines the functions `exports` and no other that can be seen; `calling` says in the terms of C how they are
    called, and `length` how much work it is for LLVM."""

    text: str
    exports: Sequence[str]
    calling: Sequence[str]
    length: int


# ---------------------------------------------------------------- targets

def ir(program: Program, header: Sequence[str], options: EmitOptions) -> str:
    machine = machine_of(options)
    made = module(program, options, flushed(options) if machine else "")   # else this text is for all machines
    written = commented([*header, *made.calling, f"needs LLVM {llvm_needed(made.text)} or newer"], ";") + made.text
    if machine is None:
        jit.verify(written)
        return written
    return cross_compile.made(written, machine, 0, "text", options.real.type).decode()


def assembly(program: Program, header: Sequence[str], options: EmitOptions) -> str:
    machine, made = machine_of(options), module(program, options, flushed(options))
    mark = machine.comment if machine else "#"
    return commented([*header, *made.calling], mark) + translated(made.text, options, made.length, "assembly").decode()


def object_file(program: Program, header: Sequence[str], options: EmitOptions) -> bytes:
    """The header goes where compilers leave their name, the section .comment: `readelf -p .comment` shows it."""
    return object_code(module(program, options, flushed(options)), header, options)


def library(program: Program, header: Sequence[str], options: EmitOptions) -> bytes:
    """The header is where that of an object file is."""
    made = library_module(program, options)
    return linked(object_code(made, header, options), made.exports, machine_of(options) if options.triple else None)


def object_code(made: CodeModule, header: Sequence[str], options: EmitOptions) -> bytes:
    return translated(made.text + llvm.identification([*header, *made.calling]), options, made.length, "object")


def translated(text: str, options: EmitOptions, length: int, kind: Literal["assembly", "object"]) -> bytes:
    """The text as assembly or an object of the machine that is asked for, by default of the least processor of this one."""
    level, machine = llvm.level(length), machine_of(options)
    if machine is not None:
        return cross_compile.made(text, machine, level, kind, options.real.type)
    return jit.assembly(text, jit.baseline(), level).encode() if kind == "assembly" else \
        jit.object_code(text, jit.baseline(), level)


# ---------------------------------------------------------------- modules

def module(program: Program, options: EmitOptions, flushing: str) -> CodeModule:
    """The program as a function on rows; with tensors as that of C. On the architecture `flushing` subnormal numbers are 0."""
    if has_tensors(program):
        return tensor_module(program, options, flushing, "")
    made = llvm.emit(prepared(program, options), options.lanes, name=options.name,
                     numbers=llvm.Numbers(options.fast, options.real, flushing))
    entry, real = made.entry, options.real.type
    several = f"; their number is a multiple of {entry.lanes}" if entry.lanes > 1 else ""
    work = f"{entry.work_bytes} bytes that no other call uses meanwhile" if entry.work_bytes else "not used, may be null"
    return CodeModule(made.text, (entry.name,), (
        f"call: void {entry.name}(const {real} *const *in, {real} *const *out, int64_t begin, int64_t end, void *work);",
        "in[i][row] is input i, out[j][row] output j, counted from 0 in the order above, on arrays that do not overlap",
        f"rows: begin to end - 1{several}", f"work: {work}"), made.length)


def tensor_module(program: Program, options: EmitOptions, flushing: str, visible: str) -> CodeModule:
    """A program with tensors; `visible` is how LLVM is told that others can call its function."""
    from adcli.codegen.c.source import tensor_source
    from adcli.lang.passes.pipeline import evaluation_program
    called = tensor_source(evaluation_program(program), options.name, precision=options.real)
    made = tensor_function(program, options, flushing, visible)
    return CodeModule(made.text, called.exports, called.calling, made.length)


def tensor_function(program: Program, options: EmitOptions, flushing: str, visible: str) -> llvm.Module:
    """The function of a program with tensors."""
    from adcli.codegen.library.standalone import emit
    from adcli.lang.passes.pipeline import evaluation_program
    machine = machine_of(options)
    if machine and machine.narrow:
        raise needs_scalars(program, f"code for {machine.name}, where sizes have 32 bits,",
                            "write --emit c, and compile it there")
    return emit(evaluation_program(program), options.lanes, options.name, options.fast, visible, options.real, flushing)


def library_module(program: Program, options: EmitOptions) -> CodeModule:
    """The program as the function of C, or those of CasADi."""
    machine, flushing = machine_of(options), flushed(options)
    visible = machine.visible if machine else "dllexport" if os.name == "nt" else ""
    if options.abi == "casadi" and options.precision != "double":
        raise AdError("--abi casadi has functions of doubles", help="leave out --precision")
    if has_tensors(program):
        if options.abi == "plain":
            return tensor_module(program, options, flushing, visible)
        from adcli.codegen.library import casadi_tensors
        return CodeModule(*casadi_tensors.module(
            program, options.name, options.point,
            lambda p, name: tensor_function(p, replace(options, name=name), flushing, "internal"), visible))
    if options.lanes > 1:
        raise AdError(f"⟦--lanes {options.lanes}⟧ has no effect on a library of a program of numbers, which computes one point",
                      help="leave it out, or write --emit object, whose function computes rows")
    instructions = Instructions(1, veclib.NO_LIBRARY, options.fast, options.real, flushing)
    if options.abi == "casadi":
        from adcli.codegen.library import casadi
        return CodeModule(*casadi.module(program, options.name, lambda p: prepared(p, options), instructions, visible))
    made = function(prepared(program, options), options.name, instructions, visible)
    return CodeModule("\n".join([*instructions.declarations(), *made.lines, ""]), (made.name,), (
        f"call: {made.head}; it returns 0",
        "in[i] is input i, out[j] output j, counted from 0 in the order above; the arrays do not overlap",
        *([f"work: {made.work} {made.type}s that no other call uses meanwhile"] if made.work else [])), made.length)


# ---------------------------------------------------------------- machines

def machine_of(options: EmitOptions) -> Platform | None:
    """The machine that code is for; None for the least processor of this one."""
    if options.triple is not None:
        return for_processor(platform(options.triple), options.cpu)
    return for_processor(cross_compile.here(), options.cpu) if options.cpu is not None else None


def flushed(options: EmitOptions) -> str:
    """The architecture on which machine code has bits set that make subnormal numbers 0; none without `fast`."""
    machine = machine_of(options)
    if not options.fast:
        return ""
    return platforms.able(machine.architecture) if machine else platforms.here()


def prepared(program: Program, options: EmitOptions) -> Program:
    """The program in terms of what its machine has."""
    machine, program = machine_of(options), for_machine(program)
    return expand(program, {**DEFINITIONS, **EXTREMA}, loops=True) if machine and machine.extrema else program


def llvm_needed(text: str) -> int:
    """The first version of LLVM that can be given this IR."""
    return next(version for part, version in LLVM_NEEDED if part in text)


# ---------------------------------------------------------------- the linker

LD = ("-shared", "-z", "defs", "-z", "noexecstack", "--hash-style=gnu", "--build-id=none", "--discard-all", "--as-needed")
"""Options of `ld`: no name is left open, no byte depends on where it runs, and a library that is not called is not needed."""
WEB_ASSEMBLY = ("-mexec-model=reactor", "-Wl,--export=__heap_base")
"""Options of zig for a module without a main function; the end of its own memory is exported to those who write into it."""
OF_WEB_ASSEMBLY = ("memory", "_initialize", "__heap_base")
"""Exports of such a module other than its functions."""


def linked(code: bytes, exports: Sequence[str], machine: Platform | None) -> bytes:
    """The object code as a library for a machine, by default this one. AdError where nothing here links it."""
    with tempfile.TemporaryDirectory(prefix="adcli-") as folder:
        (pathlib.Path(folder) / "code.o").write_bytes(code)
        ended = subprocess.run([*linker(exports, machine), "-o", "library"], cwd=folder, capture_output=True, text=True,
                               errors="replace", check=False, env={**os.environ, "SOURCE_DATE_EPOCH": "0"})
        if ended.returncode:
            said = [line for line in ended.stderr.splitlines() if line.strip()]
            raise AdError(f"the linker ended with {ended.returncode}: {said[0] if said else 'it says nothing'}",
                          help="write --emit object, and link it")
        return (pathlib.Path(folder) / "library").read_bytes()


def linker(exports: Sequence[str], machine: Platform | None) -> list[str]:
    """The command that links `code.o`, but for the file that it writes."""
    ld = shutil.which("ld") if machine is None and sys.platform == "linux" else None
    if ld:
        return [ld, *LD, "code.o", *(("-l:libm.so.6", "-l:libc.so.6") if libc_ver()[0] == "glibc" else ("-lm", "-lc"))]
    if machine is not None and machine.zig is None:
        raise AdError(f"no linker here makes a library for {machine.name}", help="write --emit object, and link it there")
    command = [*zig(), "cc", "-shared", "-g0", "-s", "code.o", "-lm"]
    if machine is None:
        return command
    command += ["-target", str(machine.zig)]
    if machine.architecture == "wasm32":
        if own := next((name for name in exports if name in OF_WEB_ASSEMBLY), None):
            raise AdError(f"'{own}' is a name that a WebAssembly module has itself", help=f"write --symbol {own}_1")
        command.remove("-shared")
        command += [*WEB_ASSEMBLY, *(f"-Wl,--export={name}" for name in exports)]
    return command


def zig() -> list[str]:
    """The command that runs zig: the package, or the program."""
    if find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang"]
    if program := shutil.which("zig"):
        return [program]
    raise missing("--emit library", "ziglang")
