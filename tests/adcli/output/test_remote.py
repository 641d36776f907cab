"""Files by URL: S3 against moto's server, HTTP against one on this machine, and every fault in a line."""
from __future__ import annotations

import gzip
import io
import random
import sys

import polars as pl
import pytest
from adcli.lang.ir.errors import AdError
from command import adcli, succeeds
from servers import Objects, buckets, served

from adcli.output import remote
from adcli.tables.sources import Location

NAMES = [
    # a URL, what messages call it, the kind of table by its name
    ("https://host/d/x.csv?X-Amz-Signature=secret#f", "https://host/d/x.csv", "csv"), ("gs://b/x", "gs://b/x", None),
    ("http://me:secret@host/x.tsv.gz", "http://host/x.tsv.gz", "tsv"), ("s3://bucket/x?.csv", "s3://bucket/x?.csv", "csv"),
    ("S3://b/a@b.parquet", "S3://b/a@b.parquet", "parquet")]


@pytest.mark.parametrize(("url", "name", "kind"), NAMES)
def test_a_url_in_messages_keeps_its_secrets(url, name, kind):
    assert (remote.is_url(url), Location(url).name, Location(url).kind) == (True, name, kind)


def test_what_is_no_url():
    assert not any(map(remote.is_url, ("", "x", "/a://b", "://", "c:\\x", "a b://c", "./s3://x")))


@pytest.mark.parametrize(("url", "packages"), [
    ("s3://b/x.csv", "fsspec s3fs"), ("https://h/x.csv", "fsspec aiohttp"), ("gs://b/x", "fsspec gcsfs")])
