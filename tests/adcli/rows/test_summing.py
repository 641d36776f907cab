"""--sum and --mean: against fractions of the rows' own results, by every way of reading, in every format, and what is refused."""
from __future__ import annotations

import csv
import io
import json
import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from command import adcli, numbers, succeeds
from session_seed import drawn, half

from adcli.answers import evaluation
from adcli.rows import blocks, parquet_tables, sum_run, summing, tables

PROGRAM = ["-e", "param k = 2", "-e", "v = x*sin(y)", "-e", "u = abs(x) + k"]
VERBS = {"eval": [], "grad": ["--order", "2"], "jacobian": ["--wrt", "x,y,k"], "hessian": ["--of", "v"],
         "jvp": ["--tangent", "x=2"],
         "vjp": ["--cotangent", "v=1"], "hvp": ["--of", "v", "--tangent", "y=1"]}
SITES = ["north", 'so"uth', "a,b", "7", ""]


@pytest.fixture(scope="module")
def rows():
    """Rows with a weight and a group, some of which cancel."""
    random = drawn("--sum")
    found = []
    for i in range(120):
        x = math.ldexp(random.uniform(-1, 1), random.randint(-300, 300)) if i % 3 or not i else -found[-1]["x"]
        found.append({"x": x, "y": random.uniform(-9, 9), "w": random.choice([0.5, -3.0, 0.1]), "site": random.choice(SITES)})
    return found


