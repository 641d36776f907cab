"""Random programs whose choices by conditions on indices are nested, in the language and as Python reads them: an arm is read
only where its conditions hold."""
from __future__ import annotations

import random
from typing import NamedTuple

import numpy as np
from tensor_texts import Outside, element

HEADER = "input x(N), y(N), A(N, N), int32 g(N), a, b\n"


class Edges(NamedTuple):
    """A statement about `z`, and its value at one point as a Python expression."""

    text: str
    value: str
    indices: str
    summed: bool

    def at(self, n: int, values: dict[str, np.ndarray]) -> np.ndarray | None:
        """The result for a size; None where an element is read that there is not."""
        names = {**{k: element(v) if np.ndim(v) else v for k, v in values.items()}, "sin": np.sin, "floor": np.floor, "N": n}
        out = np.zeros([n] * len(self.indices))
        try:
            for at in np.ndindex(out.shape):
                out[at] = eval(self.value, {**names, **dict(zip(self.indices, at, strict=True))})
        except Outside:
            return None
        return out.sum() if self.summed else out


def point(r: random.Random, n: int) -> dict[str, np.ndarray]:
    """Inputs of the size; those of g are places."""
    drawn = np.random.default_rng(r.randrange(2**32))
    return {"x": drawn.normal(size=n), "y": drawn.normal(size=n), "A": drawn.normal(size=(n, n)),
            "g": drawn.integers(0, max(n, 1), n), "a": np.float64(2.5), "b": np.float64(-1.5)}


def edges(r: random.Random) -> Edges:
    indices = r.choice(["i", "i", "i", "ij"])
    text, value = expression(r, indices, r.choice([2, 3, 4]))
    summed = r.random() < 0.2
    left = "z +=!" if summed else f"z({', '.join(indices)}) ="
    where = ", ".join(f"{i} in 0:N" for i in indices)
    return Edges(f"{HEADER}{left} {text} where {where}\n", value, indices, summed)


def expression(r: random.Random, indices: str, depth: int) -> tuple[str, str]:
    """The same in the language and in Python."""
    if depth == 0 or r.random() < 0.15:
        return (leaf(r, indices),) * 2
    (first, one), (second, other) = (expression(r, indices, depth - 1) for _ in range(2))
    if r.random() < 0.8:
        c = condition(r, indices)
        return f"({c} ? {first} : {second})", f"({one} if {c} else {other})"
    operator = r.choice("+*-")
    return f"({first} {operator} {second})", f"({one} {operator} {other})"


def condition(r: random.Random, indices: str, depth: int = 2) -> str:
    kind = r.random() if depth else 1.0
    if kind < 0.15:
        return f"({condition(r, indices, depth - 1)} {r.choice(['and', 'or'])} {condition(r, indices, depth - 1)})"
    if kind < 0.25:
        return f"not ({condition(r, indices, depth - 1)})"
    other = r.choice(["0", "0", "1", "2", "3", "N - 1", "N - 1", "N - 2", "N - 3", "N / 2", indices[-1] + " - 1"])
    index = r.choice(indices)
    left = r.choice([index] * 6 + [f"{index} % 2", f"{index} % 3", f"floor({index} / 2)"])
    return f"{left} {r.choice(['==', '==', '!=', '<', '<=', '>', '>='])} {other}"


def leaf(r: random.Random, indices: str) -> str:
    kind = r.random()
    if kind < 0.2:
        return r.choice(["a", "b", "2", "0", "x(0)", "y(N - 1)", "i"])
    if kind < 0.3:
        return f"x(g({subscript(r, indices)}))"
    if len(indices) == 2 and kind < 0.6:
        return f"A({subscript(r, indices)}, {subscript(r, indices)})"
    return f"{r.choice(['x', 'y', 'a*sin(b) + x'])}({subscript(r, indices)})"


def subscript(r: random.Random, indices: str) -> str:
    steps = r.choice([0, 0, 0, -1, -1, 1, 1, -2, 2, -3])
    return r.choice(indices) + (f" {'+' if steps > 0 else '-'} {abs(steps)}" if steps else "")
