"""--fast-math of every verb that has it, for numbers, tensors and loops: digits as without it, and 0 for what is below the least
normal number."""
from __future__ import annotations

import contextlib
import ctypes
import json
import pathlib
import pickle
from typing import NamedTuple

import numpy as np
import pytest
from adcli.codegen.rows.platforms import here
from adcli.codegen.rows.tiers import TieredKernel
from command import adcli, succeeds
from session_seed import part

import adcli as package

pytestmark = pytest.mark.usefixtures("empty_folder")
flushes = pytest.mark.skipif(not here(), reason="nothing is known that makes numbers 0 on this processor")


class FastKind(NamedTuple):
    """A program at a point, with a direction and an input that is uncertain; and a `square` of its input at a point, whose value
    is below the least normal number of each precision."""

    lines: tuple[str, ...]
    at: str
    direction: str
    spread: str
    square: tuple[str, ...]
    root: str


KINDS = {
    "scalar": FastKind(("input x, y", "v = x*y/7 + sin(x)*y - x/y"), "x=2,y=0.5", "x=1", "x=2±0.1,y=0.5", ("input x", "v = x*x"),
                       "x={}"),
    "tensor": FastKind(("input x(N), y(N), s", "u(i) = (x(i)*y(i) + sin(x(i)))/s - x(i)*s", "v +=! u(i)*u(i)/3"),
                       "x=[1,2,3],y=[4,5,6],s=1.3", "x=[1,0,2]", "x=[1,2,3]±[0.1,0,0],y=[4,5,6],s=1.3",
                       ("input x(N)", "v(i) = x(i)*x(i)"), "x=[{},3]"),
    "recurrence": FastKind(("input x, k", "h(0) = x", "for t in 0:9 { h(t+1) = h(t)*k + sin(h(t))/k }", "v = h(9)"),
                           "x=0.4,k=0.7", "x=1", "x=0.4±0.1,k=0.7",
                           ("input x", "h(0) = x", "for t in 0:1 { h(t+1) = h(t)*h(t) }", "v = h(1)"), "x={}"),
}
VERBS = (("eval",), ("grad",), ("jacobian",), ("hessian",), ("hessian", "--format", "mtx"), ("jvp", "--tangent", "DIRECTION"),
         ("vjp", "--cotangent", "v=1"), ("hvp", "--tangent", "DIRECTION"), ("taylor", "--order", "3", "--tangent", "DIRECTION"),
         ("propagate",))
BELOW = {"double": 1e-160, "single": 1e-22}
"""Their squares are no normal numbers."""
every_kind = pytest.mark.parametrize("kind", KINDS)
both = pytest.mark.parametrize("precision", BELOW)


def lines(given: tuple[str, ...]) -> list[str]:
    return [word for line in given for word in ("-e", line)]


def figures(text: str) -> list[float]:
    """All numbers in a text, wherever they stand."""
    found = []
    for word in "".join(c if c.isalnum() or c in "+-._" else " " for c in text).split():
        with contextlib.suppress(ValueError):
            found.append(float(word))
    return found


@every_kind
@both
def test_every_verb_gives_the_digits_that_it_gives_without(kind: str, precision: str) -> None:
    k = KINDS[kind]
    for verb, *words in part(VERBS, 3):
        given = [k.direction if word == "DIRECTION" else word for word in words]
        where = ["--at", k.spread if verb == "propagate" else k.at, *([] if verb == "propagate" else ["--precision", precision])]
        usual, fast = (succeeds(verb, *lines(k.lines), *where, *given, *more).out for more in ([], ["--fast-math"]))
        near = 1e-12 if precision == "double" or verb == "propagate" else 1e-4
        assert figures(fast) == pytest.approx(figures(usual), rel=near, abs=near) and figures(fast), (verb, usual, fast)


@flushes
@every_kind
@both
def test_what_is_below_the_least_normal_number_is_0(kind: str, precision: str) -> None:
    """At a point, from the cache again, and for rows; without the option it is kept, by code from the same cache."""
    k = KINDS[kind]
    at = k.root.format(BELOW[precision])
    for _ in range(2):
        for more in ([], ["--fast-math"]):
            found = figures(succeeds("eval", *lines(k.square), "--at", at, "--precision", precision, *more).out.partition("=")[2])
            assert (found[0] == 0) == bool(more) and found[1:] in ([], [9]), (more, found)
    x = [BELOW[precision], 3.0] if kind == "tensor" else BELOW[precision]
    rows = f"{json.dumps({'x': x})}\n".encode()
    for more in ([], ["--fast-math"]):
        ended = succeeds("eval", *lines(k.square), "--data", "-", "--input-format", "ndjson", "--precision", precision, *more,
                         stdin=rows)
        value = np.ravel(ended.records[0]["v"])
        assert (value[0] == 0) == bool(more), (more, value)


