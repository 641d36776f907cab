"""Patterns are those of the derivative programs, entry for entry, and cost no more than they have to."""
from __future__ import annotations

import json

import one_operation
import pytest
import random_programs
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import evaluate
from adcli.lang.ir import Lit, Program
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.modes.reverse import duplicate
from adcli.lang.passes import pipeline
from adcli.lang.simplify.simplify import simplify
from adcli.lang.sparsity import sparsity
from adcli.lang.sparsity.sparsity import entries, hessian_pattern, jacobian_pattern, symmetric, transposed
from hypothesis import given
from places import DATA
from row_tables import each_row
from session_seed import drawn

CORPUS = {path.stem: json.loads(path.read_text(encoding="utf-8")).get("cases", [])
          for path in sorted(DATA.glob("*.json"))}


def inputs(program: Program) -> list[str]:
    return [p.name for p in program.params]


def outputs(program: Program) -> list[str]:
    return [r.name for r in program.results]


def jacobian(program: Program) -> sparsity.Pattern:
    return jacobian_pattern(program, inputs(program), outputs(program))


def derived(program: Program, wrt: list[str], of: list[str]) -> sparsity.Pattern:
    """The entries that the forward pass does not make the constant 0; its seed is a variable, so nothing else is."""
    columns = []
    for x in wrt:
        tangents = pipeline.tangents(program, [x], of).results[-len(of):]
        columns.append(tuple(i for i, r in enumerate(tangents) if not (isinstance(r.atom, Lit) and r.atom.value == 0)))
    return transposed(tuple(columns), len(of))


def check_jacobian(program: Program) -> int:
    wrt, of = inputs(program), outputs(program)
    assert jacobian(program) == derived(program, wrt, of)
    return len(wrt) * len(of)


def check_hessian(program: Program, of: str) -> int:
    """The pattern is that of the gradient, made symmetric, or holds it where a choice is in the way."""
    wrt = inputs(program)
    first = gradient(program, wrt, [of], mode="reverse")
    name = {r.wrt[0]: r.name for r in first.results if len(r.wrt) == 1}
    partials = [name[x] for x in wrt]
    found, wanted = hessian_pattern(program, wrt, of), symmetric(derived(first, wrt, partials))
    if any(e.op.name == "select" for e in program.equations):
        assert all(set(wanted_row) <= set(row) for row, wanted_row in zip(found, wanted, strict=True))
    else:
        assert found == wanted
    return len(wrt)


# ---------------------------------------------------------------- known patterns

@each_row("text, first, second", [
    ("v = x + y", [(0, 1)], [(), ()]),
    ("v = x*y", [(0, 1)], [(1,), (0,)]),
    ("v = x/y", [(0, 1)], [(1,), (0, 1)]),
    ("v = sin(x) + y*z", [(0, 1, 2)], [(0,), (2,), (1,)]),
    ("v = (x + y)*z", [(0, 1, 2)], [(2,), (2,), (0, 1)]),
    ("v = exp(x + y)", [(0, 1)], [(0, 1), (0, 1)]),
    ("v = x**2 + y**1", [(0, 1)], [(0,), ()]),
    ("v = x < 0 ? x*x : y", [(0, 1)], [(0,), ()]),
    ("v = max(x, y)", [(0, 1)], [(), ()]),
    ("v = hypot(x, y)", [(0, 1)], [(0, 1), (0, 1)]),
    ("v = x > y ? 1 : 2", [()], [(), ()]),
    ("v = copysign(x*x, y)", [(0,)], [(0,), ()]),
    ("v = 3*(2*x)", [(0,)], [()]),
    ("input x, y; v = x; output v", [(0,)], [(), ()]),
    ("input x; v = 2 + 1; output v", [()], [()]),
])
def test_a_known_pattern(text, first, second):
    program = simplify(parse(text))
    assert jacobian(program) == tuple(first)
    assert hessian_pattern(program, inputs(program), "v") == tuple(second)


