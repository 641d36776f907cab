"""Every pass is checked in every test, and no test sees what another has compiled.

What LLVM makes of a text depends on the text alone and takes a quarter of the time of all tests: the same text is not given
to it twice.
"""
import gc
import os
from functools import lru_cache

import pytest
from adcli.codegen.rows import jit
from adcli.lang.ir import check


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite-programs", action="store_true", help="write today's stages into tests/programs")


jit.object_code = lru_cache(1000)(jit.object_code)
gc.freeze()
gc.set_threshold(100_000, 20, 50)   # as the command has it: looking for cycles takes a tenth of the time of the suite


@pytest.fixture(autouse=True, scope="session")
def _check_every_pass():
    check.ALWAYS = True


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch):
    monkeypatch.setenv("ADCLI_CACHE_DIR", os.devnull)
