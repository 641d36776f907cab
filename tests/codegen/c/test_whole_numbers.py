"""How C writes sizes and indices: what is compared never wraps around."""
from __future__ import annotations

import pytest
from adcli.codegen.c.whole_numbers import MachineNumbers
from adcli.codegen.scripts.python import ArrayNumbers
from adcli.lang.ir.affine import Affine, Floor, Index, affine, greatest, least, product, remainder, value
from session_seed import drawn

ROW, COLUMN, N, M = Index("i"), Index("j"), affine("N"), affine("M")
i, j = affine(ROW), affine(COLUMN)


def whole(negative: bool = False) -> MachineNumbers:
    made = MachineNumbers({"N": "N", "M": "M"}, "double", lambda: "f_floor")
    made.bind(ROW, "i", affine(-1 if negative else 0))
    made.bind(COLUMN, "j", affine(0))
    return made


@pytest.mark.parametrize("x, text", [
    (i * 2 + j - 1, "2*i + j - 1"), (affine(3) - i, "3 - i"), (i * -1, "0 - i"),
    (affine(Floor(N, 2)), "N / 2"), (affine(Floor(N + 1, 2)) * 3, "3*((N + 1) / 2)"), (product(N, M + 1), "N*(M + 1)"),
    (affine(Floor(N - M, 2)), "(M + N) / 2 - M"), (least(N, M), "(M <= N ? M : N)"), (affine(7), "7")])
def test_sizes(x: Affine, text: str) -> None:
    assert whole().size(x)[0] == text


@pytest.mark.parametrize("x, text", [
    (N - i - 1, "i < N"), (i - j, "j <= i"), (N - 2, "N >= 2"), (i + 1, None),
    (N - i - 3, "i + 2 < N"), (least(N, M) - i - 1, "i < M && i < N"),
    (greatest(N, M) - 3, "((M >= 3) || (N >= 3))"), (affine(-1) - i, "0")])
def test_tests(x: Affine, text: str | None) -> None:
    assert whole().natural_test(x) == text


def test_an_index_that_may_be_negative_has_a_sign() -> None:
    w = whole(negative=True)
    assert w.size(i + 1)[0] == "(size_t)(i + 1)"
    assert w.below(ROW, N) == "(ptrdiff_t)N - i - 1 >= 0"
    assert w.natural_test(i + j) == "i + (ptrdiff_t)j >= 0"
    assert w.size(affine(Floor(i, 2)))[0] == "(size_t)f_floor(i, 2)"


def test_a_normal_form_has_the_same_values() -> None:
    r = drawn("test_a_normal_form_has_the_same_values")
    for _ in range(200):
        known = {"N": r.randrange(20), "M": r.randrange(20)}
        x = affine(Floor(N * r.randint(-5, 5) + M * r.randint(-5, 5) + r.randint(-9, 9), r.randint(2, 6))) * r.randint(-3, 3) + N
        assert value(whole().normal(x), known) == value(x, known)
        assert all(c > 0 for a, _ in whole().normal(x).terms if isinstance(a, Floor) for _, c in a.whole.terms)


def test_a_minus_in_front_stands_before_all_of_a_remainder() -> None:
    made = ArrayNumbers({"N": "N"})
    made.bind(ROW, "i", affine(0))
    assert made.text(remainder(i, affine(3)) * -1) == "-(i % 3)" and made.text(affine(Floor(i, 2)) * -1 - 1) == "-(i // 2) - 1"
    assert made.text(affine(1) - remainder(i, N)) == "1 - i % N" and made.text(i * -2) == "-2*i"
