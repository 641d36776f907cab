"""Results on rows: what is appended to what, in which format, and what is said of a table that is wrong."""
from __future__ import annotations

import gzip

import polars
import pytest
from command import adcli, succeeds

XY = "v = x*y"
TABLE = b'name,y,x\n"a, ""b""",2,1\n\xffc,3, 4 \n'


def grad(*options, data=b"", program=XY):
    return succeeds("grad", "-e", program, *options, stdin=data)


@pytest.mark.parametrize(("data", "options", "want"), [
    (TABLE, [], b'name,y,x,v,dv_dx,dv_dy\n"a, ""b""",2,1,2.0,2.0,1.0\n\xffc,3, 4 ,12.0,3.0,4.0\n'),
    (b"\xef\xbb\xbfx,y\r\n1,2\r\n\r\n3,4", [], b"x,y,v,dv_dx,dv_dy\n1,2,2.0,2.0,1.0\n3,4,12.0,4.0,3.0\n"),
    (b'x,"n",y\n1,"line\r\nend",2\n', [], b'x,"n",y,v,dv_dx,dv_dy\n1,"line\r\nend",2,2.0,2.0,1.0\n'),
    (b"x\ty\n1\t2\n", [], b"x\ty\tv\tdv_dx\tdv_dy\n1\t2\t2.0\t2.0\t1.0\n"),
    (b"x\tn\ty\n1\ta,b\t2\n", ["--format", "csv"], b'x,n,y,v,dv_dx,dv_dy\n1,"a,b",2,2.0,2.0,1.0\n'),
    (b"x,y\n", [], b"x,y,v,dv_dx,dv_dy\n"),
    (b"x,y\n1,0x1p-1\n1_000,inf\n", [], b"x,y,v,dv_dx,dv_dy\n1,0x1p-1,0.5,0.5,1.0\n1_000,inf,inf,inf,1000.0\n"),
    (b"x,y\n1,1\n", ["--status"], b"x,y,v,dv_dx,dv_dy,status\n1,1,1.0,1.0,1.0,smooth\n"),
    (b"x,y\n1,1\n", ["--fmt", "%.2e"], b"x,y,v,dv_dx,dv_dy\n1,1,1.00e+00,1.00e+00,1.00e+00\n"),
    (b"x,y\n3,\n", ["--missing", "nan"], b"x,y,v,dv_dx,dv_dy\n3,,nan,nan,3.0\n"),
    (b"x,y\n3,1\n", ["--format", "text"], b"# x = 3.0, y = 1.0\nv = 3.0\ndv_dx = 1.0\ndv_dy = 3.0\n"),
    (b"n,x,y\n007,3,1\n", ["--format", "json"], b'{"n":"007","x":3,"y":1,"v":3.0,"dv_dx":1.0,"dv_dy":3.0}\n'),
    (b'{"y":2,"x":1.50 }\r\n\n {"x":"NaN","y":1}', [],
     b'{"y":2,"x":1.50 ,"v":3.0,"dv_dx":2.0,"dv_dy":1.5}\n {"x":"NaN","y":1,"v":"NaN","dv_dx":1.0,"dv_dy":"NaN"}\n'),
    (b'{"y":2,"x":1,"n":[]}', ["--format", "csv"], b"y,x,n,v,dv_dx,dv_dy\n2,1,[],2.0,2.0,1.0\n"),
], ids=lambda x: repr(x)[:40])
def test_rows(data, options, want):
    assert grad("--data", "-", "-q", *options, data=data).data == want
    assert grad("-q", *options, data=data).data == want, "piped rows need no --data"


def test_only_the_first_bad_rows_are_told():
    ended = adcli("grad", "-e", XY, "--data", "-", "--on-error", "skip", stdin=b"x,y\n" + b"1\n" * 50)
    assert len(ended.err.splitlines()) == 21


ROUGH = "<stdin>:{}: not smooth or not finite, {}\n{}\n".format


