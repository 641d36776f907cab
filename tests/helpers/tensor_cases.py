"""Programs with tensors and a point for them, for tests of the command line."""
from __future__ import annotations

import json

import numpy as np
import pytest

MV = """def mv(float(M,N) A, float(N) B) -> (C) {
    C(i) +=! A(i,j) * B(j)
}
"""
LOSS = """input A(M, N), B(N), s
C(i) +=! A(i,j) * B(j)
L +=! s * sin(C(i))
output L
"""
GATHER = "def pick(float(E,D) LUT, int32(B) I) -> (O) { O(b,d) = LUT(I(b), d) }\n"
ROOTS = "def roots(float(N) x) -> (y) { y(i) = sqrt(x(i)) }\n"
WINDOW = "def pool(float(N) x, float(K) w) -> (y) { y(i) +=! x(i + k) * w(k) }\n"
PROGRAMS = {"mv.ad": MV, "loss.ad": LOSS, "gather.ad": GATHER, "roots.ad": ROOTS, "window.ad": WINDOW,
            "scalar.ad": "v = x*y\n"}

A = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
B = np.array([0.5, -0.25])
AT = ["--at", "A=[[1,2],[3,4],[5,6]],B=[0.5,-0.25]"]
SAT = ["--at", AT[1] + ",s=2"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in PROGRAMS.items():
        (tmp_path / name).write_text(text)
    np.save("A.npy", A)
    np.save("B.npy", B)
    np.savez("both.npz", A=A, B=B)
    return tmp_path


def lists(out: str) -> dict[str, np.ndarray]:
    """Results as text read back: `name = nested lists`, over lines."""
    found, joined = {}, ""
    for line in out.splitlines():
        joined = joined + " " + line if line.startswith(" ") else line
        if joined.count("[") == joined.count("]"):
            name, _, value = joined.partition(" = ")
            found[name] = np.array(json.loads(value))
    return found
