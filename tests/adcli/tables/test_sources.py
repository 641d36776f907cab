"""Many tables as one: what --data names, in what order, and what is wrong where they do not fit each other."""
from __future__ import annotations

import gzip
import os
import pickle
import random
import resource
import shutil
import tempfile
from datetime import date

import polars as pl
import pytest
from adcli.lang.ir.errors import AdError
from command import adcli, succeeds

from adcli.tables.sources import Location, located, locations, natural

FOLDER = {
    "a-2.csv": "x,y\n1,2\n", "a-10.csv": "x,y\n3,4\n", "sub/a-1.csv.gz": "", "sub/b.NDJSON": "", "README.md": "", "a.csv.bak": "",
    ".hidden.csv": "", "_SUCCESS": "", "_log/c.csv": "", ".git/d.csv": "", "year=2024/m=10/p.parquet": "",
    "year=2024/m=9/p.pq": "",
    "odd/[1].csv": "", "plain": "x\n"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, text in FOLDER.items():
        (tmp_path / "d" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "d" / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "d"


MENTIONS = [
    # what is mentioned, the tables, what is noted
    ("d", "a-2.csv a-10.csv odd/[1].csv sub/a-1.csv.gz sub/b.NDJSON year=2024/m=9/p.pq year=2024/m=10/p.parquet",
     "note: files that are not tables are left out: d/README.md, d/a.csv.bak, d/plain"),
    ("d/", "a-2.csv a-10.csv odd/[1].csv sub/a-1.csv.gz sub/b.NDJSON year=2024/m=9/p.pq year=2024/m=10/p.parquet",
     "note: files that are not tables are left out: d/README.md, d/a.csv.bak, d/plain"),
    ("d/*.csv", "a-2.csv a-10.csv", None), ("d/a-[0-9].csv", "a-2.csv", None), ("d/**/*.csv*", "a-2.csv a-10.csv a.csv.bak "
     "odd/[1].csv sub/a-1.csv.gz", None), ("d/.*.csv", ".hidden.csv", None), ("d/p*", "plain", None), ("d/plain", "plain", None),
    ("d/odd/[1].csv", "odd/[1].csv", None), ("d/?ear=*", "year=2024/m=9/p.pq year=2024/m=10/p.parquet", None),
    ("d/_*", "_SUCCESS", None)]


@pytest.mark.parametrize(("mention", "files", "noted"), MENTIONS, ids=[m[0] for m in MENTIONS])
def test_a_mention_is_tables_in_natural_order(folder, mention, files, noted):
    notes = []
    found = located(mention, notes.append)
    assert [os.path.relpath(x.path, "d") for x in found] == files.split()
    assert [n.replace("d//", "d/") for n in notes] == ([noted] if noted else [])
    assert all(x.size == len(FOLDER[os.path.relpath(x.path, "d")]) for x in found)
    assert pickle.loads(pickle.dumps(found)) == found


NOWHERE = [
    ("d/*.cvs", "no file matches 'd/*.cvs'", "did you mean 'd/*.csv'?"),
    ("D/*.csv", "no file matches 'D/*.csv'", "did you mean 'd/*.csv'?"),
    ("d/a-3.csv", "d/a-3.csv: No such file or directory", "did you mean 'd/a-2.csv'?"),
    ("d/sub/*.tsv", "no file matches 'd/sub/*.tsv'", "there are a-1.csv.gz, b.NDJSON"),
    ("none.csv", "none.csv: No such file or directory", None), ("", ": No such file or directory", "write --data FILE"),
    ("d/a-2.csv,d/plain", "d/a-2.csv,d/plain: No such file or directory", "write --data d/a-2.csv --data d/plain"),
    ("d/empty", "d/empty: no table in this folder",
     "tables end in .csv, .tsv, .tab, .ndjson, .jsonl, .json, .parquet, .pq, .npz, also with .gz or .zst"),
    ("d/text", "d/text: no table in this folder", "these are no tables: d/text/1.txt, d/text/2.txt, d/text/3.txt, d/text/4.txt, "
     "d/text/5.txt and 2 more; "
     "tables end in .csv, .tsv, .tab, .ndjson, .jsonl, .json, .parquet, .pq, .npz, also with .gz or .zst")]


@pytest.mark.parametrize(("mention", "said", "help"), NOWHERE, ids=[n[0] or "nothing" for n in NOWHERE])
def test_a_mention_without_tables_is_a_fault_with_a_near_name(folder, mention, said, help):
    (folder / "empty").mkdir()
    (folder / "text").mkdir()
    for i in range(1, 8):
        (folder / f"text/{i}.txt").touch()
    with pytest.raises(AdError) as found:
        locations([mention])
    assert (found.value.message, found.value.help) == (said, help)


def test_a_file_is_read_once_for_each_mention(folder):
    notes = []
    paths = [x.path for x in locations(["d/*.csv", "d/a-2.csv"], notes.append)]
    assert paths == ["d/a-2.csv", "d/a-10.csv", "d/a-2.csv"]
    assert notes == ["note: d/a-2.csv is read again for --data d/a-2.csv"]


def test_natural_order_is_an_order():
    names = ["a", "a/b", "a1", "a01", "a1b", "a-10", "a-9", "10", "9", "", "é", "a/10/c", "a/9/d", "²"]
    want = sorted(names, key=natural)
    for _ in range(20):
        random.shuffle(names)
        assert sorted(names, key=natural) == want
    assert want.index("a-9") < want.index("a-10") and want.index("a/9/d") < want.index("a/10/c")


def test_what_is_known_of_a_table_without_opening_it(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    assert [Location(p).kind for p in ("a.CSV", "b.tsv.gz", "c.jsonl.zst", "d.pq", "e", "-", "f.gz")] == [
        "csv", "tsv", "ndjson", "parquet", None, None, None]
    assert locations([str(tmp_path / "pipe.csv")]) == [Location(str(tmp_path / "pipe.csv"))]
    (tmp_path / "x.csv").write_text("1")
    first = locations([str(tmp_path / "x.csv")])
    os.utime(tmp_path / "x.csv", ns=(1, 1))
    assert first[0].stamp and locations([str(tmp_path / "x.csv")])[0].stamp == "1" != first[0].stamp


# ---------------------------------------------------------------- rows of several tables

def grad(*args, stdin=b""):
    return succeeds("grad", "-e", "v = x*y", *args, stdin=stdin)


def test_several_tables_are_one(tmp_path):
    """Rows in the order of the tables, as one table that holds them gives them, in every format."""
    rows = [(i, i / 3, 2 - i) for i in range(60)]
    frame = pl.DataFrame(rows, schema=["id", "x", "y"], orient="row")
    frame.write_csv(tmp_path / "all.csv")
    frame[:20].write_csv(tmp_path / "p-1.csv")
    frame[20:30].write_parquet(tmp_path / "p-2.parquet")
    frame[30:45].write_csv(tmp_path / "p-10.tsv", separator="\t")
    frame[45:].select("y", "id", "x").write_ndjson(tmp_path / "p-11.ndjson")
    for form in (["--format", "csv"], ["--format", "tsv"], [], ["--only"], ["--format", "json"], ["--format", "text"]):
        want = grad("--data", tmp_path / "all.csv", *form)
        if form != ["--format", "json"]:
            assert grad("--data", tmp_path / "p-*", *form) == want
    assert [r["v"] for r in grad("--data", tmp_path / "p-*", "--format", "json").records] == [x * y for _, x, y in rows]
    grad("--data", tmp_path / "all.csv", "-o", tmp_path / "all.parquet")
    grad("--data", tmp_path / "p-*", "-o", tmp_path / "parts.parquet")
    assert pl.read_parquet(tmp_path / "parts.parquet").equals(pl.read_parquet(tmp_path / "all.parquet"))


def test_parquet_keeps_types_that_all_tables_have(tmp_path):
    for i, x in enumerate((1, 1.5)):
        pl.DataFrame({"x": [x], "y": [2.0], "d": [date(2024, 1, 2 + i)]}).write_parquet(tmp_path / f"{i}.parquet")
    grad("--data", tmp_path, "-o", tmp_path / "out.parquet")
    found = pl.read_parquet(tmp_path / "out.parquet")
    assert (found.schema["x"], found.schema["d"], found["x"].to_list()) == (pl.Float64, pl.Date, [1.0, 1.5])


def test_faults_name_their_table_and_its_line(tmp_path):
    for i in range(3):
        (tmp_path / f"{i}.csv").write_text("x\n1\n" + "oops\n" * (i == 1) + "2\n")
    ended = adcli("eval", "-e", "v = 2*x", "--data", tmp_path)
    assert (ended.code, ended.out) == (5, "x,v\n1,2.0\n2,4.0\n1,2.0\n")
    assert ended.err == (f"{tmp_path}/1.csv:3: column 'x': 'oops' is not a number\n"
                         f"{tmp_path}/1.csv: 1 bad row, after 1 good row; --on-error skip or mark continues\n")
    ended = adcli("eval", "-e", "v = 2*x", "--data", tmp_path, "--on-error", "skip")
    assert (ended.code, ended.err.splitlines()[1]) == (0, "3 tables: 1 of 7 rows bad, skipped")
    ended = adcli("eval", "-e", "v = 1/(x-2)", "--data", tmp_path / "0.csv", "--data", tmp_path / "2.csv", "--strict")
    assert ended.code == 4
    assert ended.err.startswith(f"{tmp_path}/0.csv:3: not smooth or not finite, the first of 2 such rows of 4\n")


# ---------------------------------------------------------------- what goes wrong on the way

def doubled(path, *options):
    return adcli("eval", "-e", "v = 2*x", "--data", path, *options)


@pytest.fixture
def three(tmp_path):
    """Three packed tables with a row each, but the second is as long as it is made."""
    for i in range(3):
        (tmp_path / f"{i}.csv.gz").write_bytes(gzip.compress(b"x\n%d\n" % i))
    return tmp_path


def test_a_table_that_ends_too_early_leaves_whole_rows_and_no_file(three):
    """All rows before it, and of its own those that are there."""
    rows = b"".join(b"%d\n" % i for i in range(400_000))
    packed = gzip.compress(b"x\n" + rows)
    (three / "1.csv.gz").write_bytes(packed[:-len(packed) // 3])
    ended = doubled(three)
    assert (ended.code, ended.err) == (2, f"adcli: error: {three}/1.csv.gz: the gzip data ends too early\n")
    got = ended.out.splitlines()
    assert 100_000 < len(got) < 400_000 and got == ["x,v", "0,0.0", *(f"{i},{2.0 * i}" for i in range(len(got) - 2))]
    assert doubled(three, "-o", three / "out.csv").code == 2
    assert sorted(p.name for p in three.iterdir()) == ["0.csv.gz", "1.csv.gz", "2.csv.gz"]


FAULTS = [
    # what becomes of the second table, the exit code, what is said
    (lambda path: path.unlink(), 2, "No such file or directory"), (lambda path: path.write_bytes(b""), 5, "the table is empty"),
    (lambda path: path.write_bytes(gzip.compress(b"y\n1\n")), 5, "no column 'x'"),
    (lambda path: path.write_bytes(b"\x1f\x8b" + 50 * b"\0"), 2, "damaged gzip data"),
    (lambda path: (path.unlink(), path.mkdir()), 2, "Is a directory")]


@pytest.mark.parametrize(("harm", "code", "said"), FAULTS, ids=[f[2] for f in FAULTS])
def test_a_table_that_spoils_after_it_was_found(harm, code, said, three, monkeypatch):
    """Rows before it go out, and no file appears."""
    found = locations([str(three)])
    monkeypatch.setattr("adcli.rows.stream.locations", lambda *_: found)
    harm(three / "1.csv.gz")
    ended = doubled(three)
    assert (ended.code, ended.out) == (code, "x,v\n0,0.0\n")
    assert ended.err.startswith(f"{'adcli: error: ' * (code == 2)}{three}/1.csv.gz:") and said in ended.err
    assert doubled(three, "-o", three / "out.csv").code == code
    assert not (three / "out.csv").exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root becomes somebody else")
def test_what_may_not_be_read(three):
    doubled(three / "0.csv.gz")   # compiled
    with tempfile.TemporaryDirectory() as folder:   # that of the test is below one that only its owner may enter
        os.chmod(folder, 0o755)
        for name in ("0.csv.gz", "1.csv.gz"):
            shutil.copy(three / name, folder)
        os.chmod(f"{folder}/1.csv.gz", 0)
        os.mkdir(f"{folder}/closed", 0)
        try:
            os.seteuid(65534)
            ends = [doubled(f"{folder}/{name}").err for name in ("1.csv.gz", "?.csv.gz", "", "closed", "closed/*.csv")]
        finally:
            os.seteuid(0)
    denied = [f"adcli: error: {folder}/{name}: Permission denied\n" for name in ("1.csv.gz", "1.csv.gz", "closed", "closed")]
    assert ends == [*denied, f"adcli: error: no file matches '{folder}/closed/*.csv'\n"]


def test_many_tables_need_one_open_file(tmp_path):
    for i in range(300):
        (tmp_path / f"{i}.csv").write_bytes(b"x\n%d\n" % i)
    doubled(tmp_path / "0.csv")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 8, before[1]))
        ended = doubled(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert (ended.code, ended.out.splitlines()) == (0, ["x,v", *(f"{i},{2.0 * i}" for i in range(300))])


def test_the_progress_is_over_all_bytes(tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr("adcli.output.streams.Progress.update", lambda self, rows, taken: shown.append((rows, taken, self.size)))
    monkeypatch.setattr("adcli.tables.streams.PIECE", 16)
    monkeypatch.setattr("adcli.tables.parquet.PARQUET_ROWS", 2)
    pl.DataFrame({"x": [1.0, 2.0, 3.0, 4.0]}).write_parquet(tmp_path / "a.parquet")
    for i in range(3):
        (tmp_path / f"{i}.csv").write_bytes(b"x\n%d\n" % i)
    succeeds("eval", "-e", "v = 2*x", "--data", tmp_path, "--jobs", "1")
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert shown[-1] == (7, size, size) and sorted(shown) == shown

