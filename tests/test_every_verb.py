"""Every verb of every kind of program: numbers, tensors, loops and linear algebra. A cell is a number, written down here by its
formula, or a reason in the user's terms."""
from __future__ import annotations

import math
import re
from typing import NamedTuple

import pytest
from command import adcli
from session_seed import half

from adcli.main import VERBS, cli


class Kind(NamedTuple):
    """A program at a point with a direction; its value there, and the slope and the curvature along the direction. `spread` moves
    along the direction alone, by 0.1."""

    lines: tuple[str, ...]
    at: str
    direction: str
    spread: str
    value: float
    slope: float
    curvature: float


def iterated_sine(x: float, steps: int) -> tuple[float, float, float]:
    """sin(sin(…x)) with its derivatives by the chain rule."""
    h, d, d2 = x, 1.0, 0.0
    for _ in range(steps):
        h, d, d2 = math.sin(h), math.cos(h) * d, math.cos(h) * d2 - math.sin(h) * d * d
    return h, d, d2


KINDS = {
    "scalar": Kind(("input x, y", "v = x**2*sin(y)"), "x=2,y=0.5", "x=1", "x=2±0.1,y=0.5",
                   4 * math.sin(0.5), 4 * math.sin(0.5), 2 * math.sin(0.5)),
    "tensor": Kind(("input x(N)", "v +=! sin(x(i))*x(i)"), "x=[1,2]", "x=[1,0]", "x=[1,2]±[0.1,0]",
                   math.sin(1) + 2 * math.sin(2), math.sin(1) + math.cos(1), 2 * math.cos(1) - math.sin(1)),
    "recurrence": Kind(("input x", "h(0) = x", "for t in 0:3 { h(t+1) = sin(h(t)) }", "v = h(3)"), "x=2", "x=1", "x=2±0.1",
                       *iterated_sine(2, 3)),
    "algebra": Kind(("input b(N)", "param A(N, N)", "u = solve(A, b)", "v +=! u(i)*b(i)"), "A=[[4,1],[1,3]],b=[1,2]", "b=[1,0]",
                    "A=[[4,1],[1,3]],b=[1,2]±[0.1,0]", 15 / 11, 2 / 11, 6 / 11),
}
TENSORS = ("tensor", "recurrence", "algebra")
CELLS = [   # the words, what is among the numbers of the answer (or a text), and the reason where tensors or loops have none
    (("eval",), "value", ""), (("grad",), "slope", ""), (("jacobian",), "slope", ""), (("hessian",), "curvature", ""),
    (("hessian", "--format", "coo"), "curvature", ""), (("jvp", "--tangent", "DIRECTION"), "slope", ""),
    (("vjp", "--cotangent", "v=1"), "slope", ""), (("hvp", "--tangent", "DIRECTION"), "curvature", ""),
    (("taylor", "--tangent", "DIRECTION"), "half", ""), (("propagate",), "uncertainty", ""),
    (("eval", "--digits"), "value", ""),
    (("grad", "--sum"), "slope", "needs rows"),
    (("trace",), "value", ""), (("why",), "all values and derivatives here are finite", ""), (("check",), "no disagreement", ""),
    (("draw", "--format", "dot"), "slope", ""),
    (("grad", "--enclose"), "slope", ""), (("eval", "--tier", "compiled"), "value", ""),
    (("eval", "--tier", "tape"), "value", "is for programs of numbers"),
    (("eval", "--fast-math"), "value", ""), (("hessian", "--format", "coo", "--fast-math"), "curvature", ""),
]
IN_SINGLE = ("eval", "grad", "jacobian", "hessian", "jvp", "vjp", "hvp", "taylor", "trace", "why", "check")
"""Verbs that compute in single precision where they are told to, with options that do not say of what arithmetic they are."""
CELLS += [((*words, "--precision", "single"), wanted, reason) for words, wanted, reason in CELLS
          if words[0] in IN_SINGLE and not {*words} & {"--digits", "--enclose", "--tier", "--fast-math"}]