@flushes
@every_kind
@both
def test_functions_of_python_have_it_and_their_derivatives(kind: str, precision: str) -> None:
    k, root = KINDS[kind], BELOW[precision]
    x = np.array([root, 3.0]) if kind == "tensor" else root
    for fast in (False, True):
        f = package.compile("\n".join(k.square), precision=precision, fast_math=fast)
        swept = f.vjp()
        again = pickle.loads(pickle.dumps(f))
        assert [g.fast_math for g in (f, swept, f.only("v"), again)] == [fast] * 4
        for _ in range(30):   # in Python, and then as a builtin
            assert (np.ravel(f(x=x)["v"])[0] == 0) == fast
        assert (np.ravel(swept(x=x, d_dv=np.ones(2) if kind == "tensor" else 1.0)["v"])[0] == 0) == fast
        assert (np.ravel(again(x=x)["v"])[0] == 0) == fast
        assert (root * root if precision == "double" else float(np.float32(root) * np.float32(root))) != 0


def test_a_program_that_would_begin_on_a_tape_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    from adcli.codegen.rows import tiers
    monkeypatch.setattr(tiers, "LONG", 0)
    kernels = [package.compile("v = x*x + 1", fast_math=fast).kernel() for fast in (False, True)]
    assert [isinstance(kernel, TieredKernel) for kernel in kernels] == [True, False]


@pytest.mark.parametrize("kind", ["tensor", "recurrence"])
def test_explain_says_why_code_is_compiled(kind: str) -> None:
    k = KINDS[kind]
    for more in ([], ["--at", k.at]):
        ended = adcli("grad", *lines(k.lines), "--explain", "--fast-math", *more)
        assert ended.code == 0 and all(x in ended.out + ended.err for x in ("code: compiled", ", for --fast-math")), ended
    assert "as --tier says" in succeeds("grad", *lines(k.lines), "--explain", "--fast-math", "--tier", "compiled").out


@pytest.mark.parametrize("kind", ["scalar", "recurrence"])
def test_bench_has_it(kind: str) -> None:
    more = ["--rows", "64"] if kind == "scalar" else []
    told = succeeds("bench", *lines(KINDS[kind].lines), *more, "--seconds", "0", "--fast-math").out
    assert ", with --fast-math\n" in told, told


def test_fit_has_it() -> None:
    """Parameters of a model with a tensor; of rows the first is so small that its square is none."""
    rows = "".join(f"{json.dumps({'t': [k, k + 1.0], 'y': 3.0*k + 1.5*(k + 1.0)})}\n" for k in range(1, 7)).encode()
    program = ("input t(2)", "param a = 1, b = 1", "v = a*t(0) + b*t(1)")
    words = ["fit", *lines(program), "--data", "-", "--input-format", "ndjson", "--params", "a,b", "--y", "y"]
    found = [adcli(*words, *more, stdin=rows) for more in ([], ["--fast-math"])]
    assert [x.code for x in found] == [0, 0], found
    assert figures(found[1].out)[:1] == pytest.approx(figures(found[0].out)[:1], rel=1e-9)


# ---------------------------------------------------------------- what is written

@flushes
@pytest.mark.parametrize("kind", ["scalar", "tensor"])
def test_libraries_have_it_and_leave_arithmetic_as_it_was(kind: str) -> None:
    k, root = KINDS[kind], BELOW["double"]
    for fast, more in ((False, []), (True, ["--fast-math"])):
        succeeds("eval", *lines(k.square), "--emit", "library", "--symbol", "f", "-o", f"f{fast}.so", *more)
        library = ctypes.CDLL(str(pathlib.Path(f"f{fast}.so").absolute()))   # a name that was loaded is not looked up again
        x, y = (ctypes.c_double * 2)(root, 3.0), (ctypes.c_double * 2)(7.0, 7.0)
        assert library.f(*([ctypes.c_size_t(2)] if kind == "tensor" else []), x, y) == 0
        assert (y[0] == 0) == fast and root * root != 0, list(y)


@pytest.mark.parametrize("kind", part([*KINDS], 3))
def test_other_machines_set_bits_of_their_own(kind: str) -> None:
    """LLVM for no particular machine sets none; nor is there anything to set where none is known."""
    for target, words in (("x86_64-linux-gnu", ("stmxcsr", "ldmxcsr")), ("aarch64-linux-gnu", ("FPCR",)),
                          ("riscv64-linux-gnu", ())):
        for more in ([], ["--fast-math"]) if words else (["--fast-math"],):
            code = succeeds("eval", *lines(KINDS[kind].square), "--emit", "asm", "--target", target, *more).out
            found = {word for word in ("stmxcsr", "ldmxcsr", "FPCR") if word in code}
            assert found == (set(words) if more else set()), (target, more)
    text = succeeds("eval", *lines(KINDS[kind].square), "--emit", "llvm", "--fast-math").out
    assert "mxcsr" not in text and "fpcr" not in text
