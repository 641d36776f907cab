"""Kernels as builtins of Python: what they give is what the way in Python gives, to the bit and to the letter, for whatever they
are called with; they keep nothing, share nothing, and are not there where Python is another."""
import ctypes
import gc
import os
import signal
import sys
import threading
import time
import weakref
from collections import OrderedDict
from contextlib import suppress
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from functools import partial
from types import MappingProxyType

import numpy as np
import pytest
from adcli.codegen.builtins import builtin_calls, direct
from adcli.codegen.builtins.plan_words import API
from adcli.codegen.machine import memory
from adcli.codegen.machine.kernel import COMPILING
from adcli.codegen.modules.runtime import compile_tensors
from adcli.codegen.rows import jit, tiers
from adcli.codegen.rows.compiled import Interpreted
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.precision import DOUBLE, SINGLE
from outcomes import outcome
from session_seed import drawn
from side_by_side import in_threads

import adcli
from adcli.api.function import LOOP
from adcli.api.words import in_order, together

TEXT = "param k = 3.5\nv = x*sin(y) + k*x/y\nw = exp(x)*y**3"


class Number(float):
    pass


class Floating:
    def __float__(self):
        return 2.0


class Six(IntEnum):
    SIX = 6


class Refusing(str):
    """A key that says nothing about itself."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        raise RuntimeError("do not ask")


class Taking(str):
    """A key that empties its dictionary when it is asked."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        TAKEN.clear()
        return False


TAKEN = {}
A, B = np.linspace(0.5, 2, 8), np.linspace(-3, -1, 8)
READ_ONLY = A.copy()
READ_ONLY.flags.writeable = False
ODD = np.frombuffer(b"." + A.tobytes(), dtype=np.float64, offset=1)
NUMBERS = [2.0, 2, 0, -1, -1.0, 0.0, -0.0, 5e-324, 1e308, float("nan"), float("inf"), -float("inf"), 2**53 + 1, 10**400, -10**400,
           True, np.float64(2), np.float32(0.1), np.int64(3), np.bool_(True), Number(2), Floating(), Six.SIX, Decimal(2),
           Fraction(1, 3), 2 + 0j, "2", b"2", None, object, [], (2.0,), [1.0, 2.0], np.array(2.0), np.float64("nan")]
ARRAYS = [A, B, READ_ONLY, ODD, A[::-1], A[::2], A[:0], A[:1], A.reshape(2, 4), A.reshape(2, 4).T, A.reshape(2, 2, 2),
          A.astype(np.float32), A.astype(int), A.astype(">f8"), A.astype(complex), A.astype(object), A.tolist(),
          np.ma.masked_less(A, 1), A.view(np.matrix), np.array(["1"]), np.full(8, np.nan)]
VALUES = [*NUMBERS, *ARRAYS]


def often(f, **values):
    """The Function, called often enough to have its builtins."""
    for _ in range(LOOP + 1):
        f(values)
        f({name: np.full(2, x) for name, x in values.items()})
    return f


@pytest.fixture(scope="module")
def f():
    made = often(adcli.compile(TEXT), x=1.0, y=2.0, k=1.0)
    assert made._numbers is not direct.never
    assert made._arrays is not direct.never
    return made


def both(f, at=None, out=None, jobs=None, **values):
    def in_python():
        given = values if at is None else together(in_order(f.program.params, (at,), values), values)
        return f._called(given, out, jobs)
    return [outcome(lambda: f(at, out=out, jobs=jobs, **values)), outcome(in_python)]


@pytest.mark.filterwarnings("ignore")
def test_any_argument_gives_what_the_way_in_python_gives(f):
    seen = set()
    for x in VALUES:
        for y in (2.0, -1, np.float64(0.5), None, A, B.reshape(2, 4), x):
            quick, slow = both(f, x=x, y=y)
            assert quick == slow, (x, y)
            seen.add(quick[0])
    assert seen == {dict, adcli.AdError}


QUICK = {
    "numbers": {"x": 2.0, "y": 3, "k": -1}, "numpy": {"x": np.float64(2), "y": np.float64(3)}, "default": {"x": 1.0, "y": A[0]},
    "arrays": {"x": A, "y": B, "k": B}, "beside": {"x": A, "y": 2.0}, "whole": {"x": -2, "y": A, "k": np.float64(1)},
    "more": {"x": A.reshape(2, 4), "y": READ_ONLY.reshape(2, 4)}}
