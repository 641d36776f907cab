"""Inputs that --at makes constants of a program that is emitted: the numbers are those of the whole point, to the bit."""
from __future__ import annotations

import pathlib
import random
import subprocess

import numpy as np
import pytest
from adcli.codegen.targets import TARGETS
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.status import with_status
from back_ends import MODES, same
from c_programs import CC
from command import adcli, numbers, succeeds
from hypothesis import given
from laws import report
from random_programs import Sample, choices, law, mixed_points, samples

from adcli.task.emit import bound

ARM = "px = l1*cos(q1) + l2*cos(q1 + q2)\npy = l1*sin(q1) + l2*sin(q1 + q2)\n"
LENGTHS, JOINTS = "l1=0.4,l2=0.3", "q1=0.3,q2=0.8"


@law(100)
@given(samples(20), choices)
def test_constants_change_no_bit(written: Sample, r: random.Random) -> None:
    """Of values, derivatives and status."""
    primal = parse(written.text)
    program = with_status(gradient(primal, mode=r.choice(MODES)), primal, [p.name for p in primal.params if p.active])
    for at in mixed_points(r, program, 3):
        values = {name: x for name, x in at.items() if r.random() < 0.6}
        rest = {name: x for name, x in at.items() if name not in values}
        emitted = bound(program, values)
        assert [p.name for p in emitted.params] == [p.name for p in program.params if p.name in rest]
        whole, found = evaluate(program, at, FLOAT), evaluate(emitted, rest, FLOAT)
        for r_ in program.results:
            assert same(whole[r_.name], found[r_.name]), report(program, r_.name, at, values, report(emitted))


@pytest.mark.parametrize("verb, seeds", [
    ("eval", []), ("grad", []), ("jacobian", []), ("hessian", ["--of", "px"]), ("jvp", ["--tangent", "q1=1,q2=2"]),
    ("vjp", ["--cotangent", "px=10,py=-5"]), ("hvp", ["--of", "py", "--tangent", "q1=1,q2=2"]),
    ("taylor", ["--tangent", "q1=1,q2=2"])])
def test_the_text_of_every_verb_has_the_numbers_of_the_whole_point(verb: str, seeds: list[str]) -> None:
    wrt = [] if verb in ("eval", "taylor") else ["--wrt", "q1,q2"]
    text = succeeds(verb, "-e", ARM, *seeds, "--at", LENGTHS, "--emit", "text")
    assert text.data == succeeds(verb, "-e", ARM, *seeds, "--at", "l1=0.4", "--at", "l2=0.3", "--emit", "text").data.replace(
        b"--at l1=0.4 --at l2=0.3", b"--at l1=0.4,l2=0.3")
    assert "\n# inputs: q1, q2\n# constants: l1 = 0.4, l2 = 0.3\n" in text.out
    expected = succeeds(verb, "-e", ARM, *seeds, *wrt, "--at", f"{LENGTHS},{JOINTS}").out
    assert succeeds("eval", "-", "--at", JOINTS, stdin=text.data).out == expected


def test_seeds_of_constants_are_no_inputs() -> None:
    """Nor are derivatives by them results, unless they are asked for."""
    for verb, inputs in (("jvp", "q1, q2, dq1, dq2"), ("vjp", "q1, q2, d_dpx, d_dpy"), ("propagate", "q1, q2, u_q1, u_q2")):
        assert f"\n# inputs: {inputs}\n" in succeeds(verb, "-e", ARM, "--at", LENGTHS, "--emit", "text").out
    named = succeeds("grad", "-e", ARM, "--at", LENGTHS, "--wrt", "l1", "--emit", "text").out
    assert "\n# outputs: px, py, dpx_dl1, dpy_dl1\n" in named
    one = succeeds("grad", "-e", ARM, "--of", "px:l1", "--at", LENGTHS, "--emit", "text").out
    assert "\n# outputs: px, dpx_dl1\n" in one


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("verb", ["grad", "jacobian", "hessian", "jvp", "vjp"])
def test_every_target_writes_the_program_of_the_others(verb: str, target: str, tmp_path: pathlib.Path) -> None:
    program, file = ARM if verb != "hessian" else ARM.partition("\n")[0], tmp_path / "f"
    succeeds(verb, "-e", program, "--at", LENGTHS, "--emit", target, "--symbol" if target not in ("text", "latex") else "-q",
             *(["f"] if target not in ("text", "latex") else []), "-o", file)
    data = file.read_bytes()
    assert b"constants: l1 = 0.4, l2 = 0.3" in data
    inputs = b"inputs: q1, q2" + {"jvp": b", dq1, dq2", "vjp": b", d_dpx, d_dpy"}.get(verb, b"")
    assert inputs in data


