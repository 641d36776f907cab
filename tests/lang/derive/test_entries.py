"""Entries made statement by statement are those of the dense derivatives: forward mode, and forward over reverse mode, column by
column."""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from adcli.lang.derive import entries
from adcli.lang.derive.entries import EntryProgram, hessian_entries, jacobian_entries, listed
from adcli.lang.derive.linear_statements import NoStatements
from adcli.lang.evaluate import evaluate, numpy_arithmetic
from adcli.lang.ir import Program, shape_of
from adcli.lang.ir.affine import affine
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.activity import with_outputs
from adcli.lang.passes import pipeline
from adcli.lang.printing.printer import print_program
from random_comprehensions import sample
from row_tables import each_row
from session_seed import fixed, part

from adcli.task.entries import element_matrix
from adcli.task.matrices import matrix_by_edges, output_shapes
from adcli.task.verbs import MatrixKind

NETWORK = """\
input v(N), a(N), w(L), s, int32 from(L), int32 to(L)
d(l) = a(from(l)) - a(to(l))
f(l) = w(l)*v(from(l))*v(to(l))*cos(d(l))
p(i) = s*v(i)**2
p(from(l)) += f(l)
p(to(l)) += -f(l)
u +=! f(l)**2
output p, u, d
"""
X, PAIRS = np.linspace(0.5, 1.4, 5), {"from": [0, 1, 2, 3], "to": [1, 1, 3, 1]}   # a branch from an element to itself
SUMS = """input p(E), y(N)
param load(N)
param int32 from(E), int32 into(E)
a(from(e)) +=! p(e) > 0 ? p(e)*y(from(e)) : 0 where float(N) a
b(into(e)) +=! p(e)**2*y(from(e)) where float(N) b
"""
SUMMED = {"p": np.array([0.5, -1.0, 2.0, 0.25, 1.5]), "y": np.array([1.5, 0.75, 2.0]), "load": np.array([1.0, -0.5, 0.25]),
          "from": np.array([0, 1, 0, 0, 1]), "into": np.array([1, 1, 2, 0, 1])}
PROGRAMS = {
    "a network": (NETWORK, {"v": X, "a": X[::-1], "w": X[:4], "s": 0.7, **PAIRS}),
    "no branches": (NETWORK, {"v": X, "a": X, "w": X[:0], "s": 0.7, "from": [], "to": []}),
    "windows": ("input x(N)\nv +=! 100*(x(i+1) - x(i)**2)**2 + (1 - x(i))**2\ny(i) = x(i)*x(i+2)\noutput v, y", {"x": X}),
    "around": ("input x(N)\ny(i) = x(i)*x((i+1) % N)\nv +=! sin(y(i)*y((i+2) % N))\noutput v, y", {"x": X}),
    "a sum that is read other than linearly": ("input x(N)\ns +=! x(i)**2\nv = log(s)\ny(i) = x(i)/s\noutput v, y", {"x": X}),
    "sums of sums": (
        "input x(N), A(N, N)\ny(i) +=! A(i, j)*x(j)**2\nz(i) +=! A(i, j)*tanh(y(j))\nv +=! z(i)*y(i)\noutput z, v",
        {"x": X, "A": np.outer(X, X[::-1])}),
    "triangles": (
        "input x(N)\nv +=! sin(x(i)*x(j))*i where i in 0:N, j in 0:i\nc(i) +=! exp(x(i)*x(j)) where j in i:N\noutput c, v",
        {"x": X}),
    "choices and kinks": ("input x(N)\ny(i) = x(i) > 1 ? x(i)**2 : min(x(i), x((i+1) % N))\nv max=! y(i)*x(0)\n"
                          "w +=! abs(x(i) - 1)*x(i)\noutput y, v, w", {"x": X}),
    "elements by parts": ("input x(N)\ny(0) = x(1)**2\ny(i) = x(i)*y(0) where i in 1:N\nv +=! y(i)**2\noutput y, v", {"x": X}),
    "a scatter that writes some twice": (
        "input x(N), int32 k(N)\ny(i) = 0 where float(N) y\ny(k(i)) += x(i)**2\nv +=! x(i)*y(i)\noutput y, v",
        {"x": X, "k": [0, 2, 2, 0, 4]}),
    "conditions on indices": (
        "input x(N), s\ny(i) = i > 2 and i < 5 ? x(i)**2*s : x(0)*x(i)\n"
        "z(i) = i == 0 ? y(0) : i == N - 1 ? y(i)**2 : y(i-1)*y(i+1)\n"
        "v +=! (y(i)**2 + x((i+1) % N)*x(0))*(i % 2 == 0 ? 1 : x(i))\noutput y, z, v", {"x": X, "s": 2.0}),
    "numbers": ("input a, b\nc = a*b\nv = sin(c)*c\nw = c > 1 ? a**2 : b\ny(i) = v*a*i where i in 0:3\noutput v, w, y",
                {"a": 0.5, "b": 3.0}),
    "subscripts that are computed": (
        "input x(N), c(M)\nint32 k(i) = floor(x(i)*2)\ny(i) = c(k(i))**2*x(i)\nv +=! y(i)\noutput y, v", {"x": X, "c": X[:3]}),
    **{f"sums that are read again: {name}": (SUMS + text, SUMMED) for name, text in {
        "a squared balance": "v +=! (a(n) - load(n))**2", "with a factor": "v +=! exp(a(n)/9)*b(n)*load(n)",
        "of one another": "v +=! a(n)*b(n)*load(n)", "gathered": "v +=! exp(a(into(e))/9)*p(e)",
        "at a bound": "v +=! max(a(into(e)), 0.5)**2",
        "from a start": "c(n) = y(n)**2; c(from(e)) += p(e)**2; c(into(e)) += p(e)*y(from(e)); v +=! p(e)*sin(c(into(e)))",
        "from a start elsewhere": "c(n) = n == 1 ? a(n) : y(n); c(into(e)) += p(e)**2; v +=! c(n)**2*b(n)",
        "in sums": "c(into(e)) +=! a(into(e))**2*p(e) where float(N) c; v +=! c(n)**2",
        "shares": "s(from(e)) +=! exp(p(e)) where float(N) s; q(e) = exp(p(e))/s(from(e)); v +=! q(e)**2*y(into(e))"}.items()},
    "infinite and undefined": ("input x(N)\ny(i) = sqrt(x(i))*x((i+1) % N)\nv +=! log(x(i))*x(0)\noutput y, v",
                               {"x": np.array([0.0, 1, -1, 4])}),
}


