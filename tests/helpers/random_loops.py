"""Random programs with loops over time: texts that keep every rule of loops, for laws that hold of all of them.

Histories are vectors over N or numbers, with boundaries, lags and both directions; statements assign elements, reduce and add, in
an order in which every read has its write before it. Values stay small.
"""
from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Carried:
    """A history that is carried: its name, whether it is a vector, and how many steps back it may be read."""

    name: str
    vector: bool
    lags: int


REDUCTIONS = {"+=!": sum, "max=!": max, "min=!": min, "*=!": math.prod, "lse=!": lambda x: math.log(sum(map(math.exp, x)))}
"""What each of them makes of the values that it reduces."""


def random_loop(r: Random) -> str:
    """The text of a program of inputs a, b, c(T), x(T, N), W(N, N), u(N) and the size T."""
    down = r.random() < 0.35
    carried = [Carried(name, r.random() < 0.6, r.choice((1, 1, 2))) for name in "hgv"[:r.randint(1, 3)]]
    lines = ["input a, b, c(T), x(T, N), W(N, N), u(N)", *(boundary(r, h, k, down) for h in carried for k in range(h.lags))]
    made: list[str] = []
    body: list[str] = []
    for number in range(r.randint(0, 2)):
        body += reduced(r, f"z{number}", carried, made, down)
    if r.random() < 0.3:
        body.append(over_history(r, r.choice(carried), down))
        made.append("w(t)")
    for h in carried:
        body.append(f"{element(h, 0, down)} = {value(r, h.vector, carried, made, down)}")
        made.append(element(h, 0, down))
    words = " down" * down + " checkpoint" * (r.random() < 0.2)
    until = f" until {read(r, carried, [], down, True)} > {r.choice(('0.3', '0.9'))}" if r.random() < 0.2 else ""
    lines += [f"for t in 0:T{' down' * down}{until}{words.removeprefix(' down')} {{", *(f"    {line}" for line in body), "}"]
    return "\n".join([*lines, *outputs(r, carried, down)]) + "\n"


def place(lag: int, down: bool, lags: int = 1) -> str:
    """The subscript of the element so many steps before the one that a step assigns. Upwards a step t assigns t + lags, the
    elements below being boundaries; downwards t, the boundaries being T, T + 1."""
    at = lag if down else lags - lag
    return f"t + {at}" if at > 0 else "t"


def element(h: Carried, lag: int, down: bool, n: str = "n") -> str:
    return f"{h.name}({place(lag, down, h.lags)}{f', {n}' if h.vector else ''})"


def boundary(r: Random, h: Carried, k: int, down: bool) -> str:
    at = ("T" if not k else f"T + {k}") if down else str(k)
    start = r.choice(("u(n)", "u(n) * b")) if h.vector else r.choice(("a", "b", "0.5"))
    return f"{h.name}({at}{', n' if h.vector else ''}) = {start}"


def read(r: Random, carried: list[Carried], made: list[str], down: bool, number: bool, n: str = "n") -> str:
    """An element of an earlier step, or one that this step has made already."""
    fitting = [e for e in made if not number or "n" not in e.partition("(")[2]]
    if fitting and r.random() < 0.4:
        return r.choice(fitting).replace("n)", f"{n})")
    scalars = [h for h in carried if not h.vector] if number else carried
    if not scalars:
        return element(carried[0], 1, down, "0")
    h = r.choice(scalars)
    return element(h, r.randint(1, h.lags), down, n)


def value(r: Random, vector: bool, carried: list[Carried], made: list[str], down: bool) -> str:
    one, other = (read(r, carried, made, down, not vector) for _ in range(2))
    drive = r.choice(("x(t, n)", "u(n)", "a") if vector else ("c(t)", "a", "0.25"))
    return r.choice((f"tanh({one} + {drive})", f"0.5 * {one} + 0.25 * {drive} * {other}", f"{drive} - sin({one}) * {other}",
                     f"t >= 1 ? 0.5 * {one} : {drive}", f"{one} > {other} ? {drive} : 0.5 * {one}"))


def reduced(r: Random, name: str, carried: list[Carried], made: list[str], down: bool) -> list[str]:
    """A statement that reduces over m, a vector or a number, which this step's others may read."""
    vectors = [h for h in carried if h.vector]
    if not vectors:
        return []
    h = r.choice(vectors)
    term = element(h, r.randint(1, h.lags), down, "m")
    if r.random() < 0.6:
        made.append(f"{name}(t, n)")
        return [f"{name}(t, n) +=! 0.4 * W(n, m) * {term}"]
    made.append(f"{name}(t)")
    symbol = r.choice([*REDUCTIONS])
    if r.random() < 0.5:
        return [f"{name}(t) {symbol} 0.3 * {term} * u(m)"]
    condition, at, other = r.choice((("m >= 1", "m - 1", "0.7 * u(m)"), ("m >= 1 and t >= 1", "m - 1", term),
                                     ("m < N - 1", "m + 1", "0.4"), ("m != 1", "m", "0.2 * u(m)")))
    return [f"{name}(t) {symbol} {condition} ? 0.3 * {term.replace('m)', at + ')')} * u(m) : {other}"]


