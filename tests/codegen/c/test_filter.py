"""C as a program that reads rows: the numbers that adcli appends, and its exit codes."""
from __future__ import annotations

import csv
import io
import pathlib
import subprocess

import pytest
from c_programs import CC, SANITIZERS, WARNINGS
from command import adcli, succeeds

pytestmark = pytest.mark.skipif(CC is None, reason="no C compiler")
PROGRAM = "param k = 0.1\nv = k*x/y\nw = max(x, y, 0)"


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
    return made(tmp_path_factory.mktemp("filter"), PROGRAM)


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


@pytest.mark.parametrize("words", [("header",), ("c", "--main")])
def test_a_default_that_single_precision_has_not(words: tuple[str, ...]) -> None:
    ended = adcli("eval", "-e", "input x, y = 1e300", "-e", "v = x + y", "--precision", "single", "--emit", *words)
    assert ended[:3] == (2, "", "adcli: error: the default of y: 1e+300 is too large for a number of single precision\n"
                                "help: use double precision, the default\n")


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
