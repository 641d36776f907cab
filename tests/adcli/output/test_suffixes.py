"""The suffix of -o says how results are written, in every verb that writes numbers; --format overrules it."""
from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import re
from types import SimpleNamespace
from unittest import mock

import numpy as np
import polars
import pytest
from adcli.lang.ir.errors import AdError, install
from command import adcli, succeeds
from session_seed import drawn

from adcli.output import streams, suffixes

XY = "v = x*y"
AT = ["--at", "x=1:2:3,y=2"]
CSV, TEXT = "x,y,v\n1.0,2.0,2.0\n1.5,2.0,3.0\n2.0,2.0,4.0\n", "# x = 1.0, y = 2.0\nv = 2.0\n"


def written(path, *options, verb="eval"):
    assert succeeds(verb, "-e", XY, *options, "-o", path).out == ""
    return path.read_bytes()


@pytest.mark.parametrize(("name", "begins"), [
    ("out.csv", CSV), ("OUT.CSV", CSV), ("out.tsv", CSV.replace(",", "\t")), ("out.tab", CSV.replace(",", "\t")),
    ("out.json", '[\n{"at":'), ("out.ndjson", '{"at":'), ("out.jsonl", '{"at":'), ("out.parquet", "PAR1"), ("out.npz", "PK"),
    ("out.npy", "\x93NUMPY"), ("out", TEXT), ("out.txt", TEXT), ("out.ad", TEXT), ("out.dat", TEXT), ("out.csv.old", TEXT)])
def test_points(tmp_path, name, begins):
    options = ["--of", "v"]
    assert written(tmp_path / name, *AT, *options).startswith(begins.encode("latin1"))
    if name not in ("out.npz", "out.npy"):
        assert written(tmp_path / name, *AT, "--format", "json").startswith(b'{"at":'), "--format overrules"


@pytest.mark.parametrize(("name", "want"), [
    ("out.csv", b"y,x,v\n2,1,2.0\n"), ("out.tsv", b"y\tx\tv\n2\t1\t2.0\n"), ("out.json", b'[\n{"y":2,"x":1,"v":2.0}\n]\n'),
    ("out.ndjson", b'{"y":2,"x":1,"v":2.0}\n'), ("out.jsonl", b'{"y":2,"x":1,"v":2.0}\n'),
    ("out", b"y\tx\tv\n2\t1\t2.0\n"), ("out.txt", b"y\tx\tv\n2\t1\t2.0\n")])
def test_rows(tmp_path, name, want):
    (tmp_path / "in.tsv").write_text("y\tx\n2\t1\n")
    assert written(tmp_path / name, "--data", tmp_path / "in.tsv") == want
    packed = [written(tmp_path / f"{name}.gz", "--data", tmp_path / "in.tsv") for _ in range(2)]
    assert (gzip.decompress(packed[0]), packed[0]) == (want, packed[1])


@pytest.mark.parametrize(("suffix", "unpack"), [(".gz", gzip.decompress), (".bz2", bz2.decompress), (".xz", lzma.decompress)])
def test_packed(tmp_path, suffix, unpack):
    for points in (AT, ["--at", "x=0:1:5000,y=2"]):
        plain = written(tmp_path / "out.csv", *points)
        packed = written(tmp_path / f"out.csv{suffix}", *points)
        assert unpack(packed) == plain
        assert len(packed) < len(plain) or len(plain) < 100
    assert unpack(written(tmp_path / f"out{suffix}", *AT)).startswith(TEXT.encode())
    assert written(tmp_path / f"t.ad{suffix}", "--emit", "text", verb="grad").startswith(b"# adcli")


def test_what_is_emitted_drawn_or_explained_is_not_touched(tmp_path):
    assert written(tmp_path / "out.csv", "--emit", "text", verb="grad").startswith(b"# adcli")
    assert written(tmp_path / "out.xlsx", "--pattern", verb="jacobian")
    assert written(tmp_path / "out.json", "--explain", verb="jacobian")[:1] != b"{"
    os.mkfifo(tmp_path / "pipe.json")
    reader = os.open(tmp_path / "pipe.json", os.O_RDONLY | os.O_NONBLOCK)
    succeeds("eval", "-e", XY, *AT, "-o", tmp_path / "pipe.json")
    assert os.read(reader, 1000).startswith(TEXT.encode())
    os.close(reader)


@pytest.mark.parametrize(("verb", "name", "options", "begins"), [
    ("jacobian", "out.mtx", ["--at", "x=1,y=2"], "%%MatrixMarket"), ("trace", "out.md", ["--at", "x=1,y=2"], "|"),
    ("trace", "out.tex", ["--at", "x=1,y=2"], "\\begin"), ("trace", "out.json", ["--at", "x=1,y=2"], "{"),
    ("why", "out.json", ["--at", "x=0,y=2"], "{"), ("check", "out.json", ["--at", "x=1,y=2"], "{"),
    ("propagate", "out.csv", ["--at", "x=1±0.1,y=2"], "x,y,u_x"),
    ("grad", "out.json", [*AT, "--enclose"], '[\n{"at"'), ("grad", "out.csv", [*AT, "--digits"], "x,y,v,v_digits")])
