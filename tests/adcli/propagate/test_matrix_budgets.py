"""Figures that come from matrices: those that an equation for each gives, and J C Jᵀ where no program is written out."""
from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from command import adcli, succeeds
from session_seed import each_choice

from adcli.propagate import uncertain_tensors

CASES = {
    "product": ("input A(M, N), x(N); y(i) +=! A(i, j) * sin(x(j))", "A=[[1,2],[0,-3]],x=[0.5,1]±0.1"),
    "correlated": ("input x(N); y(i) = exp(x(i)) where i in 0:N; s +=! x(j)**2",
                   "x=[1,2,3]±[0.1,0.2,0.3] --correlation x(0):x(1)=0.5,x(1):x(2)=-0.3 --coverage 0.9 --status"),
    "cancels": ("input x(N); s = x(0) - x(1); z = 2 where z = 2; r +=! x(i)", "x=[1,1]±0.1 --correlation x(0):x(1)=1"),
    "nothing": ("input x(N); y(i) = x(i)**2 where i in 0:N; c(i) = 1 where i in 0:2", "x=[0,2]±0.1"),
    "infinite": ("input x(N); y(i) = 1/x(i)", "x=[0,1]±0.1"),
    "loop": ("input x(N), int32 T; h(0, i) = x(i)\nfor t in 0:T { h(t+1, i) = sin(h(t, i)) }\ny(i) = h(T, i)", "x=[1,2]±5%,T=3"),
    "matrix": ("input A(N, N), b(N); x = solve(A, b)",
               "A=[[4,1],[2,3]]±0.05,b=[1,2] --covariance b=[[0.01,0.004],[0.004,0.04]] --of x(1)"),
}


@pytest.mark.parametrize(("case", "form"), each_choice([*CASES.values()], ["text", "json", "csv"]))
def test_figures_notes_and_codes_are_those_of_equations(case: tuple[str, str], form: str,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    text, words = case
    ended = []
    for many in (math.inf, 0):
        monkeypatch.setattr(uncertain_tensors, "MANY", many)
        ended.append(adcli("propagate", "-e", text.split(" where z")[0], "--at", *words.split(), "--format", form))
    one, other = ended
    assert (one.code, numbers_out(one.err)) == (other.code, numbers_out(other.err.replace(", i = 0", "")))   # which says where
    assert numbers_out(one.out) == numbers_out(other.out)
    np.testing.assert_allclose(numbers_in(other.out), numbers_in(one.out), rtol=1e-12, atol=1e-12)


def split(text: str) -> list[str]:
    return text.replace(",", " , ").replace(":", " : ").replace("}", " } ").replace("]", " ] ").split()


def is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def numbers_out(text: str) -> list[str]:
    return ["#" if is_number(w) else w for w in split(text)]


def numbers_in(text: str) -> list[float]:
    return [float(w) for w in split(text) if is_number(w)]


def test_a_large_program_is_not_written_out(tmp_path: Any) -> None:
    """0.6 million operations; C = J diag(u²) Jᵀ. A long tensor that is exact is not repeated."""
    r = np.random.default_rng(3)
    a, x, u = r.normal(size=(200, 1000)), r.normal(size=1000), 0.1
    np.save(tmp_path / "A.npy", a)
    np.save(tmp_path / "x.npy", x)
    text, at = "input A(M, N), x(N); y(i) +=! A(i, j)*sin(x(j))**2; s +=! y(i)", f"A=@{tmp_path}/A.npy,x=@{tmp_path}/x.npy±{u}"
    found = json.loads(succeeds("propagate", "-e", text, "-e", "output s", "--at", at, "--format", "json").out)
    assert found["u"]["s"] == pytest.approx(u * np.linalg.norm(a.sum(axis=0) * np.sin(2 * x)), rel=1e-12)
    assert len(found["at"]) == 1000


def test_an_element_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uncertain_tensors, "MANY", 0)
    ended = adcli("propagate", "-e", "input x(N); y(i) = x(i)", "--at", "x=[1,2]±0.1", "--of", "y(2)")
    assert (ended.code, ended.err) == (2, "adcli: error: no output 'y(2)'\nhelp: the outputs are y(0), y(1)\n")