def split(vector: np.ndarray, shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    ends = np.cumsum([math.prod(s) for s in shapes])[:-1]
    return [x.reshape(s) if s else float(x[0]) for x, s in zip(np.split(vector, ends), shapes, strict=True)]


def matrix(made: EntryProgram, at: Mapping[str, Any], shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """The matrix that entries add up to, and where there are any."""
    values, places = evaluate(made.values, at, numpy_arithmetic()), made.every_place(at)
    every, found, there = np.zeros(0), np.zeros(shape), np.zeros(shape, bool)
    every = np.concatenate([every, *[np.ravel(values[b.value]) for b in made.blocks]])
    for start, end in pairwise([0, *places.ends]):
        every = np.concatenate([every, every[places.left[start:end]] * every[places.right[start:end]]])
    np.add.at(found, (places.i, places.j), every[places.entry])
    there[places.i, places.j] = True
    return found, there


def columns(program: Program, at: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]], count: int) -> np.ndarray:
    """The last `count` results of a tangent program along every unit vector of the inputs, one after another."""
    program, found = pipeline.evaluation_program(program), []
    seeds = {p.name: p.seed or "" for p in program.params if p.name not in at}
    for e in np.eye(sum(map(math.prod, shapes.values()))):
        parts = dict(zip(shapes, split(e, [*shapes.values()]), strict=True))
        results = evaluate(program, {**at, **{name: parts[x] for name, x in seeds.items()}}, numpy_arithmetic())
        found.append(np.concatenate([np.ravel(results[r.name]) for r in program.results[-count:]]))
    return np.array(found).T


def agree(program: Program, at: Mapping[str, Any]) -> None:
    """Both matrices agree with the dense ones, and their patterns hold all that is not zero."""
    wrt = [p.name for p in program.params if not p.var.integer]
    inputs, outputs = {x: np.shape(at[x]) for x in wrt}, output_shapes(program, at)
    made = jacobian_entries(program, wrt, staged=True)
    same(columns(pipeline.tangent_program(program, wrt), at, inputs, len(outputs)), made, at)
    no_more_than_edges(program, at, "jacobian")
    for name in [name for name, shape in outputs.items() if not shape]:
        no_more_than_edges(with_outputs(program, [name]), at, "hessian")
    made, reverse = hessian_entries(program, wrt, staged=True), pipeline.adjoint_program(program, wrt)
    weights = np.random.default_rng(0).normal(size=sum(map(math.prod, outputs.values())))
    at = {**at, **dict(zip(made.weights, split(weights, [*outputs.values()]), strict=True))}
    adjoints = [r.name for r in reverse.results[len(outputs):]]
    same(columns(pipeline.tangent_program(reverse, wrt, adjoints), at, inputs, len(wrt)), made, at)


