r"""A program as aligned equations of LaTeX, for documents with amsmath: its values, and beside them, or below where lines are
too long for that, their derivatives.

Names are set as mathematics writes them: \frac{\partial v}{\partial x} for dv_dx, \dot{p} for the tangent dp, \bar{p} for the
adjoint d_dp, and \dot{p}^{(2)} for the tangent in the second of several directions. A temporary that is used once stands inside
the formula that uses it; a condition that has a name of its own is defined by \Leftrightarrow. A long formula goes on in further
lines, and a long program in further environments, between which a page may end.

Of tensors elements are written with their subscripts, sums with their ranges, loops over steps, and operations on matrices as
books write them:

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
from itertools import islice, zip_longest

from adcli.codegen.c.whole_numbers import WholeNumbers
from adcli.codegen.documents.names import DocumentNames
from adcli.codegen.documents.notation import Label, Latex
from adcli.codegen.emission import EmitOptions, commented
from adcli.lang.ir import Atom, Equation, Lit, Program, Var, shape_of
from adcli.lang.ir.affine import Affine, AffineAtom, Index, atoms
from adcli.lang.ir.names import Names
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.comprehension import BodySource, Comprehension, Range, Subscript
from adcli.lang.operations.matrix import FACTORED, SEARCH, Boxed, MatrixOperation
from adcli.lang.operations.recurrence import Recurrence, whole_statements
from adcli.lang.printing.comprehension_printer import TensorWriter
from adcli.lang.printing.scalar_printer import ScalarWriter
from adcli.lang.simplify.mathematics import NOTE, mathematical
from adcli.lang.tree.notation import ATOM, POWER, PRODUCT, SUM, TERNARY, Piece, enclosed
from adcli.lang.tree.notation import number as shortest

NEEDS = "needs: \\usepackage{amsmath}"
LINES = 40
"""Lines of an environment at most."""
WIDTH = 60
"""Signs of a line beyond which a formula goes on in the next."""
MARKS = re.compile(r"[(){}]|(?<= )([-+](?= )|\\(?:cdot|vee|wedge|text\{ (?:if|else) \}))")
"""Parentheses, and operators before which a line can be broken."""
COMMAND, UNSEEN = re.compile(r"\\[a-zA-Z]+"), re.compile(r"[{}^_&\s]")
REDUCTIONS = {"+": r"\sum", "*": r"\prod", "min": r"\min", "max": r"\max", "lse": r"\log \sum"}
ADDED = {"+": r"\mathrel{+}=", "*": r"\mathrel{\cdot}="}
TURNED = r"\mathsf{T}"
LONGEST_REPEATED = 30
"""Signs of a value that stands wherever it is used; longer ones get a name."""
PARTIAL = re.compile(r"\\frac\{\\partial(\^\{\d+\})? (.*)\}\{\\partial (.*)\}", re.DOTALL)
TIMES = re.compile(r"(.*)\^\{(\d+)\}", re.DOTALL)
INDEXED = re.compile(r"(.*)_\{((?:[^{}]|\{[^{}]*\})*)\}", re.DOTALL)


def emit(program: Program, header: Sequence[str], options: EmitOptions) -> str:
    read = mathematical(program)
    text, legend = document(read)
    said = [NOTE] * (read is not program) + [f"names: {legend}"] * bool(legend)
    return commented([*header, *said, NEEDS], "%") + text


def equations(program: Program) -> str:
    """The environments, without a comment in front."""
    return document(mathematical(program))[0]


def document(program: Program) -> tuple[str, str]:
    """The environments, and how names in them are made."""
    asked: list[str] = []
    while True:   # until it is known which values have a line, which depends on how long their names are
        writer = LatexWriter(program, asked)
        values, derived = sections = [list(lines) for lines in writer.sections()]
        if {*writer.shown} <= {*asked}:
            break
        asked = list(dict.fromkeys([*writer.shown, *asked]))
    if derived and max(map(width, values), default=0) + max(map(width, derived)) <= WIDTH:
        sections = [[f"{left} & {right}" for left, right in zip_longest(values, derived, fillvalue="&")]]
    blocks = [lines[k:k + LINES] for lines in sections for k in range(0, len(lines), LINES)]
    text = "".join("\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}\n" for lines in blocks)
    return text, writer.spelling.legend


class LatexWriter(ScalarWriter):
    """Writes the equations of a program; the left side of each stands before an &. Values without a name are numbered if
    `asked` has them; `shown` are all that have lines."""

    def __init__(self, program: Program, asked: Sequence[str]) -> None:
        self.text = TensorWriter(program, "nested")
        table, self.held = self.text.names, self.text.held
        known = [*table.values(), *(r.name for r in program.results)]
        self.spelling = DocumentNames(program, table, Latex(shortest, dict.fromkeys(known)), asked)
        self.derived, texts, self.shown = self.spelling.derived, self.spelling.texts, list[str]()
        super().__init__(program, "nested", {var: texts[name] for var, name in table.items()})
        self.outputs = [(r, table[r.atom] if isinstance(r.atom, Var) else None, texts[r.name]) for r in program.results]
        self.notation = Latex(shortest, ())
        shapes = [(p.name, p.var.shape) for p in program.params] + [(r.name, shape_of(r.atom)) for r in program.results]
        self.ranks = {index_name(name): len(shape) for name, shape in shapes}

    def sections(self) -> Iterator[Iterator[str]]:
        """The lines of the values, and those of the derivatives."""
        for derived in (False, True):
            yield self.section(derived)

    def section(self, derived: bool) -> Iterator[str]:
        for e in self.program.equations:
            if (e.outs[0] in self.derived.values) == derived:
                yield from self.equation(e)
        for r, name, text in self.outputs:
            if name != r.name and (r.name in self.derived.results) == derived:
                yield from broken(f"{text} &= {self.notation.polished(self.piece(r.atom)[0])}")

    def equation(self, e: Equation) -> Iterator[str]:
        if isinstance(e.op, Recurrence):
            yield from self.loop(e, e.op)
        elif isinstance(e.op, Boxed):
            yield from StatementText(self, e, {}).lines(e.outs[0] in self.text.continued)
        elif e.op is TABLE["dup"]:
            yield from (f"{self.names[out]} &= {self.piece(e.args[0])[0]}" for out in e.outs)
        else:
            for line in super().equation(e):
                yield from broken(line)

    def single(self, e: Equation) -> bool:
        return super().single(e) and e.outs[0] not in self.held

    def loop(self, e: Equation, op: Recurrence) -> Iterator[str]:
        """The steps, and the statements of each."""
        names: dict[Index | str, str] = {op.step: index_name(op.step.name)}
        around = StatementText(self, e, names)
        low, last = around.numbers.text(op.low), around.numbers.text(op.high - 1)
        steps = (last, low) if op.down else (low, last)
        yield rf"&\text{{for }} {names[op.step]} = {steps[0]}, \ldots, {steps[1]}\colon"
        for s in whole_statements(e):
            first_line, *others = StatementText(self, s, names).lines(False)
            yield from (rf"\quad {first_line}", *others)

    def assignment(self, e: Equation, text: str) -> str:
        sign = r"\Leftrightarrow" if e.outs[0].truth else "="
        self.shown.append(self.text.names[e.outs[0]])
        return f"{self.names[e.outs[0]]} &{sign} {self.notation.polished(text)}"

    def operation(self, e: Equation) -> Piece:
        return self.notation.operation(e.op.spelled or e.op.name, [self.piece(a) for a in e.args])

    def piece(self, atom: Atom) -> Piece:
        if isinstance(atom, Lit):
            return self.notation.number(atom.value)
        name = self.names[atom]
        return self.inline.pop(atom, None) or (name, POWER if "^" in name or name.startswith(r"\frac") else ATOM)


# ---------------------------------------------------------------- tensors

def index_name(name: str) -> str:
    return Latex(shortest, ()).label(Label(name))


class StatementText:
    """The text of one operation over a box of indices; `names` are those of indices around it."""

    def __init__(self, writer: LatexWriter, e: Equation, names: Mapping[Index | str, str]) -> None:
        self.w, self.e, self.op = writer, e, e.op
        self.numbers, self.given = LatexNumbers({}), {i for i in names if isinstance(i, Index)}
        self.numbers.names = self.names = dict(names)
        taken = Names(names.values())
        for r in self.op.ranges if isinstance(self.op, Boxed) else ():
            if r.index not in self.names:
                self.names[r.index] = index_name(taken.fresh(r.index.name))
        self.lets: list[str] = []

    def lines(self, goes_on: bool) -> Iterator[str]:
        op, (out,) = self.op, self.e.outs
        self.w.shown.append(self.w.text.names[out])
        value = self.matrix(op) if isinstance(op, MatrixOperation) else self.reduced(op)
        onto = op.start(self.e)
        sign = "="
        if onto is not None and op.reduction in ADDED:
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
        named = {i for s in op.write for i in (atoms(s) if isinstance(s, Affine) else ())}
        return [r for r in op.ranges if r.index in named]

    def restricted(self) -> list[str]:
        """Clauses about the free indices: ranges that are no whole extent, and guards on them alone."""
        op = self.op
        whole = {s.index for s, extent in zip(op.write, op.shape, strict=False) if isinstance(s, Affine)
                 for r in op.ranges if r.index is s.index and r.low.number == 0 and r.high == extent}
        free = self.free()
        found = [self.span(r) for r in free if r.index not in whole and r.index not in self.given]
        known = {r.index for r in free}
        return found + [self.guard(g) for g in op.guards if {*g.indices()} <= known]

    def span(self, r: Range) -> str:
        return rf"{self.numbers.text(r.low)} \le {self.names[r.index]} < {self.numbers.text(r.high)}"

    def guard(self, g: Affine) -> str:
        left = Affine(tuple((a, c) for a, c in g.terms if c > 0), max(g.constant, 0))
        return rf"{self.numbers.text(left)} \ge {self.numbers.text(left - g)}"

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
        low, high = self.numbers.text(r.low), self.numbers.text(r.high - 1)
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
            return self.numbers.size(s)
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
            case "det":
                return rf"\det {turned}", PRODUCT
            case name if name in FACTORED or name == SEARCH:
                return rf"\operatorname{{{name.replace('_', chr(92) + '_')}}}({', '.join([first, *right])})", ATOM
            case "logdet":
                return rf"\log \det {turned}", PRODUCT
            case _:
                return inverted, POWER

    # ------------------------------------------------------------ elements

    def element(self, a: Atom, subscripts: Sequence[Subscript]) -> Piece:
        assert isinstance(a, Var)
        if not subscripts:
            return self.w.piece(a)
        inner = [self.numbers.text(s) if isinstance(s, Affine) else self.source(s)[0] for s in subscripts]
        return with_subscripts(self.w.names[a], inner, self.w.ranks), ATOM


class LatexNumbers(WholeNumbers):
    """Sums of indices and sizes."""

    times, gap = " ", ""

    def atom(self, a: AffineAtom) -> Piece:
        return (index_name(a), ATOM) if isinstance(a, str) and a not in self.names else super().atom(a)

    def floor(self, whole: Affine, by: Affine) -> Piece:
        return rf"\lfloor {enclosed(self.size(whole), PRODUCT)} / {enclosed(self.size(by), POWER)} \rfloor", ATOM

    def modulo(self, whole: Affine, by: Affine) -> Piece:
        return rf"{enclosed(self.size(whole), POWER)} \bmod {enclosed(self.size(by), POWER)}", TERNARY

    def extreme(self, parts: Sequence[Affine], largest: bool) -> Piece:
        return rf"\{'max' if largest else 'min'}({', '.join(map(self.text, parts))})", ATOM


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


# ---------------------------------------------------------------- lines

def width(text: str) -> int:
    """About how many signs a formula is wide."""
    return len(UNSEEN.sub("", COMMAND.sub("x", text)))


def broken(line: str) -> Iterator[str]:
    """The lines of an equation: a long one goes on before an operator that stands in no parentheses."""
    begun = ""
    for term in terms(line):
        if begun and width(begun) + width(term) > WIDTH:
            yield begun.rstrip()
            begun = rf"&\quad {{}}{term}"
        else:
            begun += term
    yield begun


def terms(line: str) -> Iterator[str]:
    """A line in pieces, each from one of its operators to the next."""
    depth = start = 0
    for m in MARKS.finditer(line):
        if m[1] and depth == 0:
            yield line[start:m.start(1)]
            start = m.start(1)
        depth += m[0].count("(") + m[0].count("{") - m[0].count(")") - m[0].count("}")
    yield line[start:]
