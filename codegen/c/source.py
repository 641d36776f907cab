"""A program of scalars as a function of C99 on two arrays.

    int NAME(const double *restrict in, double *restrict out)

`in` holds the inputs in order, `out` the results; the arrays must not overlap. It returns 0, allocates nothing, has no state and
may run in several threads. A long program becomes several functions that pass values through an array of the function's own.
Where that would be larger than LARGEST_STACK bytes the caller brings it, an array of NAME_WORK doubles:

    int NAME_work(const double *restrict in, double *restrict out, double *restrict work)

A program with tensors as a function of C99: a nest of loops for each comprehension.

    size_t NAME_work_size(size_t M, …)
    int NAME(size_t M, …, const double *restrict A, double s, const int32_t *restrict I, …, double *restrict C, …,
             double *restrict work)

Sizes come first, in the order in which the declarations name them, then inputs and outputs in order: tensors are row-major
arrays, scalars among the inputs numbers. `work` is there only where something is kept between two nests: its length, in
doubles, is what NAME_work_size says. The function returns 0, or 1 where sizes do not fit (before it has written anything) and
where a subscript that is read from an array is outside (outputs are not complete then). It touches nothing outside of the
arrays, whatever the sizes and numbers are; it allocates nothing and has no state.
"""
from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from adcli.codegen.c.language import WIDTH, Helpers, Statements
from adcli.codegen.c.loop_nests import LoopStatements
from adcli.codegen.c.spelling import language, number
from adcli.codegen.rows.expand import expand
from adcli.codegen.rows.instructions import DEFINITIONS
from adcli.codegen.rows.parts import LARGEST_STACK, PART_SIZE, ProgramPart, alone, cut
from adcli.lang.ir import Param, Program, Var
from adcli.lang.ir.names import name_table
from adcli.lang.operations.precision import DOUBLE, Precision
from adcli.lang.tree.notation import INDENT, UNARY, enclosed

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


# ---------------------------------------------------------------- array functions

def tensor_source(program: Program, name: str, fast: bool = False, precision: Precision = DOUBLE) -> CFunction:
    """The program as C99: a function `name`, an identifier. AdError where a constant is no number of the precision."""
    return CTensors(program, name, precision).function(fast)


