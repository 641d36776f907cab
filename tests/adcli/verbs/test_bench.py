"""The verb bench: that its figures are there and fit together; how large they are is no matter for a test."""
from __future__ import annotations

import subprocess

import pytest
from adcli.lang.ir.errors import Source
from adcli.lang.lower.frontend import parse_source
from command import adcli, succeeds

from adcli.api.function import Function
from adcli.verbs import bench
from adcli.verbs.bench import Timing

QUICK = ["--rows", "64", "--seconds", "0"]


@pytest.fixture(autouse=True)
def few_processes(monkeypatch):
    monkeypatch.setattr(bench, "RUNS", 1)


def test_figures_of_every_kind():
    [figures] = succeeds("bench", "-e", "v = x*sin(y)", *QUICK, "--format", "json").records
    assert (figures["inputs"], figures["outputs"], figures["rows"]) == (2, 1, 64)
    assert (figures["precision"], figures["fast_math"]) == ("double", False)
    for kind in ("ns_per_row", "equations", "batch_ns_per_row", "speed_up"):
        assert list(figures[kind]) == ["value", "forward", "reverse", "gradient"]
    assert figures["equations"]["value"] == 2
    assert list(figures["compile_ms"]) == ["parse", "differentiate", "expand", "emit", "llvm", "link"]
    assert list(figures["start_up_ms"]) == ["warm", "cold"]
    assert list(figures["tiers"]) == ["compiled", "tape"]
    assert all(t > 0 for tier in figures["tiers"].values() for t in tier.values())
    times = [*figures["ns_per_row"].values(), *figures["compile_ms"].values(), *figures["start_up_ms"].values()]
    assert all(t > 0 for t in times)
    value, gradient = figures["ns_per_row"]["value"], figures["ns_per_row"]["gradient"]
    assert figures["over_value"]["gradient"] == pytest.approx(gradient / value)


def test_the_processes_that_are_timed_import_nothing_from_the_folder_one_is_in(tmp_path, monkeypatch):
    (tmp_path / "click.py").write_text("raise SystemExit('planted')")
    monkeypatch.chdir(tmp_path)
    began = []
    run = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda *args, **options: began.append(args) or len(began) > 1 or run(*args, **options))
    source = Source("-e", "v = x\n")
    bench.start_up(Timing(source, None, None, 0.0, {}), parse_source(source))
    assert len(began) == 2 * (bench.RUNS + 1)


def test_rows_are_sampled_from_declared_ranges(monkeypatch):
    monkeypatch.setattr(bench, "start_up", lambda *_: {"warm": 1.0, "cold": 1.0})
    assert succeeds("bench", "-e", "input x in [-2, -1]\nv = log(-x)", *QUICK).out.startswith("-e: 1 input, 1 output\n")


def test_rows_are_the_point_that_is_given(monkeypatch):
    monkeypatch.setattr(bench, "start_up", lambda *_: {"warm": 1.0, "cold": 1.0})
    source = Source("-e", "v = x*y\n")
    asked, f = Timing(source, None, None, 0.0, {"x": 2.0, "y": 5.0}), Function(parse_source(source))
    assert {name: {*column} for name, column in bench.sampled(asked, f, 3).items()} == {"x": {2.0}, "y": {5.0}}
    assert succeeds("bench", "-e", "v = log(x)", "--at", "x=-1", *QUICK).out.startswith("-e: 1 input, 1 output\n")


def test_more_rows_than_memory_holds_and_no_length_of_time_are_refused(monkeypatch):
    monkeypatch.setattr("adcli.codegen.machine.memory.available", lambda: 1 << 30)
    ended = adcli("bench", "-e", "x*y", "--rows", "1e8")
    assert ended.code == 2 and "a batch of 16 × 100,000,000 rows needs 71 GiB of memory" in ended.err
    assert adcli("bench", "-e", "x*y", "--seconds", "nan").code == 2



