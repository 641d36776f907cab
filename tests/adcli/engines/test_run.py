"""Rows in parts, in this process: a file for each part, the manifest, going on after a kill, and what is refused."""
from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command import Ended, adcli, succeeds
from engines import package
from places import ROOT
from session_seed import drawn, half, session_seed

from adcli.input.settings import ResultOptions
from adcli.rows.manifest import journal_lines, line, manifest_lines
from adcli.rows.parts import Part, PartLocation, file_names, packed, unpacked
from adcli.rows.sum_work import ArraySums

PROGRAM = ("grad", "-e", "v = x*sin(y)")
FILES = ("in/a.csv", "in/b/a.csv", "in/t.tsv")


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """Files in two folders, of which two have the same name."""
    monkeypatch.chdir(tmp_path)
    os.makedirs("in/b")
    draw = drawn("parts")
    for path in FILES:
        separator = "\t" if path.endswith("tsv") else ","
        rows = [f"{draw.uniform(-9, 9)!r}{separator}{draw.uniform(-9, 9)!r}\n" for _ in range(draw.randrange(1, 40))]
        (tmp_path / path).write_text("".join([f"x{separator}y\n", *rows]), encoding="utf-8")
    return tmp_path


def held(folder):
    """What lies in a folder: the bytes of every file."""
    return {os.path.relpath(os.path.join(at, f), folder): Path(at, f).read_bytes()
            for at, _, files in os.walk(folder) for f in files}


def manifest(folder="out"):
    return json.loads(held(folder)["manifest.json"])


@pytest.mark.parametrize("source", [*FILES, "in/c.csv.gz", "in/j.json", "in/l.jsonl"])
def test_a_part_is_what_a_run_over_its_file_writes(source, tables):
    Path("in/c.csv.gz").write_bytes(gzip.compress(Path("in/a.csv").read_bytes()))
    Path("in/j.json").write_text('[{"x": 1.5, "y": 2},\n {"x": 2, "y": 3}]')
    Path("in/l.jsonl").write_text('{"x": 1.5, "y": 2}\n{"x": 2, "y": 3}\n')
    name = os.path.basename(source)
    succeeds(*PROGRAM, "--data", source, "-o", "out/")
    succeeds(*PROGRAM, "--data", source, "-o", name)
    assert held("out").keys() == {name, "manifest.json"}
    assert held("out")[name] == Path(name).read_bytes()
    (part,) = manifest()["parts"]
    rows = succeeds(*PROGRAM, "--data", source, "--only", "--format", "tsv").out.count("\n") - 1
    assert (part["source"], part["rows"], part["bad_rows"]) == (source, rows, 0)


def test_a_file_that_cannot_be_read_is_named_and_the_rest_is_done(tables):
    Path("in/z.csv.gz").write_bytes(gzip.compress(Path("in/a.csv").read_bytes())[:-9])
    run = (*PROGRAM, "--data", "in", "-o", "out/", "--resume")
    ended = adcli(*run)
    assert (ended.code, ended.err.splitlines()) == (5, [
        "error: in/z.csv.gz: the gzip data ends too early",
        "out/: 1 part of 4 failed, the rest is done; --resume tries them again"])
    assert len(manifest_lines_of("out")) == 1 + len(FILES)


@pytest.mark.engine
def test_row_groups_are_parts(tables):
    package("pyarrow")
    frame = pl.DataFrame({"x": [str(i) for i in range(11)], "y": [0.5 + i for i in range(11)]})
    frame.write_parquet("in/p.parquet", row_group_size=4)
    succeeds(*PROGRAM, "--data", "in/p.parquet", "-o", "out/")
    succeeds(*PROGRAM, "--data", "in/p.parquet", "-o", "whole.parquet")
    names = [f"p-{i:05}.parquet" for i in range(3)]
    assert [(part["file"], part["row_group"], part["rows"]) for part in manifest()["parts"]] == list(
        zip(names, range(3), (4, 4, 3), strict=True))
    assert pl.concat(pl.read_parquet(f"out/{name}") for name in names).equals(pl.read_parquet("whole.parquet"))
    sums = (*PROGRAM, "--data", "in/p.parquet", "--sum", "--hex")
    succeeds(*sums, "-o", "sum.txt", "--resume")
    assert Path("sum.txt").read_text() == succeeds(*sums).out
    frame.with_columns(pl.Series("x", ["1"] * 9 + ["ten", "1"])).write_parquet("in/bad.parquet", row_group_size=4)
    ended = adcli(*PROGRAM, "--data", "in/bad.parquet", "-o", "bad/", "--on-error", "skip")
    assert ended.err.splitlines() == [
        "in/bad.parquet:10: column 'x': 'ten' is not a number", "in/bad.parquet: row group 2: 1 of 3 rows bad, skipped",
        "bad/: 1 of 11 rows bad, skipped"]