"""What the manual calls fast."""


@pytest.mark.parametrize("first", QUICK)
def test_whatever_is_fast_becomes_fast(first, monkeypatch):
    """Also where calls are of one kind only, and where one follows another."""
    f = adcli.compile(TEXT)
    for each in (QUICK[first], *QUICK.values()):
        for _ in range(LOOP):
            expected = outcome(partial(f, each))
        with monkeypatch.context() as patch:
            patch.delattr(adcli.api.function.Function, "_called")
            assert outcome(partial(f, each)) == expected


CALLS = [
    {}, {"x": 1.0}, {"y": 1.0}, {"x": 1.0, "y": 2.0, "z": 3.0}, {"x": 1.0, "z": 3.0}, {"x": 1.0, "y": 2.0, "k": 0.0},
    {"x": A, "y": B, "k": A}, {"x": A, "y": B, "k": 1.0}, {"x": A, "z": B, "k": A}, {"at": 1.0, "x": 1.0, "y": 1.0},
    {"x": 1.0, "y": 2.0, "jobs": 0}, {"x": 1.0, "y": 2.0, "jobs": 2}, {"x": A, "y": B, "k": B, "jobs": 0},
    {"x": A, "y": B, "k": B, "jobs": True}, {"x": A, "y": B, "k": B, "jobs": 1.0}, {"x": A, "y": B, "k": B, "jobs": 1},
    {"x": A, "y": B, "k": B, "jobs": 3}, {"x": A, "y": B, "k": B, "jobs": -3}, {"x": 1.0, "y": 2.0, "out": {}},
    {"x": A, "y": B, "k": B, "out": {}}, {"x": A, "y": B, "k": B, "out": []}]


@pytest.mark.parametrize("values", CALLS, ids=lambda values: ",".join(values) or "nothing")
def test_any_names_give_what_the_way_in_python_gives(f, values):
    quick, slow = both(f, **values)
    assert quick == slow


@pytest.mark.parametrize("at", [
    {"x": 1.0, "y": 2.0}, {"x": 1.0}, OrderedDict(x=1.0, y=2.0), MappingProxyType({"x": 1.0, "y": 2.0}), [1.0, 2.0], "x", 2.0,
    {"x": 1.0, "y": 2.0, 3: 4}, {Refusing("x"): 1.0, "y": 2.0}, {"x": A, Refusing("y"): A, "k": A}, {"x": 1.0, "y": 2.0, "w": 1},
    {"": 1.0}, {("x",): 1.0}, {"\ud800": 1.0, "y": 2.0}, {"".join("x"): 1.0, "".join(["", "y"]): 2.0}])
def test_any_dictionary_gives_what_the_way_in_python_gives(f, at):
    for values in ({}, {"y": 3.0}, {"x": 3.0}):
        quick, slow = both(f, at, **values)
        assert quick == slow


def test_a_dictionary_that_empties_itself_takes_no_array_away(f):
    """Of what was found the call holds its own."""
    for _ in range(50):
        TAKEN.clear()
        TAKEN.update({"x": np.full(4096, 2.0), Taking("y"): np.full(4096, 3.0), "k": np.full(4096, 1.0)})
        with pytest.raises((adcli.AdError, KeyError)):
            f(TAKEN)


class Changing(str):
    """A key that makes bytes of the first array when it is asked."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        CHANGED["k"].dtype = np.int8
        return str.__eq__(self, other)


CHANGED = {}


@pytest.mark.filterwarnings("ignore:Setting the dtype")
def test_arrays_are_looked_at_when_no_key_can_change_them_any_more(f):
    """Else those of 8 numbers would be taken for such of 64."""
    found = []
    for call in (f, lambda at, out: f._called(at, out, None)):
        CHANGED.clear()
        CHANGED.update({"k": np.full(8, 2.0), "x": np.full(8, 3.0), Changing("y"): np.full(64, 4.0)})
        found.append(outcome(partial(call, CHANGED, out={"v": np.zeros(64), "w": np.zeros(64)})))
    assert found[0] == found[1]
    assert found[0][0] is adcli.AdError


class Interrupted(str):
    """A key that is interrupted when it is first asked."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        if not ASKED:
            ASKED.append(1)
            raise KeyboardInterrupt
        return str.__eq__(self, other)


