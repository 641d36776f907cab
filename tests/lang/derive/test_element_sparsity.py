"""Patterns read off comprehensions are those of the program written out as one of numbers."""
from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from adcli.lang.derive import element_sparsity
from adcli.lang.derive.element_sparsity import hessian_elements, jacobian_elements
from adcli.lang.derive.sparsity import Pattern, hessian_pattern, jacobian_pattern
from adcli.lang.evaluate.unfolding import unfolded
from adcli.lang.ir import Program, on_tensors, shape_of
from adcli.lang.ir.activity import with_outputs
from adcli.lang.ir.comprehension import Comprehension
from adcli.lang.ir.names import tensor_of
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.simplify import simplify
from places import DATA, ROOT
from random_comprehensions import sample
from session_seed import drawn, fixed

CASES = {case["name"]: case["at"] for case in json.loads((DATA / "tensors" / "models.json").read_text(encoding="utf-8"))["cases"]}
MODELS = {name: parse((ROOT / f"tests/programs/models/{name}.ad").read_text(encoding="utf-8")) for name in sorted(CASES)}
WITHOUT_LOOPS = [name for name, program in MODELS.items()
                 if all(isinstance(e.op, Comprehension) or not on_tensors(e) for e in program.equations)]

PROGRAMS = {
    "windows and edges": ("y(i) = i > 2 and i < 5 ? x(i)**2*s : x(0)*x(i)\nv +=! y(i)**2*(i % 2 == 0 ? 1 : s)\noutput y, v",
                          {"x": np.linspace(0.5, 1, 8), "s": 2.0}),
    "sums onto others": ("y(i) = x(i)**3\ny(i) += z(i)*x(0) where i in 0:2\nv *=! y(i) + s\noutput y, v",
                         {"x": np.linspace(0.5, 1, 4), "z": np.ones(4), "s": 3.0}),
    "computed subscripts": ("int32 k(i) = floor(x(i))\ny(i) = z(k(i))*x(i)\nv lse=! y(i)\noutput y, v",
                            {"x": np.array([0.5, 1.5, 2.5]), "z": np.ones(4)}),
    "factors that two terms share": ("v *=! x(i) + x((i + 1) % N)\nw *=! x(i)*z(i)\nu min=! x(i)**2\noutput u, v, w",
                                     {"x": np.linspace(1, 2, 3), "z": np.ones(3)}),
    "numbers between tensors": ("m +=! x(i)\nr = sqrt(m)*s + x(0)\ny(i) = x(i)/r\nv +=! y(i)*z(i)\noutput r, v",
                                {"x": np.linspace(1, 2, 3), "z": np.ones(3), "s": 2.0}),
    "what is not differentiated": (
        "k = [1, 2, 3]\nc(i) = x(i) > 1 ? 1 : 0\ny(i) = k(i)*c(i) + stop(x(i))\nv +=! y(i)*x(i)**2\noutput y, v",
        {"x": np.array([0.5, 1.5, 2.5])}),
    "nothing": ("v +=! x(i)**2\ny(i) = x(i)\noutput v, y", {"x": np.zeros(0)}),
}


def declared(text: str, at: Mapping[str, Any]) -> Program:
    return parse("input " + ", ".join(f"{name}(N)" if np.ndim(x) else name for name, x in at.items() if name != "z")
                 + (", z(M)\n" if "z" in at else "\n") + text)


def agree(program: Program, at: Mapping[str, Any]) -> None:
    """The Jacobian of all outputs, and the Hessian of each that is a number."""
    whole = simplify(unfolded(program, at).program)
    wrt = [p.name for p in program.params if not p.var.integer]
    columns = [p.name for name in wrt for p in whole.params if tensor_of(p.name) == name]
    assert jacobian_elements(program, at, wrt) == jacobian_pattern(whole, columns, [r.name for r in whole.results])
    for r in program.results:
        if not shape_of(r.atom):
            found = hessian_elements(with_outputs(program, [r.name]), at, wrt)
            assert found == hessian_pattern(whole, columns, r.name), r.name


@pytest.mark.parametrize("name", PROGRAMS)
def test_patterns_are_those_of_the_program_written_out(name: str) -> None:
    text, at = PROGRAMS[name]
    agree(declared(text, at), at)


@pytest.mark.parametrize("name", drawn("patterns").sample(WITHOUT_LOOPS, 8))
def test_patterns_of_models(name: str) -> None:
    agree(MODELS[name], CASES[name])


@pytest.mark.parametrize("number", range(20))
def test_patterns_of_random_programs(number: int) -> None:
    """The same programs in every run: in one of some thousand a condition on indices is decided here by functions that are not
    exact, and in the program written out it is not."""
    made = sample(fixed("elements", number))
    agree(made.program(), made.values)


def test_loops_and_matrices_have_none() -> None:
    assert jacobian_elements(MODELS["heat"], CASES["heat"], ["u0"]) is None
    assert hessian_elements(MODELS["dense_solve"], CASES["dense_solve"], ["b"]) is None


def test_few_results_of_many_values_are_found_backward(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each y depends on all of x: sets of columns are as many as the square, sets of results are not."""
    program, at = parse("input x(N)\nm +=! x(i)\ny(i) = m*x(i)\nv +=! y(i)"), {"x": np.ones(200)}
    monkeypatch.setattr(element_sparsity, "MOST_AT_ONCE", 2000)
    assert jacobian_elements(program, at, ["x"]) == (tuple(range(200)),)
    assert hessian_elements(program, at, ["x"]) is None


def test_a_banded_hessian_of_many_elements() -> None:
    """Rosenbrock (1960): f″ is tridiagonal."""
    n = 50_000
    found: Pattern | None = hessian_elements(parse("input x(N)\nv +=! 100*(x(i+1) - x(i)**2)**2 + (1 - x(i))**2"),
                                             {"x": np.ones(n)}, ["x"])
    assert found == tuple(tuple(range(max(i - 1, 0), min(i + 2, n))) for i in range(n))
