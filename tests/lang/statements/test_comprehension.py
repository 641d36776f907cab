"""What tensor notation means: layout of statements, names, types, calls, and what is said of texts that mean nothing."""
from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np
import pytest
from adcli.lang.evaluate import evaluate, numpy_arithmetic
from adcli.lang.ir import Program, Var
from adcli.lang.ir.affine import text
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.primitives import INDEX_POWER
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.comprehension import Comprehension
from adcli.lang.passes.pipeline import adjoints, tangents
from adcli.lang.printing.printer import print_program
from adcli.lang.simplify.simplify import simplify
from edge_programs import edges, point
from row_tables import each_row
from same_programs import equal
from session_seed import drawn, fixed
from tensor_laws import NUMPY
from tensor_texts import ACCEPTED, DEFINITIONS, NAMED, REFUSED, Outside, looped, random_text
from well_formed import check


def said(text: str) -> str:
    with pytest.raises(AdError) as caught:
        parse(text, "f.ad")
    return str(caught.value)


def comprehensions(program: Program) -> list[Comprehension]:
    return [e.op for e in program.equations if isinstance(e.op, Comprehension)]


def shapes(program: Program) -> dict[str, tuple[str, ...]]:
    return {r.name: tuple(map(text, r.atom.shape)) for r in program.results if isinstance(r.atom, Var)}


@each_row("definition", DEFINITIONS, ids=lambda d: d["id"])
def test_every_definition_is_a_program_or_is_refused_with_a_reason(definition):
    if definition["id"] in REFUSED:
        assert REFUSED[definition["id"]] in said(definition["text"]).splitlines()[0]
    elif definition["parsed"]:
        program = check(parse(definition["text"]))
        assert program.source is not None and program.source.definition == definition["text"].split("(")[0].split()[1]
        assert comprehensions(program)
    else:
        assert ": error: " in said(definition["text"])


def test_what_is_refused_is_not_affine_or_was_refused_before_or_has_no_meaning():
    by_id = {d["id"]: d for d in DEFINITIONS}
    meant = [i for i in REFUSED if by_id[i]["affine_indices"] and "expected_error" not in by_id[i]]
    # No range that could be inferred, a range that is data, no statements, and a function without a derivative.
    assert len(meant) == 7 and len(ACCEPTED) == 118


ONE_LINE = "def f(float(M) A, float(M) B) -> (C, D) { C(i) = A(i) * B(i); D +=! C(i) + A(i) where i in 0:M }"


@pytest.mark.parametrize("broken", [
    "def f(float(M) A, float(M) B) -> (C, D)\n{\nC(i)\n=\nA(i) *\n\n B(i)\nD +=!\nC(i)\n+ A(i)\nwhere i in\n0:\nM\n}",
    "def f(float(M) A, float(M) B) -> (C, D) { C(i) = A(i) * B(i) D +=! C(i) + A(i) where i in 0:M }",
    "def f(float\n(M\n) A, float(M) B)\n-> (C,\nD) { C(\ni) = A(i)\n* B(i)\n\n\nD +=! C(i) + A(i)   # comment\n"
    "   where i in 0:M\n}\n\n",
    "\n\n# comment\ndef f(double(M) A, float(M) B) → (C, D) {\n  C(i) = A(i) * B(i) # one\n  # two\n  D +=! C(i)\n"
    " + A(i) where i in 0:M ; }",
])
def test_statements_go_on_over_lines_and_share_lines(broken):
    assert equal(parse(broken), parse(ONE_LINE))


def test_a_top_level_comprehension_goes_on_over_lines_and_scalar_statements_do_not():
    assert equal(parse("input A(M, N)\nC(i) +=!\n  A(i, j)\n  * 2\n  where j in 0:2\nv = C(0)"),
                 parse("input A(M, N)\nC(i) +=! A(i, j) * 2 where j in 0:2\nv = C(0)"))
    assert "an expression is missing after '+'" in said("input A(M)\nv = A(0) +\n1")


