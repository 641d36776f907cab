"""The document of a page: every line knows its operation, and the script gives the values of the reference, for every seed."""
from __future__ import annotations

import base64
import json
import math
import random
import re
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from adcli.lang.analyse.explain import Explainer, Question
from adcli.lang.analyse.numeric_sweeps import forward_sweep, reverse_sweep
from adcli.lang.analyse.trace import traced
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir import LEVELS, Program, Var
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoints, tangents
from adcli.lang.passes.status import with_status
from adcli.lang.passes.zero_seeds import drop_zero_seeds
from adcli.lang.printing.printer import print_program
from adcli.lang.simplify.mathematics import decided
from adcli.lang.syntax.scan import normal
from back_ends import bits
from compare_corpus import cases, entries
from pages import in_node
from places import DATA, WORKED
from random_comprehensions import sample as tensor_sample
from random_programs import mixed_points, sample
from sample_files import SCALARS
from script_programs import NODE
from session_seed import drawn, half, part

from adcli.explore import data
from adcli.explore.data import document
from adcli.explore.formulas import PREFIXES, defined
from adcli.why.causes import Words

AWKWARD = ("p = x - 1\nv = log(p) * p", "v = sqrt(x)**2", "v = sin(1/x)", "a = exp(x)\nv = a/a - a*x", "v = max(x, x*x, sqrt(x))",
           "v = x > 0 ? log(x) : x/x", "v = rsqrt(x) + pow(x, -2)", "u = 1/x\nv = u - u*y\nw = fma(u, x, y)",
           "v = atanh(x) + acos(x)*asin(x)", "v = hypot(x, y, x)*lgamma(x)/gamma(y)", "v = log1p(x)**y - cbrt(x) + x**y",
           "(a, b) = dup x\nv = sqrt(a) * log(b) + min(x, log(x), 2)", "v = logaddexp(x, y) + xlogy(x, y) + atan2(x, y)",
           "x = 1/x\nx = x - x*y\nv = x*x - y/x")

needs_node = pytest.mark.skipif(NODE is None, reason="no node")


def page(text: str, at=None, **more) -> dict:
    return document(normal(text, "p.ad"), at, **more)[0]


# ---------------------------------------------------------------- what is said

@pytest.mark.parametrize("path", part(SCALARS, 4), ids=lambda p: p.stem)
def test_panes_are_the_stages_that_show_prints_and_every_line_knows_its_operation(path) -> None:
    text = path.read_text(encoding="utf-8")
    made, program = page(text), parse(text)
    json.dumps(made, allow_nan=False)
    count, slots = len(program.equations), len(made["names"]["plain"])
    panes = {pane["key"]: pane for pane in made["panes"]}
    assert [line["text"] for line in panes["program"]["lines"]] == normal(text, "").text.splitlines()
    for key, derived in (("forward", tangents(program)), ("reverse", adjoints(program))):
        for style, found in panes[key]["styles"].items():
            exact = print_program(derived, style) if style != "math" else print_program(decided(derived).program, "nested")
            assert "\n".join(line["text"] for line in found) + "\n" == exact
            assert {k for line in found for k in line.get("ops", ()) if k >= 0} == set(range(count))
            named = [line for line in found if " = " in line["text"] and "kind" in line]
            assert all(line["ops"] and all(0 <= slot < slots for _, slot in line["values"]) for line in named)
    marked = {(k, line["text"][a:b]) for line in panes["program"]["lines"] for a, b, k in line.get("spans", ())}
    for k, operation in enumerate(made["operations"]):
        assert {operation["text"], *operation["text"].split("\n")} & {piece for op, piece in marked if op == k}


