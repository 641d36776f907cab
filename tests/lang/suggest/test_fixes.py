"""First guesses of people who come from elsewhere: what is said mends them when it is pasted, and means what they mean."""
from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir import has_tensors
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.syntax.scan import scan
from row_tables import each_row
from scipy.stats import norm
from session_seed import drawn
from tensor_laws import NUMPY

AT = {"x": 0.75, "y": 2.0, "a": 1.5, "b": 0.5, "c": 1.0, "n": 4.0, "k": 2.0, "alpha": 3.0, "x_1": 7.0, "t": 0.25}
X, Y = AT["x"], AT["y"]

GUESSES = [
    # Statements of other languages.
    ("x += 1", X + 1), ("x -= y - 1", X - 1), ("x *= y + 1", X * 3), ("x /= y*2", X / 4), ("x++", X + 1), ("x--", X - 1),
    ("v := x*2", 1.5), ("v <- x*2", 1.5), ("v == x*2", 1.5), ("let v = x*2", 1.5), ("const double v = x*2", 1.5),
    ("double v = x*2;", 1.5), ("var v: f64 = x*2", 1.5), ("return x*2", 1.5), ("v = x*2; return v", 1.5),
    ("v = x*2; print(v)", 1.5),
    ("print(x*2)", 1.5), ("x = input(); v = x*2", 1.5), ("x = float(input('x')); v = x*2", 1.5), ("import math; v = x*2", 1.5),
    ("from math import sin\nv = sin(x)", math.sin(X)), ("// twice\nv = x*2", 1.5), ("/* twice */\nv = x*2", 1.5),
    ("v = x*2 // twice the value", 1.5), ("v = x*2 % twice the value", 1.5), ("v = x*2 -- twice the value", 1.5),
    ("v = x*2 /* twice */", 1.5),
    # Functions.
    ("f(x) = x^2", X**2), ("f(x, y) = x^2 + y", X**2 + Y), ("f(x) = x^2; v = f(3)", 9.0), ("f(x) := x^2", X**2),
    ("function f(x) = x^2", X**2), ("fn f(x) = x^2", X**2), ("def f(x): return x**2", X**2), ("def f(x): x**2\nv = f(y)", Y**2),
    ("def f(x) { return x*2 }", 1.5), ("lambda x: x**2", X**2), ("f = lambda x: x**2", X**2), ("f = lambda x, y: x*y", X * Y),
    ("x -> x^2", X**2), ("x => x^2", X**2), ("(x, y) => x*y", X * Y), ("f = x -> x^2", X**2), ("def f(x) = x^2", X**2),
    # Choices.
    ("v = x if x > 1 else y", Y), ("v = 1 + (x if x > 1 else y)", 1 + Y), ("v = if x > 1 then x else y", Y),
    ("if (x > 1) { v = x } else { v = y }", Y), ("v = where(x > 1, x, y)", Y), ("v = np.where(x > 1, np.sin(x), y)", Y),
    ("v = if(x > 1, x, y)", Y), ("v = IF(x>1; x; y)", Y), ("v = iif(x > 1, x, y)", Y), ("v = x > 0 & y > 0 ? x : y", X),
    ("v = x > 1 | y > 1 ? x : y", X), ("v = ~(x > 1) ? x : y", X), ("v = x <> y ? 1 : 2", 1.0), ("v = x === y ? 1 : 2", 2.0),
    ("v = true ? x : y", X), ("v = x > 1 or False ? x : y", Y), ("v = 0 < x < 1 ? x : y", X), ("x > y", 0.0),
    # Functions with another name.
    ("v = ln(x)", math.log(X)), ("v = log(y, 4)", 0.5), ("v = lg(x)", math.log10(X)), ("v = arcsin(x)", math.asin(X)),
    ("v = sgn(x)", 1.0), ("v = sqr(x)", X**2), ("v = tg(x)", math.tan(X)), ("v = int(y + x)", 2.0), ("v = float(x)", X),
    ("v = root(x, 3)", X**(1 / 3)), ("v = factorial(n)", 24.0), ("v = SIN(x)", math.sin(X)), ("v = diff(x**2, x)", X**2),
    ("v = d/dx(x**2)", X**2), ("v = x(y + 1)", X * (Y + 1)), ("def g(x) = x**2\nv = g'(y)", Y**2),
    ("v = 𝐬𝐢𝐧(x)", math.sin(X)), ("v = LN(x)", math.log(X)), ("v = d/dx x**2", X**2), ("v = ln x", math.log(X)),
    # Functions that mean something else in one language or module than in another, and paper without parentheses.
    ("v = np.mod(x - 4, n)", X), ("v = (x - n) % y", X), ("v = n % -3", -2.0), ("v = -n % 3", 2.0), ("v = -n %% 3", 2.0),
    ("v = Mod[-n, 3]", 2.0), ("v = torch.remainder(-n, 3)", 2.0), ("v = -n rem 3", -1.0), ("v = -n div 3", -1.0),
    ("v = -n %/% 3", -2.0), ("v = ArcTan[x, y]", math.atan2(Y, X)), ("v = Log[2, x]", math.log2(X)),
    ("v = log(2, x)", math.log2(X)),
    ("v = Log[x]", math.log(X)), ("v = np.round(n + 0.5)", 4.0), ("v = Math.round(-n - 0.5)", -4.0),
    ("v = np.sinc(x)", np.sinc(X)),
    ("v = sympy.sinc(x)", math.sin(X) / X), ("v = Sinc[x]", math.sin(X) / X), ("v = Round[n + 0.5]", 4.0),
    ("v = x^2 |> sqrt", X), ("v = IF(AND(x>0, y>0), x, y)", X), ("v = IF(OR(x<0; y<0); x; y)", Y), ("v = IF(NOT(x>0), x, y)", Y),
    ("v = NORM.DIST(x, 1, 2, TRUE)", norm.cdf(X, 1, 2)), ("v = 1/2 x", X / 2),
    ("v = π x²", math.pi * X**2), ("v = normal_lpdf(x | 1, 2)", norm.logpdf(X, 1, 2)),
    ("v = F.softplus(x, beta=2)", math.log1p(math.exp(2 * X)) / 2), ("v = nthroot(-8, 3)", -2.0),
    (r"v = \sqrt[3]{-8}", -2.0), ("v = 2*F.relu6(x - y)", 0.0), ("v = scipy.stats.norm.cdf(x)", norm.cdf(X)),
    ("v = norm.pdf(x, 1, 2)", norm.pdf(X, 1, 2)), ("v = NORM.S.DIST(x, TRUE)", norm.cdf(X)),
    ("v = CDF[NormalDistribution[0, 1], x]", norm.cdf(X)),
    ("v = x.clip(0.8, None)", 0.8), ("v = np.clip(x, None, 0.5)", 0.5), ("v = F.elu(x - 1, alpha=2)", 2 * math.expm1(X - 1)),
    ("v = jax.nn.gelu(x)", X / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (X + 0.044715 * X**3)))),
    ("v = F.gelu(x, approximate='tanh')", X / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (X + 0.044715 * X**3)))),
    ("v = 1/coth(x)", math.tanh(X)), ("v = PI()*x", math.pi * X), ("v = Math.SQRT2*x", math.sqrt(2) * X),
    ("v = sin 2x", math.sin(2 * X)), ("v = sin 2 x y", math.sin(2 * X * Y)), ("v = ln x^2", math.log(X**2)),
    ("v = sin^2 2x", math.sin(2 * X)**2), ("v = sin² x + cos² x", 1.0), ("v = tan^-1 x", math.atan(X)),
    (r"v = \sin x^2", math.sin(X**2)), (r"v = \sin 2\pi x", math.sin(2 * math.pi * X)), (r"v = \cos^2\alpha", math.cos(3.0)**2),
    # Paper writes the inverse function as a power.
    ("v = sin⁻¹(x)", math.asin(X)), ("v = sin^-1(x)", math.asin(X)), ("v = 2*tan^{-1}(x*y) + 1", 2 * math.atan(X * Y) + 1),
    ("v = cosh**(-1)(y)", math.acosh(Y)), ("v = log⁻¹(y)", 1 / math.log(Y)), ("v = sin⁻²(x)", math.sin(X)**-2),
    # Operators.
    ("v = 5!", 120.0), ("v = (n - 1)!", 6.0), ("v = |x - y|", Y - X), ("v = |x - 1| + |y|", 0.25 + Y), ("v = n % 3", 1.0),
    ("v = a*n % 4", 2.0), ("v = n // 3", 1.0), ("v = n mod 3", 1.0), ("v = n div 3", 1.0),
    ("v = -n Mod 3", -1.0), ("v = n MOD 3", 1.0), ("v = n rem 3", 1.0), ("v = -n DIV 3", -1.0),
    ("v = -n // 3 + 1", -1.0), ("v = x²", X**2), ("v = 2x³ + 1", 2 * X**3 + 1),
    ("v = x⁻¹", 1 / X), ("v = √x", math.sqrt(X)), ("v = 2√(x+1)", 2 * math.sqrt(X + 1)), ("v = ∛x", X**(1 / 3)),
    ("v = ⌊y + x⌋", 2.0), ("v = sin²(x)", math.sin(X)**2), ("v = sin^2(x)", math.sin(X)**2), ("v = sin^2 x", math.sin(X)**2),
    ("v = x.^2 .* y", X**2 * Y),
    ("v = sin.(x) .+ y", math.sin(X) + Y),
    ("v = x.^2", X**2), ("v = x.*y", X * Y), ("v = x − 1", X - 1), ("v = x × y", X * Y),
    ("v = x · y", X * Y), ("v = x÷y", X / Y), ("v = 2 − x − y", 2 - X - Y), ("v = x ≤ y ? 1 : 2", 1.0),
    # Products without an operator.
    ("v = 2x", 1.5), ("v = 2 x", 1.5), ("v = 2(x + 1)", 3.5), ("v = (x)(y)", X * Y), ("v = 2sin(x)", 2 * math.sin(X)),
    ("v = 2 sin x", 2 * math.sin(X)), ("v = sin x", math.sin(X)), ("v = (x + 1)y", (X + 1) * Y),
    # Names with dots.
    ("v = math.sin(x)", math.sin(X)), ("v = np.sin(x) + np.pi", math.sin(X) + math.pi), ("v = Math.PI * x", math.pi * X),
    ("v = numpy.arcsin(x)", math.asin(X)), ("v = std::sin(x)", math.sin(X)), ("v = np.e**x", math.e**X),
    ("v = torch.nn.functional.relu(x)", X), ("v = x.sin()", math.sin(X)), ("v = x.pow(2)", X**2), ("v = np.power(x, 2)", X**2),
    # LaTeX.
    (r"v = \frac{x + 1}{y}", (X + 1) / Y), (r"v = \frac{x}{y + 1}^2", None), (r"v = 2\frac{x}{y}", 2 * X / Y),
    (r"v = \sin(x)", math.sin(X)), (r"v = \sin x", math.sin(X)), (r"v = \sqrt{x + 1}", math.sqrt(X + 1)),
    (r"v = x \cdot y", X * Y),
    (r"v = \alpha x", None), (r"v = \alpha \cdot x", 3 * X), (r"v = x^{2}", X**2), (r"v = e^{x + 1}", None), (r"v = x_{1}", 7.0),
    (r"$x^2$", X**2), (r"v = \ln(x)", math.log(X)), (r"v = \pi \times x", math.pi * X),
    (r"v = \left( x + 1 \right) \times y", 3.5),
    # Numbers, text and brackets.
    ("v = 1,5*x", 1.5 * X), ("v = 1.5f*x", 1.5 * X), ("v = 'x*y'", X * Y), ("“x*y”", X * Y), ("v = sin[x]", math.sin(X)),
    ("v = Sin[x]", math.sin(X)), ("v = max(x; y)", Y), ("input x in 0..1; v = x*2", 1.5), ("input x in [0..1]\nv = x*2", 1.5),
    ("input x in (0, 1); v = x*2", 1.5), ("input x in [0;1]\nv = x*2", 1.5), ("input x in 0:1\nv = x*2", 1.5),
    ("v = x\u200b*y", X * Y), ("v = x\u00a0* y", X * Y), ("v = （x）", X),
    # Tensors.
    ("C = A @ B", None), ("v = sum(x)", None), ("input x(N); v = max(x)", None),
    ("input x(N); y(i) = x[i]*2", None), ("input x(N); v +=! x(i) where i in 0..3", None),
    ("input x(N); v +=! x(i) where i in range(3)", None), ("v = np.linalg.norm(x)", None), ("input A(N, M)\nv = A.T", None),
    ("input x(N); v = sum(j: x(j))", None), ("input A(N, M)\ny(i) = np.sum([A(i, j) for j in range(M)])", None),
    ("input A(N, M); y(i) = ∑(A(i, j) for j in 1:M)", None), ("input A(N, M), x(M); y = A @ x", None),
    ("input x(N); v = sum(j: x(j)) + 1", None), ("input A(N, M)\ny(i) = exp(sum(A[i, j] for j in range(1, M)))/2", None),
    ("input s, x(N)\nv = 2*Sum(x(j)**2, (j, 0, N - 1))", None), ("input x(N); y = 3 - max(x[j] for j in range(N))/2", None),
    ("input A(N, M)\ny = sum(sum(A(i, j) for i in range(N))**2 for j in range(M))", None),
    ("v = 1 + np.sum(x)", None),
    *((f"input A(N, N), x(N), y(N)\n{text}", None) for text in (
        "v(i) = i % 2 == 0 ? x(i/2) : 0 where i in 0:2*N",
        "v = A'", "v = A\\x", "v(i) = einsum('ij,j->i', A, x)", "v = einsum(\"ii\", A)", "v = sum(i -> x(i)^2, 1:N)",
        "v = 2*sum(j -> x[j], 2:N) + 1", "v = np.diag(A)",
        "v = norm(x, 1)", "v = np.linalg.norm(x, ord=1)", "v = norm(x, np.inf)", "v(n) = 2*np.cumprod(x)",
        "v(a, b) = 1 + np.matmul(A, A)", "v = Σ_i x(i)", "v(i) = 2*∑_{j} A(i, j)*x(j)", "v = 1 + max_i x(i)")),
    *((f"input A(N, M + 1), x(N)\nv = 2*{size}", None) for size in (
        "len(x)", "x.shape[0]", "np.shape(A)[1]", "A.size", "x.size()", "A.size(1)", "size(A, 1)", "dim(A)[2]", "x.length",
        "ncol(A)", "numel(A)")),
]
"""A text, and the value of its last output at `AT`; None where only what is proposed is looked at."""
UNANSWERED = (r"v = \frac{x}{y + 1}^2", r"v = \alpha x", r"v = e^{x + 1}")
"""Those that mean several things, or for which a change beside the table's would be needed; they are still answered."""


