"""A module of a scripting language: one function that computes a program, and the functions that the language lacks.

A `Language` says how numbers, operations and functions are written. What an operation is called is a column of the primitive
table; an operation without one is a short composition, which stands in the expression, or a function of the module: a long
composition (digamma), or a text of the language (`helpers`), in which `$name` stands for the function of an operation or of
another text. A module holds those that it calls and no others. A temporary that is used once stands inside the expression that
uses it.
"""
from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from adcli.codegen.c.spelling import letters
from adcli.codegen.rows.expand import Definitions, expand
from adcli.lang.ir import Atom, Equation, Lit, Primitive, Program, Var
from adcli.lang.ir.build import composed
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import Names, name_table
from adcli.lang.ir.notation import ATOM, INDENT, Piece
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.rule_programs import Statics, statics
from adcli.lang.passes.pipeline import run
from adcli.lang.passes.simplify import simplify
from adcli.lang.passes.zero_seeds import drop_zero_seeds
from adcli.lang.syntax.scalar_printer import ScalarWriter

LONGEST_COMPOSITION = 12
"""Operations up to which a composition stands where it is used; a power of up to 64 has as many."""
MANY = 12
"""Names that a comment lists."""
WIDTH = 120
"""Characters of a line of items."""
HELPER = re.compile(r"\$(\w+)")


@dataclass(frozen=True, slots=True)
class Language:
    """How a language writes.

    `spelling` is the column of the table; `words` are the names that values cannot have. `function` makes a function of its
    name, its parameters, its statements and the text of its value; `assignment` a statement of a name and a text. `operation`
    spells an equation whose operands are given.
    """

    name: str
    words: frozenset[str]
    spelling: Callable[[Primitive], str | None]
    definitions: Definitions
    helpers: Mapping[str, str]
    number: Callable[[float], Piece]
    operation: Callable[[Equation, str, Sequence[Piece]], Piece]
    assignment: Callable[[str, str], str]
    function: Callable[[str, Sequence[str], Sequence[str], str], list[str]]
    prefix: str = ""

    def symbol(self, text: str) -> str:
        """The text as the name of a function."""
        return self.taken(()).fresh(letters(text))

    def taken(self, names: Iterable[str]) -> Names:
        return Names((*self.words, *names))


class ScriptModule:
    """A module under construction: its names, and the functions that it has so far, each after those that it calls."""

    def __init__(self, language: Language, program: Program, symbol: str) -> None:
        self.language = language
        self.program = self.prepared(program)
        self.names = language.taken([symbol])
        self.values = self.named(self.program, self.names)
        self.made: dict[tuple[str, Statics], str] = {}
        self.helpers: list[str] = []

    def prepared(self, program: Program) -> Program:
        """The program in terms of what the module can call."""
        return run(program, [drop_zero_seeds, lambda p: expand(p, self.language.definitions, self.is_function), simplify])

    def is_function(self, e: Equation) -> bool:
        """Whether an operation is a composition that is a function of the module."""
        if e.op.value is None or e.op.llvm or e.op.libm:
            return False
        return len(composition(e.op, statics(e)).equations) > LONGEST_COMPOSITION

    def named(self, program: Program, names: Names) -> dict[Var, str]:
        """A name of the language for every value, close to its own."""
        return {var: names.fresh(letters(text)) for var, text in name_table(program).items()}

    def body(self) -> tuple[list[str], list[str]]:
        """The statements of the program's function, and the texts of its results."""
        writer = ScriptStatements(self, self.program, self.values)
        lines = list(writer.computed())
        return lines, [writer.piece(r.atom)[0] for r in self.program.results]

    def function(self, name: str, static: Statics = ()) -> str:
        """The name of the function for an operation or of a helper; it is written where the module has it not yet.

        AdError where the language has no such operation and no other defines it."""
        key = (name, static)
        if key not in self.made:
            order = "".join(f"_{x:g}" for _, x in static)
            own = self.made[key] = self.names.fresh(f"{self.language.prefix}{name}{order}")
            text = self.language.helpers.get(name)
            if text is not None:
                written = HELPER.sub(lambda m: self.function(m[1]), text.strip("\n")).splitlines()
            elif name in TABLE and TABLE[name].value is not None:
                written = self.composed(own, TABLE[name], static)
            else:
                raise AdError(f"{self.language.name} has no '{name}', and the table does not define it by other operations",
                              help="write --emit text or c")
            self.helpers += [*written, ""]
        return self.made[key]

    def composed(self, name: str, op: Primitive, static: Statics) -> list[str]:
        """A function for a composition of the table."""
        program = self.prepared(composition(op, static))
        values = self.named(program, self.language.taken([*self.made.values(), name]))
        writer = ScriptStatements(self, program, values)
        writer.results = set()   # the value may stand in what is returned
        lines, (result,) = list(writer.computed()), program.results
        return self.language.function(name, [values[p.var] for p in program.params], lines, writer.piece(result.atom)[0])


def no_symbol(name: str, language: str, other: str) -> AdError:
    """That a function cannot have this name, and one that it can have."""
    return AdError(f"'{name}' cannot be the name of a function in {language}", help=f"write --symbol {other}")


def composition(op: Primitive, static: Statics) -> Program:
    """The definition of an operation by others, its inputs called as the table calls its arguments."""
    program = composed(op, {i: Lit(x) for i, x in static})
    words = [w for i, w in enumerate(op.args.split(", ")) if i not in dict(static)]
    return replace(program, params=tuple(replace(p, name=w) for p, w in zip(program.params, words, strict=True)))


class ScriptStatements(ScalarWriter):
    """Writes a program as statements of a module's language; `names` has every value."""

    def __init__(self, module: ScriptModule, program: Program, names: dict[Var, str]) -> None:
        super().__init__(program, "nested", names)
        self.module, self.language = module, module.language

    def computed(self) -> Iterator[str]:
        """The statements, without what returns the results."""
        for e in self.program.equations:
            yield from self.equation(e)

    def assignment(self, e: Equation, text: str) -> str:
        return self.language.assignment(self.names[e.outs[0]], text)

    def operation(self, e: Equation) -> Piece:
        static = statics(e)
        spelling = self.language.spelling(e.op) or self.module.function(e.op.name, static)
        inputs = [self.piece(a) for i, a in enumerate(e.args) if i not in dict(static)]
        return self.language.operation(e, spelling, inputs)

    def piece(self, atom: Atom) -> Piece:
        if isinstance(atom, Lit):
            return self.language.number(atom.value)
        return self.inline.pop(atom, None) or (self.names[atom], ATOM)


def wrapped(before: str, items: Sequence[str], after: str) -> list[str]:
    """Items with commas between them, on one line where they have room."""
    line = f"{before}{', '.join(items)}{after}"
    if len(line) <= WIDTH:
        return [line]
    indent = " " * (len(before) - len(before.lstrip()))
    inner = indent + INDENT
    return [before, *(inner + row for row in filled(items, WIDTH - len(inner))), indent + after]


def filled(items: Sequence[str], width: int) -> list[str]:
    """Rows of items, each with a comma behind it."""
    rows: list[str] = []
    for item in items:
        if rows and len(rows[-1]) + len(item) + 2 <= width:
            rows[-1] += f" {item},"
        else:
            rows.append(f"{item},")
    return rows


def quoted(text: str) -> str:
    """A string, as these languages write it."""
    return json.dumps(text, ensure_ascii=False)


def listed(names: Sequence[str]) -> str:
    """Names with commas between them; of many the first ones and the last."""
    shown = names if len(names) <= MANY else [*names[:2], "…", names[-1]]
    return ", ".join(shown)
