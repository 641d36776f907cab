"""The verb functions: what the table of primitives says of every function."""
from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING, Any

import click

from adcli.command.usage import WRITTEN, Command, OneOf, Option, unknown
from adcli.output.streams import columns_of

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from adcli.manual.functions import FunctionFacts


def completions(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Functions whose names begin so, for the shell."""
    from click.shell_completion import CompletionItem

    from adcli.manual.functions import names
    return [CompletionItem(name) for name in names() if name.startswith(incomplete)]


@click.command("functions", cls=Command, examples=("adcli functions atan2", "adcli functions --format json"))
@click.argument("name", required=False, shell_complete=completions)
@click.option("--format", "form", cls=Option, group=WRITTEN, type=OneOf("format", ("text", "json")), default="text",
              show_default=True, help="Text, or one JSON object per function.")
def command(name: str | None, form: str) -> int:
    """Every function of the language with its domain, its derivative, and where it is not smooth; or one in detail.

    Everything comes from the table that differentiation itself uses.
    """
    from adcli.manual.functions import functions, names
    found = functions(name)
    if not found:
        from adcli.lang.lower.counterparts import EXPRESSIONS, NONE_HERE, SYNONYMS
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
        from adcli.manual.markdown import blocks
        from adcli.manual.terminal import render
        text = render(blocks(function_table()), columns or shutil.get_terminal_size().columns)
    else:
        from adcli.output.fitting import fitted
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