def over_history(r: Random, h: Carried, down: bool) -> str:
    """A sum over all elements that are there at a step, or over those some lags back."""
    ends = r.choice((f"t + 1:T + {h.lags}", f"t + 1:min(t + 2, T) + {h.lags}")) if down else r.choice(
        (f"0:t + {h.lags}", f"max(t - 1, 0):t + {h.lags}"))
    return f"w(t) +=! 0.2 * {h.name}(k{', 0' if h.vector else ''}) where k in {ends}"


def outputs(r: Random, carried: list[Carried], down: bool) -> list[str]:
    """A number that all histories, or the last elements, go into."""
    lines = []
    for k, h in enumerate(carried):
        last = "0" if down else "T"
        whole = r.random() < 0.5
        subscripts = ("i" if whole else last) + (", j" if h.vector else "")
        lines.append(f"s{k} +=! {h.name}({subscripts}) * {r.choice(('1', 'a', f'{h.name}({subscripts})'))}")
    total = " + ".join(f"s{k}" for k in range(len(carried)))
    return [*lines, f"y = {total}", "output y" + "".join(f", {h.name}" for h in carried if r.random() < 0.5)]


# ---------------------------------------------------------------- the same in plain Python

LOOP = re.compile(r"^for t in 0:T(?P<down> down)?(?: until (?P<until>[^{]*?))?(?: checkpoint)? \{\n(?P<body>.*?)^\}\n",
                  re.M | re.S)


def plain(text: str, given: dict[str, Any]) -> dict[str, Any]:
    """What a text of `random_loop` means: its histories and numbers by name. Elements are kept in dictionaries."""
    names: dict[str, Any] = {n: elements(v) if isinstance(v, np.ndarray) else v for n, v in given.items()}
    names |= {"tanh": math.tanh, "sin": math.sin}
    loop = LOOP.search(text)
    assert loop is not None
    before, after = text[:loop.start()].splitlines()[1:], text[loop.end():].splitlines()[:-1]
    for line in before:
        run(line, names, {})
    steps, ended, body = range(given["T"]), False, loop["body"].splitlines()
    for t in reversed(steps) if loop["down"] else steps:
        for line in body:
            run(line.strip(), names, {"t": t}, copy=(1 if loop["down"] else -1) if ended else 0)
        ended = ended or (loop["until"] is not None and eval(python(loop["until"]), dict(names), {"t": t}))
    for line in after:
        run(line, names, {})
    return {n: array(v) if isinstance(v, Elements) else v for n, v in names.items()}


class Elements(dict[tuple[int, ...], float]):
    """A tensor, called as the language does."""

    def __call__(self, *at: int) -> float:
        return self[at]


def elements(a: np.ndarray) -> Elements:
    return Elements({at: float(a[at]) for at in np.ndindex(a.shape)})


def array(e: Elements) -> np.ndarray:
    shape = [1 + max(at[d] for at in e) for d in range(len(next(iter(e))))]
    made = np.zeros(shape)
    for at, x in e.items():
        made[at] = x
    return made


def python(expression: str) -> str:
    """An expression of `random_loop` in Python's notation."""
    choice = re.fullmatch(r"(.*) \? (.*) : (.*)", expression)
    return f"({choice[2]}) if {choice[1]} else ({choice[3]})" if choice else expression


def run(line: str, names: dict[str, Any], at: dict[str, int], copy: int = 0) -> None:
    """One statement, at one step; with `copy` the elements so many steps on are taken."""
    match = re.fullmatch(r"(\w+)(?:\(([^()]*)\))? (=|\S+=!) (.*)", line)
    assert match is not None, line
    name, subscripts, symbol, expression = match.groups()
    expression, _, clause = expression.partition(" where k in ")
    free = [n for n in ("n", "i", "j", "m", "k") if re.search(rf"\b{n}\b", line)]
    history = next((v for k, v in names.items() if isinstance(v, Elements) and k == re.split(r"\W", expression)[0]), None)
    found: dict[tuple[int, ...], list[float]] = {}
    ends = {n: range(names["N"]) for n in "njm"} | {"i": range(1 + max(k[0] for k in history) if history else 0)}
    if clause:
        ends["k"] = range(*[eval(n, {"min": min, "max": max, "T": names["T"]}, dict(at)) for n in clause.split(":")])
    for point in itertools.product(*[ends[n] for n in free]):
        inner = {**at, **dict(zip(free, point, strict=True))}
        where = tuple(eval(s, dict(names), inner) for s in subscripts.split(", ")) if subscripts else ()
        if copy and (where[0] + copy, *where[1:]) in names.get(name, {}):
            found[where] = [names[name][(where[0] + copy, *where[1:])]]
        else:
            found.setdefault(where, []).append(eval(python(expression), dict(names), inner))
    combined = REDUCTIONS.get(symbol, lambda x: x[0])
    values = {k: combined(x) for k, x in found.items()}
    if subscripts:
        names.setdefault(name, Elements()).update(values)
    else:
        names[name] = values[()]
