"""Tensor programs that were once wrong: numbers beyond machine words, texts that read back as something else, names with two
meanings, and what has to be refused."""
from __future__ import annotations

from typing import Any

import guarded_arrays
import numpy as np
import pytest
from adcli.codegen.nests.runtime import compile_tensors
from adcli.lang.evaluate import evaluate
from adcli.lang.ir.affine import affine, floor, greatest, least, text, value
from adcli.lang.ir.equal import equal
from adcli.lang.ir.errors import AdError
from adcli.lang.passes.pipeline import adjoints, tangents
from adcli.lang.passes.simplify import simplify
from adcli.lang.syntax.parse import parse
from adcli.lang.syntax.printer import print_program
from command import adcli
from tensor_laws import NUMPY

import adcli as api

HUGE = 9007199254740000


# ---------------------------------------------------------------- whole numbers of 64 bits

@pytest.mark.parametrize("line", [
    f"y(i, j) = x(i + j) * s(j) where i in 0:M, j in 0:M, {HUGE}*i + {HUGE}*j <= {HUGE}*N - {HUGE}",
    f"y +=! x(i + j) * s(j) where i in 0:M, j in 0:M, {HUGE}*i + {HUGE}*j <= {HUGE}*N - {HUGE}",
    f"y(i + j) +=! x(i + j) * s(j) where i in 0:M, j in 0:M, {HUGE}*i + {HUGE}*j <= {HUGE}*N - {HUGE}, float(N) y",
    f"y +=! x(j) where j in 0:-{HUGE}*M", f"y +=! x(j) where j in 0:{HUGE}*M, j < N",
    "y +=! x(j) where j in 0:M*M*M*M*M*M*M, j < N"])
def test_numbers_that_would_overflow_are_refused(line: str) -> None:
    """A guard whose value wraps around would let points pass that the proof has excluded."""
    program = parse(f"input x(N), s(M)\n{line}\n")
    kernel = compile_tensors(program, allocate=guarded_arrays.guarded)
    at = {"x": guarded_arrays.like(np.ones(10)), "s": guarded_arrays.like(np.ones(3000))}
    for run in (lambda: kernel(at), lambda: evaluate(program, at, NUMPY)):
        with pytest.raises(AdError, match="are too large: whole numbers have 64 bits"):
            run()


def test_numbers_just_small_enough_are_not() -> None:
    c = 10**12
    program = parse(f"input x(N), s(M)\ny +=! x(i + j) * s(j) where i in 0:M, j in 0:M, {c}*i + {c}*j <= {c}*N - {c}\n")
    assert compile_tensors(program)({"x": np.ones(10), "s": np.ones(3000)})["y"] == 55


# ---------------------------------------------------------------- texts that read back

def halves(n: int, other: str = "2*i + 1") -> str:
    calls = "".join(f"x{k + 1} = half(x{k})\n" for k in range(n))
    return f"def half(float(N) x) -> (y) {{ y(i) = x(2*i) + x({other}) }}\ninput x0(H)\n{calls}"


