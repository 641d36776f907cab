"""CasADi's functions of programs with tensors: patterns by themselves, and derivatives and an optimum by CasADi where it is
installed."""
from __future__ import annotations

import ctypes
import json
import math
import pathlib
import shlex
import subprocess

import pytest
from adcli.codegen.library.casadi_tensors import FixedSizes, functions
from adcli.lang.lower.frontend import parse
from command import adcli
from documents import fenced, shell, text
from engines import package, program
from libraries import LD, library
from places import ROOT
from session_seed import drawn

needs_ld = pytest.mark.skipif(LD is None, reason="no ld")
PROGRAM = """input x(N), s
input int32 from(L), int32 to(L), int32 n
param k(L), c(N), t
y(l) = k(l)*(x(from(l)) - s*x(to(l)))**2 + sin(x(to(l)))*t
z(i) = n*c(i)*exp(x(i))
z(to(l)) += s*y(l)
w +=! x(i)*y(l) where i in 0:2
q +=! z(i)**2*sin(z(from(i)))
output y, z, w, q
"""
AT = {"from": [0, 1, 2, 2], "to": [1, 1, 3, 0], "n": 2, "c": [1, 2, 3, 4]}


PAIRS = "input x(N)\ninput int32 i(L), int32 j(L)\nparam k(L)\ny(l) = k(l)*x(i(l))*x(j(l))"


def test_patterns() -> None:
    """Integers and params with values are data; two elements that are one add up."""
    here = FixedSizes(parse(PAIRS), {"x": [0.0] * 3, "i": [0, 2], "j": [1, 2], "k": [1.0, 2.0]})
    found = {e.name: e for e in functions(here, "f")}
    assert list(found) == ["f", "jac_f", "adj1_f", "jac_adj1_f"]
    assert [m.name for m in found["jac_f"].inputs] == ["x", "out_y"]
    assert [m.compressed for m in found["jac_f"].outputs] == [[2, 3, 0, 1, 2, 3, 0, 0, 1]]
    assert [m.compressed for m in found["jac_adj1_f"].outputs] == [
        [3, 3, 0, 1, 2, 3, 1, 0, 2], [3, 2, 0, 0, 0], [3, 2, 0, 2, 3, 0, 1, 2]]


@needs_ld
@pytest.mark.parametrize("program, at, weights, numbers", [
    (PAIRS, "i=[0,2],j=[1,2],k=[1,2]", [10, 100], {
        "f": [[15, 98]], "jac_f": [[5, 3, 28]], "adj1_f": [[50, 30, 2800]], "jac_adj1_f": [[10, 10, 400], [], [5, 3, 28]]}),
    # (x0 + x1)² + (x0 + 2 x2)²: entries are products, of elements of a sum that is read again
    ("input x(N)\ninput int32 i(L), int32 k(L), int32 q(M)\nb(k(l)) +=! x(i(l)) where float(2) b\nv +=! b(q(j))**2",
     "i=[0,1,0,2,2],k=[0,0,1,1,1],q=[0,1]", [10], {
        "f": [[64 + 289]], "jac_f": [[50, 16, 68]], "adj1_f": [[500, 160, 680]],
        "jac_adj1_f": [[40, 20, 40, 20, 20, 40, 80], [], [50, 16, 68]]})])
def test_numbers_by_hand(program: str, at: str, weights: list[float], numbers: dict[str, list[list[float]]],
                         tmp_path: pathlib.Path) -> None:
    lib = library(tmp_path, "eval", "-e", program, "--at", f"x=[0,0,0],{at}", "--symbol", "f", "--abi", "casadi")
    x, weights = (ctypes.c_double * 3)(3, 5, 7), (ctypes.c_double * len(weights))(*weights)
    for name, expected in numbers.items():
        size, results = ctypes.c_longlong(), [(ctypes.c_double * len(e))() for e in expected]
        getattr(lib, f"{name}_work")(None, None, None, ctypes.byref(size))
        given = (ctypes.c_void_p * 4)(ctypes.addressof(x), None, ctypes.addressof(weights), None)
        wanted = (ctypes.c_void_p * len(results))(*map(ctypes.addressof, results))
        assert getattr(lib, name)(given, wanted, None, (ctypes.c_double * size.value)(), 0) == 0
        assert [list(r) for r in results] == expected


@pytest.mark.parametrize("lines, at, message", [
    ("input x(N)\ny(i) = x(i)**2", "s=1", "error: no input 's'"),
    ("input x(N), s\ny(i) = s*x(i)", "s=1",
     "error: with --abi casadi sizes are constants, and none is given for 'N'\nhelp: give 'x' a value of its shape: --at x=…"),
    ("input x(2)\ninput int32 n\ny(i) = n*x(i)", "x=[1,2]",
     "error: with --abi casadi integers are constants, and 'n' has no value\nhelp: give it one: --at n=…"),
    ("input x(N)\ninput int32 j(L)\ny(l) = x(j(l))**2", "x=[1],j=[1]", "error: j(0) = 1 is out of range for dimension 0 of 'x'"),
    ("input x(N)\nparam t\ny(i) = x(i)*x(floor(t))", "x=[1]",
     "error: subscripts are computed from 't', and with --abi casadi patterns are constants\nhelp: give it a value: --at t=…"),
    ("input A(N, N), b(N)\nx = solve(A, b)", "A=[[1]],b=[1]", "a value is in a loop, or made by an operation on matrices"),
    ("param x(N)\ny(i) = x(i)**2", "x=[1]", "error: --abi casadi needs an input to differentiate by")])
