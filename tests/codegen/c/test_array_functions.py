"""Programs with tensors as C: without a warning, without undefined behaviour, with the numbers of the reference evaluation, and
with nothing touched outside of arrays, whatever the sizes are."""
from __future__ import annotations

import pathlib
import subprocess

import numpy as np
import pytest
from adcli.codegen.c.language import Helpers
from adcli.codegen.c.source import tensor_source, unused
from adcli.codegen.c.spelling import language
from adcli.codegen.emission import EmitOptions
from adcli.codegen.library.code import object_file
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.precision import DOUBLE, SINGLE
from c_programs import CC, WARNINGS
from c_tensors import agree, derivatives, expected, run_tensors
from native_tensors import assert_same_bits
from session_seed import drawn

compiled = pytest.mark.skipif(CC is None, reason="no C compiler")


def test_what_stands_in_a_comment_alone_is_not_used():
    assert unused(["a", "b", "c"], ["/* x of b", "   where x = a */", "y = b; /* c */", "z = y;"]) == ["a", "c"]


WINDOW = "input x(N), w(K)\ny(i) +=! x(i + k) * w(k)"
GIVEN = "input x(N), y(M)\nz(i) = x(i) * y(i) where i in 0:N"
TOO_LARGE = [(WINDOW, {"N": 2**63, "K": 3}, {"x": [1], "w": [1, 1, 1]}), (WINDOW, {"N": 1, "K": 2**64 - 1}, {"x": [1], "w": [1]}),
             (GIVEN, {"N": 2**64 - 1, "M": 2**64 - 1}, {"x": [], "y": []})]
"""Programs with sizes that no array has, and values; what else does not fit is in tests/test_conformance.py."""


@compiled
def test_sizes_that_no_array_has_return_1(tmp_path: pathlib.Path) -> None:
    programs = [parse(text) for text, *_ in TOO_LARGE]
    points = [[({name: np.array(x) for name, x in at.items()}, sizes)] for _, sizes, at in TOO_LARGE]
    objects = [object_file(p, [], EmitOptions(name=f"f{k}")) for k, p in enumerate(programs)]
    for codes in ([], objects):
        assert [row[0][0] for row in run_tensors(tmp_path, programs, points, codes)] == [1, 1, 1]


@compiled
def test_work_that_no_memory_holds_is_not_a_small_number(tmp_path: pathlib.Path) -> None:
    """Sizes whose products wrap around."""
    program = parse("input A(M, N)\nB(i, j) +=! exp(A(i, j) * A(i, k))\nC(i) +=! B(i, j) * B(i, j)\noutput C")
    main = """
#include <stdio.h>
int main(void) { printf("%zu %zu %d", f_work_size(2, 3), f_work_size((size_t)1 << 33, (size_t)1 << 33), f_work_size(0, 3) == 0); }
"""
    (tmp_path / "f.c").write_text(tensor_source(program, "f").text + main)
    subprocess.run([str(CC), *WARNINGS, "f.c", "-o", "f", "-lm"], cwd=tmp_path, check=True)
    printed = subprocess.run([tmp_path / "f"], capture_output=True, check=True, text=True).stdout
    assert printed == f"6 {(2**64 - 1) // 8} 1"


@compiled
def test_sizes_and_indices_that_are_called_as_types_are(tmp_path: pathlib.Path) -> None:
    program = parse("input x(size_t, N), int32_t(N), int32 uint8_t(size_t)\ny(ptrdiff_t) +=! x(ptrdiff_t, j) * int32_t(j)\n"
                    "z(offsetof) = y(uint8_t(offsetof))")
    at = {"x": np.array([[1.0, 2], [3, 4]]), "int32_t": np.array([5.0, 6]), "uint8_t": np.array([1, 0])}
    assert agree([program], [[(at, {"size_t": 2, "N": 2})]], tmp_path) == 1


@compiled
def test_single_precision_and_fast_math_compile(tmp_path: pathlib.Path) -> None:
    r = drawn("test_single_precision_and_fast_math_compile")
    texts = [tensor_source(p, f"f{k}", True, SINGLE).text for k, p in enumerate(derivatives(r, 4))]
    assert "double *" not in "".join(texts)
    (tmp_path / "f.c").write_text("\n".join(texts))
    subprocess.run([str(CC), *WARNINGS, "-ffast-math", "-c", "f.c"], cwd=tmp_path, check=True)


def test_a_constant_that_single_precision_has_not_is_refused_where_it_stands() -> None:
    for line in ("v +=! 1e300 * x(i)", "v(i) = 1e-99 where i in 0:N"):
        with pytest.raises(AdError, match="for a number of single precision") as error:
            tensor_source(parse(f"input x(N)\n{line}\noutput v"), "f", precision=SINGLE)
        assert (error.value.line, error.value.help) == (2, "use double precision, the default")


def test_a_shape_that_no_memory_holds_is_refused() -> None:
    with pytest.raises(AdError, match="no memory holds a tensor of shape"):
        tensor_source(parse("input x(N)\nA(i, j, k) = x(0) where i in 0:10000000, j in 0:10000000, k in 0:100000"), "f")


@compiled
def test_powers_of_indices_have_the_bits_of_the_reference(tmp_path: pathlib.Path) -> None:
    program = parse("input t(N), c(M); y(i, j) = t(i)**j where j in 0:M; z(i, j) = c(j)*t(i)**(3 - 2*j); "
                    "u(i, j) = c(j)*t(i)**(999999*j - 4)")
    at = {"t": np.array([0.7, -0.0, 0.0, -3.5, 1e200, 5e-324, np.inf, -np.inf, np.nan, -1.0]), "c": np.ones(9)}
    (((code, got),),) = run_tensors(tmp_path, [program], [[(at, {"N": 10, "M": 9})]])
    want = expected(program, at)
    assert want is not None and code == 0
    assert_same_bits(got, want, "C")


def test_powers_of_indices_in_single_precision_end() -> None:
    """The factors are counted by whole numbers: a float stops counting at 2**24."""
    text = tensor_source(parse("input t(N); y(i) = t(i)**i"), "f", precision=SINGLE).text
    assert "size_t left = (size_t)(n < 0.0f ? -n : n);" in text and "float z = 1.0f;" in text


def test_a_file_has_the_functions_that_it_calls() -> None:
    helpers = Helpers(language(DOUBLE), ["f"], "f_")
    helpers.function("solve_lower")
    assert [name for name, _ in helpers.known] == ["solve_lower", "finite", "undefined"]
    assert [line.split("(")[0] for line in helpers.lines if line.startswith("static")] == [
        "static int f_finite", "static void f_undefined", "static void f_solve_lower"]
    single = tensor_source(parse("input A(N, N)\nv = logdet(A)"), "f", precision=SINGLE).text
    assert "static float f_logdet(" in single and "logf(fabsf(" in single and "double *" not in single