def test_words_are_names_where_a_function_of_tensors_uses_them():
    program = parse("def f(float(N) input, float(N) output, float exists) -> (sum) { sum(i) = input(i) + output(i) * exists }")
    assert [p.name for p in program.params] == ["input", "output", "exists"]
    got = evaluate(program, {"input": [1.0, 2.0], "output": [10.0, 20.0], "exists": 0.5})
    assert np.array_equal(got["sum"], [6.0, 12.0])


def test_min_and_max_are_operators_only_behind_a_target():
    program = parse("max=3\nmin = max*2\ninput A(N)\nv max=! A(i)\nw min=!A(i)\nx = max(min, 2)")
    assert {r.name for r in program.results} == {"v", "w", "x"}
    assert [op.reduction for op in comprehensions(program)] == ["max", "min"]


def test_where_and_exists_are_names_elsewhere():
    assert evaluate(parse("where = x + 1\nexists = where * 2\nv = exists"), {"x": 2.0})["v"] == 6.0


def test_types_of_elements():
    program = parse("input float A(M), int32 I(B, L), uint8 n\nparam double(3) k\nC(b) +=! A(I(b, l)) * k(0) + n")
    assert [(p.name, len(p.var.shape), p.var.integer, p.active) for p in program.params] == [
        ("A", 1, False, True), ("I", 2, True, True), ("n", 0, True, True), ("k", 1, False, False)]


def test_values_of_indices_sizes_elements_and_casts():
    program = parse("input A(M, N), x\nC(i, j) = A(i, j) + i - 2*j + N*i + float(x) + int32(x)\nv = A(0, 1) * N + M\n")
    a = np.arange(6.0).reshape(2, 3)
    got = evaluate(program, {"A": a, "x": 2.75})
    i, j = np.indices(a.shape)
    assert np.array_equal(got["C"], a + i - 2 * j + 3 * i + 2.75 + 2)
    assert got["v"] == 1.0 * 3 + 2


def test_let_and_equivalence():
    program = parse("input A(M)\nC(i) = t * s <=> sq(A(i)) where t = 2 * A(i), s = t + i")
    assert np.array_equal(evaluate(program, {"A": [1.0, 2.0]})["C"], [4.0, 20.0])
    assert "'<=>' is ignored" in str(program.notes[0])


def test_reductions_onto_a_value():
    text = "input A(M, N)\n{first}\nC(i) {symbol} A(i, j)"
    a = np.array([[1.0, 2.0, 3.0], [-4.0, 5.0, 6.0]])
    for symbol, fold in (("+=", np.add), ("*=", np.multiply), ("min=", np.minimum), ("max=", np.maximum)):
        got = evaluate(parse(text.format(first="C(i) = 2 + i where i in 0:M", symbol=symbol)), {"A": a})["C"]
        assert np.array_equal(got, fold(np.array([2.0, 3.0]), fold.reduce(a, axis=1))), symbol
        fresh = parse(text.format(first="", symbol=symbol))
        assert np.array_equal(evaluate(fresh, {"A": a})["C"], fold.reduce(a, axis=1))
        assert "'C' has no value yet" in str(fresh.notes[0])


def test_an_update_without_reduction_is_one_comprehension():
    (first, second) = comprehensions(parse("input A(M)\nC(i) = A(i)\nC(i) *= A(i) + 1"))
    assert (second.reduction, second.onto, [e.op.name for e in second.body.equations]) == ("=", None, ["add", "mul"])
    got = evaluate(parse("input A(M)\nC(i) = A(i)\nC(i) *= 10 where i in 1:2"), {"A": [1.0, 2.0, 3.0]})
    assert np.array_equal(got["C"], [1.0, 20.0, 3.0])
    assert first.onto is None


def test_assignment_keeps_what_it_does_not_write():
    got = evaluate(parse("input A(M)\nC(i) = A(i)\nC(2*i) = 0 where i in 0:2\nD(i + 1) = A(i)"), {"A": [1.0, 2.0, 3.0]})
    assert np.array_equal(got["C"], [0.0, 2.0, 0.0]) and np.array_equal(got["D"], [0.0, 1.0, 2.0, 3.0])


