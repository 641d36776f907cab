"""Settings of a verb: everything that was asked, as one frozen object of plain data, from whatever front it came.

The shell makes it of a command line (`adcli.command.options`). Nothing that works on it asks who said it.
"""
from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from adcli.input.programs import read_source
from adcli.lang.ir.errors import AdError
from adcli.output.streams import say
from adcli.output.suffixes import split

if TYPE_CHECKING:
    from adcli.lang.ir.errors import Source
    from adcli.pictures.picture import Picture

TABLE_OPTIONS = ("input_format", "delimiter", "decimal", "no_header", "columns", "rename", "na", "missing", "on_error", "only")
"""Options about the rows of tables alone."""
PART_OPTIONS = ("engine", "retries", "resume")
"""Options about parts of tables."""
ROW_OPTIONS = (*TABLE_OPTIONS, *PART_OPTIONS, "jobs")
"""Options about rows of tables."""
SUM_OPTIONS = ("sum", "mean", "weights", "group_by", "gauss_newton")
"""Options about sums over rows."""
NUMBER_OPTIONS = ("at", "data", *ROW_OPTIONS, *SUM_OPTIONS, "form", "fmt", "hexadecimal", "strict", "digits", "enclose",
                  "tier")
"""Options about numbers, which an emitted program and a pattern have none of."""
EMIT_OPTIONS = ("style", "lanes", "symbol", "precision", "main", "abi", "triple", "cpu")
"""Options about what is emitted."""


class TypedOption(NamedTuple):
    """A parameter that stands on the command line: its name, its spelling, and the words that give its value again."""

    parameter: str
    spelling: str
    words: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Options:
    """Options of every verb about a program; `typed` are those on the command line, in the order of the help. The `form`
    of the results is `form_known` where --format or the suffix of the file says it. A verb that `finds_zeros` reads equations."""

    finds_zeros: ClassVar[bool] = False
    verb: str
    typed: tuple[TypedOption, ...] = ()
    program: str | None = None
    expressions: tuple[str, ...] = ()
    language: str | None = None
    wrt: str | None = None
    of: str | None = None
    at: tuple[str, ...] = ()
    form: str = "text"
    form_known: bool = False
    output: str | None = None
    plot: str | None = None
    size: str | None = None
    theme: str = "light"
    quiet: bool = False
    strict: bool = False
    exact_order: bool = False
    checkpoint: bool = False

    def given(self, parameter: str) -> bool:
        """True if the command line gives a parameter."""
        return any(t.parameter == parameter for t in self.typed)

    def remark(self, note: object) -> None:
        """Say a note on standard error, unless --quiet."""
        if not self.quiet:
            say(note)

    def draw(self, picture: Picture) -> None:
        """Write the picture that --plot asks for."""
        from adcli.pictures.destinations import write_beside
        write_beside(picture, self.plot or "-", self.size, self.theme)

    @property
    def document(self) -> bool:
        """True if several results are one JSON text, as a name that ends in .json asks for; --format json writes lines."""
        return self.form == "json" and not self.given("form") and split(self.output)[0] == ".json"

    @property
    def inputs(self) -> list[str] | None:
        """The names that --wrt gives."""
        return names(self.wrt, "--wrt")

    @property
    def outputs(self) -> list[str] | None:
        """The names that --of gives."""
        return names(self.of, "--of")

    @property
    def source(self) -> Source:
        """The text of the program: a file, standard input, or the -e lines."""
        source = read_source(self.program, self.expressions, self.language, self.at, self.finds_zeros,
                             not getattr(self, "no_cache", False))
        if not self.exact_order and not self.checkpoint and not self.finds_zeros:
            return source
        return replace(source, exact_order=self.exact_order, checkpoint=self.checkpoint, equations=self.finds_zeros)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ResultOptions(Options):
    """Options of the verbs that evaluate."""

    mode: str = "auto"
    order: int = 1
    explain: bool = False
    pattern: bool = False
    zeros: bool | None = None
    tangent: str | None = None
    cotangent: str | None = None
    scaled: bool = False
    data: tuple[str, ...] = ()
    input_format: str | None = None
    delimiter: str | None = None
    decimal: str = "."
    no_header: bool = False
    columns: str | None = None
    rename: tuple[str, ...] = ()
    na: str | None = None
    missing: str = "error"
    on_error: str = "stop"
    only: bool = False
    sum: bool = False
    mean: bool = False
    weights: str | None = None
    group_by: str | None = None
    gauss_newton: bool = False
    jobs: int | None = None
    engine: str | None = None
    retries: int = 3
    resume: bool = False
    emit: str | None = None
    style: str | None = None
    lanes: str | None = None
    symbol: str | None = None
    precision: str | None = None
    main: bool = False
    abi: str | None = None
    triple: str | None = None
    cpu: str | None = None
    fmt: str | None = None
    hexadecimal: bool = False
    digits: bool = False
    enclose: bool = False
    status: bool = False
    fast_math: bool = False
    tier: str = "auto"
    no_cache: bool = False

    @property
    def summed(self) -> bool:
        """True if rows are added up."""
        return self.sum or self.mean


    @property
    def in_parts(self) -> bool:
        """True if rows are worked on in parts."""
        return self.engine is not None or self.resume or self.into_folder

    @property
    def into_folder(self) -> bool:
        """True if the results of rows go to a folder, a file for each part."""
        return self.output not in (None, "-") and (str(self.output).endswith(os.sep) or os.path.isdir(str(self.output)))


# ---------------------------------------------------------------- lists of names

def names(text: str | None, option: str) -> list[str] | None:
    """A comma-separated list of names, None where the option was not given."""
    if text is None:
        return None
    from adcli.input.values import listed
    found = listed(text)
    if not found:
        raise AdError(f"{option} names nothing", help=f"write {option} {'v' if option == '--of' else 'x,y'}")
    return found


def entries(text: str | None) -> list[str] | None:
    """--of with partial derivatives in it, as 'v', 'u,v', 'v:x,x,y' or 'v:x,x; u:y'; None where the option was not given."""
    from adcli.input.values import has_partials, partials
    return names(text, "--of") if text is None or not has_partials(text) else partials(text)
