"""A program written for a target, with a header that says what it is, how it is called and what regenerates it.

The header depends on the program and on those options that change what is written, in one order and one spelling: the same
input gives the same bytes, whatever the order of the options and wherever the bytes go.
"""
from __future__ import annotations

import os
import pathlib
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any

from adcli.codegen.emission import EmitOptions
from adcli.codegen.targets import TARGETS
from adcli.input.settings import ResultOptions
from adcli.lang.ir import LEVELS, Atom, Lit, Program, Values, has_tensors, substitute
from adcli.lang.ir.errors import AdError, Source
from adcli.lang.passes.status import with_status
from adcli.lang.simplify.simplify import simplify
from adcli.lang.sizes.binding import bind, number
from adcli.output.numbers import shortest
from adcli.output.streams import destination
from adcli.output.version import __version__
from adcli.output.wrap import aligned
from adcli.task.rules import require_fit
from adcli.task.shapes import result_shape, shaped
from adcli.task.tasks import Task
from adcli.task.verbs import Verb

if TYPE_CHECKING:
    from adcli.codegen.modules.calls import CallPlan
    from adcli.codegen.modules.module import TensorModule
    from adcli.lang.derive.derivatives import DerivationStep
    from adcli.lang.derive.sweep_plans import SweepPlan

NOT_EMITTED = ("program", "output", "quiet", "no_cache", "explain")
"""Parameters that do not change a byte of what is emitted, and the program, which has its own place."""


def emit(task: Task, options: ResultOptions, verb: Verb | None = None) -> None:
    """Write the task's program for a target; `verb` is what it is called by, where that is not the task's verb."""
    verb = verb or task.verb
    assert options.emit is not None
    require_fit(options, "emit")
    target = TARGETS[options.emit]
    program = wanted(task, options.status)
    point = task.seeds if options.abi == "casadi" and has_tensors(program) else {}
    program = program if point else bound(program, task.seeds)
    name = options.symbol or default_symbol(task.primal.source, verb.name)
    if (other := target.language.symbol(name)) != name:
        raise AdError(f"'{name}' cannot be the name of a function in {target.language.name}", help=f"write ⟦--symbol {other}⟧")
    how = EmitOptions(options.style or "nested", int(options.lanes or 1), name, options.fast_math, options.precision or "double",
                      options.main, options.abi or "plain", options.triple, options.cpu, point)
    written = target.emit(program, header(task, program, options, verb.header), how)
    if isinstance(written, bytes) and options.output is None and sys.stdout.isatty():
        raise AdError(f"refusing to write {target.help} to a terminal; use -o FILE")
    with destination(options.output) as stream:
        stream.write(written.encode() if isinstance(written, str) else written)


def default_symbol(source: Source | None, verb: str) -> str:
    """The name of the function: that of the program's file and of the verb, such as worked_grad."""
    from adcli.codegen.c.spelling import LANGUAGE
    stem = pathlib.PurePath(source.name).stem if source else ""
    return LANGUAGE.symbol(f"{stem if stem.strip('-<>') and stem[0] not in '-<' else 'adcli'}_{verb}")


def wanted(task: Task, status: bool) -> Program:
    """Program to write: the derivative, with its status as the last output where that is asked for."""
    return simplify(with_status(task.program, task.primal, task.derivation.wrt)) if status else task.program


def bound(program: Program, values: Mapping[str, float]) -> Program:
    """The program with constants for these inputs."""
    env: dict[Atom, Atom] = {p.var: Lit(values[p.name]) for p in program.params if p.name in values}
    if not env:
        return program
    return simplify(replace(substitute(program, env), params=tuple(p for p in program.params if p.name not in values)))


