"""Programs and packages that tests marked `engine` run against; a test without its engine is skipped by the engine's name."""
from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from types import ModuleType
from typing import Any

import pytest


def package(name: str) -> ModuleType:
    """A package of the extra `engines`."""
    return importlib.import_module(name) if importlib.util.find_spec(name) else pytest.skip(f"no package {name}")


def program(*names: str) -> str:
    """The first of these programs that is here."""
    return next(filter(None, map(shutil.which, names)), None) or pytest.skip(f"no program {' or '.join(names)}")


def spark() -> Any:
    """The one session of Spark in this process, with two workers on this machine; it ends with the process."""
    for needed in ("pyarrow", "pandas", "pyspark"):
        package(needed)
    program("java")
    from pyspark.sql import SparkSession
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
    session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def ray() -> ModuleType:
    """Ray with two workers on this machine, which end with the process; on a very busy one the half minute that it gives itself
    to start is too short."""
    engine = package("ray")
    for attempt in range(3):
        if engine.is_initialized():
            break
        try:
            engine.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        except Exception as error:
            if "timed out during startup" not in str(error) or attempt == 2:
                raise
            engine.shutdown()
    engine.data.DataContext.get_current().enable_progress_bars = False
    return engine


def zig() -> list[str]:
    """The command that runs zig, which comes as a package."""
    package("ziglang")
    return [sys.executable, "-m", "ziglang"]
