"""A Program as LLVM IR: one loop over blocks of `lanes` rows, every value a vector of one block.

The text is written in time linear in the program and needs no optimisation pass: operations are explicit vector
instructions or calls of the vector maths library (see `instructions`). With one lane the text is the same everywhere.

    define void @NAME(ptr %in, ptr %out, i64 %begin, i64 %end, ptr %work)

`in` and `out` are arrays of pointers to columns of doubles, one per input and result. Rows `begin` to `end` are
computed; their number is a multiple of `lanes`. `work` has `work_bytes` bytes that no other call uses meanwhile; a
program of one part needs none. A column of results must not overlap a column of inputs.
"""
from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from adcli.codegen.machine import veclib
from adcli.codegen.machine.kernel import EntryPoint
from adcli.codegen.rows.expand import expand
from adcli.codegen.rows.instructions import DEFINITIONS, Instructions, stack, vector
from adcli.codegen.rows.parts import PART_SIZE, ProgramPart, cut
from adcli.lang.ir import Atom, Equation, Lit, Program, Var

LOOP_NAMES = ("in", "out", "begin", "end", "work", "entry", "block", "exit", "row", "next", "more", "any", "slots", "others",
              "beyond", "within", "until")
"""What the text calls its own values and blocks: no value of a program has such a name."""
ONE_PART = 4_000
"""Equations up to which one part is as quick to compile as several; it runs a tenth faster."""
BLOCKS, BLOCKS_BEYOND = 4, 20_000
"""How many blocks go through each part together in a program of more than BLOCKS_BEYOND equations."""
LONGEST_NAME = 200
"""Characters of a name that LLVM is given. It cuts names itself, at 1024 bytes, and then two may be one."""
PLAIN_NAME = re.compile(r"[A-Za-z$._][A-Za-z0-9$._]*")


@dataclass(frozen=True, slots=True)
class Module:
    """LLVM IR with its entry; `equations` is the length of the program after expansion."""

    text: str
    entry: EntryPoint
    equations: int

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def lanes(self) -> int:
        return self.entry.lanes

    @property
    def work_bytes(self) -> int:
        return self.entry.work_bytes


def emit(program: Program, lanes: int = 1, library: veclib.Library = veclib.NO_LIBRARY, name: str = "kernel",
         header: Iterable[str] = (), part_size: int | None = None, fast: bool = False) -> Module:
    """The program as an LLVM module; in parts of `part_size` equations, by default only where it is long. The same arguments
    give the same text on every machine.

    `fast` lets LLVM fuse a product with a sum and divide by multiplying with a reciprocal: results may then differ in the
    last digits, and from processor to processor.
    """
    program = expand(program, DEFINITIONS)
    if part_size is None:
        part_size = ONE_PART if len(program.equations) <= ONE_PART else PART_SIZE
    parts, slots = cut(program, part_size)
    instructions = Instructions(lanes, library, fast)
    writer = KernelWriter(program, instructions)
    blocks = BLOCKS if len(program.equations) > BLOCKS_BEYOND else 1
    body = one_part(writer, parts[0], name) if len(parts) == 1 else many_parts(writer, parts, name, slots, blocks)
    lines = [*(f"; {line}".rstrip() for line in header), *interface(program), *instructions.declarations(), *body, ""]
    externals = tuple(sorted(instructions.externals))
    entry = EntryPoint(name, lanes, 8 * lanes * slots * blocks, len(program.params), len(program.results), externals)
    return Module("\n".join(lines), entry, len(program.equations))


def interface(program: Program) -> list[str]:
    """Comments that say which column is which."""
    return [f"; in: {', '.join(p.name for p in program.params)}",
            f"; out: {', '.join(r.name for r in program.results)}"]


def one_part(writer: KernelWriter, part: ProgramPart, name: str) -> list[str]:
    """The loop with the program inside; columns are looked up before it."""
    return [f"define {head(name, writer.lanes)} {{", *loop(writer.lanes, writer.columns(part), writer.body(part)), "}"]


def many_parts(writer: KernelWriter, parts: list[ProgramPart], name: str, slots: int, blocks: int) -> list[str]:
    """One function a part, and the loop that calls them in order for each `blocks` blocks: code that is longer than the
    processor's cache for it is fetched once for all of them."""
    lines, calls = [], [f"  %beyond = add i64 %row, {blocks * writer.lanes}",
                        "  %within = icmp slt i64 %beyond, %end",
                        "  %until = select i1 %within, i64 %beyond, i64 %end"]
    for k, part in enumerate(parts):
        symbol = f"{name}.part{k}"
        lines += [f"define internal {head(symbol, writer.lanes)} {{",
                  *loop(writer.lanes, [], [*writer.columns(part), *writer.body(part)], slots), "}", ""]
        calls.append(f"  call void @{quoted(symbol)}(ptr %in, ptr %out, i64 %row, i64 %until, ptr %work)")
    return [*lines, f"define {head(name, writer.lanes)} {{", *loop(blocks * writer.lanes, [], calls), "}"]


def head(name: str, lanes: int) -> str:
    return f"void @{quoted(name)}(ptr %in, ptr %out, i64 %begin, i64 %end, ptr %work){stack(lanes)}"


def loop(step: int, before: list[str], body: list[str], slots: int = 0) -> list[str]:
    """What a function does: `body` for every `step` rows, each time with `slots` slots of its own."""
    return ["entry:",
            *before,
            "  %any = icmp slt i64 %begin, %end",
            "  br i1 %any, label %block, label %exit",
            "block:",
            "  %row = phi i64 [ %begin, %entry ], [ %next, %block ]",
            *(["  %slots = phi ptr [ %work, %entry ], [ %others, %block ]"] if slots else []),
            *body,
            *([f"  %others = getelementptr {vector('double', step)}, ptr %slots, i64 {slots}"] if slots else []),
            f"  %next = add i64 %row, {step}",
            "  %more = icmp slt i64 %next, %end",
            "  br i1 %more, label %block, label %exit",
            "exit:",
            "  ret void"]


