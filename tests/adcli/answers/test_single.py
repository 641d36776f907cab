"""Results in single precision: each verb, each format, tables, the cache, and what has no meaning in it."""
from __future__ import annotations

import io
import math

import numpy as np
import pytest
from adcli.lang.operations.precision import SINGLE
from command import adcli, numbers, succeeds

SINGLES = ("--precision", "single")
PROGRAM = ("-e", "v = x*sin(y) + exp(x)/3")
TABLE = b"x,y\n0.1,0.2\n1.5,-3\n0.3333333333333333,1e-3\n"


@pytest.mark.parametrize("verb", [
    ("eval",), ("grad",), ("grad", "--order", "2"), ("jacobian",), ("hessian",), ("hvp", "--tangent", "x=1,y=0.5"),
    ("jvp", "--tangent", "x=1,y=0.5"), ("vjp",), ("taylor", "--tangent", "x=1,y=0.1")], ids=" ".join)
def test_every_verb_gives_the_doubles_of_its_own_precision(verb: tuple[str, ...]) -> None:
    """Near those of doubles, each a single written in as few digits as tell it from others."""
    args = (*verb, *PROGRAM, "--at", "x=0.7,y=0.3")
    found, double = (succeeds(*args, *more).out for more in (SINGLES, ()))
    for name, want in numbers(double).items():
        got = numbers(found)[name]
        assert got == pytest.approx(want, rel=1e-5, abs=1e-6)
    for line in found.splitlines():
        text = line.partition(" = ")[2]
        assert text == repr(float(str(np.float32(text))))