def test_rows_are_the_results_asked_for_and_columns_the_inputs():
    program = parse("u = a*b\nv = b + c\nw = c*c")
    assert jacobian_pattern(program, ["c", "b"], ["w", "u", "v"]) == ((0,), (1,), (0, 1))
    assert jacobian_pattern(program, [], ["w", "u"]) == ((), ())
    assert jacobian_pattern(program, ["a"], []) == ()
    assert hessian_pattern(program, ["b", "a"], "u") == ((1,), (0,))


def test_what_is_zero_by_construction_is_no_entry():
    assert jacobian(parse("v = x**0 + y")) == ((1,),)                  # before anything is simplified
    assert hessian_pattern(parse("v = x**0*y + x**1*y"), ["x", "y"], "v") == ((1,), (0,))
    assert jacobian(parse("v = x - x")) == ((0,),)                     # a sum of two numbers, and no construction


def test_a_derivative_that_is_not_known_is_refused():
    with pytest.raises(AdError, match="derivative of polygamma"):
        hessian_pattern(parse("v = polygamma(139, x)*polygamma(140, x)"), ["x"], "v")


# ---------------------------------------------------------------- the derivative programs as reference

@each_row("op", one_operation.REAL, ids=lambda op: op.name)
def test_every_operation(op):
    for count in (None, 3, 4) if op.variadic else (None,):
        program = one_operation.program(op, count=count)
        assert check_jacobian(program) and check_hessian(program, "z")


@random_programs.law(150)
@given(random_programs.samples())
def test_random_programs(sample):
    program = simplify(parse(sample.text))
    check_jacobian(program)
    for name in outputs(program):
        check_hessian(program, name)


@pytest.mark.parametrize("family", [family for family, cases in CORPUS.items() if cases])
def test_the_corpus(family):
    cases = [simplify(parse(case["program"])) for case in CORPUS[family]]
    small = [p for p in cases if len(p.equations) * len(p.params) < 10_000]
    assert sum(check_jacobian(p) + check_hessian(p, outputs(p)[0]) for p in small) > len(cases)


def test_so_many_columns_at_once(monkeypatch):
    """Sets that are found in parts are those that are found at once."""
    cases = [simplify(parse(random_programs.sample(drawn("test_so_many_columns_at_once", seed)).text)) for seed in range(100)]
    found = [(jacobian(p), hessian_pattern(p, inputs(p), outputs(p)[0])) for p in cases]
    monkeypatch.setattr(sparsity, "AT_ONCE", 2)
    assert [(jacobian(p), hessian_pattern(p, inputs(p), outputs(p)[0])) for p in cases] == found


def test_a_result_by_itself_has_its_row():
    """The way back from it, on which there are no sets, finds what the sets of all results find."""
    for seed in range(100):
        program = simplify(parse(random_programs.sample(drawn("test_a_result_by_itself_has_its_row", seed)).text))
        for p in (program, duplicate(program)):
            alone = [row for r in outputs(p) for row in jacobian_pattern(p, inputs(p), [r])]
            assert tuple(alone) == derived(program, inputs(p), outputs(p))


def test_copies_are_seen_through():
    for seed in range(100):
        program = simplify(parse(random_programs.sample(drawn("test_copies_are_seen_through", seed)).text))
        assert jacobian(duplicate(program)) == jacobian(program)
        for name in outputs(program):
            assert hessian_pattern(duplicate(program), inputs(program), name) == hessian_pattern(program, inputs(program), name)


def test_no_derivative_is_outside_the_pattern():
    program = parse("u = sin(x)*y/z\nv = hypot(x, w)\ns = y > 0 ? z**2 : w")
    at = {"w": 1.5, "x": 0.3, "y": 0.7, "z": 2.0}
    found, got = jacobian(program), evaluate(gradient(program), at)
    for i, v in enumerate(outputs(program)):
        for j, x in enumerate(inputs(program)):
            if j not in found[i]:
                assert got[f"d{v}_d{x}"] == 0


