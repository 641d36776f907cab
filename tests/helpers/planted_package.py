"""A copy of the package in which a test plants something, with its command in a process of its own."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from places import HELPERS, ROOT

COMMANDS = """
import json, sys
from command import adcli
for args, given in map(json.loads, sys.stdin):
    print(json.dumps(adcli(*args, stdin=given.encode())[:3]), flush=True)
"""


class PlantedPackage:
    """The package as it is installed, in a folder of the test's own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.process: subprocess.Popen[str] | None = None
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
        """Run one command, in the process that the first one has started."""
        if self.process is None:
            environment = {**os.environ, "PYTHONPATH": f"{self.root}{os.pathsep}{HELPERS}",
                           "XDG_CACHE_HOME": str(self.root / "cache")}
            self.process = subprocess.Popen([sys.executable, "-c", COMMANDS], cwd=self.root, text=True, env=environment,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdin and self.process.stdout
        print(json.dumps([args, stdin]), file=self.process.stdin, flush=True)
        return subprocess.CompletedProcess(args, *json.loads(self.process.stdout.readline()))

    def close(self) -> None:
        """End the process of the commands."""
        if self.process is not None:
            self.process.communicate()

    def prints(self, *args: str, stdin: str = "") -> str:
        """What a command prints that ends well."""
        done = self.run(*args, stdin=stdin)
        assert done.returncode == 0, (args, done.stderr)
        return done.stdout
