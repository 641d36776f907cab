"""Object code as a shared library: by `ld`, the linker of every Linux with a compiler, or by zig, which comes as a package of
Python and links for every system. No compiler of C runs.
"""
from __future__ import annotations

import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec

from adcli.codegen.rows.platforms import Platform
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.extras import missing

LD = ("-shared", "-z", "defs", "-z", "noexecstack", "--hash-style=gnu", "--build-id=none", "--discard-all", "--as-needed")
"""What `ld` is told: no name is left open, no byte depends on where it runs, and a library that is not called is not needed."""
WEB_ASSEMBLY = ("-mexec-model=reactor", "-Wl,--export=__heap_base")
"""What zig is told of a module that does nothing by itself; where its own memory ends is known to those who write into it."""
OF_WEB_ASSEMBLY = ("memory", "_initialize", "__heap_base")
"""What such a module exports beside its functions."""


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
        return [ld, *LD, "code.o", *(("-l:libm.so.6", "-l:libc.so.6") if platform.libc_ver()[0] == "glibc" else ("-lm", "-lc"))]
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
