"""What a tape holds: every equation that is needed, in slots that are used again."""
from __future__ import annotations

import math

from adcli.codegen.machine.kernel import run
from adcli.codegen.machine.tape import END, RESULT, Tape
from adcli.codegen.rows.encoder import encoded
from adcli.codegen.rows.player import OPERATIONS
from adcli.codegen.rows.tiers import recorded
from adcli.lang.ir import Atom, Lit, Param, Program, Result, Var
from adcli.lang.ir.build import Builder
from adcli.lang.ir.primitives import TABLE
from back_ends import bits, on_tape
from native_programs import long_program

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
    for number, z, *args in instructions(tape):
        if number == RESULT:
            results[z] = hash(values[args[0]])
        else:
            assert 0 <= z < tape.slots
            values[z] = str(hash((NAMES[number].name, *[values[a] for a in args])))
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
