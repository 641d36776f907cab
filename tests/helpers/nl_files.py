"""Files .nl in both forms, written from expressions in prefix notation: `o5 v0 n2` is the square of the first variable."""
from __future__ import annotations

import struct
from collections.abc import Sequence

COUNTED = {11, 12, 54, 59, 60, 61, 64, 70, 71, 74, 75}


def nl(rows: Sequence[str], variables: int, objective: str = "n0", bounds: Sequence[str] = (), limits: Sequence[str] = (),
       start: Sequence[float] = (), common: Sequence[str] = (), linear: Sequence[tuple[int, int, float]] = ()) -> str:
    """A model: the constraints of `rows` within `limits`, variables within `bounds`, the least `objective`, the `common`
    expressions and `linear` terms (row, variable, coefficient) of the rows."""
    n, m, of = variables, len(rows), sorted({i for i, _, _ in linear})
    lines = ["g3 1 1 0", f" {n} {m} 1 0 0", f" {m} 1", " 0 0", f" {n} {n} {n}", " 0 0 0 1", " 0 0 0 0 0",
             f" {len(linear)} 0", " 0 0", f" {len(common)} 0 0 0 0"]
    for k, text in enumerate(common):
        lines += [f"V{n + k} 0 0", *text.split()]
    for k, text in enumerate(rows):
        lines += [f"C{k}", *text.split()]
    lines += ["O0 0", *objective.split()]
    if start:
        lines += [f"x{len(start)}", *(f"{i} {x!r}" for i, x in enumerate(start))]
    if m:
        lines += ["r", *(limits or ["3"] * m)]
    lines += ["b", *(bounds or ["3"] * n)]
    for i in of:
        terms = [(j, a) for r, j, a in linear if r == i]
        lines += [f"J{i} {len(terms)}", *(f"{j} {a!r}" for j, a in terms)]
    return "".join(f"{line}\n" for line in lines)


def binary(text: str, order: str = "<") -> bytes:
    """The binary form of a text form."""
    lines = text.split("\n")
    head = [f"b{lines[0][1:]}", *lines[1:10]]
    head[5] = " ".join([*head[5].split()[:2], "1" if order == "<" else "2", *head[5].split()[3:]])
    made = ["".join(f"{line}\n" for line in head).encode()]
    kind, counted = "", False
    for line in lines[10:]:
        letter, words = line[:1], line[1:].split()
        if not line:
            continue
        if letter.isalpha() and letter not in "ovnslfh":
            kind = letter
            made.append(letter.encode() + struct.pack(f"{order}{len(words)}i", *map(int, words)))
        elif letter in "ovl":
            made.append(letter.encode() + struct.pack(f"{order}i", int(words[0])))
            counted = letter == "o" and int(words[0]) in COUNTED
        elif letter == "s":
            made.append(b"s" + struct.pack(f"{order}h", int(words[0])))
        elif letter == "n":
            made.append(b"n" + struct.pack(f"{order}d", float(words[0])))
        elif counted or kind == "k":
            made.append(struct.pack(f"{order}i", int(line)))
            counted = False
        elif kind in "br":
            code, *numbers = line.split()
            made.append(code.encode() + struct.pack(f"{order}{len(numbers)}d", *map(float, numbers)))
        else:
            i, x = line.split()
            made.append(struct.pack(f"{order}id", int(i), float(x)))
    return b"".join(made)
