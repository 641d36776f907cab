"""Compositions of the table written out for the machine."""
from __future__ import annotations

import math

import pytest
from adcli.codegen.rows.expand import expand, for_machine
from adcli.codegen.rows.instructions import DEFINITIONS
from adcli.lang.evaluate import evaluate
from adcli.lang.ir import Equation, Lit, Param, Program, Result, Var
from adcli.lang.ir.primitives import TABLE
from back_ends import bits
from native_programs import long_program


def test_expand_keeps_names_and_leaves_no_composition() -> None:
    x, z, w, copy, other = Var("x"), Var("z"), Var("w"), Var("a"), Var("b")
    equations = (Equation((copy, other), TABLE["dup"], (x,)), Equation((z,), TABLE["softplus"], (copy,)),
                 Equation((w,), TABLE["pown"], (other, Lit(1.0))), Equation((v := Var("v"),), TABLE["max"], (z, w, x)))
    program = expand(Program((Param(x, "x"),), equations, tuple(Result(str(i), a) for i, a in enumerate((z, w, v)))))
    assert [r.atom for r in program.results] == [z, x, v]
    assert {e.op.name for e in program.equations} == {"max", "abs", "neg", "exp", "log1p", "add"}
    assert all(len(e.args) <= 2 for e in program.equations)


COMPOSED = [op for op in TABLE.values() if op.value is not None and op.llvm is None and op.libm is None and op.signature == "r>r"]
VALUES = (-1.5, 0.0, 0.25, 3.0, math.inf, math.nan, -0.0)
PLAIN = {name: row for name, row in TABLE.items() if row.llvm is not None or row.libm is not None}


@pytest.mark.parametrize("definitions", [None, DEFINITIONS], ids=["table", "own"])
def test_what_comes_out_is_known_to_the_machine_and_has_the_same_bits(definitions) -> None:
    x, y, z = Var("x"), Var("y"), Var("z")
    equations = [*(Equation((Var(op.name),), op, (x,)) for op in COMPOSED),
                 Equation((a := Var("a"), b := Var("b")), TABLE["dup"], (z,)),
                 *(Equation((Var(name),), TABLE[name], (x, b, y, a)) for name in ("max", "min", "hypot")),
                 *(Equation((Var(name),), TABLE[name], (a, y)) for name in ("fmax", "fmin"))]
    program = Program((Param(x, "x"), Param(y, "y"), Param(z, "z")), tuple(equations),
                      tuple(Result(f"r{i}", out) for i, out in enumerate(out for e in equations for out in e.outs)))
    for given in (program, long_program(200)):
        made = expand(given, definitions)
        assert {e.op.name for e in made.equations} <= PLAIN.keys() - (definitions or {}).keys()
        assert all(len(e.args) == e.op.arity for e in made.equations)
        assert [r.name for r in made.results] == [r.name for r in given.results] and made.params == given.params
        assert expand(made, definitions).equations == made.equations
        for i in range(12):
            at = {p.name: VALUES[(i * (k + 1) + k) % len(VALUES)] for k, p in enumerate(given.params)}
            want, got = evaluate(given, at), evaluate(made, at)
            assert all(bits(got[k]) == bits(v) or math.isclose(got[k], v, rel_tol=1e-13) for k, v in want.items())


def test_what_stands_for_an_operation_stands_where_it_stood() -> None:
    """Places and groups survive for diagnostics; values keep the Var that names them."""
    x, where = Var("x"), (3, 5)
    equations = [Equation((Var(name),), TABLE[name], args, where, 7)
                 for name, args in (("softplus", (x,)), ("max", (x, Lit(1.0), Lit(2.0))), ("sigmoid", (x,)))]
    made = expand(Program((Param(x, "x"),), tuple(equations), tuple(Result(e.op.name, e.outs[0]) for e in equations)))
    assert len(made.equations) > 3
    assert {(e.span, e.group) for e in made.equations} == {(where, 7)}
    defined = [out for e in made.equations for out in e.outs]
    assert all(e.outs[0] in defined for e in equations) and len(set(defined)) == len(defined)


def test_a_machine_gets_no_zero_seeds_and_nothing_twice() -> None:
    x = Var("x")
    program = Program((Param(x, "x"),),
                      (Equation((a := Var("a"),), TABLE["mul"], (x, x)), Equation((b := Var("b"),), TABLE["mul"], (x, x)),
                                         Equation((c := Var("c"),), TABLE["softplus"], (x,))),
                      (Result("a", a), Result("b", b), Result("c", c)))
    made = for_machine(program)
    assert [e.op.name for e in made.equations].count("mul") == 1
    assert "softplus" not in {e.op.name for e in made.equations}
