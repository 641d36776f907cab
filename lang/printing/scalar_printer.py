"""The text of scalar statements, and the declarations of a program of scalars.

`input`, `param` and `output` lines are written where the rules for undeclared names would not give the same interface.
"""
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from adcli.lang.ir import Atom, Equation, Lit, Param, Program, Var
from adcli.lang.ir.names import name_table
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.problem import SideCondition
from adcli.lang.syntax.constants import NAMED_CONSTANTS
from adcli.lang.syntax.scan import scan
from adcli.lang.tree.notation import ATOM, SUM, Piece, call, constant, enclosed, infix, number

NEVER_INPUTS = frozenset({"and", "or", "not", *NAMED_CONSTANTS})
"""Words that are no input unless they are declared."""
NAME = re.compile(r"0x[\w.+-]+|(?:\d|\.\d)[\w.]*(?:(?<=[eE])[+-]\d+)?|([^\W\d]\w*)(?!\w|\()")
"""A number, passed over, or the name of a value: the one group. In ASCII; beyond it the scanner knows what a name is."""
STATED = re.compile(r"(?:minimize|maximize|subject to) (?!=)")
LONGEST_INLINE = 100
"""Characters of an expression beyond which a temporary keeps a line of its own."""


class ScalarWriter:
    """Writes the statements of one program in one style, with a name for every value in `names`."""

    def __init__(self, program: Program, style: str, names: dict[Var, str] | None = None) -> None:
        self.program, self.style = program, style
        self.names = name_table(program) if names is None else names
        self.uses = Counter(a for e in program.equations for a in e.args if isinstance(a, Var))
        self.uses.update(r.atom for r in program.results if isinstance(r.atom, Var))
        self.relations: Sequence[SideCondition] = program.problem.conditions if program.problem else ()
        self.uses.update(a for c in self.relations for a in c.parts if isinstance(a, Var))
        self.results = {r.atom for r in program.results}
        self.inline: dict[Atom, Piece] = {}

    def lines(self) -> list[str]:
        """The whole text, line by line."""
        body = [*self.statements(), *self.problem()]
        before, within, after = self.framed(body)
        return [*before, *within, *after]

    def framed(self, body: list[str]) -> tuple[list[str], list[str], list[str]]:
        """Lines before the statements, the statements, and the lines after them."""
        return declarations(self.program, body), body, []

    def attributed(self) -> Iterator[tuple[str, list[Equation]]]:
        """The statements, each with the equations that it was made of; those that copy results have none."""
        hidden: dict[Atom, list[Equation]] = {}   # of what stands inside a later statement
        groups = groupby(self.program.equations, key=lambda e: (e.group if self.style == "prefix" else 0) or id(e))
        for equations in (list(group) for _, group in groups):
            made = [part for e in equations for part in (*[x for a in e.args for x in hidden.pop(a, ())], e)]
            texts = list(self.line(equations) if self.style == "prefix" else self.equation(equations[0]))
            hidden.update({} if texts else {equations[-1].outs[0]: made})
            yield from ((text, made) for text in texts)
        yield from ((text, []) for text in self.copies())

    def statements(self) -> Iterator[str]:
        if self.style == "prefix":
            for _, equations in groupby(self.program.equations, key=lambda e: e.group or id(e)):
                yield from self.line(list(equations))
        else:
            for e in self.program.equations:
                yield from self.equation(e)
        yield from self.copies()

    def problem(self) -> Iterator[str]:
        """The statements of the problem."""
        stated = self.program.problem
        if stated and stated.objective:
            yield f"{'maximize' if stated.maximize else 'minimize'} {stated.objective}"
        for c in self.relations:
            first, *rest = (enclosed(self.piece(a), SUM) for a in c.parts)
            yield f"subject to {first}" + "".join(f" {sign.strip()} {text}" for sign, text in zip(c.signs, rest, strict=True))

    def equation(self, e: Equation) -> Iterator[str]:
        """The statement for an equation; none where its value moves into the expression that uses it."""
        piece = self.operation(e)
        out = e.outs[0]
        if self.style == "nested" and out.temp and self.single(e) and self.is_short(e, piece):
            self.inline[out] = piece
        else:
            yield self.assignment(e, piece[0])

    def assignment(self, e: Equation, text: str) -> str:
        """The statement that gives the values of an equation their names."""
        return f"{self.target(e)} = {text}"

    def line(self, equations: list[Equation]) -> Iterator[str]:
        """The equations of one derivative line: unnamed values nested, the named ones together as a tuple."""
        named = self.named(equations)
        used = {a for e in equations for a in e.args}
        independent = not any(out in used and out not in self.inline for e in equations for out in e.outs)
        if len(named) > 1 and independent and all(len(e.outs) == 1 for e, _ in named):
            yield f"({', '.join(self.names[e.outs[0]] for e, _ in named)}) = ({', '.join(p[0] for _, p in named)})"
        else:
            for e, piece in named:
                yield self.assignment(e, piece[0])

    def named(self, equations: list[Equation]) -> list[tuple[Equation, Piece]]:
        """The equations of one derivative line that give a value a name, with what the others stand in."""
        own = {out for e in equations for out in e.outs}
        used = Counter(a for e in equations for a in e.args if a in own)
        found: list[tuple[Equation, Piece]] = []
        for e in equations:
            out, piece = e.outs[0], self.operation(e)
            if e.group and out.name is None and self.single(e) and used[out] == 1 and self.is_short(e, piece):
                self.inline[out] = piece
            else:
                found.append((e, piece))
        return found

    def single(self, e: Equation) -> bool:
        """Test for an equation with one value that is used once and is no result."""
        return len(e.outs) == 1 and self.uses[e.outs[0]] == 1 and e.outs[0] not in self.results

    def is_short(self, e: Equation, piece: Piece) -> bool:
        """Test for an expression short enough to stand inside another."""
        return len(piece[0]) <= LONGEST_INLINE

    def target(self, e: Equation) -> str:
        names = [self.names[o] for o in e.outs]
        return names[0] if len(names) == 1 else f"({', '.join(names)})"

    def operation(self, e: Equation) -> Piece:
        parts = [self.piece(a) for a in e.args]
        name = e.op.spelled or e.op.name
        if e.op is TABLE["dup"] and len(e.outs) == 1:   # of a program for reading
            return parts[0]
        if self.style == "prefix" or e.op is TABLE["dup"]:
            return call(name, parts)
        return infix(name, parts)

    def piece(self, atom: Atom) -> Piece:
        if isinstance(atom, Lit):
            return constant(atom.value)
        return self.inline.pop(atom, None) or (self.names[atom], ATOM)

    def copies(self) -> Iterator[str]:
        """Results that are an input, a constant, or a value that already carries another result's name.

        Those that take the name of an input come last and all at once, so that every input is read before it is overwritten.
        """
        inputs = {p.name for p in self.program.params}
        over: list[tuple[str, str]] = []
        for r in self.program.results:
            text = self.piece(r.atom)[0]
            if r.name in inputs:
                over.append((r.name, text))
            elif text != r.name:
                yield f"{r.name} = {text}"
        if len(over) > 1:
            yield f"({', '.join(name for name, _ in over)}) = ({', '.join(text for _, text in over)})"
        elif over:
            yield f"{over[0][0]} = {over[0][1]}"


