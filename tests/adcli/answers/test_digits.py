"""--digits: the counts beside the results in every format, and what they do not go with."""
from __future__ import annotations

import sys

import pytest
from command import adcli, succeeds

# ---------------------------------------------------------------- what is printed

def test_text_is_a_program_with_aligned_comments():
    out = succeeds("grad", "-e", "(1-cos(x))/x**2", "--at", "x=1e-7", "--digits").out
    assert out == ("f = 0.5107025913275721       # 1.7 digits, exactly 0.49999999999999958\n"
                   "df_dx = -214051.8265514616   # 0.0 digits, exactly -8.3333333333333274e-9\n")
    assert succeeds("eval", "-e", out).out == "f = 0.5107025913275721\ndf_dx = -214051.8265514616\n"


def test_several_points_status_and_seeds():
    out = succeeds("jvp", "-e", "x*y", "--at", "x=3,y=1:2:2", "--tangent", "x=1", "--digits", "--status").out
    assert out == ("# x = 3.0, y = 1.0, dx = 1.0, dy = 0.0\nf = 3.0    # exact\ndf = 1.0   # exact\nstatus = smooth\n\n"
                   "# x = 3.0, y = 2.0, dx = 1.0, dy = 0.0\nf = 6.0    # exact\ndf = 2.0   # exact\nstatus = smooth\n")


def sums(corner):
    """Options of a program with sums that cancel, and with a matrix."""
    text = "input x(n), A(n, n); s +=! x(i)**2; v(i) = s - x(i)**2; y = solve(A, x)"
    return "-e", text, "--at", f"x=[1e8,1],A=[[1,2],[3,{corner}]]", "--digits"


@pytest.mark.parametrize("corner, verb, said", [
    (4, "eval", "v = [0.0, 1e+16]  # 0.0 digits, exactly 1.0, the fewest at (0)\n"
                "y = [-199999999.0, 149999999.5]  # 16.0 digits, the fewest at (0)\n"),
    (6, "eval", "y = [nan, nan]  # 2 of 2 not a number in exact arithmetic either\n"),
    (4, "jvp", "dv = [2.0, 200000000.0]  # exact\n")])
def test_a_tensor_has_the_fewest_digits_of_its_elements(corner, verb, said):
    ended = adcli(verb, *sums(corner), *(["--tangent", "x=1"] if verb == "jvp" else []))
    assert said in ended.out, ended


def test_digits_of_tensors_in_json():
    (found,) = adcli("eval", *sums(4), "--format", "json").records
    assert found["digits"]["value"] == {"v": [0.0, 17.0], "y": [16.0, 16.0]}
    assert "of tensors needs --format text or json" in adcli("eval", *sums(4), "--format", "csv").err


def test_json_mirrors_the_results():
    (found,) = adcli("grad", "-e", "v = x/3", "--at", "x=1", "--digits", "--format", "json").records
    assert found["value"] == {"v": 1 / 3} and found["grad"] == {"v": {"x": 1 / 3}}
    assert found["digits"] == {"value": {"v": 16.0}, "grad": {"v": {"x": 16.0}}}
    (found,) = adcli("eval", "-e", "v = x", "--at", "x=nan", "--digits", "--format", "json").records
    assert found["digits"] == {"value": {"v": None}}


def test_csv_has_a_column_of_digits_for_every_result():
    out = succeeds("grad", "-e", "v = x*y", "--at", "x=3,y=0.1", "--digits", "--format", "csv", "--status").out
    assert out == ("x,y,v,v_digits,dv_dx,dv_dx_digits,dv_dy,dv_dy_digits,status\n"
                   "3.0,0.1,0.30000000000000004,16.00,0.1,17.00,3.0,17.00,smooth\n")


