"""Programs as modules of JavaScript, Python, Rust and MATLAB, run at points: one process for all."""
from __future__ import annotations

import json
import pathlib
import re
import shutil
import struct
import subprocess
from collections.abc import Sequence
from typing import Any

import numpy as np
from adcli.codegen.emission import EmitOptions
from adcli.codegen.nests.layout import size_parameters
from adcli.codegen.scripts import javascript, matlab, python, rust
from adcli.lang.ir import Param, Program
from adcli.lang.ir.errors import AdError
from c_tensors import Point as TensorPoint

NODE, RUSTC, OCTAVE = shutil.which("node"), shutil.which("rustc"), shutil.which("octave-cli")
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


# ---------------------------------------------------------------- Rust

SHOW = """
trait Show { fn show(&self); }
impl Show for f64 { fn show(&self) { print!("{:016x} ", self.to_bits()); } }
impl Show for Vec<f64> { fn show(&self) { for x in self { x.show(); } } }
"""


def literal(x: Any, p: Param) -> str:
    """A value as Rust writes it, numbers by their bits."""
    texts = [str(int(v)) if p.var.integer else f"f64::from_bits(0x{struct.pack('>d', v).hex()})" for v in np.ravel(x).tolist()]
    return f"&[{', '.join(texts)}]" if p.var.shape else texts[0]


def in_rust(folder: pathlib.Path, programs: Sequence[Program], points: Sequence[Sequence[TensorPoint]]) -> list[list[Any]]:
    """The results of each program at each of its points one after the other; None where a point is refused, ... where the program
    has operations on matrices, which Rust has none of."""
    main, made = [SHOW], set()
    for k, (program, row) in enumerate(zip(programs, points, strict=True)):
        try:
            text = rust.emit(program, [], EmitOptions(name="f"))
        except AdError as cannot:
            assert "Rust has no" in cannot.message
            continue
        made.add(k)
        (folder / f"f{k}.rs").write_text(text, encoding="utf-8")
        fields = re.findall(r"^    pub (\w+):", text, re.MULTILINE)
        main += [f"mod f{k};", f"fn show{k}(o: f{k}::Outputs) {{ {' '.join(f'o.{n}.show();' for n in fields)} println!(); }}",
                 f"fn run{k}() {{"]
        for at, sizes in row:
            given = [*(str(sizes[n]) for n in size_parameters(program)), *(literal(at[p.name], p) for p in program.params)]
            call = f"f{k}::f({', '.join(given)})"
            main.append(f'    match {call} {{ Ok(o) => show{k}(o), Err(_) => println!("refused") }}' if "return Err(" in text else
                        f"    show{k}({call});")
        main.append("}")
    main += ["fn main() {", *(f"    run{k}();" for k in sorted(made)), "}"]
    (folder / "main.rs").write_text("\n".join(main), encoding="utf-8")
    subprocess.run([str(RUSTC), "--edition", "2021", "-A", "warnings", "main.rs", "-o", "main"], cwd=folder, check=True)
    lines = iter(subprocess.run([folder / "main"], capture_output=True, text=True, check=True).stdout.splitlines())
    return [[said(next(lines)) for _ in row] if k in made else [...] * len(row) for k, row in enumerate(points)]


def said(line: str) -> list[float] | None:
    return None if line == "refused" else [struct.unpack(">d", bytes.fromhex(x))[0] for x in line.split()]


def in_octave(folder: pathlib.Path, programs: Sequence[Program], points: Sequence[Sequence[TensorPoint]]) -> list[list[Any]]:
    """The same in Octave, which runs functions of MATLAB."""
    main, made = ["1;"], set()
    for k, (program, row) in enumerate(zip(programs, points, strict=True)):
        try:
            text = matlab.emit(program, [], EmitOptions(name=f"f{k}"))
        except AdError as cannot:
            assert "MATLAB has no" in cannot.message or "is no extent" in cannot.message
            continue
        made.add(k)
        (folder / f"f{k}.m").write_text(text, encoding="utf-8")
        found = ", ".join(f"r{n}" for n, _ in enumerate(program.results))
        shown = [f"r = permute({r}, ndims({r}):-1:1); printf('%s ', num2hex(r(:)).'); " for r in found.split(", ")]
        for at, _ in row:
            main.append(f"try, [{found}] = f{k}({', '.join(array(at[p.name]) for p in program.params)}); {''.join(shown)}"
                        "catch said, printf('refused'); end; printf('\\n');")
    (folder / "main.m").write_text("\n".join(main), encoding="utf-8")
    command = [str(OCTAVE), "-q", "--no-init-file", "main.m"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    lines = iter(ended.stdout.splitlines())
    return [[said(" ".join(re.findall("refused|.{16}", next(lines).replace(" ", "")))) for _ in row] if k in made
            else [...] * len(row) for k, row in enumerate(points)]


def array(x: Any) -> str:
    """A value as MATLAB writes it, numbers by their bits."""
    a = np.asarray(x, float)
    bits = "; ".join(f"'{struct.pack('>d', v).hex()}'" for v in a.ravel().tolist())
    flat = f"hex2num([{bits}])" if a.size else "zeros(0, 1)"
    return f"permute(reshape({flat}, {list(a.shape[::-1])}), {a.ndim}:-1:1)" if a.ndim > 1 else flat


def run_in_octave(folder: pathlib.Path, programs: Cases) -> list[list[list[float]]]:
    """The results of each program of scalars at each of its points."""
    return in_octave(folder, *of_scalars(programs))


def of_scalars(programs: Cases) -> tuple[list[Program], list[list[TensorPoint]]]:
    return [program for program, _ in programs], [
        [({p.name: x for p, x in zip(program.params, at, strict=True)}, {}) for at in rows] for program, rows in programs]


def run_in_rust(folder: pathlib.Path, programs: Cases) -> list[list[list[float]]]:
    """The results of each program of scalars at each of its points."""
    return in_rust(folder, *of_scalars(programs))


def flat(results: Any) -> list[float]:
    """All numbers of results, one after the other."""
    if isinstance(results, list):
        return [x for each in results for x in flat(each)]
    return np.ravel(np.asarray(results, float)).tolist()