def test_a_choice_that_guards_a_read_is_taken_apart():
    text = "input A(N)\nC(i) {} (i - K >= 0 ? A(i - K) : 5) + A(i) where i in 0:N\ninput Z(K)\n"
    a = np.array([1.0, 2.0, 4.0])
    program = parse("input A(N), Z(K)\n" + text.format("=").splitlines()[1])
    assert [op.reduction for op in comprehensions(program)] == ["=", "="] and all(op.guards for op in comprehensions(program))
    assert np.array_equal(evaluate(program, {"A": a, "Z": np.zeros(2)})["C"], [6.0, 7.0, 5.0])
    reduced = parse("input A(N), Z(K)\nv +=! i - K >= 0 ? A(i - K) : 5 where i in 0:N")
    assert evaluate(reduced, {"A": a, "Z": np.zeros(1)})["v"] == 5 + 1 + 2


def test_calls_of_functions_of_tensors_are_inlined_with_their_sizes():
    mv = "def mv(float(M,N) A, float(N) B) -> (C) { C(i) +=! A(i,j) * B(j) }\n"
    called = parse(mv + "input P(R, S), q(S)\nu = mv(P, q)\nw = mv(P, q)\nv +=! u(i) * w(i)")
    plain = parse("input P(R, S), q(S)\nu(i) +=! P(i, j) * q(j)\nw(i) +=! P(i, j) * q(j)\nv +=! u(i) * w(i)")
    assert equal(called, plain)
    assert [e.outs[0].name for e in called.equations] == ["u", "w", "v"]
    nested = ("def dot(float(N) a, float(N) b) -> (d) { d +=! a(i) * b(i) }\n"
              "def two(float(K) a) -> (x, y) { x = dot(a, a)\n y(i) = 2 * a(i) }\n")
    program = parse(nested + "input a(N)\n(x, y) = two(a)\nz = x + 2 * dot(a, y)")
    assert evaluate(program, {"a": [1.0, 2.0]})["z"] == 5 + 2 * 10


def test_calls_are_arguments_of_calls():
    text = ("input A(N)\ndef total(float(N) u) -> (s) { s +=! u(i) }\ndef twice(float(N) u) -> (v) { v(i) = 2 * u(i) }\n"
            "def four(float(N) u) -> (v) { v = twice((twice(u))) }\ndef scaled(float(N) u, float a) -> (v) { v(i) = a * u(i) }\n")
    assert evaluate(parse(text + "y = 1 + 2 * total(twice(four(A)))"), {"A": [1.0, 2.0]})["y"] == 1 + 2 * 24
    assert evaluate(parse(text + "y = total(scaled(A, total(A) - 1))"), {"A": [1.0, 2.0]})["y"] == 6
    assert len(parse(text + "y = " + "twice(" * 2_000 + "A" + ")" * 2_000).equations) == 2_000
    assert "parameter 'u' of 'twice' has 1 dimension, and this argument has no dimensions" in said(text + "y = twice(total(A))")
    assert "'two' gives 2 results, 1 wanted here" in said(
        text + "def two(float(N) u) -> (v, w) { v(i) = u(i)\nw(i) = u(i) }\ny = twice(two(A))")


def test_sizes_of_arguments_must_agree():
    mv = "def mv(float(M,N) A, float(N) B) -> (C) { C(i) +=! A(i,j) * B(j) }\n"
    (op,) = comprehensions(parse(mv + "input P(R, S), q(T)\nu = mv(P, q)"))
    assert ("T", "S") in [(text(a.left), text(a.right)) for a in op.agreements]
    assert "dimension 0 of 'B' in 'mv' has 4 elements, not 3" in said(mv + "input P(2, 3), q(4)\nu = mv(P, q)")


