"""Sums over the rows of programs with tensors: exact, element by element, whatever the order, the threads and the blocks."""
from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from command import adcli, succeeds
from session_seed import drawn

from adcli.rows import sum_work, tensor_rows

pytestmark = pytest.mark.usefixtures("empty_folder")
PROGRAM = "input w(N); param x(N), t = 0\na +=! w(i) * x(i)\nL = (a - t) * a\noutput L\n"


@pytest.fixture
def rows(empty_folder):
    """A table whose results cancel, in every kind of file."""
    r = drawn("sums of tensors")
    found = [{"g": r.choice("ab"), "x": [r.uniform(-1, 1) * 10.0 ** r.randint(-9, 9) for _ in range(3)], "t": r.uniform(-1, 1),
              "k": r.choice([0.5, 3.0, -1.0, 1e-3])} for _ in range(60)]
    (empty_folder / "p.ad").write_text(PROGRAM)
    (empty_folder / "d.ndjson").write_text("".join(json.dumps(row) + "\n" for row in found))
    (empty_folder / "r.ndjson").write_text("".join(json.dumps(row) + "\n" for row in reversed(found)))
    pl.DataFrame(found).write_parquet("d.parquet")
    return found


RUN = ["grad", "p.ad", "--at", "w=[1.5,-0.25,1e-3]", "--format", "json"]


def exact(results, rows, weighted=False, mean=False):
    """The sums of results by fractions."""
    weights = [Fraction(row["k"]) if weighted else Fraction(1) for row in rows]
    over = sum(weights) if mean else 1
    total = sum(w * Fraction(p["L"]) for w, p in zip(weights, results, strict=True)) / over
    gradient = [sum(w * Fraction(p["dL_dw"][i]) for w, p in zip(weights, results, strict=True)) / over for i in range(3)]
    return float(total), list(map(float, gradient))


def test_sums_are_those_of_fractions_in_any_order_from_any_file_in_any_blocks(rows, monkeypatch):
    results = succeeds(*RUN, "--data", "d.ndjson", "--only").records
    for options, settings in (([], {}), (["--weights", "k"], {"weighted": True}), (["--mean"], {"mean": True}),
                              (["--mean", "--weights", "k"], {"mean": True, "weighted": True})):
        run = [*RUN, *([] if "--mean" in options else ["--sum"]), *options]
        want = exact(results, rows, **settings)
        outs = [succeeds(*run, "--data", "d.ndjson", "--jobs", "1").out]
        with monkeypatch.context() as small:
            small.setattr(sum_work, "HELD", 20)      # five rows are held
            small.setattr(sum_work, "ELEMENTS", 3)
            small.setattr(tensor_rows, "BLOCK", 400)
            small.setattr(tensor_rows, "NUMBERS_AT_ONCE", 9)
            outs += [succeeds(*run, "--data", file, "--jobs", "4").out for file in ("d.ndjson", "r.ndjson", "d.parquet")]
        assert len(set(outs)) == 1, options
        found = json.loads(outs[0])
        assert (found["rows"], found["value"]["L"], found["grad"]["L"]["w"]) == (60, *want), options


def test_groups_and_formats(rows):
    results = succeeds(*RUN, "--data", "d.ndjson", "--only").records
    run = [*RUN[:-2], "--data", "d.ndjson", "--sum", "--group-by", "g"]
    groups = list(dict.fromkeys(row["g"] for row in rows))
    want = {g: exact([p for p, row in zip(results, rows, strict=True) if row["g"] == g], [r for r in rows if r["g"] == g])
            for g in groups}
    found = {record["group"]["g"]: record for record in succeeds(*run, "--format", "json").records}
    assert list(found) == groups
    assert {g: (r["value"]["L"], r["grad"]["L"]["w"]) for g, r in found.items()} == want
    succeeds(*run, "-o", "s.npz")
    with np.load("s.npz") as arrays:
        assert arrays["g"].tolist() == groups and arrays["dL_dw"].shape == (len(groups), 3)
        assert {g: (arrays["L"][i], arrays["dL_dw"][i].tolist()) for i, g in enumerate(groups)} == want
    succeeds(*run, "-o", "s.parquet")
    assert {g: (total, list(gradient)) for g, _, total, gradient in pl.read_parquet("s.parquet").iter_rows()} == want
    text = succeeds(*RUN[:-2], "--data", "d.ndjson", "--sum").out
    total, gradient = exact(results, rows)
    assert text == f"rows = 60\nL = {total!r}\ndL_dw = {gradient}\n"
    line = succeeds(*RUN[:-2], "--data", "d.ndjson", "--sum", "--format", "csv").out.splitlines()[1]
    assert line == f'60,{total!r},"{json.dumps(gradient, separators=(",", ":"))}"'


def test_bad_rows_other_shapes_what_is_not_finite_and_no_rows_at_all(rows, empty_folder):
    (empty_folder / "b.ndjson").write_text('{"x":[1,2]}\n{"x":[1]}\n{"x":[1,null]}\n{"x":[2,1]}\n{"x":[1e200,1]}\n')
    run = ["eval", "p.ad", "--data", "b.ndjson", "--sum", "--at", "w=[1,1]"]
    stopped = adcli(*run)
    assert (stopped.code, stopped.out) == (5, "") and stopped.err.startswith("b.ndjson:2: 'x' has 1 element along")
    skipped = adcli(*run, "--on-error", "skip")
    assert (skipped.code, skipped.out) == (0, "rows = 3\nL = inf\n")
    assert "b.ndjson:3: x(1) is null" in skipped.err and "b.ndjson:5: not finite, 1 of 3 rows" in skipped.err
    (empty_folder / "y.ad").write_text("input x(N)\ny(i) = 2 * x(i)\noutput y\n")
    shapes = adcli("eval", "y.ad", "--data", "b.ndjson", "--sum", "--on-error", "skip")
    assert shapes.out == "rows = 3\ny = [2e+200, 8.0]\n"
    assert "b.ndjson:2: 'y' has shape (1,), and (2,) in the rows before: a sum needs one shape" in shapes.err
    assert shapes.err.endswith("b.ndjson: 2 of 5 rows bad, skipped\n")
    (empty_folder / "n.csv").write_text("x,t\n")
    nothing = adcli("eval", "p.ad", "--data", "n.csv", "--sum", "--at", "w=[1,1]")
    assert (nothing.code, nothing.err) == (5, "n.csv: no rows to add, so nothing says what shapes the sums have\n")
    refused = adcli("grad", *run[1:], "--gauss-newton")
    assert (refused.code, "--gauss-newton adds up JᵀJ of numbers" in refused.err) == (2, True)
