"""The verb lsp."""
from __future__ import annotations

import sys
from importlib.util import find_spec

import click

from adcli.command.usage import OTHER, Command, Option
from adcli.lang.ir.errors import AdError, install, missing


@click.command("lsp", cls=Command, examples=("adcli lsp --capabilities", "adcli lsp --help"))
@click.option("--stdio", cls=Option, group=OTHER,
              help="Talk on standard input and output. There is no other way; some editors say it.")
@click.option("--capabilities", cls=Option, group=OTHER,
              help="List the requests that the server answers, and end.")
def command(stdio: bool, capabilities: bool) -> int:
    """The language server for editors: faults with their fixes, derivatives and shapes of what the pointer is on, definitions,
    completion, formatting.

    An editor starts it; `adcli help editors` has the settings. It needs pygls.
    """
    if find_spec("pygls") is None:
        raise missing("the language server", "pygls")
    if find_spec("pygls.lsp.server") is None:
        raise AdError("the language server needs pygls 2 or later", help=f"{install('pygls')} --upgrade")
    from adcli.lsp import server
    if capabilities:
        sys.stdout.write("".join(f"{method}\n" for method in sorted(server.ANSWERS)))
        return 0
    if sys.stdin.isatty():
        raise AdError("the language server talks to an editor, not to a terminal", help="adcli help editors has the settings")
    return server.serve()
