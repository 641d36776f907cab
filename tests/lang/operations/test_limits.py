"""Nothing that a short text or a small number multiplies is made before it is counted: programs of n lines or arguments, for
growing n, either come to a number of operations in proportion to n, or are refused with the number that is too large.

Counts are looked at and never clocks; a refusal that came after the work would show as a test that does not end.
"""
from __future__ import annotations

import numpy as np
import pytest
from adcli.lang.derive.derivatives import gradient, hessian, jacobian, refuse_long
from adcli.lang.derive.taylor import taylor
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.limits import LIMIT, MOST_DERIVATIVES, partial_derivatives, quantity, said
from adcli.lang.passes.pipeline import adjoint_program, tangent_program
from adcli.lang.passes.status import with_status
from adcli.lang.printing.printer import print_program
from row_tables import each_row

SIZES = (10, 20, 40)
VARIADIC = [name for name, op in TABLE.items() if op.variadic]


def in_proportion(count, text, sizes=SIZES):
    """Whether what is counted of the programs grows in proportion to their text, with a tenth to spare."""
    few, some, many = (count(parse(text(n))) for n in sizes)
    return few and 0 <= many - some <= 1.1 * 2 * (some - few)


def lines(program):
    return len(program.equations)


def chars(program):
    return len(print_program(program))


# ---------------------------------------------------------------- operations of many arguments

WAYS = {
    "tangents": tangent_program,
    "adjoints": adjoint_program,
    "gradient, forward": lambda p: gradient(p, mode="forward"),
    "gradient, reverse": lambda p: gradient(p, mode="reverse"),
    "a second derivative": lambda p: gradient(p, of=["v:x0,x1"]),
    "coefficients": lambda p: taylor(p, [q.name for q in p.params], None, 3),
    "status": lambda p: with_status(p, p, [q.name for q in p.params]),
}


def of_many(name, wrap="{}"):
    return lambda n: f"v = {wrap.format(name + '(' + ', '.join(f'x{i}' for i in range(n)) + ')')}"


@each_row("way", WAYS.values())
@each_row("name", VARIADIC)
def test_an_operation_of_many_arguments(name, way):
    assert in_proportion(lambda p: lines(way(p)), of_many(name, "exp({})"))
    assert in_proportion(lambda p: chars(way(p)), of_many(name), (10, 20, 40))


@pytest.mark.parametrize("name", ["max", "min"])
def test_the_hessian_of_an_extremum_is_zero_by_construction(name):
    assert in_proportion(lambda p: lines(hessian(p)), of_many(name))


# ---------------------------------------------------------------- functions that call functions

def scalars(n, body):
    return "def f0(x) = sin(x)*x\n" + "".join(f"def f{k}(x) = {body.format(f=f'f{k - 1}')}\n" for k in range(1, n))


def tensors(n, body):
    return ("def f0(float(N) x) -> (y) { y(i) = sin(x(i)) }\n"
            + "".join(f"def f{k}(float(N) x) -> (y) {{ {body.format(f=f'f{k - 1}')} }}\n" for k in range(1, n)))


TWICE = {
    "a function of a function": lambda n: scalars(n, "{f}({f}(x))") + f"v = f{n - 1}(x)",
    "a sum of two calls": lambda n: scalars(n, "{f}(x) + {f}(-x)") + f"v = f{n - 1}(x)",
    "in an arm": lambda n: scalars(n, "x > 0 ? {f}(x) : {f}(-x)") + f"v = f{n - 1}(x)",
    "in a condition": lambda n: scalars(n, "{f}(x) > {f}(-x) ? x : 1") + f"v = f{n - 1}(x)",
    "in a statement on tensors": lambda n: f"input x(N)\n{scalars(n, '{f}({f}(x))')}v +=! f{n - 1}(x(i))",
    "in where": lambda n: f"input x(N)\n{scalars(n, '{f}({f}(x))')}v +=! u where u = f{n - 1}(x(i))",
    "in a function of tensors": lambda n: f"input x(N)\n{scalars(n, '{f}({f}(x))')}"
                                          f"def g(float(N) x) -> (y) {{ y(i) = f{n - 1}(x(i)) }}\nz = g(x)",
    "of tensors": lambda n: f"input x(N)\n{tensors(n, 'a = {f}(x); y = {f}(a)')}z = f{n - 1}(x)",
    "of tensors, nested": lambda n: f"input x(N)\n{tensors(n, 'y = {f}({f}(x))')}z = f{n - 1}(x)",
    "of tensors, for an element": lambda n: f"input x(N)\n{tensors(n, 'a = {f}(x); b = {f}(x); y(i) = a(i) + b(i)')}"
                                            f"z = f{n - 1}(x)",
}


