"""Programs as modules of JavaScript and Python, run at points: one process of node for all."""
from __future__ import annotations

import json
import pathlib
import shutil
import struct
import subprocess
from collections.abc import Sequence

import numpy as np
from adcli.codegen.scripts import javascript, python
from adcli.lang.ir import Program

NODE = shutil.which("node")
Point = Sequence[float]
Cases = Sequence[tuple[Program, Sequence[Point]]]

RUN = """
import {readFileSync} from "node:fs";
const bits = x => new BigUint64Array(Float64Array.of(x).buffer)[0].toString(16).padStart(16, "0");
for (const [k, points] of JSON.parse(readFileSync("points.json", "utf8")).entries()) {
    const module = await import(`./f${k}.mjs`);
    for (const at of points) {
        const found = module.f(...at.map(Number));
        console.log(module.outputs.map(name => bits(found[name])).join(" "));
    }
}
"""


def run_in_node(folder: pathlib.Path, programs: Cases, size: int = javascript.PART_SIZE) -> list[list[list[float]]]:
    """The results of each program at each of its points, inputs in order."""
    for k, (program, _) in enumerate(programs):
        (folder / f"f{k}.mjs").write_text(javascript.module(program, "f", size), encoding="utf-8")
    (folder / "run.mjs").write_text(RUN, encoding="utf-8")
    words = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}
    points = [[[words.get(text := repr(float(x)), text) for x in at] for at in rows] for _, rows in programs]
    (folder / "points.json").write_text(json.dumps(points), encoding="utf-8")
    ended = subprocess.run([str(NODE), "run.mjs"], cwd=folder, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stderr[-2000:]
    lines = iter(ended.stdout.splitlines())
    return [[[struct.unpack(">d", bytes.fromhex(word))[0] for word in next(lines).split()] for _ in rows] for _, rows in programs]


def run_in_python(programs: Cases) -> list[list[list[float]]]:
    """The same with NumPy, all points of a program as arrays."""
    found = []
    for program, rows in programs:
        scope: dict = {}
        exec(compile(python.module(program, "f"), "f.py", "exec"), scope)
        columns = scope["f"](*np.array(rows, dtype=float).reshape(len(rows), -1).T)
        columns = columns if len(program.results) > 1 else (columns,)
        found.append([[float(np.broadcast_to(c, len(rows))[i]) for c in columns] for i in range(len(rows))])
    return found
