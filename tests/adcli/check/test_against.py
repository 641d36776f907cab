"""`adcli check --against`: somebody's derivatives beside ours, called as a library, as a Python function and as a command."""
from __future__ import annotations

import random
import shlex
import sys

import pytest
from adcli.codegen.c.source import source
from adcli.codegen.rows.expand import for_machine
from adcli.codegen.scripts import python
from adcli.lang.derive.derivatives import gradient, hessian
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from command import adcli, succeeds
from places import ROOT
from sample_files import SCALARS
from session_seed import drawn, half
from somebody import BY_X, BY_Y, TEXT, VALUE, asked, compiled, held, looked_at, needs_c

from adcli.check.against import Against, Returned
from adcli.check.foreign import Answer, Foreign
from adcli.check.subject import Native

# ---------------------------------------------------------------- faults of each kind, in each of the three ways

FAULTS = {
    "right": ([VALUE, BY_X, BY_Y], None, ""),
    "wrong sign of a term": ([VALUE, BY_X, "x*cos(y) + 3*x/(y*y)"], "dv_dy", "the part that comes from '3*x/y' has the"),
    "wrong sign": ([VALUE, BY_X, f"-({BY_Y})"], "dv_dy", "dv_dy has the wrong sign at every point"),
    "a term is missing": ([VALUE, "sin(y)", BY_Y], "dv_dx", "in dv_dx, the part that comes from '3*x/y' is missing"),
    "a wrong rule": ([VALUE, BY_X, "-x*cos(y) - 3*x/(y*y)"], "dv_dy", "comes from 'x*sin(y)' has the wrong sign"),
    "twice": ([VALUE, f"2*({BY_X})", BY_Y], "dv_dx", "dv_dx counts twice at every point"),
    "degrees": ([VALUE, BY_X, "x*cos(y)*0.017453292519943295 - 3*x/(y*y)"], "dv_dy", "'x*sin(y)' counts 0.0174533 times"),
    "exchanged": ([VALUE, BY_Y, BY_X], "dv_d", ""),
    "value": (["x*sin(y) - 3*x/y", BY_X, BY_Y], "v", "in v, the part that comes from '3*x/y' has the wrong sign"),
    "too few": ([BY_Y] * 5, None, "returns 5 numbers; expected are value 1, gradient 2, hessian 4, all 3 or 6 or 7"),
    "not a number": ([VALUE, "0*x/(y - y)", BY_Y], "dv_dx", ""),
}


def in_c(folder, formulas):
    lines = [f"out[{i}] = {formula};" for i, formula in enumerate(formulas)]
    return compiled(folder, "#include <math.h>\nint f(const double *in, double *out) { double x = in[0], y = in[1]; "
                    + " ".join(lines) + " return 0; }")


def in_python(folder, formulas):
    (folder / "m.py").write_text("from math import *\ndef f(x, y):\n    def quiet(f):\n        try:\n            return f()\n"
                                 "        except ZeroDivisionError:\n            return nan\n"
                                 f"    return [{', '.join(f'quiet(lambda: {formula})' for formula in formulas)}]\n")
    return f"{folder / 'm.py'}:f"


def as_command(folder, formulas):
    printed = ", ".join(formula.replace("0*x/(y - y)", '"nan"') for formula in formulas)
    shown = ",".join("%s" if '"nan"' in f else "%.17g" for f in printed.split(", "))
    return f"awk -F, 'NR > 1 {{x = $1; y = $2; printf \"{shown}\\n\", {printed}}}'"


WAYS = {"a library": in_c, "Python": in_python, "a command": as_command}


@pytest.mark.parametrize(("fault", "way"), half([pytest.param(f, w, marks=needs_c if w == "a library" else ())
                                                 for w in WAYS for f in FAULTS]))