def test_uncertainties_in_parts(tables):
    run = ("propagate", "-e", "v = x*y", "--data", "in/a.csv", "--at", "y=2±0.25", "--rename", "y=z")
    Path("in/a.csv").write_text("x,y,u_x\n1,2,0.5\n3,4,0.125\n", encoding="utf-8")
    succeeds(*run, "-o", "out/")
    assert held("out")["a.csv"] == succeeds(*run).data


NAMES = [
    # files; options; what the results are called
    (("in/a.csv", "in/t.tsv"), (), ("a.csv", "t.tsv")),
    (("in",), (), ("a.csv", "b/a.csv", "t.tsv")),
    (("in/*.csv", "in/b"), (), ("a.csv", "b/a.csv")),
    (("in",), ("--format", "csv"), ("a.csv", "b/a.csv", "t.csv")),
    (("in/a.csv", "in/a.tsv"), ("--format", "json"), ("a-2.ndjson", "a.ndjson")),
    (("in/a.csv", "in/a.csv"), (), ("a-2.csv", "a.csv")),
    (("in/z.csv.gz", "in/a.csv"), (), ("a.csv", "z.csv.gz")),
    (("in/z.csv.gz",), ("--format", "tsv"), ("z.tsv.gz",)),
    (("in/manifest.json",), (), ("manifest-2.json",)),
    (("in/plain",), (), ("plain",)),
    (("in/plain", "in/v1.2"), ("--format", "text"), ("plain.ad", "v1.2.ad"))]


@pytest.mark.parametrize(("files", "options", "names"), NAMES, ids=lambda x: " ".join(x))
def test_results_are_called_as_their_files(files, options, names, tables):
    text = (tables / "in/a.csv").read_bytes()
    for name in ("in/a.tsv", "in/manifest.json", "in/plain", "in/v1.2"):
        if name in files:
            (tables / name).write_bytes(text.replace(b",", b"\t") if "tsv" in name else text)
    if "in/z.csv.gz" in files:
        (tables / "in/z.csv.gz").write_bytes(gzip.compress(text))
    kind = ("--input-format", "csv") if "manifest" in files[0] else ()
    data = [word for file in files for word in ("--data", file)]
    assert adcli(*PROGRAM, *data, *options, *kind, "-o", "out/").code == 0
    assert sorted(held("out")) == sorted([*names, "manifest.json"])
    assert sorted(part["file"] for part in manifest()["parts"]) == sorted(names)
    rows = [part["rows"] for part in manifest()["parts"]]
    assert sum(rows) == succeeds(*PROGRAM, *data, *kind, "--only", "--no-cache", "-q").out.count("\n") - 1


def test_results_of_a_url_are_called_as_its_file_and_keep_its_secrets():
    urls = ("https://me:secret@host/d/a.parquet?sig=secret/x", "https://host/d/a.csv.gz?sig=secret", "s3://bucket/e/b?.csv")
    found = [Part(i, PartLocation(url), 1) for i, url in enumerate(urls)]
    assert file_names(found[:2], ResultOptions(verb="grad")) == ["a.parquet", "a.csv.gz"]
    assert [name.rpartition("/")[2] for name in file_names(found, ResultOptions(verb="grad", form="json", form_known=True))] == [
        "a.ndjson", "a.ndjson.gz", "b?.ndjson"]


SUMS = [("--sum",), ("--mean", "--group-by", "g", "--status"), ("--sum", "--weights", "x", "--format", "json"),
        ("--sum", "--gauss-newton", "--decimal", ",", "--format", "csv"), ("--sum", "--group-by", "g", "--format", "tsv")]


