"""The verb editor: what makes an editor show programs in colour."""
from __future__ import annotations

import json
import os
import plistlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from adcli.command.options import option, takes
from adcli.command.usage import WRITTEN, Command, OneOf
from adcli.editors.grammars import SCOPE, grammar, syntax
from adcli.input.settings import Options
from adcli.lang.ir.errors import AdError
from adcli.output.streams import destination
from adcli.output.version import __version__


def json_text(content: object) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def sublime() -> str:
    """The grammar as Sublime Text and TextMate read it."""
    return plistlib.dumps({key: value for key, value in grammar().items() if key != "$schema"}).decode()


TEXTS: dict[str, Callable[[], str]] = {"textmate": lambda: json_text(grammar()), "sublime": sublime, "vim": syntax}
"""Editors whose grammar is one file."""
FOLDER = "vscode"
"""The editor whose extension is a folder."""


@dataclass(frozen=True, kw_only=True)
class EditorOptions(Options):
    """Options of editor."""

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
    if not folder or folder == "-":
        raise AdError(f"{FOLDER} is a folder of files", help=f"name it: adcli editor {FOLDER} -o adcli-vscode")
    for name, text in files().items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with destination(path) as stream:
            stream.write(text.encode())


LANGUAGE = "adcli"
README = """# adcli for Visual Studio Code

Colours, comments and brackets for programs of adcli (`*.ad`), and what `adcli lsp` knows of them: faults with their fixes,
derivatives, definitions, completion, formatting. Made by `adcli editor vscode`; to install it, see `adcli help editors`.
"""


def files() -> dict[str, str]:
    """The files of the extension by their names in its folder."""
    written = {"package.json": manifest(), "language-configuration.json": configuration(),
               "syntaxes/adcli.tmLanguage.json": grammar()}
    client = Path(__file__).with_name("extension.js").read_text(encoding="utf-8")
    return {"README.md": README, "extension.js": client, **{name: json_text(content) for name, content in written.items()}}


def manifest() -> dict[str, Any]:
    """Manifest of the extension: code.visualstudio.com/api/references/extension-manifest."""
    return {
        "name": "adcli", "displayName": "adcli",
        "description": "Programs of adcli: colours, faults with their fixes, derivatives, completion",
        "publisher": "adcli", "version": ".".join(__version__.split(".")[:3]), "engines": {"vscode": "^1.75.0"},
        "categories": ["Programming Languages"], "main": "./extension.js", "activationEvents": [f"onLanguage:{LANGUAGE}"],
        "capabilities": {"untrustedWorkspaces": {"supported": True}, "virtualWorkspaces": True},
        "contributes": {
            "configuration": {"title": "adcli", "properties": {"adcli.server": {
                "type": "array", "items": {"type": "string"}, "scope": "machine",
                "default": [sys.executable, "-m", "adcli", "lsp"],
                "description": "The command of the language server, which needs pygls; [] for none."}}},
            "commands": [{"command": "adcli.restart", "title": "Restart the language server", "category": "adcli"}],
            "languages": [{"id": LANGUAGE, "aliases": ["adcli", "ad"], "extensions": [".ad"],
                           "firstLine": r"^#!.*\badcli\b", "configuration": "./language-configuration.json"}],
            "grammars": [{"language": LANGUAGE, "scopeName": SCOPE, "path": "./syntaxes/adcli.tmLanguage.json"}],
        },
    }


def configuration() -> dict[str, Any]:
    """Comments, brackets, words and indentation: code.visualstudio.com/api/language-extensions/language-configuration-guide."""
    pairs = [["(", ")"], ["[", "]"], ["{", "}"]]
    return {
        "comments": {"lineComment": "#"}, "brackets": pairs,
        "autoClosingPairs": [{"open": a, "close": b, "notIn": ["comment"]} for a, b in pairs], "surroundingPairs": pairs,
        "wordPattern": r"[\p{L}\p{Nl}_][\p{L}\p{M}\p{N}_]*",
        "indentationRules": {"increaseIndentPattern": r"^[^#]*[{(\[]\s*(#.*)?$", "decreaseIndentPattern": r"^\s*[})\]]"},
    }
