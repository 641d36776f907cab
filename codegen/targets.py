"""What a program can be emitted as: `--emit` name → target. A further target is one line in `TARGETS` and a file.

Emitted files are the same on every machine of an architecture: one lane, libm's names and the baseline processor,
unless asked otherwise. Heavy imports sit in the emitters.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lang.ir import Program


@dataclass(frozen=True, slots=True)
class Options:
    """What an emitter can be told: `style` is for text; `lanes` and the function's `name` for LLVM and below.

    `name` must not be that of a libm function.
    """

    style: str = "nested"
    lanes: int = 1
    name: str = "kernel"


Emitter = Callable[[Program, Sequence[str], Options], str | bytes]


@dataclass(frozen=True, slots=True)
class Target:
    """A name for `--emit`, the usual suffix of a file, what it is in a line of help, and its emitter."""

    name: str
    suffix: str
    help: str
    emit: Emitter


def text(program: Program, header: Sequence[str], options: Options) -> str:
    from lang.printer import print_program
    return print_program(program, options.style, header)


def llvm(program: Program, header: Sequence[str], options: Options) -> str:
    from codegen import jit
    from codegen.expand import for_machine
    from codegen.llvm import emit
    module = emit(for_machine(program), options.lanes, name=options.name, header=header)
    jit.verify(module.text)
    return module.text


def assembly(program: Program, header: Sequence[str], options: Options) -> str:
    from codegen import jit
    from codegen.expand import for_machine
    from codegen.llvm import emit
    module = emit(for_machine(program), options.lanes, name=options.name)
    return commented(header, "#") + jit.assembly(module.text, jit.baseline(), jit.effort(module.equations))


def object_file(program: Program, header: Sequence[str], options: Options) -> bytes:
    """Has no place for a comment: the header is left out."""
    from codegen import jit
    from codegen.expand import for_machine
    from codegen.llvm import emit
    module = emit(for_machine(program), options.lanes, name=options.name)
    return jit.object_code(module.text, jit.baseline(), jit.effort(module.equations))


def commented(lines: Sequence[str], mark: str) -> str:
    return "".join(f"{mark} {line}".rstrip() + "\n" for line in lines)


TARGETS: dict[str, Target] = {target.name: target for target in (
    Target("text", ".ad", "the program, readable again", text),
    Target("llvm", ".ll", "verified LLVM IR", llvm),
    Target("asm", ".s", "assembly", assembly),
    Target("object", ".o", "an object file", object_file),
)}
