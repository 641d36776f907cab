"""Results of the methods that inspect a Function, and how notebooks show a Function itself."""
from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adcli.lang.ir import Values
from adcli.lang.ir.errors import AdError
from adcli.output import html

if TYPE_CHECKING:
    from collections.abc import Callable

    from adcli.lang.ir import Program
    from adcli.pictures.picture import Picture

FORMS = ("svg", "png", "pdf")
"""Formats of pictures."""
MOST_OPERATIONS = 400
"""Operations of a program that a notebook shows; of a longer one it shows what goes in and out."""
MOST_LINES, SHOWN_LINES = 500, 20
"""Lines that Python prints of a view as a whole, and of a longer one at its beginning and at its end."""


@dataclass(frozen=True, eq=False, repr=False)
class View(Mapping[str, Any]):
    """Answer of a verb: a mapping, as its --format json has it, with numbers that are floats throughout.

    `text` is what a terminal shows, `notes` are the remarks beside it. Plain data: `dict(view)` is a dictionary, a view is equal
    to one with the same content, NaN for NaN, and a list of records in it, as `view["methods"]`, makes a DataFrame.
    """

    verb: str
    data: Values
    text: str
    markup: str
    notes: tuple[str, ...]

    def __getitem__(self, name: str) -> Any:
        return self.data[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def __eq__(self, other: object) -> bool:
        return same(self, other) if isinstance(other, Mapping) else NotImplemented

    def __repr__(self) -> str:
        lines = "\n".join([*self.notes, self.text.rstrip("\n")]).split("\n")
        if len(lines) > MOST_LINES:
            left = f"… {len(lines) - 2 * SHOWN_LINES:,} lines more; print(view.text) shows them"
            lines[SHOWN_LINES:-SHOWN_LINES] = [left]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return html.document([*map(html.paragraph, self.notes), self.markup])


@dataclass(frozen=True, eq=False, repr=False)
class PictureView(View):
    """View with a picture, which `drawn` makes as svg, png or pdf; `caption` says in words what it shows. The picture in
    `characters` is the end of the text."""

    drawn: Callable[[str], bytes]
    caption: str
    characters: str

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
            picture = html.image(self.drawn("svg"), self.caption)
        except AdError:   # what draws is not installed: the picture in characters does as well
            picture = html.preformatted(self.characters)
        return html.document([*map(html.paragraph, self.notes), self.markup, picture])


def in_characters(verb: str, data: Values, text: Callable[[], str], notes: tuple[str, ...],
                  drawn: Callable[[str], bytes], caption: str) -> PictureView:
    """A picture, with the same in characters where it fits and what draws that is installed."""
    try:
        shown = text()
    except AdError as fault:
        shown = f"{caption}\n{fault.message}\n"
    return PictureView(verb, data, shown, "", notes, drawn, caption, shown)


def picture_view(verb: str, picture: Picture, notes: tuple[str, ...] = ()) -> PictureView:
    """A picture of curves or contours, with its numbers as data."""
    from functools import partial

    from adcli.pictures.files import drawn
    from adcli.pictures.terminal import text
    rows = [dict(zip(picture.table.names, row, strict=True)) for row in picture.table.rows]
    data = {"title": picture.title, "x": picture.x_name, "y": picture.y_name, "notes": list(picture.notes), "rows": rows}
    return in_characters(verb, data, partial(text, picture), notes, partial(drawn, picture), picture.caption)


def beside(told: View, picture: Picture) -> PictureView:
    """View with a picture below it, whose numbers are its member "plot"."""
    seen = picture_view(told.verb, picture)
    return PictureView(told.verb, {**told.data, "plot": seen.data}, told.text + seen.text, told.markup, told.notes, seen.drawn,
                       seen.caption, seen.characters)


def same(a: object, b: object) -> bool:
    """Equality of data, NaN equal to NaN."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(x, b[name]) for name, x in a.items())
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b) or (isinstance(a, float) and isinstance(b, float) and a != a and b != b)


def function_html(program: Program) -> str:
    """Inputs and outputs of a program, and the program itself where it is not too long."""
    from adcli.lang.ir.errors import plural
    from adcli.lang.printing.printer import print_program
    from adcli.lang.printing.scalar_printer import range_text
    from adcli.task.shapes import result_shape, shaped
    inputs = [(shaped(p.name, p.var), "" if p.default is None else repr(p.default),
               range_text(p).removeprefix(" in "), kind(p.active, p.seed)) for p in program.params]
    table = html.table("Inputs", ("name", "default", "range", "kind"), [inputs], "<><<")
    outputs = html.paragraph(f"Outputs: {', '.join(result_shape(r.name, r.atom) for r in program.results)}")
    operations = len(program.equations)
    text = html.preformatted(print_program(program)) if operations <= MOST_OPERATIONS else \
        html.paragraph(f"{plural(operations, 'operation')}; f.text() is the program.")
    return html.document([table if inputs else "", outputs, text])


def kind(active: bool, seed: str | None) -> str:
    """Kind of an input."""
    return f"seed of {seed}" if seed else "input" if active else "param"


def function_latex(program: Program) -> str | None:
    """The equations of a program; None for one that is too long, or that has tensors, which are not written as equations."""
    from adcli.lang.ir import has_tensors
    if has_tensors(program) or len(program.equations) > MOST_OPERATIONS:
        return None
    from adcli.codegen.documents.latex import equations
    return equations(program)
