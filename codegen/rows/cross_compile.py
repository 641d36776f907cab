"""Code for another machine, or another processor of this one, made by LLVM in a process of its own.

LLVM ends the process when a processor cannot run what it is given, and says on standard error only that it does not know one.
Here the process is a child, what it says is read, and it is told of all machines that LLVM knows, which takes time and memory.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any, Literal

from adcli.codegen.rows.platforms import Platform
from adcli.lang.ir.errors import AdError, nearest

PROBE = "define {real} @probe({real} %x) {{\n  %y = fmul {real} %x, %x\n  ret {real} %y\n}}\n"
"""Probe: without hardware a processor calls a library, and numbers are passed otherwise than libraries expect."""
IN_SOFTWARE = ("__aeabi_fmul", "__aeabi_dmul", "__mulsf3", "__muldf3")
LACKING = {"double": "it has no double precision in hardware", "float": "it has no floating point in hardware"}
"""Why a processor is refused that lacks hardware for numbers of this type."""


def made(text: str, platform: Platform, level: int, kind: Literal["object", "assembly", "text"], real: str) -> bytes:
    """The text, which computes with the type `real`, as an object file, as assembly or as verified text for a machine. AdError
    where LLVM does not know its processor, or has no code of the text for it."""
    hardware = "float" if platform.hardware and real == "float" else platform.hardware
    task = json.dumps({"text": text, "llvm": platform.llvm, "cpu": platform.cpu, "features": platform.features,
                       "abi": platform.abi, "level": level, "kind": kind, "hardware": hardware, "bare": platform.bare})
    path = os.pathsep.join(p for p in sys.path if p)
    ended = subprocess.run([sys.executable, "-m", __name__], input=task.encode(), capture_output=True, check=False,
                           env={**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"})
    said = ended.stderr.decode(errors="replace").strip().splitlines()
    known = processors(said)
    if known and platform.cpu not in known:
        some = f"some of them: {', '.join(known[::max(1, len(known) // 12)])}"
        raise AdError(f"{platform.name} has no processor '{platform.cpu}'", help=nearest(platform.cpu, known) or some)
    if ended.returncode:
        reason = next((line.partition(":")[2].strip() for line in said if line.startswith(("LLVM ERROR:", "CodegenError:"))), "")
        instead = "write --precision single" if reason == LACKING["double"] else "leave out --cpu"
        raise AdError(f"LLVM has no code of this program for the processor '{platform.cpu}' of {platform.name}"
                      + (f": {reason}" if reason else ""), help=f"{instead}, or name another processor")
    return ended.stdout


def here() -> Platform:
    """This machine, with its least processor."""
    from adcli.codegen.rows import jit
    from llvmlite import binding
    triple = binding.get_process_triple()
    return Platform(triple, triple, jit.baseline(), None)


def processors(said: list[str]) -> list[str]:
    """The names in what LLVM writes about processors, which comes before what it writes about features."""
    end = next((i for i, line in enumerate(said) if line.startswith("Available features")), len(said))
    return [line.split()[0] for line in said[:end] if " - Select the " in line]


def work(task: dict[str, Any]) -> bytes:
    """The work of the child, where LLVM knows all machines."""
    from adcli.codegen.rows import jit
    from llvmlite import binding
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    target = binding.Target.from_triple(task["llvm"])
    target.create_target_machine(cpu="help")   # which writes the processors that there are on standard error
    machine = target.create_target_machine(cpu=task["cpu"], features=task["features"], opt=task["level"],
                                           reloc="static" if task["bare"] else "pic", codemodel="default",
                                           abiname=task["abi"])

    def computes(real: str) -> bool:
        with jit.parsed(PROBE.format(real=real)) as module:
            return not any(name in machine.emit_assembly(module) for name in IN_SOFTWARE)

    for real in ("float", "double"):
        if task["hardware"] in (real, "double") and not computes(real):
            raise SystemExit(f"LLVM ERROR: {LACKING[real]}")
    with jit.reported(), jit.parsed(task["text"]) as module:
        module.triple, module.data_layout = task["llvm"], str(machine.target_data)
        if task["bare"]:
            for function in module.functions:
                function.add_function_attribute("nounwind")   # else its tables need a library for exceptions
        if task["kind"] == "text":   # LLVM's own would be without comments
            return f'{task["text"]}\ntarget datalayout = "{machine.target_data}"\ntarget triple = "{task["llvm"]}"\n'.encode()
        return bytes(machine.emit_object(module)) if task["kind"] == "object" else machine.emit_assembly(module).encode()


if __name__ == "__main__":
    sys.stdout.buffer.write(work(json.load(sys.stdin.buffer)))
