"""Calls of the Python interface by a hostile or hurried user: `attempts` draws them, `misbehaved` says what went wrong.

What may come out of a call is a result or an AdError. Three things are Python's own and stay as they are: TypeError for a call
that does not fit a signature (an argument too few, an unknown keyword of a method), OSError for a file that cannot be read, and
what a recorded function itself raises. A test runs a few of them, a long run as many as it has time for: each depends on the
state of `r` alone.
"""
from __future__ import annotations

import copy
import datetime
import decimal
import fractions
import functools
import inspect
import pickle
import random
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

import adcli

TEXTS = ("v = x*sin(y)", "input x = 2 in [0, 3], y = -1\nv = abs(x)*y; w = x/y", "v = 3", "param k = 2\nv = k*x**2",
         "input x\noutput x\nx = 2*x", "input A(M, N), B(N), s\nC(i) +=! A(i, j)*B(j)*s", "input A(N)\nv max=! A(i)",
         "input LUT(E, D), int32 I(L)\nO(b, d) = LUT(I(b), d)", "input A(3), int32 n\nv +=! A(i)*n", "a·b = x̂*2",
         "v = x < 1 ? x : y")
PROGRAMS = (*TEXTS, "", "v = ", "v = (", "\0", "v = \ud800", "x" * 5000, "v = 1e999", "é = 2*é", "not a program", "output v")
DERIVED = ("grad", "jacobian", "hessian", "hvp", "taylor", "jvp", "vjp")
METHODS = (*DERIVED, "sparse", "scipy", "text", "llvm", "status", "kernel", "__call__")


class Odd:
    """An object that is nothing."""


class Raising:
    """An object that no one can make an array of."""

    def __array__(self, *args: Any, **more: Any) -> Any:
        raise RuntimeError("no array")


class Lying(Mapping[str, Any]):
    """A mapping that has names and no values."""

    def __getitem__(self, name: str) -> Any:
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(("x", "y", "A"))

    def __len__(self) -> int:
        return 3


def arrays() -> Iterator[Any]:
    """Arrays of every kind and layout."""
    plain = np.arange(6.0)
    yield from (plain, plain.reshape(2, 3), plain[::2], plain[::-1], plain.reshape(2, 3).T, np.asfortranarray(plain.reshape(3,
                                                                                                                            2)),
                plain[:0], np.empty((0, 3)), np.empty((3, 0)), np.array(2.0), np.float64(2), np.float32(2), np.int8(-1),
                np.bool_(True))
    for kind in ("float16", "float32", "longdouble", "int8", "uint64", "int64", "bool", ">f8", "<i4", ">i2", "complex128",
                 "S3", "U4",
                 "datetime64[s]", "timedelta64[s]", "object", "V8"):
        yield np.zeros(3, kind)
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    yield frozen
    yield np.frombuffer(bytes(8 * 3 + 1), np.uint8)[1:].view(np.float64)   # not aligned
    yield np.broadcast_to(np.float64(1), (1000, 3))
    yield np.array([1, "a", None], object)
    yield np.array([fractions.Fraction(1, 2), decimal.Decimal("0.5"), 2**70], object)
    yield np.zeros(3, [("x", float), ("y", int)])
    yield np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False])
    yield np.array([np.nan, np.inf, -0.0])
    yield np.matrix([[1.0, 2.0, 3.0]])


@cache
def values() -> tuple[Any, ...]:
    """Values of every kind, most of them wrong."""
    return (None, True, 0, 1, -1, 2, 3, 10**9, -10**9, 2**63, 10**400, 0.5, -0.0, float("nan"), float("inf"), 1e-320, 1j, "", "x",
            "x,y", "v", "v:x,x", "y;v", ",", "dv_dx", "forward", "\0", "\ud800", "x" * 3000, "é", b"x", b"", [], [1], [1.0,
                                                                                                                       2.0, 3.0],
            [[1, 2], [3]], [[[]]], [None], ["x"], ["x", "x"], ["x", 1], (), (1, 2), {}, {"x": 1}, {1: 2}, {"x": None}, {None: 1},
            {"y": 2.0, "x": 1.0}, set(), {"x"}, frozenset("xy"), range(3), iter("xy"), Odd(), Odd, Raising(), Lying(), len,
            max, print,
            np.sin, lambda x: x, datetime.datetime(2020, 1, 1), datetime.timedelta(1), decimal.Decimal("1.5"),
            fractions.Fraction(1, 3),
            memoryview(b"abcdefgh"), bytearray(8), re.compile("x"), NotImplemented, ..., slice(3), complex("nan"), adcli,
            *arrays())


