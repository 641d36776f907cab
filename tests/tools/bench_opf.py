#!/usr/bin/env python3
"""AC optimal power flow beside CasADi: a table of milliseconds a call, and of seconds to the first Hessian, adcli / CasADi.

    taskset -c 0 python tests/tools/bench_opf.py FILE.m ... [--seconds S] [--no-casadi]

The files are MATPOWER cases, as those of PGLib-OPF. Objective and constraints with the gradient of the Lagrangian, the Jacobian
of all of them, and the lower triangle of the Hessian of the Lagrangian, these two in arrays of their entries. Both run in one
process, in turn, and the least of several times counts. CasADi has SX functions on buffers, without Python's objects in between.
`agree` is the largest difference of any entry, relative to the largest.
"""
from __future__ import annotations

import argparse
import pathlib
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array

sys.path.append(str(pathlib.Path(__file__).parent))

from opf import PROGRAM, UNKNOWNS, Network, read


class Ways(NamedTuple):
    """Functions of a point, and of weights of the objective and the constraints, with the seconds until the Hessian was there;
    the last two give entries, whose places come with them."""

    gradient: Callable[..., Any]
    jacobian: Callable[..., np.ndarray]
    hessian: Callable[..., np.ndarray]
    places: tuple[Any, Any]
    setup: float


def ours(network: Network) -> Ways:
    from adcli.lang.lower.frontend import parse  # here, for others that time CasADi alone

    from adcli.numerics.linear import places
    from adcli.solvers.scalar_function import vector_function
    start = time.perf_counter()
    program = parse(PROGRAM)
    fixed = {name: x for name, x in network.inputs.items() if name not in UNKNOWNS}
    f = vector_function(program, UNKNOWNS, fixed, network.inputs)
    x = f.pack(network.inputs)
    i, j = places(f.hess(x, np.ones(sum(f.output_sizes(x)))))
    setup = time.perf_counter() - start
    lower = np.flatnonzero(i >= j)
    return Ways(f.vjp, lambda x, w: f.jac(x).data, lambda x, w: f.hess(x, w).data[lower],
                (places(f.jac(x)), (i[lower], j[lower])), setup)


def casadi_model(network: Network) -> tuple[Any, Any]:
    """The unknowns, and objective and constraints, as expressions of CasADi."""
    import casadi
    v = network.inputs
    x = {name: casadi.SX.sym(name, len(v[name])) for name in UNKNOWNS}
    va, vm, pg, qg = x.values()
    f, t, n = list(map(int, v["from"])), list(map(int, v["to"])), len(v["pd"])
    angle, both = va[f] - va[t], vm[f] * vm[t]
    c, s = both * casadi.cos(angle), both * casadi.sin(angle)
    pf = v["gf"] * vm[f]**2 + v["gft"] * c + v["bft"] * s
    qf = -v["bf"] * vm[f]**2 - v["bft"] * c + v["gft"] * s
    pt = v["gt"] * vm[t]**2 + v["gtf"] * c - v["btf"] * s
    qt = -v["bt"] * vm[t]**2 - v["btf"] * c - v["gtf"] * s

    def at(buses: Any) -> Any:
        found = coo_array((np.ones(len(buses)), (buses, np.arange(len(buses)))), shape=(n, len(buses))).tocsc()
        return casadi.DM(casadi.Sparsity(n, len(buses), found.indptr.tolist(), found.indices.tolist()), found.data)

    a, b, g = at(f), at(t), at(list(map(int, v["bus"])))
    p = v["pd"] + v["gs"] * vm**2 + a @ pf + b @ pt - g @ pg
    q = v["qd"] - v["bs"] * vm**2 + a @ qf + b @ qt - g @ qg
    cost = casadi.sum1(v["c2"] * pg**2 + v["c1"] * pg + v["c0"])
    whole = casadi.vertcat(cost, p, q, pf**2 + qf**2, pt**2 + qt**2, angle)
    return casadi.vertcat(*x.values()), whole


