"""What is a program for an adapter."""
from __future__ import annotations

import subprocess
import sys

import pytest
from engines import package
from places import ROOT, WORKED

import adcli

pytestmark = pytest.mark.engine


def test_a_program_in_every_form():
    package("pyarrow")
    from adcli.api.engines import batches_of, function_of
    f = adcli.load(WORKED)
    for program in (WORKED, str(WORKED), f, WORKED.read_text()):
        assert function_of(program)(x=2.0, y=5.0) == f(x=2.0, y=5.0)
        assert function_of(program, "grad", wrt="x").outputs == ("v", "dv_dx")
    assert function_of(lambda x: x * x, "grad").outputs == ("f", "df_dx")
    m = f.arrow(only=True)
    assert batches_of(m) is m
    assert batches_of(f, only=True).only
    with pytest.raises(adcli.AdError, match="only is given where the function of batches is made"):
        batches_of(m, only=True)
    with pytest.raises(adcli.AdError, match="no options of derivatives"):
        function_of(f, "eval", "x")
    with pytest.raises(adcli.AdError, match="did you mean 'grad'"):
        function_of(f, "gard")


@pytest.mark.parametrize("engine, absent", [
    ("polars", "polars"), ("polars", "pyarrow"), ("duckdb", "duckdb"), ("duckdb", "pyarrow"),
    ("spark", "pyarrow"), ("ray", "pyarrow")])
def test_an_adapter_says_what_to_install(engine, absent):
    code = f"import sys; sys.modules[{absent!r}] = None; import adcli; adcli.{engine}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert f"adcli.AdError: error: adcli.{engine} needs {absent}, which is not installed\nhelp:" in done.stderr