def declarations(program: Program, body: Sequence[str]) -> list[str]:
    """The declarations without which the text would have another interface."""
    read, unread = interface(body)
    inputs, outputs = [p.name for p in program.params], [r.name for r in program.results]
    both = not set(inputs).isdisjoint(outputs)
    plain = all(is_plain(p) for p in program.params)
    lines: list[str] = []
    if both or not plain or inputs != read:
        lines = [f"input {', '.join(inputs)}"] if plain and inputs else [declaration(p) for p in program.params]
    if both or outputs != unread:
        lines.append(f"output {', '.join(outputs)}")
    return lines


def interface(body: Sequence[str]) -> tuple[list[str], list[str]]:
    """The names that a body reads before assigning them, and those it assigns and never reads, each in order."""
    assigned: dict[str, None] = {}
    read: set[str] = set()
    inputs: dict[str, None] = {}
    for line in body:
        stated = STATED.match(line)   # reads that change no output
        left, _, right = ("", "", line[stated.end():]) if stated else line.partition(" = ")
        for name in names_in(right):
            read |= set() if stated else {name}
            if name not in assigned and name not in NEVER_INPUTS:
                inputs[name] = None
        assigned.update(dict.fromkeys(names_in(left)))
    return list(inputs), [name for name in assigned if name not in read]


def names_in(text: str) -> list[str]:
    """The names in a piece of a program, other than those of functions that are called."""
    if text.isascii():
        return [name for name in NAME.findall(text) if name]
    tokens = scan(text)[0]   # a name may have what is no word to a regular expression, such as a combining mark
    return [t.text for t, after in pairwise(tokens) if t.type == "NAME" and after.type != "LPAR"]


def is_plain(p: Param) -> bool:
    """Test for an input that its name alone declares."""
    return p.active and p.default is None and not range_text(p)


def declaration(p: Param) -> str:
    text = f"{'input' if p.active else 'param'} {p.name}"
    if p.default is not None:
        text += f" = {number(p.default)}"
    return text + range_text(p)


def range_text(p: Param) -> str:
    """The range or the constraint of a declaration, with its `in`."""
    if p.constraint:
        return f" in {p.constraint}"
    return f" in [{number(p.low)}, {number(p.high)}]" if p.low is not None and p.high is not None else ""