def test_the_cache_keeps_both(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("ADCLI_CACHE_DIR", str(tmp_path / "kept"))
    args = ("eval", "-e", "v = x/3", "--at", "x=1")
    for tier in ("compiled", "compiled", "tape", "tape"):
        assert succeeds(*args, *SINGLES, "--tier", tier).out == "v = 0.33333334\n"
        assert succeeds(*args, "--tier", tier).out == "v = 0.3333333333333333\n"


@pytest.mark.parametrize("tier", ["tape", "compiled"])
def test_points_and_rows_are_the_same_numbers(tier: str, tmp_path) -> None:
    """In text, JSON, hexadecimal and arrays, at points and in rows, a few and many."""
    rows = [line.split(",") for line in TABLE.decode().split()[1:]]
    args = ("grad", *PROGRAM, *SINGLES, "--tier", tier, "--no-cache")
    want = [numbers(succeeds(*args, "--at", f"x={x},y={y}").out) for x, y in rows]
    table = succeeds(*args, "--format", "csv", stdin=TABLE).out.split()
    assert [list(map(float, line.split(",")[2:])) for line in table[1:]] == [list(w.values()) for w in want]
    many = succeeds(*args, stdin=TABLE + TABLE.partition(b"\n")[2] * 8000).out.split()
    assert many[:4] == table and many[1:4] * 8001 == many[1:]
    succeeds(*args, "-o", tmp_path / "a.npz", stdin=TABLE)
    arrays = np.load(tmp_path / "a.npz")
    assert arrays["v"].dtype == np.float32 and arrays["v"].tolist() == [SINGLE.rounded(w["v"]) for w in want]
    hexadecimal = succeeds(*args, "--hex", "--at", "x=0.1,y=0.2").out
    assert [float.fromhex(line.split()[-1]) for line in hexadecimal.splitlines()] == list(map(SINGLE.rounded, want[0].values()))


@pytest.mark.parametrize("many", [1, 80_000])
def test_a_number_too_large_makes_a_bad_row(many: int) -> None:
    """Infinities and NaN do not, and hide no such number beside them, however the block is read."""
    for odd, total in (("1,inf", "inf"), ("nan,2", "nan")):
        rows = b"x,y\n" + b"1,2\n" * many + odd.encode() + b"\n1e39,2\n3,4\n"
        ended = adcli("eval", "-e", "v = x + y", *SINGLES, "--on-error", "skip", stdin=rows)
        assert ended.out.splitlines()[many:] == ["1,2,3.0", f"{odd},{total}", "3,4,7.0"]
        assert f"<stdin>:{many + 3}: column 'x': 1e+39 is too large for single precision\n" in ended.err
    objects = b'{"x":1e39,"y":1}\n{"x":2,"y":"Infinity"}\n'
    assert "<stdin>:1: 'x' is too large for single precision\n" in adcli("eval", "-e", "v = x + y", *SINGLES, stdin=objects).err


def test_sums_of_singles_are_exact() -> None:
    each = [math.fsum(map(SINGLE.rounded, column)) for column in zip(*[
        numbers(succeeds("grad", *PROGRAM, *SINGLES, "--at", f"x={x},y={y}").out).values()
        for x, y in (line.split(",") for line in TABLE.decode().split()[1:])], strict=True)]
    found = numbers(succeeds("grad", *PROGRAM, *SINGLES, "--sum", stdin=TABLE).out)
    assert [found[name] for name in ("v", "dv_dx", "dv_dy")] == each


def test_parquet_of_singles(tmp_path) -> None:
    pl = pytest.importorskip("polars")
    x = np.random.default_rng(0).normal(size=50).astype(np.float32)
    pl.DataFrame({"x": x, "y": x[::-1], "n": ["a"] * 50}).write_parquet(tmp_path / "in.parquet")
    succeeds("eval", "-e", "v = x*y", *SINGLES, "--data", tmp_path / "in.parquet", "-o", tmp_path / "out.parquet")
    found = pl.read_parquet(tmp_path / "out.parquet")
    assert found.dtypes == [pl.Float32, pl.Float32, pl.String, pl.Float32]
    assert found["v"].to_numpy().tolist() == (x * x[::-1]).tolist() and found["x"].to_numpy().tolist() == x.tolist()


def test_tensors_of_singles(tmp_path) -> None:
    a = np.random.default_rng(1).normal(size=(3, 2)).astype(np.float32)
    np.save(tmp_path / "A.npy", a)
    at = ("eval", "samples/matrix_vector.ad", *SINGLES, "--at", f"A=@{tmp_path / 'A.npy'},B=[1,0]")
    succeeds(*at, "-o", tmp_path / "C.npy")
    assert (found := np.load(tmp_path / "C.npy")).dtype == np.float32 and found.tolist() == a[:, 0].tolist()
    assert succeeds(*at).out == f"C = [{', '.join(map(str, a[:, 0]))}]\n"
    for s in ("1", "1:2:2"):
        succeeds("eval", "-e", "input x(N), s; v +=! x(i)*s", *SINGLES, "--at", f"x=[0.1],s={s}", "-o", tmp_path / "v.npz")
        v = np.load(tmp_path / "v.npz")["v"]
        assert v.dtype == np.float32 and v.ravel()[0] == np.float32(0.1)
    [record] = succeeds(*at, "--format", "json").records
    assert record["value"]["C"] == [float(str(x)) for x in a[:, 0]]


def singles(found: dict[str, object]) -> list[float]:
    return [SINGLE.rounded(float(x)) for x in np.ravel(list(found.values()))]   # type: ignore[arg-type]


@pytest.mark.parametrize("text, at, seed", [
    ("v = (x*y + 0.1)/(x - y*y) - sqrt(x*y)", "x=0.7,y=0.3", "v=0.3"),
    ("v = fma(x, y, x) * abs(x - y) + max(x, 3*y)/7", "x=0.7,y=0.3", "v=1"),
    ("input x(N); y(i) = x(i)*x(i)/3; v +=! y(i)/(x(i) + 0.1)", "x=[0.7,0.3,1e-30]", "v=0.1")])
def test_a_trace_has_the_numbers_that_are_computed(text: str, at: str, seed: str) -> None:
    """Of every bit: its last values are the results, its adjoints those of the program that vjp runs."""
    args = "-e", text, "--at", at, *SINGLES, "--format", "json"
    record = succeeds("trace", *args, "--cotangent", seed).records[0]
    computed = succeeds("vjp", *args, "--cotangent", seed).records[0]
    assert singles({"v": record["outputs"][0]["value"]}) == singles(computed["value"])
    for each in record["inputs"]:
        assert singles({"x": each["adjoint"]}) == singles({"x": computed["vjp"][each.get("input", each["name"])]})
    assert record != succeeds("trace", *args[:4], "--format", "json", "--cotangent", seed).records[0]


@pytest.mark.parametrize("text, at, said", [
    ("input x(N); y(i) = exp(x(i)); v +=! y(i)", "x=[100,0.1]",
     ["v ", "in y(0), exp(u) at u = x(0) = 100.0 is inf: overflow, larger than any single"]),
    ("input x(N); y(i) = x(i)*x(i); v +=! y(i)/y(i)", "x=[1e-30,0.1]", ["nan", "= y(0) = 0.0"])])
def test_why_explains_what_is_not_finite_in_singles_alone(text: str, at: str, said: list[str]) -> None:
    out = succeeds("why", "-e", text, "--at", at, *SINGLES).out
    assert [x for x in said if x not in out] == [], out
    assert "nan" not in (double := succeeds("why", "-e", text, "--at", at).out) and "inf" not in double.replace("finite", "")


def test_why_of_numbers_in_single_precision() -> None:
    args = "-e", "v = exp(-x)*y + 0.1/z", "--at", "x=110,y=0.1,z=1e39"
    assert adcli("why", *args, *SINGLES).err == ("adcli: error: z=1e+39 is too large for a number of single precision\n"
                                                 "help: use double precision, the default; infinity is written inf\n")
    args = "-e", "v = exp(-x)*y", "--at", "x=110.1,y=0.1"
    assert "nothing to explain" in succeeds("why", *args).out
    out = succeeds("why", *args, *SINGLES).out
    assert "exp(u) at u = -x = -110.1 is 0.0: underflow, smaller than any single" in out
    record = succeeds("why", *args, *SINGLES, "--format", "json").records[0]
    assert record["at"] == {"x": 110.1, "y": 0.1} and record["why"][0]["results"] == {"v": 0.0}
    assert "underflow" in str(adcli_function(args[1]).why(x=110.1, y=0.1))
    traced = adcli_function("v = x/3").trace(x=0.1)
    assert traced.data["outputs"][0]["value"] == float(np.float32(0.1) / np.float32(3))


def adcli_function(text: str):   # type: ignore[no-untyped-def]
    import adcli
    return adcli.compile(text, precision="single")


def test_bench_times_either_precision() -> None:
    args = "--rows", "64", "--seconds", "0.001", "--format", "json"
    assert succeeds("bench", *PROGRAM, *args, *SINGLES).records[0]["precision"] == "single"
    assert ", in single precision\n" in succeeds("bench", "-e", "input x(N); v +=! x(i)**2", "--seconds", "0.001", *SINGLES).out


def test_arrays_of_many_points(tmp_path) -> None:
    out = tmp_path / "v.npy"
    succeeds("eval", "-e", "v = x/3", "--at", "x=0:1:1001", *SINGLES, "-o", out)
    x = np.linspace(0, 1, 1001).astype(np.float32)
    assert np.array_equal(np.load(io.BytesIO(out.read_bytes())), x / np.float32(3))

