"""A folder that is an extension of VS Code: the language, its grammar, its brackets and comments, and a client of the language
server, which is `extension.js` beside this file."""
from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from adcli.editors.textmate import SCOPE, grammar
from adcli.output.version import __version__

LANGUAGE = "adcli"
README = """# adcli for Visual Studio Code

Colours, comments and brackets for programs of adcli (`*.ad`), and what `adcli lsp` knows of them: faults with their fixes,
derivatives, definitions, renaming, completion. Made by `adcli editor vscode`; to install it, see `adcli help editors`.
"""


def files() -> dict[str, str]:
    """The files of the extension by their names in its folder."""
    written = {"package.json": manifest(), "language-configuration.json": configuration(),
               "syntaxes/adcli.tmLanguage.json": grammar()}
    client = Path(__file__).with_name("extension.js").read_text(encoding="utf-8")
    return {"README.md": README, "extension.js": client, **{name: json.dumps(content, indent=2, ensure_ascii=False) + "\n"
                                    for name, content in written.items()}}


def manifest() -> dict[str, Any]:
    """What VS Code reads first: code.visualstudio.com/api/references/extension-manifest."""
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
