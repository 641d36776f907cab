"""Many points from a template have the bytes that one point after the other has, in every form and layout."""
from __future__ import annotations

import math
from unittest import mock

import numpy as np
import pytest
from adcli.codegen.machine.kernel import NoExecutableMemory
from adcli.lang.ir import LEVELS

from adcli.answers import bulk
from adcli.output import report
from adcli.output.layout import Layout, Row
from adcli.output.numbers import number_format

VALUES = [0.0, -0.0, 1.0, 0.1, -2.5, 1e15, 1e16, -1e16, 9.999e15, 1e22, 1e-4, 9.9e-5, 5e-324, 1.7e308, math.nan, math.inf,
          -math.inf]
GRAD = (("dv_dx", ("grad", "v", "x")), ("dv_d%y", ("grad", "v", "%y")))
LAYOUTS = {
    "value": Layout(None, ("x",), "", {}, ("v",), ()),
    "gradient": Layout("grad", ("x", "%y"), "", {}, ("v", "w"), GRAD),
    "tangent": Layout("jvp", ("x",), "tangent", {"x.t": "x"}, ("v",), (("dv", ("jvp", "v")),)),
    "derivatives alone": Layout("grad", ("x", "%y"), "", {}, (), GRAD),
    "coefficients": Layout("taylor", ("x",), "", {}, ("v",), (("c0", ("taylor", "v", 0)), ("c1", ("taylor", "v", 1)))),
    "no inputs": Layout(None, (), "", {}, ("v", "w"), ()),
    "nothing derived": Layout("grad", ("x",), "", {}, ("v",), ()),
}
FORMATS = {"shortest": (None, False), "three digits": ("%.3g", False), "hexadecimal": (None, True)}


def no_writer(keep):
    """As where a system runs no code of ours."""
    raise NoExecutableMemory


def one_by_one(layout, form, number, rows, headed):
    if form == "text":
        texts = list(report.text(layout, rows, number, headed))
    elif form == "json":
        texts = list(report.json_rows(layout, rows, number))
    else:
        texts = list(report.csv_rows(layout, rows, number, "," if form == "csv" else "\t"))
    return "".join(texts).encode()


@pytest.mark.parametrize("way", ["native", "python"])
@pytest.mark.parametrize("status", [None, "status"])
@pytest.mark.parametrize("form", ["text", "json", "csv", "tsv"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_the_same_bytes(name, form, status, way):
    layout = LAYOUTS[name]._replace(status=status)
    inputs = [*layout.inputs, *layout.seeds]
    count = len(inputs) + len(layout.results)
    columns = [np.array(VALUES[k:] + VALUES[:k]) for k in range(count)]
    levels = [k % len(LEVELS) for k in range(len(VALUES))]
    points = np.stack(columns, axis=1).tolist()
    rows = [Row(dict(zip(inputs, p, strict=False)), p[len(inputs):], level if status or form == "json" else -1)
            for p, level in zip(points, levels, strict=True)]
    for template, hexadecimal in FORMATS.values():
        number = number_format(template, hexadecimal)
        for headed in ((True, False) if form == "text" else (True,)):
            with mock.patch.object(bulk, "writer", no_writer if way == "python" else bulk.writer):
                made = bulk.lines(layout, form, number, headed)
                found = made.header + made.filled(columns, np.array(levels) if made.status else None)
                native = made.native is not None
            if form == "text" and headed:
                found = found.removeprefix(b"\n")
            assert found == one_by_one(layout, form, number, rows, headed)
            assert made.status == (status is not None or form == "json")
            assert native == (way != "python" and template is None and not hexadecimal)