ASKED = []


@pytest.mark.parametrize("at", [{"x": 1.0, Interrupted("y"): 2.0}, {"k": A, "x": A, Interrupted("y"): A}])
def test_an_interrupt_is_not_forgotten(f, at):
    ASKED.clear()
    with pytest.raises(KeyboardInterrupt):
        f(at)
    assert len(f(at)) == 2


class Shrinking(str):
    """A key that takes another array out of its dictionary when it is asked, and tries to make it shorter."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        with suppress(KeyError, ValueError):
            SHRUNK.pop("x").resize(1)
        return str.__eq__(self, other)


SHRUNK = {}


def test_an_array_in_use_cannot_be_resized(f):
    """What a key does here, another thread can do while the lock is given back."""
    SHRUNK.update({"k": A.copy(), "x": A.copy(), Shrinking("y"): B.copy()})
    expected, found = f(k=A, x=A, y=B), f(SHRUNK)
    assert "x" not in SHRUNK
    assert {name: c.tobytes() for name, c in found.items()} == {name: c.tobytes() for name, c in expected.items()}


def test_numbers_are_those_of_exact_arithmetic():
    f = often(adcli.compile("param k = 0.25\nu = x*y - k\nw = x + y"), x=1.0, y=1.0)
    draw = drawn("direct", "exact")
    for _ in range(200):
        x, y = draw.randrange(-2**20, 2**20) / 64, draw.randrange(-2**20, 2**20)
        assert f(x=x, y=y) == {"u": float(Fraction(x)*y - Fraction(1, 4)), "w": float(Fraction(x) + y)}


def shaped(shape, value=1.0):
    return np.full(shape, value)


OUTS = [
    lambda x: {"v": shaped(8), "w": shaped(8)}, lambda x: {"w": shaped(8), "v": shaped(8)}, lambda x: {"v": shaped(8)},
    lambda x: {"v": shaped(8), "w": shaped(8), "q": shaped(8)}, lambda x: {"v": shaped(8), "q": shaped(8)},
    lambda x: {"v": shaped(7), "w": shaped(8)}, lambda x: {"v": shaped(8), "w": shaped((2, 4))},
    lambda x: {"v": shaped(8), "w": None}, lambda x: {"v": shaped(8), "w": READ_ONLY}, lambda x: {"v": shaped(8), "w": 1.0},
    lambda x: {"v": shaped(8), "w": shaped(16)[::2]}, lambda x: {"v": shaped(8), "w": shaped(8).astype(np.float32)},
    lambda x: {"v": x, "w": shaped(8)}, lambda x: {"v": x, "w": x}, lambda x: OrderedDict(v=x, w=shaped(8)),
    lambda x: {"v": (a := shaped(12))[:8], "w": a[4:]}, lambda x: {"v": (a := shaped(16))[:8], "w": a[8:]}]


@pytest.mark.parametrize("made", OUTS)
def test_any_out_gives_what_the_way_in_python_gives(f, made):
    found = []
    for call in (f, lambda at, out: f._called(at, out, None)):
        x = A.copy()
        out = made(x)
        given = outcome(partial(call, {"x": x, "y": B, "k": A}, out=out))
        found.append((given, x.tobytes(), [np.asarray(a).tobytes() for a in out.values()]))
    assert found[0] == found[1]


def test_too_little_memory_is_said_by_either_way(monkeypatch):
    wide = often(adcli.compile("\n".join(f"v{i} = x + {i}" for i in range(150))), x=1.0)
    monkeypatch.setattr(memory, "available", lambda: 1000)
    quick, slow = both(wide, x=np.ones(65536), jobs=1)
    assert quick == slow
    assert quick[1].startswith("error: a result of 150 × 65,536 numbers needs 75 MiB")


def test_out_is_what_is_given(f):
    out = {"w": np.zeros(8), "v": np.zeros(8)}
    found = f(x=A, y=B, k=A, out=out)
    assert list(found) == ["v", "w"]
    assert all(found[name] is out[name] for name in out)


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 255, 256, 257, 4095, 4096, 4097, 70_000])
def test_rows_of_any_number_have_the_bits_of_single_points(f, rows):
    """Also those of the last block, whichever lane they fall into."""
    draw = drawn("direct", rows)
    at = {name: np.array([draw.choice([draw.uniform(-9, 9), 0.0, -0.0, 1e308, 5e-324]) for _ in range(rows)]) for name in "xyk"}
    for jobs in (None, 1):
        found = f(at, jobs=jobs)
        for row in {0, rows - 1, *(draw.randrange(rows) for _ in range(20))}:
            one = f({name: float(column[row]) for name, column in at.items()})
            assert {name: float(c[row]).hex() for name, c in found.items()} == {name: x.hex() for name, x in one.items()}


def test_results_are_the_callers_own(f):
    first, second = f(x=A, y=B, k=A), f(x=B, y=A, k=A)
    kept = {name: c.copy() for name, c in first.items()}
    second["v"][:] = 0.0
    assert all(np.array_equal(first[name], kept[name]) for name in kept)
    assert f(x=1.0, y=2.0) is not f(x=1.0, y=2.0)


@pytest.mark.parametrize("patience", [direct.PATIENCE, 0])
def test_threads(monkeypatch, patience):
    """Threads that call one Function and SciPy's functions of one program, get what each has asked for; also where Python's lock
    is given back in every call."""
    monkeypatch.setattr(direct, "PATIENCE", patience)
    f = often(adcli.compile(TEXT).grad(), x=1.0, y=2.0)
    fun, jac, hess = adcli.compile(TEXT).scipy(of="v")
    points = [(0.5 + k, 1.5 - k) for k in range(4)]
    expected = [f._called({"x": x, "y": y}, None, None) for x, y in points]
    vectors = [[fun(p := np.array(each)), jac(p).tobytes(), hess(p).tobytes()] for each in points]
    wrong, interval = [], sys.getswitchinterval()

    def work(k):
        x, y = points[k]
        vector, column = np.array([x, y]), np.full(9, x)
        for _ in range(150):
            found, one = f(x=x, y=y), f(x=column, y=np.full(9, y), k=np.full(9, 3.5))
            if found != expected[k] or any((c != found[name]).any() for name, c in one.items()):
                wrong.append((k, "call"))
            if [fun(vector), jac(vector).tobytes(), hess(vector).tobytes()] != vectors[k]:
                wrong.append((k, "scipy"))

    sys.setswitchinterval(1e-6)
    try:
        in_threads(work, 4)
    finally:
        sys.setswitchinterval(interval)
    assert wrong == []


def test_a_call_within_a_call(f):
    """From the collector of garbage and from a signal's handler."""
    expected, inner = f(x=1.0, y=2.0), f(x=3.0, y=4.0)
    wrong, inside = [], []

    def again(*_):
        if not inside:
            inside.append(1)
            if f(x=3.0, y=4.0) != inner:
                wrong.append("inner")
            inside.clear()

    thresholds, before = gc.get_threshold(), signal.signal(signal.SIGALRM, again)
    gc.callbacks.append(again)
    gc.set_threshold(2)
    signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
    try:
        wrong += [1 for _ in range(3000) if f(x=1.0, y=2.0) != expected]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(again)
    assert wrong == []


