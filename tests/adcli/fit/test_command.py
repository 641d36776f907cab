"""The verb fit: the same data in every form are the same fit, what is printed can be read again, and what is said of faults."""
from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import adcli, succeeds
from session_seed import each_choice

MODEL = ("-e", "v = a*exp(-k*t) + c", "--params", "a=3,k=0.5 in [0, 10],c=0")
T = [0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0]
Y = [5.1, 4.2, 3.3, 2.2, 1.7, 1.3, 1.1]
S = [0.1, 0.1, 0.05, 0.05, 0.05, 0.04, 0.04]
COLUMNS = {"t": T, "y": Y, "s": S, "w": [1.0, 2.0, 1.0, 3.0, 1.0, 2.0, 1.0]}


def table(columns: dict[str, list[float]], separator: str = ",") -> bytes:
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    return "".join(separator.join(map(str, row)) + "\n" for row in rows).encode()


def fit(*args: object, stdin: bytes = table(COLUMNS)) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(succeeds("fit", *args, "--format", "json", stdin=stdin).out)
    return found


def values(found: dict[str, Any], what: str = "value") -> list[float]:
    return [p[what] for p in found["params"].values()]


# ---------------------------------------------------------------- the same fit in other words

def test_every_form_of_the_same_table_is_the_same_fit_to_the_last_bit(tmp_path: Path) -> None:
    import polars
    frame = polars.DataFrame(COLUMNS)
    frame.write_parquet(tmp_path / "d.parquet")
    frame.write_ndjson(tmp_path / "d.ndjson")
    (tmp_path / "d.json").write_text(json.dumps(frame.to_dicts()), encoding="utf-8")
    (tmp_path / "d.tsv").write_bytes(table(COLUMNS, "\t"))
    (tmp_path / "parts").mkdir()
    halves = [{n: c[:3] for n, c in COLUMNS.items()}, {n: c[3:] for n, c in COLUMNS.items()}]
    for i, half in enumerate(halves):
        (tmp_path / "parts" / f"{i}.csv").write_bytes(table(half))
    expected = fit(*MODEL, "--y", "y:s")
    for name in ("d.parquet", "d.ndjson", "d.json", "d.tsv", "parts"):
        assert fit(*MODEL, "--y", "y:s", "--data", tmp_path / name, stdin=b"") == expected, name


def test_sigmas_are_weights_and_weights_are_repeated_rows() -> None:
    by_sigma = fit(*MODEL, "--y", "y:s", "--sigma", "relative")
    inverse = {**COLUMNS, "w": [1 / s**2 for s in S]}
    by_weight = fit(*MODEL, "--y", "y", "--weights", "w", stdin=table(inverse))
    np.testing.assert_allclose(values(by_weight, "uncertainty"), values(by_sigma, "uncertainty"), rtol=1e-9)
    np.testing.assert_allclose(values(by_weight), values(by_sigma), rtol=1e-11)
    weighted = fit(*MODEL, "--y", "y", "--weights", "w")
    repeated = {n: [x for x, w in zip(c, COLUMNS["w"], strict=True) for _ in range(int(w))] for n, c in COLUMNS.items()}
    often = fit(*MODEL, "--y", "y", stdin=table(repeated))
    np.testing.assert_allclose(values(often), values(weighted), rtol=1e-11)
    assert often["chi2"] == pytest.approx(weighted["chi2"], rel=1e-12)


def test_absolute_uncertainties_are_those_of_the_observations_and_relative_ones_those_of_the_scatter() -> None:
    absolute, relative = fit(*MODEL, "--y", "y:s"), fit(*MODEL, "--y", "y:s", "--sigma", "relative")
    scale = np.sqrt(absolute["chi2"] / absolute["dof"])
    np.testing.assert_allclose(values(relative, "uncertainty"), np.array(values(absolute, "uncertainty")) * scale, rtol=1e-12)
    doubled = {**COLUMNS, "s": [2 * s for s in S]}
    for how, factor in (("absolute", 2.0), ("relative", 1.0)):
        found = fit(*MODEL, "--y", "y:s", "--sigma", how, stdin=table(doubled))
        was = absolute if how == "absolute" else relative
        np.testing.assert_allclose(values(found, "uncertainty"), factor * np.array(values(was, "uncertainty")), rtol=1e-9)


