"""`adcli check` on programs with tensors: every kind of statement passes, and a fault planted in the rules of each is caught."""
from __future__ import annotations

import pathlib
import re

import numpy as np
import pytest
from adcli.lang.lower.frontend import parse
from adcli.lang.modes import comprehension_rules, recurrence_rules
from adcli.lang.passes import pipeline
from adcli.lang.verify import differences
from command import adcli, succeeds
from planted_faults import wrong_rule
from session_seed import half

import adcli as api
from adcli.check import elements, points, subject
from adcli.check.elements import TensorDerivatives, hot

KINDS = {
    "comprehension": "input A(M, N), x(N)\ny(i) +=! A(i, j) * sin(x(j))",
    "gather": "input A(K, N)\nparam int32 k(M)\ns +=! A(k(m), n)**2",
    "loop": "input x(N)\nh(0, i) = x(i)\nfor t in 0:3 {\n    h(t + 1, i) = tanh(h(t, i)) * x(i)\n}\ns +=! h(3, i)",
    "matrix": "input A(N, N), b(N)\nw = solve(A, b)\ns +=! w(i) * b(i)",
    "held": "input x(N)\ns +=! x(i) * stop(exp(x(i)))",
}


@pytest.mark.parametrize("text", KINDS.values(), ids=KINDS)
def test_every_kind_of_statement_passes_at_points_that_are_drawn(text: str) -> None:
    out = succeeds("check", "-e", text, "--samples", 1, "--precision", "single").out
    assert out.startswith("points: 1 drawn (seed 0)") and re.search("Taylor remainder, gradient +[1-9]", out)
    (single,) = [line for line in out.splitlines() if line.startswith("single precision against double")]
    assert " ok " in single and "right digits" in single
    assert "slope 2.00" in out or "nothing remains" in out


@pytest.mark.parametrize("text, at", [
    ("input c(M), t; v +=! c(j)*t**j", "c=[1,2,-3],t=1.3"), ("input c(M), t; v +=! c(j)*t**(-j)", "c=[1,2,-3],t=-0.7"),
    ("input c(M), t(N); v +=! c(j)*sin(t(i))**(M - j)", "c=[1,2,3,4,5,6,7,8],t=[0.01,-2,0,30]"),
    ("input c(M), t; h(0) = t; for k in 0:M { h(k+1) = h(k)**k*c(k) + t**k }; v = h(M)", "c=[1,2,-3,0.5],t=1.3"),
    ("input t, int32 n; v = t*n + t**n", "t=1.3,n=5"),
])
def test_powers_and_whole_numbers_pass(text: str, at: str) -> None:
    """A power with an index is the product of so many factors, and no error or change of the index is one of it."""
    out = succeeds("check", "-e", text, "--at", at).out
    assert "no disagreement" in out and "leaves no digit" not in out


def test_a_point_is_given_and_the_verdict_from_python_is_the_same() -> None:
    text, at = KINDS["comprehension"], "A=[[1,2],[3,4]],x=[0.5,-1]"
    record = adcli("check", "-e", text, "--at", at, "--format", "json").records[0]
    view = api.compile(text).check(A=np.array([[1.0, 2], [3, 4]]), x=np.array([0.5, -1]))
    assert record["verdict"] == view["verdict"] == "ok" and record["entries"] == view["entries"] == {
        "first": 12, "second": 0, "all": True}


