"""Programs as JavaScript and as Python: the numbers of the reference, at every point."""
from __future__ import annotations

import itertools
import json
import math
import re
import subprocess
from functools import cache

import pytest
from adcli.codegen.c.language import filled, listed, wrapped
from adcli.codegen.c.spelling import operator
from adcli.codegen.rows.expand import for_machine
from adcli.codegen.scripts import javascript, python
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir import Program
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.notation import ATOM, COMPARISON, PRODUCT, SUM, TERNARY, UNARY
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from back_ends import same, ulps
from compare_corpus import cases, entries
from laws import check_operations, exposed, near
from multiple_precision import mpmath_arithmetic
from native_programs import long_program
from one_operation import REAL, program, samples, special_points
from places import DATA
from random_programs import mixed_points, sample
from script_programs import NODE, Cases, run_in_node, run_in_python
from session_seed import drawn, session_seed

languages = pytest.mark.parametrize("language", [
    pytest.param("js", marks=pytest.mark.skipif(NODE is None, reason="no node")), "python"])


def ran(language: str, programs: Cases, folder) -> list[list[list[float]]]:
    return run_in_node(folder, programs) if language == "js" else run_in_python(programs)


def points(p: Program, at: list[dict[str, float]]) -> list[list[float]]:
    return [[point[x.name] for x in p.params] for point in at]


# ---------------------------------------------------------------- numbers

@languages
def test_every_operation_at_special_points(language: str, tmp_path) -> None:
    """To the bit where IEEE 754 says what the result is; extrema of several arguments and compositions too."""
    asked = []
    for op in REAL:
        statics = [2.0, -3.0, 0.0] if op.name == "pown" else [0.0, 2.0] if op.static else [2.0]
        for p in [program(op, x) for x in statics] + ([program(op, count=3)] if op.variadic else []):
            asked.append((op, p, special_points(op) + samples(op, 20) if len(p.params) == op.arity - len(op.static) else
                          [dict(zip(["x0", "x1", "x2"], at, strict=True))
                           for at in itertools.product((0.0, -0.0, 2.0, -math.inf, math.nan), repeat=3)]))
    for (op, p, at), found in zip(asked, ran(language, [(p, points(p, at)) for _, p, at in asked], tmp_path), strict=True):
        for point, (got,) in zip(at, found, strict=True):
            want = evaluate(p, point, FLOAT)["z"]
            composed = op.value is not None and ulps(got, want) <= 8
            assert near(op, got, want, list(point.values())) or composed, (op, point, got, want)


@cache
def random_programs() -> list[Program]:
    """Programs with gradients, half of them with every value a result."""
    r = drawn("random programs as scripts")
    return [gradient(parse(sample(r, 20, extreme).text)) for extreme in (False, True) * 12]


@languages
def test_random_programs(language: str, tmp_path) -> None:
    """Programs of exact operations to the bit, as they are nested; others operation by operation, on the operands each had."""
    r, asked = drawn("points of random programs"), []
    for p in random_programs():
        exact = all(e.op.truth or e.op.ulps in (0.0, 0.5) for e in for_machine(p).equations)
        whole = p if exact else exposed(p)
        asked.append((exact, whole, mixed_points(r, whole, 4)))
    for (exact, p, at), found in zip(asked, ran(language, [(p, points(p, at)) for _, p, at in asked], tmp_path), strict=True):
        if not exact:
            check_operations(p, at, found)
        for point, row in zip(at, found, strict=True):
            want = list(evaluate(p, point, FLOAT).values())
            assert not exact or all(map(same, row, want)), (point, row, want)


@languages
def test_the_corpus(language: str, tmp_path) -> None:
    """Values and gradients of programs that other people wrote, against multiple precision."""
    chosen = list(itertools.islice(cases(DATA), session_seed() % 10, None, 10))
    asked = []
    for case in chosen:
        p = gradient(parse(case["program"], case["id"]), mode=("forward", "reverse")[session_seed() % 2])
        asked.append((p, [[float(point["at"][x.name]) for x in p.params] for point in case["points"]]))
    for case, (p, _), found in zip(chosen, asked, ran(language, asked, tmp_path), strict=True):
        for reference, row in zip(case["points"], found, strict=True):
            got = {r.name: x for r, x in zip(p.results, row, strict=True)}
            stated = [(name, ref, allowed) for _, name, ref, allowed in entries(reference, False)]
            wrong = [(name, got[name], ref) for name, ref, allowed in stated if abs(got[name] - ref) > allowed]
            assert not wrong, (case["id"], wrong[:3])


