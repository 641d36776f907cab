"""Libraries as CasADi's external functions: patterns and interface by ctypes, and CasADi itself where it is installed."""
from __future__ import annotations

import ctypes
import math
import pathlib
import shlex
import subprocess
import sys

import pytest
from adcli.codegen.library.casadi import calling, functions
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.lower.frontend import parse
from documents import fenced, shell, text
from engines import package
from libraries import LD, library
from session_seed import drawn

needs_ld = pytest.mark.skipif(LD is None, reason="no ld")
PROGRAM = "input x, y, z\nparam a = 2, b = 2\nf = a*x**2*y + sin(z)\ng = x*z + b\nc = 4"
SPARSITY, NAME = ctypes.POINTER(ctypes.c_longlong), ctypes.c_char_p


def test_functions_and_their_patterns() -> None:
    found = {e.name: e for e in functions(parse(PROGRAM), "f")}
    assert list(found) == ["f", "jac_f", "adj1_f", "jac_adj1_f"]
    assert [m.name for m in found["jac_f"].inputs] == ["x", "p", "out_y"]
    assert [m.compressed for m in found["jac_f"].outputs] == [
        [3, 3, 0, 2, 3, 5, 0, 1, 0, 0, 1], [3, 2, 0, 1, 2, 0, 1]]
    assert [m.name for m in found["jac_adj1_f"].inputs] == ["x", "p", "out_y", "adj_y", "out_adj_x", "out_adj_p"]
    assert [m.name for m in found["jac_adj1_f"].outputs] == [
        f"jac_adj_{g}_{h}" for g in "xp" for h in ("x", "p", "out_y", "adj_y")]
    hessian, _, outputs, transposed = (m.compressed for m in found["jac_adj1_f"].outputs[:4])
    assert hessian == [3, 3, 0, 3, 4, 6, 0, 1, 2, 0, 0, 2]
    assert outputs == [3, 3, 0, 0, 0, 0]
    assert transposed == [3, 3, 0, 3, 5, 5, 0, 1, 2, 0, 2]
    at = {"x": 3.0, "y": 5.0, "z": 0.5, "a": 2.0, "b": 2.0, "d_df": 1.0, "d_dg": 10.0, "d_dc": 7.0}
    values = evaluate(found["adj1_f"].program, at, FLOAT)
    assert list(values.values()) == [2*2*3*5 + 10*0.5, 2*9.0, math.cos(0.5) + 30, 45.0, 10.0]


def test_how_it_is_called() -> None:
    how = "call: casadi.external('f', './FILE'), a function of {} with the output y, all columns"
    assert list(calling(parse(PROGRAM), "f")) == [how.format("x and p"), "x: x, y, z", "p: a, b", "y: f, g, c"]
    assert list(calling(parse("v = x*y"), "f")) == [how.format("x"), "x: x, y", "y: v"]


@needs_ld
def test_the_interface(tmp_path: pathlib.Path) -> None:
    """Nothing given is zeros, nothing wanted is not written, and there is nothing beyond the last input or output."""
    lib = library(tmp_path, "eval", "-e", PROGRAM, "--symbol", "f", "--abi", "casadi")
    for name, kind in (("name_in", NAME), ("name_out", NAME), ("sparsity_in", SPARSITY), ("default_in", ctypes.c_double)):
        getattr(lib, f"f_{name}").restype = kind
        getattr(lib, f"f_{name}").argtypes = [ctypes.c_longlong]
    assert [lib.f_n_in(), lib.f_n_out(), lib.jac_adj1_f_n_out()] == [2, 1, 8]
    assert [lib.f_name_in(i) for i in (0, 1, 2, -1)] == [b"x", b"p", None, None]
    assert lib.f_name_out(0) == b"y"
    assert lib.f_sparsity_in(0)[:3] == [3, 1, 1]
    assert not lib.f_sparsity_in(2)
    assert (math.isnan(lib.f_default_in(0)), lib.f_default_in(1)) == (True, 2.0)
    sizes = (ctypes.c_longlong * 4)(*[-1] * 4)
    pointers = [ctypes.byref(sizes, 8 * k) for k in range(4)]
    assert lib.f_work(*pointers) == lib.f_work(None, None, None, None) == 0
    assert list(sizes[:3]) == [2, 1, 0]
    w, x, y = (ctypes.c_double * sizes[3])(), (ctypes.c_double * 3)(3, 5, 0.5), (ctypes.c_double * 4)(*[7.0] * 4)
    pair = ctypes.c_void_p * 2
    assert lib.f(pair(ctypes.addressof(x), None), pair(ctypes.addressof(y)), None, w, 0) == 0
    assert list(y) == [math.sin(0.5), 1.5, 4.0, 7.0]
    assert lib.f(pair(ctypes.addressof(x), None), pair(None), None, w, 0) == 0
    assert not hasattr(lib, "fwd1_f")   # what is not there is not exported


