"""What all targets of `--emit` share: their options, and the comment in front of a text."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adcli.lang.ir import Program
from adcli.lang.operations.precision import PRECISIONS, Precision


@dataclass(frozen=True, slots=True)
class EmitOptions:
    """The options of an emitter: `style` for text, the function's `name` for all others, `lanes` for LLVM and below, `abi` for
    libraries.

    `fast` licenses a compiler to round otherwise, and machine code to take subnormal numbers for 0; `main` makes a program of a
    function of C; `triple` and `cpu` name another machine than this one, or another processor of it. Of a program with tensors
    `point` has the inputs that are constants of the library, and others of which the shapes are.
    """

    style: str = "nested"
    lanes: int = 1
    name: str = "kernel"
    fast: bool = False
    precision: str = "double"
    main: bool = False
    abi: str = "plain"
    triple: str | None = None
    cpu: str | None = None
    point: Mapping[str, Any] = field(default_factory=dict)

    @property
    def real(self) -> Precision:
        return PRECISIONS[self.precision]


def commented(lines: Sequence[str], mark: str) -> str:
    """Lines as comments of a language that begins them with a mark."""
    return "".join(f"{mark} {line}".rstrip() + "\n" for line in lines)


def text(program: Program, header: Sequence[str], options: EmitOptions) -> str:
    """The program as text that reads back to it, or in the style math to one that is equal inside of the domain."""
    from adcli.lang.printing.printer import print_program
    if options.style == "math":
        from adcli.lang.simplify.mathematics import NOTE, mathematical, require_short
        require_short(program)
        return print_program(mathematical(program), "nested", [*header, NOTE])
    plain = print_program(program, options.style)
    if options.style == "nested":
        from adcli.lang.lower.frontend import reads_as  # only for texts as one would write them
        from adcli.lang.printing.kept_functions import with_functions
        plain = with_functions(program, plain, reads_as)
    return commented(header, "#") + plain
