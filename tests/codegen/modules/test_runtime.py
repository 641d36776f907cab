"""Native code of programs with tensors: what it computes, that it touches nothing else, and what a call promises."""
from __future__ import annotations

import random
import re
import subprocess
import sys
from itertools import pairwise
from math import prod
from typing import Any

import guarded_arrays
import numpy as np
import pytest
from adcli.codegen.loops import copies, packing
from adcli.codegen.machine import memory, veclib
from adcli.codegen.machine.kernel import CACHE_LINE, Kernel
from adcli.codegen.modules import array_calls, calls, plans
from adcli.codegen.modules import runtime as tensors
from adcli.codegen.modules.module import TensorModule, emit, laid_out
from adcli.codegen.modules.runtime import TensorKernel, compile_tensors
from adcli.codegen.rows.compiled import linked
from adcli.codegen.rows.jit import object_code
from adcli.codegen.schedules import schedule
from adcli.lang.derive.derivatives import gradient, hvp
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir import Lit, Program, Result
from adcli.lang.ir.affine import value
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.primitives import TABLE, exp
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoints, evaluation_program, tangents
from adcli.lang.simplify.simplify import simplify
from adcli.lang.sizes.binding import shapes
from comprehension_samples import Sample
from hypothesis import given
from native_tensors import LANES, assert_same_bits, everywhere
from places import HELPERS, ROOT
from random_comprehensions import tensor_samples
from random_programs import law
from row_tables import each_row
from session_seed import half
from side_by_side import in_threads
from tensor_laws import NUMPY, direction
from tensor_notation import Tensors

import adcli

SIZES = tensor_samples(rank=2, longest=20) | tensor_samples(rank=2, longest=9) | tensor_samples()


def product(a: str = "i k", b: str = "k j", c: str = "i j") -> Program:
    """A matrix product, its operands and result with these subscripts."""
    size = {"i": "M", "j": "N", "k": "K"}
    t = Tensors(A=" ".join(size[x] for x in a.split()), B=" ".join(size[x] for x in b.split()))
    return t.make("C", c, "+", "i:M j:N k:K", [f"A {a}", f"B {b}"], lambda x, y: x * y).program("C")


# ---------------------------------------------------------------- random programs

@law(130)
@given(SIZES)
def test_values_are_those_of_plain_loops(sample: Sample) -> None:
    everywhere(sample.program(), sample.values, sample.meaning(), LANES[len(sample.shapes) % len(LANES)])


@law(45)
@given(SIZES)
def test_adjoints_are_those_of_the_reference(sample: Sample) -> None:
    r = random.Random(1)
    program = simplify(adjoints(sample.program()))
    at = {**sample.values, **{f"d_d{n}": direction(r, sample.extents(n)) for n in sample.results}}
    everywhere(program, at, evaluate(program, {p.name: at[p.name] for p in program.params}, NUMPY))


@law(45)
@given(SIZES)
def test_tangents_are_those_of_the_reference(sample: Sample) -> None:
    r = random.Random(2)
    program = simplify(tangents(sample.program()))
    at = {**sample.values, **{f"d{n}": direction(r, np.shape(sample.values[n])) for n in sample.reals}}
    everywhere(program, at, evaluate(program, {p.name: at[p.name] for p in program.params}, NUMPY))


@pytest.mark.parametrize("where", ["k in 0:19", "k in 0:9, 2*k >= 5"])
def test_what_is_left_over_of_a_sum_of_one_product_is_read_where_it_is(where: str) -> None:
    """LLVM takes a choice of lanes behind a fused product, and a load of the same lanes in front of it, for a load of all."""
    program = parse(f"input x(N)\ny(k) +=! x(k) * 2 where {where}")
    at = {"x": np.arange(19.0 if where == "k in 0:19" else 9.0)}
    for lanes in LANES:
        everywhere(program, at, evaluate(program, at), lanes, exact=True)


def test_a_read_too_far_ends_the_process() -> None:
    """Without the proof, a subscript that is outside by one: the pages around the arrays are what the tests above rely on."""
    script = f"""
import sys; sys.path[:0] = [{str(HELPERS)!r}, {str(ROOT)!r}]
import guarded_arrays, numpy as np
from adcli.codegen.loops import addresses
from adcli.codegen.modules import plans
from adcli.codegen.modules import runtime as tensors
from adcli.codegen.modules.module import TensorModule, laid_out
from adcli.codegen.modules.module import emit
from tensor_notation import Tensors
plans.prove = lambda program, sizes: None
p = Tensors(A="N").make("C", "i", "=", "i:N", ["A i+1"], lambda x: x).program("C")
tensors.compile_tensors(p)({{"A": guarded_arrays.like(np.ones(int(sys.argv[1])))}})
"""
    for n in ("5", "8", "64"):
        assert subprocess.run([sys.executable, "-c", script, n]).returncode == -11


# ---------------------------------------------------------------- products and windows

@each_row("a", ["i k", "k i"])
@each_row("b", ["k j", "j k"])
@each_row("c", ["i j", "j i"])
def test_matrix_products(a: str, b: str, c: str) -> None:
    program = product(a, b, c)
    for m, k, n in ((1, 1, 1), (3, 5, 2), (8, 16, 24), (17, 33, 41), (9, 1, 50), (40, 7, 3)):
        r = np.random.default_rng(m)
        x, y = r.standard_normal((m, k)), r.standard_normal((k, n))
        at = {"A": x if a == "i k" else x.T, "B": y if b == "k j" else y.T}
        everywhere(program, at, {"C": x @ y if c == "i j" else (x @ y).T})


