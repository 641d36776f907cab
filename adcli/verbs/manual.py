"""The verbs help and functions: chapters of the manual, the help of other verbs, and the table of primitives."""
from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adcli.command.usage import WRITTEN, Command, OneOf, Option, full_help, options_of
from adcli.lang.ir.errors import AdError, unknown
from adcli.output.streams import columns_of, say
from adcli.output.version import __version__

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from adcli.manual.functions import FunctionFacts


def completions(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Topics and verbs that begin so, for the shell."""
    from click.shell_completion import CompletionItem

    from adcli.manual import TOPICS, heading
    found = [CompletionItem(t, help=heading(t)) for t in TOPICS]
    found += [CompletionItem(v) for v in verbs(context) if v not in TOPICS]
    return [item for item in found if item.value.startswith(incomplete)]


@click.command("help", cls=Command, examples=("adcli help exit codes", "adcli help grad", "adcli help bounds"))
@click.argument("topic", nargs=-1, shell_complete=completions)
@click.option("--html", "folder", cls=Option, group=WRITTEN, metavar="DIR",
              help="Write the whole manual as pages of HTML into DIR.")
@click.pass_context
def help_command(context: click.Context, topic: tuple[str, ...], folder: str | None) -> int:
    """A chapter of the manual, or every option of a verb; without TOPIC, the list of them. Any other word is looked for.

    On a terminal the text goes through $PAGER (less) and is coloured unless NO_COLOR is set; see adcli help environment.
    """
    if folder is not None:
        return pages(context, folder, topic)
    from adcli.manual.search import subject
    show(text(context, subject(re.sub(r"[-_\s]+", " ", " ".join(topic))).replace(" ", "-")))
    return 0


def pages(context: click.Context, folder: str, topic: tuple[str, ...]) -> int:
    """Write the manual into a folder."""
    from adcli.manual.pages import write_pages
    from adcli.pictures.picture import require_package
    if topic:
        raise AdError("--html writes the whole manual", help=f"adcli help --html {folder}")
    helps = {}
    for name in verbs(context):
        with verb(context, name) as inner:
            helps[name] = full_help(inner)
    cli, drawing = context.find_root().command, True
    try:
        require_package("svg")
    except AdError as fault:
        drawing = False
        say(f"note: the pages have no pictures: {fault.message}\nhelp: {fault.help}")
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):   # what fit prints, too
        count = write_pages(Path(folder), helps, lambda args: drawing and cli.main([*args, "-q"], "adcli", standalone_mode=False))
    sys.stderr.write(f"{count} pages: {Path(folder) / 'index.html'}\n")
    return 0


def text(context: click.Context, topic: str) -> str:
    """Text of a topic; the list of topics for none."""
    from adcli.manual import TOPICS, chapter
    from adcli.manual.markdown import blocks, render
    from adcli.output.colour import wanted
    width = columns_of(None) or shutil.get_terminal_size().columns
    styled = wanted(sys.stdout)
    if not topic:
        return render(blocks(contents(context)), width, styled)
    parts = [render(chapter(topic), width, styled)] if topic in TOPICS else []
    if topic in verbs(context):
        with verb(context, topic) as inner:
            parts.append(f"{full_help(inner)}\n")
    if parts:
        return "\n".join(parts)
    if found := findings(context, topic):
        return render(blocks(found), width, styled)
    from adcli.command.synonyms import VERB_SYNONYMS
    raise unknown("topic", topic, [*TOPICS, *(v for v in verbs(context) if v not in TOPICS)], VERB_SYNONYMS)


def findings(context: click.Context, topic: str) -> str:
    """Where functions, options and the manual have a word, as Markdown; nothing where none has."""
    from adcli.command.synonyms import VERB_SYNONYMS
    from adcli.manual import table
    from adcli.manual.functions import functions, names
    from adcli.manual.search import about, other, places
    words = topic.replace("-", " ")
    rows = [(f"`adcli functions {topic}`", f.about) for f in functions(topic)[:1]] if topic in names() else []
    rows += [(f"`adcli help {VERB_SYNONYMS[topic]}`", "the verb, with its options")] if topic in VERB_SYNONYMS else []
    rows += places(words)
    options: dict[str, list[str]] = {}
    for name in verbs(context):
        with verb(context, name) as inner:
            for option in options_of(inner).values():
                if any(about(w, f"{option.opts[-1].lstrip('-')} {option.help}") for w in (words, other(words)) if w):
                    options.setdefault(option.opts[-1], []).append(name)
    rows += [(f"`adcli {of[0]} --help-all`", f"`{name}`, an option of {', '.join(of)}") for name, of in options.items()]
    return f"# {words}\n\n{table(('where', 'about'), iter(rows))}" if rows else ""


def contents(context: click.Context) -> str:
    """The list of topics, as Markdown."""
    from adcli.manual import GUIDES, REFERENCE, heading, table
    guides, reference = (table(("topic", "about"), ((t, heading(t)) for t in topics)) for topics in (GUIDES, REFERENCE))
    return (f"# adcli {__version__}: the manual\n\n"
            f"Read a chapter with `adcli help TOPIC`, look a word up with `adcli help WORD`.\n\n"
            f"## Start here, and how do I …\n\n{guides}\n## Reference\n\n{reference}\n"
            f"`adcli help VERB` shows the options of a verb: {', '.join(verbs(context))}.\n")


def verbs(context: click.Context) -> list[str]:
    """The names of all verbs, which the group knows."""
    group = context.find_root().command
    return group.list_commands(context.find_root()) if isinstance(group, click.Group) else []


def verb(context: click.Context, name: str) -> click.Context:
    """The context in which a verb shows its help as `adcli VERB --help` does."""
    root = context.find_root()
    assert isinstance(root.command, click.Group)
    found = root.command.get_command(root, name)
    assert found is not None, name
    return click.Context(found, info_name=name, parent=root)


def show(text: str) -> None:
    """Write a text; on a terminal, through the pager."""
    pager = os.environ.get("PAGER", "less")
    program = next((word for word in pager.split() if "=" not in word), "")
    reader = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    if not reader or pager == "cat" or not shutil.which(program):
        click.echo(text, nl=False, color=True)   # as it is: the codes in it are wanted
    elif os.name != "posix":
        click.echo_via_pager(text)
    else:
        become(pager, text)


def become(pager: str, text: str) -> None:
    """Become the pager, which reads the text from a file without a name: Ctrl-C is then the pager's own business."""
    with tempfile.TemporaryFile() as file:
        file.write(text.encode())
        file.seek(0)
        os.dup2(file.fileno(), 0)
    os.execvpe("sh", ["sh", "-c", pager], {"LESS": "FRX", **os.environ})


def function_completions(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Functions whose names begin so, for the shell."""
    from click.shell_completion import CompletionItem

    from adcli.manual.functions import names
    return [CompletionItem(name) for name in names() if name.startswith(incomplete)]


@click.command("functions", cls=Command, examples=("adcli functions atan2", "adcli functions --format json"))
@click.argument("name", required=False, shell_complete=function_completions)
@click.option("--format", "form", cls=Option, group=WRITTEN, type=OneOf("format", ("text", "json")), default="text",
              help="Text, or one JSON object per function.")
def functions_command(name: str | None, form: str) -> int:
    """Every function of the language with its domain, its derivative, and where it is not smooth; or one in detail.

    Everything comes from the table that differentiation itself uses.
    """
    from adcli.manual.functions import functions, names
    found = functions(name)
    if not found:
        from adcli.lang.suggest.counterparts import EXPRESSIONS, NONE_HERE, SYNONYMS
        if name in NONE_HERE:
            from adcli.lang.ir.errors import AdError
            raise AdError(f"no function '{name}'", help="it has no counterpart here: `adcli functions` lists those there are")
        here = {word: forms[-1].choices[0][0] for (word, _), forms in EXPRESSIONS.items()}
        raise unknown("function", str(name), names(), here | SYNONYMS)
    columns = columns_of(None)
    if form == "json":
        text = "".join(json.dumps(record(f), ensure_ascii=False) + "\n" for f in found)
    elif name is None:
        from adcli.manual import function_table
        from adcli.manual.markdown import blocks, render
        text = render(blocks(function_table()), columns or shutil.get_terminal_size().columns)
    else:
        from adcli.output.wrap import fitted
        text = fitted("\n".join(detail(f) for f in found), columns)
    sys.stdout.write(text)
    return 0


def record(f: FunctionFacts) -> dict[str, Any]:
    """A function as JSON."""
    return {"name": f.name, "form": f.form, "arguments": f.arguments, "about": f.about, "latex": f.latex,
            "domain": f.domain or None, "derivatives": dict(f.derivatives), "rule": dict(f.rule),
            "status": [{"level": s.level, "where": s.where, "wrt": s.wrt} for s in f.status]}


def detail(f: FunctionFacts) -> str:
    """All that is known of one function."""
    lines = [f"{f.form}: {f.about}", f"  domain      {f.domain or 'every number'}"]
    for x, text in f.derivatives.items():
        lines.append(f"  d/d{x:8s} {text}{f' for {f.example}' if f.example else ''}")
        if f.rule.get(x, text) != text:
            lines.append(f"    exactly   {f.rule[x]}")
    lines += [f"  {s.level:11s} {f'by {s.wrt} ' if s.wrt else ''}where {s.where}" for s in f.status]
    return "\n".join(lines) + "\n"
