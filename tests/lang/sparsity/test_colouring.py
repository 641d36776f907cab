"""Colourings are valid by definition, read every entry back, and take as few colours as is known for common shapes."""
from __future__ import annotations

import random

import numpy as np
import pytest
import random_programs
from adcli.lang.sparsity.colouring import column_colours, row_colours, smallest_last, star_colours, star_reads
from adcli.lang.sparsity.sparsity import Pattern, symmetric, transposed
from hypothesis import given
from hypothesis import strategies as st
from row_tables import each_row


def banded(n: int, width: int) -> Pattern:
    return tuple(tuple(range(max(0, i - width), min(n, i + width + 1))) for i in range(n))


def arrow(n: int) -> Pattern:
    """A full last row, last column and diagonal."""
    return (*[(i, n - 1) for i in range(n - 1)], tuple(range(n)))


def grid(side: int) -> Pattern:
    """The five-point stencil on a square."""
    steps = ((0, -1), (-1, 0), (0, 0), (1, 0), (0, 1))
    return tuple(tuple(sorted((i + a) * side + j + b for a, b in steps if 0 <= i + a < side and 0 <= j + b < side))
                 for i in range(side) for j in range(side))


def shuffled(pattern: Pattern) -> Pattern:
    """The same graph, its vertices numbered at random."""
    number = list(range(len(pattern)))
    random.Random(7).shuffle(number)
    rows: list[tuple[int, ...]] = [()] * len(pattern)
    for i, row in enumerate(pattern):
        rows[number[i]] = tuple(sorted(number[j] for j in row))
    return tuple(rows)


def count(colours: list[int]) -> int:
    """The number of colours; they are numbered without a gap."""
    assert sorted(set(colours)) == list(range(len(set(colours))))
    return len(set(colours))


@st.composite
def patterns(draw: st.DrawFn, square: bool = False) -> tuple[Pattern, int]:
    """A random pattern and its number of columns."""
    r = draw(random_programs.choices)
    columns = r.randint(0, 9)
    rows, density = columns if square else r.randint(0, 9), r.choice((0.1, 0.25, 0.5, 0.9))
    return tuple(tuple(j for j in range(columns) if r.random() < density) for _ in range(rows)), columns


# ---------------------------------------------------------------- the definitions

def valid_columns(pattern: Pattern, colours: list[int]) -> bool:
    return all(len({colours[j] for j in row}) == len(row) for row in pattern)


def valid_star(pattern: Pattern, colours: list[int]) -> bool:
    """Neighbours differ, and every path of four vertices has three colours."""
    near = [set(row) - {i} for i, row in enumerate(pattern)]
    for v, mine in enumerate(colours):
        for w in near[v]:
            if colours[w] == mine:
                return False
            for x in near[w] - {v}:
                for y in near[x] - {v, w}:
                    if len({mine, colours[w], colours[x], colours[y]}) < 3:
                        return False
    return True


@random_programs.law(300)
@given(patterns())
def test_columns_and_rows_of_one_colour_do_not_meet(drawn):
    pattern, columns = drawn
    colours = column_colours(pattern, columns)
    assert len(colours) == columns and valid_columns(pattern, colours)
    assert row_colours(pattern, columns) == column_colours(transposed(pattern, columns), len(pattern))
    assert max(map(len, pattern), default=0) <= len(set(colours)) <= max(columns, 1)


@random_programs.law(300)
@given(patterns(square=True))
def test_star_colourings_have_no_path_of_two_colours(drawn):
    pattern = symmetric(drawn[0])
    colours = star_colours(pattern)
    assert len(colours) == len(pattern) and valid_star(pattern, colours)
    assert len(set(colours)) <= len(set(column_colours(pattern, len(pattern)))) or not all(
        i in row for i, row in enumerate(pattern))


def test_the_definitions_catch_planted_faults():
    assert not valid_columns(((0, 1), (2,)), [0, 0, 1]) and valid_columns(((0, 1), (2,)), [0, 1, 0])
    path = banded(4, 1)
    assert not valid_star(path, [0, 1, 0, 1]) and valid_star(path, [0, 1, 0, 2]) and not valid_star(path, [0, 0, 1, 2])
    for k in range(10):
        wrong = star_colours(banded(10, 1))
        wrong[k] = (wrong[k] + 1) % 3
        assert not valid_star(banded(10, 1), wrong)
    with pytest.raises(AssertionError, match="alone nowhere"):
        star_reads(path, [0, 1, 0, 1])


