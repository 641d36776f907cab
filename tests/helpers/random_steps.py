"""Random loops whose steps do all that a step may, for laws of what depends on what: systems, factors and inverses, sums
onto elements, reductions whose terms meet, elements that are gathered, conditions on indices, on the step and on values."""
from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

N = 3
SCALARS, VECTORS = ("a", "b"), ("x(t, {0})", "u({0})", "x(m(t), {0})")


def random_steps(r: Random) -> tuple[str, dict[str, Any]]:
    """The text of a program with a number v among its outputs, and a point of it."""
    return Steps(r).text(), point(r)


def point(r: Random) -> dict[str, Any]:
    normal, steps = np.random.default_rng(r.randrange(2**32)).normal, r.randint(2, 5)
    square = normal(size=(N, N))
    return {"a": 0.3, "b": 0.7, "x": normal(size=(steps, N)) / 2, "u": normal(size=N), "A": square @ square.T + N * np.eye(N),
            "k": [r.randrange(N) for _ in range(N)], "m": [r.randrange(steps) for _ in range(steps)]}


class Steps:
    """A program as it is written."""

    def __init__(self, r: Random) -> None:
        self.r, self.down = r, r.random() < 0.3
        self.histories = ["h", "g"][:r.randint(1, 2)]
        self.number, self.matrix = r.random() < 0.6, r.random() < 0.4
        self.now, self.last = ("t", "t + 1") if self.down else ("t + 1", "t")
        self.made: list[str] = []

    def text(self) -> str:
        start, end = ("T", "0") if self.down else ("0", "T")
        lines = ["input a, b, x(T, N), u(N), A(N, N), int k(N), int m(T)"]
        lines += [f"{h}({start}, i) = {self.r.choice(('u(i)', 'u(i)*a', 'x(0, i)'))}" for h in self.histories]
        lines += [f"s({start}) = {self.r.choice(('a', 'b*a', 'u(0)'))}"] * self.number
        lines += [f"P({start}, i, j) = A(i, j)"] * self.matrix
        body = [line for n in range(self.r.randint(0, 3)) for line in self.between(n)]
        body += [f"{h}({self.now}, i) = {self.value()}" for h in self.histories]
        if self.number:
            body.append(f"s({self.now}) = {self.scalar()}*{self.scalar()} + {self.scalar()}")
        if self.matrix:
            added = self.r.choice(("A(i, j)", "u(i)*u(j)", "A(j, i)*x(t, i)"))
            body.append(f"P({self.now}, i, j) = P({self.last}, i, j)*{self.scalar()} + {added}")
        one, other = self.r.choice(self.histories), self.r.choice(("1", "u(i)", f"h({end}, i)"))
        return "\n".join([*lines, f"for t in 0:T {'down ' * self.down}{{", *body, "}", f"v +=! {one}({end}, i)*{other}",
                          f"output v, {self.r.choice(self.histories)}"])

    def between(self, number: int) -> list[str]:
        """Statements that give a vector of the step."""
        name, whole = f"z{number}", f"P({self.last})" if self.matrix else "A"
        lines = self.r.choice((
            [f"{name}(t, i) = {self.value()}"],
            [f"{name}(t, i) +=! A(i, j)*{self.element('j')}"],
            [f"{name}(t, i) {self.r.choice(('*', 'lse', 'max', '+'))}=! {self.element('j')}*u(i) + x(t, j)"],
            [f"{name}(t) = {self.r.choice(('solve', 'solve_lower', 'solve_upper'))}({whole}, {self.histories[-1]}({self.last}))"],
            [f"q{number}(t) = {self.r.choice(('cholesky', 'inverse'))}({whole})",
             f"{name}(t, i) +=! q{number}(t, i, j)*{self.element('j')}"],
            [f"{name}(t, i) = {self.value()}", f"{name}(t, i) += {self.element('i')}*{self.scalar()} where i in 1:N"]))
        self.made.append(name)
        return lines

    def element(self, i: str) -> str:
        """An element of what there is at the step."""
        found = [f"{h}({self.last}, {i})" for h in self.histories] + [v.format(i) for v in VECTORS] + ["a"]
        found += [f"s({self.last})"] * self.number + [f"{z}(t, {i})" for z in self.made]
        return self.r.choice(found + [f"{self.histories[0]}({self.last}, k(i))", "u(k(i))"] * (i == "i"))

    def scalar(self) -> str:
        return self.r.choice([*SCALARS, "x(t, 0)", f"h({self.last}, 0)", *[f"s({self.last})"] * self.number,
                              *[f"{z}(t, 1)" for z in self.made]])

    def value(self) -> str:
        p, q, s = (self.element("i") for _ in range(3))
        return self.r.choice((f"{p}*{q} + u(i)", f"sin({p}) + u(i)*{q}", f"u(i) - {p}*{q}", f"t % 2 == 0 ? {p} : u(i)*{s}",
                              f"t > 1 ? {p}**2 : u(i)", f"{p} > {q} ? {s} : u(i)*{q}", f"exp(-{p}**2)*u(i)",
                              f"i == 1 ? {p} : u(i)"))
