"""adcli trace: the tables of the textbooks, and that their totals are those of jvp and vjp."""
from __future__ import annotations

import math
import re
import unicodedata

import numpy as np
import one_operation
import pytest
from adcli.codegen.documents.names import free_letter
from adcli.codegen.documents.notation import Label, Latex
from adcli.lang.analyse.trace import traced
from adcli.lang.evaluate import evaluate
from adcli.lang.lower.frontend import parse
from command import adcli, succeeds
from places import ROOT
from sample_files import SCALARS

from adcli import compile
from adcli.trace.tables import Writer, labels, latex

TEXTBOOK = ROOT / "samples" / "textbook.ad"
AT = ("--at", "x1=2,x2=5")

# ---------------------------------------------------------------- the tables of Baydin et al. (2018), by eye

FORWARD = """\
Forward primal trace                            │ Forward tangent trace
────────────────────────────────────────────────┼────────────────────────────────────────────────
v₋₁ = x₁                             = 2        │ v̇₋₁ = ẋ₁                                  = 1
v₀  = x₂                             = 5        │ v̇₀  = ẋ₂                                  = 0
────────────────────────────────────────────────┼────────────────────────────────────────────────
v₁  = ln v₋₁   = ln 2                = 0.69315  │ v̇₁  = v̇₋₁ / v₋₁           = 1 / 2         = 0.5
v₂  = v₋₁ × v₀ = 2 × 5               = 10       │ v̇₂  = v̇₋₁ × v₀ + v₋₁ × v̇₀ = 1 × 5 + 2 × 0 = 5
v₃  = v₁ + v₂  = 0.69315 + 10        = 10.693   │ v̇₃  = v̇₁ + v̇₂             = 0.5 + 5       = 5.5
v₄  = sin v₀   = sin 5               = -0.95892 │ v̇₄  = v̇₀ × cos v₀         = 0 × cos 5     = 0
v₅  = v₃ - v₄  = 10.693 - (-0.95892) = 11.652   │ v̇₅  = v̇₃ - v̇₄             = 5.5 - 0       = 5.5
────────────────────────────────────────────────┼────────────────────────────────────────────────
y   = v₅                             = 11.652   │ ẏ   = v̇₅                                  = 5.5
────────────────────────────────────────────────┴────────────────────────────────────────────────
v₁, v₂, …: values without a name in the program; v̇₋₁: the tangent of v₋₁
"""

REVERSE = """\
Forward primal trace                            │ Reverse adjoint trace, read upwards
────────────────────────────────────────────────┼───────────────────────────────────────────────────
v₋₁ = x₁                             = 2        │ x̄₁  = v̄₋₁                               = 5.5
v₀  = x₂                             = 5        │ x̄₂  = v̄₀                                = 1.7163
────────────────────────────────────────────────┼───────────────────────────────────────────────────
v₁  = ln v₋₁   = ln 2                = 0.69315  │ v̄₋₁ = v̄₋₁ + v̄₁ / v₋₁ = 5 + 1 / 2        = 5.5
v₂  = v₋₁ × v₀ = 2 × 5               = 10       │ v̄₀  = v̄₀ + v₋₁ × v̄₂  = -0.28366 + 2 × 1 = 1.7163
                                                │ v̄₋₁ = v̄₂ × v₀        = 1 × 5            = 5
v₃  = v₁ + v₂  = 0.69315 + 10        = 10.693   │ v̄₂  = v̄₃                                = 1
                                                │ v̄₁  = v̄₃                                = 1
v₄  = sin v₀   = sin 5               = -0.95892 │ v̄₀  = v̄₄ × cos v₀    = (-1) × cos 5     = -0.28366
v₅  = v₃ - v₄  = 10.693 - (-0.95892) = 11.652   │ v̄₄  = -v̄₅                               = -1
                                                │ v̄₃  = v̄₅                                = 1
────────────────────────────────────────────────┼───────────────────────────────────────────────────
y   = v₅                             = 11.652   │ v̄₅  = ȳ                                 = 1
────────────────────────────────────────────────┴───────────────────────────────────────────────────
v₁, v₂, …: values without a name in the program; v̄₋₁: the adjoint of v₋₁
"""


def test_both_are_two_tables_and_neither_is_the_primal_trace():
    both = succeeds("trace", TEXTBOOK, *AT, "--fmt", "%.5g", "--names", "textbook", "--tangent", "x1=1", "--cotangent", "y=1").out
    assert both == f"{FORWARD}\n{REVERSE}"
    alone = succeeds("trace", TEXTBOOK, *AT, "--fmt", "%.5g", "--names", "textbook").out
    assert alone.splitlines()[:-1] == [re.split(" │|─┼|─┴", line)[0].rstrip() for line in FORWARD.splitlines()[:-1]]
    assert alone.splitlines()[-1] == FORWARD.splitlines()[-1].partition(";")[0]