def test_a_function_is_used_in_bodies():
    got = evaluate(parse("def sq(a) = a * a\ninput A(N)\nC(i) = sq(A(i)) + sigmoid(0) + sq(i + 1)"), {"A": [3.0, 4.0]})
    assert np.array_equal(got["C"], [10.5, 20.5])


def test_results_are_the_tensors_that_nothing_reads():
    program = parse("input A(M)\nB(i) = A(i)\nC(i) = B(i) + 1\nv +=! A(i)")
    assert shapes(program) == {"C": ("M",), "v": ()}


def test_a_tensor_is_copied_and_named():
    program = parse("input A(M)\n(B, C) = dup(A)\nD = B\nv = C(0)\noutput D, v")
    assert shapes(program) == {"D": ("M",), "v": ()}


def test_random_programs_compute_what_plain_loops_compute():
    """Values equal, and a subscript outside of its tensor is an error before anything is computed."""
    r, same, refused = drawn("test_random_programs_compute_what_plain_loops_compute"), 0, 0
    while same < 12:
        text = random_text(r)
        sizes = {name: r.randint(2, 6) for name in "MNPQRS"}
        declared = re.findall(r"(\w)(?:\(([^)]*)\))?(?=,|$)", text.splitlines()[0].removeprefix("input "))
        rng = np.random.default_rng(r.randrange(10**6))
        values = {n: rng.uniform(0.5, 1.5, [sizes[x] for x in shape.split(", ")] if shape else ()) for n, shape in declared}
        try:
            with np.errstate(all="ignore"):
                expected = looped(text, values, sizes)
        except Outside:
            expected = None
        if expected is None:
            with pytest.raises(AdError):
                evaluate(parse(text), values, numpy_arithmetic())
            refused += 1
            continue
        try:
            program = parse(text)
        except AdError as fault:
            assert "two points" in str(fault) or "goes" in str(fault), fault
            continue
        with np.errstate(all="ignore"):
            got = evaluate(program, values, numpy_arithmetic())
        for result in program.results:
            assert np.shape(got[result.name]) == expected[result.name].shape, text
            np.testing.assert_allclose(got[result.name], expected[result.name], rtol=1e-10, atol=1e-10, err_msg=text)
        same += 1
    assert refused > 2


def test_texts_with_errors_in_them_are_refused_by_nothing_but_an_error():
    """Words of tensor programs dropped, repeated and exchanged: a program or an AdError, and nothing else."""
    word = re.compile(r"\s+|\w+|[^\w\s]")
    texts = [word.findall(t) for t in (*NAMED.values(), *(d["text"] for d in ACCEPTED[::4]))]
    pieces = [w for t in texts for w in t]
    r, programs, refused = fixed("test_texts_with_errors_in_them_are_refused_by_nothing_but_an_error"), 0, 0
    for _ in range(400):
        words = list(r.choice(texts))
        for _ in range(r.choice([1, 1, 2, 3])):
            at = r.randrange(len(words))
            words[at] = r.choice(["", r.choice(pieces), words[at] * 2, words[r.randrange(len(words))]])
        try:
            check(parse("".join(words)))
            programs += 1
        except AdError as fault:
            assert ": error: " in str(fault)
            refused += 1
    assert programs > 40 and refused > 40


@pytest.mark.parametrize("text", [
    "input A(M)\nC(i) = " + "(" * 20_000 + "A(i)" + ")" * 20_000,
    "input A(M)\nC(i) = A(" + "(" * 20_000 + "i" + ")" * 20_000 + ")",
    "input A(M)\nC(i) = " + " + ".join(["A(i)"] * 1_500),
    "input A(M)\nv +=! A(" + " + ".join(["i"] * 1_500) + ")",
    "input A(M)\nC(i) = A(i) where i in 0:M - " + "-" * 5_000 + "2",
    "def f(float(M) A) -> (C) {" + "\n" * 20_000 + "C(i) = A(i)\n" + "\n" * 20_000 + "}",
])
def test_deep_and_long_expressions(text):
    assert len(parse(text).equations) == 1


