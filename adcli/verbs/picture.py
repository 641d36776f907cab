"""--pattern: a picture of a sparse matrix for the terminal, with one line of figures below it.

A matrix that fits is drawn with a character for each entry and the names of its rows and columns; a larger one in dots of
braille, two by four to a character, where a dot says that there is an entry somewhere in its block.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from adcli.input.settings import ResultOptions
from adcli.output.streams import columns_of, destination, say
from adcli.output.wrap import fitted
from adcli.task.rules import require_fit
from adcli.task.verbs import VERBS, MatrixKind

if TYPE_CHECKING:
    from adcli.lang.sparsity.sparsity import Pattern
    from adcli.task.request import Request

ENTRY, NOTHING = "×", "·"
BRAILLE = 0x2800
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""The bits of the dots of a braille character, by row and column in it (Unicode 15, section 21.1)."""
FEWEST_DOTS = 16
"""Dots that a side keeps, if it has as many rows or columns, however long the other side is."""
LONGEST_NAME = 24
"""Characters that the name of a row may take."""


def pattern(request: Request, options: ResultOptions) -> int:
    """Write a picture of the entries of a Jacobian or Hessian that are not zero by construction."""
    from adcli.lang.derive.derivatives import one_output
    from adcli.lang.ir import has_tensors
    from adcli.lang.lower.frontend import parse_source
    from adcli.lang.operations.activity import inputs_to_differentiate
    from adcli.lang.simplify.simplify import simplify
    from adcli.lang.sparsity.sparsity import hessian_pattern, jacobian_pattern
    from adcli.task.derive import chosen
    primal = chosen(parse_source(request.source), request.of)
    inputs = inputs_to_differentiate(primal, request.wrt)
    of_elements, kind = has_tensors(primal), VERBS[request.verb].matrix or "jacobian"
    require_fit(options, "pattern", of_elements)
    require_fit(options, "nothing emitted")
    rows: Sequence[str] = inputs
    if of_elements:
        from adcli.answers.elements import point_of
        from adcli.task.entries import element_matrix
        matrix = element_matrix(primal, point_of(primal, options.at, "--pattern", say), kind, inputs)
        rows, inputs, found = matrix.rows, matrix.columns, matrix.pattern
    elif kind == "hessian":
        primal = simplify(primal)
        found = hessian_pattern(primal, inputs, one_output(primal, None))
    else:
        primal, rows = simplify(primal), [r.name for r in primal.results]
        found = jacobian_pattern(primal, inputs, rows)
    width = columns_of(options.output) or 80
    with destination(options.output) as out:
        text = picture(found, rows, inputs, width, kind=kind)
        out.write(fitted(text, columns_of(options.output)).encode())
    return 0


def picture(pattern: Pattern, rows: Sequence[str], columns: Sequence[str], width: int = 80, height: int = 40,
            kind: MatrixKind = "jacobian") -> str:
    """The picture, at most `width` characters wide and `height` lines high, and the line of figures."""
    lines: list[str] = []
    if rows and columns:
        lines = _letters(pattern, rows, columns, width, height) or _braille(pattern, columns, width, height)
    return "\n".join([*lines, figures(pattern, len(columns), kind), ""])


def figures(pattern: Pattern, columns: int, kind: MatrixKind) -> str:
    """Size, entries and density of a matrix, and how many sweeps it takes: a Hessian as a symmetric matrix."""
    from adcli.lang.sparsity.sparsity import entries
    count, places = entries(pattern), len(pattern) * columns
    parts = [f"{len(pattern):,} × {columns:,}", f"{count:,} of {places:,} {'entry' if places == 1 else 'entries'}"]
    if count:
        parts += [percent(count / places), sweeps(pattern, columns, kind == "hessian")]
    return f"{kind}: {', '.join(parts)}"


def percent(share: float) -> str:
    """A share to two significant digits, in full: 0.3 %, 58 %, 0.00012 %."""
    digits = max(0, 1 - math.floor(math.log10(100 * share)))
    shown = f"{100 * share:.{digits}f}"
    return f"{shown.rstrip('0').rstrip('.') if digits else shown} %"


def sweeps(pattern: Pattern, columns: int, symmetric: bool) -> str:
    """The number of colours that the matrix takes, and in which way."""
    from adcli.lang.sparsity.colouring import column_colours, row_colours, star_colours
    if symmetric:
        count, way = 1 + max(star_colours(pattern)), "as a symmetric matrix"
    else:
        by_columns, by_rows = 1 + max(column_colours(pattern, columns)), 1 + max(row_colours(pattern, columns))
        count, way = (by_columns, "by columns") if by_columns <= by_rows else (by_rows, "by rows")
    return f"{count:,} {'colour' if count == 1 else 'colours'} {way}"


# ---------------------------------------------------------------- a character an entry

def _letters(pattern: Pattern, rows: Sequence[str], columns: Sequence[str], width: int, height: int) -> list[str]:
    """The rows with their names, below those of the columns where they fit; nothing if the matrix is too large."""
    margin = max(map(len, rows))
    if margin > LONGEST_NAME or margin + 2 + len(columns) > width or len(rows) + 1 > height:
        return []
    lines = []
    wide = [len(c) for c in columns]
    if margin + sum(wide) + 2 * len(columns) <= width:
        gap, head = "  ", [*columns]
    else:
        gap, wide = (" ", [1] * len(columns)) if margin + 1 + 2 * len(columns) <= width else ("", [1] * len(columns))
        head = [*columns] if max(map(len, columns)) == 1 else []
    if head:
        lines.append(" " * margin + "".join(gap + c for c in head))
    for row_name, row in zip(rows, pattern, strict=True):
        there = set(row)
        cells = [gap + (ENTRY if j in there else NOTHING).center(w) for j, w in enumerate(wide)]
        lines.append((f"{row_name:>{margin}}" + (" " * (not gap)) + "".join(cells)).rstrip())
    return lines


# ---------------------------------------------------------------- braille

def _braille(pattern: Pattern, columns: Sequence[str], width: int, height: int) -> list[str]:
    """The matrix in a frame, each dot a block of it; blocks are square unless that would leave a side too few dots."""
    down, across = _blocks(len(pattern), len(columns), 4 * max(height - 2, 1), 2 * max(width - 2, 1))
    cells = [[0] * math.ceil(len(columns) / across / 2) for _ in range(math.ceil(len(pattern) / down / 4))]
    for i, row in enumerate(pattern):
        line, inside = divmod(i // down, 4)
        dots, target = DOTS[inside], cells[line]
        for x in {j // across for j in row}:
            target[x // 2] |= dots[x % 2]
    body = ["│" + "".join(chr(BRAILLE + c) for c in line) + "│" for line in cells]
    bar, label = "─" * len(cells[0]), f" {columns[0]} … {columns[-1]} "
    return [f"┌{label:─^{len(bar)}}┐" if len(label) < len(bar) else f"┌{bar}┐", *body, f"└{bar}┘"]


def _blocks(rows: int, columns: int, most_down: int, most_across: int) -> tuple[int, int]:
    """Rows and columns of a block, so that no more dots are needed than there are."""
    least_down, least_across = math.ceil(rows / most_down), math.ceil(columns / most_across)
    square = max(least_down, least_across)
    return (max(least_down, min(square, rows // FEWEST_DOTS)) or 1, max(least_across, min(square, columns // FEWEST_DOTS)) or 1)