def test_every_verb(tmp_path, verb, name, options, begins):
    assert written(tmp_path / name, *options, verb=verb).startswith(begins.encode())
    assert gzip.decompress(written(tmp_path / f"{name}.gz", *options, verb=verb)).startswith(begins.encode())


def test_files_of_numbers_hold_inputs_and_results(tmp_path):
    frame = polars.read_parquet(written(tmp_path / "a.parquet", *AT, "--status"))
    assert frame.write_csv() == "x,y,v,status\n1.0,2.0,2.0,smooth\n1.5,2.0,3.0,smooth\n2.0,2.0,4.0,smooth\n"
    written(tmp_path / "a.npz", *AT)
    with np.load(tmp_path / "a.npz") as found:
        assert {n: found[n].tolist() for n in found} == {"x": [1.0, 1.5, 2.0], "y": [2.0] * 3, "v": [2.0, 3.0, 4.0]}
    written(tmp_path / "a.npz", "--at", "x=1,y=2")
    with np.load(tmp_path / "a.npz") as found:
        assert {n: found[n].tolist() for n in found} == {"x": 1.0, "y": 2.0, "v": 2.0}
    (tmp_path / "p.json").write_text(json.dumps([{"x": 1, "y": 2}, {"y": 3, "x": 5}]))
    assert polars.read_parquet(written(tmp_path / "a.parquet", "--at", f"@{tmp_path}/p.json"))["v"].to_list() == [2.0, 15.0]


def test_suffixes_are_in_small_letters_and_of_one_kind():
    known = {*suffixes.FORMATS, *suffixes.FOREIGN, *suffixes.PACKED}
    assert len(known) == len(suffixes.FORMATS) + len(suffixes.FOREIGN) + len(suffixes.PACKED)
    assert all(re.fullmatch(r"\.[a-z0-9]+", s) for s in known)
    written = {"json", "csv", "tsv", "parquet", "npz", "npy", "mtx", "markdown", "latex", "svg", "png", "pdf", "dot"}
    assert set(suffixes.FORMATS.values()) == written and set(suffixes.ARRAYS) < written
    others = (".ndjson", ".jsonl", ".tab", ".pq", ".md", ".tex", ".gv")
    assert all(f.startswith(s[1:]) or s in others for s, f in suffixes.FORMATS.items())


@pytest.mark.parametrize(("path", "want"), [
    (None, ("", "")), ("", ("", "")), ("-", ("", "")), ("a", ("", "")), ("a.csv", (".csv", "")), ("A.CSV.GZ", (".csv", ".gz")),
    ("a.gz", ("", ".gz")), ("d.csv/a", ("", "")), (".csv", ("", "")), ("a.tar.xz", (".tar", ".xz")),
    ("a.b.json.zst", (".json", ".zst")),
    ("/dev/null.csv", (".csv", "")), ("/dev/null", ("", "")), ("a.bz2.csv", (".csv", ""))])
def test_a_name_says_its_format_and_its_packing(path, want):
    assert suffixes.split(path) == want


@pytest.mark.parametrize(("path", "formats", "arrays", "said"), [
    ("a.npz", ["json"], True, "npz"),
    ("a.npz", ["json"], False, "-o a.npz: eval does not write .npz files\nuse .json, .ndjson or .jsonl, or say"),
    ("a.xlsx", ["json"], True,
     "-o a.xlsx: eval does not write .xlsx files\nuse .json, .ndjson, .jsonl, .npz or .npy, or say with --format what to write"),
    ("a.xlsx", ["latex"], False, "-o a.xlsx: eval does not write .xlsx files\nuse .tex, or say with --format what to write"),
    ("a.tsv", ["csv"], False, "-o a.tsv: eval does not write .tsv files\nuse .csv, or"),
    ("a.tsv", ["csv", "tsv"], False, "tsv"), ("a.tsv.gz", ["csv", "tsv"], False, "tsv"), ("a.dat", ["csv"], False, None),
    (None, ["csv"], False, None)])
def test_a_verb_writes_what_it_can(path, formats, arrays, said):
    try:
        found = suffixes.form_of(path, formats, "eval", arrays)
    except AdError as error:
        assert f"{error.message}\n{error.help}".startswith(said)
    else:
        assert found == said


@pytest.mark.parametrize("packing", [".gz", ".bz2", ".xz"])
def test_packed_bytes_depend_on_the_bytes_alone(packing, monkeypatch):
    files = []
    for now in (0.0, 1e9):
        monkeypatch.setattr("time.time", lambda now=now: now)
        with suffixes.packer(packing)(out := io.BytesIO()) as within:
            within.write(b"text" * 100)
        assert not out.closed
        files.append(out.getvalue())
    assert files[0] == files[1] and len(files[0]) < 400
    assert suffixes.packer("") is suffixes.packer(".csv") is None