def faults(text: str) -> list[AdError]:
    try:
        parse(text)
    except AdError as error:
        return [error, *error.more]
    return []


def mended(text: str) -> str:
    """The text with every fix that is proposed, from the last to the first."""
    found = faults(text)
    assert found, text
    for fault in reversed(found):
        assert fault.fix is not None, str(fault)
        text = fault.fix.applied(text)
    return text


@each_row(("text", "value"), [g for g in GUESSES if g[0] not in UNANSWERED])
def test_what_is_proposed_runs(text: str, value: float | None) -> None:
    program = parse(mended(text))
    if value is not None:
        at = {p.name: AT[p.name] for p in program.params}
        assert evaluate(program, at, FLOAT)[program.results[-1].name] == pytest.approx(value, rel=1e-15)
    else:
        assert has_tensors(program)


def test_help_says_what_the_fix_does() -> None:
    """What help says to write stands in the text that the fix makes."""
    for text, fault in ((guess, fault) for guess, _ in GUESSES for fault in faults(guess)):
        written = re.match(r"(?:for a \w+ )?(?:write|type) (?!an ordinary)(.*?)(?:; adcli grad.*)?$", fault.help or "", re.DOTALL)
        if written and fault.fix:
            squeezed = re.sub(r"[\s()]", "", fault.fix.applied(text))
            assert re.sub(r"[\s()]", "", written[1]) in squeezed, str(fault)


