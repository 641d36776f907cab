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

from adcli.codegen.emission import EmitOptions
from adcli.codegen.targets import TARGETS
from adcli.input.settings import EMIT_OPTIONS, ResultOptions
from adcli.lang.ir import LEVELS, Atom, Lit, Program, has_tensors, substitute
from adcli.lang.ir.errors import AdError, Source
from adcli.lang.passes.status import with_status
from adcli.lang.simplify.simplify import simplify
from adcli.output.numbers import shortest
from adcli.output.streams import destination
from adcli.output.version import __version__
from adcli.task.rules import require_fit
from adcli.task.shapes import result_shape, shaped
from adcli.task.tasks import Task
from adcli.task.verbs import Verb

NOT_EMITTED = ("program", "output", "quiet", "no_cache", "explain")
"""Parameters that do not change a byte of what is emitted, and the program, which has its own place."""


def emit(task: Task, options: ResultOptions, verb: Verb | None = None) -> None:
    """Write the task's program for a target; `verb` is what it is called by, where that is not the task's verb."""
    verb = verb or task.verb
    assert options.emit is not None
    require_fit(options, "emit")
    options.refuse([name for name in (*EMIT_OPTIONS, "fast_math") if name not in TARGETS[options.emit].options],
                   f"has no effect on --emit {options.emit}")
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
