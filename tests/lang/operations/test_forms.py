"""When two programs are the same."""
from __future__ import annotations

from adcli.lang.lower.frontend import parse
from row_tables import each_row
from same_programs import equal

TWO = " where i in 0:2, j in 0:2, k in 0:2"
SAME = [
    ("C(i, j) +=! A(i, k) * B(k, j)", "C(p, q) +=! A(p, r) * B(r, q)", True),
    ("C(i, j) +=! A(i, k) * B(k, j)", "C(j, i) +=! A(j, k) * B(k, i) where k in 0:N", True),
    ("C(i, j) +=! A(i, k) * B(k, j)", "C(i, j) +=! A(k, i) * B(k, j)", False),
    ("C(i, j) +=! A(i, k) * B(k, j)", "C(i, j) +=! B(k, j) * A(i, k)", False),
    ("C(i, j) +=! A(i, k) * B(k, j)", "C(i, j) max=! A(i, k) * B(k, j)", False),
    ("C(i) +=! A(i + j, k + j)" + TWO, "C(k) +=! A(k + i, j + i)" + TWO, True),
    ("C(i) +=! A(i + j, k + j)" + TWO, "C(k) +=! A(k + i, j + k)" + TWO, False),
    ("v +=! A(i + j, 0) where i in 0:2, j in 0:2", "v +=! A(j + i, 0) where j in 0:2, i in 0:2", True),
    ("v +=! A(i + j, 0) where i in 0:2, j in 0:3", "v +=! A(j + i, 0) where j in 0:2, i in 0:3", True),
    ("v +=! A(i + 2*j, 0) where i in 0:2, j in 0:3", "v +=! A(i + 2*j, 0) where i in 0:3, j in 0:2", False),
    ("v +=! A(i, j) where i >= j", "v +=! A(k, l) where k >= l", True),
    ("v +=! A(i, j) where i >= j", "v +=! A(k, l) where l >= k", False),
    ("C(i) = A(i, 0)\nD(i) = B(i, 0)", "D(i) = B(i, 0)\nC(i) = A(i, 0)\noutput C, D", True),
    ("C(i) = A(i, 0)\nD(i) = A(i, 0)", "C(i) = A(i, 0)\nD(i) = B(i, 0)", False),
    ("C(i) = A(i, 0) * A(i, 0)", "C(i) = t * t where t = A(i, 0)", True),
    ("C(i) = A(i, 0)", "C(i) = A(i, 0) where float(4) C, i in 0:4", False),
    ("C(i) = A(i, 0) * B(i, 0)", "C(i) = A(i, 0) + B(i, 0)", False),
    ("C(i) = sin(A(i, 0)) * A(i, 0)", "C(i) = sin(A(i, 0)) * sin(A(i, 0))", False),
    ("C(i) = 2 where i in 0:M", "C(i) = 3 where i in 0:M", False),
]


@each_row(("one", "other", "same"), SAME)
def test_equality_is_up_to_names_of_indices_and_order(one, other, same):
    first, second = (parse(f"input A(M, N), B(N, P)\n{text}") for text in (one, other))
    assert equal(first, second) is same and equal(second, first) is same
