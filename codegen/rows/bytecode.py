"""Bytecode: a program of scalars as a tape, and the interpreter of tapes as LLVM IR, with the bits of compiled code.

    define void @interpreter(ptr %in, ptr %out, i64 %begin, i64 %end, ptr %work)

It is called as a kernel (`llvm`), on the same columns: for each block of `lanes` rows it executes the instructions of the tape,
each the line that `instructions` has for the operation, on vectors from slots and into a slot. `work` begins with the header of
`adcli.codegen.machine.kernel`; the slots follow, those of constants first.
"""
from __future__ import annotations

from array import array
from itertools import count

from adcli.codegen.machine import veclib
from adcli.codegen.machine.kernel import END, HEADER, RESULT, EntryPoint, Tape, reals
from adcli.codegen.rows.instructions import DEFINITIONS, Instructions
from adcli.codegen.rows.llvm import compile_length
from adcli.lang.ir import Atom, Lit, Primitive, Program, Var
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.precision import DOUBLE, Precision

OPERATIONS: dict[Primitive, int] = {
    op: number for number, op in enumerate((op for op in TABLE.values() if (op.llvm or op.libm) and op.name not in DEFINITIONS),
                                           start=RESULT + 1)}
"""Opcodes of the operations that `expand` leaves."""
NAME = "interpreter"


# ---------------------------------------------------------------- the tape

class Slots(dict[Atom, int]):
    """Slots of live values, inputs and constants; a new one for any other value or constant."""

    def __init__(self, program: Program, precision: Precision) -> None:
        super().__init__((p.var, i) for i, p in enumerate(program.params))
        self.free: list[int] = []
        self.unused = count(len(self))
        self.precision, self.constants = precision, reals(precision.code)
        self.equal: dict[bytes, int] = {}

    def __missing__(self, atom: Atom) -> int:
        slot = self[atom] = self.new(atom)
        return slot

    def new(self, atom: Atom) -> int:
        """The slot of a value that is not live yet, or of a constant."""
        if type(atom) is not Lit:
            return self.free.pop() if self.free else next(self.unused)
        slot = self.equal.get(bits := atom.bits)
        if slot is None:
            self.constants.append(self.precision.nearest(atom.value))
            slot = self.equal[bits] = -len(self.constants)
        return slot


def encoded(program: Program, precision: Precision = DOUBLE) -> Tape:
    """The tape of a program that `expand` has been through, in a microsecond an equation.

    From the last equation to the first: a value gets its slot where it is used last and gives it back where it is defined.
    """
    slots, operations = Slots(program, precision), OPERATIONS
    columns: dict[Atom, list[int]] = {}
    for i, r in enumerate(program.results):
        columns.setdefault(r.atom, []).append(i)
    code = [END]
    for atom in [atom for atom in columns if isinstance(atom, Lit) or atom in slots]:
        code += [word for i in columns[atom] for word in (slots[atom], i, RESULT)]
    end, alive, free = slots.pop, slots.get, slots.free
    for e in reversed(program.equations):
        (out,), args = e.outs, e.args
        if out in columns:
            for i in columns[out]:
                code += (slots[out], i, RESULT)
        z = end(out, None)
        if z is None:
            continue
        free.append(z)
        if len(args) == 2:   # as most of a long program: its operands are looked up here, and get the slot that is free
            x, y = args
            right = alive(y)
            if right is None:
                right = slots[y] = free.pop() if free and type(y) is Var else slots.new(y)
            left = alive(x)
            if left is None:
                left = slots[x] = free.pop() if free and type(x) is Var else slots.new(x)
            code += (right, left, z, operations[e.op])
        else:
            code += (*[slots[a] for a in reversed(args)], z, operations[e.op])
    code.reverse()
    return Tape(array("i", code), slots.constants, len(program.params), len(program.results), next(slots.unused),
                1 + len(program.equations) + len(program.results), compile_length(program))


# ---------------------------------------------------------------- the interpreter


def interpreter_text(lanes: int, library: veclib.Library, precision: Precision = DOUBLE) -> tuple[str, EntryPoint]:
    """The interpreter for blocks of `lanes` rows; work, inputs and outputs of its entry are the tape's."""
    instructions = Instructions(lanes, library, precision=precision)
    body = [line for op, number in OPERATIONS.items() for line in operation(instructions, op, number)]
    lines = [*instructions.declarations(), frame(instructions), *body, "}", ""]
    return "\n".join(lines), EntryPoint(NAME, lanes, 0, 0, 0, tuple(sorted(instructions.externals)), precision.code)


def frame(instructions: Instructions) -> str:
    """The loop over blocks and the dispatch: constants are put in their slots once, inputs for each block."""
    lanes, numbers, size = instructions.lanes, [RESULT, *OPERATIONS.values()], instructions.size
    kinds = {"lanes": lanes, "real": instructions.real, "scalar": instructions.scalar}
    return FRAME.format(
        **kinds, stack=instructions.stack, size=size, block=size * lanes, header=HEADER, end=END, result=RESULT,
        spread=SPREAD.format(**kinds) if lanes > 1 else "", constant="%constant.all" if lanes > 1 else "%constant",
        following=", ".join(f"[ %pc.{n}, %op.{n} ]" for n in numbers),
        cases="\n".join(f"    i32 {n}, label %op.{n}" for n in (END, *numbers)),
        words="\n".join([*word(RESULT, 1), *word(RESULT, 2)]), onward="\n".join(onward(RESULT, 3)))


