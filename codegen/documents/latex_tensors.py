r"""A program with tensors as aligned equations of LaTeX: elements with their subscripts, sums with their ranges, loops over
steps, and operations on matrices as books write them.

    C_{i} &= \sum_{j=0}^{N-1} A_{i,j} \cdot B_{j}
    X_{t} &= S_{t}^{-1} B_{t}

Free indices run over the whole of a tensor where nothing else is said. An element of a name that has an index itself has its
subscripts behind a semicolon, and those of a derivative by a tensor stand at that tensor:
\frac{\partial C_{i}}{\partial W_{j,k}}.
"""
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from adcli.codegen.documents.latex import LatexWriter, broken, indexed
from adcli.codegen.documents.latex_names import latex_names
from adcli.lang.ir import Atom, Equation, Lit, Program, Var
from adcli.lang.ir.affine import Affine, AffineAtom, Extreme, Floor, Index, Modulo, Product, atoms
from adcli.lang.ir.comprehension import BodySource, Comprehension, Range, Subscript
from adcli.lang.ir.elementwise import shape_of
from adcli.lang.ir.matrix import Boxed, MatrixOperation
from adcli.lang.ir.names import Names
from adcli.lang.ir.notation import ATOM, POWER, PRODUCT, SUM, TERNARY, Piece, enclosed
from adcli.lang.ir.recurrence import Recurrence, whole_statements
from adcli.lang.syntax.comprehension_printer import TensorWriter

REDUCTIONS = {"+": r"\sum", "*": r"\prod", "min": r"\min", "max": r"\max", "lse": r"\log \sum"}
ADDED = {"+": r"\mathrel{+}=", "*": r"\mathrel{\cdot}="}
TURNED = r"\mathsf{T}"
LONGEST_REPEATED = 30
"""Signs of a value that stands wherever it is used; longer ones get a name."""
PARTIAL = re.compile(r"\\frac\{\\partial(\^\{\d+\})? (.*)\}\{\\partial (.*)\}", re.DOTALL)
TIMES = re.compile(r"(.*)\^\{(\d+)\}", re.DOTALL)
INDEXED = re.compile(r"(.*)_\{((?:[^{}]|\{[^{}]*\})*)\}", re.DOTALL)


class TensorLatexWriter(LatexWriter):
    """Writes the equations of a program with tensors."""

    def __init__(self, program: Program) -> None:
        self.text = TensorWriter(program, "nested")
        super().__init__(program)
        self.held = self.text.held
        shapes = [(p.name, p.var.shape) for p in program.params] + [(r.name, shape_of(r.atom)) for r in program.results]
        self.ranks = {index_name(name): len(shape) for name, shape in shapes}

    def table(self, program: Program) -> Mapping[Var, str]:
        return self.text.names

    def single(self, e: Equation) -> bool:
        return super().single(e) and e.outs[0] not in self.held

    def equation(self, e: Equation) -> Iterator[str]:
        if isinstance(e.op, Recurrence):
            yield from self.loop(e, e.op)
        elif isinstance(e.op, Boxed):
            yield from self.statement(e, {}, e.outs[0] in self.text.continued)
        else:
            yield from super().equation(e)

    def loop(self, e: Equation, op: Recurrence) -> Iterator[str]:
        """The steps, and the statements of each."""
        names: dict[Index | str, str] = {op.step: index_name(op.step.name)}
        around = StatementText(self, e, names)
        low, last = around.number(op.low)[0], around.number(op.high - 1)[0]
        steps = (last, low) if op.down else (low, last)
        yield rf"&\text{{for }} {names[op.step]} = {steps[0]}, \ldots, {steps[1]}\colon"
        for s in whole_statements(e):
            first_line, *others = self.statement(s, names, False)
            yield from (rf"\quad {first_line}", *others)

    def statement(self, e: Equation, names: Mapping[Index | str, str], goes_on: bool) -> Iterator[str]:
        yield from StatementText(self, e, names).lines(goes_on)


def index_name(name: str) -> str:
    return indexed(latex_names([name])[0])


