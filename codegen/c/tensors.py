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
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from adcli.codegen.c.loops import LoopLanguage, Loops
from adcli.codegen.c.matrices import FUNCTIONS, MatrixLoops, called, functions
from adcli.codegen.c.recurrences import recurrence
from adcli.codegen.c.source import FAST_MATH, Statements, block
from adcli.codegen.c.spelling import HELPERS, CNames, helper_function, number
from adcli.codegen.c.whole_numbers import FLOOR, WholeNumbers
from adcli.codegen.nests.fusion import joined, needed
from adcli.codegen.nests.layout import conditions_of, homes, placed, plain, size_parameters, work_slots
from adcli.codegen.nests.linear_algebra import scratch
from adcli.codegen.nests.recurrences import step_loop, unfilled, used_outside
from adcli.codegen.rows.parts import ProgramPart
from adcli.lang.ir import Equation, Param, Program, Var
from adcli.lang.ir.affine import shape_text
from adcli.lang.ir.comprehension import COMBINED_BY, Comprehension
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.matrix import Boxed, MatrixOperation
from adcli.lang.ir.names import name_table
from adcli.lang.ir.notation import INDENT, Piece, call
from adcli.lang.ir.precision import DOUBLE, Precision
from adcli.lang.ir.recurrence import Recurrence
from adcli.lang.sizes.all_sizes import Condition
from adcli.lang.sizes.binding import counts
from adcli.lang.sizes.in_bounds import LARGEST_WHOLE
from adcli.lang.syntax.comprehension_printer import TensorWriter
from adcli.lang.syntax.scalar_printer import ScalarWriter

WIDTH = 120
"""Characters of a line beyond which a declaration goes on in the next one."""


@dataclass(frozen=True, slots=True)
class CTensorFunction:
    """The text of a function; `sizes` are the sizes it takes, `counted` the inputs that are sizes themselves. Where it takes an
    array `work`, `work_head` declares the function that says how long it is."""

    name: str
    head: str
    sizes: tuple[str, ...]
    counted: tuple[str, ...]
    work_head: str | None
    text: str
    precision: Precision = DOUBLE

    @property
    def exports(self) -> tuple[str, ...]:
        """The functions that others see."""
        return (self.name, f"{self.name}_work_size") if self.work_head else (self.name,)

    @property
    def work(self) -> str | None:
        """How the length of the array is asked for."""
        return f"{self.name}_work_size({', '.join([*self.sizes, *self.counted])})" if self.work_head else None


def tensor_source(program: Program, name: str, fast: bool = False, precision: Precision = DOUBLE) -> CTensorFunction:
    """The program as C99: a function `name`, an identifier. AdError where a constant is no number of the precision."""
    return TensorStatements(program, name, precision).function(fast)


class Body(Statements):
    """The body of a comprehension; its value stands in the expression that uses it wherever that is short."""

    def __init__(self, body: Program, names: dict[Var, str], helpers: Mapping[str, str], precision: Precision) -> None:
        result = body.results[0].atom
        super().__init__(body, ProgramPart(body.equations, results=[(0, result)]), names, helpers, precision)

    def single(self, e: Equation) -> bool:
        return len(e.outs) == 1 and self.uses[e.outs[0]] == 1


