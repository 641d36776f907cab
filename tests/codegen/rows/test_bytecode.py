"""Bytecode: every needed equation is on the tape in reused slots, and its interpreter has the bits of compiled code."""
from __future__ import annotations

import math

import pytest
from adcli.codegen.machine import veclib
from adcli.codegen.machine.kernel import END, RESULT, Kernel, Tape, TapeKernel, run
from adcli.codegen.rows import bytecode, jit
from adcli.codegen.rows.bytecode import OPERATIONS, encoded
from adcli.codegen.rows.compiled import compile_program, linked
from adcli.codegen.rows.expand import for_machine
from adcli.codegen.rows.tiers import recorded
from adcli.lang.ir import Atom, Lit, Param, Program, Result, Var
from adcli.lang.ir.build import Builder
from adcli.lang.ir.primitives import TABLE
from back_ends import bits, on_tape
from native_programs import WIDTHS, long_program, number

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -3.0, 5e-324, -5e-324, 2.0 ** -1022, 1e-300, 1e300, -1e300, math.pi / 2, 1.7e308,
           1e22, math.inf, -math.inf, math.nan]


def side_by_side(arity: int) -> Program:
    """Every operation on numbers of so many arguments; those of truth values ask whether an input differs from 0."""
    params = tuple(Param(Var(f"x{i}"), f"x{i}") for i in range(arity))
    b, results = Builder(), []
    for op in TABLE.values():
        if op.arity == arity and op.name != "dup":
            args = [Lit(2.0) if i in op.static else b.emit(TABLE["ne"], p.var, Lit(0.0)) if op.kind(i) == "t" else p.var
                    for i, p in enumerate(params)]
            results.append(Result(op.name, number(b, b.emit(op, *args))))
    return Program(params, tuple(b.equations), tuple(results))


def of_width(lanes: int, library: veclib.Library) -> Kernel:
    text, entry = bytecode.interpreter_text(lanes, library)
    return linked(jit.object_code(text, level=0), entry)


@pytest.mark.parametrize("lanes", WIDTHS)
def test_every_width_and_number_of_rows(lanes: int) -> None:
    program = long_program(300)
    compiled, tape = compile_program(program, lanes), TapeKernel(recorded(program), of_width(lanes, veclib.host()))
    for rows in (0, 1, lanes - 1, lanes, lanes + 1, 3 * lanes + 1):
        at = [[0.1 * i + 0.3 * k - 0.5 for i in range(rows)] for k in range(5)]
        want, got = run(compiled, at, rows), run(tape, at, rows)
        assert [[bits(x) for x in column] for column in got] == [[bits(x) for x in column] for column in want]


def test_without_a_vector_library() -> None:
    program = side_by_side(1)
    tape = TapeKernel(recorded(for_machine(program)), of_width(4, veclib.NO_LIBRARY))
    compiled = compile_program(for_machine(program), 4, veclib.NO_LIBRARY)
    want, got = (run(kernel, [SPECIAL]) for kernel in (compiled, tape))
    assert [[bits(x) for x in column] for column in got] == [[bits(x) for x in column] for column in want]


def test_the_text_is_the_same_everywhere_and_short() -> None:
    text, entry = bytecode.interpreter_text(1, veclib.NO_LIBRARY)
    assert text == bytecode.interpreter_text(1, veclib.NO_LIBRARY)[0] and len(text) < 100_000
    assert "sin" in entry.externals and not any(name.startswith("_ZGV") for name in entry.externals)


# ---------------------------------------------------------------- the tape

NAMES = {number: op for op, number in OPERATIONS.items()}


def instructions(tape: Tape) -> list[list[int]]:
    """The instructions apart."""
    found, at = [], 0
    while tape.code[at] != END:
        length = 3 if tape.code[at] == RESULT else NAMES[tape.code[at]].arity + 2
        found.append(list(tape.code[at:at + length]))
        at += length
    assert at == len(tape.code) - 1
    return found


def test_an_instruction_reads_what_was_written_and_lasts() -> None:
    """Every slot that is read has a value, and every value is that of the equation: the tape, carried out with names for numbers,
    is the program."""
    program = long_program(400)
    tape = recorded(program)
    values: dict[int, str] = {i: p.name for i, p in enumerate(program.params)}
    values |= {-1 - k: repr(x) for k, x in enumerate(tape.constants)}
    results = {}
    for opcode, z, *args in instructions(tape):
        if opcode == RESULT:
            results[z] = hash(values[args[0]])
        else:
            assert 0 <= z < tape.slots
            values[z] = str(hash((NAMES[opcode].name, *[values[a] for a in args])))
    assert sorted(results) == list(range(len(program.results))) and len(set(results.values())) > 15


def test_there_are_as_many_slots_as_values_alive() -> None:
    b, x = Builder(), Var("x")
    z: Atom = x
    for _ in range(1000):
        z = b.emit(TABLE["sin"], b.emit(TABLE["mul"], z, x))
    tape = encoded(Program((Param(x, "x"),), tuple(b.equations), (Result("z", z),)))
    assert tape.slots == 2 and tape.instructions == 2002


def test_what_nobody_needs_is_not_on_the_tape() -> None:
    b, x = Builder(), Var("x")
    for _ in range(10):
        b.emit(TABLE["exp"], x)
    tape = encoded(Program((Param(x, "x"),), tuple(b.equations), (Result("x", x),)))
    assert instructions(tape) == [[RESULT, 0, 0]]


def test_results_that_are_inputs_constants_or_the_same() -> None:
    x, y, b = Var("x"), Var("y"), Builder()
    v = b.emit(TABLE["sqrt"], y)
    atoms: list[Atom] = [y, Lit(-0.0), x, v, Lit(0.0), Lit(math.nan), v, Lit(5e-324), Lit(-0.0), Lit(-math.nan), y]
    program = Program((Param(x, "x"), Param(y, "y")), tuple(b.equations), tuple(Result(f"r{i}", a) for i, a in enumerate(atoms)))
    assert len(recorded(program).constants) == 4
    columns = run(on_tape(program), [[1.0], [2.0]])
    want = (2.0, -0.0, 1.0, math.sqrt(2.0), 0.0, math.nan, math.sqrt(2.0), 5e-324, -0.0, math.nan, 2.0)
    assert [bits(c[0]) for c in columns] == list(map(bits, want))


def test_no_input_no_result_no_row() -> None:
    constant = Program((), (), (Result("c", Lit(3.0)),))
    assert run(on_tape(constant), [], rows=9) == [[3.0] * 9]
    assert run(on_tape(Program((Param(x := Var("x"), "x"),), (), (Result("x", x),))), [[]]) == [[]]
    assert run(on_tape(Program((), (), ())), [], rows=2) == []
