r"""A program as aligned equations of LaTeX, for documents with amsmath: its values, and beside them, or below where lines are
too long for that, their derivatives.

Names are set as mathematics writes them: \frac{\partial v}{\partial x} for dv_dx, \dot{p} for the tangent dp, \bar{p} for the
adjoint d_dp, and \dot{p}^{(2)} for the tangent in the second of several directions. A temporary that is used once stands inside
the formula that uses it; a condition that has a name of its own is defined by \Leftrightarrow. A long formula goes on in further
lines, and a long program in further environments, between which a page may end.
"""
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import zip_longest

from adcli.codegen.documents.latex_names import latex_names, spelled_out
from adcli.codegen.documents.notation import Latex
from adcli.codegen.documents.sections import Derivatives, derivatives
from adcli.lang.ir import Atom, Equation, Lit, Program, Result, Var
from adcli.lang.ir.names import name_table
from adcli.lang.ir.notation import ATOM, POWER, Piece
from adcli.lang.ir.notation import number as shortest
from adcli.lang.ir.primitives import TABLE
from adcli.lang.syntax.scalar_printer import ScalarWriter

LINES = 40
"""Lines of an environment at most."""
WIDTH = 60
"""Signs of a line beyond which a formula goes on in the next."""
DIRECTION, ADJOINT = re.compile(r"(.+)_c(\d+)"), re.compile(r"d_d(.+)")
"""Names of derivatives in one of several directions, and of adjoints."""
MARKS = re.compile(r"[(){}]|(?<= )([-+](?= )|\\(?:cdot|vee|wedge|text\{ (?:if|else) \}))")
"""Parentheses, and operators before which a line can be broken."""
COMMAND, UNSEEN = re.compile(r"\\[a-zA-Z]+"), re.compile(r"[{}^_&\s]")


def equations(program: Program, writer: type[LatexWriter] | None = None) -> str:
    """The environments, without a comment in front, as a `writer` writes them."""
    values, derived = (list(lines) for lines in (writer or LatexWriter)(program).sections())
    sections = [values, derived]
    if derived and max(map(width, values), default=0) + max(map(width, derived)) <= WIDTH:
        sections = [[f"{left} & {right}" for left, right in zip_longest(values, derived, fillvalue="&")]]
    blocks = [lines[k:k + LINES] for lines in sections for k in range(0, len(lines), LINES)]
    return "".join("\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}\n" for lines in blocks)


class LatexWriter(ScalarWriter):
    """Writes the equations of a program; the left side of each stands before an &."""

    def __init__(self, program: Program) -> None:
        table = self.table(program)
        self.derived = derivatives(program)
        texts = spellings(program, table, self.derived)
        super().__init__(program, "nested", {var: texts[name] for var, name in table.items()})
        self.outputs = [(r, table[r.atom] if isinstance(r.atom, Var) else None, texts[r.name]) for r in program.results]
        self.notation = Latex(shortest, ())

    def table(self, program: Program) -> Mapping[Var, str]:
        """The names of the values."""
        return name_table(program)

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
        if e.op is TABLE["dup"]:
            yield from (f"{self.names[out]} &= {self.piece(e.args[0])[0]}" for out in e.outs)
        else:
            for line in super().equation(e):
                yield from broken(line)

    def assignment(self, e: Equation, text: str) -> str:
        sign = r"\Leftrightarrow" if e.outs[0].truth else "="
        return f"{self.names[e.outs[0]]} &{sign} {self.notation.polished(text)}"

    def operation(self, e: Equation) -> Piece:
        return self.notation.operation(e.op.spelled or e.op.name, [self.piece(a) for a in e.args])

    def piece(self, atom: Atom) -> Piece:
        if isinstance(atom, Lit):
            return self.notation.number(atom.value)
        name = self.names[atom]
        return self.inline.pop(atom, None) or (name, POWER if "^" in name or name.startswith(r"\frac") else ATOM)


# ---------------------------------------------------------------- names

def spellings(program: Program, table: Mapping[Var, str], derived: Derivatives) -> dict[str, str]:
    """The LaTeX of every name of a value or a result; those that would look the same are spelled out."""
    names = list(dict.fromkeys([*table.values(), *(r.name for r in program.results)]))
    known, plain = set(names), dict(zip(names, latex_names(names), strict=True))
    found = {name: derivative(name, known, plain) if var in derived.values else indexed(plain[name])
             for var, name in table.items()}
    found.update({r.name: result(r, known, plain, derived) for r in program.results})
    times = Counter(found.values())
    return {name: text if times[text] == 1 else spelled_out(name) for name, text in found.items()}


Parts = Mapping[str, tuple[str, str]]


def indexed(parts: tuple[str, str], mark: str = "{}") -> str:
    """A name of a base and an index; a mark stands above the base."""
    base, index = parts
    return mark.format(base) + (f"_{{{index}}}" if index else "")


def result(r: Result, known: set[str], plain: Parts, derived: Derivatives) -> str:
    if r.of is None or not r.wrt:
        return derivative(r.name, known, plain) if r.name in derived.results else indexed(plain[r.name])
    above, below = indexed(named(r.of, plain)), Counter(r.wrt)
    power = f"^{{{len(r.wrt)}}}" if len(r.wrt) > 1 else ""
    inputs = [rf"\partial {indexed(named(x, plain))}" + (f"^{{{n}}}" if n > 1 else "") for x, n in below.items()]
    return rf"\frac{{\partial{power} {above}}}" + "{" + r" \, ".join(inputs) + "}"


def derivative(name: str, known: set[str], plain: Parts) -> str:
    """The name of a derivative; a plain one where it does not say of what."""
    if m := DIRECTION.fullmatch(name):
        return f"{derivative(m[1], known, plain)}^{{({m[2]})}}"
    if m := ADJOINT.fullmatch(name):
        return marked(m[1], r"\bar{{{}}}", known, plain)
    for at in [m.start() for m in re.finditer("_d", name)]:
        if name[0] == "d" and name[1:at] in known and name[at + 2:] in known:
            return rf"\frac{{\partial {indexed(named(name[1:at], plain))}}}{{\partial {indexed(named(name[at + 2:], plain))}}}"
    if name[0] == "d" and len(name) > 1:
        return marked(name[1:], r"\dot{{{}}}", known, plain)
    return indexed(named(name, plain))


def marked(of: str, mark: str, known: set[str], plain: Parts) -> str:
    """A dot or a bar above the name of a value, a copy of one (p2), or another derivative."""
    if not ADJOINT.fullmatch(of) and (of in known or of.rstrip("0123456789") in known):
        return indexed(named(of, plain), mark)
    return mark.format(derivative(of, known, plain))


def named(name: str, plain: Parts) -> tuple[str, str]:
    found = plain.get(name)
    return latex_names([name])[0] if found is None else found


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
