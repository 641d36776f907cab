"""Headers: read by C and C++, with the entries that a derivative has."""
from __future__ import annotations

import pathlib
import shutil
import subprocess

import pytest
from adcli.codegen.c.files import emit_header
from adcli.codegen.c.source import source
from adcli.codegen.emission import EmitOptions
from adcli.codegen.rows.expand import for_machine
from adcli.lang.derive.derivatives import hessian, jacobian
from adcli.lang.ir import Lit, Program
from adcli.lang.lower.frontend import parse
from c_programs import CC, WARNINGS

PROGRAM = "input x, y = 2, α = 0.1\na = x*y\nb = α**2 + x"
MAIN = """
#include <stdio.h>
#include "f.h"
int main(void)
{
    double in[f_IN] = {3.0, 2.0, 0.5}, out[f_OUT];
    if (f(in, out)) return 1;
    for (int i = 0; i < f_IN; i++) printf("%s %g\\n", f_inputs[i], f_defaults[i]);
    for (int j = 0; j < f_IN; j++)
        for (int k = f_KIND_start[j]; k < f_KIND_start[j + 1]; k++)
            printf("%d %d %s %g\\n", f_KIND_row[k], j, f_outputs[f_KIND_at[k]], out[f_KIND_at[k]]);
    return 0;
}
"""


def header(program: Program) -> str:
    return emit_header(program, [], EmitOptions(name="f"))


def printed(program: Program, kind: str, folder: pathlib.Path) -> list[str]:
    """What a program prints that goes by the header alone."""
    function = source(for_machine(program), "f")
    (folder / "f.h").write_text(header(program))
    (folder / "f.c").write_text(function.text)
    (folder / "main.c").write_text(MAIN.replace("KIND", kind))
    subprocess.run([str(CC), *WARNINGS, "f.c", "main.c", "-o", "f", "-lm"], cwd=folder, check=True)
    return subprocess.run([folder / "f"], capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.skipif(CC is None, reason="no C compiler")
def test_a_jacobian_by_its_columns(tmp_path: pathlib.Path) -> None:
    lines = printed(jacobian(parse(PROGRAM)), "jacobian", tmp_path)
    assert lines == ["x nan", "y 2", "α 0.1", "0 0 da_dx 2", "1 0 db_dx 1", "0 1 da_dy 3", "1 2 db_dα 1"]


@pytest.mark.skipif(CC is None, reason="no C compiler")
def test_a_hessian_by_the_columns_of_its_upper_triangle(tmp_path: pathlib.Path) -> None:
    lines = printed(hessian(parse(PROGRAM), of="a"), "hessian", tmp_path)
    assert lines[3:] == ["0 1 d2a_dx_dy 1"]


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_c_plus_plus_reads_it(tmp_path: pathlib.Path) -> None:
    program = for_machine(jacobian(parse(PROGRAM)))
    (tmp_path / "f.h").write_text(header(program))
    (tmp_path / "f.cpp").write_text('#include "f.h"\nint main() { double in[f_IN] = {}, out[f_OUT]; return f(in, out); }')
    subprocess.run(["g++", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c", "f.cpp"], cwd=tmp_path, check=True)


def test_a_program_without_inputs_or_derivatives_has_no_empty_arrays() -> None:
    program = parse("v = 3")
    text = header(program)
    assert "{}" not in text
    assert "#define f_IN 0\n#define f_OUT 1\n" in text
    assert isinstance(program.results[0].atom, Lit)
