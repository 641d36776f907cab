"""A Program as LLVM IR: one loop over blocks of `lanes` rows, every value a vector of one block.

The text is written in time linear in the program and needs no optimisation pass: operations are explicit vector
instructions or calls of the vector maths library (see `instructions`). With one lane the text is the same everywhere.

    define void @NAME(ptr %in, ptr %out, i64 %begin, i64 %end, ptr %work)

`in` and `out` are arrays of pointers to columns of numbers of one precision, one per input and result. Rows `begin` to `end` are
computed; their number is a multiple of `lanes`. `work` has `work_bytes` bytes that no other call uses meanwhile; a
program of one part needs none. No column of results overlaps another column.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from adcli.codegen.machine import veclib
from adcli.codegen.machine.kernel import EntryPoint
from adcli.codegen.rows.expand import expand
from adcli.codegen.rows.instructions import DEFINITIONS, Instructions, vector
from adcli.codegen.rows.parts import PART_SIZE, ProgramPart, cut
from adcli.lang.ir import Atom, Equation, Lit, Program, Var, counts
from adcli.lang.ir.records import value_record
from adcli.lang.operations.precision import DOUBLE, Precision, placing_constants

LOOP_NAMES = ("in", "out", "begin", "end", "work", "entry", "block", "exit", "row", "next", "more", "any", "slots", "others",
              "beyond", "within", "until")
"""Names of the text's own values and blocks, which no value of a program has."""
ONE_PART = 4_000
"""Equations up to which one part is as quick to compile as several; it runs a tenth faster."""
LISTED_FROM = 500
"""Results that are constants or repeat others from which on they are listed: code for each takes far longer to make."""
BLOCKS, BLOCKS_BEYOND = 4, 20_000
"""How many blocks go through each part together in a program of more than BLOCKS_BEYOND equations."""
CHOICE = 3
"""How many times as long as one of arithmetic it takes to compile an equation with truth values, of whose instructions LLVM's
quickest selection knows nothing."""
AHEAD = 32
"""Rows between those at hand and those that are asked for meanwhile; memory beyond a column may be asked for, too."""
LONGEST_NAME = 200
"""Characters of a name that LLVM is given. It cuts names itself, at 1024 bytes, and then two may be one."""
PLAIN_NAME = re.compile(r"[A-Za-z$._][A-Za-z0-9$._]*")


@value_record
class Module:
    """LLVM IR with its entry; `equations` is the length of the program after expansion, `columns` how many columns have code
    of their own."""

    text: str
    entry: EntryPoint
    equations: int
    columns: int

    @property
    def length(self) -> int:
        """How much work it is for LLVM."""
        return weighed(self.equations, self.columns)

    @property
    def level(self) -> int:
        """LLVM's code generation level."""
        return level(self.length)

    @property
    def texts(self) -> tuple[str]:
        return (self.text,)

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def lanes(self) -> int:
        return self.entry.lanes

    @property
    def work_bytes(self) -> int:
        return self.entry.work_bytes


class Numbers(NamedTuple):
    """The arithmetic of code. `fast` lets LLVM fuse a product with a sum and divide by multiplying with a reciprocal: results may
    then differ in the last digits, and from processor to processor. On the architecture `flushing` numbers below the least normal
    one are 0."""

    fast: bool = False
    precision: Precision = DOUBLE
    flushing: str = ""


DOUBLES = Numbers()


def level(length: int) -> int:
    """LLVM's code generation level for a text of so many equations."""
    if length <= 3_000:
        return 2
    return 1 if length <= 20_000 else 0


def weighed(equations: int, columns: int) -> int:
    """How much work a program is for LLVM, in equations; a column costs it more than one."""
    return equations + 20 * columns


