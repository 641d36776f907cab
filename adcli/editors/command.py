"""The verb editor: what makes an editor show programs in colour."""
from __future__ import annotations

import json
import os
import plistlib
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from adcli.command.options import option, takes
from adcli.command.usage import WRITTEN, Command, OneOf
from adcli.editors.kinds import CALLED, KINDS, NAMING, OF_TERMINAL, TokenKind, keywords, words
from adcli.input.settings import Options
from adcli.lang.ir.errors import AdError
from adcli.lang.syntax.scan import BEHIND_OBJECTIVE, HEADER_WORDS, INVISIBLE, OPERAND_END, TERMINALS
from adcli.output.streams import destination
from adcli.output.version import __version__


def json_text(content: object) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def sublime() -> str:
    """The grammar as Sublime Text and TextMate read it."""
    return plistlib.dumps({key: value for key, value in grammar().items() if key != "$schema"}).decode()


TEXTS: dict[str, Callable[[], str]] = {"textmate": lambda: json_text(grammar()), "sublime": sublime, "vim": lambda: syntax()}
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


# ---------------------------------------------------------------- grammars

SCOPE = "source.adcli"
FULL = r"[^ \t\f\x0B\r\n]"
"""A character that is no blank; a line of an engine may have its end."""
SEEN = "(?!" + re.sub(r"\\[uU]0*([0-9a-f]+)", r"\\x{\1}", INVISIBLE) + ")"
FIRST, FURTHER = r"_\p{L}\p{Nl}", r"_\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}"
"""Characters of names, by categories of Unicode (as ID_Start and ID_Continue of its annex 31, but for some 30 characters)."""
NAME = rf"{SEEN}[{FIRST}](?:{SEEN}[{FURTHER}])*"
ENDED = rf"(?!{SEEN}[{FURTHER}])"
"""Behind a word."""


def grammar() -> dict[str, Any]:
    """The grammar, as JSON has it."""
    return {
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": "adcli", "scopeName": SCOPE, "fileTypes": ["ad"], "uuid": "5b2f4a7e-3c0e-4d0b-9a53-1f6c2f6f0a11",
        "patterns": [{"include": "#token"}],
        "repository": {"token": {"patterns": rules(AFTER)}, "header": {"patterns": [AGAIN, *rules(HEADER)]},
                       "comment": rule(TERMINALS["COMMENT"], KINDS["comment"])},
    }


def rules(behind: str) -> list[dict[str, Any]]:
    """A rule for each shape, in the order in which they are tried where an operand is wanted; `behind` ends an operand."""
    named = [operand(rf"(?:{'|'.join(known)}){ENDED}(?={'|'.join(followed)})", kind, DUP if known == ("dup",) else behind)
             for kind, known, followed in words()]
    operands = [operand(shape, OF_TERMINAL[terminal], behind) for terminal, shape in
                (("NAME", NAME), ("NUMBER", TERMINALS["NUMBER"]), ("RPAR", TERMINALS["RPAR"]))]
    others = [rule(shape, OF_TERMINAL[terminal]) for terminal, shape in {**TERMINALS, "SEP": ";", "BAD": FULL}.items()
              if terminal not in OPERAND_END]
    return [*reserved(), *named, *operands, *others]


def reserved() -> list[dict[str, Any]]:
    """The rules of keywords, as far as they are keywords where an operand is wanted."""
    stated = rf"({'|'.join(keywords(KINDS['problem'])[:2])})(?={BEHIND_OBJECTIVE.pattern})|(subject)[ \t]+(to){ENDED}(?![ \t]*=)"
    return [
        {"match": rf"(?<=^|^ |^  |^   |^    |^\t|;|; |\}})(?:{stated})", "captures": captures("problem", "problem", "problem")},
        {"match": rf"(def){ENDED}(?:[ \t]+({NAME}))?", "captures": captures("definition", "defined")},
        {"match": rf"(,)(?:[ \t]*(exists){ENDED}(?=[ \t]+\w))?", "captures": captures("comma", "clause")},
        rule(rf"(?:not|(?:and|or)(?![ \t]*\()){ENDED}", KINDS["logical"]),
        rule(f"in{ENDED}", KINDS["clause"]),
        {"begin": rf"for{ENDED}(?=[ \t]+\w)", "beginCaptures": {"0": {"name": scope(KINDS["clause"])}}, "end": r"(?=\{)|$",
         "patterns": [{"include": "#header"}]},
        rule(f"(?:{'|'.join(keywords(KINDS['declaration']))}){ENDED}", KINDS["declaration"]),
    ]


def operand(shape: str, kind: TokenKind, after: str) -> dict[str, Any]:
    """The rule of an operand, open until the next token."""
    return {"begin": shape, "beginCaptures": {"0": {"name": scope(kind)}}, "patterns": [{"include": "#comment"}],
            "end": after, "endCaptures": captures("logical", "clause", "clause", "reduction", "augmented", "clause")}