def test_a_fault_of_each_kind_is_caught_and_explained_in_each_way(fault, way, tmp_path):
    formulas, entry, said = FAULTS[fault]
    against = held(WAYS[way](tmp_path, formulas), symbol="f" if way == "a library" else None)
    tally = against.tally
    if fault == "right":
        assert (tally.failed, tally.compared, tally.findings) == (0, 12, []) and tally.digits > 14
    elif entry is None:
        assert tally.failed and said in tally.findings[0].message
    else:
        assert tally.failed and tally.worst.name.startswith(entry) and not tally.findings
        found = against.explanation(tally.worst)
        assert said in found.message if said else found is None
        if "'" in said and fault != "value":
            start, end = found.span
            assert said.split("'")[1] == TEXT[start:end]


@needs_c
def test_single_precision_fails_and_its_digits_are_counted(tmp_path):
    library = compiled(tmp_path, "#include <math.h>\nint f(const double *in, double *out) { float x = in[0], y = in[1];"
                                 f" out[0] = (float)({VALUE}); out[1] = (float)({BY_X}); out[2] = (float)({BY_Y}); return 0; }}")
    against = held(library, symbol="f")
    assert against.tally.failed > 8 and 6 < against.tally.digits < 9
    assert "single precision: " in against.explanation(against.tally.worst).message
    for sign, found in ("", "single precision: "), ("-", "dv_dx has the wrong sign"):
        (tmp_path / "m.py").write_text("import numpy as np\nfrom numpy import cos, sin\n"
                                       "def f(p):\n    x, y = np.asarray(p, np.float32)\n"
                                       f"    return [np.float32({sign}({BY_X})), np.float32({BY_Y})]\n")
        against = held(f"{tmp_path / 'm.py'}:f")
        assert found in against.explanation(against.tally.worst).message
    seven = f"awk -F, 'NR > 1 {{x = $1; y = $2; printf \"%.7g,%.7g\\n\", {BY_X}, {BY_Y}}}'"
    assert held(seven).tally.failed and 6 < held(seven).tally.digits < 9


@pytest.mark.parametrize(("entries", "said"), [
    ("1, -2", "dv_dy comes from '2*y' alone, and that has the wrong sign"), ("0, 0", "is missing"), ("1, 3", None)])
def test_simple_numbers_show_a_term_where_one_factor_explains_them(entries, said, tmp_path):
    (tmp_path / "m.py").write_text(f"def f(x, y): return [{entries}]\n")
    against = held(f"{tmp_path / 'm.py'}:f", "v = x + 2*y", samples=3)
    found = against.explanation(against.tally.worst)
    assert said in found.message if said else found is None


# ---------------------------------------------------------------- what is right passes

@needs_c
def test_our_own_c_passes_for_every_sample(tmp_path):
    samples = [(p, parse(p.read_text(encoding="utf-8"))) for p in drawn("against C").sample(SCALARS, 3)]
    written = []
    for p, program in samples:
        written.append(source(for_machine(gradient(program)), f"{p.stem}_grad").text)
        if len(program.results) == 1:
            written.append(source(for_machine(hessian(program)), f"{p.stem}_hessian").text)
    library = compiled(tmp_path, "\n".join(written))
    for p, program in samples:
        for verb in ("grad", "hessian")[:1 + (len(program.results) == 1)]:
            tally = held(library, p.read_text(encoding="utf-8"), f"{p.stem}_{verb}", "all", samples=2).tally
            assert (tally.failed, tally.findings) == (0, []) and tally.compared, (p.stem, tally.worst)