def test_outputs_are_fitted_together_as_rows_of_one_would_be() -> None:
    two = fit("-e", "v = a + b*t; w = a - b*t", "--params", "a=1,b=1", "--y", "v=y,w=s")
    rows = {"t": [*T, *(-t for t in T)], "y": [*Y, *S]}
    one = fit("-e", "v = a + b*t", "--params", "a=1,b=1", "--y", "y", stdin=table(rows))
    np.testing.assert_allclose(values(two), values(one), rtol=1e-12)
    np.testing.assert_allclose(values(two, "uncertainty"), values(one, "uncertainty"), rtol=1e-12)


def test_a_residual_is_compared_with_zero() -> None:
    model = fit(*MODEL, "--y", "y:s")
    residual = fit("-e", "r = (a*exp(-k*t) + c - y)/s", *MODEL[2:], "--y", "0:1")
    np.testing.assert_allclose(values(residual), values(model), rtol=1e-10)
    np.testing.assert_allclose(values(residual, "uncertainty"), values(model, "uncertainty"), rtol=1e-8)


def test_a_tensor_of_parameters_is_fitted_as_its_elements_are(tmp_path: Path) -> None:
    a, y = np.array([[1.0, t] for t in T]), np.array(Y)
    np.save(tmp_path / "A.npy", a)
    np.save(tmp_path / "y.npy", y)
    program = ("-e", "input A(N, M), w(M)", "-e", "r(i) +=! A(i, j)*w(j)", "--at", f"A=@{tmp_path / 'A.npy'}")
    found = fit(*program, "--params", "w=[0, 0]", "--y", f"@{tmp_path / 'y.npy'}", stdin=b"")
    plain = fit("-e", "v = a + b*t", "--params", "a=0,b=0", "--y", "y")
    assert list(found["params"]) == ["w(0)", "w(1)"]
    np.testing.assert_allclose(values(found), values(plain), rtol=1e-12)
    np.testing.assert_allclose(values(found, "uncertainty"), values(plain, "uncertainty"), rtol=1e-12)
    np.testing.assert_allclose(values(found), np.linalg.lstsq(a, y, rcond=None)[0], rtol=1e-12)


def test_rows_of_lists_are_fitted_as_the_whole_tensor_is(tmp_path: Path) -> None:
    """A row of x with a number y, with a list of y, and all of it at once."""
    import polars
    rows = [[1.0, t] for t in T]
    polars.DataFrame({"x": rows, "y": Y, "s": S, "t": [[y] for y in Y]}).write_parquet(tmp_path / "d.parquet")
    objects = [json.dumps({"x": x, "y": y, "s": s}) for x, y, s in zip(rows, Y, S, strict=True)]
    (tmp_path / "d.ndjson").write_text("\n".join(objects), encoding="utf-8")
    params = ("--params", "w=[0, 0] in [-100, 100]", "--data")
    program = ("-e", "input x(M), w(M)", "-e", "v +=! x(j)*w(j)", *params)
    whole = fit("-e", "input A(N, M), w(M)", "-e", "r(i) +=! A(i, j)*w(j)", "--at", f"A={rows}", *params[:2], "--y", f"{Y}:{S}",
                stdin=b"")
    found = [fit(*program, tmp_path / name, "--y", "y:s", stdin=b"") for name in ("d.parquet", "d.ndjson")]
    for each in found:
        np.testing.assert_allclose(values(each), values(whole), rtol=1e-12)
        np.testing.assert_allclose(values(each, "uncertainty"), values(whole, "uncertainty"), rtol=1e-12)
    plain = fit(*program, tmp_path / "d.parquet", "--y", "y", stdin=b"")
    compared = fit("-e", "input x(M), t(K), w(M)", "-e", "v +=! x(j)*w(j); r(k) = v + 0*t(k)", "--of", "r", *params,
                   tmp_path / "d.parquet", "--y", "t", stdin=b"")
    np.testing.assert_allclose(values(compared), values(plain), rtol=1e-12)


LISTED = ("-e", "input x(M), w(M)", "-e", "v +=! x(j)*w(j)")