def header(task: Task, program: Program, options: ResultOptions, what: str) -> list[str]:
    """Header of everything emitted."""
    fixed = [p for p in task.signature.own if p.name in task.seeds and (p.var.integer or not p.active)]
    constants = [shaped(p.name, p.var) if p.var.shape else f"{p.name} = {shortest(task.seeds[p.name])}" for p in fixed]
    source = typed(task.primal.source.name) if task.primal.source else "a program"
    mode = f", {task.mode} mode" if task.mode else ""
    return [f"adcli {__version__}: {what} of {source}{mode}",
            f"outputs: {', '.join(result_shape(r.name, r.atom) for r in program.results)}",
            f"inputs: {', '.join(shaped(p.name, p.var) for p in program.params if p not in fixed) or 'none'}",
            *([f"constants: {', '.join(constants)}"] if constants else []),
            *([f"{program.results[-1].name}: {', '.join(f'{i} {level}' for i, level in enumerate(LEVELS))}"]
              if options.status else []),
            f"made by: {' '.join(map(typed, command(options)))}"]


def command(options: ResultOptions) -> Iterator[str]:
    """The words of the command line, the program first and the options in the order of the help."""
    yield from ("adcli", options.verb)
    program = options.program
    if program is not None and not program.startswith("-"):
        yield program
    for given in options.typed:
        if given.parameter not in NOT_EMITTED:
            yield from given.words
    if program is not None and program.startswith("-"):
        yield from (program,) if program == "-" else ("--", program)


def typed(word: str) -> str:
    """A word as one types it in a shell, on one line and in printable characters whatever it holds."""
    if word.isprintable():
        return shlex.quote(word)
    escaped = "".join(chr(b) if 32 <= b < 127 and b not in b"'\\" else f"\\x{b:02x}" for b in os.fsencode(word))
    return f"$'{escaped}'"


# ---------------------------------------------------------------- --explain

def explanation(task: Task, at: Values | None = None) -> str:
    """Plan of a derivative, order by order: the ways, their costs, the one taken; and the code that computes it. For tensors the
    plan of the results; `at` is a point, whose shapes say how much there is to do."""
    if task.signature.tensors:
        program, steps = with_steps_taken(task, at)
        lines = list(of_tensors(program, at and {**at, **steps}, task.tier, task.request.fast))
        if task.request.listed:
            lines.insert(0, "entries: statement by statement, without sweeps")
    else:
        lines = [line for step in task.derivation.steps for line in explained(step)] or ["nothing to differentiate"]
        lines.append(f"code: {code(task)}")
    return "".join(f"{line}\n" for line in lines)


def code(task: Task) -> str:
    """Tier of the code, and its counted length."""
    from adcli.codegen.machine.veclib import lanes
    from adcli.codegen.rows.llvm import compile_length
    from adcli.codegen.rows.tiers import TAPE_FROM, blocks_worth
    length = compile_length(task.expanded)
    counted = f"counted length {length:,}"
    if task.tier != "auto":
        return f"{'a tape, as --tier says' if task.tier == 'tape' else 'compiled, as --tier says or for many rows'}; {counted}"
    if task.request.fast:
        return f"compiled, for --fast-math; {counted}"
    if task.tape is None:
        why = f"a tape pays beyond {TAPE_FROM:,}" if length <= TAPE_FROM else "but the cache has the code"
        return f"compiled; {counted}, {why}"
    return f"a tape; {counted}, compiling pays from {lanes(task.tape.constants.itemsize) * blocks_worth(task.tape):,} rows on"


def explained(step: DerivationStep) -> Iterator[str]:
    entries = "entry is" if step.entries == 1 else "entries are"
    yield f"order {step.order}: {step.entries:,} of {step.of:,} {entries} not zero by construction"
    for plan, line in zip(step.plans, aligned([(described(p), f"{p.cost:,}") for p in step.plans], "<>"), strict=True):
        yield f"  {'*' if plan.reads is step.taken.reads else ' '} {line} {noun(plan.cost, 'operation')}"
    yield f"    the program has {plural(step.before, 'operation')} before, {step.after:,} after"


def with_steps_taken(task: Task, at: Values | None) -> tuple[Program, Mapping[str, int]]:
    """The derivative that is computed at a point, and how many steps its loops take that end early, where these are counted."""
    if at is None or task.short is None:
        return task.program, {}
    from adcli.task.native import native, with_steps
    short = task.short.worked.program
    steps = with_steps(task.short.counted, task.program, short, native).steps(at)
    return (short, steps) if steps else (task.program, {})


