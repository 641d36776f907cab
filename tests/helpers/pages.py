"""Documents of pages and tapes, evaluated by their own script in one process of node."""
from __future__ import annotations

import json
import pathlib
import struct
import subprocess
from collections.abc import Sequence
from typing import Any

import numpy as np
from adcli.codegen.scripts.tape import as_json, operations_of
from script_programs import NODE

from adcli.explore.data import script

RUN = """
const {readFileSync} = require("node:fs");
const numbers = x => typeof x === "object" ? {shape: x.shape, data: x.data.map(Number)} : typeof x === "string" ? Number(x) : x;
const bits = x => new BigUint64Array(Float64Array.of(Number(x)).buffer)[0].toString(16).padStart(16, "0");
const told = x => typeof x === "object" ? {shape: x.shape, data: [...x.data].map(bits)} : bits(x);
for (const {document, tape, asked} of JSON.parse(readFileSync("asked.json", "utf8"))) {
    const evaluate = document && adcliEvaluator(document);
    for (const [inputs, ...seeds] of asked) {
        if (tape) console.log(JSON.stringify(adcliResults(tape, inputs.map(numbers)).map(told)));
        else {
            const found = evaluate(inputs.map(numbers), ...seeds), {status, values} = found;
            const reasons = document.reasons ? values.map((x, k) => adcliReasons(document, found, k)) : [];
            console.log(JSON.stringify({status, values: values.map(told), reasons}));
        }
    }
}
"""
Asked = Sequence[tuple[dict[str, Any], Sequence[Sequence[Any]]]]


def in_node(folder: pathlib.Path, asked: Asked) -> list[list[Any]]:
    """For each {"document": …} or {"tape": …} what it gives for each of the rows asked, which are (inputs, tangent, cotangent),
    of a tape (inputs,); numbers as floats, tensors as arrays. A document with "reasons" is asked for those of every value."""
    plain = [{**what, "asked": [[[given(x) for x in row[0]], *row[1:]] for row in rows]} for what, rows in asked]
    (folder / "asked.json").write_text(json.dumps(plain, allow_nan=False), encoding="utf-8")
    (folder / "run.js").write_text('"use strict";\n' + script({*operations_of(plain)}) + RUN, encoding="utf-8")
    ended = subprocess.run([str(NODE), "run.js"], cwd=folder, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stderr[-2000:]
    lines = iter(ended.stdout.splitlines())
    return [[read(json.loads(next(lines))) for _ in rows] for _, rows in asked]


def given(x: Any) -> Any:
    if np.ndim(x):
        array = np.asarray(x, float)
        return {"shape": list(array.shape), "data": [as_json(y) for y in array.ravel().tolist()]}
    return as_json(float(x))


def read(told: Any) -> Any:
    if isinstance(told, list):
        return [value(x) for x in told]
    return {**told, "values": [value(x) for x in told["values"]]}


def value(told: Any) -> Any:
    if isinstance(told, dict):
        return np.array([double(x) for x in told["data"]]).reshape(told["shape"])
    return double(told)


def double(word: str) -> float:
    (found,) = struct.unpack(">d", bytes.fromhex(word))
    return float(found)
