"""Matrices of tensors by elements: --format coo and mtx, --pattern, against derivatives written down."""
from __future__ import annotations

import numpy as np
import pytest
from adcli.lang.sparsity import element_sparsity
from command import adcli, succeeds
from session_seed import each_choice, part

from adcli.answers import elements
from adcli.task import entries as task_entries

LAYERS = ("-e", "input x(N)", "-e", "param w(K)", *(word for n in range(4) for word in (
    "-e", f"h{n + 1}(i) +=! tanh(w(k)*{f'h{n}' if n else 'x'}(i + k))")), "-e", "v +=! h4(i)**2", "-e", "output v", "--wrt", "x")
VALLEY = ("-e", "input x(N)", "-e", "f +=! 100*(x(i+1) - x(i)**2)**2 + (1 - x(i))**2")


def entries(text: str) -> dict[tuple[int, int], float]:
    rows = [line.split(",") for line in text.splitlines()[1:]]
    return {(int(row[0]), int(row[1])): float(row[-1]) for row in rows}


FULL = {
    "one tensor": ("hessian", "-e", "input x(N), c", "-e", "y(i) +=! x(i) * x(j) * sin(c * x(j))", "-e", "v +=! y(i)**2",
                   "--at", "x=[0.1,0.2,0.3],c=2"),
    "an order of one's own": ("hessian", "-e", "input x(N), A(N, M), b", "-e", "y(j) +=! A(i, j) * x(i) + b",
                              "-e", "v +=! exp(y(j)) * b", "--wrt", "b,A,x", "--at", "x=[1,2],A=[[1,2,3],[4,5,6]],b=0.5"),
    "entries that are zero by construction": ("hessian", "-e", "input x(N), z(N)", "-e", "v +=! x(i)**3 * z(i) + z(i)",
                                              "--at", "x=[1,2],z=[3,4]"),
    "several outputs": ("jacobian", "-e", "input x(N), k", "-e", "y(i) = k * x(i)**2", "-e", "s +=! y(i) * x(i)",
                        "-e", "T(i, j) = x(i) / x(j) + k", "--at", "x=[1,2,4],k=3"),
    "chosen ones": ("jacobian", "-e", "input x(N), k", "-e", "y(i) = k * x(i)**2", "-e", "s +=! y(i)", "--of", "s",
                    "--wrt", "k,x", "--at", "x=[1,2,4],k=3"),
    "a loop": ("jacobian", "-e", "input h0(N), w(N)", "-e", "h(0, i) = h0(i)", "-e",
               "for t in 0:3 { s(t) +=! h(t, i) * w(i); h(t+1, i) = tanh(s(t) + w(i)) }", "-e", "y(i) = h(3, i)",
               "--at", "h0=[0.1,0.2],w=[0.3,-0.4]"),
    "conditions and sums in a loop": (
        "hessian", "-e", "input x(T), a(N)", "-e", "h(0, i) = a(i)", "-e",
        "for t in 0:T { h(t+1, i) = t % 2 == 0 ? h(t, i)*x(t) : sin(h(t, i)); h(t+1, i) += a(j)*x(t) where j in 0:1 }",
        "-e", "v +=! h(T, i)**2", "--at", "x=[0.1,0.2,0.3],a=[0.3,-0.4]"),
    "a loop that ends": ("jacobian", "-e", "input a(N), s", "-e", "h(0, i) = a(i)", "-e",
                         "for t in 0:9 until h(t, 0) > 1 { h(t+1, i) = h(t, i)*(1 + s) }", "-e", "y(i) = h(9, i)",
                         "--at", "a=[0.9,-0.4],s=0.1"),
    "systems in a loop": ("hessian", "-e", "input b(N)", "-e", "param A(N, N)", "-e", "x(0, i) = b(i)", "-e",
                          "for t in 0:3 { r(t, i) = x(t, i)**2; x(t+1) = solve(A, r(t)) }", "-e", "v +=! x(3, i)",
                          "--at", "A=[[2,1],[0,3]],b=[1,2]"),
    "linear algebra": ("hessian", "-e", "input A(N, N), b(N)", "-e", "x = solve(A, b)", "-e", "v +=! x(i)**2",
                       "--at", "A=[[2,1],[0,3]],b=[1,2]"),
    "nothing beside something": ("jacobian", "-e", "input x(N), z(M)", "-e", "y(i) = x(i)**2", "-e", "u(i) = z(i)",
                                 "--at", "x=[1,2],z=[]"),
    "nothing": ("hessian", "-e", "input x(N)", "-e", "v +=! x(i)**2", "--at", "x=[]"),
}


