"""Parameters that are functions of others: `--params 'a=1, b=2*a'`."""
from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace

from adcli.fit.objective import expression, with_inputs
from adcli.input.points import parts, unknown_name
from adcli.lang.ir import Atom, Program, substitute
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import composed

WORD = re.compile(r"[^\W\d]\w*")


def apart(text: str | None) -> tuple[str | None, dict[str, str]]:
    """--params without the parameters that are functions of others, and these with their expressions."""
    pieces = [[s.strip() for s in piece.partition("=")] for piece in parts(text or "")]
    names = {name for name, _, _ in pieces}
    links = {composed(name): given for name, equals, given in pieces if equals and is_function(given, names)}
    starts = [f"{name}{equals}{given}" for name, equals, given in pieces if composed(name) not in links]
    return (text if not links else ",".join(starts)), links


def is_function(text: str, names: Collection[str]) -> bool:
    """True for an expression of these names."""
    if text[:1] in ("@", "[", "") or not {*WORD.findall(text)} & {*names}:
        return False
    try:
        used = [p.name for p in expression(text, "--params").params]
    except AdError:   # which `starts` says
        return False
    return bool(used) and {*used} <= {*names}


def linked(program: Program, links: Mapping[str, str]) -> Program:
    """The program without these inputs, which are computed from others. AdError where one is no input, or a tensor."""
    for name, text in links.items():
        known = {p.name: p for p in program.params}
        if name not in known:
            raise unknown_name("input", name, list(known))
        if known[name].var.shape or known[name].var.integer:
            raise AdError(f"'{name}' is no number, and cannot be ⟦--params {name}={text}⟧")
        if name in (used := [p.name for p in expression(text, "--params").params]):
            raise AdError(f"⟦--params {name}={text}⟧: '{name}' is a function of itself")
        e, program = expression(text, "--params", name), with_inputs(program, used)
        at: dict[Atom, Atom] = {p.var: program.param(p.name).var for p in e.params}
        made = [q.substituted(at) for q in e.equations]
        value = at.get(e.results[0].atom, e.results[0].atom)
        program = substitute(program, {known[name].var: value})
        params = tuple(p for p in program.params if p.name != name)
        program = replace(program, equations=(*made, *program.equations), params=params)
    return program