def emit(program: Program, lanes: int = 1, library: veclib.Library = veclib.NO_LIBRARY, name: str = "kernel",
         header: Iterable[str] = (), part_size: int | None = None, numbers: Numbers = DOUBLES) -> Module:
    """The program as an LLVM module; in parts of `part_size` equations, by default only where it is long. The same arguments
    give the same text on every machine.
    """
    program = expand(program, DEFINITIONS, loops=True)
    if part_size is None:
        part_size = ONE_PART if len(program.equations) <= ONE_PART else PART_SIZE
    listed = Listed.of(program)
    parts, slots = cut(program, part_size, listed.positions())
    instructions = Instructions(lanes, library, *numbers)
    writer = KernelWriter(program, instructions)
    blocks = BLOCKS if len(program.equations) > BLOCKS_BEYOND else 1
    with placing_constants(program, numbers.precision):
        if len(parts) == 1 and not listed:
            body = one_part(writer, parts[0], name)
        else:
            body = many_parts(writer, parts, name, slots, blocks, listed)
    lines = [*(f"; {line}".rstrip() for line in header), *interface(program), *instructions.declarations(), *body, ""]
    externals = tuple(sorted(instructions.externals))
    work = instructions.size * lanes * slots * blocks
    entry = EntryPoint(name, lanes, work, len(program.params), len(program.results), externals, numbers.precision.code)
    return Module("\n".join(lines), entry, len(program.equations), columns(program, listed))


def columns(program: Program, listed: Listed) -> int:
    """How many columns have code of their own."""
    return len(program.params) + len(program.results) - len(listed.positions())


def one_text_length(program: Program) -> int:
    """How much work it is for LLVM to compile a program that has been expanded as one text, in equations."""
    return weighed(len(program.equations), columns(program, Listed.of(program)))


def compile_length(program: Program) -> int:
    """How much work it is to compile a long program that has been expanded, in equations of arithmetic: a column is as much as
    two, and what gives or takes truth values as CHOICE of them."""
    choices = sum(count for op, count in counts(program).items() if "t" in op.signature)
    return len(program.equations) + (CHOICE - 1) * choices + 2 * columns(program, Listed.of(program))


@value_record
class Listed:
    """Results whose columns are filled by a loop over a list and not by code of their own: the `constants`, each as (column,
    value), and `copies`, each as (column, column of the same value). None of either where they are few."""

    constants: Sequence[tuple[int, float]] = ()
    copies: Sequence[tuple[int, int]] = ()

    @classmethod
    def of(cls, program: Program) -> Listed:
        first: dict[Atom, int] = {}
        constants, copies = [], []
        for i, r in enumerate(program.results):
            if isinstance(r.atom, Lit):
                constants.append((i, r.atom.value))
            elif r.atom in first:
                copies.append((i, first[r.atom]))
            else:
                first[r.atom] = i
        return cls(constants, copies) if len(constants) + len(copies) >= LISTED_FROM else cls()

    def positions(self) -> frozenset[int]:
        return frozenset(i for i, _ in (*self.constants, *self.copies))

    def __bool__(self) -> bool:
        return bool(self.constants or self.copies)


def interface(program: Program) -> list[str]:
    """Comments that say which column is which."""
    return [f"; in: {', '.join(p.name for p in program.params)}",
            f"; out: {', '.join(r.name for r in program.results)}"]


def one_part(writer: KernelWriter, part: ProgramPart, name: str) -> list[str]:
    """The loop with the program inside; columns are looked up before it."""
    if writer.instructions.wide and len(part.results) > len(part.params):
        writer.begin_prefetching()
    return entry_function(name, writer.instructions, loop(writer.lanes, writer.columns(part), writer.body(part)))


def many_parts(writer: KernelWriter, parts: list[ProgramPart], name: str, slots: int, blocks: int, listed: Listed) -> list[str]:
    """One function a part, and the loop that calls them in order for each `blocks` blocks: code that is longer than the
    processor's cache for it is fetched once for all of them. What is listed comes last, from the results that it repeats."""
    lines, symbols = [], []
    for k, part in enumerate(parts):
        symbol = f"{name}.part{k}"
        lines += [f"define internal {head(symbol, writer.instructions.stack)} {{",
                  *loop(writer.lanes, [], [*writer.columns(part), *writer.body(part)], slots, of=writer.scalar), "}", ""]
        symbols.append(symbol)
    return [*lines, *calling(name, symbols, writer.instructions, blocks, listed)]