class StatementText:
    """The text of one operation over a box of indices; `names` are those of indices around it."""

    def __init__(self, writer: TensorLatexWriter, e: Equation, names: Mapping[Index | str, str]) -> None:
        self.w, self.e, self.op = writer, e, e.op
        self.names, self.given = dict(names), {i for i in names if isinstance(i, Index)}
        taken = Names(names.values())
        for r in self.op.ranges if isinstance(self.op, Boxed) else ():
            if r.index not in self.names:
                self.names[r.index] = index_name(taken.fresh(r.index.name))
        self.lets: list[str] = []

    def lines(self, goes_on: bool) -> Iterator[str]:
        op, (out,) = self.op, self.e.outs
        assert isinstance(op, Boxed)
        value = self.matrix(op) if isinstance(op, MatrixOperation) else self.reduced(op)
        onto = None if op.onto is None else self.e.args[op.onto]
        sign = "="
        if isinstance(op, Comprehension) and onto is not None and op.reduction in ADDED:
            sign = ADDED[op.reduction]
            if isinstance(onto, Lit) or (self.w.names[onto] != self.w.names[out] and not goes_on):
                start = self.w.notation.number(onto.value)[0] if isinstance(onto, Lit) else self.element(onto, op.write)[0]
                between = {"+": "+", "*": r"\cdot"}[op.reduction]
                sign, value = "=", (f"{start} {between} {value[0]}", SUM)
        line = f"{self.element(out, op.write)[0]} &{sign} {self.w.notation.polished(value[0])}"
        yield from broken(line + "".join(rf", \quad {clause}" for clause in self.restricted()))
        for let in self.lets:
            yield from broken(rf"&\quad \text{{with }} {let}")

    # ------------------------------------------------------------ where

    def free(self) -> list[Range]:
        """The ranges of the indices that the result has."""
        op = self.op
        assert isinstance(op, Boxed)
        named = {i for s in op.write for i in (atoms(s) if isinstance(s, Affine) else ())}
        return [r for r in op.ranges if r.index in named]

    def restricted(self) -> list[str]:
        """What is to be said of the free indices: where they do not run over a whole extent, and guards on them alone."""
        op = self.op
        assert isinstance(op, Boxed)
        whole = {s.index for s, extent in zip(op.write, op.shape, strict=False) if isinstance(s, Affine)
                 for r in op.ranges if r.index is s.index and r.low.number == 0 and r.high == extent}
        free = self.free()
        found = [self.span(r) for r in free if r.index not in whole and r.index not in self.given]
        known = {r.index for r in free}
        return found + [self.guard(g) for g in op.guards if {*g.indices()} <= known]

    def span(self, r: Range) -> str:
        return rf"{self.number(r.low)[0]} \le {self.names[r.index]} < {self.number(r.high)[0]}"

    def guard(self, g: Affine) -> str:
        left = Affine(tuple((a, c) for a, c in g.terms if c > 0), max(g.constant, 0))
        return rf"{self.number(left)[0]} \ge {self.number(left - g)[0]}"

    # ------------------------------------------------------------ values

    def reduced(self, op: Comprehension) -> Piece:
        """The value with what reduces it."""
        value = self.body(op)
        free = {r.index for r in self.free()} | self.given
        inner = [r for r in op.ranges if r.index not in free]
        guards = [g for g in op.guards if not {*g.indices()} <= free]
        if op.reduction == "=" or (not inner and not guards):
            return value
        value = (rf"\exp({value[0]})", ATOM) if op.reduction == "lse" else value
        closed = enclosed(value, PRODUCT if op.reduction in ("+", "lse") else POWER)
        if guards or len(inner) != 1:
            conditions = [*map(self.span, inner), *map(self.guard, guards)]
            lines = r" \\ ".join(conditions)
            below = rf"\substack{{{lines}}}" if len(conditions) > 1 else lines
            return f"{REDUCTIONS[op.reduction]}_{{{below}}} {closed}", PRODUCT
        (r,) = inner
        if op.reduction in ("min", "max"):
            return f"{REDUCTIONS[op.reduction]}_{{{self.span(r)}}} {closed}", PRODUCT
        low, high = self.number(r.low)[0], self.number(r.high - 1)[0]
        return f"{REDUCTIONS[op.reduction]}_{{{self.names[r.index]}={low}}}^{{{high}}} {closed}", PRODUCT

    def body(self, op: Comprehension) -> Piece:
        body, uses = op.body, Counter(a for e in op.body.equations for a in e.args)
        pieces: dict[Atom, Piece] = {p.var: self.source(s) for p, s in zip(body.params, op.sources, strict=True)}
        for e in body.equations:
            parts = [self.w.notation.number(a.value) if isinstance(a, Lit) else pieces[a] for a in e.args]
            piece = self.w.notation.operation(e.op.spelled or e.op.name, parts)
            if uses[e.outs[0]] > 1 and len(piece[0]) > LONGEST_REPEATED:
                name = f"t_{{{len(self.lets) + 1}}}"
                sign = r"\Leftrightarrow" if e.outs[0].truth else "="
                self.lets.append(f"{name} {sign} {piece[0]}")
                piece = name, ATOM
            pieces[e.outs[0]] = piece
        result = body.results[0].atom
        return self.w.notation.number(result.value) if isinstance(result, Lit) else pieces[result]

    def source(self, s: BodySource) -> Piece:
        if isinstance(s, Affine):
            return self.number(s)
        a = self.e.args[s.arg]
        return self.w.notation.number(a.value) if isinstance(a, Lit) else self.element(a, s.subscripts)

    def matrix(self, op: MatrixOperation) -> Piece:
        """An operation on matrices, as a formula."""
        first, *right = [self.element(self.e.args[s.arg], s.subscripts)[0] for s in op.sources]
        turned = rf"{first}^{{\mathsf{{T}}}}" if op.transposed else first
        inverted = rf"{first}^{{-{TURNED if op.transposed else '1'}}}"
        match op.name:
            case "solve":
                return f"{inverted} {right[0]}", PRODUCT
            case "solve_lower" | "solve_upper":
                part = r"\operatorname{tril}" if op.name == "solve_lower" else r"\operatorname{triu}"
                return rf"{part}({turned})^{{-1}} {right[0]}", PRODUCT
            case "cholesky":
                return rf"\operatorname{{chol}}({turned})", ATOM
            case "logdet":
                return rf"\log \det {turned}", PRODUCT
            case _:
                return inverted, POWER

    # ------------------------------------------------------------ elements and whole numbers

    def element(self, a: Atom, subscripts: Sequence[Subscript]) -> Piece:
        assert isinstance(a, Var)
        if not subscripts:
            return self.w.piece(a)
        inner = [self.number(s)[0] if isinstance(s, Affine) else self.source(s)[0] for s in subscripts]
        return with_subscripts(self.w.names[a], inner, self.w.ranks), ATOM

    def number(self, x: Affine) -> Piece:
        """A sum of indices and sizes."""
        shown = ""
        for a, c in sorted(x.terms, key=lambda term: term[1] < 0):
            one = self.atom(a)
            one = one if abs(c) == 1 else (f"{abs(c)} {enclosed(one, PRODUCT)}", PRODUCT)
            shown += ("-" if c < 0 else "+" if shown else "") + enclosed(one, PRODUCT)
        if x.constant or not shown:
            shown += f"{'-' if x.constant < 0 else '+' if shown else ''}{abs(x.constant)}"
        alone = len(x.terms) == 1 and not x.constant and x.terms[0][1] == 1
        return shown, self.atom(x.terms[0][0])[1] if alone else SUM if x.terms or x.constant < 0 else ATOM

    def atom(self, a: AffineAtom) -> Piece:
        match a:
            case Floor(whole, divisor):
                return rf"\lfloor {self.number(whole)[0]} / {divisor} \rfloor", ATOM
            case Modulo(whole, by):
                return rf"{enclosed(self.number(whole), POWER)} \bmod {enclosed(self.number(by), POWER)}", TERNARY
            case Product(left, right):
                return f"{enclosed(self.number(left), PRODUCT)} {enclosed(self.number(right), POWER)}", PRODUCT
            case Extreme(parts, largest):
                return rf"\{'max' if largest else 'min'}({', '.join(self.number(p)[0] for p in parts)})", ATOM
            case Index():
                return self.names[a], ATOM
            case _:
                return index_name(a), ATOM


