"""A Program as LLVM IR: the function of C on two arrays, for one point at a time.

    int NAME(const double *restrict in, double *restrict out)

or of floats, where `Instructions` are of single precision.
It is the function that `--emit c` writes, with the same bits: values between the parts of a long program wait in an array of the
function's own, and where that would be larger than LARGEST_STACK bytes the caller brings it: NAME_work(in, out, work).
Functions of one module share their `Instructions`, which declare what they call.
"""
from __future__ import annotations

from adcli.codegen.rows.expand import expand
from adcli.codegen.rows.instructions import DEFINITIONS, Instructions
from adcli.codegen.rows.llvm import ONE_PART, KernelWriter, quoted, weighed
from adcli.codegen.rows.parts import LARGEST_STACK, PART_SIZE, cut
from adcli.lang.ir import Program
from adcli.lang.ir.records import value_record

ARRAYS = "ptr %in, ptr %out"


@value_record
class PointFunction:
    """The text of a function called `name`; `work` is the length of the array that its callers bring, 0 where it takes none.
    `length` is how much work it is for LLVM."""

    name: str
    work: int
    lines: list[str]
    length: int
    type: str

    @property
    def head(self) -> str:
        """As C declares it."""
        work = f", {self.type} *restrict work" if self.work else ""
        return f"int {self.name}(const {self.type} *restrict in, {self.type} *restrict out{work})"


def function(program: Program, name: str, instructions: Instructions, before: str = "", own: bool = True) -> PointFunction:
    """The function of a program that `expand` may go through again; `before` is what LLVM is to know of it, such as `internal`.
    With `own` it has its array itself up to LARGEST_STACK; without, the caller always brings it, and it keeps its name."""
    program = expand(program, DEFINITIONS, loops=True)
    size = ONE_PART if len(program.equations) <= ONE_PART else PART_SIZE
    parts, slots = cut(program, size)
    here = own and instructions.size * slots <= LARGEST_STACK
    called = name if here or not own else f"{name}_work"
    writer, lines, inside = PointWriter(program, instructions), [], []
    for k, part in enumerate(parts):
        if len(parts) == 1:
            inside = writer.body(part)
        else:
            symbol = quoted(f"{name}.part{k}")
            lines += [f"define internal void @{symbol}({ARRAYS}, ptr %slots) {{", *writer.body(part), "  ret void", "}", ""]
            inside.append(f"  call void @{symbol}({ARRAYS}, ptr %slots)")
    if here and len(parts) > 1:
        inside.insert(0, f"  %slots = alloca [{max(1, slots)} x {instructions.scalar}], align {instructions.size}")
    given = "" if here else ", ptr %slots"
    how = f"define {before} i32" if before else "define i32"
    if instructions.flushing:
        apart = f"@{quoted(f'{name}.flushed')}({ARRAYS}{given})"
        lines += [f"define internal void {apart} {{", *inside, "  ret void", "}", ""]
        inside = instructions.flushed(f"call void {apart}", "%bits")
    lines += [f"{how} @{quoted(called)}({ARRAYS}{given}) {{", *inside, "  ret i32 0", "}", ""]
    return PointFunction(called, 0 if here else slots, lines,
                         weighed(len(program.equations), len(program.params) + len(program.results)), instructions.scalar)


class PointWriter(KernelWriter):
    """Writes the equations of a program on numbers that stand side by side in two arrays."""

    def input_at(self, i: int) -> tuple[str, str]:
        return f"%in.{i}", f"  %in.{i} = getelementptr {self.scalar}, ptr %in, i64 {i}"

    def output_at(self, i: int) -> tuple[str, str]:
        return f"%out.{i}", f"  %out.{i} = getelementptr {self.scalar}, ptr %out, i64 {i}"
