"""A program of scalars as a function of C99 on two arrays.

    int NAME(const double *restrict in, double *restrict out)

`in` holds the inputs in order, `out` the results; the arrays must not overlap. It returns 0, allocates nothing, has no state and
may run in several threads. A temporary that is used once stands inside the expression that uses it, as in our own text. A long
program becomes several functions that pass values through an array of the function's own. Where that would be larger than
LARGEST_STACK bytes the caller brings it, an array of NAME_WORK doubles:

    int NAME_work(const double *restrict in, double *restrict out, double *restrict work)
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adcli.codegen.c.spelling import HELPERS, CNames, helper_function, number, operation
from adcli.codegen.rows.expand import expand
from adcli.codegen.rows.instructions import DEFINITIONS
from adcli.codegen.rows.parts import LARGEST_STACK, PART_SIZE, ProgramPart, alone, cut
from adcli.lang.ir import Atom, Equation, Lit, Program, Var
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import name_table
from adcli.lang.ir.notation import ATOM, INDENT, Piece
from adcli.lang.ir.precision import DOUBLE, Precision
from adcli.lang.syntax.scalar_printer import ScalarWriter

FAST_MATH = ("#ifdef __FAST_MATH__",
             '#error "-ffast-math changes results: compile without it, or write this file with --fast-math"',
             "#endif", "")

@dataclass(frozen=True, slots=True)
class CFunction:
    """The text of a function; `work` is the length of the array that its callers bring, 0 where it takes none."""

    name: str
    work: int
    precision: Precision
    text: str

    @property
    def head(self) -> str:
        return head(self.name, self.work, self.precision)


def head(name: str, work: int, precision: Precision) -> str:
    arrays = parameters(precision)
    return f"int {name}_work({', '.join(arrays)})" if work else f"int {name}({', '.join(arrays[:2])})"


def parameters(precision: Precision) -> list[str]:
    """What a function can take."""
    return [f"{kind} *restrict {array}" for kind, array in
            ((f"const {precision.type}", "in"), (precision.type, "out"), (precision.type, "work"))]


class Statements(ScalarWriter):
    """Writes a part of a program as statements of C; `names` has every value, `helpers` the functions that C has not.

    A truth value waits in an array of doubles as 1 or 0.
    """

    def __init__(self, program: Program, part: ProgramPart, names: dict[Var, str], helpers: Mapping[str, str],
                 precision: Precision) -> None:
        super().__init__(alone(program, part), "nested", names)
        self.part, self.helpers, self.precision = part, helpers, precision

    def lines(self) -> list[str]:
        part, params = self.part, self.program.params
        truth, zero = f"({self.precision.type})", number(0.0, self.precision)[0]
        return [*(self.declared(params[i].var, f"in[{i}]") for i in part.params),
                *(self.declared(var, f"work[{slot}]{f' != {zero}' if var.truth else ''}") for var, slot in part.loads),
                *(line for e in part.equations for line in self.equation(e)),
                *(f"work[{slot}] = {truth if var.truth else ''}{self.names[var]};" for var, slot in part.stores),
                *(f"out[{i}] = {self.piece(atom)[0]};" for i, atom in part.results)]

    def assignment(self, e: Equation, text: str) -> str:
        return self.declared(e.outs[0], text)

    def declared(self, var: Var, text: str) -> str:
        return f"const {'int' if var.truth else self.precision.type} {self.names[var]} = {text};"

    def operation(self, e: Equation) -> Piece:
        try:
            return operation(e.op, [self.piece(a) for a in e.args], self.helpers.get(e.op.name), self.precision)
        except AdError as cannot:
            raise AdError(cannot.message, e.span, cannot.help, self.program.source) from None

    def piece(self, atom: Atom) -> Piece:
        if isinstance(atom, Lit):
            return number(atom.value, self.precision)
        return self.inline.pop(atom, None) or (self.names[atom], ATOM)


def source(program: Program, name: str, fast: bool = False, size: int = PART_SIZE, precision: Precision = DOUBLE) -> CFunction:
    """The program as C99: a function `name`, an identifier; of more than `size` equations one that calls others. AdError where
    a constant is no number of the precision."""
    program = expand(program, DEFINITIONS)
    parts, slots = cut(program, size)
    names = CNames((name, f"{name}_work", f"{name}_WORK"))
    helpers = {op: names.named(f"{name}_{op}") for op in HELPERS if any(e.op.name == op for e in program.equations)}
    values = {var: names.named(text) for var, text in name_table(program).items()}
    lines = ["#include <math.h>", "", *(() if fast else FAST_MATH)]
    for op, helper in helpers.items():
        lines += [*helper_function(HELPERS[op], helper, precision), ""]
    work = slots if slots * precision.bytes > LARGEST_STACK else 0
    body = [f"{precision.type} work[{slots}];"] if slots and not work else []
    body += [f"(void){array};" for array, used in (("in", any(p.params for p in parts)), ("out", program.results)) if not used]
    for k, part in enumerate(parts):
        inside = Statements(program, part, values, helpers, precision).lines()
        if len(parts) > 1:
            own = names.named(f"{name}_part{k}")
            arrays = [a for a, used in zip(parameters(precision), (part.params, part.results, part.loads or part.stores),
                                           strict=True) if used]
            lines += [*block(f"static void {own}({', '.join(arrays) or 'void'})", inside), ""]
            inside = [f"{own}({', '.join(a.split()[-1] for a in arrays)});"]
        body += inside
    lines += [f"#define {name}_WORK {work}", ""] if work else []
    lines += block(head(name, work, precision), [*body, "return 0;"])
    return CFunction(name, work, precision, "\n".join(lines) + "\n")


def calling(written: CFunction, fast: bool) -> list[str]:
    """How the function is called and compiled, for the comment in front of it."""
    return [f"call: {written.head}; it returns 0",
            "in[i] is input i, out[j] output j, counted from 0 in the order above; the arrays do not overlap",
            *([f"work: {written.name}_WORK {written.precision.type}s that no other call uses meanwhile"] if written.work else []),
            f"compile: cc -std=c99 -O2 -ffp-contract={'fast' if fast else 'off'}, and link with -lm"]


def comment(lines: Sequence[str]) -> str:
    """A comment of C; what would end it, or begin another, is taken apart."""
    inside = (line.replace("*/", "* /").replace("/*", "/ *").rstrip() for line in lines)
    return "/* " + "\n   ".join(inside) + " */\n"


def block(head: str, body: Sequence[str]) -> list[str]:
    return [head, "{", *(INDENT + line for line in body), "}"]