class TensorStatements(Statements):
    """Writes the statements of a program with tensors. `words` are names that values cannot have."""

    words: Collection[str] = ()

    def __init__(self, program: Program, name: str, precision: Precision) -> None:
        self.name = name
        shown = needed(joined(program))
        self.shown = {e.op if isinstance(e.op, Recurrence) else e.outs[0]: e for e in shown.equations}
        self.printed = TensorWriter(shown, "nested")
        self.given = program = placed(plain(shown))
        refuse_endless(program)
        self.loops = {e.outs[0]: step_loop(e, used_outside(program, e), f"{e.op.step.name} {k}")
                      for k, e in enumerate(program.equations) if isinstance(e.op, Recurrence)}
        self.unfilled = unfilled(program)
        matrices = [e for e in self.every() if isinstance(e.op, MatrixOperation)]
        self.scratch: Mapping[Equation, Var] = {e: v for e in matrices if (v := scratch(e)) is not None}
        self.home = homes(program) | {v: h for loop in self.loops.values() for v, h in loop.homes.items() if v.shape}
        self.slots = work_slots(program, self.home, {e.outs[0]: self.beside(e) for e in program.equations})
        self.conditions = conditions_of(plain(shown), self.slots, self.loops.values())
        self.loose = self.conditions.loose
        real = precision.type
        self.language = LoopLanguage("", "const size_t", f"const {real}", real, f"({real})", "(size_t)", "return 1;", "&{}[{}]")
        self.c_names = CNames((name, f"{name}_work", f"{name}_work_size", f"{name}_fits", f"{name}_floor", "most", *self.words))
        sizes = size_parameters(program)
        self.counts = {p.name: p for p in counts(program)}
        self.sizes = {n: self.c_names.named(n) for n in sizes}
        self.inputs = [self.c_names.named(p.name) for p in program.params]
        self.counted = {n: self.c_names.named(f"{n}_size") for n in self.counts}
        self.whole = WholeNumbers({**self.sizes, **self.counted}, f"{name}_floor")
        self.all_sizes = [*self.sizes.values(), *self.counted.values()]
        self.fitting = f"{name}_fits({', '.join(self.all_sizes)})"
        self.outputs = [self.c_names.named(r.name) for r in program.results]
        used = {e.op.name for e in self.every()}
        for e in self.every():
            if isinstance(e.op, Comprehension):
                used |= {x.op.name for x in e.op.body.equations} | {COMBINED_BY.get(e.op.reduction, "")}
        helpers = {op: self.c_names.named(f"{name}_{op}") for op in HELPERS if op in used}
        self.matrices: Mapping[str, str] = {op: self.c_names.named(f"{name}_{op}") for op in called(used & FUNCTIONS.keys())}
        self.steps: Mapping[str, str] = {self.loops[e.outs[0]].step: self.c_names.named(e.op.step.name) for e in program.equations
                      if isinstance(e.op, Recurrence)}
        self.whole.sizes |= self.steps
        self.pool: dict[tuple[str, int], str] = {}
        self.values = self.named_values(program)
        scalars = [(k, r.atom) for k, r in enumerate(program.results) if not (isinstance(r.atom, Var) and r.atom.shape)]
        super().__init__(program, ProgramPart(program.equations, results=scalars), {}, helpers, precision)
        self.names = {v: f"({precision.type}){n}" if v.integer else n for v, n in self.values.items()}
        self.held = {a for e in self.every() if isinstance(e.op, Boxed) for a in e.args}
        self.printed.names = {**self.values, **self.printed.names}

    def named_values(self, program: Program) -> dict[Var, str]:
        """The names of values: a tensor that is an output is its array."""
        values = {p.var: n for p, n in zip(program.params, self.inputs, strict=True)}
        for r, n in zip(program.results, self.outputs, strict=True):
            if isinstance(r.atom, Var) and r.atom.shape:
                values.setdefault(r.atom, n)
        kept = {v for v, _ in self.slots} | {v for e in self.every() for v in e.outs}
        for v, hint in name_table(program).items():
            if v not in values and self.home.get(v, v) is v and v in kept:
                values[v] = self.c_names.named(hint)
        for v in [v for loop in self.loops.values() for e in loop.equations for v in e.outs] + list(self.scratch.values()):
            if v not in values and self.home.get(v, v) is v:
                values[v] = self.c_names.named(v.name or "i")
        return values | {v: values[root] for v, root in self.home.items() if root in values}

    def every(self) -> Iterator[Equation]:
        """The equations that are run; those of loops in the places of these."""
        for e in self.given.equations:
            yield from self.loops[e.outs[0]].equations if isinstance(e.op, Recurrence) else (e,)

    def beside(self, e: Equation) -> list[Var]:
        """The tensors that are there while an equation is computed, and no result of it."""
        inside = self.loops[e.outs[0]].equations if isinstance(e.op, Recurrence) else ()
        return [*(v for x in inside for v in x.outs), *(v for x in (e, *inside) if (v := self.scratch.get(x)) is not None)]

    def local(self, hint: str, used: Counter[str]) -> str:
        """A name for something inside of a block, the same in every block that has no other use for it."""
        used[hint] += 1
        key = hint, used[hint]
        if key not in self.pool:
            self.pool[key] = self.c_names.named(hint)
        return self.pool[key]

    def number(self, value: float) -> Piece:
        return number(value, self.precision)

    def combined(self, op: str, old: Piece, new: Piece) -> Piece:
        return call(self.helpers[op], [old, new])

    def body(self, body: Program) -> ScalarWriter:
        return Body(body, {}, self.helpers, self.precision)

    # ------------------------------------------------------------ statements

    def single(self, e: Equation) -> bool:
        return len(e.outs) == 1 and self.uses[e.outs[0]] == 1 and e.outs[0] not in self.held

    def equation(self, e: Equation) -> Iterator[str]:
        if not isinstance(e.op, Boxed | Recurrence):
            yield from super().equation(e)
            return
        try:
            if isinstance(e.op, Recurrence):
                yield from recurrence(self, self.shown[e.op], self.loops[e.outs[0]])
            else:
                write = MatrixLoops if isinstance(e.op, MatrixOperation) else Loops
                yield from write(self, self.shown.get(e.outs[0], e), e, e.outs[0] in self.unfilled).lines()
        except AdError as cannot:
            raise AdError(cannot.message, e.span, cannot.help, self.given.source) from None

    def copies(self) -> Iterator[str]:
        """Outputs that no nest has written: scalars, and arrays that are also something else."""
        at = ""
        for r, name in zip(self.given.results, self.outputs, strict=True):
            if not (isinstance(r.atom, Var) and r.atom.shape):
                yield f"*{name} = {self.piece(r.atom)[0]};"
            elif self.values[r.atom] != name and self.whole.product(r.atom.shape) != "0":
                at = at or self.local("e", Counter())
                value = f"{self.values[r.atom]}[{at}]"
                yield f"for (size_t {at} = 0; {at} < {self.whole.product(r.atom.shape)}; {at}++) {{"
                yield f"{INDENT}{name}[{at}] = {f'({self.precision.type}){value}' if r.atom.integer else value};"
                yield "}"

    # ------------------------------------------------------------ the file

    def function(self, fast: bool) -> CTensorFunction:
        statements = [line for e in self.program.equations for line in self.equation(e)] + list(self.copies())
        sized = [f"const size_t {n} = (size_t){self.values[self.counts[name].var]};" for name, n in self.counted.items()]
        fits = self.fits()
        before = [f"if ({self.values[p.var]} < 0) return 1;" for p in self.counts.values()]
        before += sized + ([f"if (!{self.fitting}) return 1;"] if fits else [])
        places = list(self.pointers())
        params = [*(f"size_t {n}" for n in self.sizes.values()), *map(self.parameter, self.given.params, self.inputs),
                  *(f"{self.precision.type} *restrict {n}" for n in [*self.outputs, *(["work"] if places else [])])]
        body = [*before, *places, *statements, "return 0;"]
        body = [*(f"(void){n};" for n in unused([p.split()[-1].lstrip("*") for p in params], body)), *body]
        head = f"int {self.name}({', '.join(params) or 'void'})"
        included = ["stddef", *(["stdint"] if "int32_t" in head or fits else []), "math"]
        lines = [*(f"#include <{h}.h>" for h in sorted(included)), "", *(() if fast else FAST_MATH)]
        for op, helper in self.helpers.items():
            lines += [*helper_function(HELPERS[op], helper, self.precision), ""]
        for text in functions(self.matrices, self.matrices.__getitem__, self.precision):
            lines += [*text, ""]
        work = self.work_size(bool(fits))
        if self.whole.floor_used:
            lines += [*(line.replace("NAME", self.whole.floor) for line in FLOOR), ""]
        lines += [*fits, *work, *block(wrapped(head), body)]
        return CTensorFunction(self.name, head, tuple(self.sizes.values()), tuple(self.counts),
                              self.sized_head("size_t", "work_size") if work else None, "\n".join(lines) + "\n", self.precision)

    def parameter(self, p: Param, name: str) -> str:
        kind = "int32_t" if p.var.integer else self.precision.type
        return f"const {kind} *restrict {name}" if p.var.shape else f"{kind} {name}"

    def sized_head(self, kind: str, name: str) -> str:
        return f"{kind} {self.name}_{name}({', '.join(f'size_t {n}' for n in self.all_sizes) or 'void'})"

    def fits(self) -> list[str]:
        """The function that says whether sizes fit; none where there is nothing to say."""
        found = self.conditions
        each = [f"(double){n} <= most" for n in self.all_sizes]
        each += [" * ".join(self.whole.real(x)[0] for x in shape) + " <= most" for shape in found.products
                 if any(x.terms for x in shape)]
        tests = [(test, c.why.replace("*/", "* /")) for c in found.conditions if (test := self.tested(c))]
        if not each and not tests:
            return []
        body = [f"const double most = (double)(PTRDIFF_MAX / {found.divisor});" + f"{INDENT}/* elements of an array */"]
        body += [f"if (!({test})) return 0;" for test in grouped(each)]
        body += [f"if (!({test})) return 0;{INDENT}/* {why} */" for test, why in tests]
        body += [f"(void){n};" for n in unused(self.all_sizes, body)]
        return [*block(self.sized_head("static int", "fits"), [*body, "return 1;"]), ""]

    def tested(self, condition: Condition) -> str | None:
        then = " && ".join(filter(None, map(self.whole.natural_test, condition.then)))
        if len(condition.then) == 2 and condition.then[0] == -condition.then[1]:
            then = self.whole.zero_test(condition.then[0])
        given = " && ".join(filter(None, map(self.whole.natural_test, condition.given)))
        return (f"!({given}) || ({then})" if given else then) if then else None

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
        body += [f"return {lines[0]}", *(INDENT + line for line in lines[1:])]
        body[-1] += ";"
        return [*block(self.sized_head("size_t", "work_size"), body), ""]


