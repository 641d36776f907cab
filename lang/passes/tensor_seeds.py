"""The zero rule for seeds that are tensors: an exact zero in an element drops what that element would have caused.

As in lang/passes/zero_seeds.py, just before code is made. Whether an element exists is a tensor of its own, not zero where
it does: the seed itself, then, along lines that move elements, one computed beside the value, and behind a sum the number of
terms that exist. Only bodies that can be infinite at finite values look at it; what none looks at is dropped. A plain
product with an element that is infinite itself is none of them: a test in each would make products of matrices slower by a
third.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from adcli.lang.ir import Atom, Equation, Lit, Program, Result, Var
from adcli.lang.ir.build import Builder, apply
from adcli.lang.ir.comprehension import Comprehension, Read
from adcli.lang.ir.elementwise import compact, elementwise, emit, shape_of
from adcli.lang.ir.primitives import TABLE, select
from adcli.lang.passes.comprehension_rules import Body
from adcli.lang.passes.guards import can_be_infinite

Flags = dict[Atom, Atom]
"""For a value that depends on seeds, a value of the same shape that is not zero where the element exists."""


def gated(b: Builder, e: Equation, flags: Flags) -> None:
    """Append a comprehension with values of seeds let in only where they exist, and enter where its result exists."""
    from adcli.lang.passes.zero_seeds import gate_body
    op = e.op
    assert isinstance(op, Comprehension)
    body = Body(e, ())
    present: dict[Atom, Var] = {
        op.body.params[k].var: _exists(body, s, k, flags) for k, s in op.reads() if e.args[s.arg] in flags}
    value = gate_body(body.b, op.body, present)
    if any(map(can_be_infinite, op.body.equations)) and present:
        inner = Program(tuple(body.params), tuple(body.b.equations), (Result("z", value),))
        tight, args = compact(replace(op, sources=tuple(body.sources), body=inner), tuple(body.args))
        b.equations.append(Equation(e.outs, tight, args, e.span))
    else:
        b.equations.append(e)
    if op.reduction in ("=", "+"):
        _enter(b, e, body, present.get(op.body.results[0].atom), flags)


def _exists(body: Body, source: Read, k: int, flags: Mapping[Atom, Atom]) -> Var:
    """In the body: whether what source `k` reads exists."""
    atom = body.args[source.arg]
    flag = flags[atom]
    value = body.b.expr(body.params[k].var) if flag is atom else body.read(flag, source.subscripts)
    truth = (value != 0).atom
    assert isinstance(truth, Var)
    return truth


def _enter(b: Builder, e: Equation, body: Body, exists: Var | None, flags: Flags) -> None:
    """Where the result exists: where the value does that is written, and where that does which it starts from."""
    op = e.op
    assert isinstance(op, Comprehension)
    start = None if op.onto is None else flags.get(e.args[op.onto])
    if exists is None and start is None:
        return
    args, onto = list(body.args), None
    if start is not None:
        onto = len(args)
        args.append(numbered(b, start))
    there: Atom = Lit(0.0) if exists is None else apply(TABLE["select"], body.b.expr(exists), 1.0, 0.0).atom
    inner = Program(tuple(body.params), tuple(body.b.equations), (Result("z", there),))
    flags[e.outs[0]] = emit(b, replace(op, sources=tuple(body.sources), body=inner, onto=onto), tuple(args)).atom


def numbered(b: Builder, flag: Atom) -> Atom:
    """A flag as 1 and 0."""
    if not shape_of(flag):
        return select(b.expr(flag) != 0, 1, 0).atom
    return elementwise(b, lambda x: select(x != 0, 1, 0), flag).atom

