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
from command import numbers, succeeds
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

