"""Why a result is not smooth: the operation responsible, found by running the reference evaluator once at the point."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from adcli.lang.analyse.numeric_rules import met
from adcli.lang.evaluate import FLOAT, every_value, read
from adcli.lang.ir import DOMAIN, INDETERMINATE, LEVELS, Atom, Equation, Program, Var
from adcli.lang.ir.errors import Note, Source
from adcli.lang.ir.notation import ATOM, infix
from adcli.lang.ir.primitives import TABLE
from adcli.output.report import shortest

SELECT = TABLE["select"]
OPERANDS = ("u", "v", "w")


def note(primal: Program, program: Program, at: Mapping[str, float], level: int) -> Note:
    """One note for a result of this status level. `program` is the derivative of `primal`, or is `primal`."""
    for p in primal.params:
        if at[p.name] != at[p.name]:
            return Note(f"{p.name} is nan: {LEVELS[level]}", None, primal.source)
    values = every_value(primal, at, FLOAT)
    worst, place = 0, None
    for e in taken(primal, values):
        found = level_of(e, values)
        if found > worst:
            worst, place = found, e
    if place is None:
        return _in_derivative(program, at, reason(level), primal.source)
    prime = "'" if program is not primal and worst != DOMAIN else ""
    made = f" is {shown(values[place.outs[0]])}" if worst == DOMAIN and not place.op.truth else ""
    return Note(f"{described(place, prime)} at {operands(place, values)}{made}: {reason(level)}", place.span, primal.source)


def reason(level: int) -> str:
    return f"{LEVELS[level]} (0·inf)" if level == INDETERMINATE else LEVELS[level]


def _in_derivative(program: Program, at: Mapping[str, float], word: str, source: Source | None) -> Note:
    """The note where every operation of the program itself is smooth: the operation of its derivative that makes a NaN."""
    values = every_value(program, at, FLOAT)
    for e in program.equations:
        if values[e.outs[0]] != values[e.outs[0]] and all((x := read(values, a, FLOAT)) == x for a in e.args):
            return Note(f"the derivative has {described(e, '')} at {operands(e, values)}: {word}", e.span, source)
    return Note(word, None, source)


def taken(program: Program, values: Mapping[Var, Any]) -> Iterator[Equation]:
    """The equations that the results really depend on at this point, in order: arms not taken are left out."""
    needed: set[Atom] = {r.atom for r in program.results}
    taken = []
    for e in reversed(program.equations):
        if not needed.isdisjoint(e.outs):
            taken.append(e)
            if e.op is SELECT:
                needed.update((e.args[0], e.args[1] if read(values, e.args[0], FLOAT) else e.args[2]))
            else:
                needed.update(e.args)
    return reversed(taken)


def level_of(e: Equation, values: Mapping[Var, Any]) -> int:
    """The worst level that an operation meets at its operands; a NaN counts where it is made."""
    args = [read(values, a, FLOAT) for a in e.args]
    out = values[e.outs[0]]
    if not e.op.truth and out != out and all(a == a for a in args):
        return DOMAIN
    return max((s.level for s in met(e, values)), default=-1)


def letter(position: int) -> str:
    """What an argument is called in a message: u, v, w, u3, …"""
    return OPERANDS[position] if position < len(OPERANDS) else f"u{position}"


def described(e: Equation, prime: str) -> str:
    """The operation on u, v, …, as a user would write it: log'(u), (u / v)'."""
    names = [(letter(i), ATOM) for i in range(len(e.args))]
    text, level = infix(e.op.spelled or e.op.name, names)
    if level == ATOM:
        return text.replace("(", f"{prime}(", 1)
    return f"({text}){prime}" if prime else text


def operands(e: Equation, values: Mapping[Var, Any]) -> str:
    return ", ".join(f"{letter(i)} = {shown(read(values, a, FLOAT))}" for i, a in enumerate(e.args))


def shown(x: Any) -> str:
    return repr(x).lower() if isinstance(x, bool) else shortest(x)