def of_casadi(network: Network) -> Ways:
    import casadi
    start = time.perf_counter()
    every, whole = casadi_model(network)
    weights = casadi.SX.sym("w", whole.numel())
    hessian = casadi.tril(casadi.hessian(casadi.dot(weights, whole), every)[0])
    of_hessian = casadi.Function("h", [every, weights], [hessian])
    of_hessian(1, 1)
    setup = time.perf_counter() - start
    jacobian = casadi.jacobian(whole, every)
    gradient = casadi.densify(casadi.gradient(casadi.dot(weights, whole), every))
    of_gradient = casadi.Function("f", [every, weights], [whole, gradient])
    places = tuple([each.sparsity().get_triplet() for each in (jacobian, hessian)])
    of_jacobian = casadi.Function("j", [every, weights], [jacobian])
    g, j, h = map(buffered, (of_gradient, of_jacobian, of_hessian))
    return Ways(g, j, h, places, setup)


def buffered(f: Any) -> Callable[..., np.ndarray]:
    """A function of arrays whose last result is an array of entries."""
    buffer, call = f.buffer()
    arguments = [np.zeros(f.nnz_in(k)) for k in range(f.n_in())]
    results = [np.zeros(f.nnz_out(k)) for k in range(f.n_out())]
    for k, x in enumerate(arguments):
        buffer.set_arg(k, memoryview(x))
    for k, x in enumerate(results):
        buffer.set_res(k, memoryview(x))

    def called(*given: np.ndarray) -> np.ndarray:
        for x, new in zip(arguments, given, strict=True):
            x[:] = new
        call()
        return results[-1]
    called.kept = f, buffer   # type: ignore[attr-defined]   # alive as long as the function
    return called


def least(calls: Sequence[Callable[..., Any]], x: np.ndarray, w: np.ndarray, seconds: float) -> list[float]:
    """The least time of each, in turn, in milliseconds."""
    best, end = [np.inf] * len(calls), time.perf_counter() + seconds
    while time.perf_counter() < end:
        for k, call in enumerate(calls):
            start = time.perf_counter()
            call(x, w)
            best[k] = min(best[k], 1e3 * (time.perf_counter() - start))
    return best


def difference(ways: Sequence[Ways], x: np.ndarray, w: np.ndarray) -> float:
    """The largest difference of any entry of both matrices, relative to the largest entry."""
    found = []
    for k, rows in enumerate((len(w), len(x))):
        one, other = (coo_array((np.array(way[k + 1](x, w)), way.places[k]), shape=(rows, len(x))).tocsr() for way in ways)
        found.append(abs(one - other).max() / abs(other).max())
    return max(found)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("files", nargs="+")
    options.add_argument("--seconds", type=float, default=2.0)
    options.add_argument("--no-casadi", action="store_true")
    given = options.parse_args()
    print("| buses | value, gradient, ms | Jacobian, ms | Hessian, ms | first Hessian, s | agree |\n|---|---|---|---|---|---|")
    for path in given.files:
        network = read(path)
        ways = [ours(network), *([] if given.no_casadi else [of_casadi(network)])]
        r, n = np.random.default_rng(0), len(network.inputs["pd"])
        x = np.concatenate([np.ravel(network.inputs[name]) for name in UNKNOWNS])
        x += 0.01 * r.normal(size=len(x))
        w = r.normal(size=1 + 2 * n + 3 * len(network.inputs["from"]))
        columns = [least([way[k] for way in ways], x, w, given.seconds) for k in range(3)]   # type: ignore[misc]
        cells = [" / ".join(f"{t:.3g}" for t in column) for column in [*columns, [way.setup for way in ways]]]
        agree = f"{difference(ways, x, w):.0e}" if len(ways) > 1 else ""
        print(f"| {n:,} | {' | '.join(cells)} | {agree} |", flush=True)


if __name__ == "__main__":
    main()