def test_the_worked_example() -> None:
    """Line by line: each derivative line belongs to the operation that it differentiates, copies of inputs to the input."""
    made = page(WORKED.read_text(encoding="utf-8"))
    panes = {pane["key"]: pane for pane in made["panes"]}
    ops = {line["text"]: line.get("ops") for line in panes["reverse"]["styles"]["prefix"]}
    assert ops["(x1, x2) = dup(x)"] == ops["d_dx = add(d_dx1, d_dx2)"] == [-1]
    assert ops["d_dy = mul(neg(div(d_dr, y)), r)"] == ops["r = div(1, y)"] == [1]
    assert ops["(p1, p2) = dup(p)"] == ops["d_dp = add(d_dp1, d_dp2)"] == ops["p = mul(7, x1)"] == [0]
    names = made["names"]

    def told(style: str, kind: str) -> list[str]:
        return [f"{names[style][row['value']]} = " + "".join(
            x if isinstance(x, str) else names[style][x] for x in row["formula"][style]) for row in made["table"][kind]]
    assert told("plain", "primal")[:4] == ["p = 7 * x", "r = 1 / y", "i1 = p * x", "q = i1 * 5"]
    assert told("unicode", "tangent")[:3] == ["ṗ = 7 × ẋ", "ṙ = -(ẏ / y) × r", "ẇ₁ = ṗ × x + p × ẋ"]
    assert told("unicode", "adjoint")[-4:] == ["ȳ = -(r̄ / y) × r", "p̄ = p̄₁ + p̄₂", "x̄₁ = 7 × p̄", "x̄ = x̄₁ + x̄₂"]
    (graph,) = made["graph"]
    assert [(node["id"], node["label"]["unicode"], node["row"]) for node in graph["nodes"]][:5:2] == [
        ("in0", "x", 0), ("op0", "p = 7 × x", 1), ("op2", "w₁ = p × x", 2)]
    assert [edge[:2] for edge in graph["edges"][:3]] == [[0, 2], [1, 3], [2, 4]]


def test_where_inputs_start() -> None:
    made = page("input a, b = 3, c in [2, 8], d = 1 in [0, 4]\nv = a*b*c*d", {"d": 2.5})
    assert [x["start"] for x in made["inputs"]] == [1.0, 3.0, 5.0, 2.5]
    assert (made["inputs"][2]["low"], made["inputs"][2]["high"]) == (2.0, 8.0)
    assert page("v = x", {"x": math.nan})["inputs"][0]["start"] == "NaN"
    assert page("input v in [0.05, 0.55]; f = v")["inputs"][0]["start"] == 0.3   # the middle is 0.30000000000000004
    open_ended = page("input a in [0, inf], b in [5, inf], c in [-inf, -2], d in [-inf, inf]\nv = a*b*c*d")
    assert [x["start"] for x in open_ended["inputs"]] == [1.0, 5.0, -2.0, 1.0]


def test_whole_numbers_are_numbers_and_those_that_sizes_are_made_of_stay() -> None:
    """As a command gives them: arrays without a dimension."""
    text = "input x(N), int32 n, int32 c, int32 I(B)\ns +=! x(i) where i in 0:n\nv = s + x(c)\nw(b) = x(I(b))"
    made = page(text, {"x": np.ones(3), "n": np.array(2), "c": np.array(1), "I": np.array([0, 2])})
    assert [(x["start"], x["fixed"]) for x in made["inputs"][1:3]] == [(2.0, True), (1.0, False)]
    assert made["inputs"][3]["start"] == {"shape": [2], "data": [0.0, 2.0]} and made["inputs"][3]["integer"]


@pytest.mark.parametrize(("text", "at", "message"), [
    ("v = x +", None, "p.ad:1:"),
    ("input A(N)\nv +=! A(i)", None, "a page needs a value for 'A'"),
    ("input int32 n\ninput A(n)\nv +=! A(i)", {"A": [1.0]}, "a page needs a value for 'n', an integer"),
    ("input A(N), int32 k\nv = A(k)", {"A": [1.0], "k": 1}, "k = 1 is out of range for dimension 0 of 'A'"),
    ("input A(N), B(N)\nv +=! A(i) * B(i)", {"A": [1.0, 2.0], "B": [1.0]}, "2|1"),
    ("input A(N)\nv +=! A(i)", {"A": np.zeros(data.MOST_ELEMENTS + 1)}, "at most 100,000 elements; these have 100,001"),
    ("input A(N, N)\nC(i, j) +=! A(i, k) * A(k, j)", {"A": np.zeros((90, 90))}, "at most 2,000,000 operations; here that takes"),
], ids=["wrong", "no tensor", "no integer", "outside", "sizes", "large", "long"])
def test_what_no_page_can_show(text, at, message) -> None:
    with pytest.raises(AdError, match=message):
        page(text, at)


