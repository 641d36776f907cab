"""Operations in native code against the reference evaluator: every row of the table, every width, every special value."""
from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from adcli.codegen.machine import veclib
from adcli.codegen.machine.kernel import run
from adcli.codegen.modules.runtime import compile_tensors
from adcli.codegen.rows import jit, llvm
from adcli.codegen.rows.compiled import compile_program
from adcli.codegen.rows.instructions import Instructions, stack
from adcli.lang.evaluate import FLOAT, Arithmetic, every_value, read
from adcli.lang.ir import Equation, Lit, Param, Primitive, Program, Result, Var
from adcli.lang.ir.build import Builder
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from back_ends import bits
from native_programs import WIDTHS, everything, native, number
from row_tables import each_row
from session_seed import half
from tensor_notation import Tensors

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -3.0, 5e-324, -5e-324, 1e-300, -1e-300, 1e300, -1e300, math.inf,
           -math.inf, math.nan]


def row_program(op: Primitive, static: dict[int, float], count: int | None = None) -> Program:
    """One equation; a truth argument is whether an input differs from 0."""
    b, params, args = Builder(), [], []
    for i in range(count or op.arity):
        if i in static:
            args.append(Lit(static[i]))
            continue
        params.append(Param(Var(f"x{i}"), f"x{i}"))
        args.append(b.emit(TABLE["ne"], params[-1].var, Lit(0.0)) if op.kind(i) == "t" else params[-1].var)
    outs = tuple(Var(f"z{i}", truth=op.truth) for i in range(op.outs))
    b.equations.append(Equation(outs, op, tuple(args)))
    results = tuple(Result(f"z{i}", number(b, out)) for i, out in enumerate(outs))
    return Program(tuple(params), tuple(b.equations), results)


def lgamma(x: float) -> float:
    """To the last digit also beside its zeros, where Python's own is not."""
    if not 0 < x < 50:
        return FLOAT.functions["lgamma"](x)
    return float(mpmath.loggamma(x))


ORACLE = Arithmetic({**FLOAT.functions, "lgamma": lgamma})


def reference(program: Program, point: tuple[float, ...]) -> list[float]:
    values = every_value(program, {p.name: x for p, x in zip(program.params, point, strict=True)}, ORACLE)
    return [float(read(values, r.atom, ORACLE)) for r in program.results]


@pytest.mark.parametrize("lanes", WIDTHS)
def test_a_row_does_not_depend_on_its_neighbours(lanes: int) -> None:
    kernel = compile_program(everything(), lanes)
    column = [*SPECIAL, 0.3, -0.7, 1.5, 100.0]
    alone = [[bits(z[0]) for z in run(kernel, [[x]])] for x in column]
    for turn in range(lanes):
        turned = column[turn:] + column[:turn]
        rows = zip(*run(kernel, [turned]), strict=True)
        assert [[bits(z) for z in row] for row in rows] == alone[turn:] + alone[:turn]


def test_without_a_vector_library() -> None:
    module = llvm.emit(everything(), veclib.lanes(), veclib.NO_LIBRARY)
    assert not any(symbol.startswith("_ZGV") for symbol in module.entry.externals)
    kernel = jit.link(jit.object_code(module.text), module.entry)
    scalar = compile_program(everything(), 1)
    column = [[0.3, 0.7, 1.9, -0.4, 0.0]]
    assert repr(run(kernel, column)) == repr(run(scalar, column))


@each_row("lanes", WIDTHS)
@each_row("op", half([op for op in TABLE.values() if op.signature == "r>r"]), ids=lambda op: op.name)
def test_a_loop_nest_has_the_same_bits(op: Primitive, lanes: int) -> None:
    column = [*SPECIAL, 0.3, -0.7, 1.5, 100.0]
    nest = Tensors(x="N").make("z", "i", "=", "i:N", ["x i"], lambda x: x.builder.expr(x.builder.emit(op, x.atom))).program("z")
    found = compile_tensors(nest, lanes)({"x": np.array(column)})["z"]
    assert [bits(z) for z in found] == [bits(z) for (z,) in native(row_program(op, {}), [(x,) for x in column], lanes)]


def test_what_is_called_is_declared_once() -> None:
    instructions = Instructions(4, veclib.NO_LIBRARY)
    assert instructions.template(TABLE["sin"]) == instructions.template(TABLE["sin"]) \
        == "  {z} = call <4 x double> @lanes.sin(<4 x double> {0})"
    assert instructions.template(TABLE["sqrt"]) == "  {z} = call <4 x double> @llvm.sqrt.v4f64(<4 x double> {0})"
    assert instructions.template(TABLE["add"]) == "  {z} = fadd <4 x double> {0}, {1}"
    assert instructions.externals == {"sin"} and set(instructions.helpers) == {"lanes.sin"}
    assert set(instructions.declared) == {"sin", "llvm.sqrt.v4f64"}
    assert Instructions(1, veclib.host()).template(TABLE["sin"]) == "  {z} = call double @sin(double {0})"
    assert Instructions(1, veclib.host(), fast=True).template(TABLE["add"]) == "  {z} = fadd contract arcp double {0}, {1}"


def test_what_is_called_lane_by_lane_is_a_function_of_our_own() -> None:
    instructions = Instructions(4, veclib.NO_LIBRARY)
    instructions.template(TABLE["pow"])
    instructions.template(TABLE["floor"])
    lines = instructions.declarations()
    calls = [f"  %y{i} = call double @pow(double %x0.{i}, double %x1.{i})" for i in range(4)]
    assert lines[:7] == ["", "declare <4 x double> @llvm.floor.v4f64(<4 x double>)", "declare double @pow(double, double)", "",
                         "define internal <4 x double> @lanes.pow(<4 x double> %x0, <4 x double> %x1) alignstack(32) {",
                         "  %x0.0 = extractelement <4 x double> %x0, i32 0", "  %x1.0 = extractelement <4 x double> %x1, i32 0"]
    assert [line for line in lines if "call" in line] == calls
    assert [line for line in lines if "insertelement" in line] == [
        f"  %z{i} = insertelement <4 x double> {f'%z{i - 1}' if i else 'poison'}, double %y{i}, i32 {i}" for i in range(4)]
    assert lines[-3:] == ["  ret <4 x double> %z3", "}", ""]
    with pytest.raises(ValueError, match=r"^softplus has neither an instruction nor a libm symbol nor a composition$"):
        instructions.template(TABLE["softplus"])


@pytest.mark.parametrize(("size", "attribute"), [(8, ""), (16, ""), (32, " alignstack(32)"), (64, " alignstack(64)")])
def test_the_stack_is_aligned_where_a_block_is_longer_than_callers_align_it(size: int, attribute: str) -> None:
    assert stack(size) == attribute


def test_constants_are_written_bit_by_bit() -> None:
    one, four = Instructions(1, veclib.NO_LIBRARY), Instructions(4, veclib.NO_LIBRARY)
    assert [one.constant(x) for x in (0.1, -0.0, -math.nan)] == ["0x3FB999999999999A", "0x8000000000000000", "0x7FF8000000000000"]
    assert four.constant(1.0) == "splat (double 0x3FF0000000000000)"


def test_signs_of_products() -> None:
    program = parse("a = -x*y\nb = y*(-x)\nc = -(x*y)\nd = (-x)*(-y)")
    at = list(itertools.product([*SPECIAL, 1e-160, -3e-165, 7.1, -1.3], repeat=2))
    for lanes in WIDTHS:
        got = native(program, at, lanes)
        assert [[bits(z) for z in zs] for zs in got] == [[bits(z) for z in reference(program, point)] for point in at]