def test_one_compilation_serves_all_sizes() -> None:
    kernel = compile_tensors(product())
    for m, k, n in ((0, 3, 4), (3, 0, 4), (3, 4, 0), (2, 3, 4), (64, 64, 64), (130, 70, 150)):
        x, y = np.ones((m, k)), np.full((k, n), 2.0)
        np.testing.assert_array_equal(kernel({"A": x, "B": y})["C"], np.full((m, n), 2.0 * k))


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_convolutions_and_their_adjoints(stride: int) -> None:
    t = Tensors(I="N C H W", F="M C KH KW", o="P Q")
    reads = [f"I n c h*{stride}+kh w*{stride}+kw", "F m c kh kw"]
    program = t.make("O", "n m h w", "+", "n:N m:M h:P w:Q c:C kh:KH kw:KW", reads, lambda x, y: x * y).program("O")
    r = np.random.default_rng(stride)
    filters, p, q = r.standard_normal((3, 2, 3, 3)), 5, 11
    image = r.standard_normal((2, 2, stride * (p - 1) + 3, stride * (q - 1) + 3))
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), (2, 3))[:, :, ::stride, ::stride]
    at = {"I": image, "F": filters, "o": np.zeros((p, q))}
    everywhere(program, at, {"O": np.einsum("nchwkl,mckl->nmhw", windows, filters)})
    seed = r.standard_normal((2, 3, p, q))
    back = np.zeros_like(image)
    for k, h in np.ndindex(3, 3):
        back[:, :, k:k + stride * (p - 1) + 1:stride, h:h + stride * (q - 1) + 1:stride] += np.einsum(
            "nmhw,mc->nchw", seed, filters[:, :, k, h])
    want = {"d_dI": back, "d_dF": np.einsum("nmhw,nchwkl->mckl", seed, windows)}
    everywhere(simplify(adjoints(program, ["I", "F"])), {**at, "d_dO": seed}, want)


@pytest.mark.parametrize(("write", "shape", "guards"), [
    ("i", "N-2", ["N-i-k-3"]), ("i-2", "N-2", ["i-k-2"]), ("5", "3", ["i-k-N"]), ("i+k", "N", ["N-1-i-k"]),
    ("i+k*2-3", "N", ["i+k*2-3", "N+2-i-k*2"]), ("i*2-k", "N", ["i*2-k", "N-1-i*2+k"])])
def test_guards_that_leave_no_point_for_an_element(write: str, shape: str, guards: list[str]) -> None:
    """Loops over elements of the result meet values of their indices at which nothing is written, and nothing there is."""
    t = Tensors(A="N", B="K")
    t.make("C", write, "+", "i:N k:K", ["A i", "B k"], lambda x, y: x * y, shape=shape, guards=guards)
    program = t.program("C")
    for n, k in ((3, 1), (9, 9), (17, 4), (30, 11)):
        at = {"A": np.arange(1.0, n + 1), "B": np.arange(1.0, k + 1)}
        everywhere(program, at, evaluate(program, at, NUMPY))


@pytest.mark.parametrize("reduction", ["=", "+", "*", "min", "max"])
def test_empty_domains(reduction: str) -> None:
    """Every element is what the result starts from."""
    t = Tensors(A="N M").make("C", "i", reduction, "i:N j:M", ["A i j"], lambda x: x)
    program = t.make("D", "", reduction, "i:N j:M", ["A i j"], lambda x: x).program("C", "D")
    for shape in ((0, 3), (3, 0), (0, 0)):
        at = {"A": np.ones(shape)}
        everywhere(program, at, evaluate(program, at, NUMPY))


# ---------------------------------------------------------------- bits

def test_an_element_s_bits_do_not_depend_on_its_place() -> None:
    program = Tensors(x="N").make("y", "i", "=", "i:N", ["x i"], lambda x: exp(x) / (1 + x * x)).program("y")
    kernel, x = compile_tensors(program), np.random.default_rng(3).standard_normal(41)
    whole = kernel({"x": x})["y"]
    for first in (0, 1, 7, 8, 23, 40):
        assert kernel({"x": x[first:].copy()})["y"].tobytes() == whole[first:].tobytes()


# ---------------------------------------------------------------- elementwise work where it is used

def test_elementwise_work_goes_where_it_is_used() -> None:
    t = Tensors(A="M K", B="K N", b="N", y="M N")
    t.make("z", "i j", "+", "i:M j:N k:K", ["A i k", "B k j"], lambda x, y: x * y)
    t.make("u", "i j", "=", "i:M j:N", ["z i j", "b j"], lambda x, y: exp(x + y))
    t.make("d", "i j", "=", "i:M j:N", ["u i j", "y i j"], lambda x, y: x - y)
    program = t.make("f", "", "+", "i:M j:N", ["d i j"], lambda x: x * x).program("f")
    kernel = compile_tensors(program)
    assert [s.equations[0].outs[0].name for s in kernel.module.steps] == ["z", "f"]
    r = np.random.default_rng(5)
    at = {name: r.standard_normal(shape) for name, shape in (("A", (5, 7)), ("B", (7, 11)), ("b", 11), ("y", (5, 11)))}
    everywhere(program, at, {"f": ((np.exp(at["A"] @ at["B"] + at["b"]) - at["y"]) ** 2).sum()})


@pytest.mark.parametrize(("function", "reads", "steps"), [
    (exp, ["T i", "=j"], ["T", "C"]), (lambda x: x, ["T i", "=j"], ["T", "C"]), (exp, ["T j", "T j"], ["C"])])
def test_no_element_is_computed_twice_for_nothing(function: Any, reads: list[str], steps: list[str]) -> None:
    """A value that is read for every j stays in memory; two reads of one element are one."""
    t = Tensors(A="N").make("T", "i", "=", "i:N", ["A i"], lambda x: function(function(function(x))))
    program = t.make("C", "j", "+", "j:N" if "i" not in reads[0] else "i:N j:N", reads, lambda x, y: x * y).program("C")
    kernel = compile_tensors(program)
    assert [s.equations[0].outs[0].name for s in kernel.module.steps] == steps


def test_nests_that_differ_in_their_tensors_only_are_one_function() -> None:
    t = Tensors(A="N N")
    for k in range(6):
        t.make(f"A{k}", "i j", "+", "i:N j:N k:N", [f"A{k - 1} i k" if k else "A i k", "A k j"], lambda x, y: x * y)
    kernel, x = compile_tensors(t.program("A5")), np.eye(9) + np.ones((9, 9)) / 7
    assert len(kernel.module.text) < 3 * len(compile_tensors(product()).module.text)
    np.testing.assert_allclose(kernel({"A": x})["A5"], np.linalg.matrix_power(x, 7), rtol=1e-13)


# ---------------------------------------------------------------- gathers

def lookup() -> Program:
    return Tensors(T="R D", I="int B").make("O", "b j", "=", "b:B j:D", ["T [I,b] j"], lambda x: x).program("O")


