"""The text of programs with tensors: comprehensions, declarations with shapes, and functions of tensors.

`where` is written only for ranges that inference would not find again, and a shape only where subscripts would ask for another
one: the printer asks `adcli.lang.sizes.ranges` what a reader of its text would see. A program that was one function of tensors is
printed as one, and so is its derivative.
"""
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from adcli.lang.ir import Atom, Equation, Lit, Param, Program, Shape, Var, shape_of
from adcli.lang.ir.affine import Affine, AffineAtom, Extreme, Floor, Index, NewSubstitution, affine, atoms, substituted, text
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import RESERVED, Names, look, name_table
from adcli.lang.operations.comprehension import BodySource, Comprehension, Range, Read, Subscript, nested_reads
from adcli.lang.operations.matrix import Boxed, MatrixOperation, bound_names
from adcli.lang.operations.recurrence import Recurrence, boxed, step_place, whole_statements
from adcli.lang.printing.read_back import BodyReads, planned, single, told
from adcli.lang.printing.scalar_printer import ScalarWriter, declaration, is_plain, range_text
from adcli.lang.sizes.all_sizes import in_doubt
from adcli.lang.sizes.condition_dnf import EVERYWHERE
from adcli.lang.sizes.histories import NOTHING, extent_over, goes_beyond
from adcli.lang.sizes.ranges import Access, Domain, Given, infer
from adcli.lang.tree.nodes import ELEMENTS, INTEGERS
from adcli.lang.tree.notation import AFFINE_OPERATIONS, ATOM, INDENT, MATRIX_CALLS, PRODUCT, SUM, Piece, constant, infix

LONGEST_UNNAMED = 400
"""Characters of an expression in a body beyond which a part of it gets a name in `where`."""
NEVER_NAMES = RESERVED | {"exists", "min", "max", *ELEMENTS, *INTEGERS, *MATRIX_CALLS}
WORDS = re.compile(r"\w+")
LONGEST_LINE = 120
"""Characters of a line beyond which `where` goes to the next."""
REDUCTION_SYMBOLS = {"=": "=", "+": "+=!", "*": "*=!", "min": "min=!", "max": "max=!", "lse": "lse=!"}


def inputs(params: Sequence[Param]) -> Iterator[str]:
    """The declarations; plain neighbours share a line."""
    line: list[str] = []
    for p in params:
        name = ("int32 " if p.var.integer else "") + p.name + extents(p.var.shape) + (range_text(p) if p.var.shape else "")
        if p.active and (p.var.shape or p.var.integer or is_plain(p)):
            line.append(name)
            continue
        if line:
            yield f"input {', '.join(line)}"
            line = []
        yield f"param {name}" if p.var.shape or p.var.integer else declaration(p)
    if line:
        yield f"input {', '.join(line)}"


def extents(shape: Sequence[Affine]) -> str:
    return f"({', '.join(map(text, shape))})" if shape else ""


def typed(var: Var, name: str) -> str:
    """A declaration as functions of tensors have it."""
    return f"{'int32' if var.integer or var.whole else 'float'}{extents(var.shape)} {name}"


def name_alone(x: Affine) -> bool:
    """Test for an expression that is one index or one size."""
    return not x.constant and len(x.terms) == 1 and x.terms[0][1] == 1 and isinstance(x.terms[0][0], (str, Index))


def is_sum(e: Equation, sums: set[Var]) -> bool:
    """Test for an operation on values that reads as one sum of indices and sizes, as `sums` do."""
    if e.op.name == "mul" and not any(isinstance(a, Lit) for a in e.args):
        return False
    return e.op.name in AFFINE_OPERATIONS and all(a.integer is not None if isinstance(a, Lit) else a in sums for a in e.args)