@pytest.mark.parametrize(("formula", "at", "said"), [
    ("exp(x)", "x=1000", "0.0 digits, exactly 1.970071114017047e+434"),
    ("exp(-x)", "x=1000", "0.0 digits, exactly 5.0759588975494568e-435"),
    ("x*x", "x=1e-160", "5.0 digits, exactly 9.9999999999999998e-321"),
    ("1/x", "x=0", "infinite, with the sign of a zero"), ("x-x", "x=1", "exact"), ("x*0.1", "x=0", "exact"),
    ("sin(x)**2+cos(x)**2-1", "x=2.5", "not proven"), ("sin(x)**2+cos(x)**2-1", "x=2", "0.0 digits, exact value not proven"),
    ("exp(exp(exp(x)))", "x=7", "0.0 digits, exact value not proven"), ("1/exp(exp(exp(x)))", "x=7", "not proven"),
    ("log(1-sigmoid(x))", "x=1700", "0.0 digits, exactly -1700.0"), ("atanh(tanh(x))", "x=1000", "0.0 digits, exactly 1000.0"),
    ("log(0.5*(1-erf(x/sqrt(2))))", "x=60", "0.0 digits, exactly -1805.0135606805671"),
    ("((1+exp(-x**2))-1)/exp(-x**2)", "x=50", "0.0 digits, exactly 1.0"),
    ("log(exp(-exp(exp(x))))", "x=5", "0.0 digits, exactly -2.8511235679461511e+64"),
    ("log(exp(exp(exp(x))))", "x=4", "0.0 digits, exactly 5.1484355626345721e+23"),
    ("log(1+exp(-x))", "x=1921", "0.0 digits, exactly 5.2517042870474022e-835"),
    ("1+exp(-x)==1 ? 1 : 2", "x=2000",
     "0.3 digits, exactly 2.0; a comparison has the other outcome in exact arithmetic"),
    ("log(x)", "x=-1", "not a number in exact arithmetic either"),
    ("exp(x)-exp(x)*1", "x=1000", "0.0 digits, exactly 0.0"),
    ("sqrt(x*x-1e-30)", "x=0", "not a number in exact arithmetic either"),
    ("(x+1)-x-1", "x=1e20", "0.0 digits, exactly 0.0"),
    ("log(x-1)", "x=1.0", "exact"), ("sin(x)", "x=inf", "not a number in exact arithmetic either"),
    ("gamma(x)", "x=-3", "not a number in exact arithmetic either"),
])
def test_ends_of_the_range(formula, at, said):
    assert adcli("eval", "-e", formula, "--at", at, "--digits", "-q").out.rstrip().endswith(f"# {said}")


@pytest.mark.parametrize("formula", ["sin(exp(exp(x)))", "tan(exp(exp(exp(x))))", "gamma(-exp(exp(x)))",
                                     "fmax(cos(exp(exp(x))), 0.5)", "exp(-exp(exp(exp(x))))"])
def test_of_what_is_too_large_to_be_computed_nothing_is_claimed(formula):
    said = adcli("eval", "-e", formula, "--at", "x=50", "--digits", "-q").out.rstrip()
    assert said.endswith(("# not proven", "nan   # 0.0 digits, exact value not proven"))
    guarded = f"x > 1 ? x : {formula}"
    assert adcli("eval", "-e", guarded, "--at", "x=50", "--digits", "-q").out == "f = 50.0   # exact\n"


def test_a_value_that_is_zero_but_for_rounding_has_no_digits():
    (found,) = adcli("eval", "-e", "(x+y)**2 - x*x - 2*x*y - y*y", "--at", "x=0.1,y=0.3", "--digits", "--format", "json").records
    assert found["value"]["f"] != 0 and found["digits"]["value"]["f"] == 0
    (found,) = adcli("eval", "-e", "exp(log(x))", "--at", "x=2", "--digits", "--format", "json").records
    assert found["value"]["f"] == 2 and found["digits"]["value"]["f"] == 16   # 2 to 1200 digits is no proof that it is 2
    (found,) = adcli("eval", "-e", "tanh(x)", "--at", "x=40", "--digits", "--format", "json").records
    assert found["value"]["f"] == 1 and found["digits"]["value"]["f"] == 16


def test_another_branch_is_said():
    at = ("--at", "x=1e-17", "--digits")
    out = adcli("eval", "-e", "v = x + 1 > 1 ? x : -x", "-e", "w = x", *at).out
    assert out == ("v = -1e-17   # 0.0 digits, exactly 1.0000000000000001e-17; "
                   "a comparison has the other outcome in exact arithmetic\n"
                   "w = 1e-17    # exact\n")
    (found,) = adcli("eval", "-e", "v = x + 1 > 1 ? x : -x", "-e", "w = x", *at, "--format", "json").records
    assert found["turned"] == ["v"]


def test_strict_and_notes_are_as_without():
    plain, counted = (adcli("grad", "-e", "log(x)", "--at", "x=0", "--strict", *more) for more in ((), ("--digits",)))
    assert (plain.code, plain.err) == (counted.code, counted.err) and plain.code == 4


def test_every_derivative_verb_takes_digits():
    for verb in ("eval", "grad", "jacobian", "hessian"):
        assert "digits" in succeeds(verb, "-e", "x**3/7", "--at", "x=0.7", "--digits").out
    for verb in ("jvp", "hvp", "taylor"):
        assert "digits" in succeeds(verb, "-e", "x**3/7", "--at", "x=0.7", "--tangent", "x=1", "--digits").out


def test_a_zero_seed_drops_what_it_would_have_caused():
    out = adcli("jvp", "-e", "x*sqrt(y)", "--at", "x=2,y=0", "--tangent", "x=1", "--digits", "-q").out
    assert out == "f = 0.0    # exact\ndf = 0.0   # exact\n"


@pytest.mark.parametrize("more", [["--fast-math"], ["--enclose"]])
def test_what_digits_do_not_go_with(more):
    assert adcli("eval", "-e", "x", "--at", "x=1", "--digits", *more).code == 2