@languages
def test_a_product_and_a_sum_rounded_once(language: str, tmp_path) -> None:
    """Ties, cancellation, results without all their digits, the ends of the range; ties by a hair, where two roundings differ."""
    r, p, at = drawn("fma"), parse("input a, b, c\nz = fma(a, b, c)"), []
    for _ in range(100):
        x, scale, sign = 2.0 ** -r.randint(27, 40), 2.0 ** r.randint(-300, 300), r.choice((1, -1))
        at.append([(1 + x) * scale, sign * (1 - x), scale * r.choice((1, -1)) * (2.0 ** 53 + 2 * r.randint(0, 100))])
    for _ in range(400):
        a, b = (r.choice((1, -1)) * math.ldexp(r.getrandbits(53) | 1 << 52, r.randint(-60, 8)) for _ in "ab")
        near_product = math.nextafter(-a * b, r.choice((math.inf, -math.inf))) if r.random() < 0.5 else -a * b
        scale = r.choice((0, 0, 0, 500, -500, 900, -900))
        a, near_product = math.ldexp(a, scale), math.ldexp(near_product, scale)
        b = b if r.random() < 0.8 else math.ldexp(b, r.choice((400, -400)))
        at.append([a, b, r.choice((near_product, near_product * r.uniform(-3, 3), math.ldexp(1.0, r.randint(-1074, 1000))))])
    at += [list(x) for x in itertools.product((5e-324, -2.0 ** -1022, 0.5, 1.5, 2.0 ** 1023, 1.7976931348623157e308), repeat=3)]
    for point, (got,) in zip(at, ran(language, [(p, at)], tmp_path)[0], strict=True):
        want = evaluate(p, dict(zip("abc", point, strict=True)), FLOAT)["z"]
        assert same(got, want), (point, got, want)


@languages
def test_functions_far_from_1(language: str, tmp_path) -> None:
    """Functions of the mathematics library, and those written out, where arguments are large or small."""
    mp, r, asked = mpmath_arithmetic(60), drawn("functions far from 1"), []
    for op in REAL:
        if op.ulps and op.ulps > 0.5 and not op.static:
            p = program(op)
            sizes = (lambda: r.uniform(-4, 4), lambda: r.uniform(-200, 200),
                     lambda: r.choice((1, -1)) * 2.0 ** r.uniform(-300, 300))
            asked.append((op, p, [[r.choice(sizes)() for _ in p.params] for _ in range(30)]))
    for (op, p, at), found in zip(asked, ran(language, [(p, at) for _, p, at in asked], tmp_path), strict=True):
        for point, (got,) in zip(at, found, strict=True):
            named = dict(zip([x.name for x in p.params], point, strict=True))
            want = evaluate(p, {k: mp.constant(x) for k, x in named.items()}, mp)["z"]
            if math.isfinite(float(want)) and abs(float(want)) > 1e-300:
                unit = math.ulp(max(abs(float(want)), *((1.0, abs(point[0])) if op.absolute else (0.0,))))
                assert abs(got - want) <= op.ulps * unit, (op, point, got, float(want))
            else:
                reference = evaluate(p, named, FLOAT)["z"]
                assert same(got, reference) or abs(got - reference) <= 1e-290, (op, point, got, reference)


# ---------------------------------------------------------------- names and texts

NAMES = ["var", "lambda", "y1", "Math", "np", "x_", "inputs", "f_1", "arguments", "eval", "await", "None", "NaN", "undefined",
         "_max", "α", "x̂", "größe", "a·b", "π_1", "_u", "__proto__", "constructor", "Δt", "ﬁ", "变量", "round",
         "pow", "shape", "let", "tuple"]


@languages
def test_names_that_the_language_has_other_uses_for(language: str, tmp_path) -> None:
    text = f"input {', '.join(NAMES)}\nf = max({', '.join(NAMES)}) ** round(var)\n__proto = {NAMES[0]} * 2\noutput f, __proto"
    p = parse(text)
    at = [[float(i + 1) for i in range(len(NAMES))]]
    assert ran(language, [(p, at)], tmp_path) == [[[float(len(NAMES)), 2.0]]]


def test_a_result_called_proto_is_no_prototype() -> None:
    assert '["__proto__"]: ' in javascript.module(parse("__proto__ = x * 2"), "f")


@pytest.mark.skipif(NODE is None, reason="no node")
@pytest.mark.parametrize("size", [javascript.PART_SIZE, 1])
def test_texts_of_sliders_are_numbers(size: int, tmp_path) -> None:
    p = parse("input x, y = 2\nv = x + y\nw = x\nu = v*x + y\noutput v, w, u")
    (tmp_path / "m.mjs").write_text(javascript.module(p, "f", size))
    asked = 'import {f} from "./m.mjs"; console.log(JSON.stringify([f("3", "-0.5"), f("4")]))'
    told = subprocess.run([str(NODE), "--input-type=module", "-e", asked], cwd=tmp_path, capture_output=True, check=True)
    assert json.loads(told.stdout) == [{"v": 2.5, "w": 3, "u": 7}, {"v": 6, "w": 4, "u": 26}]