def test_where_no_path_leads_entries_are_0_and_ask_no_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Elements that nothing reads cost no evaluation in multiple precision, and each is compared all the same."""
    asked = list[str]()

    def derivative(program, at, directions, *rest):
        asked.extend(directions[0])
        return ask(program, at, directions, *rest)

    ask = differences.derivative
    monkeypatch.setattr(differences, "derivative", derivative)
    text = "input A(N, N), s; v = A(0, 1) * s; w = exp(s)"
    out = succeeds("check", "-e", text, "--at", f"A={[[2.0 + i + j for j in range(20)] for i in range(20)]},s=0.5").out
    assert sorted(asked) == ["A(0, 1)", "s"]
    assert re.search(r"multiple precision +2406 ", out)
    assert "not compared" not in out


def test_entries_count_as_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few operations with many entries at each point: not all points are looked at, and that is said."""
    line = ["check", "-e", "input A(N, N), s; X(i) = s * A(0, 0) where i in 0:7", "--samples", 10]
    assert "entries: 392 first derivatives at 10 points" in succeeds(*line, "--seed", 3).out
    monkeypatch.setattr(points, "AT_ALL_POINTS", 300)
    assert re.search(r"drawn \(seed 3\); checked \d \(", succeeds(*line, "--seed", 3).out)


def test_a_part_of_many_entries_is_drawn_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "MANY_EQUATIONS", 100)
    text, at = KINDS["comprehension"] + "\ns +=! y(i)", f"A={[[1, 2, 3]] * 4},x=[3,4,5]".replace(" ", "")
    given = "check", "-e", text, "--of", "s", "--at", at
    drawn = "entries: 6 of 15 first derivatives, drawn by seed 0; --all looks at every one"
    assert drawn in succeeds(*given).out
    assert "entries: 15 first derivatives\n" in succeeds(*given, "--all").out


LAYER = "input x(B, I), W(I, H)\nz(n, h) +=! x(n, i) * W(i, h)\nL +=! tanh(z(n, h))**2\noutput L"
SOMEBODY = """
import numpy as np
def both(x, W):
    z = x @ W
    d = 2 * np.tanh(z) / np.cosh(z)**2
    return d @ W.T, x.T @ d
def in_order(a, b): return both(a, b)
def named(**given): return {"dL_dW": both(**given)[1]}
def lists(W, x): return {"L": np.sum(np.tanh(x @ W)**2), "dL_dx": both(x, W)[0].tolist()}
def twice(x, W): return {"dL_dW": 2 * both(x, W)[1], "dL_dx": both(x, W)[0]}
def transposed(x, W): return {"dL_dW": both(x, W)[1].T}
def short(x, W): return both(x, W)[0]
def raises(x, W): raise ValueError(x.shape)
def one(p): return p
def steps(a, T):
    d = 1.0
    for _ in range(T):
        a, d = np.sin(a), d * np.cos(a)
    return {"y": a, "dy_da": d}
"""


@pytest.mark.parametrize(("function", "said"), half([
    ("both", "ok: "), ("in_order", "ok: "), ("named", "ok: "), ("lists", "ok: "),
    ("twice", "error: dL_dW counts twice in all elements at every point"),
    ("transposed", "wrong: dL_dW(0, 1) at 2 of 2 points"), ("short", "returns 2 numbers; expected are value 1"),
    ("raises", "raises ValueError: (1, 2)"), ("one", "one(p) takes neither the inputs by their names, x, W, nor all of them in"),
]))
def test_somebodys_function_of_arrays_is_compared(function: str, said: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "m.py").write_text(SOMEBODY)
    at = ("--at", "x=[[1,0.2]],W=[[0.1,2],[0.3,-1]]", "--at", "x=[[0.7,2]],W=[[1,0.5],[-0.5,0.3]]")
    ended = adcli("check", "-e", LAYER, *at, "--against", f"{tmp_path / 'm.py'}:{function}")
    assert said in ended.out + ended.err and ended.code == (2 if function == "one" else 0 if said == "ok: " else 1), ended


def test_somebodys_loop_is_compared_and_what_is_no_function_of_arrays_is_refused(tmp_path: pathlib.Path) -> None:
    (tmp_path / "m.py").write_text(SOMEBODY)
    loop = "input a, int32 T\nx(0) = a\nfor t in 0:T { x(t + 1) = sin(x(t)) }\ny = x(T)\noutput y"
    assert succeeds("check", "-e", loop, "--against", f"{tmp_path / 'm.py'}:steps", "-q", "--samples", 2).out.startswith("ok: ")
    ended = adcli("check", "-e", KINDS["gather"], "--against", "true")
    assert ended.code == 2 and "--against asks a Python function" in ended.err