def test_a_gather_is_checked_when_it_is_read() -> None:
    program = lookup()
    kernel = compile_tensors(program)
    table = guarded_arrays.like(np.arange(12.0).reshape(4, 3))
    np.testing.assert_array_equal(kernel({"T": table, "I": np.array([3, 0, 3])})["O"], table[[3, 0, 3]])
    for bad in (4, -1, 2**62, -2**62):
        with pytest.raises(AdError, match=rf"I\(1\) = {bad} is out of range for dimension 0 of 'T', which has 4 elements"):
            kernel({"T": table, "I": np.array([0, bad, 77])})
    np.testing.assert_array_equal(kernel({"T": table, "I": np.array([1])})["O"], table[[1]])


def test_a_scatter_is_checked_too() -> None:
    program = simplify(adjoints(lookup()))
    kernel = compile_tensors(program)
    at = {"T": np.zeros((4, 3)), "I": np.array([1, 1, 2]), "d_dO": np.ones((3, 3))}
    np.testing.assert_array_equal(kernel(at)["d_dT"], [[0] * 3, [2] * 3, [1] * 3, [0] * 3])
    with pytest.raises(AdError, match="is out of range for dimension 0"):
        kernel({**at, "I": np.array([1, 5, 2])})


def test_a_gather_with_nothing_to_choose_from() -> None:
    kernel = compile_tensors(lookup())
    assert kernel({"T": np.zeros((0, 3)), "I": np.zeros(0, int)})["O"].shape == (0, 3)
    with pytest.raises(AdError, match="which has no elements"):
        kernel({"T": np.zeros((0, 3)), "I": np.array([0])})


def test_a_loop_without_steps_chooses_from_nothing() -> None:
    kernel = compile_tensors(parse("input h0(N), int32 at(T)\nh(0, n) = h0(n)\n"
                                   "for t in 0:T {\n g(t) = h(t, at(t))\n h(t + 1, n) = h(t, n) + g(t)\n}\n"
                                   "y +=! h(T, n)\noutput y"))
    none = np.zeros(0, int)
    assert kernel({"h0": none * 1.0, "at": none})["y"] == 0
    with pytest.raises(AdError, match="which has no elements"):
        kernel({"h0": none * 1.0, "at": np.zeros(1, int)})


# ---------------------------------------------------------------- what a call takes and gives

def test_arrays_of_all_kinds() -> None:
    kernel = compile_tensors(product())
    x, y = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    frozen = x.copy()
    frozen.flags.writeable = False
    for given_x in (x, frozen, x.tolist(), x.astype(np.float32), x.astype(np.int8), np.asfortranarray(x), x[::-1][::-1],
                    x.astype(">f8"), np.repeat(x, 2, 1)[:, ::2]):
        np.testing.assert_array_equal(kernel({"A": given_x, "B": y})["C"], x @ y)


def test_integers_of_all_kinds() -> None:
    kernel, table = compile_tensors(lookup()), np.arange(12.0).reshape(4, 3)
    for chosen in ([1, 3], np.array([1, 3], np.int32), np.array([1, 3], np.uint8), np.array([1.0, 3.0])):
        np.testing.assert_array_equal(kernel({"T": table, "I": chosen})["O"], table[[1, 3]])
    for wrong in ([1.5, 2.0], [np.inf], ["a"], [2.0**70]):
        with pytest.raises(AdError, match="'I'"):
            kernel({"T": table, "I": wrong})


@pytest.mark.parametrize(("at", "message"), [
    ({"A": np.ones((2, 3))}, "no value for 'B'"),
    ({"A": np.ones((2, 3)), "B": np.ones((4, 2))}, "'B' has 4 elements along dimension 0"),
    ({"A": np.ones(3), "B": np.ones((4, 2))}, "'A' has 2 dimensions, and the value given has 1"),
    ({"A": [[1.0], [2.0, 3.0]], "B": np.ones((4, 2))}, "rows have different lengths"),
    ({"A": np.ones((2, 3), complex), "B": np.ones((3, 2))}, "elements of type complex"),
])
def test_wrong_arrays(at: dict[str, Any], message: str) -> None:
    with pytest.raises(AdError, match=message):
        compile_tensors(product())(at)


def test_results_that_nothing_computes() -> None:
    """Constants, inputs, and one value under two names: each an array of its own."""
    t = Tensors(A="N", s="").make("B", "i", "=", "i:N", ["A i", "s"], lambda x, s: x * s)
    program = t.program("B")
    more = (*program.results, Result("again", t.values["B"]), Result("same", t.values["A"]), Result("two", Lit(2.0)),
            Result("s1", t.values["s"]))
    x = np.arange(3.0)
    got = compile_tensors(Program(program.params, program.equations, more))({"A": x, "s": 3.0})
    assert got["B"] is not got["again"] and got["same"] is not x and got["two"].shape == got["s1"].shape == ()
    for name, want in (("B", x * 3), ("again", x * 3), ("same", x), ("two", 2.0), ("s1", 3.0)):
        np.testing.assert_array_equal(got[name], want)


def test_scalars_between_tensors() -> None:
    """A truth value and numbers that pass from scalar equations over a comprehension to others."""
    t = Tensors(A="N", s="", u="")
    t.make("m", "", "max", "i:N", ["A i"], lambda x: x)
    t.scalar("larger", TABLE["gt"], "m", "s").scalar("p", TABLE["mul"], "m", "s")
    t.make("q", "", "+", "i:N", ["A i", "p"], lambda x, p: x * p)
    program = t.scalar("r", TABLE["select"], "larger", "q", "u").program("r", "p")
    kernel = compile_tensors(program)
    for s, want in ((1.0, 15.0), (4.0, -1.0)):
        got = kernel({"A": [1.0, 3.0, 1.0], "s": s, "u": -1.0})
        assert (got["r"], got["p"]) == (want, 3 * s)


# ---------------------------------------------------------------- memory and threads

def chain(length: int) -> Program:
    t = Tensors(x0="N")
    for k in range(length):
        t.make(f"x{k + 1}", "i", "+", "i:N j:N", [f"x{k} j", "=i"], lambda x, i: x * 0.5 + i)
    return t.program(f"x{length}")


def test_temporary_values_share_memory() -> None:
    kernel = compile_tensors(chain(12))
    assert kernel.plan(((1000,),)).memory == 2 * 8000


def test_too_much_memory_is_an_error_before_it_is_taken() -> None:
    program = Tensors(A="N").make("B", "i j", "=", "i:N j:N", ["A i", "A j"], lambda x, y: x * y).program("B")
    with pytest.raises(AdError, match="this needs 7812 KiB of memory, but only 1000 KiB is free"):
        compile_tensors(program, limit=1_024_000)({"A": np.ones(1000)})
    with pytest.raises(AdError, match="of memory"):
        compile_tensors(program)({"A": np.ones(10**7)})
    assert compile_tensors(program, limit=8_000_000)({"A": np.ones(1000)})["B"].sum() == 10**6


