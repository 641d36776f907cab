"""The kernel of a long program in several texts, written for LLVM's quickest selection of instructions.

At its lowest level LLVM selects instruction by instruction where it can, ten times as quick as otherwise. It can where every
operand is a value: it knows no vectors of constants, which are loaded here, and no negation of vectors, which is the exclusive or
that it means. What it cannot (comparisons, choices), and all before it in its basic block, takes the way that is quadratic in the
length of a block; so blocks are short. Values from outside a block are loaded where they are first read in it, as LLVM would
otherwise store them again beside where they lie. Values have numbers, which are read quicker than names.

The program computed is that of `llvm.emit`, operation by operation; the texts depend on the program alone and not on who
compiles them.
"""
from __future__ import annotations

from collections.abc import Iterator

from adcli.codegen.machine import veclib
from adcli.codegen.machine.kernel import EntryPoint
from adcli.codegen.rows.instructions import Instructions
from adcli.codegen.rows.llvm import BLOCKS, BLOCKS_BEYOND, DOUBLES, Listed, Numbers, calling, head
from adcli.codegen.rows.parts import PART_SIZE, ProgramPart, cut
from adcli.lang.ir import Atom, Equation, Lit, Primitive, Program, Var

GROUP = 8
"""Parts that one text has."""
BLOCK_SIZE = 100
"""Equations of a basic block."""
NAME = "kernel"
SIGN = "kernel.sign"
"""A vector of numbers that have their highest bit only."""


class LongKernel:
    """The texts of a program that `expand` has been through; each is written when it is asked for."""

    level = 0
    """LLVM's code generation level."""

    def __init__(self, program: Program, lanes: int, library: veclib.Library, numbers: Numbers = DOUBLES) -> None:
        self.program, self.lanes, self.library, self.numbers = program, lanes, library, numbers
        self.listed = Listed.of(program)
        self.parts, self.slots = cut(program, PART_SIZE, self.listed.positions())
        self.blocks = BLOCKS if len(program.equations) > BLOCKS_BEYOND else 1
        called = self.instructions()
        for op in {e.op for e in program.equations}:
            called.template(op)
        work = called.size * lanes * self.slots * self.blocks
        self.entry = EntryPoint(NAME, lanes, work, len(program.params), len(program.results), tuple(sorted(called.externals)),
                                numbers.precision.code)

    def instructions(self) -> Instructions:
        return Instructions(self.lanes, self.library, *self.numbers)

    @property
    def texts(self) -> Iterator[str]:
        """The groups of parts, then the function that calls them."""
        position = {p.var: i for i, p in enumerate(self.program.params)}
        for first in range(0, len(self.parts), GROUP):
            writer = PartWriter(self.instructions(), position, self.slots)
            written = [writer.function(symbol(first + k), part) for k, part in enumerate(self.parts[first:first + GROUP])]
            yield "\n".join([*writer.instructions.declarations(), *writer.data(), *written, ""])
        symbols, instructions = [symbol(k) for k in range(len(self.parts))], self.instructions()
        declared = [f"declare hidden {head(s, instructions.stack)}" for s in symbols]
        body = calling(NAME, symbols, instructions, self.blocks, self.listed)
        yield "\n".join([*declared, *instructions.declarations(), *body, ""])


def symbol(part: int) -> str:
    return f"{NAME}.part{part}"