def pages():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1])


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="this system does not say how much memory a process has")
def test_nothing_is_kept(f):
    """No memory, and no reference to what is given or what results; whether a call succeeds or gives up."""
    x, y, column = 1.25, 2.5, A.copy()
    at, out = {"x": column, "y": column, "k": column}, {"v": np.empty(8), "w": np.empty(8)}
    wrong = {"x": column, "y": column, "k": column[:4]}
    vector, into = np.array([1.0, 2.0]), np.empty(2)
    quick = direct.of_vector(f.kernel(), [0.0] * 3, direct.Gathered(2, [-1, 0, 1], [0, 1], [0, 1], 2), 10)
    numbers, columns = f._direct()

    def every():
        numbers({"x": x, "y": y})
        numbers({"x": x, "y": "2"})
        numbers({"x": x, "y": 10**400})
        numbers(at)
        columns(at, out, False)
        columns(wrong, out, True)
        quick(into, vector)
        quick(into, vector, vector)

    every()
    objects = [x, column, *at, *out, *out.values(), vector, into, None, float, np.ndarray]
    references, blocks, size = [sys.getrefcount(o) for o in objects], sys.getallocatedblocks(), pages()
    for _ in range(30_000):
        every()
    assert [abs(sys.getrefcount(o) - before) < 50 for o, before in zip(objects, references, strict=True)] == [True] * len(objects)
    assert sys.getallocatedblocks() - blocks < 500
    assert pages() - size < 2000


