"""How C writes sizes and indices."""
from __future__ import annotations

from adcli.codegen.c.whole_numbers import WholeNumbers
from adcli.codegen.scripts.python import ArrayNumbers
from adcli.lang.ir.affine import Affine, Index, affine, floor, greatest, least, product, remainder
from row_tables import each_row

ROW, COLUMN, N, M = Index("i"), Index("j"), affine("N"), affine("M")
i, j = affine(ROW), affine(COLUMN)


def whole(negative: bool = False) -> WholeNumbers:
    made = WholeNumbers({"N": "N", "M": "M"}, "f_{}".format)
    made.bind(ROW, "i", affine(-1 if negative else 0))
    made.bind(COLUMN, "j", affine(0))
    return made


@each_row("x, text", [
    (i * 2 + j - 1, "2*i + j - 1"), (affine(3) - i, "3 - i"), (i * -1, "-i"),
    (floor(N, 2), "N / 2"), (floor(N + 1, 2) * 3, "3*((N + 1) / 2)"), (product(N, M + 1), "N*(M + 1)"),
    (floor(N - M, 2), "f_floor(N - M, 2)"), (floor(N, M), "N / M"),
    (floor(N - 1, M + 1), "f_floor(N - 1, M + 1)"), (least(N, M), "f_least(M, N)"), (affine(7), "7")])
def test_sizes(x: Affine, text: str) -> None:
    assert whole().text(x) == text


@each_row("x, text", [
    (N - i - 1, "i < N"), (i - j, "j <= i"), (N - 2, "N >= 2"), (i + 1, None),
    (N - i - 3, "i + 2 < N"), (least(N, M) - i - 1, "i < M && i < N"),
    (greatest(N, M) - 3, "((M >= 3) || (N >= 3))"), (affine(-1) - i, "i < 0")])
def test_tests(x: Affine, text: str | None) -> None:
    assert whole().natural_test(x) == text


def test_an_index_that_may_be_negative() -> None:
    w = whole(negative=True)
    assert (w.text(i + 1), w.below(ROW, N), w.natural_test(i + j)) == ("i + 1", "i < N", "i + j >= 0")
    assert (w.text(floor(i, 2)), w.text(remainder(i, N))) == ("f_floor(i, 2)", "((i % N + N) % N)")


def test_a_minus_in_front_stands_before_all_of_a_remainder() -> None:
    made = ArrayNumbers({"N": "N"})
    made.bind(ROW, "i", affine(0))
    assert made.text(remainder(i, affine(3)) * -1) == "-(i % 3)" and made.text(floor(i, 2) * -1 - 1) == "-(i // 2) - 1"
    assert made.text(affine(1) - remainder(i, N)) == "1 - i % N" and made.text(i * -2) == "-2*i"
