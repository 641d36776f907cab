"""One comprehension as loops of C99, in the order of the reference evaluation, with the comprehension itself as a comment.

Where an element of the result fixes its indices, their loops are outside and the sum is a variable inside of them; else the whole
result is filled first, and every point goes to its element. Either way the terms of an element are summed in the order of the
ranges, so that results have the bits of the reference.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

from adcli.codegen.c.source import Statements, comment
from adcli.codegen.c.spelling import CNames, number
from adcli.codegen.c.whole_numbers import WholeNumbers
from adcli.codegen.nests.layout import elements
from adcli.codegen.rows.parts import ProgramPart
from adcli.lang.ir import Atom, Equation, Lit, Program, Var, substitute
from adcli.lang.ir.affine import Affine, Index, linear, never_negative, slope
from adcli.lang.ir.comprehension import COMBINED_BY, NEUTRAL, BodySource, Comprehension, Read, Subscript
from adcli.lang.ir.elementwise import shape_of
from adcli.lang.ir.notation import ATOM, INDENT, PRODUCT, SUM, UNARY, Piece, enclosed
from adcli.lang.ir.precision import Precision
from adcli.lang.syntax.comprehension_printer import ComprehensionText, TensorWriter

ACCUMULATORS = {"=": "last", "+": "sum", "*": "product", "min": "least", "max": "greatest"}
LEVELS = {"+": SUM, "*": PRODUCT}
"""Of the operators that combine; min and max are functions."""


class Surroundings(Protocol):
    """The function that a nest stands in."""

    whole: WholeNumbers
    c_names: CNames
    helpers: Mapping[str, str]
    precision: Precision
    values: dict[Var, str]
    loose: set[tuple[Var, Affine, Affine]]
    printed: TensorWriter

    def local(self, hint: str, used: Counter[str]) -> str:
        """A name for something inside of a block."""


class Body(Statements):
    """The body of a comprehension; its value stands in the expression that uses it wherever that is short."""

    def __init__(self, body: Program, names: dict[Var, str], helpers: Mapping[str, str], precision: Precision) -> None:
        result = body.results[0].atom
        super().__init__(body, ProgramPart(body.equations, results=[(0, result)]), names, helpers, precision)

    def single(self, e: Equation) -> bool:
        return len(e.outs) == 1 and self.uses[e.outs[0]] == 1


class Loops:
    """Writes one comprehension; `shown` is its equation as the language has it."""

    def __init__(self, function: Surroundings, shown: Equation, e: Equation) -> None:
        assert isinstance(e.op, Comprehension)
        self.f, self.e, self.op, self.out = function, e, e.op, e.outs[0]
        self.whole, self.real = function.whole, function.precision.type
        self.text = ComprehensionText(function.printed, shown)
        self.used: Counter[str] = Counter()
        self.depth = 0
        self.opened: set[Index] = set()
        self.made: list[str] = []
        self.gathers: dict[str, str] = {}

    def lines(self) -> list[str]:
        self.made += comment(self.text.line().split("\n")).splitlines()
        outer = elements(self.op)
        if outer is None:
            self.scattered()
        else:
            self.reduced(outer)
        return self.made

    # ------------------------------------------------------------ two ways

    def reduced(self, outer: Sequence[Index]) -> None:
        """Loops over elements, each computed at once."""
        inner = [i for i in self.op.indices if i not in outer]
        left = list(self.op.guards)
        for i in outer:
            self.open(i, [])
        scalar = not self.op.shape
        target = self.f.values[self.out] if scalar else self.place(self.out, self.op.write)
        if inner or left:
            total = target if scalar else self.local(ACCUMULATORS[self.op.reduction])
            self.say(f"{self.real} {total} = {self.start()[0]};")
            depth = self.depth
            self.point(inner, left, total)
            self.close(depth)
            if not scalar:
                self.say(f"{target} = {total};")
        else:
            value = self.value()
            start = self.start()
            given = value if self.op.reduction == "=" else self.combined(start, value)
            if start[0] == target and self.op.reduction in LEVELS:
                self.say(f"{target} {self.op.reduction}= {value[0]};")
            else:
                self.say(f"{f'const {self.real} ' if scalar else ''}{target} = {given[0]};")
        self.close(0)

    def scattered(self) -> None:
        """The whole result first, then every point in turn."""
        onto = None if self.op.onto is None else self.e.args[self.op.onto]
        there = isinstance(onto, Var) and self.f.values[onto] == self.f.values[self.out]
        if not there and self.whole.product(self.op.shape) != "0":
            name, at = self.f.values[self.out], self.f.local("e", self.used)
            start = f"{self.f.values[onto]}[{at}]" if isinstance(onto, Var) else self.start()[0]
            count = self.whole.product(self.op.shape)
            self.begin(f"for (size_t {at} = 0; {at} < {count}; {at}++)")
            self.say(f"{name}[{at}] = {start};")
            self.close(0)
        self.point(list(self.op.indices), list(self.op.guards), None)
        self.close(0)

    def point(self, inner: Sequence[Index], guards: list[Affine], total: str | None) -> None:
        """What is done at one point, inside of the loops over `inner`; without a `total` to its element."""
        for i in inner:
            self.open(i, guards)
        if tests := [t for t in map(self.whole.natural_test, guards) if t is not None]:
            self.begin(f"if ({' && '.join(tests)})")
        value = self.value()
        target = self.place(self.out, self.op.write) if total is None else total
        match self.op.reduction:
            case "=":
                self.say(f"{target} = {value[0]};")
            case "+" | "*" as sign:
                self.say(f"{target} {sign}= {value[0]};")
            case _:
                self.say(f"{target} = {self.combined((target, ATOM), value)[0]};")

    def start(self) -> Piece:
        """What an element starts from."""
        if self.op.onto is None:
            return number(NEUTRAL[self.op.reduction], self.f.precision)
        return self.source(Read(self.op.onto, self.op.write))

    def combined(self, old: Piece, new: Piece) -> Piece:
        if level := LEVELS.get(self.op.reduction):
            return f"{enclosed(old, level)} {self.op.reduction} {enclosed(new, level + 1)}", level
        return f"{self.f.helpers[COMBINED_BY[self.op.reduction]]}({old[0]}, {new[0]})", ATOM

    # ------------------------------------------------------------ lines

    def say(self, line: str) -> None:
        self.made.append(INDENT * self.depth + line)

    def begin(self, head: str) -> None:
        self.say(head + " {")
        self.depth += 1

    def close(self, depth: int) -> None:
        while self.depth > depth:
            self.depth -= 1
            self.say("}")

    def local(self, hint: str) -> str:
        """A name for something here: outside of all loops one that no other nest has."""
        return self.f.local(hint, self.used) if self.depth else self.f.c_names.named(hint)

    def open(self, index: Index, guards: list[Affine]) -> None:
        """Begin the loop of an index. A guard that fails for good as the index grows ends it."""
        r = next(r for r in self.op.ranges if r.index is index)
        shown = self.text.by[index].index
        name = self.f.local(shown.name if shown else index.name, self.used)
        self.opened.add(index)
        kind = self.whole.bind(index, name, r.low)
        tests = [self.whole.below(index, r.high)]
        for g in [g for g in guards if linear(g) and never_negative(-slope(g, index) - 1) and self.ready(g)]:
            guards.remove(g)
            tests.append(self.whole.natural_test(g) or "1")
        low = (self.whole.size if kind == "size_t" else self.whole.signed)(r.low)
        self.begin(f"for ({kind} {name} = {low[0]}; {' && '.join(tests)}; {name}++)")

    def ready(self, g: Affine) -> bool:
        """Whether a guard is a sum of indices whose loops are open, and sizes."""
        return all(i in self.opened for i in g.indices()) and linear(g)

    # ------------------------------------------------------------ elements

    def place(self, atom: Atom, subscripts: Sequence[Subscript]) -> str:
        """An element of a tensor, row-major."""
        assert isinstance(atom, Var)
        whole: Piece | None = None
        for s, extent in zip(subscripts, shape_of(atom), strict=True):
            here = self.subscript(s, extent)
            if whole is None or whole[0] == "0":
                whole = here
                continue
            if whole[0].isdigit() and extent.number is not None and here[0].isdigit():   # an int could be too small for it
                whole = str(int(whole[0]) * extent.number + int(here[0])), ATOM
                continue
            row = f"{enclosed(whole, PRODUCT)}*{enclosed(self.whole.size(extent), UNARY)}"
            whole = (row, PRODUCT) if here[0] == "0" else (f"{row} + {enclosed(here, PRODUCT)}", SUM)
        return f"{self.f.values[atom]}[{(whole or ('0', ATOM))[0]}]"

    def subscript(self, s: Subscript, extent: Affine) -> Piece:
        """A subscript; one that is not proved to be inside is checked here."""
        if isinstance(s, Affine):
            piece = self.whole.size(s)
            if (self.out, s, extent) in self.f.loose:
                self.check(piece, extent)
            return piece
        atom = self.e.args[s.arg]
        assert isinstance(atom, Var)
        integer = self.place(atom, s.subscripts) if atom.shape else self.f.values[atom]
        key = f"{integer} {extent}"
        if key not in self.gathers:
            at = self.gathers[key] = self.local("at")
            if atom.whole:
                self.say(f"if (!({integer} >= 0 && {integer} < {self.whole.real(extent, self.real)[0]})) return 1;")
            self.say(f"const size_t {at} = (size_t){integer};")
            if not atom.whole:
                self.check((at, ATOM), extent)
        return self.gathers[key], ATOM

    def check(self, piece: Piece, extent: Affine) -> None:
        """Leave the function where a subscript is outside; one below 0 has become large."""
        end = self.whole.size(extent)[0]
        line = f"if ({f'{enclosed(piece, SUM)} >= {end}' if end != '0' else '1'}) return 1;"
        if f"{INDENT * self.depth}{line}" not in self.made[-8:]:
            self.say(line)

    def source(self, s: BodySource) -> Piece:
        """What feeds the body."""
        if isinstance(s, Affine):
            return self.whole.real(s, self.real)
        atom = self.e.args[s.arg]
        if isinstance(atom, Lit):
            return number(atom.value, self.f.precision)
        text = self.place(atom, s.subscripts) if atom.shape else self.f.values[atom]
        return (f"({self.real}){text}", UNARY) if atom.integer else (text, ATOM)

    # ------------------------------------------------------------ the body

    def value(self) -> Piece:
        """The value of the body at the point that the loops stand at; what is used more than once gets a name."""
        unnamed: dict[Atom, Atom] = {v: Var(None, True, v.truth) for e in self.op.body.equations for v in e.outs}
        body = substitute(self.op.body, unnamed)
        own = Body(body, {}, self.f.helpers, self.f.precision)
        for p, s in zip(body.params, self.op.sources, strict=True):
            piece = self.source(s)
            if own.uses[p.var] > 1 and piece[0] != self.plain_name(s):
                name = self.local(self.hint(s))
                self.say(f"const {self.real} {name} = {piece[0]};")
                piece = name, ATOM
            if own.uses[p.var] > 1:
                own.names[p.var] = piece[0]
            else:
                own.inline[p.var] = piece
        for e in body.equations:
            own.names[e.outs[0]] = "?"
            for line in own.equation(e):
                own.names[e.outs[0]] = self.local("t")
                self.say(line.replace("?", own.names[e.outs[0]], 1))
        return own.piece(body.results[0].atom)

    def plain_name(self, s: BodySource) -> str | None:
        """The name of a scalar that is read as it is."""
        atom = self.e.args[s.arg] if isinstance(s, Read) else None
        return self.f.values[atom] if isinstance(atom, Var) and not atom.shape else None

    def hint(self, s: BodySource) -> str:
        atom = self.e.args[s.arg] if isinstance(s, Read) else None
        return atom.name or "t" if isinstance(atom, Var) else "t"


