"""A Program as a tape: operations by their numbers, values by their slots, in one array.

The equations are gone through once, from the last to the first: a value gets its slot where it is used last and gives it back
where it is defined, so there are as many slots as values are alive at a time.
"""
from __future__ import annotations

from array import array
from itertools import count

from adcli.codegen.machine.tape import END, RESULT, Tape, reals
from adcli.codegen.rows.llvm import compile_length
from adcli.codegen.rows.player import OPERATIONS
from adcli.lang.ir import Atom, Lit, Program, Var
from adcli.lang.ir.precision import DOUBLE, Precision


class Slots(dict[Atom, int]):
    """The slots of the values that are alive, of the inputs and of the constants; of another value or constant a new one."""

    def __init__(self, program: Program, precision: Precision) -> None:
        super().__init__((p.var, i) for i, p in enumerate(program.params))
        self.free: list[int] = []
        self.unused = count(len(self))
        self.precision, self.constants = precision, reals(precision.code)
        self.equal: dict[bytes, int] = {}

    def __missing__(self, atom: Atom) -> int:
        slot = self[atom] = self.new(atom)
        return slot

    def new(self, atom: Atom) -> int:
        """The slot of a value that is not alive yet, or of a constant."""
        if type(atom) is not Lit:
            return self.free.pop() if self.free else next(self.unused)
        slot = self.equal.get(bits := atom.bits)
        if slot is None:
            self.constants.append(self.precision.nearest(atom.value))
            slot = self.equal[bits] = -len(self.constants)
        return slot


def encoded(program: Program, precision: Precision = DOUBLE) -> Tape:
    """The tape of a program that `expand` has left only operations of machines. Time is linear: about a microsecond an
    equation."""
    slots, operations = Slots(program, precision), OPERATIONS
    columns: dict[Atom, list[int]] = {}
    for i, r in enumerate(program.results):
        columns.setdefault(r.atom, []).append(i)
    code = [END]
    for atom in [atom for atom in columns if isinstance(atom, Lit) or atom in slots]:
        code += [word for i in columns[atom] for word in (slots[atom], i, RESULT)]
    end, alive, free = slots.pop, slots.get, slots.free
    for e in reversed(program.equations):
        (out,), args = e.outs, e.args
        if out in columns:
            for i in columns[out]:
                code += (slots[out], i, RESULT)
        z = end(out, None)
        if z is None:
            continue
        free.append(z)
        if len(args) == 2:   # as most of a long program: its operands are looked up here, and get the slot that is free
            x, y = args
            right = alive(y)
            if right is None:
                right = slots[y] = free.pop() if free and type(y) is Var else slots.new(y)
            left = alive(x)
            if left is None:
                left = slots[x] = free.pop() if free and type(x) is Var else slots.new(x)
            code += (right, left, z, operations[e.op])
        else:
            code += (*[slots[a] for a in reversed(args)], z, operations[e.op])
    code.reverse()
    return Tape(array("i", code), slots.constants, len(program.params), len(program.results), next(slots.unused),
                1 + len(program.equations) + len(program.results), compile_length(program))
