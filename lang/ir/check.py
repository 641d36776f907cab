"""The checker: what every program must satisfy between passes.

It runs after each pass in the tests and on demand (`ALWAYS`). A fault is a defect of a pass, not of the user's
program, so it is an assertion with the equations around it, not an `AdError`.
"""
from __future__ import annotations

from collections import Counter

from adcli.lang.ir import Atom, Equation, Lit, Program, Var
from adcli.lang.ir.comprehension import Comprehension
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.sizes import bound_names

ALWAYS = False
"""Check the result of every pass; the tests turn this on."""


class CheckError(AssertionError):
    """A pass has made an ill-formed program."""


def check(program: Program) -> Program:
    """The program itself, if every value is bound once and before its use, with the right number and kind of arguments."""
    bound: set[Var] = set()
    sizes = bound_names(program.params)
    for p in program.params:
        _require(p.var not in bound, program, -1, f"input {p.name} is bound twice")
        bound.add(p.var)
    for i, e in enumerate(program.equations):
        _check_equation(program, i, e, bound, sizes)
        for out in e.outs:
            _require(out not in bound, program, i, f"{out.name} is bound twice")
            _require(out.truth == e.op.truth, program, i, f"{out.name} has the wrong kind")
            bound.add(out)
    for r in program.results:
        real = isinstance(r.atom, Lit) or (r.atom in bound and not r.atom.truth)
        _require(real, program, len(program.equations), f"result {r.name} is not a bound real value")
    names = Counter([r.name for r in program.results])
    _require(all(n == 1 for n in names.values()), program, len(program.equations), "two results of one name")
    _require(len({p.name for p in program.params}) == len(program.params), program, -1, "two inputs of one name")
    return program


def checked(program: Program) -> Program:
    """The program a pass has made, checked where that is asked for."""
    return check(program) if ALWAYS else program


def check_linear(program: Program) -> Program:
    """The program itself, if every real value is used at most once (explicit-duplication form)."""
    uses: Counter[Atom] = Counter(a for e in program.equations for a in e.args
                                  if isinstance(a, Var) and not a.truth and not a.integer)
    uses.update(r.atom for r in program.results if isinstance(r.atom, Var))
    for i, e in enumerate(program.equations):
        for a in e.args:
            _require(uses[a] <= 1, program, i, "a value is used more than once")
    return program


def _check_equation(program: Program, i: int, e: Equation, bound: set[Var], sizes: set[str]) -> None:
    _require(len(e.outs) == e.op.outs, program, i, "wrong number of results")
    if isinstance(e.op, Comprehension):
        from adcli.lang.ir.tensor_check import check_comprehension
        for a in e.args:
            _require(isinstance(a, Lit) or (a in bound and not a.truth), program, i, "an argument that is no bound value")
        check_comprehension(e, sizes, lambda holds, message: _require(holds, program, i, message))
        return
    shapes = {a.shape for a in (*e.args, *e.outs) if isinstance(a, Var)}
    _require(shapes <= {()} or (e.op is TABLE["dup"] and len(shapes) == 1), program, i, "a scalar operation on tensors")
    right = len(e.args) >= e.op.arity if e.op.variadic else len(e.args) == e.op.arity
    _require(right, program, i, "wrong number of arguments")
    for position, a in enumerate(e.args):
        if isinstance(a, Lit):
            _require(e.op.kind(position) == "r", program, i, "a constant where a truth value belongs")
            _require(position not in e.op.static or a.integer is not None, program, i, "a constant that is no integer")
        else:
            _require(a in bound, program, i, f"{a.name} is used before it is bound")
            _require(a.truth == (e.op.kind(position) == "t"), program, i, f"{a.name} has the wrong kind")
            _require(position not in e.op.static, program, i, "an argument that must be constant")


def _require(holds: bool, program: Program, i: int, message: str) -> None:
    if holds:
        return
    lines = []
    for k in range(max(0, i - 3), min(len(program.equations), i + 4)):
        e = program.equations[k]
        args = ", ".join(repr(a.value) if isinstance(a, Lit) else a.name or "?" for a in e.args)
        lines.append(f"{'>' if k == i else ' '} {', '.join(o.name or '?' for o in e.outs)} = {e.op.name}({args})")
    raise CheckError("\n".join([f"equation {i}: {message}", *lines]))
