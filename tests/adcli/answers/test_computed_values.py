"""Notes, why, trace and draw explain the numbers that were computed, not those of another library of functions."""
from __future__ import annotations

import math
import re

import pytest
from command import adcli, succeeds

ROOT = "v = sqrt(1 - cos(x)**2 - sin(x)**2)"
DISTANCE = "d = acos(sin(a)*sin(b) + cos(a)*cos(b)*cos(l))"
TENSOR = "input x(N); v(i) = sqrt(1 - cos(x(i))**2 - sin(x(i))**2)"
POINTS = [k/10 for k in range(1, 31)]


def number(text):
    return float(text.replace("Infinity", "inf")) if isinstance(text, str) else text


@pytest.mark.parametrize("program, at", [(ROOT, "x={}"), (DISTANCE, "a={0},b={0},l=0"), ("v = log(exp(x)*exp(-x))", "x={}"),
                                         ("v = atanh(tanh(x)*cosh(x)/sinh(x))", "x={}")])
def test_all_of_them_have_the_same_numbers(program, at):
    points = [part for x in POINTS for part in ("--at", at.format(x))]
    modes = [succeeds("grad", "-e", program, *points, "--mode", mode, "--format", "json", "-q").records
             for mode in ("forward", "reverse")]
    traced = succeeds("trace", "-e", program, *points, "--format", "json", "-q").records
    why = succeeds("why", "-e", program, *points, "--format", "json").records
    for *both, lines, told in zip(*modes, traced, why, strict=True):
        bad = {}
        for own in both:   # a number that is bad in one mode alone is told, too
            (name, value), = own["value"].items()
            assert str(value) == str(lines["outputs"][0]["value"]), lines
            numbers = {name: value, **{f"d{name}_d{x}": d for x, d in own["grad"][name].items()}}
            bad |= {k: str(x) for k, x in numbers.items() if not math.isfinite(number(x)) or number(x) == 0}
        assert {k: str(x) for group in told["why"] for k, x in group["results"].items()} == bad


def test_a_zero_of_the_mode_that_grad_takes_is_explained():
    """Contributions to a derivative that cancel in forward mode alone, which grad takes: there is something to explain."""
    met = 0
    for x in POINTS:
        numbers = [succeeds("grad", "-e", ROOT, "--at", f"x={x}", "-q", *mode).out.splitlines()[1].partition("= ")[2]
                   for mode in ([], ["--mode", "reverse"])]
        if numbers[0] == "0.0" and float(numbers[1]):
            said = succeeds("why", "-e", ROOT, "--at", f"x={x}").out
            assert "dv_dx is 0.0\n" in said and f"reverse mode adds up in another order: there dv_dx is {numbers[1]}\n" in said
            met += 1
    assert met or not math.isfinite(float(numbers[0]))


@pytest.mark.parametrize("program, at, tensor", [(ROOT, "x={}", False), (TENSOR, "x=[{}]", True)])
def test_a_note_has_its_place_and_the_operand_that_native_code_met(program, at, tensor):
    """Somewhere the value is NaN: there the operand is below 0, and each says the same number."""
    met = 0
    for x in POINTS:
        ended = adcli("eval", "-e", program, "--at", at.format(x))
        if "nan" in ended.out:
            operand = re.search(r"sqrt\(u\) at u = (-[\d.e-]+)", ended.err)
            assert operand, ended.err
            assert f" = {operand[1]} is nan: outside its domain" in succeeds("why", "-e", program, "--at", at.format(x)).out
            assert operand[1] in adcli("trace", "-e", program, "--at", at.format(x), "--fmt", "%.17g").out + ended.err
            met += 1
    assert met
