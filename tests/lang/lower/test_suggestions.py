"""What a message proposes for a name that the language does not have is right when it is pasted."""
import re

import pytest
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir.errors import AdError, nearest, plural
from adcli.lang.lower.counterparts import DERIVATIVES, STATEMENTS
from adcli.lang.lower.frontend import parse


def help_of(text: str) -> str:
    with pytest.raises(AdError) as fault:
        parse(text)
    assert fault.value.help is not None, text
    return fault.value.help


def pasted(text: str) -> str:
    """A text whose last line is `v = ` and a call that the language does not have, with what the message says to write."""
    before, _, last = text.rpartition("\n")
    said = help_of(text)
    if said.startswith("did you mean"):
        name = last.removeprefix("v = ").partition("(")[0]
        return f"{before}\n{last.replace(name, said.split(chr(39))[1], 1)}"
    written = said.removeprefix("write ")
    return f"{before}\n{written if re.search('^input|=!| = ', written) else f'v = {written}'}"


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_function_of_tensors(name):
    forms = STATEMENTS[name]
    args = "x, y" if " y(" in forms[0] else "x"
    if name not in DERIVATIVES:
        parse(pasted(f"v = {name}({args})"))
    for form in forms:
        subscripts = {letter: form.partition(f"{letter}(")[2].partition(")")[0] for letter in args.split(", ")}
        sizes = {letter: re.sub("[0ijk]", lambda m: {"i": "M", "k": "K"}.get(m[0], "N"), s) for letter, s in subscripts.items()}
        parse(pasted(f"input {', '.join(f'{a}({s})' for a, s in sizes.items())}\nv = {name}({args})"))


