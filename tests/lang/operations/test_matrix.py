"""Operations on matrices as data."""
from adcli.lang.ir import Var
from adcli.lang.ir.affine import Index, affine
from adcli.lang.ir.notation import MATRIX_CALLS
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.comprehension import Range, Read
from adcli.lang.operations.matrix import SOLVES, MatrixOperation, compacted, trailing


def test_arguments_that_are_not_used_are_left_out():
    t, n = Index("t"), affine("N")
    gather = Read(3, (affine(t),))
    op = MatrixOperation(name="solve", ranges=(Range(t, affine(0), affine("T")),), write=(gather,), shape=(n, n),
                         sources=(Read(2, (affine(t),)), Read(1, ())))
    given = [Var(x) for x in "abcd"]
    kept, args = compacted(op, tuple(given))
    assert args == tuple(given[1:]) and [s.arg for s in kept.sources] == [1, 0] and kept.write[0].arg == 2


def test_what_one_point_gives():
    text = "input S(T, N, N), C(T, N, K)\nX = solve(S, C)\nl = logdet(S)\nV = inverse(S)"
    assert [tuple(map(repr, trailing(e))) for e in parse(text).equations] == \
        [tuple(map(repr, (affine("N"), affine("K")))), (), tuple(map(repr, (affine("N"),) * 2))]


def test_the_solves_are_each_others_transposes():
    assert {SOLVES[other] for other in SOLVES.values()} == set(SOLVES) < set(MATRIX_CALLS)