@pytest.mark.parametrize(("name", "form"), part(each_choice(list(FULL), ["coo", "mtx"]), 4))
def test_sweeps_by_colours_have_the_entries_that_derivatives_as_tensors_have(name: str, form: str,
                                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    ended = []
    for full in (0, 1 << 60):
        monkeypatch.setattr(elements, "FULL", full)
        ended.append(adcli(*FULL[name], "--format", form))
    assert [e.code for e in ended] == [0, 0], ended[0].err + ended[1].err
    lines = [[line.replace(",", " ").split() for line in e.out.splitlines()] for e in ended]
    assert [line[:-1] for line in lines[1]] == [line[:-1] for line in lines[0]]
    numbers = [[float(line[-1]) for line in found if line[0].isdigit() and len(line) > 2] for found in lines]
    np.testing.assert_allclose(numbers[1], numbers[0], rtol=1e-12, atol=1e-12)


def test_a_sparse_hessian_takes_no_longer_than_its_entries() -> None:
    """The sum of 2·10⁵ operations was written out, and differentiated as such, which took 20 s."""
    n = 20_000
    got = succeeds("hessian", *VALLEY, "--at", f"x={[1] * n}", "--format", "coo").out
    assert len(got.splitlines()) == 3 * n - 1 and got.splitlines()[-1] == f"{n - 1},{n - 1},x({n - 1}),x({n - 1}),200.0"


def test_a_full_hessian_of_many_elements_is_computed_as_a_tensor() -> None:
    """As formulas these are more operations than a program may have."""
    n = 150
    x = np.linspace(-1, 1, n)
    got = entries(succeeds("hessian", "-e", "input x(N)", "-e", "w(i, j) = cos(x(i) * x(j))", "-e", "y(i) +=! w(i, j) * x(j)",
                           "-e", "v +=! exp(-y(i)**2)", "--at", f"x={x.tolist()}", "--format", "coo", "--no-cache").out)
    assert len(got) == n * n and all(got[j, i] == value for (i, j), value in got.items())


@pytest.mark.parametrize("full", [0, 1 << 60])
def test_what_is_not_finite_or_rough_is_said_once(full: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elements, "FULL", full)
    ended = adcli("hessian", "-e", "input x(N)", "-e", "v +=! abs(x(i)) * x(j)**2", "--at", "x=[0,1]", "--format", "coo",
                  "--strict")
    assert ended.code == 4 and ended.err.count("abs") == 1
    ended = adcli("jacobian", "-e", "input x(N)", "-e", "y(i) = sqrt(x(i))", "--at", "x=[1,0,4]", "--format", "coo", "--strict")
    assert ended.code == 4 and "dy_dx(1, 1) = inf: 1 of " in ended.err
    assert entries(ended.out)[2, 2] == 0.25



@pytest.mark.parametrize("request_, pattern, ways", [
    (("hessian", *VALLEY, "--at", "x=[" + ",".join("1" * 30) + "]"), "statement by statement, 522 operations; a sweep is 1,539",
     "entries: 3 sweeps, by colours"),
    (("hessian", *LAYERS, "--at", f"x={[0.1] * 60},w=[1,2,3,4]"), "element by element: statements would be 130,", ""),
    (FULL["a loop"], "element by element: a value is in a loop, or made by an operation on matrices", "")],
    ids=["statements", "paths through layers", "a loop"])
def test_explain_says_how_pattern_and_entries_are_found(request_: tuple[str, ...], pattern: str, ways: str) -> None:
    ended = adcli(*request_, "--format", "coo", "--explain")
    assert f"pattern: {pattern}" in ended.err and ways in ended.err and ended.out.startswith("i,j,row,column,value\n")


def test_small_matrices_are_full_where_elements_are_read_too_often(monkeypatch: pytest.MonkeyPatch) -> None:
    sparse = adcli(*FULL["conditions and sums in a loop"], "--format", "coo")
    monkeypatch.setattr(element_sparsity, "MOST_EDGES", 10)
    full = adcli(*FULL["conditions and sums in a loop"], "--format", "coo")
    assert {k: x for k, x in entries(full.out).items() if k in entries(sparse.out)} == entries(sparse.out)
    assert len(entries(full.out)) == 25
    monkeypatch.setattr(task_entries, "MOST_FULL", 24)
    assert "the sparsity pattern is too large" in adcli(*FULL["conditions and sums in a loop"], "--format", "coo").err


@pytest.mark.parametrize("form, expected", [
    (("--format", "coo"), "i,j,row,column,value\n"), (("--no-zeros",), "row = []"), (("--pattern",), " 0, 0 of 0 entries")])
def test_matrices_by_no_input(form: tuple[str, ...], expected: str) -> None:
    loop = "param x(N); h(0) = x(0)**2; for t in 0:2 { h(t+1) = h(t)**2 }; v = h(2)"
    for verb in ("jacobian", "hessian"):
        assert expected in succeeds(verb, "-e", "param x(N); v +=! x(i)**2", *form, "--at", "x=[1,2]").out
        assert expected in succeeds(verb, "-e", loop, *form, "--at", "x=[1,2]").out