def test_without_python_flint_its_installation_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "flint", None)
    ended = adcli("eval", "-e", "x", "--at", "x=1", "--digits")
    assert ended.code == 2 and ended.err.endswith(f"help: {sys.executable} -m pip install python-flint\n")


# ---------------------------------------------------------------- numbers that are chosen

KINK, EXACT = "by convention at a kink", "exact"


@pytest.mark.parametrize("command, said", [
    (("grad", "-e", "v = 0.5*hypot(x, y)**2", "--at", "x=0,y=0", "--order", "2"), [EXACT, KINK, KINK, KINK, KINK, KINK]),
    (("grad", "-e", "v = abs(x)**2 + y**2", "--at", "x=0,y=1", "--order", "2"), [EXACT, KINK, EXACT, KINK, EXACT, EXACT]),
    (("grad", "-e", "v = x == 0 ? 0 : x", "--at", "x=0"), [EXACT, "by convention at a jump"]),
    (("jacobian", "-e", "v = max(x, y); w = x", "--at", "x=1,y=1"), [EXACT, EXACT, KINK, KINK, EXACT, EXACT]),
    (("hessian", "-e", "v = max(x**2, 2*x**2)", "--at", "x=0"), [EXACT, KINK, KINK]),
    (("jvp", "-e", "v = abs(x) + y", "--at", "x=0,y=1", "--tangent", "x=1"), [EXACT, KINK]),
    (("jvp", "-e", "v = abs(x) + y", "--at", "x=0,y=1", "--tangent", "y=1"), [EXACT, EXACT]),
    (("vjp", "-e", "v = abs(x); w = x", "--at", "x=0", "--cotangent", "w=1"), [EXACT, EXACT, EXACT]),
    (("vjp", "-e", "v = abs(x); w = x", "--at", "x=0", "--cotangent", "v=1"), [EXACT, EXACT, KINK]),
    (("hvp", "-e", "v = abs(x)**2 + y**2", "--at", "x=0,y=1", "--tangent", "x=1"), [EXACT, KINK, EXACT]),
    (("taylor", "-e", "v = abs(x)**2", "--at", "x=0", "--order", "2"), [EXACT, KINK, KINK]),
    (("grad", "-e", "input x(N); v max=! x(i)", "--at", "x=[1,1,0]"), [EXACT, "exact; 2 of 3 by convention at a kink"]),
    (("jvp", "-e", "input x(N); v(i) = abs(x(i))", "--at", "x=[0,0]", "--tangent", "x=[0,1]"),
     [EXACT, "exact; 1 of 2 by convention at a kink"]),
    (("vjp", "-e", "input x(N); v(i) = abs(x(i))", "--at", "x=[0,0]", "--cotangent", "v=[0,1]"),
     [EXACT, "exact; 1 of 2 by convention at a kink"]),
    (("taylor", "-e", "input x(N); v(i) = abs(x(i))", "--at", "x=[0,1]", "--tangent", "x=1", "--order", "1"),
     [EXACT, "exact; 1 of 2 by convention at a kink"]),
])
def test_what_is_chosen_at_a_kink_has_no_digits_and_no_bounds(command, said):
    out = succeeds(*command, "--digits", "-q").out
    assert [line.partition("#")[2].strip() for line in out.splitlines()] == said
    (found,) = succeeds(*command, "--digits", "-q", "--format", "json").records
    assert ("17.0" in str(found["digits"]), "None" in str(found["digits"])) == (True, "conventions" in found)
    (found,) = adcli(*command, "--enclose", "--format", "json").records
    assert ("'trv'" in str(found["decoration"])) is ("convention" in str(said))
    assert adcli(*command, "--enclose", "--strict").code == 4 * ("convention" in str(said))


def test_conventions_in_csv_and_json():
    command = "grad", "-e", "v = abs(x)*y", "--at", "x=0,y=2", "-q"
    assert succeeds(*command, "--digits", "--format", "csv").out == (
        "x,y,v,v_digits,dv_dx,dv_dx_digits,dv_dy,dv_dy_digits\n0.0,2.0,0.0,17.00,0.0,,0.0,17.00\n")
    (found,) = succeeds(*command, "--digits", "--format", "json").records
    assert found["conventions"] == ["dv_dx"] and found["digits"]["grad"] == {"v": {"x": None, "y": 17.0}}
    assert adcli(*command, "--enclose").out == ("input v in [0.0, 0.0]\n"
                                                "input dv_dx in [-inf, inf]   # by convention at a kink\n"
                                                "input dv_dy in [0.0, 0.0]\n")
    assert "dv_dx in [-1.0, 1.0]   # may be by convention at a kink" in adcli(
        "grad", "-e", "v = abs(x)", "--at", "x=0±1", "--enclose").out