def calling(name: str, parts: Sequence[str], instructions: Instructions, blocks: int, listed: Listed) -> list[str]:
    """The loop that calls the functions of the parts."""
    step = blocks * instructions.lanes
    lines, calls = [], [f"  %beyond = add i64 %row, {step}",
                        "  %within = icmp slt i64 %beyond, %end",
                        "  %until = select i1 %within, i64 %beyond, i64 %end"]
    calls += [f"  call void @{quoted(part)}(ptr %in, ptr %out, i64 %row, i64 %until, ptr %work)" for part in parts]
    for symbol, filled in (("constants", listed.constants), ("copies", listed.copies)):
        if filled:
            lines += filling(instructions, f"{name}.{symbol}", filled)
            calls.append(f"  call void @{quoted(f'{name}.{symbol}')}(ptr %out, i64 %row, i64 %until)")
    return [*lines, *entry_function(name, instructions, loop(step, [], calls))]


def entry_function(name: str, instructions: Instructions, lines: Sequence[str]) -> list[str]:
    """The function that is called, which does this; where numbers are flushed, in a function of its own."""
    if not instructions.flushing:
        return [f"define {head(name, instructions.stack)} {{", *lines, "}"]
    inside = f"{name}.flushed"
    call = f"call void @{quoted(inside)}(ptr %in, ptr %out, i64 %begin, i64 %end, ptr %work)"
    return [f"define internal {head(inside, instructions.stack)} {{", *lines, "}", "",
            f"define {head(name, instructions.stack)} {{", *instructions.flushed(call, "%bits"), "  ret void", "}"]


def filling(instructions: Instructions, name: str, filled: Sequence[tuple[int, float]] | Sequence[tuple[int, int]]) -> list[str]:
    """The function that fills the columns of a list, each with its value or from its column, and the list."""
    lanes, scalar, constant = instructions.lanes, instructions.scalar, isinstance(filled[0][1], float)
    kind, spread = scalar if constant else "i32", constant and lanes > 1
    others = ", ".join(f"{kind} {instructions.number(x) if constant else x}" for _, x in filled)
    kinds = {"lanes": lanes, "real": instructions.real, "scalar": scalar, "size": instructions.size}
    return [FILLING.format(
        **kinds, columns=quoted(f"{name}.columns"), list=quoted(f"{name}.list"), name=quoted(name), count=len(filled), kind=kind,
        places=", ".join(f"i32 {i}" for i, _ in filled), others=others, stack=instructions.stack,
        value=(SPREAD if spread else "" if constant else COLUMN).format(**kinds), each="" if constant else ROW.format(**kinds),
        stored="%other" if constant and not spread else "%value")]


COLUMN = """\
  %from = zext i32 %other to i64
  %from.slot = getelementptr ptr, ptr %out, i64 %from
  %from.column = load ptr, ptr %from.slot
"""
ROW = """\
  %from.at = getelementptr {scalar}, ptr %from.column, i64 %row
  %value = load {real}, ptr %from.at, align {size}
"""
SPREAD = """\
  %one = insertelement {real} poison, {scalar} %other, i32 0
  %value = shufflevector {real} %one, {real} poison, <{lanes} x i32> zeroinitializer
"""
FILLING = """\
@{columns} = internal constant [{count} x i32] [{places}]
@{list} = internal constant [{count} x {kind}] [{others}]
define internal void @{name}(ptr %out, i64 %begin, i64 %end){stack} {{
entry:
  br label %column
column:
  %k = phi i64 [ 0, %entry ], [ %next.k, %next ]
  %to.k = getelementptr i32, ptr @{columns}, i64 %k
  %to = load i32, ptr %to.k
  %to.64 = zext i32 %to to i64
  %to.slot = getelementptr ptr, ptr %out, i64 %to.64
  %to.column = load ptr, ptr %to.slot
  %other.k = getelementptr {kind}, ptr @{list}, i64 %k
  %other = load {kind}, ptr %other.k
{value}  br label %block
block:
  %row = phi i64 [ %begin, %column ], [ %next.row, %block ]
{each}  %to.at = getelementptr {scalar}, ptr %to.column, i64 %row
  store {real} {stored}, ptr %to.at, align {size}
  %next.row = add i64 %row, {lanes}
  %more = icmp slt i64 %next.row, %end
  br i1 %more, label %block, label %next
next:
  %next.k = add i64 %k, 1
  %others = icmp slt i64 %next.k, {count}
  br i1 %others, label %column, label %exit
exit:
  ret void
}}
"""


