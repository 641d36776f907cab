"""How programs become statements of a language: a row `Language` for each, and the functions of our own that a text calls.

What an operation is called is a column of the primitive table; an operation without one is a function of the text itself: one of
the row's `helpers`, in which `$name` stands for another such function, or in scripts a long composition of the table (digamma); a
short one stands in the expression. A temporary that is used once stands inside the expression that uses it.
"""
from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from adcli.codegen.rows.expand import expand
from adcli.lang.ir import Atom, Equation, Lit, Primitive, Program, Var
from adcli.lang.ir.build import composed
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import Names, name_table
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.table_sum import TableSum
from adcli.lang.operations.rule_programs import Statics, statics
from adcli.lang.passes.pipeline import run
from adcli.lang.passes.zero_seeds import drop_zero_seeds
from adcli.lang.printing.scalar_printer import ScalarWriter
from adcli.lang.simplify.simplify import simplify
from adcli.lang.tree.notation import ATOM, INDENT, UNARY, Piece

if TYPE_CHECKING:
    from adcli.codegen.c.whole_numbers import WholeNumbers
    from adcli.codegen.rows.expand import Definitions

HELPER = re.compile(r"\$(\w+)")
LONGEST_COMPOSITION = 12
"""Operations up to which a composition stands where it is used; a power of up to 64 has as many."""
MANY = 12
"""Names that a comment lists."""
WIDTH = 120
"""Characters of a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """How a language writes: its names (`words` are those that values cannot have, `library` others that functions cannot),
    constants, operations by their `spelling` in
    the primitive table, `declaration` of a value by its name and text, and comments.

    For loops over elements: a `loop` of its index, where it begins and ends, and the tests that it goes on; what `opens` and
    `closes` a statement with others in it, the beginnings of a `test` and of declarations of a whole number, a constant and a
    variable; an integer as a number and as a subscript, the statement `required` of a subscript, an `element` of an array and the
    `part` from one on, the statement that a place is `added` to by an operator, and the texts of whole `expressions`. In scripts
    also `definitions` of operations by others, and a `function` as a form of its name, parameters, statements (`body`) and value.
    A `parameter` is a form of its name; `table_sum` has the forms of a sum over a table, whose `precision` is that of numbers.
    """

    name: str
    words: Iterable[str]
    identifier: Callable[[str], str]
    number: Callable[[float], Piece]
    spelling: Callable[[Primitive], str | None]
    operation: Callable[[Equation, str, Sequence[Piece]], Piece]
    helpers: Mapping[str, str]
    declaration: Callable[[Var, str, str], str]
    comment: Callable[[Sequence[str]], list[str]]
    expressions: Callable[[Mapping[str, str], Helpers], WholeNumbers]
    loop: Callable[[LoopHead], list[str]] | None = None
    test: str = "if ({})"
    whole: str = ""
    constant: str = ""
    variable: str = ""
    as_number: str = "{}"
    as_subscript: str = "{}"
    required: str = ""
    element: str = "{}[{}]"
    part: str = ""
    added: str = "{} {}= {};"
    opens: str = " {"
    closes: str = "}"
    prefix: str = ""
    library: Iterable[str] = ()
    definitions: Definitions | None = None
    function: str = ""
    parameter: str = "{}"
    table_sum: SumForm | None = None
    precision: str = "double"

    def symbol(self, text: str) -> str:
        """The text as the name of a function that another program can link with."""
        return Names((*self.words, *self.library)).fresh(self.identifier(text))


class SumForm(NamedTuple):
    """Forms of a function that sums a term over the rows of a table: of its text, a row of numbers, and the statement that reads
    column `k` of a row, counted from 0, or `place` from 1; '' where a loop names all columns."""

    text: str
    row: str
    column: str = ""


class LoopHead(NamedTuple):
    """A loop over whole numbers from `low` to `high`, which is no part of it, or `down`: it ends where one of `tests` fails, the
    first of which is that the index is below `high`."""

    name: str
    low: str
    high: str
    tests: Sequence[str]
    down: bool = False


def counting(kind: str) -> Callable[[LoopHead], list[str]]:
    """Loops as C has them, with indices of a type."""
    def written(x: LoopHead) -> list[str]:
        if x.down:
            return [f"for ({kind} {x.name} = {x.high}; {x.name}-- > {x.low};)"]
        return [f"for ({kind} {x.name} = {x.low}; {' && '.join(x.tests)}; {x.name}++)"]
    return written


class Helpers:
    """The names of a text, and the functions of our own that it has so far, each after those that it calls."""

    def __init__(self, language: Language, taken: Iterable[str], prefix: str = "") -> None:
        self.language, self.prefix = language, prefix or language.prefix
        self.names = Names((*language.words, *taken))
        self.known: dict[tuple[str, Statics], str] = {}
        self.lines: list[str] = []

    def named(self, hint: str) -> str:
        """A name that the language can have and that is free, close to the hint."""
        return self.names.fresh(self.language.identifier(hint))

    def function(self, name: str, static: Statics = ()) -> str:
        """The name of the function for an operation or a helper, which is written where the text has it not yet."""
        if (name, static) not in self.known:
            order = "".join(f"_{x:g}" for _, x in static)
            own = self.known[name, static] = self.names.fresh(f"{self.prefix}{name}{order}")
            text = self.language.helpers.get(name)
            written = self.composed(own, name, static) if text is None else \
                HELPER.sub(lambda m: self.function(m[1]), text.strip("\n")).splitlines()
            self.lines += [*written, ""]
        return self.known[name, static]

    def composed(self, own: str, name: str, static: Statics) -> list[str]:
        """The function for a composition of the table. AdError where nothing defines the operation by others."""
        if name not in TABLE or TABLE[name].value is None or not self.language.function:
            raise AdError(f"{self.language.name} has no '{name}', and the table does not define it by other operations",
                          help="write --emit text or c")
        names, body, value = self.inside(own, self.prepared(composition(TABLE[name], static)), 1)[:3]
        return self.language.function.format(name=own, parameters=self.parameters(names), body=body, value=value).split("\n")

    def inside(self, own: str, program: Program, depth: int) -> tuple[list[str], str, str, Helpers]:
        """The parameters, statements and value of a function, and its names."""
        inside = Helpers(self.language, [*self.known.values(), own])
        writer = Statements(self, program, {v: inside.named(text) for v, text in name_table(program).items()})
        writer.results = set()   # the value may stand in what is returned
        body = "".join(f"{INDENT * depth}{line}\n" for line in writer.computed())
        return [writer.names[p.var] for p in program.params], body, writer.piece(program.results[0].atom)[0], inside

    def parameters(self, names: Sequence[str]) -> str:
        return ", ".join(map(self.language.parameter.format, names))

    def summed(self, op: TableSum) -> str:
        """The name of the function for a sum over a table."""
        if (op.name, ()) not in self.known:
            own = self.known[op.name, ()] = self.names.fresh(f"{self.prefix}{op.name}")
            form, count = self.language.table_sum, len(op.table[0])
            assert form is not None
            op.require_digits(self.language.precision)
            names, body, value, inside = self.inside(own, self.prepared(op.term), 2)
            table, row, total = self.names.fresh(f"{own}_rows"), inside.named("k"), inside.named("total")
            columns = [INDENT * 2 + form.column.format(name=name, table=table, row=row, k=k, place=k + 1) + "\n"
                       for k, name in enumerate(names[:count]) if form.column]
            rows = [form.row.format(", ".join(self.language.number(x)[0] for x in row)) for row in op.table]
            self.lines += [*form.text.format(
                name=own, parameters=self.parameters(names[count:]), table=table, rows="\n".join(rows), count=len(rows),
                width=count, columns=", ".join(names[:count]), row=row, total=total, body="".join(columns) + body, value=value,
            ).split("\n"), ""]
        return self.known[op.name, ()]

    def prepared(self, program: Program) -> Program:
        """The program in terms of what the text can call."""
        return run(program, [drop_zero_seeds, lambda p: expand(p, self.language.definitions, is_function, loops=True), simplify])

    def statements(self, program: Program) -> Statements:
        """The writer of a program of scalars."""
        program = self.prepared(program)
        return Statements(self, program, {v: self.named(text) for v, text in name_table(program).items()})

    def operation(self, e: Equation, parts: Sequence[Piece]) -> Piece:
        """An operation on pieces, without those that its row wants as constants."""
        static = statics(e)
        spelling = self.summed(e.op) if isinstance(e.op, TableSum) else \
            self.language.spelling(e.op) or self.function(e.op.name, static)
        return self.language.operation(e, spelling, [p for i, p in enumerate(parts) if i not in dict(static)])

    def combined(self, name: str, parts: Sequence[Piece]) -> Piece:
        """An operation of the table on values."""
        return self.operation(Equation((Var(),), TABLE[name], tuple(Var() for _ in parts)), parts)


class Statements(ScalarWriter):
    """Writes a program as statements; `names` has every value."""

    def __init__(self, helpers: Helpers, program: Program, names: dict[Var, str]) -> None:
        super().__init__(program, "nested", names)
        self.helpers, self.language = helpers, helpers.language

    def computed(self) -> Iterator[str]:
        """The statements, without what returns the results."""
        for e in self.program.equations:
            yield from self.equation(e)

    def assignment(self, e: Equation, text: str) -> str:
        return self.language.declaration(e.outs[0], self.names[e.outs[0]], text)

    def operation(self, e: Equation) -> Piece:
        try:
            return self.helpers.operation(e, [self.piece(a) for a in e.args])
        except AdError as cannot:
            raise AdError(cannot.message, e.span, cannot.help, self.program.source) from None

    def piece(self, atom: Atom) -> Piece:
        if isinstance(atom, Lit):
            return self.language.number(atom.value)
        return self.inline.pop(atom, None) or (self.names[atom], ATOM)


def is_function(e: Equation) -> bool:
    """True for a composition that becomes a function of the module."""
    if e.op.value is None or e.op.llvm or e.op.libm:
        return False
    return len(composition(e.op, statics(e)).equations) > LONGEST_COMPOSITION


def composition(op: Primitive, static: Statics) -> Program:
    """The definition of an operation by others, its inputs called as the table calls its arguments."""
    program = composed(op, {i: Lit(x) for i, x in static})
    words = [w for i, w in enumerate(op.args.split(", ")) if i not in dict(static)]
    return replace(program, params=tuple(replace(p, name=w) for p, w in zip(program.params, words, strict=True)))


# ---------------------------------------------------------------- numbers, names and lines

def constant(value: float, nan: str, infinity: str, shown: Callable[[float], str] = repr) -> Piece:
    """A constant, of a language with these words for what is not finite."""
    text = shown(value) if math.isfinite(value) else nan if value != value else infinity if value > 0 else f"-{infinity}"
    return text, UNARY if text.startswith("-") else ATOM


def letters(text: str) -> str:
    """The text in ASCII letters: accents left out, Greek letters by their names, anything else as `_`. It never begins with a
    digit or an underscore."""
    name = re.sub(r"\W", "_", "".join(c if c.isascii() else ascii_letters(c) for c in text), flags=re.ASCII)
    return name if name[:1].isalpha() else f"v_{name.lstrip('_')}"


def ascii_letters(character: str) -> str:
    """A letter beyond ASCII: its base letters, else the last word of its name, else `_`; an accent alone is nothing."""
    if unicodedata.combining(character):
        return ""
    base = "".join(c for c in unicodedata.normalize("NFKD", character) if c.isascii())
    if base:
        return base
    words = unicodedata.name(character, "").split()
    return words[-1].lower() if words[:1] == ["GREEK"] and "LETTER" in words else "_"


def spelled(text: str, words: Mapping[str, str]) -> str:
    """A text with each of these words replaced, in their order."""
    for word, spelling in words.items():
        text = text.replace(word, spelling)
    return text


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
    """A string, as scripts write it."""
    return json.dumps(text, ensure_ascii=False)


def listed(names: Sequence[str]) -> str:
    """Names with commas between them; of many the first ones and the last."""
    shown = names if len(names) <= MANY else [*names[:2], "…", names[-1]]
    return ", ".join(shown)