def test_a_run_of_days_is_refused_before_it_starts() -> None:
    def run(n: int) -> Any:
        text = f"input x(N)\ns *=! x(k)*i*j where i in 0:{n}, j in 0:{n}"
        return compile_tensors(parse(text))({"x": np.ones(2)}, jobs=1)
    assert run(100)["s"] == 0.0
    with pytest.raises(AdError, match=r"one run takes about [0-9.]+e\+1[78] instructions; the limit is 1.0e\+15") as refused:
        run(10**9)
    assert refused.value.help


def test_a_long_run_is_remarked_on_once_before_it_starts() -> None:
    kernel, said = compile_tensors(parse("input x(N), y(M)\ns *=! x(i)*y(j)\n")), list[str]()
    kernel.plan(((10**6,), (10**6,)))   # nobody listens
    kernel.remark = lambda note: said.append(str(note))
    for n in (1000, 10**6, 10**7):
        kernel.plan(((n,), (n,)))
    short, long = said
    assert re.fullmatch(r"note: at these sizes one run takes about 1\.\de\+12 instructions, \d minutes of one processor or more",
                        short)
    assert " hours of" in long


def test_a_kernel_is_called_by_several_threads_at_once() -> None:
    kernel: TensorKernel = compile_tensors(chain(9))
    inputs = [np.full(50 + k, float(k)) for k in range(8)]
    want = [kernel({"x0": x})["x9"] for x in inputs]
    faults: list[int] = []

    def work(k: int) -> None:
        for _ in range(200):
            if kernel({"x0": inputs[k]})["x9"].tobytes() != want[k].tobytes():
                faults.append(k)

    in_threads(work, 8)
    assert not faults


def test_a_long_product_is_not_taken_apart():
    """In parts, some would be 0 and some infinite, and the whole of them NaN."""
    x = np.tile([1e-2] * 4 + [1e2] * 4, 2000)
    assert adcli.compile("input x(N); p *=! x(i)")(x=x)["p"] == pytest.approx(1.0)


def test_what_no_memory_holds_is_said_to_be_too_much_memory() -> None:
    kernel = compile_tensors(parse("input int32 n\nz(i, j) = i + j where i in 0:n, j in 0:n\n"))
    with pytest.raises(AdError, match="this needs 7450580596 GiB of memory"):
        kernel({"n": 10**9})


def test_a_scalar_that_is_no_subscript_is_named_as_it_is() -> None:
    program = parse("input x(N), int32 n\nz = x(n)\n")
    for run in (compile_tensors(program), lambda at: evaluate(program, at, NUMPY)):
        with pytest.raises(AdError, match="error: n = 3 is out of range for dimension 0 of 'x', which has 3 elements"):
            run({"x": np.ones(3), "n": 3})


@pytest.mark.parametrize(("write", "guard"), [
    ("j + 2*k, 3*i - k", "3*i >= k"), ("j + k, i + k", "i >= 0"), ("i + j, j + k, k + l", "i >= l")])


# ---------------------------------------------------------------- several indices in one subscript

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
        for choice in range(max(len(s.schedules) for s in kernel.module.steps)):
            for k, step in enumerate(kernel.module.steps):
                plan.cells[kernel.module.choices + k] = min(choice, max(0, len(step.schedules) - 1))
            got = kernel(given, jobs=1)
            for name, x in expected.items():
                np.testing.assert_allclose(got[name], x, rtol=1e-11, atol=1e-11, err_msg=name)


# ---------------------------------------------------------------- plans

def test_the_first_shapes_say_which_nests_are_compiled_and_the_next_that_differ_compile_all() -> None:
    """With the bits of code that has all nests; and a gather outside is named whatever code met it."""
    program = parse("input a(M, K), b(K, N)\nparam int32 at(N)\nc(m, n) +=! a(m, k) * b(k, n)\nd(n) = c(at(n), n)\noutput d")
    asked: list[TensorModule] = []

    def compiled(module: TensorModule, haste: bool) -> Kernel:
        assert not haste
        asked.append(module)
        return linked(object_code(module.text), module.entry)

    laid = laid_out(program, veclib.lanes(), veclib.host())
    whole, kernel = compile_tensors(program), TensorKernel(laid, None, compiled=compiled, hasty=False)
    for count, (m, k, n) in ((1, (5, 3, 4)), (1, (9, 3, 7)), (2, (1, 64, 1)), (2, (5, 3, 4)), (2, (2, 70, 1))):
        at = {"a": np.linspace(1, 2, m * k).reshape(m, k), "b": np.linspace(3, 5, k * n).reshape(k, n), "at": np.full(n, m - 1)}
        assert_same_bits(kernel(at)["d"], whole(at)["d"], (m, k, n))
        with pytest.raises(AdError, match=rf"at\(0\) = {m} is out of range for dimension 0 of 'c'"):
            kernel(at | {"at": np.full(n, m)})
        assert len(asked) == count
    chosen, every = asked
    assert len(chosen.text) < 0.7 * len(every.text) and every.schedules is None


