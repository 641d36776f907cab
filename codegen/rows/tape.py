"""A program as a tape: its equations as numbers of operations and slots, in one array."""
from __future__ import annotations

from array import array

from adcli.codegen.machine.tape import END, RESULT, Tape
from adcli.codegen.rows.expand import expand
from adcli.codegen.rows.instructions import DEFINITIONS
from adcli.codegen.rows.player import OPERATIONS
from adcli.lang.ir import Atom, Lit, Program


def recorded(program: Program) -> Tape:
    program = expand(program, DEFINITIONS)
    return encode(program)


def encode(program: Program) -> Tape:
    slot: dict[Atom, int] = {p.var: i for i, p in enumerate(program.params)}
    count = len(slot)
    free: list[int] = []
    constants = array("d")
    place: dict[bytes, int] = {}

    def constant(atom: Atom) -> int:
        assert isinstance(atom, Lit)
        bits = atom.bits
        found = place.get(bits)
        if found is None:
            constants.append(atom.value)
            found = place[bits] = -len(constants)
        slot[atom] = found
        return found

    columns: dict[Atom, list[int]] = {}
    code = [END]
    for i, r in enumerate(program.results):
        if isinstance(r.atom, Lit) or r.atom in slot:
            code += (slot.get(r.atom) or constant(r.atom) if isinstance(r.atom, Lit) else slot[r.atom], i, RESULT)
        else:
            columns.setdefault(r.atom, []).append(i)
    operations = OPERATIONS
    for e in reversed(program.equations):
        (out,) = e.outs
        z = slot.pop(out, None)
        if out in columns:
            if z is None:
                if free:
                    z = free.pop()
                else:
                    z = count
                    count += 1
            for i in columns[out]:
                code += (z, i, RESULT)
        elif z is None:
            continue
        free.append(z)
        start = len(code)
        for a in e.args:
            s = slot.get(a)
            if s is None:
                if a.__class__ is Lit:
                    s = constant(a)
                else:
                    if free:
                        s = free.pop()
                    else:
                        s = count
                        count += 1
                    slot[a] = s
            code.append(s)
        if len(code) - start > 1:
            code[start:] = code[:start - 1:-1]
        code += (z, operations[e.op])
    code.reverse()
    return Tape(array("i", code), constants, len(program.params), len(program.results), count)
