"""The passes in order: what is made of a program is made by a flat list of passes, with checks between them.

    value              simplify
    tangents           jvp, simplify
    adjoints           vjp, simplify
    partials           keep the outputs, simplify; then for each order the sweeps of a plan, simplify
    Taylor             keep the outputs, simplify; the expansion in powers, simplify
    code               status (where it is asked for), drop_zero_seeds, the expansion of a target, simplify

The sweeps of plans and the expansions are passes that their rooms bring (`adcli.lang.derive`, `adcli.codegen`): `run` takes any.
`STAGES` names what `adcli show --stage` can print. `parsed` is the source tree; the others are Programs, `anf` and `ssa` the same
one. `ranges` is the program with the range of every index and where it comes from, as comments.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

from adcli.lang.ir import Primitive, Program, operations
from adcli.lang.ir.records import paused
from adcli.lang.modes.forward import jvp
from adcli.lang.modes.reverse import duplicate, vjp
from adcli.lang.operations.activity import inputs_to_differentiate, outputs_to_differentiate, with_outputs, without_problem
from adcli.lang.simplify.simplify import simplify

Pass = Callable[[Program], Program]
CHECKS: Sequence[Callable[[Program], object]] = ()
"""Called on the result of every pass; the tests add a checker of well-formed programs."""


@paused()
def run(program: Program, passes: Sequence[Pass]) -> Program:
    """The program after all passes in turn, its sums in the order in which a reader of its text would take them."""
    program = without_problem(program) if program.problem else program
    for each in passes:
        program = checked(each(program))
    if all(type(op) is Primitive for op in operations(program)):
        return program
    from adcli.lang.simplify.sum_order import contracted  # only for programs with tensors
    ordered = checked(contracted(program))
    return ordered if ordered is program or passes[-1] is not simplify else checked(contracted(simplify(ordered)))


def checked(program: Program) -> Program:
    """The program a pass has made, after all CHECKS."""
    for check in CHECKS:
        check(program)
    return program


def chosen_outputs(program: Program, outputs: Sequence[str]) -> Program:
    """The program of these outputs alone, simplified: what every kind of derivative starts from."""
    return run(program, [lambda p: with_outputs(p, outputs), simplify])


def tangent_program(program: Program, wrt: Sequence[str] | None = None, of: Sequence[str] | None = None) -> Program:
    """The forward derivative program: see `adcli.lang.modes.forward.jvp`."""
    return run(program, [*forward_passes(program, wrt, of), simplify])


def adjoint_program(program: Program, wrt: Sequence[str] | None = None, of: Sequence[str] | None = None) -> Program:
    """The reverse derivative program: see `adcli.lang.modes.reverse.vjp`."""
    return run(program, [*reverse_passes(program, wrt, of), simplify])


def evaluation_program(program: Program) -> Program:
    """The program that is evaluated where a derivative program was asked for: an exact zero in a seed drops what it would have
    caused."""
    from adcli.lang.passes.zero_seeds import drop_zero_seeds  # only for numbers
    return run(program, [drop_zero_seeds, simplify])


def forward_passes(program: Program, wrt: Sequence[str] | None, of: Sequence[str] | None) -> list[Pass]:
    inputs, outputs = inputs_to_differentiate(program, wrt), outputs_to_differentiate(program, of)
    return [lambda p: jvp(p, inputs, outputs)]


def reverse_passes(program: Program, wrt: Sequence[str] | None, of: Sequence[str] | None) -> list[Pass]:
    inputs, outputs = inputs_to_differentiate(program, wrt), outputs_to_differentiate(program, of)
    return [lambda p: vjp(p, inputs, outputs)]


# ---------------------------------------------------------------- stages to look at

def tangents(program: Program, wrt: Sequence[str] | None = None, of: Sequence[str] | None = None) -> Program:
    """The forward derivative program, as the pass makes it."""
    return run(program, forward_passes(program, wrt, of))


def adjoints(program: Program, wrt: Sequence[str] | None = None, of: Sequence[str] | None = None) -> Program:
    """The reverse derivative program in explicit-duplication form, as the pass makes it."""
    return run(program, [duplicate, *reverse_passes(program, wrt, of)])


STAGES: dict[str, Pass | None] = {
    "parsed": None,
    "anf": lambda program: program,
    "ssa": lambda program: program,
    "ranges": lambda program: program,
    "dup": lambda program: run(program, [duplicate]),
    "forward": tangents,
    "reverse": adjoints,
    "simplified": lambda program: run(program, [simplify]),
}
