"""Programs for tests of native code on rows, and the widths at which they run."""
from __future__ import annotations

import random

from adcli.codegen.machine import veclib
from adcli.codegen.machine.kernel import run
from adcli.codegen.rows.compiled import compile_program
from adcli.lang.ir import Atom, Lit, Param, Program, Result, Var
from adcli.lang.ir.build import Builder
from adcli.lang.ir.primitives import TABLE

WIDTHS = sorted({1, 2, 4, veclib.lanes()})


def number(b: Builder, value: Var) -> Var:
    """A truth value as 1 or 0, since results are real."""
    return b.emit(TABLE["select"], value, Lit(1.0), Lit(0.0)) if value.truth else value


def everything() -> Program:
    """All operations of one real argument, side by side."""
    x = Var("x")
    b = Builder()
    results = [Result(op.name, b.emit(op, x)) for op in TABLE.values() if op.signature == "r>r"]
    return Program((Param(x, "x"),), tuple(b.equations), tuple(results))


def long_program(length: int, seed: int = 0) -> Program:
    """Random arithmetic, comparisons and selects on values of the last fifty or of long ago."""
    rng, b = random.Random(seed), Builder()
    params = tuple(Param(Var(f"x{i}"), f"x{i}") for i in range(5))
    reals: list[Atom] = [p.var for p in params]
    truths: list[Atom] = [b.emit(TABLE["lt"], reals[0], reals[1])]

    def pick(atoms: list[Atom]) -> Atom:
        return rng.choice(atoms) if rng.random() < 0.1 else rng.choice(atoms[-50:])

    for _ in range(length):
        op = TABLE[rng.choice(("add", "sub", "sin", "mul", "select", "lt", "or", "not", "fmax", "sigmoid"))]
        args = [pick(truths if op.kind(i) == "t" else reals) for i in range(op.arity)]
        (truths if op.truth else reals).append(b.emit(op, *args))
    atoms = [*reals[-20:], reals[5], reals[0], number(b, truths[-1]), Lit(2.0)]
    return Program(params, tuple(b.equations), tuple(Result(f"r{i}", a) for i, a in enumerate(atoms)))


def native(program: Program, rows: list[tuple[float, ...]], lanes: int | None = None) -> list[list[float]]:
    """The results at each point, by native code."""
    kernel = compile_program(program, lanes)
    columns = run(kernel, [list(c) for c in zip(*rows, strict=True)], len(rows))
    return [list(row) for row in zip(*columns, strict=True)]