def test_what_is_not_there_stands_in_the_text() -> None:
    for text, fault in ((guess, fault) for guess, _ in GUESSES for fault in faults(guess)):
        if quoted := re.match("(?:there is no )?'(.*)'(?: is not a word of this language)?$", fault.message, re.DOTALL):
            assert re.sub(r"[\s()]", "", quoted[1]) in re.sub(r"[\s()]", "", text), str(fault)


@pytest.mark.parametrize(("value", "message", "help"), [
    ("zeros(N)", "unknown function 'zeros'", "for example z(i) = 0 where i in 0:N"),
    ("2*sum(A, axis=0)", "a dimension is named by its index",
     "name the dimension by its index, in a statement of its own: s(j) +=! A(i, j)"),
    ("x[end]", "there is no 'x[end]'", "the last element of a vector x(N) is x(N - 1)"),
    ("x + ones(N)", "'x' is a tensor", "write a tensor by its elements: C(i) = x(i) ..."),
    ("correlate(x, y)", "unknown function 'correlate'", "for example v(i) +=! x(i + j) * y(j)"),
    ("reshape(x, 2)", "unknown function 'reshape'", "for example z(i, j) = x(i*M + j) where i in 0:N, j in 0:M")])
def test_what_is_rarely_written_is_answered_without_a_fix(value: str, message: str, help: str) -> None:
    fault, = faults(f"input A(N, N), x(N), y(N)\nf = {value}")
    assert (fault.message, fault.help, fault.fix) == (message, help, None) and fault.span is not None


