"""Texts of tensor programs that several tests read: the definitions of tests/data, and random ones."""
from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from places import DATA

DEFINITIONS: list[dict[str, Any]] = json.loads(
    (DATA / "tensors" / "definitions.json").read_text(encoding="utf-8"))["definitions"]

REFUSED = {
    "tc/fun-b701bd1d": "index 'm' is in no read, so it has no range",
    "tc/fun-4939bc29": "the range of index 'i' is ambiguous: i - j + 10 in dimension 0 of I (extent N) leaves it open together "
                       "with 'j'",
    "tc/fun-95e34102": "index 'i' is in no read, so it has no range",
    "tc/fun-b03307c4": "the range of index 'i' depends on the value of 'size'",
    "tc/fun-38f2238e": "'nextafter' is not available: it has no derivative",
    "tc/fun-d5dcd5db": "dimension 0 of 'A' is read from 'B', which is not a tensor of integers",
    "tc/f-2ba2c2cd": "dimension 0 of 'a': '.5' is not a whole number",
    "tc/conv-2489b50b": "function 'conv' has no statements",
    "tc/conv_bw-f8d7ebd9": "function 'conv_bw' has no statements",
}
"""Definitions that a grammar accepts and that mean nothing here, with what is said of them."""

ACCEPTED = [d for d in DEFINITIONS if d["parsed"] and d["id"] not in REFUSED]

SGEMM = """def sgemm(float a, float b,
      float(N,M) A, float(M,Q) B) → (C) {
      C(i,j) = b where i in 0:N, j in 0:Q # initialization
      C(i,j) += a * A(i,k) * B(k,j) # accumulation
    }"""
MAXPOOL = """def maxpool2x2(float(B,C,H,W) IN) → (OUT) {
      OUT(b,c,i,j) max=! IN(b,c, 2*i + kw, 2*j + kh)
        where kw in 0:2, kh in 0:2
    }"""
LUT = "def lut(float(E, D) LUT, int32(B, L) I) -> (O) { O(i, j) +=! LUT(I(i, k), j) }"
TOP = """input A(M, N), x, int32 I(B, L), s in [0, 1]
param k = 3
input LUT(E, D)
def mv(float(M,N) A, float(N) B) -> (C) {
    C(i) +=! A(i,j) * B(j)
}
def two(float(P) u) -> (p, q) { p(i) = 2 * u(i); q +=! u(i) }
input B1(N)
C = mv(A, B1)
(p, q) = two(C)
y = A(0, 1) * x + N * k + exp(s)
O(b, d) +=! LUT(I(b, l), d)
Z(i, j) = A(i, j) + y + i - 2*j where i in 0:M
Z(i, j) *= 2 where i in 1:M, i >= j
w() = y
t = p
output C, p, q, y, O, Z, w, t
"""
NAMED = {"sgemm": SGEMM, "maxpool": MAXPOOL, "lut": LUT, "top": TOP}


def random_text(r: random.Random) -> str:
    """A program of one to three comprehensions over tensors of ranks 0 to 3: strides, offsets, diagonals, windows, reductions."""
    shapes = {"A": 3, "B": 2, "C": 1, "s": 0, "T": r.randint(1, 3)}
    sizes = "MNPQRS"
    inputs = [n + (f"({', '.join(r.choice(sizes) for _ in range(k))})" if k else "") for n, k in shapes.items()]
    lines = [f"input {', '.join(inputs)}, U({', '.join(sizes)})"]
    for target in ("X", "Y", "Z")[:r.randint(1, 3)]:
        line, rank = statement(r, target, shapes)
        lines.append(line)
        shapes[target] = rank
    return "\n".join(lines) + "\n"


def statement(r: random.Random, target: str, shapes: dict[str, int]) -> tuple[str, int]:
    rank = r.randint(0, 3)
    indices = r.sample("ijklm", rank)
    extra = r.sample([c for c in "ijklm" if c not in indices], r.randint(0, 2))
    every = indices + extra
    symbol = r.choice(["+=!", "*=!", "min=!", "max=!", "lse=!", *(["="] if not extra else [])])
    value = expression(r, every, shapes, 3)
    where = ", ".join(f"{i} in {r.randint(0, 1)}:{r.choice(['M', 'N', '3', 'P - 1', 'min(Q, R)'])}" for i in every)
    write = [r.choice([i, i, i, f"2*{i}", f"{i} + 1"]) for i in indices]
    left = target + (f"({', '.join(write)})" if rank or symbol == "=" else "")
    return f"{left} {symbol} {value}" + (f" where {where}" if where else ""), rank