@pytest.mark.parametrize("options", SUMS, ids=" ".join)
def test_sums_of_parts_are_those_of_all_rows(options, tables):
    draw, comma = drawn("sums of parts"), "--decimal" in options
    for i in range(4):
        rows = [f"{draw.choice('abc')};{draw.choice([1e300, 1.0, 1e-300]) * draw.uniform(-9, 9)!r};{draw.uniform(-9, 9)!r}\n"
                for _ in range(20)]
        text = "".join(["g;x;y\n", *rows])
        (tables / f"{i}.csv").write_text(text.replace(".", ",") if comma else text, encoding="utf-8")
    run = (*PROGRAM, "--data", "[0-3].csv", "--delimiter", ";", *options)
    want = adcli(*run)
    assert want.code == 0
    assert adcli(*run, "-o", "sums", "--resume") == Ended(0, "", want.err, b"")
    assert Path("sums").read_bytes() == want.data
    assert not os.path.exists("sums.parts")
    if not {"--format", "--decimal"} & set(options):
        adcli(*run, "-o", "want.json")
        adcli(*run, "-o", "sums.json", "--resume")
        assert Path("sums.json").read_bytes() == Path("want.json").read_bytes() != b""


def test_a_sum_is_not_written_before_all_parts_are_added(tables):
    run = (*PROGRAM, "--data", "in", "--data", "bad.csv", "--sum", "-o", "sum.txt", "--resume")
    (tables / "bad.csv").write_text("x,y\n1,2\nfour,5\n", encoding="utf-8")
    ended = adcli(*run)
    assert (ended.code, "bad.csv:3: column 'x': 'four'" in ended.err) == (5, True), ended
    assert not os.path.exists("sum.txt")
    assert len(manifest_lines_of("sum.txt.parts")) == 1 + len(FILES)
    ended = adcli(*run, "--on-error", "skip")
    assert (ended.code, "sum.txt.parts: was begun with another --on-error" in ended.err) == (2, True), ended
    if find_spec("distributed"):
        ended = adcli(*(word for word in run if word != "--resume"), "--engine", "dask")
        assert (ended.code, "sum.txt.parts: has results of an earlier run" in ended.err) == (2, True), ended


def manifest_lines_of(folder):
    return journal_lines((Path(folder) / ".manifest.ndjson").read_bytes())


def test_tensors_come_from_rows_and_from_at(tables):
    np.save("W.npy", np.array([[1, 0, -0.5, -1], [0.1, np.nan, 0, 0], [0, 0, 1e-300, 0]]))
    run = ("grad", ROOT / "samples/softmax_regression.ad", "--data", ROOT / "samples/softmax_regression.ndjson", "--wrt", "b",
           "--at", "W=@W.npy,b=[0,0.25,-0.5]")
    assert adcli(*run, "-o", "out/").code == 0
    assert held("out")["softmax_regression.ndjson"] == adcli(*run).data


TENSORS = ("grad", "-e", "input W(M, N), x(N); y(i) +=! W(i, j) * x(j); e +=! y(i)**2; output e", "--data", "t/*")


@pytest.fixture
def vectors(tables):
    """Files of rows with vectors: one is empty, one is JSON; and a matrix."""
    draw = drawn("vectors")
    os.mkdir("t")
    rows = [[draw.choice("ab"), draw.uniform(-2, 2), [draw.uniform(-9, 9) * 10.0**draw.randrange(-150, 150) for _ in range(3)]]
            for _ in range(12)]
    header, lines = "g,w,x\n", [f'{g},{w!r},"{x}"\n' for g, w, x in rows]
    for name, text in (("0.csv", header), ("1.csv", header + "".join(lines[:7])), ("2.csv", header + "".join(lines[7:])),
                       ("3.json", json.dumps([{"g": "c", "w": 1, "x": ["NaN", 1, 2]}]))):
        Path("t", name).write_text(text, encoding="utf-8")
    np.save("W.npy", np.array([[draw.uniform(-1, 1) for _ in range(3)] for _ in range(4)]))
    return tables


@pytest.mark.parametrize("options", [("--sum", "--hex"), ("--mean", "--weights", "w", "--format", "json"),
                                     ("--sum", "--weights", "w", "--group-by", "g", "--status", "--format", "csv")], ids=" ".join)