def test_json_has_every_number_and_its_place():
    (record,) = succeeds("trace", TEXTBOOK, *AT, "--tangent", "x1=1", "--cotangent", "y=1", "--names", "textbook",
                         "--format", "json").records
    assert list(record) == ["at", "tangent", "cotangent", "inputs", "lines", "outputs", "status"]
    assert [i["adjoint"] for i in record["inputs"]] == [5.5, 2 - math.cos(5)]
    product = record["lines"][1]
    text = TEXTBOOK.read_text(encoding="utf-8")
    assert text[slice(*product["span"])] == "x1 * x2" and text.splitlines()[product["line"] - 1].startswith("y = ")
    assert (product["name"], product["op"], product["operands"]) == ("v₂", "mul", ["v₋₁", "v₀"])
    assert (product["value"], product["tangent"], product["adjoint"]) == (10.0, 5.0, 1.0)
    assert product["terms"] == [{"operand": "v₋₁", "formula": "v̇₋₁ × v₀", "value": 5.0},
                                {"operand": "v₀", "formula": "v₋₁ × v̇₀", "value": 0.0, "absent": "zero seed"}]
    assert product["steps"] == [{"operand": "v₋₁", "formula": "v̄₂ × v₀", "value": 5.0, "adjoint": 5.0},
                                {"operand": "v₀", "formula": "v₋₁ × v̄₂", "value": 2.0, "adjoint": 2 - math.cos(5)}]
    assert record["outputs"] == [{"output": "y", "of": "v₅", "value": record["lines"][-1]["value"],
                                  "tangent": 5.5, "adjoint": 1.0}]


# ---------------------------------------------------------------- the totals are those of the derivative programs

@pytest.mark.parametrize("name", [p.name for p in SCALARS])
def test_the_totals_are_what_jvp_and_vjp_print(name):
    path = ROOT / "samples" / name
    point = re.search(r"--at (\S+)", re.search(r"^# Try:  (.+)$", path.read_text(encoding="utf-8"), re.M)[1])
    at = ["--at", point[1]] if point else []
    program = parse(path.read_text(encoding="utf-8"))
    first = next(p.name for p in program.params if p.active)
    dots = ["--tangent", f"{first}=2"]
    bars = ["--cotangent", ",".join(f"{r.name}={i + 1}" for i, r in enumerate(program.results))]
    (record,) = adcli("trace", path, *at, *dots, *bars, "--format", "json").records
    (pushed,) = adcli("jvp", path, *at, *dots, "--format", "json").records
    (pulled,) = adcli("vjp", path, *at, *bars, "--format", "json").records
    assert {o["output"]: o["tangent"] for o in record["outputs"]} == pytest.approx(pushed["jvp"], rel=1e-12, abs=1e-12)
    assert {i["input"]: i["adjoint"] for i in record["inputs"] if "adjoint" in i} == pytest.approx(
        pulled["vjp"], rel=1e-12, abs=1e-12)
    assert {o["output"]: o["value"] for o in record["outputs"]} == pytest.approx(pushed["value"], rel=1e-12, abs=1e-12)


# ---------------------------------------------------------------- what has no derivative, and what is no number

def composed(text: str) -> str:
    """Letters with their dots and bars as one character where there is one, as they are printed."""
    return unicodedata.normalize("NFC", text)


def cell(table: str, name: str) -> list[str]:
    """What stands behind a name in a table, part by part."""
    found = re.findall(rf"(?:^|│ ){composed(name)} +=(.*?)(?:│|$)", table, re.M)
    return [" ".join(part.split()) for part in found]


# ---------------------------------------------------------------- names


def test_the_letter_of_numbered_values_is_none_of_the_program():
    assert free_letter(["x", "y"]) == "v"
    assert free_letter(["v"]) == free_letter(["v_1"]) == free_letter(["v12"]) == "w"
    assert free_letter(list("abcdefghijklmnopqrstuvwxyz")) == "vv"


def test_names_in_latex():
    given = {"x": "x", "x1": "x_{1}", "alpha_2": r"\alpha_{2}", "θ": r"\theta", "rate": r"\mathit{rate}",
             "k_max": r"k_{\text{max}}", "a_b_c": r"\mathit{a\_b\_c}", "é1": r"\textit{é}_{1}"}
    notation = Latex(str, list(given))
    assert {name: notation.label(Label(name)) for name in given} == given
    assert notation.label(Label("k_max"), "tangent") == r"\dot{k}_{\text{max}}"
    same = Latex(str, ["x1", "x_1"])
    assert [same.label(Label(name)) for name in ("x1", "x_1")] == [r"\mathit{x1}", r"\mathit{x\_1}"]


