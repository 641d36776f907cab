"""Many parameters of which each residual depends on few: the fit is that of a dense Jacobian, and what is free is told."""
import json

import numpy as np
import pytest
from command import adcli as run

import adcli
from adcli.fit import fit
from adcli.numerics import linear

N = 30
X = np.linspace(0, 1, N)
Y = np.sin(6 * X) + 0.1 * np.cos(37 * np.arange(N))
SPLINE = """param c(N){}, s
input y(N), b(N)
e(i) = c(i)*exp(s*b(i)) - y(i)
rough(i) = 3*(c(i + 1) - 2*c(i) + c(i - 1)) where i in 1:N-1
output e, rough"""
RING = """param c(N), s
input y(N), b(N)
e(i) = c(i) + s*b(i) - y(i) where i in 0:N
e(i) += -c(i - 1) where i in 1:N
e(0) += -c(N - 1)
known(i) = s*b(i) - y(i)
output e, known"""
SLIDING = """param here(N, 2), shift
input y(M, 2), int32 i(M), int32 j(M)
e(k, c) = here(i(k), c) - here(j(k), c) + shift*y(k, c)**2 - y(k, c)"""
PAIRS = np.array([(i, (i + d) % 12) for d in (1, 2, 5) for i in range(12)])
KNOWN = {"y": Y, "b": np.cos(np.arange(N))}
SEEN = {"i": PAIRS[:, 0], "j": PAIRS[:, 1], "y": np.cos(np.arange(72.0)).reshape(36, 2)}


@pytest.mark.parametrize("program, at, start, options, free", [
    (SPLINE.format(""), KNOWN, {"c": np.zeros(N), "s": 0.1}, {}, 0),
    (SPLINE.format(""), KNOWN, {"c": np.zeros(N), "s": 0.1}, {"loss": "soft_l1", "f_scale": 0.1}, 0),
    (SPLINE.format(""), KNOWN, {"c": (np.zeros(N), -0.5, 0.5), "s": 0.1}, {}, 0),
    (RING, KNOWN, {"c": np.zeros(N), "s": 0.0}, {}, 1), (SLIDING, SEEN, {"here": np.zeros((12, 2)), "shift": 0.0}, {}, 2),
], ids=["spline", "loss", "bounds", "ring", "plane"])
def test_a_sparse_jacobian_leads_to_the_fit_of_a_dense_one(monkeypatch, program, at, start, options, free):
    f = adcli.compile(program)
    whole = f.fit(at=at, y=0, params=start, **options)
    monkeypatch.setattr(linear, "MOST_DENSE", 0)
    monkeypatch.setattr(fit, "MOST_DENSE", 0)
    found = f.fit(at=at, y=0, params=start, **options)
    assert isinstance(whole.jac, np.ndarray) and not isinstance(found.jac, np.ndarray)
    assert (found.success, found.dof, len(found.undetermined), found.held) == (True, whole.dof, free, whole.held)
    assert found.cost == pytest.approx(whole.cost, rel=1e-9)
    scalar = found.names.index("s" if "s" in found.names else "shift")
    assert found.x[scalar] == pytest.approx(whole.x[scalar], rel=1e-6, abs=1e-9)
    for name in ("covariance", "correlation"):
        assert np.diag(found[name]) == pytest.approx(np.diag(whole[name]), rel=1e-5, nan_ok=True)
    if not free:
        assert found.x == pytest.approx(whole.x, rel=1e-6, abs=1e-8)
        assert found.covariance == pytest.approx(whole.covariance, rel=1e-4, abs=1e-9, nan_ok=True)


def words(tmp_path, **changed):
    """Arguments of a fit of 800 positions from differences."""
    pairs = np.array([(i, (i + d) % 400) for d in (1, 7) for i in range(400)])
    seen = np.cos(np.arange(1600.0)).reshape(800, 2)
    arrays = {"i": pairs[:, 0], "j": pairs[:, 1], "y": seen, "here": np.zeros((400, 2))}
    for name, x in {**arrays, **changed}.items():
        np.save(tmp_path / f"{name}.npy", x)
    (tmp_path / "m.ad").write_text(SLIDING)
    known = ",".join(f"{name}=@{tmp_path / name}.npy" for name in ("i", "j", "y"))
    return ("fit", str(tmp_path / "m.ad"), "--at", known, "--y", "0", "--params", f"here=@{tmp_path / 'here'}.npy,shift=0")


def test_a_gauge_freedom_is_no_failure(tmp_path):
    ended = run(*words(tmp_path), "--format", "json", "--uncertainties", "shift")
    assert ended.code == 0, ended.err
    assert "gauge freedom: 800 elements of here can be moved together in 2 directions" in ended.err
    assert "the standard uncertainties of 800 parameters are left out" in ended.err
    record = json.loads(ended.out)
    assert record["solver"] == "levenberg" and record["dof"] == 1600 - 801 + 2
    assert list(record["covariance"]) == ["shift"] and record["params"]["shift"]["uncertainty"] > 0


@pytest.mark.parametrize("changed, code, said", [
    ({"i": np.full(800, 400)}, 3, "i(0) = 400 is out of range for dimension 0 of 'here', which has 400 elements"),
    ({"y": np.full((800, 2), np.nan)}, 1, "not finite at the start"),
    ({"y": np.zeros((800, 3))}, 2, "'y' has 3 elements along dimension 1"),
    ({"i": np.zeros(0, int), "j": np.zeros(0, int), "y": np.zeros((0, 2))}, 2, "0 residuals for 801 parameters"),
    ({"here": np.full((400, 2), np.inf)}, 2, "start of parameter 'here' is not finite"),
    ({"y": np.zeros((9, 2)), "i": np.arange(9), "j": np.arange(9) + 1}, 2, "18 residuals for 801 parameters: here(0, 0), ")])
def test_a_fault_of_the_data_is_named(tmp_path, changed, code, said):
    ended = run(*words(tmp_path, **changed))
    assert (ended.code, ended.out) == (code, "") and said in ended.err, ended.err
    assert max(map(len, ended.err.splitlines())) < 400