def test_choices_are_taken_apart_up_to_a_number():
    choices = " + ".join(f"({i} >= 1 ? A({i} - 1) : 0)" for i in "ijklmno")
    ranges = ", ".join(f"{i} in 0:N" for i in "ijklmno")
    assert "more than 64 comprehensions" in said(f"input A(N)\nv +=! {choices} where {ranges}")
    choices = " + ".join(f"(i >= {k} ? A(i - {k}) : 0)" for k in range(1, 9))   # one condition makes others safe
    assert len(parse(f"input A(N)\nv(i) = {choices} where i in 0:N").equations) < 40


def test_bounds_are_no_larger_than_allowed():
    assert "more than 100 products" in said("input A(M)\nC(i) = A(i) where i in 0:" + "*".join(["M"] * 200))


def test_gathers_are_no_deeper_than_allowed():
    assert "more than 30 deep" in said("input A(M), int32 I(N)\nv = A(" + "I(" * 40 + "0" + ")" * 40 + ")")


def test_dimensions_and_indices_are_no_more_than_allowed() -> None:
    assert "'x' has 33 dimensions; the most is 32" in said(f"input x({', '.join('N' * 33)})\ny = 1")
    assert "'y' has 33 dimensions" in said(f"input x(N)\ny({', '.join(f'i{k}' for k in range(33))}) = x(i0)")
    assert "this statement has 33 indices" in said(f"input x(N)\ny +=! {' + '.join(f'x(i{k})' for k in range(33))}")


def test_a_let_may_hide_a_tensor() -> None:
    program = parse("input A(M), t(M)\nC(i) = t + 1 where t = 2 * A(i)")
    np.testing.assert_array_equal(evaluate(program, {"A": np.arange(3.0), "t": np.ones(3)}, NUMPY)["C"], [1, 3, 5])


@each_row(("choice", "at"), [
    ("i == 0 ? x(0) : x(i)", lambda x, i: x[i]), ("i > 0 ? x(i) : 2*x(0)", lambda x, i: x[i] * (1 if i else 2)),
    ("i == 0 ? x(0) : i == N - 1 ? x(N-1) : x(i-1) + x(i+1) where i in 0:N",
     lambda x, i: x[i] if i in (0, len(x) - 1) else x[i-1] + x[i+1]),
    ("i == N - 1 ? 5 : i == 0 ? 6 : x(i+1) - x(i-1) where i in 0:N",
     lambda x, i: 5 if i == len(x) - 1 else 6 if i == 0 else x[i+1] - x[i-1]),
    ("i != 0 ? (i != N - 1 ? x(i-1)*x(i+1) : 5) : 4 where i in 0:N",
     lambda x, i: (x[i-1] * x[i+1] if i != len(x) - 1 else 5) if i else 4),
    ("i == 0 ? 1 : i == 1 ? 2 : x(i-1)*x(i-2) where i in 0:N", lambda x, i: i + 1 if i < 2 else x[i-1] * x[i-2]),
    ("i == 0 ? 1 : i == 1 ? 2 : i == 2 ? 3 : x(i-3) where i in 0:N", lambda x, i: i + 1 if i < 3 else x[i-3]),
    ("i != 0 ? (i >= 2 ? (i != 2 ? x(i-3) : 3) : 2) : 1 where i in 0:N", lambda x, i: i + 1 if i < 3 else x[i-3]),
    ("i >= N/2 ? x(i-1) : 5 where i in 0:N", lambda x, i: x[i-1] if 2*i >= len(x) else 5),
    ("t*t where t = i == 0 ? 2 : x(i-1), i in 0:N", lambda x, i: x[i-1]**2 if i else 4),
    ("i % 3 == 2 ? x(i-2) : x(i) where i in 0:N", lambda x, i: x[i-2] if i % 3 == 2 else x[i]),
    ("i % 2 == 1 ? x(i-1) : i == N - 1 ? 0 : x(i+1) where i in 0:N",
     lambda x, i: x[i-1] if i % 2 else x[i+1] if i < len(x) - 1 else 0),
])
def test_choices_at_the_edges_of_a_range(choice: str, at: Callable[[list[float], int], float]) -> None:
    program = check(parse(f"input x(N)\ny(i) = {choice}"))
    for n in range(2, 6):
        x = [2.0 + 3 * k for k in range(n)]
        np.testing.assert_array_equal(evaluate(program, {"x": np.array(x)}, NUMPY)["y"], [at(x, i) for i in range(n)])


