"""The command `adcli`: the click group, and the one place where a fault becomes a message and an exit code.

    0 success      1 a negative answer      2 usage, or a file cannot be read or written      3 the program is wrong
    4 --strict     5 a data row is bad      70 a defect of adcli      130 interrupted

The work runs in a second thread with a deep stack, so that Ctrl-C ends it at once even inside LLVM.
"""
from __future__ import annotations

import _signal as signal
import contextlib
import gc
import os
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any

import click

from adcli.codegen.machine.memory import exhausted, watch_loading
from adcli.command.usage import no_verb, said
from adcli.input.programs import is_formula, quoted
from adcli.lang.ir.errors import AdError, Unfit, one_line
from adcli.output import standard
from adcli.output.standard import NobodyReads
from adcli.output.streams import discard_unfinished, say
from adcli.output.version import __version__
from adcli.task.verbs import VERBS as ROWS

OTHER_VERBS = {
    "show": ("verbs.texts", "The program at a stage of the compiler."),
    "fmt": ("verbs.texts", "The program in canonical form."),
    "draw": ("draw.command", "The program, or its derivative, as a graph."),
    "trace": ("trace.command", "The evaluation table: value, tangent and adjoint of every line."),
    "explore": ("explore.command", "A page for a browser: sliders, steps, linked programs and graph."),
    "why": ("why.command", "What made a NaN, an infinity or an exact zero."),
    "check": ("check.command", "The derivatives against independent methods, and a verdict."),
    "plot": ("plot.command", "Curves and contours, with kinks, jumps and poles shown as such."),
    "fit": ("fit.command", "Parameters from the rows of a table, by least squares."),
    "minimize": ("solvers.minimize_command", "Where an output is least, with a verdict."),
    "solve": ("solvers.solve_command", "Where equations hold, and how that place depends on the other inputs."),
    "bench": ("verbs.bench", "Time per row, compile time, and their ratios."),
    "cache": ("verbs.cache", "The cache of compiled programs: info, clear."),
    "lsp": ("lsp.command", "The language server for editors."),
    "editor": ("editors.command", "Colours for programs in VS Code, Vim, Sublime Text and others."),
    "functions": ("verbs.manual", "Every function with domain, derivative and status."),
    "help": ("verbs.manual", "Chapters of the manual; the help of a verb."),
}
"""The verbs that are no rows of the table in `adcli.task.verbs`: the module of this package that has the command, as
`command` or `VERB_command`, and the line that the help of adcli has on it."""
MODULES = {name: module for name, (module, _) in OTHER_VERBS.items()} | {r.name: r.module for r in ROWS.values() if r.module}
"""The verbs that have a command of their own."""
SHORT_HELP = {r.name: r.short for r in ROWS.values()} | {name: short for name, (_, short) in OTHER_VERBS.items()}
VERBS = (*(name for name in ROWS if name not in MODULES), *MODULES)
"""All verbs in the order of the help."""

STACK_BYTES = 16 << 20
"""Bytes of the stack that the work has: nothing here or in LLVM goes deeper with a program than a fraction of this."""
ENDED_BY = "SIGTERM", "SIGHUP"
"""Signals that end a process, after which nothing is to be left of it."""
COLLECT = (100_000, 20, 50)
"""When cycles are looked for: a short run makes none worth it, a long one still does."""