class TensorWriter(ScalarWriter):
    """Writes a program with tensors: elements and sizes inside scalar statements, comprehensions as statements of their own."""

    def __init__(self, program: Program, style: str, explained: bool = False) -> None:
        super().__init__(program, style)
        self.explained = explained
        self.held = {a for e in program.equations if isinstance(e.op, Boxed | Recurrence) for a in e.args}
        self.agreed = {pair for e in boxed(program.equations) for a in e.op.agreements
                       for pair in ((a.left, a.right), (a.right, a.left))}
        self.definition = self.function_name()
        self.shown: dict[str, str] = {}   # results of a function that have to be declared with their shape
        starts = self.starts()
        self.continued = set(starts.values())
        self.names = name_table(program, starts)
        self.histories = planned(program, self.names)
        self.told = told(program, self.names, self.histories)
        self.extended = {before for e in program.equations for before, _ in e.op.started(e)}
        self.taken = Names({*NEVER_NAMES, *self.names.values(), *bound_names(program.params)})

    def framed(self, body: list[str]) -> tuple[list[str], list[str], list[str]]:
        program = self.program
        if self.definition is None:
            return [*inputs(program.params)], body, [f"output {', '.join(r.name for r in program.results)}"]
        params = ", ".join(typed(p.var, p.name) for p in program.params)
        results = ", ".join(self.shown.get(r.name, r.name) for r in program.results)
        inner = [INDENT + line.replace("\n", f"\n{INDENT}") for line in body]
        return [f"def {self.definition}({params}) -> ({results}) {{"], inner, ["}"]

    def function_name(self) -> str | None:
        """The name of the function as which the program can be written."""
        program = self.program
        name = program.source.definition if program.source else None
        plain = all(is_plain(p) for p in program.params)
        apart = {p.name for p in program.params}.isdisjoint(r.name for r in program.results)
        return name if plain and apart and program.equations and program.results else None

    def starts(self) -> dict[Var, Var]:
        """Values that are only there for an equation to start from, which are written under the name of what it defines."""
        params, found = {p.var for p in self.program.params}, dict[Var, Var]()
        for e in self.program.equations:
            for before, out in e.op.started(e):
                own = sum(a is before for a in e.args)
                if isinstance(e.op, Recurrence) and before in e.args[len(e.op.histories):]:
                    continue   # under the name of the history its statements would read what they make
                if isinstance(before, Var) and before not in params and before not in self.results and self.uses[before] == own:
                    found[before] = out
        return found

    def recurrence(self, e: Equation) -> Iterator[str]:
        """A loop, with what its histories start from where that has another name."""
        yield from LoopText(self, e).lines()

    def single(self, e: Equation) -> bool:
        """A value that a comprehension reads keeps a statement of its own: inside it would belong to the body."""
        return super().single(e) and e.outs[0] not in self.held

    def equation(self, e: Equation) -> Iterator[str]:
        if isinstance(e.op, Recurrence):
            yield from self.recurrence(e)
        elif isinstance(e.op, MatrixOperation):
            yield from self.matrix(e, e.op)
        elif not isinstance(e.op, Comprehension):
            yield from super().equation(e)
        elif (piece := self.element(e.op, e)) is None:
            yield from self.comprehension(e)
        elif self.style == "nested" and e.outs[0].temp and self.single(e):
            self.inline[e.outs[0]] = piece
        else:
            yield f"{self.target(e)} = {piece[0]}"

    def line(self, equations: list[Equation]) -> Iterator[str]:
        if any(isinstance(e.op, Boxed | Recurrence) for e in equations):
            for e in equations:
                yield from self.equation(e)
        else:
            yield from super().line(equations)

    def element(self, op: Comprehension, e: Equation) -> Piece | None:
        """An element of a tensor or a size as a value, which need no comprehension in the text."""
        if e.outs[0].whole:
            return None
        if op.ranges or op.write or op.guards or op.reduction != "=" or op.onto is not None or len(op.sources) != 1:
            return None
        source, result = op.sources[0], op.body.results[0].atom
        if op.body.equations or result is not op.body.params[0].var or (isinstance(source, Read) and not source.subscripts):
            return None
        return ComprehensionText(self, e).source(source) if isinstance(source, Read) or name_alone(source) else None

    def matrix(self, e: Equation, op: MatrixOperation) -> Iterator[str]:
        """An operation on matrices; a number that one line reads stands in it."""
        s = MatrixText(self, e)
        if self.style == "nested" and not op.ranges and not op.shape and e.outs[0].temp and self.single(e):
            self.inline[e.outs[0]] = s.body(), ATOM
            return
        if self.explained:
            yield from s.reasons()
        yield s.line()

    def comprehension(self, e: Equation) -> Iterator[str]:
        s = ComprehensionText(self, e)
        if self.explained:
            yield from s.reasons()
        yield s.line()