@pytest.mark.parametrize(("program", "at"), [
    ("input I(H), F(K)\nO(h) +=! I(h + k - 1) * F(k) where h in 0:H, k in 0:K, h + k >= 1, h + k <= H", {"H": 5, "K": 3}),
    ("input u(N), h\nL(i) = (u(i) + u(i + 2) - 2*u(i + 1)) / h**2", {"N": 6}),
    ("def f(float(N) x) -> (y) { y(i) = x(i) * N }\ninput x(H)\nz(i) = x(2*i) * x(2*i + 1)\ny = f(z)", {"H": 5}),
    ("def f(float(N) x) -> (s) {\n m = N * 2\n s +=! x(i) * m }\ninput x(H)\nz(i) = x(2*i)\ns = f(z)", {"H": 5}),
    ("input x(M), y(N), z(Q)\ns max=! x(m) * y(m) where m in max(M - Q, 0):min(M, N)", {"M": 5, "N": 4, "Q": 3}),
    ("input x(N), y(M)\nz(i) = x(i) * floor(N / 2) * min(M, N) * max(3, N - M) + floor(i / 2) + floor(N / M)", {"N": 5, "M": 2}),
    (halves(3), {"H": 17}),
], ids=["padding", "stencil", "size-of-a-half", "scalar-of-a-half", "bounds", "sizes", "pyramid"])
def test_derivatives_read_back_and_compute_the_same(program: str, at: dict[str, int]) -> None:
    first = parse(program)
    r = np.random.default_rng(0)
    for derivative in (tangents, adjoints):
        p = simplify(derivative(first))
        again = parse(print_program(p))
        given = shaped(first, at, r)
        with np.errstate(all="ignore"):
            outputs = evaluate(first, given, NUMPY)
            given |= {q.name: r.uniform(1, 2, np.shape(given.get(q.name[1:], outputs.get(q.name[3:]))))
                      for q in p.params if q.name not in given}
            expected, found = evaluate(p, given, NUMPY), evaluate(again, given, NUMPY)
        for name, x in expected.items():
            np.testing.assert_allclose(found[name], x, rtol=1e-13, err_msg=name)


def shaped(program: Any, sizes: dict[str, int], r: np.random.Generator) -> dict[str, Any]:
    return {p.name: r.uniform(1, 2, tuple(value(x, sizes) for x in p.var.shape)) for p in program.params}   # type: ignore[arg-type]


def test_floors_of_sizes_are_their_own_text() -> None:
    program = parse("input x(N), y(M)\nz(i) = x(i) * floor(N / 2) - 2 * min(M, N)\nw(i) = x(i) where i in N/2:min(M, N)")
    assert equal(parse(print_program(program)), program)
    assert "x(i) * floor(N / 2) - 2*min(M, N)" in print_program(program)


@pytest.mark.parametrize("bound", ["-(N / 2)", "-N / 2", "-((1 - N) / 3)", "M - N / 2", "-(2 * (N / 3))", "-(N / 2) - M / 2 + N"])
def test_the_floor_of_a_negative_number_is_none_of_a_positive_one(bound: str) -> None:
    program = parse(f"input x(N), z(M)\ny +=! i where i in {bound}:N")
    again = parse(print_program(program))
    assert equal(again, program)
    at = {"x": np.ones(5), "z": np.ones(2)}
    low = eval(bound.replace("/", "//"), {"N": 5, "M": 2})
    assert evaluate(again, at, NUMPY)["y"] == sum(range(low, 5))


# ---------------------------------------------------------------- expressions of sizes stay short

def test_floors_that_differ_by_a_number_are_compared() -> None:
    n = affine("N")
    assert text(least(floor(n, 2), floor(n + 1, 2))) == "N / 2"
    assert text(greatest(floor(n, 2), floor(n + 1, 2))) == "(N + 1) / 2"
    assert text(floor(floor(n, 2) + 1, 3)) == "(N + 2) / 6"
    shifts, found = range(-3, 4), set()
    for a in shifts:
        for b in shifts:
            for c in shifts:
                one, other = floor(n + a, 3), floor(n + b, 3) + c
                low, high = least(one, other), greatest(one, other)
                found |= {len(low.terms), len(high.terms)}
                for k in range(-7, 8):
                    x, y = (k + a) // 3, (k + b) // 3 + c
                    assert (value(low, {"N": k}), value(high, {"N": k})) == (min(x, y), max(x, y))
                    assert value(floor(one + c, 2), {"N": k}) == (x + c) // 2
    assert found == {1}


def test_a_pyramid_of_halves_has_short_extents() -> None:
    program = parse(halves(40))
    assert text(program.results[0].atom.shape[0]) == f"H / {2**40}"   # type: ignore[union-attr]


def test_extents_that_would_double_with_every_call_are_refused() -> None:
    with pytest.raises(AdError, match="the extent of dimension 0 of 'y' becomes too long an expression"):
        parse(halves(40, "3*i + 1"))


