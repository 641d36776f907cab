"""Programs as modules of JavaScript and Python, run at points: one process of node for all."""
from __future__ import annotations

import json
import pathlib
import shutil
import struct
import subprocess
from collections.abc import Sequence
from typing import Any

import numpy as np
from adcli.codegen.scripts import javascript, python
from adcli.lang.ir import Program
from c_tensors import Point as TensorPoint

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


# ---------------------------------------------------------------- tensors

RUN_TENSORS = """
import {readFileSync} from "node:fs";
const found = [];
for (const [k, points] of JSON.parse(readFileSync("points.json", "utf8")).entries()) {
    const module = await import(`./f${k}.mjs`);
    for (const at of points) {
        try {
            const results = module.f(...at);
            found.push(module.outputs.map(name => results[name]));
        } catch (error) {
            found.push(error instanceof RangeError ? "refused" : String(error.stack));
        }
    }
}
console.log(JSON.stringify(found, (_, x) => typeof x === "number" && !Number.isFinite(x) ? String(x) : x));
"""


def given(program: Program, point: TensorPoint) -> list[Any]:
    return [np.asarray(point[0][p.name]).tolist() for p in program.params]


def tensors_in_node(folder: pathlib.Path, programs: list[Program], points: list[list[TensorPoint]]) -> list[Any]:
    """The results of each program with tensors at each of its points, or 'refused'."""
    for k, program in enumerate(programs):
        (folder / f"f{k}.mjs").write_text(javascript.module(program, "f"), encoding="utf-8")
    (folder / "run.mjs").write_text(RUN_TENSORS, encoding="utf-8")
    said = [[given(p, at) for at in row] for p, row in zip(programs, points, strict=True)]
    (folder / "points.json").write_text(json.dumps(said), encoding="utf-8")
    ended = subprocess.run([str(NODE), "run.mjs"], cwd=folder, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stderr[-2000:]
    return list(json.loads(ended.stdout))


def tensors_in_python(programs: list[Program], points: list[list[TensorPoint]]) -> list[Any]:
    """The same with NumPy."""
    found: list[Any] = []
    for program, row in zip(programs, points, strict=True):
        scope: dict[str, Any] = {}
        exec(compile(python.module(program, "f"), "f.py", "exec"), scope)
        for at in row:
            try:
                arrays = [np.asarray(at[0][p.name]) for p in program.params]   # lists do not say the extents behind a 0
                results = scope["f"](*(x if x.ndim > 1 and not x.size else x.tolist() for x in arrays))
                found.append(list(results) if len(program.results) > 1 else [results])
            except (ValueError, IndexError):
                found.append("refused")
    return found


def flat(results: Any) -> list[float]:
    """All numbers of results, one after the other."""
    if isinstance(results, list):
        return [x for each in results for x in flat(each)]
    return np.ravel(np.asarray(results, float)).tolist()
