"""Numbers below the least normal one as 0 in code on rows, and as ever behind it."""
from __future__ import annotations

import numpy as np
import pytest
from adcli.codegen.machine.kernel import run
from adcli.codegen.rows.compiled import compile_program
from adcli.codegen.rows.expand import for_machine
from adcli.codegen.rows.platforms import FLUSHING, able, flushed, here
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.precision import PRECISIONS, Precision


@pytest.mark.skipif(not here(), reason="nothing is known that makes numbers 0 on this processor")
@pytest.mark.parametrize("precision", PRECISIONS.values(), ids=list(PRECISIONS))
def test_code_on_rows_takes_such_numbers_for_0(precision: Precision) -> None:
    """In one part and in many."""
    root = float(np.sqrt(np.array(precision.smallest, precision.code)) / 2)
    long = "\n".join(f"p{k} = x*x*{k + 1}" for k in range(3000)) + f"\nv = {' + '.join(f'p{k}' for k in range(3000))}"
    for text in ("v = x*x", long + "\noutput v"):
        for fast in (False, True):
            kernel = compile_program(for_machine(parse(text)), precision=precision.name, fast=fast)
            ((first, second),) = run(kernel, [[root, 3.0]])
            assert (first == 0) == fast and second >= 9
            assert (np.array([root], precision.code)**2)[0] != 0


def test_each_architecture_has_a_control_register_of_its_own() -> None:
    for architecture, (bits, kind, *_) in FLUSHING.items():
        lines = flushed("call void @f()", architecture, "%x")
        put_back, at = lines[-1], lines.index("  call void @f() noinline")
        assert f"  %x.changed = or {kind} %x, {bits}" in lines[:at] and put_back.startswith("  call void @llvm."), lines
    assert able("riscv64") == "" and able("aarch64") == "aarch64"
