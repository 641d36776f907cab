"""How operations on matrices are written: every form reads back as it is printed, and what is wrong is said with the way out."""
import pytest
from adcli.lang.ir.check import check
from adcli.lang.ir.equal import equal
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.syntax.printer import STYLES, print_program

DECLARED = "input A(N, N), b(N), B(N, K), R(M, N), S(T, N, N), c(T, N), C(T, N, K), s, int32 k(M)\n"
FORMS = {   # a text, and what is printed of it behind the declarations
    "x = solve(A, b)": "x = solve(A, b)",
    "x = solve(A, B)": "x = solve(A, B)",
    "x = solve(transpose(A), b)": "x = solve(transpose(A), b)",
    "x = solve(transpose(transpose(A)), b)": "x = solve(A, b)",
    "x = solve_lower(A, B)": "x = solve_lower(A, B)",
    "x = solve_upper(transpose(A), b)": "x = solve_upper(transpose(A), b)",
    "L = cholesky(A)": "L = cholesky(A)",
    "V = inverse(A)": "V = inverse(A)",
    "v = 0.5*logdet(A) + s": "v = 0.5 * logdet(A) + s",
    "V = transpose(B)": "V(i, j) = B(j, i)",
    "x = solve(cholesky(A), solve(A, b))": "i1 = cholesky(A)\ni2 = solve(A, b)\nx = solve(i1, i2)",
    "X(t) = solve(S(t), c(t))": "X(t) = solve(S(t), c(t))",
    "X = solve(S, C)": "X(t) = solve(S(t), C(t))",
    "l = logdet(S)": "l(t) = logdet(S(t))",
    "x = solve(S(1), c(0))": "x = solve(S(1), c(0))",
    "X(t) = solve(S(t - 1), c(t))": "X(t) = solve(S(t - 1), c(t))",
    "X(t) = solve(A, c(t))": "X(t) = solve(A, c(t))",
    "X(m) = solve(S(k(m)), c(k(m)))": "X(m) = solve(S(k(m)), c(k(m)))",
    "v +=! logdet(S(t))*s": "i1(t) = logdet(S(t))\nv +=! i1(t) * s",
    "v +=! logdet(S(t)) where t in 1:T": "i1(t) = logdet(S(t)) where t in 1:T\nv +=! i1(t) where t in 1:T",
    "X(t) = solve(S(t), c(t)) where t in 0:T, t >= 1": "X(t) = solve(S(t), c(t)) where t >= 1",
    "v = logdet(S(0)) + sin(logdet(S(1)))": "v = logdet(S(0)) + sin(logdet(S(1)))",
    "X(t) = solve(cholesky(S(t)), c(t))": "i1(t) = cholesky(S(t))\nX(t) = solve(i1(t), c(t))",
    "X(0) = solve(A, b)\nX(0) = solve(A, X(0))": "X_1(0) = solve(A, b)\nX(0) = solve(A, X_1(0))",
}


@pytest.mark.parametrize("text", FORMS)
def test_what_is_printed_reads_back(text):
    program = check(parse(DECLARED + text))
    for style in STYLES:
        printed = print_program(program, style)
        again = check(parse(printed))
        assert equal(program, again) and print_program(again, style) == printed
    body = print_program(program).splitlines()[1:-1]
    assert "\n".join(line for line in body if not line.startswith(("input", "param"))) == FORMS[text]


FAULTS = [
    ("x = solve(A)", "'solve' takes 2 arguments, not 1", "solve(A, b): x with A·x = b"),
    ("x = solve(b, A)", "'solve' takes a matrix here, and b has 1 dimension", "the matrix comes first: solve(A, b)"),
    ("x = solve(A, s)", "takes tensors by name, and this is a number", ""),
    ("x = solve(A + A, b)", "takes tensors by name, and this is an expression", "C(i, j) = ..."),
    ("x(i) = solve(A, b)", "reads nothing with index 'i'", "write x = solve(A, b)"),
    ("X(t, i) = solve(S(t), c(t))", "reads nothing with index 'i'", "write X(t) = solve(S(t), c(t))"),
    ("l = logdet(S(t))", "index 't' on the right is not on the left", "write l(t) = logdet(S(t))"),
    ("v = 2*solve(A, b)", "'solve' gives a tensor here", "write C_1 = solve(A, b); v(i) = 2*C_1(i)"),
    ("v +=! solve(A, b)", "'solve' gives a tensor here, with 1 dimension", "X = solve(A, b)"),
    ("X(t) = solve(S, c(t))", "takes a matrix here, and S has 3 dimensions", "S(t)"),
    ("X(t) += solve(S(t), c(t))", "assigned with '=', not '+='", "Y(t) = solve(S(t), c(t))"),
    ("x = solve(Q, b)", "'Q' is not a tensor", "input Q(N, N)"),
    ("x = solve(A, k)", "'k' is of integers", ""),
    ("x = solve(S, b)", "for each of 1 dimension before the matrix, and b has 1 dimension", ""),
    ("X(t) = solve(S(t, 0, 0, 0), c(t))", "'S' has 3 dimensions, not 4", ""),
    ("x = slove(A, b)", "unknown function 'slove'", "did you mean 'solve'?"),
    ("L = chol(A)", "unknown function 'chol'", "write cholesky(A) (lower triangular) or transpose(cholesky(A)) (upper)"),
    ("def f(a) = logdet(a)\ny = f(s)", "'logdet' takes tensors by name", "declare them, for example"),
    ("(x, y) = solve(A, b)", "gives 1 result, 2 wanted", ""),
    ("input E(2, 3)\nx = inverse(E)", "takes a square matrix, and E is 2 by 3", ""),
    ("input E(2, 2), e(3)\nx = solve(E, e)", "E and e have different numbers of rows: 2 and 3", ""),
    ("x = solve(A, b(0))", "takes a vector or a matrix here, and b(0) has no dimensions", ""),
    ("X(t) = solve(S(t), c(t)) where y = 2", "ranges, conditions and a shape, nothing else", ""),
]


@pytest.mark.parametrize("text, said, help", FAULTS)
def test_what_is_wrong_is_said(text, said, help):
    with pytest.raises(AdError) as fault:
        parse(DECLARED + text)
    assert said in fault.value.message and help in (fault.value.help or "")


@pytest.mark.parametrize("text", ["def solve(a) = a\ny = solve(s)", "inverse(i) = b(i)\ny = inverse(0)",
                                  "input logdet(N)\ny = logdet(0) + b(0)"])
def test_a_name_of_the_program_hides_an_operation_with_a_note(text):
    (note,) = parse(DECLARED + text).notes
    assert note.message.endswith("hides the function of that name")


def test_a_part_that_is_written_leaves_the_rest():
    from adcli.lang.evaluate import evaluate
    program = parse("input A(N, N), c(T, N)\nX(t, i) = c(t, i)\nX(1) = solve(A, c(0))")
    assert evaluate(program, {"A": [[2.0]], "c": [[4.0], [6.0], [7.0]]})["X"].tolist() == [[4.0], [2.0], [7.0]]


def test_each_operation_is_known_where_functions_are():
    from adcli.lang.ir.notation import MATRIX_CALLS
    from command import succeeds
    for name, (args, about) in MATRIX_CALLS.items():
        assert succeeds("functions", name).out.startswith(f"{name}({args}): {about}\n")
