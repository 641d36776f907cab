"""Native code of programs with tensors, run every way there is, between pages that nobody may touch."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import guarded_arrays
import numpy as np
from adcli.codegen.machine import veclib
from adcli.codegen.modules.module import emit
from adcli.codegen.modules.runtime import TensorKernel
from adcli.codegen.rows.compiled import linked
from adcli.codegen.rows.jit import object_code
from adcli.lang.ir import Program

LANES = (veclib.lanes(), 4, 2, 1)


def everywhere(program: Program, at: Mapping[str, Any], want: Mapping[str, Any], lanes: int | None = None,
               exact: bool = False) -> None:
    """The code gives `want`, to the bit if `exact`, with every choice of nests, between pages that end the process when they are
    touched, at either end of every array, temporary ones too."""
    module = emit(program, lanes or veclib.lanes(), veclib.host())
    kernel = TensorKernel(module, linked(object_code(module.text), module.entry))
    kinds = {p.name: np.int64 if p.var.integer else float for p in program.params}
    for at_end in (True, False):
        kernel.allocate = lambda size, e=at_end: guarded_arrays.guarded(size, e)
        arrays = {name: guarded_arrays.like(np.asarray(at[name], kind), at_end) for name, kind in kinds.items()}
        out = {name: guarded_arrays.empty(np.shape(x), at_end=at_end) for name, x in want.items()}
        plan = kernel.plan(kernel.key(list(arrays.values())))
        counts = [len(s.schedules) for s in kernel.module.choosers]
        for choice in range(max(counts, default=1)):
            for k, count in enumerate(counts):
                plan.cells[kernel.module.choices + k] = min(choice, max(0, count - 1))
            got = kernel(arrays, out=out, jobs=1)
            for name, x in want.items():
                if exact:
                    assert_same_bits(got[name], x, (name, choice))
                    continue
                np.testing.assert_allclose(got[name], np.asarray(x, float), rtol=2e-11, atol=1e-11, err_msg=name)


def assert_same_bits(got: Any, want: Any, what: object) -> None:
    """Equal numbers, zeros with their signs; NaN has neither sign nor payload."""
    x, y = np.asarray(got, float), np.asarray(want, float)
    alike = (x == y) & (np.signbit(x) == np.signbit(y)) | (np.isnan(x) & np.isnan(y))
    assert alike.all(), (what, x[~alike][:5], y[~alike][:5])