@pytest.mark.parametrize("where", [AT, ["--data", "rows.csv"]], ids=["points", "rows"])
def test_parquet_needs_polars_and_no_terminal(tmp_path, monkeypatch, where):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("x,y\n1,2\n")
    with mock.patch.object(streams, "find_spec", lambda _: None):
        ended = adcli("eval", "-e", XY, *where, "-o", "out.parquet")
    said = f"adcli: error: Parquet needs polars, which is not installed\nhelp: {install('polars')}\n"
    assert (ended.code, ended.err) == (2, said)
    terminal = SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: True))
    with mock.patch.object(streams, "sys", terminal), pytest.raises(AdError, match="refusing to write Parquet to a terminal"):
        streams.require_parquet(None)
    assert adcli("eval", "-e", XY, *where, "--format", "parquet").data.startswith(b"PAR1")


# ---------------------------------------------------------------- every verb and every suffix

SEEDS = {"jvp": ["--tangent", "x=1"], "hvp": ["--tangent", "x=1"], "taylor": ["--tangent", "x=1"], "vjp": ["--cotangent", "v=1"]}
ROWS = "x,y,u_x,u_y\n1,2,0.1,0.1\n3,4,0.1,0.1\n"
POINT, POINTS, DATA = "point", "points", "rows"


def read(path, data):
    """The names of the columns, and how many rows there are, as readers of such files have them; None of one point in JSON."""
    if path.suffix == ".gz":
        return read(path.with_suffix(""), gzip.decompress(data))
    match path.suffix:
        case ".json":
            found = json.loads(data)
            return (found[0].keys(), len(found)) if isinstance(found, list) else (found.keys(), None)
        case ".ndjson":
            rows = [json.loads(line) for line in data.splitlines()]
            return rows[0].keys(), len(rows)
        case ".parquet":
            frame = polars.read_parquet(io.BytesIO(data))
        case ".npz":
            with np.load(io.BytesIO(data)) as arrays:
                return list(arrays), arrays["y"].size
        case suffix:
            frame = polars.read_csv(data, separator="\t" if suffix == ".tsv" else ",")
    return frame.columns, len(frame)


@pytest.mark.parametrize("verb", ["eval", "grad", "jacobian", "hessian", "jvp", "vjp", "hvp", "taylor", "propagate"])
def test_what_every_verb_writes_is_read_by_others(tmp_path, verb):
    """One point, several, and rows, in every format: read back by a library, with as many rows and the columns of CSV."""
    (tmp_path / "in.csv").write_text(ROWS)
    spread = "±0.1" if verb == "propagate" else ""
    where = {POINT: ["--at", f"x=1{spread},y=2"], POINTS: ["--at", f"x=1{spread},y=2", "--at", f"x=3{spread},y=4"],
             DATA: ["--data", tmp_path / "in.csv"]}
    for kind, options in where.items():
        header: list[str] = []
        for suffix in (".csv", *drawn(verb, kind).sample((".csv.gz", ".tsv", ".json", ".ndjson.gz", ".parquet", ".npz"), 3)):
            path = tmp_path / f"{kind}{suffix}"
            ended = adcli(verb, "-e", XY, *options, *SEEDS.get(verb, ()), "-o", path)
            if verb == "propagate" and kind != DATA and suffix in (".tsv", ".parquet", ".npz"):
                assert ended.code == 2 and "an uncertainty budget is not written as" in ended.err and not path.exists()
                continue
            assert (ended.code, ended.err) == (0, ""), (path, ended)
            columns, rows = read(path, path.read_bytes())
            header = header or list(columns)
            assert rows == (None if suffix == ".json" and kind == POINT else {POINT: 1}.get(kind, 2)), path
            if kind == DATA or "json" not in suffix:
                assert list(columns) == header, path


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".json", ".parquet.gz"])
def test_the_format_overrules_the_suffix(tmp_path, suffix):
    (tmp_path / "in.csv").write_text(ROWS)
    found = written(tmp_path / f"o{suffix}", "--data", tmp_path / "in.csv", "--format", "json", "--only")
    assert (gzip.decompress(found) if suffix.endswith(".gz") else found) == b'{"v":2.0}\n{"v":12.0}\n'


def test_lines_become_a_document_however_they_are_cut():
    for text in (b"", b"{}\n", b"{}\n[]\n1\n", b"1\n2"):
        for step in (1, 2, 3, 100):
            out = io.BytesIO()
            with streams.JsonArray(out) as stream:
                for at in range(0, len(text), step):
                    stream.write(text[at:at + step])
            assert json.loads(out.getvalue()) == [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("verb", ["eval", "grad", "jacobian", "hessian", "jvp", "vjp", "hvp", "taylor", "propagate"])
def test_fixed_inputs_beside_rows(tmp_path, verb):
    """As if the table had a column of them."""
    (tmp_path / "in.csv").write_text("x,u_x,u_y\n1,0.1,0.1\n3,0.1,0.1\n")
    (tmp_path / "all.csv").write_text("x,u_x,u_y,y\n1,0.1,0.1,2\n3,0.1,0.1,2\n")
    ends = [succeeds(verb, "-e", XY, *SEEDS.get(verb, ()), "--data", tmp_path / name, *fixed, "--only").out
            for name, fixed in (("in.csv", ["--at", "y=2"]), ("all.csv", []))]
    assert ends[0] == ends[1] and ends[0].count("\n") == 3

