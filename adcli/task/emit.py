"""A program written for a target, with a header that says what it is, how it is called and what regenerates it.

The header depends on the program and on those options that change what is written, in one order and one spelling: the same
input gives the same bytes, whatever the order of the options and wherever the bytes go.
"""
from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from adcli.command.options import NUMBERS, given, refuse
from adcli.lang.ir import Atom, Lit, Program, substitute
from adcli.lang.ir.errors import AdError
from adcli.lang.passes.simplify import simplify
from adcli.output.streams import destination
from adcli.output.version import __version__

if TYPE_CHECKING:
    from adcli.task.tasks import Task

ELSEWHERE = ("output", "quiet", "no_cache", "explain")
"""Options that do not change a byte of what is emitted."""


def emit(task: Task, options: Mapping[str, Any]) -> None:
    """Write the task's program for a target."""
    from adcli.codegen.targets import TARGETS, Options
    check_options(options["emit"])
    if task.tensors:
        check_tensors(task, options["emit"])
    target = TARGETS[options["emit"]]
    program = bound(task.program, task.seeds)
    how = Options(options["style"] or "nested", int(options["lanes"] or 1), f"adcli_{task.verb}", options["fast_math"])
    written = target.emit(program, header(task, program), how)
    if isinstance(written, bytes) and options["output"] is None and sys.stdout.isatty():
        raise AdError("an object file is nothing for a terminal", help="write -o FILE")
    with destination(options["output"]) as stream:
        stream.write(written.encode() if isinstance(written, str) else written)


def check_options(target: str) -> None:
    refuse(NUMBERS, "is about numbers, and --emit writes a program")
    if target == "text":
        refuse(["lanes", "fast_math"], "is not for --emit text")
    else:
        refuse(["style"], f"is not for --emit {target}")


def check_tensors(task: Task, target: str) -> None:
    """AdError where a program with tensors is not written."""
    if target != "text":
        raise AdError(f"--emit {target} is for programs of scalars, and this one has tensors", help="write --emit text")
    if not task.program.equations and task.verb == "jacobian":
        raise AdError("a Jacobian of tensors is computed by sweeps, and is no program",
                      help="jvp --emit text and vjp --emit text are the programs of the sweeps")


def bound(program: Program, seeds: Mapping[str, float]) -> Program:
    """The program with seeds that were given as constants."""
    env: dict[Atom, Atom] = {p.var: Lit(seeds[p.name]) for p in program.params if p.name in seeds}
    if not env:
        return program
    return simplify(replace(substitute(program, env), params=tuple(p for p in program.params if p.name not in seeds)))


def header(task: Task, program: Program) -> list[str]:
    """What stands in front of everything emitted."""
    from adcli.task.shapes import shaped
    what = {"eval": "the outputs", "grad": "the outputs and their partial derivatives",
            "jvp": "the outputs and their tangents", "vjp": "the outputs and the adjoints of the inputs",
            "jacobian": "the outputs and their Jacobian", "hessian": "the output, its gradient and its Hessian",
            "hvp": "the output and the product of its Hessian with a direction",
            "taylor": "the Taylor coefficients of the outputs along a direction",
            "propagate": "the outputs and their standard uncertainties"}[task.verb]
    source = typed(task.primal.source.name) if task.primal.source else "a program"
    mode = f", {task.mode} mode" if task.mode else ""
    return [f"adcli {__version__}: {what} of {source}{mode}",
            f"outputs: {', '.join(shaped(r.name, r.atom) for r in program.results)}",
            f"inputs: {', '.join(shaped(p.name, p.var) for p in program.params) or 'none'}",
            f"made by: {' '.join(map(typed, command()))}"]


def command() -> Iterator[str]:
    """The words of the command that is running, the program first and the options in the order of the help."""
    context = click.get_current_context()
    yield from ("adcli", context.info_name or "")
    program = context.params.get("program")
    if program is not None and not program.startswith("-"):
        yield program
    spelled = given()
    for p in context.command.params:
        if isinstance(p, click.Option) and p.name in spelled and p.name not in ELSEWHERE:
            value = context.params[p.name]
            for one in value if p.multiple else [value]:
                yield from (p.opts[0],) if p.is_flag else (p.opts[0], str(one))
    if program is not None and program.startswith("-"):
        yield from (program,) if program == "-" else ("--", program)


def typed(word: str) -> str:
    """A word as one types it in a shell, on one line and in printable characters whatever it holds."""
    if word.isprintable():
        return shlex.quote(word)
    escaped = "".join(chr(b) if 32 <= b < 127 and b not in b"'\\" else f"\\x{b:02x}" for b in os.fsencode(word))
    return f"$'{escaped}'"
