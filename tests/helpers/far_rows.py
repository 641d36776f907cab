"""Rows that are cut into blocks however few they are, and what to compute there."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from adcli.codegen.nests import row_sweeps
from adcli.lang.ir import Program
from adcli.lang.ir.affine import text as text_of
from session_seed import drawn


def far(patch: pytest.MonkeyPatch, many: int) -> None:
    """So many rows in a block, few as they are and long as they may be; in three parts at most."""
    before = row_sweeps.RowBlocks.cells

    def cells(g: row_sweeps.RowBlocks, sizes: dict[str, int], bytes_of: Any, everything: int) -> dict[str, int]:
        blocks = -(-row_sweeps.number(g.rows, sizes) // many)
        made = {g.name("rows"): many, g.name("blocks"): blocks, g.name("parts"): min(3, blocks)}
        return before(g, sizes, bytes_of, everything) | made
    patch.setattr(row_sweeps.RowBlocks, "cells", cells)


def whole_numbers(program: Program, sizes: dict[str, int], text: str) -> dict[str, np.ndarray]:
    """Inputs of small whole numbers, of which sums are exact in any order."""
    r = drawn(text)
    shapes = [(p.name, [sizes[text_of(x)] for x in p.var.shape]) for p in program.params]
    return {name: np.array([float(r.randint(-3, 3)) for _ in range(int(np.prod(s)))]).reshape(s) for name, s in shapes}
