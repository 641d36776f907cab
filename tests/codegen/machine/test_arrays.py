"""Native code on arrays: the same bits as on lists, and what does not fit is refused."""
from __future__ import annotations

import pytest
from adcli.codegen.machine.arrays import run_arrays
from adcli.codegen.machine.kernel import run
from adcli.codegen.rows.compiled import compile_program
from native_programs import everything, long_program


def test_arrays() -> None:
    np = pytest.importorskip("numpy")
    kernel = compile_program(long_program(50))
    for rows in (0, 1, kernel.lanes, 4 * kernel.lanes + 3):
        columns = [np.linspace(k, k + 1, rows) for k in range(5)]
        want = run(kernel, [c.tolist() for c in columns])
        out = [np.empty(rows) for _ in want]
        assert run_arrays(kernel, columns, out=out)[0] is out[0]
        assert [c.tobytes() for c in out] == [np.array(c).tobytes() for c in want]


def test_arrays_that_do_not_fit() -> None:
    np = pytest.importorskip("numpy")
    kernel = compile_program(everything())
    for column in (np.zeros(4, np.float32), np.zeros(8)[::2], np.zeros((2, 2)), np.zeros(4, ">f8")):
        with pytest.raises(ValueError, match="column"):
            run_arrays(kernel, [column])
    with pytest.raises(ValueError, match="columns"):
        run_arrays(kernel, [np.zeros(3), np.zeros(3)])
    with pytest.raises(ValueError, match="length"):
        run_arrays(kernel, [np.zeros(3)], out=[np.zeros(2) for _ in range(kernel.entry.outputs)])
