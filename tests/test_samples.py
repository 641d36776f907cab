"""Every program in samples/: it prints what its comments say, and its derivatives hold by independent methods.

The comments of a sample give commands (`# Try:`) and what each prints. The point of the first command is a smooth one; there
the two modes agree, the gradient equals central differences in multiple precision, and a reverse derivative of the printed
forward derivative is a Hessian-vector product. The derivatives of samples with tensors are held against PyTorch's in
tests/test_sample_references.py.
"""
from __future__ import annotations

import pathlib
import re

import mpmath
import pytest
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import evaluate
from adcli.lang.ir import Program
from command import pipe, succeeds
from multiple_precision import mpmath_arithmetic
from sample_files import ROOT, SAMPLES, SCALARS

import adcli

DIGITS, STEP = 60, mpmath.mpf(10) ** -15
every_sample = pytest.mark.parametrize("path", SAMPLES, ids=[p.stem for p in SAMPLES])
every_sample_of_scalars = pytest.mark.parametrize("path", SCALARS, ids=[p.stem for p in SCALARS])


def tries(path: pathlib.Path) -> list[tuple[str, str]]:
    """The commands of a sample and what each is said to print."""
    text = path.read_text(encoding="utf-8")
    found = re.findall(r"^# Try:  (.+)\n# prints:\n((?:#   .*\n)+)", text, re.M)
    assert len(found) == text.count("# Try:"), "a command without what it prints"
    return [(command, re.sub(r"^#   ", "", shown, flags=re.M)) for command, shown in found]


def first_point(path: pathlib.Path, program: Program) -> dict[str, float]:
    """The point of the first command, all inputs included."""
    found = re.search(r"--at (\S+)", tries(path)[0][0])
    given = dict(part.split("=") for part in found[1].split(",")) if found else {}
    return {p.name: float(given.get(p.name, p.default)) for p in program.params}


def differences(function, at: dict[str, float], name: str) -> dict[str, mpmath.mpf]:
    """Central differences of every result along one input, at 60 digits."""
    with mpmath.workdps(DIGITS):
        here = {k: mpmath.mpf(x) for k, x in at.items()}
        above, below = (function({**here, name: here[name] + s * STEP}) for s in (1, -1))
        return {r: (above[r] - below[r]) / (2 * STEP) for r in above}


def close(got: float, want: float, largest: float = 1.0) -> bool:
    return abs(got - float(want)) <= 1e-12 * max(abs(float(want)), largest * 1e-2)


@every_sample
def test_it_prints_what_its_comments_say(path):
    commands = tries(path)
    assert commands, "a sample without a command"
    for command, shown in commands:
        assert f" samples/{path.name} " in f"{command} "
        assert pipe(command, ROOT) == shown, command


@every_sample
def test_it_begins_with_what_it_is_and_is_in_canonical_form(path):
    assert re.match(r"# \S.+\n(# \S.+\n)+#\n# Try:", path.read_text(encoding="utf-8"))
    succeeds("fmt", "--check", path)


@every_sample_of_scalars
def test_both_modes_give_the_central_differences(path):
    f = adcli.load(path)
    at = first_point(path, f.program)
    names = [p.name for p in f.program.params]
    by_mode = {mode: adcli.Function(gradient(f.program, names, None, mode))(at) for mode in ("forward", "reverse")}
    exact = mpmath_arithmetic(DIGITS)
    for x in names:
        want = differences(lambda point: evaluate(f.program, point, exact), at, x)
        for v in f.outputs:
            for mode, got in by_mode.items():
                assert close(got[f"d{v}_d{x}"], want[v], abs(by_mode["forward"][v])), (mode, v, x, got[f"d{v}_d{x}"], want[v])


@every_sample_of_scalars
def test_a_reverse_derivative_of_the_printed_forward_one_is_a_hessian_vector_product(path):
    f = adcli.load(path)
    at, v = first_point(path, f.program), f.outputs[0]
    active = [p.name for p in f.program.params if p.active]
    along = {x: 1.0 + 0.5 * i for i, x in enumerate(active)}
    point = ",".join(f"{k}={x!r}" for k, x in {**at, **{f"d{x}": s for x, s in along.items()}}.items())
    printed = pipe(f"adcli jvp samples/{path.name} --of {v} --emit text |"
                   f" adcli vjp - --wrt {','.join(active)} --at {point} --cotangent d{v}=1", ROOT)
    got = {name: float(x) for name, x in re.findall(r"^(\w+) = (\S+)$", printed, re.M)}
    exact = mpmath_arithmetic(DIGITS)
    first = gradient(f.program, active, [v], "forward")
    want = dict.fromkeys(active, mpmath.mpf(0))
    for x in active:
        for name, second in differences(lambda p: evaluate(first, p, exact), at, x).items():
            if name != v:
                want[name.removeprefix(f"d{v}_d")] += second * along[x]
    largest = max(abs(float(x)) for x in want.values())
    assert all(close(got[f"d_d{x}"], want[x], largest) for x in active), (got, want)