@each_row("text", TWICE.values())
def test_functions_that_call_functions_twice(text):
    for n in (30, 100):
        with pytest.raises(AdError, match=r"unfolded, '\w+' makes [\d.e+,]+ operations; the limit of a program is 10,000,000"):
            parse(text(n))
    short = parse(text(4))
    assert short.equations


@pytest.mark.parametrize("n", [30, 300])
def test_functions_that_are_not_called_cost_what_their_text_costs(n):
    for functions in (scalars(n, "{f}({f}(x))"), tensors(n, "a = {f}(x); y = {f}(a)"), tensors(n, "y = {f}({f}({f}(x)))")):
        assert lines(parse(f"input x(N)\n{functions}z(i) = x(i)")) == 1


def test_many_calls_share_one_budget(monkeypatch):
    for module in ("operations.limits", "expressions.scope"):
        monkeypatch.setattr(f"adcli.lang.{module}.LIMIT", 1000)
    functions = scalars(9, "{f}({f}(x))")
    assert lines(parse(functions + "v = f8(x)")) == 512
    with pytest.raises(AdError, match="the functions called up to here make 1,024 operations; the limit of a program is 1,000"):
        parse(functions + "u = f8(x)\nv = f8(u)")
    with pytest.raises(AdError, match="the functions called up to here make 1,024 operations"):
        parse(f"input x(N)\n{functions}y(i) = f8(x(i))\nz(i) = f8(y(i))")


# ---------------------------------------------------------------- orders and matrices

FIFTY = "v = " + " + ".join(f"x{i}*x{i + 1}" for i in range(49))
TOO_MANY = {
    "order 10 of 50 inputs": (lambda: gradient(parse(FIFTY), order=10),
                              r"order 10 of 50 inputs gives 7.5e\+10 derivatives; the limit is 2,000,000"),
    "order 10**9": (lambda: gradient(parse("v = exp(x)"), order=10**9), r"order 1.0e\+9 of 1 input gives 1.0e\+9 derivatives"),
    "order 10**5000": (lambda: gradient(parse("v = x*y"), order=10**5000), r"order 1.0e\+5000 of 2 inputs gives"),
    "order 400": (lambda: gradient(parse("v = exp(sin(x)*x)"), order=400), "order 400 goes through about .* operations on its"),
    "order 100": (lambda: gradient(parse("v = exp(sin(x))"), order=100), "order 100 goes through about .* operations on its"),
    "order 32 of a long product": (lambda: gradient(parse(f"v = {'*'.join(f'(x + {k})' for k in range(100))}"), order=32),
                                   "order 32 goes through about .* the limit is 250,000"),
    "coefficients 10**6": (lambda: taylor(parse("v = sin(x)"), ["x"], None, 10**6), "take about .* operations"),
    "coefficients 10**9": (lambda: taylor(parse("v = sin(x)"), ["x"], None, 10**9),
                           r"order 1.0e\+9 gives 1.0e\+9 coefficients"),
}


@each_row("make, message", TOO_MANY.values())
def test_what_is_too_much_is_named_before_it_is_made(make, message):
    with pytest.raises(AdError, match=message) as refused:
        make()
    assert refused.value.help


def test_low_orders_of_long_programs_are_never_refused():
    """Four orders of what is written go through some 20 operations for each of it, however much is written."""
    for n in (1, 10**5, 10**7):
        refuse_long([n, 3 * n, 6 * n, 11 * n], 1)
    with pytest.raises(AdError, match="order 40 goes through"):
        refuse_long([10**5, 3 * 10**5, 6 * 10**5, 11 * 10**5], 37)