class Verbs(click.Group):
    """Loads the module of a verb when the verb is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        if name not in MODULES:
            from adcli.verbs.evaluate import command
            return command(ROWS[name])
        module = import_module(f"adcli.{MODULES[name]}")
        made: click.Command = getattr(module, f"{name}_command", None) or module.command
        made.short_help = SHORT_HELP[name]
        return made

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem
        found = [CompletionItem(name, help=SHORT_HELP[name]) for name in VERBS if name.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of verbs, for which none of their modules is loaded."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, SHORT_HELP[name]) for name in VERBS])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not ctx.resilient_parsing:
            fault = no_verb(args[0], VERBS)
            if args[0] == "-" or os.path.exists(args[0]):
                fault.help = f"the verb comes first: adcli grad {args[0]}"
            elif is_formula(args[0]):
                fault.help = f"the verb comes first: adcli grad -e {quoted(args[0])}"
            raise fault
        return super().resolve_command(ctx, args)


@click.command(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, "--version", prog_name="adcli")
def cli() -> None:
    """Values and derivatives of formulas, and programs that compute them.

    PROGRAM is a file of assignments, FILE.py:FUNCTION, FILE.nl, - for standard input, or -e 'v = x*sin(y)'.

    Example: adcli grad -e 'v = x*sin(y)' --at x=2,y=5
    """


def run(args: list[str]) -> int:
    """Run one command; returns its exit code. Where there is no memory left to say what went wrong as anything else is said, a
    system call of its own does."""
    try:
        return _reported(args)
    except (MemoryError, SystemError, ImportError):   # what Python raises where its own steps get no memory
        os.write(2, b"adcli: error: not enough memory for this program\n")
        return 2


def _reported(args: list[str]) -> int:
    """The exit code of one command. Everything that can go wrong is reported here."""
    try:
        code = _exit_code(args)
        sys.stdout.flush()
        return code
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except (click.Abort, KeyboardInterrupt):
        return 130
    except click.ClickException as error:
        say(f"adcli: {said(error)}")
        return 2
    except AdError as error:
        say(str(error) if error.source else f"adcli: {error}")
        return 3 if error.source and not isinstance(error, Unfit) else 2
    except (NobodyReads, BrokenPipeError):
        _abandon_stdout()
        return 0
    except OSError as error:
        _abandon_stdout()
        where = f"{_name(error.filename)}: " if error.filename else ""
        say(f"adcli: error: {where}{error.strerror or error}")
        return 2
    except MemoryError as error:
        say(f"adcli: error: {str(error) or 'not enough memory for this program'}")
        return 2
    except ImportError as error:
        say(f"adcli: error: {exhausted() or f'the installation cannot be read: {error}'}")
        return 2
    except BaseException as error:
        if type(error).__name__ == "PanicException":   # of polars, which has said why; no Exception, and in no module
            say(f"adcli: error: polars has given up: {error}")
            return 2
        if little := exhausted():
            say(f"adcli: error: {little}")
            return 2
        return _defect(error)


def _exit_code(args: list[str]) -> int:
    if "_ADCLI_COMPLETE" in os.environ:
        from adcli.command.completion import answer
        return answer(cli)
    if not args:
        with cli.make_context("adcli", ["--help"], resilient_parsing=True) as context:
            say(cli.get_help(context))
        return 2
    if "-AMPL" in args:
        from adcli.solvers.ampl import translated  # which loads NumPy
        args = translated(args)
    code = cli.main(args, prog_name="adcli", standalone_mode=False)
    return code if isinstance(code, int) else 0


def _defect(error: BaseException) -> int:
    """Report a defect of adcli; ADCLI_TRACEBACK=1 shows where."""
    if os.environ.get("ADCLI_TRACEBACK"):
        import traceback
        traceback.print_exc()
    say(f"adcli {__version__}: internal error: {type(error).__name__}: {error}\n"
         "help: this is a defect of adcli; please report it with the program and the command line"
         " (ADCLI_TRACEBACK=1 shows where it happened)")
    return 70


def _name(filename: object) -> str:
    return one_line(os.fsdecode(filename) if isinstance(filename, str | bytes) else str(filename))


def _abandon_stdout() -> None:
    """Nobody reads any more, or nothing more fits: what is still buffered goes nowhere, quietly."""
    with contextlib.suppress(OSError, ValueError, NobodyReads):
        sys.stdout.flush()
        return
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> None:
    """The command line of this process; ends it."""
    codes: list[int] = []
    try:
        if callable(signal.getsignal(signal.SIGINT)):   # else the process is to ignore it, as under nohup
            signal.signal(signal.SIGINT, signal.default_int_handler)
        for name in ENDED_BY:
            if (number := getattr(signal, name, None)) and signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _ended)
        set_up()
        worker = _started(lambda: codes.append(run(sys.argv[1:])))
        while worker and worker.is_alive():
            worker.join(0.2)   # a library's signal handler (polars has one) can keep a signal from ending a wait
        if not worker:
            codes.append(run(sys.argv[1:]))
        leave(codes[0] if codes else 70)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        discard_unfinished()
        os._exit(130)
    except (OSError, MemoryError) as error:   # before there is anything to run
        say(f"adcli: error: {error or 'not enough memory'}")
        leave(2)


def _ended(number: int, frame: object) -> None:
    """End by a signal as any process does, but leave nothing behind."""
    discard_unfinished()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def set_up() -> None:
    """Three streams, room for the libraries, few looks for cycles, and an end where a thread dies that others may wait for."""
    threading.excepthook = _lost
    standard.set_up()
    watch_loading()
    gc.set_threshold(*COLLECT)


def _lost(died: threading.ExceptHookArgs) -> None:
    """A thread has ended by itself, as for want of memory outside all that catches it: so does the process."""
    error = died.exc_value
    if error is None or isinstance(error, MemoryError):
        say("adcli: error: not enough memory for this program")
    code = 2 if error is None or isinstance(error, MemoryError) else _defect(error)
    discard_unfinished()
    leave(code)


def leave(code: int) -> None:
    """End the process at once: taking the interpreter apart takes as long as the work of a short run."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, NobodyReads):
            stream.flush()
    os._exit(code)


def _started(work: Callable[[], object]) -> threading.Thread | None:
    """A thread that does the work, with a deep stack where memory is not too short for one; None where there is no thread."""
    for size in (STACK_BYTES, 0):
        threading.stack_size(size)
        worker = threading.Thread(target=work, daemon=True)
        with contextlib.suppress(RuntimeError):
            worker.start()
            return worker
    return None