def test_arrays_tuples_and_dicts_of_python_are_understood(tmp_path):
    (tmp_path / "m.py").write_text(f"""
import numpy as np
from math import cos, sin
def array(p): x, y = p; return np.array([{BY_X}, {BY_Y}])
def pair(p): x, y = p; return {VALUE}, np.array([{BY_X}, {BY_Y}])
def named(y, x): return dict(dv_dy={BY_Y}, v={VALUE}, other=5)
def matrix(x, y, *, extra=1): return np.array([[0, cos(y) - 3/y**2], [cos(y) - 3/y**2, -x*sin(y) + 6*x/y**3]])
class Model:
    def __call__(self, p): return array(p)
    @staticmethod
    def value(x, y): return np.float64({VALUE})
model = Model()
def one(t): from math import sin; return sin(t)
""")
    (tmp_path / "m.py").write_text((tmp_path / "m.py").read_text() + """
class Lazy:
    def __init__(self, values): self.values = values
class Array(Lazy):
    def __array__(self, dtype=None, copy=None): return np.array(self.values)
class Sequence(Lazy):
    def __len__(self): return len(self.values)
    def __getitem__(self, i): return self.values[i]
class Series(Lazy):
    def keys(self): return range(2)
    def items(self): return enumerate(self.values)
def framework(p): return Array(array(p))
def lazy(p): return map(float, Sequence(list(array(p))))
def series(p): return Series(array(p))
def keywords(**inputs): return array([inputs["x"], inputs["y"]])
def more(p): return dict(dv_dx=array(p)[0], converged="yes", steps=[1, 2])
""")
    for name, compared in half((("framework", 8), ("lazy", 8), ("series", 8), ("keywords", 8), ("more", 4))):
        tally = held(f"{tmp_path / 'm.py'}:{name}").tally
        assert (tally.failed, tally.compared) == (0, compared), (name, tally)
    for name, compared in half((("array", 8), ("pair", 12), ("named", 8), ("matrix", 16), ("model", 8), ("Model.value", 4))):
        tally = held(f"{tmp_path / 'm.py'}:{name}").tally
        assert (tally.failed, tally.compared) == (0, compared), (name, tally)
    tally = held(f"{tmp_path / 'm.py'}:one", "v = sin(x)", returns="value").tally
    assert (tally.failed, tally.compared) == (0, 4)


@pytest.mark.parametrize(("between", "header", "more"), half([
    (",", "", ""), ("\t", "", ""), ("; ", "", ""), ("  ", "", ""), (" ", "v dv_dx dv_dy", ""),
    (",", ",v,dv_dx,dv_dy,note", ",fine"), (",", "v,dv_dx,dv_dy,d v/d z", ",-")]))
def test_tables_of_other_programs_are_read(between, header, more):
    first = '"0,"' if header.startswith(",") else '""'
    printed = ", ".join([first, *(f'sprintf("%.17g", {formula})' for formula in (VALUE, BY_X, BY_Y))])
    begin = f"BEGIN {{print \"{header}\"}}" if header else ""
    form = between.join(["%s%s", "%s", "%s"])
    tally = held(f"awk -F, '{begin} NR > 1 {{x = $1; y = $2; printf \"{form}{more}\\n\", {printed}}}'").tally
    assert (tally.failed, tally.compared, tally.findings) == (0, 12, []), tally


def test_a_part_of_a_package_may_import_its_neighbours(tmp_path):
    (tmp_path / "package" / "inner").mkdir(parents=True)
    for name, text in (("__init__", ""), ("b", f"def f(x, y): return {BY_X}, {BY_Y}\n"), ("inner/__init__", ""),
                       ("inner/a", "from math import *\nfrom .. import b\nb.sin, b.cos = sin, cos\nfrom ..b import f\n")):
        (tmp_path / "package" / f"{name}.py").write_text(text)
    assert held(f"{tmp_path / 'package' / 'inner' / 'a.py'}:f").tally.failed == 0


def test_our_own_python_passes_with_names_that_python_has_not(tmp_path):
    for text in ("input f = 2, lambda = 1.5, α\nv = f*lambda + sin(α)", "input x = 1, y = 2\nv = x*sin(y)"):
        (tmp_path / "m.py").write_text(python.module(gradient(parse(text)), "f"))
        tally = held(f"{tmp_path / 'm.py'}:f", text).tally
        assert (tally.failed, tally.findings) == (0, []) and tally.compared > 8


def test_adcli_itself_is_a_command_that_passes():
    program = ROOT / "samples" / "rosenbrock.ad"
    what = shlex.join([sys.executable, "-m", "adcli", "hessian", str(program), "--data", "-"])
    tally = held(what, program.read_text(encoding="utf-8"), samples=2).tally
    assert (tally.failed, tally.findings, tally.compared) == (0, [], 2 * (1 + 10 + 55))


# ---------------------------------------------------------------- random programs in another association

