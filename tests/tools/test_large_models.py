"""The texts of the large problems against their formulas in NumPy; and that the table in the manual is that of the program."""
from types import SimpleNamespace

import numpy as np
import pytest
from bench_large import BEGIN, END, HEAD, MANUAL
from large_models import CASES

import adcli

NUMPY = SimpleNamespace(sqrt=np.sqrt, exp=np.exp, sin=np.sin, cos=np.cos, tan=np.tan, sum1=np.sum, sum2=lambda x: x.sum(axis=1),
                        reshape=lambda x, n, m: np.reshape(np.ravel(x), (n, m), order="F"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_the_text_is_the_formula(case):
    data, draw = case.data(12), np.random.default_rng(1)
    x = {name: np.asarray(data[name]) * draw.uniform(0.9, 1.1, np.shape(data[name])) for name in case.unknowns}
    found = adcli.compile(case.text)({**data, **x})
    value, equations = case.model(NUMPY, x, data)
    assert found["f"] == pytest.approx(value, rel=1e-12)
    for name, expected in zip(case.equations, equations, strict=True):
        assert found[name] == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_the_table_of_the_manual_has_the_columns_of_the_program():
    written = MANUAL.read_text("utf-8").split(BEGIN)[1].split(END)[0].splitlines()
    assert written[0] == f"| {' | '.join(HEAD)} |" and all(line.count("|") == len(HEAD) + 1 for line in written)
    assert {case.title for case in CASES} <= {line.split("|")[1].strip() for line in written[2:]}
