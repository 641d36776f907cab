"""Problems of W. Hock and K. Schittkowski, Test Examples for Nonlinear Programming Codes (1981), by their numbers; it leaves out
58, 82, 94 and 115.

Each is its start, its bounds, the objective, conditions (an expression that is 0, or >= 0 behind a >, or within limits), the
published least value, and statements that make values for these. An item of bounds is `LOW:HIGH`, with `*N` for N variables.
Problem 67 has the equations of its implicit function as conditions, with variables of their own. Problems 2, 16, 20, 33 and 55
have starts from which the published minimum is reached, where from those of the book it is another one that is known. The sign
of 22.938*a in problem 109 is that which the published point has.
"""
from __future__ import annotations

import json
from typing import NamedTuple

from places import DATA


class HockSchittkowski(NamedTuple):
    start: str
    bounds: str
    objective: str
    conditions: list[str]
    least: float
    given: str = ""


TABLE = json.loads((DATA / "nl" / "hock_schittkowski.json").read_text(encoding="utf-8"))
PROBLEMS = {int(number): HockSchittkowski(**row) for number, row in TABLE.items()}
FOUND = {59: -7.80278947, 85: -1.905155259, 105: 1136.307304, 116: 97.58750956}
"""Least values that Ipopt finds, too, where that of the book has fewer digits, or belongs to coefficients with more (59, 105)."""
UNSHOWN = {13: "degenerate", 47: "flat", 90: "flat", 91: "flat", 92: "flat", 108: "flat"}
"""Verdicts where no minimum is shown: 13 has a cusp, the published point of 47 is none (f falls to third order, to -0.02671), and
the minima of the others form curves."""
