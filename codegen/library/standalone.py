"""A module that stands alone: the nests of a program behind a function with the interface of the same program in C.

    size_t NAME_work_size(size_t M, …)
    int NAME(size_t M, …, const double *A, double s, const int32_t *I, …, double *C, …, double *work)

Sizes, inputs, outputs, `work` and what the function returns are those of the same program in C; `adcli.lang.sizes.all_sizes` says
what is asked of sizes. The function fills `env` on its stack and runs all steps, each with the one nest that suits middling
sizes. It needs libm and what compilers expect of C's library (memset, memcpy), and nothing of ours.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from adcli.codegen.llvm_ir.frames import FunctionWriter
from adcli.codegen.loops.addresses import Machine
from adcli.codegen.machine import veclib
from adcli.codegen.machine.kernel import EntryPoint
from adcli.codegen.matrices.writer import scratch
from adcli.codegen.modules.module import FLAG, TensorModule, in_cells, written
from adcli.codegen.nests.cse_across_statements import invariants_outside
from adcli.codegen.nests.fast_math import with_fast_math
from adcli.codegen.nests.fusion import joinable, joined, needed, side_by_side
from adcli.codegen.nests.layout import conditions_of, homes, placed, plain, size_parameters, work_slots
from adcli.codegen.nests.recurrences import StepLoop
from adcli.codegen.nests.steps import ModuleStep, divided, of_its_own
from adcli.codegen.rows.llvm import Module
from adcli.codegen.schedules.search import cost
from adcli.lang.ir import Lit, Program, Result, Var
from adcli.lang.ir.affine import Affine, Index, Product, atoms, text
from adcli.lang.ir.errors import AdError
from adcli.lang.modes.systems import distributed
from adcli.lang.operations.comprehension import Comprehension
from adcli.lang.operations.matrix import Boxed
from adcli.lang.operations.precision import DOUBLE, Precision
from adcli.lang.sizes.all_sizes import Condition, SizeConditions
from adcli.lang.sizes.binding import counts

LARGEST_WORD = (1 << 63) - 1
MIDDLING = 64
"""The size for which nests are chosen."""


def emit(program: Program, lanes: int, name: str, fast: bool = False, visible: str = "",
         precision: Precision = DOUBLE, flushing: str = "") -> Module:
    """The program as LLVM IR, with fast math if `fast`; `visible` is how LLVM is told that others can call a function, and on the
    architecture `flushing` numbers below the least normal one are 0 while it runs. AdError, with its place, where a subscript
    cannot be proved to stay inside for all sizes."""
    before = plain(needed(joined(distributed(with_fast_math(program, precision) if fast else program))))
    given = side_by_side(invariants_outside(before, joinable))
    program = placed(given, registers=True)
    steps = [chosen(step, lanes) for step in divided(program, lanes, precision.bytes, before)]
    loops = {s.equations[0].outs[0]: s.loop for s in steps if s.loop is not None}
    home = homes(program) | {v: h for loop in loops.values() for v, h in loop.homes.items()}
    slots = work_slots(program, home, {s.equations[0].outs[0]: beside(s) for s in steps})
    conditions = conditions_of(given, slots, loops.values())
    refuse_loose(program, loops.values(), conditions)
    placed_steps = in_cells(program, steps, Machine(lanes, veclib.NO_LIBRARY, precision, "i32", flushing), f"{name}.steps")
    module = written(placed_steps, linkage="internal ")
    lines = [module.text, *Entry(module, conditions, name, visible).function(home, slots)]
    if slots:
        lines += WorkSize(module, conditions, name, visible).function(slots)
    entry = EntryPoint(name, lanes, 0, len(program.params), len(program.results), module.entry.externals, precision.code)
    length = sum(len(e.op.body.equations) if isinstance(e.op, Comprehension) else 1 for e in program.equations)
    return Module("\n".join(lines) + "\n", entry, length, entry.inputs + entry.outputs)


def beside(step: ModuleStep) -> list[Var]:
    """Tensors in memory while a step is run, besides its results."""
    places = [v for x in (step, *step.each) for v in of_its_own(x)]
    return places if step.loop is None else [*step.loop.own, *places]


def refuse_loose(program: Program, loops: Collection[StepLoop], conditions: SizeConditions) -> None:
    """AdError for a subscript whose proof is for its points only; one that has no index is asked of sizes, points or none."""
    steps = {loop.step for loop in loops}
    for e in (*program.equations, *(e for loop in loops for e in loop.equations)):
        for out, s, extent in sorted(conditions.loose, key=repr):
            if out in e.outs and isinstance(e.op, Boxed):
                if any(isinstance(a, Index) or a in steps for a in atoms(s)):
                    raise AdError(f"subscript {text(s)} is not proved to be below {text(extent)} for all sizes", e.span,
                                  "write --emit c, which checks it where it is used", program.source)
                some = tuple(r.high - r.low - 1 for r in e.op.ranges)
                conditions.conditions.append(Condition((s, extent - 1 - s), "", some))


def chosen(step: ModuleStep, lanes: int) -> ModuleStep:
    """The step with one nest, and so what it does at each step of its own: the best for middling sizes of those that need no
    memory of their own."""
    step = replace(step, each=[chosen(inner, lanes) for inner in step.each])
    if step.calls:
        return replace(step, place=scratch(step.equations[0]))
    if not step.schedules:
        return step
    few = [n for n in step.schedules if not n.packed] or [replace(n, packed=False, hoisted=()) for n in step.schedules]
    sizes = _Middling()
    return replace(step, schedules=(min(few, key=lambda n: cost(n, sizes, lanes)),))


class _Middling(dict[str, int]):
    def __missing__(self, name: str) -> int:
        return MIDDLING


class SizedFunction(FunctionWriter):
    """A function of sizes: they are its parameters, and whole numbers that are sizes are among them."""

    def __init__(self, module: TensorModule, conditions: SizeConditions, name: str, visible: str) -> None:
        super().__init__(module.env.sizes)
        self.module, self.conditions, self.name, self.visible = module, conditions, name, visible
        self.program = module.program
        self.names = {n: f"%size.{k}" for k, n in enumerate(size_parameters(self.program))}
        self.counted = {p.name: f"%count.{k}" for k, p in enumerate(counts(self.program))}
        self.steps = {s.loop.step for s in module.steps if s.loop is not None}
        self.refused = "ret i32 1"

    def size(self, name: str) -> str:
        return self.names.get(name) or self.counted[name]

    def quotient(self, text: str, level: int, by: str) -> str:
        """By 1 where it would be by 0: conditions that stand behind that of the divisor are computed all the same."""
        if not by.isdigit():
            some = self.place(level, f"icmp sgt i64 {by}, 0", (">", by))
            by = self.place(level, f"select i1 {some}, i64 {by}, i64 1", ("least 1", by))
        return super().quotient(text, level, by)

    def require(self, tests: Iterable[str]) -> None:
        """Leave the function unless all tests hold."""
        whole = "true"
        for test in tests:
            whole = test if whole == "true" else self.put(f"and i1 {whole}, {test}")
        if whole != "true":
            self.count += 1
            self.say(f"br i1 {whole}, label %fits.{self.count}, label %refused")
            self.block(f"fits.{self.count}")

    def require_sizes(self) -> None:
        """Each stage computes what the one before has made sure not to overflow."""
        most = LARGEST_WORD // self.conditions.divisor
        self.require([self.put(f"icmp ule i64 {n}, {most}") for n in [*self.names.values(), *self.counted.values()]])
        for x in self.conditions.positive:
            self.require([self.put(f"icmp sgt i64 {self.number(x)[0]}, 0")])
        for shape in self.conditions.products:
            if any(x.terms for x in shape):
                whole = "1.0"
                for x in shape:
                    whole = self.put(f"fmul double {whole}, {self.real(x)}")
                self.require([self.put(f"fcmp ole double {whole}, {float(most)!r}")])
        self.require([self.tested(c) for c in self.conditions.conditions])

    def chooses(self) -> list[Condition]:
        """A gather has something to choose from, if there is anything to gather."""
        found = []
        loops = {out: s.loop for s in self.module.steps if s.loop is not None for e in s.loop.equations for out in e.outs}
        for e, _, tensor, d in self.module.env.gathers:
            assert isinstance(tensor, Var)
            some = [r.high - r.low - 1 for r in (*e.op.ranges, *([loops[e.outs[0]]] if e.outs[0] in loops else []))]
            found.append(Condition((tensor.shape[d] - 1,), "", tuple(x for x in some if self.steps.isdisjoint(atoms(x)))))
        return found

    def tested(self, condition: Condition) -> str:
        then, given = self.all_natural(condition.then), self.all_natural(condition.given)
        return self.put(f"select i1 {given}, i1 {then}, i1 true")

    def all_natural(self, expressions: Sequence[Affine]) -> str:
        return self.every(self.put(f"icmp sge i64 {self.number(x)[0]}, 0") for x in expressions)

    def real(self, x: Affine) -> str:
        """An expression as a double; the factors of its products are doubles too, which do not overflow."""
        whole = f"{float(x.constant)!r}"
        for a, c in x.terms:
            one = (self.put(f"fmul double {self.real(a.left)}, {self.real(a.right)}") if isinstance(a, Product)
                   else self.put(f"sitofp i64 {self.atom(a)[0]} to double"))
            whole = self.put(f"fadd double {whole}, {self.put(f'fmul double {one}, {float(c)!r}')}")
        return whole

    def elements(self, shape: Sequence[Affine]) -> str:
        return self.product([self.number(x)[0] for x in shape])

    def ended(self, head: str) -> list[str]:
        self.block("refused")
        self.say(self.refused)
        define = f"define {self.visible}".rstrip()
        return ["", f"{define} {head}{self.module.env.stack} {{", *self.text(), "}", ""]


class WorkSize(SizedFunction):
    """The function that says how long `work` must be."""

    def function(self, slots: Sequence[tuple[Var, int]]) -> list[str]:
        self.refused = f"ret i64 {((1 << 64) - 1) // self.module.env.bytes}"
        self.require_sizes()
        whole = "0"
        for v in {slot: v for v, slot in reversed(slots)}.values():
            whole = self.put(f"add i64 {whole}, {self.elements(v.shape)}")
        self.say(f"ret i64 {whole}")
        params = ", ".join(f"i64 {n}" for n in [*self.names.values(), *self.counted.values()])
        return self.ended(f"i64 @{self.name}_work_size({params})")


class Entry(SizedFunction):
    """The function itself."""

    def function(self, home: Mapping[Var, Var], slots: Sequence[tuple[Var, int]]) -> list[str]:
        program, env, scalar = self.program, self.module.env, self.module.env.scalar
        inputs = [f"%in.{k}" for k in range(len(program.params))]
        outputs = [f"%out.{k}" for k in range(len(program.results))]
        integers = {p.name: n for p, n in zip(program.params, inputs, strict=True)}
        for name, n in self.counted.items():
            self.chunks[0].append(f"  {n} = sext i32 {integers[name]} to i64")
        self.require_sizes()
        self.require([self.tested(c) for c in self.chooses()])
        at: dict[Var, str] = {}
        for p, n in zip(program.params, inputs, strict=True):
            at[p.var] = n if p.var.shape else self.kept(n, "i32" if p.var.integer else scalar)
        copies: list[tuple[Result, str]] = []
        for r, n in zip(program.results, outputs, strict=True):
            if isinstance(r.atom, Lit) or r.atom in at:
                copies.append((r, n))
            else:
                at[r.atom] = n
        at |= self.places(slots)
        cells = self.fresh()
        self.chunks[0].append(f"  {cells} = alloca i64, i64 {self.module.cells}")
        for v, k in env.tensors.items():
            where = at.get(home.get(v, v)) or self.kept(None, "i64" if v.truth else scalar)
            self.cell_of(cells, k, f"ptr {where}")
        for n, k in env.sizes.items():
            if n not in self.steps:
                self.cell_of(cells, k, f"i64 {self.size(n)}")
        for k in range(self.module.choices, self.module.choices + len(self.module.choosers) + FLAG):
            self.cell_of(cells, k, "i64 0")
        self.say(f"call void @{self.name}.steps(ptr {cells}, ptr null, i64 0, i64 {len(self.module.steps)}, ptr null)")
        for r, n in copies:
            self.copied(r, n, at)
        flag = self.put(f"load i64, ptr {self.put(f'getelementptr i64, ptr {cells}, i64 {env.flag}')}")
        outside = self.put(f"icmp ne i64 {flag}, 0")
        self.say(f"ret i32 {self.put(f'zext i1 {outside} to i32')}")
        kinds = ["ptr" if p.var.shape else "i32" if p.var.integer else scalar for p in program.params]
        params = [*(f"i64 {n}" for n in self.names.values()), *(f"{kind} {n}" for kind, n in zip(kinds, inputs, strict=True)),
                  *(f"ptr {n}" for n in outputs), *(["ptr %work"] if slots else [])]
        return self.ended(f"i32 @{self.name}({', '.join(params)})")

    def kept(self, value: str | None, kind: str) -> str:
        """The address of a scalar on the stack."""
        at = self.fresh()
        self.chunks[0].append(f"  {at} = alloca {kind}")
        if value is not None:
            self.say(f"store {kind} {value}, ptr {at}")
        return at

    def places(self, slots: Sequence[tuple[Var, int]]) -> dict[Var, str]:
        """Where the tensors between nests lie."""
        found: dict[Var, str] = {}
        first: dict[int, str] = {}
        end = "0"
        for v, slot in slots:
            if slot not in first:
                first[slot] = self.put(f"getelementptr {self.module.env.scalar}, ptr %work, i64 {end}")
                end = self.put(f"add i64 {end}, {self.elements(v.shape)}")
            found[v] = first[slot]
        return found

    def cell_of(self, cells: str, k: int, value: str) -> None:
        self.say(f"store {value}, ptr {self.put(f'getelementptr i64, ptr {cells}, i64 {k}')}")

    def copied(self, r: Result, target: str, at: Mapping[Var, str]) -> None:
        """An output that is a constant, an input, or the same as another output."""
        real = self.module.env.scalar
        if isinstance(r.atom, Lit):
            self.say(f"store {real} {self.module.env.on(1).constant(r.atom.value)}, ptr {target}")
            return
        kind = "i32" if r.atom.integer else real
        with self.each("0", self.elements(r.atom.shape)) as k:
            got = self.put(f"load {kind}, ptr {self.put(f'getelementptr {kind}, ptr {at[r.atom]}, i64 {k}')}")
            if kind == "i32":
                got = self.put(f"sitofp i32 {got} to {real}")
            self.say(f"store {real} {got}, ptr {self.put(f'getelementptr {real}, ptr {target}, i64 {k}')}")


