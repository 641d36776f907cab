"""Pictures of sparse matrices in a terminal."""
from __future__ import annotations

import math
import random

import pytest

from adcli.verbs.picture import BRAILLE, DOTS, figures, percent, picture


def names(letter: str, count: int) -> list[str]:
    return [f"{letter}{i}" for i in range(count)]


def test_a_small_matrix_has_names_and_a_character_an_entry():
    assert picture(((0, 1), (1, 2), ()), ["u", "v", "long"], ["x", "beta", "z"]) == (
        "      x  beta  z\n"
        "   u  ×   ×    ·\n"
        "   v  ·   ×    ×\n"
        "long  ·   ·    ·\n"
        "jacobian: 3 × 3, 4 of 9 entries, 44 %, 2 colours by columns\n")


def test_names_of_columns_give_way_to_the_width():
    rows, columns, row = ["v"], names("x", 20), (tuple(range(0, 20, 2)),)
    shown = [picture(row, rows, columns, width).splitlines()[0] for width in (100, 60, 30)]
    assert shown == ["   " + "  ".join(columns), "v" + " × ·" * 10, "v " + "×·" * 10]


def test_a_large_matrix_is_drawn_in_braille():
    diagonal = tuple((i,) for i in range(200))
    assert picture(diagonal, names("v", 200), names("x", 200), width=12, height=7, kind="hessian") == (
        "┌──────────┐\n│⠑⢄⠀⠀⠀⠀⠀⠀⠀⠀│\n│⠀⠀⠑⢄⠀⠀⠀⠀⠀⠀│\n│⠀⠀⠀⠀⠑⢄⠀⠀⠀⠀│\n│⠀⠀⠀⠀⠀⠀⠑⢄⠀⠀│\n│⠀⠀⠀⠀⠀⠀⠀⠀⠑⢄│\n└──────────┘\n"
        "hessian: 200 × 200, 200 of 40,000 entries, 0.5 %, 1 colour as a symmetric matrix\n")


def test_the_frame_names_the_first_and_the_last_column():
    shown = picture(tuple((i,) for i in range(200)), names("v", 200), names("x", 200), 40)
    assert shown.splitlines()[0] == "┌─────────── x0 … x199 ────────────┐"


def dots(shown: str) -> set[tuple[int, int]]:
    """The places of the dots of a picture in braille."""
    cells = [line[1:-1] for line in shown.splitlines() if line.startswith("│")]
    return {(4 * i + a, 2 * j + b) for i, line in enumerate(cells) for j, c in enumerate(line)
            for a, pair in enumerate(DOTS) for b, bit in enumerate(pair) if (ord(c) - BRAILLE) & bit}


@pytest.mark.parametrize("rows, columns, width, height", [
    (100, 100, 80, 40), (1_000, 998, 80, 40), (3, 5_000, 80, 40), (5_000, 3, 80, 40), (300, 70, 40, 10), (777, 1_234, 20, 5),
    (1, 1_000, 10, 3), (1_000, 1, 10, 3)])
def test_every_entry_shows_and_nothing_else(rows, columns, width, height):
    r = random.Random(rows)
    places = {(r.randrange(rows), r.randrange(columns)) for _ in range(30)} | {(rows - 1, columns - 1), (0, 0)}
    pattern = tuple(tuple(sorted(j for i, j in places if i == row)) for row in range(rows))
    shown = picture(pattern, names("v", rows), names("x", columns), width, height)
    *drawn, _ = shown.splitlines()
    assert all(len(line) <= width for line in drawn) and len(drawn) <= height
    found = dots(shown)
    down, across = 1 + max(i for i, _ in found), 1 + max(j for _, j in found)
    assert down >= min(rows, 16, 4 * (height - 2)) // 2 and across >= min(columns, 16, 2 * (width - 2)) // 2
    blocks = [(d, a) for d in range(1, rows + 1) for a in range(1, columns + 1)
              if math.ceil(rows / d) == down and math.ceil(columns / a) == across]
    assert any({(i // d, j // a) for i, j in places} == found for d, a in blocks)


def test_matrices_of_nothing():
    assert picture((), [], ["x"]) == "jacobian: 0 × 1, 0 of 0 entries\n"
    assert picture(((),), ["v"], []) == "jacobian: 1 × 0, 0 of 0 entries\n"
    assert picture(((),), ["v"], ["x"]) == "   x\nv  ·\njacobian: 1 × 1, 0 of 1 entry\n"


def test_figures_count_the_colours_of_the_better_side():
    n = 1_000
    residuals = tuple((i, i + 1, i + 2) for i in range(n - 2))
    assert figures(residuals, n, "jacobian") == "jacobian: 998 × 1,000, 2,994 of 998,000 entries, 0.3 %, 3 colours by columns"
    assert figures((tuple(range(n)),), n, "jacobian") == "jacobian: 1 × 1,000, 1,000 of 1,000 entries, 100 %, 1 colour by rows"
    band = tuple(tuple(range(max(0, i - 1), min(n, i + 2))) for i in range(n))
    assert figures(band, n, "hessian") == (
        "hessian: 1,000 × 1,000, 2,998 of 1,000,000 entries, 0.3 %, 3 colours as a symmetric matrix")


@pytest.mark.parametrize("share, shown", [
    (1.0, "100 %"), (0.999, "100 %"), (0.58333, "58 %"), (0.0999, "10 %"), (0.0651, "6.5 %"), (0.003, "0.3 %"),
    (2.9998e-4, "0.03 %"), (1.26e-8, "0.0000013 %")])
def test_shares_are_written_in_full(share, shown):
    assert percent(share) == shown