def test_sums_of_tensors_in_parts_are_those_of_all_rows(options, vectors):
    run = (*TENSORS, "--at", "W=@W.npy", "-q", *options)
    succeeds(*run, "-o", "sums", "--resume")
    assert Path("sums").read_bytes() == succeeds(*run).data


def test_the_sums_of_a_part_take_little_room():
    draw, size = drawn("room"), 2000
    sums = ArraySums(["g"])
    for _ in range(3):
        sums.add([np.array([draw.gauss(0, 1) for _ in range(size)])], 0)
    text = packed(sums.sums())
    assert len(text) < 24 * size
    assert list(unpacked(text).items()) == list(sums.sums().items())


def test_what_sums_of_tensors_in_parts_refuse(vectors):
    def ended(data, w="W.npy", program="input W(M, N), x(L); s +=! x(i)**2 * W(0, 0); output s"):
        run = adcli("grad", "-e", program, "--wrt", "x", *data, "--at", f"W=@{w}", "--sum", "-o", "sums", "--resume")
        return run.code, run.err.splitlines()[-1]
    np.save("V.npy", np.full((4, 3), 2.0))
    Path("other.csv").write_text('x\n"[1,2]"\n')
    data = ("--data", "t", "--data", "other.csv")
    assert ended(data) == (5, "other.csv: 'ds_dx' has shape (2,), and (3,) in the rows before: a sum needs one shape")
    code, said = ended(data, "V.npy")
    assert (code, said) == (2, "help: write to another folder, or remove this one")
    shutil.rmtree("sums.parts")
    assert ended(("--data", "t/0.csv")) == (5, "sums: no rows to add, so nothing says what shapes the sums have")
    assert not os.path.exists("sums")


# what was said first; what is said with --resume; what the message names
CHANGES = [
    ((), ("--on-error", "skip"), "was begun with another --on-error"),
    (("--fmt", "%.3g"), ("--fmt", "%.4g"), "was begun with another --fmt"),
    (("--wrt", "x"), ("--wrt", "y"), "was begun with another --wrt"),
    (("--at", "k=2"), ("--at", "k=3"), "was begun with another --at"),
    ((), ("--format", "text"), "was begun with another --format"),
    (("--only",), (), "was begun with another --only"),
    ((), ("--hex",), "was begun with another --hex")]


@pytest.mark.parametrize(("first", "then", "named"), CHANGES, ids=lambda x: " ".join(x) if isinstance(x, tuple) else "")
def test_another_run_does_not_go_on(first, then, named, tables):
    program = ("grad", "-e", "param k = 1", "-e", "v = k*x*sin(y)", "--data", "in/a.csv", "-o", "out")
    os.mkdir("out")
    succeeds(*program, *first)
    before = held("out")
    ended = adcli(*program, *then, "--resume")
    assert (ended.code, ended.err.splitlines()[0]) == (2, f"adcli: error: out: {named}")
    assert held("out") == before


def test_what_else_a_folder_is_not_taken_for(tables):
    data = ("--data", "in/a.csv", "-o", "out/")
    succeeds(*PROGRAM, *data)
    before = held("out")
    for program, words in (((*PROGRAM, *data), "has results of an earlier run"),
                           (("eval", *PROGRAM[1:], *data, "--resume"), "was begun with another verb"),
                           (("grad", "-e", "v = x*cos(y)", *data, "--resume"), "was begun with another program"),
                           ((*PROGRAM, "--data", "in/t.tsv", "-o", "out/", "--resume"), "was begun with other files"),
                           ((*PROGRAM, "--data", "in/a.csv", "-o", "in/"), "in/a.csv: is there already")):
        ended = adcli(*program)
        assert (ended.code, words in ended.err) == (2, True), ended
    with open("in/a.csv", "a", encoding="utf-8") as file:
        file.write("1,2\n")
    assert "was begun with other files" in adcli(*PROGRAM, *data, "--resume").err
    assert held("out") == before
    (tables / "out/manifest.json").write_text("{}")
    assert "not a manifest of this adcli" in adcli(*PROGRAM, *data, "--resume").err


@pytest.mark.parametrize("harm", [os.unlink, lambda path: os.truncate(path, 9), lambda path: shutil.copy("in/t.tsv", path)],
                         ids=["gone", "shorter", "another"])
