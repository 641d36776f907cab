"""Names of programs as LaTeX has them: Greek letters, indices, words in italics."""
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

LETTERS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi",
           "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega")
CAPITALS = ("Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega")
GREEK = dict(zip("αβγδεζηθικλμνξπρστυφχψω" "ΓΔΘΛΞΠΣΥΦΨΩ", LETTERS + CAPITALS, strict=True))
SPECIAL = {"_": r"\_", "#": r"\#", "$": r"\$", "%": r"\%", "&": r"\&", "{": r"\{", "}": r"\}"}
"""Characters that LaTeX reads as something else."""


def latex_names(names: Sequence[str]) -> list[tuple[str, str]]:
    """The base and the index of every name; names that would look the same are spelled out instead."""
    found = [typeset(name) for name in names]
    times = Counter(found)
    return [parts if times[parts] == 1 else (spelled_out(name), "") for name, parts in zip(names, found, strict=True)]


def typeset(name: str) -> tuple[str, str]:
    """x_max as x with the index max, alpha2 as α with the index 2, the element A(0, 1) as A with 0,1."""
    base, index = name, ""
    if m := re.fullmatch(r"(\w+)\(([\d, ]+)\)", name):
        (base, index), subscripts = typeset(m[1]), m[2].replace(" ", "")
        return base, f"{index};\\,{subscripts}" if index else subscripts
    if m := re.fullmatch(r"([^\W\d]+?)_?(\d+)|([^\W_]+)_([^\W_]+)", name):
        base, index = (m[1], m[2]) if m[1] else (m[3], m[4])
    return letter(base), index if index.isdecimal() or not index or letter(index) == index else f"\\text{{{index}}}"


def letter(base: str) -> str:
    """A letter as it is, a Greek one or its name as the command, a word in italics."""
    if (name := GREEK.get(base, base)) in GREEK.values():
        return f"\\{name}"
    return base if len(base) == 1 and base.isascii() and base != "_" else spelled_out(base)


def spelled_out(name: str) -> str:
    escaped = "".join(SPECIAL.get(c, c) for c in name)
    return rf"\mathit{{{escaped}}}" if name.isascii() else rf"\textit{{{escaped}}}"