def value(r: random.Random) -> Any:
    return r.choice(values()) if r.random() < 0.8 else r.choice((1.0, [1.0, 2.0, 3.0], 2, np.ones(3)))


@cache
def functions() -> tuple[adcli.Function, ...]:
    """Functions of scalars and of tensors, and their derivatives."""
    first = [adcli.compile(text) for text in TEXTS]
    made = [*first]
    for f in first:
        for name in DERIVED:
            try:
                made.append(getattr(f, name)(*((2,) if name == "taylor" else ())))
            except adcli.AdError:
                continue
    return tuple(made)


# ---------------------------------------------------------------- what is tried

def called(r: random.Random) -> Callable[[], object]:
    """A call: right but for one thing, or wrong in everything."""
    f = r.choice(functions())
    given = {name: r.choice((1.0, 2, [1.0, 2.0, 3.0], np.ones((3, 3)), np.ones(3))) for name in f.inputs}
    for name in r.sample(sorted(given), min(len(given), r.choice((0, 1, 1, 2)))):
        given[name] = value(r)
    if given and r.random() < 0.1:
        del given[r.choice(sorted(given))]
    if r.random() < 0.1:
        given[r.choice(("z", "X", "", "jobs", "out", "at", "self", "é"))] = value(r)
    more: dict[str, Any] = {}
    if r.random() < 0.2:
        more["jobs"] = value(r)
    if r.random() < 0.2:
        more["out"] = r.choice((value(r), {name: value(r) for name in f.outputs}))
    called = f.status if r.random() < 0.2 and not more else f
    if r.random() < 0.3:
        return lambda: called(given, **more)
    return lambda: called(**{**more, **given})


def derived(r: random.Random) -> Callable[[], object]:
    """A method with arguments of every kind."""
    f, name = r.choice(functions()), r.choice(METHODS)
    method = getattr(f, name)
    known = [p.name for p in inspect.signature(method).parameters.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    names = r.sample(known, r.randint(0, min(2, len(known))))
    right = {"order": (1, 2, 3), "wrt": (f.inputs, "x"), "of": (f.outputs, "v"), "mode": ("auto", "reverse"), "lanes": (1, 2,
                                                                                                                        4, 8)}
    given = {n: r.choice(right[n]) if n in right and r.random() < 0.4 else value(r) for n in names}
    if name == "taylor":
        given.setdefault("order", 2)
    return lambda: method(**given)


def looked(r: random.Random) -> Callable[[], object]:
    """What says something of a Function, at a point and with options of which some are wrong; nothing that takes long."""
    f, name = r.choice(functions()), r.choice(("trace", "why", "propagate", "propagate", "_repr_html_", "_repr_latex_"))
    method = getattr(f, name)
    if name.startswith("_"):
        return lambda: method()
    options = inspect.signature(method).parameters.values()
    known = [p.name for p in options if p.kind is p.KEYWORD_ONLY and p.name != "monte_carlo"]
    given = {n: value(r) for n in r.sample(known, r.choice((0, 0, 1, 2)))}
    at = {x: r.choice((1.0, 2, (2.0, 0.1), "2±0.1", "3~exp", [1.0, 2.0], value(r))) for x in f.inputs}
    return lambda: repr(method(at, **given)._repr_html_())


def compiled(r: random.Random) -> Callable[[], object]:
    """A program of any kind: text, function, or neither."""
    program = r.choice((r.choice(PROGRAMS), value(r), r.choice(RECORDED)))
    return lambda: adcli.compile(guarded(program) if callable(program) else program)


class Own(Exception):
    """What a function that is recorded raises itself."""


def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function, ())
    def run(*args: Any, **more: Any) -> Any:
        try:
            return function(*args, **more)
        except adcli.AdError:
            raise
        except Exception as error:
            raise Own from error
    return run