def test_what_no_longer_stands_is_done_again(harm, tables):
    run = (*PROGRAM, "--data", "in/a.csv", "-o", "out/", "--resume")
    succeeds(*run)
    before = held("out")
    assert adcli(*run).err == "out/: 1 part of 1 done already\n"
    harm("out/a.csv")
    succeeds(*run)
    assert held("out") == before


def test_a_bad_row_is_named_and_ends_the_run(tables):
    (tables / "in/bad.csv").write_text("x,y\n1,2\nfour,5\n", encoding="utf-8")
    run = (*PROGRAM, "--data", "in/bad.csv", "-o", "out/")
    ended = adcli(*run)
    assert (ended.code, "in/bad.csv:3: column 'x': 'four' is not a number" in ended.err) == (5, True), ended
    assert not os.path.exists("out")
    ended = adcli(*run, "--on-error", "skip")
    assert (ended.code, "out/: 1 of 2 rows bad, skipped" in ended.err) == (0, True), ended
    assert manifest()["parts"][0]["bad_rows"] == 1


def test_two_runs_do_not_write_into_one_folder(tables):
    fcntl = pytest.importorskip("fcntl")
    os.mkdir("out")
    other = os.open("out", os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    ended = adcli(*PROGRAM, "--data", "in/a.csv", "-o", "out/")
    os.close(other)
    assert (ended.code, "out/: another run of adcli is writing here" in ended.err) == (2, True), ended


CRASHES = '''
"""Runs the command in the arguments again and again, each time ended without a word at the next of its steps in the file
system, and after each of these once more to the end. Says how many steps there were, and after which of them the results
were not those wanted. Every sixth step is taken, from the one that FIRST says."""
import hashlib, os, shutil, sys
from adcli.main import run

ENDS = ("open", "os.rename", "os.remove", "os.mkdir", "os.link", "fcntl.flock", "os.truncate", "os.rmdir")


def forked(work):
    child = os.fork()
    if not child:
        os._exit(work())
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def crashing(last):
    seen = 0

    def hook(event, args):
        nonlocal seen
        if event in ENDS and any("out" in str(a) for a in args):
            seen += 1
            if seen == last:
                os._exit(99)
    sys.addaudithook(hook)
    return run(sys.argv[1:])


def held():
    return {os.path.join(at, f): hashlib.sha256(open(os.path.join(at, f), "rb").read()).hexdigest()
            for at, _, files in os.walk("out") for f in files}


assert run(sys.argv[1:]) == 0   # here, so that no child has to load and read what all of them need
want, step, wrong = held(), int(os.environ["FIRST"]) - 6, []
while True:
    step += 6
    shutil.rmtree("out")
    os.mkdir("out")
    if (code := forked(lambda: crashing(step))) != 99:
        break
    if forked(lambda: run(sys.argv[1:])) != 0 or held() != want:
        wrong.append(step)
print(code, step - 6, wrong)
'''


@pytest.mark.parametrize("output", [("-o", "out/rows/"), ("-o", "out/sums.csv", "--sum")], ids=["rows", "sums"])
def test_a_run_that_ends_at_any_step_loses_nothing(output, tables):
    os.mkdir("out")
    run = subprocess.run([sys.executable, "-c", CRASHES, *PROGRAM, "--data", "in", *output, "--resume", "-q"],
                         capture_output=True, text=True, env={**os.environ, "ADCLI_CACHE_DIR": str(tables / "cache"),
                                                                         "FIRST": str(1 + session_seed() % 6)})
    code, steps, wrong = run.stdout.split(maxsplit=2)
    assert (code, wrong) == ("0", "[]\n"), run
    assert int(steps) >= 1


def test_a_journal_that_is_cut_anywhere_is_gone_on_with(tables):
    run = (*PROGRAM, "--data", "in", "-o", "out/", "--resume", "-q")
    succeeds(*run)
    want = held("out")
    head, *parts = manifest_lines(want["manifest.json"])
    journal = b"".join(map(line, [head, *parts]))
    first = journal.index(b"\n") + 1
    for end in half(range(first, len(journal) + 1, 7)):
        os.unlink("out/manifest.json")
        (tables / "out/.manifest.ndjson").write_bytes(journal[:end])
        succeeds(*run)
        assert held("out") == want
