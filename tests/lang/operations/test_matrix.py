"""Operations on matrices as data."""
from adcli.lang.ir import Var
from adcli.lang.ir.affine import Index, affine
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.comprehension import Range, Read
from adcli.lang.operations.matrix import SOLVES, MatrixOperation, compacted, covered_points, trailing
from adcli.lang.tree.notation import MATRIX_CALLS
from row_tables import each_row


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


@each_row("left, all_of_it", [
    ("x", True), ("x(t)", True), ("x(0)", True), ("x(0, t)", True), ("x(t, 0)", True), ("x(1)", False), ("x(1, t)", False),
    ("x(t) where t in 0:3", True), ("x(t) where t in 1:3", False), ("x(2 - t) where t in 0:3", False), ("x(t, t)", False),
    ("x(t) where t in 0:3, t % 2 == 0", False), ("x(t % 3) where t in 0:3", False)])
def test_what_writes_all_of_its_result(left, all_of_it):
    written, where, box = left.partition(" where ")
    of = "t" if "t" in left else "0"
    (e, *_) = parse(f"input A(T, N, N), b(T, N)\n{written} = solve(A({of}), b({of})){where}{box}").equations
    assert covered_points(e.op) == all_of_it
