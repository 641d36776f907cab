"""The verb editor: what makes an editor show programs in colour."""
from __future__ import annotations

import json
import os
import plistlib
from collections.abc import Callable
from dataclasses import dataclass

import click

from adcli.command.options import Options, option, takes
from adcli.command.usage import WRITTEN, Command, OneOf
from adcli.lang.ir.errors import AdError
from adcli.output.streams import destination


def textmate() -> str:
    from adcli.editors.textmate import grammar
    return json.dumps(grammar(), indent=2, ensure_ascii=False) + "\n"


def sublime() -> str:
    """The same grammar as Sublime Text and TextMate read it."""
    from adcli.editors.textmate import grammar
    return plistlib.dumps({key: value for key, value in grammar().items() if key != "$schema"}).decode()


def vim() -> str:
    from adcli.editors.vim import syntax
    return syntax()


TEXTS: dict[str, Callable[[], str]] = {"textmate": textmate, "sublime": sublime, "vim": vim}
"""What is one file."""
FOLDER = "vscode"
"""What is a folder of files."""


@dataclass(frozen=True, kw_only=True)
class EditorOptions(Options):
    """What editor is told."""

    editor: str


@click.command("editor", cls=Command, examples=("adcli editor textmate", "adcli editor vim"))
@click.argument("editor", type=OneOf("editor", (FOLDER, *TEXTS)))
@option(WRITTEN, "-o", "--output", metavar="PATH", help="Write to this file; for vscode, into this folder.")
@takes(EditorOptions)
def command(options: EditorOptions) -> int:
    """Colours for programs in an editor: an extension of VS Code, a grammar of TextMate, a syntax file of Vim.

    vscode writes a folder, adcli editor vscode -o DIR; the others write one file, on standard output without -o. adcli help
    editors says where each belongs.
    """
    if options.editor == FOLDER:
        write_folder(options.output)
        return 0
    with destination(options.output) as stream:
        stream.write(TEXTS[options.editor]().encode())
    return 0


def write_folder(folder: str | None) -> None:
    """Write the extension of VS Code; other files that are in the folder stay."""
    from adcli.editors.vscode import files
    if not folder or folder == "-":
        raise AdError(f"{FOLDER} is a folder of files", help=f"name it: adcli editor {FOLDER} -o adcli-vscode")
    for name, text in files().items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with destination(path) as stream:
            stream.write(text.encode())