FUNCTIONS = ("sin({})", "exp({})", "tanh({})", "sqrt(1 + {}**2)", "log(2 + {}**2)", "({})**3")


def expression(r, depth):
    """Sums and products of any length, as nested tuples."""
    kind = r.random() if depth else 1.0
    if kind < 0.45:
        return "+", [expression(r, depth - 1) for _ in range(r.randint(2, 4))]
    if kind < 0.75:
        return "*", [expression(r, depth - 1) for _ in range(r.randint(2, 3))]
    if kind < 0.9 or (depth and kind < 1.0):
        return r.choice(FUNCTIONS), [expression(r, depth - 1)]
    return r.choice(("x", "y", "z", repr(round(r.uniform(0.1, 3), 2)))), []


def written(e, r):
    """The text of an expression in an order and association of its own."""
    kind, parts = e
    texts = [f"({written(part, r)})" for part in parts]
    if kind not in ("+", "*"):
        return kind.format(*texts)
    r.shuffle(texts)
    while len(texts) > 1:
        i = r.randrange(len(texts) - 1)
        texts[i:i + 2] = [f"({texts[i]} {kind} {texts[i + 1]})"]
    return texts[0]


class Ours(Foreign):
    """The derivatives of a text, by native code in this process."""

    def answers(self, inputs, points, most, arrays=False):
        native = Native(gradient(parse(self.what), list(inputs)))
        return [Answer(tuple(row)) for row in zip(*native(points), strict=True)]


def test_another_association_passes_and_a_planted_sign_fails():
    r, told_of = drawn("against"), 0
    for _ in range(4):
        parts, other_order = [("+", [expression(r, 3), expression(r, 2)]) for _ in range(2)], random.Random(1)
        text = f"input x, y, z\nv = {' + '.join(f'({written(e, other_order)})' for e in parts)} + exp(x + y*z)"
        other = f"input x, y, z\nv = exp(x + y*z) + ({' + '.join(f'({written(e, r)})' for e in parts[::-1])})"
        check, seen = looked_at(text, 6)
        right, wrong = (Against(Ours(t, 1.0, "")) for t in (other, other.replace("v = ", "v = -")))
        assert asked(right, check, seen).tally.failed == 0, (text, other, right.tally.worst)
        assert asked(wrong, check, seen).tally.failed > 0, (text, other)
        told_of += wrong.explanation(wrong.tally.worst) is not None
    assert told_of >= 3


def test_prefix_text_run_as_a_command_passes_and_with_a_planted_sign_fails(tmp_path):
    e = expression(drawn("against prefix"), 3)
    term, program = f"({written(e, random.Random(2))})", "input x, y, z\nv = x*y*z + "
    for sign in ("", "-"):
        prefix = succeeds("grad", "-e", f"input x, y, z\nv = {sign}x*y*z + {term}", "--emit", "text", "--style", "prefix").out
        (tmp_path / "theirs.ad").write_text(prefix)
        against = held(shlex.join([sys.executable, "-m", "adcli", "eval", str(tmp_path / "theirs.ad")]), program + term)
        assert bool(against.tally.failed) is bool(sign) and not against.tally.findings, (prefix, against.tally)


# ---------------------------------------------------------------- the command line

def test_the_report_names_the_point_the_numbers_the_units_and_the_place(tmp_path):
    (tmp_path / "m.py").write_text("from math import *\ndef grad(x, y): return [sin(y) - 3/y, x*cos(y) - 3*x/y**2]\n")
    args = ["check", "-e", TEXT, "--against", tmp_path / "m.py:grad", "--samples", 3]
    ended = adcli(*args)
    assert ended.code == 1 and "worst: dv_dx at x = " in ended.out and "times what rounding allows" in ended.out
    assert "wrong: dv_dx at 3 of 3 points" in ended.out
    assert "-e:2:16: error: in dv_dx, the part that comes from '3*x/y' has the wrong sign\n" in ended.out
    record = adcli(*args, "--format", "json").records[0]
    method, fault = record["methods"][-1], record["fault"]
    assert (method["method"][:7], method["verdict"], method["compared"], method["failed"]) == ("against", "FAIL", 6, 3)
    assert (fault["entry"], fault["operation"], fault["line"], fault["column"]) == ("dv_dx", "div", 2, 16)
    assert method["findings"] == []
    assert abs(fault["got"] - fault["expected"]) > fault["allowed"] > 0
    alone = adcli("check", "-e", TEXT, "--against", tmp_path / "m.py:grad", "--at", "x=1,y=2").out
    assert "at more points than one, check looks for the part" in alone and "error:" not in alone