def test_free_places_are_whole_and_the_smallest_first() -> None:
    r = random.Random(4)
    for _ in range(200):
        ends = sorted(r.sample(range(60), 2 * r.randint(0, 6)))
        free = [(a, b - a) for a, b in zip(ends[::2], ends[1::2], strict=True)]
        halves = [[(a, n)] if n == 1 or r.random() < 0.5 else [(a, n // 2), (a + n // 2, n - n // 2)] for a, n in free]
        cut = [piece for pieces in halves for piece in pieces]
        assert plans.merged(r.sample(cut, len(cut))) == sorted(free, key=lambda place: (place[1], place[0]))


@each_row("large", [1, 9, 100, 1000])
@each_row("small", [0, 1, 17])
def test_values_that_are_needed_at_once_lie_apart(large: int, small: int) -> None:
    """Each on its own cache lines, in no more memory than is said, from the step that makes it to the last that reads it."""
    t, lengths = Tensors(x="N", y="M"), {"N": large, "M": small}
    for name, before in pairwise(("x", "a", "b", "c")):   # large ones, which make room for small ones that stay
        t.make(before, "i", "+", "i:N j:N", [f"{name} j", "=i"], lambda x, i: x + i, shape="N")
    t.make("s", "", "+", "i:N", ["c i"], lambda x: x)
    for name, before in pairwise(("y", "p", "q", "r", "w")):
        t.make(before, "i", "+", "i:M j:M", [f"{name} j", "=i", "s"], lambda x, i, s: x + i * s, shape="M")
    t.make("e", "i", "+", "i:N j:N", ["x j", "=i", "s"], lambda x, i, s: x + i * s, shape="N")
    program = t.make("f", "", "+", "i:M j:N", ["p i", "q i", "r i", "w i", "e j"], lambda *x: sum(x[1:], x[0])).program("f")
    kernel = TensorKernel(tensors.emit(program, 4, veclib.host()), None)
    steps, found = kernel.module.steps, shapes(program, lengths)
    at, end = plans.PlanAtSizes(kernel.planner, lengths).offsets()
    made = {v: k for k, s in enumerate(steps) for e in s.equations for v in e.outs}
    last = {v: max([k for k, s in enumerate(steps) for e in s.equations if v in e.args], default=made[v]) for v in at}
    size = {v: 8 * max(1, prod(found[v])) for v in at}
    assert {v.name for v in at} >= {"a", "b", "c", "p", "q", "r", "w", "e"}
    assert end < sum(-(-n // CACHE_LINE) * CACHE_LINE for n in size.values()), "some share a place"
    for v in at:
        assert at[v] % CACHE_LINE == 0 and at[v] >= 0 and at[v] + size[v] <= end
        for w in at:
            if v is not w and made[v] <= made[w] <= last[v]:
                assert at[v] + size[v] <= at[w] or at[w] + size[w] <= at[v], (v, w)


def test_plans_of_the_last_shapes_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "PLANS", 3)
    kernel = compile_tensors(chain(2))
    for n in (1, 2, 3, 4, 4, 2):
        assert kernel({"x0": np.ones(n)})["x2"].shape == (n,)
        assert len(kernel.plans) <= 3
    assert set(kernel.plans) == {((2,),), ((3,),), ((4,),)}


@pytest.mark.parametrize(("spare", "free", "kept"), [(16000, 0, 1), (15999, 127999, 0), (15999, 128000, 1)])
def test_a_call_keeps_its_memory_for_the_next_if_it_is_not_much(monkeypatch: pytest.MonkeyPatch, spare: int,
                                                                             free: int, kept: int) -> None:
    monkeypatch.setattr(calls, "SPARE_BYTES", spare)
    monkeypatch.setattr(calls, "available", lambda: free)
    kernel = compile_tensors(chain(12))
    for _ in range(3):
        kernel({"x0": np.ones(1000)})
        assert len(kernel.plan(((1000,),)).spare) == 0   # a new plan
        [plan] = kernel.plans.values()
        kernel({"x0": np.ones(1000)})
        assert len(plan.spare) == kept and all(len(block) == 16000 + CACHE_LINE for *_, ((block,), _) in plan.spare)
    kernel({"x0": np.ones(1001)})
    assert len(plan.spare) == (spare == 16000)   # what is much is kept while there is no other plan


def test_memory_is_asked_for_beyond_what_every_machine_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: 0)
    calls.refuse_much(memory.UNASKED_BYTES, None)
    with pytest.raises(AdError, match=r"of memory, but only .* is free\nhelp: use smaller tensors"):
        calls.refuse_much(memory.UNASKED_BYTES + 1, None)
    calls.refuse_much(1000, 1000)
    with pytest.raises(AdError, match="help: use smaller tensors"):
        calls.refuse_much(1001, 1000)


@pytest.mark.parametrize("lanes", [veclib.lanes(), 2])
def test_columns_are_summed_however_many_there_are(lanes: int) -> None:
    """Whole rows of registers, then fewer, one, and what is left of one."""
    kernel, r = compile_tensors(parse("input A(M, N), x(M)\ny(j) +=! A(i, j) * x(i)"), lanes=lanes), np.random.default_rng(3)
    for columns in (1, 31, 36, 128, 167, 300):
        a, x = r.integers(-9, 9, (5, columns)).astype(float), r.integers(-9, 9, 5).astype(float)
        assert_same_bits(kernel({"A": a, "x": x})["y"], x @ a, columns)


@pytest.mark.parametrize("where", half(["i >= j", "2*i + j >= 41, j >= i - 3", "j >= 3*i", "i >= M"]))
def test_conditions_on_elements_are_asked_where_they_are_stored(where: str) -> None:
    """In whole tiles, some of them half full, some empty; what is computed beside them goes nowhere."""
    program = parse(f"input A(M, K), B(N, K), C0(M, N)\nC(i, j) +=! A(i, k) * B(j, k) where {where}\nD = C0\n"
                    f"D(i, j) += A(i, k) * B(j, k) where {where}\noutput C, D")
    assert any(n.store_guards and n.tile for s in compile_tensors(program).module.steps for n in s.schedules)
    r = np.random.default_rng(5)
    at = {name: r.integers(-9, 9, (n, 6)).astype(float) for name, n in (("A", 37), ("B", 45))} | {"C0": np.full((37, 45), -0.0)}
    at["A"][0, 0] = np.inf
    everywhere(program, at, evaluate(program, at, NUMPY), exact=True)


@pytest.mark.parametrize("where", [
    "t >= u", "u >= t - 3, 2*t >= u", "t + u >= 40", "u >= t + 5, t + 2 >= u", "t >= u, e >= t - 30"])
def test_rows_of_a_tile_have_points_of_their_own(where: str) -> None:
    """Those that one row has and another has not are added to the one only, also where they are infinite."""
    program = parse(f"input w(T, U), v(U, E)\na(t, e) +=! w(t, u) * v(u, e) where {where}")
    assert any(n.row_guards and n.packed for s in compile_tensors(program).module.steps for n in s.schedules)
    r = np.random.default_rng(6)
    at = {"w": r.integers(-9, 9, (37, 45)).astype(float), "v": r.integers(-9, 9, (45, 21)).astype(float)}
    at["v"][4, 0] = np.inf
    everywhere(program, at, evaluate(program, at, NUMPY), exact=True)


# ---------------------------------------------------------------- arrays in and out

def test_memory_of_results_that_nobody_has_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """And never that of results of which anybody has a view."""
    kernel = compile_tensors(parse("input x(N)\ny(i) = x(i) + 1\nz(i) = 2 * x(i)\noutput y, z"))
    x = np.arange(calls.LARGE / 8)
    found = kernel({"x": x})
    view, small = found["y"][5:], kernel({"x": x[:9]})
    places = [a.ctypes.data for a in found.values()]
    assert all(place % 64 == 0 for place in places) and view.base is found["y"]
    del found
    others = [kernel({"x": k + x}) for k in range(3)]
    assert view.tolist() == (x[5:] + 1).tolist() and small["y"].tolist() == (x[:9] + 1).tolist()
    assert all((each["z"] == 2 * (k + x)).all() for k, each in enumerate(others))
    assert places[0] not in [a.ctypes.data for each in others for a in each.values()]
    del others[1:]
    used = set()
    for _ in range(9):   # the results before are there until these are
        found = kernel({"x": x})
        used |= {a.ctypes.data for a in found.values()}
    assert len(used) <= 6
    monkeypatch.setattr(calls, "SPARE_BYTES", 0)
    monkeypatch.setattr(calls, "available", lambda: 0)
    [first] = [p for p in kernel.plans.values() if p.results.kept]
    plan = kernel.plan(((x.size + 1,),))
    assert not first.results.kept   # what is much is kept while there is no other plan
    assert kernel({"x": np.ones(x.size + 1)})["y"][0] == 2 and not plan.results.kept

def test_a_subscript_that_is_outside_is_named_with_its_place() -> None:
    fused = parse("input x(N), B(M)\nint32 k(i) = floor(x(i))\ny(i) = B(k(i))\ns +=! y(i)\noutput s\n")
    with pytest.raises(AdError) as fault:
        compile_tensors(fused)({"x": np.array([0.5, 9.0]), "B": np.ones(4)})
    assert fault.value.line == 3 and fault.value.message.startswith("k(1) = 9 is out of range for dimension 0 of 'B'")
    program = parse("input T(R), int32 I(A, B)\nO(a, b) = T(I(a, b))\n")
    with pytest.raises(AdError) as fault:
        compile_tensors(program)({"T": np.ones(4), "I": np.array([[0, 1, 2], [3, 0, 9]])})
    assert fault.value.message == "I(1, 2) = 9 is out of range for dimension 0 of 'T', which has 4 elements"
    assert fault.value.help == "subscripts go from 0 to 3"


def test_an_arm_gathers_only_where_its_condition_holds() -> None:
    at = {"x": np.array([1.0, 2.0, 3.0]), "I": np.array([2, -1, 0])}
    program = parse("input x(N), int32 I(M)\ny(i) = I(i) >= 0 ? x(I(i)) : 0\n")
    wrong = parse("input x(N), int32 I(M)\ny(i) = I(i) >= -1 ? x(I(i)) : 0\n")
    for compiled in (compile_tensors, lambda program: lambda at: evaluate(program, at)):
        assert [*compiled(program)(at)["y"]] == [3.0, 0.0, 1.0]
        with pytest.raises(AdError, match="the subscript\\(1\\) = -1 is out of range for dimension 0 of 'x'"):
            compiled(wrong)(at)


def test_arrays_that_lie_between_words_are_read() -> None:
    data = np.frombuffer(b"\0" * 3 + np.arange(6.0).tobytes(), np.uint8)[3:]
    askew = data.view(np.float64) if data.ctypes.data % 8 == 0 else np.ndarray(6, np.float64, data)
    assert (array_calls.address(askew) is None) is (askew.ctypes.data % 8 != 0)
    kernel = compile_tensors(chain(1))
    assert kernel({"x0": askew})["x1"].tobytes() == kernel({"x0": np.arange(6.0)})["x1"].tobytes()


@pytest.mark.parametrize(("given", "said", "help"), [
    ([1.5], "'k' has elements of type float64", "it is a tensor of integers"),
    ([2.0**63], "'k' has elements of type float64", "it is a tensor of integers"),
    ([True], "'k' has elements of type bool", "it is a tensor of integers"), (["a"], "'k' has elements of type <U1", None)])
def test_integers_that_are_none(given: object, said: str, help: str | None) -> None:
    k, _ = parse("input int32 k(N), x(N) \nv +=! x(i)*k(i)\n").params
    with pytest.raises(AdError) as fault:
        array_calls.converted(k, given, np.dtype(np.int64))
    assert (fault.value.message, fault.value.help) == (said, help or "it is a tensor of integers")
    assert array_calls.converted(k, [2.0**62, -1.0], np.dtype(np.int64)).tolist() == [2**62, -1]


def test_an_input_that_is_not_given_has_its_default() -> None:
    kernel = compile_tensors(parse("input x(N), s = 2.5\ny(i) = s*x(i)\n"))
    assert kernel({"x": [1.0, 2.0]})["y"].tolist() == [2.5, 5.0] == kernel({"x": [1.0, 2.0], "s": None})["y"].tolist()
    with pytest.raises(AdError, match="no value for 'x'"):
        kernel({"s": 1.0})


def test_results_go_where_they_are_wanted_whatever_lies_there() -> None:
    """Into arrays of other kinds, those that cannot be written in place, and never over an input or another result."""
    program = parse("input x(N)\ny(i) = 2*x(i)\nz(i) = y(i) + 1\nc = 3\noutput y, z, c\n")
    kernel, x = compile_tensors(program), np.arange(4.0)
    for target in (np.zeros(4, np.float32), np.zeros(8)[::2], np.zeros(4, np.int64), np.zeros(4)):
        got = kernel({"x": x}, out={"y": target})
        assert got["y"] is target and target.tolist() == [0, 2, 4, 6] and got["z"].tolist() == [1, 3, 5, 7]
    constant = np.zeros(())
    assert kernel({"x": x}, out={"c": constant})["c"] is constant and constant == 3.0
    both = np.zeros(7)
    for first, second in ((both[:4], both[3:]), (both[3:], both[:4])):
        with pytest.raises(AdError, match="the array for 'y' overlaps the array for another result"):
            kernel({"x": x}, out={"y": first, "z": second})
    own = np.arange(5.0)
    assert kernel({"x": own[:4]}, out={"y": own[1:]})["y"].tolist() == [0, 2, 4, 6]
    with pytest.raises(AdError) as fault:
        kernel({"x": x}, out={"q": np.zeros(4)})
    assert fault.value.help == "the results are y, z, c"
    with pytest.raises(AdError, match=r"the array for 'z' has shape \(3,\), but the result has \(4,\)"):
        kernel({"x": x}, out={"z": np.zeros(3)})


# ---------------------------------------------------------------- powers of indices

def factors(x: float, n: int) -> float:
    """x**n as it is defined: the product from left to right."""
    z = 1.0
    for _ in range(abs(n)):
        z *= x
    return float(np.float64(1.0) / np.float64(z)) if n < 0 else z


BASES = (0.7, 0.0, -0.0, 1.0, -1.0, 2.0, -3.5, 1e200, -1e-200, 5e-324, np.inf, -np.inf, np.nan, 1.0000001, 9.0, -0.1, 3.0)
WHOLE = (2.0, 0.0, -1.0, 1.0, 0.5, -2.0, 1.0, -1.0, 0.0, 2.0, 0.5, -0.5, 1.0, 2.0, -1.0, 1.0, 2.0)
"""Bases whose first powers are added up without rounding."""
MANY = 2500
INDEX_POWERS = {   # the statement, and its value from t, s and the number M of exponents
    "y(i, j) = t(i)**j where j in 0:M": lambda t, s, m: [[factors(x, j) for j in range(m)] for x in t],
    "y(j, i) = t(i)**j where j in 0:M": lambda t, s, m: [[factors(x, j) for x in t] for j in range(m)],
    "y(j, i) = t(i)**(j - 4) where j in 0:M": lambda t, s, m: [[factors(x, j - 4) for x in t] for j in range(m)],
    "y(j, i) = t(i)**(3 - j) where j in 0:M": lambda t, s, m: [[factors(x, 3 - j) for x in t] for j in range(m)],
    "y(i, j) = t(i)**(2*j - i) where j in 0:M":
        lambda t, s, m: [[factors(x, 2 * j - i) for j in range(m)] for i, x in enumerate(t)],
    "y(i, j) = t(i)**(j - M) where j in 1:M":
        lambda t, s, m: [[0.0 if j < 1 else factors(x, j - m) for j in range(m)] for x in t],
    "y(j) = s**j where j in 0:M": lambda t, s, m: [factors(s, j) for j in range(m)],
    "y(i, j) = (t(i)*s)**(j + 2) where j in 0:M": lambda t, s, m: [[factors(x * s, j + 2) for j in range(m)] for x in t],
    "y(i, j) = 3**(i + j) where j in 0:M, i in 0:N":
        lambda t, s, m: [[factors(3.0, i + j) for j in range(m)] for i in range(len(t))],
    "y(i) max=! t(i)**j where j in 0:M": lambda t, s, m: [np.maximum.reduce([factors(x, j) for j in range(m)]) for x in t],
    "y(i) *=! t(i)**j where j in 0:2": lambda t, s, m: [1.0 * x for x in t],
}
SUMS = {           # of numbers that are added up without rounding
    "y(i) +=! t(i)**j where j in 0:M": lambda t, r, m: [sum(factors(x, j) for j in range(m)) for x in t],
    "y(j) +=! r(i)*t(i)**j where j in 0:M":
        lambda t, r, m: [sum(b * factors(x, j) for x, b in zip(t, r, strict=True)) for j in range(m)],
    "y(j) +=! r(i)*(j == 0 ? 0 : j*(t(i) + 3)**(j - 1)) where j in 0:M":
        lambda t, r, m: [sum(b * j * factors(x + 3, j - 1) for x, b in zip(t, r, strict=True) if j) + 0.0 for j in range(m)],
    "y(j) +=! t(i)**j where j in 0:M, i >= j": lambda t, r, m: [sum(factors(x, j) for x in t[j:]) + 0.0 for j in range(m)],
    "y(j, k) +=! r(i)*t(i)**(j + k) where j in 0:M, k in 0:3":
        lambda t, r, m: [[sum(b * factors(x, j + k) for x, b in zip(t, r, strict=True)) for k in range(3)] for j in range(m)],
    "v +=! r(i)*t(i)**j where j in 0:M":
        lambda t, r, m: sum(b * factors(x, j) for x, b in zip(t, r, strict=True) for j in range(m)),
}


@pytest.mark.parametrize("statement", half(list(INDEX_POWERS)))
def test_a_power_of_an_index_is_a_product_from_left_to_right(statement: str) -> None:
    """In native code with every choice of loops, and in both arithmetics of the reference."""
    name = statement[0]
    program = parse(f"input t(N), s, c(M)\n{statement}\noutput {name}")
    with np.errstate(all="ignore"):
        for count, m, lanes in ((17, 7, None), (17, 3, 4), (5, 9, 1), (1, 1, 2)):
            t = BASES[:count]
            want = np.array(INDEX_POWERS[statement](t, -1.5, m), float)
            at = {"t": np.array(t), "s": -1.5, "c": np.ones(m)}
            at = {p.name: at[p.name] for p in program.params}
            for arithmetic in (NUMPY, FLOAT):
                assert_same_bits(evaluate(program, at, arithmetic)[name], want, (arithmetic is FLOAT, count, m))
            everywhere(program, at, {name: want}, lanes, exact=True)


@pytest.mark.parametrize("statement", SUMS)
def test_sums_of_powers_of_an_index(statement: str) -> None:
    name = statement[0]
    program = parse(f"input t(N), r(N), c(M)\n{statement}\noutput {name}")
    for count, m, lanes in ((17, 7, None), (17, 9, 4), (5, 2, 1), (70, 5, None)):
        t, r = ([*WHOLE] * 5)[:count], [float(k % 5 - 2) for k in range(count)]
        at = {"t": np.array(t), "r": np.array(r), "c": np.ones(m)}
        want = np.array(SUMS[statement](t, r, m), float) + 0.0
        everywhere(program, {p.name: at[p.name] for p in program.params}, {name: want}, lanes)


def test_a_power_that_changes_no_more_is_not_multiplied_on() -> None:
    """Its sign is that of all the factors."""
    program = parse("input t(N), c(M); y(i, j) = c(j)*t(i)**(1000000000000000*(j - 1) - 1)")
    t = [1.0, -1.0, 0.0, -0.0, np.inf, -np.inf, np.nan, 2.0, -2.0, 0.5, -0.5]
    want = [[1.0, 1.0, 1.0], [-1.0, -1.0, -1.0], [np.inf, np.inf, 0.0], [-np.inf, -np.inf, -0.0], [0.0, 0.0, np.inf],
            [-0.0, -0.0, -np.inf], [np.nan] * 3, [0.0, 0.5, np.inf], [-0.0, -0.5, -np.inf], [np.inf, 2.0, 0.0],
            [-np.inf, -2.0, -0.0]]
    at = {"t": np.array(t), "c": np.ones(3)}
    for arithmetic in (NUMPY, FLOAT):
        assert_same_bits(evaluate(program, at, arithmetic)["y"], want, arithmetic is FLOAT)
    for lanes in (None, 1):
        assert_same_bits(compile_tensors(program, lanes=lanes)(at)["y"], want, lanes)


def test_sums_of_more_powers_than_have_accumulators_at_a_time() -> None:
    program = parse("input t(N), c(M); y(j) +=! c(j)*t(i)**j")
    want = np.array([15.0 if j == 0 else 5.0 * (1 + (-1) ** j) for j in range(MANY)])
    for t, times in (([1.0, -1.0, 0.0], 5), ([-1.0], 1)):
        at = {"t": np.array(t * times), "c": np.ones(MANY)}
        everywhere(program, at, {"y": want if times > 1 else (-1.0) ** np.arange(MANY)})


def test_one_multiplication_for_each_consecutive_exponent() -> None:
    """Whichever way least squares with a polynomial are differentiated: in the first choice of loops no power is multiplied out
    from the beginning, and nothing is left of them but products."""
    model = parse("input t(N), x(M), b(N); r(i) +=! x(j)*t(i)**j; v +=! (r(i) - b(i))**2; output v")
    for program in (gradient(model, ["x"]), gradient(model), hvp(model)):
        module = tensors.emit(evaluation_program(program), 8, veclib.host())
        powers = [p for step in module.steps if step.schedules for p in step.schedules[0].powers]
        assert powers and all(p.along is not None for p in powers)
        assert "pow(" not in module.text and "_pow" not in module.text


@pytest.mark.parametrize("rows, columns", [(11, 1100), (3, 512), (1, 513), (3, 150)])
def test_a_long_sum_in_pieces_is_the_sum_of_the_whole(rows: int, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of any length, in bands of rows and groups of panels, are added up to the same: of whole numbers, whose sums have no
    rounding errors, to the bit."""
    t = Tensors(A="K L M", B="K L N")
    program = t.make("C", "i j", "+", "i:M j:N k:K l:L", ["A k l i", "B k l j"], lambda x, y: x * y).program("C")
    r = np.random.default_rng(rows)
    at = {"A": np.round(9 * r.standard_normal((columns, rows, 19))), "B": np.round(9 * r.standard_normal((columns, rows, 37)))}
    found = np.einsum("kli,klj->ij", at["A"], at["B"])
    for piece, band, group in ((1, 8, 32), (100, 8, 1 << 15), (512, 16, 1), (10**9, 128, 1 << 15)):
        for module in (schedule, copies):
            monkeypatch.setattr(module, "PIECE", piece)
        monkeypatch.setattr(packing, "BAND", band)
        monkeypatch.setattr(copies, "GROUP", group)
        kernel = compile_tensors(program)
        assert_same_bits(kernel(at)["C"], found, piece)
        (plan,), (step,) = kernel.plans.values(), kernel.module.steps
        costs = plans.PlanAtSizes(kernel.planner, plan.sizes).costs(step, plan.sizes)
        for k in [k for k, x in enumerate(costs) if x < float("inf")]:
            plan.spare.clear()
            plan.cells[kernel.module.choices] = k
            assert_same_bits(kernel(at)["C"], found, (piece, k))


def test_sums_along_a_vector_share_what_they_read_in_tiles_of_rows_and_columns() -> None:
    """At sizes with whole tiles, rows and columns left over, and lanes left over."""
    kernel = compile_tensors(parse("input x(N, M, W), y(N, C, V)\n"
                                   "f(m, c, k) +=! x(n, m, w) * y(n, c, w + k) * (m + 2*k + 1) where k in 0:V - W + 1"), 8)
    r = np.random.default_rng(8)
    at = {"x": r.standard_normal((3, 9, 203)), "y": r.standard_normal((3, 2, 206))}
    windows = np.lib.stride_tricks.sliding_window_view(at["y"], 4, 2)
    weights = np.arange(9)[:, None] + 2 * np.arange(4) + 1
    want = np.einsum("nmw,ncwk->mck", at["x"], windows) * weights[:, None, :]
    np.testing.assert_allclose(kernel(at)["f"], want, rtol=1e-12, atol=1e-10)
    (plan,), (step,) = kernel.plans.values(), kernel.module.steps
    assert step.schedules[plan.cells[kernel.module.choices]].column is not None


@pytest.mark.parametrize("read, tiled", [("x(i, j, k)", False), ("x(j, i, k)", True), ("x(i, j, k) * w(j, k)", True)])
def test_tiles_that_share_nothing_do_not_read_from_many_places_in_turn(read: str, tiled: bool) -> None:
    module = emit(parse(f"input x(I, J, K), w(J, K)\ny(i, k) +=! {read}"), 4, veclib.NO_LIBRARY)
    assert next(n.tile is not None for n in module.steps[0].schedules if not n.reduces) == tiled


@pytest.mark.parametrize("shape, rows, copies", [
    ((256, 1024), 64, True), ((256, 1024), 8, False), ((256, 64), 32, False), ((60, 3, 30), 64, False),
    ((500, 3, 99), 64, True)])
def test_what_comes_from_far_for_each_tile_again_is_copied(shape: tuple[int, ...], rows: int, copies: bool) -> None:
    """Where there are enough rows for it; every element of the result has the same bits either way."""
    text = "input h(M, K), U(K, G, N); v(n, g, j) +=! h(n, k)*U(k, g, j)"
    kernel = compile_tensors(parse(text if len(shape) > 2 else text.replace("G, ", "").replace("g, ", "")), 8)
    r = np.random.default_rng(rows)
    at = {"h": r.standard_normal((rows, shape[0])), "U": r.standard_normal(shape)}
    found = kernel(at, jobs=1)["v"]
    (plan,), (step,) = kernel.plans.values(), kernel.module.steps
    chosen = kernel.module.choices
    assert bool(step.schedules[plan.cells[chosen]].packed) == copies
    plan.spare.clear()
    plan.cells[chosen] = next(k for k, n in enumerate(step.schedules) if bool(n.packed) != copies and not n.reduces)
    assert_same_bits(kernel(at, jobs=1)["v"], found, shape)