def with_subscripts(name: str, subscripts: Sequence[str], ranks: Mapping[str, int]) -> str:
    """An element of what has this name; of a derivative the output and the inputs have the subscripts that are theirs by their
    `ranks`, and the last input has all where these are not known."""
    if not subscripts:
        return name
    if m := PARTIAL.fullmatch(name):
        order, above, below = m.groups(default="")
        named = [above, *(x for factor in below.split(r" \, \partial ") for x in repeated(factor))]
        counts = [ranks.get(x, 0) for x in named]
        if sum(counts) != len(subscripts):
            counts = [*[0] * (len(named) - 1), len(subscripts)]
        left = iter(subscripts)
        above, *inputs = [with_subscripts(x, [*islice(left, n)], ranks) for x, n in zip(named, counts, strict=True)]
        return rf"\frac{{\partial{order} {above}}}" + "{" + r" \, ".join(rf"\partial {x}" for x in inputs) + "}"
    inner = ",".join(subscripts)
    if m := INDEXED.fullmatch(name):
        return f"{m[1]}_{{{m[2]};\\,{inner}}}"
    return f"{name}_{{{inner}}}"


def repeated(factor: str) -> list[str]:
    """An input as often as a derivative is taken by it."""
    m = TIMES.fullmatch(factor)
    return [m[1]] * int(m[2]) if m else [factor]