def head(name: str, stack: str = "") -> str:
    return f"void @{quoted(name)}(ptr %in, ptr %out, i64 %begin, i64 %end, ptr %work){stack}"


def loop(step: int, before: list[str], body: list[str], slots: int = 0, of: str = "double") -> list[str]:
    """A loop of `body` for every `step` rows, each time with `slots` slots of its own for numbers of type `of`."""
    return ["entry:",
            *before,
            "  %any = icmp slt i64 %begin, %end",
            "  br i1 %any, label %block, label %exit",
            "block:",
            "  %row = phi i64 [ %begin, %entry ], [ %next, %block ]",
            *(["  %slots = phi ptr [ %work, %entry ], [ %others, %block ]"] if slots else []),
            *body,
            *([f"  %others = getelementptr {vector(of, step)}, ptr %slots, i64 {slots}"] if slots else []),
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
        self.lanes, self.size = instructions.lanes, instructions.size
        self.real, self.scalar = instructions.real, instructions.scalar
        self.truth, self.mask = instructions.truth, instructions.mask
        self.names: dict[str, int] = dict.fromkeys(LOOP_NAMES, 0)
        self.temporaries = self.ahead = 0
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
        at, line = self.input_at(i)
        return [line, f"  {z} = load {self.real}, ptr {at}, align {self.size}", *self.prefetched(at, 0)]

    def input_at(self, i: int) -> tuple[str, str]:
        """Where an input lies, and the line that finds it."""
        return f"%in.{i}.at", f"  %in.{i}.at = getelementptr {self.scalar}, ptr %in.{i}, i64 %row"

    def output_at(self, i: int) -> tuple[str, str]:
        """Where a result lies, and the line that finds it."""
        return f"%out.{i}.at", f"  %out.{i}.at = getelementptr {self.scalar}, ptr %out.{i}, i64 %row"

    def load_slot(self, var: Var, slot: int) -> list[str]:
        """A value of an earlier part; a truth value is stored as a mask of integers."""
        z = self.operands[var] = self.crossing[var]
        at = f"  %load.{slot} = getelementptr {self.real}, ptr %slots, i64 {slot}"
        if not var.truth:
            return [at, f"  {z} = load {self.real}, ptr %load.{slot}, align {self.size}"]
        return [at, f"  %mask.{slot} = load {self.mask}, ptr %load.{slot}, align {self.size}",
                f"  {z} = trunc {self.mask} %mask.{slot} to {self.truth}"]

    def store_slot(self, var: Var, slot: int) -> list[str]:
        z = self.crossing[var] = self.operands[var]
        at = f"  %store.{slot} = getelementptr {self.real}, ptr %slots, i64 {slot}"
        if not var.truth:
            return [at, f"  store {self.real} {z}, ptr %store.{slot}, align {self.size}"]
        return [at, f"  %kept.{slot} = sext {self.truth} {z} to {self.mask}",
                f"  store {self.mask} %kept.{slot}, ptr %store.{slot}, align {self.size}"]

    def store_result(self, i: int, atom: Atom) -> list[str]:
        at, line = self.output_at(i)
        return [line, f"  store {self.real} {self.operand(atom)}, ptr {at}, align {self.size}", *self.prefetched(at, 1)]

    def begin_prefetching(self) -> None:
        """From here on columns are asked for before their rows are due. A processor that sees a column read asks for what comes
        next itself; where more columns are written than read it was measured to fall behind."""
        self.ahead = AHEAD
        self.instructions.declared["llvm.prefetch.p0"] = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"

    def prefetched(self, at: str, write: int) -> list[str]:
        """Prefetches for the column that is read or written at `at`."""
        if not self.ahead:
            return []
        return [f"  {at}.later = getelementptr {self.scalar}, ptr {at}, i64 {self.ahead}",
                f"  call void @llvm.prefetch.p0(ptr {at}.later, i32 {write}, i32 3, i32 1)"]

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
