"""Where a picture goes: to a terminal or a pipe as characters, to a file by its suffix, to a table."""
from __future__ import annotations

import shutil
import sys
from dataclasses import replace

from adcli.lang.ir.errors import AdError
from adcli.output.colour import wanted
from adcli.output.numbers import Number, shortest
from adcli.output.report import csv_text
from adcli.output.streams import STDOUT, descriptor, packed_destination
from adcli.output.suffixes import split
from adcli.pictures.picture import FILES, Picture, look, require_package

MARGIN = 3
"""Lines of a terminal that a picture leaves for the prompt."""


def form_of_file(path: str) -> str:
    """The kind of picture that a name asks for, for an option that takes pictures alone; `-` is the terminal."""
    suffix = split(path)[0].removeprefix(".")
    if path == "-":
        return "text"
    if suffix in (*FILES, "csv", "txt"):
        return "text" if suffix == "txt" else suffix
    raise AdError(f"--plot {path}: not the name of a picture", help="write --plot picture.svg (or .png, .pdf, .csv), or --plot -"
                                                                   " for the terminal")


def require_place(plot: str, form: str, output: str | None, size: str | None) -> None:
    """AdError where --plot names no picture, the size is none, or results and picture cannot both go to standard output."""
    require_package(form_of_file(plot))
    look(form_of_file(plot), size, "")
    if plot == "-" and form != "text" and descriptor(output) == STDOUT:
        raise AdError(f"--plot and --format {form} would both write to standard output", help="write --plot picture.svg")


def write_beside(picture: Picture, plot: str, size: str | None, theme: str) -> None:
    """Write the picture that --plot asks for."""
    write_picture(replace(picture, **look(form_of_file(plot), size, theme)), form_of_file(plot), None if plot == "-" else plot)


def write_picture(picture: Picture, form: str, path: str | None, number: Number = shortest) -> None:
    """Write a picture in one of the `FORMATS`."""
    stdout = descriptor(path) == STDOUT
    if form in ("png", "pdf") and stdout and sys.stdout.isatty():
        raise AdError(f"refusing to write {form.upper()} to a terminal; use -o FILE.{form}")
    coloured = stdout and wanted(sys.stdout)
    data = encoded(picture, form, stdout and sys.stdout.isatty(), coloured, number)
    if form == "text" and coloured:   # the colours are ours, and nothing else of what a terminal obeys
        sys.stdout.write(data.decode())
        sys.stdout.flush()
        return
    with packed_destination(path) as out:
        out.write(data)


def encoded(picture: Picture, form: str, terminal: bool, coloured: bool, number: Number) -> bytes:
    """The bytes of a picture; one in characters fills the terminal that it is for, and is `coloured` or not."""
    if form == "csv":
        return table_text(picture, number).encode()
    if form in FILES:
        from adcli.pictures.files import drawn
        return drawn(picture, form)
    from adcli.pictures.terminal import LINES, text
    width, height = shutil.get_terminal_size((80, 24)) if terminal else (80, LINES + MARGIN)
    if picture.size and picture.size.cells:
        return text(picture, *picture.size.cells, coloured).encode()
    return text(picture, width, min(max(height - MARGIN, 12), LINES + 10), coloured).encode()


def table_text(picture: Picture, number: Number = shortest) -> str:
    """A header, and a line for each row of the table."""
    rows = [[x if isinstance(x, str) else number(x) for x in row] for row in picture.table.rows]
    return csv_text(picture.table.names, *rows)
