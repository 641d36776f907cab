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

PROBE = "define double @probe(double %x) {\n  %y = fmul double %x, %x\n  ret double %y\n}\n"
"""What a processor computes itself, or by a function of a library: then doubles are passed otherwise than libraries expect."""


def made(text: str, platform: Platform, level: int, kind: Literal["object", "assembly", "text"]) -> bytes:
    """The text as an object file, as assembly or as verified text for a machine. AdError where LLVM does not know its processor,
    or has no code of the text for it."""
    task = json.dumps({"text": text, "llvm": platform.llvm, "cpu": platform.cpu, "features": platform.features,
                       "abi": platform.abi, "level": level, "kind": kind})
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
        raise AdError(f"LLVM has no code of this program for the processor '{platform.cpu}' of {platform.name}"
                      + (f": {reason}" if reason else ""), help="leave out --cpu, or name another processor")
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
    """What the child does, LLVM told of all machines."""
    from adcli.codegen.rows import jit
    from llvmlite import binding
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    target = binding.Target.from_triple(task["llvm"])
    target.create_target_machine(cpu="help")   # which writes the processors that there are on standard error
    machine = target.create_target_machine(cpu=task["cpu"], features=task["features"], opt=task["level"], reloc="pic",
                                           codemodel="default", abiname=task["abi"])
    with jit.parsed(PROBE) as module:
        if any(name in machine.emit_assembly(module) for name in ("__aeabi_dmul", "__muldf3")):
            raise SystemExit("LLVM ERROR: it has no double precision in hardware")
    with jit.reported(), jit.parsed(task["text"]) as module:
        module.triple, module.data_layout = task["llvm"], str(machine.target_data)
        if task["kind"] == "text":   # LLVM's own would be without comments
            return f'{task["text"]}\ntarget datalayout = "{machine.target_data}"\ntarget triple = "{task["llvm"]}"\n'.encode()
        return bytes(machine.emit_object(module)) if task["kind"] == "object" else machine.emit_assembly(module).encode()


if __name__ == "__main__":
    sys.stdout.buffer.write(work(json.load(sys.stdin.buffer)))