@pytest.fixture(scope="module")
def files(rows, tmp_path_factory):
    """The same rows in every format."""
    folder = tmp_path_factory.mktemp("rows")
    text = io.StringIO()
    writer = csv.DictWriter(text, ["x", "y", "w", "site"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    (folder / "rows.csv").write_text(text.getvalue())
    (folder / "rows.tsv").write_text("".join("\t".join(line) + "\n" for line in csv.reader(io.StringIO(text.getvalue()))
                                             ).replace('so"uth', '"so""uth"'))
    (folder / "rows.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "rows.json").write_text(json.dumps(rows, indent=1))
    pl.DataFrame(rows).write_parquet(folder / "rows.parquet")
    pl.DataFrame(rows).with_columns(w=pl.col("w").cast(pl.String)).write_parquet(folder / "texts.parquet")
    return sorted(folder.iterdir())


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def nearest(x):
    try:
        return x.numerator / x.denominator
    except OverflowError:
        return math.inf if x > 0 else -math.inf


@pytest.fixture(params=["small", "large"])
def ways(request, monkeypatch):
    """Blocks as they are, and small ones that are read fast nevertheless."""
    if request.param == "large":
        for module, name, value in ((tables, "PIECE", 900), (tables, "BLOCK", 500), (blocks, "PIECE", 400), (blocks, "LARGE", 0),
                                    (summing, "PIECE", 400), (evaluation, "NUMBERS_AT_ONCE", 3),
                                    (parquet_tables, "PARQUET_ROWS", 16), (parquet_tables, "FRAME_ROWS", 50)):
            monkeypatch.setattr(module, name, value)


@pytest.mark.parametrize("verb", half(list(VERBS)))
def test_a_sum_is_that_of_the_fractions(verb, files, rows):
    """Of every result, weighted or not, summed or averaged, by groups or not, by one thread or four."""
    each = table(succeeds(verb, *PROGRAM, *VERBS[verb], "--data", files[0].with_name("rows.csv"), "--only").out)
    for group in ([], ["--group-by", "site"]):
        for weights in ([], ["--weights", "w"]):
            for how in ("--sum", "--mean"):
                asked = [verb, *PROGRAM, *VERBS[verb], how, *group, *weights, "--data", files[0].with_name("rows.csv")]
                found = table(succeeds(*asked, "--format", "csv", "--jobs", "4").out)
                assert [row.get("site", "") for row in found] == list(dict.fromkeys(r["site"] for r in rows) if group else [""])
                for row in found:
                    mine = [(r, e) for r, e in zip(rows, each, strict=True) if not group or r["site"] == row["site"]]
                    w = [Fraction(r["w"]) if weights else Fraction(1) for r, _ in mine]
                    below = sum(w) if how == "--mean" else 1
                    want = {name: nearest(sum(k * Fraction(float(e[name])) for k, (_, e) in zip(w, mine, strict=True)) / below)
                            if below else math.nan for name in each[0]}
                    assert int(row["rows"]) == len(mine)
                    assert repr({name: float(row[name]) for name in want}) == repr(want)
                    assert not weights or float(row["weights"]) == nearest(sum(w))


def test_every_way_of_reading_gives_the_same_bytes(files, ways):
    asked = ["grad", *PROGRAM, "--sum", "--gauss-newton", "--weights", "w", "--group-by", "site", "--status"]
    for form in ("csv", "json"):
        found = {file.name: succeeds(*asked, "--data", file, "--format", form, "--jobs", jobs).out
                 for file, jobs in zip(files, (1, 4, 2, 3, 4, 1), strict=True)}
        assert len(set(found.values())) == 1, found
    assert len({succeeds("grad", *PROGRAM, "--mean", "--data", file).out for file in files}) == 1


def test_many_tables_are_one(files, rows, ways, tmp_path):
    """Each format once, columns in another order and some that no sum needs: as one table of all rows."""
    (tmp_path / "other.csv").write_text("site,extra,y,x,w\nnew,?,1,2,3\nnorth,?,1,0.5,1\n")
    (tmp_path / "empty.csv").write_text("w,site,y,x\n")
    found = [tmp_path / "empty.csv", *files, tmp_path / "other.csv"]
    asked = ["grad", *PROGRAM, "--mean", "--weights", "w", "--group-by", "site", "--format", "csv"]
    whole = [*rows * len(files), *({"x": x, "y": 1.0, "w": w, "site": s} for x, w, s in ((2.0, 3.0, "new"), (0.5, 1.0, "north")))]
    (tmp_path / "whole.json").write_text("".join(json.dumps(row) + "\n" for row in whole))
    many = [word for file in found for word in ("--data", file)]
    assert succeeds(*asked, *many).out == succeeds(*asked, "--data", tmp_path / "whole.json").out


def test_one_result_in_every_format(tmp_path):
    data = b"x,y,g\n3,2,a\n1,4,b\n0,1,a\n"

    def summed(*options, verb="grad"):
        return succeeds(verb, "-e", "v = x*abs(y)*x", *options, stdin=data)

    assert summed("--sum").out == "rows = 3\nv = 22.0\ndv_dx = 20.0\ndv_dy = 10.0\n"
    assert numbers(summed("--mean").out) == {"rows": 3.0, "v": 22 / 3, "dv_dx": 20 / 3, "dv_dy": 10 / 3}
    assert summed("--sum", "--format", "tsv", "--group-by", "g,y").out == \
        "g\ty\trows\tv\tdv_dx\tdv_dy\na\t2\t1\t18.0\t12.0\t9.0\nb\t4\t1\t4.0\t8.0\t1.0\na\t1\t1\t0.0\t0.0\t0.0\n"
    assert summed("--sum", "--group-by", "g", "--fmt", "%.2f").out == \
        "# g = a\nrows = 2\nv = 18.00\ndv_dx = 12.00\ndv_dy = 9.00\n\n# g = b\nrows = 1\nv = 4.00\ndv_dx = 8.00\ndv_dy = 1.00\n"
    levels = {"smooth": 2, "kink": 0, "jump": 0, "singular": 0, "pole": 0, "domain": 0, "indeterminate": 0}
    assert summed("--sum", "--group-by", "g", "--format", "json", "--gauss-newton").records[0] == {
        "group": {"g": "a"}, "rows": 2, "value": {"v": 18.0}, "grad": {"v": {"x": 12.0, "y": 9.0}}, "gauss_newton": {
            "rtr": 324.0, "jtr": {"x": 216.0, "y": 162.0}, "jtj": {"x": {"x": 144.0, "y": 108.0}, "y": {"y": 81.0}}},
        "status": levels}
    summed("--sum", "-o", tmp_path / "a.parquet", "--group-by", "g", "--status")
    found = pl.read_parquet(tmp_path / "a.parquet")
    assert found.select("g", "rows", "rows_smooth", "rows_kink", "v").rows() == [("a", 2, 2, 0, 18.0), ("b", 1, 1, 0, 4.0)]
    summed("--sum", "-o", tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as arrays:
        assert {name: a.item() for name, a in arrays.items()} == {"rows": 3, "v": 22.0, "dv_dx": 20.0, "dv_dy": 10.0}
    assert summed("--sum", "--format", "mtx", verb="hessian").out.endswith("2 2 3\n1 1 14.0\n2 1 8.0\n2 2 0.0\n")
    assert summed("--sum", "--format", "coo", verb="jacobian").out == "i,j,row,column,value\n0,0,v,x,20.0\n0,1,v,y,10.0\n"


def test_names_that_are_taken_are_left_to_their_owners():
    found = succeeds("eval", "-e", "weights = rows", "--sum", "--weights", "w", "--group-by", "rows", "--format", "csv",
                     stdin=b"rows,w\n1,2\n1,3\n")
    assert found.out == "rows,rows_1,weights_1,weights\n1,2,5.0,5.0\n"


@pytest.mark.parametrize(("data", "options", "want"), [
    (b"x\n", ["--sum"], "rows = 0\nv = 0.0\n"),
    (b"x,g\n", ["--sum", "--group-by", "g"], ""),
    (b"x,g\n", ["--mean", "--group-by", "g", "--format", "csv"], "g,rows,v\n"),
    (b"x\n1\n0\n", ["--sum", "--status"], "rows = 2\nrows_smooth = 1\nrows_kink = 1\nv = 1.0\n"),
    (b"my x;g\n1,5;a\n", ["--sum", "--decimal", ",", "--rename", "my x=x", "--format", "csv", "--group-by", "g"],
     'g;rows;v\na;1;1,5\n'),
    (b"1,b\n", ["--sum", "--no-header", "--columns", "x,g", "--group-by", "g"], "# g = b\nrows = 1\nv = 1.0\n"),
    (b"1,3\n2,1\n", ["--sum", "--no-header", "--weights", "n"], "rows = 2\nweights = 4.0\nv = 5.0\n"),
    (b"x,n\n2,3\n2,2\n", ["--mean", "--weights", "x"], "rows = 2\nweights = 4.0\nv = 2.0\n"),
    (b'{"x":1,"g":"1"}\n{"x":2,"g":1}\n{"x":3,"g":null}\n', ["--sum", "--group-by", "g", "--format", "csv"],
     "g,rows,v\n1,2,3.0\n,1,3.0\n"),
    (b"x\n1.7e308\n1.7e308\n", ["--mean"], "rows = 2\nv = 1.7e+308\n"),
], ids=lambda x: repr(x)[:50])
def test_small_tables(data, options, want):
    assert succeeds("eval", "-e", "v = abs(x)", *options, stdin=data).out == want


@pytest.mark.parametrize(("data", "options", "said", "out", "code"), [
    (b"x\n1\ny\n", ["--sum"], "<stdin>:3: column 'x': 'y' is not a number\n<stdin>: 1 bad row, after 1 good row;"
     " --on-error skip continues\n", "", 5),
    (b"x\n1\ny\n2\n", ["--sum", "--on-error", "skip"], "<stdin>:3: column 'x': 'y' is not a number\n"
     "<stdin>: 1 of 3 rows bad, skipped\n", "rows = 2\nf = 0.6931471805599453\n", 0),
    (b"x,w\n1,nan\n1,-inf\n1,1\n", ["--sum", "--weights", "w", "--on-error", "skip"],
     "<stdin>:2: column 'w' is nan: a weight must be a finite number\n<stdin>:3: column 'w' is -inf: a weight must be a finite"
     " number\n<stdin>: 2 of 3 rows bad, skipped\n", "rows = 1\nweights = 1.0\nf = 0.0\n", 0),
    (b"x,w\n1,inf\n", ["--sum", "--weights", "w"], "<stdin>:2: column 'w' is inf: a weight must be a finite number\n"
     "<stdin>: 1 bad row, after 0 good rows; --on-error skip continues\n", "", 5),
    (b"x\n1\n0\n-1\n", ["--sum"], "<stdin>:3: not finite, the first of 2 such rows of 3\n"
     "-e:1:5: note: log(u) at u = 0.0: singular\n", "rows = 3\nf = nan\n", 0),
    (b"x\n1\n0\n", ["--sum", "--strict"], "<stdin>:3: not smooth or not finite, 1 of 2 rows\n"
     "-e:1:5: note: log(u) at u = 0.0: singular\n", "rows = 2\nf = -inf\n", 4),
    (b"x\n0\n", ["--sum", "-q"], "", "rows = 1\nf = -inf\n", 0),
    (b"x\n", ["--mean"], "note: there are no rows, so the means are nan\n", "rows = 0\nf = nan\n", 0),
    (b"x,w\n2,1\n3,-1\n", ["--mean", "--weights", "w", "--strict"],
     "note: the weights add up to 0, so the means are nan\n", "rows = 2\nweights = 0.0\nf = nan\n", 4),
    (b"x,w,g\n8,1.7e308,a\n9,1.7e308,a\n", ["--sum", "--weights", "w", "--group-by", "g"],
     "note: g = a: weights = inf: the sum is beyond the largest double\nnote: g = a: f = inf: the sum is beyond the largest"
     " double\n", "# g = a\nrows = 2\nweights = inf\nf = inf\n", 0),
    (b'{"x":1,"g":"a"}\n{"x":1}\n', ["--sum", "--group-by", "g"], "<stdin>:2: no 'g', which --group-by names\n"
     "<stdin>: 1 bad row, after 1 good row; --on-error skip continues\n", "", 5),
    (b"x\n1\n", ["--sum", "--group-by", "g"],
     "<stdin>:1: no column 'g', which --group-by names\nhelp: the columns are x\n", "", 5),
    (b"x,weight\n1,2\n", ["--sum", "--weights", "wieght"], "<stdin>:1: no column 'wieght', which --weights names\n"
     "help: did you mean 'weight'?\n", "", 5),
    (b"x;g\n1,5;a\n", ["--sum", "--group-by", "g"],
     "<stdin>:1: no column 'g', which --group-by names\nhelp: add --delimiter ';'\n", "", 5),
    (b"", ["--sum", "--data", "-"], "<stdin>:1: the table is empty: no header\n", "", 5),
], ids=lambda x: repr(x)[:60])
def test_what_is_said(data, options, said, out, code, ways):
    found = adcli("eval", "-e", "log(x)", *options, stdin=data)
    assert (found.err, found.out, found.code) == (said, out, code)


@pytest.mark.parametrize(("command", "said"), [
    ("eval -e x --sum --mean",
     "--sum and --mean cannot be used together\nhelp: a mean is a sum divided by 'rows', or by 'weights'"),
    ("eval -e x --weights w", "--weights needs --sum or --mean"),
    ("eval -e x --group-by w --at x=1", "--group-by needs --sum or --mean"),
    ("eval -e x --sum --only", "--only has no effect with --sum, which writes no rows"),
    ("eval -e x --mean --on-error mark", "--on-error mark marks rows, and --mean writes none\nhelp: write --on-error skip"),
    ("eval -e x --sum --digits", "--digits cannot be used with --sum"),
    ("eval -e x --sum --enclose", "--enclose cannot be used with --sum"),
    ("eval -e x --sum --emit c", "--sum cannot be used with --emit, which writes a program"),
    ("eval -e x --sum --group-by a,,b", "--group-by names nothing\nhelp: write --group-by site,year"),
    ("eval -e x --sum --group-by a,a", "--group-by names 'a' twice"),
    ("eval -e x --sum --weights=", "--weights names nothing\nhelp: write --weights w"),
    ("eval -e x*k --sum --weights k --data - --at k=1",
     "--weights k: --at gives it one value in every row\nhelp: leave out --at k=…"),
    ("grad -e x*k --of f:x,x --sum --gauss-newton", "--gauss-newton needs the outputs and their first derivatives\n"
     "help: name outputs alone with --of"),
    ("hessian -e x**2 --sum --format mtx --group-by g", "--group-by has no place in --format mtx, which writes one matrix"),
    ("jacobian -e x**2 --sum --format coo --status", "--status needs --format text, csv or json"),
    ("jacobian -e x**2 --sum --pattern", "--sum cannot be used with --pattern, which shows no numbers"),
    ("eval -e x --sum -o a.npy", "-o a.npy: a sum is several arrays\nhelp: use .npz"),
])
def test_what_is_refused(command, said):
    found = adcli(*command.split(), stdin=b"x,g\n1,a\n")
    assert (found.err, found.out, found.code) == (f"adcli: error: {said}\n", "", 2)


def test_no_groups_have_columns_all_the_same(tmp_path):
    for name in ("a.parquet", "a.npz"):
        succeeds("eval", "-e", "v = x", "--sum", "--group-by", "g", "-o", tmp_path / name, stdin=b"x,g\n")
    assert dict(pl.read_parquet(tmp_path / "a.parquet").schema) == {"g": pl.String, "rows": pl.Int64, "v": pl.Float64}
    with np.load(tmp_path / "a.npz") as arrays:
        assert {name: a.shape for name, a in arrays.items()} == {"g": (0,), "rows": (0,), "v": (0,)}


def test_lists_in_parquet_are_groups_as_their_text_is(tmp_path):
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "g": [[1, 2], [], [1, 2], None], "h": [[0.5], [0.5], [0.5], [float("inf")]]})
    frame.write_parquet(tmp_path / "a.parquet")
    run = ["eval", "-e", "v = x", "--data", tmp_path / "a.parquet", "--sum", "--format", "csv", "--group-by"]
    assert succeeds(*run, "g,h").out == \
        'g,h,rows,v\n"[1,2]",[0.5],2,4.0\n[],[0.5],1,2.0\n,[Infinity],1,4.0\n'
    ended = adcli("eval", "-e", "v = h", "--data", tmp_path / "a.parquet", "--sum")
    assert (ended.code, ended.err.splitlines()[0]) == (5, f"{tmp_path}/a.parquet:1: column 'h': '[0.5]' is not a number")


# ---------------------------------------------------------------- points

def test_points_are_summed_as_rows_are(tmp_path, monkeypatch):
    """More points than a block has, several grids and points of a file."""
    monkeypatch.setattr(sum_run, "POINTS_AT_ONCE", 100)
    verb = "jvp"
    (tmp_path / "points.json").write_text('[{"x": 0.1, "y": 2}, {"x": -3, "y": 1e-3}]')
    at = ["--at", "x=-1:2:21,y=0:3:17", "--at", f"@{tmp_path / 'points.json'}"]
    only = table(succeeds(verb, *PROGRAM, *VERBS[verb], *at, "--format", "csv").out)
    (tmp_path / "rows.ndjson").write_text("".join(json.dumps({"x": float(p["x"]), "y": float(p["y"])}) + "\n" for p in only))
    asked = [verb, *PROGRAM, *VERBS[verb], "--mean", "--status"]
    summed = succeeds(*asked, *at)
    assert summed.out.startswith(f"rows = {21 * 17 + 2}\nrows_smooth")
    assert summed.out == succeeds(*asked, "--data", tmp_path / "rows.ndjson").out


@pytest.mark.parametrize(("options", "said", "out", "code"), [
    ("-e log(x) --at x=-1:1:5", "note: not finite at x = -1.0, the first of 3 such points of 5\n"
     "-e:1:5: note: log(u) at u = -1.0 is nan: domain\n", "rows = 5\nf = nan\n", 0),
    ("-e abs(x) --at x=-1:1:3 --strict", "note: not smooth or not finite at x = 0.0, 1 of 3 points\n"
     "-e:1:5: note: abs(u) at u = 0.0: kink\n", "rows = 3\nf = 2.0\n", 4),
    ("-e log(x) --at x=0 --sum --strict -q", "", "rows = 1\nf = -inf\n", 4),
    ("-e x --at x=1 --weights w", "adcli: error: --weights needs rows (--data FILE)\n", "", 2),
    ("-e x --at x=1 --on-error skip", "adcli: error: --on-error needs rows (--data FILE)\n", "", 2),
    ("-e x --at y=1", "adcli: error: no input 'y'\nhelp: the inputs are x\n", "", 2),
    ("-e 3.5", "", "rows = 1\nf = 3.5\n", 0),
])
def test_what_is_said_of_points(options, said, out, code):
    found = adcli("eval", *options.split(), *([] if "--sum" in options else ["--sum"]))
    assert (found.err, found.out, found.code) == (said, out, code)


def test_an_input_that_leaves_its_range_is_told_once():
    for options, data in ((["--at", "x=0:2:90000"], b""), (["--data", "-"], b"x\n2\n3\n")):
        found = adcli("eval", "-e", "input x in [0, 1]", "-e", "v = x", "--sum", *options, stdin=data)
        assert found.code == 0 and found.err.count("is outside its range [0.0, 1.0]") == 1 and found.err.count("\n") == 1


def test_sums_over_points_of_tensors_are_refused():
    found = adcli("eval", "-e", "input x(N)", "-e", "v +=! x(i)", "--at", "x=[1,2]", "--sum")
    assert (found.err, found.code) == (
        "adcli: error: --sum of a program with tensors needs rows\nhelp: give a table: --data FILE, or a pipe\n", 2)
