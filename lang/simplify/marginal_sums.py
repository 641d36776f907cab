"""Sums of terms that another sum has already.

    a(r, s) +=! d(t, s) * exp(f(t, r) - m(t, s))
    z(r) +=! -(d(t, s) * exp(f(t, r) - m(t, s)))        z(r) +=! -a(r, s)

Where the terms take a call of a function and an earlier sum of the same terms keeps at least the indices of this one, this one
is a sum over the elements of that: derivatives of log-sum-exp have such. As the order of sums of products is (sum_order.py),
this is part of what a program means, and of derivatives.
"""
from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from adcli.lang.ir import Atom, Equation, Param, Var
from adcli.lang.ir.affine import Affine, Index, affine, atoms, substituted
from adcli.lang.operations.comprehension import Comprehension, Read, all_fixed, atoms_in, body_of, fixed_indices
from adcli.lang.operations.forms import term_form
from adcli.lang.operations.recurrence import Recurrence
from adcli.lang.simplify.sum_parts import NEG, calls


class EarlierSum(NamedTuple):
    """A sum whose elements are each the whole sum of terms at the indices that it keeps: by their names in the form of the terms,
    the subscripts of its element."""

    out: Var
    subscripts: tuple[Affine, ...]
    kept: frozenset[Affine]
    negated: bool


class MarginalSums:
    """The sums so far, by their terms."""

    def __init__(self) -> None:
        self.known: dict[object, list[EarlierSum]] = {}
        self.over = set[Atom]()
        """The tensors that later ones begin from: who reads one behind that would need a copy."""

    def read(self, e: Equation) -> Equation:
        """An equation that reads an earlier sum, where there is one that has its terms; else itself."""
        op = e.op
        if isinstance(op, Recurrence):
            self.over.update(e.args[:len(op.histories)])
        if isinstance(op, Comprehension) and op.onto is not None:
            self.over.add(e.args[op.onto])
        if not isinstance(op, Comprehension) or op.reduction not in "+=" or not any(calls(x.op) for x in op.body.equations):
            return e
        if any(isinstance(s, Read) for s in op.write):
            return e
        terms, negated = positive(op)
        form, names = term_form(terms, e.args)
        mine = frozenset(names[i] for i in indices(op, op.write))
        found = [s for s in self.known.get(form, ()) if s.kept >= mine and s.out not in self.over] if op.reduction == "+" else []
        if found:
            return sum_of(e, op, found[-1], {names[i]: i for i in op.indices}, negated)
        written, fixed = indices(op, op.write), fixed_indices(op.ranges, op.write)
        if op.onto is None and written == fixed and (op.reduction == "+" or fixed == {*op.indices}):
            here = tuple([substituted(s, names) for s in op.write if isinstance(s, Affine)])
            self.known.setdefault(form, []).append(EarlierSum(e.outs[0], here, mine, negated))
        return e


def positive(op: Comprehension) -> tuple[Comprehension, bool]:
    """The terms of a sum without a sign before them, and whether there is one."""
    value = op.body.results[0].atom
    last = next((x for x in op.body.equations if value in x.outs), None)
    if last is None or last.op is not NEG:
        return op, False
    return replace(op, body=body_of(last.args[0], op.body.params, [x for x in op.body.equations if x is not last])), True


def indices(op: Comprehension, sources: tuple[object, ...]) -> set[Index]:
    found = atoms_in(sources)   # type: ignore[arg-type]
    return {i for i in op.indices if i in found}


def sum_of(e: Equation, op: Comprehension, earlier: EarlierSum, index: dict[Affine, Index], negated: bool) -> Equation:
    """The sum over elements of an earlier one; `index` are the indices by their names in the form of the terms."""
    kept = {index[x] for x in earlier.kept}
    here: dict[Index | str, Affine] = {a: affine(i) for name, i in index.items() for a in atoms(name) if isinstance(a, str)}
    source = Read(0, tuple([substituted(s, here) for s in earlier.subscripts]))
    x = Param(Var("x0"), "x0")
    sign = [Equation((Var(None, True),), NEG, (x.var,))] if negated != earlier.negated else []
    ranges = tuple([r for r in op.ranges if r.index in kept])
    once = op.onto is None and all_fixed(ranges, op.write)
    guards = tuple([g for g in op.guards if {*g.indices()} <= kept])
    made = replace(op, ranges=ranges, guards=guards, sources=(source,), reduction="=" if once else "+",
                   body=body_of(sign[-1].outs[0] if sign else x.var, [x], sign), onto=None if op.onto is None else 1)
    args = (earlier.out,) if op.onto is None else (earlier.out, e.args[op.onto])
    return Equation(e.outs, made, args, e.span, e.group)
