"""adcli draw: the graph of a stage, what it says at a point, what is folded, and its files."""
from __future__ import annotations

import math
import re
import struct
from pathlib import Path

import numpy as np
import pytest
from adcli.codegen.documents.graph import COPY, INPUT
from adcli.codegen.documents.notation import Label, Unicode
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import evaluate, numpy_arithmetic
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from command import adcli, succeeds
from places import ROOT
from random_programs import sample
from session_seed import drawn, each_choice

from adcli import compile
from adcli.draw.drawing import FOLDED, MOST_DRAWN, STAGES, DrawnPoint, graph

WORKED = ROOT / "samples" / "worked.ad"


def label(name: str) -> str:
    return Unicode(str).label(Label(name))


def said(text: str, word: str) -> float:
    return float(next(line for line in text.split("\n") if line.startswith(word)).split()[-1])


# ---------------------------------------------------------------- numbers

def test_values_and_adjoints_are_those_of_the_gradient() -> None:
    r = drawn("draw", "numbers")
    for _ in range(6):
        drawn_program = sample(r, 12, True)
        p = parse(drawn_program.text)
        at = {q.name: r.uniform(0.2, 2.0) for q in p.params}
        of = p.results[0].name
        derived = gradient(p, None, [of])
        numbers = evaluate(derived, at)
        expected = {each.wrt[0]: numbers[each.name] for each in derived.results if each.wrt}
        for stage in ("ssa", "dup", "simplified"):
            nodes = graph(p, stage, DrawnPoint(at, number=repr), of=[of]).graph.nodes
            for q in (q for q in p.params if q.active):
                told = "\n".join(next((n.lines for n in nodes if n.kind == INPUT and n.lines[0] == label(q.name)), ()))
                if not told:   # no input of this output
                    assert expected.get(q.name, 0.0) == 0
                    continue
                assert said(told, "value") == at[q.name]
                partial = expected.get(q.name, 0.0)
                found = said(told, "adjoint") if "adjoint" in told else 0.0
                assert found == pytest.approx(partial, rel=1e-9, abs=1e-300, nan_ok=True)


def test_a_stage_of_derivatives_has_them_as_nodes() -> None:
    p = parse(WORKED.read_text())
    for stage, seeds in (("forward", {"tangent": {"x": 1.0}}), ("reverse", {})):
        nodes = graph(p, stage, DrawnPoint({"x": 2.0, "y": 5.0}, **seeds)).graph.nodes
        told = {n.lines[0].partition(" = ")[0]: n.lines[-1] for n in nodes if n.derivative and n.kind != COPY}
        assert told[{"forward": "v̇", "reverse": "x̄"}[stage]] == "value 5880"
        assert told[{"forward": "ẋ", "reverse": "v̄"}[stage]] == "value 1"