def expression(r: random.Random, indices: list[str], shapes: dict[str, int], depth: int) -> str:
    kind = r.random()
    if depth == 0 or kind < 0.3:
        return leaf(r, indices, shapes)
    first, second = (expression(r, indices, shapes, depth - 1) for _ in range(2))
    if kind < 0.75:
        return f"({first} {r.choice('+-*/')} {second})"
    if kind < 0.9:
        return f"{r.choice(['sin', 'exp', 'tanh', 'sigmoid'])}({first})"
    return f"select({first} < {second}, {second}, {first})"


def leaf(r: random.Random, indices: list[str], shapes: dict[str, int]) -> str:
    name = r.choice(list(shapes))
    if r.random() < 0.15:
        return r.choice([*indices, "N", "2.5", "3", "0"])
    rank = shapes[name]
    return name + (f"({', '.join(subscript(r, indices) for _ in range(rank))})" if rank else "")


def subscript(r: random.Random, indices: list[str]) -> str:
    if not indices or r.random() < 0.15:
        return str(r.randint(0, 2))
    one, other = r.choice(indices), r.choice(indices)
    return r.choice([one, one, one, f"{one} + 1", f"2*{one}", f"{one} + {other}", f"2*{one} + {other}"])


STATEMENT = re.compile(r"(\w+)(?:\((.*?)\))? (=|[+*]=!|(?:min|max|lse)=!) (.*?)(?: where (.*))?")
FOLDS: dict[str, Any] = {"=": lambda old, new: new, "+=!": np.add, "*=!": np.multiply, "min=!": np.minimum, "max=!": np.maximum,
                         "lse=!": np.logaddexp}
NEUTRAL = {"=": 0.0, "+=!": 0.0, "*=!": 1.0, "min=!": np.inf, "max=!": -np.inf, "lse=!": -np.inf}


class Outside(Exception):
    """A subscript is outside of its tensor."""


def element(array: np.ndarray) -> Callable[..., Any]:
    """A tensor as a function of its subscripts."""
    def read(*at: float) -> Any:
        if any(not 0 <= i < n for i, n in zip(at, array.shape, strict=True)):
            raise Outside
        return array[tuple(int(i) for i in at)]
    return read


def looped(text: str, values: dict[str, Any], sizes: dict[str, int]) -> dict[str, Any]:
    """What a random text computes, by Python's own reading of its expressions and plain loops."""
    names: dict[str, Any] = {"sin": np.sin, "exp": np.exp, "tanh": np.tanh, "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
                             "select": lambda c, a, b: a if c else b, "min": min, "number": np.float64}
    names |= {n: element(v) if np.ndim(v) else v for n, v in values.items()}
    results: dict[str, Any] = {}
    for line in text.splitlines()[1:]:
        found = STATEMENT.fullmatch(line)
        assert found is not None
        target, subscripts, symbol, value, where = found.groups()
        value = re.sub(r"(?<![\w.])\d+(\.\d+)?", r"number(\g<0>)", value)   # IEEE division, as everywhere
        ranges = {i: [eval(x, {"min": min}, sizes) for x in bounds.split(":")]
                  for i, bounds in (r.split(" in ") for r in re.split(r", (?=\w in)", where or "") if r)}
        write = subscripts.split(", ") if subscripts else []
        shape = [eval(w, {i: high - 1 for i, (_, high) in ranges.items()}) + 1 for w in write]
        out = np.full([max(0, n) for n in shape], NEUTRAL[symbol])
        for point in itertools.product(*(range(low, high) for low, high in ranges.values())):
            at = {n: np.float64(x) for n, x in {**sizes, **dict(zip(ranges, point, strict=True))}.items()}
            place = tuple(int(eval(w, {}, at)) for w in write)
            out[place] = FOLDS[symbol](out[place], np.float64(eval(value, {**names, **at})))
        names[target] = element(out) if write else out[()]
        results[target] = out
    return results


def halves(n: int, other: str = "2*i + 1") -> str:
    """A vector halved n times, each element from two."""
    calls = "".join(f"x{k + 1} = half(x{k})\n" for k in range(n))
    return f"def half(float(N) x) -> (y) {{ y(i) = x(2*i) + x({other}) }}\ninput x0(H)\n{calls}"
