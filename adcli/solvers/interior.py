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

from adcli.solvers.problem import Evaluations, SolverEnd
from adcli.solvers.vectors import Vector, places

ITERATIONS = 3000
INTERIOR_OPTIONS = {"print_level": 0, "sb": "yes", "max_iter": ITERATIONS, "bound_relax_factor": 0.0}
PACKAGES = {"pounce": ("pounce", "pounce-solver"), "ipopt": ("cyipopt", "cyipopt")}
"""Interior-point solvers with one interface, the better first: the module of each, and the package that has it."""
EXTENSIONS = {"pounce": "_pounce"}
"""Modules in these packages that have all that is used. Their packages load the whole of scipy.optimize, for as long as a network
of 118 buses takes to solve."""


def numbers(matrix: Any) -> Vector:
    """The entries of a matrix in the order of their places."""
    return matrix.ravel() if isinstance(matrix, np.ndarray) else matrix.data


class FirstCallbacks:
    """A problem as IPOPT asks for it: the entries of a sparse Jacobian in an order that stays."""

    def __init__(self, e: Evaluations, y0: Vector) -> None:
        self.e, self.objective, self.gradient, self.constraints = e, e.f, e.g, e.c
        self.of_jacobian = places(e.jac(y0))

    def jacobianstructure(self) -> tuple[Vector, Vector]:
        return self.of_jacobian

    def jacobian(self, y: Vector) -> Vector:
        return numbers(self.e.jac(y))

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
        return numbers(self.e.hess(y, multipliers, factor))[self.lower]


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
        b = [np.clip(each, -1e20, 1e20) for each in e.bounds]
        nlp = solver_module(solver).Problem(n=len(y0), m=len(b[2]), problem_obj=calls, lb=b[0], ub=b[1], cl=b[2], cu=b[3])
        approximation = {} if e.function.has_matrices else {"hessian_approximation": "limited-memory"}
        for name, value in {**INTERIOR_OPTIONS, "tol": 1e-9 if e.large else 1e-10, **approximation}.items():
            nlp.add_option(name, value)
        x, info = nlp.solve(y0)
        said = info["status_msg"]
        pulls = -np.asarray(info["mult_g"]), np.asarray(info["mult_x_L"]) - np.asarray(info["mult_x_U"])
        return SolverEnd(np.asarray(x), e.iteration, said.decode() if isinstance(said, bytes) else str(said), pulls)
    return solve


def installed() -> list[str]:
    """The interior-point solvers that there are by name: importing one takes long."""
    return [name for name, (module, _) in PACKAGES.items() if find_spec(module) is not None]
