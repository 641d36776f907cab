"""Models that people write, as programs in tests/programs/models: losses, gradients and Hessian-vector products against JAX.

The numbers are made by tests/tools/make_model_references.py, where every model stands once more. Each derivative is printed and
read back before it is differentiated again.
"""
from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest
from adcli.codegen.modules import sweeps
from adcli.lang.evaluate import evaluate, numpy_arithmetic
from places import DATA, ROOT
from plan_laws import PlanOnMarks
from session_seed import drawn

import adcli

CASES: dict[str, dict[str, Any]] = {
    case["name"]: case for case in json.loads((DATA / "tensors" / "models.json").read_text(encoding="utf-8"))["cases"]}
FILES = {path.stem: path for path in sorted((ROOT / "tests/programs/models").glob("*.ad"))}


SMALL = ["arma", "bilinear_sampling", "ctc", "epidemic", "garch", "gaussian_process", "graph_network", "heat", "hidden_markov",
         "spline", "ornstein_uhlenbeck", "periodic_wave"]
"""Models whose Hessian is written and read back in about a second."""


@cache
def model(name: str) -> adcli.Function:
    return adcli.compile(FILES[name].read_text(encoding="utf-8"), f"{name}.ad")


def agree(found: dict[str, Any], want: dict[str, Any], prefix: str, near: float = 1e-12) -> None:
    """Each tensor, relative to its largest element."""
    for name, reference in want.items():
        x, y = np.asarray(found[prefix + name]), np.asarray(reference)
        assert x.shape == y.shape, name
        np.testing.assert_allclose(x, y, rtol=0, atol=near * max(np.abs(y).max(initial=0), 1e-300), err_msg=prefix + name)


def read_back(f: adcli.Function) -> adcli.Function:
    again = adcli.compile(text := f.text())
    assert again.text() == text
    return again


@cache
def gradient(name: str) -> adcli.Function:
    return model(name).grad(wrt=list(CASES[name]["grad"]))


@cache
def gradient_read_back(name: str) -> adcli.Function:
    return read_back(gradient(name))


def directed(case: dict[str, Any], prefix: str) -> dict[str, Any]:
    return case["at"] | {prefix + name: x for name, x in case["direction"].items()}


@pytest.mark.parametrize("name", drawn("models").sample(sorted(FILES), 8))
def test_a_model_and_its_derivatives_mean_what_jax_says(name: str) -> None:
    """By the evaluator, forward over reverse mode."""
    case = CASES[name]
    both = gradient_read_back(name).jvp(wrt=list(case["grad"]))
    found = evaluate(both.program, directed(case, "d"), numpy_arithmetic())
    agree(found, {"L": case["value"], "dL": case["along"]}, "")
    agree(found, case["grad"], "dL_d")
    agree(found, case["hvp"], "ddL_d")


@pytest.mark.parametrize("name", drawn("Hessians of models").sample(SMALL, 1))
def test_the_hessian_of_a_model_is_a_program(name: str) -> None:
    whole_hessian(name)


def whole_hessian(name: str) -> None:
    """The text of the Hessian, by the evaluator, times the direction."""
    case, f = CASES[name], model(name)
    wrt = [x for x in f.inputs if x in case["grad"]]
    found = evaluate(read_back(f.hessian(wrt=wrt)).program, case["at"], numpy_arithmetic())
    along = {x: np.asarray(case["direction"][x]) for x in wrt}
    products = {}
    for i, x in enumerate(wrt):
        parts = [np.tensordot(found[f"d2L_d{x}_d{y}"], along[y], along[y].ndim) for y in wrt[i:]]
        parts += [np.tensordot(along[y], found[f"d2L_d{y}_d{x}"], along[y].ndim) for y in wrt[:i]]
        products[x] = np.asarray(sum(parts))
    agree(products, case["hvp"], "")


def test_a_model_runs_as_jax_does() -> None:
    """One of them, natively."""
    natively(drawn("models that run").choice(sorted(FILES)))


@pytest.mark.engine
@pytest.mark.no_cover
@pytest.mark.parametrize("name", FILES)
def test_every_model_runs_as_jax_does(name: str) -> None:
    """Natively; and by the evaluator Hessian-vector products in two more ways: by the verb, and in reverse over reverse mode."""
    natively(name)
    in_single_precision(name)
    in_reverse(name)
    whole_hessian(name)
    case, f = CASES[name], model(name)
    found = evaluate(f.hvp(wrt=list(case["grad"])).program, directed(case, "d"), numpy_arithmetic())
    agree(found, case["hvp"], "hvp_")


def in_single_precision(name: str) -> None:
    case = CASES[name]
    f = adcli.compile(FILES[name].read_text(encoding="utf-8"), f"{name}.ad", precision="single")
    found = f.grad(wrt=list(case["grad"]))(case["at"])
    agree(found, {"L": case["value"]}, "", 2e-5)
    agree(found, case["grad"], "dL_d", 2e-5)


def in_reverse(name: str) -> None:
    """The gradient's text in reverse mode: the Hessian is symmetric."""
    case = CASES[name]
    wrt = list(case["grad"])
    pulled = gradient_read_back(name).vjp(wrt=wrt, of=[f"dL_d{name}" for name in wrt])
    agree(evaluate(pulled.program, directed(case, "d_ddL_d"), numpy_arithmetic()), case["hvp"], "d_d")


def natively(name: str) -> None:
    case = CASES[name]
    found = gradient(name)(case["at"])
    agree(found, {"L": case["value"]}, "")
    agree(found, case["grad"], "dL_d")
    both = gradient_read_back(name).jvp(wrt=list(case["grad"]))(directed(case, "d"))
    agree(both, {"dL": case["along"]}, "")
    agree(both, case["hvp"], "ddL_d")


def test_a_checkpointed_model_reads_what_it_reads_in_the_order_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """In blocks of few steps; one model with a loop, and its gradient."""
    monkeypatch.setattr(sweeps, "LEAST_BLOCK", 1)
    checkpointed(drawn("plans of models").choice([name for name, path in FILES.items() if "for t in" in path.read_text("utf-8")]))


def checkpointed(name: str) -> None:
    case = CASES[name]
    f = adcli.compile(FILES[name].read_text(encoding="utf-8"), f"{name}.ad", checkpoint=True)
    program = f.grad(wrt=list(case["grad"])).program
    plan = PlanOnMarks(program, {p.name: np.shape(case["at"][p.name]) for p in program.params}, case["at"])
    plan.check(plan.actions)


def test_there_are_models_of_every_kind() -> None:
    assert len(FILES) >= 40 and set(FILES) == set(CASES)
    texts = [path.read_text(encoding="utf-8") for path in FILES.values()]
    for words in ("for t in ", "down {", " until ", "lse=!", "*=!", "argmin=!", "stop(", "solve(", "cholesky(", "logdet(", " % N",
                  "h * E + e", "= floor(", "def "):
        assert any(words in text for text in texts), words