def test_what_has_to_be_installed(url, packages, monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    ended = adcli("eval", "-e", "v = 2*x", "--data", url)
    assert ended.code == 2 and ended.out == ""
    said, help = ended.err.splitlines()
    assert said == f"adcli: error: {url.partition('//')[0]}// needs {packages}, which is not installed"
    assert help.endswith(f" {packages}")


def error(name, base=Exception, **attributes):
    return type(name, (base,), attributes)()


SAID = [
    # an error of a library, what is said, whether there is a help
    (error("NoCredentialsError"), "no credentials", True), (PermissionError("Forbidden"), "access denied", True),
    (error("ClientResponseError", status=403), "access denied", True), (error("HttpError", status=404), "No such file", False),
    (FileNotFoundError("The specified bucket does not exist"), "No such bucket", False),
    (FileNotFoundError("b/k"), "No such file", False), (TimeoutError(), "no answer in time", True),
    (error("ReadTimeoutError"), "no answer in time", True),
    (error("ClientConnectorDNSError", error("ClientConnectorError").__class__), "cannot connect", True),
    (error("ClientPayloadError"), "the connection ended before the file did", False),
    (error("ClientResponseError", status=503, message="busy"), "the server answers 503 busy", False),
    (ValueError("bad\nTraceback of somebody else"), "bad", False), (RuntimeError(), "RuntimeError", False)]


@pytest.mark.parametrize(("found", "said", "helped"), SAID, ids=[repr(s[0])[:30] for s in SAID])
def test_an_error_of_a_library_is_a_line(found, said, helped):
    with pytest.raises(AdError) as fault, remote.faults("s3://b/k"):
        raise found
    assert fault.value.message == f"s3://b/k: {said}" and bool(fault.value.help) == helped


@pytest.mark.parametrize("kept", [AdError("x"), KeyboardInterrupt(), MemoryError(), ModuleNotFoundError("x")], ids=repr)
def test_what_is_no_fault_of_the_network_stays_what_it_is(kept):
    with pytest.raises(type(kept)) as found, remote.faults("s3://b/k"):
        raise kept
    assert found.value is kept


def test_what_is_not_written_to():
    ended = adcli("eval", "-e", "v = 2*x", "--at", "x=1", "-o", "https://host/x.csv")
    said = "adcli: error: -o https://host/x.csv: cannot write to https://\nhelp: write to a file, s3:// or gs://\n"
    assert (ended.code, ended.err) == (2, said)


# ---------------------------------------------------------------- on servers

ROWS = [(i, i / 7, float(i % 5)) for i in range(40_000)]
COMMAND = ("eval", "-e", "v = x*y", "--data")


@pytest.fixture(scope="module")
def bucket():
    """A bucket with a table in parts of many kinds; and a way to read it that is not ours."""
    for package in ("moto", "flask_cors", "s3fs", "pyarrow"):
        pytest.importorskip(package)
    import fsspec
    frame = pl.DataFrame(ROWS, schema=["id", "x", "y"], orient="row")
    with buckets():
        files = fsspec.filesystem("s3", skip_instance_cache=True)
        files.mkdir("data")
        files.pipe_file("data/t/part-1.csv", frame[:10_000].write_csv().encode())
        files.pipe_file("data/t/part-2.csv.gz", gzip.compress(frame[10_000:20_000].write_csv().encode()))
        with files.open("data/t/part-10.parquet", "wb") as file:
            frame[20_000:30_000].write_parquet(file, row_group_size=3000)
        files.pipe_file("data/t/sub/part-11.ndjson", frame[30_000:].write_ndjson().encode())
        files.pipe_file("data/t/README.md", b"x")
        files.pipe_file("data/t/_SUCCESS", b"")
        files.pipe_file("data/t/.part-1.csv.crc", b"")
        files.pipe_file("data/odd/[1]?.csv", b"x,y\n1,2\n")
        yield files


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What the same table gives from one file of this machine."""
    path = tmp_path_factory.mktemp("whole") / "t.csv"
    pl.DataFrame(ROWS, schema=["id", "x", "y"], orient="row").write_csv(path)
    return succeeds(*COMMAND, path).data


@pytest.mark.engine
def test_a_folder_and_a_pattern_in_a_bucket(bucket, whole):
    ended = adcli(*COMMAND, "s3://data/t")
    assert (ended.code, ended.data) == (0, whole)
    assert ended.err == "note: files that are not tables are left out: s3://data/t/README.md\n"
    assert succeeds(*COMMAND, "s3://data/t/**/part-*").data == whole
    assert succeeds(*COMMAND, "s3://data/t/part-*", "--data", "s3://data/t/sub/part-11.ndjson").data == whole
    assert succeeds(*COMMAND, "s3://data/odd/[1]?.csv").out == "x,y,v\n1,2,2.0\n"


@pytest.mark.engine
def test_sums_over_a_bucket(bucket, whole, tmp_path):
    """The bits of a sum over one file of this machine, also where Parquet is read by its columns."""
    header, *rows = whole.splitlines(keepends=True)
    total = ("grad", "-e", "w = exp(x*y/10000)", "--sum", "--group-by", "y", "--data")
    for url, kept in (("s3://data/t/**/part-*", rows), ("s3://data/t/part-10.parquet", rows[20_000:30_000])):
        (tmp_path / "t.csv").write_bytes(b"".join([header, *kept]))
        assert succeeds(*total, url).out == succeeds(*total, tmp_path / "t.csv").out


@pytest.mark.engine
def test_results_go_to_a_bucket_when_they_are_whole(bucket, whole):
    succeeds(*COMMAND, "s3://data/t/**/part-*", "-o", "s3://data/out/r.csv.gz")
    assert gzip.decompress(bucket.cat_file("data/out/r.csv.gz")) == whole
    succeeds(*COMMAND, "s3://data/t/**/part-*", "-o", "s3://data/out/r.parquet")
    with bucket.open("data/out/r.parquet") as file:
        assert pl.read_parquet(file.read())["v"].to_list() == [x * y for _, x, y in ROWS]
    bucket.pipe_file("data/bad/1.csv", b"x,y\n1,2\n1,oops\n")
    assert adcli(*COMMAND, "s3://data/bad", "-o", "s3://data/out/bad.csv").code == 5
    bucket.invalidate_cache()
    assert sorted(bucket.ls("data/out", detail=False)) == ["data/out/r.csv.gz", "data/out/r.parquet"]


FAULTS = [
    # what is asked for, what is said
    ("s3://data/none.csv", "s3://data/none.csv: No such file"), ("s3://nobucket/x.csv", "s3://nobucket/x.csv: No such bucket"),
    ("s3://data/t/*.tsv", "no file matches 's3://data/t/*.tsv'"), ("s3://data/nofolder/", "s3://data/nofolder/: No such file"),
    ("s3://data/t/README.md", "s3://data/t/README.md:1: no column 'y'")]


@pytest.mark.engine
@pytest.mark.parametrize(("url", "said"), FAULTS)
def test_what_a_bucket_does_not_have(bucket, url, said):
    ended = adcli(*COMMAND, url)
    assert (ended.code, ended.out) == (5 if "column" in said else 2, "")
    assert ended.err.splitlines()[0].removeprefix("adcli: error: ") == said


@pytest.mark.engine
def test_nobody_is_let_in_without_credentials(bucket, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/none")
    import s3fs
    s3fs.S3FileSystem.clear_instance_cache()
    ended = adcli(*COMMAND, "s3://data/t")
    s3fs.S3FileSystem.clear_instance_cache()
    assert (ended.code, ended.err) == (2, f"adcli: error: s3://data/t: no credentials\nhelp: {remote.AMAZON}\n")


@pytest.mark.engine
def test_the_rows_of_a_parquet_file_by_url(bucket):
    """Any range of them, as from a file of this machine, and their types."""
    from adcli.tables import parquet as parquet_tables
    with bucket.open("data/t/part-10.parquet") as file:
        frame = pl.read_parquet(file.read())
    url = "s3://data/t/part-10.parquet"
    for start, count in ((0, None), (0, 10_000), (2999, 2), (3000, 3000), (9999, 1), (5, 0), *((s, random.randint(0, 10_000 - s))
                         for s in random.sample(range(10_000), 5))):
        want = frame[start:start + count] if count is not None else frame[start:]
        assert b"".join(parquet_tables.parquet(url, ";", start, count)) == want.write_csv(separator=";").encode()
    assert parquet_tables.parquet_types(url) == dict(frame.schema)


@pytest.mark.engine
def test_both_readers_of_parquet_give_the_same_text(tmp_path):
    """Every type that a field holds, and lists, by URL and from a file of this machine; as polars writes it, but for lists."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("fsspec")
    from adcli.tables import parquet as parquet_tables
    numbers = [1, None, 3]
    kinds = (pl.Int8, pl.Int64, pl.UInt64, pl.Float32, pl.Float64, pl.Date, pl.Datetime("us"), pl.Datetime("ns", "UTC"), pl.Time,
             pl.Decimal(10, 2), pl.String, pl.Boolean)
    frame = pl.DataFrame({f"{kind}": pl.Series(numbers).cast(kind) for kind in kinds} | {
        "odd": [float("nan"), -0.0, float("-inf")], "text": ['a,"b"', "", None],
        "class": pl.Series(["a", "b", None]).cast(pl.Categorical)})
    lists = pl.DataFrame({"l": [[1.0, 2.0], [], None], "a.b": pl.Series([[[1], [2]]] * 3, dtype=pl.Array(pl.Int8, (2, 1)))})
    for table in (frame, lists, pl.concat([frame, lists], how="horizontal")):
        table.write_parquet(tmp_path / "t.parquet", row_group_size=2)
        here, there = (b"".join(parquet_tables.parquet(f"{scheme}{tmp_path}/t.parquet", ",")) for scheme in ("", "file://"))
        assert here == there
        assert table is not frame or here == frame.write_csv().encode()


@pytest.fixture(scope="module")
def server():
    for package in ("fsspec", "aiohttp", "pyarrow"):
        pytest.importorskip(package)
    rows = b"x,y\n" + b"".join(b"%d,2\n" % i for i in range(300_000))
    pl.select(x=pl.int_range(500_000).cast(pl.Float64), y=pl.lit(2.0)).write_parquet(table := io.BytesIO())
    files = {"a.csv": b"x,y\n1,2\n", "long.csv": rows, "long.csv.gz": gzip.compress(rows), "t.parquet": table.getvalue()}
    with served(files) as address:
        yield address


LAST = "299999,2,599998.0"
READ = [
    # how the server sends what, the last row
    ("plain/a.csv", "1,2,2.0"), ("plain/a.csv?key=secret", "1,2,2.0"), ("moved/a.csv", "1,2,2.0"), ("nosize/long.csv", LAST),
    ("plain/long.csv.gz", LAST), ("packed/long.csv.gz", LAST), ("ranges/long.csv", LAST),
    ("ranges/t.parquet", "499999.0,2.0,999998.0")]


@pytest.mark.engine
@pytest.mark.parametrize(("path", "last"), READ)
def test_files_by_http(server, path, last):
    ended = adcli(*COMMAND, f"{server}/{path}")
    assert (ended.code, ended.err, ended.out.splitlines()[-1]) == (0, "", last)


BROKEN = [
    # how the server sends what, what is said
    ("plain/none.csv", "No such file"), ("403/a.csv", "access denied"), ("401/a.csv", "access denied"),
    ("500/a.csv", "the server answers 500 Internal Server Error"), ("plain/t.parquet", "the server sends no parts of files"),
    ("slow/a.csv", "no answer in time"), ("ranges/a.parquet", "No such file")]


@pytest.mark.engine
@pytest.mark.parametrize(("path", "said"), BROKEN)
def test_faults_of_http(server, path, said, monkeypatch):
    monkeypatch.setattr(remote, "ANSWER", 0.5)
    ended = adcli(*COMMAND, f"{server}/{path}?key=secret")
    assert (ended.code, ended.out, ended.err.splitlines()[0]) == (2, "", f"adcli: error: {server}/{path}: {said}")
    assert "secret" not in ended.err or "curl" in ended.err


@pytest.mark.engine
@pytest.mark.parametrize("name", ["long.csv", "long.csv.gz"])
def test_a_connection_that_breaks_leaves_whole_rows(server, name, tmp_path):
    ended = adcli(*COMMAND, f"{server}/cut/{name}")
    rows = ended.out.splitlines()[1:]
    assert ended.code == 2 and ended.err.startswith(f"adcli: error: {server}/cut/{name}: ") and ended.err.count("\n") == 1
    assert len(rows) < 290_000 and rows[-1:] == [f"{i},2,{2.0 * i}" for i in range(len(rows))[-1:]]
    assert adcli(*COMMAND, f"{server}/cut/{name}", "-o", tmp_path / "o.csv").code == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.engine
def test_nobody_there():
    pytest.importorskip("aiohttp")
    ended = adcli(*COMMAND, "http://127.0.0.1:1/x.csv")
    assert (ended.code, ended.err.splitlines()[0]) == (2, "adcli: error: http://127.0.0.1:1/x.csv: cannot connect")


@pytest.mark.engine
def test_buckets_of_google(monkeypatch):
    gcsfs = pytest.importorskip("gcsfs")
    files = {"t/a-1.csv": b"x,y\n1,2\n", "t/a-10.csv.gz": gzip.compress(b"x,y\n5,6\n"), "t/a-2.csv": b"x,y\n3,4\n",
             "t/notes.txt": b""}
    with served(files, Objects) as address:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", address)
        gcsfs.GCSFileSystem.clear_instance_cache()
        want = "x,y,v\n1,2,2.0\n3,4,12.0\n5,6,30.0\n"
        ended = adcli(*COMMAND, "gs://data/t")
        assert (ended.code, ended.out) == (0, want)
        assert ended.err == "note: files that are not tables are left out: gs://data/t/notes.txt\n"
        assert succeeds(*COMMAND, "gs://data/t/*.csv*").out == want
        succeeds(*COMMAND, "gs://data/t/a-1.csv", "-o", "gs://data/out/r.csv")
        assert files["out/r.csv"] == b"x,y,v\n1,2,2.0\n"
        ended = adcli(*COMMAND, "gs://data/none.csv")
        assert (ended.code, ended.err) == (2, "adcli: error: gs://data/none.csv: No such file\n")
