"""Every pass is checked in every test, and no test sees what another has compiled.

What LLVM makes of a text depends on the text alone: the same text is not given to it twice. Eleven texts of twelve, which ones
the seed says, it compiles as the command does in haste, in a fifth of the time; all of them well where a test uses `made_well`.

Every run draws new programs, from a seed that it says first, and again where a test has failed.
"""
from __future__ import annotations

import gc
import os
import sys
from collections import defaultdict
from functools import lru_cache
from zlib import crc32

import hypothesis
import pytest
import row_tables
import well_formed
from adcli.codegen.rows import jit
from adcli.lang.passes import pipeline
from allowed_skips import pytest_sessionfinish  # noqa: F401
from row_tables import spread
from session_seed import VARIABLE, drawn, session_seed

from adcli.verbs import bench


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite-programs", action="store_true", help="write today's stages and messages into golden files")
    parser.addoption("--rewrite-notebooks", action="store_true", help="write today's results into tests/notebooks")
    parser.addoption("--seed", type=int, help="what the tests draw; a new one in every run, if not given")
    parser.addoption("--rows", type=int, default=sys.maxsize, help="of the rows of a table that a test runs, at most so many")


def pytest_configure(config: pytest.Config) -> None:
    row_tables.MOST[:] = [config.option.rows]
    if config.option.seed is not None:
        os.environ[VARIABLE] = str(config.option.seed)
    os.environ.setdefault(VARIABLE, str(int.from_bytes(os.urandom(4))))   # which the workers of xdist have from it


def pytest_sessionstart(session: pytest.Session) -> None:
    say_seed(session.config)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config) -> None:
    if exitstatus:
        say_seed(config)


def pytest_collection_finish() -> None:
    gc.freeze()   # nobody looks for cycles in what was collected


def say_seed(config: pytest.Config) -> None:
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal:
        terminal.write_line(f"seed {session_seed()}: --seed {session_seed()} draws the same again")


@pytest.hookimpl(tryfirst=True)   # before xdist looks for groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave so many rows of each test as are asked for, evenly spread over its table. Property tests draw from the seed of the
    run too, each in its own way."""
    most, tables = config.getoption("--rows"), defaultdict(list)
    for item in items:
        tables[item.nodeid.partition("[")[0]].append(item)
    kept = {item for rows in tables.values() for item in spread(rows, most)}
    kept |= {item for item in items if item.get_closest_marker("whole")}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]
    for item in items:
        if item.get_closest_marker("engine") and not item.get_closest_marker("no_cover"):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))   # an engine is started once for a file; models need none
        test = getattr(item, "obj", None)
        if hypothesis.is_hypothesis_test(test):
            hypothesis.seed(drawn(item.nodeid.partition("[")[0]).getrandbits(64))(test)


os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")   # as the command has it
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)   # the processes that tests start have compiled modules, as those of users
sys.dont_write_bytecode = False
WELL, HASTE = 2, 0
ONE_IN = 12
"""Texts of which one is compiled well."""
compiled = lru_cache(1000)(jit.object_code)


def in_haste(text: str, cpu: str | None = None, level: int = WELL) -> bytes:
    haste = level == WELL and crc32(text.encode()) % ONE_IN != session_seed() % ONE_IN
    return compiled(text, cpu, HASTE if haste else level)


jit.object_code = in_haste
bench.RUNS = 1   # the processes that `bench` starts are the same five times
gc.freeze()
gc.set_threshold(100_000, 20, 50)   # as the command has it: looking for cycles takes a tenth of the time of the suite


@pytest.fixture(autouse=True, scope="session")
def _check_every_pass():
    pipeline.CHECKS = (well_formed.check,)


@pytest.fixture
def made_well(monkeypatch):
    """The level that is asked for; `jit.object_code` is that of LLVM."""
    monkeypatch.setattr(jit, "object_code", compiled)


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch):
    monkeypatch.setenv("ADCLI_CACHE_DIR", os.devnull)