def test_a_bad_row_of_lists_is_left_out() -> None:
    ended = adcli("fit", *LISTED, "--params", "w=[0,0]", "--y", "y", "--on-error", "skip",
                  stdin=b'{"x":[1,2],"y":3}\n{"x":[1,null],"y":4}\n{"x":[1,5],"y":4}\n')
    assert ended.code == 0 and "# residuals = 2\n" in ended.out and "<stdin>:2: x(1) is null" in ended.err


OUTLIER = {"x": [float(i) for i in range(1, 11)], "y": [2.1, 3.9, 6.2, 7.8, 10.1, 12.2, 13.8, 16.1, 30.0, 20.2]}


def test_a_robust_loss_has_the_uncertainties_of_huber() -> None:
    """The numbers are those of statsmodels 0.15: RLM with HuberT(0.15), scale 1 and cov="H1"."""
    robust = fit("-e", "v = a + b*x", "--params", "a=0,b=1", "--y", "y", "--loss", "huber", "--f-scale", "0.15",
                 stdin=table(OUTLIER))
    np.testing.assert_allclose(values(robust), [-0.02134831, 2.02275281], atol=1e-8)
    np.testing.assert_allclose(values(robust, "uncertainty"), [0.16200887, 0.02611009], atol=1e-8)
    for loss in ("soft_l1", "cauchy", "arctan"):
        found = fit("-e", "v = a + b*x", "--params", "a=0,b=1", "--y", "y", "--loss", loss, "--f-scale", "0.15",
                    stdin=table(OUTLIER))
        assert found["converged"] and values(found) == pytest.approx([0, 2], abs=0.15), loss


# ---------------------------------------------------------------- the fit as a point

def test_a_fit_as_json_is_a_point(tmp_path: Path) -> None:
    """Numbers and tensors, with what the fit does not know beside it in any order."""
    known = fit(*MODEL, "--y", "y:s")
    (tmp_path / "fitted.json").write_text(json.dumps(known), encoding="utf-8")
    program = ("-e", "input c = 5", "-e", "v = a*exp(-k*t) + c", "--format", "json")
    file = f"@{tmp_path / 'fitted.json'}"
    for at in ((f"{file},t=2",), (file, "t=2"), ("t=2", file)):
        [found] = succeeds("eval", *program, *(x for each in at for x in ("--at", each))).records
        assert found["at"] == {**known["at"], "t": 2.0}
        assert [found["at"][n] for n in known["params"]] == values(known)
    rows = "".join(f'{{"x":[1,{x}],"y":{y}}}\n' for x, y in ((1, 1), (2, 3), (4, 4), (5, 7))).encode()
    line = ("-e", "input w(M), x(M)", "-e", "v +=! w(j)*x(j)")
    of_tensors = fit(*line, "--params", "w=[0,0]", "--y", "y", "--input-format", "ndjson", stdin=rows)
    (tmp_path / "w.json").write_text(json.dumps(of_tensors), encoding="utf-8")
    [found] = succeeds("eval", *line, "--at", f"@{tmp_path / 'w.json'}", "--at", "x=[1,3]", "--format", "json").records
    assert found["at"]["w"] == of_tensors["at"]["w"] == values(of_tensors)


# ---------------------------------------------------------------- what is printed

def test_what_is_printed_is_a_program_that_begins_where_the_fit_ended(tmp_path: Path) -> None:
    first = succeeds("fit", *MODEL, "--y", "y:s", stdin=table(COLUMNS)).out
    assert first.count("param ") == 3 and all(line.startswith(("param ", "# ")) for line in first.splitlines())
    assert "k = 0.5" in first and "in [0.0, 10.0]" in first
    (tmp_path / "fitted.ad").write_text(f"{first}v = a*exp(-k*t) + c\n", encoding="utf-8")
    known = fit(*MODEL, "--y", "y:s")
    again = fit(tmp_path / "fitted.ad", "--y", "y:s")
    assert [p["start"] for p in again["params"].values()] == values(known)
    np.testing.assert_allclose(values(again), values(known), rtol=1e-9)
    assert (again["params"]["k"]["low"], again["params"]["k"]["high"], again["params"]["a"]["low"]) == (0, 10, None)