class BoxText:
    """The text of one operation over a box of indices, all but its value."""

    def __init__(self, writer: TensorWriter, e: Equation[Boxed]) -> None:
        self.w, self.e, self.op = writer, e, e.op
        self.name = writer.names[e.outs[0]]
        self.taken = self.names_around()
        shown = {i: self.shown(i) for i in self.op.indices}
        self.by: NewSubstitution = {i: affine(new) for i, new in shown.items()}
        written = [i for s in self.op.write if isinstance(s, Affine) for i in shown if i in atoms(s)]   # taken first by a reader
        self.places: dict[AffineAtom, int] = {shown[i]: k for k, i in enumerate(dict.fromkeys((*written, *shown)))}
        self.lets: list[str] = []

    def names_around(self) -> Names:
        return self.w.taken.within()

    def shown(self, i: Index) -> Index:
        """An index under the name that it has in the text."""
        return Index(self.taken.fresh(look(i.name)))

    def line(self) -> str:
        op = self.op
        body = self.body()
        if self.as_read(body):
            body = self.body()
        symbol = self.symbol()
        clauses = self.clauses() + self.lets
        if (before := self.starts_from()) is not None:
            clauses.append(f"{self.name} = {self.atom(before)}")
        target = self.name
        if op.write or self.parenthesised():
            target += f"({', '.join(self.subscript(s) for s in op.write)})"
        where = f"where {', '.join(clauses)}" if clauses else ""
        line = f"{'int32 ' if self.e.outs[0].whole else ''}{target} {symbol} {body}"
        between = " " if where and len(line) + len(where) < LONGEST_LINE else f"\n{INDENT}" if where else ""
        return line + between + where

    def starts_from(self) -> Atom | None:
        """Start value that the statement has to name."""
        return None if self.e.outs[0] in self.w.continued else self.op.start(self.e)

    def as_read(self, body: str) -> bool:
        """Give the indices that are not on the left their places: a reader meets them in the body, and then in values of `where`.
        True where that changes something."""
        names = {i.name: i for i in self.places if isinstance(i, Index)}
        met = dict.fromkeys(i for word in WORDS.findall("\n".join([body, *self.lets])) if (i := names.get(word)) is not None)
        written = {a for s in self.op.write if isinstance(s, Affine) for a in atoms(substituted(s, self.by))}
        first = [i for i in self.places if i in written]
        before, self.places = self.places, {i: k for k, i in enumerate(dict.fromkeys((*first, *met, *self.places)))}
        return before != self.places

    def reasons(self) -> Iterator[str]:
        """The shape of the result and the range of each index with where it comes from."""
        yield f"# {self.name}{extents(self.op.shape)}"
        for r in self.op.ranges:
            yield f"# {self.affine(affine(r.index))}: {text(r.low)} to {text(r.high)}" + (f", {r.why}" if r.why else "")
        for g in self.op.guards:
            yield f"# where {self.guard(g)}"
        for a in self.op.agreements:
            yield f"# {text(a.left)} and {text(a.right)} must be the same number"

    # Parts.

    def affine(self, x: Affine) -> str:
        return text(substituted(x, self.by), places=self.places)

    def subscript(self, s: Subscript) -> str:
        return self.affine(s) if isinstance(s, Affine) else self.source(s)[0]

    def atom(self, a: Atom) -> str:
        return self.w.names[a] if isinstance(a, Var) else constant(a.value)[0]

    def source(self, s: BodySource) -> Piece:
        if isinstance(s, Affine):
            product = len(s.terms) == 1 and not s.constant and s.terms[0][1] > 0
            called = product and s.terms[0][1] == 1 and isinstance(s.terms[0][0], (Floor, Extreme))
            level = ATOM if name_alone(s) or called else PRODUCT if product else SUM
            return text(substituted(s, self.by), True, self.places), level
        a = self.e.args[s.arg]
        if isinstance(a, Lit):
            return constant(a.value)
        return self.w.names[a] + (f"({', '.join(self.subscript(x) for x in s.subscripts)})" if s.subscripts else ""), ATOM

    def guard(self, g: Affine) -> str:
        left = Affine(tuple((a, c) for a, c in g.terms if c > 0), max(g.constant, 0))
        return f"{self.affine(left)} >= {self.affine(left - g)}"

    def body(self) -> str:
        raise NotImplementedError

    def symbol(self) -> str:
        """Assignment operator."""
        return "="

    def parenthesised(self) -> bool:
        """Test for a target with empty parentheses."""
        return False

    # What a reader would infer.

    def clauses(self) -> list[str]:
        """The parts of `where` without which the text would have other ranges or another shape."""
        op = self.op
        must = self.is_shaped() or self.is_told() or self.begins_at_a_size() or any(isinstance(s, Read) for s in op.write)
        stated, shaped = self.stated(must), must
        if stated is None:
            stated, shaped = self.stated(True), True
        clauses: list[str] = []
        if shaped and not self.is_shaped():
            self.declare_shape(clauses)
        in_order = sorted(stated or (), key=lambda r: min(self.places[a] for a in atoms(self.by[r.index])))
        clauses += [f"{self.affine(affine(r.index))} in {text(r.low)}:{text(r.high)}" for r in in_order]
        return clauses + [self.guard(g) for g in op.guards]

    def is_shaped(self) -> bool:
        """Test for a shape known from an earlier statement."""
        return self.op.onto is not None

    def is_told(self) -> bool:
        """Test for a value whose shape must be declared, since nothing writes some of its elements."""
        return self.e.outs[0] in self.w.told

    def begins_at_a_size(self) -> bool:
        """Test for a tensor that begins with one element, at N - 1, and goes on: a reader takes the extents of all statements."""
        one = any(isinstance(s, Affine) and not s.indices() and s.number is None for s in self.op.write)
        return one and self.op.onto is None and self.name not in self.w.histories and self.e.outs[0] in self.w.extended

    def stated(self, shaped: bool) -> list[Range] | None:
        """The fewest ranges, taken from the last, that have to be written; None where even with all the shape is another one."""
        if self.reads_back([], shaped):
            return []
        stated = own = [r for r in self.op.ranges if r.index not in {g.index for g in self.ranges_around()}]
        if not self.reads_back(stated, shaped):
            return None
        for r in own:
            fewer = [x for x in stated if x is not r]
            if self.reads_back(fewer, shaped):
                stated = fewer
        return stated

    def extents(self, found: Domain) -> Shape:
        """The extents of the result that a reader finds."""
        shape = [found.last(s) + 1 for s in self.op.write if isinstance(s, Affine)]
        history = self.w.histories.get(self.name) if self.e.outs[0] not in self.w.told else None
        if history is not None and history.place < len(shape):
            alone, own = single(self.op, history.place) is not None, shape[history.place]
            further = [i for i in history.intervals if alone or goes_beyond(*i, own)]
            shape[history.place] = extent_over(further, NOTHING if alone else own)
        return tuple(shape)

    def reads_back(self, stated: list[Range], shaped: bool) -> bool:
        """Test that the text has the same ranges and shape, and asks no further extents to agree; with `shaped` the shape is
        declared."""
        op = self.op
        given = [*self.ranges_around(), *(Given(r.index, r.low, r.high) for r in stated)]
        try:
            known = [self.access(self.name, op.write, op.shape)] if shaped else []
            where = (tuple(op.guards),) if op.guards else EVERYWHERE
            found = infer(op.indices, self.accesses(), given, known, None, op.write, where)
        except AdError:
            return False
        same = all(f.low == r.low and f.high == r.high for f, r in zip(found.ranges, op.ranges, strict=True))
        same &= all((a.left, a.right) in self.w.agreed for a in found.agreements)
        return same and (shaped or op.shape[:len(op.write)] == self.extents(found))   # of matrices the leading extents

    def ranges_around(self) -> list[Given]:
        """The ranges of indices that what stands around the statement says."""
        return []

    def declare_shape(self, clauses: list[str]) -> None:
        result = next((r.name for r in self.w.program.results if r.atom is self.e.outs[0]), None)
        shape = typed(self.e.outs[0], self.name)
        if self.w.definition and result == self.name:
            self.w.shown[result] = shape
        else:
            clauses.append(shape)

    def access(self, name: str, subscripts: Sequence[Subscript], shape: Sequence[Affine]) -> Access:
        return Access(name, tuple(shape[:len(subscripts)]), tuple(s if isinstance(s, Affine) else None for s in subscripts))

    def access_of(self, read: Read) -> Access:
        a = self.e.args[read.arg]
        return self.access(self.atom(a), read.subscripts, a.shape if isinstance(a, Var) else ())

    def accesses(self) -> list[Access]:
        """All reads, those inside of subscripts too."""
        found = []
        stack: list[BodySource | Subscript] = [*self.op.write, *self.op.sources]
        while stack:
            s = stack.pop()
            if isinstance(s, Read):
                found.append(self.access_of(s))
                stack += s.subscripts
        return found