# ---------------------------------------------------------------- values known from elsewhere

def test_black_scholes_by_the_formulas_of_the_greeks():
    s, k, r, v, t = 100, 105, 0.03, 0.2, 0.5
    d1 = (mpmath.log(mpmath.mpf(s) / k) + (r + v * v / 2) * t) / (v * mpmath.sqrt(t))
    d2 = d1 - v * mpmath.sqrt(t)
    discount = mpmath.exp(-r * t)
    got = adcli.load(ROOT / "samples/black_scholes.ad").grad(order=2)(s=s, k=k, r=r, v=v, t=t)
    assert close(got["c"], s * mpmath.ncdf(d1) - k * discount * mpmath.ncdf(d2))
    assert close(got["dc_ds"], mpmath.ncdf(d1))
    assert close(got["dc_dv"], s * mpmath.npdf(d1) * mpmath.sqrt(t))
    assert close(got["dc_dr"], k * t * discount * mpmath.ncdf(d2))
    assert close(got["dc_dt"], s * mpmath.npdf(d1) * v / (2 * mpmath.sqrt(t)) + r * k * discount * mpmath.ncdf(d2))
    assert close(got["d2c_ds_ds"], mpmath.npdf(d1) / (s * v * mpmath.sqrt(t)))


def test_the_least_energy_of_two_atoms_is_at_the_sixth_root_of_two():
    got = adcli.load(ROOT / "samples/lennard_jones.ad").grad()(x=2 ** (1 / 6) * 3.405, y=0.0, z=0.0)
    assert close(got["energy"], -10.34)
    assert abs(got["denergy_dx"]) < 1e-13


def test_the_jacobian_of_the_arm_is_that_of_the_textbook():
    q1, q2 = 0.3, 0.8
    got = adcli.load(ROOT / "samples/two_link_arm.ad").grad()(q1=q1, q2=q2)
    far = (-0.3 * mpmath.sin(q1 + q2), 0.3 * mpmath.cos(q1 + q2))
    near = (-0.4 * mpmath.sin(q1), 0.4 * mpmath.cos(q1))
    assert close(got["dpx_dq1"], near[0] + far[0])
    assert close(got["dpx_dq2"], far[0])
    assert close(got["dpy_dq1"], near[1] + far[1])
    assert close(got["dpy_dq2"], far[1])


def test_the_mass_matrix_of_the_double_pendulum():
    got = adcli.load(ROOT / "samples/pendulum.ad").grad(wrt=["u", "w"], order=2)(a=0.5, b=-0.3, u=1.0, w=2.0)
    assert close(got["d2L_du_du"], 1.5)
    assert close(got["d2L_du_dw"], 0.5 * 0.8 * mpmath.cos(0.8))
    assert close(got["d2L_dw_dw"], 0.5 * 0.8**2)


def test_the_tail_of_the_normal_distribution():
    got = adcli.load(ROOT / "samples/normal.ad").grad()(x=12.0, mu=0.0, s=0.0)
    tail = mpmath.erfc(12 / mpmath.sqrt(2)) / 2
    assert close(got["logpdf"], mpmath.log(mpmath.npdf(12)))
    assert close(got["logtail"], mpmath.log(tail))
    assert close(got["dlogtail_dmu"], mpmath.npdf(12) / tail)


def test_the_textbook_example():
    got = adcli.load(ROOT / "samples/textbook.ad").grad()(x1=2.0, x2=5.0)
    assert close(got["dy_dx1"], 5.5)
    assert close(got["dy_dx2"], 2 - mpmath.cos(5))


# ---------------------------------------------------------------- the stages of the worked example, line by line


def test_the_stages_of_the_worked_example_are_programs():
    forward, reverse = (succeeds("show", ROOT / "samples/worked.ad", "--stage", stage).out for stage in ("forward", "reverse"))
    assert adcli.compile(forward)(x=2.0, y=5.0, dx=1.0, dy=0.0) == {"v": 3920.6, "dv": 5880.0}
    got = adcli.compile(reverse)(x=2.0, y=5.0, d_dv=1.0)
    assert got == pytest.approx({"v": 3920.6, "d_dx": 5880.0, "d_dy": -0.12}, rel=1e-15)

