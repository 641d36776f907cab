"""What the methods of a Function that look at it return, and how notebooks show a Function itself."""
from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adcli.lang.ir.errors import AdError
from adcli.output import html

if TYPE_CHECKING:
    from collections.abc import Callable

    from adcli.lang.ir import Program

FORMS = ("svg", "png", "pdf")
"""What pictures are written as."""
MOST_OPERATIONS = 400
"""Operations of a program that a notebook shows; of a longer one it shows what goes in and out."""


@dataclass(frozen=True, eq=False, repr=False)
class View(Mapping[str, Any]):
    """What a verb says of a program: a mapping, as its --format json has it, with numbers that are floats throughout.

    `text` is what a terminal shows, `notes` are the remarks beside it. Plain data: `dict(view)` is a dictionary, a view is equal
    to one with the same content, and a list of records in it, as `view["methods"]`, makes a DataFrame.
    """

    verb: str
    data: Mapping[str, Any]
    text: str
    markup: str
    notes: tuple[str, ...]

    def __getitem__(self, name: str) -> Any:
        return self.data[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return "\n".join([*self.notes, self.text.rstrip("\n")])

    def _repr_html_(self) -> str:
        return html.document([*map(html.paragraph, self.notes), self.markup])


@dataclass(frozen=True, eq=False, repr=False)
class PictureView(View):
    """The same with a picture, which `drawn` makes as svg, png or pdf; `caption` says in words what it shows."""

    drawn: Callable[[str], bytes]
    caption: str

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file whose name ends in .svg, .png or .pdf."""
        form = os.fspath(path).rpartition(".")[2].lower()
        if form not in FORMS:
            raise AdError(f"no picture is written to '{os.fspath(path)}'", help="the name ends in .svg, .png or .pdf")
        data = self.drawn(form)
        with open(path, "wb") as file:
            file.write(data)

    def _repr_html_(self) -> str:
        try:
            svg = self.drawn("svg")
        except AdError:   # what draws is not installed: the picture in characters does as well
            return super()._repr_html_()
        return html.document([*map(html.paragraph, self.notes), html.image(svg, self.caption)])


def function_html(program: Program) -> str:
    """What goes in and out of a program, and the program itself where it is not too long."""
    from adcli.lang.ir.errors import plural
    from adcli.lang.syntax.printer import print_program
    from adcli.task.shapes import shaped
    inputs = [(shaped(p.name, p.var), "" if p.default is None else repr(p.default),
               "" if p.low is None else f"[{p.low!r}, {p.high!r}]", kind(p.active, p.seed)) for p in program.params]
    table = html.table("Inputs", ("name", "default", "range", "kind"), [inputs], "<><<")
    outputs = html.paragraph(f"Outputs: {', '.join(shaped(r.name, r.atom) for r in program.results)}")
    operations = len(program.equations)
    text = html.preformatted(print_program(program)) if operations <= MOST_OPERATIONS else \
        html.paragraph(f"{plural(operations, 'operation')}; f.text() is the program.")
    return html.document([table if inputs else "", outputs, text])


def kind(active: bool, seed: str | None) -> str:
    """What an input is for."""
    return f"seed of {seed}" if seed else "input" if active else "param"


def function_latex(program: Program) -> str | None:
    """The equations of a program; None for one that is too long, or that has tensors, which are not written as equations."""
    from adcli.lang.ir.elementwise import has_tensors
    if has_tensors(program) or len(program.equations) > MOST_OPERATIONS:
        return None
    from adcli.codegen.documents.latex import equations
    return equations(program)
