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
from adcli.rows import blocks, sum_run, summing
from adcli.tables import parquet as parquet_tables
from adcli.tables import streams as tables

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
    for form, given in (("csv", files), ("json", files[::3])):
        found = {file.name: succeeds(*asked, "--data", file, "--format", form, "--jobs", jobs).out
                 for file, jobs in zip(given, (1, 4, 2, 3, 4, 1), strict=False)}
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


def test_an_input_that_leaves_its_range_is_told_once():
    for options, data in ((["--at", "x=0:2:90000"], b""), (["--data", "-"], b"x\n2\n3\n")):
        found = adcli("eval", "-e", "input x in [0, 1]", "-e", "v = x", "--sum", *options, stdin=data)
        assert found.code == 0 and found.err.count("is outside its range [0.0, 1.0]") == 1 and found.err.count("\n") == 1