def test_one_value_beside_others_gives_a_tuple():
    """In the order of results, which is not that of computing them; None for one too many or too few; no reference is kept."""
    kernel = compile_tensors(parse("input x(N), y(N), k\nt +=! x(i)*y(i)\nq(i) = k*t*x(i)\ns(i) = x(i) + k\noutput q, t, s"))
    u, given = A.copy(), {"x": A, "y": B, "k": 2.0}
    whole, (_, _, quick) = kernel(dict(given)), kernel.quick(given, {})
    assert quick(given) == {name: pytest.approx(x) for name, x in whole.items()}
    q, t, s = quick({"y": B, "k": 2.0}, u)
    assert (q.tolist(), t, s.tolist()) == (whole["q"].tolist(), whole["t"], whole["s"].tolist())
    assert quick({"x": A, "y": B}, 2.0)[1] == t
    for given, more in (({"x": A, "y": B, "k": 2.0}, u), ({"y": B}, u), ({"y": B, "k": 2.0, "z": u}, u), ([], u),
                        ({"y": B, "k": 2.0}, u[:3]), ({"y": B, "k": 2.0}, u.tolist()), ({"x": A, "y": B}, u)):
        assert quick(given, more) is None
    assert quick({"y": B, "k": 2.0}, u, u) is None
    assert sys.getrefcount(u) == sys.getrefcount(A.copy()) + 1 and sys.getrefcount(q) == sys.getrefcount(s) == 2


def test_a_function_goes_with_its_builtins():
    """There is no circle that only the collector of garbage would find."""
    f = often(adcli.compile(TEXT), x=1.0, y=2.0, k=1.0)
    kernel = weakref.ref(f.kernel().function)
    numbers = f._numbers
    expected = f(x=1.0, y=2.0)
    gone = weakref.ref(f)
    gc.disable()
    try:
        del f
        assert gone() is None
        assert kernel() is not None   # the builtin alone is enough to call
        assert numbers({"x": 1.0, "y": 2.0}) == expected
        del numbers
        assert kernel() is None
    finally:
        gc.enable()


def test_a_builtin_outlives_what_made_it(monkeypatch):
    """As at the end of Python, which takes modules apart in any order: it holds the code that it runs, and its own definition."""
    code, compiled = [], direct.compiled
    monkeypatch.setattr(direct, "compiled", lambda kind: code.append(compiled(kind)) or code[0])
    made = [direct._builtins("d")]
    monkeypatch.setattr(direct, "builtins", lambda code: made[0])
    f = adcli.compile(TEXT)
    (numbers, columns), expected = f._direct(), f(x=1.0, y=2.0)
    entries = weakref.ref(code.pop().function)
    monkeypatch.undo()
    made.clear()
    del columns, f
    gc.collect()
    assert entries() is not None
    assert numbers({"x": 1.0, "y": 2.0}) == expected
    del numbers
    assert entries() is None


def test_no_call_waits_for_what_another_thread_compiles(f):
    """Once a process has builtins."""
    g = adcli.compile(TEXT).grad()
    fun, jac, hess = adcli.compile(TEXT).scipy(of="v")
    x = np.array([1.0, 2.0])
    g(x=1.0, y=2.0)
    for each in (fun, jac, hess):
        each(x)
    work = threading.Thread(target=lambda: (often(g, x=1.0, y=2.0, k=1.0), fun(x), jac(x), hess(x)), daemon=True)
    with COMPILING:
        work.start()
        work.join(timeout=20)
        assert not work.is_alive()


def test_others_may_declare_functions_of_python_as_they_like(monkeypatch):
    """What ctypes has of Python is one for all of a process."""
    monkeypatch.setattr(ctypes.pythonapi.PyCFunction_NewEx, "restype", ctypes.c_ssize_t)
    monkeypatch.setattr(ctypes.pythonapi.PyCFunction_NewEx, "argtypes", [ctypes.c_int])
    monkeypatch.setattr(direct, "builtins", direct._builtins)
    f = adcli.compile(TEXT)
    assert f._direct()[0]({"x": 1.0, "y": 2.0}) == f(x=1.0, y=2.0)
    assert ctypes.pythonapi.PyCFunction_NewEx.restype is ctypes.c_ssize_t


