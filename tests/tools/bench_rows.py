"""How long a million rows and a million points take, whole processes: python tests/tools/bench_rows.py [ROWS]

Wall-clock and processor seconds, the best of three runs each. The targets: 1.5 million rows a second from CSV to CSV, a million
rows to JSON and a million points in at most two seconds, on two quiet cores.
"""
from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = ("grad", "-e", "v = x*sin(y)")
RUNS = 3


def seconds(*args: str) -> tuple[float, float]:
    """Wall-clock and processor seconds of the quickest run of adcli."""
    found = []
    for _ in range(RUNS):
        start = time.perf_counter()
        child = os.spawnv(os.P_NOWAIT, sys.executable, [sys.executable, "-m", "adcli", *args])
        _, status, used = os.wait4(child, 0)
        assert status == 0, args
        found.append((time.perf_counter() - start, used.ru_utime + used.ru_stime))
    return min(found)


def main(rows: int) -> None:
    side = round(rows ** 0.5)
    with tempfile.TemporaryDirectory() as folder:
        table, out = Path(folder) / "rows.csv", str(Path(folder) / "out")
        draw = random.Random(1).uniform
        table.write_text("x,y\n" + "".join(f"{draw(0.1, 3)!r},{draw(-3, 3)!r}\n" for _ in range(rows)))
        points = ("--at", f"x=1:2:{side},y=0:1:{side}")
        for name, given in (("rows of CSV to", ("--data", str(table))), ("a grid to     ", points)):
            for form in ("csv", "json", "tsv", "text", "parquet"):
                wall, used = seconds(*PROGRAM, *given, "--format", form, "-o", out)
                print(f"{name} {form:8} {wall:6.2f} s, {used:6.2f} s of processors, {rows / wall:12,.0f} a second")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