PROBLEMS = [
    # inputs, lines, the same for CasADi, x0, bounds of x, bounds of the constraints
    pytest.param("x1, x2", "f = (1 - x1)**2 + 100*(x2 - x1**2)**2", lambda ca, x: [(1 - x[0])**2 + 100*(x[1] - x[0]**2)**2],
                 [-1.2, 1.0], (-math.inf, math.inf), [], id="Rosenbrock"),
    pytest.param(", ".join(f"x{i}" for i in range(10)),
                 "f = " + " + ".join(f"100*(x{i + 1} - x{i}**2)**2 + (1 - x{i})**2" for i in range(9)),
                 lambda ca, x: [sum(100*(x[i + 1] - x[i]**2)**2 + (1 - x[i])**2 for i in range(9))],
                 [-1.2, 1.0] * 5, (-math.inf, math.inf), [], id="Rosenbrock in 10 dimensions"),
    pytest.param("x1, x2, x3, x4", "f = x1*x4*(x1 + x2 + x3) + x3\ng = x1*x2*x3*x4\nh = x1**2 + x2**2 + x3**2 + x4**2",
                 lambda ca, x: [x[0]*x[3]*(x[0] + x[1] + x[2]) + x[2], x[0]*x[1]*x[2]*x[3], ca.sumsqr(x)],
                 [1.0, 5.0, 5.0, 1.0], (1.0, 5.0), [(25.0, math.inf), (40.0, 40.0)], id="Hock-Schittkowski 71")]


@pytest.mark.engine
@needs_ld
@pytest.mark.parametrize("inputs, lines, expression, start, bounds, constraints", PROBLEMS)
def test_ipopt_solves_with_exact_hessians(inputs, lines, expression, start, bounds, constraints, tmp_path) -> None:
    """In as many iterations as with CasADi's own derivatives, and to the same point."""
    ca = package("casadi")
    library(tmp_path, "eval", "-e", f"input {inputs}\n{lines}", "--symbol", "f", "--abi", "casadi")
    x, ends = ca.MX.sym("x", len(start)), []
    own = ca.Function("own", [x], [ca.vertcat(*expression(ca, x))])
    for called in (ca.external("f", str(tmp_path / "libf.so")), own):
        y = called(x)
        problem = {"x": x, "f": y[0], "g": y[1:]}
        solver = ca.nlpsol("solver", "ipopt", problem, {
            "print_time": False, "ipopt.print_level": 0, "ipopt.hessian_approximation": "exact"})
        low, high = ([bound[i] for bound in constraints] for i in (0, 1))
        found = solver(x0=start, lbx=bounds[0], ubx=bounds[1], lbg=low, ubg=high)
        ends.append((solver.stats()["return_status"], solver.stats()["iter_count"], found["x"].full().ravel().tolist()))
    assert ends[0][:2] == ("Solve_Succeeded", ends[1][1])
    assert ends[0][2] == pytest.approx(ends[1][2], rel=1e-6)


@pytest.mark.engine
@needs_ld
def test_derivatives_are_those_of_casadi(tmp_path: pathlib.Path) -> None:
    """All blocks, with params, at random points, and with a pattern that has no entry more than CasADi's."""
    ca = package("casadi")
    library(tmp_path, "eval", "-e", PROGRAM, "--symbol", "f", "--abi", "casadi")
    ours = ca.external("f", str(tmp_path / "libf.so"))
    x, p = ca.SX.sym("x", 3), ca.SX.sym("p", 2)
    own = ca.Function("f", [x, p], [ca.vertcat(p[0]*x[0]**2*x[1] + ca.sin(x[2]), x[0]*x[2] + p[1], 4)], ["x", "p"], ["y"])
    r = drawn("test_derivatives_are_those_of_casadi")
    for derivative in (lambda f: f, lambda f: f.jacobian(), lambda f: f.reverse(1), lambda f: f.reverse(1).jacobian(),
                       lambda f: f.forward(1), lambda f: f.forward(3), lambda f: f.reverse(2)):
        first, second = derivative(ours), derivative(own)
        assert [first.name_in(i) for i in range(first.n_in())] == [second.name_in(i) for i in range(second.n_in())]
        at = [ca.DM(first.sparsity_in(i), [r.uniform(-2, 2) for _ in range(first.nnz_in(i))]) for i in range(first.n_in())]
        for k, (one, other) in enumerate(zip(first.call(at), second.call(at), strict=True)):
            assert one.full() == pytest.approx(other.full(), rel=1e-13, abs=1e-13)
            assert one.nnz() <= other.nnz(), (first, k)


@pytest.mark.engine
@needs_ld
def test_the_examples_of_the_manual(tmp_path: pathlib.Path) -> None:
    package("casadi")
    commands, examples = ([block for block in fenced(text("libraries"), kind) if "casadi" in block] for kind in ("sh", "python"))
    for command, example in zip(commands, examples, strict=True):
        assert shell(f"cd {shlex.quote(str(tmp_path))} && {command}") == ""
        printed = subprocess.run([sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        assert printed.strip().splitlines()[-1] == example.rpartition("# ")[2].strip()