@pytest.mark.parametrize("op", one_operation.REAL, ids=lambda p: p.name)
def test_latex_of_every_row_is_well_formed(op):
    program = one_operation.program(op)
    names = [p.name for p in program.params]
    notation = Latex("%.6g".__mod__, [*names, "z", *(v.name or "" for e in program.equations for v in e.outs)])
    trace = traced(program, one_operation.samples(op)[0], names, dict.fromkeys(names, -1e-9), {"z": 1.0})
    for table in Writer(trace, labels(program, False), notation).tables(True, True):
        for row in "".join(latex(table)).splitlines():
            well_formed(row.removeprefix("% names:"))


def well_formed(row: str) -> None:
    """Cells, dollars and braces of a line of a tabular go together."""
    assert row.count("$") % 2 == 0
    depth = 0
    for c in re.sub(r"\\[{}]", "", row):
        depth += (c == "{") - (c == "}")
        assert depth >= 0, row
    assert depth == 0 and not re.search(r"(?<!\\)[#%]", row), row
    if row.startswith(("$", " &")):
        assert row.count(" & ") == 7 and row.endswith(" \\\\"), row


# ---------------------------------------------------------------- points, files, faults


@pytest.mark.no_cover
def test_a_long_program_is_one_long_table():
    text = "".join(f"x{i + 1} = sin(x{i}) * 0.5 + x{i}\n" for i in range(300))
    ended = succeeds("trace", "-", "--at", "x0=1", "--tangent", "x0=1", "--cotangent", "x300=1", stdin=text.encode())
    pushed, pulled = cell(ended.out, "ẋ₃₀₀")[-1], cell(ended.out, "x̄₀")[0]
    assert pushed.split(" = ")[-1] == pulled.split(" = ")[-1]
    assert len(ended.out.splitlines()) > 1800


# ---------------------------------------------------------------- tensors, loops and matrices

LOOP = """input W(n, n), h0(n)
h(0, i) = h0(i)
for t in 0:3 {
    a(t, i) +=! W(i, j)*h(t, j)
    h(t + 1, i) = tanh(a(t, i))
}
x = solve(W, h0)
v +=! h(3, i)*x(i)
output v, x
"""
AT_LOOP = {"W": [[1.0, -0.5], [0.25, 2.0]], "h0": [0.5, 0.75]}


def test_rows_of_tensors_have_the_numbers_of_jvp_and_vjp():
    f = compile(LOOP)
    tangent, cotangent = {"W": [[1.0, 2.0], [0.0, 1.0]], "h0": [0.0, 1.0]}, {"v": 2.0, "x": [1.0, -1.0]}
    found = f.trace(AT_LOOP, tangent=tangent, cotangent=cotangent)
    outputs = [r.name for r in parse(LOOP).results]
    forward = evaluate(f.jvp()._program, {**AT_LOOP, "dW": tangent["W"], "dh0": tangent["h0"]})
    backward = evaluate(f.vjp()._program, {**AT_LOOP, "d_dv": cotangent["v"], "d_dx": cotangent["x"]})
    assert [row["name"] for row in found["lines"]] == ["a", "h"]
    before, after = found["lines"][1]["value"][2:4]
    np.testing.assert_allclose(after, np.tanh(np.matmul(AT_LOOP["W"], before)), rtol=1e-12)
    for row, name in zip(found["outputs"], outputs, strict=True):
        np.testing.assert_allclose(row["tangent"], forward[f"d{name}"], rtol=1e-9)
    for row in found["inputs"]:
        np.testing.assert_allclose(row["adjoint"], backward[f"d_d{row['name']}"], rtol=1e-9)


def test_a_program_with_a_tensor_that_its_derivative_lacks_has_rows_of_statements():
    text = "input x, y; s +=! sqrt(i*y) where i in 0:3; v = x*y; output v"
    record = succeeds("trace", "-e", text, "--at", "x=1,y=2", "--tangent", "x=1", "--format", "json").records[0]
    (line,), (output,) = record["lines"], record["outputs"]
    assert (line["name"], output["name"], output["value"], output["tangent"]) == ("s", "v", 2.0, 2.0)


def test_a_loop_goes_step_by_step_for_an_element():
    f = compile(LOOP)
    one = f.trace(AT_LOOP, cotangent={"v": 1.0, "x": 0.0}, element="h(2, 1)")
    assert [row["name"] for row in one["lines"]] == ["h(2, 1)"] and one["lines"][0]["operands"] == ["a(1, 1)"]
    steps = f.trace(AT_LOOP, tangent={"h0": 1.0, "W": 0.0}, element="h(:,1)")
    assert [row["name"] for row in steps["lines"]] == ["h(1, 1)", "h(2, 1)", "h(3, 1)"]
    whole = f.trace(AT_LOOP, tangent={"h0": 1.0, "W": 0.0})["lines"][1]["tangent"]
    assert [row["tangent"] for row in steps["lines"]] == [step[1] for step in whole[1:]]
    assert "h(2, 1) = tanh(a(1, 1)) = " in str(steps)