def described(plan: SweepPlan) -> str:
    """A plan in words: its mode, its sweeps, and whether they are shared."""
    members = sum(map(len, plan.inputs)) + sum(map(len, plan.outputs))
    sweeps = plural(plan.sweeps, "sweep")
    shared = f" for {members:,} {'inputs' if plan.inputs else 'outputs'}" if members > plan.sweeps else ""
    if plan.mode == "mixed":
        return f"mixed    {len(plan.inputs):,} forward and {plural(len(plan.outputs), 'reverse sweep')}"
    return f"{plan.mode:8} {sweeps}{shared}"


# ---------------------------------------------------------------- tensors

def of_tensors(program: Program, at: Values | None, tier: str, fast: bool) -> Iterator[str]:
    """The lines on a program."""
    from adcli.codegen.machine import veclib
    from adcli.codegen.modules.module import laid_out, written
    from adcli.codegen.modules.runtime import TensorKernel, instructions_worth
    from adcli.lang.passes.pipeline import evaluation_program
    module = laid_out(evaluation_program(program), veclib.lanes(), veclib.host(), fast=fast)
    why = ", as --tier says" if tier == "compiled" else ", for --fast-math" if fast else ""
    if at is None:
        yield f"code: compiled{why}; {counted(module)}"
        yield "a point says more: its sizes, the work and the memory (--at)"
        return
    kernel = TensorKernel(module, None)   # a plan needs no code
    plan = kernel.plan(kernel.key(inputs(program, at)))
    worth = 0.0 if tier == "compiled" else instructions_worth(written(module, schedules=kernel.schedules(plan)).text)
    in_haste = plan.instructions < worth
    better = f", compiling well pays from {worth:,.0f} instructions on" if in_haste else ""
    yield f"code: compiled{' in haste' if in_haste else ''}{why}{better}; {counted(module)}"
    yield from planned(module, plan)


def counted(module: TensorModule) -> str:
    """3 steps on tensors, 1 loop of 4 statements, 2 operations on matrices."""
    loops = [s for s in module.steps if s.loop is not None]
    matrices = sum(s.calls for s in (*module.steps, *(inner for s in loops for inner in s.each)))
    found = [plural(sum(bool(s.schedules) for s in module.steps), "step") + " on tensors"]
    found += [f"a loop of {plural(len(s.each), 'statement')}" for s in loops]
    if matrices:
        found.append(plural(matrices, "operation") + " on matrices")
    return ", ".join(found)


def planned(module: TensorModule, plan: CallPlan) -> Iterator[str]:
    """Plan for the shapes of a point."""
    if plan.sizes:
        yield f"sizes: {', '.join(f'{name} = {size:,}' for name, size in plan.sizes.items())}"
    yield f"work: about {plan.instructions:,.0f} instructions"
    yield f"memory: {plan.memory:,} bytes for values on the way"
    if plan.idle_window:
        soon = "" if plan.idle_window == inf else f" of a run that begins less than {1000 * plan.idle_window:g} ms after another"
        yield f"threads: several share {plural(module.helped(plan.cells), 'step')}{soon}"
    else:
        yield "threads: one; the whole is too short for more"


def inputs(program: Program, at: Values) -> list[Any]:
    """Arrays of the shapes that the inputs have at a point; those of seeds follow from the sizes."""
    import numpy as np

    own = [p for p in program.params if p.name in at]
    integers = {p.name: at[p.name] for p in own if p.var.integer and not p.var.shape}
    sizes = bind(replace(program, params=tuple(own)), {p.name: np.shape(at[p.name]) for p in own}, integers)
    return [np.asarray(at[p.name]) if p.name in at else np.broadcast_to(0.0, tuple(number(x, sizes) for x in p.var.shape))
            for p in program.params]


def plural(count: int, name: str) -> str:
    return f"{count:,} {noun(count, name)}"


def noun(count: int, name: str) -> str:
    return name if count == 1 else f"{name}s"
