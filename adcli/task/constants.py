"""Inputs that `--at` makes constants of a program that is emitted."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from adcli.input.fixed_inputs import fixed, given
from adcli.input.points import out_of_range, ranks
from adcli.lang.ir import Program
from adcli.lang.ir.errors import AdError
from adcli.output.streams import say


def with_constants(program: Program, specs: Iterable[str], quiet: bool) -> tuple[Program, dict[str, float]]:
    """The values that --at gives, and the program with their inputs declared as params, which are differentiated only where
    named. A note where one leaves the range that its input was declared with, unless `quiet`."""
    values = fixed(program.params, given(specs, ranks(program.params), "with --emit, --at gives inputs one value each"))
    for p in [p for p in program.params if p.name in values]:
        if p.var.shape or p.var.integer:
            raise AdError(f"--at {p.name}: {'a tensor' if p.var.shape else 'an integer'} cannot be a constant of a program",
                          help=f"leave it out: the program then has the input {p.name}")
        if not quiet and p.low is not None and p.high is not None and not p.low <= values[p.name] <= p.high:
            say(out_of_range(p, values[p.name], program.source))
    params = tuple([replace(p, active=False) if p.name in values else p for p in program.params])
    return replace(program, params=params), {name: float(x) for name, x in values.items()}