class ComprehensionText(BoxText):
    """The text of one comprehension."""

    op: Comprehension
    found: Sequence[Access] = ()
    """Reads of the body, as its text shows them."""

    def symbol(self) -> str:
        symbol = REDUCTION_SYMBOLS[self.op.reduction]
        return symbol if self.op.onto is None else symbol.removesuffix("!")

    def parenthesised(self) -> bool:
        return self.op.reduction == "=" and self.op.onto is None

    def body(self) -> str:
        """The expression; values of the body that are used more than once get names in `where`."""
        body, fresh, self.lets = self.op.body, self.taken.within(), []
        pieces: dict[Atom, Piece] = {p.var: self.source(s) for p, s in zip(body.params, self.op.sources, strict=True)}
        uses = Counter(a for e in body.equations for a in e.args)
        sources: dict[Atom, BodySource] = {p.var: s for p, s in zip(body.params, self.op.sources, strict=True)}
        sums = {v for v, s in sources.items() if isinstance(v, Var) and isinstance(s, Affine)}
        chosen = {a for e in body.equations if e.op.name in ("select", "and", "or") for a in e.args[1:]}   # under conditions
        reads = BodyReads(sources, {v: x for v, s in sources.items() if (x := self.place(s)) is not None})
        doubted: set[Atom] = {v for v, s in sources.items() if chosen and self.is_doubted(s)}   # reads that may be outside
        elsewhere: set[Atom] = {v for v, s in sources.items() if self.place(s) is None}   # values not of places alone

        def named(v: Atom, piece: Piece) -> Piece:
            name = fresh.fresh("t", 1)
            self.lets.append(f"{name} = {piece[0]}")
            elsewhere.add(v)
            reads.name(v)
            return name, ATOM
        for v in (p.var for p in body.params if p.var in chosen and p.var in doubted):
            pieces[v] = named(v, pieces[v])   # without a name a reader has its subscripts checked
            doubted.discard(v)
        for e in body.equations:
            parts = [constant(a.value) if isinstance(a, Lit) else pieces[a] for a in e.args]
            if apart := is_sum(e, sums):
                parts = self.kept_apart(e.args, parts)
            if reads.is_guard(e) and e.args[0] in reads.unsure:
                parts[0] = pieces[e.args[0]] = named(e.args[0], parts[0])   # without a name a reader takes it apart
            piece, out = infix(e.op.spelled or e.op.name, parts), e.outs[0]
            if not elsewhere.isdisjoint(e.args):
                elsewhere.add(out)
            reads.enter(e, apart, out not in elsewhere)
            unsure = not doubted.isdisjoint(e.args)
            if uses[out] > 1 or len(piece[0]) > LONGEST_UNNAMED or (unsure and out in chosen):
                piece = named(out, piece)
            elif unsure:
                doubted.add(out)
            pieces[out] = piece
        result = body.results[0].atom
        self.found = [replace(self.access_of(r), where=where) for r, where in reads.all_of(result)]
        return constant(result.value)[0] if isinstance(result, Lit) else pieces[result][0]

    def accesses(self) -> list[Access]:
        """The reads of the body that stands in the text, and those inside of subscripts of what is written."""
        return [*map(self.access_of, nested_reads(self.op.write)), *self.found]

    def is_doubted(self, s: BodySource) -> bool:
        """Test for a read that is not proved to be inside of its tensor."""
        domain = Domain(self.op.ranges, self.op.guards, ())
        return any(in_doubt(a, domain) or None in a.subscripts for a in map(self.access_of, nested_reads([s])))

    def place(self, s: BodySource) -> Affine | None:
        """A value as an expression of indices and sizes; an input that is one whole number is a size, too."""
        read = self.e.args[s.arg] if isinstance(s, Read) and not s.subscripts else None
        if isinstance(read, Var) and read.integer and read.name:
            return affine(read.name)
        return s if isinstance(s, Affine) else None

    def kept_apart(self, args: Sequence[Atom], parts: list[Piece]) -> list[Piece]:
        return [p if isinstance(a, Lit) else (f"float({p[0]})", ATOM) for a, p in zip(args, parts, strict=True)]