FIGURES = {
    "program": "-e", "inputs": 2, "outputs": 1, "precision": "single", "fast_math": True, "threads": 2, "rows": 64,
    "batch_rows": 1024, "equations": {"value": 2, "gradient": 5}, "ns_per_row": {"value": 1.5, "gradient": 3.0},
    "over_value": {"gradient": 2.0}, "speed_up": {"value": 2.0, "gradient": 1.6},
    "batch_ns_per_row": {"value": {"1": 2.0, "2": 1.0}, "gradient": {"1": 4.0, "2": 2.5}},
    "tiers": {"compiled": {"made_ms": 20.0, "us_per_point": 0.5, "ns_per_row": 3.0, "ns_per_row_and_equation": 0.6},
              "tape": {"made_ms": 1.0, "us_per_point": 0.75, "ns_per_row": 9.0, "ns_per_row_and_equation": 1.8,
                       "interpreter_ms": 7.0}},
    "compile_ms": {"parse": 1.0, "link": 2.0}, "start_up_ms": {"warm": 30.0, "cold": 60.0}, "sizes": {"N": 1000, "M": 7},
    "us_per_call": {"value": {"1": 2.0, "2": 1.0}, "gradient": {"1": 4.0, "2": 2.5}},
    "memory_bytes": {"value": 0, "gradient": 4096}}
OF_NUMBERS = """\
-e: 2 inputs, 1 output, in single precision, with --fast-math
ns/row: 64 rows per call on one thread, then 1024 on 1 and 2 threads

           equations    ns/row  / value  1 thread  2 threads  speed-up
value              2      1.50               2.00       1.00      2.00
gradient           5      3.00     2.00      4.00       2.50      1.60

gradient    made, ms  us/point    ns/row / equation
compiled        20.0      0.50      3.00      0.600
tape             1.0      0.75      9.00      1.800

compile    parse 1.0, link 2.0 ms
interpreter 7.0 ms, once for all tapes
start-up   warm 30.0, cold 60.0 ms
"""
OF_TENSORS = """\
-e: 2 inputs, 1 output, in single precision, with --fast-math
sizes: N = 1,000, M = 7

          equations  1 thread, us  / value  2 threads, us  speed-up  bytes between
value             2           2.0                     1.0      2.00              0
gradient          5           4.0     2.00            2.5      1.60          4,096

compile    parse 1.0, link 2.0 ms, reverse
"""


def test_the_reports_in_full():
    assert bench.report(FIGURES) == OF_NUMBERS and bench.tensor_report(FIGURES) == OF_TENSORS
    assert "\nno sizes\n" in bench.tensor_report({**FIGURES, "sizes": {}})


@pytest.mark.parametrize(("text", "sizes"), [
    ("input x, y; v = x*sin(y); w = y**3", ()), ("input x(N), y; v +=! x(i)*sin(y); w = y**3", ("--size", "N=3"))])
def test_units_and_what_is_differentiated(text, sizes, monkeypatch):
    """Every run takes 0.064 s, every phase 3 ms."""
    monkeypatch.setattr(bench, "best", lambda run, seconds: (run(), 0.064)[1])
    monkeypatch.setattr(bench, "timed", lambda work: (work(), 0.003))
    monkeypatch.setattr(bench, "start_up", lambda *_: {"warm": 1.0, "cold": 1.0})
    rows = () if sizes else QUICK
    chosen = ("--wrt", "x", "--of", "v")
    [figures] = succeeds("bench", "-e", text, *chosen, *rows, *sizes, "--format", "json").records
    f = Function(parse_source(Source("-e", text)))
    made = {"forward": f.jvp(["x"], ["v"]), "reverse": f.vjp(["x"], ["v"]), "gradient": f.grad(["x"], ["v"])}
    for name, g in made.items():
        assert figures["equations"][name] == len(g.program.equations), name
    assert set(figures["compile_ms"].values()) == {3.0}
    assert {*figures["over_value"].values(), *figures["speed_up"].values()} == {1.0}
    if sizes:
        assert {us for mode in figures["us_per_call"].values() for us in mode.values()} == {64000.0}
    else:
        assert set(figures["ns_per_row"].values()) == {1e6}
        assert {ns for mode in figures["batch_ns_per_row"].values() for ns in mode.values()} == {62500.0}
        for tier in figures["tiers"].values():
            assert (tier["made_ms"], tier["us_per_point"], tier["ns_per_row"]) == (3.0, 64000.0, 1e6)
        assert figures["tiers"]["tape"]["interpreter_ms"] == 3.0