class PartWriter:
    """Writes the functions of one text, each with the numbers of its values from 0. `position` is that of inputs.

    `operands` says what number has a value in the block at hand, `loaded` which of them end with it.
    """

    def __init__(self, instructions: Instructions, position: dict[Var, int], slots: int) -> None:
        self.instructions, self.position, self.slots = instructions, position, slots
        self.lanes, self.size = instructions.lanes, instructions.size
        self.real, self.scalar = instructions.real, instructions.scalar
        self.truth, self.mask = instructions.truth, instructions.mask
        self.templates: dict[Primitive, str] = {}
        self.constants: dict[str, str] = {}
        self.negates = False
        self.start(ProgramPart(()))

    def start(self, part: ProgramPart) -> None:
        self.lines: list[str] = []
        self.operands: dict[Atom, str] = {}
        self.loaded: list[Atom] = []
        self.slot, self.count, self.ended = dict(part.loads), 0, 0

    def data(self) -> list[str]:
        """The globals that functions load constants from."""
        size = self.size * self.lanes
        lines = [f"@{name} = internal constant {self.real} splat ({self.scalar} {value}), align {size}"
                 for value, name in self.constants.items()]
        if self.negates:
            sign = f"{self.instructions.bits} {-1 << 8 * self.size - 1}"
            lines.append(f"@{SIGN} = internal constant {self.mask} splat ({sign}), align {size}")
        return lines

    def function(self, name: str, part: ProgramPart) -> str:
        """A part, as `llvm.many_parts` calls it."""
        self.start(part)
        stored, results = dict(part.stores), dict[Atom, list[int]]()
        for i, atom in part.results:
            results.setdefault(atom, []).append(i)
        for first in range(0, len(part.equations), BLOCK_SIZE):
            for e in part.equations[first:first + BLOCK_SIZE]:
                self.equation(e)
                out = e.outs[0]
                if out in stored:
                    self.store_slot(out, stored[out])
                if out in results:
                    self.store_results(out, results.pop(out))
            self.end_block()
        for atom, positions in results.items():
            self.store_results(atom, positions)
        return "\n".join([
            f"define hidden {head(name, self.instructions.stack)} {{", "entry:",
            "  %any = icmp slt i64 %begin, %end", "  br i1 %any, label %block, label %exit", "block:",
            "  %row = phi i64 [ %begin, %entry ], [ %next, %tail ]",
            "  %slots = phi ptr [ %work, %entry ], [ %others, %tail ]",
            *self.lines, "  br label %tail", "tail:",
            f"  %others = getelementptr {self.real}, ptr %slots, i64 {self.slots}",
            f"  %next = add i64 %row, {self.lanes}", "  %more = icmp slt i64 %next, %end",
            "  br i1 %more, label %block, label %exit", "exit:", "  ret void", "}", ""])

    def end_block(self) -> None:
        self.ended += 1
        self.lines += [f"  br label %b.{self.ended}", f"b.{self.ended}:"]
        for atom in self.loaded:
            del self.operands[atom]
        self.loaded.clear()

    def equation(self, e: Equation) -> None:
        operands, args = self.operands, []
        for a in e.args:
            args.append(operands.get(a) or self.load(a))
        template = self.templates.get(e.op) or self.template(e.op)
        if template is NEGATION:
            operands[e.outs[0]] = self.negation(args[0])
            return
        z = operands[e.outs[0]] = f"%{self.count}"
        self.count += 1
        self.lines.append(template % (z, *args))

    def template(self, op: Primitive) -> str:
        """The line of an operation, with places for its result and its operands in order."""
        if op.llvm == "fneg" and self.lanes > 1:
            self.negates, made = True, NEGATION
        else:
            made = self.instructions.template(op).replace("%", "%%").format(*["%s"] * max(3, op.arity), z="%s")
        self.templates[op] = made
        return made

    def new(self, right: str) -> str:
        """A value of its own number."""
        z = f"%{self.count}"
        self.count += 1
        self.lines.append(f"  {z} = {right}")
        return z

    def negation(self, x: str) -> str:
        """−x: what `fneg` does to the bits."""
        whole = self.new(f"bitcast {self.real} {x} to {self.mask}")
        sign = self.new(f"load {self.mask}, ptr @{SIGN}")
        return self.new(f"bitcast {self.mask} {self.new(f'xor {self.mask} {whole}, {sign}')} to {self.real}")

    def load(self, atom: Atom) -> str:
        """A constant, each time that it is read; an input or a value of an earlier part, once a block."""
        if isinstance(atom, Lit):
            return self.constant(atom.value)
        i = self.position.get(atom)
        if i is not None:
            z = self.new(f"load {self.real}, ptr {self.row_of('in', i)}, align {self.size}")
        else:
            z = self.new(f"load {self.mask if atom.truth else self.real}, ptr {self.place(self.slot[atom])}, align {self.size}")
            z = self.new(f"trunc {self.mask} {z} to {self.truth}") if atom.truth else z
        self.operands[atom] = z
        self.loaded.append(atom)
        return z

    def constant(self, value: float) -> str:
        text = self.instructions.number(value)
        if self.lanes == 1:
            return text
        name = self.constants.setdefault(text, f"k.{len(self.constants)}")
        return self.new(f"load {self.real}, ptr @{name}")

    def row_of(self, side: str, i: int) -> str:
        """Where the row at hand of a column lies."""
        column = self.new(f"load ptr, ptr {self.new(f'getelementptr ptr, ptr %{side}, i64 {i}')}")
        return self.new(f"getelementptr {self.scalar}, ptr {column}, i64 %row")

    def place(self, slot: int) -> str:
        return self.new(f"getelementptr {self.real}, ptr %slots, i64 {slot}")

    def store_slot(self, var: Var, slot: int) -> None:
        z = self.operands[var]
        if var.truth:
            z = self.new(f"sext {self.truth} {z} to {self.mask}")
        self.lines.append(f"  store {self.mask if var.truth else self.real} {z}, ptr {self.place(slot)}, align {self.size}")

    def store_results(self, atom: Atom, positions: list[int]) -> None:
        z = self.operands.get(atom) or self.load(atom)
        for i in positions:
            self.lines.append(f"  store {self.real} {z}, ptr {self.row_of('out', i)}, align {self.size}")


NEGATION = "negation"
"""In place of a template: an operation of several lines."""