class MatrixText(BoxText):
    """The text of one operation on matrices."""

    op: MatrixOperation

    def body(self) -> str:
        matrix, *right = [self.source(s)[0] for s in self.op.sources]
        if self.op.transposed:
            matrix = f"transpose({matrix})"
        return f"{self.op.name}({', '.join([matrix, *right])})"


class LoopText:
    """The text of a recurrence: a loop whose statements are those of the recurrence."""

    def __init__(self, writer: TensorWriter, e: Equation[Recurrence]) -> None:
        self.w, self.e, self.op = writer, e, e.op
        self.taken = writer.taken.within()
        self.step = Index(self.taken.fresh(look(self.op.step.name)))
        self.known = {out for out, before in zip(e.outs, e.args, strict=False) if shape_of(before)}

    def lines(self) -> Iterator[str]:
        first = [s.outs[0] for s in whole_statements(self.e)]   # a reader has the histories in the order of their statements
        for before, out in sorted(self.op.started(self.e), key=lambda pair: first.index(pair[1])):
            if isinstance(before, Var) and self.w.names[before] != self.w.names[out]:
                yield f"{self.w.names[out]} = {self.w.names[before]}"
            elif isinstance(before, Lit) and (before.value or out in self.w.told):
                yield f"{self.w.names[out]} = {constant(before.value)[0]}"
        op = self.op
        words = [w for w, there in (("down", op.down), ("checkpoint", op.checkpoint)) if there]
        head = " ".join([f"for {self.step.name} in {text(op.low)}:{text(op.high)}", *words, "{"])
        statements = [(LoopMatrixText if isinstance(s.op, MatrixOperation) else LoopStatementText)(self, s).line()
                      for s in whole_statements(self.e)]
        inner = "".join(INDENT + s.replace("\n", f"\n{INDENT}") + "\n" for s in statements)
        yield f"{head}\n{inner}}}"

    def extent(self, out: Var) -> Affine:
        """The elements along the step that the statements of the loop ask for, of a history that nothing wrote before."""
        return extent_over(self.w.histories[self.w.names[out]].intervals)


