"""Minima at points where second derivatives are conventions: claimed where those on all sides agree, and only there."""
import numpy as np
import pytest
from command import adcli as run

import adcli

MINIMA = [
    ("hypot(x, y)**2", {"x": 1, "y": 1}), ("hypot(x, y)**2", {"x": 0, "y": 0}),
    ("3 + hypot(x - 1e3, y*1e-3)**2", {"x": 3, "y": 0.1}),
    ("hypot(x, y)**2 + exp(x) - x", {"x": 2, "y": 1}), ("abs(x)**2", {"x": 1}), ("x == 0 ? 0 : x**2", {"x": 1}),
    ("relu(x)**2 + relu(-x)**2", {"x": 1}), ("max(x**2, 2*x**2)", {"x": 1}), ("fmax(x**2, 2*x**2) + y**2", {"x": 0, "y": 1}),
    ("input z(N); s +=! abs(z(i))**2", {"z": [1, -2, 0]}), ("abs(x)**3", {"x": 1}), ("abs(x)**2.2", {"x": 1})]
OTHERS = [
    ("abs(x)", {"x": 1}), ("abs(x) + x**2", {"x": 1}), ("x**2 - abs(x)", {"x": 0}), ("x == 0 ? 5 : x**2", {"x": 0}),
    ("x == 0 ? 5 : x**2", {"x": 1}), ("max(x**2, -2*x**2, 3*x)", {"x": 0}),
    ("relu(x)**2", {"x": 1}), ("relu(x)**2 - relu(-x)**2", {"x": 1}),
    ("-hypot(x, y)**2", {"x": 0, "y": 0}),
    ("x > 0 ? x**2 : 3*x**2", {"x": 0}),
    ("x**2 + (x == 0 ? 1 : 0)", {"x": 0}), ("x*abs(x)", {"x": 1})]


@pytest.mark.parametrize("program, at", MINIMA, ids=str)
def test_a_minimum_is_shown_where_all_sides_agree(program, at):
    found = adcli.compile(program).minimize(at)
    assert found.success and found.verdict == ("not strict" if program.endswith(("**3", "**2.2")) else "minimum"), found
    assert np.max(np.abs(found.jac)) < 1e-6


@pytest.mark.parametrize("program, at", OTHERS, ids=str)
def test_none_is_shown_where_sides_differ(program, at):
    """By value, gradient or Hessian."""
    found = adcli.compile(program).minimize(at)
    assert not found.success, found


def test_what_is_said_of_it():
    ended = run("minimize", "-e", "abs(x)**2", "--at", "x=1", "-q")
    assert (ended.code, ended.err) == (0, "")
    assert "# minimum: gradient 0, Hessian positive definite, the same on all sides of a kink\n" in ended.out
    ended = run("minimize", "-e", "abs(x)**2 - x**2", "--at", "x=1", "-q")
    assert (ended.code, ended.out.splitlines()[2]) == (0, "# minimum, not unique: nothing changes along x +1; gradient 0")
    ended = run("minimize", "-e", "-hypot(x, y)**2", "--at", "x=1,y=1", "--maximize", "--format", "json")
    (found,) = ended.records
    assert found["maximum"] and found["status"] in ("kink", "smooth") and "Hessian negative definite" in found["sentence"]
