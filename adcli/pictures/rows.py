"""The numbers under a picture as CSV (RFC 4180)."""
from __future__ import annotations

from adcli.output.numbers import Number, shortest
from adcli.output.report import csv_text
from adcli.pictures.picture import Picture


def table_text(picture: Picture, number: Number = shortest) -> str:
    """A header, and a line for each row of the table."""
    rows = [[x if isinstance(x, str) else number(x) for x in row] for row in picture.table.rows]
    return csv_text(picture.table.names, *rows)