WORDS = "a program compares numbers: give each word a number, and compare with that"
NONE = "it has no counterpart here: `adcli functions` lists the functions there are"


INV, SOLVE = np.linalg.inv, np.linalg.solve


@each_row(("formula", "value"), [
    ("x.T @ A @ x", lambda A, x, y: x.T @ A @ x), ("A.T @ x", lambda A, x, y: A.T @ x), ("A @ A.T", lambda A, x, y: A @ A.T),
    ("x @ A.T", lambda A, x, y: x @ A.T), ("np.trace(A.T @ A)", lambda A, x, y: np.trace(A.T @ A)),
    ("x @ inverse(A) @ x", lambda A, x, y: x @ INV(A) @ x), ("np.linalg.inv(A) @ x", lambda A, x, y: SOLVE(A, x)),
    ("inv(A.T @ A) @ A.T @ y", lambda A, x, y: SOLVE(A, y)), ("np.dot(x, solve(A, y))", lambda A, x, y: x @ SOLVE(A, y)),
    ("A @ inv(A)", lambda A, x, y: np.eye(3)), ("A.T @ (A @ x - y)", lambda A, x, y: A.T @ (A @ x - y)),
    ("2*inverse(A) - np.outer(x, y)", lambda A, x, y: 2 * INV(A) - np.outer(x, y)),
    ("0.5*x.T @ A @ x + y.T @ x", lambda A, x, y: 0.5 * x @ A @ x + y @ x),
    ("np.linalg.norm(A @ x - y)", lambda A, x, y: np.linalg.norm(A @ x - y)),
    ("sqrt(t(x) %*% A %*% x)", lambda A, x, y: np.sqrt(x @ A @ x)), ("A %*% t(A)", lambda A, x, y: A @ A.T),
    ("np.cumsum(2*x) + 1", lambda A, x, y: np.cumsum(2 * x) + 1), ("np.sum(np.diff(x))", lambda A, x, y: x[-1] - x[0]),
    ("A .* A .+ 1", lambda A, x, y: A * A + 1), ("sum(A .^ 2, dims=2)", lambda A, x, y: (A**2).sum(1)),
    ("np.trace(solve(A, A) - A)", lambda A, x, y: 3 - np.trace(A)),
    ("A'", lambda A, x, y: A.T), ("A'*x", lambda A, x, y: A.T @ x),
    ("x'*A*y", lambda A, x, y: x @ A @ y), ("1 + x'*y", lambda A, x, y: 1 + x @ y), ("A\\x", lambda A, x, y: SOLVE(A, x)),
    ("np.diag(x) @ A", lambda A, x, y: np.diag(x) @ A), ("np.std(x) + 2*np.var(y)", lambda A, x, y: np.std(x) + 2 * np.var(y)),
    ("norm(x - y, 1)", lambda A, x, y: np.abs(x - y).sum()), ("np.linalg.norm(x, np.inf)", lambda A, x, y: np.abs(x).max()),
    ("sum(i -> x(i)^2, 1:N)", lambda A, x, y: x @ x), ("np.einsum('ij,i', A, x)", lambda A, x, y: A.T @ x),
    ("einsum('ij,jk->ki', A, A)", lambda A, x, y: (A @ A).T), ("einsum('i,i', x, y)", lambda A, x, y: x @ y),
    ("einsum('ij,j,->i', A, x)", lambda A, x, y: A @ x),
    ("tanh(A*x + y)", lambda A, x, y: np.tanh(A @ x + y)), ("x*A", lambda A, x, y: x @ A),
    ("np.convolve(x, y)", lambda A, x, y: np.convolve(x, y)), ("2*sum_i x(i)^2", lambda A, x, y: 2 * x @ x),
    ("np.cumprod(y)", lambda A, x, y: np.cumprod(y)),
])
def test_matrix_algebra_of_other_languages_is_told_as_statements(formula: str, value: Callable[..., Any]) -> None:
    A = np.array([[4.0, 1.0, 0.5], [0.25, 3.0, 1.0], [1.0, 2.0, 5.0]])
    point = {"A": A, "x": np.array([1.0, 2.0, -1.0]), "y": np.array([0.5, 3.0, 2.0])}
    program = parse(mended(f"input A(N, N), x(N), y(N)\nf = {formula}"))
    at = {p.name: point[p.name] for p in program.params}
    np.testing.assert_allclose(evaluate(program, at, NUMPY)["f"], value(**point), rtol=1e-12, atol=1e-14)


