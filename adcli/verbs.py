"""The verbs that evaluate: eval, grad, jvp, vjp."""
from __future__ import annotations

from typing import Any

import click

from adcli.options import derivative_options, names, program_options, read_source, result_options
from adcli.results import carry_out
from adcli.seeding import seeded
from adcli.tasks import Request, prepared
from adcli.usage import OneOf, Verb
from lang.ir import MODES


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
@click.option("--mode", type=OneOf("mode", MODES), default="auto", show_default=True, help="Mode of differentiation.")
@click.option("--order", type=click.IntRange(1, 32), default=1, show_default=True,
              help="All partial derivatives up to this order.")
@result_options
def grad_command(program: str | None, expressions: tuple[str, ...], wrt: str | None, of: str | None, mode: str, order: int,
                 **options: Any) -> int:
    """The outputs and every first partial derivative; with --order N, the higher ones too."""
    request = Request("grad", read_source(program, expressions), names(of, "--of"), names(wrt, "--wrt"), mode, order,
                      options["fast_math"])
    return carry_out(prepared(request, options), options)


@click.command("jvp", cls=Verb, short_help="The outputs and their tangents: forward mode.",
               example="adcli jvp -e 'v = x*sin(y)' --at x=2,y=0.5 --tangent x=1")
@program_options
@derivative_options
@click.option("--tangent", metavar="x=1,…", help="Direction; inputs not named have 0. One input alone has 1 by default.")
@result_options
def jvp_command(program: str | None, expressions: tuple[str, ...], wrt: str | None, of: str | None, tangent: str | None,
                **options: Any) -> int:
    """The outputs and their tangents along a direction: forward mode."""
    request = Request("jvp", read_source(program, expressions), names(of, "--of"), names(wrt, "--wrt"), fast=options["fast_math"])
    return carry_out(seeded(prepared(request, options), tangent, "tangent", options), options)


@click.command("vjp", cls=Verb, short_help="The outputs and the adjoints of the inputs: reverse mode.",
               example="adcli vjp -e 'v = x*sin(y)' --at x=2,y=0.5 --cotangent v=1")
@program_options
@derivative_options
@click.option("--cotangent", metavar="v=1,…", help="Weights; outputs not named have 0. One output alone has 1 by default.")
@result_options
def vjp_command(program: str | None, expressions: tuple[str, ...], wrt: str | None, of: str | None, cotangent: str | None,
                **options: Any) -> int:
    """The outputs and the adjoints of the inputs for weights of the outputs: reverse mode."""
    request = Request("vjp", read_source(program, expressions), names(of, "--of"), names(wrt, "--wrt"), fast=options["fast_math"])
    return carry_out(seeded(prepared(request, options), cotangent, "cotangent", options), options)