class CTensors(LoopStatements):
    """Writes the function of a program with tensors, and those that say whether sizes fit and how long its `work` is."""

    def __init__(self, program: Program, name: str, precision: Precision) -> None:
        taken = [name, *(f"{name}_{more}" for more in ("work", "work_size", "fits", "floor")), "most"]
        super().__init__(Helpers(language(precision), taken, f"{name}_"), program)
        self.name, self.precision = name, precision
        self.all_sizes = [*self.sizes.values(), *self.counted.values()]
        self.given_as = {n: self.helpers.named(f"{n}_given") for n in self.all_sizes}
        """The parameters that sizes come in, as words without a sign."""
        self.fitting = f"{name}_fits({', '.join(self.all_sizes)})"

    def copies(self) -> Iterator[str]:
        """Outputs that no nest has written: scalars, and arrays that are also something else."""
        at = ""
        for r, name in zip(self.given.results, self.outputs, strict=True):
            if not (isinstance(r.atom, Var) and r.atom.shape):
                yield f"*{name} = {self.piece(r.atom)[0]};"
            elif self.values[r.atom] != name and self.whole.product(r.atom.shape) != "0":
                at = at or self.local("e", Counter())
                value = f"{self.values[r.atom]}[{at}]"
                yield f"for (ptrdiff_t {at} = 0; {at} < {self.whole.product(r.atom.shape)}; {at}++) {{"
                yield f"{INDENT}{name}[{at}] = {f'({self.precision.type}){value}' if r.atom.integer else value};"
                yield "}"

    def function(self, fast: bool) -> CFunction:
        real = self.precision.type
        statements = [*self.computed(), *self.copies()]
        fits = self.fits()
        before = [*(f"if ({self.values[p.var]} < 0) return 1;" for p in self.counts.values()),
                  *(f"const ptrdiff_t {n} = {self.values[self.counts[name].var]};" for name, n in self.counted.items()),
                  *([f"if (!{self.fitting}) return 1;"] if fits else [])]
        places = list(self.pointers())
        work = self.work_size(bool(fits))
        sizes = list(self.sizes.values())
        arrays = [*map(self.parameter, self.given.params, self.inputs),
                  *(f"{real} *restrict {n}" for n in [*self.outputs, *(["work"] if places else [])])]
        head = self.declared("int", self.name, sizes, arrays)
        body = [*before, *places, *statements, "return 0;"]
        names = [*sizes, *(p.split()[-1].lstrip("*") for p in arrays)]
        body = [*(f"(void){n};" for n in unused(names, body)), *body]
        included = ["stddef", *(["stdint"] if "int32_t" in head or fits else []), "math"]
        lines = [*(f"#include <{h}.h>" for h in sorted(included)), "", *(() if fast else FAST_MATH), *self.helpers.lines, *fits,
                 *work, *self.defined("int", self.name, sizes, arrays, body)]
        length = f"{self.name}_work_size({', '.join([*self.sizes.values(), *self.counted])})"
        calling = [f"call: {head}", *([f"sizes: {', '.join(self.sizes.values())}"] if self.sizes else []),
                   "arrays are row-major, with the shapes above, and do not overlap",
                   "it returns 0, or 1 where sizes do not fit one another or the subscripts, or a subscript that is read is"
                   " outside",
                   *([f"work: {length} {real}s that no other call uses meanwhile"] if work else [])]
        return CFunction(self.name, head, "\n".join(lines), self.precision, calling, 0, tuple(self.sizes.values()),
                         tuple(self.counted), self.declared("size_t", f"{self.name}_work_size", self.all_sizes) if work else None,
                         False)

    def parameter(self, p: Param, name: str) -> str:
        kind = "int32_t" if p.var.integer else self.precision.type
        return f"const {kind} *restrict {name}" if p.var.shape else f"{kind} {name}"

    def declared(self, kind: str, name: str, sizes: Iterable[str], arrays: Sequence[str] = (), size: str = "size_t") -> str:
        return f"{kind} {name}({', '.join([*(f'{size} {n}' for n in sizes), *arrays]) or 'void'})"

    def defined(self, kind: str, name: str, sizes: Sequence[str], arrays: Sequence[str], body: Sequence[str]) -> list[str]:
        """A function that takes sizes as words without a sign, and computes with a sign: what is too large is negative there."""
        own = joined("const ptrdiff_t ", [f"{n} = (ptrdiff_t){self.given_as[n]}" for n in sizes], ";") if sizes else []
        parameters = [*(f"size_t {self.given_as[n]}" for n in sizes), *arrays]
        return [*block("\n".join(joined(f"{kind} {name}(", parameters or ["void"], ")")), [*own, *body]), ""]

    def fits(self) -> list[str]:
        """The function that says whether sizes fit; none where there is nothing to say."""
        found = self.conditions
        each = [f"{n} >= 0 && (double){n} <= most" for n in self.all_sizes]
        each += [test for test, _ in self.divisor_tests()]
        each += [" * ".join(f"(double){enclosed(self.whole.size(x), UNARY)}" for x in shape) + " <= most"
                 for shape in found.products if any(x.terms for x in shape)]
        tests = [(test, why.replace("*/", "* /")) for test, why in self.size_tests()]
        if not each and not tests:
            return []
        body = [f"const double most = (double)(PTRDIFF_MAX / {found.divisor});" + f"{INDENT}/* elements of an array */"]
        body += [f"if (!({test})) return 0;" for test in grouped(each)]
        body += [f"if (!({test})) return 0;{INDENT}/* {why} */" for test, why in tests]
        body += [f"(void){n};" for n in unused(self.all_sizes, body)]
        head = self.declared("static int", f"{self.name}_fits", self.all_sizes, size="ptrdiff_t")
        return [*block(head, [*body, "return 1;"]), ""]

    # ------------------------------------------------------------ memory

    def pointers(self) -> Iterator[str]:
        """Where the arrays between nests lie: one behind the other, or in the place of one that is not read any more."""
        before = "work"
        first: dict[int, str] = {}
        for v, slot in self.slots:
            name = self.values[v]
            if slot in first:
                yield f"{self.precision.type} *const {name} = {first[slot]};{INDENT}/* which nothing reads by then */"
                continue
            yield f"{self.precision.type} *const {name} = {before};"
            first[slot], before = name, f"{name} + {self.whole.product(v.shape)}"

    def work_size(self, fits: bool) -> list[str]:
        """The function that says how long `work` must be: so long where sizes do not fit that no memory holds it."""
        if not self.slots:
            return []
        lengths = Counter({slot: self.whole.product(v.shape) for v, slot in reversed(self.slots)}.values())
        lines = textwrap.wrap(" + ".join(n if k == 1 else f"{k}*{n}" for n, k in lengths.items()), WIDTH - 20)
        body = [f"if (!{self.fitting}) return SIZE_MAX / sizeof({self.precision.type});"] if fits else []
        body += [f"return (size_t)({lines[0]}", *(INDENT + line for line in lines[1:])]
        body[-1] += ");"
        return self.defined("size_t", f"{self.name}_work_size", self.all_sizes, (), body)


def unused(names: Sequence[str], lines: Sequence[str]) -> list[str]:
    """The names that no line has outside comments, which may go over several."""
    words = set(re.findall(r"\w+", re.sub(r"/\*.*?\*/", "", "\n".join(lines), flags=re.DOTALL)))
    return [n for n in names if n not in words]


def grouped(tests: Sequence[str]) -> Iterator[str]:
    """Tests joined to lines of a bearable length."""
    line = ""
    for test in tests:
        if line and len(line) + len(test) > WIDTH - 30:
            yield line
            line = ""
        line = f"{line} && {test}" if line else test
    if line:
        yield line


def joined(before: str, items: Sequence[str], after: str) -> list[str]:
    """Items with commas between them, on as many lines as they need."""
    lines = [before]
    for item in items:
        if len(lines[-1]) + len(item) > WIDTH:
            lines[-1] = lines[-1].rstrip()
            lines.append(INDENT * 2)
        lines[-1] += f"{item}, "
    lines[-1] = lines[-1].removesuffix(", ") + after
    return lines