# ---------------------------------------------------------------- what is refused, and what is said

@pytest.mark.parametrize(("program", "message"), [
    ("input x(N)\nN = 3\ny(i) = x(i) * N", "f.ad:2:1: error: 'N' is a size and cannot be assigned"),
    ("input x(N)\n(N, k) = dup(3)\ny(i) = x(i) * N", "f.ad:2:2: error: 'N' is a size and cannot be assigned"),
    ("def f(float(N) x) -> (y) { y(i) = x(i) }\ninput u(K)\nv = f(u) + 1", "f.ad:3:5: error: 'f' gives a tensor here"),
    ("input A(M, N)\nC(i, j) = exp(A)", "f.ad:2:15: error: 'A' is a tensor"),
    ("input A(M, N)\nC(i, j) = A(i, j) * t where t = A", "f.ad:2:33: error: 'A' is a tensor"),
    ("def f(float(N) x) -> (y) { y(i) = f(x) }", "f.ad:1:35: error: function 'f' calls itself"),
    ("input x(N)\nC(i) = f(x)\ndef f(float(N) x) -> (y) { y(i) = x(i) }",
     "f.ad:2:8: error: function 'f' is called above its definition"),
    ("input x(N)\ny(i) = x[i]", "f.ad:2:9: error: unexpected '['"),
    (f"input x({', '.join('N' * 33)})\ny = 1", "f.ad:1:7: error: 'x' has 33 dimensions, and no tensor has more than 32"),
    (f"input x(N)\ny({', '.join(f'i{k}' for k in range(33))}) = x(i0)", "'y' has 33 dimensions, and no tensor has more than 32"),
    (f"input x(N)\ny +=! {' + '.join(f'x(i{k})' for k in range(33))}",
     "this statement has 33 indices, and none has more than 32"),
])
def test_what_is_refused(program: str, message: str) -> None:
    with pytest.raises(AdError) as fault:
        parse(program, "f.ad")
    assert message in str(fault.value)


def test_a_let_may_hide_a_tensor() -> None:
    program = parse("input A(M), t(M)\nC(i) = t + 1 where t = 2 * A(i)")
    np.testing.assert_array_equal(evaluate(program, {"A": np.arange(3.0), "t": np.ones(3)}, NUMPY)["C"], [1, 3, 5])


def test_a_condition_that_the_reads_decide_is_remarked() -> None:
    ended = adcli("eval", "-e", "input x(N)", "-e", "y(i) = i >= 1 ? x(i - 1) * x(i) : 7", "--at", "x=[1,2,3]")
    assert ended.out == "y = [0.0, 2.0, 6.0]\n"
    assert ended.err == ("-e:2:8: note: this condition always holds: index 'i' runs over 1:N, which keeps every read inside its "
                         "tensor; a range in where gives more\n")
    ended = adcli("eval", "-e", "input x(N)", "-e", "y(i) = i >= 1 ? x(i - 1) : 7 where i in 0:N", "--at", "x=[1,2,3]")
    assert (ended.out, ended.err) == ("y = [7.0, 1.0, 2.0]\n", "")


@pytest.mark.parametrize(("body", "word"), [
    ("i >= 1 ? x(i) : 7 * x(i)", "smooth"), ("floor(i / 2) * x(i) + abs(i)", "smooth"), ("I(i) > 0 ? x(i) : 2", "smooth"),
    ("i >= 1 ? abs(x(i)) : x(i)", "kink"), ("x(i) > 0 ? 1 : 2", "jump"), ("x(i) + 1 / i", "pole"),
    ("sqrt(i - 1) > 0 ? x(i) : 2", "domain")])
def test_whole_numbers_that_no_input_moves_are_not_stepped_over(body: str, word: str) -> None:
    command = ["eval", "-e", "input x(N), int32 I(N)", "-e", f"y(i) = {body}", "--at", "x=[1,0,3],I=[0,1,2]", "--status", "-q"]
    assert adcli(*command).out.splitlines()[-1] == f"status = {word}"


