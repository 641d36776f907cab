"""The packages that extras of pyproject.toml ask for, those of the extras that they name included, a line each.

    python3 .ci/requirements.py test engines > requirements.txt
"""
from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
found, extras = [*project["dependencies"]], sys.argv[1:]
for extra in extras:   # grows
    for line in project["optional-dependencies"][extra]:
        own = re.fullmatch(r"adcli\[(.*)\]", line)
        extras += [name for name in own[1].split(",") if name not in extras] if own else []
        found += [] if own else [line]
print("\n".join(dict.fromkeys(found)))
