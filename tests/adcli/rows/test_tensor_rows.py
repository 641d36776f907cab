"""Rows of programs with tensors: the bits of points, from every kind of table; bad rows and what becomes of them."""
from __future__ import annotations

import csv
import io
import itertools
import json
import math

import numpy as np
import polars as pl
import pytest
from adcli.codegen.machine.kernel import NoExecutableMemory
from adcli.codegen.rows import compiled
from adcli.lang.lower.frontend import parse
from adcli.lang.printing.printer import print_program
from c_tensors import at_random, drawn_point, expected
from command import adcli, succeeds
from places import DATA
from session_seed import drawn

from adcli.rows import tensor_rows

pytestmark = pytest.mark.usefixtures("empty_folder")
CASES = json.loads((DATA / "tensors" / "jax.json").read_text(encoding="utf-8"))["cases"]
KINDS = ("csv", "tsv", "ndjson", "json", "parquet")
DOT = "input x(N), w(N), t\na +=! x(i) * w(i)\nL = (a - t)**2\noutput L\n"


def field(x, comma=","):
    return json.dumps(x, separators=(comma + " ", ":")) if isinstance(x, list) else x


def table(rows, kind):
    """The same rows as a file of a kind."""
    path = f"rows.{kind}"
    if kind == "parquet":
        pl.DataFrame(rows, strict=False, infer_schema_length=None).write_parquet(path)
    elif kind in ("ndjson", "json"):
        with open(path, "w") as file:
            file.write(json.dumps(rows, indent=1) if kind == "json" else "".join(json.dumps(row) + "\n" for row in rows))
    else:
        with open(path, "w", newline="") as file:
            writer = csv.writer(file, delimiter="\t" if kind == "tsv" else ",", lineterminator="\n")
            writer.writerows([list(rows[0]), *([field(x) for x in row.values()] for row in rows)])
    return path


def listed(point):
    """A point as JSON has it, or None where its shapes cannot be told from nested lists."""
    if any(np.ndim(x) > 1 and not np.size(x) for x in point.values()):
        return None
    return {name: np.asarray(x).tolist() for name, x in point.items()}


def programs():
    """Programs of papers and random ones, each with rows; with those of papers all rows have the same shapes."""
    r = drawn("rows of tensors")
    for case in r.sample(CASES, 1):
        program = parse(case["text"])
        at = dict(zip([p.name for p in program.params], case["at"], strict=False))
        scaled = [{n: (np.array(x) * (1 if parse_integer(program, n) else s)).tolist() for n, x in at.items()}
                  for s in (1.0, 1.125, -0.3)]
        yield case["text"], scaled, next(n for n in at if np.ndim(at[n]))
    for program, (at, _) in itertools.islice(at_random(r, 6), 1):
        points = [at, *(drawn_point(r, program, (1, 2, 3))[0] for _ in range(3))]
        rows = [listed(p) for p in points if expected(program, p) is not None]
        if any(rows) and program.params:
            yield print_program(program), [row for row in rows if row], None


def parse_integer(program, name):
    return next(p.var.integer for p in program.params if p.name == name)


def test_rows_have_the_bits_of_points_from_every_kind_of_table_and_in_every_format():
    for text, rows, fixed in programs():
        with open("p.ad", "w") as file:
            file.write(text)
        names = parse(text)
        weights = ",".join(f"{r.name}=1" for r in names.results)
        with open("points.json", "w") as file:
            json.dump(rows, file)
        verb = ["vjp", "p.ad", "--cotangent", weights, "--status", "-q"]
        points = adcli(*verb, "--at", "@points.json", "--format", "json")
        assert points.code == 0, points.err
        want = [[*p["value"].values(), *p["vjp"].values(), p["status"]] for p in points.records]
        for kind in KINDS:
            ended = adcli(*verb, "--data", table(rows, kind), "--format", "json", "--only")
            assert [list(row.values()) for row in ended.records] == want, (kind, text)
        new = list(ended.records[0])
        assert [[json.loads(row[name]) if name != new[-1] else row[name] for name in new] for row in
                csv.DictReader(io.StringIO(adcli(*verb, "--data", "rows.json", "--format", "csv").out))] == json_numbers(want)
        assert adcli(*verb, "--data", "rows.ndjson", "-o", "out.parquet").code == 0
        assert json_numbers([list(row) for row in pl.read_parquet("out.parquet", columns=new).iter_rows()]) == json_numbers(want)
        if fixed:
            same = [{**row, fixed: rows[0][fixed]} for row in rows]
            with open("points.json", "w") as file:
                json.dump(same, file)
            np.save("fixed.npy", np.array(rows[0][fixed]))
            points = adcli(*verb, "--at", "@points.json", "--format", "json")
            rest = table([{n: x for n, x in row.items() if n != fixed} or {"id": 1} for row in same], "ndjson")
            ended = adcli(*verb, "--data", rest, "--at", f"{fixed}=@fixed.npy", "--only", "--jobs", "4")
            assert [list(row.values()) for row in ended.records] == [
                [*p["value"].values(), *p["vjp"].values(), p["status"]] for p in points.records], text