@pytest.mark.parametrize("text, help", [
    ("input A(N, N)\nv = inv(A)", "did you mean 'inverse'?"),
    ("input A(N, N)\nv = det(A)", "write exp(logdet(A)) (for a positive determinant)"),
    ("input A(N, N)\nv = 1/determinant(A)", "write exp(logdet(A)) (for a positive determinant)"),
    ("input S(T, N, N)\nv(t) +=! logdet(S(u))", "give it a name first, Y(u) = logdet(S(u)), and add its elements"),
    ("v = sum(x)", "write input x(N); v +=! x(i)"),
    ("v = cumsum(x)", "write input x(N); v(0) = x(0); for t in 1:N { v(t) = v(t - 1) + x(t) }"),
    ("input x(N)\nv = sum(x)", "write v +=! x(i)"),
    ("input x(N, M)\nv = sum(x)", "write v +=! x(i, j)"),
    ("input x(N)\nv = 1 + sum(x)", "write v_1 +=! x(i); v = 1 + v_1"),
    ("input x(N); v(i) = 2*sum(x) + x(i); w = 3", "write v_1 +=! x(i); v(i) = 2*v_1 + x(i)"),
    ("input x(N)\ny(i) = softmax(x) * x(i)", "write s lse=! x(i); v(i) = exp(x(i) - s); y(i) = v(i) * x(i)"),
    ("u = x*2\nv = sum(x)", "write input x_1(N); v +=! x_1(i)"),
    ("i = sum(x)", "write input x(N); i +=! x(i_1)"),
    ("input A(N, M)\nC(i) = sum(A(i, j))", "write C(i) +=! A(i, j)"),
    ("input x(N)\nv = sum(x(j))", "write v +=! x(j)"),
    ("input A(N, M)\nC(i) = exp(2*sum(A(i, j)))", "write s(i) +=! A(i, j); C(i) = exp(2*s(i))"),
    ("input x(N)\nv = sum(x(i)**2, i, 0, N - 1)/N", "write s +=! x(i)**2 where i in 0:N; v = s/N"),
    ("input x(N)\nv = prod(x(i), i, 1, 2)", "write v *=! x(i) where i in 1:3"),
    ("input x(N)\nv = sum(x(i), i)", "write v +=! x(i)"), ("input x(N)\nv = sum(i, x(i))", "write v +=! x(i)"),
    ("input x(N)\nv = sum(x(i), i, 1)", "write v +=! x(i) where i in 0:1"),
    ("input x(N)\nv = 2*sum(x(i), i, N)", "write s +=! x(i) where i in 0:N; v = 2*s"),
    ("input x(N)\nv = sum(x(i), i, 0)", "write v +=! x(i)"),
    ("input x(N)\nv = sum(x(i), i, 0, N)", "write v +=! x(i) where i in 0:N"),
    ("input x(N)\nv = sum(i, 0, N - 1, x(i))", "write v +=! x(i) where i in 0:N"),
    ("input x(N)\nv = sum(k**2, k, 1, 3)", "write v +=! k**2 where k in 1:4"),
    ("input x(N)\nv = sum(x(i), [i, 0, 1])", "write v +=! x(i) where i in 0:2"),
    ("input x(N)\nv = sum(x(i), {i, 0, 1})", "write v +=! x(i) where i in 0:2"),
    ("input x(N)\nv = sum(x(i), {i, N})", "write v +=! x(i) where i in 0:N"),
    ("input x(N)\nv = sum(x(i), (i, 0, N - 1))", "write v +=! x(i) where i in 0:N"),
    ("input x(N)\nv = sum(x(i), i=0..1)", "write v +=! x(i) where i in 0:2"),
    ("input x(N)\nv = sum(x(i), i=0..N)", "write v +=! x(i) where i in 0:N"),
    ("input x(N)\nv = sum(i=0..N-1, x(i))", "write v +=! x(i) where i in 0:N"),
    ("input x(N)\nv = max(x(i), i = 0:N)", "write v max=! x(i) where i in 0:N"),
    ("input x(N)\nv = sum(i in 0:2, x(i))/2", "write s +=! x(i) where i in 0:2; v = s/2"),
    ("input x(N)\nv = sum(x(i) where i in 1:N)", "write v +=! x(i) where i in 1:N"),
    ("input x(N)\nv = sum(x, 0)", "write v +=! x(i)"), ("v = max()", "for example v max=! x(i)"),
    ("input x(N)\nv = x[-1] - x[0]", "write v = x(N - 1) - x(0)"),
    ("input x(N)\nv = x(-1)", "the first element is 0, and the last element is N - 1"),
    ("input x(N)\nv = x[0:2]", "write v(i) = x(i) where i in 0:2"),
    ("input x(N)\nv = x(1:3)", "write v(i) = x(i + 1) where i in 0:2"),
    ("input x(N)\nv = (x[2:] - x[:-2])/2", "write v(i) = (x(i + 2) - x(i))/2 where i in 0:N - 2"),
    ("input x(N)\nv = x[::-1]", "write v(i) = x(N - 1 - i)"), ("input x(N)\nv = x[1::2]", "write v(i) = x(2*i + 1)"),
    ("input x(N)\nv = 2*sum(x[1:]*x[:-1])", "write s +=! x(i + 1)*x(i) where i in 0:N - 1; v = 2*s"),
    ("input A(M, N)\nv = A[1:, 0]", "write v(i) = A(i + 1, 0)"), ("input A(M, N)\nv = A[:, -1]", "write v(i) = A(i, N - 1)"),
    ("input A(M, N)\nv = A[0][1]", "write A(0, 1)"), ("input A(M, N)\nv = max(A[0, :])", "write v max=! A(0, i)"),
    ("input x(N)\nv = norm(x, 2)", "write s +=! x(i)**2; v = sqrt(s)"),
    ("input x(N)\nv = sum(x**2)", "write v +=! x(i)**2"), ("v = sum((x - 1)**2)", "write input x(N); v +=! (x(i) - 1)**2"),
    ("input x(N)\nv = 3*sum(exp(-x**2))", "write v_1 +=! exp(-x(i)**2); v = 3*v_1"),
    ("input x(N)\nv = mean(x + 1)", "write v +=! (x(i) + 1) / N"), ("input x(N)\nv = min(abs(x))", "write v min=! abs(x(i))"),
    ("input x(N)\nv = sum(x(0)*x)", "write v +=! x(0)*x(i)"),
    ("input x(N)\nv = sum((x - mean(x))**2)", "write v_1 +=! x(i) / N; v +=! (x(i) - v_1)**2"),
    ("input A(M, N), x(N), b(M)\nv = norm(A @ x - b)",
     "write v_1(i) +=! A(i, j) * x(j); s +=! (v_1(i) - b(i))**2; v = sqrt(s)"),
    ("input A(M, N), x(N), b(M)\nv = tanh(A @ x + b)", "write v_1(i) +=! A(i, j) * x(j); v(i) = tanh(v_1(i) + b(i))"),
    ("input A(N, N), x(N)\nv = x @ A @ x", "write v_1(j) +=! x(i) * A(i, j); v +=! v_1(i) * x(i)"),
    ("input x(N)\nv = x/norm(x)", "write s +=! x(i)**2; v_1 = sqrt(s); v(i) = x(i)/v_1"),
    ("input x(N)\nv = 2*x > 1 ? x : 0", "write v(i) = 2*x(i) > 1 ? x(i) : 0"),
    ("input A(M, N), x(N)\nv(i) = A*x", "write an element of it: A(i, j)"),
    ("input A(N, M)\nC(i) = where(A(i, 0) > 0, A(i, 1), 0)", "write A(i, 0) > 0 ? A(i, 1) : 0"),
    ("input A(M, N), x(N)\ny = matmul(A, x)", "write y(i) +=! A(i, j) * x(j)"),
    ("def f(float(N) x) -> (v) { v = sum(x) }", "write v +=! x(i)"),
    ("input x(N, M)\nv = mean(x)", "write v +=! x(i, j) / (N * M)"),
    ("v = norm(x, y)", "write hypot(x, y)"),
    ("v = 2*where(x > 0, x, 0)", "write (x > 0 ? x : 0)"),
    ("v = where(x, 1, 2)", "write x != 0 ? 1 : 2"),
    ("c = x > 0 and y > 0\nv = where(c, x + 1, 2) + where(x - y, 1, 2)", "write v = (c ? x + 1 : 2) + (x - y != 0 ? 1 : 2)"),
    ("v = log(x + 1, 2)", "write log(x + 1) / log(2)"),
    ("v = ln(x)", "did you mean 'log'?"),
    ("v = Sin(x)", "did you mean 'sin'?"),
    ("v = tahn(x)", "did you mean 'tanh'?"),
    ("v = lga(x)", "did you mean 'lgamma'?"),
])
def test_what_is_said(text, help):
    assert help_of(text) == help


