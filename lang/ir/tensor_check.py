"""What a comprehension must satisfy between passes: see lang/ir/check.py, which asks for it."""
from __future__ import annotations

from collections.abc import Callable, Iterable

from adcli.lang.ir import Equation, Var
from adcli.lang.ir.affine import Affine, Index, atoms
from adcli.lang.ir.comprehension import NEUTRAL, Comprehension, Read, Subscript
from adcli.lang.ir.elementwise import shape_of

Require = Callable[[bool, str], None]


def check_comprehension(e: Equation, sizes: set[str], require: Require) -> None:
    """Raise where a comprehension is not complete by itself; `sizes` are the names that inputs bind."""
    op = e.op
    assert isinstance(op, Comprehension)
    require(op.reduction in NEUTRAL, f"no reduction {op.reduction}")
    require(len(set(op.indices)) == len(op.indices), "two ranges of one index")
    for r in op.ranges:
        require(not _indices((r.low, r.high)), f"the range of {r.index.name} depends on an index")
    require(not _indices(op.shape), "an extent of the result depends on an index")
    used = (*op.guards, *op.shape, *(x for r in op.ranges for x in (r.low, r.high)))
    require(_names(used) <= sizes, f"sizes that no input has: {', '.join(sorted(_names(used) - sizes))}")
    require(_indices(op.guards) <= set(op.indices), "a guard with an index that has no range")
    require(e.outs[0].shape == op.shape, "a result of another shape")
    require(len(op.write) == len(op.shape), "a write of another rank than the result")
    _check_subscripts(e, op, op.write, sizes, require)
    for s in op.sources:
        _check_subscripts(e, op, (s,), sizes, require)
    _check_onto(e, op, require)
    _check_body(op, require)


def _check_subscripts(e: Equation, op: Comprehension, subscripts: Iterable[Subscript], sizes: set[str],
                      require: Require) -> None:
    """Subscripts, or a source, which has the same form; what reads inside of a subscript must be integers."""
    stack = list(subscripts)
    inner = {id(s) for s in op.write if isinstance(s, Read)}
    while stack:
        s = stack.pop()
        if isinstance(s, Affine):
            require(_indices((s,)) <= set(op.indices), "a subscript with an index that has no range")
            require(_names((s,)) <= sizes, "a subscript with a size that no input has")
            continue
        require(0 <= s.arg < len(e.args), "a read of an argument that is not there")
        atom = e.args[s.arg]
        require(len(s.subscripts) == len(shape_of(atom)), "a read of another rank than its argument")
        require(id(s) not in inner or (isinstance(atom, Var) and atom.integer), "a subscript that is no integer")
        inner.update(id(x) for x in s.subscripts if isinstance(x, Read))
        stack += s.subscripts


def _check_onto(e: Equation, op: Comprehension, require: Require) -> None:
    if op.onto is not None:
        require(op.reduction in ("=", "+"), "only a sum or = goes onto a value")
        require(0 <= op.onto < len(e.args), "onto an argument that is not there")
        require(len(shape_of(e.args[op.onto])) == len(op.shape), "onto an argument of another rank")


def _check_body(op: Comprehension, require: Require) -> None:
    from adcli.lang.ir.check import check
    body = op.body
    require(len(body.params) == len(op.sources), "a body with another number of inputs than there are sources")
    require(len(body.results) == 1, "a body with another number of results than one")
    require(not any(isinstance(x.op, Comprehension) for x in body.equations), "a comprehension inside of a body")
    require(not any(p.var.shape for p in body.params), "a tensor as input of a body")
    check(body)


def _indices(expressions: Iterable[Affine]) -> set[Index]:
    return {a for x in expressions for a in atoms(x) if isinstance(a, Index)}


def _names(expressions: Iterable[Affine]) -> set[str]:
    return {a for x in expressions for a in atoms(x) if isinstance(a, str)}

