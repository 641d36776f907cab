"""What is said about a wrong command line: the whole text and the exit code, for every kind of fault, in the golden `faults.txt`;
and what verbs report, where every number is exact, in `reports.txt`.

A case is a command, and behind it what is said on standard error, and of reports what is written. As in a shell, `< FILE` and
`<<< TEXT` are its standard input, where \n ends a line. `--rewrite-programs` writes what is said today into the files; what it
changed is for the eye, in the difference of the commit.
"""
from __future__ import annotations

import os
import pathlib
import re
import shlex

import pytest
from command import adcli
from places import ROOT
from tensor_cases import folder as tensors

from adcli.main import VERBS

__all__ = ["tensors"]

FILES: dict[str, str | bytes] = {
    "f.ad": "v = x * sin(y)\n", "untidy.ad": "v=x", "empty": "", "binary": b"\x00\x01\xff", "utf16": "v = x".encode("utf-16"),
    "latin1": b"\xe9 = x", "wrong.ad": "v = tahn(x)\nw = 2x\n", "range.ad": "input x in [0, 1]\nv = x*x\n",
    "broken.json": '[\n{"x": }]', "lines.json": '{"x": 1, "y": 2}\n\n{"x"; 1}\n', "twice.json": '{"x": 1, "x": 2}',
    "text.json": '[{"x": 1, "y": 2}, {"x": 1, "y": "two"}]', "large.json": '{"x": 1e999, "y": 1}', "list.json": "[1, 2]",
    "deep.json": "[" * 200_000, "second.json": '[{"x": 1}, 2]', "half.json": b'{"x": 1 ', "bytes.json": b"{}\xff",
    "two.json": b'{"x": 1}\n{x: 1}\n', "true.json": b'{"at": {"x": true}}', "no.txt": "\n", "void.json": "[]",
    "pairs.txt": "x = 1\ny=2.5\n",
    "table.txt": "x,y\n1,2\n", "parts.txt": "x=1, y: 2",
    "good.csv": "x,y,w\n1,2,3\n3,4,5\n", "short.csv": "x,y\n1,2\n3\n", "words.csv": "x,y\n1,two\n,4\n5,6\n7,1e999\n",
    "quotes.csv": 'x,y\n1,"2"3\n', "unclosed.csv": 'x,y\n1,"2\n', "doubled.csv": "x,x,y\n1,2,3\n", "header.csv": "x,y\n",
    "marks.csv": "x;y\n1,5;2\n", "pairs.csv": "1 2\n3 4\n",
    "models.py": "def f(x):\n    return x\n",
    "latin.csv": b"x,y\n1,\xe9\n", "damaged.csv.gz": b"\x1f\x8b\x08\x00\x00", "z.csv": "x,z\n1,2\n",
    "lists.csv": 'x\n"[1,2]"\n"[1,null]"\n"[1,[2]]"\n"1,2"\n',
    "rows.jsonl": '{"x": 1}\n{"x": 1, "y": true}\n[1]\n{"y": \n{"x": 1, "x": 2}\n',
    "fit.csv": "t,y,s,w\n0,9,0.1,1\n1,6,0.1,2\n2,4,0.2,1\n3,2.5,0.1,3\n", "runs.csv": "run,t,n\na,0,5\na,1,3\nb,0,4\nb,1,2\n",
    "pairs.jsonl": '{"x":[1,2],"y":3}\n{"x":[1,4],"y":4}\n{"x":[1,5],"y":4}\n',
    "null.jsonl": '{"x":[1,2],"y":3}\n{"x":[1,null],"y":4}\n',
    "n.py": "number = 5\ndef grad(x, y): return [1, 2]\ndef three(a, b, c): pass\n", "bad.py": "import nosuchmodule_\n",
    "wide.jsonl": '{"x": 1, "y": 1e999}\n', "members.jsonl": '{"x": 1, "y": 2}\n{"x": 1, "y": 2, "z": 3}\n',
}


@pytest.fixture(autouse=True)
def files(tensors, tmp_path, monkeypatch):
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    monkeypatch.chdir(tmp_path)


def said(line: str, whole: bool) -> str:
    """What a command says and how it ends: for a fault nothing on standard output, and no file left."""
    before = {*os.listdir()}
    words, given = shlex.split(line), b""
    if words[-2:-1] in (["<"], ["<<<"]):
        *words, sign, text = words
        given = pathlib.Path(text).read_bytes() if sign == "<" else text.replace(r"\n", "\n").encode()
    ended = adcli(*words, stdin=given)
    assert ended.code not in (2, 3) or not ended.out
    assert {*os.listdir()} - {"__pycache__"} == before - {"__pycache__"}
    return f"{ended.err.replace(', '.join(VERBS), 'VERBS')}{ended.out * whole}= {ended.code}\n"


@pytest.mark.parametrize("golden", ["faults.txt", "reports.txt"])
def test_the_golden_file_is_that_of_today(request: pytest.FixtureRequest, golden: str) -> None:
    path = ROOT / "tests" / "adcli" / golden
    lines = re.findall(r"^\$ (.*)", path.read_text(encoding="utf-8"), flags=re.M)
    today = "".join(f"$ {line}\n{said(line, golden == 'reports.txt')}" for line in lines)
    if request.config.getoption("--rewrite-programs"):
        path.write_text(today, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == today