def test_python_and_c_compute_with_them(tmp_path: pathlib.Path) -> None:
    expected = numbers(succeeds("jacobian", "-e", ARM, "--wrt", "q1,q2", "--at", f"{LENGTHS},{JOINTS}").out)
    scope: dict = {}
    exec(succeeds("jacobian", "-e", ARM, "--at", LENGTHS, "--emit", "python", "--symbol", "f").out, scope)
    assert np.array(scope["f"](0.3, 0.8)) == pytest.approx(np.array(list(expected.values())), rel=1e-14)
    if CC is None:
        pytest.skip("no C compiler")
    main = '#include <stdio.h>\nint main(void) { double q[] = {0.3, 0.8}, out[6]; f(q, out);' \
           ' for (int i = 0; i < 6; i++) printf("%.17g\\n", out[i]); }\n'
    (tmp_path / "f.c").write_text(succeeds("jacobian", "-e", ARM, "--at", LENGTHS, "--emit", "c", "--symbol", "f").out + main)
    subprocess.run([CC, "-std=c99", "-O2", "-ffp-contract=off", "f.c", "-o", "f", "-lm"], cwd=tmp_path, check=True)
    found = subprocess.run([tmp_path / "f"], capture_output=True, text=True, check=True).stdout.split()
    assert list(map(float, found)) == pytest.approx(list(expected.values()), rel=1e-14)   # other functions of libm


def test_numbers_beside_tensors() -> None:
    text = succeeds("vjp", "-e", "input x(N); y(i) = l1*cos(x(i))", "--at", "l1=0.4", "--emit", "text").out
    assert "\n# outputs: y(N), d_dx(N)\n# inputs: x(N), d_dy(N)\n# constants: l1 = 0.4\n" in text
    assert "\ny(i) = 0.4 * cos(x(i))\n" in text


def test_solve_emits_its_equations_with_constants() -> None:
    words = ("solve", "-e", "x**2 - a*c", "--emit", "text", "--at", "a=2")
    assert "\n# outputs: f, df_dx, df_dc\n# inputs: x, c\n# constants: a = 2.0\n" in succeeds(*words, "--wrt", "x").out
    assert "\n# outputs: f, dx_dc\n" in succeeds(*words, "--wrt", "x", "--sensitivities").out


@pytest.mark.parametrize("words, said", [
    (["grad", "--at", "l1=0:1:3"], "with --emit, --at gives inputs one value each\nhelp: write --at k=3"),
    (["grad", "--at", "l3=1"], "no input 'l3'\nhelp: the inputs are l1, q1, l2, q2"),
    (["grad", "--at", "l1=1", "--at", "l1=2"], "'l1' is given twice"),
    (["jvp", "--at", "dq1=1"], "no input 'dq1'"),
    (["grad", "--at", "l1=2±0.1"], "spreads are for propagate"),
    (["propagate", "--at", "l1=2±0.1"], "an emitted program has the uncertainty as an input, u_l1\nhelp: leave 'l1' out of --at"),
    (["solve", "--wrt", "q1,q2", "--at", "q1=1"], "--at q1: an unknown is no constant, and an emitted program has no start\n"
                                                  "help: leave 'q1' out of --at"),
    (["grad", "--at", "l1=1", "--data", "-"], "--data cannot be used with --emit")])
def test_what_is_no_constant(words: list[str], said: str) -> None:
    ended = adcli(words[0], "-e", ARM, *words[1:], "--emit", "c")
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


def test_tensors_and_integers_stay_inputs_and_ranges_are_noted() -> None:
    for program, at, kind in (("input x(N); s +=! x(i)", "x=[1,2]", "a tensor"), ("input int32 T; y = T*z", "T=3", "an integer")):
        name = at[0]
        assert adcli("eval", "-e", program, "--at", at, "--emit", "c").err == \
            f"adcli: error: --at {name}: {kind} cannot be a constant of a program\n" \
            f"help: leave it out: the program then has the input {name}\n"
    outside = adcli("eval", "-e", "input k in [0, 1]; y = k*x", "--at", "k=2", "--emit", "c")
    assert outside.code == 0 and "k = 2.0 is outside its range [0.0, 1.0]" in outside.err