SPREAD = """\
  %constant.one = insertelement {real} poison, {scalar} %constant, i32 0
  %constant.all = shufflevector {real} %constant.one, {real} poison, <{lanes} x i32> zeroinitializer
"""
FRAME = """\
define void @interpreter(ptr %in, ptr %out, i64 %begin, i64 %end, ptr %work){stack} {{
entry:
  %code = load ptr, ptr %work
  %constants.at = getelementptr i64, ptr %work, i64 1
  %constants = load ptr, ptr %constants.at
  %constants.count.at = getelementptr i64, ptr %work, i64 2
  %constants.count = load i64, ptr %constants.count.at
  %inputs.count.at = getelementptr i64, ptr %work, i64 3
  %inputs.count = load i64, ptr %inputs.count.at
  %first = getelementptr i8, ptr %work, i64 {header}
  %slots = getelementptr {real}, ptr %first, i64 %constants.count
  br label %constants.more
constants.more:
  %k = phi i64 [ 0, %entry ], [ %k.next, %constants.each ]
  %k.any = icmp slt i64 %k, %constants.count
  br i1 %k.any, label %constants.each, label %blocks
constants.each:
  %constant.at = getelementptr {scalar}, ptr %constants, i64 %k
  %constant = load {scalar}, ptr %constant.at
{spread}  %k.slot = sub i64 -1, %k
  %k.at = getelementptr {real}, ptr %slots, i64 %k.slot
  store {real} {constant}, ptr %k.at, align {block}
  %k.next = add i64 %k, 1
  br label %constants.more
blocks:
  %row = phi i64 [ %begin, %constants.more ], [ %row.next, %op.{end} ]
  %rows.any = icmp slt i64 %row, %end
  br i1 %rows.any, label %inputs.more, label %exit
exit:
  ret void
inputs.more:
  %i = phi i64 [ 0, %blocks ], [ %i.next, %inputs.each ]
  %i.any = icmp slt i64 %i, %inputs.count
  br i1 %i.any, label %inputs.each, label %next
inputs.each:
  %i.at = getelementptr ptr, ptr %in, i64 %i
  %column = load ptr, ptr %i.at
  %column.at = getelementptr {scalar}, ptr %column, i64 %row
  %input = load {real}, ptr %column.at, align {size}
  %i.slot = getelementptr {real}, ptr %slots, i64 %i
  store {real} %input, ptr %i.slot, align {block}
  %i.next = add i64 %i, 1
  br label %inputs.more
next:
  %pc = phi ptr [ %code, %inputs.more ], {following}
  %operation = load i32, ptr %pc
  switch i32 %operation, label %never [
{cases}
  ]
never:
  unreachable
op.{end}:
  %row.next = add i64 %row, {lanes}
  br label %blocks
op.{result}:
{words}
  %to.slot = getelementptr ptr, ptr %out, i64 %word.{result}.1
  %to = load ptr, ptr %to.slot
  %to.at = getelementptr {scalar}, ptr %to, i64 %row
  %result.at = getelementptr {real}, ptr %slots, i64 %word.{result}.2
  %result = load {real}, ptr %result.at, align {block}
  store {real} %result, ptr %to.at, align {size}
{onward}"""


def operation(instructions: Instructions, op: Primitive, number: int) -> list[str]:
    """The basic block of an operation, whose words are its opcode and the slots of its result and arguments."""
    real, truth, mask, align = instructions.real, instructions.truth, instructions.mask, instructions.size * instructions.lanes
    lines = [f"op.{number}:   ; {op.name}"]
    for i in range(op.arity + 1):
        lines += [*word(number, i + 1), f"  %at.{number}.{i} = getelementptr {real}, ptr %slots, i64 %word.{number}.{i + 1}"]
    arguments = [f"%x.{number}.{i}" for i in range(op.arity)]
    for i, x in enumerate(arguments, start=1):
        if op.kind(i - 1) == "t":
            lines += [f"  %mask.{number}.{i} = load {mask}, ptr %at.{number}.{i}, align {align}",
                      f"  {x} = trunc {mask} %mask.{number}.{i} to {truth}"]
        else:
            lines.append(f"  {x} = load {real}, ptr %at.{number}.{i}, align {align}")
    z, kind = f"%z.{number}", real
    lines.append(instructions.template(op).format(*arguments, z=z))
    if op.truth:
        lines.append(f"  %kept.{number} = sext {truth} {z} to {mask}")
        z, kind = f"%kept.{number}", mask
    return [*lines, f"  store {kind} {z}, ptr %at.{number}.0, align {align}", *onward(number, op.arity + 2)]


def word(number: int, i: int) -> list[str]:
    """Operand `i` of an instruction."""
    return [f"  %short.{number}.{i}.at = getelementptr i32, ptr %pc, i64 {i}",
            f"  %short.{number}.{i} = load i32, ptr %short.{number}.{i}.at",
            f"  %word.{number}.{i} = sext i32 %short.{number}.{i} to i64"]


def onward(number: int, words: int) -> list[str]:
    """On to the next instruction, after one of so many words."""
    return [f"  %pc.{number} = getelementptr i32, ptr %pc, i64 {words}", "  br label %next"]
