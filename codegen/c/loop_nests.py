"""Operations over boxes of indices as loops of C or JavaScript, in the order of the reference evaluation, each with itself as a
comment.

Where an element of the result fixes its indices, their loops are outside and the sum is a variable inside of them; else the whole
result is filled first, and every point goes to its element. Either way the terms of an element are summed in the order of the
ranges, so that results have the bits of the reference. A statement of a loop over steps writes elements of a history, and leaves
all others as they are.
"""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from adcli.codegen.c.language import LoopHead, Statements
from adcli.codegen.c.plan import TensorStatements
from adcli.codegen.nests.fusion import EACH, SCATTER, TOTAL, groups
from adcli.codegen.nests.layout import elements
from adcli.codegen.nests.row_sweeps import one_statement
from adcli.codegen.schedules.schedule import writes_fixed
from adcli.lang.ir import Atom, Equation, Lit, Var, shape_of, substitute
from adcli.lang.ir.affine import Affine, Index, affine, linear, never_negative, slope
from adcli.lang.ir.errors import AdError
from adcli.lang.operations.comprehension import COMBINED_BY, NEUTRAL, BodySource, Comprehension, Read, Subscript
from adcli.lang.operations.matrix import (
    FACTORED,
    NUMBERS,
    SEARCH,
    Boxed,
    MatrixOperation,
    covered_points,
    matrix_extent,
    trailing,
)
from adcli.lang.printing.comprehension_printer import BoxText, ComprehensionText, MatrixText
from adcli.lang.tree.notation import ATOM, INDENT, PRODUCT, SUM, UNARY, Piece, enclosed

ACCUMULATORS = {"=": "last", "+": "sum", "*": "product", "min": "least", "max": "greatest"}
LEVELS = {"+": SUM, "*": PRODUCT}
"""Of the operators that combine; min and max are functions."""