def test_expressions_that_stand_alone_get_names_of_their_own() -> None:
    """Two of one name would be one result, and the other one lost."""
    assert [fault.help for fault in faults("f = x; y\nx**2; g\n")] == [
        "give it a name: h = y", "give it a name: f2 = x**2", "give it a name: f3 = g"]


@each_row(("head", "last"), [
    ("for i = 1:3", 3), ("for (i in 1:3)", 3), ("for i in 1 to 3", 3), ("for i in 1...3", 3), ("for (int i = 1; i <= 3; i++)", 3),
    ("for (int i = 1; i < 3; ++i)", 2), ("for i in 1 until 3", 2), ("for i in 1..<3", 2), ("for i in range(1, 3)", 2)])
def test_a_loop_ends_where_it_does_elsewhere(head: str, last: int) -> None:
    program = parse(mended(f"s(0) = 0; {head} {{ s(i) = s(i-1) + 1 }}"))
    assert evaluate(program, {}, NUMPY)["s"].tolist() == list(range(last + 1))


GUESSED = ("tahn", "gelux", "erfi", "expi", "besselh", "sinu", "log1q", "stp", "sigmoidd", "floo")


@each_row("name", GUESSED)
@each_row("form", ["v = {}(x)", "v = np.{}(x)", "v = 2{}(x)", "v = x.{}()", "v = {}[x]", "v = ln(2x) + {}(x)"])
def test_a_near_spelling_is_asked_for_and_never_written(name: str, form: str) -> None:
    """Nothing that is said to be written has a function that is only near; what mends it is a guess, which stands alone."""
    for fault in faults(form.format(name)):
        assert fault.fix is None or name in fault.fix.text or not fault.fix.certain, str(fault)
        written = (fault.help or "").startswith("write ")
        assert not written or fault.fix is None or fault.fix.certain, str(fault)


