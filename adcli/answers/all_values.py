"""The values of all variables of a program with tensors at a point, by native code: for points too large to be written out."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from adcli.lang.evaluate import read, rounded_arithmetic
from adcli.lang.ir import Program, Result, Var
from adcli.lang.ir.precision import PRECISIONS
from adcli.task.native import native


def all_values(program: Program, at: Mapping[str, Any], precision: str = "double") -> dict[Var, Any]:
    """Every variable, as an array or a number, computed in a precision; truth values are those of numbers. AdError where there is
    not memory enough."""
    computed = {f"r{i}": o for i, o in enumerate(o for e in program.equations for o in e.outs if not o.truth)}
    kernel = native(replace(program, results=tuple([Result(name, o) for name, o in computed.items()])), precision=precision)
    found = kernel({name: np.asarray(x) for name, x in at.items()})
    values: dict[Var, Any] = {**{p.var: at[p.name] for p in program.params}, **{o: found[name] for name, o in computed.items()}}
    arithmetic = rounded_arithmetic(PRECISIONS[precision])
    for e in program.equations:
        if e.op.truth:
            values[e.outs[0]] = bool(arithmetic.apply(e.op, [read(values, a, arithmetic) for a in e.args], e.args))
    return values