def test_a_finding_in_the_report(tmp_path):
    (tmp_path / "m.py").write_text("def grad(x, y): return [1/0, 2]\n")
    args = ["check", "-e", TEXT, "--against", tmp_path / "m.py:grad", "--samples", 2]
    ended = adcli(*args)
    assert ended.code == 1 and "FAIL     2 findings" in ended.out
    assert "raises ZeroDivisionError: division by zero (m.py:1), at x = " in ended.out and "and at 1 other point\n" in ended.out
    found = adcli(*args, "--format", "json").records[0]
    assert len(found["methods"][-1]["findings"]) == 2 and "ZeroDivisionError" in found["fault"]["message"]
    assert found["fault"]["entry"] is None and set(found["fault"]["at"]) == {"x", "y"}


def test_points_that_are_not_smooth_are_left_out_but_for_values():
    ended = adcli("check", "-e", "v = abs(x)*y", "--at", "x=0,y=2", "--against", "sed 's/x,y/v,dv_dx,dv_dy/; s/^0.*/0,5,5/'",
                  "--format", "json")
    method = ended.records[0]["methods"][-1]
    assert (ended.code, method["compared"], method["skipped"]) == (0, 1, {"kink at the point": 2})
    ended = adcli("check", "-e", "v = abs(x)*y", "--at", "x=0,y=2", "--against", "sed 's/x,y/dv_dx,dv_dy/; s/^0.*/0,5/'", "-q")
    assert ended == (1, ended.out, "", ended.data) and ended.out.startswith("nothing compared: no entry of sed")


@pytest.mark.parametrize(("what", "said"), [("./text.so -x", "ermission denied"), ("text.so", "text.so: cannot be loaded"),
                                           ("nosuchcommand_ -x", "not found")])
def test_what_the_system_cannot_call_is_a_mistake_of_the_command_line(what, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.so").write_text("text\n")
    ended = adcli("check", "-e", TEXT, "--samples", 1, "--against", what)
    assert (ended.code, ended.out) == (2, "") and said in ended.err, ended


# ---------------------------------------------------------------- which entries numbers are

def test_numbers_are_known_by_how_many_there_are():
    two = Returned(parse("u = x*y\nv = x + y"), ["x", "y"], None)
    assert [two.by_count(n) and len(two.by_count(n)) for n in (2, 4, 6, 8, 12, 14, 5)] == [2, 4, 6, 8, 12, 14, None]
    assert two.by_count(4) == [("u", ("x",)), ("u", ("y",)), ("v", ("x",)), ("v", ("y",))]
    assert two.by_name(["v", "dv_dy", "d2u_dy_dx", "q"]) == {0: ("v", ()), 1: ("v", ("y",)), 2: ("u", ("y", "x"))}
    half_of_it = Returned(parse("v = x*y"), ["x", "y"], "hessian")
    assert half_of_it.by_count(3) == [("v", ("x", "x")), ("v", ("x", "y")), ("v", ("y", "y"))] and half_of_it.by_count(2) is None
    one = parse("v = x**2")
    with pytest.raises(AdError, match="1 number can be the value, the gradient or the hessian"):
        Returned(one, ["x"], None).by_count(1)
    assert Returned(one, ["x"], "gradient").by_count(1) == [("v", ("x",))]


def test_zeros_by_construction_may_be_left_out():
    names = [f"x{i}" for i in range(12)]
    program = parse("v = " + " + ".join(f"{x}**2" for x in names))
    ours = [(r.of or r.name, r.wrt) for r in hessian(program).results]
    assert len(ours) == 1 + 12 + 12 and Returned(program, names, None).by_count(len(ours)) == ours