@each_row(("text", "help"), [
    ("v = 1/2x", "write 1/(2*x) or 1/2*x"), ("v = sin x/2", "write sin(x)/2 or sin(x/2)"),
    ("v = Sqr(x)", "write sqrt(x) (in Basic) or square(x) (in Pascal)"),
    ("v = 2*LOG(x)", "write log(x) (natural) or log10(x) (in Excel)"),
    ("v = mish(x, y, 2)", "mish(x) is x * tanh(softplus(x)) here"), ("v = special.airy(x)", NONE),
    ("v = np.tahn(x)", "did you mean 'tanh'?"), ("type == 'C' ? x : 0", WORDS), ("v = \"left\" == side ? 1 : 2", WORDS),
])
def test_what_can_mean_several_things_is_asked(text: str, help: str) -> None:
    fault = faults(text)[0]
    assert (fault.help, fault.fix) == (help, None)


def test_a_fault_that_goes_with_another_is_not_reported() -> None:
    assert len(faults("f(x) = x^2; v = f(3)")) == 1
    assert len(faults("v = ln(x)\nw = 2y")) == 2


VALID = ["v = x*sin(y) + 2.5e-3", "a = x**2 - y; v = a > 0 ? sqrt(a) : -a\noutput v, a",
         "input x = 2 in [0, 10], y\nv = max(x, y)",
         "def f(a, b) -> (u, w) { u = a*b; w = a - b }\n(p, q) = f(x, y)", "input A(M, N), x(N)\ny(i) +=! A(i, j) * x(j)",
         "param k = 9.81   # gravity\ns = k*t**2 / 2\nv = not (s < 1) and s > 2 ? s : 1"]
