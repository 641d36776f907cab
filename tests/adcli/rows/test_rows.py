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


def test_defaults_and_seeds():
    program = "input x, a = 2\nv = a*x"
    assert grad(data=b"x\n3\n", program=program).data == b"x,v,dv_dx,dv_da\n3,6.0,2.0,3.0\n"
    assert grad(data=b"x,a\n3,5\n", program=program).data == b"x,a,v,dv_dx,dv_da\n3,5,15.0,5.0,3.0\n"
    tangent = succeeds("jvp", "-e", XY, "--tangent", "x=1", "--data", "-", stdin=b"x,y\n1,2\n")
    assert tangent.data == b"x,y,v,dv\n1,2,2.0,2.0\n"


@pytest.mark.parametrize(("data", "said"), [
    (b"x,y,n,m\n1,2,3\n", "<stdin>:2: 3 fields, header has 4"),
    (b"x,y\n1\n", "<stdin>:2: 1 field, header has 2"),
    (b"x,y\n\n1,2\nabc,4\n", "<stdin>:4: column 'x': 'abc' is not a number"),
    (b'x,y\n"1\n",2\n', "<stdin>:2: column 'x': '1�' is not a number"),
    (b"x,y\n1,1e999\n", "<stdin>:2: column 'y': '1e999' is too large for a double"),
    (b"x,y\n1,\n", "<stdin>:2: column 'y' is empty\nhelp: --missing nan reads missing values as nan"),
    (b'x,y\n1,2\n"3,4\n5,6\n', "<stdin>:3: a quoted field is not closed"),
    (b'x,y\n1,"2"3\n', "<stdin>:2: field 2 has text after its closing quote"),
    (b"X,y\n1,2\n", "<stdin>:1: no column 'x'\nhelp: did you mean 'X'?"),
    (b"a,b\n1,2\n", "<stdin>:1: no column 'x'\nhelp: the columns are a, b"),
    (b"1,2.5\n3,4\n", "<stdin>:1: no column 'x'\nhelp: add --no-header if the first row is data"),
    (b"x,y,x\n1,2,3\n", "<stdin>:1: column 'x' occurs 2 times"),
    (b"x,y,v\n1,2,3\n", "<stdin>:1: the table already has a column 'v'\n"
                        "help: a result of this name is appended: --rename v=other, or --only"),
    (b"\n\n", "<stdin>:1: the table is empty: no header"),
    (b'{"x":1}\n', "<stdin>:1: no 'y'"),
    (b'{"x":1,"y":2}\n\n{"x":1,"y":true}\n', "<stdin>:3: 'y': 'true' is not a number"),
    (b'{"x":1,"y":null}\n', "<stdin>:1: 'y' is null"),
    (b'{"x":1,"y":1e999}\n', "<stdin>:1: 'y' is too large for a double"),
    (b'{"x":1,"y":2,"v":3}\n', "<stdin>:1: the object already has 'v'"),
    (b'[1]\n', "<stdin>: item 1: not a JSON object"),
    (b'{"x":NaN}\n', "<stdin>:1: not JSON: write \"NaN\", in quotes"),
], ids=lambda x: repr(x)[:30])
def test_bad_tables(data, said):
    ended = adcli("grad", "-e", XY, "--data", "-", stdin=data)
    assert ended.code == 5
    assert ended.err.startswith(said), ended.err


def test_rows_before_a_bad_one_are_written():
    ended = adcli("grad", "-e", XY, "--data", "-", stdin=b"x,y\n1,2\n3,z\n5,6\n")
    assert (ended.code, ended.out) == (5, "x,y,v,dv_dx,dv_dy\n1,2,2.0,2.0,1.0\n")
    assert ended.err == ("<stdin>:3: column 'y': 'z' is not a number\n"
                         "<stdin>: 1 bad row, after 1 good row; --on-error skip or mark continues\n")


BAD = b'x,y\n1,2\n3,z\n5\n6,7,8\n"9,1\n'


def test_skip():
    ended = adcli("grad", "-e", XY, "--data", "-", "--on-error", "skip", stdin=BAD)
    assert (ended.code, ended.out) == (0, "x,y,v,dv_dx,dv_dy\n1,2,2.0,2.0,1.0\n")
    assert ended.err.splitlines()[-1] == "<stdin>: 4 of 5 rows bad, skipped"
    assert adcli("grad", "-e", XY, "--data", "-", "--on-error", "skip", "-q", stdin=BAD).err == ""


def test_mark():
    ended = adcli("grad", "-e", XY, "--data", "-", "--on-error", "mark", stdin=BAD)
    assert (ended.code, ended.out.splitlines()) == (0, [
        "x,y,v,dv_dx,dv_dy,status",
        "1,2,2.0,2.0,1.0,smooth",
        "3,z,nan,nan,nan,column 'y': 'z' is not a number",
        '5,,nan,nan,nan,"1 field, header has 2"',
        '6,7,nan,nan,nan,"3 fields, header has 2"',
        '"""9,1",,nan,nan,nan,a quoted field is not closed'])
    assert ended.err.splitlines()[-1] == "<stdin>: 4 of 5 rows bad, marked"