@pytest.mark.engine
def test_a_thousand_lines_stay_below_a_megabyte() -> None:
    lines = "\n".join(f"a{k + 1} = a{k} * {('x', 'y', 'sin(x)')[k % 3]} + {k % 7}" for k in range(1000))
    made = page(f"input x, y, a0\n{lines}\noutput a1000")
    assert list(made["panes"][1]["styles"]) == ["prefix"]
    text = data.packed(made)
    assert len(text) < 1_000_000
    assert json.loads(zlib.decompress(base64.b64decode(text))) == made
    short = page("v = x")
    assert json.loads(data.packed(short)) == short


def test_beyond_a_limit_there_is_a_fault_with_its_fix(monkeypatch) -> None:
    monkeypatch.setattr(data, "MOST_OPERATIONS", 10)
    with pytest.raises(AdError, match="at most 10 operations; this one has 11") as fault:
        page("\n".join(f"v{k} = x + {k}" for k in range(11)))
    assert fault.value.help == "show some outputs only (--of NAME)"
    assert len(page("\n".join(f"v{k} = x + {k}" for k in range(11)), of=["v3"])["operations"]) == 1


def test_what_a_sweep_ends_with_is_a_line_of_its_program() -> None:
    """Also where it is let in under a condition only, and where nothing reaches an input."""
    made = page("input x, y, z\nv = x > 0 ? sqrt(x) * y : 2")
    rows = {made["names"]["plain"][row["value"]]: row["value"] for row in made["table"]["adjoint"] + made["table"]["tangent"]}
    assert [rows[f"d_d{x['name']}"] for x in made["inputs"][:2]] == [x["adjoint"] for x in made["inputs"][:2]]
    assert rows["dv"] == made["outputs"][0]["tangent"] and "adjoint" not in made["inputs"][2]


# ---------------------------------------------------------------- what is computed

def places(program: Program, made: dict) -> list[tuple[dict, Var]]:
    """What the document says of each variable of a program."""
    outs = [o for operation in made["operations"] for o in operation["outs"]]
    return list(zip([*made["inputs"], *outs], [*(p.var for p in program.params), *defined(program)], strict=True))


def checked(program: Program, made: dict, at: dict[str, float], found: dict, tangent: int, cotangent: int) -> None:
    """Values, tangents, adjoints and status of a document at a point against the reference."""
    wrt = [x["name"] for x in made["inputs"] if x["differentiated"]]
    names = [x["name"] for x in made["inputs"]]
    ones = {x: float(x == names[tangent]) for x in wrt}
    weights = {r.name: float(k == cotangent) for k, r in enumerate(program.results)}
    want = traced(program, at, wrt, ones, weights)
    values = found["values"]
    for out, known in places(program, made):
        assert same(values[out["value"]], want.values[known]), (out, at)
        for key, derivatives in (("tangent", want.tangents), ("adjoint", want.adjoints)):
            if key in out and known in derivatives:
                assert same(values[out[key]], derivatives[known].value), (key, out, at, values[out[key]], derivatives[known])
    whole = with_status(adjoints(program), program, wrt)
    full = {**at, **{p.name: weights[p.seed] for p in adjoints(program).params if p.seed}}
    level = int(evaluate(drop_zero_seeds(whole), full)[whole.results[-1].name])
    assert found["status"] == LEVELS[level], at


def exact_programs(r: random.Random, count: int) -> Iterator[tuple[str, dict]]:
    """Random programs whose derivatives, too, are of operations that every language rounds alike, with their documents."""
    while count:
        text = sample(r, 12, True).text
        if any(not exact(e.op.name) for e in parse(text).equations):
            continue   # without the work for a document
        made = page(text)
        if all(map(exact, made["tape"]["operations"])):
            yield text, made
            count -= 1


def exact(name: str) -> bool:
    return TABLE[name].truth or TABLE[name].ulps in (0.0, 0.5)


def list_of(p: Program, at: dict[str, Any]) -> list[Any]:
    return [at[x.name] for x in p.params]


def same(x: float, y: float) -> bool:
    """Equal to the bit; a truth value is 1 or 0."""
    return bits(float(x)) == bits(float(y)) or (x == y == 0)