def refuse_endless(program: Program) -> None:
    """AdError where the numbers in a shape alone make a tensor that no memory holds."""
    for e in (*program.equations, None):
        for v in e.outs if e else [p.var for p in program.params]:
            if prod(x.number for x in v.shape if x.number) > LARGEST_WHOLE:
                raise AdError(f"no memory holds a tensor of shape {shape_text(v.shape)}", e.span if e else None,
                              source=program.source)


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


def wrapped(head: str) -> str:
    """The head of a function, on as many lines as its parameters need."""
    name, _, params = head.partition("(")
    lines = [f"{name}("]
    for param in params.split(", "):
        if len(lines[-1]) + len(param) > WIDTH:
            lines[-1] = lines[-1].rstrip()
            lines.append(INDENT * 2)
        lines[-1] += f"{param}, "
    return "\n".join(lines).removesuffix(", ")


def interface(written: CTensorFunction) -> list[str]:
    """How the function is called, in the terms of C."""
    return [f"call: {written.head}",
            *([f"sizes: {', '.join(written.sizes)}"] if written.sizes else []),
            "arrays are row-major, with the shapes above, and do not overlap",
            "it returns 0, or 1 where sizes do not fit one another or the subscripts, or a subscript that is read is outside",
            *([f"work: {written.work} {written.precision.type}s that no other call uses meanwhile"] if written.work else [])]


def calling(written: CTensorFunction, fast: bool) -> list[str]:
    """How the function is called and compiled, for the comment in front of it."""
    return [*interface(written), f"compile: cc -std=c99 -O2 -ffp-contract={'fast' if fast else 'off'}, and link with -lm"]