def test_what_is_not_known_when_the_library_is_made(lines: str, at: str, message: str, tmp_path: pathlib.Path) -> None:
    ended = adcli("eval", "-e", lines, "--at", at, "--emit", "library", "--abi", "casadi", "-o", tmp_path / "f.so")
    assert message in ended.err


@pytest.mark.engine
@needs_ld
def test_derivatives_are_those_of_casadi(tmp_path: pathlib.Path) -> None:
    ca = package("casadi")
    library(tmp_path, "eval", "-e", PROGRAM, "--at", ",".join(f"{k}={json.dumps(v)}" for k, v in AT.items()), "--symbol", "f",
            "--abi", "casadi")
    ours = ca.external("f", str(tmp_path / "libf.so"))
    x, p = ca.SX.sym("x", 5), ca.SX.sym("p", 5)
    y = [p[k]*(x[i] - x[4]*x[j])**2 + ca.sin(x[j])*p[4] for k, (i, j) in enumerate(zip(AT["from"], AT["to"], strict=True))]
    z = [AT["n"]*c*ca.exp(x[i]) for i, c in enumerate(AT["c"])]
    for k, j in enumerate(AT["to"]):
        z[j] += x[4]*y[k]
    q = sum(z[i]**2*ca.sin(z[j]) for i, j in enumerate(AT["from"]))
    own = ca.Function("f", [x, p], [ca.vertcat(*y, *z, (x[0] + x[1])*sum(y), q)], ["x", "p"], ["y"])
    r = drawn("test_derivatives_are_those_of_casadi")
    for derivative in (lambda f: f, lambda f: f.jacobian(), lambda f: f.reverse(1), lambda f: f.reverse(1).jacobian(),
                       lambda f: f.forward(2)):
        first, second = derivative(ours), derivative(own)
        assert [first.name_in(i) for i in range(first.n_in())] == [second.name_in(i) for i in range(second.n_in())]
        at = [ca.DM(first.sparsity_in(i), [r.uniform(-2, 2) for _ in range(first.nnz_in(i))]) for i in range(first.n_in())]
        for one, other in zip(first.call(at), second.call(at), strict=True):
            assert one.full() == pytest.approx(other.full(), rel=1e-12, abs=1e-12)


@pytest.mark.engine
@needs_ld
def test_ipopt_finds_the_optimal_power_flow(tmp_path: pathlib.Path) -> None:
    ca, data = package("casadi"), ROOT / "samples" / "optimal_power_flow.json"
    library(tmp_path, "eval", data.with_suffix(".ad"), "--at", f"@{data}", "--symbol", "f", "--abi", "casadi")
    at = json.loads(data.read_text())
    buses, branches, turn = len(at["vm"]), len(at["rate"]), [math.pi / 6] * len(at["rate"])
    y = ca.external("f", str(tmp_path / "libf.so"))(x := ca.MX.sym("x", 2*buses + 2*len(at["pg"])))
    solver = ca.nlpsol("solver", "ipopt", {"x": x, "f": y[0], "g": y[1:]}, {"print_time": False, "ipopt.print_level": 0})
    free = [math.inf] * (buses - 1)
    found = solver(x0=[*at["va"], *at["vm"], *at["pg"], *at["qg"]],
                   lbx=[0, *(-x for x in free), *[0.94]*buses, *at["pg_low"], *at["qg_low"]],
                   ubx=[0, *free, *[1.06]*buses, *at["pg_high"], *at["qg_high"]],
                   lbg=[*[0]*(2*buses), *[-math.inf]*(2*branches), *(-x for x in turn)],
                   ubg=[*[0]*(2*buses), *at["rate"], *at["rate"], *turn])
    assert solver.stats()["return_status"] == "Solve_Succeeded"
    assert float(found["f"]) == pytest.approx(2178.0804, abs=1e-3)


@pytest.mark.engine
@needs_ld
def test_the_example_of_the_manual_in_c(tmp_path: pathlib.Path) -> None:
    """With the header and library of IPOPT that CasADi brings."""
    solver = pathlib.Path(str(package("casadi").__file__)).parent
    command = next(block for block in fenced(text("libraries"), "sh") if "springs" in block)
    assert shell(f"cd {shlex.quote(str(tmp_path))} && {command}") == ""
    (tmp_path / "main.c").write_text(next(block for block in fenced(text("libraries"), "c") if "Ipopt" in block))
    subprocess.run([program("cc", "gcc"), "main.c", "./libsprings.so", f"-I{solver}/include/coin-or", solver / "libipopt.so",
                    f"-Wl,-rpath,{solver}", "-o", "main"], cwd=tmp_path, check=True)
    printed = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert printed.splitlines()[-1] == "1.00000 1.39744 1.91919 2.60527"
