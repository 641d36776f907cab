"""Native code against the reference evaluator: every row of the table, every width, every special value."""
from __future__ import annotations

import contextlib
import ctypes
import gc
import itertools
import math
import random
import struct
from concurrent.futures import ThreadPoolExecutor

import mpmath
import pytest
from adcli.codegen.machine import veclib
from adcli.codegen.machine.arrays import run_arrays
from adcli.codegen.rows import jit, llvm
from adcli.codegen.rows.expand import expand
from adcli.codegen.rows.parts import cut
from adcli.codegen.targets import TARGETS, Options
from adcli.lang.evaluate import FLOAT, Arithmetic, every_value, read
from adcli.lang.ir import Atom, Equation, Lit, Param, Primitive, Program, Result, Var
from adcli.lang.ir.build import Builder
from adcli.lang.ir.primitives import TABLE
from native_programs import WIDTHS, everything, long_program, number

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -3.0, 5e-324, -5e-324, 1e-300, -1e-300, 1e300, -1e300, math.inf,
           -math.inf, math.nan]
STATIC = {"pown": {1: (-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 7.0, 65.0)}, "polygamma": {0: (0.0, 1.0, 2.0)}}
VARIANTS = [(op, dict(zip(STATIC.get(op.name, {}), values, strict=True)))
            for op in TABLE.values() for values in itertools.product(*STATIC.get(op.name, {}).values())]


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


def points(op: Primitive, inputs: int, kept: list[int]) -> list[tuple[float, ...]]:
    """Every combination of special values, and random points of the row's domain."""
    rng = random.Random(op.name)
    kept_domain = [op.domain[min(i, len(op.domain) - 1)] for i in kept]
    sampled = [tuple(rng.uniform(*d) for d in kept_domain) for _ in range(200)]
    return [*itertools.product(SPECIAL, repeat=inputs), *sampled]


def lgamma(x: float) -> float:
    """To the last digit also beside its zeros, where Python's own is not."""
    if not 0 < x < 50:
        return FLOAT.functions["lgamma"](x)
    return float(mpmath.loggamma(x))


ORACLE = Arithmetic({**FLOAT.functions, "lgamma": lgamma})


def reference(program: Program, point: tuple[float, ...]) -> list[float]:
    values = every_value(program, {p.name: x for p, x in zip(program.params, point, strict=True)}, ORACLE)
    return [float(read(values, r.atom, ORACLE)) for r in program.results]


def native(program: Program, rows: list[tuple[float, ...]], lanes: int | None = None) -> list[list[float]]:
    kernel = jit.compile_program(program, lanes)
    columns = jit.run(kernel, [list(c) for c in zip(*rows, strict=True)], len(rows))
    return [list(row) for row in zip(*columns, strict=True)]


def bits(x: float) -> bytes:
    return b"nan" if math.isnan(x) else struct.pack("<d", x)


def close(got: float, want: float, ulps: float) -> bool:
    if bits(got) == bits(want):
        return True
    return math.isfinite(got) and math.isfinite(want) and abs(got - want) <= ulps * math.ulp(want) and want != 0


def tolerance(op: Primitive) -> float:
    """ULPs: none for operations of IEEE 754, 4 a function of libm, more where a composition amplifies them."""
    if op.llvm or op.name in ("dup", "fmax", "fmin", "fmod"):
        return 0
    if op.libm:
        return 10 if op.name == "gamma" else 4          # glibc documents its tgamma so
    return 512


@pytest.mark.parametrize("lanes", WIDTHS)
@pytest.mark.parametrize(("op", "static"), VARIANTS, ids=lambda v: getattr(v, "name", None) or str(v))
def test_row(op: Primitive, static: dict[int, float], lanes: int) -> None:
    program = row_program(op, static)
    at = points(op, len(program.params), [i for i in range(op.arity) if i not in static])
    for point, got in zip(at, native(program, at, lanes), strict=True):
        want = reference(program, point)
        assert all(close(g, w, tolerance(op)) for g, w in zip(got, want, strict=True)), (point, got, want)


@pytest.mark.parametrize("lanes", WIDTHS)
@pytest.mark.parametrize("op", [op for op in TABLE.values() if op.variadic], ids=lambda op: op.name)
def test_row_of_three_arguments(op: Primitive, lanes: int) -> None:
    program, at = row_program(op, {}, 3), list(itertools.product(SPECIAL, repeat=3))
    for point, got in zip(at, native(program, at, lanes), strict=True):
        assert close(got[0], reference(program, point)[0], 2 * tolerance(op)), (point, got)


