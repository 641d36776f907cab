"""Headers: read by C and C++, with the entries that a derivative has."""
from __future__ import annotations

import csv
import io
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
from c_programs import CC, SANITIZERS, WARNINGS
from command import adcli, succeeds

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


pytestmark = pytest.mark.skipif(CC is None, reason="no C compiler")
FILTERED = "param k = 0.1\nv = k*x/y\nw = max(x, y, 0)"


def made(folder: pathlib.Path, text: str, *options: str) -> pathlib.Path:
    (folder / "f.ad").write_text(text)
    succeeds("grad", folder / "f.ad", "--emit", "c", "--main", *options, "-o", folder / "f.c")
    subprocess.run([str(CC), *WARNINGS, *SANITIZERS, "f.c", "-o", "f", "-lm"], cwd=folder, check=True)
    return folder / "f"


def run(program: pathlib.Path, table: bytes) -> tuple[int, str, str]:
    ended = subprocess.run([program], input=table, capture_output=True, check=False)
    return ended.returncode, ended.stdout.decode(), ended.stderr.decode()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return made(tmp_path_factory.mktemp("filter"), FILTERED)


@pytest.mark.parametrize("table", [
    "x,y\n2,5\n1e300,-1e-300\n", "y,name,x\n5,a,2\n", "\ufeffx,y\n2,5\n", 'x,"y",z\r\n2,"5","a,\n""b"""\r\n3,4,',
    "k,x,y\n0.3, 2,5 \n", "x,y\n", "x,y\ninf,nan\n-0.0,1\n0.1,3\n", "x,y\n\n2,5\n"])
def test_rows_as_adcli_appends_them(program: pathlib.Path, table: str) -> None:
    code, out, err = run(program, table.encode())
    assert (code, err) == (0, "")
    ours = adcli("grad", program.with_suffix(".ad"), "--data", "-", "-q", stdin=table.encode()).out
    read, wanted = ([*csv.reader(io.StringIO(text))] for text in (out, ours))
    numbers = len(wanted[0]) - table.partition("\n")[0].count(",") - 1
    assert [row[:-numbers] for row in read] == [row[:-numbers] for row in wanted]
    assert [[repr(float(x)) for x in row[-numbers:]] for row in read[1:]] == [row[-numbers:] for row in wanted[1:]]


@pytest.mark.parametrize("table, code, said, rows", [
    (b"", 2, "1: no table: its first line names the columns", 0), (b"x\n1\n", 2, "1: no column y", 0),
    (b"x,y,x\n", 2, "1: two columns are called x", 0), (b"x,y,dv_dx\n", 2, "1: a column has the name of a result: dv_dx", 0),
    (b"x,y\n1\n", 5, "2: too few fields", 1), (b"x,y\n1,2\n1,2,3\n", 5, "3: too many fields", 2),
    (b"x,y\n1,\n", 5, "2: an empty field: y", 1), (b"x,y\n1,'2'\n", 5, "2: not a number: '2'", 1),
    (b"x,y\n1,nan(2)\n", 5, "2: not a number: nan(2)", 1),
    (b"x,y\n-inf,1\n-1e309,1\n", 5, "3: too large a number: -1e309", 2),
    (b'x,y,z\n1,2,"a\nb"\n1,2x,\n', 5, "4: not a number: 2x", 3), (b'x,y\n1,"2\n', 5, "2: a quote that is not closed", 1),
    (b"x,y\n1,2\0\n", 5, "2: a zero byte", 1), (b"x,y\n1," + b"2" * (1 << 20), 5, "2: a row of more than a megabyte", 1)])
def test_tables_that_do_not_fit(program: pathlib.Path, table: bytes, code: int, said: str, rows: int) -> None:
    """The row is named, and what stood before it is written."""
    ended, out, err = run(program, table)
    assert (ended, err, out.count("\n")) == (code, f"standard input:{said}\n", rows)


def test_single_precision_a_long_program_and_one_without_inputs(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(made(tmp_path, "v = x*y", "--precision", "single"), b"x,y\n0.1,3\n") == (
        0, "x,y,v,dv_dx,dv_dy\n0.1,3,0.3,3,0.1\n", "")
    single = run(made(tmp_path, "v = x", "--precision", "single"), b"x\n3e38\n1e39\n")
    assert single == (5, "x,v,dv_dx\n3e38,3e+38,1\n", "standard input:3: too large a number: 1e39\n")
    assert run(made(tmp_path, "v = 3"), b"a\n1\n") == (0, "a,v\n1,3\n", "")
    monkeypatch.setattr("adcli.codegen.c.source.LARGEST_STACK", 0)   # so that it is a function with work from its caller
    long = "\n".join(["s0 = x", *(f"s{i + 1} = s{i} + x/{i + 1}" for i in range(1500)), "output s1500"])
    code, out, err = run(made(tmp_path, long), b"x\n2\n")
    assert (code, err) == (0, "")
    ours = succeeds("grad", tmp_path / "f.ad", "--at", "x=2", "--format", "csv").out.split()[1].split(",")
    assert [*map(float, ours)] == [*map(float, out.split()[1].split(","))]

