"""A program with tensors as a function of C99: a nest of loops for each comprehension.

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

from adcli.codegen.c.language import WIDTH, Helpers
from adcli.codegen.c.loop_nests import LoopStatements
from adcli.codegen.c.source import FAST_MATH, CFunction, block
from adcli.codegen.c.spelling import language
from adcli.lang.ir import Param, Program, Var
from adcli.lang.operations.precision import DOUBLE, Precision
from adcli.lang.tree.notation import INDENT, UNARY, enclosed


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