def test_mark_keeps_json_valid():
    data = b'{"x":1,"y":2}\n{"x":1,\n[]\n{"x":"a","y":1}\n{"x":1,"y":2,"v":3}\n{"x":1,"y":NaN}\n'
    ended = adcli("grad", "-e", XY, "--data", "-", "--on-error", "mark", stdin=data)
    assert [r["status"].partition(":")[0] for r in ended.records] == [
        "smooth", "not JSON", "not a JSON object", "'x'", "the object already has 'v'", "not JSON"]
    assert ended.records[3]["x"] == "a"


def test_only_the_first_bad_rows_are_told():
    ended = adcli("grad", "-e", XY, "--data", "-", "--on-error", "skip", stdin=b"x,y\n" + b"1\n" * 50)
    assert len(ended.err.splitlines()) == 21


def test_a_range_is_watched():
    ended = adcli("grad", "-e", "input x in [0, 1]\nv = x*y", "--data", "-", stdin=b"x,y\n0.5,1\n2,1\n3,1\n")
    assert (ended.code, ended.err) == (0, "-e: note: x = 2.0 is outside its range [0.0, 1.0]\n")


ROUGH = "<stdin>:{}: not smooth or not finite, {}\n{}\n".format


@pytest.mark.parametrize(("data", "said"), [
    (b"x\n1\n", ""),
    (b"x\n0\n", ROUGH(2, "1 of 1 row", "-e:1:5: note: sqrt'(u) at u = 0.0: singular")),
    (b"x\n1\n\n4\n-1\n0\n", ROUGH(5, "the first of 2 such rows of 4", "-e:1:5: note: sqrt(u) at u = -1.0 is nan: domain")),
    (b'x,"a\nb"\n1,"\n\n"\n0,"\n"\n', ROUGH(6, "1 of 2 rows", "-e:1:5: note: sqrt'(u) at u = 0.0: singular")),
    (b'{"x":1}\n{"x":"NaN"}\n', ROUGH(2, "1 of 2 rows", "-e: note: x is nan: domain"))])
def test_strict_names_the_first_row_that_is_not_smooth_or_not_finite(data, said):
    ended = adcli("grad", "-e", "v = sqrt(x)", "--data", "-", "--strict", stdin=data)
    assert (ended.code, ended.err) == (4 if said else 0, said)
    quiet = adcli("grad", "-e", "v = sqrt(x)", "--data", "-", "--strict", "-q", stdin=data)
    assert (quiet.code, quiet.err, quiet.data) == (ended.code, "", ended.data)
    loose = adcli("grad", "-e", "v = sqrt(x)", "--data", "-", stdin=data)
    assert (loose.code, loose.err) == (0, said.replace("not smooth or not finite", "not finite"))


def test_strict_names_a_value_that_overflows_and_counts_rows_over_all_blocks():
    data = b"x\n" + b"1\n" * 200_000 + b"1000\n" + b"2\n" * 99_998 + b"0\n-1\n"
    ended = adcli("eval", "-e", "v = exp(x)", "--data", "-", "--strict", stdin=data)
    assert (ended.code, ended.err) == (4, ROUGH(200_002, "1 of 300001 rows", "note: v = inf is not finite"))


def test_strict_leaves_bad_rows_to_their_own_message():
    data = b"x\n1\nfour\n\n0\n"
    for policy, which in (("skip", "1 of 2 rows"), ("mark", "the first of 2 such rows of 3")):
        ended = adcli("grad", "-e", "v = sqrt(x)", "--data", "-", "--strict", "--on-error", policy, stdin=data)
        assert ended.code == 4 and f"<stdin>:5: not smooth or not finite, {which}\n" in ended.err


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


def test_a_file_in_its_own_place(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"x,y\n1,2\n")
    assert succeeds("grad", "-e", XY, "--data", path, "-o", path).data == b""
    assert path.read_bytes() == b"x,y,v,dv_dx,dv_dy\n1,2,2.0,2.0,1.0\n"
    before = path.read_bytes()
    assert adcli("eval", "-e", "w = x*y*zz", "--data", path, "-o", path).code == 5
    assert path.read_bytes() == before


def test_the_kind_is_seen_or_given(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"x\ty,z\n1\t2\n")
    assert adcli("eval", "-e", "v = x", "--data", path, "--input-format", "csv").code == 5
    assert succeeds("eval", "-e", "v = x", "--data", path, "--input-format", "tsv").data == b"x\ty,z\tv\n1\t2\t1.0\n"
    path = path.rename(tmp_path / "a.tsv")
    assert succeeds("eval", "-e", "v = x", "--data", path).data == b"x\ty,z\tv\n1\t2\t1.0\n"


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


@pytest.mark.parametrize(("options", "said"), [
    (["--at", "x=1:2:3", "--data", "-"], "with --data, --at gives inputs one value for all rows"),
    (["--at", "x=1,y=1", "--missing", "nan"], "--missing needs rows"),
    (["--data", "-", "--emit", "text"], "--data cannot be used with --emit"),
])
def test_options_that_exclude_each_other(options, said):
    ended = adcli("grad", "-e", XY, *options, stdin=b"x,y\n1,2\n")
    assert (ended.code, said in ended.err) == (2, True), ended.err


def test_nothing_piped():
    ended = adcli("grad", "-e", XY)
    assert (ended.code, "no values for x, y" in ended.err) == (2, True)


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