def test_arrays_for_results_do_not_overlap() -> None:
    f = api.compile("input x(N)\ny(i) = 2 * x(i)\nz(i) = y(i) + 1\noutput y, z\n")
    there = np.zeros(5)
    for y, z in ((there[:4], there[1:]), (there[:4], there[:4])):
        with pytest.raises(AdError, match="the array for 'y' overlaps that for another result"):
            f(x=np.ones(4), out={"y": y, "z": z})
    assert f(x=np.ones(2), out={"y": there[:2], "z": there[2:4]})["z"] is not None and there.tolist() == [2, 2, 3, 3, 0]


def test_what_no_memory_holds_is_said_to_be_too_much_memory() -> None:
    kernel = compile_tensors(parse("input int32 n\nz(i, j) = i + j where i in 0:n, j in 0:n\n"))
    with pytest.raises(AdError, match="this needs 7450580596 GiB of memory"):
        kernel({"n": 10**9})


def test_a_scalar_that_is_no_subscript_is_named_as_it_is() -> None:
    program = parse("input x(N), int32 n\nz = x(n)\n")
    for run in (compile_tensors(program), lambda at: evaluate(program, at, NUMPY)):
        with pytest.raises(AdError, match="error: n = 3 is no subscript of dimension 0 of 'x', which has 3 elements"):
            run({"x": np.ones(3), "n": 3})


# ---------------------------------------------------------------- native code

@pytest.mark.parametrize(("write", "guard"), [
    ("j + 2*k, 3*i - k", "3*i >= k"), ("j + k, i + k", "i >= 0"), ("i + j, j + k, k + l", "i >= l")])
@pytest.mark.parametrize("reduction", ["+", "max"])
def test_sums_of_sums_of_indices(write: str, guard: str, reduction: str) -> None:
    """Several indices give way to subscripts of the result, one after another."""
    shape = ", ".join(["2*(M + N)"] * len(write.split(", ")))
    program = parse(f"input B(M, N), x(K)\nX({write}) {reduction}=! B(i, j) * x(k) * x(l) "
                    f"where i in 0:M, j in 0:N, k in 0:K, l in 0:K, {guard}, float({shape}) X\n")
    r = np.random.default_rng(1)
    for p in (program, simplify(adjoints(program))):
        given = {q.name: r.standard_normal(tuple(value(n, {"M": 9, "N": 8, "K": 2}) for n in q.var.shape)) for q in p.params}
        kernel = compile_tensors(p, allocate=guarded_arrays.guarded)
        plan = kernel.plan(tuple(x.shape for x in given.values()))
        expected = evaluate(p, given, NUMPY)
        for choice in range(max(len(s.nests) for s in kernel.module.steps)):
            for k, step in enumerate(kernel.module.steps):
                plan.cells[kernel.module.choices + k] = min(choice, max(0, len(step.nests) - 1))
            got = kernel(given, jobs=1)
            for name, x in expected.items():
                np.testing.assert_allclose(got[name], x, rtol=1e-11, atol=1e-11, err_msg=name)


# ---------------------------------------------------------------- the command line

@pytest.mark.parametrize("mode", ["forward", "reverse", "auto"])
def test_a_jacobian_does_not_depend_on_the_order_of_wrt(mode: str) -> None:
    text = ["-e", "input A(M, N), s, u", "-e", "c(i) +=! A(i, j) * s * u * u", "-e", "L +=! c(i)", "-e", "output c, L"]
    at = ["--mode", mode, "--at", "A=[[1,2],[3,4]],s=2,u=3", "--format", "json"]
    one, other = (adcli("jacobian", *text, "--wrt", wrt, *at).records[0]["jacobian"] for wrt in ("A,s,u", "u,s,A"))
    assert one == other
    assert (one["c"]["s"], one["c"]["u"], one["L"]["s"], one["L"]["u"]) == ([27, 63], [36, 84], 90, 120)
