"""bench of programs with tensors: figures of every kind, at sizes that fit."""
from __future__ import annotations

from adcli.lang.ir.errors import Source
from adcli.lang.lower.frontend import parse
from command import adcli, succeeds

from adcli.verbs.bench import USUAL_SIZE, Timing, chosen, drawn_values


def test_figures_of_every_kind():
    text = "input x(N), int32 k(M); h(0) = 0; for t in 0:M { h(t + 1) = 0.5*h(t) + x(k(t)) }; v = h(M)"
    options = ("bench", "-e", text, "--size", "N=7", "--seconds", "0")
    (figures,) = succeeds(*options, "--format", "json").records
    assert figures["sizes"] == {"M": USUAL_SIZE, "N": 7} and (figures["inputs"], figures["outputs"]) == (2, 1)
    for kind in ("equations", "us_per_call", "memory_bytes", "speed_up"):
        assert list(figures[kind]) == ["value", "forward", "reverse", "gradient"]
    assert list(figures["compile_ms"]) == ["parse", "differentiate", "lay out", "plan", "emit", "llvm in haste", "llvm", "link"]
    times = [*figures["compile_ms"].values(), *(us for mode in figures["us_per_call"].values() for us in mode.values())]
    assert all(x > 0 for x in times)


def test_a_point_has_its_values_and_sizes():
    text = "input x(N), int32 k(M); h(0) = 0; for t in 0:M { h(t + 1) = 0.5*h(t) + x(k(t)) }; v = h(M)"
    point = ("--at", "x=[1,2],k=[0,1,1]", "--seconds", "0")
    (figures,) = succeeds("bench", "-e", text, *point, "--format", "json").records
    assert figures["sizes"] == {"N": 2, "M": 3}
    assert succeeds("bench", "-e", "input x(N), y; v +=! x(i)*y", "--at", "x=[1,2],y=3", "--seconds", "0").out
    outside = adcli("bench", "-e", text, "--at", "x=[1,2],k=[0,2,1]", "--seconds", "0")
    assert outside.code == 3 and "k(1) = 2 is out of range" in outside.err, outside
    both = adcli("bench", "-e", text, *point, "--size", "N=3")
    assert both.code == 2 and "--size N=3: the point of --at has its sizes" in both.err


def test_sizes_that_follow_from_others_fit():
    program = parse("input a(H), b(K), c(H - K + 1)\ny +=! a(i + j)*b(j)*c(i)")
    sizes = chosen(program, {"K": 5})
    assert sizes["K"] == 5 and sizes["H"] >= 5
    found = drawn_values(Timing(Source("-e", ""), None, None, 0.0, {}), program, sizes, {})
    assert found["c"].shape == (sizes["H"] - 4,)


def test_inputs_that_memory_does_not_hold_are_refused():
    ended = adcli("bench", "-e", "input A(N, N); y(i) +=! A(i, j)", "--size", "N=10000000", "--seconds", "0")
    assert ended.code == 2 and "give smaller ones: --size" in ended.err, ended