def numbers(text: str) -> list[float]:
    return [float(x) for x in re.findall(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?", text)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_verb_gives_numbers_or_a_reason(kind: str) -> None:
    k = KINDS[kind]
    expected = {"value": k.value, "slope": k.slope, "curvature": k.curvature, "half": k.curvature / 2,
                "uncertainty": 0.1 * abs(k.slope)}
    for words, wanted, reason in half(CELLS):
        at = k.spread if words[0] == "propagate" else k.at
        given = [k.direction if word == "DIRECTION" else word for word in words]
        ended = adcli(given[0], *(word for line in k.lines for word in ("-e", line)), "--at", at, *given[1:])
        where = (kind, words, ended)
        if reason and kind in TENSORS:
            assert ended.code == 2 and reason in ended.err, where
        elif wanted in expected:
            near = pytest.approx(expected[wanted], rel=1e-5, abs=1e-12)
            assert ended.code == 0 and any(x == near for x in numbers(ended.out)), where
        else:
            assert ended.code == 0 and wanted in ended.out, where


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_shown_reads_back(kind: str) -> None:
    """The text of the reverse sweep is a program, which has the slope for a cotangent of 1."""
    k = KINDS[kind]
    shown = adcli("show", *(word for line in k.lines for word in ("-e", line)), "--stage", "reverse").out
    ended = adcli("eval", "-e", shown, "--at", f"{k.at},d_dv=1")
    assert k.slope in [pytest.approx(x, rel=1e-12) for x in numbers(ended.out)], (shown, ended)


SOUGHT = {   # the lines, where it begins, and the unknowns for which r = 0 and v, the sum of its squares, is least
    "scalar": (("input x", "param y", "r = x*y - 6", "v = r**2"), "x=1,y=2", [3]),
    "tensor": (("input x(N)", "r(i) = x(i)/2 - i", "v +=! r(i)*r(i)"), "x=[1,2]", [0, 2]),
    "recurrence": (("input x", "h(0) = x", "for t in 0:3 { h(t+1) = h(t)/2 }", "r = h(3) - 1", "v = r**2"), "x=2", [8]),
    "algebra": (("input b(N)", "param A(N, N)", "u = solve(A, b)", "r(i) = u(i) - 1", "v +=! r(i)*r(i)"),
                "A=[[4,1],[1,3]],b=[1,2]", [5, 4])}


@pytest.mark.parametrize("kind", SOUGHT)
def test_what_is_sought_is_found(kind: str) -> None:
    lines, at, expected = SOUGHT[kind]
    for verb, output in (("solve", "r"), ("minimize", "v")):
        ended = adcli(verb, *(word for line in (*lines, "output r, v") for word in ("-e", line)), "--of", output, "--at", at)
        found = numbers(ended.out.partition("\n")[0])
        assert ended.code == 0 and found == pytest.approx(expected, rel=1e-7, abs=1e-7), (verb, ended)


@pytest.mark.parametrize("kind", ["scalar", "recurrence"])
def test_a_curve_has_the_numbers(kind: str) -> None:
    k = KINDS[kind]
    at = k.at.replace("x=2", "x=2:3:2")
    ended = adcli("plot", *(word for line in k.lines for word in ("-e", line)), "--at", at, "--format", "csv")
    assert [float(x) for x in ended.out.splitlines()[1].split(",")[:3]] == pytest.approx([2, k.value, k.slope], rel=1e-12)


WHOLE = {"tensor": (("input int32 k(M), x(N)", "y +=! x(i)**2", "z = k"), "k=[3,0],x=[2]"),
         "number": (("input int32 k, x", "y = x**2", "z = k"), "k=3,x=2")}
TOLD = [
    (("eval",), "3.0"), (("eval", "--digits"), "3.0"), (("eval", "--enclose"), "3.0, 3.0"), (("grad", "--of", "y"), "dy_dx"),
    (("trace",), "z "), (("why",), "does not depend on x"), (("check", "-q"), "no disagreement"), (("propagate",), "u_y"),
    (("jacobian", "--format", "coo"), "4.0"), (("bench", "--seconds", "0"), "reverse"), (("taylor", "--tangent", "x=1"), "3.0"),
]


@pytest.mark.parametrize("kind", WHOLE)
def test_every_verb_takes_whole_numbers_that_are_results(kind: str) -> None:
    lines, at = WHOLE[kind]
    for words, told in half(TOLD):
        spread = at.replace("x=[2]", "x=[2]±0.1").replace("x=2", "x=2±0.1") if words[0] == "propagate" else at
        ended = adcli(words[0], *(word for line in lines for word in ("-e", line)), "--at", spread, *words[1:])
        assert ended.code == 0 and told in ended.out, (kind, words, ended)



OUTSIDE = ("-e", "input x in [0, 1], y; v = x*x + y", "--at", "x=2,y=1")
QUIET = {   # words with which there is something to note
    **dict.fromkeys(("eval", "grad", "jacobian", "hessian", "vjp", "why", "check", "trace", "draw", "explore"), OUTSIDE),
    **dict.fromkeys(("jvp", "hvp", "taylor"), (*OUTSIDE, "--tangent", "x=1")),
    "minimize": OUTSIDE, "solve": (*OUTSIDE, "--wrt", "y"), "plot": (*OUTSIDE[:3], "x=0:2,y=1", "--format", "csv"),
    "propagate": (*OUTSIDE[:3], "x=2±0.1,y=1"),
    "fit": ("-e", "param k = 1; v = k*x", "--y", "y", "--on-error", "skip", "--data", "-"),
}


def test_a_verb_notes_something_unless_it_is_to_be_quiet() -> None:
    context = cli.make_context("adcli", [], resilient_parsing=True)
    assert {v for v in VERBS if any("--quiet" in p.opts for p in cli.get_command(context, v).params)} == QUIET.keys()
    for verb, words in QUIET.items():
        said, quiet = (adcli(verb, *words, *more, stdin=b"x,y\n1,2\n2,4\n3,word\n") for more in ((), ("--quiet",)))
        assert said.err and not quiet.err and said.code == quiet.code < 2, (verb, said, quiet)
        assert quiet.out == said.out or (verb == "check" and said.out.endswith(quiet.out)), (verb, said, quiet)