class BoxLoops(ABC):
    """Loops over the indices of an operation, and the elements that it touches. `shown` is its equation as the language has it,
    which a comment says; None for a statement of a loop over steps, whose comment has all statements. With `stays` elements that
    are not written keep what they have."""

    op: Boxed

    def __init__(self, function: TensorStatements, shown: Equation | None, e: Equation, stays: bool) -> None:
        self.f, self.e, self.op, self.out, self.stays = function, e, e.op, e.outs[0], stays
        self.whole, self.language = function.whole, function.language
        text = MatrixText if isinstance(e.op, MatrixOperation) else ComprehensionText
        self.text: BoxText | None = None if shown is None else text(function.printed, shown)
        self.used: Counter[str] = Counter()
        self.depth = 0
        self.opened: set[Index] = set()
        self.made: list[str] = []
        self.gathers: dict[str, str] = {}

    @abstractmethod
    def written(self) -> None:
        """Write the lines that compute it."""

    def lines(self) -> list[str]:
        if self.text is not None:
            self.made += self.language.comment(self.text.line().split("\n"))
        self.written()
        return self.made

    def filled(self, start: Callable[[str], str]) -> None:
        """All elements of the result with what they start from, which `start` says of a subscript."""
        count = self.whole.product(self.op.shape)
        if count != "0":
            at = self.f.local("e", self.used)
            self.loop(LoopHead(at, "0", count, [f"{at} < {count}"]))
            self.say(f"{self.language.element.format(self.f.values[self.out], at)} = {start(at)};")
            self.close(0)

    def tested(self, guards: Sequence[Affine]) -> None:
        """Begin what is done only where the guards hold."""
        if tests := [t for t in map(self.whole.natural_test, guards) if t is not None]:
            self.begin(self.language.test.format(" && ".join(tests)))

    # ------------------------------------------------------------ lines

    def say(self, line: str) -> None:
        self.made.append(INDENT * self.depth + line)

    def begin(self, head: str) -> None:
        self.say(head + self.language.opens)
        self.depth += 1

    def loop(self, x: LoopHead) -> None:
        """Begin a loop."""
        assert self.language.loop is not None
        head, *inside = self.language.loop(x)
        self.begin(head)
        for line in inside:
            self.say(line)

    def close(self, depth: int) -> None:
        while self.depth > depth:
            self.depth -= 1
            if self.language.closes:
                self.say(self.language.closes)

    def local(self, hint: str) -> str:
        """A name for something here: outside of all loops one that no other nest has."""
        return self.f.local(hint, self.used) if self.depth else self.f.helpers.named(hint)

    def open(self, index: Index, guards: list[Affine]) -> None:
        """Begin the loop of an index. A guard that fails for good as the index grows ends it."""
        r = next(r for r in self.op.ranges if r.index is index)
        shown = None if self.text is None else self.text.by[index].index
        name = self.f.local((shown or index).name, self.used)
        self.opened.add(index)
        self.whole.bind(index, name, r.low)
        tests = [self.whole.below(index, r.high)]
        for g in [g for g in guards if linear(g) and never_negative(-slope(g, index) - 1) and self.ready(g)]:
            guards.remove(g)
            tests += filter(None, [self.whole.natural_test(g)])
        self.loop(LoopHead(name, self.whole.text(r.low), self.whole.text(r.high), tests))

    def ready(self, g: Affine) -> bool:
        """True for a guard that is a sum of indices whose loops are open, and sizes."""
        return all(i in self.opened for i in g.indices()) and linear(g)

    # ------------------------------------------------------------ elements

    def place(self, atom: Atom, subscripts: Sequence[Subscript]) -> str:
        """An element of a tensor."""
        assert isinstance(atom, Var)
        return self.language.element.format(self.f.values[atom], self.offset(atom, subscripts))

    def offset(self, atom: Atom, subscripts: Sequence[Subscript]) -> str:
        """Where an element lies in a tensor, row-major."""
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
        return (whole or ("0", ATOM))[0]

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
                zero = self.language.number(0.0)[0]
                self.say(self.language.required.format(f"{integer} >= {zero} && {integer} < {self.real(extent)[0]}"))
            self.say(f"{self.language.whole}{at} = {self.language.as_subscript.format(integer)};")
            if not atom.whole:
                self.check((at, ATOM), extent)
        return self.gathers[key], ATOM

    def check(self, piece: Piece, extent: Affine) -> None:
        """Leave the function where a subscript is outside."""
        text, end = enclosed(piece, SUM), self.whole.text(extent)
        line = self.language.required.format(f"{text} >= 0 && {text} < {end}")
        if f"{INDENT * self.depth}{line}" not in self.made[-8:]:
            self.say(line)

    def real(self, x: Affine) -> Piece:
        """An expression as a number like any other."""
        if not x.terms:
            return self.language.number(float(x.constant))
        piece, form = self.whole.size(x), self.language.as_number
        return piece if form == "{}" else (form.format(enclosed(piece, UNARY)), UNARY)

    def source(self, s: BodySource) -> Piece:
        """An input of the body."""
        if isinstance(s, Affine):
            return self.real(s)
        atom = self.e.args[s.arg]
        if isinstance(atom, Lit):
            return self.language.number(atom.value)
        text = self.place(atom, s.subscripts) if atom.shape else self.f.values[atom]
        return (self.language.as_number.format(text), UNARY) if atom.integer else (text, ATOM)