@pytest.fixture
def elsewhere(monkeypatch):
    """As where Python is not the one that builtins are written for."""
    monkeypatch.setattr(direct, "builtins", lambda code: None)


def test_without_builtins_everything_is_the_same(elsewhere, f):
    other = often(adcli.compile(TEXT), x=1.0, y=2.0, k=1.0)
    assert other._numbers is direct.never
    assert other(x=1.0, y=2.0) == f(x=1.0, y=2.0)
    assert outcome(lambda: other(x=A, y=B, k=A)) == outcome(lambda: f(x=A, y=B, k=A))


def test_vectors_without_builtins_have_the_same_bits(monkeypatch):
    found = direct.builtins
    monkeypatch.setattr(direct, "builtins", lambda code: None)
    in_python = adcli.compile(TEXT).scipy(of="v")
    x = np.array([0.5, -1.5])
    values = [np.asarray(call(x)).tobytes() for call in in_python]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(direct, "builtins", found)
        assert [np.asarray(call(x)).tobytes() for call in adcli.compile(TEXT).scipy(of="v")] == values


def test_the_evaluator_in_the_place_of_code_has_no_builtins():
    program = adcli.compile(TEXT).program
    assert direct.by_name(Interpreted(program, DOUBLE), ["k", "x", "y"], ["v", "w"], {}, 9) == (direct.never, direct.never)


def test_what_is_assumed_of_objects_holds_here():
    assert direct.known_python()
    assert direct.with_arrays()
    assert set(API) <= {name for name in API if hasattr(ctypes.pythonapi, name)}


def test_the_text_is_the_same_everywhere_and_accepted():
    for precision in (DOUBLE, SINGLE):
        jit.verify(builtin_calls.text(precision))
    assert "inttoptr (" not in builtin_calls.text()


def test_a_program_of_many_outputs_and_of_none_and_without_inputs():
    wide = adcli.compile("\n".join(f"v{i} = x*{i} + y" for i in range(400)))
    often(wide, x=1.0, y=2.0)
    assert wide(x=2.0, y=1.0) == {f"v{i}": 2.0 * i + 1 for i in range(400)}
    assert wide(x=A, y=B)["v399"].tolist() == (A * 399 + B).tolist()
    constant = often(adcli.compile("v = 2"))
    assert constant() == {"v": 2.0}
    assert both(constant, x=1.0)[0] == both(constant, x=1.0)[1]


def test_a_long_program_has_its_workspace():
    text = "a0 = x\n" + "".join(f"a{i + 1} = sin(a{i}) + y\n" for i in range(4500)) + "v = a4500\nw = a2000"
    f = adcli.compile(text)
    assert f.kernel().work_bytes
    often(f, x=1.0, y=0.25)
    quick, slow = both(f, x=0.5, y=0.125)
    assert quick == slow
    assert both(f, x=A, y=B)[0] == both(f, x=A, y=B)[1]


@pytest.mark.skipif(sys.gettrace() is not None, reason="a call under a tracer is no measure")
def test_a_call_takes_less_than_a_third_of_the_time_that_it_takes_in_python(f):
    def best(call):
        times = []
        for _ in range(7):
            start = time.perf_counter()
            for _ in range(1000):
                call()
            times.append(time.perf_counter() - start)
        return min(times)

    assert best(lambda: f(x=1.0, y=2.0)) < best(lambda: f._called({"x": 1.0, "y": 2.0}, None, None)) / 3


def test_what_begins_on_a_tape_has_the_same_bits(f, monkeypatch):
    """There a kernel is not one piece of code, and is called in Python."""
    x, v = np.array([0.5, -1.5]), np.array([1.0, -2.0])

    def found():
        fun, jac, hess = adcli.compile(TEXT).scipy()
        return [fun(x).tobytes(), jac(x).tobytes(), hess(x, v).tobytes()]

    compiled = found()
    monkeypatch.setattr(tiers, "LONG", 0)
    assert found() == compiled
    taped = often(adcli.compile(TEXT), x=1.0, y=2.0)
    assert taped._numbers is direct.never
    assert taped(x=1.0, y=2.0) == f(x=1.0, y=2.0)