@pytest.mark.parametrize("condition", ["(i + 1) % 2 >= 1", "!(i % 2 == 1)", "not i == 1", "-i % 2 >= 0 - i % 2",
                                       "(i == 0) or (i > 1)"])
def test_a_condition_may_begin_with_a_parenthesis_or_an_operator(condition: str) -> None:
    for behind in (" ", "\n    "):
        program = parse(f"input x(N)\nz +=! x(i){behind}where {condition}, i != 1")
        assert evaluate(program, {"x": np.array([1.0, 10.0, 100.0])}, NUMPY)["z"] == 101
    assert evaluate(parse("input x\nwhere = 3 + x\ny = where - x"), {"x": 1.0}, NUMPY)["y"] == 3


def test_random_choices_read_an_arm_only_where_its_conditions_hold() -> None:
    """What is accepted has the value of Python's choices, or says that an element is outside where Python reads one; and where
    one index chooses by itself, what Python can read in every size is accepted."""
    r, compared = drawn("choices"), 0
    for written in (edges(r) for _ in range(35)):
        points = [point(r, n) for n in range(1, 8)]
        wanted = [written.at(len(p["x"]), p) for p in points]
        seen = len(written.indices) == 1 and not re.search("%|floor", written.text)
        try:
            program = check(parse(written.text))
        except AdError:
            assert not seen or any(w is None for w in wanted), written.text
            continue
        for p, w in zip(points, wanted, strict=True):
            try:
                got = evaluate(program, p, NUMPY)["z"]
            except AdError:
                assert not seen or w is None, written.text
                continue
            assert w is not None, written.text
            np.testing.assert_allclose(got, w, rtol=1e-12, err_msg=written.text)
            compared += 1
    assert compared > 10


@pytest.mark.parametrize(("statement", "value"), [
    ("z(i, j) = i >= 1 ? A(i - 1, j) : x(j + 2) where i in 0:2", [[3.0], [1.0]]),
    ("z(i) +=! i >= 1 ? A(i - 1, j) : 100 where i in 0:2", [300.0, 6.0]),
    ("z +=! i >= 1 ? A(i - 1, j) : 100 where i in 0:2", 306.0),
    ("z +=! j*(i >= 1 ? A(i - 1, j) : x(j + 1)) where i in 0:2", 5.0)])
def test_ranges_keep_the_reads_of_all_arms_inside(statement: str, value: object) -> None:
    program = check(parse(f"input A(M, N), x(N)\n{statement}"))
    inputs = {"A": np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), "x": np.array([1.0, 2.0, 3.0])}
    np.testing.assert_array_equal(evaluate(program, inputs, NUMPY)["z"], value)


# ---------------------------------------------------------------- a statement that reads the tensor it writes

OWN = "input x(N), A(M, M)\ny(i) = x(i) + 0\nB(i, j) = A(i, j) + 0\n"


@pytest.mark.parametrize(("statement", "column"), [
    ("y(i + 1) = y(i)*2 where i in 0:N - 1", 14), ("y(i) = y(i + 1) where i in 0:N - 1", 10),
    ("y(i) += y(i - 1) where i in 1:N", 11), ("y(i) = i > 0 ? y(i - 1) : 0", 18),
    ("B(i + 1, n) +=! A(n, m)*B(i, m) where i in 0:M - 1", 27),
    ("y(2*i) = y(2*i + 2) where i in 0:2", 12), ("y(i) = z + 1 where z = y(i - 2), i in 2:N", 26)])
