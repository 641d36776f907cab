"""The verb explore: one file of HTML about a program, which loads nothing and lets nothing else run.

The scripts in `page/` are ES modules, each of which imports only from those before it in `SCRIPTS`; they are joined into one,
as a page that is opened from a disk can import none. The policy in the head of the page (Content Security Policy, level 3) names
the scripts and the styles by their hashes, and allows no other source of anything. What comes from a program stands in the data
alone, where no text can end the element that it is in; the scripts make texts of it, never markup.
"""
from __future__ import annotations

import base64
import hashlib
import html
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePath
from string import Template
from typing import Any

import click

from adcli.command.options import derivative_options, option, output_option, program_options, quiet_option, takes
from adcli.command.usage import WHERE, WRITTEN, Command
from adcli.explore.data import document, packed
from adcli.input.points import one_point
from adcli.input.settings import Options
from adcli.lang.ir.errors import AdError, Source, shortened
from adcli.lang.lower.frontend import parse_source
from adcli.output.streams import STDOUT, descriptor, packed_destination

LONGEST_TITLE = 60
"""Characters of a title that is the beginning of a program."""


@dataclass(frozen=True, kw_only=True)
class ExploreOptions(Options):
    """The options of explore."""

    quiz: bool


@click.command("explore", cls=Command,
               examples=("adcli explore samples/worked.ad --at x=2,y=5", "adcli explore -e 'v = x*sin(x)' --at x=2"))
@program_options
@derivative_options
@option(WHERE, "--at", "at", multiple=True, metavar="POINT",
        help="The point to begin at: x=2,y=5; A=@matrix.npy for a tensor; @point.json.")
@option(WRITTEN, "--quiz", help="Ask for every value before it is shown, and count the answers.")
@output_option
@quiet_option
@takes(ExploreOptions)
def command(options: ExploreOptions) -> int:
    """A page for a browser: the program, its derivatives, its graph and its evaluation table, linked and alive.

    Sliders move the inputs, and steps go forwards through the values and backwards through the adjoints. The page is one file,
    which loads nothing and needs no network: adcli explore model.ad -o model.html.
    """
    if descriptor(options.output) == STDOUT and sys.stdout.isatty():
        raise AdError("refusing to write a page to a terminal; use -o FILE.html")
    source = options.source
    made, evaluator = document(source, start(source, options), options.outputs, options.inputs)
    text = page(title(source, options), made | {"quiz": options.quiz}, evaluator)
    with packed_destination(options.output) as stream:
        stream.write(text.encode())
    return 0


def title(source: Source, options: ExploreOptions) -> str:
    """The name of the file; where there is none, how the program begins."""
    if options.program not in (None, "-"):
        return PurePath(source.name).name
    return shortened(source.text.strip().partition("\n")[0], LONGEST_TITLE) or source.name


def start(source: Source, options: ExploreOptions) -> dict[str, Any] | None:
    """The point that the page begins with, where one is given."""
    if not options.at:
        return None
    return one_point(parse_source(source).params, options.at, options.remark, source,
                     "a page begins at one point", "give one; the sliders reach the others")


# ---------------------------------------------------------------- the file

FOLDER = Path(__file__).parent / "page"
SCRIPTS = ("dom", "typeset", "numbers", "state", "words", "panes", "quiz", "model", "controls", "stepper", "windowed", "code",
           "table", "graph", "tensors", "main")
"""The modules, each after those that it imports."""
IMPORT = re.compile(r'^import \{[^}]*\} from "\./\w+\.js";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (const|function) (\w+)", re.MULTILINE)
ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}
"""Escapes of characters that would be read as markup, or in old engines as the end of a line."""


def page(title: str, document: dict[str, Any], evaluator: str) -> str:
    """The page about a program: `document` is what it shows, `evaluator` the script that computes it."""
    style, script = part("page.css"), joined(part(f"{name}.js") for name in SCRIPTS)
    return Template(part("page.html")).substitute(
        policy=policy([evaluator, script], style), title=html.escape(title), style=style, script=script, evaluator=evaluator,
        document=packed(document).translate(ESCAPES))


def part(name: str) -> str:
    """A file of the folder."""
    return (FOLDER / name).read_text(encoding="utf-8")


def joined(modules: Iterable[str]) -> str:
    """Modules as one script: each a function that gives what it exports, the rest of it being nobody else's."""
    return '(async () => {\n"use strict";\n' + "\n".join(map(enclosed, modules)) + "})();\n"


def enclosed(module: str) -> str:
    """A module as the declaration of the names that it exports."""
    names = ", ".join(name for _, name in EXPORT.findall(module))
    body = EXPORT.sub(r"\1 \2", IMPORT.sub("", module)).strip("\n")
    return f"{f'const {{{names}}} = ' if names else ''}await (async () => {{\n{body}\nreturn {{{names}}};\n}})();\n"


def policy(scripts: Iterable[str], style: str) -> str:
    """The page's policy: run these scripts, use this style and pictures of its own."""
    allowed = " ".join(map(hashed, scripts))
    return (f"default-src 'none'; script-src {allowed}; style-src {hashed(style)}; img-src data:; base-uri 'none';"
            " form-action 'none'")


def hashed(text: str) -> str:
    """The text of an element as a source in a policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
