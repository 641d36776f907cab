"""Programs with tensors, loops and operations on matrices as modules of JavaScript and of Python: the numbers of the reference,
and errors of the language where sizes or subscripts do not fit."""
from __future__ import annotations

import json
import pathlib
import subprocess
from typing import Any

import pytest
from adcli.codegen.scripts import javascript, python
from adcli.lang.lower.frontend import parse
from script_programs import NODE

WRONG = [
    ("input x(N), y(N)\nz(i) = x(i) + y(i)", [[1, 2], [1, 2, 3]], "dimension 0 of y is not N"),
    ("input x(N), int32 k(M)\nz(m) = x(k(m))", [[1, 2], [0, 2]], "outside"),
    ("input x(N), int32 k(M)\nz(m) = x(k(m))", [[1, 2], [0.5]], "whole number"),
    ("input x(2*N)\nz(i) = x(2*i)", [[1, 2, 3]], "dimension 0 of x is not 2*N"),
    ("input x(N, M)\nz(i) +=! x(i, j)", [[1, 2]], "dimensions"),
    ("input x(N, M)\nz(i) +=! x(i, j)", [[[1, 2], [1]]], "rows of different lengths|inhomogeneous"),
    ("input a, int32 T\nv(0) = a\nfor t in 0:T { v(t+1) = v(t)/2 }", [1, -1], "T is below 0")]


def test_what_does_not_fit_is_an_error_of_python() -> None:
    for text, at, message in WRONG:
        scope: dict[str, Any] = {}
        exec(compile(python.module(parse(text), "f"), "f.py", "exec"), scope)
        with pytest.raises((ValueError, IndexError), match=message.replace("*", r"\*")):
            scope["f"](*at)


@pytest.mark.skipif(NODE is None, reason="no node")
def test_nested_arrays_do_not_say_the_extents_behind_a_0(tmp_path: pathlib.Path) -> None:
    text = ("input A(N, M), B(M, K), C(2, L+1), D(0, 3)\nz(j) +=! A(i, j)\ny(j) = z(j) + 1\n"
            "u(k) +=! B(j, k)\nw +=! C(i, j)\nv +=! D(i, j)\noutput y, u, w, v")
    (tmp_path / "f.mjs").write_text(javascript.module(parse(text), "f"), encoding="utf-8")
    (tmp_path / "run.mjs").write_text("import {f} from './f.mjs'; console.log(JSON.stringify("
                                      "[f([], [[1], [2]], [[5], [6]], []), f([[], []], [], [[5], [6]], [])]))", encoding="utf-8")
    said = subprocess.run([str(NODE), "run.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert json.loads(said) == [{"y": [1, 1], "u": [3], "w": 11, "v": 0}, {"y": [], "u": [], "w": 11, "v": 0}]


@pytest.mark.skipif(NODE is None, reason="no node")
def test_what_does_not_fit_is_an_error_of_javascript(tmp_path: pathlib.Path) -> None:
    programs = [parse(text) for text, *_ in WRONG]
    for k, program in enumerate(programs):
        (tmp_path / f"f{k}.mjs").write_text(javascript.module(program, "f"), encoding="utf-8")
    calls = [f"import {{f as f{k}}} from './f{k}.mjs'; try {{ f{k}(...{json.dumps(at)}); }}"
             " catch (e) { console.log(e.message); }"
             for k, (_, at, _) in enumerate(WRONG)]
    (tmp_path / "run.mjs").write_text("\n".join(calls), encoding="utf-8")
    said = subprocess.run([str(NODE), "run.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(said) == len(WRONG)
    for line, (*_, message) in zip(said, WRONG, strict=True):
        assert any(part in line for part in message.split("|")), line