class KernelWriter:
    """Writes the equations of a program; remembers the names that it gives.

    `operands` says how the part at hand writes its values, `crossing` the inputs and what passes between parts.
    """

    def __init__(self, program: Program, instructions: Instructions) -> None:
        self.program, self.instructions = program, instructions
        self.lanes, self.real = instructions.lanes, instructions.real
        self.truth, self.mask = instructions.truth, instructions.mask
        self.names: dict[str, int] = dict.fromkeys(LOOP_NAMES, 0)
        self.temporaries = 0
        self.operands: dict[Atom, str] = {}
        self.crossing: dict[Var, str] = {}
        for p in program.params:
            self.crossing[p.var] = self.define(p.var, p.name)

    def columns(self, part: ProgramPart) -> list[str]:
        """Pointers to the columns that a part reads and writes, by their position."""
        lines = []
        for side, positions in (("in", part.params), ("out", [i for i, _ in part.results])):
            for i in positions:
                lines += [f"  %{side}.{i}.slot = getelementptr ptr, ptr %{side}, i64 {i}",
                          f"  %{side}.{i} = load ptr, ptr %{side}.{i}.slot"]
        return lines

    def body(self, part: ProgramPart) -> list[str]:
        """A part on one block of rows: inputs, incoming slots, equations, outgoing slots, results."""
        lines: list[str] = []
        self.operands = {}
        for i in part.params:
            lines += self.load_input(i)
        for var, slot in part.loads:
            lines += self.load_slot(var, slot)
        lines += [self.equation(e) for e in part.equations]
        for var, slot in part.stores:
            lines += self.store_slot(var, slot)
        for i, atom in part.results:
            lines += self.store_result(i, atom)
        return lines

    def load_input(self, i: int) -> list[str]:
        var = self.program.params[i].var
        z = self.operands[var] = self.crossing[var]
        return [f"  %in.{i}.at = getelementptr double, ptr %in.{i}, i64 %row",
                f"  {z} = load {self.real}, ptr %in.{i}.at, align 8"]

    def load_slot(self, var: Var, slot: int) -> list[str]:
        """A value of an earlier part; a truth value is stored as a mask of integers."""
        z = self.operands[var] = self.crossing[var]
        at = f"  %load.{slot} = getelementptr {self.real}, ptr %slots, i64 {slot}"
        if not var.truth:
            return [at, f"  {z} = load {self.real}, ptr %load.{slot}, align 8"]
        return [at, f"  %mask.{slot} = load {self.mask}, ptr %load.{slot}, align 8",
                f"  {z} = trunc {self.mask} %mask.{slot} to {self.truth}"]

    def store_slot(self, var: Var, slot: int) -> list[str]:
        z = self.crossing[var] = self.operands[var]
        at = f"  %store.{slot} = getelementptr {self.real}, ptr %slots, i64 {slot}"
        if not var.truth:
            return [at, f"  store {self.real} {z}, ptr %store.{slot}, align 8"]
        return [at, f"  %kept.{slot} = sext {self.truth} {z} to {self.mask}",
                f"  store {self.mask} %kept.{slot}, ptr %store.{slot}, align 8"]

    def store_result(self, i: int, atom: Atom) -> list[str]:
        return [f"  %out.{i}.at = getelementptr double, ptr %out.{i}, i64 %row",
                f"  store {self.real} {self.operand(atom)}, ptr %out.{i}.at, align 8"]

    def equation(self, e: Equation) -> str:
        args = [self.operands.get(a) or self.operand(a) for a in e.args]
        return self.instructions.template(e.op).format(*args, z=self.define(e.outs[0], e.outs[0].name))

    def operand(self, atom: Atom) -> str:
        """How the text writes a value."""
        text = self.operands.get(atom)
        if text is None:
            assert isinstance(atom, Lit)
            text = self.operands[atom] = self.instructions.constant(atom.value)
        return text

    def define(self, var: Var, hint: str | None) -> str:
        """Name a value, uniquely; returns how the text refers to it."""
        if hint is None:
            self.temporaries += 1
            z = f"%i.{self.temporaries}"
        else:
            z = f"%{quoted(self.unique(hint.replace('.', '_')[:LONGEST_NAME]))}"
        self.operands[var] = z
        return z

    def unique(self, hint: str) -> str:
        """The hint, or the hint and a number. Names with a dot are the writer's own."""
        count = self.names.get(hint)
        if count is None:
            self.names[hint] = 0
            return hint
        name = hint
        while name in self.names:
            count += 1
            name = f"{hint}_{count}"
        self.names[hint], self.names[name] = count, 0
        return name


def quoted(name: str) -> str:
    """A name as LLVM writes it: quoted unless it is plain ASCII."""
    if PLAIN_NAME.fullmatch(name):
        return name
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else escaped(c) for c in name) + '"'


def escaped(character: str) -> str:
    return "".join(f"\\{byte:02X}" for byte in character.encode())


def identification(lines: Iterable[str]) -> str:
    """Metadata that makes LLVM write the lines into an object file's section for compilers' names."""
    nodes = ['!{!"' + "".join(c if c.isascii() and c.isprintable() and c not in '"\\' else escaped(c) for c in line) + '"}'
             for line in lines]
    numbered = "".join(f"!{i} = {node}\n" for i, node in enumerate(nodes))
    return f"\n!llvm.ident = !{{{', '.join(f'!{i}' for i in range(len(nodes)))}}}\n{numbered}"