def json_numbers(found):
    """Results with one spelling of what JSON has no number for."""
    return json.loads(json.dumps(found).replace('"NaN"', "NaN").replace('"Infinity"', "Infinity").replace("-\"", '"'),
                      parse_constant=str)


def test_sizes_may_differ_from_row_to_row_and_memory_does_not_depend_on_results(monkeypatch):
    monkeypatch.setattr(tensor_rows, "NUMBERS_AT_ONCE", 40)   # a few rows at a time
    rows = [{"x": list(range(1, n + 1)), "w": [1] * n, "t": 0} for n in (1, 9, 2, 30, 5, 1, 7, 7)]
    with open("p.ad", "w") as file:
        file.write(DOT)
    ended = succeeds("grad", "p.ad", "--data", table(rows, "ndjson"), "--only", "--strict")
    assert [(r["L"], len(r["dL_dx"])) for r in ended.records] == [(sum(r["x"]) ** 2, len(r["x"])) for r in rows]
    bad = [{**row, "x": None} if i in (3, 6) else row for i, row in enumerate(rows)]
    ended = adcli("grad", "p.ad", "--data", table(bad, "csv"), "--only", "--on-error", "skip")
    assert [line.split(":")[1] for line in ended.err.splitlines()[:2]] == ["5", "8"]


def test_directions_ranges_strict_and_integers():
    with open("p.ad", "w") as file:
        file.write("input T(R, D), int32 I(B), k = 2\nO(b, d) = k * sqrt(T(I(b), d))\n")
    rows = [{"T": [[1.0, 4.0], [9.0, 16.0]], "I": [1, 0]}, {"T": [[1.0, 0.0]], "I": [0]}, {"T": [[1.0]], "I": [1]},
            {"T": [[1.0]], "I": [0.5]}]
    run = ["jvp", "p.ad", "--data", table(rows, "ndjson"), "--tangent", "T=1", "--wrt", "T", "--only"]
    ended = adcli(*run, "--on-error", "mark", "--strict")
    assert ended.code == 4
    assert ended.records == [
        {"O": [[6.0, 8.0], [2.0, 4.0]], "dO": [[1 / 3, 0.25], [1.0, 0.5]], "status": "smooth"},
        {"O": [[2.0, 0.0]], "dO": [[1.0, "Infinity"]], "status": "singular"},
        {"O": None, "dO": None, "status": "I(0) = 1 is out of range for dimension 0 of 'T', which has 1 element"},
        {"O": None, "dO": None, "status": "I(0): a tensor of integers cannot hold 0.5"}]
    assert "rows.ndjson:2: not smooth or not finite" in ended.err and math.isfinite(ended.records[0]["dO"][0][0])
    assert adcli(*run, "--at", "k=3", "--on-error", "skip", "-q").records[0]["O"] == [[9.0, 12.0], [3.0, 6.0]]
    text = adcli(*run[:-1], "--on-error", "skip", "-q", "--format", "text").out
    assert text.startswith("# k = 2.0") and "dO = [[0.3333333333333333, 0.25], [1.0, 0.5]]" in text


@pytest.mark.parametrize("policy", ["stop", "mark"])
def test_a_system_that_refuses_native_code_is_no_fault_of_a_row(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise NoExecutableMemory
    monkeypatch.setattr(compiled, "linked", refused)
    ended = adcli("grad", "-e", "input x(N); y +=! x(i)**2", "--data", "-", "--on-error", policy, "--no-cache",
                  stdin=b'{"x": [1, 2]}\n')
    assert (ended.code, ended.out, ended.err) == (2, "", "adcli: error: this system allows no executable memory\n")

