"""IR in the notation of mathematics: what each operator emits, in which order, and how values get their names."""
from __future__ import annotations

from collections.abc import Callable

import pytest
from adcli.lang.evaluate import evaluate
from adcli.lang.ir import Lit, Param, Program, Result, Var
from adcli.lang.ir.affine import affine
from adcli.lang.ir.build import NO_HINT, Builder, Expr, composed
from adcli.lang.ir.primitives import TABLE, select, sin
from row_tables import each_row
from well_formed import check

X, Y = Var("x"), Var("y")


def emitted(formula: Callable[[Expr, Expr], Expr]) -> list[str]:
    b = Builder()
    formula(b.expr(X), b.expr(Y))
    return [e.op.name for e in b.equations]


@each_row(("formula", "want"), [
    (lambda x, y: x + y, ["add"]), (lambda x, y: 1 + x, ["add"]), (lambda x, y: x - 2, ["sub"]), (lambda x, y: 2 - x, ["sub"]),
    (lambda x, y: x * y, ["mul"]), (lambda x, y: 3 * x, ["mul"]), (lambda x, y: x / y, ["div"]), (lambda x, y: 1 / x, ["div"]),
    (lambda x, y: -x, ["neg"]), (lambda x, y: (x < y) & ~(x >= 0), ["lt", "ge", "not", "and"]),
    (lambda x, y: (x == y) | (x != 0) | (x <= y) | (x > y), ["eq", "ne", "or", "le", "or", "gt", "or"]),
    (lambda x, y: x * sin(y + 1), ["add", "sin", "mul"])])
def test_operators_emit_their_rows_inner_ones_first(formula: Callable[[Expr, Expr], Expr], want: list[str]) -> None:
    assert emitted(formula) == want


@pytest.mark.parametrize("formula", [lambda x, y: 2 - x, lambda x, y: 1 / x, lambda x, y: x - y, lambda x, y: y / x])
def test_sides_are_not_exchanged(formula: Callable[[object, object], object]) -> None:
    b = Builder()
    out = formula(b.expr(X), b.expr(Y))
    assert isinstance(out, Expr)
    program = check(Program((Param(X, "x"), Param(Y, "y")), tuple(b.equations), (Result("z", out.atom),)))
    assert evaluate(program, {"x": 4.0, "y": 8.0})["z"] == formula(4.0, 8.0)


def test_an_expression_is_no_truth_value_and_no_key() -> None:
    x = Builder().expr(X)
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    with pytest.raises(TypeError, match="not a constant"):
        _ = x.literal
    assert Builder().expr(Lit(2.0)).literal.value == 2.0


NUMBERS_ONLY: list[Callable[[Builder, Expr], object]] = [
    lambda b, x: x + 1, lambda b, x: -x, lambda b, x: 2 / x, lambda b, x: x < 1, lambda b, x: b.expr(Y) * x, lambda b, x: sin(x),
    lambda b, x: select(b.expr(Y) < 0, x, 1), lambda b, x: b.line(TABLE["add"], (Y, x.atom), NO_HINT),
    lambda b, x: b.lines([(TABLE["neg"], lambda v: v[:1])], (x.atom,), NO_HINT),
    lambda b, x: b.emit(TABLE["mul"], x.atom, Y, shape=x.var.shape)]


@each_row("formula", NUMBERS_ONLY)
def test_a_row_of_the_table_takes_no_tensor(formula: Callable[[Builder, Expr], object]) -> None:
    """Whatever door it comes through: as a scalar it would be its first element."""
    b = Builder()
    tensor = b.expr(Var("A", shape=(affine("N"), affine(3))))
    with pytest.raises(TypeError, match="is an operation on numbers, and A is a tensor: see elementwise in"):
        formula(b, tensor)
    assert not any(tensor.atom in e.args for e in b.equations)


def test_only_what_the_last_line_made_is_renamed() -> None:
    b = Builder()
    first, second = (b.expr(b.line(TABLE[name], (X,), NO_HINT)) for name in ("sin", "cos"))
    assert b.rename(first, ("a", False), 0) is first                    # not the last line
    assert b.rename(second, ("b", False), 2) is second                  # emitted before the start
    renamed = b.rename(second, ("b", False), 0)
    assert isinstance(renamed.atom, Var) and renamed.atom.name == "b" and b.equations[-1].outs == (renamed.atom,)


@each_row("op", [op for op in TABLE.values() if op.value is not None], ids=lambda op: op.name)
def test_every_composition_is_a_whole_program(op) -> None:
    static = {i: Lit(2.0) for i in op.static}
    program = check(composed(op, static))
    assert len(program.params) == op.arity - len(static) and len(program.results) == 1
