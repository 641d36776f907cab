"""Statements along the same rows in one loop: which they are, that they share what they compute, and that nothing is lost."""
from __future__ import annotations

import numpy as np
import pytest
from adcli.codegen.machine import veclib
from adcli.codegen.modules.module import laid_out
from adcli.codegen.modules.runtime import compile_tensors
from adcli.codegen.nests import row_sweeps
from adcli.codegen.nests.row_sweeps import one_nest
from adcli.lang.evaluate import evaluate, numpy_arithmetic
from adcli.lang.ir import Program
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.precision import DOUBLE, SINGLE, Precision
from adcli.lang.passes.pipeline import adjoint_program
from bench_tensors import LAYER_NORM
from far_rows import far, whole_numbers
from native_tensors import LANES, assert_same_bits, everywhere
from session_seed import drawn, half

both = pytest.mark.parametrize("precision", [DOUBLE, SINGLE], ids=lambda p: p.name)
TOGETHER = {
    "a row, a column and elements":
        "input A(M, N), s(M)\nr(i) +=! A(i, j)\nc(j) +=! A(i, j) * s(i)\ny(i, j) = s(i) * A(i, j) + j\noutput r, c, y",
    "other names for rows and columns":
        "input A(M, N), B(M, N)\nr(n) +=! A(n, m) * B(n, m)\nc(j) +=! A(i, j) - B(i, j)\noutput r, c",
    "the same value twice":
        "input A(M, N)\nr(i) +=! A(i, j) * A(i, j)\nc(j) +=! A(i, j) * A(i, j)\nd(j) +=! A(i, j)\noutput r, c, d",
    "behind what is done for rows alone":
        "input A(M, N), u(M)\nr(i) +=! A(i, j)\ns(i) = r(i) + u(i)\nc(j) +=! A(i, j) * u(i)\nt(j) +=! A(i, j) * s(i)\n"
        "y(i, j) = A(i, j) - s(i)\noutput c, t, y",
}


def swept(program: str | Program) -> list[list[str]]:
    """The names of what is made in one loop."""
    given = parse(program) if isinstance(program, str) else program
    module = laid_out(given, veclib.lanes(), veclib.host())
    return [[m.equation.outs[0].name or "?" for m in s.members] for s in module.sweeps]


def layer_norm(rows: int, columns: int, precision: Precision) -> tuple[Program, dict[str, np.ndarray]]:
    """The adjoint of layer norm, and where to compute it: with zeros, as dropout makes them."""
    program, rng = adjoint_program(parse(LAYER_NORM)), np.random.default_rng(drawn("layer norm").randrange(1 << 32))
    shapes = {"T": rows, "D": columns}
    at = {p.name: rng.standard_normal([shapes[x.terms[0][0]] for x in p.var.shape]) for p in program.params}   # type: ignore[index]
    (adjoint,) = {*at} - {"x", "g", "b"}
    at[adjoint][rng.random(at[adjoint].shape) < 0.3] = 0
    return program, {name: a.astype(precision.code) for name, a in at.items()}


@pytest.mark.parametrize("name", half([*TOGETHER]))
@pytest.mark.parametrize("rows", [1, 3, 4, 9])
def test_every_element_is_done_once(name: str, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    far(monkeypatch, rows)
    program, r = parse(TOGETHER[name]), drawn(name)
    assert swept(program)
    for m, n in ((r.randint(2, 30), r.randint(1, 70)), (1, 1), (2 * rows, 16), (rows, 0), (0, 3)):
        at = whole_numbers(program, {"M": m, "N": n}, name)
        everywhere(program, at, evaluate(program, at, numpy_arithmetic()), r.choice(LANES), exact=True)


def test_what_goes_together() -> None:
    wanted = [[["r", "c", "y"]], [["r", "c"]], [["r", "c", "d"]], [["r", "c"], ["t", "y"]]]
    assert [swept(text) for text in TOGETHER.values()] == wanted
    (names,) = swept(adjoint_program(parse(LAYER_NORM)))
    assert {"y", "d_dg", "d_db"} < {*names} and len(names) == 5


@pytest.mark.parametrize("text", [
    "input A(M, N)\ny(i, j) = 2 * A(i, j)\nz(i) +=! y(i, j)**2\nc(i) +=! z(i) * A(i, j)\noutput y, c",   # in turn
    "input A(M, N), s(N)\ny(i, j) = exp(A(i, j))\nc(j) +=! A(i, j) * sin(A(i, j))\noutput y, c",       # functions
    "input A(M, N)\nr(i) +=! A(i, j)\nt(i) +=! A(i, j) where j in 1:N\noutput r, t",                  # other columns
    "input A(M, N)\nr(i) max=! A(i, j)\nc(j) max=! A(i, j)\noutput r, c",        # no sums
    "input A(M, N, K)\nr(i) +=! A(i, j, k)\nc(j) +=! A(i, j, k)\noutput r, c",                        # more than rows and columns
    "input A(M, N), u(N)\nc(j) = u(j)\nc(j) += A(i, j)\nd(j) = u(j)\nd(j) += A(i, j)**2\noutput c, d",   # that start from others
])
def test_what_does_not(text: str) -> None:
    assert swept(text) == []


def test_no_loop_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"input x{k}(N)\nr{k}(i) +=! A(i, j) * x{k}(j)\noutput r{k}" for k in range(6)]
    text = "\n".join(["input A(M, N)", *lines])
    assert swept(text) == [["r0", "r1", "r2", "r3"], ["r4", "r5"]]
    monkeypatch.setattr(row_sweeps, "MOST_EQUATIONS", 3)
    assert swept(text) == [["r0", "r1", "r2"], ["r3", "r4", "r5"]]


def test_what_statements_share_is_computed_once() -> None:
    module = laid_out(adjoint_program(parse(LAYER_NORM)), veclib.lanes(), veclib.host())
    (sweep,) = module.sweeps
    nest, results = one_nest(sweep)
    made = [e.op.name for e in nest.op.body.equations]
    every = [e.op.name for m in sweep.members for e in m.op.body.equations]
    assert (made.count("div"), every.count("div")) == (5, 6)
    assert (made.count("sqrt"), made.count("sub")) == (1, 1)
    assert len(nest.op.sources) == len({*nest.args}) == 6
    assert sum(len(r.equations) + (r.product is not None) for r in results) == len(made)


@both
def test_elements_have_the_bits_that_they_have_alone(precision: Precision, monkeypatch: pytest.MonkeyPatch) -> None:
    """And sums are as near to those of more digits, whatever threads there are."""
    far(monkeypatch, 8)
    program, at = layer_norm(37, 83, precision)
    monkeypatch.setattr("adcli.codegen.modules.plans.WORTH_HELP", 0.0)
    monkeypatch.setattr("adcli.codegen.modules.plans.WORTH_THREADS", 0.0)
    kernel = compile_tensors(program, precision=precision)
    got = kernel(at, jobs=1)
    for jobs in (2, 3):
        for name, x in kernel(at, jobs=jobs).items():
            assert_same_bits(x, got[name], name)
    exact = evaluate(program, {name: a.astype(np.longdouble) for name, a in at.items()}, numpy_arithmetic())
    error = np.finfo(precision.code).eps
    for name, x in exact.items():
        assert np.max(np.abs(got[name] - x)) <= 20 * error * np.max(np.abs(x)), name
    monkeypatch.setattr("adcli.codegen.nests.steps.in_sweeps", lambda steps, blocks: [])
    alone = compile_tensors(program, precision=precision)
    assert not alone.module.sweeps and kernel.module.sweeps
    assert_same_bits(got["y"], alone(at, jobs=1)["y"], "y")
