"""The shape of every verb's command line, and what is said when one is wrong: the same diagnostic as everywhere else.

click finds the faults; `said` turns them into an AdError, so that a mistyped option reads like a mistyped function. What
click lets pass and a user would not want is refused here: a second PROGRAM, an option given twice of which one is lost.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from adcli.input.programs import TABLE, VALUE, quoted
from adcli.lang.ir.errors import AdError, alike, unknown

PROGRAM, WHAT, WHERE, EMIT, WRITTEN, TRUST, OTHER = GROUPS = (
    "Program", "What is computed", "Points and rows", "A program instead of numbers", "Output", "How far to trust the numbers",
    "Other")
"""The purposes that help texts group options by, in their order."""
FEW = 12
"""Options that `adcli VERB --help` shows at most."""
WANTED_FIRST = (
    "--help", "--help-all", "--expression", "--at", "--data", "--y", "--params", "--equation", "--subject-to", "--predict",
    "--against", "--stage", "--tangent", "--cotangent", "--of", "--wrt", "--order", "--maximize", "--uncertainties", "--loss",
    "--interval", "--monte-carlo", "--second-order", "--correlation", "--coverage", "--plot", "--derivatives", "--points",
    "--rows", "--seconds", "--limit", "--returns", "--check", "--element", "--pattern", "--scaled", "--emit", "--format",
    "--output", "--status", "--explain", "--sum", "--mode", "--style", "--digits", "--fmt")
"""The order in which options are wanted: the first ones that a verb has are those that its short help shows."""


class Completed(click.Parameter):
    """A parameter that a shell completes by what its metavar says; the context has the table as its object."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        by = ctx.obj.by_metavar.get(self.metavar or self.human_readable_name)
        return by(ctx, incomplete) if by else super().shell_complete(ctx, incomplete)


class Operand(Completed, click.Argument):
    """An argument that is no option and no option's value."""


class Option(Completed, click.Option):
    """An option with the purpose that help texts list it under. One whose value has neither a name nor a type is a flag, and
    the help shows defaults."""

    def __init__(self, *args: Any, group: str = OTHER, **attributes: Any) -> None:
        own = {"is_flag": True} if attributes.keys().isdisjoint(("metavar", "type")) else {}
        super().__init__(*args, **{**own, "show_default": "default" in attributes, **attributes})
        self.group = group


def help_of_all(ctx: click.Context, parameter: click.Parameter, given: bool) -> None:
    """Write the help with every option, and end."""
    if given:
        click.echo(full_help(ctx), color=ctx.color)
        ctx.exit()


def full_help(ctx: click.Context) -> str:
    """The help of a command with every option."""
    ctx.meta[__name__] = None
    return ctx.get_help()


