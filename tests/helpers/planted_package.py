"""A copy of the package in which a test plants something, with its command in processes of their own."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from places import ROOT


class PlantedPackage:
    """The package as it is installed, in a folder of the test's own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("adcli", "lang", "codegen", "samples"):
            place = root / "adcli" / ("" if name == "adcli" else name)
            shutil.copytree(ROOT / name, place, ignore=shutil.ignore_patterns("__pycache__"))

    def plant(self, file: str, before: str, text: str) -> None:
        """Put a text in front of another, which the file has once."""
        path = self.root / file
        old = path.read_text(encoding="utf-8")
        assert old.count(before) == 1, (file, before)
        path.write_text(old.replace(before, text + before), encoding="utf-8")

    def run(self, *args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run one command."""
        environment = {**os.environ, "PYTHONPATH": str(self.root), "XDG_CACHE_HOME": str(self.root / "cache")}
        return subprocess.run([sys.executable, "-m", "adcli", *args], cwd=self.root, capture_output=True, text=True, input=stdin,
                              env=environment, check=False)

    def prints(self, *args: str, stdin: str = "") -> str:
        """What a command prints that ends well."""
        done = self.run(*args, stdin=stdin)
        assert done.returncode == 0, (args, done.stderr)
        return done.stdout
