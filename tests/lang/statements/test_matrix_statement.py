"""How operations on matrices are written: every form reads back as it is printed, and what is wrong is said with the way out."""
import pytest
from adcli.lang.lower.frontend import parse
from adcli.lang.printing.printer import STYLES, print_program
from row_tables import each_row
from same_programs import equal
from well_formed import check

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


@each_row("text", FORMS)
def test_what_is_printed_reads_back(text):
    program = check(parse(DECLARED + text))
    for style in STYLES:
        printed = print_program(program, style)
        again = check(parse(printed))
        assert equal(program, again) and print_program(again, style) == printed
    body = print_program(program).splitlines()[1:-1]
    assert "\n".join(line for line in body if not line.startswith(("input", "param"))) == FORMS[text]


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
    from adcli.lang.tree.notation import MATRIX_CALLS
    from command import succeeds
    for name, (args, about) in MATRIX_CALLS.items():
        assert succeeds("functions", name).out.startswith(f"{name}({args}): {about}\n")