@pytest.mark.parametrize("made", [javascript.module, python.module], ids=["js", "python"])
def test_a_module_has_the_functions_that_it_calls(made) -> None:
    for op in REAL:
        text = made(gradient(program(op)), "f")
        defined = re.findall(r"^(?:export )?(?:function|def) (\w+)|^(_\w+) = ", text, re.M)
        for name in ("".join(pair) for pair in defined):
            assert name == "f" or len(re.findall(rf"\b{name}\(", text)) > 1 or f"{name} = " in text, (op, name)
        assert text.isascii() and max(map(len, text.splitlines())) < 300


@pytest.mark.parametrize("made", [javascript.module, python.module], ids=["js", "python"])
def test_what_a_language_lacks_is_refused(made, monkeypatch) -> None:
    for language in (javascript.LANGUAGE, python.LANGUAGE):
        monkeypatch.delitem(language.helpers, "erf")
    with pytest.raises(AdError, match="has no 'erf', and the table does not define it by other operations"):
        made(parse("v = erf(x)"), "f")


@languages
def test_a_long_program(language: str, tmp_path) -> None:
    """Linear in its length, and no deeper than engines take: sums, choices and minus signs inside one another."""
    deep = "x" + " + 1" * 600
    nested = "".join(f"x > {k} ? " for k in range(300)) + "x" + "".join(f" : {k}" for k in range(300))
    chain = "\n".join([*(f"a{k + 1} = sin(a{k}) + {k}" for k in range(3000)), "a0_ = a0"])
    p = parse(f"input x, a0\nu = {deep}\nw = {nested}\nm = {'-(' * 400}x{')' * 400}\n{chain}\noutput u, w, m, a3000")
    (got,), = ran(language, [(p, [[2.5, 1.0]])], tmp_path)
    want = list(evaluate(p, {"x": 2.5, "a0": 1.0}, FLOAT).values())
    assert got == pytest.approx(want, rel=1e-9)


@pytest.mark.skipif(NODE is None, reason="no node")
def test_a_long_program_in_parts(tmp_path) -> None:
    """Values, conditions too, pass from part to part, by size and by default."""
    r = drawn("parts")
    asked = [(long_program(n, n), [[r.uniform(-2, 2) for _ in range(5)] for _ in range(3)]) for n in (12, 60, 300)]
    names = [p.name for p in asked[0][0].params]
    for (p, at), found in zip(asked, run_in_node(tmp_path, asked, 25), strict=True):
        for point, row in zip(at, found, strict=True):
            want = evaluate(p, dict(zip(names, point, strict=True)), FLOAT).values()
            assert all(map(near_enough, row, want)), (len(p.equations), point)
    assert javascript.module(asked[-1][0], "f").count("function f") == 1
    chain = parse("\n".join(["input x, a0", *(f"a{k + 1} = a{k} * x + {k % 7}" for k in range(3000)), "output a3000"]))
    assert javascript.module(chain, "f").count("function f_part") == 6
    assert run_in_node(tmp_path, [(chain, [[0.5, 1.0]])]) == [[[evaluate(chain, {"x": 0.5, "a0": 1.0}, FLOAT)["a3000"]]]]


def near_enough(got: float, want: float) -> bool:
    return same(got, want) or abs(got - want) <= 1e-9 * abs(want)


@pytest.mark.parametrize("spelling, parts, text", [
    ("-", [("a", ATOM)], "-a"), ("-", [("-a", UNARY)], "-(-a)"), ("!", [("a && b", COMPARISON)], "!(a && b)"),
    ("-", [("a", ATOM), ("b + c", SUM)], "a - (b + c)"), ("-", [("b + c", SUM), ("a", ATOM)], "b + c - a"),
    ("%", [("a * b", PRODUCT), ("c * d", PRODUCT)], "a * b % (c * d)"), ("===", [("a + b", SUM), ("c", ATOM)], "a + b === c"),
    ("Math.sin", [("a + b", SUM)], "Math.sin(a + b)"), ("+", [("a ? b : c", TERNARY), ("c", ATOM)], "(a ? b : c) + c")])
def test_parentheses(spelling: str, parts, text: str) -> None:
    assert operator(spelling, parts)[0] == text


def test_items_in_rows() -> None:
    assert wrapped("f(", ["a", "b"], ");") == ["f(a, b);"]
    lines = wrapped("    f(", ["abcdefg"] * 40, ");")
    assert (lines[0], lines[-1]) == ("    f(", "    );") and all(len(line) <= 120 for line in lines)
    assert filled([], 10) == [] and filled(["a" * 20], 10) == ["a" * 20 + ","]
    assert listed(list("abc")) == "a, b, c" and listed([f"x{i}" for i in range(90)]) == "x0, x1, …, x89"


def test_every_real_operation_is_spelled() -> None:
    """By the table, by other operations, or by a text of the language's own."""
    for language in (javascript.LANGUAGE, python.LANGUAGE):
        for op in TABLE.values():
            own = op.name in language.helpers or op.name in (language.definitions or ())
            assert op.name == "dup" or (language.spelling(op) is None) == (own or op.value is not None), (language.name, op)
