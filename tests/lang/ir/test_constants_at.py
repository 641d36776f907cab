"""A constant that single precision has no number for is named with its place, whatever makes the code."""
from __future__ import annotations

import pytest
from adcli.codegen.rows.tiers import recorded
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse

import adcli


@pytest.mark.parametrize(("source", "at", "carets"), [
    ("v = x\ny = v*1e300", (2, 5), "v*1e300"), ("y = x + 1\nz = y*1e-300", (2, 5), "y*1e-300"),
    ("input x(N)\ny(i) = x(i)*1e300 + 1", (2, 8), "x(i)*1e300"), ("input x(N)\ny(i) +=! 1e39 where i in 0:N", (2, 1), None),
    ("input x(N)\nh(0) = 1\nfor t in 0:N { h(t + 1) = h(t) + x(t)*1e300 }", (3, 34), "x(t)*1e300"),
])
def test_a_constant_without_a_number_in_single_precision_has_its_place(source: str, at: tuple[int, int],
                                                                       carets: str | None) -> None:
    tensors = "(" in source
    with pytest.raises(AdError, match=r"is too (large|small) for a number of single precision") as raised:
        adcli.compile(source, precision="single")(x=[1.0] if tensors else 1.0)
    faults = [raised.value]
    if not tensors:
        with pytest.raises(AdError) as raised:
            recorded(parse(source), "single")
        faults.append(raised.value)
    for fault in faults:
        assert (fault.line, fault.column) == at and fault.help == "use double precision, the default"
        assert fault.span is not None and (carets is None or source[slice(*fault.span)] == carets)
