"""A program of scalars as a function of C99 on two arrays.

    int NAME(const double *restrict in, double *restrict out)

`in` holds the inputs in order, `out` the results; the arrays must not overlap. It returns 0, allocates nothing, has no state and
may run in several threads. A long program becomes several functions that pass values through an array of the function's own.
Where that would be larger than LARGEST_STACK bytes the caller brings it, an array of NAME_WORK doubles:

    int NAME_work(const double *restrict in, double *restrict out, double *restrict work)
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adcli.codegen.c.language import Helpers, Statements
from adcli.codegen.c.spelling import language, number
from adcli.codegen.rows.expand import expand
from adcli.codegen.rows.instructions import DEFINITIONS
from adcli.codegen.rows.parts import LARGEST_STACK, PART_SIZE, ProgramPart, alone, cut
from adcli.lang.ir import Program, Var
from adcli.lang.ir.names import name_table
from adcli.lang.operations.precision import DOUBLE, Precision
from adcli.lang.tree.notation import INDENT

FAST_MATH = ("#ifdef __FAST_MATH__",
             '#error "-ffast-math changes results: compile without it, or write this file with --fast-math"',
             "#endif", "")


@dataclass(frozen=True, slots=True)
class CFunction:
    """The text of a function, its declaration, and how it is called.

    Of a function of scalars `work` is the length of the array that its callers bring; one with tensors takes `sizes`, and inputs
    that are sizes themselves, `counted`, and `work_head` declares the function that says how long its `work` is.
    """

    name: str
    head: str
    text: str
    precision: Precision
    calling: Sequence[str]
    work: int = 0
    sizes: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()
    work_head: str | None = None
    scalars: bool = True

    @property
    def exports(self) -> tuple[str, ...]:
        """The functions that others see."""
        return (self.name, f"{self.name}_work_size") if self.work_head else (self.name,)


def source(program: Program, name: str, fast: bool = False, size: int = PART_SIZE, precision: Precision = DOUBLE) -> CFunction:
    """The program as C99: a function `name`, an identifier; of more than `size` equations one that calls others. AdError where
    a constant is no number of the precision."""
    program = expand(program, DEFINITIONS, loops=True)
    parts, slots = cut(program, size)
    helpers = Helpers(language(precision), (name, f"{name}_work", f"{name}_WORK"), f"{name}_")
    values = {var: helpers.named(text) for var, text in name_table(program).items()}
    work = slots if slots * precision.bytes > LARGEST_STACK else 0
    arrays = [f"{kind} *restrict {array}" for kind, array in
              ((f"const {precision.type}", "in"), (precision.type, "out"), (precision.type, "work"))]
    body = [f"{precision.type} work[{slots}];"] if slots and not work else []
    body += [f"(void){array};" for array, used in (("in", any(p.params for p in parts)), ("out", program.results)) if not used]
    functions: list[str] = []
    for k, part in enumerate(parts):
        inside = statements(helpers, program, part, values, precision)
        if len(parts) > 1:
            own = helpers.named(f"{name}_part{k}")
            given = [a for a, used in zip(arrays, (part.params, part.results, part.loads or part.stores), strict=True) if used]
            functions += [*block(f"static void {own}({', '.join(given) or 'void'})", inside), ""]
            inside = [f"{own}({', '.join(a.split()[-1] for a in given)});"]
        body += inside
    head = f"int {name}_work({', '.join(arrays)})" if work else f"int {name}({', '.join(arrays[:2])})"
    lines = ["#include <math.h>", "", *(() if fast else FAST_MATH), *helpers.lines, *functions,
             *([f"#define {name}_WORK {work}", ""] if work else []), *block(head, [*body, "return 0;"]), ""]
    calling = [f"call: {head}; it returns 0",
               "in[i] is input i, out[j] output j, counted from 0 in the order above; the arrays do not overlap",
               *([f"work: {name}_WORK {precision.type}s that no other call uses meanwhile"] if work else [])]
    return CFunction(name, head, "\n".join(lines), precision, calling, work)


def statements(helpers: Helpers, program: Program, part: ProgramPart, names: dict[Var, str], precision: Precision) -> list[str]:
    """A part of a program as statements. A truth value waits in an array of numbers as 1 or 0."""
    writer, params = Statements(helpers, alone(program, part), names), program.params
    declared, zero = helpers.language.declaration, number(0.0, precision)[0]
    return [*(declared(params[i].var, names[params[i].var], f"in[{i}]") for i in part.params),
            *(declared(var, names[var], f"work[{slot}]{f' != {zero}' if var.truth else ''}") for var, slot in part.loads),
            *writer.computed(),
            *(f"work[{slot}] = {f'({precision.type})' if var.truth else ''}{names[var]};" for var, slot in part.stores),
            *(f"out[{i}] = {writer.piece(atom)[0]};" for i, atom in part.results)]


def block(head: str, body: Sequence[str]) -> list[str]:
    return [head, "{", *(INDENT + line for line in body), "}"]
