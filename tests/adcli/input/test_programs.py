"""What a point says of inputs before there is a program."""
from __future__ import annotations

import json

import numpy as np
from command import adcli

from adcli.input.programs import known_of


def test_a_point_says_ranks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("A.npy", np.zeros((2, 3)))
    np.savez("all.npz", u=np.zeros(3), v=1.0)
    (tmp_path / "p.json").write_text(json.dumps({"b": [[1, 2]], "c": 2}))
    values, ranks = known_of(["x=[ [1], [2]],n=3,A=@A.npy", "@all.npz", "@p.json", "z=1:2:3"])
    assert ranks == {"x": 2, "A": 2, "u": 1, "b": 2}
    assert values == {"n": 3.0, "v": 1.0, "c": 2, "z": "1:2:3"}


def test_a_number_of_a_file_of_arrays_is_a_number_of_steps(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text("def f(x, n):\n    s = 0.0\n    for i in range(n):\n        s = s + x[i]\n    return s\n")
    np.savez("p.npz", x=np.array([1.0, 2.0, 4.0]), n=2.0)
    assert adcli("eval", "model.py:f", "--at", "@p.npz").out == "s = 3.0\n"