def test_tables_have_the_numbers_of_json() -> None:
    known = fit(*MODEL, "--y", "y:s")
    for form, separator in (("csv", ","), ("tsv", "\t")):
        text = succeeds("fit", *MODEL, "--y", "y:s", "--format", form, stdin=table(COLUMNS)).out
        rows = list(csv.DictReader(io.StringIO(text), delimiter=separator))
        assert [float(r["value"]) for r in rows] == values(known)
        assert [[float(r[f"corr_{n}"]) for n in "akc"] for r in rows] == [[row[n] for n in "akc"]
                                                                         for row in known["correlation"].values()]
    shown = succeeds("fit", *MODEL, "--y", "y:s", "--format", "markdown", stdin=table(COLUMNS)).out
    assert "| k | 0.598 | 0.027 |" in shown and "- degrees of freedom: 4\n" in shown
    assert r"\toprule" in succeeds("fit", *MODEL, "--y", "y:s", "--format", "latex", stdin=table(COLUMNS)).out


def test_an_output_is_compared_with_the_column_of_its_name():
    two = ("-e", "y = a + b*t", "-e", "s = c + 0*t")
    for words in (("-e", "y = a + b*t"), ("-e", "z = a + b*t", "--rename", "y=z,s=u"), two):
        params = ("--params", "a=1,b=1" + ",c=1" * (words == two))
        found = succeeds("fit", *words, *params, "--format", "json", stdin=table(COLUMNS)).records[0]
        plain = succeeds("fit", "-e", "v = a + b*t", "--params", "a=1,b=1", "--y", "y", "--format", "json", stdin=table(COLUMNS))
        assert found["params"]["a"]["value"] == pytest.approx(plain.records[0]["params"]["a"]["value"])


# ---------------------------------------------------------------- what is said

LINE = ("-e", "v = a + b*t")
AB = ("--params", "a=1,b=1")


@pytest.mark.parametrize(("text", "said", "left"), [
    ("t,y\n1,1\n2,\n3,3\n4,5\n", "<stdin>:3: column 'y' is empty", 3),
    ("t,y\n1,1\n2,nan\n3,3\n4,5\n", "<stdin>: row 2: column 'y' is not finite", 3),
    ("t,y\n1,1\ninf,2\n3,3\nnan,5\n", "<stdin>: row 4: input 't' is nan", 0),
    ("t,y\n1,1\n2,x\n3,3\n4,inf\n5,6\n", "<stdin>:3: column 'y'", 3),
])
def test_a_bad_row_is_named_or_left_out(text: str, said: str, left: int) -> None:
    ended = adcli("fit", *LINE, *AB, "--y", "y", stdin=text.encode())
    assert ended.code == 5 and said in ended.err and not ended.out
    if left:
        ended = adcli("fit", *LINE, *AB, "--y", "y", "--on-error", "skip", stdin=text.encode())
        assert ended.code == 0 and f"# residuals = {left}\n" in ended.out and said in ended.err


def test_few_rows_and_none() -> None:
    assert "1 residual for 2 parameters: a, b" in adcli("fit", *LINE, *AB, "--y", "y", stdin=b"t,y\n1,2\n").err
    ended = adcli("fit", *LINE, *AB, "--y", "y", stdin=b"t,y\n1,2\n2,5\n")
    assert ended.code == 0 and "no degrees of freedom" in ended.err and ended.out.startswith("param a = -1.0")
    assert "± unknown" in ended.out
    assert adcli("fit", *LINE, *AB, "--y", "y", stdin=b"").code == 2


DECAY = b"t,y\n0,9.8\n1,6.1\n2,3.5\n4,1.4\n8,0.2\n"