# ---------------------------------------------------------------- reading entries back

def compressed(matrix: np.ndarray, colours: list[int]) -> np.ndarray:
    """The products of a matrix with the sums of the unit vectors of each colour."""
    seeds = np.zeros((len(colours), max(colours, default=0) + 1))
    seeds[range(len(colours)), colours] = 1
    return matrix @ seeds


@random_programs.law(300)
@given(patterns(square=True))
def test_a_symmetric_matrix_is_read_back_from_its_compressed_products(drawn):
    pattern = symmetric(drawn[0])
    n = len(pattern)
    whole = np.random.default_rng(n).integers(1, 1 << 50, (n, n)).astype(float)
    matrix = np.array([[whole[min(i, j), max(i, j)] if j in pattern[i] else 0.0 for j in range(n)] for i in range(n)])
    matrix = matrix.reshape(n, n)
    colours = star_colours(pattern)
    products, reads = compressed(matrix, colours), star_reads(pattern, colours)
    assert set(reads) == {(i, j) for i, row in enumerate(pattern) for j in row if i <= j}
    for (i, j), (r, c) in reads.items():
        assert (r, c) in ((i, colours[j]), (j, colours[i]))
        assert products[r, c] == matrix[i, j]


@random_programs.law(200)
@given(patterns())
def test_a_matrix_is_read_back_from_its_compressed_products(drawn):
    pattern, n = drawn
    values = np.random.default_rng(n).integers(1, 1 << 50, (len(pattern), n)).astype(float)
    matrix = np.array([[values[i, j] if j in row else 0.0 for j in range(n)] for i, row in enumerate(pattern)])
    matrix = matrix.reshape(len(pattern), n)
    colours = column_colours(pattern, n)
    products = compressed(matrix, colours)
    assert all(products[i, colours[j]] == matrix[i, j] for i, row in enumerate(pattern) for j in row)


# ---------------------------------------------------------------- known counts

@each_row("pattern, one_sided, star", [
    (banded(50, 0), 1, 1),
    (((),) * 5, 1, 1),
    (banded(50, 1), 3, 3),
    (banded(50, 3), 7, 7),
    (banded(50, 50), 50, 50),
    (arrow(50), 50, 2),
    (shuffled(arrow(50)), 50, 2),
    (shuffled(banded(500, 1)), 3, 3),
    (shuffled(banded(500, 3)), 7, 7),
    (tuple((j,) for j in (1, 0, 3, 2)), 1, 2),                          # no diagonal: x*y + z*w
])
def test_counts_that_are_known(pattern, one_sided, star):
    assert count(column_colours(pattern, len(pattern))) == count(row_colours(pattern, len(pattern))) == one_sided
    assert count(star_colours(pattern)) == star


def test_a_grid_takes_few_colours():
    """Five are the fewest for columns (a row has five entries), and greedy orders come close."""
    assert count(column_colours(grid(20), 400)) <= 7
    assert count(star_colours(grid(20))) <= 6
    assert valid_star(grid(20), star_colours(grid(20))) and valid_star(shuffled(grid(20)), star_colours(shuffled(grid(20))))


def test_nothing_to_colour():
    assert column_colours((), 0) == row_colours((), 0) == star_colours(()) == [] and star_reads((), []) == {}
    assert column_colours((), 3) == [0, 0, 0] and row_colours(((), ()), 0) == [0, 0]


def test_large_patterns_are_coloured():
    """Each of these would take minutes if a dense row cost the square of its length."""
    n = 10_000
    assert count(star_colours(banded(n, 1))) == count(column_colours(banded(n, 1), n)) == 3
    assert count(star_colours(arrow(n))) == 2
    assert count(column_colours(arrow(n), n)) == n
    assert count(column_colours((tuple(range(n)),) * 3, n)) == n
    assert count(column_colours(((0,),) * n, 1)) == 1
    assert len(star_reads(arrow(n), star_colours(arrow(n)))) == 2 * n - 1


@random_programs.law(100)
@given(patterns(square=True))
def test_the_smallest_come_last(drawn):
    """Each vertex has the fewest neighbours among those before it that any of them has."""
    near = [set(row) - {i} for i, row in enumerate(symmetric(drawn[0]))]
    order = smallest_last(len(near), near.__getitem__)
    assert sorted(order) == list(range(len(near)))
    for k, v in enumerate(order):
        before = set(order[:k + 1])
        assert len(near[v] & before) == min(len(near[w] & before) for w in before)