def test_a_high_order_looks_at_names_of_its_own_order(monkeypatch):
    """Names of order k have k inputs, and k orders have k of them: to look at all at each order is cubic."""
    looked = []
    monkeypatch.setattr("adcli.lang.derive.derivatives.canonical", lambda along, at: looked.append(1) or tuple(sorted(along)))
    assert len(gradient(parse("v = x*x"), order=300).results) == 301
    assert len(looked) <= 2 * 300


def test_a_matrix_is_refused_for_its_entries_and_not_for_its_size(monkeypatch):
    monkeypatch.setattr("adcli.lang.derive.derivatives.MOST_DERIVATIVES", 5_000)
    chain = parse("\n".join(f"v{i} = x{i}*x{i + 1}" for i in range(200)))
    assert len(jacobian(chain).results) == 3 * 200
    dense = "s = " + " + ".join(f"x{i}" for i in range(101)) + "\nv = exp(s)\n"
    with pytest.raises(AdError, match="a matrix of 101 by 101 gives 5,151 derivatives; the limit is 5,000"):
        hessian(parse(dense), of=["v"])
    with pytest.raises(AdError, match="a matrix of 50 by 101 gives 5,050 derivatives"):
        jacobian(parse(dense + "\n".join(f"v{i} = s*{i + 2}" for i in range(49))))


def test_sweeps_are_refused_for_their_operations(monkeypatch):
    monkeypatch.setattr("adcli.lang.derive.derivatives.LIMIT", 2_000)
    product = parse("v = exp(" + "*".join(f"x{i}" for i in range(40)) + ")")
    assert len(gradient(product).results) == 41
    with pytest.raises(AdError, match=r"these derivatives take [0-9,]+ operations; the limit is 2,000"):
        hessian(product)


RANK_5 = "input X(A, B, C, D, E)\ns +=! X(a, b, c, d, e)**3"
TEN_OF_RANK_4 = (f"input {', '.join(f'X{k}(A, B, C, D)' for k in range(10))}\n"
                 f"s +=! {'*'.join(f'X{k}(a, b, c, d)' for k in range(10))}")


@pytest.mark.parametrize("text", [RANK_5, TEN_OF_RANK_4], ids=["rank 5", "ten of rank 4"])
@pytest.mark.parametrize("made", [hessian, lambda p: gradient(p, mode="forward"), lambda p: hessian(p, mode="forward")])
def test_sweeps_of_tensors_are_not_refused_for_sizes_that_nobody_knows_yet(text, made):
    """A sweep for every element of a tensor is written once, however many elements there are."""
    assert len(made(parse(text)).equations) < 1000


def test_sweeps_of_tensors_are_refused_for_their_text(monkeypatch):
    monkeypatch.setattr("adcli.lang.derive.derivatives.LIMIT", 2_000)
    with pytest.raises(AdError, match=r"these derivatives take [0-9,]+ operations; the limit is 2,000"):
        hessian(parse(TEN_OF_RANK_4))


def test_a_hessian_of_rank_10():
    x = np.array([[[[[1.0, 2.0], [3.0, 4.0]]]]])
    found = evaluate(hessian(parse(RANK_5)), {"X": x}, FLOAT)["d2s_dX_dX"]
    assert np.array_equal(np.asarray(found, float).reshape(4, 4), np.diag(6 * x.ravel()))


# ---------------------------------------------------------------- numbers in messages

def test_quantities():
    assert [quantity(n) for n in (0, 1234567, 10**9, 75394027565)] == ["0", "1,234,567", "1.0e+9", "7.5e+10"]
    assert quantity(10**5000) == "1.0e+5000"
    assert quantity(9_999_999_999) == "1.0e+10"
    assert [said(x) for x in (-1, 1.5, "2", True, -10**5000)] == ["-1", "1.5", "'2'", "True", "-1.0e+5000"]


def test_partial_derivatives():
    assert [partial_derivatives(n, k) for n, k in ((0, 3), (1, 5), (2, 2), (50, 10))] == [0, 5, 5, 75394027565]
    assert partial_derivatives(10**6, 10**6) > MOST_DERIVATIVES < LIMIT
