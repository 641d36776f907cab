"""The verbs that evaluate: values, derivatives of every kind, products of derivatives with directions."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from adcli.answers.results import MATRICES, carry_out
from adcli.answers.seeding import components, seeded
from adcli.command.options import (
    derivative_options,
    entries,
    matrix_options,
    matrix_result_options,
    mode_option,
    names,
    one_output_options,
    program_options,
    read_source,
    result_options,
    seed_option,
)
from adcli.command.usage import Verb
from adcli.input.points import complete
from adcli.task.tasks import Request, prepared


@click.command("eval", cls=Verb, short_help="The outputs of a program.",
               example="adcli eval -e 'v = x*sin(y)' --at x=2,y=0.5")
@program_options
@click.option("--of", metavar="v,…", help="Outputs to show (default: all).")
@result_options
def eval_command(program: str | None, expressions: tuple[str, ...], of: str | None, **options: Any) -> int:
    """The outputs of a program."""
    request = Request("eval", read_source(program, expressions), names(of, "--of"), fast=options["fast_math"])
    return carry_out(prepared(request, options), options)


@click.command("grad", cls=Verb, short_help="The outputs and their partial derivatives.",
               example="adcli grad -e 'v = x*sin(y)' --at x=2,y=0.5")
@program_options
@derivative_options
@mode_option
@click.option("--order", type=click.IntRange(1, 32), default=1, show_default=True,
              help="All partial derivatives up to this order.")
@result_options
def grad_command(program: str | None, expressions: tuple[str, ...], wrt: str | None, of: str | None, mode: str, order: int,
                 **options: Any) -> int:
    """The outputs and every first partial derivative; with --order N, the higher ones too.

    --of 'v:x,x,y' chooses one partial derivative, here the third of v, twice along x and once along y; several are separated
    by semicolons.
    """
    request = Request("grad", read_source(program, expressions), entries(of), names(wrt, "--wrt"), mode, order,
                      options["fast_math"])
    return carry_out(prepared(request, options), options)


@click.command("jacobian", cls=Verb, short_help="The outputs and their Jacobian, sparse where it is.",
               example="adcli jacobian -e 'u = x*y' -e 'v = sin(z)' --at x=2,y=3,z=0")
@program_options
@derivative_options
@mode_option
@matrix_options
@matrix_result_options
def jacobian_command(program: str | None, expressions: tuple[str, ...], **options: Any) -> int:
    """The outputs and their Jacobian; where many entries are zero by construction, those are left out."""
    return matrix("jacobian", program, expressions, options)


@click.command("hessian", cls=Verb, short_help="One output, its gradient and its Hessian, sparse where it is.",
               example="adcli hessian -e 'v = x**2 * sin(y)' --at x=2,y=0.5")
@program_options
@one_output_options
@mode_option
@matrix_options
@matrix_result_options
def hessian_command(program: str | None, expressions: tuple[str, ...], **options: Any) -> int:
    """One output, its gradient and its Hessian, entries on and above the diagonal.

    Where many entries are zero by construction, those are left out.
    """
    return matrix("hessian", program, expressions, options)


def matrix(verb: str, program: str | None, expressions: tuple[str, ...], options: dict[str, Any]) -> int:
    zeros = False if options["form"] in MATRICES else options["zeros"]
    request = Request(verb, read_source(program, expressions), names(options["of"], "--of"), names(options["wrt"], "--wrt"),
                      options["mode"], 1, options["fast_math"], zeros)
    if options["pattern"]:
        from adcli.verbs.picture import pattern
        return pattern(request, options)
    return carry_out(prepared(request, options), options)


def product(verb: str, program: str | None, expressions: tuple[str, ...], options: dict[str, Any]) -> int:
    """A derivative times a direction, or times weights of the outputs."""
    request = Request(verb, read_source(program, expressions), names(options["of"], "--of"), names(options["wrt"], "--wrt"),
                      fast=options["fast_math"])
    kind = "cotangent" if verb == "vjp" else "tangent"
    return carry_out(seeded(prepared(request, options), options[kind], kind, options), options)


@click.command("jvp", cls=Verb, short_help="The outputs and their tangents: forward mode.",
               example="adcli jvp -e 'v = x*sin(y)' --at x=2,y=0.5 --tangent x=1")
@program_options
@derivative_options
@seed_option("tangent")
@result_options
def jvp_command(program: str | None, expressions: tuple[str, ...], **options: Any) -> int:
    """The outputs and their tangents along a direction: forward mode."""
    return product("jvp", program, expressions, options)


@click.command("vjp", cls=Verb, short_help="The outputs and the adjoints of the inputs: reverse mode.",
               example="adcli vjp -e 'v = x*sin(y)' --at x=2,y=0.5 --cotangent v=1")
@program_options
@derivative_options
@seed_option("cotangent")
@result_options
def vjp_command(program: str | None, expressions: tuple[str, ...], **options: Any) -> int:
    """The outputs and the adjoints of the inputs for weights of the outputs: reverse mode."""
    return product("vjp", program, expressions, options)


@click.command("hvp", cls=Verb, short_help="One output and its Hessian times a direction.",
               example="adcli hvp -e 'v = x**2 * sin(y)' --at x=2,y=0.5 --tangent x=1")
@program_options
@one_output_options
@seed_option("tangent")
@result_options
def hvp_command(program: str | None, expressions: tuple[str, ...], **options: Any) -> int:
    """One output and the product of its Hessian with a direction: forward mode over reverse mode."""
    return product("hvp", program, expressions, options)


@click.command("taylor", cls=Verb, short_help="Taylor coefficients along a direction.",
               example="adcli taylor -e 'v = x*sin(y)' --at x=2,y=0.5 --tangent y=1 --order 4")
@program_options
@click.option("--of", metavar="v,…", help="Outputs to expand (default: all).")
@click.option("--tangent", metavar="x=1,…", help="Direction; inputs not named have 0. One input alone has 1 by default.")
@click.option("--order", type=click.IntRange(0, 64), default=3, show_default=True, help="The highest power.")
@click.option("--scaled", is_flag=True, help="Derivatives instead of coefficients: each times the factorial of its order.")
@result_options
def taylor_command(program: str | None, expressions: tuple[str, ...], of: str | None, tangent: str | None, order: int,
                   scaled: bool, **options: Any) -> int:
    """Taylor coefficients v_0, v_1, … of the outputs along a direction: of v(x + s·dx) in powers of s."""
    direction = None if tangent is None else components(tangent, "tangent")
    moving = None if direction is None else [x for x, dx in direction.items() if dx]
    request = Request("taylor", read_source(program, expressions), names(of, "--of"), moving, order=order,
                      fast=options["fast_math"], scaled=scaled)
    task = prepared(request, options)
    if direction is not None:
        complete([replace(p, default=0.0) for p in task.primal.params], direction)
        tangent = ",".join(f"{x}={dx!r}" for x, dx in direction.items() if dx)
    return carry_out(seeded(task, tangent, "tangent", options), options)
