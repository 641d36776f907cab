"""Every pass is checked in every test, and no test sees what another has compiled."""
import gc
import os

import pytest
from adcli.lang.ir import check


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite-programs", action="store_true", help="write today's stages into tests/programs")


gc.freeze()
gc.set_threshold(100_000, 20, 50)   # as the command has it: looking for cycles takes a tenth of the time of the suite


@pytest.fixture(autouse=True, scope="session")
def _check_every_pass():
    check.ALWAYS = True


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch):
    monkeypatch.setenv("ADCLI_CACHE_DIR", os.devnull)
