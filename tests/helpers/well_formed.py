"""The checker: what every program must satisfy between passes.

It runs after each pass in the tests (`adcli.lang.passes.pipeline.CHECKS`). A fault is a defect of a pass, not
of the user's program, so it is an assertion with the equations around it, not an `AdError`.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from adcli.lang.ir import Atom, Equation, Lit, Program, Var, shape_of
from adcli.lang.ir.affine import Affine, Index, atoms
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.comprehension import NEUTRAL, Comprehension, Read, Subscript
from adcli.lang.operations.matrix import FORMS, SEARCH, SOLVES, Boxed, MatrixOperation, bound_names, trailing
from adcli.lang.operations.recurrence import Recurrence, meetings, signature_of, step_offset, surely_met
from adcli.lang.tree.notation import MATRIX_CALLS

Require = Callable[[bool, str], None]
"""Raises with the message, at the place it was made for, unless the condition holds."""
_sound = dict[int, tuple[Equation, set[str], set[Var]]]()
"""Equations that are complete by themselves where inputs bind these sizes, with the values they read: passes hand most of them
on."""
MOST_SOUND = 100_000


class CheckError(AssertionError):
    """A pass has made an ill-formed program."""


def check(program: Program) -> Program:
    """The program itself, if every value is bound once and before its use, with the right number and kind of arguments."""
    bound: set[Var] = set()
    sizes = bound_names(program.params)
    require = _at(program, -1)
    for p in program.params:
        require(p.var not in bound, f"input {p.name} is bound twice")
        bound.add(p.var)
    count = len(bound)
    for i, e in enumerate(program.equations):
        if not _is_sound(e, bound, sizes):
            _check_equation(e, bound, sizes, _at(program, i))
        bound.update(e.outs)
        count += len(e.outs)
        if len(bound) < count:
            _at(program, i)(False, f"{', '.join(out.name for out in e.outs)} is bound twice")
    require = _at(program, len(program.equations))
    for r in program.results:
        require(isinstance(r.atom, Lit) or (r.atom in bound and not r.atom.truth), f"result {r.name} is not a bound real value")
    require(len({r.name for r in program.results}) == len(program.results), "two results of one name")
    require(len({p.name for p in program.params}) == len(program.params), "two inputs of one name")
    return program


def check_linear(program: Program) -> Program:
    """The program itself, if every real value is used at most once (explicit-duplication form)."""
    uses: Counter[Atom] = Counter(a for e in program.equations for a in e.args
                                  if isinstance(a, Var) and not a.truth and not a.integer and not a.whole)
    uses.update(r.atom for r in program.results if isinstance(r.atom, Var))
    for i, e in enumerate(program.equations):
        _at(program, i)(all(uses[a] <= 1 for a in e.args), "a value is used more than once")
    return program


def _at(program: Program, i: int) -> Require:
    """Assertions about equation `i`."""
    def require(holds: bool, message: str) -> None:
        if not holds:
            raise CheckError("\n".join([f"equation {i}: {message}", *_around(program, i)]))
    return require


def _around(program: Program, i: int) -> Iterable[str]:
    for k in range(max(0, i - 3), min(len(program.equations), i + 4)):
        e = program.equations[k]
        args = ", ".join(repr(a.value) if isinstance(a, Lit) else a.name or "?" for a in e.args)
        yield f"{'>' if k == i else ' '} {', '.join(o.name or '?' for o in e.outs)} = {e.op.name}({args})"


def _is_sound(e: Equation, bound: set[Var], sizes: set[str]) -> bool:
    """Whether an equation that has been checked before reads bound values only."""
    known = _sound.get(id(e))
    return known is not None and known[0] is e and known[1] <= sizes and known[2] <= bound


def _check_equation(e: Equation, bound: set[Var], sizes: set[str], require: Require) -> None:
    reads = {a for a in e.args if isinstance(a, Var)}
    for a in reads - bound:
        require(False, f"argument {a.name} is no bound value")
    require(len(e.outs) == e.op.outs, "wrong number of results")
    for out in e.outs:
        if out.truth != e.op.truth:
            require(False, f"{out.name} has the wrong kind")
    if isinstance(e.op, Comprehension):
        _check_comprehension(e, e.op, sizes, require)
    elif isinstance(e.op, Recurrence):
        _check_recurrence(e, e.op, sizes, require)
    elif isinstance(e.op, MatrixOperation):
        _check_matrix(e, e.op, sizes, require)
    else:
        _check_row(e, require)
    if len(_sound) > MOST_SOUND:
        _sound.clear()
    _sound[id(e)] = e, sizes, reads


# ---------------------------------------------------------------- a row of the table

def _check_row(e: Equation, require: Require) -> None:
    op, shapes = e.op, {a.shape for a in (*e.args, *e.outs) if isinstance(a, Var)}
    if shapes != {()}:
        require(not any(shapes) or (op is TABLE["dup"] and len(shapes) == 1), "a scalar operation on tensors")
    require(len(e.args) >= op.arity if op.variadic else len(e.args) == op.arity, "wrong number of arguments")
    for position, a in enumerate(e.args):
        truth, static = op.kind(position) == "t", position in op.static
        if isinstance(a, Lit):
            if truth or (static and a.integer is None):
                require(False, "a constant where a truth value belongs" if truth else "a constant that is no integer")
        elif static or a.truth != truth:
            require(False, f"{a.name} has the wrong kind" if a.truth != truth else "an argument that must be constant")


# ---------------------------------------------------------------- a comprehension

def _check_comprehension(e: Equation, op: Comprehension, sizes: set[str], require: Require) -> None:
    """Raise where a comprehension is not complete by itself; `sizes` are the names that inputs bind."""
    require(op.reduction in NEUTRAL, f"no reduction {op.reduction}")
    _check_box(e, op, sizes, require)
    require(len(op.write) == len(op.shape), "a write of another rank than the result")
    for s in op.sources:
        _check_subscripts(e, op, (s,), sizes, require)
    _check_onto(e, op, require)
    _check_body(op, require)


def _check_matrix(e: Equation, op: MatrixOperation, sizes: set[str], require: Require) -> None:
    """Raise where an operation on matrices is not complete by itself."""
    require(op.name in MATRIX_CALLS, f"no operation {op.name}")
    require(len(op.sources) == 1 + (op.name in SOLVES or op.name == SEARCH), "a wrong number of sources")
    require(not op.transposed or op.name in SOLVES, "a transposed matrix where none can be")
    _check_box(e, op, sizes, require)
    ranks = [len(shape_of(e.args[s.arg])) - len(s.subscripts) for s in op.sources]
    given, made = map(len, FORMS[op.name])
    others = (0,) if op.name == SEARCH else (1, 2)
    require(ranks[0] == given and all(r in others for r in ranks[1:]), "an operand that is no matrix and no vector")
    require(len(trailing(e)) == (ranks[1] if op.name in SOLVES else made), "a result of another rank")
    for s in op.sources:
        _check_subscripts(e, op, s.subscripts, sizes, require)


def _check_box(e: Equation, op: Boxed, sizes: set[str], require: Require) -> None:
    """The ranges and guards, the shape of the result, and what is written."""
    require(not any(isinstance(a, Var) and a.truth for a in e.args), "an argument that is a truth value")
    require(len(set(op.indices)) == len(op.indices), "two ranges of one index")
    for r in op.ranges:
        require(not _indices((r.low, r.high)), f"the range of {r.index.name} depends on an index")
    require(not _indices(op.shape), "an extent of the result depends on an index")
    used = (*op.guards, *op.shape, *(x for r in op.ranges for x in (r.low, r.high)))
    require(_names(used) <= sizes, f"sizes that no input has: {', '.join(sorted(_names(used) - sizes))}")
    require(_indices(op.guards) <= set(op.indices), "a guard with an index that has no range")
    require(e.outs[0].shape == op.shape, "a result of another shape")
    _check_subscripts(e, op, op.write, sizes, require)


def _check_subscripts(e: Equation, op: Boxed, subscripts: Iterable[Subscript], sizes: set[str],
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
        require(id(s) not in inner or (isinstance(atom, Var) and (atom.integer or atom.whole)), "a subscript that is no integer")
        inner.update(id(x) for x in s.subscripts if isinstance(x, Read))
        stack += s.subscripts


def _check_onto(e: Equation, op: Comprehension, require: Require) -> None:
    if op.onto is not None:
        require(op.reduction in ("=", "+", "min", "max"), f"no {op.reduction} goes onto a value")
        require(0 <= op.onto < len(e.args), "onto an argument that is not there")
        require(len(shape_of(e.args[op.onto])) == len(op.shape), "onto an argument of another rank")


def _check_body(op: Comprehension, require: Require) -> None:
    body = op.body
    require(len(body.params) == len(op.sources), "a body with another number of inputs than there are sources")
    require(len(body.results) == 1, "a body with another number of results than one")
    require(not any(isinstance(x.op, Boxed) for x in body.equations), "a comprehension inside of a body")
    require(not any(p.var.shape for p in body.params), "a tensor as input of a body")
    check(body)


# ---------------------------------------------------------------- a recurrence

def _check_recurrence(e: Equation, op: Recurrence, sizes: set[str], require: Require) -> None:
    """Raise where a recurrence is not complete by itself, or runs in another order than its statements need."""
    histories = len(op.histories)
    require(op.signature == signature_of(histories), "a recurrence whose signature is not that of its histories")
    require(len(e.args) == histories + len(op.constants), "another number of arguments than histories and constants")
    require(not _indices((op.low, op.high)), "the range of the steps depends on an index")
    for inner, out, start in zip(op.histories, e.outs, e.args, strict=False):
        require(inner.shape == out.shape, f"{out.name} has another shape than its history")
        require(isinstance(start, Lit) or start.shape == out.shape, f"{out.name} starts from another shape")
    for inner, given in zip(op.constants, e.args[histories:], strict=False):
        alike = isinstance(given, Var) and (inner.shape, inner.truth, inner.integer) == (given.shape, given.truth, given.integer)
        require(alike, f"{inner.name} is another kind of value inside of the recurrence")
    known: set[Var] = {*op.histories, *op.constants}
    for s in op.statements:
        require(isinstance(s.op, Boxed) and s.outs[0] in op.histories, "a statement that does not write a history")
        _check_statement(s, s.op, op, require)  # type: ignore[arg-type]
        if not _is_sound(s, known, sizes):
            _check_equation(s, known, sizes, require)
    require({s.outs[0] for s in op.statements} == set(op.histories), "a history that no statement writes")
    require(op.until is None or len(op.histories[op.until].shape) == 1, "the end of a loop has more dimensions than the step")
    for each in meetings(e):
        require(not surely_met(each, op.step), f"{each.writer.outs[0].name} is read before it is written, or written twice")


def _check_statement(s: Equation, inner: Boxed, op: Recurrence, require: Require) -> None:
    first = inner.ranges[0] if inner.ranges else None
    same = first is not None and first.index is op.step and (first.low, first.high) == (op.low, op.high)
    require(same, "a statement whose first range is not that of the step")
    steps = [step_offset(x, op.step) for x in inner.write if isinstance(x, Affine) and op.step in atoms(x)]
    single = inner.onto is not None or (len(steps) == 1 and steps[0] is not None)
    require(single, "a write without the step, or a constant beside it, in one subscript")
    require(inner.onto is None or (s.args[inner.onto] is s.outs[0] and inner.reduction == "+"), "a statement onto another tensor")


def _indices(expressions: Iterable[Affine]) -> set[Index]:
    return {a for x in expressions for a in atoms(x) if isinstance(a, Index)}


def _names(expressions: Iterable[Affine]) -> set[str]:
    return {a for x in expressions for a in atoms(x) if isinstance(a, str)}