def test_a_read_at_a_fixed_lag_of_what_is_written_is_an_error(statement, column):
    with pytest.raises(AdError, match=r"'[yB]' is read . steps? (behind|ahead of) the element that is") as raised:
        parse(OWN + statement)
    assert (raised.value.line, raised.value.column) == (4, column) and "another name" in (raised.value.help or "")


def test_a_recurrence_on_a_tensor_that_has_no_value_yet_is_an_error():
    for recurrence in ("input x(T), h0\nh(t+1) = tanh(h(t) + x(t)) where t in 0:T",
                       "input x(T)\nh(t) = h(t-1) + x(t) where t in 1:T"):
        with pytest.raises(AdError, match="'h' has no elements before this statement") as raised:
            parse(recurrence)
        assert raised.value.line == 2 and "write h(0) = 0; for t in " in (raised.value.help or "")


@each_row(("statement", "noted"), [
    ("y(i) = y(i)*2", False), ("y(i) += y(i)", False), ("B(i, j) = B(i, j)*x(0)", False), ("y(0) = y(1)*3", False),
    ("B(i, 0) = B(i, 1)", False), ("B(i, j) = B(j, i)", True), ("y(i) = y(N - 1 - i)", True), ("y(i) = y(0)", True),
    ("z(i + 1) = y(i)", False)])
def test_other_reads_of_it_mean_the_elements_from_before_and_are_remarked(statement, noted):
    program = parse(OWN + statement)
    said = [n.message for n in program.notes if "before this" in n.message]
    assert said == [f"this reads the elements that '{statement[0]}' had before this statement"] * noted


def test_a_remarked_read_gives_the_elements_from_before():
    found = evaluate(parse("input A(M, M)\nB(i, j) = A(i, j) + 0\nB(i, j) = B(j, i)"), {"A": [[1.0, 2.0], [3.0, 4.0]]})
    assert found["B"].tolist() == [[1.0, 3.0], [2.0, 4.0]]


def index_powers(program):
    return [e for op in comprehensions(program) for e in op.body.equations if e.op is INDEX_POWER]


@each_row(("exponent", "count"), [
    ("j", 1), ("j - 1", 1), ("2*j + M - 3", 1), ("-j", 1), ("float(j) - 1", 1), ("j - i", 1), ("p(j)", 1),
    ("2", 0), ("M", 0), ("0.5*j", 0), ("j*j", 0), ("j/1", 1), ("j/2", 0), ("x(j)", 0), ("s", 0), ("j + 0.5", 0)])
def test_powers_with_sums_of_indices_as_exponents_are_products(exponent, count):
    """And so they are in the text of their derivatives, which reads back equal."""
    program = parse(f"def p(n) = 2*n + 1\ninput t(N), x(M), s\ny(i, j) = x(j)*t(i)**({exponent})\noutput y")
    assert len(index_powers(program)) == count
    for made in (program, simplify(tangents(program)), simplify(tangents(tangents(program))), simplify(adjoints(program))):
        again = parse(print_program(made))
        assert print_program(again) == print_program(made)
        assert len(index_powers(again)) == len(index_powers(made))


def test_a_subscript_is_computed_only_where_its_statement_has_points() -> None:
    """A subscript computed ahead, over fewer indices, may be outside of a tensor where the range of another index is empty."""
    program = parse("input B(N), C(P)\nX(l) min=! B(j) < C(2*j) ? B(j + 1) : C(2*j) where l in 1:P - 1, j in 0:N - 1")
    assert parse(print_program(program))
    assert evaluate(program, {"B": np.ones(6), "C": np.ones(2)}, NUMPY)["X"].tolist() == [math.inf]
    for n in (2, 6):
        with pytest.raises(AdError, match="subscript 2\\*j"):
            evaluate(program, {"B": np.ones(n + 2), "C": np.ones(3)}, NUMPY)