@pytest.mark.parametrize("lanes", WIDTHS)
def test_a_row_does_not_depend_on_its_neighbours(lanes: int) -> None:
    kernel = jit.compile_program(everything(), lanes)
    column = [*SPECIAL, 0.3, -0.7, 1.5, 100.0]
    alone = [[bits(z[0]) for z in jit.run(kernel, [[x]])] for x in column]
    for turn in range(lanes):
        turned = column[turn:] + column[:turn]
        rows = zip(*jit.run(kernel, [turned]), strict=True)
        assert [[bits(z) for z in row] for row in rows] == alone[turn:] + alone[:turn]


@pytest.mark.parametrize("lanes", WIDTHS)
@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("size", [1, 7, 100])
def test_parts_agree_with_the_whole(size: int, level: int, lanes: int) -> None:
    program = long_program(300)
    at = [[0.1 * i + 0.3 * k - 0.5 for i in range(2 * lanes + 1)] for k in range(5)]
    whole = llvm.emit(program, lanes, veclib.host(), part_size=10_000)
    parts = llvm.emit(program, lanes, veclib.host(), part_size=size)
    assert whole.work_bytes == 0 < parts.work_bytes
    runs = [jit.run(jit.link(jit.object_code(m.text, level=level), m.entry), at) for m in (whole, parts)]
    assert [[bits(x) for x in column] for column in runs[0]] == [[bits(x) for x in column] for column in runs[1]]