@needs_node
def test_random_programs_with_every_seed(tmp_path) -> None:
    """Every value, tangent and adjoint as the sweeps of the reference have it, to the bit, at awkward points too."""
    r, asked = drawn("pages"), []
    for text, made in exact_programs(r, 5):
        p = parse(text)
        points = mixed_points(r, p, 3)
        moving = [k for k, x in enumerate(p.params) if x.active] or [0]
        seeds = [(r.choice(moving), r.randrange(len(p.results))) for _ in points]
        asked.append((p, made, points, seeds))
    told = in_node(tmp_path, [({"document": made}, [(list_of(p, at), *s) for at, s in zip(points, seeds, strict=True)])
                              for p, made, points, seeds in asked])
    for (p, made, points, seeds), rows in zip(asked, told, strict=True):
        for at, s, found in zip(points, seeds, rows, strict=True):
            checked(p, made, at, found, *s)


@needs_node
def test_tensors(tmp_path) -> None:
    """Tangents along one input and adjoints of one output, or of one element of each."""
    r, asked = drawn("pages of tensors"), []
    while len(asked) < 2:
        made = tensor_sample(r, rank=2)
        if not made.reals or min(made.sizes.values()) == 0:
            continue
        text = print_program(made.program())
        try:
            p = parse(text)
            evaluate(p, made.values, FLOAT)
            found = page(text, made.values)
        except AdError:   # no text says what was made by hand, or it says something of other shapes; or a product is in it
            continue
        asked.append((p, made.values, found))
        table, seeds = found["table"], set(found["panes"][2]["inputs"].values())   # a seed is the adjoint of what is passed on
        assert {row["op"] for row in table["primal"]} == set(range(len(p.equations))), text
        assert {x["adjoint"] for x in found["inputs"] if "adjoint" in x} <= {row["value"] for row in table["adjoint"]} | seeds
    told = in_node(tmp_path, [({"document": d}, [(list_of(p, at), *s) for s in seeds_of(d)]) for p, at, d in asked])
    for (p, at, d), rows in zip(asked, told, strict=True):
        for (tangent, cotangent), found in zip(seeds_of(d), rows, strict=True):
            check_tensors(p, at, d, tangent, cotangent, found)


def seeds_of(made: dict) -> list[tuple]:
    """The first input that has derivatives and the first output; and one element of each, where they are tensors."""
    first = next(k for k, x in enumerate(made["inputs"]) if x["differentiated"])
    chosen = [(first, made["inputs"][first]["shape"]), (0, made["outputs"][0]["shape"])]
    return [(first, 0), tuple({"index": k, "element": [n - 1 for n in shape]} if shape else k for k, shape in chosen)]


def seed(shape: list[int], k: int, chosen: Any) -> Any:
    """The tensor of a seed for input or output k."""
    index, element = (chosen, None) if isinstance(chosen, int) else (chosen["index"], tuple(chosen["element"]))
    whole = np.full(shape, float(k == index and element is None))
    if k == index and element is not None:
        whole[element] = 1.0
    return whole if shape else float(whole)


def check_tensors(p: Program, at: dict, made: dict, tangent: Any, cotangent: Any, found: dict) -> None:
    """Outputs, their tangents, the adjoints of inputs and the status."""
    wrt = [x["name"] for x in made["inputs"] if x["differentiated"]]
    there = {x["name"]: (k, x["shape"]) for k, x in enumerate(made["inputs"])}
    out = {x["name"]: (k, x["shape"]) for k, x in enumerate(made["outputs"])}

    def checked_against(derived: Program, seeds: dict, pairs: list[tuple[dict, str, str]]) -> None:
        want = evaluate(drop_zero_seeds(derived), {**at, **seeds}, FLOAT)
        for said, key, name in pairs:
            got = found["values"][said[key]] if key in said else np.zeros(said["shape"])
            np.testing.assert_allclose(got, want[name], rtol=1e-12, atol=1e-300)
    ahead, back = tangents(p), adjoints(p)
    checked_against(ahead, {x.name: seed(there[x.seed][1], there[x.seed][0], tangent) for x in ahead.params if x.seed},
                    [(o, "tangent", f"d{o['name']}") for o in made["outputs"] if "value" in o])
    weights = {x.name: seed(out[x.seed][1], out[x.seed][0], cotangent) for x in back.params if x.seed}
    checked_against(back, weights, [(x, "adjoint", f"d_d{x['name']}") for x in made["inputs"] if x["differentiated"]]
                    + [(o, "value", o["name"]) for o in made["outputs"] if "value" in o])
    whole = with_status(back, p, wrt)
    assert found["status"] == LEVELS[int(evaluate(drop_zero_seeds(whole), {**at, **weights}, FLOAT)[whole.results[-1].name])]