def after(where: str) -> str:
    """End of an operand: what is a word or an operator only behind one, or the place of any other token."""
    return (r"^(?=[ \t]*(?:(?:min|max|lse)=|argm(?:in|ax)=!|where(?:\(|[ \t]*$)))"   # a statement begins
            rf"|(and|or){ENDED}"
            rf"|(where){ENDED}(?={where})(?:[ \t]+(exists){ENDED}(?=[ \t]+\w))?"
            r"|((?:(?:arg)?m(?:in|ax)|lse)=!)|((?:min|max|lse)=(?!=))"
            rf"|(?=(?!#){FULL})")


AFTER, DUP = after(r"[ \t]+\w|[ \t]*(?:\(|!(?!=)|[-+](?!=)|$)"), after(r"[ \t]+\w")


WORDS = rf"(?:{'|'.join(HEADER_WORDS)}){ENDED}"
HEADER = AFTER.replace("|(?=(?!#)", rf"|({WORDS})|(?=(?!#)")
"""In the header of a loop, which has words of its own."""


def rule(shape: str, kind: TokenKind) -> dict[str, Any]:
    return {"match": shape, "name": scope(kind)}


def captures(*kinds: str) -> dict[str, Any]:
    """The scopes of the groups of a shape."""
    return {str(i): {"name": scope(KINDS[kind])} for i, kind in enumerate(kinds, 1)}


def scope(kind: TokenKind) -> str:
    return f"{kind.scope}.adcli"


AGAIN = rule("(?<=" + "|".join(rf"[ \t]{word}[ \t]" for word in HEADER_WORDS if word != "until") + f"){WORDS}", KINDS["clause"])
"""A word of a header behind another one."""


HEAD = '''" Vim syntax file for programs of adcli (made by adcli editor vim)
if exists("b:current_syntax")
  finish
endif
'''
SHAPES = (
    ("wrong", r"[^[:alnum:]_[:blank:]]"),
    ("operator", r"[-+*/^<>%?:!=]\|&&\|||\|→"),
    ("bracket", r"[][(){}]"),
    ("comma", ","),
    ("end", ";"),
    ("name", r"\<\K\k*\>"),
    ("number", r"\k\@1<!\%(0[xX][0-9a-fA-F_]*\.\?[0-9a-fA-F_]*\%([pP][-+]\?\d\+\)\?\|\%(\d[0-9_]*\.\?[0-9_]*\|\.\d[0-9_]*\)"
               r"\%([eE][-+]\?\d[0-9_]*\)\?\)"),
    ("augmented", r"\%(\*\*\|[-+*/^]\|\<\%(min\|max\|lse\)\)==\@!"),
    ("reduction", r"\%([-+*/]\|\<\%(\%(arg\)\?m\%(in\|ax\)\|lse\)\)=!"),
    ("comment", "#.*$"),
)
"""Shapes in the regular expressions of Vim; of two that fit at one place it takes the later."""


AHEAD = {CALLED: r"\s*(", NAMING: r"\s\+\k"}
RESERVED = ("declaration", "definition", "clause", "logical")
"""Kinds that are words. They are keywords wherever they stand."""


def syntax() -> str:
    """The file `syntax/adcli.vim`."""
    lines = [matched(kind, shape) for kind, shape in SHAPES]
    lines += [matched(kind.name, rf"\<\%({either(known)}\)\>{ahead(followed)}") for kind, known, followed in words()]
    lines.append(matched("defined", r"\%(\<def\s\+\)\@8<=\K\k*"))
    lines += [f"syntax keyword {group(kind)} {' '.join(keywords(KINDS[kind]))}" for kind in RESERVED]
    lines.append(matched("clause", rf"\%(\<for\s.*\)\@<=\<\%({either(HEADER_WORDS)}\)\>\%(.*{{\)\@="))
    lines.append(matched("problem", r"\%(^\|;\)\s*\zs\%(m\%(in\|ax\)imize\ze\s\|subject\ze\s\+to\s\)"))
    lines.append(matched("problem", r"\%(\%(^\|;\)\s*subject\s\+\)\@<=to\ze\s"))
    used = sorted({*(kind for kind, _ in SHAPES), *(row.kind.name for row in words()), *RESERVED, "defined", "problem"})
    lines += [f"highlight default link {group(kind)} {KINDS[kind].vim}" for kind in used]
    return "\n".join([HEAD, *lines, "", 'let b:current_syntax = "adcli"', ""])


def matched(kind: str, shape: str) -> str:
    return f"syntax match {group(kind)} ~{shape}~"


def group(kind: str) -> str:
    return f"adcli{kind.capitalize()}"


def either(shapes: Iterable[str]) -> str:
    return r"\|".join(shapes)


def ahead(followed: tuple[str, ...]) -> str:
    return rf"\%({either(AHEAD[shape] for shape in followed)}\)\@=" if followed else ""
