"""The corpus of functions in other languages: their points, the programs they are read as, and the functions themselves."""
from __future__ import annotations

import builtins
import json
import math
import types
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import scipy.special
import scipy.stats
from adcli.lang.evaluate import evaluate
from adcli.lang.ir import Program
from adcli.lang.lower.frontend import parse_source
from places import ROOT

from adcli.api.function import Function
from adcli.input.programs import read_source

FOLDER = ROOT / "tests" / "data" / "sources"
JAX = types.SimpleNamespace(
    numpy=np, nn=types.SimpleNamespace(relu=lambda x: np.maximum(x, 0), softmax=scipy.special.softmax),
    scipy=types.SimpleNamespace(special=scipy.special))
NUMPY = {"jax": JAX, "jax.numpy": np, "jax.scipy.special": scipy.special}
"""What stands for JAX where it is not."""
POINTS: dict[str, dict[str, Any]] = json.loads((FOLDER / "points.json").read_text())


def program(case: str, point: Mapping[str, Any], suffix: str = ".py") -> Function:
    """The function of the corpus, read with what its point says of shapes."""
    file, _, function = case.partition(":")
    at = [f"{name}={json.dumps(x)}" for name, x in point.items()]
    return Function(parse_source(read_source(f"{FOLDER / file}{suffix}:{function}", (), None, at)))


def original(case: str, instead: Mapping[str, Any] = NUMPY) -> Any:
    """The function itself, with other modules `instead` of some that it imports."""
    file, _, function = case.partition(":")

    def imported(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        if name in instead:
            return instead[name] if fromlist else instead[name.partition(".")[0]]
        return __import__(name, globals, locals, fromlist, level)
    module = {"__builtins__": {**vars(builtins), "__import__": imported}, "__name__": file}
    exec(compile((FOLDER / f"{file}.py").read_text(), file, "exec"), module)
    return module[function]


def parts(found: Any) -> list[np.ndarray]:
    """The results of a function in order."""
    each = list(found.values()) if isinstance(found, dict) else found if isinstance(found, tuple) else [found]
    return [np.asarray(x, float) for x in each]


def differences(f: Any, point: Mapping[str, Any]) -> Iterator[tuple[str, list[np.ndarray]]]:
    """For each input the derivatives of all results by its elements, of order 4 in the step."""
    for name, x in point.items():
        x = np.asarray(x, float)
        made = [np.zeros((*r.shape, *x.shape)) for r in parts(f(**arrays(point)))]
        for at in np.ndindex(x.shape):
            h = 1e-3 * max(abs(x[at]), 0.05)
            moved = []
            for k in (-2, -1, 1, 2):
                y = x.copy()
                y[at] += k * h
                moved.append(parts(f(**arrays({**point, name: y}))))
            for m, (a, b, c, d) in zip(made, zip(*moved, strict=True), strict=True):
                m[(..., *at)] = (a - 8 * b + 8 * c - d) / (12 * h)
        yield name, made


def arrays(point: Mapping[str, Any]) -> dict[str, Any]:
    return {name: np.array(x) if isinstance(x, list) else x for name, x in point.items()}


def evaluated(program: Program, point: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of the reference evaluator, which takes no code to be made."""
    at = {p.name: point.get(p.name, p.default) for p in program.params}
    return evaluate(program, {name: np.array(x, float) if isinstance(x, list) else x for name, x in at.items()})


def of_jax() -> dict[str, Any]:
    """The modules of the corpus as JAX has them."""
    import jax
    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp
    import jax.scipy.special
    import jax.scipy.stats
    names = {"fabs": jnp.abs, "pow": jnp.power, "lgamma": jax.scipy.special.gammaln, "erf": jax.scipy.special.erf}
    shim = types.SimpleNamespace(**{n: getattr(jnp, n) for n in dir(math) if hasattr(jnp, n)} | names)
    return {"jax": jax, "jax.numpy": jnp, "numpy": jnp, "math": shim, "scipy": jax.scipy, "scipy.special": jax.scipy.special,
            "scipy.stats": jax.scipy.stats, "jax.scipy.special": jax.scipy.special}
