"""Interior-point solvers: IPOPT, or a translation of it, with the entries of sparse matrices."""
from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any

import numpy as np

from adcli.numerics.linear import Vector, dense, entries, places
from adcli.solvers.problem import CLOSER, Evaluations, SolverEnd

ITERATIONS = 3000
DEPENDENT = 1e-10
"""What of a gradient is no combination of others, relative to the largest, that is rounding."""
INTERIOR_OPTIONS = {"print_level": 0, "sb": "yes", "max_iter": ITERATIONS, "bound_relax_factor": 0.0}
PACKAGES = {"pounce": ("pounce", "pounce-solver"), "ipopt": ("cyipopt", "cyipopt")}
"""Interior-point solvers with one interface, the better first: the module of each, and the package that has it."""
EXTENSIONS = {"pounce": "_pounce"}
"""Modules in these packages that have all that is used. Their packages load the whole of scipy.optimize, for as long as a network
of 118 buses takes to solve."""


def solvable(e: Evaluations, y0: Vector) -> Vector | None:
    """The conditions for a solver, which takes no more equations than variables: of more, those with independent gradients at the
    start. None where it takes all."""
    equal = e.bounds.c_low == e.bounds.c_high
    if int(equal.sum()) <= len(y0):
        return None
    from scipy.linalg import qr
    corner, order = qr(dense(e.jac(y0))[equal].T, mode="r", pivoting=True)
    left = np.abs(np.diag(corner))
    kept = np.flatnonzero(equal)[order[:int(np.sum(left > DEPENDENT * np.max(left)))]]
    return np.sort(np.concatenate([np.flatnonzero(~equal), kept]))


class FirstCallbacks:
    """A problem as IPOPT asks for it: the entries of a sparse Jacobian in an order that stays. `kept` are its conditions, if not
    all."""

    def __init__(self, e: Evaluations, y0: Vector) -> None:
        self.e, self.objective, self.gradient = e, e.f, e.g
        self.kept = solvable(e, y0)
        self.of_jacobian = places(self.some(e.jac(y0)))

    def some(self, rows: Any) -> Any:
        return rows if self.kept is None else rows[self.kept]

    def whole(self, multipliers: Vector) -> Vector:
        """Multipliers of all conditions."""
        if self.kept is None:
            return multipliers
        found = np.zeros(len(self.e.bounds.c_low))
        found[self.kept] = multipliers
        return found

    def constraints(self, y: Vector) -> Vector:
        return np.asarray(self.some(self.e.c(y)))

    def jacobianstructure(self) -> tuple[Vector, Vector]:
        return self.of_jacobian

    def jacobian(self, y: Vector) -> Vector:
        return np.ravel(entries(self.some(self.e.jac(y))))

    def intermediate(self, mode: int, iteration: int, *rest: Any) -> None:
        self.e.iteration = iteration


class Callbacks(FirstCallbacks):
    """A problem with the entries of the lower triangle of the Hessian of the Lagrangian, too."""

    def __init__(self, e: Evaluations, y0: Vector) -> None:
        super().__init__(e, y0)
        i, j = places(e.hess(y0, e.no_weights(y0)))
        self.lower = np.flatnonzero(i >= j)
        self.of_hessian = i[self.lower], j[self.lower]

    def hessianstructure(self) -> tuple[Vector, Vector]:
        return self.of_hessian

    def hessian(self, y: Vector, multipliers: Vector, factor: float) -> Vector:
        return np.ravel(entries(self.e.hess(y, self.whole(multipliers), factor)))[self.lower]


def package(solver: str) -> Any:
    """The module that has an interior-point solver: of a package that is not loaded, the extension alone."""
    name = PACKAGES[solver][0]
    whole = f"{name}.{EXTENSIONS.get(name)}"
    if name in sys.modules or name not in EXTENSIONS:
        return import_module(name)
    if whole not in sys.modules:
        parent = find_spec(name)
        spec = PathFinder.find_spec(whole, parent.submodule_search_locations if parent else None)
        if spec is None or spec.loader is None:
            return import_module(name)
        found = module_from_spec(spec)
        spec.loader.exec_module(found)
        sys.modules[whole] = found   # an extension is loaded once: the package takes this one
    return sys.modules[whole]


def solver_module(solver: str) -> Any:
    """The module that has an interior-point solver; None where there is none, or another of its name."""
    level = os.environ.get("RUST_LOG")
    if find_spec(PACKAGES[solver][0]) is None:
        return None
    os.environ.setdefault("RUST_LOG", "error")   # by which POUNCE, when it is loaded, keeps its doubts from standard error
    try:
        module = package(solver)
    except Exception:   # of a module that is anyone's
        return None
    finally:
        if level is None:
            del os.environ["RUST_LOG"]
    return module if hasattr(module, "Problem") else None


def interior(solver: str) -> Callable[[Evaluations, Vector], SolverEnd]:
    """IPOPT or a translation of it, with exact first and, where they are matrices, second derivatives."""
    def solve(e: Evaluations, y0: Vector) -> SolverEnd:
        calls = (Callbacks if e.function.has_matrices else FirstCallbacks)(e, y0)
        b = [np.clip(each, -1e20, 1e20) for each in (*e.bounds[:2], *map(calls.some, e.bounds[2:]))]
        nlp = solver_module(solver).Problem(n=len(y0), m=len(b[2]), problem_obj=calls, lb=b[0], ub=b[1], cl=b[2], cu=b[3])
        approximation = {} if e.function.has_matrices else {"hessian_approximation": "limited-memory"}
        barrier = {"mu_min": e.tolerance / 10} if e.tolerance == CLOSER else {}
        for name, value in {**INTERIOR_OPTIONS, "tol": e.tolerance, **barrier, **approximation}.items():
            nlp.add_option(name, value)
        x, info = nlp.solve(y0)
        said = info["status_msg"]
        pulls = -calls.whole(np.asarray(info["mult_g"])), np.asarray(info["mult_x_L"]) - np.asarray(info["mult_x_U"])
        return SolverEnd(np.asarray(x), e.iteration, said.decode() if isinstance(said, bytes) else str(said), pulls)
    return solve


def installed() -> list[str]:
    """The interior-point solvers that there are by name: importing one takes long."""
    return [name for name, (module, _) in PACKAGES.items() if find_spec(module) is not None]