PIECES = [*"()[]{}|!²√π·'\"\\^%&@$,;:.?=+-*/<>~#\n", "**", "//", "..", "+=", "+=!", "==", "if", "else", "lambda ", "where ",
          "in ", "np.", "2", "x", "sin", "0.", "e\u0301", "\u202e", "\\frac{", "output ", "def ", "return "]


def test_what_is_broken_off_is_answered() -> None:
    r = drawn("test_what_is_broken_off_is_answered")
    for text, _ in GUESSES:
        for _ in range(3):
            for fault in faults(text[:r.randrange(len(text))]):
                assert str(fault)


def test_any_mutation_is_answered() -> None:
    """A program with a piece changed, left out or put in is a program or an AdError, whose fix mends what it is about."""
    r = drawn("test_any_mutation_is_answered")
    for _ in range(700):
        text = r.choice(VALID)
        for _ in range(r.randint(1, 3)):
            token = r.choice(scan(text)[0])
            start, end = r.choice([(token.start, token.end), (token.start, token.start), (token.end, token.end)])
            text = text[:start] + r.choice([*PIECES, ""]) + text[end:]
        first = next(iter(faults(text)), None)
        assert first is None or str(first)
        if first is not None and first.fix is not None and first.source is not None:
            left = faults(first.fix.applied(first.source.text))
            assert not any(f.span == first.span and f.message == first.message for f in left), (text, str(first))