@pytest.mark.parametrize("text, help, value", [
    ("x // y", "write floor(x / y)", -4.0),
    ("-x*2 // y", "write floor(-x*2 / y)", 7.0),
    ("x // -y", "write floor(x / -y)", 3.0),
    ("-x // y**2 + 1", "write floor(-x / y**2)", 2.0),
])
def test_a_quotient_rounded_down(text, help, value):
    assert help_of(f"v = {text}") == help
    quotient = text.removesuffix(" + 1")
    program = parse("v = " + text.replace(quotient, help.removeprefix("write ")))
    assert evaluate(program, {"x": -7.0, "y": 2.0}, FLOAT)["v"] == value


@pytest.mark.parametrize("text", ["// a comment\nv = x", "v = x // half of it", "v = x //"])
def test_a_comment_of_another_language(text):
    assert help_of(text) == "a comment starts with #"


def test_the_nearest_word():
    verbs = ["grad", "eval", "hessian", "--tolerance"]
    assert nearest("diff", verbs, {"diff": "grad"}) == "did you mean 'grad'?"
    assert nearest("--tol", verbs) == "did you mean '--tolerance'?"
    assert nearest("GRAD", verbs) == "did you mean 'grad'?"
    assert nearest("gard", verbs) == "did you mean 'grad'?"
    assert nearest("hesian", verbs) == "did you mean 'hessian'?"
    assert nearest("plot", verbs, {"plot": "adcli eval"}) == "write adcli eval"
    assert nearest("plot", verbs) is None


def test_counts_agree_in_number():
    assert [plural(n, "row") for n in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]