class Loops(BoxLoops):
    """Writes one comprehension."""

    op: Comprehension

    def written(self) -> None:
        outer = elements(self.op)
        if outer is None and self.stays and self.op.onto is None and self.op.reduction == "+" and writes_fixed(self.op):
            named = {i for s in self.op.write if isinstance(s, Affine) for i in s.indices()}
            outer = [i for i in self.op.indices if i in named]
        if outer is None:
            self.scattered()
        else:
            self.reduced(outer)

    # ------------------------------------------------------------ two ways

    def reduced(self, outer: Sequence[Index]) -> None:
        """Loops over elements, each computed at once."""
        inner = [i for i in self.op.indices if i not in outer]
        left = list(self.op.guards)
        around = [g for g in left if self.stays and {*g.indices()} <= {*outer}]
        left = [g for g in left if g not in around]
        for i in outer:
            self.open(i, around)
        self.tested(around)
        scalar = not self.op.shape
        target = self.f.values[self.out] if scalar else self.place(self.out, self.op.write)
        if inner or left:
            total = target if scalar else self.local(ACCUMULATORS[self.op.reduction])
            self.say(f"{self.language.variable}{total} = {self.start()[0]};")
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
                self.added(target, value)
            else:
                self.say(f"{self.language.constant if scalar else ''}{target} = {given[0]};")
        self.close(0)

    def scattered(self) -> None:
        """The whole result first, then every point in turn."""
        onto = self.op.start(self.e)
        there = isinstance(onto, Var) and self.f.values[onto] == self.f.values[self.out]
        if not there and not self.stays:
            element = self.language.element
            self.filled(lambda at: element.format(self.f.values[onto], at) if isinstance(onto, Var) else self.start()[0])
        self.point(list(self.op.indices), list(self.op.guards), None)
        self.close(0)

    def point(self, inner: Sequence[Index], guards: list[Affine], total: str | None) -> None:
        """The work at one point, inside of the loops over `inner`; without a `total` on its element."""
        for i in inner:
            self.open(i, guards)
        self.tested(guards)
        value = self.value()
        target = self.place(self.out, self.op.write) if total is None else total
        match self.op.reduction:
            case "=":
                self.say(f"{target} = {value[0]};")
            case "+" | "*":
                self.added(target, value)
            case _:
                self.say(f"{target} = {self.combined((target, ATOM), value)[0]};")

    def added(self, target: str, value: Piece) -> None:
        """Combine a value with what is at a place, by an operator."""
        level = LEVELS[self.op.reduction]
        self.say(self.language.added.format(target, self.op.reduction, value[0], enclosed(value, level + 1)))

    def start(self) -> Piece:
        """The initial value of an element."""
        if self.op.onto is None:
            return self.language.number(NEUTRAL[self.op.reduction])
        return self.source(Read(self.op.onto, self.op.write))

    def combined(self, old: Piece, new: Piece) -> Piece:
        if level := LEVELS.get(self.op.reduction):
            return f"{enclosed(old, level)} {self.op.reduction} {enclosed(new, level + 1)}", level
        return self.f.helpers.combined(COMBINED_BY[self.op.reduction], [old, new])

    # ------------------------------------------------------------ the body

    def value(self) -> Piece:
        return self.body_values()[0]

    def body_values(self) -> list[Piece]:
        """The values of the body at the point that the loops stand at; what is used more than once gets a name."""
        unnamed: dict[Atom, Atom] = {v: Var(None, True, v.truth) for e in self.op.body.equations for v in e.outs}
        body = substitute(self.op.body, unnamed)
        own = Body(self.f.helpers, body, {})
        for p, s in zip(body.params, self.op.sources, strict=True):
            piece = self.source(s)
            if own.uses[p.var] > 1 and piece[0] != self.plain_name(s):
                name = self.local(self.hint(s))
                self.say(f"{self.language.constant}{name} = {piece[0]};")
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
        return [own.piece(r.atom) for r in body.results]

    def plain_name(self, s: BodySource) -> str | None:
        """The name of a scalar that is read as it is."""
        atom = self.e.args[s.arg] if isinstance(s, Read) else None
        return self.f.values[atom] if isinstance(atom, Var) and not atom.shape else None

    def hint(self, s: BodySource) -> str:
        atom = self.e.args[s.arg] if isinstance(s, Read) else None
        return atom.name or "t" if isinstance(atom, Var) else "t"