# ---------------------------------------------------------------- what is explained

NUMBER = re.compile(r"(?<![\w.])-?\d[\d.]*(?:e[+-]?\d+)?(?![\w])")


def plain_numbers(text: str) -> str:
    """The sentence with all numbers written in one way."""
    return NUMBER.sub(lambda m: f"{float(m[0]):.12g}", text)


def reasons(explainer: Explainer, question: Question) -> list[str]:
    """What `adcli why` says: the sentence, then one for each number that comes from elsewhere."""
    words = Words(explainer)
    cause, *_ = explainer.causes(question)
    return [plain_numbers(text) for text in (words.sentence(cause), *words.reasons(cause))]


def check_reasons(p: Program, made: dict, at: dict[str, float], found: dict, tangent: int, cotangent: int) -> int:
    """Every NaN and infinity of a page is explained as Python explains it; how many there are."""
    wrt = [x["name"] for x in made["inputs"] if x["differentiated"]]
    explainer = Explainer(p, at, wrt)
    forward = forward_sweep(p, explainer.values, [(p.params[tangent].var, 1.0)])
    backward = reverse_sweep(p, explainer.values, [(p.results[cotangent].atom, 1.0)], explainer.depends, explainer.active)
    count = 0
    for out, v in places(p, made):
        asked = [("value", Question(v))] + [(key, Question(v, s)) for key, s in (("tangent", forward), ("adjoint", backward))
                                            if key in out and v in s.numbers]
        for key, question in asked:
            if not math.isfinite(found["values"][out[key]]):
                got = [plain_numbers(text) for text in found["reasons"][out[key]]]
                want = reasons(explainer, question)
                assert got[:1] == want[:1], (key, out, at, got, want)
                assert all(any(text.startswith(told) for text in want[1:]) for told in got[1:]), (key, out, at, got, want)
                count += 1
    return count


@needs_node
def test_reasons_are_those_of_why(tmp_path) -> None:
    """The first sentence is the same; those behind it may end where the page has no reason for a zero."""
    r, asked = drawn("reasons"), []
    for text in [*AWKWARD, *(text for text, _ in exact_programs(r, 3))]:
        p = parse(text, "p.ad")
        moving = [k for k, x in enumerate(p.params) if x.active]
        if moving and all(isinstance(x.atom, Var) for x in p.results):
            points = [dict.fromkeys([x.name for x in p.params], x) for x in (0.0, 1000.0, -1.0, math.inf)] + mixed_points(r, p, 3)
            seeds = [(r.choice(moving), r.randrange(len(p.results))) for _ in points]
            asked.append((p, {**page(text), "reasons": True}, points, seeds))
    told = in_node(tmp_path, [({"document": made}, [(list_of(p, at), *s) for at, s in zip(points, seeds, strict=True)])
                              for p, made, points, seeds in asked])
    count = 0
    for (p, made, points, seeds), rows in zip(asked, told, strict=True):
        count += sum(check_reasons(p, made, at, found, *s) for at, s, found in zip(points, seeds, rows, strict=True))
    assert count > 50


@needs_node
def test_the_adjoint_of_a_copy_is_explained_by_the_operation_that_reads_the_copy(tmp_path) -> None:
    made = {**page("v = sqrt(x) * log(x) - x"), "reasons": True}
    ((found,),) = in_node(tmp_path, [({"document": made}, [([0.0], 0, 0)])])
    rows = {row["name"]: row["value"] for row in made["table"]["adjoint"]}
    assert [found["reasons"][rows[name]][0] for name in ("d_dx1", "d_dx2")] == [
        "log(u) at u = x = 0 is -inf: a singularity",
        "log'(u) at u = x = 0 is inf, and the adjoint that meets it is 0: 0·inf = nan"]