class InLoop(BoxText):
    """Text of a statement inside a loop."""

    def __init__(self, loop: LoopText, e: Equation) -> None:
        self.loop = loop
        super().__init__(loop.w, e)

    def names_around(self) -> Names:
        return self.loop.taken.within()

    def shown(self, i: Index) -> Index:
        return self.loop.step if i is self.loop.op.step else super().shown(i)

    def line(self) -> str:
        line = super().line()
        self.loop.known.add(self.e.outs[0])
        return line

    def ranges_around(self) -> list[Given]:
        return [Given(self.loop.op.step, self.loop.op.low, self.loop.op.high)]

    def is_shaped(self) -> bool:
        return self.e.outs[0] in self.loop.known

    def is_told(self) -> bool:
        return False

    def starts_from(self) -> Atom | None:
        return None

    def extents(self, found: Domain) -> Shape:
        shape = list(super().extents(found))
        at = step_place(self.op, self.loop.op.step)
        if at is not None:
            shape[at[0]] = self.loop.extent(self.e.outs[0])
        return tuple(shape)

    def accesses(self) -> list[Access]:
        known = {self.w.names[out] for out in self.loop.known}
        unknown = {self.w.names[out] for out in self.loop.e.outs} - known
        return [a for a in super().accesses() if a.tensor not in unknown]


class LoopStatementText(InLoop, ComprehensionText):
    """The text of one statement of a loop."""


class LoopMatrixText(InLoop, MatrixText):
    """The text of one operation on matrices in a loop."""
