"""Programs as C: without a warning, without undefined behaviour, and with the bits that our own code has."""
from __future__ import annotations

import itertools
import math
import pathlib
import subprocess
from collections.abc import Iterator, Sequence

import pytest
from adcli.codegen.c import source as c_source
from adcli.codegen.c.source import source
from adcli.codegen.c.spelling import comment
from adcli.codegen.rows.expand import for_machine
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir import Primitive, Program
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.precision import SINGLE
from back_ends import same
from c_programs import CC, WARNINGS, run_in_c
from compare_corpus import cases
from engines import zig
from one_operation import IN_DOUBLE, SUMS, few_costly
from places import DATA
from session_seed import drawn, session_seed

pytestmark = pytest.mark.skipif(CC is None, reason="no C compiler")


@pytest.mark.engine
def test_another_compiler_has_no_warning_either(tmp_path: pathlib.Path) -> None:
    texts = [source(for_machine(gradient(parse(case["program"], case["id"]))), f"f{k}").text
             for k, case in enumerate(itertools.islice(cases(DATA), session_seed() % 8, None, 8))]
    (tmp_path / "all.c").write_text("\n".join(texts))
    subprocess.run([*zig(), "cc", *WARNINGS, "-c", "all.c", "-o", "all.o"], cwd=tmp_path, check=True)


def of_operation(op: Primitive) -> Program:
    """The value of a row of the table, of three arguments where it takes any number."""
    reals = [f"x{i}" for i in range(3 if op.variadic else op.arity) if i not in op.static]
    args = ["2" if i in op.static else f"(x{i} > 0)" if op.kind(i) == "t" else f"x{i}" for i in range(max(len(reals), op.arity))]
    call = f"{op.spelled or op.name}({', '.join(args)})"
    return parse(f"input {', '.join(reals)}\nz = {call} ? 1 : 0" if op.truth else f"input {', '.join(reals)}\nz = {call}")


def special_points(program: Program, values: Sequence[float]) -> list[list[float]]:
    return list(map(list, itertools.product(values, repeat=len(program.params))))


def test_every_operation_in_single_precision(tmp_path: pathlib.Path) -> None:
    """Values and gradients of all rows keep the digits that single precision has, by the reference in double."""
    r, programs = drawn("test_every_operation_in_single_precision"), []
    for op in few_costly([*TABLE.values()]):
        if op.name != "dup" and not op.truth and "inc_beta" not in op.name:   # which lose 4 bits more
            program = gradient(of_operation(op))
            if op.name in IN_DOUBLE:
                with pytest.raises(AdError, match="single precision"):
                    run_in_c(tmp_path, [(program, [])], precision=SINGLE)
                continue
            points = [[SINGLE.nearest(r.choice((-1, 1)) * 10 ** r.uniform(-3, 1.5)) for _ in program.params] for _ in range(20)]
            programs.append((program, [*points, *special_points(program, (0.0, -0.0, -2.0, math.inf, math.nan))]))
    found = run_in_c(tmp_path, programs, precision=SINGLE)
    wrong = [(program.results[0].name, at, name, want, have) for (program, points), rows in zip(programs, found, strict=True)
             for at, row in zip(points, rows, strict=True) for name, want, have in wrong_in_single(program, at, row)]
    assert not wrong, wrong[:3]


def wrong_in_single(program: Program, at: list[float], found: list[float]) -> Iterator[tuple[str, float, float]]:
    """The results that are further from the reference than 8 units of single precision, plus what moving an input by half a unit
    does, name by name. Numbers that underflow have lost digits before they are multiplied by what is not small."""
    point = dict(zip([p.name for p in program.params], at, strict=True))
    wanted = evaluate(program, point, FLOAT)
    moved = [evaluate(program, {**point, name: x * (1 + 2.0 ** -24)}, FLOAT) for name, x in point.items()]
    least = 2.0 ** -126 if any(e.op.name in SUMS for e in program.equations) else 2.0 ** -145   # densities are products
    for r, have in zip(program.results, found, strict=True):
        want = wanted[r.name]
        if math.isfinite(want) and math.isfinite(have):
            unit = max(2.0 ** -149 if abs(want) >= 2.0 ** -126 else least, math.ldexp(1.0, math.frexp(want)[1] - 24))
            near = sum(abs(other[r.name] - want) for other in moved if math.isfinite(other[r.name]))
            if abs(want - have) > 8 * (unit + near):
                yield r.name, want, have
        elif not same(want, have) and not (math.isinf(have) and abs(want) > 3e38):
            yield r.name, want, have


def test_a_constant_that_single_precision_has_not_is_refused_where_it_stands() -> None:
    for text, said in (("v = x\nw = v * 1e300", "1e+300 is too large for a number of single precision"),
                       ("v = x\nw = v + 1e-50", "1e-50 is too small for a number of single precision")):
        with pytest.raises(AdError) as error:
            source(parse(text), "f", precision=SINGLE)
        assert (error.value.message, error.value.line, error.value.help) == (said, 2, "use double precision, the default")


def test_a_program_too_long_for_the_stack_has_its_array_from_the_caller(
        tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c_source, "LARGEST_STACK", 8_000)
    count = 1_500
    lines = [f"a{i} = x * {i}" for i in range(count)]
    program = parse("\n".join([*lines, "s0 = 0", *(f"s{i + 1} = s{i} + a{i}" for i in range(count)), f"output s{count}"]))
    function = source(program, "f")
    assert function.work * 8 > 8_000
    main = """
#include <stdio.h>
int main(void) { static double w[f_WORK]; double x = 2.0, y; f_work(&x, &y, w); printf("%.17g", y); }
"""
    (tmp_path / "f.c").write_text(function.text + main)
    subprocess.run([str(CC), *WARNINGS, "f.c", "-o", "f", "-lm"], cwd=tmp_path, check=True)
    printed = subprocess.run([tmp_path / "f"], capture_output=True, check=True).stdout
    assert float(printed) == evaluate(program, {"x": 2.0}, FLOAT)[f"s{count}"]


def test_fast_math_is_an_error_unless_it_was_asked_for(tmp_path: pathlib.Path) -> None:
    program = parse("v = x * y")
    for fast, code in ((False, 1), (True, 0)):
        (tmp_path / "f.c").write_text(source(program, "f", fast).text)
        ended = subprocess.run([str(CC), "-ffast-math", "-c", "f.c"], cwd=tmp_path, capture_output=True, check=False)
        assert ended.returncode == code


def test_a_comment_ends_where_it_ends() -> None:
    assert comment(["a */ b /* c", "d  "]) == "/* a * / b / * c\n   d */\n"