class Command(click.Command):
    """A command whose help has its options by purpose and ends with examples, and which refuses options given twice."""

    def __init__(self, *args: Any, examples: Sequence[str], **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.examples = tuple(examples)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        every = super().get_params(ctx)
        few = sum(isinstance(p, click.Option) for p in every) <= FEW
        return [*every, click.Option(["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=help_of_all,
                                     hidden=few, help="Show every option and exit.")]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [p for p in self.get_params(ctx) if isinstance(p, click.Option)]
        shown = sorted(options, key=place_of)[:ctx.meta.get(__name__, FEW)]
        groups: dict[str, list[tuple[str, str]]] = {group: [] for group in GROUPS}
        if any(p.name == "program" for p in self.params):
            groups[PROGRAM].append(("PROGRAM", "A file, - for standard input, or FILE.py:FUNCTION, FILE.c:FUNCTION."))
        for option in options:
            if option in shown and (record := option.get_help_record(ctx)):
                groups[getattr(option, "group", OTHER)].append(record)
        for group, records in groups.items():
            if records:
                with formatter.section(group):
                    formatter.write_dl(records)
        if len(shown) < len(options):
            formatter.write(f"\n{len(options) - len(shown)} more options: {ctx.command_path} --help-all\n")

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write(f"{'':{formatter.current_indent}}{example}\n")

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.resilient_parsing:   # for the shell, as far as it goes
            return super().parse_args(ctx, args)
        try:
            _, rest, order = self.make_parser(ctx).parse_args(list(args))
        except click.NoSuchOption as error:   # a word with one dash in front is its first letter to click
            letter = error.option_name
            words = (word.partition("=")[0] for word in args if word.startswith(letter))
            raise click.NoSuchOption(next((word for word in words if f"-{word}" in options_of(ctx)), letter), ctx=ctx) from None
        once = [p for p in order if isinstance(p, click.Option) and not p.multiple and not p.is_flag]
        for p in once:
            if once.count(p) > 1:
                raise AdError(f"{p.opts[0]} is given twice")
        if rest:
            spread = TABLE.search(rest[0]) and any(p.name == "data" for p in order)   # by the shell
            raise AdError(f"unexpected argument '{rest[0]}'{self._instead(rest[0])}",
                          help="quote a pattern, so that the shell leaves it: --data '*.csv'" if spread else None)
        return super().parse_args(ctx, args)

    def _instead(self, word: str) -> str:
        """Suggestion for a second argument."""
        known = {p.name for p in self.params}
        if VALUE.match(word) and "at" in known:
            return f" (for a point: --at {quoted(word)})"
        rows = word and not word.startswith("-") and "data" in known
        return f" (for a table of rows: --data {word})" if rows else ""


def place_of(option: click.Option) -> int:
    """The place of an option in the order in which options are wanted."""
    return min((WANTED_FIRST.index(o) for o in option.opts if o in WANTED_FIRST), default=len(WANTED_FIRST))


class OneOf(click.ParamType):
    """One of a few words; a wrong one is answered with the nearest, and with what else could have been meant."""

    def __init__(self, what: str, words: Iterable[str], otherwise: str = "") -> None:
        self.what, self.words, self.otherwise = what, tuple(words), otherwise
        self.name = what

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return f"[{'|'.join(self.words)}]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.words:
            from adcli.command.synonyms import WORD_SYNONYMS
            error = unknown(self.what, value, self.words, WORD_SYNONYMS.get(self.what, {}))
            error.help = "; ".join(filter(None, (error.help, self.otherwise)))
            raise error
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem
        return [CompletionItem(word) for word in self.words if word.startswith(incomplete)]


class WholeNumber(click.IntRange):
    """A whole number, which may be written 1e6 or 1_000_000, or one of a few words."""

    def __init__(self, least: int, most: int, words: Sequence[str] = ()) -> None:
        super().__init__(least, most)
        self.words = tuple(words)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value in self.words:
            return value
        if isinstance(value, str) and (power := re.fullmatch(r"(\d+)(?:\.(\d*))?[eE]\+?(\d{1,2})", value.strip(), re.ASCII)):
            whole, fraction, exponent = power[1], (power[2] or "").rstrip("0"), int(power[3])
            if len(fraction) <= exponent:
                value = int(whole + fraction) * 10 ** (exponent - len(fraction))
        return super().convert(value, param, ctx)


def no_verb(word: str, known: Iterable[str]) -> AdError:
    """The error for a word where the verb stands."""
    from adcli.command.synonyms import VERB_SYNONYMS
    return unknown("verb", word, known, VERB_SYNONYMS)


def said(error: click.ClickException) -> AdError:
    """AdError for an error of click."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    if isinstance(error, click.NoSuchOption):
        return no_option(error.option_name, context)
    if isinstance(error, click.BadOptionUsage):
        return AdError(f"{error.option_name} {'needs a' if 'requires an argument' in error.message else 'takes no'} value")
    if isinstance(error, click.BadParameter) and error.param is not None:
        kind = error.param.type
        if isinstance(kind, click.IntRange):
            words = "".join(f", or {word}" for word in getattr(kind, "words", ()))
            return AdError(f"{error.param.opts[0]} needs a whole number from {kind.min} to {kind.max}{words}")
        if isinstance(error, click.MissingParameter):
            return AdError(f"no {error.param.human_readable_name}",
                           help=f"give one: {', '.join(kind.words)}" if isinstance(kind, OneOf) else None)
        return AdError(f"{error.param.opts[0]}: {error.message.rstrip('.')}")
    return AdError(error.format_message())


def no_option(name: str, context: click.Context | None) -> AdError:
    known = options_of(context) if context else {}
    if context is None or isinstance(context.command, click.Group):
        meant = in_other_words(name, known)
        return AdError(f"no option '{name}' before the verb",
                       help=f"did you mean '{meant}'?" if meant else "the verb comes first: adcli grad f.ad --at x=2,y=5")
    if f"-{name}" in known:
        return AdError(f"no option '{name}'", help=f"did you mean '-{name}'?")
    meant, verbs = in_other_words(name, known, str(context.info_name)), verbs_with(name, context)
    if meant is None and not verbs:
        meant = meant_option(name, known)
    help = (f"{context.command_path} --help lists the options" if meant is None else meant if not meant.startswith("-") else
            f"write {meant}" if " " in meant else f"did you mean '{meant}'?")
    return AdError(f"no option '{name}'", help=help if meant or not verbs else f"verbs that have it: {', '.join(verbs)}")


def verbs_with(name: str, context: click.Context) -> list[str]:
    """The verbs that have an option which this one has not."""
    root = context.find_root()
    group = root.command
    if not isinstance(group, click.Group):
        return []
    commands = [(verb, group.get_command(root, verb)) for verb in group.list_commands(root)]
    return [verb for verb, c in commands if c is not None and any(name in (*p.opts, *p.secondary_opts) for p in c.params)]


def options_of(context: click.Context) -> dict[str, click.Option]:
    """The options of a command by their spellings."""
    params = [p for p in context.command.get_params(context) if isinstance(p, click.Option)]
    return {spelling: p for p in params for spelling in (*p.opts, *p.secondary_opts)}


def in_other_words(name: str, known: Mapping[str, click.Option], verb: str = "") -> str | None:
    """Suggestion for an option of other tools: one of a command's options, with a value where that is part of the
    answer, or a sentence."""
    from adcli.command.synonyms import OF_VERBS, OPTIONS
    word = name.lstrip("-")
    if (own := OF_VERBS.get(verb, {}).get(word)) is not None:
        return own[0]
    found = next((text for text in OPTIONS.get(word, ()) if fits(text, known)), None)
    is_input = len(word) == 1 and "--at" in known and (name.startswith("--") or found is None)
    return f"--at {word}=2" if is_input else found


def meant_option(name: str, known: Mapping[str, click.Option]) -> str | None:
    """Suggestion for an option: of other tools, or the nearest spelling."""
    bare = {spelling.removeprefix("--"): spelling for spelling in known if spelling.startswith("--")}
    close = alike(name.lstrip("-"), list(bare))
    return in_other_words(name, known) or (bare[close] if close else None)


def fits(text: str, known: Mapping[str, click.Option]) -> bool:
    """Test for an option of a command that takes the value."""
    spelling, _, value = text.partition(" ")
    found = known.get(spelling)
    if found is None or not value:
        return found is not None
    try:
        found.type.convert(value, found, None)
    except (AdError, click.BadParameter):
        return False
    return not found.is_flag