def test_a_suspicious_answer_ends_with_what_why_says() -> None:
    start = adcli("fit", "-e", "v = log(a)*t", "--params", "a=-1", "--y", "y", stdin=table(COLUMNS))
    assert start.code == 1 and not start.out
    assert "<stdin>: row 1: the output is not finite at the start, a = -1\n" in start.err
    assert "log(u) at u = a = -1.0 is nan: outside its domain" in start.err
    flat = adcli("fit", "-e", "v = a*t + max(b, 100)", *AB, "--y", "y", stdin=table(COLUMNS))
    assert flat.code == 1 and "param b = 1.0" in flat.out and "# not determined" in flat.out
    assert "note: b has no influence" in flat.err and "u of max(u, v) is not the largest at u = b = 1.0" in flat.err
    most = adcli("fit", "-e", "v = a*(1 - exp(-k*t))", "--params", "a=1,k=1e4", "--y", "y", stdin=b"t,y\n0,1\n1,2\n2,4\n3,1\n")
    assert "note: k has no influence" in most.err and "in <stdin>: row 2:\ndv_dk is 0.0\n" in most.err, most.err
    assert "u = -k*t = -10000.0 is 0.0: underflow" in most.err   # not the t = 0 of row 1
    edge = adcli("fit", "-e", "v = a*t**k", "--params", "a=1,k=0.5", "--y", "y", stdin=DECAY)
    assert edge.code == 1 and "row 1: the output is not finite at a point on the way" in edge.err
    assert "u**v at u = t = 0.0" in edge.err and "is inf: a pole" in edge.err
    bound = adcli("fit", *LINE, "--params", "a=1 in [0, 2],b=0", "--y", "y", stdin=table(COLUMNS))
    assert bound.code == 0 and "in [0.0, 2.0]" in bound.out and "a is held by its bound 2.0" in bound.err
    constant = adcli("fit", *LINE, *AB, "--y", "y", stdin=b"t,y\n2,1\n2,2\n2,4\n")
    assert constant.code == 1 and "here the data determine a + 2*b" in constant.err
    steep = table({"t": [1.0, 2.0, 3.0, 4.0], "y": [2.0, 3.0, 4.0, 1000.0]})
    endless = adcli("fit", "-e", "v = a*exp(-b*t)", *AB, "--y", "y", "--evaluations", "2", stdin=steep)
    assert endless.code == 1 and "# converged = no" in endless.out and "--evaluations 20" in endless.err
    assert "Warning" not in endless.err


def test_a_saddle_is_no_answer() -> None:
    """a² + (a² - 5)² has a maximum at 0, where the gradient is 0 and the Jacobian is not, and minima at ±√4.5; the second has two
    parameters, with a saddle at (0, 0) that has a minimum along one axis."""
    one = fit("-e", "v = a; w = a**2", "--y", "v=0,w=5", "--params", "a=0", stdin=b"")
    assert [abs(x) for x in values(one)] == pytest.approx([4.5**0.5], rel=1e-12) and one["converged"]
    two = fit("-e", "u = a; v = b; w = a**2 - b**2", "--y", "u=0,v=0,w=5", "--params", "a=0,b=0", stdin=b"")
    assert [abs(x) for x in values(two)] == pytest.approx([4.5**0.5, 0], abs=1e-7) and two["chi2"] == pytest.approx(4.75)


def test_what_is_not_smooth_at_the_answer_is_told_and_strict_fails() -> None:
    args = ("fit", "-e", "v = abs(t - 1) + a", "--params", "a=0", "--y", "y")
    plain, strict = adcli(*args, stdin=table(COLUMNS)), adcli(*args, "--strict", stdin=table(COLUMNS))
    assert (plain.code, plain.err) == (0, "") and strict.code == 0   # a kink in t, which is no parameter
    rough = adcli("fit", "-e", "v = abs(a) + t", "--params", "a=0", "--y", "y", "--strict", stdin=table(COLUMNS))
    assert rough.code == 4 and "not smooth in the parameters at the solution: <stdin>: row 1\n" in rough.err
    assert "abs'(u) at u = 0.0: kink" in rough.err


@pytest.mark.parametrize(("unit", "start"), each_choice([1e300, 1e-300, 1e150, 1e-170], [1.0, 1e-200]))
def test_units_of_the_observations_do_not_matter(unit: float, start: float) -> None:
    rows = {"t": [1.0, 2.0, 3.0, 4.0], "y": [2.0, 4.0, 6.5, 8.0]}
    begin = f"a={start!r},b={start!r}"
    known = fit(*LINE, "--params", begin, "--y", "y", stdin=table(rows))
    found = fit(*LINE, "--params", begin, "--y", "y", stdin=table({**rows, "y": [x * unit for x in rows["y"]]}))
    for what in ("value", "uncertainty"):
        np.testing.assert_allclose(np.array(values(found, what)) / unit, values(known, what), rtol=1e-9, atol=1e-12)
    assert found["residual_sd"] / unit == pytest.approx(known["residual_sd"], rel=1e-9)
