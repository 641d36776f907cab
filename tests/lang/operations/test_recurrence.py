"""A recurrence as data: its statements as operations over all steps, and at one step."""
from dataclasses import replace

from adcli.lang.ir import Equation, Lit, Param, Var
from adcli.lang.ir.affine import Index, affine
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.comprehension import Comprehension, Range, Read, identity_body
from adcli.lang.operations.recurrence import Recurrence, at_one_step, boxed, signature_of, step_place, whole_statements

STEPS = affine("T")


def copied(down: bool = False) -> Equation:
    """h(t+1) = h(t) for every step."""
    t, shape = Index("t"), (STEPS + 1,)
    inner = Var("h", shape=shape)
    op = Comprehension(ranges=(Range(t, affine(0), STEPS),), write=(affine(t) + 1,), shape=shape, reduction="=",
                       sources=(Read(0, (affine(t),)),), body=identity_body())
    loop = Recurrence(signature=signature_of(1), step=t, low=affine(0), high=STEPS, down=down, histories=(inner,),
                      constants=(), statements=(Equation((inner,), op, (inner,)),))
    return Equation((Var("h", shape=shape),), loop, (Lit(0.0),))


def test_a_statement_over_all_steps_is_between_the_final_histories():
    e = copied()
    (statement,) = whole_statements(e)
    assert statement.outs == e.outs and statement.args == e.outs


def test_at_one_step_the_step_is_no_range_and_the_write_says_where_it_goes():
    op = copied().op
    assert isinstance(op, Recurrence) and op.outs == 1 and op.kind(0) == "r"
    inner = op.statements[0].op
    assert isinstance(inner, Comprehension)
    assert at_one_step(inner, op.step).ranges == ()
    assert step_place(inner, op.step) == (0, 1)


def test_constants_are_the_arguments_behind_the_histories():
    e = copied()
    op = e.op
    assert isinstance(op, Recurrence)
    a = Param(Var("a"), "a").var
    inner = Var("c")
    (s,) = op.statements
    more = Recurrence(signature=">r", step=op.step, low=op.low, high=op.high, histories=op.histories, constants=(inner,),
                      statements=(Equation(s.outs, s.op, (inner,)),))
    assert whole_statements(Equation(e.outs, more, (Lit(0.0), a)))[0].args == (a,)


def test_operations_of_every_kind_say_what_their_results_start_from():
    e, row = copied(), Equation((Var("z"),), TABLE["add"], (Lit(1.0), Lit(2.0)))
    (inner,) = boxed([row, e])
    added = replace(inner, op=replace(inner.op, onto=0))
    assert [*e.op.started(e)] == [(e.args[0], e.outs[0])]
    assert row.op.start(row) is None and [*row.op.started(row)] == [*inner.op.started(inner)] == []
    assert [*added.op.started(added)] == [(inner.args[0], e.outs[0])]
    assert (row.op.onto, row.op.reduction) == (None, "=")