def test_tensors() -> None:
    p = parse((ROOT / "samples" / "softmax_regression.ad").read_text())
    r = np.random.default_rng(drawn("draw", "tensors").randrange(1 << 30))
    shapes = {q.name: tuple(3 for _ in q.var.shape) for q in p.params}
    at = {q.name: r.integers(0, 3, shapes[q.name]) if q.var.integer else r.normal(size=shapes[q.name]) for q in p.params}
    expected = evaluate(gradient(p), at, numpy_arithmetic())
    of, nodes = p.results[0].name, graph(p, point=DrawnPoint(at)).graph.nodes
    assert said("\n".join(next(n for n in nodes if n.output).lines), "value") == pytest.approx(float(expected[of]), rel=1e-5)
    for node in nodes:
        name = node.lines[0].partition("(")[0]
        if node.kind == INPUT and f"d{of}_d{name}" in expected:
            partial, shown = expected[f"d{of}_d{name}"], next(line for line in node.lines if line.startswith("adjoint"))
            numbers = [float(x) for x in re.findall(r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?", shown.rpartition(", ")[2])]
            ends = [partial.min(), partial.max()] if partial.size > 6 else [partial.ravel()[-1]]
            assert numbers == pytest.approx(ends, rel=1e-4, abs=1e-9)


def test_no_adjoint_of_a_loop_is_that_of_its_last_use_alone() -> None:
    p = parse("input w, h0(n)\nh(0, i) = h0(i)\nfor t in 0:2 { h(t + 1, i) = w*h(t, i) }\nu(i) = h(1, i)\nv +=! u(i)")
    at = DrawnPoint({"w": 2.0, "h0": np.array([4.0, 1.0])})
    told = {n.lines[0].partition("(")[0]: n.lines for n in graph(p, point=at).graph.nodes}
    assert [any("adjoint" in line for line in told[name]) for name in ("for t in 0:2 { h", "u", "h₀")] == [False, True, True]


def test_numbers_and_truth_values_beside_tensors_are_those_of_native_code() -> None:
    """Those of a vector library, whose last digits decide a condition."""
    p = parse("input x, z(N); b = sin(x)**2 + cos(x)**2 > 1; v = b ? sin(x) : cos(x); w +=! z(i)*v")
    at = {"x": 0.4, "z": np.array([1.0, 2.0])}
    told = "\n".join(line for node in graph(p, point=DrawnPoint(at, number=repr)).graph.nodes for line in node.lines)
    found = compile("b = sin(x)**2 + cos(x)**2 > 1 ? 1 : 0; v = b > 0 ? sin(x) : cos(x); output b, v")(x=0.4)
    assert f"value {'true' if found['b'] else 'false'}" in told and f"value {found['v']!r}" in told


def test_random_points_have_words_for_everything() -> None:
    """No kind of cause is without words, whatever happens at a point."""
    r = drawn("draw", "words")
    for _ in range(12):
        p = parse(sample(r, 14, True).text)
        for _ in range(3):
            at = {q.name: r.choice([0.0, 1.0, -1.0, 1e200, math.inf, math.nan, r.gauss(0, 2)]) for q in p.params}
            seeds = {q.name: 1.0 for q in p.params if q.active}, {q.name: r.choice([1.0, 0.0]) for q in p.results}
            graph(p, r.choice(["ssa", "dup"]), DrawnPoint(at, *seeds)).text()


# ---------------------------------------------------------------- the command

def test_forms_go_by_the_file_and_by_the_terminal(tmp_path: Path) -> None:
    dot = succeeds("draw", WORKED).out
    assert dot.startswith('digraph "worked ssa" {') and succeeds("draw", WORKED, "--format", "dot").out == dot
    assert "v = w₃ + w₄\n" in succeeds("draw", WORKED, "--format", "text").out
    for name, start in (("g.dot", "digraph"), ("g.gv", "digraph"), ("g.txt", "x\n"), ("g", "digraph"), ("g.svg", "<svg ")):
        succeeds("draw", WORKED, "-o", tmp_path / name)
        assert (tmp_path / name).read_text().startswith(start)


def test_pdf_and_png_are_the_picture(tmp_path: Path) -> None:
    """Two runs give the same bytes; a wrong value, copies, calls and cut edges are among what is drawn."""
    at = ("-e", "v = größe*max(x, 2) + log(0*x) + x", "--at", "x=1,größe=3", "--stage", "dup")
    for form, start in (("pdf", b"%PDF"), ("png", b"\x89PNG")):
        for name in ("g", "again"):
            succeeds("draw", *at, "-o", tmp_path / f"{name}.{form}")
        assert (tmp_path / f"g.{form}").read_bytes().startswith(start)
        assert (tmp_path / f"g.{form}").read_bytes() == (tmp_path / f"again.{form}").read_bytes()
    width, height = struct.unpack(">II", (tmp_path / "g.png").read_bytes()[16:24])
    across, down = map(float, re.findall(r'width="(\d+)" height="(\d+)"', succeeds("draw", *at, "--format", "svg").out)[0])
    assert abs(width - 2 * across) <= 1 and abs(height - 2 * down) <= 1


# ---------------------------------------------------------------- large programs

def test_calls_are_folded_in_large_graphs_and_where_one_asks() -> None:
    p = parse((ROOT / "samples" / "neural_net.ad").read_text())
    sizes = {str(fold): len(graph(p, fold=fold).graph.nodes) for fold in ("auto", "all", "none", ["layer"], "entropy")}
    assert sizes["auto"] == sizes["all"] < sizes["['layer']"] < sizes["none"] and sizes["none"] > FOLDED
    assert sizes["entropy"] == sizes["none"] - 8
    assert len(graph(parse("def f(x) = x*x + 1\nv = f(y)")).graph.nodes) == 3


def test_too_large_graphs_say_what_to_do(tmp_path: Path) -> None:
    program = tmp_path / "long.ad"
    program.write_text("v0 = x\n" + "".join(f"v{i + 1} = sin(v{i}) + y\n" for i in range(MOST_DRAWN // 2)))
    for name in ("g.svg", "g.pdf"):
        done = adcli("draw", program, "-o", tmp_path / name)
        assert done.code == 2 and re.search(rf"\(at most {MOST_DRAWN:,}\)\nhelp: write -o g\.\w+$", done.err.strip())
    assert succeeds("draw", program).out.count("->") > MOST_DRAWN


def test_of_draws_what_one_output_needs() -> None:
    drawing = graph(parse("u = sin(x)\nw = y*2\nt = w"), point=DrawnPoint({"x": 1.0, "y": 2.0}, {"y": 1.0}), of=["t"])
    assert [n.lines for n in drawing.graph.nodes] == [
        ("y", "value 2", "tangent 1", "adjoint 2"), ("t = y × 2", "value 4", "tangent 2", "adjoint 1")]


def test_an_output_that_is_an_input_says_its_value() -> None:
    assert [n.lines for n in graph(parse("v = x"), point=DrawnPoint({"x": 1.5})).graph.nodes] == [
        ("x", "value 1.5", "adjoint 1"), ("v = x", "value 1.5")]


def test_what_would_make_a_graph_smaller_is_proposed() -> None:
    p = parse("def f(x) = x*x + sin(x)\n" + "".join(f"v{i} = f(x + {i})\n" for i in range(400)))
    with pytest.raises(AdError, match=r"help: write -o g\.dot, or draw one output with --of, or fold functions with --fold all"):
        graph(p, fold="none").svg()


def test_a_point_must_be_whole() -> None:
    p = parse("input x, k = 3\nv = x*k")
    assert ("value 6",) in [n.lines[1:2] for n in graph(p, point=DrawnPoint({"x": 2.0})).graph.nodes]
    with pytest.raises(AdError, match="x"):
        graph(p, point=DrawnPoint({"k": 1.0}))


def test_every_sample_has_a_graph_and_every_stage() -> None:
    for path, stage in each_choice(sorted((ROOT / "samples").glob("*.ad")), [*STAGES]):
        assert "digraph" in graph(parse(path.read_text(), path.name), stage).dot

