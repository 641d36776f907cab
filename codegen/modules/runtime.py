"""Programs with tensors on NumPy arrays: compiled for any sizes, planned once for each set of shapes.

A call looks the plan for its shapes up, or makes it (`adcli.codegen.modules.plans`), fills in addresses and runs the code
(`adcli.codegen.modules.calls`).
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, cast

import numpy as np
from adcli.codegen.builtins.direct import Quick, Shaped, ShapedValue, of_tensors
from adcli.codegen.builtins.plan_words import COUNT, REAL, REALS, RUN, WHOLE, WHOLES
from adcli.codegen.machine import veclib
from adcli.codegen.machine.kernel import COMPILING, Kernel
from adcli.codegen.modules.array_calls import PlannedKernel
from adcli.codegen.modules.calls import SPARE_BYTES, Allocate, CallInterface, CallMemory, CallPlan, Shapes, Stretch
from adcli.codegen.modules.matrices import CALLED, MatrixCaller
from adcli.codegen.modules.module import FLAG, TensorModule, emit, written
from adcli.codegen.modules.plans import CallPlanner, named
from adcli.codegen.rows.compiled import linked
from adcli.codegen.rows.jit import object_code
from adcli.codegen.rows.tier_up import TierUp
from adcli.lang.ir import Lit, Program, Var
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.records import paused
from adcli.lang.operations.precision import DOUBLE, Precision
from adcli.lang.sizes.binding import counts, elements, no_subscript

HASTY_FROM = 20_000
"""Characters of a text from which on it is worth while to compile it in haste first."""
COMPILE_SECONDS = 0.8e-6
"""Extra time per character to compile it well, compared with in haste."""
HASTY_SECONDS = 1.5e-9
"""Extra time per vector instruction in code that was made in haste."""
Compiled = Callable[[TensorModule, bool], Kernel]
"""The code of a module, made in haste or well."""


def compile_tensors(program: Program, lanes: int | None = None, library: veclib.Library | None = None,
                    limit: int | None = None, allocate: Allocate | None = None, precision: Precision = DOUBLE,
                    fast: bool = False) -> TensorKernel:
    """The program as native code for this machine, `fast` as --fast-math says.

    `limit` is how many bytes a call may take (default: what the system has left), `allocate` gives an array of so many bytes for
    each value that is no result, in place of one block for all.
    """
    module = emit(program, lanes or veclib.lanes(precision.bytes), library or veclib.host(), precision=precision, fast=fast)
    return TensorKernel(module, linked(object_code(module.text), module.entry), limit, allocate)


class TensorKernel(PlannedKernel):
    """A compiled program that is there, so that any shapes can be planned.

    Where there is no `kernel` yet, `compiled` is asked for one with the nests that the first shapes take, made in haste where
    these runs are short; for one made well when they are no longer; and for one with all nests where later shapes take others.
    """

    def __init__(self, module: TensorModule, kernel: Kernel | None, limit: int | None = None, allocate: Allocate | None = None,
                 compiled: Compiled | None = None, hasty: bool = True) -> None:
        interface, made = interface_of(module)
        super().__init__(interface, cast("Kernel", kernel), limit, allocate)
        self.module, self.program, self.compiled = module, module.program, compiled
        self.earlier: list[Kernel] = []
        """Code that other threads may be in."""
        self.succession: TierUp | None = None
        """Tier-up of code that was made in haste."""
        self.hasty = hasty
        matrices = {k: (s.equations[0], s.stays) for k, s in enumerate(module.choosers) if s.calls}
        self.caller = MatrixCaller(matrices, module.env, module.env.flag + FLAG) if matrices else None
        self.planner = CallPlanner(module, self.counts, made, limit)

    def plan(self, key: Shapes) -> CallPlan:
        plan = self.planner.plan(key)
        if self.compiled is not None:
            self.complete(plan, self.compiled)
        return self.kept(key, plan)

    def complete(self, plan: CallPlan, compiled: Compiled) -> None:
        """Have code with the nests of a plan. Cells and choices mean the same in all of it, so plans stay as they are."""
        schedules = self.schedules(plan)
        if self.module.has(schedules):
            return
        with COMPILING, paused():
            if self.module.has(schedules):
                return
            first = not self.module.text
            module = written(self.module, schedules=schedules if first else None)
            worth = instructions_worth(module.text) if first and self.hasty else 0.0
            haste = plan.instructions < worth
            self.replace(module, compiled(module, haste))
            if haste:
                self.succession = TierUp(self.rise, worth)
                self.spend = self.succession.spend

    def frame(self, plan: CallPlan) -> CallMemory:
        env, places, held = super().frame(plan)
        return env, places, (held, self.caller.functions(env) if self.caller is not None else None)

    def schedules(self, plan: CallPlan) -> Sequence[int]:
        """Which nests a plan takes."""
        found: Sequence[int] = plan.cells[self.module.choices:self.module.choices + len(self.module.choosers)]
        return found

    def replace(self, module: TensorModule, kernel: Kernel) -> None:
        """Have other code, which has what the module says before the module says it."""
        self.earlier.append(self.kernel)
        self.kernel, self.succession, self.spend = kernel, None, None
        self.module = module

    def rise(self) -> None:
        """Have code that was made in haste made well."""
        with COMPILING:
            if self.succession is not None and self.compiled is not None:
                self.replace(self.module, self.compiled(self.module, False))

    def fault(self, plan: CallPlan, env: Any) -> BaseException:
        return self.outside(plan, env) if env[self.interface.flag] > 0 or self.caller is None else self.caller.fault(env)

    def quick(self, arrays: Mapping[str, Any], defaults: Mapping[str, float]) -> tuple[CallPlan, Quick, Quick] | None:
        """The plan for such values, what computes them in its frames, and what does in the one of its own, where it is small;
        None where that needs copies of values, or code that is made well first, which it is then."""
        if self.succession is not None:
            self.succession.begin()
            return None
        key = self.key([np.asarray(arrays[name]) for _, name, _ in self.inputs])
        plan = self.plans.get(key)
        if plan is None or self.copies or self.whole or self.calls_back(plan) or self.allocate is not None \
                or plan.memory * len(self.plans) > SPARE_BYTES \
                or not all(isinstance(a, Stretch) for a in plan.actions):
            return None
        if plan.quick is None:
            counts = dict(zip(self.counts, key[-1], strict=True)) if self.counts else {}
            columns = [given_column(8 if p.var.integer else self.real.itemsize, p.var.integer, shape, counts.get(k))
                       for k, ((p, *_), shape) in enumerate(zip(self.inputs, key, strict=False))]
            columns += [given_column(self.real.itemsize, False, shape) for shape in plan.outputs]
            actions = [x for a in plan.actions if isinstance(a, Stretch)
                       for x in (*[(cell, value, 0) for cell, value in a.cells], (RUN, a.first, a.last))]
            small = not plan.idle_window and not plan.results.large and plan.memory < SPARE_BYTES >> 8
            shaped = Shaped(columns, actions, self.interface.flag, self.frame(plan) if small else None,
                            [r.name for r in self.program.results])
            names = [name for _, name, _ in self.inputs], [*self.made]
            plan.quick = of_tensors(self.kernel, names, defaults, shaped, plan.instructions)
        return plan, *plan.quick

    def calls_back(self, plan: CallPlan) -> bool:
        """True if operations on matrices are left to LAPACK."""
        return self.caller is not None and any(self.schedules(plan)[k] == CALLED for k in self.caller.equations)

    def outside(self, plan: CallPlan, env: Any) -> AdError:
        """Error for a gathered subscript that is out of range."""
        flag = self.module.env.flag
        e, s, tensor, d = self.module.env.gathers[env[flag] - 1]
        source = e.args[s.arg]
        assert isinstance(source, Var)
        shape = plan.shapes[source]
        place = np.unravel_index(env[flag + 2] // self.planner.size(source), shape)
        where = f"({', '.join(str(int(w)) for w in place)})" if shape else ""
        extent = plan.shapes[tensor][d] if isinstance(tensor, Var) else 0
        target = tensor.name if isinstance(tensor, Var) and tensor.name else "the tensor"
        got = np.int64(env[flag + 1])
        value, help = no_subscript(float(got.view(np.float64)) if source.whole else int(got), extent)
        computed = next((x.span for x in self.program.equations if source in x.outs and source.name is None), None)
        return AdError(f"{named(e, s)}{where} = {value} is out of range for dimension {d} of '{target}', which has "
                       f"{elements(extent)}", computed or self.module.gathering.get((tensor, source, d)) or e.span, help,
                       self.program.source)


def instructions_worth(text: str) -> float:
    """How many instructions take as much longer in code that was made in haste as making it well takes; none where a text is
    short."""
    return len(text) * COMPILE_SECONDS / HASTY_SECONDS if len(text) >= HASTY_FROM else 0.0


def interface_of(module: TensorModule) -> tuple[CallInterface, list[Var]]:
    """Interface of a module's calls, and the results that its code makes."""
    program, env = module.program, module.env
    inputs = [p.var for p in program.params]
    names = {r.atom: r.name for r in reversed(program.results) if isinstance(r.atom, Var) and r.atom not in inputs}
    made = [v for v in module.values if v in names]
    places = {v: k for k, v in enumerate([*inputs, *made])}
    copies = [(r.name, r.atom.value if isinstance(r.atom, Lit) else places[r.atom]) for r in program.results
              if isinstance(r.atom, Lit) or names.get(r.atom) != r.name]
    spans = {out: e.span for e in program.equations for out in e.outs}
    whole = [(r.name, spans.get(r.atom)) for r in program.results if isinstance(r.atom, Var) and r.atom.whole]
    sizes = [program.params.index(p) for p in counts(program)]
    team = None if env.team is None else env.team.cells
    return CallInterface(program.params, sizes, [names[v] for v in made], copies, whole, env.flag, team, env.precision,
                     program.source), made


def given_column(size: int, integer: bool, shape: tuple[int, ...], count: int | None = None) -> ShapedValue:
    """How a value with elements of `size` bytes is handed over by a call from Python; `count` is the value of an integer that is
    a size."""
    if shape:
        return ShapedValue(WHOLES if integer else REALS, (len(shape), *shape), size * prod(shape))
    if count is not None:
        return ShapedValue(COUNT, (count,), 0)
    return ShapedValue(WHOLE if integer else REAL, (), 0)
