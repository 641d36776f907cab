"""The problems of Hock and Schittkowski as models of Pyomo, as functions of ours, and evaluated with any library."""
from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hock_schittkowski import PROBLEMS, HockSchittkowski

WRITTEN = [number for number, p in PROBLEMS.items() if not any("erf(" in text for text in p.conditions)]
"""Problems that Pyomo writes: it has no erf."""


def bounds_of(text: str) -> list[tuple[float | None, float | None]]:
    """The bounds of each variable."""
    found: list[tuple[float | None, float | None]] = []
    for item in text.split():
        ends, _, times = item.partition("*")
        low, high = (float(e) if e else None for e in ends.split(":"))
        found += [(low, high)] * int(times or 1)
    return found


def start_of(p: HockSchittkowski) -> list[float]:
    return [float(w) for w in p.start.split()]


def limits(condition: str) -> tuple[float, str, float]:
    """Lower bound, expression and upper bound of a condition."""
    if "<=" in condition:
        low, side, high = condition.split("<=")
        return float(low), side.strip(), float(high)
    return 0.0, condition.lstrip("> "), math.inf if condition.startswith(">") else 0.0


def evaluated(p: HockSchittkowski, x: Any, functions: Mapping[str, Any]) -> list[Any]:
    """The values of the objective and of the conditions' expressions with the functions of a library."""
    scope = {"named": lambda value: value, "math": math, "pi": math.pi, **functions, "x": x,
             **{f"x{k}": v for k, v in enumerate(x, 1)}}
    exec(p.given, scope)   # our own texts
    return [eval(text, scope) for text in (p.objective, *(limits(c)[1] for c in p.conditions))]


def pyomo_model(p: HockSchittkowski) -> Any:
    """The problem as a model of Pyomo."""
    import pyomo.environ as pyomo
    m = pyomo.ConcreteModel()
    bounds, start = bounds_of(p.bounds), start_of(p)
    m.x = pyomo.Var(range(1, len(start) + 1), bounds=dict(enumerate(bounds, 1)), initialize=dict(enumerate(start, 1)))
    m.named = pyomo.Expression(pyomo.NonNegativeIntegers)

    def named(value: Any) -> Any:
        return m.named.add(len(m.named), value)

    functions = {name: getattr(pyomo, name) for name in ("exp", "log", "sin", "cos", "sqrt")}
    objective, *sides = evaluated(p, list(m.x.values()), {**functions, "named": named, "choose": pyomo.Expr_if})
    m.objective = pyomo.Objective(expr=objective)
    m.condition = pyomo.ConstraintList()
    for text, side in zip(p.conditions, sides, strict=True):
        low, _, high = limits(text)
        m.condition.add((low, side, high if high < math.inf else None))
    return m


def compiled(p: HockSchittkowski) -> tuple[Any, dict[str, float], list[str]]:
    """The problem as a function of ours, its start, and the bounds and conditions."""
    import numpy as np
    from scipy.special import erf

    import adcli
    functions = {**{name: getattr(np, name) for name in ("exp", "log", "sin", "cos", "sqrt")}, "erf": erf, "choose": np.where}
    start = {f"x{k}": v for k, v in enumerate(start_of(p), 1)}

    def values(*x: Any) -> dict[str, Any]:
        objective, *sides = evaluated(p, x, functions)
        return {"f": objective, **{f"c{k}": side for k, side in enumerate(sides)}}

    names = ", ".join(start)
    f = adcli.compile(eval(f"lambda {names}: values({names})", {"values": values}))
    held = [(name, low, high) for name, (low, high) in zip(start, bounds_of(p.bounds), strict=True)]
    held += [(f"c{k}", low, high) for k, (low, _, high) in enumerate(map(limits, p.conditions))]
    return f, start, [f"{-math.inf if low is None else low!r} <= {name} <= {math.inf if high is None else high!r}"
                      for name, low, high in held if (low, high) != (None, None)]