def no_more_than_edges(program: Program, at: Mapping[str, Any], kind: MatrixKind) -> None:
    """Conditions on indices are decided: edges between elements give no smaller pattern."""
    wrt = [p.name for p in program.params if not p.var.integer]
    found, edges = (f(program, at, kind, wrt) for f in (element_matrix, matrix_by_edges))
    assert all({*mine} <= {*other} for mine, other in zip(found.pattern, edges.pattern, strict=True))


def same(dense: np.ndarray, made: EntryProgram, at: Mapping[str, Any]) -> None:
    if dense.size:
        found, there = matrix(made, at, dense.shape)   # type: ignore[arg-type]
        scale = np.abs(dense[np.isfinite(dense)]).max(initial=1)
        np.testing.assert_allclose(found, dense, rtol=1e-9, atol=1e-12 * scale)
        assert there[dense != 0].all()


@each_row("name", part([*PROGRAMS], 3))
def test_entries_are_those_of_the_dense_derivatives(name: str) -> None:
    text, at = PROGRAMS[name]
    agree(parse(text), at)


@each_row("number", part(range(40), 8))
def test_entries_of_random_programs(number: int) -> None:
    made = sample(fixed("entries", number))
    try:
        agree(made.program(), made.values)
    except NoStatements as error:
        assert error.reason.startswith(("a value is in a loop", "several points write"))


@pytest.mark.parametrize("kind", ["jacobian", "hessian"])
def test_entries_are_a_program_that_is_read_back(kind: str) -> None:
    """Values, rows and columns are vectors; entries at one place add up."""
    program, at = parse(NETWORK.replace("output p, u, d", "output u")), PROGRAMS["a network"][1]
    wrt = ["v", "a", "s"]
    made = parse(print_program(listed(program, wrt, kind)))
    found = evaluate(made, at, numpy_arithmetic())
    swept = jacobian_entries(program, wrt) if kind == "jacobian" else hessian_entries(program, wrt)
    expected, _ = matrix(swept, {**at, **dict.fromkeys(swept.weights, 1.0)}, (1, 11) if kind == "jacobian" else (11, 11))
    got = np.zeros_like(expected)
    np.add.at(got, (found["row"].astype(int), found["column"].astype(int)), found["value"])
    np.testing.assert_allclose(got, expected, rtol=1e-14)


def test_what_is_no_sum_over_a_box_says_why() -> None:
    for text, reason in {
            "input x(N), b(M), int32 k(M), int32 q(M)\ny(i) = 0*x(i)\ny(k(j)) += b(j)\nv +=! y(q(j))**2": "a sum is read",
            "input x, int T\nh(0) = x\nfor t in 0:T { h(t+1) = sin(h(t)) }\nv = h(T)": "a value is in a loop"}.items():
        with pytest.raises(NoStatements, match=reason):
            hessian_entries(parse(text), [p.name for p in parse(text).params if not p.var.integer])


def test_entries_are_added_up_where_they_are_made() -> None:
    """Over the rows of a matrix that go into one entry: with a value for each of them the Gram matrix would be a cube."""
    made = hessian_entries(parse("input x(N), A(M, N), b(M)\nr(i) +=! A(i, j)*x(j)\nv +=! exp(r(i) - b(i))"), ["x"])
    assert [shape_of(r.atom) for r in made.values.results] == [(affine("N"), affine("N"))]


def test_blocks_that_are_transposes_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A branch has 4 unknowns: 10 entries, and those of s·v²: 3."""
    made = hessian_entries(parse(NETWORK), ["v", "a"])
    assert sorted(b.mirrored for b in made.blocks) == [False] * 5 + [True] * 6
    monkeypatch.setattr(entries, "same_values", lambda merged, pairs: set())
    agree(parse(NETWORK), PROGRAMS["a network"][1])