def test_strict_names_a_value_that_overflows_and_counts_rows_over_all_blocks():
    data = b"x\n" + b"1\n" * 200_000 + b"1000\n" + b"2\n" * 99_998 + b"0\n-1\n"
    ended = adcli("eval", "-e", "v = exp(x)", "--data", "-", "--strict", stdin=data)
    assert (ended.code, ended.err) == (4, ROUGH(200_002, "1 of 300001 rows", "note: v = inf is not finite"))


def test_files(tmp_path):
    want = b"x,y,v,dv_dx,dv_dy\n1,2,2.0,2.0,1.0\n"
    plain, packed, twice = tmp_path / "a.csv", tmp_path / "a.csv.gz", tmp_path / "b"
    plain.write_bytes(b"x,y\n1,2\n")
    packed.write_bytes(gzip.compress(b"x,y\n1,2\n"))
    twice.write_bytes(gzip.compress(b"x,y\n1") + gzip.compress(b",2"))
    for path in (plain, packed, twice):
        assert grad("--data", path).data == want
    packed.write_bytes(packed.read_bytes()[:-9])
    ended = adcli("grad", "-e", XY, "--data", packed)
    assert (ended.code, ended.err) == (2, f"adcli: error: {packed}: the gzip data ends too early\n")
    packed.write_bytes(b"\x1f\x8bxxxxxxxxxxxxxxxxxxxx")
    assert adcli("grad", "-e", XY, "--data", packed).code == 2
    assert adcli("grad", "-e", XY, "--data", tmp_path / "none.csv").code == 2
    assert adcli("grad", "-e", XY, "--data", tmp_path).code == 2


def test_parquet(tmp_path):
    path = tmp_path / "a.parquet"
    polars.DataFrame({"x": [1.0, None], "n": ["a,b", None], "y": [2, 3]}).write_parquet(path)
    ended = adcli("grad", "-e", XY, "--data", path, "--missing", "nan")
    assert ended.data == b'x,n,y,v,dv_dx,dv_dy\n1.0,"a,b",2,2.0,2.0,1.0\n,,3,nan,3.0,nan\n'
    assert ended.err == f"{path}:2: not finite, 1 of 2 rows\n-e: note: x is nan: domain\n"
    ended = adcli("grad", "-e", XY, "--data", path)
    assert (ended.code, ended.err.splitlines()[0]) == (5, f"{path}:2: column 'x' is empty")
    path.write_bytes(b"PAR1 and nothing else")
    ended = adcli("grad", "-e", XY, "--data", path)
    assert (ended.code, ended.err.startswith(f"adcli: error: {path}: ")) == (2, True), ended


@pytest.mark.parametrize(("program", "data"), [
    ("v = x*y", b"x,y\n1,2\n"), ("input x(N)\nv +=! x(i)\noutput v", b'x\n"[1,2]"\n')])
def test_without_code_nothing_is_written(program, data, monkeypatch, tmp_path):
    """Nor the header, which was out before it was known that there is no room for LLVM."""
    from adcli.codegen.rows import jit

    def refused(*_, **__):
        raise MemoryError("llvmlite needs 192 MiB")
    monkeypatch.setattr(jit, "object_codes", refused)
    monkeypatch.setattr(jit, "object_code", refused)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    ended = adcli("grad", "-e", program, "--no-cache", stdin=data)
    assert (ended.code, ended.data, ended.err) == (2, b"", "adcli: error: llvmlite needs 192 MiB\n")


@pytest.mark.parametrize("options", [["--data", "-"], ["--at", "x=0"]])
def test_strict_judges_results_that_are_written(options, tmp_path):
    plain, judged = tmp_path / "plain.csv", tmp_path / "judged.csv"
    for path, strict, code in ((plain, [], 0), (judged, ["--strict"], 4)):
        assert adcli("grad", "-e", "v = abs(x)", *options, "--format", "csv", *strict, "-o", path, stdin=b"x\n0\n").code == code
    assert plain.read_bytes() == judged.read_bytes()