RECORDED: tuple[Callable[..., Any], ...] = (
    lambda x: x, lambda: 1, lambda x, y=2: {"v": x*y}, lambda x: None, lambda x: [], lambda x: {}, lambda x: "x",
    lambda x: [x, "y"],
    lambda x: {1: x, "and": x}, lambda x: {"": x}, lambda x: {"a b": x}, lambda x: {"\n": x}, lambda x: {None: x},
    lambda *x: x, lambda **x: x,
    lambda x: x if x > 0 else 1, lambda x: float(x), lambda x: x[0], lambda x: len(x), lambda x: x @ x, lambda x: x.real,
    lambda x: ~x,
    lambda x: x << 1, lambda x: x % 2, lambda x: x // 2, lambda x: divmod(x, 2), lambda x: round(x), lambda x: abs(x),
    lambda x: pow(x, 2, 3),
    lambda x: np.sin(x, where=False), lambda x: np.add.reduce([x, x]), lambda x: np.sum([x, x]), lambda x: np.linalg.norm([x]),
    lambda x: np.array([x, 2*x]), lambda x: [[x], [x, x]], lambda x: x + 1j, lambda x: x + "1", lambda x: x + None,
    lambda x: x + Odd(),
    lambda x: x + np.ones((2, 2)), lambda x: x + datetime.timedelta(1), lambda x: 1/0, lambda x: [][1], lambda x: {}["y"],
    lambda x: x.y,
    lambda x: x(), lambda x: iter(x), lambda x: f"{x:3}", lambda x: hash(x), lambda x: sorted([x, 1]), lambda x: max(x, 1),
    lambda x, output, where: x + output + where, lambda x, _: x*_, lambda x, nan: x*nan, lambda x=None: x, lambda x="1": x,
    lambda x=[1]: x,
    lambda x: 10**400*x, lambda x: x*float("nan"), lambda x: x**np.float16(2), lambda x: x*np.longdouble(1),
    lambda x: np.where(x > 0, x, -x),
    lambda x: decimal.Decimal(1)*x, lambda x: fractions.Fraction(1, 3)*x, lambda x: np.float64(2)*x, lambda x: np.int8(2)*x,
    lambda x: np.exp2(x, dtype="f4"), lambda x: np.frexp(x), lambda x: np.modf(x), lambda x: np.hypot(x, x),
    lambda x: np.dot([x], [x]),
    lambda x: np.clip(x, 0, 1), lambda x: np.maximum.accumulate([x, x]), lambda x: copy.deepcopy(x), lambda x: pickle.dumps(x))
"""Python functions, of which some have a program."""


def travelled(r: random.Random) -> Callable[[], object]:
    """A Function that is copied, shown or pickled, and still is what it was."""
    f = r.choice(functions())
    return r.choice((lambda: repr(f), lambda: pickle.loads(pickle.dumps(f)).outputs, lambda: copy.deepcopy(f).inputs,
                     lambda: f.matrix,
                     lambda: hash(f), lambda: f == f, lambda: pickle.loads(pickle.dumps(f)).text()))


def solved(r: random.Random) -> Callable[[], object]:
    """The functions for scipy.optimize at points of every kind."""
    f, x, v = r.choice(functions()), value(r), value(r)

    def run() -> object:
        solver = f.scipy()
        return [solver[0](x), solver[1](x), solver[2](x, *([v] if len(f.outputs) > 1 else []))]
    return run


def loaded(r: random.Random) -> Callable[[], object]:
    path = r.choice(("/nonexistent", "/", "/dev/null", "", "a\0b", "x" * 5000, *values()))
    if type(path) in (int, bool) or path is None:
        path = "/nonexistent"   # a file descriptor, which would be closed
    return lambda: adcli.load(path)


def attempts(r: random.Random) -> Iterator[Callable[[], object]]:
    """Attempts without end."""
    kinds = (called, called, called, derived, derived, looked, compiled, travelled, solved, loaded)
    while True:
        yield r.choice(kinds)(r)


def misbehaved(attempt: Callable[[], object]) -> BaseException | None:
    """What an attempt lets out although it must not; None where it ends well. Of AdErrors it asks that they say something."""
    try:
        attempt()
    except adcli.AdError as error:
        text = str(error)
        short = text.startswith(("error: ", "<")) or ": error: " in text
        return None if error.message.strip() and short and len(text) < 20_000 else AssertionError(text[:1000])
    except (OSError, Own):
        return None
    except TypeError as error:
        return None if re.search(r"argument|keyword", str(error)) and deep(error) <= 3 else error
    except BaseException as error:
        return error
    return None


def deep(error: BaseException) -> int:
    """How many calls lie between an attempt and an error: a call that does not fit a signature fails at once."""
    count, at = 0, error.__traceback__
    while at is not None:
        count, at = count + 1, at.tb_next
    return count
