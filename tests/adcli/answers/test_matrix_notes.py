"""What is said of operations on matrices that are not defined at a point: the pivot, and where in a batch."""
import pytest
from command import adcli
from session_seed import half

ONE, BATCH = "input A(N, N), b(N)\n", "input S(T, N, N), c(T, N)\n"
ROWS = [
    (ONE + "x = solve(A, b)", "A=[[1,2],[2,4]],b=[1,1]", "solve at pivot 2 of A = 0.0 is nan: domain"),
    (ONE + "V = inverse(A)\nv = V(0, 0) + b(0)", "A=[[0,0],[0,0]],b=[1,1]", "inverse at pivot 1 of A = 0.0 is nan: domain"),
    (ONE + "x = solve_upper(A, b)", "A=[[1,2],[2,0]],b=[1,1]", "solve_upper at pivot 2 of A = 0.0 is nan: domain"),
    (ONE + "L = cholesky(A)\nv +=! L(i, i)*b(i)", "A=[[1,2],[2,1]],b=[1,1]", "cholesky at pivot 2 of A = -3.0 is nan: domain"),
    (ONE + "v = logdet(A) + b(0)", "A=[[1,2],[2,4]],b=[1,1]", "logdet at pivot 2 of A = 0.0 is -inf: singular"),
    (ONE + "v = logdet(A) + b(0)", "A=[[1,2],[2,1]],b=[1,1]", "logdet at a negative determinant of A is nan: domain"),
    (ONE + "V = inverse(A)\nv +=! V(i, i)*b(i)", "A=[[1,0],[0,inf]],b=[1,1]", "inverse at A(1, 1) = inf is nan: domain"),
    (BATCH + "X(t) = solve(S(t + 1), c(t)) where t in 1:T-1\nv +=! X(t, i) where t in 1:T-1",
     "S=[[[0]],[[1]],[[0]],[[1]]],c=[[1],[1],[1],[1]]", "solve at pivot 1 of S = 0.0, t = 1 is nan: domain"),
]


@pytest.mark.parametrize("text, at, said", half(ROWS))
def test_the_pivot_is_named_and_strict_runs_fail(text: str, at: str, said: str) -> None:
    verb = ("vjp", "--cotangent", "x=1") if "x = " in text else ("grad",)
    ended = adcli(*verb, "-e", text, "--at", at, "--strict")
    assert ended.code == 4 and said in ended.err, ended


@pytest.mark.parametrize("text", [ONE + "v = logdet(A) + b(0)", ONE + "L = cholesky(A)\nv +=! L(i, i)*b(i)",
                                  BATCH.replace("S(T, N, N)", "A(T, N, N)").replace("c(T, N)", "b(N)") +
                                  "X(t) = solve(A(0), b) where t in 0:1\nv +=! X(0, i)"])
def test_a_regular_matrix_is_smooth(text: str) -> None:
    at = "A=[[[2,1],[1,3]],[[0,0],[0,0]]],b=[1,2]" if "(T" in text else "A=[[2,1],[1,3]],b=[1,2]"
    ended = adcli("grad", "-e", text, "--at", at, "--strict")
    assert (ended.code, ended.err) == (0, "")


def test_where_the_value_is_nan_its_derivative_is() -> None:
    ended = adcli("grad", "-e", ONE + "v = logdet(A) + b(0)*0", "--at", "A=[[1,2],[2,1]],b=[1,1]")
    assert "dv_dA = [[nan, nan], [nan, nan]]" in ended.out