@needs_node
@pytest.mark.engine
def test_the_corpus(tmp_path, monkeypatch) -> None:
    """Values, gradients and status of programs that other people wrote, at all their points, for every output; what is written
    of them, which takes half of the time, is left out."""
    monkeypatch.setattr(data.Document, "panes", lambda _: [])
    monkeypatch.setattr(data.Document, "table", lambda _: {})
    monkeypatch.setattr(data.Document, "graph", lambda _: [])
    asked = []
    for case in cases(DATA):
        program = parse(case["program"], case["id"])
        if len(program.equations) <= data.MOST_OPERATIONS:
            points = [{x: float(text) for x, text in point["at"].items()} for point in case["points"]]
            asked.append((case, program, points, page(case["program"])))
    told = in_node(tmp_path, [({"document": d}, [(list_of(p, at), 0, k) for at in points for k in range(len(p.results))])
                              for _, p, points, d in asked])
    assert len(asked) > 150
    for (case, p, points, d), rows in zip(asked, told, strict=True):
        found = iter(rows)
        wrt = [x["name"] for x in d["inputs"] if x["differentiated"]]
        whole = with_status(gradient(p, wrt, None, "reverse"), p, wrt)
        for at, reference in zip(points, case["points"], strict=True):
            level, got = evaluate(whole, at, FLOAT)[whole.results[-1].name], {}
            for out in d["outputs"]:
                one = next(found)
                got |= {out["name"]: one["values"][out["value"]]} | {
                    f"d{out['name']}_d{x['name']}": one["values"][x["adjoint"]] if "adjoint" in x else 0.0 for x in d["inputs"]}
                assert len(d["outputs"]) > 1 or one["status"] == LEVELS[int(level)], case["id"]
            wrong = [(name, got[name], want) for _, name, want, allowed in entries(reference, False)
                     if not abs(got[name] - want) <= allowed]
            assert not wrong, (case["id"], wrong[:3])


def test_the_script_is_one_classic_script_without_anything_a_strict_policy_forbids() -> None:
    text = data.script(TABLE)
    assert not re.search(r"\beval\b|new Function|\bimport\b|\bexport\b|https?:|</", text)
    assert len(data.script(["add", "mul", "sin"])) < 25_000


def test_what_a_derivative_is_a_copy_of() -> None:
    """Values whose adjoints are one have the place of one of them, and say so."""
    made = page("a = 2*x\nb = a + y\nc = b - 1\nv = sin(c) + 3")
    outs = {out["name"]: out for operation in made["operations"] for out in operation["outs"]}
    place = outs["b"]["adjoint"]
    assert outs["b"]["made"] == {"adjoint": {"name": {"plain": "d_db", "unicode": "b̄", "latex": "\\bar{b}"}, "formula": [place]}}
    assert place == outs["c"]["adjoint"] and made["names"]["plain"][place] == "d_dc"
    assert outs["c"]["made"]["tangent"]["name"] == {"plain": "dc", "unicode": "ċ", "latex": "\\dot{c}"}


ARMS = ("v = x > 0 ? x*y : 0", "v = x < 1 ? sin(x) : cos(x) + log(y)", "v = max(x, y)*clamp(x, 0, y)",
        "u = x\nu = u*x\nu = u + x\nv = u")


@pytest.mark.parametrize("text", [*[p.read_text() for p in half(SCALARS)], *AWKWARD, *ARMS], ids=lambda text: text[:30])
def test_every_derivative_has_one_origin_that_names_others(text) -> None:
    """A line of the sweep, a copy, a condition, or the seed; and no value is called like another one that makes it."""
    try:
        made = page(text)
    except AdError:   # a loop
        return
    names = made["names"]["plain"]
    for way, ends in (("tangent", made["inputs"]), ("adjoint", made["outputs"])):
        rows = {row["value"]: row for row in made["table"][way]}
        assert len(rows) == len(made["table"][way])
        for each in [*made["inputs"], *(out for operation in made["operations"] for out in operation["outs"])]:
            said = each.get("made", {}).get(way)
            own = PREFIXES[way] + each["name"]
            if way not in each:
                continue
            place = each[way]
            assert said or place in rows or place in [end.get(way) for end in ends]
            left = said["name"]["plain"] if said else names[place]
            read = said["formula"] if said else rows[place]["formula"]["plain"] if place in rows else []
            assert left == own and own not in [names[x] for x in read if isinstance(x, int)], (way, left, read)
