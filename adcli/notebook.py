"""adcli in notebooks of Jupyter and in IPython, after `%load_ext adcli`.

    %%ad f                             the program in the cell as a Function f
    %%ad f grad --at x=2,y=5           and what a verb of the shell says of it, with its options
    %ad grad f --at x=3,y=5            a verb about a Function of the notebook, or about a file

What is wrong is said as the shell says it, and where in the notebook, without a traceback; the cell has failed.
"""
from __future__ import annotations

import os
import shlex
import subprocess
import sys
import traceback
from collections.abc import Iterator
from itertools import takewhile
from keyword import iskeyword
from typing import Any

from adcli.api.function import Function, compile
from adcli.lang.ir.errors import AdError, missing
from adcli.task.verbs import VERBS

RENDERER = "_render_traceback_"
"""The method by which IPython asks an exception how it is shown."""


class VerbFailed(Exception):
    """A verb has ended with another exit code than 0; the text is what it said on standard error."""


def load(shell: Any) -> None:
    """Load the extension of IPython."""
    try:
        import IPython  # noqa: F401
    except ModuleNotFoundError:
        raise missing("%load_ext adcli", "ipython") from None

    def ad(line: str, cell: str | None = None) -> None:
        """%%ad NAME [VERB] [OPTIONS]: the program in the cell as a Function, and what a verb says of it; %ad VERB …: a verb."""
        try:
            words = shlex.split(line)
        except ValueError as error:
            raise AdError(f"%ad {line}: {str(error).lower()}", help="write %%ad f, or %%ad f grad --at x=2,y=5") from None
        if cell is None:
            run_line(words, shell.user_ns)
        else:
            run_cell(words, cell, shell.user_ns)

    def rendered(error: Exception) -> list[str]:
        return [*places(error, shell), *str(error).split("\n")]

    shell.register_magic_function(ad, "line_cell", "ad")
    for kind in (AdError, VerbFailed):
        setattr(kind, RENDERER, rendered)


def unload(shell: Any) -> None:
    """Unload the extension of IPython."""
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("ad", None)
    for shown in (AdError, VerbFailed):
        if RENDERER in vars(shown):
            delattr(shown, RENDERER)


def run_cell(words: list[str], cell: str, variables: dict[str, Any]) -> None:
    """The program in a cell gets a name, and a verb is asked about it where one is given, or options of eval."""
    name, *rest = words or [""]
    if name in VERBS or (not name.startswith("_") and hasattr(Function, name)):
        raise AdError(f"%%ad {name}: the first word is the name of the Function", help=f"write %%ad f {shlex.join(words)}")
    if not name.isidentifier() or iskeyword(name):
        raise AdError(f"%%ad: '{name}' is no name for a Function" if name else "%%ad: no name for the Function",
                      help="write %%ad f, or %%ad f grad --at x=2,y=5")
    f = variables[name] = compile(cell, f"%%ad {name}")
    if not rest:
        print(f"{name} = {f!r}")
        return
    verb, options = ("eval", rest) if rest[0].startswith("-") else (rest[0], rest[1:])
    run_verb([verb, "-", *options], cell)


def run_line(words: list[str], variables: dict[str, Any]) -> None:
    """A verb; behind it the name of a Function of the notebook, if there is no such file, stands for its program."""
    named = words[1] if len(words) > 1 and not os.path.exists(words[1]) else ""
    if isinstance(f := variables.get(named), Function):
        run_verb([words[0], "-", *words[2:]], f.text())
    else:
        run_verb(words, None)


def run_verb(words: list[str], text: str | None) -> None:
    """Run a command of the shell, the text of a program on standard input."""
    given: dict[str, Any] = {"stdin": subprocess.DEVNULL} if text is None else {"input": text}
    try:
        done = subprocess.run([sys.executable, "-P", "-m", "adcli", *words], **given, capture_output=True, encoding="utf-8",
                              errors="replace", check=False)
    except (OSError, ValueError) as error:   # too long for an argument, or a byte 0
        raise AdError(f"no process takes these options: {error}") from None
    sys.stdout.write(done.stdout)
    if done.returncode:
        raise VerbFailed(done.stderr.rstrip("\n") or f"adcli {words[0]}: exit code {done.returncode}")
    sys.stderr.write(done.stderr)


def places(error: BaseException, shell: Any) -> Iterator[str]:
    """The line of the notebook, or of a file, that called adcli; none where a magic did."""
    calls = [(frame.f_code.co_filename, str(frame.f_globals.get("__name__")).partition(".")[0], line)
             for frame, line in traceback.walk_tb(error.__traceback__)]
    callers = list(takewhile(lambda call: call[1] != "adcli", calls))
    file, module, line = callers[-1] if callers else ("", "IPython", 0)
    if module == "IPython":
        return
    import linecache
    named = shell.compile.format_code_name(file)
    yield f"{' '.join(named) if named else file}, line {line}: {linecache.getline(file, line).strip()}"