class JointLoops(Loops):
    """Writes the comprehensions of a joint loop (adcli.codegen.nests.fusion), each with what comes before its loop."""

    def __init__(self, function: TensorStatements, group: Sequence[Equation[Comprehension]]) -> None:
        whole, self.results = one_statement(group)
        super().__init__(function, None, whole, False)
        self.group, self.of_all = group, self.op

    def written(self) -> None:
        for e, r in zip(self.group, self.results, strict=True):
            text = ComprehensionText(self.f.printed, self.f.shown.get(e.outs[0], e))
            self.made += self.language.comment(text.line().split("\n"))
            self.out, self.op = r.out, e.op
            if r.kind == SCATTER:
                self.filled(lambda at: self.start()[0])
            elif r.kind == TOTAL:
                self.say(f"{self.language.variable}{self.f.values[r.out]} = {self.start()[0]};")
        self.op = self.of_all
        self.open(self.op.ranges[0].index, [])
        for r, value in zip(self.results, self.body_values(), strict=True):
            target = self.place(r.out, r.write) if r.write else self.f.values[r.out]
            if r.kind == EACH:
                self.say(f"{target} = {value[0]};")
            else:
                self.added(target, value)
        self.close(0)


class Body(Statements):
    """The body of a comprehension; its value stands in the expression that uses it wherever that is short."""

    def single(self, e: Equation) -> bool:
        return len(e.outs) == 1 and self.uses[e.outs[0]] == 1


class MatrixLoops(BoxLoops):
    """Writes one operation on matrices: a call for each point of its box."""

    op: MatrixOperation

    def written(self) -> None:
        if not self.stays and self.op.shape and not covered_points(self.op):
            self.filled(lambda at: self.language.number(0.0)[0])
        left = list(self.op.guards)
        for i in self.op.indices:
            self.open(i, left)
        self.tested(left)
        if self.op.name in FACTORED:
            raise AdError(f"'{self.op.name}' is computed by NumPy, and this code stands alone", self.e.span,
                          "write --emit python")
        call = f"{self.f.helpers.function(self.op.name)}({', '.join(self.arguments())})"
        if self.op.name not in NUMBERS:
            self.say(f"{call};")
        elif self.op.shape:
            self.say(f"{self.place(self.out, self.op.write)} = {call};")
        else:
            self.say(f"{self.language.constant}{self.f.values[self.out]} = {call};")
        self.close(0)

    def arguments(self) -> list[str]:
        """Extents, the matrix and the distances of its elements, right-hand sides, the result, and a place for a matrix."""
        n = self.whole.size(matrix_extent(self.e))[0]
        if self.op.name == SEARCH:
            vector, number = self.op.sources
            return [n, self.start(self.e.args[vector.arg], vector), self.source(number)[0]]
        matrix, *right = [self.start(self.e.args[s.arg], s) for s in self.op.sources]
        given = [n, *([self.whole.product(trailing(self.e)[1:])] if right else [])]
        given += ["1", n] if self.op.transposed else [n, "1"]
        given += [matrix, *right]
        if self.op.name not in NUMBERS:
            given.append(self.start(self.out, Read(0, self.op.write)))
        if (place := self.f.scratch.get(self.e)) is not None:
            given.append(self.f.values[place])
        return given

    def start(self, atom: object, s: Read) -> str:
        """Where a matrix begins."""
        assert isinstance(atom, Var)
        rest = len(shape_of(atom)) - len(s.subscripts)
        name, at = self.f.values[atom], self.offset(atom, (*s.subscripts, *[affine(0)] * rest))
        return name if at == "0" else self.language.part.format(name, at)


class LoopStatements(TensorStatements):
    """Statements with loops over single elements."""

    nest, matrices, joins = Loops, MatrixLoops, True

    def computed(self) -> Iterator[str]:
        loose = {v for v, _, _ in self.loose} | self.unfilled
        every = self.program.equations
        joint = {r.start: r for r in groups([None if not loose.isdisjoint(e.outs) else e for e in every])}
        k = 0
        while k < len(every):
            r = joint.get(k, range(k, k + 1))
            yield from JointLoops(self, every[r.start:r.stop]).lines() if k in joint else self.equation(every[k])
            k = r.stop