def test_a_lost_interaction_is_caught(monkeypatch):
    found = sparsity.interactions
    monkeypatch.setattr(sparsity, "interactions", lambda e: ((1,), (0,)) if e.op.name == "div" else found(e))
    with pytest.raises(AssertionError):
        check_hessian(parse("v = x/y"), "v")


# ---------------------------------------------------------------- size

def rosenbrock(n: int) -> Program:
    terms = [f"100*(x{i + 1} - x{i}**2)**2 + (1 - x{i})**2" for i in range(1, n)]
    return simplify(parse(f"input {', '.join(f'x{i}' for i in range(1, n + 1))}\nf = " + " + ".join(terms)))


def banded(n: int, width: int) -> sparsity.Pattern:
    return tuple(tuple(range(max(0, i - width), min(n, i + width + 1))) for i in range(n))


@pytest.mark.parametrize("n", [500, 5_000])
def test_rosenbrock(n):
    program = rosenbrock(n)
    found = hessian_pattern(program, inputs(program), "f")
    assert found == banded(n, 1) and entries(found) == 3 * n - 2
    assert jacobian(program) == (tuple(range(n)),)


def test_the_gradient_of_rosenbrock_as_a_program():
    program = gradient(rosenbrock(1_000), of=["f"], mode="reverse")
    partials = [r.name for r in program.results if r.wrt]
    assert jacobian_pattern(program, inputs(program), partials) == banded(1_000, 1)


def test_long_sums_wide_and_tall():
    n = 3_000
    names = [f"x{i}" for i in range(n)]
    total = parse("s = " + " + ".join(names) + "\nv = s*y")
    chain = parse("z0 = sin(y)\n" + "\n".join(f"z{i + 1} = sin(z{i})*cos(z{i}) + x{i}" for i in range(n)) + f"\noutput z{n}")
    tall = parse("input y\n" + "\n".join(f"v{i} = y*{i + 2}" for i in range(n)))
    assert jacobian_pattern(total, [*names, "y"], ["v"]) == (tuple(range(n + 1)),)
    assert hessian_pattern(total, [*names, "y"], "v") == ((n,),) * n + (tuple(range(n)),)
    assert jacobian_pattern(chain, ["y", *names], [f"z{n}"]) == (tuple(range(n + 1)),)
    assert jacobian(tall) == ((0,),) * n


def test_equal_rows_of_a_dense_matrix_are_one():
    n = 1_000
    names = [f"x{i}" for i in range(n)]
    program = parse("s = " + " + ".join(names) + "\n" + "\n".join(f"v{i} = s*{x}" for i, x in enumerate(names)))
    found = jacobian_pattern(program, names, [f"v{i}" for i in range(n)])
    assert found == (tuple(range(n)),) * n and len({*map(id, found)}) == 1


def test_what_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(sparsity, "MOST_ENTRIES", 1_000)
    names = [f"x{i}" for i in range(100)]
    text = "z0 = x0\n" + "\n".join(f"z{i} = sin(z{i - 1})*{x}*z{i - 1}" for i, x in enumerate(names) if i)
    with pytest.raises(AdError, match="too large: it has more than 1,000 entries") as fault:
        hessian_pattern(parse(text), names, "z99")
    assert "--wrt" in fault.value.help
    with pytest.raises(AdError, match="too large"):
        jacobian_pattern(parse(f"{text}\noutput {', '.join(f'z{i}' for i in range(100))}"), names, [f"z{i}" for i in range(100)])


# ---------------------------------------------------------------- patterns as matrices

def test_symmetric_transposed_entries():
    assert symmetric(((1, 2), (), (1,))) == ((1, 2), (0, 2), (0, 1))
    assert transposed(((0, 2), (2,)), 3) == ((0,), (), (0, 1))
    assert transposed((), 2) == ((), ()) and transposed(((), ()), 0) == ()
    assert entries(((0, 2), (), (2,))) == 3 and entries(()) == 0
