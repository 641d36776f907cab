"""The examples of README.md, run by the adcli of this environment: what its first command installs has to be enough for them."""
import os
import pathlib
import re
import subprocess
import sys

README = pathlib.Path("README.md").read_text(encoding="utf-8")
folder = pathlib.Path(sys.executable).parent
env = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
for block in re.findall(r"^```console\n(.*?)^```$", README, re.M | re.S):
    for command, shown in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", block, re.M):
        printed = subprocess.run(["bash", "-c", command], env=env, capture_output=True, text=True, check=True).stdout
        if printed != shown:
            sys.exit(f"{command}\nprints\n{printed}\nand not\n{shown}")