@pytest.mark.parametrize("lanes", WIDTHS)
@pytest.mark.parametrize("rows", [1, 3, 4, 5, 9])
def test_blocks_that_go_through_parts_together(rows: int, lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program = long_program(300)
    at = [[0.1 * i + 0.3 * k - 0.5 for i in range(rows * lanes)] for k in range(5)]
    whole = llvm.emit(program, lanes, veclib.host(), part_size=10_000)
    single = llvm.emit(program, lanes, veclib.host(), part_size=50)
    monkeypatch.setattr(llvm, "LONG", 100)
    together = llvm.emit(program, lanes, veclib.host(), part_size=50)
    assert together.work_bytes == llvm.BLOCKS * single.work_bytes
    runs = [jit.run(jit.link(jit.object_code(m.text), m.entry), at) for m in (whole, together)]
    assert [[bits(x) for x in column] for column in runs[0]] == [[bits(x) for x in column] for column in runs[1]]


def test_what_waits_lies_on_whole_cache_lines() -> None:
    module = llvm.emit(long_program(300), 4, veclib.NONE, part_size=50)
    assert module.text.count("define ") == module.text.count(" alignstack(32) {")
    assert "alignstack" not in llvm.emit(long_program(300), 2, veclib.NONE, part_size=50).text
    kernel = jit.compile_program(long_program(5000))
    assert kernel.work_bytes and ctypes.addressof(kernel.workspace()) % 64 == 0


def test_slots_are_reused() -> None:
    x = Var("x")
    b = Builder()
    z: Atom = x
    for _ in range(5000):
        z = b.emit(TABLE["sin"], z)
    program = Program((Param(x, "x"),), tuple(b.equations), (Result("z", z),))
    parts, slots = cut(program, 100)
    assert len(parts) == 50
    assert slots <= 2


def test_results_that_are_no_equation() -> None:
    x, y = Var("x"), Var("y")
    results = tuple(Result(f"r{i}", a) for i, a in enumerate((y, Lit(-0.0), x, x, Lit(math.nan), Lit(5e-324))))
    program = Program((Param(x, "x"), Param(y, "y")), (), results)
    for lanes in WIDTHS:
        (row,) = native(program, [(1.0, 2.0)], lanes)
        assert [bits(v) for v in row] == [bits(v) for v in (2.0, -0.0, 1.0, 1.0, math.nan, 5e-324)]


def test_many_constant_results() -> None:
    program = Program((), (), tuple(Result(f"r{i}", Lit(float(i))) for i in range(2500)))
    assert len(cut(program)[0]) == 3
    assert native(program, [()]) == [[float(i) for i in range(2500)]]


def test_no_inputs_and_no_rows() -> None:
    kernel = jit.compile_program(Program((), (), (Result("r", Lit(3.0)),)))
    assert jit.run(kernel, []) == [[3.0]]
    assert jit.run(kernel, [], rows=11) == [[3.0] * 11]
    assert jit.run(jit.compile_program(everything()), [[]])[0] == []


def test_names() -> None:
    names = ["in", "x", "α", 'a"b', "x", "α", "row", "a.b", "1x", "i1", None, "in.0", "entry", "x_1", "\u200b"]
    b, x = Builder(), Var("work")
    z: Atom = x
    for name in names:
        z = b.emit(TABLE["neg"], z, name=name)
    program = Program((Param(x, "work"),), tuple(b.equations), (Result("z", z),))
    text = llvm.emit(program).text
    jit.verify(text)
    assert '%"α" = fneg' in text
    assert "%x_1 = fneg" in text


def test_expand_keeps_names_and_leaves_no_composition() -> None:
    x, z, w, copy, other = Var("x"), Var("z"), Var("w"), Var("a"), Var("b")
    equations = (Equation((copy, other), TABLE["dup"], (x,)), Equation((z,), TABLE["softplus"], (copy,)),
                 Equation((w,), TABLE["pown"], (other, Lit(1.0))), Equation((v := Var("v"),), TABLE["max"], (z, w, x)))
    program = expand(Program((Param(x, "x"),), equations, tuple(Result(str(i), a) for i, a in enumerate((z, w, v)))))
    assert [r.atom for r in program.results] == [z, x, v]
    assert {e.op.name for e in program.equations} == {"max", "abs", "neg", "exp", "log1p", "add"}
    assert all(len(e.args) <= 2 for e in program.equations)


@pytest.mark.parametrize("name", ["llvm", "asm", "object"])
@pytest.mark.parametrize("length", [10, 3000])
def test_emit(name: str, length: int) -> None:
    program, header = long_program(length), ["made by a test", ""]
    first, second = (TARGETS[name].emit(program, header, Options()) for _ in range(2))
    assert first == second
    if name == "object":
        assert b"kernel" in first
        return
    assert "made by a test" in first.splitlines()[0]
    assert "_ZGV" not in first
    assert "triple" not in first


def test_emit_other_lanes() -> None:
    text = TARGETS["llvm"].emit(long_program(50), [], Options(lanes=4, name="f"))
    assert "define void @f(" in text
    assert "<4 x double>" in text


def test_what_llvm_refuses_is_an_exception() -> None:
    for text in ("nonsense", "define double @f(double %x) {\n ret double %y\n}"):
        with pytest.raises(jit.CodegenError):
            jit.verify(text)
    entry = llvm.Entry("f", 1, 0, 0, 0, ("no_such_function",))
    with pytest.raises(jit.CodegenError):
        jit.link(jit.object_code("define void @f() {\n ret void\n}"), entry)


def test_arrays() -> None:
    np = pytest.importorskip("numpy")
    kernel = jit.compile_program(long_program(50))
    for rows in (0, 1, kernel.lanes, 4 * kernel.lanes + 3):
        columns = [np.linspace(k, k + 1, rows) for k in range(5)]
        want = jit.run(kernel, [c.tolist() for c in columns])
        out = [np.empty(rows) for _ in want]
        assert run_arrays(kernel, columns, out=out)[0] is out[0]
        assert [c.tobytes() for c in out] == [np.array(c).tobytes() for c in want]


def test_arrays_that_do_not_fit() -> None:
    np = pytest.importorskip("numpy")
    kernel = jit.compile_program(everything())
    for column in (np.zeros(4, np.float32), np.zeros(8)[::2], np.zeros((2, 2)), np.zeros(4, ">f8")):
        with pytest.raises(ValueError, match="column"):
            run_arrays(kernel, [column])
    with pytest.raises(ValueError, match="columns"):
        run_arrays(kernel, [np.zeros(3), np.zeros(3)])
    with pytest.raises(ValueError, match="length"):
        run_arrays(kernel, [np.zeros(3)], out=[np.zeros(2) for _ in range(kernel.entry.outputs)])


def test_threads() -> None:
    programs = [long_program(1500, seed) for seed in range(4)]
    at = [[0.1 * k + 0.01 * i for i in range(50)] for k in range(5)]
    want = [jit.run(jit.compile_program(p), at) for p in programs]
    with ThreadPoolExecutor(4) as pool:
        kernels = list(pool.map(jit.compile_program, programs))
        got = list(pool.map(lambda k: jit.run(k, at), kernels * 3))
    assert repr(got) == repr(want * 3)


def test_without_a_vector_library() -> None:
    module = llvm.emit(everything(), veclib.lanes(), veclib.NONE)
    assert not any(symbol.startswith("_ZGV") for symbol in module.entry.externals)
    kernel = jit.link(jit.object_code(module.text), module.entry)
    scalar = jit.compile_program(everything(), 1)
    column = [[0.3, 0.7, 1.9, -0.4, 0.0]]
    assert repr(jit.run(kernel, column)) == repr(jit.run(scalar, column))


def test_kernels_may_end_in_any_order() -> None:
    """Engines in reference cycles are freed by the collector in an order of its own."""
    def cycle() -> None:
        kernel = jit.compile_program(long_program(5))
        held: list[object] = [kernel]
        held.append(held)
        with contextlib.suppress(jit.CodegenError):
            jit.verify("nonsense")

    for _ in range(30):
        cycle()
        gc.collect()