def test_a_point_too_large_for_single_elements_is_compared_with_nobody(tmp_path: pathlib.Path) -> None:
    (tmp_path / "m.py").write_text("def f(x): return {'s': (x**2).sum()}")
    big = tmp_path / "x.csv"
    big.write_text("\n".join(["0.5"] * 200_000))
    ended = adcli("check", "-e", "input x(N)\ns +=! x(i)**2", "--at", f"x=@{big}", "--against", f"{tmp_path / 'm.py'}:f")
    assert ended.code == 1 and "too large for single elements" in ended.out and "nothing compared: no entry of" in ended.out


def test_a_seed_of_one_element_gives_its_row_and_its_column() -> None:
    sweeps = TensorDerivatives(parse("input x(N); y(i) = i * x(i)"), ["x"])
    at = {"x": np.array([3.0, 4.0, 5.0])}
    for kernel, one, result in ((sweeps.ahead, "x(2)", 1), (sweeps.back, "y(2)", 1)):
        found = kernel({**at, **hot(kernel.program, {"N": 3}, one)})
        assert list(found.values())[result].tolist() == [0.0, 0.0, 2.0]
    assert sweeps.finite(at) == [True, True] and sweeps.finite({"x": np.array([1.0, np.inf])}) == [False, False]


# ---------------------------------------------------------------- faults

def caught(text: str) -> str:
    """What a check says that fails."""
    ended = adcli("check", "-e", text, "--samples", 1)
    assert ended.code == 1, ended.out
    return ended.out


@pytest.mark.parametrize(("kind", "line"), {"comprehension": 2, "loop": 4}.items())
def test_a_wrong_rule_of_an_operation_inside_of_a_statement_is_named_with_its_line(kind: str, line: int) -> None:
    name = "sin" if kind == "comprehension" else "tanh"
    with wrong_rule(name, 0, lambda m: m * (1 + 1e-6)):
        assert f"-e:{line}:" in (out := caught(KINDS[kind])) and f"error: the rule of {name}(u) gives" in out


@pytest.mark.parametrize(("kind", "rule"), [
    ("comprehension", "pulled"), ("gather", "pulled"), ("loop", "pulled_recurrence"), ("matrix", "pulled_matrix"),
    ("comprehension", "pushed"), ("loop", "pushed_recurrence"), ("matrix", "pushed_matrix")])
def test_a_wrong_rule_of_a_statement_in_one_mode(kind: str, rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = getattr(recurrence_rules, rule)

    def wrong(b, *given):
        found = right(b, *given)
        return {k: halved(b, x) for k, x in found.items()} if isinstance(found, dict) else halved(b, found)

    def halved(b, term):
        atom = term.value.var
        half = comprehension_rules.elementwise(b, lambda t: t * 0.5, atom) if atom.shape else term.value * 0.5
        return type(term).of(half, term.guard, term.exists)

    monkeypatch.setattr(pipeline, "CHECKS", ())
    monkeypatch.setattr(recurrence_rules, rule, wrong)
    assert "the modes differ: the fault is in a sweep" in caught(KINDS[kind])
    if (kind, rule) == ("comprehension", "pulled"):
        monkeypatch.setattr(elements, "MOST_WRITTEN", 0)
        assert "(forward against reverse)" in caught(KINDS[kind])


def test_a_point_where_every_value_is_nan_leaves_nothing_to_compare() -> None:
    ended = adcli("check", "-e", "input x(N); s +=! log(x(i))", "--at", "x=[-1]", "--quiet")
    assert (ended.code, ended.out) == (1, "nothing compared: no method applies at any of these points\n")
